"""Buildings in the first person: what is shown, whose rules, and off the lattice (Sec. 4.2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from cogmap.choices import Shown
from cogmap.config import METHOD
from cogmap.envs.building_settings import ACTION_STEPS, UPDATES, WALK_STEPS
from cogmap.envs.continuous import CAPPED
from cogmap.envs.egocentric import PIXELS
from cogmap.envs.kinds import restored
from cogmap.envs.maze import Maze
from cogmap.envs.maze_scene import MazeScene
from cogmap.envs.scene import KNOWN
from cogmap.explore.settings import Exploration
from cogmap.reproduce import work
from cogmap.reproduce.grid import Job
from cogmap.reproduce.scale import Scale
from cogmap.settings import RunSettings
from cogmap.sight.settings import SightTraining
from cogmap.temporal.settings import TAU_MAX, TemporalTraining

PAPER: dict[str, Any] = {"view": None, "radii": (1,), "memory": False}
RULES: dict[str, dict[str, Any]] = {"ours": {}, "gp": PAPER, "pap": PAPER | {"planner": "pap"}}
OFF_LATTICE = RULES | {"ours": {"view": None}}  # as `off_lattice` of envs/continuous.py has it
GOAL_VIEWS = 4  # of each far start: 24 episodes a model
FEW_EPISODES = 2  # of each task by the paper's rules, which take thousands of moves
MAZE = "maze-"  # before the name of a maze, seen from within


@dataclass(frozen=True)
class Shows:
    """Models of one scene that are shown the same."""

    scene: str  # of Habitat's by name, or a maze
    beside: Shown
    views: int = 0  # of those before the present one and itself, in a state; 0: no sight of its own
    seeds: int = 1  # at most
    paper: bool = False  # whether the paper's rules are measured, too
    continuous: bool = False

    @property
    def shown(self) -> str:
        return f"{self.beside}-{self.views}" if self.views else self.beside

    @property
    def name(self) -> str:
        return f"first-person-{self.scene}-{self.shown}"


GRID = (
    Shows("apartment-1", "position", seeds=3, paper=True, continuous=True),
    Shows("apartment-1", "nothing", views=4),
    Shows("apartment-1", "nothing", views=1),
    Shows("apartment-1", "nothing", views=16),
    Shows("van-gogh", "position"),
    Shows("maze-large", "position"),
    Shows("apartment-1", "position-alone", continuous=True),
    Shows("maze-large", "nothing"),
    Shows("apartment-1", "nothing"),
    Shows("apartment-1", "heading"),
    Shows("apartment-1", "both"),
    Shows("maze-large", "heading"),
    Shows("maze-large", "both"),
)
FEW = (GRID[0], GRID[1], GRID[6], GRID[-1])  # of a small version


def first_person(scale: Scale) -> list[Job]:
    """A random row for each set of tasks, then each line of the grid, seed by seed."""
    tasks = []
    grid = FEW if scale.gym else GRID
    for scene in dict.fromkeys(line.scene for line in grid):
        tasks.append(random(scale, scene, None))
        if any(line.continuous for line in grid if line.scene == scene):
            tasks.append(random(scale, scene, "continuous"))
    for rules in (("ours",), ("gp", "pap")):  # the paper's last: they seldom arrive
        for seed in range(scale.seeds):
            for line in grid:
                if seed < line.seeds:
                    tasks += measured(scale, line, seed, rules)
    return tasks


def measured(scale: Scale, line: Shows, seed: int, rules: tuple[str, ...]) -> list[Job]:
    """What is asked of one model by some rules."""
    model = learned(scale, line, seed)
    longest = model.arguments["settings"].temporal.longest
    tasks = []
    for rule in rules:
        if rule == "ours" or (line.paper and seed == 0):
            tasks.append(planned(scale, model, line, rule))
        if line.continuous and rule in ("ours", "gp"):
            capped = dict.fromkeys((min(CAPPED, longest), longest))
            tasks += [planned(scale, model, line, rule, tau_max=tau_max) for tau_max in capped]
    return tasks


def world_of(scene: str, beside: Shown, protocol: str | None = None) -> dict[str, Any]:
    """The folder of a scene's files is this machine's, and no part of what is measured."""
    told: dict[str, Any] = {"kind": "building", "scene": scene, "label": label_of(scene)}
    told |= {"beside": beside, "pixels": PIXELS}
    told |= {"scenes": None} if scene in KNOWN else maze_of(scene).describe()
    return told if protocol is None else told | {"protocol": protocol}


def maze_of(scene: str) -> MazeScene:
    return MazeScene(Maze.load(scene.removeprefix(MAZE)))


def label_of(scene: str) -> str:
    """What the scene is called beside every number."""
    return KNOWN[scene].label if scene in KNOWN else maze_of(scene).label


def on_lattice(scene: str) -> str:
    """The tasks of a scene on its lattice."""
    return "corners" if scene in KNOWN else "official"


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
    given |= {"exploration": exploration(scale)}
    if line.views:
        given["sight"] = replace(given.get("sight", SightTraining()), frames=line.views)
    name = f"{line.name}-{seed}"
    arguments = {"folder": scale.runs / name, "world": world_of(line.scene, line.beside)}
    arguments |= {"settings": replace(RunSettings(seed=seed), **given), "device": scale.device}
    folder = walk.arguments["folder"]
    arguments |= {"data": folder / "walk", "dynamics_data": folder / "actions"}
    about = {"world": label_of(line.scene), "method": METHOD, "train_seed": seed}
    return Job(name, work.model, arguments, (walk,), about=about)


def planned(scale: Scale, of: Job, line: Shows, rule: str, *, tau_max: int | None = None) -> Job:
    """One rule on the lattice's corners; with `tau_max`, on the far pair off the lattice."""
    continuous = tau_max is not None
    arguments = {"folder": of.arguments["folder"], "device": scale.device, "budget": scale.budget}
    changes = (OFF_LATTICE if continuous else RULES)[rule]
    arguments |= {"changes": changes, "tasks": "far" if continuous else on_lattice(line.scene)}
    usual = GOAL_VIEWS if continuous else None if rule == "ours" else FEW_EPISODES
    arguments["episodes"] = scale.episodes or usual
    cell = f"{of.name}/{rule}/{arguments['tasks']}"
    if continuous:
        arguments["world"] = world_of(line.scene, line.beside, "continuous")
        arguments["tau_max"], cell = tau_max, f"{cell}/{tau_max}"
    about = of.about | {"variant": rule, "shown": line.shown}
    return Job(cell, work.planned_otherwise, arguments, (of,), measures=True, about=about)


def random(scale: Scale, scene: str, protocol: str | None) -> Job:
    """The random policy on the same tasks."""
    tasks, each = (on_lattice(scene), None) if protocol is None else ("far", GOAL_VIEWS)
    arguments: dict[str, Any] = {
        "world": world_of(scene, "position", protocol),
        "which": "random",
        "tasks": tasks,
    }
    arguments |= {"episodes": scale.episodes or each, "budget": scale.budget}
    about = {"world": label_of(scene), "method": "random", "variant": "", "train_seed": None}
    cell = f"first-person/{scene}/random/{tasks}"
    return Job(cell, work.reference, arguments, measures=True, about=about)


def check_files(jobs: Sequence[Job]) -> None:
    """Raises for a scene whose files are not there, before anything is written."""
    worlds = [job.arguments.get("world") or {} for job in jobs]
    buildings = {w["scene"]: w for w in worlds if w.get("kind") == "building"}
    for world in buildings.values():
        restored(world)
