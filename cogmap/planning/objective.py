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

NODES_PER_OCTAVE = 4
IN_VIEW = 2  # nodes that are asked


@dataclass(frozen=True)
class Horizons:
    """A set of horizons with weights that sum to one."""

    taus: np.ndarray  # (T,) int64, rising
    weights: np.ndarray  # (T,) float64

    @classmethod
    def every(cls, tau_max: int) -> Horizons:
        """Each integer 1..tau_max with equal weight, as in the paper."""
        if tau_max < 1:
            raise CogmapError(f"tau_max={tau_max} is below 1; horizons count steps from 1 on.")
        return cls(np.arange(1, tau_max + 1), np.full(tau_max, 1.0 / tau_max))

    @classmethod
    def octaves(cls, tau_max: int) -> Horizons:
        """1, 2, 4, ... up to tau_max with equal weight."""
        taus = 2 ** np.arange(tau_max.bit_length())
        return cls(taus, np.full(len(taus), 1.0 / len(taus)))

    def quadrature(self) -> Horizons:
        """Fewer nodes that give the same weighted sums of functions smooth in log(tau).

        Of 1..tau_max every integer at first, then NODES_PER_OCTAVE nodes an octave; the weight of a
        horizon between two nodes is shared between them as in linear interpolation over log(tau).
        """
        if len(self.taus) < 2:
            return self
        count = int(NODES_PER_OCTAVE * math.log2(self.taus[-1])) + 2
        nodes = np.unique(np.geomspace(1, self.taus[-1], count).round().astype(np.int64))
        left = np.clip(np.searchsorted(nodes, self.taus, side="right") - 1, 0, len(nodes) - 2)
        lower, upper = np.log(nodes[left]), np.log(nodes[left + 1])
        share = (np.log(self.taus) - lower) / (upper - lower)
        weights = np.bincount(left, self.weights * (1 - share), minlength=len(nodes))
        weights += np.bincount(left + 1, self.weights * share, minlength=len(nodes))
        return Horizons(nodes, weights)


def progress(score_next: Tensor, score_here: Tensor) -> Tensor:
    """Eq. 7: gain in exp(G) at every horizon. (..., A, T), (..., 1, T) -> (..., A, T)"""
    return score_next.exp() - score_here.exp()


def objective(delta: Tensor, weights: Tensor, beta: float) -> Tensor:
    """Eq. 8: V_beta = beta log sum_tau w exp(delta / beta). (..., T), (..., T) -> (...)

    beta = 0 is its limit, the best single horizon (GP); beta = inf the weighted mean (PAP).
    """
    if not beta >= 0.0:
        raise CogmapError(f"beta={beta}; the temperature is a number from 0 to inf.")
    tiny = torch.finfo(delta.dtype).tiny
    if beta < tiny:  # zero, or so near that delta / beta would be 0 / 0
        return delta.amax(-1)
    if beta > tiny**-0.5:  # infinite, or so large that delta / beta would be rounded to zero
        return (delta * weights).sum(-1)
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


@dataclass(frozen=True)
class Rule:
    """One way to turn scores into a choice."""

    name: str
    horizons: Horizons
    beta: float
    view: float | None = None  # nats; None: every horizon is asked
    radii: tuple[int, ...] = (1,)  # decisions ahead at which a candidate is judged
    memory: bool = False  # places that were seen before come last


def in_view(score_here: Tensor, view: float) -> Tensor:
    """Which horizons to ask: IN_VIEW nodes up to the shortest that sees the goal. (E, T) -> (E, t)

    A horizon sees the goal where G >= -view; if none does, the one that comes nearest. Shorter ones
    know nothing of the goal yet; longer ones know the way less well (Prop. 1): their walks have
    had the time for detours.
    """
    count = min(IN_VIEW, score_here.shape[-1])
    seen = score_here >= -view
    first = torch.where(seen.any(-1), seen.float().argmax(-1), score_here.argmax(-1))
    back = torch.arange(1 - count, 1, device=first.device)
    return first.clamp(min=count - 1)[:, None] + back


def rule(settings: Planning, *, tau_max: int, every_horizon: bool = False) -> Rule:
    """The rule of `settings`, over horizons 1..tau_max of uniform weight.

    Sums over thousands of integers are done by quadrature unless `every_horizon`.
    """
    planner = settings.planner
    beta = {"gp": 0.0, "pap": math.inf}.get(planner, math.nan)
    if planner.startswith("beta="):
        with contextlib.suppress(ValueError):
            beta = float(planner.removeprefix("beta="))
        if not beta >= 0.0:
            raise CogmapError(f"planner {planner!r}: the temperature is a number from 0 to inf.")
    if math.isnan(beta):
        raise CogmapError(f"planner {planner!r}; choose gp, pap or beta=NUMBER.")
    if every_horizon and settings.view is not None:
        raise CogmapError(f"view={settings.view} asks a few; for every horizon give --view None.")
    horizons = Horizons.every(tau_max)
    horizons = horizons if every_horizon else horizons.quadrature()
    return Rule(planner, horizons, beta, settings.view, settings.radii, settings.memory)
