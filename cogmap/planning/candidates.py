"""Candidate actions, followed along their way and judged at several radii (Alg. 3, lines 3-5).

Four kinds: actions that are the same everywhere, each held on (directions in a maze); the same,
where the world shows their ends; a few in turn, the same everywhere (turn, then go); and what was
done in the recorded states most like the present one, a few in turn. Of five numbers, as an arm
has them, any fixed set is too coarse, and most of what it holds nobody would do here.

Shape letters: E episodes, A candidates, H actions in turn, N recorded states, d numbers in one.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol
from zipfile import BadZipFile

import numpy as np
import torch
from torch import Tensor

from cogmap import runs
from cogmap.data.trajectories import Trajectories
from cogmap.errors import CogmapError
from cogmap.planning.alike import Alike

RECALLED = 1 << 15  # recorded states that are kept in a run folder
UNSTEADY = 2  # times as many are recalled as are wanted; the steadiest are kept
LEAST_SPREAD = 0.05  # of a number, beside the largest: what hardly varies tells states apart badly


class Offer(Protocol):
    """What a planner chooses from. One unit is `steps_per_unit` applications of the local dynamics.

    A candidate is judged at every radius, in units, and executed for one unit.
    """

    @property
    def radii(self) -> tuple[int, ...]: ...
    @property
    def steps_per_unit(self) -> int: ...
    @property
    def count(self) -> int:
        """A"""

    @property
    def actions(self) -> np.ndarray:
        """What those begin with that are the same everywhere (A, action size); none (0, ...)"""

    def offered(self, here: Tensor) -> Tensor:
        """(E, d) looks -> (E, A, action size) held on, or (E, A, H, action size) in turn"""


@dataclass(frozen=True)
class Candidates:
    """Actions that are on offer everywhere, each of them held."""

    actions: np.ndarray  # (A, action size) float32
    radii: tuple[int, ...] = (1, 2, 3, 4, 6)
    steps_per_unit: int = 1

    def __post_init__(self) -> None:
        if not self.radii or min(self.radii) < 1:
            raise CogmapError(f"radii={self.radii}; give whole numbers of units from 1 on.")

    @property
    def count(self) -> int:
        return len(self.actions)

    def offered(self, here: Tensor) -> Tensor:
        actions = torch.as_tensor(self.actions, dtype=torch.float32).to(here.device)
        return actions.expand(len(here), -1, -1)


@dataclass(frozen=True)
class Foreseen(Candidates):
    """Actions whose ends the world shows, so that no local dynamics has to predict them."""

    radii: tuple[int, ...] = (1,)


@dataclass(frozen=True)
class Programs:
    """Several actions in turn that are on offer everywhere: first to turn, then to go.

    One action of two kinds that undo each other says little of where it leads: a turn is worth
    what is done after it.
    """

    turns: np.ndarray  # (A, H, action size) float32
    radii: tuple[int, ...]
    steps_per_unit = 1

    def __post_init__(self) -> None:
        most = self.turns.shape[1]
        if not self.radii or min(self.radii) < 1 or max(self.radii) > most:
            raise CogmapError(f"radii={self.radii}; give whole numbers of moves from 1 to {most}.")

    @property
    def count(self) -> int:
        return len(self.turns)

    @property
    def actions(self) -> np.ndarray:
        """What each begins with. (A, action size)"""
        return self.turns[:, 0]

    def offered(self, here: Tensor) -> Tensor:
        """(E, d) -> (E, A, H, action size)"""
        turns = torch.as_tensor(self.turns, dtype=torch.float32).to(here.device)
        return turns.expand(len(here), -1, -1, -1)


@dataclass(frozen=True)
class Recall:
    """Recorded states and what was done from each of them on.

    States are alike whose keys are near each other: `likeness`, a few sums of their numbers, or
    what a network has learned to make of them (`alike`). By default that is every number in units
    of its spread; a world may know better: what an arm can do with a cube depends on where the cube
    is from the gripper, not on where on the table both are.
    """

    keys: np.ndarray  # (N, k) float16, of each recorded state
    actions: np.ndarray  # (N, H, action size) float16: one application of the dynamics each
    likeness: np.ndarray | None = None  # (k, d) float32; None: alike makes the keys
    alike: Alike | None = None  # kept in a folder of its own

    @classmethod
    def of(
        cls,
        data: Trajectories,
        *,
        length: int,
        likeness: np.ndarray | None = None,
        alike: Alike | None = None,
    ) -> Recall:
        """Of states that `length` actions follow in their episode, evenly through the record."""
        assert data.actions is not None
        ends = np.repeat(data.episode_starts + data.episode_lengths, data.episode_lengths)
        rows = np.flatnonzero(ends - np.arange(len(data)) > length)
        if not len(rows):
            raise CogmapError(f"no episode has {length} actions in turn; lower --planning.radii.")
        rows = rows[np.linspace(0, len(rows) - 1, min(RECALLED, len(rows))).astype(int)]
        looks = data.rows(rows)
        actions = np.stack([data.actions[rows + step] for step in range(length)], axis=1)
        actions = actions.astype(np.float16)
        if alike is not None:
            keys = alike.keys(torch.as_tensor(looks)).cpu().numpy().astype(np.float16)
            return cls(keys, actions, alike=alike)
        if likeness is None:
            spread = looks.std(axis=0)
            likeness = np.diag(1 / np.maximum(spread, LEAST_SPREAD * spread.max()))
        likeness = likeness.astype(np.float32)
        return cls((looks @ likeness.T).astype(np.float16), actions, likeness)

    def save(self, path: Path) -> None:
        """Into a run folder, which may outlive its data."""
        columns = {"keys": self.keys, "actions": self.actions}
        if self.likeness is not None:
            columns["likeness"] = self.likeness

        def write(temporary: Path) -> None:
            with temporary.open("wb") as file:
                np.savez_compressed(file, **columns)  # type: ignore[arg-type]

        runs.replace_file(path, write)

    @classmethod
    def load(cls, path: Path, alike: Alike | None = None) -> Recall | None:
        """None where a run has none: its candidates are the same everywhere."""
        if not path.exists():
            return None
        try:
            with np.load(path) as stored:
                return cls(**stored, alike=alike)
        except (OSError, ValueError, TypeError, EOFError, BadZipFile):
            raise CogmapError(f"{path} is truncated or of another kind; copy it anew.") from None

    def candidates(self, count: int, radii: tuple[int, ...]) -> Recalled:
        return Recalled(self, count, radii)


class Recalled:
    """What was done in the recorded states most like the present one, where it was done steadily.

    Of twice as many as are wanted the less steady half is left out. An action that was a slip the
    next one mended: scores, which tell where the record leads on average, call it as good as any,
    and a planner that may choose would slip whenever it seems a little better.
    """

    steps_per_unit = 1

    def __init__(self, recall: Recall, count: int, radii: tuple[int, ...]) -> None:
        length = recall.actions.shape[1]
        if not radii or min(radii) < 1 or max(radii) > length:
            raise CogmapError(
                f"radii={radii}; this run recalls {length} actions in turn: give 1 to {length}."
            )
        self.radii, self.count = radii, min(count, len(recall.keys))
        self.actions = np.zeros((0, recall.actions.shape[2]), np.float32)
        self._followed = torch.as_tensor(recall.actions.astype(np.float32))
        self._keys = torch.as_tensor(recall.keys.astype(np.float32))
        self._recall = recall
        self._squares = self._keys.square().sum(1)
        spread = self._followed.flatten(0, 1).std(0).clamp(min=1e-6)
        self._unsteady = (self._followed.diff(dim=1) / spread).square().sum((1, 2))  # (N,)

    def offered(self, here: Tensor) -> Tensor:
        """(E, d) -> (E, A, H, action size)"""
        asked = self._asked(here)
        many = min(UNSTEADY * self.count, len(self._keys))
        near = (2 * asked @ self._keys.T - self._squares).topk(many, dim=-1).indices
        order = self._unsteady[near].argsort(dim=-1, stable=True)[:, : self.count]
        return self._followed[near.gather(-1, order)].to(here.device)

    def _asked(self, here: Tensor) -> Tensor:
        """Keys of what is seen now. (E, d) -> (E, k)"""
        if self._recall.alike is not None:
            return self._recall.alike.keys(here).to(self._keys)
        return here.to(self._keys) @ torch.as_tensor(self._recall.likeness).T


def directions(count: int) -> np.ndarray:
    """Unit steps in evenly spaced directions. (count, 2) float32"""
    angle = 2 * np.pi * np.arange(count) / count
    return np.stack([np.cos(angle), np.sin(angle)], axis=-1).astype(np.float32)
