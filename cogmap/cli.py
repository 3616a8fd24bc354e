"""The command line: arguments only. Each command's body is imported when it runs."""

from __future__ import annotations

import importlib
import re
import sys
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import tyro

from cogmap.baselines.settings import MethodName, RivalTraining
from cogmap.choices import Device, Shown, Unexplored
from cogmap.dynamics.settings import DynamicsTraining
from cogmap.errors import CogmapError
from cogmap.explore.settings import Exploration
from cogmap.planning.settings import Planning
from cogmap.sight.settings import SightTraining
from cogmap.temporal.settings import TemporalTraining

Physics = Literal["mujoco", "kinematic"]
ArmName = Literal["cube-single"]
SceneName = Literal["apartment-1", "van-gogh"]
WorldName = ArmName | SceneName
T = TypeVar("T")
Run = Annotated[Path, tyro.conf.Positional]
Unprefixed = Annotated[T, tyro.conf.arg(name="")]  # --steps, not --temporal.steps
Figure = Literal[
    "fields",
    "embeddings",
    "embeddings-3d",
    "routes",
    "frames",
    "first-person",
    "first-person-continuous",
    "exact",
    "law",
    "horizons",
    "data",
    "two-rooms",
]


@dataclass(frozen=True, kw_only=True)
class Explore:
    """Wander in a maze without a goal, or watch an oracle handle a cube; recorded as a dataset."""

    maze: str | None = None
    """large, giant, medium, or a text file of '#' and '.'."""
    world: ArmName | None = None
    """Instead of a maze: an arm and a cube, handled by OGBench's oracle."""
    out: Path
    """Folder to write."""
    policy: Literal["expert", "noisy"] = "expert"
    """In cube-single: the oracle, or the same with one action in ten a random one."""
    walk: Literal["lattice", "actions", "navigate"] = "lattice"
    """The paper's lattice walk, uniform random actions in the simulator, or OGBench's navigate
    data, which an oracle leads from goal to goal."""
    observation: Literal["state", "image"] = "state"
    """Positions, or 64 x 64 pictures from OGBench's overhead camera."""
    size: Literal[64, 224] = 64
    """In cube-single: pixels on a side of a picture. Ours are learned from 64; others ask for 224,
    of which an episode takes 30 MB."""
    steps: int = 1_000_000
    """Transitions to record."""
    episodes: int = 1
    """Episodes to divide them into; in cube-single, to record, each of 200 steps."""
    coverage: float = 1.0
    """Share c of the maze that the walk may enter, in (0, 1]."""
    unexplored: Unexplored = "far"
    """What a coverage below 1 leaves out: all far from one random place, or cells here and there.
    Cells leave the rest in one piece: where there are no loops, only dead ends can go."""
    hold: int = 5
    """Simulator steps that each random action lasts."""
    seed: int = 0
    """Source of all randomness."""
    physics: Physics = "mujoco"
    """OGBench's simulator, or a stand-in for hosts without it."""


@dataclass(frozen=True, kw_only=True)
class Import:
    """Read someone else's data: .npz, HDF5, a folder of .npy arrays, or a Minari dataset."""

    source: Annotated[Path, tyro.conf.Positional]
    """A .npz or .hdf5 file, a folder with observations.npy and maybe actions.npy, terminals.npy,
    next_observations.npy, or the name or folder of a Minari dataset on this machine."""
    out: Path
    """Folder to write."""
    hold: int | None = None
    """Simulator steps between two rows; by default 1, or what `cogmap export` wrote down."""


@dataclass(frozen=True, kw_only=True)
class Export:
    """Write a dataset for others to read: as a Minari dataset."""

    dataset: Annotated[Path, tyro.conf.Positional]
    """A dataset folder of `cogmap explore` or `cogmap import`."""
    minari: str
    """Name to give it, as mine/walk-v0."""
    path: Path | None = None
    """Folder of Minari datasets to write it in; by default Minari's own on this machine."""


