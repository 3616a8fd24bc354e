"""How episodes end whose start and goal were both explored (Table 2, coverage)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from cogmap.evaluation.evaluate import Evaluation


def are_near(places: np.ndarray, seen: np.ndarray, *, within: float) -> np.ndarray:
    """Which places are no farther than `within` from one that was seen. (N, p), (S, p) -> (N,)"""
    # One place at a time: a walk of random actions has seen millions.
    return np.array([np.linalg.norm(seen - place, axis=1).min() <= within for place in places])


def with_both_ends(result: Evaluation, seen: np.ndarray, *, within: float) -> dict[str, Any]:
    """Columns of a row: how many episodes have both ends explored, and SR and SPL of those.

    `seen` are the places of the walk, (S, p); without such an episode both rates are None.
    """
    starts = np.array([episode.task.start for episode in result.episodes])
    goals = np.array([episode.task.goal for episode in result.episodes])
    both = are_near(starts, seen, within=within) & are_near(goals, seen, within=within)
    among = [result.episodes[e] for e in np.flatnonzero(both)]
    rates = replace(result, episodes=among).summary() if among else {"sr": None, "spl": None}
    return {"explored": len(among), "explored_sr": rates["sr"], "explored_spl": rates["spl"]}
