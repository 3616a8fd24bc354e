"""cogmap explore"""

from __future__ import annotations

from tqdm import tqdm

from cogmap.cli import Explore
from cogmap.envs.maze import Maze
from cogmap.envs.pointmaze import PointMaze
from cogmap.explore.collect import collect_actions, collect_walk
from cogmap.runs import check_new_folder


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
            progress=lambda rows: tqdm(rows, desc="exploring", unit="step"),
        )
    data.save(settings.out)
    print(f"{len(data):,} rows in {len(data.episode_starts)} episodes -> {settings.out}")
