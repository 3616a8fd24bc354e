"""Mazes as maps of square cells: walls, clearance and the walk's lattice (Sec. 4.1).

The cell in row i and column j has its centre at x = 4 j - 4, y = 4 i - 4, as in OGBench, so the
first free cell of its mazes lies at the origin.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from cogmap.errors import CogmapError

CELL = 4.0  # side of a cell; OGBench's maze_unit
AGENT_RADIUS = 0.7  # the ball of OGBench's point.xml
GOAL_RADIUS = 1.0  # Sec. 4.1: success within one unit of the goal

# OGBench's maps (MIT licence), '#' a wall. tests/test_maze.py compares them with the package.
OGBENCH_MAPS = {
    "medium": """\
########
#..##..#
#..#...#
##...###
#..#...#
#.#..#.#
#...#..#
########""",
    "large": """\
############
#....#.....#
#.##.#.#.#.#
#......#...#
#.####.###.#
#..#.#.....#
##.#.#.#.###
#..#...#...#
############""",
    "giant": """\
################
#.#......##....#
#.#.##.#.#..##.#
#...#..#...#...#
#.###.######.#.#
#...#...#....#.#
###.#.#..#.#.###
#...#..#...#...#
#.#.#.######.#.#
#.###...#...##.#
#.....#...#....#
################""",
}

# The walk's nine moves in lattice units: stay first, then the eight neighbours (Sec. 4.1).
MOVES = np.array(
    [(0, 0), (1, 0), (1, 1), (0, 1), (-1, 1), (-1, 0), (-1, -1), (0, -1), (1, -1)], dtype=np.int64
)


@dataclass(frozen=True)
class Lattice:
    """The walk's state space: integer points that the agent can occupy without touching a wall."""

    points: np.ndarray  # (S, 2) float64, x and y
    successors: np.ndarray  # (S, 9) int64: the state after each of MOVES; blocked moves stay

    def __len__(self) -> int:
        return len(self.points)

    def nearest(self, xy: np.ndarray) -> np.ndarray:
        """The closest state of each point. (N, 2) -> (N,)"""
        gaps = np.linalg.norm(np.asarray(xy)[:, None, :] - self.points[None], axis=-1)
        return gaps.argmin(axis=1)


