"""How long to wander. No torch here: the command line reads it for its help."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from cogmap.choices import LATER, Unexplored


@dataclass(frozen=True, kw_only=True)
class Exploration:
    """What a world is asked to record before anything is learned."""

    walk: Literal["lattice", "actions"] = "lattice"
    """In a maze: walk on its lattice, as the paper does, or act at random in the simulator."""
    walk_steps: int | Literal["auto"] = "auto"
    """Steps of the walk that pairs are drawn from. auto: 4,000,000 in a maze, 200,000 in a
    Gymnasium world, 400,000 in cube-single, which are 2,000 episodes."""
    action_steps: int | Literal["auto"] = "auto"
    """Random actions for the local dynamics, each held for one decision, beside a lattice walk.
    auto: 100,000, or 50 a state of a maze with more than 2,000 of them."""
    expert: float = field(default=1.0, metadata=LATER)
    """In cube-single: share of the episodes that the expert plays, the others being noisy."""
    coverage: float = 1.0
    """Share c of the world that the walk may enter."""
    unexplored: Unexplored = "far"
    """What a coverage below 1 leaves out: all far from one random place, or cells here and there.
    Cells leave the rest in one piece: where there are no loops, only dead ends can go."""

    @property
    def steps(self) -> int:
        """walk_steps, once it is settled."""
        assert self.walk_steps != "auto", "settle walk_steps first"
        return self.walk_steps
