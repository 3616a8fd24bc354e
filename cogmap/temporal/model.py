"""The multi-horizon energy-based model G(x, y, tau) (Sec. 2.2, Eq. 1 and 3)."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from cogmap.errors import CogmapError
from cogmap.temporal.encoders import (
    HORIZON_WIDTH,
    Few,
    FourierFeatures,
    HorizonEmbedding,
    HorizonHead,
    Mirror,
    Part,
    StateTrunk,
)
from cogmap.temporal.eyes import Convolution, Keypoints, Mixed
from cogmap.temporal.scorer import LearnedScorer
from cogmap.temporal.settings import Encoder

TARGET_CYCLES = 1.0  # of Fourier features where a few numbers tell a goal
FIRST_BETA1 = 7.0  # G where embeddings coincide: one of e^7, about a thousand, states


@dataclass(frozen=True)
class TemporalConfig:
    """The shape of a temporal model; what is needed to build it before its weights are read."""

    observation_shape: tuple[int, ...]
    """Shape of one observation."""
    tau_max: int = 8192
    """The longest horizon it is trained for."""
    width: int = 256
    """Units in each hidden layer."""
    embedding: int = 64
    """Length D of the unit embeddings."""
    waves: int = 64
    """Fourier features of a state."""
    cycles: float = 0.3
    """Their typical periods across half the data's width, times its stretch."""
    tied: bool = True
    """One encoder for sources and targets."""
    turned: int = 16
    """Its last units, whose sign is turned for targets."""
    coupling: float = 30.0
    """beta0 begins as max(1, coupling / tau)."""
    normalised: bool = True
    """Subtract each source's log-partition over the bank (Eq. 12); the softmax loss needs it."""
    bank_size: int = 0
    """Reference observations kept to stand for p0; 0 until the data is seen."""
    encoder: Encoder = "state"
    """What makes a look of an observation."""
    keypoints: int = 8
    """Positions that a picture is reduced to by keypoints."""
    convolution_size: int = 32
    """Numbers that a picture is reduced to by a convolution."""
    numbers: int = 0
    """Numbers that the last row of a picture holds."""
    target: tuple[int, ...] = ()
    """Numbers of a state that targets show; empty: all."""
    goal_numbers: int = 0
    """Numbers that those are reduced to, which is learned; 0: not at all."""

    @property
    def sees(self) -> bool:
        """Whether observations are pictures (H, W, C)."""
        return len(self.observation_shape) == 3

    @property
    def look_size(self) -> int:
        if self.encoder == "state":
            return self.observation_shape[0]
        if self.encoder == "keypoints":
            return 2 * self.keypoints
        return self.convolution_size + self.numbers


def check_encoder(encoder: Encoder, shape: tuple[int, ...]) -> None:
    """Raises for an encoder that cannot take observations of a shape."""
    if encoder != "auto" and (len(shape) == 3) == (encoder == "state"):
        raise CogmapError(
            f"encoder={encoder} does not see observations of shape {shape}; "
            "leave --encoder at auto."
        )


def check_target(target: tuple[int, ...], shape: tuple[int, ...]) -> None:
    """Raises for numbers that observations of a shape do not have."""
    if target and len(shape) > 1:
        raise CogmapError(f"target={target}: pictures have no numbers to tell goals in.")
    if any(not 0 <= place < shape[0] for place in target):
        raise CogmapError(f"target={target}; an observation has numbers 0 to {shape[0] - 1} here.")


