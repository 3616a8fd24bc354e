"""Encoders h(x, tau), g(y, tau): a trunk for each observation, a head for each horizon (Sec. 2.2).

    picture --eye--> look --trunk--> feature --head(tau)--> unit embedding
    (N, H, W, 3)    (N, d)           (N, W)      light        (N, T, D)

A state is its own look. Shape letters: N observations, d numbers in a look, T horizons, W width, D
embedding; of a picture H and W pixels, K keypoints.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F

HORIZON_WAVES = 8  # sines and cosines of log2(tau) that the horizon embedding is made of
HORIZON_WIDTH = 64


EYE_CHANNELS = 16  # of the first convolution
WINDOW = 16  # pixels on a side around what differs from the background


class Eye(nn.Module):
    """Where things are that are not in every picture: K keypoints.

    What differs from the background passes two convolutions without offsets, so nothing stays
    nothing; each channel's centre of mass is a keypoint. There is no pooling that could lose an
    agent of a few pixels, and its place is known to a fraction of one. Only the window around the
    difference is convolved: all else is nothing.
    """

    background: Tensor

    def __init__(self, shape: tuple[int, ...], *, keypoints: int) -> None:
        super().__init__()
        height, width, colours = shape
        self.first = nn.Conv2d(colours, EYE_CHANNELS, 3, padding=1, bias=False)
        self.second = nn.Conv2d(EYE_CHANNELS, keypoints, 3, padding=1, bias=False)
        self.register_buffer("background", torch.zeros(shape))  # in 0..255
        self.shape = height, width

    def window(self, pictures: Tensor) -> tuple[Tensor, Tensor]:
        """The part that differs from the background, and where each of its pixels lies.

        (N, H, W, 3) -> (N, 3, h, w), (N, h w, 2) in [-1, 1]; x to the right, y upward
        """
        change = (pictures - self.background) / 255
        differs = change.ne(0).any(-1)  # (N, H, W)
        rows, columns = (
            _around(differs.any(axis), min(WINDOW, size))
            for axis, size in zip((2, 1), self.shape, strict=True)
        )  # (N, h), (N, w)
        each = torch.arange(len(pictures), device=pictures.device)[:, None, None]
        part = change[each, rows[:, :, None], columns[:, None, :]].permute(0, 3, 1, 2)
        x = columns.float() * (2 / (self.shape[1] - 1)) - 1
        y = 1 - rows.float() * (2 / (self.shape[0] - 1))
        across = torch.stack(
            [x[:, None, :].expand(part[:, 0].shape), y[:, :, None].expand(part[:, 0].shape)], dim=-1
        )
        return part, across.flatten(1, 2)

    def forward(self, part: Tensor, places: Tensor) -> Tensor:
        """Of a window (N, 3, h, w), (N, h w, 2) -> (N, 2 K)"""
        mass = self.second(F.silu(self.first(part))).square().flatten(2)  # (N, K, h w)
        total = mass.sum(-1, keepdim=True)
        share = mass / total.clamp(min=1e-12)
        return (share @ places).flatten(1)


def _around(differs: Tensor, size: int) -> Tensor:
    """`size` neighbouring indices around the middle of what is true. (N, L) -> (N, size)"""
    length = differs.shape[1]
    first = differs.int().argmax(1)
    last = length - 1 - differs.flip(1).int().argmax(1)
    begin = ((first + last) // 2 - size // 2).clamp(0, length - size)
    return begin[:, None] + torch.arange(size, device=differs.device)


class FourierFeatures(nn.Module):
    """Observations scaled to [-1, 1], beside sines of random directions through them.

    `cycles` is the typical number of periods across half the width of the data. Low values keep
    the score smooth between the lattice points it was trained on.
    """

    centre: Tensor
    half_width: Tensor
    waves: Tensor

    def __init__(
        self, low: Tensor, high: Tensor, *, count: int, cycles: float, generator: torch.Generator
    ) -> None:
        super().__init__()
        self.register_buffer("centre", (low + high) / 2)
        self.register_buffer("half_width", ((high - low) / 2).clamp(min=1e-6))
        waves = torch.randn(len(low), count, generator=generator) * cycles * 2 * math.pi
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
        """(N, W), (T, E) -> (N, T, D), unit length"""
        scale1, shift1, scale2, shift2 = self.film(horizon).chunk(4, dim=-1)  # (T, W) each
        hidden = self.enter(feature)[:, None, :]  # (N, 1, W)
        hidden = F.silu(hidden * (1 + scale1) + shift1)  # (N, T, W)
        hidden = F.silu(self.middle(hidden) * (1 + scale2) + shift2)
        return F.normalize(self.leave(hidden), dim=-1)
