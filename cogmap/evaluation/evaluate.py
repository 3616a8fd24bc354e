"""Runs a set of tasks with one policy and sums them up (Sec. 4.1)."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from cogmap.agent import Agent
from cogmap.envs.pointmaze import PointMaze
from cogmap.errors import CogmapError, check_seed
from cogmap.evaluation import tasks as sets
from cogmap.evaluation.metrics import success_rate, wilson_interval
from cogmap.evaluation.rollout import (
    Episode,
    OraclePolicy,
    PlannerPolicy,
    Policy,
    RandomPolicy,
    Report,
    run_episodes,
)
from cogmap.evaluation.tasks import Task
from cogmap.planning.objective import Rule


@dataclass(frozen=True)
class Evaluation:
    """Episodes of one policy on one set of tasks."""

    policy: str
    maze: str
    tasks: str
    seed: int
    budget: int  # simulator steps of each episode
    settings: dict[str, Any]  # what else the policy was told
    episodes: list[Episode]
    seconds: float

    @property
    def sr(self) -> float:
        return success_rate([episode.success for episode in self.episodes])

    @property
    def spl(self) -> float:
        return float(np.mean([episode.efficiency for episode in self.episodes]))

    @property
    def interval(self) -> tuple[float, float]:
        """95 % Wilson interval of SR."""
        return wilson_interval(sum(e.success for e in self.episodes), len(self.episodes))

    def summary(self) -> dict[str, Any]:
        """One row of results/."""
        low, high = self.interval
        return {
            "planner": self.policy,
            "maze": self.maze,
            "tasks": self.tasks,
            "episodes": len(self.episodes),
            "sr": round(self.sr, 4),
            "sr_low": round(low, 4),
            "sr_high": round(high, 4),
            "spl": round(self.spl, 4),
            "seed": self.seed,
            "budget": self.budget,
            **self.settings,
            "seconds": round(self.seconds, 1),
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
                "shortest": round(episode.shortest, 4),
                "spl": round(episode.efficiency, 4),
            }
            for episode in self.episodes
        ]


@dataclass(frozen=True)
class TaskSet:
    """Tasks ready to run in one world."""

    name: str
    tasks: list[Task]
    budget: int
    seed: int


def choose_tasks(
    world: PointMaze,
    name: str | None,
    *,
    episodes: int | None = None,
    budget: int | None = None,
    seed: int = 0,
) -> TaskSet:
    """official, random, or a pairs file; by default official where OGBench has tasks.

    `episodes` counts episodes of each task. Official ones differ by OGBench's noise; a pair runs
    once as written, and again from starts nearby if more are asked for.
    """
    check_seed(seed)
    if episodes is not None and episodes < 1:
        raise CogmapError(f"episodes={episodes}; give at least 1.")
    if budget is not None and budget < 1:
        raise CogmapError(f"budget={budget}; give at least 1 simulator step.")
    name = name or ("official" if sets.pairs_file(world.maze) else "random")
    if name == "official":
        chosen = sets.official_tasks(
            world.maze, episodes=episodes or sets.OFFICIAL_EPISODES, seed=seed
        )
        budget = budget or sets.OFFICIAL_BUDGET
    else:
        pairs = sets.random_tasks(world.maze) if name == "random" else sets.read_pairs(Path(name))
        sets.check_tasks(world, pairs)
        chosen = sets.repeated(world.maze, pairs, episodes=episodes or 1, seed=seed)
        budget = budget or sets.RANDOM_BUDGET
    sets.check_tasks(world, chosen)
    return TaskSet(Path(name).name, chosen, budget, seed)


def run(
    world: PointMaze,
    tasks: TaskSet,
    policy: Policy,
    *,
    name: str,
    settings: dict[str, Any] | None = None,
    report: Report | None = None,
) -> Evaluation:
    """One policy on one task set."""
    began = time.perf_counter()
    episodes = run_episodes(world, tasks.tasks, policy, budget=tasks.budget, report=report)
    settings = {"physics": world.physics_name} | (settings or {})
    seconds = time.perf_counter() - began
    return Evaluation(
        name, world.maze.name, tasks.name, tasks.seed, tasks.budget, settings, episodes, seconds
    )


def evaluate(
    agent: Agent,
    *,
    tasks: str | None = None,
    planner: str | Rule = "log",
    world: PointMaze | None = None,
    episodes: int | None = None,
    budget: int | None = None,
    seed: int = 0,
    tau_max: int | None = None,
    radii: Sequence[int] | None = None,
    score: Literal["learned", "exact"] = "learned",
    every_horizon: bool = False,
    report: Report | None = None,
) -> Evaluation:
    """Plans every task in the simulator. See Agent.planner and choose_tasks for the settings."""
    world = world or agent.world()
    task_set = choose_tasks(world, tasks, episodes=episodes, budget=budget, seed=seed)
    chosen = agent.planner(
        planner, world=world, tau_max=tau_max, radii=radii, score=score, every_horizon=every_horizon
    )
    settings = {
        "tau_max": int(chosen.rule.horizons.taus[-1]),
        "horizons": len(chosen.rule.horizons.taus),
        "radii": list(chosen.rule.radii),
        "score": score,
    }
    return run(
        world,
        task_set,
        PlannerPolicy(chosen, world.observe),
        name=chosen.rule.name,
        settings=settings,
        report=report,
    )


def floor(world: PointMaze, tasks: TaskSet) -> Evaluation:
    """The random policy."""
    return run(world, tasks, RandomPolicy(tasks.seed), name="random policy (floor)")


def ceiling(world: PointMaze, tasks: TaskSet) -> Evaluation:
    """The shortest-path oracle."""
    return run(world, tasks, OraclePolicy(world), name="shortest path (ceiling)")
