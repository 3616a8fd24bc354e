"""What a worker does for a study, one function a task: record actions, train, measure."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from cogmap.agent import Agent
from cogmap.cli import Train
from cogmap.commands.train_ import record_actions, train_run
from cogmap.devices import Device
from cogmap.envs.maze import Maze
from cogmap.envs.pointmaze import PointMaze
from cogmap.evaluation.evaluate import ceiling, choose_tasks, evaluate, floor
from cogmap.planning.objective import Rule, rule
from cogmap.reproduce.grid import Row

GOALS, GOALS_SEED = 20, 0  # goals that a learned score is compared at


def actions(folder: Path, maze: str, steps: int) -> None:
    """Random actions, once; shared by all models of a maze."""
    if not (folder / "meta.json").exists():
        record_actions(Maze.load(maze), steps=steps, seed=0).save(folder)


def model(folder: Path, settings: dict[str, Any]) -> None:
    """A training run, or the rest of one."""
    begun = (folder / "config.json").exists()
    train_run(Train(resume=folder) if begun else Train(out=folder, **settings), quiet=True)


def plan(
    folder: Path,
    planner: str,
    device: Device,
    *,
    tau_max: int | None = None,
    gamma: float | None = None,
    horizon_zero: bool = True,
    pictures: Literal["camera", "grid"] = "camera",
    **tasks: Any,
) -> list[Row]:
    """One planner on one set of tasks."""
    agent = Agent.load(folder, device=device)
    chosen: str | Rule = planner
    if gamma is not None:
        chosen = rule("geometric", tau_max=agent.temporal.config.tau_max, gamma=gamma)
        chosen = chosen if horizon_zero else replace(chosen, zero_weight=0.0)
    world = agent.world(pictures=pictures)
    result = evaluate(agent, planner=chosen, tau_max=tau_max, world=world, **tasks)
    row = {**result.summary(), "training_minutes": training_minutes(folder)}
    return [row | ({"pictures": pictures} if agent.temporal.config.sees else {})]


def reference(
    maze: str, which: str, tasks: str, episodes: int | None, budget: int | None
) -> list[Row]:
    """The random policy or the shortest-path oracle."""
    world = PointMaze(Maze.load(maze))
    chosen = choose_tasks(world, tasks, episodes=episodes, budget=budget)
    return [(floor if which == "random" else ceiling)(world, chosen).summary()]


def probe(folder: Path, device: Device) -> list[Row]:
    """Table 4: what the embeddings know of distance."""
    from cogmap.report.probes import PAPER_TAUS, probe_model

    agent = Agent.load(folder, device=device)
    assert agent.maze is not None
    taus = [tau for tau in PAPER_TAUS if tau <= agent.temporal.config.tau_max]
    rows = probe_model(
        agent.temporal, agent.maze.lattice, rng=np.random.default_rng(GOALS_SEED), taus=taus
    )
    return [asdict(row) for row in rows]


def compare(folder: Path, device: Device) -> list[Row]:
    """Learned G against exact G* at each octave."""
    from cogmap.planning.objective import Horizons
    from cogmap.theory.agreement import agreement, learned_score

    agent = Agent.load(folder, device=device)
    assert agent.maze is not None
    lattice = agent.maze.lattice
    taus = Horizons.octaves(agent.temporal.config.tau_max).taus
    goals = np.random.default_rng(GOALS_SEED).choice(
        len(lattice), min(GOALS, len(lattice)), replace=False
    )
    rows = agreement(learned_score(agent.temporal, taus), lattice, taus=taus, goals=goals)
    return [asdict(row) for row in rows]


def training_minutes(folder: Path) -> float:
    """How long both models took to train, by their own reports."""
    seconds = 0.0
    for part in ("temporal", "dynamics"):
        lines = (folder / part / "metrics.jsonl").read_text().splitlines()
        seconds += json.loads(lines[-1]).get("seconds", 0.0)
    return round(seconds / 60, 2)
