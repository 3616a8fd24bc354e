"""What a picture is reduced to, and how a few of them, with what was done, make a state.

    picture --points--> places --> look              one picture, d numbers
    picture --convolutions-------> look
    state = (look now, the look before, ..., the action before, the one before that, ...)

A picture does not tell how fast things move, and little of what an arm covers or a few pixels are
too coarse for. Those before it do, and so does what was done since. Where a camera goes about, a
picture may come from several places, and those before it tell which.

Shape letters: N pictures of H x W pixels and C channels, K points, d numbers of a look, S pictures
in a state, A numbers in an action, D = S d + (S - 1) A numbers of a state.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from cogmap.data.past import followed
from cogmap.errors import CogmapError
from cogmap.sight.settings import Eye
from cogmap.temporal.eyes import Convolution

CHANNELS = 16  # of both convolutions
LEAST_PIXELS = 16  # on a side of a picture
TOGETHER = 64  # pictures that are looked at at once: more leave a processor's cache


@dataclass(frozen=True)
class SightConfig:
    """The shape of a sight; what is needed to build it before its weights are read."""

    picture_shape: tuple[int, ...]
    """(H, W, C)"""
    action_size: int
    """Numbers in one action."""
    frames: int = 4
    """Pictures in a state."""
    numbers: int = 16
    """Numbers in a look."""
    points: int = 32
    """Places that a look is made of."""
    eye: Eye = "points"
    """What makes it."""

    @property
    def state_size(self) -> int:
        return self.frames * self.numbers + (self.frames - 1) * self.action_size


class Points(nn.Module):
    """Where K things are, in a picture of anything: the mean place of each of K maps.

    A map says how much each of its pixels is like something, as a distribution over them. Its mean
    is a place that is known to a fraction of a pixel and moves as the thing does, wherever it is;
    strided layers know neither, and learn less of as few pictures (docs/experiments.md, round 39).
    """

    across: Tensor

    def __init__(self, shape: tuple[int, ...], *, points: int, numbers: int) -> None:
        super().__init__()
        height, width, colours = shape
        self.first = nn.Conv2d(colours, CHANNELS, 5, stride=2, padding=2)
        self.second = nn.Conv2d(CHANNELS, CHANNELS, 3, padding=1)
        self.maps = nn.Conv2d(CHANNELS, points, 1)
        rows, columns = (torch.linspace(-1, 1, (side + 1) // 2) for side in (height, width))
        across = torch.stack(torch.meshgrid(rows, columns, indexing="ij"), dim=-1)
        self.register_buffer("across", across.flatten(0, 1), persistent=False)  # (h w, 2)
        self.leave = nn.Linear(2 * points, numbers)

    def forward(self, pixels: Tensor) -> Tensor:
        """(N, C, H, W) -> (N, d)"""
        return torch.cat([self._places(some) for some in pixels.split(TOGETHER)])

    def _places(self, pixels: Tensor) -> Tensor:
        maps = self.maps(F.silu(self.second(F.silu(self.first(pixels)))))
        share = maps.flatten(2).softmax(-1)  # (N, K, h w)
        return self.leave((share @ self.across).flatten(1))


class Sight(nn.Module):
    """Looks of pictures, and states of looks and actions."""

    mean: Tensor
    spread: Tensor

    def __init__(self, config: SightConfig) -> None:
        super().__init__()
        self.config = config
        shape = config.picture_shape
        if len(shape) != 3 or min(shape[:2]) < LEAST_PIXELS:
            raise CogmapError(
                f"observations of shape {shape}; a state is made of pictures (height, width, "
                f"channels) of at least {LEAST_PIXELS} x {LEAST_PIXELS}."
            )
        self.points: Points | None = None
        self.strided: Convolution | None = None
        if config.eye == "points":
            self.points = Points(shape, points=config.points, numbers=config.numbers)
        else:
            self.strided = Convolution(shape, size=config.numbers)
        self.register_buffer("mean", torch.zeros(shape))  # in 0..255
        self.register_buffer("spread", torch.ones(()))

    def measure(self, pictures: Tensor) -> None:
        """Takes the mean picture and the spread around it from some of the data. (N, H, W, C)"""
        pixels = pictures.float()
        self.mean.copy_(pixels.mean(0))
        self.spread.copy_((pixels - self.mean).square().mean().sqrt().clamp(min=1e-3))

    @property
    def now(self) -> tuple[int, ...]:
        """Which numbers of a state are its present look: what a goal, one picture, is told in."""
        return tuple(range(self.config.numbers))

    def look(self, pictures: Tensor) -> Tensor:
        """(N, H, W, C) in 0..255 -> (N, d)"""
        pixels = (pictures.float() - self.mean) / self.spread
        if self.strided is not None:
            return self.strided.see((pixels,))  # its own mean and spread stay 0 and 1
        assert self.points is not None
        return self.points(pixels.permute(0, 3, 1, 2))

    def begin(self, looks: Tensor) -> Tensor:
        """States in which nothing was seen or done before, as episodes begin. (N, d) -> (N, D)"""
        done = looks.new_zeros(len(looks), (self.config.frames - 1) * self.config.action_size)
        return torch.cat([looks.repeat(1, self.config.frames), done], dim=-1)

    def follow(self, before: Tensor, actions: Tensor, now: Tensor) -> Tensor:
        """States that follow others, by what was done there and is seen now.

        (N, D), (N, A), and of `now` the first d numbers, (N, d) or more -> (N, D)
        """
        return followed(before, actions, now[:, : self.config.numbers], frames=self.config.frames)
