"""A trained run as the page looks at it: fields of scores, embeddings, routes, candidates."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path

import numpy as np
import torch

from cogmap.agent import Agent
from cogmap.envs.world import Task, map_of
from cogmap.errors import CogmapError
from cogmap.evaluation.rollout import PlannerPolicy, as_they_run
from cogmap.planning.planner import Memory, Planner
from cogmap.report.figures.projections import align, tsne
from cogmap.web import messages
from cogmap.web.scores import Scores, pca

PATIENCE = 20  # decisions without moving after which a route is given up
PLANNERS_KEPT = 16  # a temperature slider asks for many


class Chart:
    """A run ready to be asked."""

    def __init__(self, folder: Path, *, id: str, agent: Agent | None = None) -> None:
        self.id, self.folder = id, folder
        self.agent = agent or Agent.load(folder, device="cpu")
        self.plane = map_of(self.agent.world, "the page")
        self.world = self.agent.acting_in(None)
        # What takes seconds the first time is done now, not at the first plan.
        first = self.world.tasks(None, episodes=1, budget=None, seed=0).tasks[0]
        self.plane.positions().begin([first])
        _ = self.plane.paths
        ends = self.plane.lattice.nearest(np.array([first.start, first.goal]))
        self._first = [as_place(self.plane.lattice.points[end]) for end in ends]
        self.scores = Scores(self.agent.temporal, self.plane)
        # Requests come from several threads. Each dictionary has its own lock, because a projection
        # may take seconds and a plan should not wait for it.
        self._planners: dict[str, Planner] = {}
        self._planners_lock = threading.Lock()
        self._projections: dict[tuple[int, messages.Method], np.ndarray] = {}
        self._projections_lock = threading.Lock()

    @property
    def sees(self) -> bool:
        """Whether its observations are pictures."""
        return self.agent.temporal.config.sees

    @cached_property
    def description(self) -> messages.Map:
        maze, config = self.plane.maze, self.agent.temporal.config
        low, high = maze.bounds
        loss = "softmax contrast" if config.normalised else "binary contrast"
        return messages.Map(
            id=self.id,
            name=maze.name,
            rows=maze.text.splitlines(),
            low=as_place(low),
            high=as_place(high),
            cell=self.plane.cell,
            unit=self.plane.unit,
            agent_radius=self.plane.agent_radius,
            goal_radius=self.plane.goal_radius,
            points=[as_place(point) for point in maze.lattice.points],
            taus=self.scores.taus,
            exact=self.scores.has_exact,
            start=self._first[0],
            goal=self._first[1],
            pictures=self.sees,
            candidates=len(self.planner("gp").candidates.actions),
            trained=", ".join(
                [
                    *(["from pictures"] if self.sees else []),
                    loss,
                    f"horizons to {config.tau_max:,}",
                    f"{len(maze.lattice):,} states",
                ]
            ),
        )

    def projection(self, tau: int, method: messages.Method) -> np.ndarray:
        """The embedding in a plane, turned onto the maze, within [-1, 1]. -> (S, 2)"""
        with self._projections_lock:
            if (tau, method) not in self._projections:
                embedding = self.scores.embedding(tau)
                flat = tsne(embedding, dimensions=2) if method == "tsne" else pca(embedding)
                plane = align(flat, self.scores.points)
                plane -= (plane.max(axis=0) + plane.min(axis=0)) / 2
                self._projections[tau, method] = plane / max(float(np.abs(plane).max()), 1e-12)
            return self._projections[tau, method]

    def planner(self, name: str) -> Planner:
        """By name; the last few are kept, with their goals' embeddings."""
        with self._planners_lock:
            found = self._planners.pop(name, None) or self.agent.planner(name, world=self.world)
            self._planners[name] = found
            while len(self._planners) > PLANNERS_KEPT:
                self._planners.pop(next(iter(self._planners)))
            return found

    def check(self, asked: messages.PlanRequest) -> Planner:
        """Raises for what cannot be planned, before anything is sent."""
        self.plane.check_task(np.array(asked.start), np.array(asked.goal))
        return self.planner(asked.planner)

    def drive(
        self, asked: messages.PlanRequest, planner: Planner
    ) -> Iterator[messages.Step | messages.Outcome]:
        """The route, one decision after the other, as it is executed in the simulator."""
        began = time.perf_counter()
        goal = np.array(asked.goal)
        task = Task("page", asked.start, asked.goal)
        running = as_they_run(
            self.world, [task], PlannerPolicy(planner, hold=self.world.hold), budget=asked.budget
        )
        for [episode] in running:
            if not episode.decisions:
                continue
            if not planner.rule.memory and _stands_still(episode.route):
                break
            decision = episode.decisions[-1]
            yield messages.Step(
                at=as_place(episode.route[-2]),
                to=as_place(episode.route[-1]),
                candidate=decision.candidate,
                horizon=decision.horizon,
                value=decision.value,
                left=round(self.plane.shortest(episode.route[-1], goal), 3),
            )
        yield messages.Outcome(
            success=episode.success,
            steps=episode.steps,
            length=round(episode.length, 3),
            shortest=round(self.plane.shortest(np.array(asked.start), goal), 3),
            seconds=round(time.perf_counter() - began, 3),
        )

    def candidates(self, asked: messages.InspectRequest) -> messages.Candidates:
        """What the planner weighed at the last of the places."""
        planner = self.planner(asked.planner)
        count = len(planner.candidates.actions)
        if len(asked.chosen) != len(asked.places) - 1 or not all(
            0 <= chosen < count for chosen in asked.chosen
        ):
            raise CogmapError(
                f"{len(asked.places)} places and {len(asked.chosen)} candidates; give the "
                f"candidate (0 to {count - 1}) taken at each place but the last."
            )
        here = np.array(asked.places[-1])
        self.plane.check_place("place", here)
        self.plane.check_place("goal", np.array(asked.goal))
        places = np.array(asked.places[:-1]).reshape(-1, 2)
        memory = Memory(self.scores.look(places).numpy(), list(asked.chosen))
        here, goal = (self.scores.observe(np.array([xy])) for xy in (here, asked.goal))
        options = planner.weigh(here, goal, memories=[memory])
        value, radius = options.value[0].max(-1)
        row = torch.arange(count)
        outcome = self.scores.place_of(options.outcomes[0][row, radius])
        gain = options.progress[0][row, radius]
        return messages.Candidates(
            taus=options.taus[0].tolist(),
            best=int(value.argmax()),
            candidates=[
                messages.Candidate(
                    action=as_place(action),
                    value=float(value[k]) if value[k].isfinite() else None,
                    radius=planner.candidates.radii[int(radius[k])],
                    outcome=as_place(outcome[k]),
                    progress=[float(f"{g:.4g}") for g in gain[k]],
                )
                for k, action in enumerate(planner.candidates.actions)
            ],
        )


def _stands_still(route: list[np.ndarray]) -> bool:
    """Whether a planner without memory has come to rest: it would stay for ever."""
    last = np.array(route[-PATIENCE:])
    return len(last) == PATIENCE and bool((np.ptp(last, axis=0) < 0.1).all())


def as_place(xy: np.ndarray) -> tuple[float, float]:
    return round(float(xy[0]), 4), round(float(xy[1]), 4)
