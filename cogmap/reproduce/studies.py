"""The paper's tables and figures on state mazes, as grids of trainings and measurements (Sec. 4).

A study is a function of a Scale to tasks. Tasks that several studies share, the models, have one
name and one folder, so they are trained once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from importlib import resources
from typing import Any, Literal

from cogmap.config import METHOD
from cogmap.envs.maze import Maze
from cogmap.envs.pointmaze import PointMaze
from cogmap.planning.settings import PAPER, Planning
from cogmap.reproduce import cube, first_person, rivals, work, zoo
from cogmap.reproduce.grid import Job
from cogmap.reproduce.scale import MAZES, Scale

ACTIONS = {"large": 200_000, "giant": 2_000_000}  # of five simulator steps: 1M and 10M transitions
SETS = ("official", "random")
LONGEST = tuple(2**k for k in range(4, 14))  # tau_max of Fig. 2
WALKS = {"0.1M": 100_000, "0.4M": 400_000, "1M": 1_000_000}
COVERAGES: dict[str, dict[str, Any]] = {
    "c=0.25": {"coverage": 0.25},
    "c=0.25-scattered": {"coverage": 0.25, "unexplored": "scattered"},
    "c=0.50": {"coverage": 0.5},
    "c=0.50-scattered": {"coverage": 0.5, "unexplored": "scattered"},
    "c=0.75": {"coverage": 0.75},
    "c=0.75-scattered": {"coverage": 0.75, "unexplored": "scattered"},
}
BETAS = ("gp", "beta=0.001", "beta=0.01", "beta=0.1", "beta=1", "beta=10", "pap")
GP, PAP = Planning(), Planning(planner="pap")
# The paper's rules: every horizon, no memory. Radii as ours, which its text leaves open.
PAPER_GP = replace(PAPER, radii=GP.radii)
PAPER_PAP = replace(PAPER_GP, planner="pap")
# The paper's loss as we read what its text leaves open, one change at a time, and the best reading
# that was found (docs/results.md says how).
PAPER_LOSS: dict[str, Any] = {"loss": "nce", "negatives": 1.0, "horizons": "log"}
PAPER_LOSS |= {"coupling": 300.0, "cycles": 0.1}
PAPER_BEST = PAPER_LOSS | {"coupling": 1.0}
LONGER = 8 / 3  # times as many updates as ours
READINGS: dict[str, dict[str, Any]] = {
    "N = 382, all of the batch": {"negatives": None},
    "beta0 begins as 1": {"coupling": 1.0},
    "Fourier 0.3": {"cycles": 0.3},
    "p(tau) ~ tau^-1/2": {"horizons": "root"},
    "batches of 1,024 pairs": {"batch": 1024},
    "two encoders": {"tied": False},
}
LOOKS: dict[str, Planning] = {
    "judged 1 unit away": PAPER,
    "judged 3 units away": replace(PAPER_GP, radii=(3,)),
    "with memory": replace(PAPER_GP, memory=True),
    "with a view": Planning(memory=False),
    "with both": Planning(),
}

ACTIONS_WALK: dict[str, Any] = {"physics": "kinematic", "exploration": {"walk": "actions"}}
# Our recipe with one part less; those of EVERYWHERE are tried on actions and pictures too.
PARTS: dict[str, dict[str, Any]] = {
    "nothing composed": {"recorded": None},
    "lags up to 64 recorded": {"recorded": 64},
    "two encoders, pairs read one way": {"tied": False},
    "beta0 begins as 1": {"coupling": 1.0},
    "p(tau) log-uniform": {"horizons": "log"},
    "Fourier 0.1": {"cycles": 0.1},
    "the paper's loss": PAPER_LOSS,
}
SIMPLER: dict[str, Planning] = {
    "no memory": Planning(memory=False),
    "every horizon": Planning(view=None),
    "judged 1 unit away": Planning(radii=(1,)),
    "8 directions": Planning(directions=8),
}
EVERYWHERE = ("nothing composed", "two encoders, pairs read one way", "beta0 begins as 1")


def world_of(maze: str, **conditions: Any) -> PointMaze:
    """One of OGBench's mazes, or one of ours, by name."""
    if maze in MAZES:
        return PointMaze(Maze.load(maze), **conditions)
    file = str(resources.files("cogmap.envs").joinpath(f"mazes/{maze}.txt"))
    return PointMaze(Maze.load(file), **conditions)


