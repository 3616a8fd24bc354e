"""Buildings seen in the first person, as a world (Sec. 4.2, App. D).

The agent sees what is before it, and beside it, where asked, where it is and which way it looks: a
single view does not tell everywhere. It moves on a lattice (turning.py has the rules), so a walk of
any length is index arithmetic over views that are each cast once.

A goal is a place and a heading, and is told by the view from there. Of a place alone any of the
twelve views will do, which is all that success asks for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from cogmap.choices import Shown
from cogmap.data.mixed import mixed
from cogmap.data.trajectories import Trajectories
from cogmap.envs.building_run import BuildingRun, read_place
from cogmap.envs.building_settings import settled
from cogmap.envs.building_tasks import ALL_VIEWS
from cogmap.envs.building_walk import check_walk, walked
from cogmap.envs.scene import Scene
from cogmap.envs.scenes import named_scene, restored_scene
from cogmap.envs.turning import BACKWARD, FORWARD, HEADINGS, LEFT, MOVES, RIGHT, States
from cogmap.envs.world import Task, TaskSet, check_tasks_wanted
from cogmap.errors import check_seed
from cogmap.explore.settings import Exploration
from cogmap.planning.candidates import Offer, Programs
from cogmap.planning.settings import Planning
from cogmap.progress import Bars
from cogmap.settings import RunSettings

PIXELS = 32  # on a side of a view; the paper does not say
QUARTER = HEADINGS // 4  # turns to the side; further ones are a step backward
RECALLED = 16  # views that are cast to see whether a table is of the same scene
ALONE: Shown = "position-alone"


@dataclass(frozen=True, eq=False)
class Building:
    """One scene, and what the agent is shown of it."""

    KIND = "building"

    scene: Scene
    beside: Shown = "position"  # what is shown beside the view, if there is one
    pixels: int = PIXELS
    drawn: bool = True  # else places alone are shown, for policies that do not look
    start: str | None = None  # x,z or x,z,heading of every episode; None: as the tasks have it
    goal: str | None = None  # where to go in every episode
    rendered: bool = False  # whether frames are wanted

    map = None
    action_size = len(MOVES)
    hold = 1

    @classmethod
    def named(cls, name: str, scenes: Path | None = None, **shown: Any) -> Building:
        """One of Habitat's test scenes; `scenes` is the folder of its files."""
        return cls(named_scene(name, scenes), **shown)

    @property
    def name(self) -> str:
        """Its label: results of a made-up appearance are never without it."""
        return self.scene.label

    @property
    def looks(self) -> bool:
        """Whether the agent has a view, and not its place alone."""
        return self.drawn and self.beside != ALONE

    @property
    def numbers(self) -> int:
        """Shown beside the view."""
        return {"position": 2, "heading": 2, "both": 4}.get(self.beside, 0)

    @property
    def within(self) -> float:
        """So near to a goal is there, in metres, where nothing is between."""
        return self.scene.tasks.within

    def stood(self, place: np.ndarray) -> np.ndarray:
        """Where an agent stands that is sent to a place: on the lattice. (2,) -> (2,)"""
        return self.states.points[self.states.nearest(place)]

    @property
    def observation_shape(self) -> tuple[int, ...]:
        if not self.looks:
            return (2,)
        return (self.pixels + (self.numbers > 0), self.pixels, 3)

    def describe(self) -> dict[str, Any]:
        return {
            "kind": self.KIND,
            "scene": self.scene.name,
            "label": self.scene.label,
            "beside": self.beside,
            "pixels": self.pixels,
            **self.scene.describe(),
        }

    def conditions(self) -> dict[str, Any]:
        seen = {"observation": "image" if self.looks else "position"}
        return seen | ({"beside": self.beside, "pixels": self.pixels} if self.looks else {})

    @classmethod
    def restored(cls, description: dict[str, Any]) -> Building | None:
        """None for a scene of the user's own."""
        scene = restored_scene(description)
        if scene is None:
            return None
        return cls(scene, beside=description["beside"], pixels=description["pixels"])

    @cached_property
    def states(self) -> States:
        return States.of(self.scene)

    @cached_property
    def _views(self) -> tuple[np.ndarray, np.ndarray]:
        """Of every state, and whether it was cast yet. (S, H, W, 3) uint8, (S,) bool"""
        count = len(self.states)
        views = np.zeros((count, self.pixels, self.pixels, 3), np.uint8)
        return views, np.zeros(count, bool)

    def views(self, states: np.ndarray, bars: Bars | None = None) -> np.ndarray:
        """What is before the agent, cast when first asked for. (N,) -> (N, H, W, 3) uint8"""
        views, cast_already = self._views
        missing = np.unique(states[~cast_already[states]])
        for state in bars("views", "view")(missing) if bars and len(missing) else missing:
            place = self.states.places(np.array([state]))[0]
            heading = float(self.states.headings(np.array([state]))[0])
            views[state] = self.scene.view(place, heading, size=self.pixels).colour
            cast_already[state] = True
        return views[states]

    def recall(self, table: np.ndarray) -> None:
        """Takes the views of every state from what a walk kept of them, if that is of this scene.

        (S, ...) as `observe` gives it
        """
        some = np.linspace(0, len(self.states) - 1, RECALLED).round().astype(int)
        same = table.shape == (len(self.states), *self.observation_shape)
        if self.looks and same and np.array_equal(table[some], self.observe(some)):
            views, cast_already = self._views
            views[:], cast_already[:] = table[:, : self.pixels], True

    def observe(self, states: np.ndarray, bars: Bars | None = None) -> np.ndarray:
        """(N,) -> (N, ...)"""
        places = self.states.places(states)
        if not self.looks:
            return places.astype(np.float32)
        return self.told(self.views(states, bars), places, self.states.headings(states))

    def told(self, views: np.ndarray, places: np.ndarray, headings: np.ndarray) -> np.ndarray:
        """Views with the numbers beside them. (N, H, W, 3), (N, 2), (N,) -> (N, ...)"""
        told = []
        if self.beside in ("position", "both"):
            low, high = self.states.points.min(axis=0), self.states.points.max(axis=0)
            told.append((places - low) / np.maximum(high - low, 1e-6))
        if self.beside in ("heading", "both"):
            told.append((np.stack([np.cos(headings), np.sin(headings)], axis=-1) + 1) / 2)
        return mixed(views, np.concatenate(told, axis=-1)) if told else views

    def settled(
        self, settings: RunSettings, *, tell: Callable[[str], None]
    ) -> tuple[Building, RunSettings]:
        """The paper's walk and horizons; a step back undoes a step forward."""
        is_state = self.beside in ("position", "both")
        return self, settled(settings, looks=self.looks, numbers=self.numbers, is_state=is_state)

    def check(self, settings: Exploration, *, tau_max: int) -> None:
        check_walk(settings, tau_max=tau_max)
        self.observe(np.zeros(1, np.int64))  # a missing package is said now

    def explore(
        self,
        settings: Exploration,
        folder: Path,
        *,
        seed: int,
        bars: Bars,
        pairs: Trajectories | None = None,
        transitions: Trajectories | None = None,
    ) -> tuple[Trajectories, Trajectories]:
        """One walk of random moves; its first part, with the moves, is for the local dynamics."""
        walk, acted = folder / "walk", folder / "actions"
        if not (acted / "meta.json").exists():
            table = self.observe(np.arange(len(self.states)), bars)
            whole, part = walked(self.states, table, settings, seed=seed, where=self.name)
            whole.save(walk)
            part.save(acted)
        return pairs or Trajectories.load(walk), transitions or Trajectories.load(acted)

    def random_actions(self, rng: np.random.Generator, count: int) -> np.ndarray:
        """Each of the four moves as often. -> (count, 4)"""
        return np.eye(len(MOVES), dtype=np.float32)[rng.integers(len(MOVES), size=count)]

    def candidates(self, settings: Planning, *, radii: tuple[int, ...], hold: int) -> Offer:
        """Turn up to a quarter to either side, then go on forward or backward."""
        length, programs = max(radii), []
        for turns in range(-QUARTER, QUARTER + 1):
            for go in (FORWARD, BACKWARD):
                moves = [RIGHT if turns < 0 else LEFT] * abs(turns) + [go] * length
                programs.append(np.eye(len(MOVES), dtype=np.float32)[moves[:length]])
        return Programs(np.stack(programs), radii)

    def tasks(
        self,
        name: str | None,
        *,
        episodes: int | None = None,
        budget: int | None = None,
        seed: int = 0,
    ) -> TaskSet:
        """Those of the scene (building_tasks.py), from random headings.

        A goal is told by one view there, drawn at random; with NAME-all-views by all.
        """
        check_tasks_wanted(episodes=episodes, budget=budget)
        rng = np.random.default_rng(check_seed(seed))
        known = self.scene.tasks
        name = name or known.usual
        plain = name.removesuffix(ALL_VIEWS)
        tasks = known.draw(plain, self.scene, self.states, episodes=episodes, seed=seed)
        looks = rng.integers(HEADINGS, size=len(tasks)).tolist()
        tasks = [replace(task, start=(*task.start, float(k))) for task, k in zip(tasks, looks)]
        if name == plain:
            seen = rng.integers(HEADINGS, size=len(tasks)).tolist()
            tasks = [replace(task, goal=(*task.goal, float(k))) for task, k in zip(tasks, seen)]
        for end in ("start", "goal"):
            if (told := getattr(self, end)) is not None:
                place = read_place(end, told)
                tasks = [replace(task, name="told", **{end: place}) for task in tasks]
        return TaskSet(Path(name).name, tasks, budget or known.budget, seed)

    def begin(self, tasks: Sequence[Task]) -> BuildingRun:
        return BuildingRun(self, tasks)

    def undrawn(self) -> Building:
        """The same for policies that do not look."""
        return replace(self, drawn=False)
