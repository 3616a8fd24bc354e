"""Episodes in a building, side by side (App. D).

An episode succeeds where the goal is as near as the scene's tasks ask, with nothing in between.

Shape letters: E episodes, n of them, P lattice points.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from cogmap.envs.scene import Scene
from cogmap.envs.turning import HEADINGS, States
from cogmap.envs.world import Moved, Task
from cogmap.errors import CogmapError

if TYPE_CHECKING:
    from cogmap.envs.egocentric import Building

ROUNDING = 1e-6  # m
FRAME, CAPTION = 320, 16  # pixels of a frame's side, and of the line below it


class BuildingRun:
    """Episodes side by side: each is a state of the lattice."""

    stayed = None

    def __init__(self, world: Building, tasks: Sequence[Task]) -> None:
        self._world, lattice = world, world.states
        self.raised: dict[int, str] = {}  # nothing breaks off an episode
        starts = np.array([read_end(task.start, "start") for task in tasks])  # (E, 3)
        goals = np.array([read_end(task.goal, "goal")[:2] for task in tasks])
        for name, places in (("start", starts[:, :2]), ("goal", goals)):
            for place in places[~world.scene.navigable(places)]:
                raise CogmapError(
                    f"{name} ({place[0]:g}, {place[1]:g}) is not on the floor of {world.name}."
                )
        points = np.array([lattice.nearest(place) for place in starts[:, :2]])
        self._states = HEADINGS * points + starts[:, 2].astype(np.int64) % HEADINGS
        self._goals = np.array([lattice.nearest(goal) for goal in goals])  # points
        within, goal_points = world.scene.tasks.within, set(self._goals.tolist())
        known = {goal: _around(world.scene, lattice, goal, within) for goal in goal_points}
        self._near = np.stack([known[point] for point in self._goals.tolist()])  # (E, P) bool
        views = HEADINGS * self._goals[:, None] + self.goal_headings(tasks)  # (E, 12) or (E, 1)
        seen = world.observe(views.ravel())
        seen = seen.reshape(*views.shape, *seen.shape[1:])
        self.goals = seen if views.shape[1] > 1 else seen[:, 0]  # (E, 12, ...) or (E, ...)
        self.succeeded = self.there

    @staticmethod
    def goal_headings(tasks: Sequence[Task]) -> np.ndarray:
        """Of the views that tell goals: all, or one each. -> (12,) or (E, 1)"""
        told = [len(task.goal) > 2 for task in tasks]
        if not any(told):
            return np.arange(HEADINGS)
        if not all(told):
            raise CogmapError("give every goal with a heading, or none.")
        return np.array([[int(task.goal[2]) % HEADINGS] for task in tasks])

    @property
    def there(self) -> np.ndarray:
        """Whether each is at its goal now. (E,)"""
        return self._near[np.arange(len(self._states)), self._states // HEADINGS]

    @property
    def finished(self) -> np.ndarray:
        return self.succeeded

    @property
    def places(self) -> np.ndarray:
        """(E, 2) in metres, as (x, z)"""
        return self._world.states.places(self._states)

    @property
    def headings(self) -> np.ndarray:
        """(E,) radians"""
        return self._world.states.headings(self._states)

    @property
    def states(self) -> np.ndarray:
        """Which state of the lattice each is in. (E,)"""
        return self._states

    def observe(self, which: np.ndarray) -> np.ndarray:
        return self._world.observe(self._states[which])

    def act(self, which: np.ndarray, actions: np.ndarray, steps: int) -> Moved:
        """An action is one-hot over the four moves."""
        before, moves = self.places[which], actions.argmax(axis=1)
        taken, length = np.zeros(len(which), int), np.zeros(len(which))
        active = ~self.succeeded[which]
        for _ in range(steps):
            some = which[active]
            self._states[some] = self._world.states.successors[self._states[some], moves[active]]
            taken[active] += 1
            after = self.places[which]
            length += np.linalg.norm(after - before, axis=1)
            before, self.succeeded = after, self.succeeded | self.there
            active = ~self.succeeded[which]
        return Moved(taken, length)

    def frame(self, k: int) -> np.ndarray:
        """What one episode sees, large, above what that is. -> (H, W, 3)"""
        lattice, here = self._world.states, self._states[[k]]
        heading = float(lattice.headings(here)[0])
        view = self._world.scene.view(lattice.places(here)[0], heading, size=FRAME).colour
        return np.concatenate([view, caption(self._world.name)])

    def shortest(self) -> np.ndarray:
        """To where the goal is near enough: the exact geodesic, less that distance. (E,)"""
        starts, goals = self.places, self._world.states.points[self._goals]
        ways = {}
        for a, b in zip(starts.tolist(), goals.tolist()):
            if (*a, *b) not in ways:
                way = self._world.scene.geodesic(np.array([a]), np.array([b]))[0, 0]
                ways[*a, *b] = max(0.0, float(way) - self._world.scene.tasks.within)
        return np.array([ways[*a, *b] for a, b in zip(starts.tolist(), goals.tolist())])


def _around(scene: Scene, states: States, goal: int, within: float) -> np.ndarray:
    """The points that are so near to a goal, in a straight way that is free. -> (P,) bool"""
    gap = np.linalg.norm(states.points - states.points[goal], axis=-1)
    near = np.flatnonzero(gap <= within + ROUNDING)
    result = np.zeros(len(states.points), bool)
    ends = np.repeat(states.points[[goal]], len(near), axis=0)
    result[near] = scene.clear(states.points[near], ends)
    return result


def caption(text: str) -> np.ndarray:
    """A line of text. -> (CAPTION, FRAME, 3) uint8"""
    from PIL import Image, ImageDraw

    line = Image.new("RGB", (FRAME, CAPTION), "white")
    ImageDraw.Draw(line).text((4, 2), text, fill="black")
    return np.asarray(line)


def read_place(name: str, text: str) -> tuple[float, ...]:
    """x,z or x,z,heading as typed."""
    try:
        numbers = tuple(float(part) for part in text.split(","))
    except ValueError:
        raise CogmapError(f"{name} {text!r}: give x,z or x,z,heading in numbers.") from None
    *_, heading = read_end(numbers, name)
    if heading not in range(HEADINGS):
        raise CogmapError(f"{name} {text!r}: a heading is a whole number, 0 to {HEADINGS - 1}.")
    return numbers


def read_end(numbers: tuple[float, ...], name: str) -> tuple[float, float, float]:
    """A place with its heading, 0 where none is told."""
    if len(numbers) not in (2, 3) or not np.isfinite(numbers).all():
        raise CogmapError(f"{name} {numbers}: give x,z, or x,z,heading (0 to {HEADINGS - 1}).")
    x, z, *heading = numbers
    return x, z, heading[0] if heading else 0.0
