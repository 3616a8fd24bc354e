"""A run without a map as the page looks at it: a sample of what was seen takes the maze's place.

sample.py has what the model says of it; this has the world, where there is one, and what is typed.

Shape letters: d numbers in a look.
"""

from __future__ import annotations

import contextlib
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from cogmap.agent import Agent
from cogmap.envs.world import Running, Task
from cogmap.errors import CogmapError
from cogmap.goals import Goal
from cogmap.rival import Rival
from cogmap.web import terrain_messages as messages
from cogmap.web import wishes
from cogmap.web.rounded import as_numbers
from cogmap.web.sample import Sample
from cogmap.web.told import Aim, Filmed, Told
from cogmap.web.wishes import row_of

NAMED = 12  # numbers of an observation that are told one by one


class Terrain(Sample):
    """A run without a map, ready to be asked."""

    def __init__(self, folder: Path, *, agent: Agent | Rival | None = None) -> None:
        super().__init__(folder, agent=agent)
        if self.agent.world is not None:
            _ = self.world  # one that the page cannot lead is said now, not at the first plan

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


def without_map(agent: Agent | Rival) -> bool:
    """Whether a run is drawn by what was seen, for want of a maze."""
    if agent.world is None:
        return agent.seen is not None
    return agent.world.map is None
