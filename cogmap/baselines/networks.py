"""What rivals are built of: perceptrons, values, policies; and three losses that they share.

Shape letters: B rows, K copies of a network, d numbers in an observation, a in an action.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from cogmap.baselines import fused

DEPTH = 3  # hidden layers
TARGET_RATE = 0.005  # of the way, in each update, that targets follow what they are copies of
WEIGHT_MOST = 100.0  # of an advantage's exponential
NORM_EPS = 1e-6


class Dense(nn.Module):
    """A linear layer of each of K networks side by side."""

    def __init__(self, copies: int, inputs: int, outputs: int, *, gain: float = 1.0) -> None:
        super().__init__()
        each = [nn.init.xavier_uniform_(torch.empty(inputs, outputs), gain) for _ in range(copies)]
        self.weight = nn.Parameter(torch.stack(each))
        self.bias = nn.Parameter(torch.zeros(copies, 1, outputs))

    def forward(self, x: Tensor) -> Tensor:
        """(K, B, inputs) -> (K, B, outputs)"""
        return torch.baddbmm(self.bias, x, self.weight)


class Hidden(Dense):
    """A linear layer, GELU and, in values, LayerNorm."""

    def __init__(self, copies: int, inputs: int, outputs: int, *, norm: bool) -> None:
        super().__init__(copies, inputs, outputs)
        self.norm = norm
        if norm:
            self.gain = nn.Parameter(torch.ones(copies, 1, outputs))
            self.shift = nn.Parameter(torch.zeros(copies, 1, outputs))

    def forward(self, x: Tensor) -> Tensor:
        x = F.gelu(super().forward(x), approximate="tanh")
        if not self.norm:
            return x
        return F.layer_norm(x, x.shape[-1:], eps=NORM_EPS) * self.gain + self.shift


class Perceptrons(nn.Sequential):
    """K networks of hidden layers and a linear one of `gain`."""

    def __init__(self, copies: int, sizes: Sequence[int], *, norm: bool, gain: float = 1.0) -> None:
        *hidden, last = zip(sizes, sizes[1:])
        layers = [Hidden(copies, before, after, norm=norm) for before, after in hidden]
        super().__init__(*layers, Dense(copies, *last, gain=gain))
        self.norm = norm

    def forward(self, x: Tensor) -> Tensor:
        """(K, B, n) -> (K, B, m)"""
        if fused.usable(x):
            return fused.perceptrons(x, list(self.parameters()), norm=self.norm)
        return super().forward(x)


class Value(nn.Module):
    """Numbers of some inputs side by side, by K networks that differ in how they began."""

    def __init__(self, inputs: int, width: int, *, copies: int = 1, outputs: int = 1) -> None:
        super().__init__()
        self.copies = copies
        self.nets = Perceptrons(copies, [inputs, *[width] * DEPTH, outputs], norm=True)

    def forward(self, *inputs: Tensor) -> Tensor:
        """(B, ...) each -> (K, B, outputs)"""
        joined = torch.cat(inputs, dim=-1)
        return self.nets(joined.expand(self.copies, *joined.shape))


class Actor(nn.Module):
    """The mean of a normal distribution of unit spread."""

    def __init__(self, inputs: int, outputs: int, width: int) -> None:
        super().__init__()
        self.net = Perceptrons(1, [inputs, *[width] * DEPTH, outputs], norm=False, gain=0.1)

    def forward(self, *inputs: Tensor) -> Tensor:
        """(B, ...) each -> (B, outputs)"""
        return self.net(torch.cat(inputs, dim=-1)[None])[0]


def log_likelihood(mean: Tensor, value: Tensor) -> Tensor:
    """Of a value under the normal distribution of unit spread around a mean. (B, n) x 2 -> (B,)"""
    return -0.5 * ((value - mean).square() + math.log(2 * math.pi)).sum(-1)


def expectile_loss(advantage: Tensor, error: Tensor, expectile: Tensor | float) -> Tensor:
    """Squares of errors, those with an advantage counting `expectile`, the others the rest. (B,)"""
    weight = torch.where(advantage >= 0, expectile, 1 - expectile)
    return weight * error.square()


def imitating(mean: Tensor, actions: Tensor, advantage: Tensor, alpha: Tensor) -> Tensor:
    """Advantage-weighted regression: what was done, as much as it was of advantage. -> ()"""
    weight = (alpha * advantage).exp().clamp(max=WEIGHT_MOST).detach()
    return -(weight * log_likelihood(mean, actions)).mean()


def climbing(
    mean: Tensor, actions: Tensor, worth: Callable[[Tensor], Tensor], alpha: Tensor
) -> Tensor:
    """DDPG with behavioural cloning: what is worth most, but like what was done. -> ()"""
    q = worth(mean.clamp(-1, 1))
    return (
        -q.mean() / (q.abs().mean().detach() + 1e-6) - alpha * log_likelihood(mean, actions).mean()
    )


def iqe(x: Tensor, y: Tensor) -> Tensor:
    """Interval quasimetric: length of the union of intervals from x_i up to y_i. (..., n) -> (...)

    Taken by where they begin, each adds what lies beyond all before it.
    """
    if fused.usable(x):
        return fused.iqe(x, y)
    begins, order = x.sort(dim=-1)
    ends = torch.maximum(x, y).gather(-1, order)
    covered = F.pad(ends.cummax(-1).values[..., :-1], (1, 0), value=-math.inf)
    return (ends - torch.maximum(begins, covered)).clamp(min=0).sum(-1)


@torch.no_grad()
def follow(targets: Iterable[nn.Parameter], leaders: Iterable[nn.Parameter]) -> None:
    """Moves targets a little towards what they are copies of."""
    torch._foreach_lerp_(list(targets), list(leaders), TARGET_RATE)
