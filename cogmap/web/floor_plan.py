"""What the page draws of a building from above: its floor, its walls, and how far things reach."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from cogmap.envs.floor_plan import floor_plan
from cogmap.envs.scene import SPACING, Scene
from cogmap.envs.turning import HEADINGS
from cogmap.web import terrain_messages as messages


def floor_of(scene: Scene, points_of: Callable[[np.ndarray], np.ndarray]) -> messages.Floor:
    """What is drawn of a building, in the plane of its points."""
    plan = floor_plan(scene)

    def drawn(shapes: np.ndarray) -> list[list[messages.Place]]:
        flat = points_of(shapes.reshape(-1, 2)).round(4).reshape(shapes.shape)
        return [[(float(u), float(v)) for u, v in shape] for shape in flat]

    step = points_of(np.array([[0.0, 0.0], [SPACING, 0.0]]))
    return messages.Floor(
        triangles=drawn(plan.free),
        walls=drawn(plan.walls),
        spacing=float(step[1, 0] - step[0, 0]),
        reach=float(scene.tasks.within * (step[1, 0] - step[0, 0]) / SPACING),
        headings=HEADINGS,
    )
