"""cogmap bench: speed and memory as figures, measured on the machine at hand."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import torch
from tqdm import tqdm

from cogmap import devices, runs
from cogmap.agent import Agent
from cogmap.baselines.train import METHODS
from cogmap.cli import Bench, command_of
from cogmap.data.trajectories import Trajectories
from cogmap.dynamics.model import DynamicsConfig, LocalDynamics
from cogmap.envs.maze import Maze
from cogmap.envs.physics import KinematicPhysics
from cogmap.envs.pointmaze import PointMaze
from cogmap.envs.wandering import collect_actions, collect_walk
from cogmap.envs.world import map_of
from cogmap.planning.objective import IN_VIEW
from cogmap.planning.settings import PAPER, Planning
from cogmap.report import decisions, paper, speed
from cogmap.report.speed import Measured, Training
from cogmap.report.tables import as_text
from cogmap.temporal.settings import UPDATES, TemporalTraining

DEFAULT_MAZE = "giant"
MIB = 2**20


@dataclass(frozen=True)
class Effort:
    """How much to measure."""

    seconds: float  # that each timing may last
    walk_steps: int  # of the data to train on
    episodes: int  # that our planners decide for, one at a time and all at once
    tau_max: int  # longest horizon to plan with, where the model knows it


FULL = Effort(seconds=3.0, walk_steps=1_000_000, episodes=100, tau_max=8192)
QUICK = Effort(seconds=0.3, walk_steps=20_000, episodes=10, tau_max=64)


def run(settings: Bench) -> None:
    device = devices.pick(settings.device)
    agent = None if settings.run is None else Agent.load(settings.run, device=settings.device)
    for path in (settings.json, settings.results):
        if path is not None:
            runs.check_writable(path)  # before a minute is spent, not after
    effort = QUICK if settings.quick else FULL
    if agent is not None and settings.maze is None and without_map(agent):
        world, model = agent.acting_in(None).name, str(settings.run)
        figures = episode_rows(agent, device, effort)
    else:
        agent, maze, model = subject(settings, agent)
        world = PointMaze(maze).name
        figures = measure(agent, maze, TemporalTraining(steps=UPDATES), device, effort)
    rows = list(tqdm(figures, desc="measuring", unit="figure"))
    hardware = devices.hardware(device)
    print(as_text(table(rows)))
    print(f"{world}; decisions with {model}; {hardware}")
    about = {"world": world, "model": model, "hardware": hardware}
    about["command"] = command_of(settings, without=("json", "results"))
    if settings.json is not None:
        runs.write_json(settings.json, {**about, "rows": [asdict(row) for row in rows]})
    if settings.results is not None:
        for row in rows:
            runs.append_line(settings.results, {**asdict(row), **about})


def without_map(agent: Agent) -> bool:
    return agent.world is not None and agent.world.map is None


def episode_rows(agent: Agent, device: torch.device, effort: Effort) -> Iterator[Measured]:
    """In a world without a map: how long decisions take, alone, and those of a whole episode."""
    world = agent.acting_in(None)
    tasks = world.tasks(None, episodes=effort.episodes, budget=None, seed=0)
    running, planner = world.begin(tasks.tasks), agent.planner()
    seen, goals = running.observe(np.arange(len(tasks.tasks))), running.goals
    turns = itertools.cycle(range(len(seen)))

    def decide() -> None:
        k = next(turns)
        planner.decide_many(seen[k : k + 1], goals[k : k + 1])

    seconds = float(np.median(speed.repeated(decide, device, seconds=effort.seconds)))
    yield Measured(f"one decision, {planner.candidates.count} candidates", 1000 * seconds, "ms")
    whole = seconds * tasks.budget / world.hold
    yield Measured(f"the decisions of an episode of {tasks.budget} steps", whole, "s")
    if world.name == "cube-single":
        lewm = paper.LEWM_SECONDS
        yield Measured(
            f"one plan of LeWM on one core, quoted {lewm:.0f} s", lewm / whole, "episodes"
        )


def subject(settings: Bench, agent: Agent | None) -> tuple[Agent | None, Maze, str]:
    """Who decides, where, and in words; None where a model has to be made first."""
    if agent is not None:
        agent.check_positions("cogmap bench")
        world = agent.world
        if settings.maze is not None:
            world = PointMaze(Maze.load(settings.maze))
        agent.planner(world=world)  # a run that cannot plan here is refused now
        return agent, map_of(world, "cogmap bench").maze, str(settings.run)
    maze = Maze.load(settings.maze or DEFAULT_MAZE)
    shipped = Path("models") / f"pointmaze-{maze.name}"
    if (shipped / "config.json").exists():
        agent = Agent.load(shipped, device=settings.device)
        if map_of(agent.world, "cogmap bench").maze.text == maze.text:
            return agent, maze, str(shipped)
    return None, maze, "the model just timed and untrained local dynamics"


def measure(
    agent: Agent | None, maze: Maze, recipe: TemporalTraining, device: torch.device, effort: Effort
) -> Iterator[Measured]:
    """Every figure, in the order of the table."""
    size = 8192 if device.type == "cuda" else 2048
    chip = speed.matrix_rates(device, size=size, seconds=effort.seconds / 3)
    for name, rate in chip.items():
        yield Measured(f"matrix products, {name} rate", rate / 1e12, "TFLOP/s")
    data = collect_walk(maze, steps=effort.walk_steps, seed=speed.SEED)
    ours, temporal = speed.our_training(data, recipe, device, seconds=effort.seconds)
    theirs = speed.literal_training(data, recipe, device, seconds=effort.seconds)
    yield from training_rows(ours, theirs, recipe, chip)
    if device.type == "cpu":
        with speed.busy_neighbour():
            beside, _ = speed.our_training(data, recipe, device, seconds=effort.seconds)
        yield Measured("training, updates beside a busy process", beside.updates, "updates/s")
        kept = beside.updates / ours.updates
        yield Measured("training, pace kept beside a busy process", kept, "share")
    yield memory_row("training", ours.memory, theirs.memory, device)
    if agent is None:
        agent = Agent(temporal, untrained_dynamics(data).to(device), PointMaze(maze))
    yield from decision_rows(agent, maze, device, effort)
    yield from rival_rows(maze, device, effort)
    if device.type == "cuda":
        yield Measured("memory of the process", devices.process_memory() / MIB, "MiB")


def training_rows(
    ours: Training, theirs: Training, recipe: TemporalTraining, chip: dict[str, float]
) -> Iterator[Measured]:
    """Training by the literal pseudo-code, and by our recipe."""
    yield Measured("training, literal", theirs.pairs, "pairs/s", 1.0)
    yield Measured("training, our recipe", ours.pairs, "pairs/s", ours.pairs / theirs.pairs)
    yield Measured("training, updates", ours.updates, "updates/s", ours.updates / theirs.updates)
    minutes = recipe.steps / ours.updates / 60
    yield Measured(f"training, all {recipe.steps:,} updates, extrapolated", minutes, "minutes")
    work = ours.operations / theirs.operations
    yield Measured("training, arithmetic of an update", ours.operations / 1e9, "GFLOP", work)
    pace = ours.operations_rate / theirs.operations_rate
    for name, rate in chip.items():
        share = ours.operations_rate / rate
        yield Measured(f"training, share of the {name} rate", share, "share", pace)


def decision_rows(
    agent: Agent, maze: Maze, device: torch.device, effort: Effort
) -> Iterator[Measured]:
    """Decisions by our planners and by the literal pseudo-code, and what memory they take."""
    world = PointMaze(maze, physics="kinematic")
    tau_max = min(effort.tau_max, agent.temporal.config.tau_max)
    cases = decisions.Cases.draw(maze, count=effort.episodes)
    seconds = effort.seconds
    devices.forget_peak(device)
    alone, together, horizons = {}, {}, {}
    for name, planning in {"paper": PAPER, "default": Planning()}.items():
        planner = agent.planner(planning, world=world, tau_max=tau_max)
        horizons[name] = len(planner.rule.horizons.taus)
        alone[name] = decisions.planned_alone(planner, cases, seconds=seconds)
        together[name] = decisions.planned_together(planner, cases, seconds=seconds)
    usual_memory = devices.peak_memory(device)
    devices.forget_peak(device)
    every = agent.planner(PAPER, world=world, tau_max=tau_max, every_horizon=True)
    alone["every"] = decisions.planned_alone(every, cases, seconds=seconds)
    every_memory = devices.peak_memory(device)
    taus, candidates = every.scorer.taus, every.candidates
    del every  # and with it the embedded bank, gigabytes that the literal version needs too
    devices.forget_peak(device)
    theirs = decisions.literal_alone(agent, candidates, cases, taus, seconds=seconds)
    literal_memory = devices.peak_memory(device)

    names = {
        "every": f"each of {len(taus):,} horizons",
        "paper": f"quadrature, {horizons['paper']} horizons",
        "default": f"the default, {IN_VIEW} of {horizons['default']} horizons",
    }
    yield Measured(f"one decision, literal, {len(taus):,} horizons", theirs.rate, "1/s", 1.0)
    for key, name in names.items():
        yield Measured(
            f"one decision, {name}", alone[key].rate, "1/s", alone[key].rate / theirs.rate
        )
    for key, rate in together.items():
        what = f"{effort.episodes} decisions at once, {names[key]}"
        yield Measured(what, rate, "1/s", rate / theirs.rate)
    for key in ("every", "paper"):
        share, both = decisions.agreement(alone[key], theirs)
        yield Measured(f"same action as literal, {names[key]}", share, f"share of {both}")
    yield memory_row("decisions, quadrature and default", usual_memory, literal_memory, device)
    yield memory_row("decisions, every horizon", every_memory, literal_memory, device)


def rival_rows(maze: Maze, device: torch.device, effort: Effort) -> Iterator[Measured]:
    """How long a million updates of each rival take, as OGBench trains them."""
    physics = KinematicPhysics(maze)
    data = collect_actions(maze, physics, steps=20_000, seed=speed.SEED, episodes=20, hold=1)
    for method in METHODS:
        pace = speed.rival_pace(method, data, device, seconds=effort.seconds)
        yield Measured(f"{method}, updates of OGBench's size", pace, "updates/s")
        hours = 1e6 / pace / 3600
        yield Measured(f"{method}, a million of them (OGBench: 2 to 5, A5000)", hours, "hours")


def memory_row(what: str, ours: int, theirs: int, device: torch.device) -> Measured:
    """A peak. That of a process never falls, so only a CUDA device tells ours from theirs."""
    ratio = ours / theirs if device.type == "cuda" else None
    return Measured(f"memory, {what}", ours / MIB, "MiB", ratio)


def untrained_dynamics(data: Trajectories) -> LocalDynamics:
    """A local model of the right size, which predicts nothing yet."""
    table = torch.as_tensor(data.distinct()[0], dtype=torch.float32)
    config = DynamicsConfig(observation_size=2, action_size=2, hold=data.hold)
    return LocalDynamics(config, low=table.amin(0), high=table.amax(0), reach=torch.ones(2)).eval()


def table(rows: list[Measured]) -> list[list[str]]:
    """A header and one row a figure."""
    lines = [["what", "value", "unit", "times literal"]]
    for row in rows:
        ratio = "" if row.ratio is None else number(row.ratio)
        lines.append([row.what, number(row.value), row.unit, ratio])
    return lines


def number(value: float) -> str:
    """Three digits that count."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
