"""Learned G beside the exact G* of the lattice walk, octave by octave (Sec. 3, Eq. 10).

A planner compares places one move apart, so the error of a score matters less than the error of
its one-move differences, and that only beside what a good move gains: noise beside signal.

Shape letters: S states, M moves, T horizons, K goals.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from cogmap.errors import CogmapError
from cogmap.temporal.model import TemporalModel
from cogmap.temporal.scorer import LearnedScorer
from cogmap.theory.geodesic import moves_to
from cogmap.theory.walk import SMALLEST_RATIO, ReversibleWalk

LOG_FLOOR = -3.0  # scores below it do not count in log scale
FAR_MOVES = 20  # five cells or more: the goal lies beyond the next turns

# G of every point towards one goal at all horizons. (S, 2), (2,) -> (S, T)
Score = Callable[[np.ndarray, np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Agreement:
    """How well a score fits the exact one at one horizon. nan where there is nothing to compare."""

    tau: int  # steps
    relative_error: float  # rms error of exp G in spreads of exp G*; 1 is as good as a constant
    log_error: float  # nat: rms error of G where G* > LOG_FLOOR
    signal: float  # exp G*: median gain of the shortest path's next move, far pairs
    noise: float  # exp G: median absolute error of that gain, far pairs
    log_signal: float  # nat: median gain in G* of that move, far pairs with G* > LOG_FLOOR
    log_noise: float  # nat: median absolute error of that gain, the same pairs
    sign_right: float  # share, 0 to 1, of moves whose gain has the sign of the exact gain
    sign_right_far: float  # the same from states at least FAR_MOVES from the goal


def learned_score(model: TemporalModel, taus: np.ndarray) -> Score:
    """A trained model as `agreement` takes it. (T,)"""
    longest = model.config.tau_max
    if np.max(taus) > longest:
        raise CogmapError(
            f"tau={np.max(taus)} exceeds the horizons this model learned (1..{longest}); "
            "ask for shorter ones or train with a larger tau_max."
        )
    scorer = LearnedScorer(model, torch.as_tensor(taus))  # embeds its bank once for all goals
    device = scorer.taus.device

    def score(points: np.ndarray, goal: np.ndarray) -> np.ndarray:
        here = torch.as_tensor(points, dtype=torch.float32, device=device)
        there = torch.as_tensor(goal, dtype=torch.float32, device=device)
        return scorer.score(here[None], scorer.embed_goals(there[None])[None])[0].cpu().numpy()

    return score


def agreement(
    score: Score,
    points: np.ndarray,
    successors: np.ndarray,
    *,
    taus: np.ndarray,
    goals: Sequence[int] | np.ndarray,
) -> list[Agreement]:
    """Compares a score with G* over all states and some goals, one row a horizon.

    (S, 2) and (S, M) are the lattice, (T,) the horizons, (K,) the states that are goals.

    relative_error = sqrt(mean_{x,g} (exp G - exp G*)^2 / mean_g var_x exp G*). The other fields
    are what Agreement says of them. Far pairs are states at least FAR_MOVES from the goal; where
    a maze has none, they are all states but the goal itself that have a way to it.
    """
    goals = np.asarray(goals)
    if not len(goals) or goals.min() < 0 or goals.max() >= len(points):
        raise CogmapError(
            f"goals={goals.tolist()}; give one or more states from 0 to {len(points) - 1}."
        )
    walk = ReversibleWalk.on(successors)
    exact = np.stack([walk.score(taus, goal) for goal in goals])  # (K, S, T)
    learned = np.stack([score(points, points[goal]) for goal in goals]).astype(np.float64)

    moves = np.stack([moves_to(successors, goal) for goal in goals])  # (K, S)
    # The move of the shortest path: to the neighbour nearest to the goal, the first if several.
    ahead = moves[:, successors]  # (K, S, M)
    best = np.where(ahead < 0, np.inf, ahead).argmin(-1)  # (K, S)
    onward = successors[np.arange(len(points)), best]
    far = moves >= FAR_MOVES
    pairs = far if far.any() else moves > 0
    return [
        _compare(
            int(tau),
            exact[..., t],
            learned[..., t],
            successors=successors,
            onward=onward,
            pairs=pairs,
            far=far,
        )
        for t, tau in enumerate(taus)
    ]


def _compare(
    tau: int,
    exact: np.ndarray,
    learned: np.ndarray,
    *,
    successors: np.ndarray,
    onward: np.ndarray,
    pairs: np.ndarray,
    far: np.ndarray,
) -> Agreement:
    """One horizon: scores, next states, masks. (K, S) each, successors (S, M)"""
    ratio, learned_ratio = np.exp(exact), np.exp(learned)
    known = exact > LOG_FLOOR
    spread = float(np.sqrt(ratio.var(axis=1).mean()))
    error = _rms(learned_ratio - ratio)

    signal = _gain(ratio, onward)
    noise = np.abs(_gain(learned_ratio, onward) - signal)
    log_signal = _gain(exact, onward)
    log_noise = np.abs(_gain(learned, onward) - log_signal)

    # Every move from every state. Differences as small as the spectrum's rounding are none.
    gain = ratio[:, successors] - ratio[:, :, None]  # (K, S, M); zero where a move stays
    counted = np.abs(gain) > SMALLEST_RATIO
    right = np.sign(learned[:, successors] - learned[:, :, None]) == np.sign(gain)

    return Agreement(
        tau=tau,
        relative_error=error / spread if spread > SMALLEST_RATIO else float("nan"),
        log_error=_rms((learned - exact)[known]),
        signal=_median(signal[pairs]),
        noise=_median(noise[pairs]),
        log_signal=_median(log_signal[pairs & known]),
        log_noise=_median(log_noise[pairs & known]),
        sign_right=_share(right[counted]),
        sign_right_far=_share(right[counted & far[:, :, None]]),
    )


def _gain(values: np.ndarray, onward: np.ndarray) -> np.ndarray:
    """How much a value grows with each state's next move. (K, S), (K, S) -> (K, S)"""
    return np.take_along_axis(values, onward, axis=1) - values


def _rms(values: np.ndarray) -> float:
    return float(np.sqrt(np.mean(values**2))) if values.size else float("nan")


def _median(values: np.ndarray) -> float:
    return float(np.median(values)) if values.size else float("nan")


def _share(right: np.ndarray) -> float:
    return float(right.mean()) if right.size else float("nan")
