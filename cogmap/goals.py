"""Goals as people think of them: an observation, some of its numbers, a predicate, seen rows.

Scores speak of observations, so every goal becomes a set of seen rows that would do, and a test of
whether one has arrived. A number is met within what one decision typically changes it by.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from cogmap import runs
from cogmap.data.trajectories import Trajectories
from cogmap.errors import CogmapError
from cogmap.words import SHOWN, Range, bounds, read, wrong_shape

SET = 64  # seen rows that stand for a goal
ACTIONS = 4096  # about, of those taken that are kept
FEW = 8  # seen rows of a goal; what leads to fewer is hardly learned
FAR = 3.0  # typical changes of a number from the nearest seen row: nothing seen is like it
LOOKED_AT = 1 << 16  # seen rows that are searched for a goal's
NUMBERS, PICTURES = 500_000, 300  # in all rows that a run folder keeps; rows that are pictures

Reached = Callable[[np.ndarray], np.ndarray]  # (n, ...) -> (n,) bool


@dataclass(frozen=True)
class Goal:
    """Where to go."""

    text: str  # as the user would say it
    rows: np.ndarray  # (S, ...) observations, any of which will do
    reached: Reached
    warning: str = ""  # one line, where nothing or little that was seen is like it


@dataclass(frozen=True)
class Context:
    """Numbers that an episode begins with and cannot change, such as the place of a target.

    The models do not see them, and what other numbers owe to them (an offset from the target) is
    taken out, so that experience of one episode holds in another.
    """

    mask: np.ndarray  # (d,) bool: which numbers of what the world shows
    carried: np.ndarray  # (d - c, c) how much of them the other numbers contain

    @classmethod
    def none(cls, size: int) -> Context:
        return cls(np.zeros(size, bool), np.zeros((size, 0)))

    def apart(self, rows: np.ndarray) -> np.ndarray:
        """As the models see them. (N, d) -> (N, d - c)"""
        if not self.mask.any():
            return rows
        seen = rows[:, ~self.mask] - rows[:, self.mask] @ self.carried.T
        return seen.astype(rows.dtype)

    def whole(self, rows: np.ndarray, here: np.ndarray) -> np.ndarray:
        """As the world shows them in an episode that begins `here`. (N, d - c), (d,) -> (N, d)"""
        fixed = here[self.mask]
        full = np.empty((len(rows), len(self.mask)))
        full[:, self.mask] = fixed
        full[:, ~self.mask] = rows + self.carried @ fixed
        return full


Wanted = str | np.ndarray | Sequence | Callable | dict | Goal


@dataclass(frozen=True)
class Seen:
    """What a world has shown, and how its numbers are called and change."""

    rows: np.ndarray  # (N, ...) as the models see them
    names: tuple[str, ...]  # (d,) of what the world shows
    change: np.ndarray  # (d,) what one decision typically changes each number by
    context: Context
    actions: np.ndarray | None = None  # (n, a) some that were taken

    @classmethod
    def of(
        cls, data: Trajectories, names: Sequence[str] = (), context: Context | None = None
    ) -> Seen:
        """Of a dataset; names default to x0, x1, ..."""
        shape = data.observation_shape
        room = PICTURES if len(shape) > 1 else min(LOOKED_AT, NUMBERS // shape[0])
        step = max(1, -(-len(data) // room))
        rows = np.asarray(data.rows(np.arange(0, len(data), step)))
        actions = data.actions if data.controls else None
        if actions is not None:
            taken = np.ones(len(data), bool)
            taken[data.episode_starts + data.episode_lengths - 1] = False  # unused there
            some = np.flatnonzero(taken)[:: max(1, len(data) // ACTIONS)]
            actions = np.unique(actions[some], axis=0)
        if rows.ndim > 2:
            return cls(rows, (), np.zeros(0), Context.none(0), actions)
        context = Context.none(rows.shape[1]) if context is None else context
        every = np.asarray(data.rows(np.arange(len(data))))
        inside = np.ones(len(every), bool)
        inside[data.episode_starts] = False  # a step into another episode is none
        change = np.full(len(context.mask), 1e-6)
        moved = np.sqrt(np.square(np.diff(every, axis=0)[inside[1:]]).mean(0))
        least = 1e-6 * np.maximum(np.abs(rows).max(0), 1.0)  # what a float32 can tell apart
        change[~context.mask] = np.maximum(moved, least)
        names = tuple(names) or tuple(f"x{k}" for k in range(len(change)))
        return cls(rows, names, change, context, actions)

    def save(self, path: Path) -> None:
        """Into a run folder, which may outlive its data."""
        columns = {"rows": self.rows, "names": np.array(self.names), "change": self.change}
        columns |= {"mask": self.context.mask, "carried": self.context.carried}
        if self.actions is not None:
            columns["actions"] = self.actions
        runs.replace_file(path, lambda file: _save(file, columns))

    @classmethod
    def load(cls, path: Path) -> Seen | None:
        """None where a run has none: mazes need none."""
        if not path.exists():
            return None
        with np.load(path) as stored:
            columns = dict(stored)
        names = tuple(str(name) for name in columns.pop("names"))
        context = Context(columns.pop("mask"), columns.pop("carried"))
        return cls(names=names, context=context, actions=columns.pop("actions", None), **columns)

    def goal(self, wanted: Wanted, here: np.ndarray | None = None) -> Goal:
        """Reads a goal: text as on the command line, an observation or rows, or a predicate.

        `here` is what an episode shows as it begins (d,): what it cannot change is as it is there.
        """
        if isinstance(wanted, Goal):
            return wanted
        if isinstance(wanted, str):
            wanted = read(wanted)
        if callable(wanted):
            return self.satisfying(wanted, getattr(wanted, "__name__", "a predicate"), here)
        if isinstance(wanted, dict):
            return self.within(wanted, here)
        try:
            rows = np.asarray(wanted, dtype=self.rows.dtype)
        except (TypeError, ValueError):
            raise CogmapError(
                f"goal {wanted!r:.60} is no observation; give its numbers, rows of them, names "
                "with values, or a function."
            ) from None
        shape = self.rows.shape[1:] if self.pictures else (len(self.names),)
        if not np.isfinite(rows).all():
            raise CogmapError(f"goal {wanted!r:.60} holds NaN or infinity; give finite numbers.")
        if rows.shape == shape:
            return self.at(rows)
        if rows.shape[1:] == shape and len(rows):
            return self.like(rows)
        raise wrong_shape(rows.shape, shape, self.names)

    def at(self, observation: np.ndarray) -> Goal:
        """One observation, met in every number."""
        if self.pictures:
            return self.like(observation[None])
        goal = self._where(observation - self.change, observation + self.change, "", observation)
        text = ", ".join(f"{value:.3g}" for value in observation)
        return Goal(text, self.context.apart(observation[None]), goal.reached, goal.warning)

    def like(self, rows: np.ndarray) -> Goal:
        """Any of some observations: the nearest of them is met in every number."""
        rows = rows if self.pictures else self.context.apart(rows)
        flat = rows.reshape(len(rows), -1).astype(np.float64)
        change = self.change[~self.context.mask]
        unit = np.full(flat.shape[1], 8.0) if self.pictures else change

        def reached(seen: np.ndarray) -> np.ndarray:
            gap = seen.reshape(len(seen), 1, -1).astype(np.float64) - flat[None]
            return np.asarray((np.abs(gap) <= unit).all(-1).any(-1))

        kept = rows[_spread(np.arange(len(rows)))]
        warning = "" if self.pictures else self._unlike(*self._nearest(flat))
        return Goal(f"like {len(rows)} rows", kept, reached, warning)

    def _nearest(self, rows: np.ndarray) -> tuple[float, np.ndarray]:
        """How many changes the nearest seen row is from any of some, and that row. (R, d)"""
        change = self.change[~self.context.mask]
        far = [np.abs((self.rows - row) / change).max(-1) for row in rows[:SET]]
        gap = np.min(far, axis=0)  # (N,)
        return float(gap.min()), self.rows[gap.argmin()]

    def _unlike(self, gap: float, nearest: np.ndarray) -> str:
        """A warning where even the nearest seen row is far from a goal, else nothing."""
        if gap <= FAR:
            return ""
        names = self.names if len(nearest) == len(self.names) else self.kept_names
        shown = ", ".join(f"{name}={v:.3g}" for name, v in list(zip(names, nearest))[:SHOWN])
        return (
            f"nothing in the data is like this goal; the nearest seen is {shown}"
            f"{', ...' if len(nearest) > SHOWN else ''}, {gap:.1f} typical changes away."
        )

    @property
    def kept_names(self) -> tuple[str, ...]:
        """Of the numbers that the models see."""
        return tuple(n for n, fixed in zip(self.names, self.context.mask) if not fixed)

    def within(self, ranges: Mapping[Any, Range], here: np.ndarray | None = None) -> Goal:
        """Some numbers, by name or index: a value, or a (low, high) range, an end may be inf."""
        if self.pictures:
            raise CogmapError("a picture has no named numbers; give a picture as the goal.")
        low, high = np.full(len(self.names), -np.inf), np.full(len(self.names), np.inf)
        meant = bounds(ranges, self.names)
        for place, (_, first, last) in meant.items():
            near = self.change[place] if last is None else 0.0  # a value is met within a change
            low[place], high[place] = first - near, (first if last is None else last) + near
        goal = self._where(low, high, ", ".join(text for text, *_ in meant.values()), here)
        count = int(goal.reached(self.rows).sum())
        return goal if goal.warning else replace(goal, warning=self._rare(count))

    def satisfying(self, predicate: Callable, text: str, here: np.ndarray | None = None) -> Goal:
        """Whatever a function of one observation calls true."""

        whole = self._whole(here)

        def reached(seen: np.ndarray) -> np.ndarray:
            return np.array([bool(predicate(row)) for row in whole(seen)], dtype=bool)

        try:
            held = np.flatnonzero(reached(self.rows))
        except Exception as error:  # the user's own code may raise anything
            raise CogmapError(f"goal {text}: it raised {error!r} on a seen row.") from None
        if not len(held):
            raise CogmapError(f"goal {text}: no seen row satisfies it; record more, or widen it.")
        return Goal(text, self.rows[_spread(held)], reached, self._rare(len(held)))

    def _rare(self, count: int) -> str:
        """A warning where a goal was seen a few times only, else nothing."""
        if not 0 < count < FEW:
            return ""
        return (
            f"only {count} of {len(self.rows):,} seen observations are like this goal, so what "
            "leads there may be poorly learned; record more, or widen it."
        )

    def _whole(self, here: np.ndarray | None) -> Callable[[np.ndarray], np.ndarray]:
        """Makes what the models see into what the world shows in an episode that begins `here`."""
        if self.pictures or not self.context.mask.any():
            return lambda rows: rows
        if here is None:
            fixed = ", ".join(np.array(self.names)[self.context.mask])
            raise CogmapError(f"episodes differ in {fixed}; say how this one begins (here=...).")
        return lambda rows: self.context.whole(rows, here)

    @property
    def pictures(self) -> bool:
        return self.rows.ndim > 2

    def _where(self, low: np.ndarray, high: np.ndarray, text: str, here: np.ndarray | None) -> Goal:
        """Numbers between bounds. (d,), (d,)"""

        whole = self._whole(here)

        def reached(seen: np.ndarray) -> np.ndarray:
            seen = whole(seen)
            return np.asarray(((seen >= low) & (seen <= high)).all(-1))

        rows = whole(self.rows)
        outside = np.maximum(np.maximum(low - rows, rows - high), 0.0) / self.change
        gap = outside.max(-1)  # (N,) in changes; 0: it would do
        held = np.flatnonzero(gap == 0)
        if len(held):
            return Goal(text, self.rows[_spread(held)], reached)
        nearest = np.argsort(gap, kind="stable")[:SET]
        warning = self._unlike(float(gap[nearest[0]]), rows[nearest[0]])
        kept = self.rows[nearest[_spread(np.arange(len(nearest)))]]
        return Goal(text, kept, reached, warning)


def _spread(held: np.ndarray) -> np.ndarray:
    """SET of some rows, evenly through the record. (n,) -> (SET,)"""
    return held[np.linspace(0, len(held) - 1, SET).round().astype(int)]


def _save(path: Path, columns: dict[str, np.ndarray]) -> None:
    with path.open("wb") as file:
        np.savez_compressed(file, **columns)  # type: ignore[arg-type]
