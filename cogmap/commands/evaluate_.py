"""cogmap evaluate"""

from __future__ import annotations

from pathlib import Path

from tqdm import tqdm

from cogmap import devices, runs
from cogmap.agent import Agent
from cogmap.cli import Choice, Evaluate, command_of
from cogmap.envs.maze import Maze
from cogmap.envs.pointmaze import PointMaze
from cogmap.errors import CogmapError
from cogmap.evaluation.evaluate import Evaluation, ceiling, choose_tasks, evaluate, floor
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
        planner=settings.planner,
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
    results = [result]
    if settings.references:
        tasks = choose_tasks(
            world,
            settings.tasks,
            episodes=settings.episodes,
            budget=settings.budget,
            seed=settings.seed,
        )
        results = [floor(world, tasks), result, ceiling(world, tasks)]
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


def world_for(agent: Agent, settings: Choice) -> PointMaze:
    maze = None if settings.maze is None else Maze.load(settings.maze)
    return agent.world(maze, physics=settings.physics, pictures=settings.pictures)


def read_radii(text: str | None) -> tuple[int, ...] | None:
    if text is None:
        return None
    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError:
        raise CogmapError(f"radii {text!r}; give whole numbers as 1,2,3,4,6.") from None


class EpisodeBar:
    """A progress bar of finished episodes, drawn once there is something to show."""

    def __init__(self) -> None:
        self._bar: tqdm | None = None

    def __call__(self, finished: int, episodes: int) -> None:
        if self._bar is None:
            self._bar = tqdm(desc="planning", unit="episode", total=episodes)
        if finished > self._bar.n:
            self._bar.update(finished - self._bar.n)
        if finished == episodes:
            self._bar.close()


def append_results(path: Path, results: list[Evaluation], *, command: str) -> None:
    """One line a result, with the command that repeats it and the hardware it ran on."""
    about = {"hardware": devices.hardware(), "command": command}
    for result in results:
        runs.append_line(path, {**result.summary(), **about})
