"""A plan in a world without a map, told decision by decision as it is executed (Alg. 3)."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

from cogmap.envs.world import Task
from cogmap.errors import CogmapError
from cogmap.evaluation.rollout import PlannerPolicy, as_they_run
from cogmap.planning.planner import Decision, Memory, Options
from cogmap.web import terrain_messages as messages
from cogmap.web.chart import as_place
from cogmap.web.frames import as_url
from cogmap.web.messages import Method
from cogmap.web.terrain import Filmed, Terrain, Told, as_numbers, as_value


class WatchedPolicy(PlannerPolicy):
    """The planner, and what each candidate of its last decision promised."""

    options: Options

    def act(
        self, episodes: np.ndarray, observations: np.ndarray, goals: np.ndarray
    ) -> tuple[np.ndarray, Sequence[Decision | None]]:
        memories = [self._memories.setdefault(e, Memory()) for e in episodes]
        self.options = self.planner.weigh(observations, goals, memories=memories)
        return super().act(episodes, observations, goals)

    def progress(self) -> list[list[float]]:
        """Of each candidate at its best radius, at each horizon asked. (A, t)"""
        radius = self.options.value[0].argmax(-1)
        gains = self.options.progress[0][torch.arange(len(radius)), radius]
        return [as_numbers(gain.numpy(), 4) for gain in gains]


@dataclass(frozen=True)
class Journey:
    """A plan that has begun: its goal and start are known to be possible."""

    terrain: Terrain
    world: Told
    task: Task
    running: Filmed
    policy: WatchedPolicy
    goals: np.ndarray  # (N, d) observations that would do
    begun: messages.Begun
    budget: int  # environment steps
    tau: int  # of the plane, as method
    method: Method
    frames: bool

    def told(self) -> Iterator[messages.Begun | messages.Move | messages.Arrival]:
        """Where it leads, each decision after it was executed, the outcome."""
        began = time.perf_counter()
        yield self.begun
        sight: dict[str, Any] = {}
        running = as_they_run(
            self.world, [self.task], self.policy, budget=self.budget, running=self.running
        )
        for [episode] in running:
            if episode.decisions:
                yield self._move(episode.decisions[-1], sight)
            sight = self._sight()
        yield messages.Arrival(
            success=episode.success,
            steps=episode.steps,
            stayed=None if episode.stayed is None else round(episode.stayed, 4),
            seconds=round(time.perf_counter() - began, 3),
            **sight,
        )

    def _sight(self) -> dict[str, Any]:
        """What is seen now."""
        [observation] = self.running.observe(np.array([0]))
        if not np.isfinite(observation).all():
            raise CogmapError("the environment shows NaN or infinity; it has left its range.")
        place = self.terrain.places(observation[None], self.tau, self.method)[0]
        return {
            "observation": as_numbers(observation),
            "place": as_place(place),
            "at_goal": bool(self.running.there[0]),
            "scores": as_numbers(self.terrain.scores(observation, self.goals), 4),
            "frame": as_url(self.running.frame(0)) if self.frames else None,
        }

    def _move(self, decision: Decision, sight: dict[str, Any]) -> messages.Move:
        return messages.Move(
            candidate=decision.candidate,
            action=as_numbers(decision.action),
            horizon=decision.horizon,
            value=float(f"{decision.value:.4g}"),
            taus=decision.taus.tolist(),
            values=[as_value(value) for value in decision.values],
            progress=self.policy.progress(),
            **sight,
        )


def begin(terrain: Terrain, asked: messages.JourneyRequest) -> Journey:
    """Raises for what cannot be planned, before anything is sent."""
    tau = terrain.taus[-1] if asked.tau is None else asked.tau
    terrain.check(tau)
    world: Any = terrain.world
    goal, warning = world.goal or "the world's own", ""
    if asked.goal is not None:
        world = replace(world, goal=terrain.words(asked.goal))
        goal = asked.goal.strip()
        if not terrain.episodes_differ:
            wanted = terrain.goal(asked.goal)
            goal, warning = wanted.text, wanted.warning
    if asked.start is not None:
        start = asked.start.strip() or None
        if start is not None:
            terrain.check_start(start)
        world = replace(world, start=start)
    frames = asked.frames and terrain.description.frames
    world = replace(world, rendered=True) if frames else world
    policy = WatchedPolicy(terrain.agent.planner(asked.planner, world=world), hold=world.hold)
    task = Task("page", (float(asked.seed),), ())
    running = terrain.filmed(world.begin([task]))
    rows = np.asarray(running.goals[0]).reshape(-1, terrain.rows.shape[1])
    begun = messages.Begun(goal=goal, marks=terrain.marks(rows), warning=warning)
    budget = terrain.budget(asked.budget)
    return Journey(
        terrain, world, task, running, policy, rows, begun, budget, tau, asked.method, frames
    )


def field(terrain: Terrain, asked: messages.JourneyRequest, tau: int) -> messages.GoalField:
    """G towards the goal that a plan would have.

    Only its reset knows that where the goal is the world's own, or where episodes differ in what
    they cannot change.
    """
    if asked.goal is not None and not terrain.episodes_differ:
        goal = terrain.goal(asked.goal)
        rows, text, warning = goal.rows, goal.text, goal.warning
    else:
        journey = begin(terrain, asked)
        rows, text, warning = journey.goals, journey.begun.goal, journey.begun.warning
    values = terrain.field(rows, tau).astype(float).round(3).tolist()
    marks = terrain.marks(rows)
    return messages.GoalField(tau=tau, values=values, goal=text, marks=marks, warning=warning)
