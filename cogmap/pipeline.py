"""A whole run: explore, learn the temporal model, learn the local dynamics (Alg. 1 and 2)."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch

from cogmap import devices, runs
from cogmap.agent import ALIKE, RECALL, SEEN, SIGHT, Agent
from cogmap.checks import check_run
from cogmap.config import METHOD, RunConfig
from cogmap.data.sampling import Episodes
from cogmap.data.trajectories import Trajectories
from cogmap.dynamics.train import train_dynamics
from cogmap.envs.kinds import restored
from cogmap.envs.world import World
from cogmap.errors import CogmapError
from cogmap.goals import Seen
from cogmap.planning.alike import train_alike
from cogmap.planning.candidates import Recall
from cogmap.progress import Bars, no_bars
from cogmap.settings import RunSettings
from cogmap.sight.train import remembered, train_sight
from cogmap.temporal.batches import check_noise
from cogmap.temporal.model import TemporalModel, check_encoder, check_target
from cogmap.temporal.train import settled, train_temporal
from cogmap.training import Tracker, no_tracker

PICTURES_AT_ONCE = 256
HELD_OUT = 0.05  # of the episodes of a log
CHECKS = "checks.json"  # of a run folder


def train(
    world: World | None,
    settings: RunSettings | None,
    folder: str | Path,
    *,
    data: str | Path | None = None,
    dynamics_data: str | Path | None = None,
    bars: Bars = no_bars,
    tell: Callable[[str], None] = lambda line: None,
    track: Tracker = no_tracker,
) -> Agent:
    """Makes a run folder: explores the world, or takes datasets instead, and learns both models.

    `data` are observations to draw pairs from, `dynamics_data` transitions; each is a dataset
    folder, and takes the place of what the world would record. Without a world both must be
    there, though one dataset with actions serves for both. An interrupted run goes on with
    `resume`. Settings that are left to the world (auto) are decided first; `tell` is told why.
    """
    settings = RunSettings() if settings is None else settings
    folder = Path(folder)
    runs.check_new_run(folder)
    if world is not None:
        world, settings = world.settled(settings, tell=tell)
    elif data is not None:
        temporal = settled(settings.temporal, Trajectories.load(data))
        if temporal.tied == "auto":  # nobody says that the log is as likely backwards
            temporal = dataclasses.replace(temporal, tied=False)
        settings = dataclasses.replace(settings, temporal=temporal)
    described = None if world is None else world.describe()
    config = RunConfig.new(
        settings,
        described,
        data=None if data is None else Path(data),
        dynamics_data=None if dynamics_data is None else Path(dynamics_data),
    )
    check(world, config)
    config.write(folder)
    return _run(world, config, folder, bars, tell, track)


def resume(
    folder: str | Path,
    *,
    world: World | None = None,
    bars: Bars = no_bars,
    tell: Callable[[str], None] = lambda line: None,
    track: Tracker = no_tracker,
) -> Agent:
    """Continues a run with its own settings; every part that is already there is kept.

    `world` is needed for a world that is not one of the package's.
    """
    config = RunConfig.read(Path(folder) / "config.json")
    if config.method != METHOD:
        raise CogmapError(f"{folder} holds a run of {config.method}, not of {METHOD}.")
    here = world or restored(config.world)
    return _run(here, config, Path(folder), bars, tell, track)


def _run(
    world: World | None,
    config: RunConfig,
    folder: Path,
    bars: Bars,
    tell: Callable[[str], None],
    track: Tracker,
) -> Agent:
    settings = config.settings
    pairs, transitions = _experience(world, config, folder / "data", bars)
    held_out = moves = None  # pairs and transitions that are not trained on
    if world is None:
        same = transitions is pairs
        pairs, held_out = pairs.parted(HELD_OUT)
        transitions, moves = (pairs, held_out) if same else transitions.parted(HELD_OUT)
    elif (folder / "data" / "held-out" / "meta.json").exists():
        held_out = moves = Trajectories.load(folder / "data" / "held-out")
    seen = None
    if world is None or world.map is None:  # goals are chosen from what was seen
        seen = Seen.load(folder / SEEN) or Seen.of(
            pairs, getattr(world, "observation_names", ()), getattr(world, "context", None)
        )
        seen.save(folder / SEEN)
    sight, learned = None, settings.temporal
    if settings.sight.frames:
        sight = train_sight(
            pairs,
            settings.sight,
            folder / SIGHT,
            tau_max=settings.temporal.longest,
            seed=settings.seed,
            device=settings.device,
            progress=bars("sight", "step"),
            track=track(SIGHT),
        )
        states = {id(data): remembered(data, sight) for data in (pairs, transitions)}
        pairs, transitions = states[id(pairs)], states[id(transitions)]
        held_out, moves = (data and remembered(data, sight) for data in (held_out, moves))
        learned = dataclasses.replace(learned, target=sight.now)  # a goal is one picture
    temporal = train_temporal(
        pairs,
        learned,
        folder / "temporal",
        seed=settings.seed,
        device=settings.device,
        progress=bars("temporal model", "step"),
        track=track("temporal"),
    )
    moves_seen = looked_at(transitions, temporal)
    recall = None
    if settings.planning.recalled:
        length, own, alike = max(settings.planning.radii), None, None
        if sight is None and temporal.eye is None:
            own = getattr(world, "likeness", None)
        elif sight is not None:
            alike = train_alike(
                moves_seen,
                folder / ALIKE,
                length=length,
                seed=settings.seed,
                device=settings.device,
                progress=bars("likeness", "step"),
                track=track(ALIKE),
            )
        recall = Recall.of(moves_seen, length=length, likeness=own, alike=alike)
        recall.save(folder / RECALL)
    dynamics = train_dynamics(
        moves_seen,
        settings.dynamics,
        folder / "dynamics",
        seed=settings.seed,
        device=settings.device,
        progress=bars("local dynamics", "step"),
        track=track("dynamics"),
    )
    if held_out is not None:
        checks = check_run(
            temporal, dynamics, held_out, moves, names=() if seen is None else seen.kept_names
        )
        checks.save(folder / CHECKS)
        track("held-out")(checks.row(settings.temporal.steps))
        for line in checks.text():
            tell(line)
    here = restored(config.world, seen) or world
    return Agent(temporal, dynamics, here, settings.planning, seen, recall, sight)


def _experience(
    world: World | None, config: RunConfig, folder: Path, bars: Bars
) -> tuple[Trajectories, Trajectories]:
    """Pairs and transitions: those given, and from the world what is missing."""
    pairs = None if config.data is None else Trajectories.load(config.data)
    if config.dynamics_data is not None:
        transitions: Trajectories | None = Trajectories.load(config.dynamics_data)
    else:
        transitions = pairs if pairs is not None and has_transitions(pairs) else None
    if pairs is not None and transitions is not None:
        return pairs, transitions
    if world is None:
        raise CogmapError(
            f"this run explores {(config.world or {}).get('kind', 'a world')}, which is not one of "
            "the package's; give it as `world`."
        )
    return world.explore(
        config.settings.exploration,
        folder,
        seed=config.settings.seed,
        bars=bars,
        pairs=pairs,
        transitions=transitions,
    )


def has_transitions(data: Trajectories) -> bool:
    """Whether local dynamics can be learned from a dataset."""
    return data.actions is not None and data.controls


def looked_at(data: Trajectories, model: TemporalModel) -> Trajectories:
    """The same rows as the model's looks, which local dynamics speaks of; states are their own."""
    if model.eye is None:
        return data
    pictures, index = data.distinct()[0], data.index
    if index is not None:  # a table may hold pictures that nobody saw
        seen, index = np.unique(index, return_inverse=True)
        pictures = pictures[seen]
    chip = next(model.parameters()).device
    parts = []
    with torch.no_grad():
        for begin in range(0, len(pictures), PICTURES_AT_ONCE):
            some = np.array(pictures[begin : begin + PICTURES_AT_ONCE])
            parts.append(model.look(torch.as_tensor(some, device=chip)).cpu().numpy())
    looks = np.concatenate(parts)
    if index is not None:
        looks = looks[index]
    return dataclasses.replace(data, table=None, index=None, observations=looks)


