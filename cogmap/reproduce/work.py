"""What a worker does for a study, one function a job: record actions, train, measure.

Worlds travel between processes as their descriptions (World.describe).
"""

from __future__ import annotations

import json
import tempfile
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from cogmap import pipeline, several
from cogmap import rival as rivals
from cogmap.agent import Agent, load
from cogmap.baselines.settings import MethodName
from cogmap.choices import Device
from cogmap.config import RunConfig, fingerprint
from cogmap.data.trajectories import Trajectories
from cogmap.envs.kinds import restored
from cogmap.envs.world import Walked, World, map_of
from cogmap.errors import CogmapError
from cogmap.evaluation.evaluate import all_references, ceiling, evaluate, floor
from cogmap.evaluation.explored import with_both_ends
from cogmap.explore.settings import Exploration
from cogmap.planning.objective import Horizons
from cogmap.planning.settings import Planning
from cogmap.progress import no_bars
from cogmap.report.probes import PAPER_TAUS, probe_model
from cogmap.reproduce.grid import Row
from cogmap.rival import Rival
from cogmap.settings import RunSettings
from cogmap.theory.agreement import agreement, learned_score

GOALS, GOALS_SEED = 20, 0  # goals that a learned score is compared at

Description = dict[str, Any]


def _world(description: Description) -> World:
    world = restored(description)
    if world is None:
        raise CogmapError(f"{description.get('kind')!r} is not one of the package's worlds.")
    return world


def actions(folder: Path, world: Description, steps: int) -> None:
    """Random transitions, once; shared by all models of a world."""
    if (folder / "meta.json").exists():
        return
    wanted = Exploration(walk_steps=1, action_steps=steps)
    with tempfile.TemporaryDirectory() as scratch:
        _, moves = _world(world).explore(wanted, Path(scratch), seed=0, bars=no_bars)
        moves.save(folder)


def explored(folder: Path, world: Description, exploration: Exploration) -> None:
    """What a world records, once; shared by all models that take a part of it."""
    _world(world).explore(exploration, folder, seed=0, bars=no_bars)


def mixed(folder: Path, parts: dict[str, int]) -> None:
    """The first so many episodes of each of some datasets, which lie beside `folder`."""
    if (folder / "meta.json").exists():
        return
    some = [Trajectories.load(folder.parent / name).first(n) for name, n in parts.items() if n]
    Trajectories.together(some).save(folder)


def model(
    folder: Path,
    world: Description,
    settings: RunSettings,
    device: Device,
    dynamics_data: Path | None = None,
    data: Path | None = None,
) -> None:
    """A training run, or the rest of one. Refuses a folder that holds a run of other settings."""
    settings = replace(settings, device=device)
    if not (folder / "config.json").exists():
        here = _world(world)
        pipeline.train(here, settings, folder, data=data, dynamics_data=dynamics_data)
        return
    here, settings = _world(world).settled(settings, tell=lambda line: None)
    wanted = RunConfig.new(settings, here.describe(), data=data, dynamics_data=dynamics_data)
    if RunConfig.read(folder / "config.json").fingerprint != wanted.fingerprint:
        raise CogmapError(
            f"{folder} holds a run of other settings; delete it, or give another --runs."
        )
    pipeline.resume(folder)


def rows(folder: Path, world: Description, walk: str, rows: int) -> None:
    """What rivals learn from, once."""
    here = _world(world)
    assert isinstance(here, Walked)
    here.walked(walk, rows, folder, seed=0, bars=no_bars)


def rival(
    folder: Path,
    world: Description,
    method: MethodName,
    settings: RunSettings,
    data: Path,
    device: Device,
) -> None:
    """A rival's run, or the rest of one. Refuses a folder that holds a run of other settings."""
    settings = replace(settings, device=device)
    if rivals.begun(folder, method, settings):
        rivals.resume(folder)
    else:
        rivals.train(_world(world), method, settings, folder, data=data)


def rivals_together(jobs: list[dict[str, Any]]) -> None:
    """Several runs of one rival by one training, or the rest of it."""
    planned = []
    for one in jobs:
        method, settings = one["method"], replace(one["settings"], device=one["device"])
        planned.append(several.Run(_world(one["world"]), settings, one["folder"], one["data"]))
    names = sorted(run.folder.name for run in planned)
    shared = planned[0].folder.with_name(f"{method}-together-{fingerprint(names)}")
    several.train(method, planned, shared)


def acted(folder: Path, device: Device, **settings: Any) -> list[Row]:
    """A run of any method on a set of its world's tasks."""
    agent = load(folder, device=device)
    told: Row = {}
    if isinstance(agent, Rival):
        training = agent.model.settings
        told = {"updates": training.steps, "batch": training.batch, "width": training.width}
    return [{**evaluate(agent, **settings).summary(), **told, **trained(folder)}]


