"""Settings of learning to see. No torch here: the command line reads them for its help."""

from __future__ import annotations

from dataclasses import dataclass

from cogmap.errors import CogmapError


@dataclass(frozen=True, kw_only=True)
class SightTraining:
    """How to learn to see where one picture does not tell the state."""

    frames: int = 0
    """Pictures that a state is made of: the present one and those before it, with the actions in
    between. 0: the temporal model has an eye of its own, and sees one picture at a time."""
    numbers: int = 16
    """That each picture is reduced to."""
    points: int = 32
    """Places in a picture that they are made of."""
    steps: int = 3000
    """Updates."""
    batch: int = 192
    """Pairs of pictures in each update."""
    learning_rate: float = 2e-3
    """Peak of the one-cycle schedule."""
    weight_decay: float = 1e-4
    """AdamW's."""
    checkpoint_every: int = 500
    """Updates between two checkpoints."""

    def __post_init__(self) -> None:
        if self.frames < 0:
            raise CogmapError(f"frames={self.frames}; give the number of pictures, or 0.")
        for name in ("numbers", "points", "steps", "checkpoint_every"):
            if getattr(self, name) < 1:
                raise CogmapError(f"sight {name}={getattr(self, name)}; give at least 1.")
        if self.batch < 2:
            raise CogmapError(f"sight batch={self.batch}; a contrast needs at least 2 pairs.")
