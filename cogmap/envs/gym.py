"""Any Gymnasium environment as a world: recorded by random actions, each held for some steps.

An environment is a registered id, or module:Class. Its time limit is lifted, so that horizons are
not cut short; what ends an episode by itself (`terminated`) still does. A goal environment keeps
its own goals and its own success; any other is told where to go.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np

from cogmap.data.trajectories import Trajectories
from cogmap.envs.actions import choices, random_actions
from cogmap.envs.making import limit_of, make
from cogmap.envs.recording import record
from cogmap.envs.running import GymRun
from cogmap.envs.spaces import GOAL_PARTS, Coding, coding_of
from cogmap.envs.timescale import EPISODE as TRIED
from cogmap.envs.timescale import context_of, trial_table
from cogmap.envs.world import Task, TaskSet, check_tasks_wanted
from cogmap.errors import CogmapError, check_seed
from cogmap.explore.settings import Exploration
from cogmap.goals import Context, Seen
from cogmap.planning.candidates import Candidates
from cogmap.planning.settings import PAPER, Planning
from cogmap.progress import Bars
from cogmap.settings import RunSettings
from cogmap.words import SHOWN, check_goal

STEPS, UPDATES = 200_000, 2000  # of the environment that are recorded, and of a training
EPISODE, SHORT_EPISODE = 2000, 200  # steps of an episode that is recorded
HELD_OUT = 1 << 20  # added to the seed: other episodes, to check what was learned
LINGER = 64  # decisions for which an episode that has ended is recorded as staying there, at most
BUDGET = 1000  # steps of an episode, where the environment has no limit of its own
RADII = (1, 2)  # decisions ahead at which a candidate is judged


@dataclass(frozen=True)
class GymWorld:
    """A Gymnasium environment behind the World protocol (envs/world.py)."""

    KIND = "gymnasium"

    env: str  # a registered id, or module:Class
    hold: int = 0  # environment steps that one decision lasts; 0: to be settled by trials
    package: str | None = None  # to import first, for the ids that it registers
    kwargs: dict[str, Any] = field(default_factory=dict)  # of the environment
    names: tuple[str, ...] = ()  # of an observation's numbers, where the space has none
    goal: str | None = None  # where to go unless told otherwise
    start: str | None = None  # how episodes of an evaluation begin
    stay: bool = False  # whether an episode goes on at its goal, to see whether it is held
    episode: int = EPISODE  # steps of each that is recorded
    linger: int = 0  # rows for which one that has ended by itself is recorded as staying there
    context: Context | None = field(default=None, compare=False)  # what an episode cannot change
    seen: Seen | None = field(default=None, repr=False, compare=False)  # to choose goals from
    rendered: bool = False  # whether frames are wanted
    map = None

    @property
    def name(self) -> str:
        return self.env.rpartition(":")[2]

    @cached_property
    def _one(self) -> gymnasium.Env:
        """An environment to ask for its spaces."""
        return self.make()

    @cached_property
    def seeing(self) -> Coding:
        return coding_of(self._one.observation_space, what=f"{self.env}: the observation")

    @cached_property
    def acting(self) -> Coding:
        return coding_of(self._one.action_space, what=f"{self.env}: the action")

    @property
    def observation_shape(self) -> tuple[int, ...]:
        if self.context is not None:
            return (int((~self.context.mask).sum()),)
        return self.seeing.shape

    @property
    def observation_names(self) -> tuple[str, ...]:
        """Of an observation's numbers."""
        own = self.seeing.names
        if self.names and len(self.names) != len(own):
            told = ", ".join(own) if len(own) <= SHOWN else f"{own[0]} to {own[-1]}"
            raise CogmapError(
                f"{len(self.names)} names for the {len(own)} numbers of {self.env}: {told}."
            )
        for name in self.names:
            if not name or self.names.count(name) > 1 or set("<>=,") & set(name):
                raise CogmapError(
                    f"names {','.join(self.names)}: {name!r} is empty, there twice, or has one of "
                    "< > = in it; give each number a name of its own."
                )
        return self.names or own

    @property
    def action_size(self) -> int:
        return self.acting.shape[0]

    @property
    def has_goals(self) -> bool:
        """Whether the environment says itself where to go."""
        space = self._one.observation_space
        return isinstance(space, gymnasium.spaces.Dict) and set(GOAL_PARTS) <= set(space.spaces)

    def encode(self, observation: Any) -> np.ndarray:
        seen = self.seeing.encode(observation)
        return seen if self.context is None else self.context.apart(seen[None])[0]

    def numbers(self, observation: Any) -> np.ndarray:
        return self.seeing.encode(observation)

    def decode(self, action: np.ndarray) -> Any:
        return self.acting.decode(np.asarray(action))

    def as_goal(self, wanted: Any) -> Any:
        if isinstance(wanted, str) or callable(wanted):
            return wanted
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # gymnasium's, of lists
            own = self._one.observation_space.contains(wanted)
        return self.numbers(wanted) if own else wanted

    def make(self) -> gymnasium.Env:
        """A fresh environment without a time limit."""
        kwargs = self.kwargs | ({"render_mode": "rgb_array"} if self.rendered else {})
        return make(self.env, package=self.package, kwargs=kwargs)

    def describe(self) -> dict[str, Any]:
        told: dict[str, Any] = {"kind": self.KIND, "env": self.env, "hold": self.hold}
        told |= {"package": self.package, "kwargs": self.kwargs, "names": list(self.names)}
        told |= {"goal": self.goal, "start": self.start, "stay": self.stay}
        told |= {"episode": self.episode, "linger": self.linger}
        if self.context is not None:
            fixed, carried = self.context.mask.tolist(), self.context.carried.tolist()
            told["context"] = {"fixed": fixed, "carried": carried}
        return told

    @classmethod
    def restored(cls, description: dict[str, Any], seen: Seen | None = None) -> GymWorld:
        told = {key: value for key, value in description.items() if key != "kind"}
        if (fixed := told.pop("context", None)) is not None:
            told["context"] = Context(np.array(fixed["fixed"]), np.array(fixed["carried"]))
        return cls(**(told | {"names": tuple(told.get("names", ())), "seen": seen}))

    def conditions(self) -> dict[str, Any]:
        return {"hold": self.hold, "goal": self.goal, "start": self.start}

    def settled(
        self, settings: RunSettings, *, tell: Callable[[str], None]
    ) -> tuple[GymWorld, RunSettings]:
        """Tries several holds where none was given, and chooses one and the longest horizon."""
        exploration, temporal = settings.exploration, settings.temporal
        if exploration.walk_steps == "auto":
            exploration = replace(exploration, walk_steps=STEPS)
        self.check_told(exploration.steps)
        table = trial_table(self, holds=(self.hold,) if self.hold else None, seed=settings.seed)
        tell(table.text())
        if self.seeing.left_out:
            tell(f"left out of the observation, as no numbers: {', '.join(self.seeing.left_out)}")
        world = replace(self, hold=table.hold)
        if table.context.any() and self.episode == EPISODE:
            world = world.without_fixed(table.context, seed=settings.seed, tell=tell)
        linger = min(LINGER, max(1, table.length // 2))
        if temporal.recorded == "auto" and temporal.loss == "softmax" and linger < LINGER:
            tell(
                f"episodes here end early, after {table.length} decisions as a rule: pairs are "
                f"recorded up to {linger} decisions apart."
            )
            temporal = replace(temporal, recorded=linger)
        if temporal.tau_max == "auto":
            room = min(world.episode, exploration.steps // 2) // table.hold // 2
            room = power_below(min(room, table.longest))
            temporal = replace(temporal, tau_max=min(table.tau_max, room))
        elif table.longest + linger < min(temporal.longest, TRIED // table.hold):
            raise CogmapError(
                f"tau_max={temporal.tau_max} exceeds the episodes of {self.name}, which end after "
                f"{table.longest} decisions at most; lower --tau-max, or leave it at auto."
            )
        if temporal.tied == "auto":
            temporal = replace(temporal, tied=False)  # what swings does not swing back alike
        if temporal.steps == 0:
            temporal = replace(temporal, steps=UPDATES)
        planning = settings.planning
        unsure = table.chance or linger < LINGER  # the shortest way may not be the surest
        if unsure and planning == Planning():
            planning = replace(PAPER, planner="pap")
        elif table.momentum and planning == Planning():  # far along one action it would fly off
            planning = replace(planning, radii=RADII)
        settled = replace(settings, exploration=exploration, temporal=temporal, planning=planning)
        return replace(world, linger=linger), settled

    def without_fixed(
        self, fixed: np.ndarray, *, seed: int, tell: Callable[[str], None]
    ) -> GymWorld:
        """The same world without the numbers that an episode begins with and cannot change."""
        episode = max(limit_of(self.env) or 0, SHORT_EPISODE)
        shorter = replace(self, episode=episode)
        names = ", ".join(n for n, never in zip(self.observation_names, fixed) if never)
        tell(
            f"{names} never change within an episode: recorded in episodes of {episode} steps, to "
            "see many of them, and taken out of what the models see."
        )
        return replace(shorter, context=context_of(shorter, seed=seed))

    def check_told(self, steps: int) -> None:
        """Raises for what is wrong without a look at the world's behaviour."""
        if self.hold < 0 or self.hold > self.episode // 2:
            raise CogmapError(
                f"hold={self.hold}; give 1 to {self.episode // 2} steps, half an episode, or auto."
            )
        least = 2 * max(1, self.hold)
        if steps < least:
            raise CogmapError(f"walk_steps={steps}; give at least {least}, two decisions.")
        _ = self.action_size, self.observation_names
        for words in (self.goal, self.start):
            if words is not None:
                check_goal(words, self.observation_names)

    def check(self, settings: Exploration, *, tau_max: int) -> None:
        longest = min(settings.steps // 2, self.episode)  # two environments at least, side by side
        if tau_max >= longest // self.hold:
            raise CogmapError(
                f"tau_max={tau_max} exceeds an episode of {longest // self.hold} decisions "
                f"({longest} steps, {self.hold} each); lower --tau-max or --hold, or raise "
                "--walk-steps."
            )

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
        """Random actions serve for both: their pairs and their transitions are the same rows."""
        if not (folder / "meta.json").exists():
            record(
                self,
                folder,
                steps=settings.steps,
                each=self.episode,
                seed=seed,
                progress=bars(f"random actions in {self.name}", "part"),
            )
        if not (folder / "held-out" / "meta.json").exists():
            steps = max(2 * self.episode, settings.steps // 20)
            record(self, folder / "held-out", steps=steps, each=self.episode, seed=seed + HELD_OUT)
        data = Trajectories.load(folder)
        return pairs or data, transitions or data

    def random_actions(self, rng: np.random.Generator, count: int) -> np.ndarray:
        return random_actions(self.acting, rng, count)

    def candidates(self, settings: Planning, *, radii: tuple[int, ...], hold: int) -> Candidates:
        if self.hold % hold:
            raise CogmapError(
                f"this dynamics holds actions for {hold} steps; a decision lasts {self.hold}."
            )
        return Candidates(choices(self.acting, settings.directions), radii, self.hold // hold)

    def tasks(
        self, name: str | None, *, episodes: int | None, budget: int | None, seed: int
    ) -> TaskSet:
        """Resets of their own seeds, towards the world's goal, its own goals, or seen places."""
        check_tasks_wanted(episodes=episodes, budget=budget)
        if name not in (None, "reset"):
            raise CogmapError(f"tasks {name!r}; a Gymnasium world has only its resets.")
        seeds = np.random.default_rng(check_seed(seed)).integers(1 << 31, size=episodes or 50)
        tasks = [Task(f"reset{k}", (float(value),), ()) for k, value in enumerate(seeds)]
        return TaskSet("reset", tasks, budget or limit_of(self.env) or BUDGET, seed)

    def begin(self, tasks: Sequence[Task]) -> GymRun:
        if self.seen is None:
            raise CogmapError(
                f"{self.name}: goals are chosen from what was seen; load a run of it."
            )
        return GymRun(self, tasks, self.seen)


def power_below(limit: int) -> int:
    """The largest power of two that is no larger."""
    return 1 << max(0, limit.bit_length() - 1)
