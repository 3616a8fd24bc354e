"""Settings of Algorithm 1. No torch here: the command line reads them for its help."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from cogmap.errors import CogmapError

Encoder = Literal["auto", "state", "keypoints", "convolution"]


@dataclass(frozen=True, kw_only=True)
class TemporalTraining:
    """How to learn the temporal model."""

    steps: int = 4000
    """Updates."""
    loss: Literal["softmax", "nce"] = "softmax"
    """softmax: pick the target out of the batch; nce: the paper's binary contrast (Eq. 5)."""
    compose: bool = True
    """Compose long horizons from short recorded lags (softmax only; see docs/differences.md)."""
    compose_octaves: int = 7
    """How many octaves below tau_max are composed: horizons from tau_max / 2^7 on."""
    recorded_octaves: tuple[int, int] = (10, 5)
    """Lags recorded for a composed horizon: from tau_max / 2^10 to tau_max / 2^5."""
    agreement: float = 0.3
    """Weight of the agreement with composed horizons in log scale; 0 leaves it out."""
    agreement_floor: float = -12.0
    """Scores below this say "far" and no more."""
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
    batch: int = 512
    """Pairs drawn for each horizon where they do not."""
    encoder: Encoder = "auto"
    """How observations are seen: state for vectors; for pictures keypoints (one small thing moves
    before a constant background) or convolution (anything else). auto: what the data asks for."""
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
        if self.compose_octaves < 0:
            raise CogmapError(f"compose_octaves={self.compose_octaves}; give 0 or more.")
        octaves = self.recorded_octaves
        if len(octaves) != 2 or not 1 <= octaves[1] <= octaves[0]:
            raise CogmapError(
                f"recorded_octaves={octaves}; give two whole numbers from 1 on, the "
                "larger (the shortest lag) first."
            )
        if self.agreement < 0:
            raise CogmapError(f"agreement={self.agreement}; give a weight from 0 on.")
        if self.agreement_floor >= 0:
            raise CogmapError(f"agreement_floor={self.agreement_floor}; give a number below 0.")

    @property
    def composes(self) -> bool:
        """Whether long horizons are composed: the softmax loss alone takes expected counts."""
        return self.compose and self.loss == "softmax"

    @property
    def both_ways(self) -> bool:
        """Whether pairs are read both ways: one encoder takes the walk to be reversible."""
        return self.composes and self.tied

    @property
    def compose_from(self) -> int:
        """The shortest horizon that is composed; shorter ones have pairs enough of their own."""
        return max(1, self.tau_max >> self.compose_octaves)

    @property
    def recorded_lags(self) -> tuple[int, int]:
        """The shortest and the longest lag that a composed horizon's pairs are recorded at."""
        first, last = self.recorded_octaves
        return max(1, self.tau_max >> first), max(1, self.tau_max >> last)
