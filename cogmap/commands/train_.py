"""cogmap train: explore, learn the temporal model, learn the local dynamics."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import torch
from tqdm import tqdm

from cogmap import devices, runs
from cogmap.agent import maze_as_json, maze_of
from cogmap.cli import Physics, Train
from cogmap.data.sampling import Episodes
from cogmap.data.trajectories import Trajectories
from cogmap.dynamics.settings import DynamicsTraining
from cogmap.dynamics.train import train_dynamics
from cogmap.envs.album import Album
from cogmap.envs.maze import Maze
from cogmap.envs.pointmaze import STEPS_PER_UNIT, PointMaze
from cogmap.errors import CogmapError, check_seed
from cogmap.explore.collect import collect_actions, collect_walk, split_steps
from cogmap.explore.walks import coverage_mask
from cogmap.progress import Progress
from cogmap.temporal.model import TemporalModel
from cogmap.temporal.settings import TemporalTraining
from cogmap.temporal.train import train_temporal

STEPS_PER_EPISODE = 1000  # of random actions: long enough to wander, many enough to cover


def run(settings: Train) -> None:
    folder = train_run(settings)
    print(f"trained -> {folder}")
    if maze_of(runs.read_json(folder / "config.json")) is not None:
        print(f"next: cogmap evaluate {folder}")


def train_run(settings: Train, *, quiet: bool = False) -> Path:
    """Makes or continues a run folder; every part that is already there is kept."""
    folder, settings, maze = _resolve(settings)
    bar = _no_bar if quiet else _bar
    if settings.data is None and not quiet:
        print(f"exploring: a walk of {settings.walk_steps:,} steps")
    walk = _walk(folder, settings, maze)
    actions = _actions(folder, settings, maze, walk, bar)
    if settings.observation == "image":
        assert maze is not None
        album = Album.of(maze, folder / "data" / "album", progress=bar("pictures", "picture"))
        walk, actions = album.walked(walk, seed=settings.seed), album.acted(actions)
    model = train_temporal(
        walk,
        _temporal(settings),
        folder / "temporal",
        seed=settings.seed,
        device=settings.device,
        progress=bar("temporal model", "step"),
    )
    train_dynamics(
        looked_at(actions, model),
        settings.dynamics,
        folder / "dynamics",
        seed=settings.seed,
        device=settings.device,
        progress=bar("local dynamics", "step"),
    )
    return folder


def looked_at(data: Trajectories, model: TemporalModel) -> Trajectories:
    """The same rows as the model's looks, which local dynamics speaks of; states are their own."""
    if model.eye is None:
        return data
    pictures = data.distinct()[0]
    device = next(model.parameters()).device
    parts = []
    with torch.no_grad():
        for begin in range(0, len(pictures), 256):
            some = torch.as_tensor(np.array(pictures[begin : begin + 256]), device=device)
            parts.append(model.look(some).cpu().numpy())
    looks = np.concatenate(parts)
    if data.index is not None:
        looks = looks[data.index]
    return dataclasses.replace(data, table=None, index=None, observations=looks)


def _bar(what: str, unit: str) -> Progress:
    return lambda steps: tqdm(steps, desc=what, unit=unit)


def _no_bar(what: str, unit: str) -> Progress:
    return iter


def _check(settings: Train, maze: Maze | None) -> None:
    """Everything that can be wrong with the data, before anything is written."""
    devices.pick(settings.device)
    check_seed(settings.seed)
    if settings.observation == "image" and settings.data is not None:
        raise CogmapError("--observation image explores a maze; leave --data out.")
    if settings.data is None:
        if maze is None:
            raise CogmapError("give --maze to explore, or --data to train on.")
        split_steps(settings.walk_steps, 1)
        split_steps(settings.action_steps, 1)
        if settings.tau_max > settings.walk_steps:
            raise CogmapError(
                f"tau_max={settings.tau_max} exceeds the walk ({settings.walk_steps} steps); "
                "raise --walk-steps or lower --tau-max."
            )
        coverage_mask(maze.lattice, settings.coverage, np.random.default_rng(0))
        PointMaze(maze, physics=settings.physics).physics()
        return
    walk = Trajectories.load(settings.data)
    walk.check_finite()
    Episodes(walk).check_horizon(settings.tau_max)
    if settings.dynamics_data is not None:
        actions = Trajectories.load(settings.dynamics_data)
        actions.check_finite()
        if actions.observation_shape != walk.observation_shape:
            raise CogmapError(
                f"observations of shape {actions.observation_shape} for the dynamics, "
                f"{walk.observation_shape} for the temporal model; give data of one world."
            )
    elif maze is None and (walk.actions is None or not walk.controls):
        raise CogmapError(
            f"{settings.data} has no actions to learn local dynamics from; "
            "give --dynamics-data, or --maze to try actions in."
        )
    if maze is not None and walk.observation_shape != (2,):
        raise CogmapError(
            f"{settings.data} holds observations of shape {walk.observation_shape}; "
            "a point maze shows (2,). Leave --maze out, or give data of the maze."
        )


