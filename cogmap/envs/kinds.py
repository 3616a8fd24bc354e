"""The worlds of this package by the kind that config.json names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cogmap.envs.pointmaze import PointMaze
from cogmap.envs.world import World
from cogmap.goals import Seen


def _gymnasium(description: dict[str, Any], seen: Seen | None) -> World:
    from cogmap.envs.gym import GymWorld  # needs the extra [gym]

    return GymWorld.restored(description, seen)


def _cube(description: dict[str, Any], seen: Seen | None) -> World:
    from cogmap.envs.cube import CubeSingle  # needs the extra [ogbench]

    return CubeSingle.restored(description)


def _building(description: dict[str, Any], seen: Seen | None) -> World | None:
    if description.get("protocol") == "continuous":
        from cogmap.envs.continuous import Continuous

        return Continuous.restored(description)
    from cogmap.envs.egocentric import Building

    return Building.restored(description)


KINDS: dict[str, Callable[[dict[str, Any], Seen | None], World | None]] = {
    PointMaze.KIND: lambda description, seen: PointMaze.restored(description),
    "gymnasium": _gymnasium,
    "cube-single": _cube,
    "building": _building,
}


def restored(description: dict[str, Any] | None, seen: Seen | None = None) -> World | None:
    """The world that `describe` described; None for none and for a kind of the user's own.

    `seen` is what a run saw of it, from which a world without a map chooses its goals.
    """
    if description is None or description.get("kind") not in KINDS:
        return None
    return KINDS[description["kind"]](description, seen)