def trained(
    scale: Scale,
    maze: str,
    variant: str,
    seed: int,
    *,
    observation: Literal["state", "image"] = "state",
    physics: Literal["mujoco", "kinematic"] = "mujoco",
    exploration: dict[str, Any] | None = None,
    temporal: dict[str, Any] | None = None,
) -> Job:
    """A model. Official mazes share the paper's many actions; a stranger's has the defaults."""
    common = scale.settings
    settings = replace(
        common,
        seed=seed,
        exploration=replace(common.exploration, **(exploration or {})),
        temporal=replace(common.temporal, **(temporal or {})),
    )
    name = f"{maze}-{variant}-{seed}"
    needs: tuple[Job, ...] = ()
    world = world_of(maze, observation=observation, physics=physics)
    arguments = {"folder": scale.runs / name, "world": world.describe(), "settings": settings}
    if maze in MAZES and settings.exploration.walk == "lattice":
        actions = {"folder": scale.runs / f"actions-{maze}", "world": world_of(maze).describe()}
        actions["steps"] = scale.actions or ACTIONS[maze]
        needs = (Job(f"actions-{maze}", work.actions, actions),)
        arguments["dynamics_data"] = actions["folder"]
    arguments["device"] = scale.device
    about = {"world": world.name, "method": METHOD, "variant": variant, "train_seed": seed}
    return Job(name, work.model, arguments, needs, about=about)


def ours(scale: Scale, maze: str, seed: int) -> Job:
    return trained(scale, maze, "ours", seed)


def papers(scale: Scale, maze: str, seed: int) -> Job:
    """The paper's loss (Eq. 5) with as many updates as ours."""
    return trained(scale, maze, "paper", seed, temporal=PAPER_LOSS)


def papers_best(scale: Scale, maze: str, seed: int) -> Job:
    """The paper's loss (Eq. 5) in the best reading found, which takes more of them."""
    steps = round(LONGER * scale.settings.temporal.steps)
    return trained(scale, maze, "paper-best", seed, temporal=PAPER_BEST | {"steps": steps})


def seeing(scale: Scale, maze: str, seed: int) -> Job:
    """Our recipe on pictures instead of positions, seen as keypoints."""
    return trained(scale, maze, "image", seed, observation="image")


def convolved(scale: Scale, maze: str, seed: int) -> Job:
    """The same with the general eye, which knows nothing of a background."""
    settings = {"encoder": "convolution"}
    return trained(scale, maze, "convolution", seed, observation="image", temporal=settings)


def wandered(scale: Scale, maze: str, seed: int) -> Job:
    """Our recipe on random actions in place of the lattice walk: no table, no lattice.

    They are recorded in the vectorised stand-in for the simulator: 4M of them in a minute.
    """
    return trained(scale, maze, "actions", seed, **ACTIONS_WALK)


def planned(
    scale: Scale, of: Job, planning: Planning, tasks: str, *, tag: str = "", **settings: Any
) -> Job:
    """A planner of a model on a task set."""
    cell = "/".join(part for part in (of.name, planning.planner, tasks, tag) if part)
    settings = {"episodes": scale.episodes, "budget": scale.budget} | settings
    arguments = {"folder": of.arguments["folder"], "planning": planning, "device": scale.device}
    arguments |= {"tasks": tasks} | settings
    return Job(cell, work.plan, arguments, (of,), measures=True, about=of.about | {"tag": tag})


def swept(scale: Scale, of: Job, planning: Planning, *, tag: str, **settings: Any) -> Job:
    """One point of a sweep: official tasks, fewer episodes of each."""
    few = scale.sweep_episodes
    return planned(scale, of, planning, "official", tag=tag, episodes=few, **settings)


