"""PointMaze as a world to plan in: candidates, success and shortest paths (Sec. 4.1)."""

from __future__ import annotations

from functools import cached_property
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from cogmap.envs.album import Album
from cogmap.envs.camera import SIZE, Camera
from cogmap.envs.maze import AGENT_RADIUS, CELL, GOAL_RADIUS, Maze
from cogmap.envs.physics import STEP_LENGTH, KinematicPhysics, MujocoPhysics, Physics
from cogmap.errors import CogmapError
from cogmap.planning.candidates import Candidates, directions
from cogmap.theory.geodesic import VisibilityGraph

Observation = Literal["state", "image"]
SHAPES: dict[tuple[int, ...], Observation] = {(2,): "state", (SIZE, SIZE, 3): "image"}
UNIT = 1.0  # one lattice move
STEPS_PER_UNIT = round(UNIT / STEP_LENGTH)  # five simulator steps


class PointMaze:
    """One maze with its physics."""

    def __init__(
        self,
        maze: Maze,
        *,
        physics: Literal["mujoco", "kinematic"] = "mujoco",
        observation: Observation = "state",
        album: Album | None = None,
    ) -> None:
        """With an album pictures are looked up, the nearest place's, instead of taken."""
        self.maze = maze
        self.physics_name = physics
        self.observation = observation
        self._album = album

    def physics(self) -> Physics:
        """A fresh simulator."""
        if self.physics_name == "kinematic":
            return KinematicPhysics(self.maze)
        return MujocoPhysics(self.maze)

    @cached_property
    def camera(self) -> Camera:
        return Camera(self.maze)

    def observe(self, positions: np.ndarray) -> np.ndarray:
        """What is seen at each position. (E, 2) -> (E, 2), or pictures (E, 64, 64, 3)"""
        if self.observation == "state":
            return positions
        if self._album is not None:
            return self._album.seen(positions)
        return self.camera.pictures(positions)

    def candidates(self, *, hold: int, radii: tuple[int, ...]) -> Candidates:
        """Sixteen directions, for a local dynamics whose actions last `hold` simulator steps."""
        if STEPS_PER_UNIT % hold:
            raise CogmapError(
                f"this dynamics holds actions for {hold} simulator steps; "
                f"planning needs a divisor of {STEPS_PER_UNIT}."
            )
        return Candidates(directions(16), radii, STEPS_PER_UNIT // hold)

    @staticmethod
    def arrived(observations: Tensor, goals: Tensor) -> Tensor:
        """Success: within one unit of the goal. (E, K, 2), (E, 2) -> (E, K)"""
        return torch.linalg.vector_norm(observations - goals[:, None], dim=-1) <= GOAL_RADIUS

    def goal_share(self) -> float:
        """p0 of a goal region under uniform exploration: a disc's share of the lattice's area."""
        return min(1.0, np.pi * GOAL_RADIUS**2 / len(self.maze.lattice))

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
        place = f"{name} ({xy[0]:g}, {xy[1]:g})"
        if self.maze.clearance(xy[None])[0] < AGENT_RADIUS - 0.05:
            near = self.maze.lattice.points[self.maze.lattice.nearest(xy[None])[0]]
            raise CogmapError(
                f"{place} touches or lies inside a wall; the nearest free point is "
                f"({near[0]:g}, {near[1]:g})."
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