def plan(
    folder: Path,
    planning: Planning,
    device: Device,
    *,
    world: Description | None = None,
    ends: bool = False,
    **settings: Any,
) -> list[Row]:
    """One way to plan on one set of tasks, in the run's own world or as it is described here.

    With `ends` the row also tells of the episodes whose start and goal the run's walk came near.
    """
    agent = Agent.load(folder, device=device)
    here = None if world is None else _world(world)
    result = evaluate(agent, planner=planning, world=here, **settings)
    told: Row = {}
    if ends:
        unit = map_of(agent.world, "telling which ends were explored").unit
        told = with_both_ends(result, walked(folder), within=unit)
    return [{**result.summary(), **told, **trained(folder)}]


def planned_by_default(
    folder: Path, device: Device, *, episodes: int, budget: int | None
) -> list[Row]:
    """A run on its world's own tasks, as `cogmap evaluate RUN` does."""
    agent = Agent.load(folder, device=device)
    result = evaluate(agent, episodes=episodes, budget=budget)
    steps = [episode.steps for episode in result.episodes if episode.success]
    told: Row = {"steps": round(float(np.mean(steps)), 1) if steps else None}
    return [{**result.summary(), **told, **trained(folder)}]


def wandered(folder: Path, device: Device, *, episodes: int, budget: int | None) -> list[Row]:
    """The random policy on the same tasks."""
    agent = Agent.load(folder, device=device)
    here = agent.acting_in(None)
    tasks = here.tasks(None, episodes=episodes, budget=budget, seed=0)
    return [floor(here, tasks).summary()]


def planned_otherwise(
    folder: Path,
    device: Device,
    changes: dict[str, Any],
    world: Description | None = None,
    **settings: Any,
) -> list[Row]:
    """A run on a set of its world's tasks, with some of its own planning changed.

    In its own world, or as it is described here.
    """
    agent = Agent.load(folder, device=device)
    here, planning = None if world is None else _world(world), replace(agent.planning, **changes)
    result = evaluate(agent, planner=planning, world=here, **settings)
    return [{**result.summary(), **trained(folder)}]


def references(
    world: Description, tasks: str, episodes: int | None, budget: int | None
) -> list[Row]:
    """The random policy and the world's own references."""
    here = _world(world)
    chosen = here.tasks(tasks, episodes=episodes, budget=budget, seed=0)
    return [{**result.summary()} for result in all_references(here, chosen)]


def walked(folder: Path) -> np.ndarray:
    """The places that a run's walk saw. (S, 2)"""
    places, shares = Trajectories.load(folder / "data" / "walk").distinct()
    return places[shares > 0]


def reference(
    world: Description, which: str, tasks: str, episodes: int | None, budget: int | None
) -> list[Row]:
    """The random policy or the shortest-path oracle."""
    here = _world(world)
    chosen = here.tasks(tasks, episodes=episodes, budget=budget, seed=0)
    return [(floor if which == "random" else ceiling)(here, chosen).summary()]


def probe(folder: Path, device: Device) -> list[Row]:
    """Table 4: what the embeddings know of distance."""
    agent = Agent.load(folder, device=device)
    lattice = map_of(agent.world, "a probe").lattice
    taus = [tau for tau in PAPER_TAUS if tau <= agent.temporal.config.tau_max]
    rows = probe_model(agent.temporal, lattice, rng=np.random.default_rng(GOALS_SEED), taus=taus)
    return [asdict(row) | trained(folder) for row in rows]


def compare(folder: Path, device: Device) -> list[Row]:
    """Learned G against exact G* at each octave."""
    agent = Agent.load(folder, device=device)
    lattice = map_of(agent.world, "the exact score").lattice
    taus = Horizons.octaves(agent.temporal.config.tau_max).taus
    goals = np.random.default_rng(GOALS_SEED).choice(
        len(lattice), min(GOALS, len(lattice)), replace=False
    )
    score = learned_score(agent.temporal, taus)
    rows = agreement(score, lattice.points, lattice.successors, taus=taus, goals=goals)
    return [asdict(row) | trained(folder) for row in rows]


def trained(folder: Path) -> Row:
    """How long its models took to train, by their own reports, on what, and by which code."""
    reports = [path.read_text().splitlines()[-1] for path in sorted(folder.glob("*/metrics.jsonl"))]
    last = [json.loads(report) for report in reports]
    minutes = sum(row.get("seconds", 0.0) for row in last) / 60
    gib = max((row["memory"] for row in last if "memory" in row), default=None)
    made = RunConfig.read(folder / "config.json").made
    about = {"training_minutes": round(minutes, 2), "training_gib": gib}
    return about | {"trained_on": made.get("hardware"), "training_commit": made.get("commit")}
