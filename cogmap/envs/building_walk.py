"""The walk in a building: index arithmetic over views that were each cast once (App. D).

Shape letters: S states, T steps.
"""

from __future__ import annotations

from dataclasses import replace
from typing import cast

import numpy as np

from cogmap.data.trajectories import Trajectories
from cogmap.envs.turning import MOVES, States
from cogmap.errors import CogmapError
from cogmap.explore.settings import Exploration
from cogmap.explore.walks import graph_walk, split_steps


def check_walk(settings: Exploration, *, tau_max: int) -> None:
    """Raises for a walk that is too short for what is to be learned from it."""
    split_steps(settings.steps, 1)
    if tau_max > settings.steps:
        raise CogmapError(
            f"tau_max={tau_max} exceeds the walk ({settings.steps} steps); raise --walk-steps "
            "or lower --tau-max."
        )
    acted = cast(int, settings.action_steps)
    if not 1 <= acted <= settings.steps:
        raise CogmapError(
            f"action_steps={acted}: they are part of the walk; give 1 to {settings.steps}."
        )


def walked(
    states: States, table: np.ndarray, settings: Exploration, *, seed: int, where: str
) -> tuple[Trajectories, Trajectories]:
    """The whole walk of T steps, and its first part. `table` is seen (S, ...)"""
    rng = np.random.default_rng(seed)
    start = int(rng.integers(len(states)))
    moves = rng.integers(len(MOVES), size=settings.steps, dtype=np.int8)
    index = graph_walk(states.successors, start, moves)
    actions = np.eye(len(MOVES), dtype=np.uint8)[np.append(moves, 0)]
    whole = Trajectories(
        episode_starts=np.zeros(1, np.int64),
        table=table,
        index=index,
        actions=actions,
        source=f"random moves in {where}",
    )
    few = cast(int, settings.action_steps) + 1
    return whole, replace(whole, index=index[:few], actions=actions[:few])
