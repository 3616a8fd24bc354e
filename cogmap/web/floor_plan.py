"""What the page draws of a building from above: its floor, its walls, and how far things reach.

Shape letters: N places.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from cogmap.envs.maze_scene import SIDE, MazeScene
from cogmap.envs.scene import SPACING, Scene
from cogmap.envs.turning import HEADINGS
from cogmap.web import terrain_messages as messages


def floor_of(scene: Scene, points_of: Callable[[np.ndarray], np.ndarray]) -> messages.Floor:
    """What is drawn of a building: its own plan, or squares around the lattice where it has none"""
    if isinstance(scene, MazeScene):
        triangles, walls = squares(scene.cells, SIDE), scene.sides
    elif (floor := getattr(scene, "floor", None)) is not None:
        triangles, walls = floor.triangles[..., ::2], floor.edges[..., ::2]
    else:
        triangles, walls = squares(scene.points, SPACING), np.empty((0, 2, 2))

    def drawn(shapes: np.ndarray) -> list[list[messages.Place]]:
        flat = points_of(shapes.reshape(-1, 2)).round(4).reshape(shapes.shape)
        return [[(float(u), float(v)) for u, v in shape] for shape in flat]

    step = points_of(np.array([[0.0, 0.0], [SPACING, 0.0]]))
    return messages.Floor(
        triangles=drawn(triangles),
        walls=drawn(walls),
        spacing=float(step[1, 0] - step[0, 0]),
        reach=float(scene.tasks.within * (step[1, 0] - step[0, 0]) / SPACING),
        headings=HEADINGS,
    )


def squares(middles: np.ndarray, side: float) -> np.ndarray:
    """Two triangles each. (N, 2) -> (2N, 3, 2)"""
    corners = np.array([(-1, -1), (1, -1), (1, 1), (-1, -1), (1, 1), (-1, 1)])
    return np.asarray((middles[:, None] + side / 2 * corners).reshape(-1, 3, 2))