@dataclass(frozen=True, kw_only=True)
class Train:
    """Explore a world (or take data), then learn the temporal model and the local dynamics."""

    maze: str | None = None
    """large, giant, medium, or a text file of '#' and '.'."""
    world: WorldName | None = None
    """Instead of a maze: an arm that is to bring a cube where it was seen (docs/cube.md), or a
    building seen in the first person (docs/first-person.md)."""
    scenes: Path | None = None
    """Folder of Habitat's test scenes, for such a building; by default COGMAP_SCENES says it."""
    simulator: Literal["habitat"] | None = None
    """What shows such a building: a habitat-sim of your own. By default none is needed."""
    navmesh: Path | None = None
    """Instead of a maze a building of your own in the first person: the floor, a .navmesh file."""
    glb: Path | None = None
    """What is seen there, a .glb file; by default walls that are made up."""
    label: str | None = None
    """What it is called beside every number; by default as its file."""
    up: Literal["auto", "y", "z"] = "auto"
    """Which axis of the .glb file is up; auto: that with which it stands above the floor."""
    beside: Shown = "position"
    """What the agent is shown beside its view in the first person; position-alone: where it is, and
    no view."""
    env: str | None = None
    """Instead of a maze a Gymnasium environment: a registered id, or module:Class."""
    env_package: str | None = None
    """A package to import first, for the ids that it registers."""
    env_kwargs: str | None = None
    """Arguments of the environment, as JSON."""
    hold: int | Literal["auto"] = "auto"
    """Environment steps that one decision lasts; auto: chosen by short trials."""
    names: str | None = None
    """Of an observation's numbers, separated by commas, to speak of goals with; else x0, x1, ..."""
    goal: str | None = None
    """Where `cogmap evaluate` leads to: NAME=VALUE, NAME>=VALUE, NAME=LOW..HIGH (by commas), an
    observation's numbers, a .npy file of them, or module:function. Default: places that were seen,
    or the environment's own goals."""
    start: str | None = None
    """How its episodes begin: the same words; resets are drawn until one does."""
    stay: bool = False
    """Whether its episodes go on at the goal, to see whether it is held."""
    out: Path | None = None
    """Run folder to write."""
    observation: Literal["state", "image", "first-person"] = "state"
    """What is seen when exploring: positions, 64 x 64 pictures, or, of a maze, views from within
    it (docs/first-person.md)."""
    physics: Physics = "mujoco"
    """What the random actions run in."""
    data: Path | None = None
    """Train on this dataset instead of exploring."""
    dynamics_data: Path | None = None
    """Train the local dynamics on this dataset; by default on --data if it has actions."""
    method: Literal["cogmap"] | MethodName = "cogmap"
    """What to learn: our models, or a rival's policy and value (docs/rivals.md)."""
    resume: Path | None = None
    """Continue the run in this folder with its own settings."""
    config: Path | None = None
    """Take all settings from another run's config.json; only --out and --seed are read here."""
    seed: int = 0
    """The run's only source of randomness."""
    device: Device = "auto"
    """Where to train."""
    track: Literal["tensorboard"] | None = None
    """Also write the metrics for TensorBoard, into the run folder (extra [track])."""
    exploration: Unprefixed[Exploration] = field(default_factory=Exploration)
    """What to record."""
    sight: SightTraining = field(default_factory=SightTraining)
    """How to learn to see, where one picture does not tell the state."""
    temporal: Unprefixed[TemporalTraining] = field(default_factory=TemporalTraining)
    """How to learn the temporal model."""
    dynamics: DynamicsTraining = field(default_factory=DynamicsTraining)
    """How to learn the local dynamics."""
    planning: Planning = field(default_factory=Planning)
    """How to plan with the run, unless `cogmap evaluate` is told otherwise."""
    rival: RivalTraining = field(default_factory=RivalTraining)
    """How to train a rival."""


@dataclass(frozen=True, kw_only=True)
class Choice:
    """How to plan. What is left out is as the run's config.json has it."""

    planner: str | None = None
    """gp, pap, or beta=NUMBER; as in the paper with --view None --radii 1 --memory False."""
    view: Literal["own"] | float | None = "own"
    """Horizons to ask: up to the shortest with G >= -view nats; None: all; own: the run's."""
    tau_max: int | None = None
    """Longest horizon to plan with; by default the model's."""
    radii: str | None = None
    """Units along a candidate at which it is judged, as 1,2,3,4,6."""
    directions: int | None = None
    """Candidate actions of each decision."""
    recalled: int | None = None
    """Candidates recalled from recorded states that are like the present one; 0: none."""
    memory: bool | None = None
    """Whether places that were seen before come last."""
    score: Literal["learned", "exact"] = "learned"
    """exact: the true score of the lattice walk, the ceiling of any learned one."""
    every_horizon: bool = False
    """Sum over each integer horizon instead of a quadrature; with --view None."""
    maze: str | None = None
    """Act in this maze instead of the run's own."""
    physics: Physics = "mujoco"
    """What the episodes run in."""
    protocol: Literal["lattice", "continuous"] = "lattice"
    """continuous, in a building: 36 directions from any place, 0.75 m a decision, and a goal
    reached within 0.3 m (docs/first-person.md)."""
    pictures: Literal["camera", "grid", "quick"] | None = None
    """For a run that sees. In a maze: take a picture at each decision (camera), or look up the
    nearest one (grid, fast). Of an arm: coarsely drawn (quick), or as OGBench draws it (camera)."""
    device: Device = "auto"
    """Where the models run."""


