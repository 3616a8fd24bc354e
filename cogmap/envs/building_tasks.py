"""Where episodes of a scene begin and end, when they succeed, how many moves they have (App. D).

A scene brings its tasks: a building those between its corners, a maze those of the same maze seen
from above (Sec. 4: the first-person maze reuses its tasks). Starts and goals are places (x, z) in
metres; which way the agent looks there is drawn by the world.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Protocol

import numpy as np

from cogmap.envs.turning import LONGEST, States
from cogmap.envs.world import Task
from cogmap.errors import CogmapError

if TYPE_CHECKING:
    from cogmap.envs.scene import Scene

ALL_VIEWS = "-all-views"  # after the name of tasks whose goals are told by all views of a place
BUDGET, EPISODES, PAIRS = 5000, 25, 2  # App. D: moves, episodes of each task, pairs of corners


class SceneTasks(Protocol):
    """What a scene has agents do."""

    @property
    def usual(self) -> str:
        """The name of those that are run where none is given."""

    @property
    def budget(self) -> int:
        """Moves of an episode."""

    @property
    def within(self) -> float:
        """m from the goal, with nothing in between, that count as there."""

    def draw(
        self, name: str, scene: Scene, states: States, *, episodes: int | None, seed: int
    ) -> list[Task]:
        """Those of a name; `episodes` of each task, None: as many as is usual."""


@dataclass(frozen=True)
class Corners:
    """Between the corners of a building.

    A corner is the lattice point nearest to a corner of the box around all of them; of the six
    pairs the two with the longest shortest ways are taken, in both directions. An episode succeeds
    where the goal is within one lattice move: no farther than the longest of them.
    """

    usual = "corners"
    budget = BUDGET
    within = LONGEST

    def draw(
        self, name: str, scene: Scene, states: States, *, episodes: int | None, seed: int
    ) -> list[Task]:
        if name != self.usual:
            raise CogmapError(
                f"tasks {name!r}; a building has {self.usual} or {self.usual}{ALL_VIEWS}."
            )
        points = states.points
        low, high = points.min(axis=0), points.max(axis=0)
        corners = {
            states.nearest(np.array([x, z])) for x in (low[0], high[0]) for z in (low[1], high[1])
        }
        pairs = list(combinations(sorted(corners), 2))
        if not pairs:
            raise CogmapError(f"{scene.name} has no two corners; it is too small for tasks.")
        far = [float(scene.geodesic(points[[a]], points[[b]])[0, 0]) for a, b in pairs]
        chosen = [pairs[k] for k in np.argsort(far)[::-1][:PAIRS]]
        return [
            Task(f"corners{number}-{way}", tuple(points[a].tolist()), tuple(points[b].tolist()))
            for number, pair in enumerate(chosen, start=1)
            for way, (a, b) in (("there", pair), ("back", pair[::-1]))
            for _ in range(episodes or EPISODES)
        ]
