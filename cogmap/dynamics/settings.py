"""Settings of Algorithm 2. No torch here: the command line reads them for its help."""

from __future__ import annotations

from dataclasses import dataclass, field

from cogmap.choices import LATER
from cogmap.errors import CogmapError


@dataclass(frozen=True, kw_only=True)
class DynamicsTraining:
    """How to learn the local dynamics."""

    steps: int = 4000
    """Updates."""
    batch: int = 1024
    """Transitions in each update."""
    ahead: int = field(default=1, metadata=LATER)
    """Actions in turn that are predicted one from the other while learning. More than 1 where a
    planner looks several ahead and predictions soon are like nothing that was seen: looks of
    pictures."""
    width: int = 256
    """Units in each hidden layer."""
    cycles: float = 2.0
    """Typical periods of the Fourier features across half the data's width; more of them in worlds
    that are wide beside one move."""
    learning_rate: float = 4e-3
    """Peak of the one-cycle schedule."""
    weight_decay: float = 1e-5
    """AdamW's."""
    checkpoint_every: int = 500
    """Updates between two checkpoints."""

    def __post_init__(self) -> None:
        for name in ("steps", "batch", "ahead", "width", "checkpoint_every"):
            if getattr(self, name) < 1:
                raise CogmapError(f"dynamics {name}={getattr(self, name)}; give at least 1.")
