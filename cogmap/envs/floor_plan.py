"""Buildings as seen from above, to be drawn: where one can stand, and walls (Fig. 3).

Shape letters: N places, T triangles, B walls.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cogmap.envs.maze_scene import SIDE, MazeScene
from cogmap.envs.scene import Scene
from cogmap.envs.turning import SPACING


@dataclass(frozen=True, eq=False)
class FloorPlan:
    """In plan coordinates (x, z), in metres."""

    free: np.ndarray  # (T, 3, 2) triangles where one can stand
    walls: np.ndarray  # (B, 2, 2) their two ends


def floor_plan(scene: Scene) -> FloorPlan:
    """Its floor and walls, or squares around the lattice where it has neither."""
    if isinstance(scene, MazeScene):
        return FloorPlan(squares(scene.cells, SIDE), scene.sides)
    if (floor := getattr(scene, "floor", None)) is not None:
        return FloorPlan(floor.triangles[..., ::2], floor.edges[..., ::2])
    return FloorPlan(squares(scene.points, SPACING), np.empty((0, 2, 2)))


def squares(middles: np.ndarray, side: float) -> np.ndarray:
    """Two triangles each. (N, 2) -> (2N, 3, 2)"""
    corners = np.array([(-1, -1), (1, -1), (1, 1), (-1, -1), (1, 1), (-1, 1)])
    return np.asarray((middles[:, None] + side / 2 * corners).reshape(-1, 3, 2))
