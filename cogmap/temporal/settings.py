"""Settings of Algorithm 1. No torch here: the command line reads them for its help."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from cogmap.choices import LATER
from cogmap.errors import CogmapError

UPDATES, TAU_MAX = 6000, 8192  # in a maze
Encoder = Literal["auto", "state", "keypoints", "convolution"]


@dataclass(frozen=True, kw_only=True)
class TemporalTraining:
    """How to learn the temporal model."""

    steps: int = 0
    """Updates; 0: 6,000, or 2,000 in a Gymnasium world."""
    loss: Literal["softmax", "nce"] = "softmax"
    """softmax: pick the target out of the batch; nce: the paper's binary contrast (Eq. 5)."""
    recorded: int | Literal["auto"] | None = "auto"
    """Longest lag whose pairs are recorded; every horizon is composed of shorter ones. auto: a
    fifth of the root of the data's length, 400 steps for 4M. None: every horizon is recorded and
    none composed, as in the paper (and as the nce loss needs)."""
    negatives: float | None = None
    """N of the nce loss; by default the number of other rows in the batch, as in the paper."""
    tau_max: int | Literal["auto"] = "auto"
    """Longest horizon. auto: 8,192 in a maze, what a short trial tells in a Gymnasium world, and
    for data alone the power of two below a quarter of its longest episode, at most 8,192."""
    horizons: Literal["root", "log"] = "root"
    """p(tau): proportional to tau^-1/2, or log-uniform."""
    lags: int = 2
    """Horizons drawn in each update."""
    batch: int = 192
    """Pairs drawn for each horizon."""
    encoder: Encoder = "auto"
    """How observations are seen: state for vectors; for pictures keypoints (one small thing moves
    before a constant background) or convolution (anything else). auto: what the data asks for."""
    width: int = 256
    """Units in each hidden layer."""
    embedding: int = 64
    """Length of the unit embeddings."""
    cycles: float = 0.3
    """Typical periods of the Fourier features across half the data's width; more of them in worlds
    that are wide beside what a walk covers in a few dozen steps."""
    coupling: float = 30.0
    """beta0 begins as max(1, coupling / tau)."""
    tied: bool | Literal["auto"] = "auto"
    """One encoder for sources and targets, a quarter of its units turned: right where the walk is
    as likely backwards. auto: in mazes."""
    target: tuple[int, ...] = field(default=(), metadata=LATER)
    """Which numbers of an observation (0, 1, ...) a goal is told in; targets show no others. Empty:
    all. What leads to a cube in its place is then learned from every way of holding it."""
    goal_numbers: int = field(default=0, metadata=LATER)
    """How many numbers a goal is reduced to before it is scored, as is learned with all else: with
    few of them, what lasts (of an arm and a cube in pictures, where the cube is). 0: not at all."""
    numbers: int = field(default=0, metadata=LATER)
    """How many numbers the last row of a picture holds (data/mixed.py), to be seen beside it; a
    world that shows some says so itself."""
    noise: float = field(default=0.0, metadata=LATER)
    """Normal noise on observations while they are learned from, as a share of each number's spread:
    it keeps few episodes from being learned by heart. For numbers and looks, not for pictures."""
    learning_rate: float = 2e-3
    """Peak of the one-cycle schedule."""
    weight_decay: float = 1e-4
    """AdamW's."""
    checkpoint_every: int = 500
    """Updates between two checkpoints."""

    def __post_init__(self) -> None:
        if self.goal_numbers < 0:
            raise CogmapError(f"goal_numbers={self.goal_numbers}; give a number of them, or 0.")
        if self.numbers < 0:
            raise CogmapError(f"numbers={self.numbers}; give how many a picture's last row holds.")
        if self.noise < 0:
            raise CogmapError(f"noise={self.noise}; give a share of each number's spread, or 0.")
        if self.steps < 0:
            raise CogmapError(f"steps={self.steps}; give at least 1, or 0 for the usual number.")
        for name in ("lags", "tau_max", "width", "embedding", "checkpoint_every"):
            if getattr(self, name) != "auto" and getattr(self, name) < 1:
                raise CogmapError(f"{name}={getattr(self, name)}; give at least 1.")
        if self.batch < 2:
            raise CogmapError(f"batch={self.batch}; a contrast needs at least 2 pairs.")
        if self.negatives is not None and self.negatives <= 0:
            raise CogmapError(f"negatives={self.negatives}; give a positive number.")
        if isinstance(self.recorded, int) and self.recorded < 1:
            raise CogmapError(f"recorded={self.recorded}; give at least 1 step, auto or None.")
        if self.partial and self.tied is True:
            raise CogmapError(
                "sources show what targets do not; with --target or --goal-numbers leave out "
                "--tied."
            )
        if self.partial and isinstance(self.recorded, int):
            raise CogmapError(
                f"recorded={self.recorded}: horizons are composed of whole observations, of which "
                "--target and --goal-numbers show a part; give --recorded None."
            )
        if isinstance(self.recorded, int) and self.loss == "nce":
            raise CogmapError("the nce loss composes nothing; leave --recorded at auto.")

    @property
    def longest(self) -> int:
        """tau_max; what is still auto is as in a maze."""
        return TAU_MAX if self.tau_max == "auto" else self.tau_max

    @property
    def partial(self) -> bool:
        """Whether targets show less than sources."""
        return bool(self.target or self.goal_numbers)

    @property
    def one_encoder(self) -> bool:
        """Whether sources and targets share theirs."""
        return self.tied is not False and not self.partial
