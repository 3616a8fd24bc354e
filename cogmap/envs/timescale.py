"""How long to hold an action and how far to look ahead, from short trials of a world.

Held too briefly, random actions cancel out: the agent stays where it began, and no horizon that is
learned spans the world. Held too long, it cannot be steered. So several holds are tried for equal
times, and the shortest is taken whose walk covers nearly as much as any and forgets where it was
within the horizons that are learned.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from cogmap.envs.recording import joined, recorded
from cogmap.goals import Context

if TYPE_CHECKING:
    from cogmap.envs.gym import GymWorld

HOLDS = (1, 2, 3, 5, 8)
TRIAL = 10_000  # environment steps
EPISODE = 1000  # steps
BINS = 6  # of each of the three most telling directions, for coverage
NEARLY = 0.85  # of the best coverage is enough
WAVES = 32  # random waves of the numbers, among which the slowest thing is looked for
LAG = 8  # decisions over which it is looked for
DEPENDS, NEGLIGIBLE = 0.3, 0.02  # share of a number that is owed to fixed ones; of one of them
BEYOND = 4  # times as long as a walk remembers: goals are rarer than what is typical
LEAST, MOST, MOST_AT_REST = 32, 128, 512  # horizons worth learning, with and without momentum
CHANCE = 0.05  # of what is done again where it was done before: how often it turns out otherwise
MOMENTUM = 0.6  # correlation of a change with the one before, from which on a world keeps moving


@dataclass(frozen=True)
class Trial:
    """One hold."""

    hold: int
    coverage: float  # share of the cells that any trial entered
    forgets: float  # decisions until the slowest thing is down to 1 / e of itself
    spreads: int  # decisions until the walk is half as far from its start as it gets


@dataclass(frozen=True)
class TrialTable:
    """Trials of several holds, and the choice."""

    trials: list[Trial]
    hold: int
    tau_max: int
    context: np.ndarray  # (d,) bool: numbers that an episode begins with and cannot change
    length: int  # decisions of a typical episode: some worlds end them early
    longest: int  # of the longest
    momentum: bool  # whether what moves keeps moving
    chance: bool  # whether one action may turn out in several ways

    def text(self) -> str:
        """For the terminal."""
        lines = ["hold  coverage  forgets after  spreads after"]
        for trial in self.trials:
            chosen = " <-" if trial.hold == self.hold else ""
            lines.append(
                f"{trial.hold:4}  {trial.coverage:8.2f}  {trial.forgets:13.1f}  "
                f"{trial.spreads:13}{chosen}"
            )
        reason = f"hold {self.hold}: the shortest that covers {NEARLY:.0%} of what the best does"
        if self.momentum:
            reason += f" and forgets within {MOST}"
        if len(self.trials) == 1:
            reason = f"hold {self.hold}: as given"
        keeps = "keeps moving" if self.momentum else "stands still"
        turns = ", in which one action may turn out in several ways" if self.chance else ""
        lines.append(f"a world that {keeps} by itself{turns}.")
        return "\n".join(
            [*lines, f"{reason}; tau_max {self.tau_max}: about {BEYOND} times what it forgets in."]
        )


def trial_table(world: GymWorld, *, holds: tuple[int, ...] | None, seed: int) -> TrialTable:
    """Records a little at each hold and chooses."""
    columns = {
        hold: joined(recorded(replace(world, hold=hold), steps=TRIAL, each=EPISODE, seed=seed))
        for hold in holds or HOLDS
    }
    context = fixed_numbers(next(iter(columns.values())))
    for part in columns.values() if context.any() else ():
        part["observations"] = part["observations"][:, ~context]
    cells = occupied({hold: part["observations"] for hold, part in columns.items()})
    every = set().union(*cells.values())
    trials = []
    for hold, part in columns.items():
        waves = features(part["observations"], seed=seed)
        starts = part["episode_starts"]
        memory, half = forgetting(waves, starts, lag=LAG), spreading(waves, starts)
        trials.append(Trial(hold, len(cells[hold]) / len(every), memory, half))
    best = max(trial.coverage for trial in trials)
    wide = [trial for trial in trials if trial.coverage >= NEARLY * best]
    momentum = keeps_moving(columns[min(columns)]) > MOMENTUM
    soon = [trial for trial in wide if trial.forgets <= MOST] if momentum else wide
    chosen = soon[0] if soon else wide[-1]
    most = MOST if momentum else MOST_AT_REST
    starts = columns[chosen.hold]["episode_starts"]
    rows = np.diff(np.append(starts, len(columns[chosen.hold]["observations"])))
    length = int(np.median(np.repeat(rows, rows)))  # that a typical row is part of
    wanted = 2 ** int(np.ceil(np.log2(BEYOND * chosen.forgets)))
    return TrialTable(
        trials,
        chosen.hold,
        int(np.clip(wanted, LEAST, most)),
        context,
        length,
        longest=int(rows.max()) - 1,
        momentum=momentum,
        chance=by_chance(columns[chosen.hold]) > CHANCE,
    )


def fixed_numbers(columns: dict[str, np.ndarray]) -> np.ndarray:
    """Numbers that differ between episodes and never change within one. -> (d,) bool"""
    rows, starts = columns["observations"], columns["episode_starts"]
    if rows.ndim > 2:
        return np.zeros(0, bool)
    low, high = np.minimum.reduceat(rows, starts), np.maximum.reduceat(rows, starts)
    return np.asarray((low == high).all(0) & (np.ptp(low, axis=0) > 0))


def context_of(world: GymWorld, *, seed: int) -> Context:
    """How much of what is fixed in an episode the other numbers contain, from many short ones.

    A number that goes with what is fixed is fitted by it, beside squares and products of those that
    do not, which stand for what it owes to the state.
    """
    parts = joined(recorded(world, steps=TRIAL, each=world.episode, seed=(seed, 1)))
    mask = fixed_numbers(parts)
    rows = parts["observations"].astype(np.float64)
    fixed, others = rows[:, mask], rows[:, ~mask]
    one = np.ones((len(rows), 1))
    alone, *_ = np.linalg.lstsq(np.hstack([fixed, one]), others, rcond=None)
    explained = (fixed @ alone[:-1]).std(0) / np.maximum(others.std(0), 1e-9)  # (d - c,)
    goes_with = explained > DEPENDS
    free = others[:, ~goes_with][:, :WAVES]
    products = [free[:, i] * free[:, j] for i in range(free.shape[1]) for j in range(i + 1)]
    design = np.column_stack([fixed, one, free, *products])
    fit, *_ = np.linalg.lstsq(design, others[:, goes_with], rcond=None)
    carried = np.zeros((others.shape[1], fixed.shape[1]))
    carried[goes_with] = fit[: fixed.shape[1]].T.round(3)
    return Context(mask, np.where(np.abs(carried) > NEGLIGIBLE, carried, 0.0))


def keeps_moving(columns: dict[str, np.ndarray]) -> float:
    """Correlation of a change with the one before it: of the number in which it is largest."""
    rows, starts = columns["observations"], columns["episode_starts"]
    change = np.diff(flattened(rows), axis=0)
    first = np.ones(len(rows), bool)
    first[starts] = False
    inside = first[1:-1] & first[2:]  # both changes lie in one episode
    if not inside.any():  # every episode is over at once
        return 0.0
    before, after = change[:-1][inside], change[1:][inside]
    scale = np.maximum(before.std(0) * after.std(0), 1e-12)
    together = ((before - before.mean(0)) * (after - after.mean(0))).mean(0) / scale
    return float(together.max(initial=0.0))


def by_chance(columns: dict[str, np.ndarray]) -> float:
    """How often what was done before at the same observation turns out otherwise.

    0 where nothing is ever seen again: then nothing can be told.
    """
    rows = columns["observations"]
    done = np.column_stack([rows.reshape(len(rows), -1), columns["actions"]])
    last = np.append(columns["episode_starts"][1:], len(rows)) - 1
    here = np.setdiff1d(np.arange(len(rows)), last)
    first: dict[bytes, bytes] = {}
    again = otherwise = 0
    for k in here:
        what, then = done[k].tobytes(), rows[k + 1].tobytes()
        if what in first:
            again, otherwise = again + 1, otherwise + (then != first[what])
        else:
            first[what] = then
    return otherwise / again if again else 0.0


def flattened(rows: np.ndarray) -> np.ndarray:
    """Rows as numbers in units of their spread; of a picture every so many pixels. -> (N, d)"""
    flat = rows.reshape(len(rows), -1)
    flat = flat[:, :: max(1, flat.shape[1] // 512)].astype(np.float64)
    spread = flat.std(0)
    return ((flat - flat.mean(0)) / np.maximum(spread, 1e-9))[:, spread > 1e-9]


def occupied(seen: dict[int, np.ndarray]) -> dict[int, set[tuple[int, ...]]]:
    """Cells that each trial entered, in the three directions in which all of them vary most."""
    scaled = flattened(np.concatenate(list(seen.values())))
    _, _, axes = np.linalg.svd(scaled[:: max(1, len(scaled) // 4096)], full_matrices=False)
    places = scaled @ axes[:3].T
    low, high = places.min(0), places.max(0)
    cell = ((places - low) / np.maximum(high - low, 1e-9) * BINS).clip(0, BINS - 1).astype(int)
    ends = np.cumsum([len(rows) for rows in seen.values()])[:-1]
    parts = np.split(cell, ends)
    return {hold: set(map(tuple, part.tolist())) for hold, part in zip(seen, parts)}


def features(rows: np.ndarray, *, seed: int) -> np.ndarray:
    """Numbers in units of their spread, and random waves of them. (N, ...) -> (N, f)"""
    scaled = flattened(rows)
    rng = np.random.default_rng(seed)
    angle = scaled @ rng.normal(size=(scaled.shape[1], WAVES)) / np.sqrt(max(1, scaled.shape[1]))
    angle = angle + rng.uniform(0, 2 * np.pi, size=WAVES)
    return np.concatenate([scaled[:, :WAVES], np.cos(angle), np.cos(2 * angle)], axis=1)


def forgetting(waves: np.ndarray, starts: np.ndarray, *, lag: int) -> float:
    """Decisions until the slowest thing that can be told of the start is down to 1 / e of itself.

    The slowest thing is found on every other episode and measured on the rest: among linear
    combinations of the waves, the one that correlates most with itself `lag` decisions later.
    Energy is such a thing, which no single number shows.
    """
    ends = np.append(starts[1:], len(waves))
    halves: list[list[np.ndarray]] = [[], []]
    for k, (begin, end) in enumerate(zip(starts, ends)):
        if end - begin > lag:
            halves[k % 2].append(np.stack([waves[begin : end - lag], waves[begin + lag : end]]))
    if not (halves[0] and halves[1]):
        return float(lag)  # episodes are too short to tell
    (x, y), (x2, y2) = (np.concatenate(half, axis=1) for half in halves)
    centre = x.mean(0)
    x, y, x2, y2 = x - centre, y - centre, x2 - centre, y2 - centre
    scale, turn = np.linalg.eigh(x.T @ x / len(x) + 1e-3 * np.eye(x.shape[1]))
    white = turn / np.sqrt(scale)
    left, _, right = np.linalg.svd(white.T @ (x.T @ y / len(x)) @ white)
    a, b = x2 @ white @ left[:, 0], y2 @ white @ right[0]
    if min(a.std(), b.std()) < 1e-9:
        return float(lag)
    kept = float(np.clip(np.corrcoef(a, b)[0, 1], 0.01, 0.999))
    return -lag / float(np.log(kept))


def spreading(waves: np.ndarray, starts: np.ndarray) -> int:
    """Decisions until a walk's squared distance from its start is half of what it comes to."""
    ends = np.append(starts[1:], len(waves))
    longest = int((ends - starts).max())
    total, count = np.zeros(longest), np.zeros(longest)
    for begin, end in zip(starts, ends):
        gone = np.square(waves[begin:end] - waves[begin]).mean(1)
        total[: len(gone)] += gone
        count[: len(gone)] += 1
    curve = total / np.maximum(count, 1)
    return int((curve >= 0.5 * curve[longest // 2 :].mean()).argmax())
