"""The horizon that argued for each decision against the way that was left (App. B.2, Eq. 15)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from cogmap.envs.maze import MOVES
from cogmap.envs.maze_map import MazeMap
from cogmap.evaluation.rollout import Episode
from cogmap.planning.planner import Planner
from cogmap.report.curves import COLOURS, INK, PAP, SIGNAL
from cogmap.theory.diffusion import best_horizon, walk_alpha

if TYPE_CHECKING:
    from matplotlib.axes import Axes

NEAREST = 1.0  # units: the goal's radius, where episodes end
BINS = 10  # of the medians
AT_ONCE = 16  # decisions


@dataclass(frozen=True)
class Arguments:
    """Every decision along some routes."""

    planner: str  # a name in curves.COLOURS
    distance: np.ndarray  # (N,) units: shortest way from there to the goal
    horizon: np.ndarray  # (N,) moves: the horizon that argued for the decision
    reached: np.ndarray  # (N,) bool: whether its route arrived
    exact: np.ndarray | None = None  # (N,) moves: the horizon that the exact score argues with


def arguments(
    planner: str, plane: MazeMap, episodes: Sequence[Episode], *, exact: Planner | None = None
) -> Arguments:
    """Reads the decisions of episodes; `exact` decides again at each of their places."""
    distance, horizon, reached = [], [], []
    for episode in episodes:
        goal = np.array(episode.task.goal)
        for place, decision in zip(episode.route, episode.decisions):
            distance.append(plane.paths.distance(place, goal))
            horizon.append(decision.horizon)
            reached.append(episode.success)
    return Arguments(
        planner,
        np.array(distance),
        np.array(horizon),
        np.array(reached, dtype=bool),
        None if exact is None else exact_horizons(exact, episodes),
    )


def free_space_law(distance: np.ndarray) -> np.ndarray:
    """Eq. 15 for the lattice walk in the plane: tau* = r^2 / (2 (n + 2) alpha), n = 2. (N,)"""
    alpha = walk_alpha(MOVES)
    return np.array([best_horizon(float(r), alpha=alpha, n=2) for r in distance])


def exact_horizons(planner: Planner, episodes: Sequence[Episode]) -> np.ndarray:
    """What a planner of the exact score argues with at the same places. (N,)"""
    horizons: list[int] = []
    for episode in episodes:
        places = np.array(episode.route[:-1]).reshape(-1, 2)
        for begin in range(0, len(places), AT_ONCE):
            some = places[begin : begin + AT_ONCE]
            goals = np.tile(episode.task.goal, (len(some), 1))
            horizons += [decision.horizon for decision in planner.decide_many(some, goals)]
    return np.array(horizons)


def medians(distance: np.ndarray, horizon: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The median horizon in bins of distance. (N,), (N,) -> (B,) distances, (B,) horizons"""
    edges = np.geomspace(NEAREST, max(2.0, float(distance.max(initial=2.0))), BINS + 1)
    bins = np.clip(np.digitize(distance, edges) - 1, 0, BINS - 1)
    there = [b for b in range(BINS) if (bins == b).sum() >= 3]
    middles = np.sqrt(edges[:-1] * edges[1:])
    return middles[there], np.array([np.median(horizon[bins == b]) for b in there])


def draw_law(found: Arguments, axes: Axes, *, tau_max: int) -> Axes:
    """One dot a decision, hollow on routes that did not arrive; the law as a line."""
    colour = COLOURS[found.planner]
    here = found.reached
    style: dict[str, Any] = {"s": 13, "linewidths": 0.6, "alpha": 0.55}
    axes.scatter(found.distance[here], found.horizon[here], color=colour, **style)
    missed = found.distance[~here], found.horizon[~here]
    axes.scatter(*missed, facecolors="none", edgecolors=colour, **style)
    middle = medians(found.distance, found.horizon)
    axes.plot(*middle, "s-", ms=4, lw=1.2, color=INK, mfc="white", label="median")
    if found.exact is not None:
        middle = medians(found.distance, found.exact)
        label = "median, exact G* at the same places"
        axes.plot(*middle, "x-.", ms=5, lw=1.2, color=PAP, label=label)
    r = np.geomspace(NEAREST, max(2.0, float(found.distance.max(initial=2.0))), 100)
    axes.plot(r, free_space_law(r), "--", color=INK, lw=1.4, label="free space: 3 r² / 8")
    axes.set_xscale("log")
    axes.set_yscale("log", base=2)
    axes.axhline(tau_max, color=SIGNAL, lw=1, ls=":")  # no longer horizon was asked
    axes.set_ylim(0.7, 1.5 * tau_max)
    axes.set_xlabel("shortest way to the goal r (units)", fontsize=9)
    axes.set_title(found.planner, fontsize=10, color=INK)
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(labelsize=8)
    return axes
