"""OGBench's cube-single as a world: an arm that is to bring a cube where it was seen (Sec. 4.1).

Protocol, as LeWM has it: an episode starts in a state of a recorded episode; its goal is what was
seen 25 control steps later; it has 50; and it succeeds once the cube's centre is within 0.04 m of
its place at the goal. Goals are told by the cube's place alone, which is what success asks for: the
28 numbers of a state hold much else that no plan could bring about at once (docs/cube.md).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np

from cogmap.data.trajectories import Trajectories
from cogmap.dynamics.settings import DynamicsTraining
from cogmap.envs.arm import ACTION_SIZE, CENTRE, CUBE, NAMES, SCALE, Arm, ogbench_cube
from cogmap.envs.cube_pairs import BUDGET, Pairs
from cogmap.envs.cube_run import SIZE, CubeRun, Pictures, Replayed
from cogmap.envs.handling import STEPS, Policy, record
from cogmap.envs.world import Task, TaskSet, check_tasks_wanted
from cogmap.errors import CogmapError, check_seed
from cogmap.explore.settings import Exploration
from cogmap.planning.candidates import Candidates
from cogmap.planning.settings import Planning
from cogmap.progress import Bars
from cogmap.settings import RunSettings
from cogmap.words import read

EPISODES = {"state": 2000, "image": 600}  # of 200 control steps; pictures take longer to draw
TAU_MAX, UPDATES = 64, 2500
RECALLED, RADII = 32, (1, 2, 3, 4, 5)
FRAMES, GOAL_NUMBERS = 4, 3  # pictures that a state is made of; numbers that tell a goal in one
# How much each number counts for states to be alike; small differences matter near the cube.
ALIKE = {"gripper_z": 1, "gripper_cos": 2, "gripper_sin": 2, "closed": 1, "contact": 1}
BESIDE = 3.0  # the same of the cube's place, seen from the gripper
CYCLES = {"state": 0.5, "image": 0.3}  # of the local dynamics: no walls
CHECKED, CHECKED_SEED = 20, 1 << 21  # episodes that a run's models are checked on


@dataclass(frozen=True)
class CubeSingle:
    """The arm and its cube behind the World protocol (envs/world.py)."""

    KIND = "cube-single"

    observation: Literal["state", "image"] = "state"  # 28 numbers, or OGBench's 64 x 64 pictures
    goal: str | None = None  # where to take the cube in every episode, in words; None: as recorded
    start: str | None = None
    rendered: bool = False  # whether frames are wanted
    PICTURES = ("quick", "camera")
    pictures: Pictures = "quick"  # how those that are seen are drawn
    map = None
    name = KIND
    action_size = ACTION_SIZE
    hold = 1
    has_goals = True

    @property
    def observation_shape(self) -> tuple[int, ...]:
        return (SIZE, SIZE, 3) if self.observation == "image" else (len(NAMES),)

    @property
    def observation_names(self) -> tuple[str, ...]:
        """Of a state's numbers; pictures have no names."""
        return () if self.observation == "image" else NAMES

    def describe(self) -> dict[str, Any]:
        return {"kind": self.KIND, "observation": self.observation}

    def conditions(self) -> dict[str, Any]:
        told = {"hold": self.hold, "goal": self.goal, "observation": self.observation}
        return told | ({"pictures": self.pictures} if self.observation == "image" else {})

    @classmethod
    def restored(cls, description: dict[str, Any]) -> CubeSingle:
        return cls(
            observation=description.get("observation", "state"),
            pictures=description.get("pictures", "quick"),
        )

    @property
    def likeness(self) -> np.ndarray:
        """What tells states apart in which different things can be done (planning/candidates.py).

        How high and how turned the gripper is, how closed, and where the cube is from it; not where
        on the table.
        """
        rows = [much * np.eye(len(NAMES))[NAMES.index(name)] for name, much in ALIKE.items()]
        beside = rows_of("cube") - rows_of("gripper")
        return np.concatenate([rows, BESIDE * beside]).astype(np.float32)

    @cached_property
    def arm(self) -> Arm:
        """The simulator, made once: it takes a second."""
        return Arm()

    def settled(
        self, settings: RunSettings, *, tell: Callable[[str], None]
    ) -> tuple[CubeSingle, RunSettings]:
        """What moves does not move back alike; goals of states are told by the cube's place."""
        exploration, temporal = settings.exploration, settings.temporal
        if exploration.walk_steps == "auto":
            exploration = replace(exploration, walk_steps=EPISODES[self.observation] * STEPS)
        if temporal.tau_max == "auto":
            temporal = replace(temporal, tau_max=TAU_MAX)
        if temporal.tied == "auto":
            temporal = replace(temporal, tied=False)
        if temporal.recorded == "auto":
            temporal = replace(temporal, recorded=None)
        if temporal.steps == 0:
            temporal = replace(temporal, steps=UPDATES)
        if not temporal.partial and self.observation == "state":
            temporal = replace(temporal, target=tuple(range(CUBE.start, CUBE.stop)))
        if not temporal.partial:
            temporal = replace(temporal, goal_numbers=GOAL_NUMBERS)
        sight, dynamics, planning = settings.sight, settings.dynamics, settings.planning
        if not sight.frames and self.observation == "image":
            sight = replace(sight, frames=FRAMES)
        if dynamics.cycles == DynamicsTraining().cycles:
            dynamics = replace(dynamics, cycles=CYCLES[self.observation])
        ours = {"recalled": RECALLED, "radii": RADII, "memory": False}
        usual = Planning()
        left = {k: v for k, v in ours.items() if getattr(planning, k) == getattr(usual, k)}
        planning = replace(planning, **left)  # type: ignore[arg-type]
        settled = replace(settings, exploration=exploration, sight=sight, temporal=temporal)
        return self, replace(settled, dynamics=dynamics, planning=planning)

    def check(self, settings: Exploration, *, tau_max: int) -> None:
        episodes_of(settings)
        if tau_max > STEPS:
            raise CogmapError(
                f"tau_max={tau_max} exceeds an episode of {STEPS} steps; lower --tau-max."
            )
        if self.observation == "image":
            self.arm.frame(size=SIZE, quick=True)  # a missing GL library is said now
        ogbench_cube()

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
        """The oracle's episodes serve for both models."""
        wanted, frames = episodes_of(settings), SIZE if self.observation == "image" else 0
        if not (folder / "meta.json").exists():
            bar = bars("episodes of the oracle", "part")
            record(folder, wanted, seed=seed, frames=frames, progress=bar)
        if not (folder / "held-out" / "meta.json").exists():
            few: dict[Policy, int] = {
                policy: min(CHECKED, -(-n // 10)) for policy, n in wanted.items() if n
            }
            record(folder / "held-out", few, seed=seed + CHECKED_SEED, frames=frames)
        data = Trajectories.load(folder)
        return pairs or data, transitions or data

    def random_actions(self, rng: np.random.Generator, count: int) -> np.ndarray:
        return rng.uniform(-1.0, 1.0, size=(count, self.action_size))

    def candidates(self, settings: Planning, *, radii: tuple[int, ...], hold: int) -> Candidates:
        """Where none are recalled: actions drawn once, evenly from all."""
        drawn = self.random_actions(np.random.default_rng(0), settings.directions)
        return Candidates(drawn.astype(np.float32), radii)

    def tasks(
        self, name: str | None, *, episodes: int | None, budget: int | None, seed: int
    ) -> TaskSet:
        """held-out: 1,000 pairs of episodes that no training sees; lewm: 50. From number `seed`."""
        check_tasks_wanted(episodes=episodes, budget=budget)
        name = name or "held-out"
        numbers = Pairs.packaged().numbers(name, episodes, first=check_seed(seed))
        tasks = [Task(f"{name}{k}", (float(number),), ()) for k, number in enumerate(numbers)]
        return TaskSet(name, tasks, budget or BUDGET, seed)

    def begin(self, tasks: Sequence[Task]) -> CubeRun:
        if self.goal is not None and self.observation == "image":
            raise CogmapError(f"goal {self.goal!r}: this run sees pictures, which have no words.")
        if self.start is not None:
            raise CogmapError(
                f"start {self.start!r}: episodes of {self.name} begin as recorded ones; choose "
                "which by --seed."
            )
        pairs = Pairs.packaged().some([int(task.start[0]) for task in tasks])
        if self.goal is not None:
            wanted = read(self.goal)
            whole = wanted if isinstance(wanted, np.ndarray) else None
            pairs = pairs.towards(place_of(self.goal, wanted), whole)
        return CubeRun(
            self.arm, pairs, pictures=self.pictures if self.observation == "image" else None
        )

    def undrawn(self) -> CubeSingle:
        """The same for policies that do not look."""
        return replace(self, observation="state")

    def references(self, tasks: Sequence[Task]) -> Mapping[str, Any]:
        """What a success rate must be read beside: doing nothing, and what the oracle did."""
        some = Pairs.packaged().some([int(task.start[0]) for task in tasks])
        still = np.zeros((len(tasks), 1, ACTION_SIZE))
        return {"zero action": Replayed(still), "replay of the record": Replayed(some.actions)}


def place_of(goal: str, wanted: Any) -> np.ndarray:
    """Where the cube is to go, in metres, of words as they were read. -> (3,)

    They name its three numbers, `cube_x=0.5,cube_y=-1,cube_z=0.2`, or are all 28.
    """
    names, place = NAMES[CUBE], None
    if isinstance(wanted, dict) and set(wanted) == set(names):
        place = [wanted[name] for name in names]
    elif isinstance(wanted, np.ndarray) and wanted.shape == (len(NAMES),):
        place = wanted[CUBE].tolist()
    if place is None or any(isinstance(value, tuple) for value in place):
        raise CogmapError(
            f"goal {goal!r:.60}: say where the cube is to go, as {names[0]}=0.5,"
            f"{names[1]}=-1,{names[2]}=0.2 (decimetres from the middle of the table)."
        )
    return CENTRE + np.array(place, dtype=float) / SCALE


def rows_of(what: str) -> np.ndarray:
    """Picks the place of the cube or the gripper out of an observation. -> (3, 28)"""
    return np.eye(len(NAMES))[[NAMES.index(f"{what}_{axis}") for axis in "xyz"]]


def episodes_of(settings: Exploration) -> dict[Policy, int]:
    """How many of each policy: a share of experts among as many episodes as were asked for."""
    episodes, short = divmod(settings.steps, STEPS)
    if short or not episodes:
        raise CogmapError(f"walk_steps={settings.steps}; give a multiple of {STEPS}, an episode.")
    if not 0.0 <= settings.expert <= 1.0:
        raise CogmapError(f"expert={settings.expert}; give a share from 0 to 1.")
    experts = round(settings.expert * episodes)
    return {"expert": experts, "noisy": episodes - experts}
