"""cogmap train"""

from __future__ import annotations

import dataclasses
from pathlib import Path

from cogmap.cli import Train
from cogmap.commands.worlds import bars
from cogmap.config import RunConfig
from cogmap.envs.kinds import restored
from cogmap.envs.maze import Maze
from cogmap.envs.pointmaze import PointMaze
from cogmap.envs.world import World
from cogmap.errors import CogmapError
from cogmap.pipeline import resume, train
from cogmap.settings import RunSettings


def run(settings: Train) -> None:
    if settings.resume is not None:
        agent, folder = resume(settings.resume, bars=bars), settings.resume
    elif settings.out is None:
        raise CogmapError("give --out, the run folder to write (or --resume to continue one).")
    else:
        folder = settings.out
        world, run_settings, data, dynamics_data = wanted(settings)
        agent = train(
            world, run_settings, folder, data=data, dynamics_data=dynamics_data, bars=bars
        )
    print(f"trained -> {folder}")
    if agent.world is not None:
        print(f"next: cogmap evaluate {folder}")


def wanted(settings: Train) -> tuple[World | None, RunSettings, Path | None, Path | None]:
    """The world, the settings and the datasets that the flags, or another run's config, name."""
    if settings.config is not None:
        stored = RunConfig.read(settings.config)
        given = dataclasses.replace(stored.settings, seed=settings.seed)
        return restored(stored.world), given, stored.data, stored.dynamics_data
    if settings.observation == "image" and settings.data is not None:
        raise CogmapError("--observation image explores a maze; leave --data out.")
    world: World | None = None
    if settings.maze is not None:
        world = PointMaze(
            Maze.load(settings.maze), physics=settings.physics, observation=settings.observation
        )
    given = RunSettings(
        exploration=settings.exploration,
        temporal=settings.temporal,
        dynamics=settings.dynamics,
        planning=settings.planning,
        seed=settings.seed,
        device=settings.device,
    )
    return world, given, settings.data, settings.dynamics_data
