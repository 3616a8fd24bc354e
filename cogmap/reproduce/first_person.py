"""Buildings in the first person: what is shown, whose rules, and off the lattice (Sec. 4.2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from cogmap.choices import Shown
from cogmap.config import METHOD
from cogmap.envs.continuous import CAPPED
from cogmap.envs.egocentric import ACTION_STEPS, PIXELS, UPDATES, WALK_STEPS
from cogmap.envs.kinds import restored
from cogmap.envs.scene import KNOWN
from cogmap.explore.settings import Exploration
from cogmap.reproduce import work
from cogmap.reproduce.grid import Job
from cogmap.reproduce.scale import Scale
from cogmap.settings import RunSettings
from cogmap.temporal.settings import TAU_MAX, TemporalTraining

PAPER: dict[str, Any] = {"view": None, "radii": (1,), "memory": False}
RULES: dict[str, dict[str, Any]] = {"ours": {}, "gp": PAPER, "pap": PAPER | {"planner": "pap"}}
GOAL_VIEWS = 4  # of each far start: 24 episodes a model
FEW = 2  # lines of the grid in a small version: a view and a place, and a place alone
EPISODES = 25  # of each task on the lattice


@dataclass(frozen=True)
class Shows:
    """Models of one scene that are shown the same."""

    scene: str
    beside: Shown
    seeds: int = 1  # at most
    rules: tuple[str, ...] = ("ours",)  # on the lattice
    continuous: bool = False
    settings: dict[str, Any] = field(default_factory=dict)  # of RunSettings that are no defaults
    variant: str = ""  # what is told of those, in names of folders and cells

    @property
    def name(self) -> str:
        parts = ("first-person", self.scene, self.beside, self.variant)
        return "-".join(part for part in parts if part)


GRID = (
    Shows("apartment-1", "position", 3, ("ours", "gp", "pap"), continuous=True),
    Shows("apartment-1", "position-alone", continuous=True),
    Shows("apartment-1", "nothing"),
    Shows("apartment-1", "heading"),
    Shows("apartment-1", "both"),
    Shows("van-gogh", "position"),
)


def first_person(scale: Scale) -> list[Job]:
    """A random row for each set of tasks, then each line of the grid."""
    tasks = []
    grid = GRID[:FEW] if scale.gym else GRID
    for scene in dict.fromkeys(line.scene for line in grid):
        tasks.append(random(scale, scene, None))
        if any(line.continuous for line in grid if line.scene == scene):
            tasks.append(random(scale, scene, "continuous"))
    for line in grid:
        for seed in range(min(scale.seeds, line.seeds)):
            model = learned(scale, line, seed)
            tasks += [planned(scale, model, line, rule) for rule in line.rules]
            if line.continuous:
                longest = model.arguments["settings"].temporal.longest
                tasks += [
                    planned(scale, model, line, rule, tau_max=tau_max)
                    for rule in ("ours", "gp")
                    for tau_max in dict.fromkeys((min(CAPPED, longest), longest))
                ]
    return tasks


def world_of(scene: str, beside: Shown, protocol: str | None = None) -> dict[str, Any]:
    """The scene's folder is this machine's, and no part of what is measured."""
    told: dict[str, Any] = {
        "kind": "building",
        "scene": scene,
        "label": KNOWN[scene].label,
        "beside": beside,
    }
    told |= {"pixels": PIXELS, "scenes": None}
    return told if protocol is None else told | {"protocol": protocol}


def exploration(scale: Scale) -> Exploration:
    """The paper's walk, or a test's."""
    steps = scale.gym["exploration"].steps if scale.gym else WALK_STEPS
    return Exploration(walk_steps=steps, action_steps=min(ACTION_STEPS, steps // 4))


def recorded(scale: Scale, line: Shows) -> Job:
    """One walk of a scene and what is shown, for all training seeds."""
    name = f"first-person-{line.scene}-{line.beside}-walk"
    arguments = {"folder": scale.runs / name, "world": world_of(line.scene, line.beside)}
    return Job(name, work.explored, arguments | {"exploration": exploration(scale)})


def learned(scale: Scale, line: Shows, seed: int) -> Job:
    """A run on that walk."""
    walk = recorded(scale, line)
    given = {"temporal": TemporalTraining(steps=UPDATES, tau_max=TAU_MAX)} | scale.gym
    given |= {"exploration": exploration(scale)} | line.settings
    name = f"{line.name}-{seed}"
    arguments = {"folder": scale.runs / name, "world": world_of(line.scene, line.beside)}
    arguments |= {"settings": replace(RunSettings(seed=seed), **given), "device": scale.device}
    folder = walk.arguments["folder"]
    arguments |= {"data": folder / "walk", "dynamics_data": folder / "actions"}
    about = {"world": KNOWN[line.scene].label, "method": METHOD, "train_seed": seed}
    return Job(name, work.model, arguments, (walk,), about=about)


def planned(scale: Scale, of: Job, line: Shows, rule: str, *, tau_max: int | None = None) -> Job:
    """One rule on the lattice's corners; with `tau_max`, on the far pair off the lattice."""
    continuous = tau_max is not None
    arguments = {"folder": of.arguments["folder"], "device": scale.device, "budget": scale.budget}
    arguments |= {"changes": RULES[rule], "tasks": "far" if continuous else "corners"}
    arguments["episodes"] = scale.episodes or (GOAL_VIEWS if continuous else EPISODES)
    cell = f"{of.name}/{rule}/{arguments['tasks']}"
    if continuous:
        arguments["world"] = world_of(line.scene, line.beside, "continuous")
        arguments["tau_max"], cell = tau_max, f"{cell}/{tau_max}"
    about = of.about | {
        "variant": rule,
        "shown": "-".join(filter(None, (line.beside, line.variant))),
    }
    return Job(cell, work.planned_otherwise, arguments, (of,), measures=True, about=about)


def random(scale: Scale, scene: str, protocol: str | None) -> Job:
    """The random policy on the same tasks."""
    tasks, each = ("corners", EPISODES) if protocol is None else ("far", GOAL_VIEWS)
    arguments: dict[str, Any] = {
        "world": world_of(scene, "position", protocol),
        "which": "random",
        "tasks": tasks,
    }
    arguments |= {"episodes": scale.episodes or each, "budget": scale.budget}
    about = {"world": KNOWN[scene].label, "method": "random", "variant": "", "train_seed": None}
    cell = f"first-person/{scene}/random/{tasks}"
    return Job(cell, work.reference, arguments, measures=True, about=about)


def check_files(jobs: Sequence[Job]) -> None:
    """Raises for a scene whose files are not there, before anything is written."""
    worlds = [job.arguments.get("world") or {} for job in jobs]
    buildings = {w["scene"]: w for w in worlds if w.get("kind") == "building"}
    for world in buildings.values():
        restored(world)