@dataclass(frozen=True, kw_only=True)
class Told:
    """What a Gymnasium world is told; by default what it was told in training."""

    goal: str | None = None
    """In a Gymnasium world: where to go, as in `cogmap train`; by default as the run was told."""
    start: str | None = None
    """How episodes begin there."""
    stay: bool | None = None
    """Whether they go on at the goal, to see whether it is held."""


@dataclass(frozen=True, kw_only=True)
class Evaluate(Told, Choice):
    """Plan a set of tasks in the simulator and report SR and SPL."""

    run: Run
    """A run or model folder."""
    tasks: str | None = None
    """official, random, or a JSON file [{"start": [x, y], "goal": [x, y]}, ...]; in cube-single
    held-out, which is 1,000 pairs, or lewm, which is 50."""
    episodes: int | None = None
    """Episodes of each task; by default 20 official, 1 of each pair, 50 in a Gymnasium world."""
    budget: int | None = None
    """Simulator steps of each episode; by default 1,000 official, 5,000 for pairs."""
    seed: int = 0
    """Source of the start and goal noise."""
    references: bool = False
    """Also run the random policy and the shortest-path oracle."""
    json: Path | None = None
    """Write the result with a row for each episode."""
    results: Path | None = None
    """Append the summary as one line to this .jsonl file."""


@dataclass(frozen=True, kw_only=True)
class Plan(Choice):
    """Plan one route, print its decisions and draw it."""

    run: Run
    """A run or model folder."""
    start: str | None = None
    """x,y in a maze; in a Gymnasium world as in `cogmap train`."""
    goal: str | None = None
    """x,y in a maze; in a Gymnasium world as in `cogmap train`, by default as the run was told."""
    budget: int | None = None
    """Simulator steps; by default 1,000, or the environment's own limit."""
    seed: int = 0
    """Of the reset, in a Gymnasium world."""
    figure: Path | None = None
    """Draw the route to this file, in a building with ten views; in other worlds without a map
    eight frames of the way side by side."""
    video: Path | None = None
    """Write what happened to this .mp4 or .gif, in a Gymnasium world that renders."""


@dataclass(frozen=True, kw_only=True)
class Demo:
    """From a random walk to planned routes in PointMaze Large, in a few minutes on a CPU."""

    out: Path = Path("runs/demo")
    """Run folder to write; an interrupted demo continues where it stopped."""
    maze: str = "large"
    """large, giant, medium, or a text file of '#' and '.'."""
    steps: int = 6000
    """Updates of the temporal model."""
    seed: int = 0
    """Source of all randomness."""
    device: Device = "auto"
    """Where to train and plan."""


@dataclass(frozen=True, kw_only=True)
class Reproduce:
    """Run all that a table or figure of the paper needs, and write it to docs/results.md.

    What is in results/ already is not run again; an interrupted study goes on where it stopped.
    """

    name: Annotated[
        Literal[
            "maze-state",
            "readings",
            "parts",
            "maze-vision",
            "horizons",
            "data",
            "probes",
            "temperature",
            "theory",
            "walks",
            "gym",
            "cube",
            "cube-pictures",
            "rivals",
            "first-person",
        ],
        tyro.conf.Positional,
    ]
    """Table 1A, readings of the paper's loss, Table 1B, Fig. 2, Table 2, Table 4, or three that the
    paper does not have."""
    seeds: int = 3
    """Training seeds, 0 on."""
    workers: int = 1
    """Tasks at a time; each gets its share of the cores."""
    engine: Literal["processes", "ray"] = "processes"
    """Processes on this machine, or a Ray cluster (extra [ray])."""
    device: Device = "auto"
    """Where to train and plan."""
    scenes: Path | None = None
    """Folder of Habitat's test scenes, for first-person; by default COGMAP_SCENES says it."""
    quick: bool = False
    """A small version that only shows that it works; it writes under --runs, not to the docs."""
    runs: Path = Path("runs/reproduce")
    """Folder for the trained models."""
    results: Path = Path("results")
    """Folder of the measured rows."""
    page: Path = Path("docs/results.md")
    """Page to write the table or figure to."""


@dataclass(frozen=True, kw_only=True)
class Bench:
    """Measure training, decisions and memory here, in ratios to the paper's pseudo-code."""

    maze: str | None = None
    """large, giant, medium, or a text file; by default that of --run, else giant."""
    run: Path | None = None
    """Decide with this run or model; by default models/pointmaze-MAZE, else one just made."""
    device: Device = "auto"
    """Where to measure."""
    quick: bool = False
    """A few seconds of short timings over few horizons, to see that it works."""
    json: Path | None = None
    """Write the figures to this file."""
    results: Path | None = None
    """Append each figure as one line to this .jsonl file."""


