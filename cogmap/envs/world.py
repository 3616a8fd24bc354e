"""What the rest of the package knows of a world: it can be explored, tried, and acted in (Sec. 4).

A world that is written against these protocols goes through `cogmap.train` and `cogmap.evaluate`
(tests/test_ring.py has a whole one). Observations are arrays of any one shape; actions are vectors.

Shape letters: E episodes, n of them, A candidates, a numbers in an action.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np

from cogmap.data.trajectories import Trajectories
from cogmap.errors import CogmapError
from cogmap.explore.settings import Exploration
from cogmap.planning.candidates import Offer
from cogmap.planning.settings import Planning
from cogmap.progress import Bars
from cogmap.settings import RunSettings

if TYPE_CHECKING:
    from cogmap.envs.maze_map import MazeMap


@dataclass(frozen=True)
class Task:
    """One start and goal, as numbers that mean something to the world: positions in a maze."""

    name: str
    start: tuple[float, ...]
    goal: tuple[float, ...]


@dataclass(frozen=True)
class TaskSet:
    """Tasks ready to run in one world."""

    name: str
    tasks: list[Task]
    budget: int  # simulator steps of each episode
    seed: int  # that their noise was drawn with


@dataclass(frozen=True)
class Moved:
    """What acting did to some episodes."""

    steps: np.ndarray  # (n,) simulator steps until the goal was reached, or all that were asked
    length: np.ndarray  # (n,) the way gone in them, in the world's own unit


class Running(Protocol):
    """Episodes of a world under way, side by side."""

    @property
    def goals(self) -> np.ndarray:
        """What is seen at each goal (E, ...), or sets of it, any of which will do (E, S, ...)"""

    @property
    def succeeded(self) -> np.ndarray:
        """Which goals are reached so far, at the very start included. (E,) bool"""

    @property
    def finished(self) -> np.ndarray:
        """Which need no more decisions: as a rule those that have succeeded. (E,) bool"""

    @property
    def stayed(self) -> np.ndarray | None:
        """Steps that each spent at its goal since it was reached; None: that ends episodes. (E,)"""

    @property
    def places(self) -> np.ndarray | None:
        """Where each agent is, to draw it; None: the world has no map. (E, p)"""

    def observe(self, which: np.ndarray) -> np.ndarray:
        """What some episodes see now. (n,) -> (n, ...)"""

    def act(self, which: np.ndarray, actions: np.ndarray, steps: int) -> Moved:
        """Holds one action in each of some episodes; success ends an episode. (n,), (n, a)"""

    def shortest(self) -> np.ndarray | None:
        """The shortest way from each start to its goal. (E,); None: unknown, so there is no SPL"""


class World(Protocol):
    """A place to explore and to reach goals in."""

    @property
    def name(self) -> str:
        """What rows of results call it."""

    @property
    def observation_shape(self) -> tuple[int, ...]: ...

    @property
    def action_size(self) -> int: ...

    @property
    def hold(self) -> int:
        """Simulator steps that one decision lasts."""

    @property
    def map(self) -> MazeMap | None:
        """What only a maze has: a lattice, geodesics, an exact score, a plane to draw on."""

    def describe(self) -> dict[str, Any]:
        """What config.json keeps of it; envs/kinds.py restores the worlds of this package."""

    def conditions(self) -> dict[str, Any]:
        """What a row of results says of it besides its name: the physics, what is seen."""

    def settled(
        self, settings: RunSettings, *, tell: Callable[[str], None]
    ) -> tuple[World, RunSettings]:
        """World and settings with what was left to the world (auto) decided; `tell` says why."""

    def check(self, settings: Exploration, *, tau_max: int) -> None:
        """Raises for what cannot be explored so, before anything is written."""

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
        """Observations to draw pairs from, and transitions for the local dynamics.

        What is recorded is kept in `folder` and read from there by a run that is resumed. With
        `pairs` or `transitions` of the user's own only the other is recorded.
        """

    def random_actions(self, rng: np.random.Generator, count: int) -> np.ndarray:
        """What wandering does: the floor that planning is measured against. -> (count, a)"""

    def candidates(self, settings: Planning, *, radii: tuple[int, ...], hold: int) -> Offer:
        """The actions on offer, for a local dynamics whose actions last `hold` simulator steps."""

    def tasks(
        self, name: str | None, *, episodes: int | None, budget: int | None, seed: int
    ) -> TaskSet:
        """A set of tasks by name; None for the usual one. `episodes` counts those of each task."""

    def begin(self, tasks: Sequence[Task]) -> Running:
        """One episode a task, at its start."""


@runtime_checkable
class Coded(Protocol):
    """A world whose observations and actions have another form outside: spaces of Gymnasium."""

    def encode(self, observation: Any) -> np.ndarray:
        """As the models see it. -> (...)"""

    def numbers(self, observation: Any) -> np.ndarray:
        """All that it shows, named as goals name it. -> (d,)"""

    def decode(self, action: np.ndarray) -> Any:
        """As the environment wants it. (a,) ->"""

    def as_goal(self, wanted: Any) -> Any:
        """A goal: one of its own observations as numbers, any other as it is."""


@runtime_checkable
class Judged(Protocol):
    """Episodes of which some begin solved: to stand still is a success there."""

    @property
    def solved(self) -> np.ndarray:
        """(E,) bool, at the start"""


@runtime_checkable
class Facing(Protocol):
    """Episodes of agents that look one way."""

    @property
    def headings(self) -> np.ndarray:
        """(E,) radians"""


@runtime_checkable
class Foreseeing(Protocol):
    """Episodes of a world that shows where candidates lead: nothing has to predict it."""

    def ahead(self, which: np.ndarray) -> np.ndarray:
        """What would be seen at the end of each candidate. (n,) -> (n, A, ...)"""


@runtime_checkable
class Drawn(Protocol):
    """A world that may draw what is seen, which takes time."""

    def undrawn(self) -> World:
        """The same for policies that do not look."""


@runtime_checkable
class Walked(Protocol):
    """A world that records rows to learn a policy from otherwise than those of our method."""

    def walked(self, walk: str, rows: int, folder: Path, *, seed: int, bars: Bars) -> Trajectories:
        """Rows with actions, recorded in `folder` once."""


@runtime_checkable
class Referred(Protocol):
    """A world with references of its own for a success rate, besides the random policy."""

    def references(self, tasks: Sequence[Task]) -> Mapping[str, Any]:
        """Policies (evaluation/rollout.py) for these tasks, by name"""


def map_of(world: World | None, what: str) -> MazeMap:
    """The map of a world; raises where `what` needs one and there is none."""
    if world is None:
        raise CogmapError(f"{what} needs a world; this run was trained without one.")
    if world.map is None:
        raise CogmapError(f"{what} draws on a map; {world.name} has none.")
    return world.map


def fitting(world: World | None, shape: tuple[int, ...]) -> World:
    """The world to act in; raises where there is none, or it shows something of another shape."""
    if world is None:
        raise CogmapError(
            "this run was trained on data without a world to act in; lead your own system by "
            "agent.controller(goal), or give --maze for data of a maze."
        )
    if world.observation_shape != shape:
        raise CogmapError(
            f"the model sees observations of shape {shape}; {world.name} shows "
            f"{world.observation_shape}."
        )
    return world


def check_tasks_wanted(*, episodes: int | None, budget: int | None) -> None:
    """Raises for numbers that no task set can have."""
    if episodes is not None and episodes < 1:
        raise CogmapError(f"episodes={episodes}; give at least 1.")
    if budget is not None and budget < 1:
        raise CogmapError(f"budget={budget}; give at least 1 simulator step.")
