"""States of several looks, made when they are asked for: where one view does not tell the place.

    state = (look now, the look before, ..., the action before, the one before that, ...)

A walk of millions of steps sees a few thousand views again and again. Its states are all different,
and hundreds of numbers each, so none are kept: a state is gathered from a table of looks, by what
its row and those before it saw. An episode begins as if its first view had been seen all along and
nothing done.

Shape letters: N rows, k looks in a state, d numbers in a look, A in an action,
D = k d + (k - 1) A in a state.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from cogmap.data.trajectories import Trajectories

SAMPLE = 1 << 15  # states that stand for all of them


@dataclass(frozen=True, kw_only=True)
class Past(Trajectories):
    """A table of looks with an index and actions, whose rows are states of several looks."""

    frames: int  # k

    @property
    def look_size(self) -> int:
        """d"""
        return super().observation_shape[0]

    @property
    def observation_shape(self) -> tuple[int, ...]:
        assert self.actions is not None
        return (self.frames * self.look_size + (self.frames - 1) * self.actions.shape[1],)

    def rows(self, rows: np.ndarray) -> np.ndarray:
        """(N,) -> (N, D)"""
        return self._gathered(torch.as_tensor(rows)).numpy()

    def distinct(self) -> tuple[np.ndarray, np.ndarray]:
        """Some of the states, evenly through the record: nearly all are distinct."""
        some = np.linspace(0, len(self) - 1, min(SAMPLE, len(self))).astype(np.int64)
        return self.rows(some), np.full(len(some), 1.0 / len(some))

    @cached_property
    def _gathered(self) -> Gathered:
        return Gathered(self)


class Gathered:
    """The same on a device."""

    def __init__(self, data: Past, device: torch.device | str = "cpu") -> None:
        def held(column: np.ndarray | None) -> Tensor:
            return torch.as_tensor(np.array(column), device=device)

        self._looks, self._index, self._actions = map(held, (data.table, data.index, data.actions))
        self._looks = self._looks.float()
        self._starts = held(data.episode_starts)
        self._back = torch.arange(data.frames, device=device)  # (k,)

    def __call__(self, rows: Tensor) -> Tensor:
        """(N,) -> (N, D)"""
        episode = torch.searchsorted(self._starts, rows, right=True) - 1
        age = (rows - self._starts[episode])[:, None]
        looks = self._looks[self._index[rows[:, None] - self._back.minimum(age)].long()]
        before = self._back[1:]
        done = self._actions[rows[:, None] - before.minimum(age)].float()
        done = done * (age >= before)[..., None]
        return torch.cat([looks.flatten(1), done.flatten(1)], dim=-1)


def followed(before: Tensor, actions: Tensor, now: Tensor, *, frames: int) -> Tensor:
    """States that follow others, by what was done there and is seen now.

    (N, D), (N, A), (N, d) -> (N, D)
    """
    seen = frames * now.shape[1]
    done = torch.cat([actions, before[:, seen:]], dim=-1)[:, : before.shape[1] - seen]
    return torch.cat([now, before[:, : seen - now.shape[1]], done], dim=-1)
