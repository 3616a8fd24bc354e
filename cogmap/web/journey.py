"""A plan in a world without a map, told decision by decision as it is executed (Alg. 3)."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

from cogmap.envs.world import Task
from cogmap.errors import CogmapError
from cogmap.evaluation.rollout import PlannerPolicy, as_they_run
from cogmap.planning.memory import Memory
from cogmap.planning.planner import Decision, Options, Planner
from cogmap.web import terrain_messages as messages
from cogmap.web.frames import SIDE, as_url
from cogmap.web.ground import as_place
from cogmap.web.rounded import as_numbers, as_value
from cogmap.web.terrain import Terrain
from cogmap.web.terrain_messages import Method
from cogmap.web.told import Filmed, Told


class WatchedPolicy(PlannerPolicy):
    """The planner, and what each candidate of its last decision promised."""

    options: Options

    def act(
        self, episodes: np.ndarray, observations: np.ndarray, goals: np.ndarray
    ) -> tuple[np.ndarray, Sequence[Decision | None]]:
        memories = [self._memories.setdefault(e, Memory()) for e in episodes]
        self.options = self.planner.weigh(observations, goals, memories=memories)
        return self.decide(episodes, observations, goals)

    def decide(
        self, episodes: np.ndarray, observations: np.ndarray, goals: np.ndarray
    ) -> tuple[np.ndarray, Sequence[Decision | None]]:
        return super().act(episodes, observations, goals)

    def look(self, observations: np.ndarray) -> np.ndarray:
        """What the only episode is decided on next. (1, ...) -> (1, d)"""
        memories = [self._memories.setdefault(0, Memory())]
        return self.planner.here(observations, memories).cpu().numpy()

    def progress(self) -> list[list[float]]:
        """Of each candidate at its best radius, at each horizon asked. (A, t)"""
        radius = self.options.value[0].argmax(-1)
        gains = self.options.progress[0][torch.arange(len(radius)), radius]
        return [as_numbers(gain.numpy(), 4) for gain in gains]


class RepeatedPolicy(WatchedPolicy):
    """Decides as one episode did before, to be watched doing so."""

    def __init__(self, planner: Planner, *, hold: int, decisions: Sequence[Decision]) -> None:
        super().__init__(planner, hold=hold)
        self._decisions = iter(decisions)

    def decide(
        self, episodes: np.ndarray, observations: np.ndarray, goals: np.ndarray
    ) -> tuple[np.ndarray, Sequence[Decision | None]]:
        decision = next(self._decisions, None)
        if decision is None:  # it lasts longer than it did: the world does not repeat itself
            return super().decide(episodes, observations, goals)
        self._memories[episodes[0]].add(decision)
        return decision.action[None], [decision]


@dataclass(frozen=True)
class Journey:
    """A plan that has begun: its goal and start are known to be possible."""

    terrain: Terrain
    world: Told
    task: Task
    running: Filmed
    policy: WatchedPolicy
    goals: np.ndarray  # (N, ...) observations that would do
    begun: messages.Begun
    budget: int  # environment steps
    tau: int  # of the plane, as method
    method: Method
    frames: int  # pixels of their longer side, about; 0: none

    def told(self) -> Iterator[messages.Begun | messages.Move | messages.Arrival]:
        """Where it leads, each decision after it was executed, the outcome."""
        began = time.perf_counter()
        yield self.begun
        sight: dict[str, Any] = {}
        running = as_they_run(
            self.world, [self.task], self.policy, budget=self.budget, running=self.running
        )
        while True:
            with told_in_a_line(self.world):
                [episode] = next(running, [None])
                if episode is None:
                    break
                last, seen = episode, self._sight()
            if episode.decisions:
                yield self._move(episode.decisions[-1], sight)
            sight = seen
        yield messages.Arrival(
            success=last.success,
            steps=last.steps,
            stayed=None if last.stayed is None else round(last.stayed, 4),
            raised=self.running.raised.get(0, ""),
            seconds=round(time.perf_counter() - began, 3),
            **sight,
        )

    def _sight(self) -> dict[str, Any]:
        """What is seen now."""
        observation = self.running.observe(np.array([0]))
        if not np.isfinite(observation).all():
            raise CogmapError("the environment shows NaN or infinity; it has left its range.")
        look = self.policy.look(observation)
        told = self.terrain.told(self.running, look[0])
        return {
            "observation": as_numbers(told),
            "place": as_place(self.terrain.places(told[None], self.tau, self.method)[0]),
            "at_goal": bool(self.running.there[0]),
            "scores": as_numbers(self.terrain.scores(look, self.goals)[0], 4),
            "frame": self._frame(observation[0]) if self.frames else None,
        }

    def _frame(self, observation: np.ndarray) -> str:
        shown = self.running.frame(0) if self.terrain.rendered else observation
        return as_url(shown, self.frames)

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
    """As the page asks for it; raises for what cannot be planned, before anything is sent."""
    aim = terrain.aimed(asked)
    return set_out(
        terrain,
        aim.world,
        aim.task,
        WatchedPolicy(terrain.agent.planner(asked.planner, world=aim.world), hold=aim.world.hold),
        goal=aim.goal,
        warning=aim.warning,
        budget=terrain.budget(asked.budget),
        tau=terrain.taus[-1] if asked.tau is None else asked.tau,
        method=asked.method or terrain.methods[0],
        frames=SIDE if asked.frames else 0,
    )


def set_out(
    terrain: Terrain,
    world: Any,
    task: Task,
    policy: WatchedPolicy,
    *,
    budget: int,
    tau: int,
    method: Method | None = None,
    frames: int = SIDE,
    goal: str = "",
    warning: str = "",
) -> Journey:
    """Resets the world for one task. `goal` is what to call it; by default what it turns out as."""
    method = method or terrain.methods[0]
    terrain.check(tau, method)
    frames = frames if terrain.description.frames else 0
    if frames and terrain.rendered and not world.rendered:
        world = replace(world, rendered=True)
    with told_in_a_line(world):
        running = terrain.filmed(world.begin([task]))
    rows = np.asarray(running.goals[0]).reshape(-1, *terrain.seen.rows.shape[1:])
    shown = terrain.goal_frame(task) if frames else None
    begun = messages.Begun(
        goal=goal or terrain.called(world, task, rows),
        marks=terrain.marked(task, rows),
        warning=warning,
        frame=None if shown is None else as_url(shown, frames),
    )
    return Journey(terrain, world, task, running, policy, rows, begun, budget, tau, method, frames)


@contextlib.contextmanager
def told_in_a_line(world: Told) -> Iterator[None]:
    """An environment may raise anything."""
    try:
        yield
    except CogmapError:
        raise
    except Exception as error:
        raise CogmapError(f"{world.name} broke off: {error!r}") from error


def field(
    terrain: Terrain, asked: messages.JourneyRequest, tau: int, heading: int | None = None
) -> messages.GoalField:
    """G towards the goal that a plan would have; in a building maybe at one heading.

    Only its reset knows that where the goal is the world's own, or where episodes differ in what
    they cannot change.
    """
    if asked.goal is not None and not terrain.episodes_differ:
        goal = terrain.goal(asked.goal)
        rows, text, warning = goal.rows, goal.text, goal.warning
        marks = terrain.marks(rows)
    else:
        journey = begin(terrain, asked)
        rows, begun = journey.goals, journey.begun
        text, warning, marks = begun.goal, begun.warning, begun.marks
    values = terrain.field(rows, tau, heading).astype(float).round(3).tolist()
    return messages.GoalField(tau=tau, values=values, goal=text, marks=marks, warning=warning)
