"""A run without a map as the page looks at it: a sample of what was seen takes the maze's place.

Shape letters: S sampled observations, d numbers in one, D embedding, T octaves of the horizon.
"""

from __future__ import annotations

import contextlib
import math
import threading
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor

from cogmap.agent import Agent
from cogmap.envs.world import Running, Task, World
from cogmap.errors import CogmapError
from cogmap.goals import Goal, Seen
from cogmap.planning.objective import Horizons
from cogmap.temporal.scorer import LearnedScorer
from cogmap.web import terrain_messages as messages
from cogmap.web import wishes
from cogmap.web.messages import Method
from cogmap.web.plane import Plane, drawn
from cogmap.web.scores import pca
from cogmap.web.wishes import row_of

SAMPLE = 1500  # seen observations that are drawn


class Told(World, Protocol):
    """A world that is told where to go in words, and may be looked at."""

    goal: str | None
    start: str | None

    @property
    def has_goals(self) -> bool: ...


class Filmed(Running, Protocol):
    """Episodes that know whether they are at their goals now, and can be looked at."""

    there: np.ndarray  # (E,) bool

    def frame(self, k: int) -> np.ndarray: ...


class Terrain:
    """A run without a map, ready to be asked."""

    def __init__(self, folder: Path, *, agent: Agent | None = None) -> None:
        self.folder, self.agent = folder, agent or Agent.load(folder, device="cpu")
        seen = self.agent.seen
        if seen is None:
            raise CogmapError(f"{folder} keeps no seen observations; there is nothing to draw.")
        if seen.pictures:
            raise CogmapError(
                "the page shows worlds whose observations are numbers; this run sees pictures."
            )
        self.seen: Seen = seen
        some = np.linspace(0, len(seen.rows) - 1, min(SAMPLE, len(seen.rows))).round().astype(int)
        self.rows = seen.rows[some]  # (S, d), evenly through the record
        free = ~seen.context.mask  # what an episode cannot change is not seen by the models
        self.names = [name for name, kept in zip(seen.names, free, strict=True) if kept]  # (d,)
        self.episodes_differ = not free.all()  # so a goal in words depends on how one begins
        self.taus: list[int] = Horizons.octaves(self.agent.temporal.config.tau_max).taus.tolist()
        self._scorer = LearnedScorer(self.agent.temporal, torch.tensor(self.taus))
        self._looks = self._look(self.rows)
        self._spread = np.maximum(self.rows.std(axis=0), 1e-9)
        self._planes: dict[tuple[int, Method], Plane] = {}
        self._lock = threading.Lock()  # requests come from several threads; a t-SNE takes seconds

    @property
    def world(self) -> Told:
        """The world to plan in; raises where the run has none."""
        world: Any = self.agent.acting_in(None)
        if not all(hasattr(world, name) for name in ("goal", "start", "has_goals")):
            raise CogmapError(f"{world.name} cannot be told where to go in words.")
        return world

    @cached_property
    def description(self) -> messages.World:
        config, seen = self.agent.temporal.config, self.seen
        loss = "softmax contrast" if config.normalised else "binary contrast"
        trained = f"{loss}, horizons to {config.tau_max:,}, {len(seen.rows):,} observations kept"
        plans = False
        with contextlib.suppress(CogmapError):
            plans = bool(self.world.name)
        told = self.world if plans else None
        return messages.World(
            name=self.folder.resolve().name if told is None else told.name,
            trained=trained,
            names=self.names,
            rows=self.rows.astype(float).round(4).tolist(),
            taus=self.taus,
            actions=self.agent.planner().candidates.actions.astype(float).round(4).tolist(),
            hold=self.agent.dynamics.hold if told is None else told.hold,
            plans=plans,
            frames=told is not None and self._frame_is_drawn(),
            own_goals=told is not None and told.goal is None and told.has_goals,
            goal=(told.goal if told is not None else None) or "",
            start=(told.start if told is not None else None) or "",
            planner=self.agent.planning.planner,
            budget=1 if told is None else self.budget(None),
        )

    def budget(self, asked: int | None) -> int:
        """Environment steps of an episode."""
        return self.world.tasks(None, episodes=1, budget=asked, seed=0).budget

    def filmed(self, running: Running) -> Filmed:
        """The same episodes, known to be of a world that can be told where to go."""
        found: Any = running
        return found

    def _frame_is_drawn(self) -> bool:
        """Whether a frame comes out: an environment may have none, or lack what draws them."""
        try:
            rendered = replace(self.world, start=None, rendered=True)  # type: ignore
            frame = self.filmed(rendered.begin([Task("page", (0.0,), ())])).frame(0)
        except Exception:  # whatever an environment raises, it cannot be looked at
            return False
        return frame.ndim == 3

    def goal(self, text: str) -> Goal:
        """A goal as typed on the page, where it does not depend on how an episode begins."""
        words = self.words(text)
        goal = self.seen.goal(words)
        return goal if row_of(text) is None else replace(goal, text=f"{text.strip()}: {goal.text}")

    def words(self, text: str) -> str:
        """A goal as a world understands it; raises for what the page does not take."""
        row, text = row_of(text), text.strip()
        if row is None:
            wishes.check("goal", text, self.seen, own=getattr(self.agent.world, "goal", None))
            return text
        if row >= len(self.rows):
            raise CogmapError(f"goal {text!r}; the sample has rows #0 to #{len(self.rows) - 1}.")
        context = self.seen.context
        shown = context.whole(self.rows[[row]], np.zeros(len(context.mask)))[0]
        return ",".join(repr(float(value)) for value in shown)

    def check_start(self, text: str) -> None:
        own = getattr(self.agent.world, "start", None)
        wishes.check("start", text, self.seen, own=own)

    def marks(self, rows: np.ndarray) -> list[int]:
        """Rows of the sample that are most like some observations. (N, d)"""
        gaps = (rows[:, None] - self.rows[None]) / self._spread
        return np.unique(np.square(gaps).sum(-1).argmin(1)).tolist()

    def field(self, goals: np.ndarray, tau: int) -> np.ndarray:
        """G towards a set of goals at one horizon from each of the sample. (N, d) -> (S,)"""
        self.check(tau)
        wanted = self._scorer.embed_goals(self._look(goals))
        at = torch.tensor([[self.taus.index(tau)]])
        return finite(self._scorer.score(self._looks[None], wanted[None], at)[0, :, 0].numpy())

    def scores(self, observation: np.ndarray, goals: np.ndarray) -> np.ndarray:
        """G of a set of goals from one observation, at every octave. (d,), (N, d) -> (T,)"""
        wanted = self._scorer.embed_goals(self._look(goals))
        return finite(self._scorer.score(self._look(observation[None])[None], wanted[None])[0, 0])

    def plane(self, tau: int, method: Method) -> Plane:
        """The sample's embedding at one horizon, drawn."""
        self.check(tau)
        with self._lock:
            if (tau, method) not in self._planes:
                embedding = self._embedding(self._looks, tau)
                self._planes[tau, method] = drawn(embedding, self._overview, method=method)
            return self._planes[tau, method]

    def places(self, observations: np.ndarray, tau: int, method: Method) -> np.ndarray:
        """Where observations lie in a plane. (N, d) -> (N, 2)"""
        return self.plane(tau, method).places(self._embedding(self._look(observations), tau))

    def observations(self, given: Sequence[Sequence[float]]) -> np.ndarray:
        """Observations that came from outside. -> (N, d)"""
        size = len(self.names)
        for one in given:
            if len(one) != size:
                raise CogmapError(
                    f"an observation of {len(one)} numbers; here it has {size}: "
                    f"{', '.join(self.names[:12])}."
                )
        with np.errstate(over="ignore"):
            found = np.array(given).reshape(-1, size).astype(np.float32)
        if not np.isfinite(found).all():
            raise CogmapError("an observation has too large a number.")
        return found

    def check(self, tau: int) -> None:
        if tau not in self.taus:
            raise CogmapError(f"tau={tau}; this page shows {', '.join(map(str, self.taus))}.")

    @cached_property
    def _overview(self) -> np.ndarray:
        """What was seen, each number in units of its spread, from its widest side. -> (S, 2)"""
        flat = pca((self.rows - self.rows.mean(axis=0)) / self._spread)
        return np.pad(flat, ((0, 0), (0, 2 - flat.shape[1])))

    @torch.no_grad()
    def _look(self, observations: np.ndarray) -> Tensor:
        return self.agent.temporal.look(torch.as_tensor(observations, dtype=torch.float32))

    @torch.no_grad()
    def _embedding(self, looks: Tensor, tau: int) -> np.ndarray:
        """h(x, tau). (N, d) -> (N, D)"""
        temporal = self.agent.temporal
        horizon = temporal.horizon(torch.tensor([tau]))
        return temporal.source_head(temporal.source_trunk(looks), horizon)[:, 0].numpy()


def without_map(agent: Agent) -> bool:
    """Whether a run is drawn by what was seen, for want of a maze."""
    if agent.world is None:
        return agent.seen is not None
    return agent.world.map is None


def finite(scores: np.ndarray | Tensor) -> np.ndarray:
    """The same; raises where a training has diverged."""
    found = np.asarray(scores)
    if not np.isfinite(found).all():
        raise CogmapError("the scores of this model are not finite; its training has diverged.")
    return found


def as_numbers(values: np.ndarray, digits: int = 5) -> list[float]:
    """A few digits of each."""
    return [float(f"{float(value):.{digits}g}") for value in values]


def as_value(value: float) -> float | None:
    """Four digits, or None for the -inf of a candidate that was tried here before."""
    return float(f"{value:.4g}") if math.isfinite(value) else None
