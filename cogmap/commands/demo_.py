"""cogmap demo: the whole method once, on a CPU, in a few minutes."""

from __future__ import annotations

import time

from cogmap import pipeline, runs
from cogmap.cli import Demo
from cogmap.commands.evaluate_ import append_results
from cogmap.commands.worlds import EpisodeBar, bars
from cogmap.envs.maze import Maze
from cogmap.envs.pointmaze import PointMaze
from cogmap.evaluation.evaluate import evaluate, with_references
from cogmap.report.routes import save_routes
from cogmap.report.tables import as_text, result_rows
from cogmap.settings import RunSettings
from cogmap.temporal.settings import TemporalTraining


def run(settings: Demo) -> None:
    began = time.perf_counter()
    world = PointMaze(Maze.load(settings.maze))
    if (settings.out / "config.json").exists():
        agent = pipeline.resume(settings.out, bars=bars)
    else:
        wanted = RunSettings(
            temporal=TemporalTraining(steps=settings.steps),
            seed=settings.seed,
            device=settings.device,
        )
        agent = pipeline.train(world, wanted, settings.out, bars=bars)
    result = evaluate(agent, world=world, seed=settings.seed, report=EpisodeBar())
    results = with_references(world, result)
    print(as_text(result_rows(results)))
    append_results(settings.out / "results.jsonl", results, run=settings.out, command="cogmap demo")

    first = {episode.task.name: episode for episode in reversed(result.episodes)}
    groups = [(name, [first[name]]) for name in sorted(first)][:6]
    picture = settings.out / "routes.png"
    save_routes(world.maze, groups, picture, tau_max=agent.temporal.config.tau_max)
    minutes = (time.perf_counter() - began) / 60
    runs.append_line(
        settings.out / "results.jsonl", {"command": "cogmap demo", "minutes": round(minutes, 2)}
    )
    print(f"{minutes:.1f} minutes. Routes coloured by horizon -> {picture}")
