"""cogmap explore"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np
from tqdm import tqdm

from cogmap.cli import Explore
from cogmap.envs.album import Album
from cogmap.envs.maze import Maze
from cogmap.envs.pointmaze import PointMaze
from cogmap.explore.collect import collect_actions, collect_walk
from cogmap.runs import check_new_folder


def _bar(what: str, unit: str) -> Callable[[Iterable], Iterable]:
    return lambda rows: tqdm(rows, desc=what, unit=unit)


def run(settings: Explore) -> None:
    maze = Maze.load(settings.maze)
    check_new_folder(settings.out)
    if settings.walk == "lattice":
        data = collect_walk(
            maze,
            steps=settings.steps,
            seed=settings.seed,
            episodes=settings.episodes,
            coverage=settings.coverage,
        )
    else:
        data = collect_actions(
            maze,
            PointMaze(maze, physics=settings.physics).physics(),
            steps=settings.steps,
            seed=settings.seed,
            episodes=settings.episodes,
            hold=settings.hold,
            coverage=settings.coverage,
            progress=_bar("exploring", "step"),
        )
    if settings.observation == "image":
        with tempfile.TemporaryDirectory() as folder:
            album = Album.of(maze, Path(folder), progress=_bar("pictures", "picture"))
            walked = settings.walk == "lattice"
            seen = album.walked(data, seed=settings.seed) if walked else album.acted(data)
            assert seen.index is not None
            rows, index = np.unique(seen.index, return_inverse=True)  # pictures that were seen
            data = replace(seen, table=album.pictures[rows], index=index.astype(np.int32))
            data.save(settings.out)
    else:
        data.save(settings.out)
    print(f"{len(data):,} rows in {len(data.episode_starts)} episodes -> {settings.out}")
