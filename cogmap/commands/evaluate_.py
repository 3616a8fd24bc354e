"""cogmap evaluate"""

from __future__ import annotations

from pathlib import Path

from cogmap import devices, runs
from cogmap.agent import Agent
from cogmap.cli import Evaluate, command_of
from cogmap.commands.worlds import EpisodeBar, planning_for, read_radii, world_for
from cogmap.evaluation.evaluate import Evaluation, evaluate, with_references
from cogmap.report.tables import as_text, result_rows


def run(settings: Evaluate) -> None:
    agent = Agent.load(settings.run, device=settings.device)
    world = world_for(agent, settings)
    for path in (settings.json, settings.results):
        if path is not None:
            runs.check_writable(path)  # before minutes are spent, not after
    result = evaluate(
        agent,
        tasks=settings.tasks,
        planner=planning_for(agent, settings),
        world=world,
        episodes=settings.episodes,
        budget=settings.budget,
        seed=settings.seed,
        tau_max=settings.tau_max,
        radii=read_radii(settings.radii),
        score=settings.score,
        every_horizon=settings.every_horizon,
        report=EpisodeBar(),
    )
    results = with_references(world, result) if settings.references else [result]
    print(as_text(result_rows(results)))
    if settings.json is not None:
        rows = {"model": str(settings.run), **result.summary(), "rows": result.rows()}
        runs.write_json(settings.json, rows)
    if settings.results is not None:
        append_results(
            settings.results,
            results,
            command=command_of(settings, first="run", without=("json", "results")),
        )


def append_results(path: Path, results: list[Evaluation], *, command: str) -> None:
    """One line a result, with the command that repeats it and the hardware it ran on."""
    about = {"commit": runs.commit(), "hardware": devices.hardware(), "command": command}
    for result in results:
        runs.append_line(path, {**result.summary(), **about})
