"""What makes a move good: progress at every horizon and its average by a temperature (Sec. 2.4).

Shape letters: A candidates, T horizons.
"""

from __future__ import annotations

import contextlib
import math
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from cogmap.errors import CogmapError
from cogmap.planning.settings import Planning

NODES_PER_OCTAVE = 16


@dataclass(frozen=True)
class Horizons:
    """A set of horizons with weights that sum to one."""

    taus: np.ndarray  # (T,) int64, rising
    weights: np.ndarray  # (T,) float64

    @classmethod
    def every(cls, tau_max: int) -> Horizons:
        """Each integer 1..tau_max with equal weight, as in the paper."""
        taus = np.arange(1, _checked(tau_max) + 1)
        return cls(taus, np.full(tau_max, 1.0 / tau_max))

    @classmethod
    def octaves(cls, tau_max: int) -> Horizons:
        """1, 2, 4, ... up to tau_max with equal weight."""
        taus = 2 ** np.arange(int(math.log2(_checked(tau_max))) + 1)
        return cls(taus, np.full(len(taus), 1.0 / len(taus)))

    def quadrature(self) -> Horizons:
        """Fewer nodes that give the same weighted sums of functions smooth in log(tau).

        Every integer at first, then NODES_PER_OCTAVE nodes an octave; the weight of a horizon
        between two nodes is shared between them as in linear interpolation over log(tau).
        """
        last = self.taus[-1]
        count = int(NODES_PER_OCTAVE * math.log2(last)) + 2
        nodes = np.unique(np.geomspace(1, last, count).round().astype(np.int64))
        nodes = nodes[np.isin(nodes, self.taus)] if len(self.taus) == last else self.taus
        left = np.clip(np.searchsorted(nodes, self.taus, side="right") - 1, 0, len(nodes) - 2)
        if len(nodes) < 2:
            return self
        lower, upper = np.log(nodes[left]), np.log(nodes[left + 1])
        share = (np.log(self.taus) - lower) / (upper - lower)
        weights = np.bincount(left, self.weights * (1 - share), minlength=len(nodes))
        weights += np.bincount(left + 1, self.weights * share, minlength=len(nodes))
        return Horizons(nodes, weights)


def _checked(tau_max: int) -> int:
    if tau_max < 1:
        raise CogmapError(f"tau_max={tau_max} is below 1; horizons count steps from 1 on.")
    return tau_max


def geometric(tau_max: int, gamma: float) -> tuple[Horizons, float]:
    """Eq. 27 cut at tau_max: weights (1 - gamma) gamma^tau, and that of horizon zero beside them.

    All of them, horizon zero included, sum to one.
    """
    if not 0.0 < gamma < 1.0:
        raise CogmapError(f"gamma={gamma} lies outside (0, 1).")
    taus = np.arange(1, _checked(tau_max) + 1)
    weights = (1 - gamma) * gamma**taus
    total = weights.sum() + (1 - gamma)
    return Horizons(taus, weights / total), (1 - gamma) / total


def progress(score_next: Tensor, score_here: Tensor) -> Tensor:
    """Eq. 7: gain in exp(G) at every horizon. (..., A, T), (..., 1, T) -> (..., A, T)"""
    return score_next.exp() - score_here.exp()


def log_progress(score_next: Tensor, score_here: Tensor, *, floor: float) -> Tensor:
    """Gain in G itself, where scores below the floor count as the floor. Shapes as progress."""
    return score_next.clamp(min=floor) - score_here.clamp(min=floor)


