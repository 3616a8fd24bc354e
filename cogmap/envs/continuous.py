"""Walking in a building at any place and in any direction: the continuous protocol (Sec. 4.2).

What is learned on the lattice walk is led off the lattice here. A decision is between 36 directions
and walks up to 0.75 m in one of them; then the agent decides again. Where a direction leads, and
what is seen there looking that way, is not predicted: the scene shows it (`ContinuousRun.ahead`),
as a simulator would be asked to render it. docs/first-person.md has all rules.

Shape letters: E episodes, n of them, A = 36 directions, N places.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from cogmap.envs.building_run import FRAME, BuildingRun, caption, read_end
from cogmap.envs.egocentric import Building
from cogmap.envs.scene import Scene
from cogmap.envs.turning import HEADINGS
from cogmap.envs.world import Moved, Task, TaskSet, check_tasks_wanted
from cogmap.errors import CogmapError, check_seed
from cogmap.planning.candidates import Foreseen
from cogmap.planning.settings import Planning

DIRECTIONS = 36  # Sec. 4.2
WALK = 0.75  # m of a decision, where no wall is
CAPPED = 512  # Sec. 4.2: the longest horizon that plans
NEAR = 0.3  # m from the goal: success
PACE = 0.05  # m: how finely a walk is followed, to walls and to the goal
PACES = round(WALK / PACE)
START_HEADINGS = (0, 4, 8)  # of twelve: three, evenly around
BUDGET = 500  # decisions of an episode: at most 375 m
FAR = "far"
ROUNDING = 1e-6  # m


def off_lattice(planning: Planning) -> Planning:
    """How a run plans here: by every horizon.

    Off the lattice views differ from all that were learned from, and the one horizon that seems to
    see the goal may be wrong (docs/experiments.md, round 45).
    """
    return replace(planning, view=None)


def directions() -> np.ndarray:
    """Unit ways of (x, z); the first looks along -z, the next ones to its left. (36, 2)"""
    angle = 2 * np.pi * np.arange(DIRECTIONS) / DIRECTIONS
    return np.stack([-np.sin(angle), -np.cos(angle)], axis=-1)


def heading_of(ways: np.ndarray) -> np.ndarray:
    """Where one looks who walks so, in radians. (N, 2) -> (N,)"""
    return np.arctan2(-ways[:, 0], -ways[:, 1])


def free_paces(scene: Scene, places: np.ndarray, ways: np.ndarray) -> np.ndarray:
    """How many paces can be walked straight on, WALK at most. (N, 2), (N, 2) -> (N,)

    A way that is free is free as far as any part of it, so the number is found by halving.
    """
    some, none = np.zeros(len(places), np.int64), np.full(len(places), PACES + 1)
    asked = np.full(len(places), PACES)  # mostly nothing is in the way
    while (open_ := none - some > 1).any():
        ends = places + PACE * asked[:, None] * ways
        # `clear` takes ends beside the floor for the nearest places on it.
        free = scene.navigable(ends[open_]) & scene.clear(places[open_], ends[open_])
        some[open_] = np.where(free, asked[open_], some[open_])
        none[open_] = np.where(free, none[open_], asked[open_])
        asked = (some + none) // 2
    return some


@dataclass(frozen=True, eq=False)
class Continuous(Building):
    """A building that is walked in at any place."""

    action_size = 2

    @classmethod
    def of(cls, building: Building) -> Continuous:
        """The same building, shown in the same way."""
        return cls(**{f.name: getattr(building, f.name) for f in fields(Building)})

    @classmethod
    def restored(cls, description: dict[str, Any]) -> Continuous | None:
        building = Building.restored(description)
        return None if building is None else cls.of(building)

    @property
    def within(self) -> float:
        return NEAR

    def stood(self, place: np.ndarray) -> np.ndarray:
        """Right there."""
        return place

    def describe(self) -> dict[str, Any]:
        return super().describe() | {"protocol": "continuous"}

    def conditions(self) -> dict[str, Any]:
        return super().conditions() | {"protocol": "continuous"}

    def seen_at(self, places: np.ndarray, headings: np.ndarray) -> np.ndarray:
        """What the agent is shown there; views are cast as they are asked for. -> (N, ...)"""
        if not self.looks:
            return places.astype(np.float32)
        each = zip(places, headings.tolist())
        views = [self.scene.view(place, angle, size=self.pixels).colour for place, angle in each]
        return self.told(np.stack(views), places, headings)

    def random_actions(self, rng: np.random.Generator, count: int) -> np.ndarray:
        """Each of the directions as often. -> (count, 2)"""
        return directions()[rng.integers(DIRECTIONS, size=count)].astype(np.float32)

    def candidates(self, settings: Planning, *, radii: tuple[int, ...], hold: int) -> Foreseen:
        """All directions, whatever way one looks; each is judged where its walk ends."""
        return Foreseen(directions().astype(np.float32))

    def tasks(
        self,
        name: str | None,
        *,
        episodes: int | None = None,
        budget: int | None = None,
        seed: int = 0,
    ) -> TaskSet:
        """far: the farthest of the building's tasks, both ways, from three headings each.

        Its other tasks by their names. A goal is told by one view there, in a heading that the walk
        has, drawn at random.
        """
        check_tasks_wanted(episodes=episodes, budget=budget)
        rng = np.random.default_rng(check_seed(seed))
        if name not in (None, FAR):
            others = super().tasks(name, episodes=episodes, seed=seed)
            return TaskSet(others.name, others.tasks, budget or BUDGET, seed)
        usual = super().tasks(None, episodes=1, seed=seed).tasks
        starts, goals = (
            np.array([end[:2] for end in ends])
            for ends in ([task.start for task in usual], [task.goal for task in usual])
        )
        farthest = usual[int(np.diag(self.scene.geodesic(starts, goals)).argmax())]
        own = self.start is not None or self.goal is not None
        ends = farthest.start[:2], farthest.goal[:2]
        tasks = []
        for way, (start, goal) in zip(("there",) if own else ("there", "back"), (ends, ends[::-1])):
            heads = START_HEADINGS if self.start is None else farthest.start[2:] or (0.0,)
            for heading in heads:
                for _ in range(episodes or 1):
                    look = float(rng.integers(HEADINGS))
                    kept = farthest.goal if self.goal is not None else (*goal, look)
                    tasks.append(Task(f"far-{way}", (*start, float(heading)), kept))
        return TaskSet(FAR, tasks, budget or BUDGET, seed)

    def begin(self, tasks: Sequence[Task]) -> ContinuousRun:  # type: ignore[override]
        return ContinuousRun(self, tasks)


class ContinuousRun:
    """Episodes side by side: each is a place and a heading."""

    stayed = None

    def __init__(self, world: Continuous, tasks: Sequence[Task]) -> None:
        self._world = world
        starts = np.array([read_end(task.start, "start") for task in tasks])  # (E, 3)
        self.goal_places = np.array([read_end(task.goal, "goal")[:2] for task in tasks])
        for name, places in (("start", starts[:, :2]), ("goal", self.goal_places)):
            for place in places[~world.scene.navigable(places)]:
                raise CogmapError(
                    f"{name} ({place[0]:g}, {place[1]:g}) is not on the floor of {world.name}."
                )
        self.places, self.headings = starts[:, :2], 2 * np.pi * starts[:, 2] / HEADINGS
        looks = BuildingRun.goal_headings(tasks)  # (12,) or (E, 1)
        looks = np.broadcast_to(looks, (len(tasks), looks.shape[-1]))
        each = np.repeat(self.goal_places, looks.shape[1], axis=0)
        seen = world.seen_at(each, 2 * np.pi * looks.ravel() / HEADINGS)
        seen = seen.reshape(*looks.shape, *seen.shape[1:])
        self.goals = seen if looks.shape[1] > 1 else seen[:, 0]  # (E, 12, ...) or (E, ...)
        self.succeeded = self._near(np.arange(len(tasks)), self.places)

    @property
    def finished(self) -> np.ndarray:
        return self.succeeded

    def _near(self, which: np.ndarray, places: np.ndarray) -> np.ndarray:
        """Whether some episodes' goals are within NEAR of places, nothing between. (n,), (n, 2)"""
        goals = self.goal_places[which]
        near = np.linalg.norm(places - goals, axis=-1) <= NEAR + ROUNDING
        if near.any():
            near[near] = self._world.scene.clear(places[near], goals[near])
        return near

    def observe(self, which: np.ndarray) -> np.ndarray:
        return self._world.seen_at(self.places[which], self.headings[which])

    def ahead(self, which: np.ndarray) -> np.ndarray:
        """What would be seen at the end of each direction's walk, looking on. -> (n, A, ...)"""
        starts = np.repeat(self.places[which], DIRECTIONS, axis=0)
        ways = np.tile(directions(), (len(which), 1))
        ends = starts + PACE * free_paces(self._world.scene, starts, ways)[:, None] * ways
        seen = self._world.seen_at(ends, heading_of(ways))
        return seen.reshape(len(which), DIRECTIONS, *seen.shape[1:])

    def act(self, which: np.ndarray, actions: np.ndarray, steps: int) -> Moved:
        """An action is a unit way. The walk ends at a wall, and at the goal."""
        taken, length = np.zeros(len(which), np.int64), np.zeros(len(which))
        ways = actions.astype(np.float64)
        ways /= np.linalg.norm(ways, axis=-1, keepdims=True)
        for _ in range(steps):
            going = ~self.succeeded[which]
            taken[going] += 1
            self.headings[which[going]] = heading_of(ways[going])
            left = free_paces(self._world.scene, self.places[which], ways)
            for pace in range(PACES):
                going &= pace < left
                some = which[going]
                self.places[some] += PACE * ways[going]
                length[going] += PACE
                self.succeeded[some] |= self._near(some, self.places[some])
                going &= ~self.succeeded[which]
        return Moved(taken, length)

    def frame(self, k: int) -> np.ndarray:
        """What one episode sees, large, above what that is. -> (H, W, 3)"""
        scene = self._world.scene
        view = scene.view(self.places[k], float(self.headings[k]), size=FRAME).colour
        return np.concatenate([view, caption(self._world.name)])

    def shortest(self) -> np.ndarray:
        """The exact geodesic, less the distance that counts as there. (E,)"""
        ways = {}
        for a, b in zip(self.places.tolist(), self.goal_places.tolist()):
            if (*a, *b) not in ways:
                way = self._world.scene.geodesic(np.array([a]), np.array([b]))[0, 0]
                ways[*a, *b] = max(0.0, float(way) - NEAR)
        both = zip(self.places.tolist(), self.goal_places.tolist())
        return np.array([ways[*a, *b] for a, b in both])