def _resolve(settings: Train) -> tuple[Path, Train, Maze | None]:
    """The run's folder, its settings, and its maze; a new run writes config.json first."""
    if settings.resume is not None:
        config = runs.read_json(settings.resume / "config.json")
        return settings.resume, _from_config(config, settings.resume), maze_of(config)
    if settings.out is None:
        raise CogmapError("give --out, the run folder to write (or --resume to continue one).")
    if (settings.out / "config.json").exists():
        raise CogmapError(
            f"{settings.out} holds a run already; continue it with --resume {settings.out}, "
            "or choose another --out."
        )
    if settings.config is not None:
        stored = runs.read_json(settings.config)
        given = _from_config(stored, settings.config)
        settings = dataclasses.replace(given, out=settings.out, seed=settings.seed, config=None)
        maze = maze_of(stored)
    else:
        maze = None if settings.maze is None else Maze.load(settings.maze)
    _check(settings, maze)
    values = dataclasses.asdict(settings)
    values |= {name: str(v) for name, v in values.items() if isinstance(v, Path)}
    values["maze"] = None if maze is None else maze_as_json(maze)
    for name in ("out", "resume", "config"):
        del values[name]
    assert settings.out is not None
    runs.write_json(settings.out / "config.json", {"format": 1, **values})
    return settings.out, settings, maze


def _from_config(config: Any, where: Path) -> Train:
    if not isinstance(config, dict) or config.get("format") != 1:
        raise CogmapError(f"{where} holds no training settings of this version; train a new run.")
    values = {k: v for k, v in config.items() if k not in ("format", "maze")}
    values["dynamics"] = runs.settings_from(
        DynamicsTraining, values.get("dynamics", {}), where=f"{where}, dynamics"
    )
    for name in ("data", "dynamics_data"):
        values[name] = None if values.get(name) is None else Path(values[name])
    return runs.settings_from(Train, values, where=str(where))


def _temporal(settings: Train) -> TemporalTraining:
    values = {field.name: getattr(settings, field.name) for field in fields(TemporalTraining)}
    return TemporalTraining(**values)


def _walk(folder: Path, settings: Train, maze: Maze | None) -> Trajectories:
    if settings.data is not None:
        return Trajectories.load(settings.data)
    assert maze is not None
    kept = folder / "data" / "walk"
    if not (kept / "meta.json").exists():
        collect_walk(
            maze, steps=settings.walk_steps, seed=settings.seed, coverage=settings.coverage
        ).save(kept)
    return Trajectories.load(kept)


def _actions(
    folder: Path,
    settings: Train,
    maze: Maze | None,
    walk: Trajectories,
    bar: Callable[[str, str], Progress],
) -> Trajectories:
    """Transitions with actions: those given, those of the data, or fresh ones from the maze."""
    if settings.dynamics_data is not None:
        return Trajectories.load(settings.dynamics_data)
    if walk.actions is not None and walk.controls:
        return walk
    assert maze is not None
    kept = folder / "data" / "actions"
    if not (kept / "meta.json").exists():
        record_actions(
            maze,
            steps=settings.action_steps,
            seed=settings.seed,
            physics=settings.physics,
            coverage=settings.coverage,
            progress=bar("random actions", "row"),
        ).save(kept)
    return Trajectories.load(kept)


def record_actions(
    maze: Maze,
    *,
    steps: int,
    seed: int,
    physics: Physics = "mujoco",
    coverage: float = 1.0,
    progress: Progress = iter,
) -> Trajectories:
    """Random actions, each held for one unit, in episodes from random starts."""
    return collect_actions(
        maze,
        PointMaze(maze, physics=physics).physics(),
        steps=steps,
        seed=seed,
        episodes=max(1, steps // STEPS_PER_EPISODE),
        hold=STEPS_PER_UNIT,
        coverage=coverage,
        progress=progress,
    )
