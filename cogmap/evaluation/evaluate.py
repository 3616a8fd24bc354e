"""Runs a set of tasks with one policy and sums them up (Sec. 4.1)."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from cogmap.agent import Agent
from cogmap.config import METHOD
from cogmap.envs.world import Drawn, Referred, Task, TaskSet, World, map_of
from cogmap.errors import CogmapError
from cogmap.evaluation.metrics import success_rate, wilson_interval
from cogmap.evaluation.rollout import (
    Episode,
    OraclePolicy,
    PlannerPolicy,
    Policy,
    RandomPolicy,
    Report,
    RivalPolicy,
    run_episodes,
)
from cogmap.planning.objective import Rule
from cogmap.planning.settings import Planning
from cogmap.rival import Rival


@dataclass(frozen=True)
class Evaluation:
    """Episodes of one policy on one set of tasks."""

    policy: str
    world: str
    tasks: str
    seed: int
    budget: int  # simulator steps of each episode
    settings: dict[str, Any]  # what else the policy was told
    episodes: list[Episode]
    seconds: float
    method: str = METHOD  # or that of a rival, or of a reference

    @property
    def sr(self) -> float:
        return success_rate([episode.success for episode in self.episodes])

    @property
    def spl(self) -> float | None:
        """None where the world knows no shortest ways."""
        terms = [e.efficiency for e in self.episodes if e.efficiency is not None]
        return float(np.mean(terms)) if len(terms) == len(self.episodes) else None

    @property
    def stayed(self) -> float | None:
        """Mean share of the time since a goal was reached that was spent there; None: it ended."""
        shares = [e.stayed for e in self.episodes if e.success and e.stayed is not None]
        return float(np.mean(shares)) if shares else None

    @property
    def unsolved(self) -> list[Episode]:
        """Those in which something needed to be done, where the world says so."""
        return [e for e in self.episodes if e.solved is False]

    @property
    def interval(self) -> tuple[float, float]:
        """95 % Wilson interval of SR."""
        return wilson_interval(sum(e.success for e in self.episodes), len(self.episodes))

    def summary(self) -> dict[str, Any]:
        """One row of results/."""
        low, high = self.interval
        return {
            **self.told(),
            "sr": round(self.sr, 4),
            "sr_low": round(low, 4),
            "sr_high": round(high, 4),
            "spl": _rounded(self.spl),
            **({} if self.stayed is None else {"stayed": round(self.stayed, 4)}),
            **self._of_unsolved(),
            "seconds": round(self.seconds, 1),
        }

    def _of_unsolved(self) -> dict[str, Any]:
        """SR of the episodes that do not begin at their goal, with its interval."""
        if not self.unsolved:
            return {}
        reached = sum(e.success for e in self.unsolved)
        low, high = wilson_interval(reached, len(self.unsolved))
        rates = {"unsolved_sr": reached / len(self.unsolved)}
        rates |= {"unsolved_sr_low": low, "unsolved_sr_high": high}
        return {name: round(rate, 4) for name, rate in rates.items()} | {
            "unsolved": len(self.unsolved)
        }

    def told(self) -> dict[str, Any]:
        """Its settings, which together with the model decide what is measured."""
        return {
            "world": self.world,
            "method": self.method,
            "planner": self.policy,
            "tasks": self.tasks,
            "episodes": len(self.episodes),
            "seed": self.seed,
            "budget": self.budget,
            **self.settings,
        }

    def rows(self) -> list[dict[str, Any]]:
        """One row an episode."""
        return [
            {
                "task": episode.task.name,
                "start": [round(v, 4) for v in episode.task.start],
                "goal": [round(v, 4) for v in episode.task.goal],
                "success": episode.success,
                "steps": episode.steps,
                "length": round(episode.length, 4),
                "shortest": _rounded(episode.shortest),
                "spl": _rounded(episode.efficiency),
            }
            for episode in self.episodes
        ]


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)


def run(
    world: World,
    tasks: TaskSet,
    policy: Policy,
    *,
    name: str,
    method: str = METHOD,
    settings: dict[str, Any] | None = None,
    report: Report | None = None,
) -> Evaluation:
    """One policy on one task set."""
    began = time.perf_counter()
    episodes = run_episodes(world, tasks.tasks, policy, budget=tasks.budget, report=report)
    seconds = time.perf_counter() - began
    return Evaluation(
        name,
        world.name,
        tasks.name,
        tasks.seed,
        tasks.budget,
        world.conditions() | (settings or {}),
        episodes,
        seconds,
        method,
    )


def evaluate(
    agent: Agent | Rival,
    *,
    tasks: str | None = None,
    planner: str | Planning | Rule | None = None,
    world: World | None = None,
    episodes: int | None = None,
    budget: int | None = None,
    seed: int = 0,
    tau_max: int | None = None,
    score: Literal["learned", "exact"] = "learned",
    every_horizon: bool = False,
    report: Report | None = None,
) -> Evaluation:
    """Plans every task in the simulator. See Agent.planner and World.tasks for the settings."""
    world = agent.acting_in(world)
    task_set = world.tasks(tasks, episodes=episodes, budget=budget, seed=seed)
    acting = acting_of(
        agent, world, planner, tau_max=tau_max, score=score, every_horizon=every_horizon
    )
    return run(
        world,
        task_set,
        acting.policy,
        name=acting.name,
        method=acting.method,
        settings=acting.settings,
        report=report,
    )


@dataclass(frozen=True)
class Acting:
    """How a run acts in a world, and what rows say of it."""

    policy: Policy
    name: str
    method: str
    settings: dict[str, Any]


def acting_of(
    agent: Agent | Rival,
    world: World,
    planner: str | Planning | Rule | None = None,
    *,
    tau_max: int | None = None,
    score: Literal["learned", "exact"] = "learned",
    every_horizon: bool = False,
) -> Acting:
    """Our method plans, as it is told to; a rival has a policy of its own."""
    if isinstance(agent, Rival):
        if planner is not None or tau_max is not None or score != "learned" or every_horizon:
            raise CogmapError(
                f"this run is of {agent.method}, which acts by its own policy; say nothing of how "
                "to plan."
            )
        hold = {"held": agent.hold}
        return Acting(RivalPolicy(agent), f"{agent.method} policy", agent.method, hold)
    deciding = agent.planner(
        planner, world=world, tau_max=tau_max, score=score, every_horizon=every_horizon
    )
    rule = deciding.rule
    settings = {
        "tau_max": int(rule.horizons.taus[-1]),
        "horizons": len(rule.horizons.taus),
        "candidates": deciding.candidates.count,
        "radii": list(deciding.candidates.radii),
        "view": rule.view,
        "memory": rule.memory,
        "score": score,
    }
    return Acting(PlannerPolicy(deciding, hold=world.hold), rule.name, METHOD, settings)


def plan(
    agent: Agent | Rival,
    start: Sequence[float],
    goal: Sequence[float],
    *,
    budget: int = 1000,
    planner: str | Planning | Rule | None = None,
    world: World | None = None,
    **settings: Any,
) -> Episode:
    """One episode: from a start to a goal as the world's tasks give them (positions in a maze).

    `settings` are those of Agent.planner.
    """
    if budget < 1:
        raise CogmapError(f"budget={budget}; give at least 1 simulator step.")
    world = agent.acting_in(world)
    acting = acting_of(agent, world, planner, **settings)
    task = Task("plan", tuple(map(float, start)), tuple(map(float, goal)))
    [episode] = run_episodes(world, [task], acting.policy, budget=budget)
    return episode


def with_references(world: World, result: Evaluation) -> list[Evaluation]:
    """The same tasks by the random policy before it, and after it by what the world refers to."""
    tasks = [episode.task for episode in result.episodes]
    same = TaskSet(result.tasks, tasks, result.budget, result.seed)
    before, *after = all_references(world, same)
    return [before, result, *after]


def all_references(world: World, tasks: TaskSet) -> list[Evaluation]:
    """The random policy, then what else the world can be measured against."""
    ends = [] if world.map is None else [ceiling(world, tasks)]
    if isinstance(world, Referred):
        ends += [
            run(unwatched(world), tasks, policy, name=name, method=name)
            for name, policy in world.references(tasks.tasks).items()
        ]
    return [floor(world, tasks), *ends]


def floor(world: World, tasks: TaskSet) -> Evaluation:
    """The random policy, which does not look at pictures.

    In a maze it takes a fresh action at each simulator step; elsewhere it holds one as long as the
    planner does.
    """
    here = unwatched(world)
    policy = RandomPolicy(here, seed=tasks.seed, hold=world.hold if world.map is None else 1)
    return run(here, tasks, policy, name="random policy (floor)", method="random")


def unwatched(world: World) -> World:
    """The same world for policies that do not look at pictures."""
    if world.map is not None:
        return world.map.positions()
    return world.undrawn() if isinstance(world, Drawn) else world


def ceiling(world: World, tasks: TaskSet) -> Evaluation:
    """The shortest-path oracle; only a world with a map has one."""
    plane = map_of(world, "the shortest-path oracle")
    here = plane.positions()
    policy = OraclePolicy(plane, hold=here.hold)
    return run(here, tasks, policy, name="shortest path (ceiling)", method="oracle")
