"""Closed-loop episodes, many at once (Alg. 3): decide, hold one action, look, decide again."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from cogmap.envs.maze_map import MazeMap
from cogmap.envs.world import Facing, Foreseeing, Judged, Running, Task, World
from cogmap.evaluation.metrics import path_efficiency
from cogmap.planning.memory import Memory
from cogmap.planning.planner import Decision, Planner
from cogmap.rival import Rival

Report = Callable[[int, int], None]  # called with (episodes finished, episodes)


class Policy(Protocol):
    """Chooses actions for several episodes at once and says how long they are held."""

    @property
    def hold(self) -> int:
        """Simulator steps."""

    def act(
        self, episodes: np.ndarray, observations: np.ndarray, goals: np.ndarray
    ) -> tuple[np.ndarray, Sequence[Decision | None]]:
        """(n,) which episodes, (n, ...), (n, ...) -> (n, a) actions, the decisions behind them"""

    def rest(self, episodes: np.ndarray) -> None:
        """Told of episodes that go on at their goal, to hold it. (n,)"""


@dataclass
class Episode:
    """What happened on the way to one goal."""

    task: Task
    shortest: float | None  # l: the shortest way to the goal, in the world's unit; None: unknown
    success: bool = False
    steps: int = 0  # simulator steps
    length: float = 0.0  # p: the executed path, in the same unit
    route: list[np.ndarray] = field(default_factory=list)  # places: the start, then each decision's
    headings: list[float] = field(default_factory=list)  # radians at each place, where known
    decisions: list[Decision] = field(default_factory=list)  # one a stretch of the route, or none
    stayed: float | None = None  # share of the time since it was reached that was spent at the goal
    solved: bool | None = None  # whether nothing needed to be done; None: the world does not say

    @property
    def efficiency(self) -> float | None:
        """This episode's term of SPL; None where the shortest way is unknown."""
        if self.shortest is None:
            return None
        return path_efficiency(self.success, self.length, self.shortest)


class PlannerPolicy:
    """The method: one decision of the planner, then look again.

    Each episode remembers where it decided what. Rules with a memory use it: a place that is seen
    again, or left without moving, means that the models are wrong there, and a planner without
    memory would go round for ever.
    """

    def __init__(self, planner: Planner, *, hold: int) -> None:
        self.planner, self.hold = planner, hold
        self._memories: dict[int, Memory] = {}
        self._ahead: Callable[[np.ndarray], np.ndarray] | None = None

    def watch(self, running: Running) -> None:
        """Looks where candidates lead, in a world that shows it."""
        self._ahead = running.ahead if isinstance(running, Foreseeing) else None

    def act(
        self, episodes: np.ndarray, observations: np.ndarray, goals: np.ndarray
    ) -> tuple[np.ndarray, Sequence[Decision | None]]:
        memories = [self._memories.setdefault(e, Memory()) for e in episodes]
        shown = {} if self._ahead is None else {"ahead": self._ahead(episodes)}
        decisions = self.planner.decide_many(observations, goals, memories=memories, **shown)
        for memory, decision in zip(memories, decisions, strict=True):
            memory.add(decision)
        return np.stack([decision.action for decision in decisions]), decisions

    def rest(self, episodes: np.ndarray) -> None:
        """Who is there may stay: its memory begins anew."""
        for e in episodes:
            self._memories[e] = Memory()


class Restless:
    """A policy without memory."""

    def rest(self, episodes: np.ndarray) -> None:
        pass


class RivalPolicy(Restless):
    """A rival's: one action of its policy, each as long as those that it learned from."""

    def __init__(self, rival: Rival) -> None:
        self._rival, self.hold = rival, rival.hold

    def act(
        self, episodes: np.ndarray, observations: np.ndarray, goals: np.ndarray
    ) -> tuple[np.ndarray, Sequence[Decision | None]]:
        return self._rival.act(observations, goals), [None] * len(episodes)


class RandomPolicy(Restless):
    """The floor: what wandering does."""

    def __init__(self, world: World, *, seed: int, hold: int = 1) -> None:
        self.hold = hold
        self._world, self._rng = world, np.random.default_rng(seed)

    def act(
        self, episodes: np.ndarray, observations: np.ndarray, goals: np.ndarray
    ) -> tuple[np.ndarray, Sequence[Decision | None]]:
        return self._world.random_actions(self._rng, len(episodes)), [None] * len(episodes)


class OraclePolicy(Restless):
    """The ceiling: knows the walls and follows the shortest path, one unit at a time.

    Its observations and goals must be positions.
    """

    def __init__(self, plane: MazeMap, *, hold: int) -> None:
        self._plane, self.hold = plane, hold

    def act(
        self, episodes: np.ndarray, observations: np.ndarray, goals: np.ndarray
    ) -> tuple[np.ndarray, Sequence[Decision | None]]:
        actions = np.zeros_like(observations)
        for e, (position, goal) in enumerate(zip(observations, goals, strict=True)):
            stop, _ = self._plane.paths.next_stop(position, goal, beyond=0.05)
            way = stop - position
            actions[e] = way / max(float(np.linalg.norm(way)), self._plane.unit)
        return actions, [None] * len(observations)


def run_episodes(
    world: World,
    tasks: Sequence[Task],
    policy: Policy,
    *,
    budget: int,
    report: Report | None = None,
) -> list[Episode]:
    """Runs every task until its goal is reached or `budget` simulator steps are spent."""
    episodes: list[Episode] = []
    for episodes in as_they_run(world, tasks, policy, budget=budget):
        if report is not None:
            report(sum(episode.success for episode in episodes), len(tasks))
    return episodes


def as_they_run(
    world: World,
    tasks: Sequence[Task],
    policy: Policy,
    *,
    budget: int,
    running: Running | None = None,
) -> Iterator[list[Episode]]:
    """The same episodes at their start and after each decision; `running`, to look at them."""
    running = world.begin(tasks) if running is None else running
    if isinstance(policy, PlannerPolicy):
        policy.watch(running)
    known = running.shortest()
    shortest = [None] * len(tasks) if known is None else known.tolist()
    episodes = [Episode(task, way) for task, way in zip(tasks, shortest, strict=True)]
    for e, episode in enumerate(episodes):
        episode.success = bool(running.succeeded[e])
        if isinstance(running, Judged):
            episode.solved = bool(running.solved[e])
        _note(running, e, episode)
    yield episodes
    spent, reached = 0, dict[int, int]()
    while spent < budget and not running.finished.all():
        steps = min(policy.hold, budget - spent)
        which = np.flatnonzero(~running.finished)
        policy.rest(which[running.succeeded[which]])
        actions, decisions = policy.act(which, running.observe(which), running.goals[which])
        moved = running.act(which, actions, steps)
        spent += steps
        for k, e in enumerate(which.tolist()):
            episode, decision = episodes[e], decisions[k]
            episode.steps += int(moved.steps[k])
            episode.length += float(moved.length[k])
            if running.stayed is not None and running.succeeded[e]:
                reached[e] = reached.get(e, episode.steps)
                left = max(1, budget - reached[e])  # one that is over early is not there either
                episode.stayed = min(1.0, float(running.stayed[e]) / left)
            episode.success = bool(running.succeeded[e])
            _note(running, e, episode)
            if decision is not None:
                episode.decisions.append(decision)
        yield episodes


def _note(running: Running, e: int, episode: Episode) -> None:
    """Where an agent is, and which way it looks."""
    if running.places is not None:
        episode.route.append(running.places[e].copy())
    if isinstance(running, Facing):
        episode.headings.append(float(running.headings[e]))