class TemporalModel(nn.Module):
    """Scores how much likelier y is to follow x after tau steps than to occur at all.

    Scores are between looks: `look` makes them of observations. A state is its own look; of a
    picture it is a handful of numbers, so that planning need not draw what it expects.

    Shape letters: B sources, C targets, N observations, T horizons, D embedding, R bank.
    """

    bank: Tensor
    bank_log_share: Tensor

    def __init__(
        self,
        config: TemporalConfig,
        *,
        low: Tensor,
        high: Tensor,
        stretch: float | Tensor = 1.0,
        seed: int = 0,
    ) -> None:
        """`low` and `high` bound what was seen; `stretch` multiplies cycles. (d,) each"""
        super().__init__()
        if len(config.observation_shape) not in (1, 3):
            raise CogmapError(
                f"observations of shape {config.observation_shape}; give flat vectors, or pictures "
                "(height, width, channels)."
            )
        check_encoder(config.encoder, config.observation_shape)
        self.config = config
        self.eye: Keypoints | Convolution | Mixed | None = None
        if config.encoder == "keypoints":
            self.eye = Keypoints(config.observation_shape, keypoints=config.keypoints)
        elif config.encoder == "convolution" and config.numbers:
            self.eye = Mixed(
                config.observation_shape, size=config.convolution_size, numbers=config.numbers
            )
        elif config.encoder == "convolution":
            self.eye = Convolution(config.observation_shape, size=config.convolution_size)
        generator = torch.Generator().manual_seed(seed)

        if (config.target or config.goal_numbers) and config.tied:
            raise CogmapError("one encoder cannot see all for sources and a part for targets.")
        check_target(config.target, config.observation_shape)

        def encoder(seen: Tensor, cycles: float | Tensor) -> tuple[StateTrunk, HorizonHead]:
            features = FourierFeatures(
                low[seen], high[seen], count=config.waves, cycles=cycles, generator=generator
            )
            trunk = StateTrunk(features, width=config.width)
            return trunk, HorizonHead(width=config.width, embedding=config.embedding)

        cycles, every = config.cycles * stretch, torch.arange(config.look_size)
        self.source_trunk, self.source_head = encoder(every, cycles)
        self.target_trunk: StateTrunk | Part = self.source_trunk
        self.target_head: Mirror | HorizonHead = Mirror(self.source_head, turned=config.turned)
        if config.goal_numbers:
            part = torch.tensor(config.target or range(config.look_size))
            plain = FourierFeatures(low[part], high[part], count=0, cycles=1, generator=generator)
            few = Few(plain, numbers=config.goal_numbers, width=config.width)
            self.target_trunk = Part(few, part)
            self.target_head = HorizonHead(width=config.width, embedding=config.embedding)
        elif config.target:
            part = torch.tensor(config.target)
            trunk, self.target_head = encoder(part, TARGET_CYCLES)
            self.target_trunk = Part(trunk, part)
        elif not config.tied:
            self.target_trunk, self.target_head = encoder(every, cycles)
        self.horizon = HorizonEmbedding()
        self.betas = nn.Linear(HORIZON_WIDTH, 2)
        nn.init.zeros_(self.betas.weight)
        with torch.no_grad():
            self.betas.bias.copy_(torch.tensor([0.0, FIRST_BETA1]))
        self.register_buffer("bank", torch.zeros(config.bank_size, config.look_size))
        self.register_buffer("bank_log_share", torch.zeros(config.bank_size))

    def look(self, observations: Tensor) -> Tensor:
        """What planning and scores need to know of an observation. (N, ...) -> (N, d)

        Raises for a picture that the eye is not made for. Asking waits for the device, so training
        checks its data once and then takes the two steps below.
        """
        if self.eye is not None:
            self.eye.check(observations)
        return self.see(self.prepare(observations))

    def prepare(self, observations: Tensor) -> tuple[Tensor, ...]:
        """What of an observation does not change while the model learns."""
        return (observations,) if self.eye is None else self.eye.prepare(observations)

    def see(self, prepared: tuple[Tensor, ...]) -> Tensor:
        """The rest of `look`. -> (N, d)"""
        return prepared[0] if self.eye is None else self.eye.see(prepared)

    def beta(self, horizon: Tensor, taus: Tensor) -> tuple[Tensor, Tensor]:
        """beta0 > 0 and beta1 of embedded horizons. (T, E), (T,) -> (T,), (T,)"""
        log_beta0, beta1 = self.betas(horizon).unbind(-1)
        return log_beta0.exp() * (self.config.coupling / taus).clamp(min=1.0), beta1

    def raw_pair_score(self, sources: Tensor, targets: Tensor, taus: Tensor) -> Tensor:
        """beta0 (<h, g> - 1) + beta1 for every pair: what training contrasts. -> (T, B, C)

        Tied encoders that are given one tensor for both sides encode it once.
        """
        horizon = self.horizon(taus)
        beta0, beta1 = self.beta(horizon, taus)
        h = self.source_head(self.source_trunk(sources), horizon)  # (B, T, D)
        if targets is sources and isinstance(self.target_head, Mirror):
            g = self.target_head.turned(h)
        else:
            g = self.target_head(self.target_trunk(targets), horizon)  # (C, T, D)
        scaled = h.transpose(0, 1) * beta0[:, None, None]  # (T, B, D): cheaper than scaling scores
        return torch.baddbmm((beta1 - beta0)[:, None, None], scaled, g.permute(1, 2, 0))

    def pair_score(self, sources: Tensor, targets: Tensor, tau: int) -> Tensor:
        """G between every source and every target at one horizon (Eq. 3). -> (B, C)"""
        taus = torch.tensor([tau], device=sources.device)
        score = self.raw_pair_score(sources, targets, taus)[0]
        if self.config.normalised:
            score = score - self.log_partition(sources, taus)
        return score

    def log_partition(self, sources: Tensor, taus: Tensor) -> Tensor:
        """log E_p0 exp(raw score) of each source over the bank (Eq. 12). -> (B, T)"""
        raw = self.raw_pair_score(sources, self.bank, taus)  # (T, B, R)
        return torch.logsumexp(raw + self.bank_log_share, dim=-1).T

    def goal_score(self, observations: Tensor, goal: Tensor, taus: Tensor) -> Tensor:
        """G of many observations towards one goal at many horizons. (N, ...), (...) -> (N, T)"""
        scorer = LearnedScorer(self, taus)
        return scorer.score(observations[None], scorer.embed_goals(goal[None])[None])[0]
