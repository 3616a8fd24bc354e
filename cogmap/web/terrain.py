"""A run without a map as the page looks at it: a sample of what was seen takes the maze's place.

All that is drawn is drawn of looks (temporal/model.py): an observation of numbers is its own look,
of a picture it is what the model's eye makes of it.

Shape letters: S sampled observations, d numbers in a look, D embedding, T octaves of the horizon.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from cogmap.agent import Agent, load
from cogmap.envs.world import Running, Task
from cogmap.errors import CogmapError
from cogmap.goals import Goal, Seen
from cogmap.planning.objective import Horizons
from cogmap.rival import Rival
from cogmap.temporal.scorer import LearnedScorer
from cogmap.web import terrain_messages as messages
from cogmap.web import wishes
from cogmap.web.plane import Plane, drawn
from cogmap.web.rounded import as_numbers, finite
from cogmap.web.scores import pca
from cogmap.web.terrain_messages import Method
from cogmap.web.told import Aim, Filmed, Told
from cogmap.web.wishes import row_of

SAMPLE, FEWEST = 1500, 300  # seen observations that are drawn: as many as their numbers allow
NUMBERS = 60_000  # of the sample, all in all
NAMED = 12  # numbers of an observation that are told one by one
BATCH = 256  # pictures that are looked at together


class Terrain:
    """A run without a map, ready to be asked."""

    methods: tuple[Method, ...] = ("pca", "tsne")  # ways to draw it in a plane
    episodes_differ: bool  # so a goal in words depends on how one begins

    def __init__(self, folder: Path, *, agent: Agent | Rival | None = None) -> None:
        found = agent or load(folder, device="cpu")
        if isinstance(found, Rival):
            raise CogmapError(
                f"{folder} holds a run of {found.method}; of rivals, page and report show those in "
                "mazes. `cogmap evaluate` and `cogmap plan` take any."
            )
        self.folder, self.agent = folder, found
        if found.world is not None:
            _ = self.world  # one that the page cannot lead is said now, not at the first plan
        seen = self.agent.seen
        if seen is None:
            raise CogmapError(f"{folder} keeps no seen observations; there is nothing to draw.")
        self.seen: Seen = seen
        room = SAMPLE if seen.pictures else max(FEWEST, NUMBERS // seen.rows.shape[1])
        count = min(SAMPLE, room, len(seen.rows))
        some = np.linspace(0, len(seen.rows) - 1, count).round().astype(int)
        self.rows = seen.rows[some]  # (S, ...), evenly through the record
        free = ~seen.context.mask  # what an episode cannot change is not seen by the models
        self.names = [name for name, kept in zip(seen.names, free, strict=True) if kept]  # or none
        self.episodes_differ = not free.all()
        self.taus: list[int] = Horizons.octaves(self.agent.temporal.config.tau_max).taus.tolist()
        self._scorer = LearnedScorer(self.agent.temporal, torch.tensor(self.taus))
        self._looks = self._look(self.rows)  # (S, d)
        self.size = self._looks.shape[1]  # numbers of what is told of an observation
        self._spread = np.maximum(self._looks.numpy().std(axis=0), 1e-9)
        self._planes: dict[tuple[int, Method], Plane] = {}
        self._lock = threading.Lock()  # requests come from several threads; a t-SNE takes seconds

    @property
    def world(self) -> Told:
        """The world to plan in; raises where the run has none."""
        if self.agent.world is None:
            raise CogmapError(
                "there is no simulator to plan in: this run was learned from data alone."
            )
        world: Any = self.agent.acting_in(None)
        if not all(hasattr(world, name) for name in ("goal", "start", "has_goals")):
            raise CogmapError(
                f"{world.name} cannot be told where to go in words, as page and report do; "
                "`cogmap evaluate` and `cogmap plan` take it."
            )
        return world

    @cached_property
    def description(self) -> messages.World:
        config, seen = self.agent.temporal.config, self.seen
        loss = "softmax contrast" if config.normalised else "binary contrast"
        trained = f"{loss}, horizons to {config.tau_max:,}, {len(seen.rows):,} observations kept"
        trained = f"from pictures, {trained}" if seen.pictures else trained
        if self.episodes_differ:
            fixed = ", ".join(np.array(seen.names)[seen.context.mask])
            trained += f"; {fixed} taken out, which an episode cannot change"
        told, actions = None, np.zeros((0, 0))
        with contextlib.suppress(CogmapError):
            told = self.world
        with contextlib.suppress(CogmapError):  # logs may be without actions
            actions = self.agent.planner().candidates.actions
        return messages.World(
            name=self.folder.resolve().name if told is None else told.name,
            trained=trained,
            names=self.names,
            pictures=seen.pictures,
            rows=[[] if seen.pictures else as_numbers(row) for row in self.rows],
            taus=self.taus,
            actions=[as_numbers(action, 4) for action in actions],
            hold=self.agent.dynamics.hold if told is None else told.hold,
            plans=told is not None,
            frames=told is not None and (seen.pictures or self.rendered),
            own_goals=told is not None and told.goal is None and told.has_goals,
            goal=(told.goal if told is not None else None) or "",
            start=(told.start if told is not None else None) or "",
            planner=self.agent.planning.planner,
            budget=1 if told is None else self.budget(None),
            methods=list(self.methods),
        )

    def budget(self, asked: int | None) -> int:
        """Environment steps of an episode."""
        return self.world.tasks(None, episodes=1, budget=asked, seed=0).budget

    def filmed(self, running: Running) -> Filmed:
        """The same episodes, known to be of a world that can be told where to go."""
        found: Any = running
        return found

    @cached_property
    def rendered(self) -> bool:
        """Whether a frame comes out: an environment may have none, or lack what draws them."""
        try:
            rendered = replace(self.world, start=None, rendered=True)  # type: ignore
            frame = self.filmed(rendered.begin([Task("page", (0.0,), ())])).frame(0)
        except Exception:  # whatever an environment raises, it cannot be looked at
            return False
        return frame.ndim == 3

    def goal(self, text: str) -> Goal:
        """A goal as typed on the page, where it does not depend on how an episode begins."""
        goal = self.seen.goal(self.wish(text))
        if row_of(text) is None:
            return goal
        told = text.strip()
        return replace(goal, text=told if self.seen.pictures else f"{told}: {goal.text}")

    def picture(self, row: int) -> np.ndarray:
        """What a row of the sample looks like. -> (H, W, C)"""
        if not self.seen.pictures:
            raise CogmapError("observations here are numbers; there are no pictures of them.")
        return self.rows[self.check_row(row)]

    def wish(self, text: str) -> str | np.ndarray:
        """A goal as a world understands it; raises for what the page does not take."""
        row, text = row_of(text), text.strip()
        if row is None:
            wishes.check("goal", text, self.seen, own=getattr(self.agent.world, "goal", None))
            return text
        self.check_row(row)
        if self.seen.pictures:
            return self.rows[row]
        context = self.seen.context
        shown = context.whole(self.rows[[row]], np.zeros(len(context.mask)))[0]
        return ",".join(repr(float(value)) for value in shown)

    def check_start(self, text: str) -> None:
        own = getattr(self.agent.world, "start", None)
        wishes.check("start", text, self.seen, own=own)

    def aimed(self, asked: messages.JourneyRequest) -> Aim:
        """As the page asks for it; raises for what it does not take."""
        world: Any = self.world
        goal, warning = "", ""
        if asked.goal is not None:
            world = replace(world, goal=self.wish(asked.goal))
            goal = asked.goal.strip()
            if not self.episodes_differ:
                wanted = self.goal(asked.goal)
                goal, warning = wanted.text, wanted.warning
        if asked.start is not None:
            start = asked.start.strip() or None
            if start is not None:
                self.check_start(start)
            world = replace(world, start=start)
        return Aim(world, Task("page", (float(asked.seed),), ()), goal, warning)

    def called(self, world: Told, task: Task, goals: np.ndarray) -> str:
        """What to call a goal that nobody typed on the page. (N, ...)"""
        if world.goal is not None:
            return world.goal
        if world.has_goals:
            return "the world's own goal"
        if self.seen.pictures or self.episodes_differ or len(self.names) > NAMED:
            return "an observation that was seen"
        named = zip(self.names, goals[0], strict=True)
        shown = ", ".join(f"{name} {value:.3g}" for name, value in named)
        return f"an observation that was seen: {shown}"

    def began(self, task: Task) -> str:
        """How the episode of a task begins, where no seed says so; or empty."""
        return ""

    def goal_frame(self, task: Task) -> np.ndarray | None:
        """What the goal of a task looks like, where a world can show it. -> (H, W, C)"""
        return None

    def told(self, running: Running, look: np.ndarray) -> np.ndarray:
        """What the page is told of what the only episode sees now: its look. (d,)"""
        return look

    def marked(self, task: Task, goals: np.ndarray) -> list[int]:
        """Rows of the sample that are most like the goals of a task. (N, ...)"""
        return self.marks(goals)

    def marks(self, rows: np.ndarray) -> list[int]:
        """Rows of the sample that are most like some observations. (N, ...)"""
        gaps = (self.look(rows)[:, None].astype(float) - self._looks.numpy()) / self._spread
        return np.unique(np.square(gaps).sum(-1).argmin(1)).tolist()

    def field(self, goals: np.ndarray, tau: int, heading: int | None = None) -> np.ndarray:
        """G towards a set of goals at one horizon from each of the sample. (N, ...) -> (S,)"""
        if heading is not None:
            raise CogmapError(f"heading={heading}: {self.description.name} has no headings.")
        self.check(tau)
        wanted = self._scorer.embed_goals(self._look(goals))
        at = torch.tensor([[self.taus.index(tau)]])
        return finite(self._scorer.score(self._looks[None], wanted[None], at)[0, :, 0].numpy())

    def scores(self, looks: np.ndarray, goals: np.ndarray) -> np.ndarray:
        """G of a set of goals from some looks, at every octave. (K, d), (N, ...) -> (K, T)"""
        wanted = self._scorer.embed_goals(self._look(goals))
        here = torch.as_tensor(looks, dtype=torch.float32)
        return finite(self._scorer.score(here[None], wanted[None])[0])

    def plane(self, tau: int, method: Method) -> Plane:
        """The sample's embedding at one horizon, drawn."""
        self.check(tau, method)
        with self._lock:
            if (tau, method) not in self._planes:
                embedding = self._embedding(self._looks, tau)
                self._planes[tau, method] = drawn(
                    embedding, self._overview, method="tsne" if method == "tsne" else "pca"
                )
            return self._planes[tau, method]

    def places(self, looks: np.ndarray, tau: int, method: Method) -> np.ndarray:
        """Where looks lie in a plane. (N, d) -> (N, 2)"""
        here = torch.as_tensor(looks, dtype=torch.float32)
        return self.plane(tau, method).places(self._embedding(here, tau))

    def given(self, given: Sequence[Sequence[float]]) -> np.ndarray:
        """Looks that came from outside. -> (N, d)"""
        size = self.size
        named = f": {', '.join(self.names[:12])}." if self.names else "."
        for one in given:
            if len(one) != size:
                raise CogmapError(
                    f"an observation of {len(one)} numbers; here it has {size}{named}"
                )
        with np.errstate(over="ignore"):
            found = np.array(given).reshape(-1, size).astype(np.float32)
        if not np.isfinite(found).all():
            raise CogmapError("an observation has too large a number.")
        return found

    def check_row(self, row: int) -> int:
        if not 0 <= row < len(self.rows):
            raise CogmapError(f"row #{row}; the sample has rows #0 to #{len(self.rows) - 1}.")
        return row

    def check(self, tau: int, method: Method | None = None) -> None:
        if tau not in self.taus:
            raise CogmapError(f"tau={tau}; this page shows {', '.join(map(str, self.taus))}.")
        if method is not None and method not in self.methods:
            raise CogmapError(f"method={method}; this page has {' and '.join(self.methods)}.")

    @cached_property
    def _overview(self) -> np.ndarray:
        """What was seen, each number in units of its spread, from its widest side. -> (S, 2)"""
        looks = self._looks.numpy()
        flat = pca((looks - looks.mean(axis=0)) / self._spread)
        return np.pad(flat, ((0, 0), (0, 2 - flat.shape[1])))

    def look(self, observations: np.ndarray) -> np.ndarray:
        """What the model sees of observations. (N, ...) -> (N, d)"""
        return self._look(observations).numpy()

    @torch.no_grad()
    def _look(self, observations: np.ndarray) -> Tensor:
        given = torch.as_tensor(np.ascontiguousarray(observations))
        looks = [self.agent.look(some.float()) for some in given.split(BATCH)]
        return torch.cat(looks)

    @torch.no_grad()
    def _embedding(self, looks: Tensor, tau: int) -> np.ndarray:
        """h(x, tau). (N, d) -> (N, D)"""
        temporal = self.agent.temporal
        horizon = temporal.horizon(torch.tensor([tau]))
        return temporal.source_head(temporal.source_trunk(looks), horizon)[:, 0].numpy()


def without_map(agent: Agent | Rival) -> bool:
    """Whether a run is drawn by what was seen, for want of a maze."""
    if agent.world is None:
        return agent.seen is not None
    return agent.world.map is None
