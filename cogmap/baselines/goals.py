"""Rows, and goals for them: the present row, a later one of its episode, or any row.

As OGBench draws them. Everything is a tensor operation without a wait for the device, so that a
training step can be captured as one CUDA graph. Shape letters: N rows of data, B rows of a batch.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from cogmap.baselines.settings import Mix, RivalTraining
from cogmap.data.trajectories import Trajectories
from cogmap.errors import CogmapError


@dataclass(frozen=True)
class Batch:
    """Transitions and goals for them."""

    observations: Tensor  # (B, d)
    actions: Tensor  # (B, a)
    next_observations: Tensor  # (B, d)
    value_goals: Tensor  # (B, d)
    there: Tensor  # (B,) 1 where the value's goal is the present row, else 0
    actor_goals: Tensor  # (B, d)
    soon: Tensor  # (B, d) what is seen subgoal_steps later, or where the episode ends
    towards: Tensor  # (B, d) the same, or the actor's goal where that comes sooner
    noise: Tensor  # (B, NOISE) normal, for what a method draws itself

    @property
    def rewards(self) -> Tensor:
        """-1 a step until the goal is there."""
        return self.there - 1.0


NOISE = 32


class Rows:
    """The rows of a dataset on a device, and draws of batches."""

    def __init__(self, data: Trajectories, *, device: torch.device | str = "cpu") -> None:
        if data.actions is None:
            raise CogmapError(
                "this dataset has no actions; a policy is learned from what was done."
            )
        if len(data.observation_shape) != 1:
            raise CogmapError(
                f"observations of shape {data.observation_shape}; rivals learn from numbers."
            )
        if (most := np.abs(data.actions).max()) > 1 + 1e-4:
            raise CogmapError(
                f"actions reach {most:.3g}; those of rivals lie between -1 and 1: scale the data's."
            )
        lengths = data.episode_lengths
        if lengths.max() < 2:
            raise CogmapError("no episode has two rows; a policy is learned from transitions.")
        rows = np.arange(len(data))
        last = np.repeat(data.episode_starts + lengths - 1, lengths)
        self.observations = torch.as_tensor(data.rows(rows), dtype=torch.float32, device=device)
        self.actions = torch.as_tensor(np.array(data.actions), dtype=torch.float32, device=device)
        self._last = torch.as_tensor(last, device=device)  # (N,) of each row's episode
        self._inner = torch.as_tensor(rows[rows < last], device=device)  # a row follows them

    def batch(self, size: int, settings: RivalTraining, generator: torch.Generator) -> Batch:
        """Transitions drawn evenly, each with its goals."""
        u = torch.rand(8, size, generator=generator, device=self._last.device, dtype=torch.float64)
        row = self._any(u[0])
        assert len(settings.value_goals) == len(settings.actor_goals) == 3  # settled
        later = self._geometric(row, u[1], settings.discount)
        wanted = mixed(row, later, self._any(u[2]), settings.value_goals, u[3])
        later = self._uniform(row, u[4])
        pursued = mixed(row, later, self._any(u[5]), settings.actor_goals, u[6])
        soon = torch.minimum(row + settings.subgoal_steps, self._last[row])
        ahead = (pursued > row) & (pursued <= self._last[row])
        towards = torch.where(ahead, torch.minimum(soon, pursued), soon)
        see = self.observations.__getitem__
        return Batch(
            see(row),
            self.actions[row],
            see(row + 1),
            see(wanted),
            (wanted == row).float(),
            see(pursued),
            see(soon),
            see(towards),
            torch.randn(size, NOISE, generator=generator, device=row.device),
        )

    def _any(self, u: Tensor) -> Tensor:
        return self._inner[(u * len(self._inner)).long()]

    def _geometric(self, row: Tensor, u: Tensor, discount: float) -> Tensor:
        """A later row, k steps on with chance (1 - discount) discount^(k - 1)."""
        ahead = (torch.log1p(-u) / math.log(discount)).ceil().clamp(min=1).long()
        return torch.minimum(row + ahead, self._last[row])

    def _uniform(self, row: Tensor, u: Tensor) -> Tensor:
        """Any later row of the same episode."""
        first, last = torch.minimum(row + 1, self._last[row]), self._last[row]
        return (first * u + last * (1 - u)).round().long()


def mixed(row: Tensor, later: Tensor, anywhere: Tensor, mix: Mix, u: Tensor) -> Tensor:
    """One of the three for each row, by their shares. (B,) each"""
    present, same_episode, _ = mix
    return torch.where(u < present, row, torch.where(u < present + same_episode, later, anywhere))
