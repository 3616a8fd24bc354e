"""cogmap explore"""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np

from cogmap.cli import Explore
from cogmap.commands.worlds import bars
from cogmap.data.trajectories import Trajectories
from cogmap.envs.album import Album
from cogmap.envs.camera import SIZE, check_camera
from cogmap.envs.guided import collect_navigate
from cogmap.envs.maze import Maze
from cogmap.envs.pointmaze import PointMaze
from cogmap.envs.wandering import collect_actions, collect_walk
from cogmap.errors import CogmapError
from cogmap.runs import check_new_folder


def run(settings: Explore) -> None:
    if settings.world is not None:
        handle(settings)
        return
    if settings.maze is None:
        raise CogmapError("give --maze, or --world.")
    if settings.size != Explore(out=settings.out).size:
        raise CogmapError(f"--size is for cube-single; a maze is drawn at {SIZE} pixels a side.")
    maze = Maze.load(settings.maze)
    check_new_folder(settings.out)
    if settings.observation == "image" and Album.packaged(maze) is None:
        check_camera(maze)  # before minutes are spent, not after
    data = wander(maze, settings)
    if settings.observation == "state":
        data.save(settings.out)
    else:
        with tempfile.TemporaryDirectory() as folder:
            album = Album.of(maze, Path(folder), progress=bars("pictures", "picture"))
            seen = seen_rows(data, album, settings)
            seen.save(settings.out)
    print(f"{len(data):,} rows in {len(data.episode_starts)} episodes -> {settings.out}")


def handle(settings: Explore) -> None:
    """Episodes of the cube's oracle; an interrupted recording goes on where it stopped."""
    from cogmap.envs.arm import ogbench_cube
    from cogmap.envs.handling import record

    if settings.maze is not None:
        raise CogmapError("give --maze or --world, not both.")
    usual = Explore(out=settings.out)
    for name in ("walk", "steps", "coverage", "unexplored", "hold", "physics"):
        if getattr(settings, name) != getattr(usual, name):
            raise CogmapError(f"--{name} is for mazes; cube-single has --policy and --episodes.")
    if (settings.out / "meta.json").exists():
        raise CogmapError(f"{settings.out} holds a dataset already; choose another --out.")
    ogbench_cube()
    if settings.size != SIZE and settings.observation == "state":
        raise CogmapError(f"size={settings.size}: states have no pixels; give --observation image.")
    frames = settings.size if settings.observation == "image" else 0
    episodes = {settings.policy: settings.episodes}
    bar = bars("episodes of the oracle", "part")
    record(settings.out, episodes, seed=settings.seed, frames=frames, progress=bar)
    data = Trajectories.load(settings.out)
    print(f"{len(data):,} rows in {len(data.episode_starts)} episodes -> {settings.out}")


def wander(maze: Maze, settings: Explore) -> Trajectories:
    """Positions along the paper's lattice walk, or under random actions in the simulator."""
    if settings.walk == "lattice":
        return collect_walk(
            maze,
            steps=settings.steps,
            seed=settings.seed,
            episodes=settings.episodes,
            coverage=settings.coverage,
            unexplored=settings.unexplored,
        )
    if settings.walk == "navigate":
        return navigated(maze, settings)
    return collect_actions(
        maze,
        PointMaze(maze, physics=settings.physics).simulator(),
        steps=settings.steps,
        seed=settings.seed,
        episodes=settings.episodes,
        hold=settings.hold,
        coverage=settings.coverage,
        unexplored=settings.unexplored,
        progress=bars("exploring", "step"),
    )


def navigated(maze: Maze, settings: Explore) -> Trajectories:
    """Led by OGBench's oracle, in its episodes."""
    usual = Explore(out=settings.out)
    for name in ("episodes", "coverage", "unexplored", "hold"):
        if getattr(settings, name) != getattr(usual, name):
            raise CogmapError(f"--{name}: navigate data is as OGBench records it; leave it out.")
    physics = PointMaze(maze, physics=settings.physics).simulator()
    bar = bars("navigating", "step")
    return collect_navigate(maze, physics, rows=settings.steps, seed=settings.seed, progress=bar)


def seen_rows(data: Trajectories, album: Album, settings: Explore) -> Trajectories:
    """The same rows as pictures, of which only those that were seen are kept."""
    walked = settings.walk == "lattice"
    seen = album.walked(data, seed=settings.seed) if walked else album.acted(data)
    assert seen.index is not None
    rows, index = np.unique(seen.index, return_inverse=True)
    return replace(seen, table=album.pictures[rows], index=index.astype(np.int32))
