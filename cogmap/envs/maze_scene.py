"""A maze seen from inside: its lattice, walls, shortest ways and tasks in metres (Sec. 4, App. D).

One unit of the maze is 0.25 m, so that its lattice is the walk's: a cell is 1 m wide, a step of
half a metre is two units, the agent's ball has a radius of 0.175 m. Its (x, y) is (x, z) here.
Whether a way is free, and how long the shortest is, is what the maze itself says of that ball.

Each side of a cell that is a wall has colours and a pattern of its own (envs/walls.py), so that
places can be told apart by sight.

Shape letters: N, M places, C cells, B sides of walls.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from cogmap.envs.maze import AGENT_RADIUS, CELL, GOAL_RADIUS, Maze
from cogmap.envs.maze_map import MazeMap
from cogmap.envs.pointmaze import PointMaze
from cogmap.envs.raycast import Cameras, View
from cogmap.envs.scene import EYE, Scene
from cogmap.envs.tasks import choose_tasks, pairs_file
from cogmap.envs.turning import SPACING, States
from cogmap.envs.walls import drawn_up
from cogmap.envs.world import Task
from cogmap.errors import CogmapError

UNIT = SPACING  # m, of one unit of the maze
SIDE = UNIT * CELL  # m, of a cell
SQUEEZED = 0.05  # units that a place may be nearer to a wall than the ball's radius, as in MazeMap
BUDGET = 1000  # moves


@dataclass(frozen=True)
class MazeTasks:
    """The maze's own tasks. Starts and goals are moved to the nearest lattice point, from where a
    goal is told by what is seen; success is within one unit of it, as in the maze from above."""

    plane: MazeMap

    budget = BUDGET
    within = UNIT * GOAL_RADIUS

    @property
    def usual(self) -> str:
        return "random" if pairs_file(self.plane.maze) is None else "official"

    def draw(
        self, name: str, scene: Scene, states: States, *, episodes: int | None, seed: int
    ) -> list[Task]:
        """official, random, or a pairs file, in units (envs/tasks.py)."""
        told = choose_tasks(self.plane, name, episodes=episodes, seed=seed).tasks
        tasks = []
        for task in told:
            ends: dict[str, tuple[float, ...]] = {}
            for end, place in (("start", task.start), ("goal", task.goal)):
                at = UNIT * np.array(place)
                point = states.points[states.nearest(at)]
                if np.abs(point - at).max() > UNIT:
                    raise CogmapError(
                        f"{task.name}: the {end} ({place[0]:g}, {place[1]:g}) lies in a part of "
                        f"{scene.name} that most of it cannot be reached from; take it off."
                    )
                ends[end] = tuple(point.tolist())
            tasks.append(Task(task.name, ends["start"], ends["goal"]))
        return tasks


@dataclass(frozen=True, eq=False)
class MazeScene:
    """Any maze, in the first person."""

    maze: Maze

    @property
    def name(self) -> str:
        return f"maze-{self.maze.name}"

    @property
    def label(self) -> str:
        return f"first-person {PointMaze.KIND}-{self.maze.name}"

    @cached_property
    def _plane(self) -> MazeMap:
        return PointMaze(self.maze).map

    @property
    def tasks(self) -> MazeTasks:
        return MazeTasks(self._plane)

    def describe(self) -> dict[str, Any]:
        return {"maze": {"name": self.maze.name, "rows": self.maze.text.splitlines()}}

    @property
    def points(self) -> np.ndarray:
        return UNIT * self.maze.lattice.points

    def navigable(self, places: np.ndarray) -> np.ndarray:
        return self.maze.clearance(places / UNIT) >= AGENT_RADIUS - SQUEEZED

    def clear(self, start: np.ndarray, end: np.ndarray) -> np.ndarray:
        """Whether the ball can roll straight there."""
        stand = self.navigable(start) & self.navigable(end)
        return stand & self._plane.paths.visible(start / UNIT, end / UNIT)

    def geodesic(self, start: np.ndarray, end: np.ndarray) -> np.ndarray:
        """Exact shortest ways of the ball, in metres, inf for none. (N, 2), (M, 2) -> (N, M)"""
        paths = self._plane.paths
        ways = [[paths.distance(a, b) for b in end / UNIT] for a in start / UNIT]
        return UNIT * np.array(ways).reshape(len(start), len(end))

    @property
    def cells(self) -> np.ndarray:
        """The middle of each that is free. (C, 2) m"""
        return SIDE * (np.argwhere(~self.maze.walls)[:, ::-1] - 1)

    @cached_property
    def sides(self) -> np.ndarray:
        """Of the cells, where walls are. (B, 2, 2) m"""
        around = np.pad(self.maze.walls, 1, constant_values=True)
        found = []
        for i, j in np.argwhere(~self.maze.walls):
            centre = np.array([j, i]) * CELL - CELL  # (x, y)
            for di, dj in ((-1, 0), (0, 1), (1, 0), (0, -1)):
                if around[i + 1 + di, j + 1 + dj]:
                    out, along = np.array([dj, di]), np.array([-di, dj])
                    middle = centre + out * CELL / 2
                    found.append([middle - along * CELL / 2, middle + along * CELL / 2])
        return UNIT * np.array(found)

    @cached_property
    def _cameras(self) -> Cameras:
        low, high = (UNIT * corner for corner in self.maze.bounds)
        return Cameras(drawn_up(self.sides, low - CELL * UNIT, high + CELL * UNIT, bottom=0.0))

    def view(self, place: np.ndarray, heading: float, *, size: int) -> View:
        x, z = place
        return self._cameras.view(np.array([x, EYE, z]), heading, size=size)
