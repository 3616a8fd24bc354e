"""A run of a maze as the page looks at it, by whatever method: its places, and routes as driven.

Shape letters: S lattice points, L layers of a field (one a horizon, a rival's one, or none).
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from cogmap.agent import Agent
from cogmap.envs.world import Task, map_of
from cogmap.errors import CogmapError
from cogmap.evaluation.evaluate import Evaluation
from cogmap.evaluation.rollout import Episode, Policy, as_they_run
from cogmap.rival import Rival
from cogmap.web import messages

PATIENCE = 20  # decisions of the world's own length without moving, after which a route is given up


@dataclass(frozen=True)
class Driver:
    """Who decides on a route."""

    policy: Policy
    remembers: bool  # so that it may stand still and go on


class Ground:
    """A run ready to be asked. What its method makes of places and moves, each kind says."""

    method: str  # as config.json names it
    acts_by: str  # a planner's name, unless told otherwise; of a rival its own
    colours: str | None  # what a field shows; None: the method values no places
    taus: Sequence[int] = ()  # horizons that a field is shown at; none: the method knows none
    has_exact = False  # whether G* can be shown beside it
    sees = False  # whether observations are pictures
    unused: Sequence[str] = ()  # groups of settings that its training did not read

    def __init__(self, folder: Path, *, id: str, agent: Agent | Rival) -> None:
        self.id, self.folder, self.agent = id, folder, agent
        self.plane = map_of(agent.world, "the page")
        self.world = agent.acting_in(None)
        self.points = self.plane.lattice.points
        # What takes seconds the first time is done now, not at the first plan.
        first = self.world.tasks(None, episodes=1, budget=None, seed=0).tasks[0]
        self.plane.positions().begin([first])
        _ = self.plane.paths
        ends = self.plane.lattice.nearest(np.array([first.start, first.goal]))
        self._first = [as_place(self.points[end]) for end in ends]

    @property
    def count(self) -> int:
        """Candidates of a decision; 0: a policy decides alone."""
        return 0

    @property
    def trained(self) -> str:
        """How, in a line."""
        raise NotImplementedError

    def field(self, goal: messages.Place, tau: int | None, score: messages.Score) -> np.ndarray:
        """What the colours show towards a goal, from every lattice point. -> (S,)"""
        raise NotImplementedError

    def fields(self, goal: messages.Place) -> np.ndarray:
        """All that can be shown towards a goal. -> (L, S)"""
        raise NotImplementedError

    def driver(self, planner: str | None) -> Driver:
        """Who decides; raises for a planner that this run has not."""
        raise NotImplementedError

    def reason(self, episode: Episode) -> dict[str, Any]:
        """What a Step says of the last decision."""
        raise NotImplementedError

    def worths(self, episode: Episode) -> list[float | None]:
        """The value of each decision."""
        raise NotImplementedError

    def projection(self, tau: int, method: messages.Method) -> np.ndarray:
        raise CogmapError(f"{self.method} embeds nothing at horizons; there is nothing to project.")

    def candidates(self, asked: messages.InspectRequest) -> messages.Candidates:
        raise CogmapError(f"{self.method} acts by a policy; there are no candidates to look at.")

    def actions(self, planner: str) -> list[list[float]]:
        """Those that a planner weighs. -> (A, 2)"""
        return []

    def curve(self) -> list[dict[str, float]] | None:
        """The loss of the training; None: the method has several."""
        return None

    def beside(self, result: Evaluation) -> list[Evaluation]:
        """What a report's table says of some episodes."""
        return [result]

    def check_report(self) -> None:
        """Raises for what a report cannot hold."""

    @cached_property
    def description(self) -> messages.Map:
        maze = self.plane.maze
        low, high = maze.bounds
        return messages.Map(
            id=self.id,
            name=maze.name,
            method=self.method,
            colours=self.colours,
            rows=maze.text.splitlines(),
            low=as_place(low),
            high=as_place(high),
            cell=self.plane.cell,
            unit=self.plane.unit,
            agent_radius=self.plane.agent_radius,
            goal_radius=self.plane.goal_radius,
            points=[as_place(point) for point in self.points],
            taus=list(self.taus),
            exact=self.has_exact,
            start=self._first[0],
            goal=self._first[1],
            pictures=self.sees,
            candidates=self.count,
            trained=f"{self.trained}, {len(self.points):,} states",
        )

    def check(self, asked: messages.PlanRequest) -> Driver:
        """Raises for what cannot be planned, before anything is sent."""
        self.plane.check_task(np.array(asked.start), np.array(asked.goal))
        return self.driver(asked.planner)

    def drive(
        self, asked: messages.PlanRequest, driver: Driver
    ) -> Iterator[messages.Step | messages.Outcome]:
        """The route, one decision after the other, as it is executed in the simulator."""
        began = time.perf_counter()
        goal = np.array(asked.goal)
        task = Task("page", asked.start, asked.goal)
        patience = PATIENCE * self.world.hold // driver.policy.hold
        for [episode] in as_they_run(self.world, [task], driver.policy, budget=asked.budget):
            if len(episode.route) < 2:
                continue
            if not driver.remembers and _stands_still(episode.route[-patience:], patience):
                break
            yield messages.Step(
                at=as_place(episode.route[-2]),
                to=as_place(episode.route[-1]),
                left=round(self.plane.shortest(episode.route[-1], goal), 3),
                **self.reason(episode),
            )
        yield messages.Outcome(
            success=episode.success,
            steps=episode.steps,
            length=round(episode.length, 3),
            shortest=round(self.plane.shortest(np.array(asked.start), goal), 3),
            seconds=round(time.perf_counter() - began, 3),
        )


def _stands_still(last: list[np.ndarray], patience: int) -> bool:
    """Whether who has no memory has come to rest: it would stay for ever."""
    return len(last) == patience and bool((np.ptp(np.array(last), axis=0) < 0.1).all())


def as_place(xy: np.ndarray) -> tuple[float, float]:
    return round(float(xy[0]), 4), round(float(xy[1]), 4)
