"""Pictures of a world, each taken once, and walks that see them (Table 1B).

A walk of millions of steps stands on few places, so a dataset of pictures is a table of them and an
index. Places are on a grid four times as fine as the walk's lattice: a walk sees a lattice point
from one of a few places around it, as an agent that stands near it would, and random actions end
at the grid's nearest place (at most an eighth of a unit away on each axis). The package holds the
pictures of PointMaze Large and Giant (tests/test_camera.py takes some of them again).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from importlib import resources
from pathlib import Path

import numpy as np

from cogmap.data.trajectories import Trajectories
from cogmap.envs.camera import GRID, SIZE, Camera, grid_points
from cogmap.envs.maze import Maze, is_ogbench
from cogmap.errors import CogmapError

VIEWS = 3  # places around a lattice point that a walk sees it from
Progress = Callable[[Iterable], Iterable]


@dataclass(frozen=True)
class Album:
    """Places and what is seen there."""

    points: np.ndarray  # (P, 2)
    pictures: np.ndarray  # (P, 64, 64, 3) uint8

    @classmethod
    def packaged(cls, maze: Maze) -> Album | None:
        """The package's pictures of PointMaze Large and Giant; None for any other maze."""
        file = resources.files("cogmap.envs").joinpath(f"albums/{maze.name}.npz")
        if not is_ogbench(maze) or not file.is_file():
            return None
        with resources.as_file(file) as path, np.load(path) as stored:
            return cls(stored["points"], stored["pictures"])

    @classmethod
    def of(cls, maze: Maze, folder: Path, *, progress: Progress = iter) -> Album:
        """The package's pictures of a maze, or else new ones, kept in `folder`."""
        return cls.packaged(maze) or cls.take(maze, folder, progress=progress)

    @classmethod
    def take(cls, maze: Maze, folder: Path, *, progress: Progress = iter) -> Album:
        """Takes the pictures that `folder` does not hold yet: an interrupted run goes on."""
        points = grid_points(maze)
        shape = (len(points), SIZE, SIZE, 3)
        path = folder / "pictures.npy"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            mode = "r+" if path.exists() else "w+"
            pictures = np.lib.format.open_memmap(path, mode=mode, dtype=np.uint8, shape=shape)
        except (OSError, ValueError) as error:
            raise CogmapError(f"cannot write {path}: {error}.") from None
        if pictures.shape != shape:
            raise CogmapError(f"{path} holds pictures of another maze; delete it.")
        missing = np.flatnonzero(~pictures.reshape(len(points), -1)[:, ::97].any(axis=1))
        if len(missing):
            camera = Camera(maze)
            for row in progress(missing):
                pictures[row] = camera.picture(points[row])
            pictures.flush()
        return cls(points, pictures)

    def nearest(self, xy: np.ndarray) -> np.ndarray:
        """The row of the nearest place. (N, 2) -> (N,)"""
        low = self.points.min(axis=0)
        cells = np.round((self.points - low) / GRID).astype(np.int64)
        grid = np.full(cells.max(axis=0) + 1, -1)
        grid[cells[:, 0], cells[:, 1]] = np.arange(len(self.points))
        at = np.clip(np.round((xy - low) / GRID).astype(np.int64), 0, np.array(grid.shape) - 1)
        rows = grid[at[:, 0], at[:, 1]]
        for k in np.flatnonzero(rows < 0):  # nearer to a wall than the grid goes
            rows[k] = np.linalg.norm(self.points - xy[k], axis=1).argmin()
        return rows

    def seen(self, xy: np.ndarray) -> np.ndarray:
        """The picture of the nearest place. (N, 2) -> (N, 64, 64, 3)"""
        return self.pictures[self.nearest(np.asarray(xy, dtype=np.float64))]

    def walked(self, walk: Trajectories, *, seed: int) -> Trajectories:
        """A lattice walk as it is seen: each visit from one of VIEWS places around the point."""
        assert walk.table is not None and walk.index is not None
        rng = np.random.default_rng(seed)
        shift = rng.integers(-1, 2, size=(VIEWS, len(walk.table), 2)) * GRID
        shift[0] = 0.0
        rows = np.stack([self.nearest(walk.table + offset) for offset in shift], axis=1)  # (S, V)
        view = rng.integers(VIEWS, size=len(walk))
        return replace(
            walk,
            table=self.pictures,
            index=rows[walk.index, view].astype(np.int32),
            source=f"{walk.source}, pictures",
        )

    def acted(self, actions: Trajectories) -> Trajectories:
        """Random actions as they are seen."""
        rows = self.nearest(actions.rows(np.arange(len(actions))).astype(np.float64))
        return replace(
            actions,
            observations=None,
            table=self.pictures,
            index=rows.astype(np.int32),
            source=f"{actions.source}, pictures",
        )
