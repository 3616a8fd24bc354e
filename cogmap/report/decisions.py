"""Decisions a second: our planners, and the literal pseudo-code on every integer horizon.

One at a time, every goal is new to the planner; many at once are episodes under way, whose goals
it has embedded. What depends on the model and its horizons alone is computed before the clock
starts.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from torch import Tensor

from cogmap.agent import Agent
from cogmap.envs.maze import Maze
from cogmap.envs.tasks import draw_pairs
from cogmap.planning.candidates import Offer
from cogmap.planning.planner import Planner
from cogmap.report import literal
from cogmap.report.speed import repeated

CASES_SEED = 5  # of the starts and goals


@dataclass(frozen=True)
class Cases:
    """Situations to decide in."""

    states: np.ndarray  # (N, d) float32
    goals: np.ndarray  # (N, d) float32

    @classmethod
    def draw(cls, maze: Maze, *, count: int) -> Cases:
        """Random starts and goals in a maze."""
        pairs = draw_pairs(maze, count=count, seed=CASES_SEED)
        ends = np.array([(pair.start, pair.goal) for pair in pairs], dtype=np.float32)
        return cls(ends[:, 0], ends[:, 1])


@dataclass(frozen=True)
class Pace:
    """How fast decisions come one at a time, and which they were."""

    rate: float  # decisions a second, by the median
    choices: np.ndarray  # (n,) the candidate chosen in each of the first n cases


def agreement(one: Pace, other: Pace) -> tuple[float, int]:
    """Share of the cases decided by both in which the choice is the same, and their number."""
    both = min(len(one.choices), len(other.choices))
    return float(np.mean(one.choices[:both] == other.choices[:both])), both


def one_at_a_time(decisions: Sequence[Callable[[], int]], *, seconds: float) -> Pace:
    """Makes one decision after another, two at least, as long as `seconds` are not over.

    The first is made once before, to warm up.
    """
    decisions[0]()
    taken, choices = [], []
    for decide in decisions:
        began = time.perf_counter()
        choices.append(decide())
        taken.append(time.perf_counter() - began)
        if len(taken) > 1 and sum(taken) > seconds:
            break
    return Pace(1.0 / float(np.median(taken)), np.array(choices))


def planned_alone(planner: Planner, cases: Cases, *, seconds: float) -> Pace:
    """One of our planners, one decision at a time."""

    def decide(state: np.ndarray, goal: np.ndarray) -> int:
        return planner.decide(state, goal).candidate

    every = [partial(decide, *case) for case in zip(cases.states, cases.goals)]
    return one_at_a_time(every, seconds=seconds)


def planned_together(planner: Planner, cases: Cases, *, seconds: float) -> float:
    """Decisions a second of one of our planners where all cases are decided in one pass."""
    decide = partial(planner.decide_many, cases.states, cases.goals)
    taken = repeated(decide, planner.scorer.taus.device, seconds=seconds)
    return len(cases.states) / float(np.median(taken))


def literal_alone(
    agent: Agent, candidates: Offer, cases: Cases, taus: Tensor, *, seconds: float
) -> Pace:
    """The literal pseudo-code for the same candidates, one decision at a time."""
    choose = partial(literal.choose_action, agent.temporal, agent.dynamics, candidates)
    banks = literal.embedded_banks(agent.temporal, taus)
    states = torch.as_tensor(cases.states).to(taus.device)
    goals = torch.as_tensor(cases.goals).to(taus.device)
    every = [partial(choose, *case, taus, banks) for case in zip(states, goals)]
    return one_at_a_time(every, seconds=seconds)
