"""A run in a building as the page looks at it: its floor takes the place of the embedding's plane.

The sample of such a run is the lattice, of which every view is scored. What is told of a sight is
where it is and which way it looks, as typed: x, z, and a heading in twelfths of a turn.

Shape letters: P lattice points, H headings (12), N sights, S goals.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from cogmap.agent import Agent
from cogmap.config import RunConfig
from cogmap.data.trajectories import Trajectories
from cogmap.envs.building_run import FRAME, read_place
from cogmap.envs.egocentric import Building
from cogmap.envs.scene import SPACING
from cogmap.envs.turning import BACKWARD, FORWARD, HEADINGS, LEFT, MOVES, RIGHT, States
from cogmap.envs.world import Running, Task
from cogmap.errors import CogmapError
from cogmap.planning.candidates import Programs
from cogmap.progress import Bars, no_bars
from cogmap.rival import Rival
from cogmap.web import terrain_messages as messages
from cogmap.web.floor_plan import floor_of
from cogmap.web.frames import tiled
from cogmap.web.plane import Plane
from cogmap.web.terrain import Terrain
from cogmap.web.told import Aim
from cogmap.web.wishes import row_of

MOVES_OF_A_PLAN = 500  # on the page unless told otherwise: each is a view to cast and to send
NAMES = ["x", "z", "heading"]
ACROSS = 4  # views beside each other, where a goal is told by all of its place
SHEET = FRAME // ACROSS  # pixels of a side of each


class Storey(Terrain):
    """A run in a building, ready to be asked."""

    methods = ("floor",)
    rendered = True

    def __init__(self, folder: Path, *, agent: Agent, bars: Bars = no_bars) -> None:
        building: Any = agent.acting_in(None)  # one copy, so that views are cast once
        super().__init__(folder, agent=replace(agent, world=replace(building, rendered=True)))
        self.states: States = self.world.states
        self.names, self.size = NAMES, len(NAMES)
        self.episodes_differ = True  # a goal is a place, not words about what was seen
        self.rows = self.states.points  # (P, 2)
        if (table := recorded(folder)) is not None:
            self.world.recall(table)
        self._looks = self._look(self.world.observe(np.arange(len(self.states)), bars))
        low, high = self.rows.min(axis=0), self.rows.max(axis=0)
        self._middle = (low + high) / 2
        self._scale = 2 / (float((high - low).max()) + SPACING)  # of the plane, in a metre

    @property
    def world(self) -> Any:
        return self.agent.world

    @cached_property
    def description(self) -> messages.World:
        config, world = self.agent.temporal.config, self.world
        loss = "softmax contrast" if config.normalised else "binary contrast"
        beside = {"nothing": "", "both": " and position and heading"}
        seen = f"a view of {world.pixels} x {world.pixels} pixels"
        seen += beside.get(world.beside, f" and {world.beside}")
        first = self.first
        return messages.World(
            name=world.name,
            trained=f"sees {seen}; {loss}, horizons to {config.tau_max:,}, "
            f"{len(self.rows):,} places",
            names=self.names,
            pictures=False,
            rows=[[round(float(v), 4) for v in point] for point in self.rows],
            taus=self.taus,
            actions=[],
            ways=ways(self.agent.planner().candidates),
            hold=world.hold,
            plans=True,
            frames=True,
            own_goals=False,
            goal=told(first.goal),
            start=told(first.start),
            planner=self.agent.planning.planner,
            budget=self.budget(None),
            methods=list(self.methods),
            floor=floor_of(self.world.scene, self.points_of),
        )

    @cached_property
    def first(self) -> Task:
        """Where the page begins and leads before it is told."""
        task: Task = self.world.tasks(None, episodes=1).tasks[0]
        return task

    def budget(self, asked: int | None) -> int:
        return MOVES_OF_A_PLAN if asked is None else asked

    def aimed(self, asked: messages.JourneyRequest) -> Aim:
        """From a place to a place, as typed."""
        ends = {"start": asked.start, "goal": asked.goal}
        places = {
            end: self._place(end, text) if text and text.strip() else getattr(self.first, end)
            for end, text in ends.items()
        }
        task = Task("page", places["start"], places["goal"])
        return Aim(self.world, task, told(task.goal), "")

    def _place(self, name: str, text: str) -> tuple[float, ...]:
        row = row_of(text)
        if row is not None:
            return tuple(self.rows[self.check_row(row)].tolist())
        return read_place(name, text)

    def marked(self, task: Task, goals: np.ndarray) -> list[int]:
        return [self.states.nearest(np.array(task.goal[:2]))]

    def called(self, world: Any, task: Task, goals: np.ndarray) -> str:
        return told(task.goal)

    def picture(self, row: int) -> np.ndarray:
        """What is seen from a row of the sample, all around. -> (H, W, C)"""
        return self.goal_frame(Task("page", (), tuple(self.rows[self.check_row(row)])))

    def goal_frame(self, task: Task) -> np.ndarray:
        """The view that tells a goal, or all of its place, above the label. -> (H, W, C)"""
        point = self.states.nearest(np.array(task.goal[:2]))
        place = self.rows[point]
        facing = task.goal[2] if len(task.goal) > 2 else 0.0
        frame: np.ndarray = self.world.begin([Task("page", (*place, facing), (*place,))]).frame(0)
        if len(task.goal) > 2:
            return frame
        angles = self.states.headings(np.arange(HEADINGS)).tolist()
        views = [self.world.scene.view(place, angle, size=SHEET).colour for angle in angles]
        return np.concatenate([tiled(views, SHEET, across=ACROSS), frame[frame.shape[1] :]])

    def began(self, task: Task) -> str:
        return told(task.start)

    def told(self, running: Running, look: np.ndarray) -> np.ndarray:
        state = running.states[:1]  # type: ignore[attr-defined]
        return np.append(self.states.places(state)[0], state[0] % HEADINGS)

    def field(self, goals: np.ndarray, tau: int, heading: int | None = None) -> np.ndarray:
        """G from each place, at one heading or the best of all. (S, ...) -> (P,)"""
        if heading is not None and not 0 <= heading < HEADINGS:
            raise CogmapError(f"heading={heading}; give 0 to {HEADINGS - 1}, twelfths of a turn.")
        scores = super().field(goals, tau).reshape(-1, HEADINGS)
        return scores.max(axis=1) if heading is None else scores[:, heading]

    def plane(self, tau: int, method: messages.Method) -> Plane:
        self.check(tau, method)
        return Plane(self.points_of(self.rows), np.empty((len(self.rows), 0)), None)

    def places(self, looks: np.ndarray, tau: int, method: messages.Method) -> np.ndarray:
        """Of sights as `told` tells them. (N, 3) -> (N, 2)"""
        self.check(tau, method)
        return self.points_of(looks[:, :2])

    def points_of(self, places: np.ndarray) -> np.ndarray:
        """On the plan as seen from above, where a heading of 0 looks up. (N, 2) -> (N, 2)"""
        return np.asarray((places - self._middle) * (self._scale, -self._scale))


def terrain_of(folder: Path, *, agent: Agent | Rival, bars: Bars = no_bars) -> Terrain:
    """A run without a map, in a building or not."""
    if isinstance(agent, Agent) and isinstance(agent.world, Building):
        return Storey(folder, agent=agent, bars=bars)
    return Terrain(folder, agent=agent)


def recorded(folder: Path) -> np.ndarray | None:
    """What the run's walk saw, each of it once, where that is still on disk. (S, ...)"""
    data = RunConfig.read(folder / "config.json").data or folder / "data" / "walk"
    try:
        return Trajectories.load(data).table
    except CogmapError:
        return None


def told(place: tuple[float, ...]) -> str:
    """A place as one would type it."""
    return ",".join(f"{value:g}" for value in place)


def ways(offer: Any) -> list[messages.Way]:
    """What each candidate does, in words, and which way it goes."""
    if not isinstance(offer, Programs):
        return []
    found = []
    for moves in offer.turns.argmax(-1).tolist():
        turned = 360 // HEADINGS * (moves.count(LEFT) - moves.count(RIGHT))
        go = next((move for move in moves if move in (FORWARD, BACKWARD)), None)
        side = MOVES[LEFT if turned > 0 else RIGHT]
        words = [f"{side} {abs(turned)}°"] if turned else []
        words += [] if go is None else [MOVES[go]]
        bearing = turned + (180 if go == BACKWARD else 0)
        found.append(messages.Way(name=", ".join(words), bearing=bearing, goes=go is not None))
    return found
