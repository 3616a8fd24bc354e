"""What all rivals have in common: losses by the parts that descend them, an action, a value."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar

import torch
from torch import Tensor, nn

from cogmap.baselines.goals import Batch
from cogmap.baselines.settings import RivalTraining
from cogmap.training import Statistics

M = TypeVar("M", bound=nn.Module)


@dataclass(frozen=True)
class Shape:
    """The shape of a rival; what is needed to build it before its weights are read."""

    observation_size: int
    action_size: int
    width: int
    """Units in each hidden layer."""
    hold: int = 1
    """Simulator steps that one action lasts."""


class Method(nn.Module):
    """A rival. Subclasses define `losses`, `mean` and, where they know one, `value`."""

    # As tensors, so that several runs that are trained as one can have each its own (stack.py).
    discount: Tensor
    alpha: Tensor
    expectile: Tensor

    def __init__(self, shape: Shape, settings: RivalTraining) -> None:
        super().__init__()
        self.shape, self.settings = shape, settings
        for name in ("discount", "alpha", "expectile"):
            self.register_buffer(name, torch.tensor(getattr(settings, name)), persistent=False)

    @property
    def parts(self) -> Mapping[str, nn.Module]:
        """What descends the loss of each name; no other loss moves it."""
        raise NotImplementedError

    def losses(self, batch: Batch) -> tuple[dict[str, Tensor], Statistics]:
        """One loss for each part, and named statistics. -> (), ()"""
        raise NotImplementedError

    def forward(self, batch: Batch) -> tuple[dict[str, Tensor], Statistics]:
        return self.losses(batch)

    def after_step(self) -> None:
        """Moves targets, where there are any."""

    def mean(self, observations: Tensor, goals: Tensor) -> Tensor:
        """What the policy would do. (B, d) x 2 -> (B, a)"""
        raise NotImplementedError

    def act(self, observations: Tensor, goals: Tensor) -> Tensor:
        """What it does: actions lie between -1 and 1. (B, d) x 2 -> (B, a)"""
        return self.mean(observations, goals).clamp(-1, 1)

    def value(self, observations: Tensor, goals: Tensor) -> Tensor | None:
        """How near each is to its goal: the more, the nearer. (B, d) x 2 -> (B,); None: unknown"""
        return None


def target_of(module: M) -> M:
    """A copy that no loss moves."""
    return copy.deepcopy(module).requires_grad_(False)
