"""Encoders h(x, tau), g(y, tau): a trunk for each observation, a head for each horizon (Sec. 2.2).

    picture --eye--> look --trunk--> feature --head(tau)--> unit embedding
    (N, H, W, C)    (N, d)           (N, W)      light        (N, T, D)

A state is its own look; eyes.py has the eyes. Shape letters: N observations, d numbers in a look,
T horizons, W width, D embedding.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F

HORIZON_WAVES = 8  # sines and cosines of log2(tau) that the horizon embedding is made of
HORIZON_WIDTH = 64


class FourierFeatures(nn.Module):
    """Observations scaled to [-1, 1], beside sines of random directions through them.

    `cycles` is the typical number of periods across half the width of the data, one for all
    dimensions or one each. Low values keep the score smooth between the points it was trained on.
    """

    centre: Tensor
    half_width: Tensor
    waves: Tensor

    def __init__(
        self,
        low: Tensor,
        high: Tensor,
        *,
        count: int,
        cycles: float | Tensor,
        generator: torch.Generator,
    ) -> None:
        super().__init__()
        self.register_buffer("centre", (low + high) / 2)
        self.register_buffer("half_width", ((high - low) / 2).clamp(min=1e-6))
        periods = torch.as_tensor(cycles, dtype=torch.float32).expand(len(low))
        waves = torch.randn(len(low), count, generator=generator) * periods[:, None] * 2 * math.pi
        waves *= math.sqrt(2 / len(low))  # as many periods in many dimensions as in two
        self.register_buffer("waves", waves)
        self.width = len(low) + 2 * count

    def forward(self, x: Tensor) -> Tensor:
        """(N, d) -> (N, d + 2 count)"""
        scaled = (x - self.centre) / self.half_width
        angle = scaled @ self.waves
        return torch.cat([scaled, angle.sin(), angle.cos()], dim=-1)


class StateTrunk(nn.Module):
    """The trunk for state vectors: Fourier features, then two layers. (N, d) -> (N, W)"""

    def __init__(self, features: FourierFeatures, *, width: int) -> None:
        super().__init__()
        self.features = features
        self.layers = nn.Sequential(
            nn.Linear(features.width, width), nn.SiLU(), nn.Linear(width, width), nn.SiLU()
        )

    def forward(self, x: Tensor) -> Tensor:
        return self.layers(self.features(x))


class Few(nn.Module):
    """A trunk that lets few numbers through.

    The contrast fills them with what tells targets apart best over all horizons: with what of a
    state lasts, and not with what soon is otherwise. (N, d) -> (N, W)
    """

    def __init__(self, features: FourierFeatures, *, numbers: int, width: int) -> None:
        super().__init__()
        self.reduce = nn.Sequential(StateTrunk(features, width=width), nn.Linear(width, numbers))
        self.layers = nn.Sequential(
            nn.Linear(numbers, width), nn.SiLU(), nn.Linear(width, width), nn.SiLU()
        )

    def forward(self, x: Tensor) -> Tensor:
        return self.layers(self.reduce(x))


class Part(nn.Module):
    """A trunk that is shown some numbers of a state: those that a goal is told in."""

    part: Tensor

    def __init__(self, trunk: StateTrunk | Few, part: Tensor) -> None:
        super().__init__()
        self.trunk = trunk
        self.register_buffer("part", part, persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        """(..., d) -> (..., W)"""
        return self.trunk(x[..., self.part])


class HorizonEmbedding(nn.Module):
    """A learned embedding of log2(tau), smooth, so that all horizons share it. (T,) -> (T, E)"""

    waves: Tensor

    def __init__(self) -> None:
        super().__init__()
        # Half a period to four periods over the 16 octaves that a horizon may span.
        periods = torch.linspace(0.5, 4.0, HORIZON_WAVES)
        self.register_buffer("waves", periods * 2 * math.pi / 16)
        self.layers = nn.Sequential(
            nn.Linear(1 + 2 * HORIZON_WAVES, HORIZON_WIDTH),
            nn.SiLU(),
            nn.Linear(HORIZON_WIDTH, HORIZON_WIDTH),
            nn.SiLU(),
        )

    def forward(self, taus: Tensor) -> Tensor:
        octave = taus.float().log2()[:, None]
        angle = octave * self.waves
        return self.layers(torch.cat([octave / 8 - 1, angle.sin(), angle.cos()], dim=-1))


class HorizonHead(nn.Module):
    """Bends a feature to each horizon: two layers whose units the horizon scales and shifts.

    The first product with the feature does not depend on the horizon, so it is done once.
    """

    def __init__(self, *, width: int, embedding: int) -> None:
        super().__init__()
        self.enter = nn.Linear(width, width)
        self.middle = nn.Linear(width, width)
        self.leave = nn.Linear(width, embedding)
        self.film = nn.Linear(HORIZON_WIDTH, 4 * width)
        nn.init.zeros_(self.film.bias)

    def forward(self, feature: Tensor, horizon: Tensor) -> Tensor:
        """(..., N, W), (..., T, E) -> (..., N, T, D), unit length"""
        film = self.film(horizon)[..., None, :, :]  # (..., 1, T, 4 W)
        scale1, shift1, scale2, shift2 = film.chunk(4, dim=-1)
        hidden = self.enter(feature)[..., None, :]  # (..., N, 1, W)
        hidden = F.silu(hidden * (1 + scale1) + shift1)  # (..., N, T, W)
        hidden = F.silu(self.middle(hidden) * (1 + scale2) + shift2)
        return F.normalize(self.leave(hidden), dim=-1)


class Mirror(nn.Module):
    """The targets' side of one head for both: its embedding with some units turned.

    <h(x), h(y)> is positive semi-definite, which G is not: of the exact scores of Giant at 256
    steps such a form misses 0.4 nat and more, however long the embeddings are, and one with both
    signs 0.02. With turned units it stays as symmetric as a walk that is as likely backwards.
    """

    signs: Tensor

    def __init__(self, head: HorizonHead, *, turned: int) -> None:
        super().__init__()
        self.head = head
        signs = torch.ones(head.leave.out_features)
        signs[len(signs) - turned :] = -1
        self.register_buffer("signs", signs, persistent=False)

    def turned(self, embedding: Tensor) -> Tensor:
        """(..., D) -> (..., D)"""
        return embedding * self.signs

    def forward(self, feature: Tensor, horizon: Tensor) -> Tensor:
        return self.turned(self.head(feature, horizon))
