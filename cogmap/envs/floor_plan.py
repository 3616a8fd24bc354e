"""Buildings as seen from above, to be drawn: where one can stand, and walls (Fig. 3).

Shape letters: T triangles, B walls.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cogmap.envs.scene import Scene
from cogmap.envs.turning import SPACING


@dataclass(frozen=True, eq=False)
class FloorPlan:
    """In plan coordinates (x, z), in metres."""

    free: np.ndarray  # (T, 3, 2) triangles where one can stand
    walls: np.ndarray  # (B, 2, 2) their two ends


def floor_plan(scene: Scene) -> FloorPlan:
    """The edges of a floor, or the sides of a maze's walls around squares of the lattice."""
    floor = getattr(scene, "floor", None)
    if floor is not None:
        return FloorPlan(floor.triangles[..., ::2], floor.edges[..., ::2])
    half = SPACING / 2
    corners = half * np.array([(-1, -1), (1, -1), (1, 1), (-1, -1), (1, 1), (-1, 1)])
    squares = (scene.points[:, None] + corners).reshape(-1, 3, 2)
    return FloorPlan(squares, getattr(scene, "sides", np.empty((0, 2, 2))))
