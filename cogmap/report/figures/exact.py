"""Learned G beside the exact G* of the lattice walk, pair by pair (Sec. 3, Eq. 10)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from cogmap.envs.maze import Lattice
from cogmap.report.curves import INK
from cogmap.temporal.model import TemporalModel
from cogmap.theory.agreement import agreement, learned_score
from cogmap.theory.walk import SMALLEST_RATIO, ReversibleWalk

if TYPE_CHECKING:
    from matplotlib.axes import Axes

TAUS = (16, 256, 4096)
GOALS = 64  # drawn at random; every state is a source
SEED = 0
DEEPEST = -12.0  # nat: what lies below is not drawn; training looks no deeper

MOST = 1000  # pairs of one hexagon: more have the same colour, in all panels


@dataclass(frozen=True)
class Comparison:
    """Learned against exact at one horizon, over pairs that the walk can join in time."""

    tau: int  # moves
    exact: np.ndarray  # (N,) nat: G*
    learned: np.ndarray  # (N,) nat: G
    log_error: float  # nat: rms of G - G* where a planner looks (cogmap.theory.agreement)


def compare(
    model: TemporalModel, lattice: Lattice, *, taus: Sequence[int] = TAUS, goals: int = GOALS
) -> list[Comparison]:
    """Every state towards some goals, one comparison a horizon."""
    horizons = np.asarray(taus)
    count = min(goals, len(lattice))
    chosen = np.random.default_rng(SEED).choice(len(lattice), count, replace=False)
    score = learned_score(model, horizons)
    walk = ReversibleWalk.on(lattice.successors)
    exact = np.stack([walk.score(horizons, goal) for goal in chosen])  # (K, S, T)
    learned = np.stack([score(lattice.points, lattice.points[goal]) for goal in chosen])
    rows = agreement(score, lattice.points, lattice.successors, taus=horizons, goals=chosen)
    joined = exact > np.log(SMALLEST_RATIO)
    return [
        Comparison(
            int(tau),
            exact[..., t][joined[..., t]],
            learned[..., t][joined[..., t]],
            rows[t].log_error,
        )
        for t, tau in enumerate(taus)
    ]


def draw_comparison(found: Comparison, axes: Axes) -> Axes:
    """How many pairs lie where, with the diagonal that a perfect fit lies on."""
    seen = (found.exact >= DEEPEST) & (found.learned >= DEEPEST)
    exact, learned = found.exact[seen], found.learned[seen]
    low = min(exact.min(initial=0.0), learned.min(initial=0.0))
    high = max(exact.max(initial=0.1), learned.max(initial=0.1))
    from matplotlib.colors import LogNorm

    axes.hexbin(
        exact,
        learned,
        gridsize=60,
        extent=(low, high, low, high),
        norm=LogNorm(1, MOST),
        mincnt=1,
        cmap="cividis",
        linewidths=0.1,
    )
    axes.plot([low, high], [low, high], color="#d55e00", lw=1.0, ls="--")
    axes.set_aspect("equal")
    axes.set_xlabel("exact G* (nat)", fontsize=9)
    title = f"tau = {found.tau}: rms error {found.log_error:.2f} nat"
    axes.set_title(title, fontsize=10, color=INK)
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(labelsize=8)
    return axes