@dataclass(frozen=True, eq=False)
class Maze:
    """A map of cells."""

    name: str
    walls: np.ndarray  # (H, W) bool; outside the map everything is wall

    @classmethod
    def from_text(cls, text: str, *, name: str) -> Maze:
        """Reads rows of '#' and '.', or of 1 and 0."""
        rows = [line.strip().replace(" ", "") for line in text.strip("\n").splitlines()]
        while rows and not rows[-1]:
            rows.pop()
        if not rows:
            raise CogmapError(f"maze {name}: the file is empty; write rows of '#' and '.'.")
        for number, row in enumerate(rows, start=1):
            if len(row) != len(rows[0]):
                raise CogmapError(
                    f"maze {name}: row {number} has {len(row)} cells, row 1 has {len(rows[0])}; "
                    "make all rows equally long."
                )
            if wrong := set(row) - set("#.10"):
                raise CogmapError(
                    f"maze {name}: row {number} holds {sorted(wrong)[0]!r}; "
                    "use '#' or 1 for a wall and '.' or 0 for a free cell."
                )
        walls = np.array([[cell in "#1" for cell in row] for row in rows])
        if walls.all():
            raise CogmapError(f"maze {name}: no free cell; mark free cells with '.' or 0.")
        return cls(name, walls)

    @classmethod
    def load(cls, name_or_file: str | Path) -> Maze:
        """One of OGBench's mazes by name, or any maze from a text file."""
        if str(name_or_file) in OGBENCH_MAPS:
            return cls.from_text(OGBENCH_MAPS[str(name_or_file)], name=str(name_or_file))
        path = Path(name_or_file)
        if not path.is_file():
            known = ", ".join(OGBENCH_MAPS)
            raise CogmapError(f"maze {str(path)!r}: neither one of {known} nor a text file.")
        try:
            return cls.from_text(path.read_text(encoding="utf-8"), name=path.stem)
        except UnicodeDecodeError:
            raise CogmapError(f"maze {path}: not a text file; write rows of '#' and '.'.") from None

    @property
    def text(self) -> str:
        """The map as `from_text` reads it."""
        return "\n".join("".join("#" if wall else "." for wall in row) for row in self.walls)

    @cached_property
    def padded(self) -> np.ndarray:
        """The walls with one ring of wall around them, (H + 2, W + 2): the world ends there."""
        return np.pad(self.walls, 1, constant_values=True)

    @property
    def blocks(self) -> np.ndarray:
        """Row and column of every wall to build. (K, 2) A map open at its edge gets a ring."""
        edge = np.concatenate([self.walls[[0, -1]].ravel(), self.walls[:, [0, -1]].ravel()])
        return np.argwhere(self.walls) if edge.all() else np.argwhere(self.padded) - 1

    @property
    def bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """The lower and upper corner of the map in x and y."""
        height, width = self.walls.shape
        low = np.array([-1.5 * CELL, -1.5 * CELL])
        return low, low + CELL * np.array([width, height])

    def cells_of(self, xy: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Row and column of each point, half-open cells as in OGBench. (N, 2) -> (N,), (N,)"""
        cells = np.floor((np.asarray(xy, dtype=np.float64) + 1.5 * CELL) / CELL).astype(np.int64)
        return cells[:, 1], cells[:, 0]

    def wall_offsets(self, xy: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """From the nearest point of each wall around to the agent. (N, 2) -> (N, 9, 2), (N, 9).

        The second array says which of the nine cells around are walls. Offsets are zero for a
        point inside a wall. Walls farther away than one cell do not matter to a ball of 0.7.
        """
        xy = np.asarray(xy, dtype=np.float64)
        rows, columns = self.cells_of(xy)
        height, width = self.walls.shape
        around = np.array([(i, j) for i in (-1, 0, 1) for j in (-1, 0, 1)])
        i = rows[:, None] + around[:, 0]  # (N, 9)
        j = columns[:, None] + around[:, 1]
        is_wall = self.padded[np.clip(i + 1, 0, height + 1), np.clip(j + 1, 0, width + 1)]
        centre = np.stack([j * CELL - CELL, i * CELL - CELL], axis=-1)  # (N, 9, 2)
        nearest = np.clip(xy[:, None, :], centre - CELL / 2, centre + CELL / 2)
        return xy[:, None, :] - nearest, is_wall

    def clearance(self, xy: np.ndarray) -> np.ndarray:
        """Distance to the nearest wall, at most one cell. (N, 2) -> (N,)"""
        offsets, is_wall = self.wall_offsets(xy)
        distance = np.where(is_wall, np.linalg.norm(offsets, axis=-1), CELL)
        return distance.min(axis=1)

    @cached_property
    def lattice(self) -> Lattice:
        """Integer points with clearance 0.7, and the walk's moves between them.

        On these points five simulator steps with an action in {-1, 0, 1}^2 make exactly one move.
        A diagonal needs both of its sides free: Giant has four spots where walls touch at a corner.
        """
        low, high = self.bounds
        xs = np.arange(np.ceil(low[0]), high[0] + 1)
        ys = np.arange(np.ceil(low[1]), high[1] + 1)
        grid = np.stack(np.meshgrid(xs, ys, indexing="xy"), axis=-1)  # (Y, X, 2)
        clear = self.clearance(grid.reshape(-1, 2)).reshape(grid.shape[:2]) >= AGENT_RADIUS
        clear = np.pad(clear, 1)  # nothing beyond the map is free
        state = np.full(clear.shape, -1)
        state[clear] = np.arange(clear.sum())
        here = np.argwhere(clear)  # (S, 2) as (y, x)

        def at(dx: int, dy: int) -> np.ndarray:
            return state[here[:, 0] + dy, here[:, 1] + dx]

        successors = np.empty((len(here), len(MOVES)), dtype=np.int64)
        stay = np.arange(len(here))
        for k, (dx, dy) in enumerate(MOVES):
            open_way = (at(dx, dy) >= 0) & (at(dx, 0) >= 0) & (at(0, dy) >= 0)
            successors[:, k] = np.where(open_way, at(dx, dy), stay)
        points = np.stack([xs[here[:, 1] - 1], ys[here[:, 0] - 1]], axis=-1)
        return Lattice(points, successors)


def is_ogbench(maze: Maze) -> bool:
    """Whether this is one of OGBench's mazes, not one of the user's with its name."""
    return maze.text == OGBENCH_MAPS.get(maze.name)
