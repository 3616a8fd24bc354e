"""cogmap demo: the whole method once, on a CPU, in a few minutes."""

from __future__ import annotations

import time

from cogmap import runs
from cogmap.agent import Agent
from cogmap.cli import Demo, Train
from cogmap.commands.evaluate_ import EpisodeBar, append_results
from cogmap.commands.train_ import train_run
from cogmap.evaluation.evaluate import ceiling, choose_tasks, evaluate, floor
from cogmap.report.routes import save_routes
from cogmap.report.tables import as_text, result_rows


def run(settings: Demo) -> None:
    began = time.perf_counter()
    train = Train(
        maze=settings.maze,
        out=settings.out,
        steps=settings.steps,
        seed=settings.seed,
        device=settings.device,
    )
    if (settings.out / "config.json").exists():
        train = Train(resume=settings.out)
    train_run(train)

    agent = Agent.load(settings.out, device=settings.device)
    world = agent.world()
    tasks = choose_tasks(world, None, seed=settings.seed)
    result = evaluate(agent, world=world, tasks=tasks.name, seed=settings.seed, report=EpisodeBar())
    results = [floor(world, tasks), result, ceiling(world, tasks)]
    print(as_text(result_rows(results)))
    append_results(settings.out / "results.jsonl", results, command="cogmap demo")

    first = {episode.task.name: episode for episode in reversed(result.episodes)}
    groups = [(name, [first[name]]) for name in sorted(first)][:6]
    picture = settings.out / "routes.png"
    save_routes(world.maze, groups, picture, tau_max=agent.temporal.config.tau_max)
    minutes = (time.perf_counter() - began) / 60
    runs.append_line(
        settings.out / "results.jsonl", {"command": "cogmap demo", "minutes": round(minutes, 2)}
    )
    print(f"{minutes:.1f} minutes. Routes coloured by horizon -> {picture}")
