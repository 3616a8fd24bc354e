"""How long to wander. No torch here: the command line reads it for its help."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from cogmap.choices import Unexplored


@dataclass(frozen=True, kw_only=True)
class Exploration:
    """What a world is asked to record before anything is learned."""

    walk: Literal["lattice", "actions"] = "lattice"
    """In a maze: walk on its lattice, as the paper does, or act at random in the simulator."""
    walk_steps: int = 4_000_000
    """Steps of the walk that pairs are drawn from."""
    action_steps: int = 100_000
    """Random actions for the local dynamics, each held for one decision, beside a lattice walk."""
    coverage: float = 1.0
    """Share c of the world that the walk may enter."""
    unexplored: Unexplored = "far"
    """What a coverage below 1 leaves out: all far from one random place, or cells here and there.
    Cells leave the rest in one piece: where there are no loops, only dead ends can go."""
