"""The paper's tables and figures on state mazes, as grids of trainings and measurements (Sec. 4).

A study is a function of a Scale to tasks. Tasks that several studies share, the models, have one
name and one folder, so they are trained once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any

from cogmap.devices import Device
from cogmap.dynamics.settings import DynamicsTraining
from cogmap.planning.objective import OUR_RADII
from cogmap.reproduce import work
from cogmap.reproduce.grid import Task

MAZES = ("large", "giant")
STRANGERS = ("tree", "rooms", "corridor", "arena", "twenty")  # mazes that nothing was tuned on
ACTIONS = {"large": 200_000, "giant": 2_000_000}  # of five simulator steps: 1M and 10M transitions
SETS = ("official", "random")
LONGEST = tuple(2**k for k in range(4, 14))  # tau_max of Fig. 2
WALKS = {"0.1M": 100_000, "0.4M": 400_000, "1M": 1_000_000}
COVERAGES = {"c=0.25": 0.25, "c=0.50": 0.5, "c=0.75": 0.75}
BETAS = ("gp", "beta=0.001", "beta=0.01", "beta=0.1", "beta=1", "beta=10", "pap")
GAMMAS = (0.9, 0.97, 0.99, 0.997, 0.999)


@dataclass(frozen=True)
class Scale:
    """How much of a study to run, and where."""

    seeds: int = 3  # training seeds 0, 1, ...
    device: Device = "auto"
    runs: Path = Path("runs/reproduce")  # folder of the trained models
    mazes: tuple[str, ...] = MAZES
    strangers: tuple[str, ...] = STRANGERS
    train: dict[str, Any] = field(default_factory=dict)  # settings that differ from the defaults
    actions: int | None = None  # random actions of each maze; None: ACTIONS
    episodes: int | None = None  # of each task; None: 20 official, 1 of each pair
    sweep_episodes: int = 5  # of each official task where many settings are swept
    budget: int | None = None  # simulator steps; None: the protocol's

    def shrunk(self) -> Scale:
        """The same with sizes for a test: every part runs, no number means anything."""
        small: dict[str, Any] = {"walk_steps": 20_000, "steps": 4, "tau_max": 64, "pairs": 2048}
        small |= {"width": 32, "dynamics": DynamicsTraining(steps=20)}
        return Scale(
            seeds=min(self.seeds, 2),
            device=self.device,
            runs=self.runs,
            mazes=("large",),
            strangers=("corridor",),
            train=small,
            actions=2000,
            episodes=1,
            sweep_episodes=1,
            budget=20,
        )


def maze_file(name: str) -> str:
    """The name of one of OGBench's mazes, or the file of one of ours."""
    if name in MAZES:
        return name
    return str(resources.files("cogmap.evaluation").joinpath(f"mazes/{name}.txt"))


def trained(scale: Scale, maze: str, kind: str, seed: int, **settings: Any) -> Task:
    """A model. Official mazes share the paper's many actions; a stranger's has the defaults."""
    needs: tuple[Task, ...] = ()
    settings = {"maze": maze_file(maze), "seed": seed, "device": scale.device} | settings
    if maze in MAZES:
        steps = scale.actions or ACTIONS[maze]
        folder = scale.runs / f"actions-{maze}"
        arguments = {"folder": folder, "maze": maze, "steps": steps}
        needs = (Task(f"actions-{maze}", work.actions, arguments),)
        settings["dynamics_data"] = folder
    elif scale.actions is not None:
        settings["action_steps"] = scale.actions
    name = f"{maze}-{kind}-{seed}"
    arguments = {"folder": scale.runs / name, "settings": settings | scale.train}
    return Task(name, work.model, arguments, needs)


def ours(scale: Scale, maze: str, seed: int) -> Task:
    return trained(scale, maze, "ours", seed)


def papers(scale: Scale, maze: str, seed: int) -> Task:
    """The paper's loss (Eq. 5), log-uniform horizons."""
    return trained(scale, maze, "nce", seed, loss="nce", horizons="log")


def seeing(scale: Scale, maze: str, seed: int) -> Task:
    """Our recipe on pictures instead of positions."""
    return trained(scale, maze, "image", seed, observation="image")


def planned(
    scale: Scale, of: Task, planner: str, tasks: str, *, tag: str = "", **settings: Any
) -> Task:
    """A planner of a model on a task set."""
    cell = "/".join(part for part in (of.name, planner, tasks, tag) if part)
    settings = {"episodes": scale.episodes, "budget": scale.budget} | settings
    arguments = {"folder": of.arguments["folder"], "planner": planner, "device": scale.device}
    return Task(cell, work.plan, arguments | {"tasks": tasks} | settings, (of,), measures=True)


def swept(scale: Scale, of: Task, planner: str, *, tag: str, **settings: Any) -> Task:
    """One point of a sweep: official tasks, fewer episodes of each."""
    few = scale.sweep_episodes
    return planned(scale, of, planner, "official", tag=tag, episodes=few, **settings)


