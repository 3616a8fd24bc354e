"""A run of our method as the page looks at it: fields of scores, embeddings, routes, candidates."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import numpy as np
import torch

from cogmap.agent import Agent
from cogmap.config import METHOD
from cogmap.errors import CogmapError
from cogmap.evaluation.rollout import Episode, PlannerPolicy
from cogmap.planning.memory import Memory
from cogmap.planning.planner import Planner
from cogmap.report.figures.projections import align, tsne
from cogmap.web import messages, onefile
from cogmap.web.ground import Driver, Ground, as_place
from cogmap.web.rounded import as_value
from cogmap.web.scores import Scores, pca

PLANNERS_KEPT = 16  # a temperature slider asks for many


class Chart(Ground):
    """Colours are G at a horizon; planners weigh candidates."""

    agent: Agent
    method, colours = METHOD, "G"
    unused = ("rival",)

    def __init__(self, folder: Path, *, id: str, agent: Agent | None = None) -> None:
        super().__init__(folder, id=id, agent=agent or Agent.load(folder, device="cpu"))
        self.scores = Scores(self.agent.temporal, self.plane)
        self.taus, self.has_exact = self.scores.taus, self.scores.has_exact
        self.sees = self.agent.temporal.config.sees
        self.acts_by = self.agent.planning.planner
        # Requests come from several threads. Each dictionary has its own lock, because a projection
        # may take seconds and a plan should not wait for it.
        self._planners: dict[str, Planner] = {}
        self._planners_lock = threading.Lock()
        self._projections: dict[tuple[int, messages.Method], np.ndarray] = {}
        self._projections_lock = threading.Lock()

    @property
    def count(self) -> int:
        return len(self.planner("gp").candidates.actions)

    @property
    def trained(self) -> str:
        config = self.agent.temporal.config
        loss = "softmax contrast" if config.normalised else "binary contrast"
        seen = "from pictures, " if self.sees else ""
        return f"{seen}{loss}, horizons to {config.tau_max:,}"

    def field(self, goal: messages.Place, tau: int | None, score: messages.Score) -> np.ndarray:
        """G at one horizon. -> (S,)"""
        if tau is None:
            raise CogmapError(f"give tau, one of {', '.join(map(str, self.taus))}.")
        return self.scores.field(goal, tau, score)

    def fields(self, goal: messages.Place) -> np.ndarray:
        """G at each octave. -> (T, S)"""
        return np.stack([self.scores.field(goal, tau, "learned") for tau in self.taus])

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

    def driver(self, planner: str | None) -> Driver:
        found = self.planner("gp" if planner is None else planner)
        return Driver(PlannerPolicy(found, hold=self.world.hold), found.rule.memory)

    def reason(self, episode: Episode) -> dict[str, Any]:
        last = episode.decisions[-1]
        return {"candidate": last.candidate, "horizon": last.horizon, "value": last.value}

    def worths(self, episode: Episode) -> list[float | None]:
        return [as_value(decision.value) for decision in episode.decisions]

    def actions(self, planner: str) -> list[list[float]]:
        found: list[list[float]] = self.planner(planner).candidates.actions.round(4).tolist()
        return found

    def curve(self) -> list[dict[str, float]] | None:
        return onefile.curve(self.folder)

    def check_report(self) -> None:
        self.agent.check_positions("cogmap report")

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
        memory = Memory(list(self.scores.look(places).numpy()), list(asked.chosen))
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