def check_sight(settings: RunSettings, shape: tuple[int, ...], *, controls: bool) -> None:
    """Raises where no states can be made of several looks and the actions in between."""
    asked = f"sight.frames={settings.sight.frames}"
    if len(shape) != 3:
        raise CogmapError(f"{asked}: observations of shape {shape} are no pictures; leave it out.")
    if not controls:
        raise CogmapError(f"{asked}: what was done between pictures is not recorded; leave it out.")
    temporal = settings.temporal
    if temporal.tied is True or temporal.target:
        raise CogmapError(f"{asked}: a goal is one picture; leave out --tied and --target.")
    if isinstance(temporal.recorded, int):
        raise CogmapError(
            f"{asked}: a goal is one picture, and horizons are composed of whole states; leave out "
            "--recorded."
        )
    if temporal.encoder != "auto":
        raise CogmapError(f"{asked}: the sight is the eye; leave out --encoder.")
    if temporal.numbers:
        raise CogmapError(
            f"{asked}: a sight sees pictures alone; in a building give --beside nothing, or leave "
            "it out where a position is shown."
        )


def check_temporal(settings: RunSettings, shape: tuple[int, ...]) -> None:
    """Raises where the temporal model cannot learn from observations of a shape as was asked."""
    temporal = settings.temporal
    check_encoder(temporal.encoder, shape)
    check_target(temporal.target, shape)
    if not settings.sight.frames:  # which makes numbers of pictures
        check_noise(temporal.noise, shape)


def check(world: World | None, config: RunConfig) -> None:
    """Everything that can be wrong with a run, before anything is written."""
    settings = config.settings
    devices.pick(settings.device)
    if config.data is None:
        if world is None:
            raise CogmapError("give --maze to explore, or --data to train on.")
        if settings.sight.frames:
            check_sight(settings, world.observation_shape, controls=world.map is None)
        check_temporal(settings, world.observation_shape)
        world.check(settings.exploration, tau_max=settings.temporal.longest)
        return
    pairs = Trajectories.load(config.data)
    check_temporal(settings, pairs.observation_shape)
    if settings.sight.frames:
        check_sight(settings, pairs.observation_shape, controls=has_transitions(pairs))
    pairs.check_finite()
    Episodes(pairs).check_horizon(settings.temporal.longest)
    if config.dynamics_data is not None:
        transitions = Trajectories.load(config.dynamics_data)
        transitions.check_finite()
        if transitions.observation_shape != pairs.observation_shape:
            raise CogmapError(
                f"observations of shape {transitions.observation_shape} for the dynamics, "
                f"{pairs.observation_shape} for the temporal model; give data of one world."
            )
    elif world is None and not has_transitions(pairs):
        raise CogmapError(
            f"{config.data} has no actions to learn local dynamics from; "
            "give --dynamics-data, or --maze to try actions in."
        )
    if world is not None and pairs.observation_shape != world.observation_shape:
        raise CogmapError(
            f"{config.data} holds observations of shape {pairs.observation_shape}; {world.name} "
            f"shows {world.observation_shape}. Leave --maze out, or give data of the maze."
        )
