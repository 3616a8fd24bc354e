"""cogmap evaluate"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from cogmap import devices, runs
from cogmap.agent import load
from cogmap.cli import Evaluate, command_of
from cogmap.commands.worlds import EpisodeBar, planning_for, warn_of_goal, world_for
from cogmap.config import RunConfig, fingerprint
from cogmap.errors import CogmapError
from cogmap.evaluation.evaluate import Evaluation, evaluate, with_references
from cogmap.report.tables import as_text, result_rows


def run(settings: Evaluate) -> None:
    agent = load(settings.run, device=settings.device)
    world = world_for(agent, settings)
    told = settings.goal, settings.start, settings.stay
    if world.map is not None and any(value is not None for value in told):
        raise CogmapError(
            "--goal, --start and --stay are for Gymnasium worlds; a maze has --tasks."
        )
    warn_of_goal(agent, world)
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
            run=settings.run,
            command=command_of(settings, first="run", without=("json", "results")),
        )


def append_results(path: Path, results: list[Evaluation], *, run: Path, command: str) -> None:
    """One line a result, with its model, a hash of all its settings, and how to repeat it."""
    config = RunConfig.read(run / "config.json")
    here = {"commit": runs.commit(), "hardware": devices.hardware()}
    for result in results:
        trained: dict[str, Any] = {"train_seed": None}
        if result.method == config.method:
            trained = {"train_seed": config.settings.seed, "model": config.fingerprint}
            trained |= {"trained_on": config.made.get("hardware")}
            trained |= {"training_commit": config.made.get("commit")}
        settings = {"settings": fingerprint([result.told(), trained.get("model")])}
        row = result.summary() | trained | here | settings | {"command": command}
        runs.append_line(path, row)