def both_losses(scale: Scale, name: str, call: Callable) -> list[Job]:
    """One measurement of every model of ours and of the paper's loss."""
    tasks = []
    for maze in scale.mazes:
        for seed in range(scale.seeds):
            for of in (ours(scale, maze, seed), papers(scale, maze, seed)):
                arguments = {"folder": of.arguments["folder"], "device": scale.device}
                cell = f"{of.name}/{name}"
                tasks.append(Job(cell, call, arguments, (of,), measures=True, about=of.about))
    return tasks


def references(scale: Scale, maze: str, tasks: str) -> list[Job]:
    """Floor and ceiling."""
    world = world_of(maze)
    arguments: dict[str, Any] = {"world": world.describe(), "tasks": tasks}
    arguments |= {"episodes": scale.episodes, "budget": scale.budget}
    return [
        Job(
            f"{maze}/{which}/{tasks}",
            work.reference,
            arguments | {"which": which},
            measures=True,
            about={"world": world.name, "method": which, "variant": "", "train_seed": None},
        )
        for which in ("random", "oracle")
    ]


def maze_state(scale: Scale) -> list[Job]:
    """Table 1A: ours and the paper's, floor and ceiling; strangers' mazes."""
    tasks: list[Job] = []
    for maze in scale.mazes:
        for kind in SETS:
            tasks += references(scale, maze, kind)
            for seed in range(scale.seeds):
                model = ours(scale, maze, seed)
                tasks += [planned(scale, model, planning, kind) for planning in (GP, PAP)]
    for maze in scale.strangers:
        model = trained(scale, maze, "ours", 0)
        tasks += [*references(scale, maze, "random"), planned(scale, model, GP, "random")]
    for maze in scale.mazes:
        for kind in SETS:
            for seed in range(scale.seeds):
                model = papers_best(scale, maze, seed)
                rules = (PAPER_GP, PAPER_PAP)
                tasks += [planned(scale, model, planning, kind) for planning in rules]
    return tasks


def readings(scale: Scale) -> list[Job]:
    """The paper's loss and GP: what each thing that its text leaves open does alone."""
    tasks = []
    for maze in scale.mazes:
        model = papers(scale, maze, 0)
        best = papers_best(scale, maze, 0)
        tasks.append(swept(scale, best, PAPER_GP, tag="the best reading (Table 1A)"))
        tasks.append(swept(scale, model, PAPER_GP, tag="the base"))
        tasks += [swept(scale, model, planning, tag=name) for name, planning in LOOKS.items()]
        longer = {"four times the updates": {"steps": 4 * scale.settings.temporal.steps}}
        for name, change in (READINGS | longer).items():
            variant = "paper-" + "-".join(f"{key}-{value}" for key, value in change.items())
            other = trained(scale, maze, variant, 0, temporal=PAPER_LOSS | change)
            tasks.append(swept(scale, other, PAPER_GP, tag=name))
    return tasks


def parts(scale: Scale) -> list[Job]:
    """What each part of our recipe is worth: from much data and little, from rows and pictures."""
    tasks = []
    for maze in scale.mazes:
        real = world_of(maze).describe()
        stored = world_of(maze, observation="image", pictures="grid").describe()
        short = {"walk_steps": WALKS["0.1M"]}
        kinds: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
            "4M": ("ours", {}, {}),
            "0.1M": ("0.1M", {"exploration": short}, {}),
            "actions": ("actions", ACTIONS_WALK, {"world": real}),
            "pictures": ("image", {"observation": "image"}, {"world": stored}),
        }
        for kind, (variant, how, where) in kinds.items():
            whole = trained(scale, maze, variant, 0, **how)
            tasks.append(swept(scale, whole, GP, tag=f"all of it; {kind}", **where))
            for name, planning in SIMPLER.items():
                tasks.append(swept(scale, whole, planning, tag=f"{name}; {kind}", **where))
            for name in EVERYWHERE if where else PARTS:
                less = f"{variant}-{name.replace(' ', '-')}"
                model = trained(scale, maze, less, 0, temporal=PARTS[name], **how)
                tasks.append(swept(scale, model, GP, tag=f"{name}; {kind}", **where))
    return tasks


