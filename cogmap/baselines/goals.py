"""Rows, and goals for them: the present row, a later one of its episode, or any row.

As OGBench draws them. Everything is a tensor operation without a wait for the device, so that a
training step can be captured as one CUDA graph. Shape letters: N rows of data, S runs that are
trained as one (stack.py), B rows of a batch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from cogmap.baselines.settings import RivalTraining
from cogmap.data.trajectories import Trajectories
from cogmap.errors import CogmapError


@dataclass(frozen=True)
class Batch:
    """Transitions and goals for them; of several runs, each field has an axis more in front."""

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
    """The rows that some runs learn from on a device, and draws of batches, S at once."""

    def __init__(
        self,
        data: Sequence[Trajectories],
        settings: Sequence[RivalTraining],
        *,
        device: torch.device | str = "cpu",
    ) -> None:
        """A dataset and settled settings for each run. Datasets may be the same one."""
        of: dict[int, tuple[int, int]] = {}  # where a dataset's inner rows begin, how many
        seen, done, last, inner = [], [], [], []
        rows = within = 0
        for one in data:
            if id(one) in of:
                continue
            check_rows(one)
            lengths = one.episode_lengths
            ends = np.repeat(one.episode_starts + lengths - 1, lengths)
            followed = np.flatnonzero(np.arange(len(one)) < ends)
            seen.append(np.asarray(one.rows(np.arange(len(one))), dtype=np.float32))
            done.append(np.array(one.actions, dtype=np.float32))
            last.append(rows + ends)
            inner.append(rows + followed)
            of[id(one)] = within, len(followed)
            rows, within = rows + len(one), within + len(followed)
        self.observations = torch.as_tensor(np.concatenate(seen), device=device)
        self.actions = torch.as_tensor(np.concatenate(done), device=device)
        self._last = torch.as_tensor(np.concatenate(last), device=device)  # (N,) of the episode
        self._inner = torch.as_tensor(np.concatenate(inner), device=device)  # a row follows them

        def each(numbers: Sequence[float], kind: torch.dtype = torch.float64) -> Tensor:
            return torch.tensor(numbers, dtype=kind, device=device)[:, None]  # (S, 1)

        self._first = each([of[id(one)][0] for one in data], torch.int64)
        self._count = each([of[id(one)][1] for one in data])
        self._log_discount = each([one.discount for one in settings]).log()
        self._subgoal = each([one.subgoal_steps for one in settings], torch.int64)
        self._value_goals = [each(shares) for shares in zip(*(s.value_goals for s in settings))]
        self._actor_goals = [each(shares) for shares in zip(*(s.actor_goals for s in settings))]
        assert len(self._value_goals) == len(self._actor_goals) == 3  # settled

    def chances(self, size: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        """What is drawn for a batch: uniform (8, S, size) and normal (S, size, NOISE) numbers."""
        device, runs = self._last.device, len(self._first)
        u = torch.rand(8, runs, size, generator=generator, device=device, dtype=torch.float64)
        return u, torch.randn(runs, size, NOISE, generator=generator, device=device)

    def batch(self, u: Tensor, noise: Tensor) -> Batch:
        """Transitions drawn evenly, each with its goals: a function of `chances`."""
        row = self._any(u[0])
        later = self._geometric(row, u[1])
        wanted = mixed(row, later, self._any(u[2]), self._value_goals, u[3])
        later = self._uniform(row, u[4])
        pursued = mixed(row, later, self._any(u[5]), self._actor_goals, u[6])
        last = self._last[row]
        soon = torch.minimum(row + self._subgoal, last)
        ahead = (pursued > row) & (pursued <= last)
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
            noise,
        )

    def _any(self, u: Tensor) -> Tensor:
        return self._inner[self._first + (u * self._count).long()]

    def _geometric(self, row: Tensor, u: Tensor) -> Tensor:
        """A later row, k steps on with chance (1 - discount) discount^(k - 1)."""
        ahead = (torch.log1p(-u) / self._log_discount).ceil().clamp(min=1).long()
        return torch.minimum(row + ahead, self._last[row])

    def _uniform(self, row: Tensor, u: Tensor) -> Tensor:
        """Any later row of the same episode."""
        last = self._last[row]
        first = torch.minimum(row + 1, last)
        return (first * u + last * (1 - u)).round().long()


def check_rows(data: Trajectories) -> None:
    """Raises where no policy can be learned from a dataset."""
    if data.actions is None:
        raise CogmapError("this dataset has no actions; a policy is learned from what was done.")
    if len(data.observation_shape) != 1:
        raise CogmapError(
            f"observations of shape {data.observation_shape}; rivals learn from numbers."
        )
    if (most := np.abs(data.actions).max()) > 1 + 1e-4:
        raise CogmapError(
            f"actions reach {most:.3g}; those of rivals lie between -1 and 1: scale the data's."
        )
    if data.episode_lengths.max() < 2:
        raise CogmapError("no episode has two rows; a policy is learned from transitions.")


def mixed(
    row: Tensor, later: Tensor, anywhere: Tensor, mix: Sequence[Tensor | float], u: Tensor
) -> Tensor:
    """One of the three for each row, by their shares. (S, B) each"""
    present, same_episode, _ = mix
    return torch.where(u < present, row, torch.where(u < present + same_episode, later, anywhere))
