"""Settings of Algorithm 1. No torch here: the command line reads them for its help."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from cogmap.errors import CogmapError


@dataclass(frozen=True, kw_only=True)
class TemporalTraining:
    """How to learn the temporal model."""

    steps: int = 4000
    """Updates."""
    loss: Literal["softmax", "nce"] = "softmax"
    """softmax: pick the target out of the batch; nce: the paper's binary contrast (Eq. 5)."""
    compose: bool = True
    """Compose long horizons from short recorded lags (softmax only; see docs/differences.md)."""
    negatives: float | None = None
    """N of the nce loss; by default the number of other pairs in the batch, as in the paper."""
    tau_max: int = 8192
    """Longest horizon."""
    horizons: Literal["root", "log"] = "root"
    """p(tau): proportional to tau^-1/2, or log-uniform."""
    lags: int = 2
    """Horizons drawn in each update."""
    pairs: int = 65536
    """Pairs drawn for each horizon where observations repeat (a lattice walk)."""
    batch: int = 1024
    """Pairs drawn for each horizon where they do not."""
    width: int = 256
    """Units in each hidden layer."""
    embedding: int = 64
    """Length of the unit embeddings."""
    cycles: float = 0.3
    """Typical periods of the Fourier features across half the data's width."""
    tied: bool = True
    """One encoder for sources and targets: right where the walk is as likely backwards."""
    learning_rate: float = 2e-3
    """Peak of the one-cycle schedule."""
    weight_decay: float = 1e-4
    """AdamW's."""
    checkpoint_every: int = 500
    """Updates between two checkpoints."""

    def __post_init__(self) -> None:
        for name in ("steps", "lags", "pairs", "width", "embedding", "checkpoint_every"):
            if getattr(self, name) < 1:
                raise CogmapError(f"{name}={getattr(self, name)}; give at least 1.")
        if self.batch < 2:
            raise CogmapError(f"batch={self.batch}; a contrast needs at least 2 pairs.")
        if self.negatives is not None and self.negatives <= 0:
            raise CogmapError(f"negatives={self.negatives}; give a positive number.")
        if self.tau_max < 1:
            raise CogmapError(f"tau_max={self.tau_max} is below 1; horizons count steps from 1 on.")