def maze_vision(scale: Scale) -> list[Job]:
    """Table 1B: ours from pictures of the grid, fewer with the camera's own; floor and ceiling."""
    tasks: list[Job] = []
    for maze in scale.mazes:
        stored = world_of(maze, observation="image", pictures="grid").describe()
        for kind in SETS:
            tasks += references(scale, maze, kind)
        for seed in range(scale.seeds):
            for model in (seeing(scale, maze, seed), convolved(scale, maze, seed)):
                for kind in SETS:
                    tasks += [
                        planned(scale, model, planning, kind, tag="grid", world=stored)
                        for planning in (GP, PAP)
                    ]
            model = seeing(scale, maze, seed)
            tasks.append(swept(scale, model, GP, tag="camera"))
            tasks.append(planned(scale, model, GP, "random", tag="camera"))
    return tasks


def walks(scale: Scale) -> list[Job]:
    """Table 1A's first row again, from data without a lattice."""
    tasks = []
    for maze in scale.mazes:
        real = world_of(maze).describe()  # they were explored in the stand-in
        for kind in SETS:
            for seed in range(scale.seeds):
                model = wandered(scale, maze, seed)
                tasks.append(planned(scale, model, GP, kind, world=real))
    return tasks


def horizons(scale: Scale) -> list[Job]:
    """Fig. 2: success against the longest horizon."""
    longest = scale.settings.temporal.longest
    return [
        swept(scale, model, planning, tag=f"tau_max={tau_max}", tau_max=tau_max)
        for maze in scale.mazes
        for seed in range(scale.seeds)
        for model, planning in (
            (ours(scale, maze, seed), GP),
            (papers(scale, maze, seed), PAPER_GP),
            (papers(scale, maze, seed), PAPER_PAP),
        )
        for tau_max in LONGEST
        if tau_max <= longest
    ]


def data(scale: Scale) -> list[Job]:
    """Table 2: shorter walks, and walks in a part of the maze."""
    tasks = []
    for maze in scale.mazes:
        for seed in range(scale.seeds):
            for name, steps in WALKS.items():
                model = trained(scale, maze, name, seed, exploration={"walk_steps": steps})
                tasks.append(planned(scale, model, GP, "official"))
            for name, part in COVERAGES.items():
                model = trained(scale, maze, name, seed, exploration=part)
                tasks.append(swept(scale, model, GP, tag="", ends=True))
            tasks.append(planned(scale, ours(scale, maze, seed), GP, "official"))
    return tasks


def probes(scale: Scale) -> list[Job]:
    """Table 4: embedding distance against geodesic distance."""
    return both_losses(scale, "probe", work.probe)


def temperature(scale: Scale) -> list[Job]:
    """Success against beta, over the horizons in view and over all of them."""
    tasks = []
    for maze in scale.mazes:
        for seed in range(scale.seeds):
            model = ours(scale, maze, seed)
            for view, tag in ((GP.view, "in view"), (None, "every horizon")):
                for planner in BETAS:
                    planning = Planning(planner=planner, view=view)
                    tasks.append(swept(scale, model, planning, tag=tag))
    return tasks


def theory(scale: Scale) -> list[Job]:
    """Learned G against exact G* at each octave, for both losses."""
    return both_losses(scale, "compare", work.compare)


STUDIES: dict[str, Callable[[Scale], list[Job]]] = {
    "maze-state": maze_state,
    "readings": readings,
    "parts": parts,
    "maze-vision": maze_vision,
    "horizons": horizons,
    "data": data,
    "probes": probes,
    "temperature": temperature,
    "theory": theory,
    "walks": walks,
    "gym": zoo.gym,
    "cube": cube.cube,
    "cube-pictures": cube.cube_pictures,
    "rivals": rivals.rivals,
    "first-person": first_person.first_person,
}