@dataclass(frozen=True, kw_only=True)
class Figures:
    """Draw the paper's figures of a trained model, each as PDF and PNG.

    Without a run, those that need none are drawn: horizons, data and two-rooms.
    """

    run: Annotated[Path | None, tyro.conf.Positional] = None
    """A run or model folder."""
    out: Path
    """Folder to write."""
    only: tuple[Figure, ...] = ()
    """Draw these alone; by default all."""
    results: Path = Path("results")
    """Folder of the rows that `cogmap reproduce` measured, for horizons and data."""
    physics: Physics = "mujoco"
    """What the routes run in."""
    device: Device = "auto"
    """Where the models run."""


@dataclass(frozen=True, kw_only=True)
class Serve(Told):
    """Open a trained run as a page in the browser: fields, horizons, plans, drawn mazes."""

    run: Run = Path("models/pointmaze-large")
    """A run or model folder."""
    port: int = 8000
    """Where to listen."""
    host: str = "127.0.0.1"
    """Address to listen at; 0.0.0.0 lets other machines in."""
    work: Path = Path("runs/drawn")
    """Folder for mazes that are drawn on the page."""


@dataclass(frozen=True, kw_only=True)
class Report(Told):
    """Write a run as one HTML file that needs no server: scores, planned routes, tables."""

    run: Run
    """A run or model folder."""
    html: Path
    """File to write."""
    planner: str | None = None
    """gp, pap, or beta=NUMBER; by default the run's."""
    tasks: str | None = None
    """official, random, or a JSON file [{"start": [x, y], "goal": [x, y]}, ...]."""
    episodes: int | None = None
    """Episodes of each task; by default 4 official, 1 of each pair, 20 in a Gymnasium world."""
    budget: int | None = None
    """Simulator steps of each episode; by default 1,000 official, 5,000 for pairs, or the
    environment's own limit."""
    seed: int = 0
    """Source of the start and goal noise."""


@dataclass(frozen=True, kw_only=True)
class Info:
    """Say what a run, a model or a dataset holds; without an argument, what is installed."""

    folder: Annotated[Path | None, tyro.conf.Positional] = None
    """A run, model or dataset folder."""


COMMANDS = {
    "explore": Explore,
    "import": Import,
    "export": Export,
    "train": Train,
    "plan": Plan,
    "evaluate": Evaluate,
    "demo": Demo,
    "reproduce": Reproduce,
    "bench": Bench,
    "figures": Figures,
    "serve": Serve,
    "report": Report,
    "info": Info,
}


def parse(arguments: list[str]) -> Any:
    """The settings dataclass that the arguments describe."""
    arguments = _joined_points(arguments)
    return tyro.extras.subcommand_cli_from_dict(
        {name: kind for name, kind in COMMANDS.items()},
        prog="cogmap",
        description="Learning to plan from random exploration.",
        args=arguments,
        sort_subcommands=False,
    )


def command_of(settings: Any, *, first: str | None = None, without: tuple[str, ...] = ()) -> str:
    """What to type for the same settings: the positional field `first`, then what differs."""
    name = next(name for name, kind in COMMANDS.items() if type(settings) is kind)
    words = ["cogmap", name] + ([] if first is None else [str(getattr(settings, first))])
    for setting in fields(settings):
        value = getattr(settings, setting.name)
        if setting.name in (first, *without) or value == setting.default:
            continue
        flag = "--" + setting.name.replace("_", "-")
        words.append(flag if value is True else f"{flag} {value}")
    return " ".join(words)


def _joined_points(arguments: list[str]) -> list[str]:
    """Writes `--goal -1,2` as `--goal=-1,2`: a parser takes the former for an option."""
    joined: list[str] = []
    for argument in arguments:
        if joined and joined[-1] in ("--start", "--goal") and re.match(r"-[\d.]", argument):
            joined[-1] += f"={argument}"
        else:
            joined.append(argument)
    return joined


def main(arguments: list[str] | None = None) -> int:
    """Runs a command. A wrong input prints one line and gives 2; Ctrl-C gives 130."""
    try:
        settings = parse(sys.argv[1:] if arguments is None else arguments)
        name = next(name for name, kind in COMMANDS.items() if type(settings) is kind)
        importlib.import_module(f"cogmap.commands.{name}_").run(settings)
    except CogmapError as error:
        print(f"cogmap: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("cogmap: interrupted; what was written is whole.", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
