"""Eyes: a picture becomes a look, a few numbers that scores and planning speak of (Table 1B).

All kinds have the same methods: `prepare` does what does not change while the model learns, `see`
does the rest, and `check` raises where a picture is not of the kind that the eye is made for.

Shape letters: N pictures of H x W pixels and C channels, K keypoints, d numbers in a look.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from cogmap.data.mixed import MOST
from cogmap.errors import CogmapError

EYE_CHANNELS = 16  # of the first convolution
SAME = 4  # of 255 levels that a background may differ by: another GL library shades it so
WINDOW = 16  # pixels on a side around what differs from the background
LEAST_PIXELS = 16  # on a side of a picture
WIDE_CHANNELS, MORE_CHANNELS = 32, 64  # of the general eye's first layer, and of the others
LAST_PIXELS = 8  # on a side, at most, of what its layers leave
GROUPS = 8  # of channels that are normalised together
LOOK_SPREADS = 3.0  # standard deviations of a look's numbers that are its unit


class Keypoints(nn.Module):
    """Where things are that are not in every picture: K keypoints.

    What differs from the background passes two convolutions without offsets, so nothing stays
    nothing; each channel's centre of mass is a keypoint. There is no pooling that could lose an
    agent of a few pixels, and its position is known to a fraction of one. Only the window around
    the difference is convolved: all else is nothing.
    """

    background: Tensor

    def __init__(self, shape: tuple[int, ...], *, keypoints: int) -> None:
        super().__init__()
        height, width, colours = shape
        self.first = nn.Conv2d(colours, EYE_CHANNELS, 3, padding=1, bias=False)
        self.second = nn.Conv2d(EYE_CHANNELS, keypoints, 3, padding=1, bias=False)
        self.register_buffer("background", torch.zeros(shape))  # in 0..255
        self.shape = height, width

    def check(self, pictures: Tensor) -> None:
        """Raises where a difference reaches outside the window. (N, H, W, C)"""
        if not fits_window(pictures, self.background).all():
            raise CogmapError(
                f"a picture differs from the background beyond a window of {WINDOW} x {WINDOW} "
                "pixels, which is all that keypoints look at; train with --encoder convolution."
            )

    def prepare(self, pictures: Tensor) -> tuple[Tensor, ...]:
        """The part that differs from the background, and where each of its pixels lies.

        (N, H, W, C) -> (N, C, h, w), (N, h w, 2) in [-1, 1]; x to the right, y upward
        """
        change = difference(pictures, self.background) / 255
        rows, columns = (_around(span, size) for span, size in _spans(change))  # (N, h), (N, w)
        each = torch.arange(len(pictures), device=pictures.device)[:, None, None]
        part = change[each, rows[:, :, None], columns[:, None, :]].permute(0, 3, 1, 2)
        x = columns.float() * (2 / (self.shape[1] - 1)) - 1
        y = 1 - rows.float() * (2 / (self.shape[0] - 1))
        across = torch.stack(
            [x[:, None, :].expand(part[:, 0].shape), y[:, :, None].expand(part[:, 0].shape)], dim=-1
        )
        return part, across.flatten(1, 2)

    def see(self, prepared: tuple[Tensor, ...]) -> Tensor:
        """Of a window (N, C, h, w) and its positions (N, h w, 2) -> (N, 2 K)"""
        part, across = prepared
        mass = self.second(F.silu(self.first(part))).square().flatten(2)  # (N, K, h w)
        total = mass.sum(-1, keepdim=True)
        share = mass / total.clamp(min=1e-12)
        return (share @ across).flatten(1)


class Convolution(nn.Module):
    """Any picture: strided convolutions until few pixels are left, then one normalised layer.

    The data's mean picture is taken away first: where little changes between two pictures, as the
    few pixels of an agent do, the rest would drown it (SR 0.00 in the maze, docs/differences.md).
    The last layer is normalised and not squashed, since a squashed look soon sticks to its ends.
    """

    mean: Tensor
    spread: Tensor

    def __init__(self, shape: tuple[int, ...], *, size: int) -> None:
        super().__init__()
        height, width, channels = shape
        if min(height, width) < LEAST_PIXELS:
            raise CogmapError(
                f"pictures of {height} x {width} pixels; give at least "
                f"{LEAST_PIXELS} x {LEAST_PIXELS}, or flat vectors."
            )
        layers: list[nn.Module] = []
        wide = WIDE_CHANNELS
        while max(height, width) > LAST_PIXELS:
            layers += [nn.Conv2d(channels, wide, 3, stride=2, padding=1)]
            layers += [nn.GroupNorm(GROUPS, wide), nn.SiLU()]
            height, width, channels, wide = (height + 1) // 2, (width + 1) // 2, wide, MORE_CHANNELS
        self.layers = nn.Sequential(*layers, nn.Flatten())
        self.leave = nn.Linear(channels * height * width, size)
        self.register_buffer("mean", torch.zeros(shape))  # in 0..255
        self.register_buffer("spread", torch.ones(()))

    def measure(self, pictures: Tensor) -> None:
        """Takes the mean picture and the spread around it from some of the data. (N, H, W, C)"""
        pixels = pictures.float()
        self.mean.copy_(pixels.mean(0))
        self.spread.copy_((pixels - self.mean).square().mean().sqrt().clamp(min=1e-3))

    def check(self, pictures: Tensor) -> None:
        """Every picture is of its kind."""

    def prepare(self, pictures: Tensor) -> tuple[Tensor, ...]:
        """Pictures stay bytes: as numbers of four bytes a table of them might not fit."""
        return (pictures,)

    def see(self, prepared: tuple[Tensor, ...]) -> Tensor:
        """(N, H, W, C) in 0..255 -> (N, d), nearly all of it in [-1, 1]"""
        pixels = (prepared[0].float() - self.mean) / self.spread
        look = self.leave(self.layers(pixels.permute(0, 3, 1, 2)))
        return F.layer_norm(look, look.shape[-1:]) / LOOK_SPREADS


class Mixed(nn.Module):
    """A convolution of a picture, and beside its numbers those that the last row holds."""

    def __init__(self, shape: tuple[int, ...], *, size: int, numbers: int) -> None:
        super().__init__()
        height, width, channels = shape
        if 2 * numbers > width * channels:
            raise CogmapError(
                f"numbers={numbers}: a row of {width} x {channels} bytes holds "
                f"{width * channels // 2} at most."
            )
        self.picture = Convolution((height - 1, width, channels), size=size)
        self.numbers = numbers

    def measure(self, pictures: Tensor) -> None:
        """Of the pictures alone. (N, H, W, C)"""
        self.picture.measure(pictures[:, :-1])

    def check(self, pictures: Tensor) -> None:
        """Every picture is of its kind."""

    def prepare(self, pictures: Tensor) -> tuple[Tensor, ...]:
        """Pictures stay bytes."""
        return (pictures,)

    def see(self, prepared: tuple[Tensor, ...]) -> Tensor:
        """(N, H, W, C) in 0..255 -> (N, d + k); numbers in [-1, 1]"""
        (rows,) = prepared
        last = rows[:, -1].flatten(1)[:, : 2 * self.numbers].float()
        told = (256 * last[:, ::2] + last[:, 1::2]) * (2 / MOST) - 1
        return torch.cat([self.picture.see((rows[:, :-1],)), told], dim=-1)


def difference(pictures: Tensor, background: Tensor) -> Tensor:
    """What is not background, in levels; nothing where it is nearly the same. (N, H, W, C)"""
    change = pictures.float() - background
    return change * (change.abs().amax(-1, keepdim=True) > SAME)


def fits_window(pictures: Tensor, background: Tensor) -> Tensor:
    """Whether all that differs from the background lies in one window. (N, H, W, C) -> (N,)"""
    fits = torch.ones(len(pictures), dtype=torch.bool, device=pictures.device)
    for differs, size in _spans(difference(pictures, background)):
        index = torch.arange(differs.shape[1], device=differs.device)
        window = _around(differs, size)
        inside = (index >= window[:, :1]) & (index <= window[:, -1:])
        fits &= ~(differs & ~inside).any(1)
    return fits


def _spans(change: Tensor) -> list[tuple[Tensor, int]]:
    """Rows and columns that hold a difference, and the window's size there. (N, H), (N, W)"""
    differs = change.ne(0).any(-1)  # (N, H, W)
    return [(differs.any(axis), min(WINDOW, differs.shape[3 - axis])) for axis in (2, 1)]


def _around(differs: Tensor, size: int) -> Tensor:
    """`size` neighbouring indices around the middle of what is true. (N, L) -> (N, size)"""
    length = differs.shape[1]
    first = differs.int().argmax(1)
    last = length - 1 - differs.flip(1).int().argmax(1)
    begin = ((first + last) // 2 - size // 2).clamp(0, length - size)
    return begin[:, None] + torch.arange(size, device=differs.device)
