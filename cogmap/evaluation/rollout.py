"""Closed-loop episodes, many at once (Alg. 3): decide, hold one action, look, decide again."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from cogmap.envs.maze import GOAL_RADIUS
from cogmap.envs.pointmaze import STEPS_PER_UNIT, UNIT, PointMaze
from cogmap.evaluation.metrics import path_efficiency
from cogmap.evaluation.tasks import Task
from cogmap.planning.planner import Decision, Memory, Planner

Report = Callable[[int, int], None]  # called with (episodes finished, episodes)
Observe = Callable[[np.ndarray], np.ndarray]  # (E, 2) positions -> (E, ...) what is seen there


class Policy(Protocol):
    """Chooses actions for several episodes at once and says how long they are held."""

    hold: int  # simulator steps

    def act(
        self, episodes: np.ndarray, positions: np.ndarray, goals: np.ndarray
    ) -> tuple[np.ndarray, Sequence[Decision | None]]:
        """(E,) which episodes, (E, 2), (E, 2) -> (E, 2) actions and the decisions behind them"""


@dataclass
class Episode:
    """What happened on the way to one goal."""

    task: Task
    shortest: float  # l: the shortest path to the goal region, in units
    success: bool = False
    steps: int = 0  # simulator steps
    length: float = 0.0  # p: the executed path, in units
    route: list[np.ndarray] = field(
        default_factory=list
    )  # positions at each decision, then the end
    decisions: list[Decision] = field(
        default_factory=list
    )  # one a stretch of the route; may be none

    @property
    def efficiency(self) -> float:
        """This episode's term of SPL."""
        return path_efficiency(self.success, self.length, self.shortest)


class PlannerPolicy:
    """The method: one unit of the planner's choice, then look again.

    Each episode remembers where it decided what. Rules with a memory use it: a place that is seen
    again, or left without moving, means that the models are wrong there, and a planner without
    memory would go round for ever.
    """

    hold = STEPS_PER_UNIT

    def __init__(self, planner: Planner, observe: Observe = lambda positions: positions) -> None:
        self.planner, self._observe = planner, observe
        self._memories: dict[int, Memory] = {}
        self._goals: dict[int, np.ndarray] = {}

    def act(
        self, episodes: np.ndarray, positions: np.ndarray, goals: np.ndarray
    ) -> tuple[np.ndarray, Sequence[Decision | None]]:
        memories = [self._memories.setdefault(e, Memory()) for e in episodes]
        for e, goal in zip(episodes, goals, strict=True):
            if e not in self._goals:
                self._goals[e] = self._observe(goal[None])[0]
        wanted = np.stack([self._goals[e] for e in episodes])
        decisions = self.planner.decide_many(self._observe(positions), wanted, memories=memories)
        for memory, decision in zip(memories, decisions, strict=True):
            memory.add(decision)
        return np.stack([decision.action for decision in decisions]), decisions


class RandomPolicy:
    """The floor: a fresh uniform action at every simulator step."""

    hold = 1

    def __init__(self, seed: int) -> None:
        self._rng = np.random.default_rng(seed)

    def act(
        self, episodes: np.ndarray, positions: np.ndarray, goals: np.ndarray
    ) -> tuple[np.ndarray, Sequence[Decision | None]]:
        return self._rng.uniform(-1.0, 1.0, size=positions.shape), [None] * len(positions)


class OraclePolicy:
    """The ceiling: knows the walls and follows the shortest path, one unit at a time."""

    hold = STEPS_PER_UNIT

    def __init__(self, world: PointMaze) -> None:
        self._world = world

    def act(
        self, episodes: np.ndarray, positions: np.ndarray, goals: np.ndarray
    ) -> tuple[np.ndarray, Sequence[Decision | None]]:
        actions = np.zeros_like(positions)
        for e, (position, goal) in enumerate(zip(positions, goals, strict=True)):
            stop, _ = self._world.paths.next_stop(position, goal, beyond=0.05)
            way = stop - position
            actions[e] = way / max(float(np.linalg.norm(way)), UNIT)
        return actions, [None] * len(positions)


def run_episodes(
    world: PointMaze,
    tasks: Sequence[Task],
    policy: Policy,
    *,
    budget: int,
    report: Report | None = None,
) -> list[Episode]:
    """Runs every task until its goal region is entered or `budget` simulator steps are spent."""
    episodes: list[Episode] = []
    for episodes in as_they_run(world, tasks, policy, budget=budget):
        if report is not None:
            report(sum(episode.success for episode in episodes), len(tasks))
    return episodes


def as_they_run(
    world: PointMaze, tasks: Sequence[Task], policy: Policy, *, budget: int
) -> Iterator[list[Episode]]:
    """The same episodes at their start and after each decision."""
    positions = np.array([task.start for task in tasks], dtype=np.float64)
    goals = np.array([task.goal for task in tasks], dtype=np.float64)
    episodes = [
        Episode(task, world.shortest(np.array(task.start), np.array(task.goal))) for task in tasks
    ]
    physics = world.physics()
    physics.reset(positions)
    active = np.linalg.norm(positions - goals, axis=1) > GOAL_RADIUS
    for episode, position, under_way in zip(episodes, positions, active, strict=True):
        episode.route.append(position.copy())
        episode.success = not under_way
    yield episodes
    spent = 0
    while active.any() and spent < budget:
        steps = min(policy.hold, budget - spent)
        running = np.flatnonzero(active)
        actions = np.zeros_like(positions)
        actions[running], decisions = policy.act(running, positions[running], goals[running])
        path = physics.hold(actions, steps, active)  # (E, steps, 2)
        spent += steps
        for e, decision in zip(running, decisions, strict=True):
            episode = episodes[e]
            inside = np.linalg.norm(path[e] - goals[e], axis=1) <= GOAL_RADIUS
            taken = int(inside.argmax()) + 1 if inside.any() else steps  # success ends the episode
            walked = np.concatenate([positions[e][None], path[e, :taken]])
            episode.length += float(np.linalg.norm(np.diff(walked, axis=0), axis=1).sum())
            episode.steps += taken
            episode.success = bool(inside.any())
            episode.route.append(walked[-1].copy())
            if decision is not None:
                episode.decisions.append(decision)
            active[e] = not episode.success
        positions = path[:, -1].copy()
        yield episodes