def objective(delta: Tensor, weights: Tensor, beta: float) -> Tensor:
    """Eq. 8: V_beta = beta log sum_tau w exp(delta / beta). (..., T), (T,) -> (...)

    beta = 0 is its limit, the best single horizon (GP); beta = inf the weighted mean (PAP).
    """
    if not beta >= 0.0:
        raise CogmapError(f"beta={beta}; the temperature is a number from 0 to inf.")
    tiny = torch.finfo(delta.dtype).tiny
    if beta < tiny:  # zero, or so near that delta / beta would be 0 / 0
        return delta.amax(-1)
    if beta > tiny**-0.5:  # infinite, or so large that delta / beta would be rounded to zero
        return delta @ weights
    best = delta.amax(-1, keepdim=True)
    below = (delta - best) / beta  # at most zero
    # log(1 + small) where V is near the mean: at large beta, float32's log(1) would lose all of it.
    small = (weights * below.expm1()).sum(-1)
    total = torch.where(small > -0.5, small.log1p(), (weights * below.exp()).sum(-1).log())
    return best[..., 0] + beta * total


def horizon_weights(delta: Tensor, weights: Tensor, beta: float) -> Tensor:
    """Prop. 3: the maximiser q_beta ~ w exp(delta / beta) of the variational form. (..., T)"""
    if math.isinf(beta):
        return weights.expand_as(delta)
    if beta == 0.0:
        return torch.nn.functional.one_hot(delta.argmax(-1), delta.shape[-1]).to(delta)
    return torch.softmax(delta / beta + weights.log(), dim=-1)


PAPER_RADII = (1,)  # App. D: one-step candidates


@dataclass(frozen=True)
class Rule:
    """One way to turn scores into a choice: horizons, temperature, and what progress means."""

    name: str
    horizons: Horizons
    beta: float
    floor: float | None = None  # None: progress in exp(G); a number: progress in G above it
    zero_weight: float = 0.0  # weight of the known horizon-zero term, 1 / p0 at the goal
    # Decisions ahead at which a candidate is judged: far ones tell candidates apart, the first
    # one stops at the goal.
    radii: tuple[int, ...] = PAPER_RADII
    # Penalty for each earlier visit, so that falsely attractive dead ends are left; 0: no memory.
    memory: float = 0.0

    def arrival_value(self, goal_share: float) -> float:
        """What the horizon-zero term adds to a candidate that ends at the goal (Eq. 27)."""
        if self.floor is None:
            return self.zero_weight / goal_share
        return self.zero_weight * (-math.log(goal_share) - self.floor)


def rule(settings: Planning, *, tau_max: int, every_horizon: bool = False) -> Rule:
    """The rule of `settings.planner`: gp, pap, log, geometric, or beta=NUMBER.

    gp, pap and beta=... are the paper's: uniform weight on 1..tau_max, candidates judged one unit
    away, no memory. geometric weights horizons as App. B.6 does. log, the one we recommend,
    averages G itself over octaves. Sums over thousands of integers are done by quadrature unless
    `every_horizon`.
    """
    planner, radii, memory = settings.planner, settings.radii, settings.memory
    if planner == "log":
        octaves = Horizons.octaves(tau_max)
        zero = 1.0 / len(octaves.taus)  # horizon zero counts as one octave more
        return Rule("log", octaves, math.inf, settings.floor, zero, radii=radii, memory=memory)
    if planner == "geometric":
        horizons, zero = geometric(tau_max, settings.gamma)
        horizons = horizons if every_horizon else horizons.quadrature()
        return Rule("geometric", horizons, math.inf, None, zero, radii=radii, memory=memory)
    beta = {"gp": 0.0, "pap": math.inf}.get(planner, math.nan)
    if planner.startswith("beta="):
        with contextlib.suppress(ValueError):
            beta = float(planner.removeprefix("beta="))
        if not beta >= 0.0:
            raise CogmapError(f"planner {planner!r}: the temperature is a number from 0 to inf.")
    if math.isnan(beta):
        raise CogmapError(f"planner {planner!r}; choose gp, pap, log, geometric or beta=NUMBER.")
    horizons = Horizons.every(tau_max)
    return Rule(planner, horizons if every_horizon else horizons.quadrature(), beta)