def both_losses(scale: Scale, name: str, call: Callable) -> list[Task]:
    """One measurement of every model of ours and of the paper's loss."""
    tasks = []
    for maze in scale.mazes:
        for seed in range(scale.seeds):
            for of in (ours(scale, maze, seed), papers(scale, maze, seed)):
                arguments = {"folder": of.arguments["folder"], "device": scale.device}
                tasks.append(Task(f"{of.name}/{name}", call, arguments, (of,), measures=True))
    return tasks


def references(scale: Scale, maze: str, tasks: str) -> list[Task]:
    """Floor and ceiling."""
    arguments: dict[str, Any] = {"maze": maze_file(maze), "tasks": tasks}
    arguments |= {"episodes": scale.episodes, "budget": scale.budget}
    return [
        Task(f"{maze}/{which}/{tasks}", work.reference, arguments | {"which": which}, measures=True)
        for which in ("random", "oracle")
    ]


def maze_state(scale: Scale) -> list[Task]:
    """Table 1A: ours, GP and PAP as the paper has them, floor and ceiling; strangers' mazes."""
    tasks: list[Task] = []
    for maze in scale.mazes:
        for kind in SETS:
            tasks += references(scale, maze, kind)
            for seed in range(scale.seeds):
                tasks.append(planned(scale, ours(scale, maze, seed), "log", kind))
    for maze in scale.strangers:
        model = trained(scale, maze, "ours", 0)
        tasks += [*references(scale, maze, "random"), planned(scale, model, "log", "random")]
    for maze in scale.mazes:
        for kind in SETS:
            for seed in range(scale.seeds):
                model = papers(scale, maze, seed)
                tasks += [planned(scale, model, planner, kind) for planner in ("gp", "pap")]
    return tasks


def maze_vision(scale: Scale) -> list[Task]:
    """Table 1B: ours from pictures of the grid, fewer with the camera's own; floor and ceiling."""
    tasks: list[Task] = []
    for maze in scale.mazes:
        for kind in SETS:
            tasks += references(scale, maze, kind)
        for seed in range(scale.seeds):
            model = seeing(scale, maze, seed)
            for kind in SETS:
                tasks.append(planned(scale, model, "log", kind, tag="grid", pictures="grid"))
            tasks.append(swept(scale, model, "log", tag="camera"))
            tasks.append(planned(scale, model, "log", "random", tag="camera"))
    return tasks


def horizons(scale: Scale) -> list[Task]:
    """Fig. 2: success against the longest horizon."""
    longest = scale.train.get("tau_max", LONGEST[-1])
    return [
        swept(scale, model, planner, tag=f"tau_max={tau_max}", tau_max=tau_max)
        for maze in scale.mazes
        for seed in range(scale.seeds)
        for model, planner in (
            (ours(scale, maze, seed), "log"),
            (papers(scale, maze, seed), "gp"),
            (papers(scale, maze, seed), "pap"),
        )
        for tau_max in LONGEST
        if tau_max <= longest
    ]


def data(scale: Scale) -> list[Task]:
    """Table 2: shorter walks, and walks in a part of the maze."""
    tasks = []
    for maze in scale.mazes:
        for seed in range(scale.seeds):
            for name, steps in WALKS.items():
                model = trained(scale, maze, name, seed, walk_steps=steps)
                tasks.append(planned(scale, model, "log", "official"))
            for name, coverage in COVERAGES.items():
                model = trained(scale, maze, name, seed, coverage=coverage)
                tasks.append(planned(scale, model, "log", "official"))
            tasks.append(planned(scale, ours(scale, maze, seed), "log", "official"))
    return tasks


def probes(scale: Scale) -> list[Task]:
    """Table 4: embedding distance against geodesic distance."""
    return both_losses(scale, "probe", work.probe)


def temperature(scale: Scale) -> list[Task]:
    """Success against beta, and against gamma with and without the horizon-zero term."""
    tasks = []
    for maze in scale.mazes:
        for seed in range(scale.seeds):
            model = ours(scale, maze, seed)
            for planner in BETAS:
                tasks.append(swept(scale, model, planner, tag="radii", radii=OUR_RADII))
            for gamma in GAMMAS:
                for zero in (True, False):
                    tag = f"gamma={gamma}" + ("" if zero else "/no zero")
                    settings = {"gamma": gamma, "horizon_zero": zero}
                    tasks.append(swept(scale, model, "geometric", tag=tag, **settings))
            tasks.append(swept(scale, model, "log", tag="default"))
    return tasks


def theory(scale: Scale) -> list[Task]:
    """Learned G against exact G* at each octave, for both losses."""
    return both_losses(scale, "compare", work.compare)


STUDIES: dict[str, Callable[[Scale], list[Task]]] = {
    "maze-state": maze_state,
    "maze-vision": maze_vision,
    "horizons": horizons,
    "data": data,
    "probes": probes,
    "temperature": temperature,
    "theory": theory,
}
