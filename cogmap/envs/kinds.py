"""The worlds of this package by the kind that config.json names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cogmap.envs.pointmaze import PointMaze
from cogmap.envs.world import World

KINDS: dict[str, Callable[[dict[str, Any]], World]] = {PointMaze.KIND: PointMaze.restored}


def restored(description: dict[str, Any] | None) -> World | None:
    """The world that `describe` described; None for none and for a kind of the user's own."""
    if description is None or description.get("kind") not in KINDS:
        return None
    return KINDS[description["kind"]](description)
