"""What rivals are built of: perceptrons, values, policies; and three losses that they share.

Shape letters: B rows, K copies of a network, d numbers in an observation, a in an action.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional as F

DEPTH = 3  # hidden layers
TARGET_RATE = 0.005  # of the way, in each update, that targets follow what they are copies of
WEIGHT_MOST = 100.0  # of an advantage's exponential


def perceptron(sizes: Sequence[int], *, norm: bool, ends: bool = True) -> nn.Sequential:
    """Linear, GELU and, in values, LayerNorm by turns. `ends`: the last layer is linear."""
    layers: list[nn.Module] = []
    for number, (before, after) in enumerate(zip(sizes, sizes[1:]), start=1):
        linear = nn.Linear(before, after)
        nn.init.xavier_uniform_(linear.weight)
        nn.init.zeros_(linear.bias)
        layers.append(linear)
        if number < len(sizes) - 1 or not ends:
            layers.append(nn.GELU(approximate="tanh"))
            if norm:
                layers.append(nn.LayerNorm(after, eps=1e-6))
    return nn.Sequential(*layers)


class Value(nn.Module):
    """Numbers of some inputs side by side, by K networks that differ in how they began."""

    def __init__(self, inputs: int, width: int, *, copies: int = 1, outputs: int = 1) -> None:
        super().__init__()
        sizes = [inputs, *[width] * DEPTH, outputs]
        self.copies = nn.ModuleList(perceptron(sizes, norm=True) for _ in range(copies))

    def forward(self, *inputs: Tensor) -> Tensor:
        """(B, ...) each -> (K, B, outputs)"""
        joined = torch.cat(inputs, dim=-1)
        return torch.stack([net(joined) for net in self.copies])


class Actor(nn.Module):
    """The mean of a normal distribution of unit spread."""

    def __init__(self, inputs: int, outputs: int, width: int) -> None:
        super().__init__()
        self.trunk = perceptron([inputs, *[width] * DEPTH], norm=False, ends=False)
        self.mean = nn.Linear(width, outputs)
        nn.init.xavier_uniform_(self.mean.weight, gain=0.1)
        nn.init.zeros_(self.mean.bias)

    def forward(self, *inputs: Tensor) -> Tensor:
        """(B, ...) each -> (B, outputs)"""
        return self.mean(self.trunk(torch.cat(inputs, dim=-1)))


def log_likelihood(mean: Tensor, value: Tensor) -> Tensor:
    """Of a value under the normal distribution of unit spread around a mean. (B, n) x 2 -> (B,)"""
    return -0.5 * ((value - mean).square() + math.log(2 * math.pi)).sum(-1)


def expectile_loss(advantage: Tensor, error: Tensor, expectile: float) -> Tensor:
    """Squares of errors, those with an advantage counting `expectile`, the others the rest. (B,)"""
    weight = torch.where(advantage >= 0, expectile, 1 - expectile)
    return weight * error.square()


def imitating(mean: Tensor, actions: Tensor, advantage: Tensor, alpha: float) -> Tensor:
    """Advantage-weighted regression: what was done, as much as it was of advantage. -> ()"""
    weight = (alpha * advantage).exp().clamp(max=WEIGHT_MOST).detach()
    return -(weight * log_likelihood(mean, actions)).mean()


def climbing(
    mean: Tensor, actions: Tensor, worth: Callable[[Tensor], Tensor], alpha: float
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
    begins, order = x.sort(dim=-1)
    ends = torch.maximum(x, y).gather(-1, order)
    covered = F.pad(ends.cummax(-1).values[..., :-1], (1, 0), value=-math.inf)
    return (ends - torch.maximum(begins, covered)).clamp(min=0).sum(-1)


@torch.no_grad()
def follow(targets: Iterable[nn.Parameter], leaders: Iterable[nn.Parameter]) -> None:
    """Moves targets a little towards what they are copies of."""
    torch._foreach_lerp_(list(targets), list(leaders), TARGET_RATE)
