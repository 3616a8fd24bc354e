"""Settings of learning to see. No torch here: the command line reads them for its help."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from cogmap.choices import LATER
from cogmap.errors import CogmapError

Eye = Literal["points", "convolution"]


@dataclass(frozen=True, kw_only=True)
class SightTraining:
    """How to learn to see where one picture does not tell the state."""

    frames: int = 0
    """Pictures that a state is made of: the present one and those before it, with the actions in
    between. 0: the temporal model has an eye of its own, and sees one picture at a time."""
    numbers: int = 16
    """That each picture is reduced to."""
    eye: Eye = field(default="points", metadata=LATER)
    """What reduces it: the mean places of things in it, for a camera that stands still, or strided
    convolutions, for one that goes about; a building has the latter."""
    points: int = 32
    """Places in a picture that points are made of."""
    tau_max: int | None = field(default=None, metadata=LATER)
    """Longest lag of pictures that are said to follow one another. None: the longest horizon."""
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
        if self.tau_max is not None and self.tau_max < 1:
            raise CogmapError(f"sight tau_max={self.tau_max}; give at least 1 step, or None.")
        if self.batch < 2:
            raise CogmapError(f"sight batch={self.batch}; a contrast needs at least 2 pairs.")
