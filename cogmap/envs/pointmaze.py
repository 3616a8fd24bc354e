"""OGBench's PointMaze, and any maze drawn in a text file, as a world (Sec. 4.1)."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np

from cogmap.data.trajectories import Trajectories
from cogmap.envs.album import Album
from cogmap.envs.camera import SIZE, Camera, check_camera
from cogmap.envs.guided import collect_navigate
from cogmap.envs.maze import GOAL_RADIUS, Maze
from cogmap.envs.maze_map import MazeMap
from cogmap.envs.physics import STEP_LENGTH, KinematicPhysics, MujocoPhysics, Physics
from cogmap.envs.tasks import choose_tasks
from cogmap.envs.wandering import collect_actions, collect_walk, explorable
from cogmap.envs.world import Moved, Task, TaskSet
from cogmap.errors import CogmapError
from cogmap.explore.settings import Exploration
from cogmap.explore.walks import split_steps
from cogmap.planning.candidates import Candidates, directions
from cogmap.planning.settings import Planning
from cogmap.progress import Bars, Progress
from cogmap.settings import RunSettings
from cogmap.temporal.settings import TAU_MAX, UPDATES

WALK_STEPS = 4_000_000  # Sec. 4.1
STEPS_PER_UNIT = round(MazeMap.unit / STEP_LENGTH)  # five simulator steps
LEAST_ACTIONS, ACTIONS_PER_STATE = 100_000, 50
STEPS_PER_EPISODE = 1000  # of random actions: long enough to wander, many enough to cover
STEPS_OF_RIVALS = 50_000  # of an episode; Sec. 4.1: 20 episodes for the baselines
STEPS_PER_WALK = 10_000  # of random actions that pairs are drawn from: longer than any horizon


@dataclass(frozen=True, eq=False)
class PointMaze:
    """One maze, what moves the agent in it, and what the agent sees."""

    KIND = "pointmaze"

    maze: Maze
    physics: Literal["mujoco", "kinematic"] = "mujoco"
    observation: Literal["state", "image"] = "state"
    PICTURES = ("camera", "grid")  # taken where it stands, or the nearest known
    pictures: Literal["camera", "grid"] = "camera"

    @property
    def name(self) -> str:
        return f"{self.KIND}-{self.maze.name}"

    @property
    def observation_shape(self) -> tuple[int, ...]:
        return (2,) if self.observation == "state" else (SIZE, SIZE, 3)

    @property
    def action_size(self) -> int:
        return 2

    @property
    def hold(self) -> int:
        return STEPS_PER_UNIT

    @cached_property
    def map(self) -> MazeMap:
        known = self.observation == "image" and Album.packaged(self.maze) is not None
        quick = dataclasses.replace(self, pictures="grid") if known else self
        return MazeMap(
            self.maze, quick.observe, lambda: dataclasses.replace(self, observation="state")
        )

    def describe(self) -> dict[str, Any]:
        return {
            "kind": self.KIND,
            "maze": {"name": self.maze.name, "rows": self.maze.text.splitlines()},
            "physics": self.physics,
            "observation": self.observation,
            "pictures": self.pictures,
        }

    def conditions(self) -> dict[str, Any]:
        seen = {"physics": self.physics, "observation": self.observation}
        return seen | ({"pictures": self.pictures} if self.observation == "image" else {})

    @classmethod
    def restored(cls, description: dict[str, Any]) -> PointMaze:
        drawn = description["maze"]
        return cls(
            Maze.from_text("\n".join(drawn["rows"]), name=drawn["name"]),
            physics=description["physics"],
            observation=description["observation"],
            pictures=description.get("pictures", "camera"),
        )

    def simulator(self) -> Physics:
        """A fresh one."""
        if self.physics == "kinematic":
            return KinematicPhysics(self.maze)
        return MujocoPhysics(self.maze)

    @cached_property
    def _camera(self) -> Camera:
        return Camera(self.maze)

    @cached_property
    def _grid(self) -> Album:
        album = Album.packaged(self.maze)
        if album is None:
            raise CogmapError(f"the package has no pictures of {self.maze.name}; use the camera.")
        return album

    def observe(self, positions: np.ndarray) -> np.ndarray:
        """What is seen at each position. (E, 2) -> (E, 2), or pictures (E, 64, 64, 3)"""
        if self.observation == "state":
            return positions
        if self.pictures == "grid":
            return self._grid.seen(positions)
        return self._camera.pictures(positions)

    def settled(
        self, settings: RunSettings, *, tell: Callable[[str], None]
    ) -> tuple[PointMaze, RunSettings]:
        """The paper's walk and horizons; a lattice walk is as likely backwards."""
        exploration, temporal = settings.exploration, settings.temporal
        if exploration.walk_steps == "auto":
            exploration = replace(exploration, walk_steps=WALK_STEPS)
        if temporal.tau_max == "auto":
            temporal = replace(temporal, tau_max=TAU_MAX)
        if temporal.tied == "auto":
            temporal = replace(temporal, tied=True)
        if temporal.steps == 0:
            temporal = replace(temporal, steps=UPDATES)
        return self, replace(settings, exploration=exploration, temporal=temporal)

    def check(self, settings: Exploration, *, tau_max: int) -> None:
        split_steps(settings.steps, 1)
        split_steps(action_steps(settings, self.maze), 1)
        if tau_max > settings.steps:
            raise CogmapError(
                f"tau_max={tau_max} exceeds the walk ({settings.steps} steps); "
                "raise --walk-steps or lower --tau-max."
            )
        if settings.walk == "actions" and tau_max > STEPS_PER_WALK:
            raise CogmapError(
                f"tau_max={tau_max} exceeds an episode of random actions ({STEPS_PER_WALK} steps); "
                "lower --tau-max, or give --walk lattice."
            )
        explorable(self.maze, settings.coverage, settings.unexplored, np.random.default_rng(0))
        self.simulator()
        if self.observation == "image" and Album.packaged(self.maze) is None:
            check_camera(self.maze)  # said now, not after minutes of wandering

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
        """Transitions that are given may be positions where the world shows pictures."""
        walk = pairs
        if walk is None:
            walk = self._walked(settings, folder / "walk", seed=seed, bars=bars)
        if transitions is None and walk.controls and walk.actions is not None:
            transitions = walk
        elif transitions is None:
            transitions = self._acted(settings, folder / "actions", seed=seed, bars=bars)
        if self.observation == "image":
            album = Album.of(self.maze, folder / "album", progress=bars("pictures", "picture"))
            if transitions.observation_shape == (2,):
                transitions = album.acted(transitions)
            if walk.observation_shape == (2,):
                walk = album.acted(walk) if walk.controls else album.walked(walk, seed=seed)
        return walk, transitions

    def _walked(
        self, settings: Exploration, folder: Path, *, seed: int, bars: Bars
    ) -> Trajectories:
        if not (folder / "meta.json").exists():
            steps = settings.steps
            if settings.walk == "lattice":
                walk = collect_walk(
                    self.maze,
                    steps=steps,
                    seed=seed,
                    coverage=settings.coverage,
                    unexplored=settings.unexplored,
                )
            else:
                bar = bars("random walk", "row")
                walk = self._wander(settings, steps, STEPS_PER_WALK, seed, bar)
            walk.save(folder)
        return Trajectories.load(folder)

    def _acted(self, settings: Exploration, folder: Path, *, seed: int, bars: Bars) -> Trajectories:
        if not (folder / "meta.json").exists():
            bar = bars("random actions", "row")
            steps = action_steps(settings, self.maze)
            self._wander(settings, steps, STEPS_PER_EPISODE, seed, bar).save(folder)
        return Trajectories.load(folder)

    def _wander(
        self, settings: Exploration, steps: int, each: int, seed: int, progress: Progress
    ) -> Trajectories:
        """Random actions, each held for one unit, in episodes of `each` from random starts."""
        return collect_actions(
            self.maze,
            self.simulator(),
            steps=steps,
            seed=seed,
            episodes=max(1, steps // each),
            hold=STEPS_PER_UNIT,
            coverage=settings.coverage,
            unexplored=settings.unexplored,
            progress=progress,
        )

    def walked(self, walk: str, rows: int, folder: Path, *, seed: int, bars: Bars) -> Trajectories:
        """Uniform actions of one simulator step each, the lattice walk, or led by an oracle."""
        if not (folder / "meta.json").exists():
            if walk == "lattice":
                data = collect_walk(self.maze, steps=rows, seed=seed)
            elif walk == "navigate":
                bar = bars("navigating", "step")
                data = collect_navigate(
                    self.maze, self.simulator(), rows=rows, seed=seed, progress=bar
                )
            else:
                data = collect_actions(
                    self.maze,
                    self.simulator(),
                    steps=rows,
                    seed=seed,
                    episodes=max(1, rows // STEPS_OF_RIVALS),
                    hold=1,
                    progress=bars("random actions", "step"),
                )
            data.save(folder)
        return Trajectories.load(folder)

    def random_actions(self, rng: np.random.Generator, count: int) -> np.ndarray:
        return rng.uniform(-1.0, 1.0, size=(count, self.action_size))

    def candidates(self, settings: Planning, *, radii: tuple[int, ...], hold: int) -> Candidates:
        if STEPS_PER_UNIT % hold:
            raise CogmapError(
                f"this dynamics holds actions for {hold} simulator steps; "
                f"planning needs a divisor of {STEPS_PER_UNIT}."
            )
        return Candidates(directions(settings.directions), radii, STEPS_PER_UNIT // hold)

    def tasks(
        self,
        name: str | None,
        *,
        episodes: int | None = None,
        budget: int | None = None,
        seed: int = 0,
    ) -> TaskSet:
        return choose_tasks(self.map, name, episodes=episodes, budget=budget, seed=seed)

    def begin(self, tasks: Sequence[Task]) -> MazeRun:
        return MazeRun(self, tasks)


class MazeRun:
    """Episodes in one maze, moved by one simulator."""

    stayed = None

    def __init__(self, world: PointMaze, tasks: Sequence[Task]) -> None:
        self._world, self._tasks = world, tasks
        self.places = np.array([task.start for task in tasks], dtype=np.float64)  # (E, 2)
        self._targets = np.array([task.goal for task in tasks], dtype=np.float64)
        self.goals = world.observe(self._targets)
        self._physics = world.simulator()
        self._physics.reset(self.places)
        self.succeeded = np.linalg.norm(self.places - self._targets, axis=1) <= GOAL_RADIUS

    @property
    def finished(self) -> np.ndarray:
        return self.succeeded

    def observe(self, which: np.ndarray) -> np.ndarray:
        return self._world.observe(self.places[which])

    def act(self, which: np.ndarray, actions: np.ndarray, steps: int) -> Moved:
        every = np.zeros_like(self.places)
        every[which] = actions
        active = np.zeros(len(every), dtype=bool)
        active[which] = True
        path = self._physics.hold(every, steps, active)[which]  # (n, steps, 2)
        inside = np.linalg.norm(path - self._targets[which, None], axis=2) <= GOAL_RADIUS
        reached = inside.any(axis=1)
        taken = np.where(reached, inside.argmax(axis=1) + 1, steps)  # success ends the episode
        way = np.concatenate([self.places[which, None], path], axis=1)  # (n, steps + 1, 2)
        strides = np.linalg.norm(np.diff(way, axis=1), axis=2)  # (n, steps)
        length = np.array([part[:end].sum() for part, end in zip(strides, taken, strict=True)])
        self.succeeded[which] = reached
        self.places[which] = way[np.arange(len(which)), taken]
        return Moved(taken, length)

    def shortest(self) -> np.ndarray:
        return np.array(
            [
                self._world.map.shortest(np.array(task.start), np.array(task.goal))
                for task in self._tasks
            ]
        )


def action_steps(settings: Exploration, maze: Maze) -> int:
    """As many as were asked for, or enough to try every part of the maze."""
    if settings.action_steps == "auto":
        return max(LEAST_ACTIONS, ACTIONS_PER_STATE * len(maze.lattice))
    return settings.action_steps
