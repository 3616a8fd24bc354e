"""cogmap info"""

from __future__ import annotations

import dataclasses
import importlib.metadata
import json
import os
import platform
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import torch

import cogmap
from cogmap.agent import Agent, load
from cogmap.checks import Checks
from cogmap.cli import Info
from cogmap.config import RunConfig
from cogmap.data.trajectories import Trajectories
from cogmap.envs.world import World
from cogmap.errors import CogmapError
from cogmap.pipeline import CHECKS
from cogmap.rival import MODEL, Rival
from cogmap.words import SHOWN

READ_BY_RIVALS = ("width", "discount", "alpha", "expectile", "subgoal_steps") + (
    "value_goals",
    "actor_goals",
    "learning_rate",
)  # 0 or nothing: the method does without


def run(settings: Info) -> None:
    if settings.folder is None:
        lines = installed()
    elif (settings.folder / "meta.json").exists():
        lines = dataset(settings.folder)
    elif (settings.folder / "config.json").exists():
        lines = model(settings.folder)
    else:
        raise CogmapError(f"{settings.folder} is no run, model or dataset folder.")
    for name, value in lines.items():
        print(f"{name:12} {value}")


def installed() -> dict[str, str]:
    lines = {"cogmap": cogmap.__version__, "python": platform.python_version()}
    for package in ("torch", "numpy", "ogbench", "mujoco", "matplotlib"):
        try:
            lines[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            lines[package] = "not installed"
    lines["devices"] = "cpu" + (", cuda" if torch.cuda.is_available() else "")
    lines["cores"] = str(os.cpu_count())
    return lines


def dataset(folder: Path) -> dict[str, str]:
    data = Trajectories.load(folder)
    lengths = data.episode_lengths
    lines = {"dataset": str(folder), "source": data.source, "rows": f"{len(data):,}"}
    lines["episodes"] = f"{len(lengths):,}, {lengths.min():,} to {lengths.max():,} rows"
    lines["observation"] = str(data.observation_shape)
    if data.table is not None:
        lines["distinct"] = f"{len(data.table):,} observations"
    lines["actions"] = "none" if data.actions is None else f"{data.actions.shape[1]} numbers"
    lines["hold"] = f"{data.hold} simulator steps"
    return lines


def weights(network: object) -> str:
    """How many numbers it has learned; some dynamics learn none."""
    parameters = network.parameters() if isinstance(network, torch.nn.Module) else ()
    return f"{sum(p.numel() for p in parameters):,}"


def told_of(names: Sequence[str], config: RunConfig) -> dict[str, str]:
    """Of a Gymnasium world or a log: what its numbers are called, and where it was led."""
    lines = {} if config.data is None else {"data": str(config.data)}
    if names:
        more = f", ... ({len(names)} in all)" if len(names) > SHOWN else ""
        lines["names"] = ", ".join(names[:SHOWN]) + more
    world = config.world or {}
    lines |= {name: str(world[name]) for name in ("goal", "start") if world.get(name)}
    return lines


def model(folder: Path) -> dict[str, str]:
    """A run of our method or of a rival."""
    agent, config = load(folder, device="cpu"), RunConfig.read(folder / "config.json")
    lines = {"model": str(folder), "world": "none" if agent.world is None else agent.world.name}
    if agent.seen is not None:
        lines |= told_of(agent.seen.names, config)
    lines |= of_a_rival(agent, folder) if isinstance(agent, Rival) else of_ours(agent)
    lines |= {"method": config.method, "settings": config.fingerprint}
    lines |= {name: value for name, value in config.made.items() if value}
    if (checks := Checks.load(folder / CHECKS)) is not None:
        lines["checks"] = ("\n" + " " * 13).join(checks.text())
    return lines | drawn(agent.world)


def drawn(world: World | None) -> dict[str, str]:
    """The map of a maze."""
    if world is None or world.map is None:
        return {}
    return {"map": world.map.maze.text.replace("\n", "\n" + " " * 13)}


def of_a_rival(rival: Rival, folder: Path) -> dict[str, str]:
    """What it learned by, as far as its method reads it, and how long that took."""
    settings = rival.model.settings
    hold = f"{rival.hold} simulator step{'' if rival.hold == 1 else 's'} an action"
    lines = {"policy": f"{weights(rival.model)} weights, {hold}"}
    if (folder / "data" / "meta.json").exists():  # recorded by the run itself, and still there
        data = Trajectories.load(folder / "data")
        lines["rows"] = f"{len(data):,}, {data.source}"
    lines["updates"] = f"{settings.steps:,} of {settings.batch:,} rows"
    told = {name: getattr(settings, name) for name in READ_BY_RIVALS}
    lines["learning"] = ", ".join(
        f"{name} {' '.join(map(str, value)) if isinstance(value, tuple) else value}"
        for name, value in told.items()
        if value
    )
    if (seconds := trained_for(folder / MODEL / "metrics.jsonl")) is not None:
        lines["trained for"] = f"{seconds:,.0f} s"
    return lines


def trained_for(path: Path) -> float | None:
    """Seconds of all reports of a training; each resumption counts from zero. None: no reports."""
    rows = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    seconds = [0.0] + [row["seconds"] for row in rows]
    gains = [now if now < before else now - before for before, now in pairwise(seconds)]
    return sum(gains) if gains else None


def of_ours(agent: Agent) -> dict[str, str]:
    """What it sees, its two models, and how it plans."""
    temporal, dynamics, lines = agent.temporal, agent.dynamics, {}
    if agent.sees:
        height, width, _ = agent.observation_shape
        look = {"keypoints": f"{temporal.config.keypoints} keypoints"}
        look["convolution"] = f"{temporal.config.look_size} numbers"
        seen_as = look.get(temporal.config.encoder, "")
        if agent.sight is not None:
            shape = agent.sight.config
            seen_as = f"{shape.numbers} numbers each, {shape.frames} of them in a state"
        lines["sees"] = f"pictures of {height} x {width}, as {seen_as}"
    lines["temporal"] = (
        f"{weights(temporal)} weights, horizons 1 to "
        f"{temporal.config.tau_max:,}, embeddings of {temporal.config.embedding}"
    )
    lines["dynamics"] = f"{weights(dynamics)} weights, {dynamics.hold} simulator steps an action"
    told = dataclasses.asdict(agent.planning)
    lines["planning"] = ", ".join(f"{name} {value}" for name, value in told.items())
    return lines
