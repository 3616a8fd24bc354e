"""What only a maze has: a lattice, shortest paths around walls, places on a plane (Sec. 4.1)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from cogmap.envs.maze import AGENT_RADIUS, CELL, GOAL_RADIUS, Lattice, Maze
from cogmap.errors import CogmapError
from cogmap.theory.geodesic import VisibilityGraph

if TYPE_CHECKING:
    from cogmap.envs.pointmaze import PointMaze


@dataclass(frozen=True, eq=False)
class MazeMap:
    """A maze as a plane to draw on and to measure in. Places are (x, y) in simulator units."""

    maze: Maze
    glance: Callable[[np.ndarray], np.ndarray]  # (N, 2) places -> (N, ...) what is seen there,
    # from pictures that were taken before, where there are any
    positions: Callable[[], PointMaze]  # the same maze, seen as positions: the oracle's world

    cell = CELL  # side of a cell of the map, in units
    unit = 1.0  # one lattice move
    agent_radius = AGENT_RADIUS
    goal_radius = GOAL_RADIUS  # an episode succeeds within it

    @property
    def lattice(self) -> Lattice:
        return self.maze.lattice

    @cached_property
    def paths(self) -> VisibilityGraph:
        return VisibilityGraph(self.maze.walls, cell=CELL, clearance=self.maze.clearance)

    def shortest(self, start: np.ndarray, goal: np.ndarray) -> float:
        """l of Eq. 11: the shortest path to the goal region, whose edge is one unit out."""
        return max(0.0, self.paths.distance(start, goal) - GOAL_RADIUS)

    def check_bounds(self, name: str, xy: np.ndarray | tuple[float, float]) -> None:
        """Raises for what is no place on the map."""
        xy = np.asarray(xy, dtype=np.float64)
        if xy.shape != (2,) or not np.isfinite(xy).all():
            raise CogmapError(f"{name} {xy.tolist()} is not a pair of numbers x,y.")
        low, high = self.maze.bounds
        if (xy < low).any() or (xy > high).any():
            raise CogmapError(
                f"{name} ({xy[0]:g}, {xy[1]:g}) lies outside the maze, which spans "
                f"x {low[0]:g} to {high[0]:g}, y {low[1]:g} to {high[1]:g}."
            )

    def check_place(self, name: str, xy: np.ndarray) -> None:
        """Raises unless the agent can stand there."""
        self.check_bounds(name, xy)
        xy = np.asarray(xy, dtype=np.float64)
        if self.maze.clearance(xy[None])[0] < AGENT_RADIUS - 0.05:
            near = self.lattice.points[self.lattice.nearest(xy[None])[0]]
            raise CogmapError(
                f"{name} ({xy[0]:g}, {xy[1]:g}) touches or lies inside a wall; the nearest free "
                f"point is ({near[0]:g}, {near[1]:g})."
            )

    def check_task(self, start: np.ndarray, goal: np.ndarray) -> None:
        """Raises unless the agent can stand at both ends and get from one to the other."""
        self.check_place("start", start)
        self.check_place("goal", goal)
        if not np.isfinite(self.paths.distance(start, goal)):
            raise CogmapError(
                f"the goal ({goal[0]:g}, {goal[1]:g}) cannot be reached from "
                f"({start[0]:g}, {start[1]:g}): walls separate them."
            )
