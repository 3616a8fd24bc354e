"""Arguments of the command line as worlds and planning settings, and its progress bars."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

from tqdm import tqdm

from cogmap.agent import Agent
from cogmap.cli import Choice, Told
from cogmap.envs.maze import Maze
from cogmap.envs.pointmaze import PointMaze
from cogmap.envs.world import World
from cogmap.errors import CogmapError
from cogmap.planning.settings import Planning
from cogmap.progress import Progress
from cogmap.rival import Rival


def bars(what: str, unit: str) -> Progress:
    """A progress bar for each part of a run."""
    return lambda items: tqdm(items, desc=what, unit=unit)


def world_for(agent: Agent | Rival, settings: Choice) -> World:
    """Where to act: the run's own world as the flags change it."""
    here = agent.world
    if settings.maze is not None:
        sees = agent.sees
        here = PointMaze(Maze.load(settings.maze), observation="image" if sees else "state")
    if isinstance(here, PointMaze):
        here = dataclasses.replace(here, physics=settings.physics)
    elif here is not None:
        here = as_told(here, settings)
    if settings.protocol == "continuous":
        here = continuous(here)
    if here is not None and settings.pictures is not None:
        here = pictured(here, settings.pictures)
    return agent.acting_in(here)


def continuous(world: World | None) -> World:
    """The same building off its lattice."""
    from cogmap.envs.continuous import Continuous
    from cogmap.envs.egocentric import Building

    if not isinstance(world, Building):
        where = "a run of a log" if world is None else world.name
        raise CogmapError(f"--protocol continuous is for buildings; {where} is none. Leave it out.")
    return Continuous.of(world)


def pictured(world: World, pictures: str) -> World:
    """The same world with its pictures taken otherwise."""
    known = getattr(world, "PICTURES", ())
    if pictures not in known:
        ways = f"it has {' and '.join(known)}" if known else "it has none"
        raise CogmapError(f"--pictures {pictures}: that is not for {world.name}; {ways}.")
    return dataclasses.replace(world, pictures=pictures)  # type: ignore[type-var]


def as_told(world: World, settings: Choice | Told) -> World:
    """The same world with another goal or start, where the flags say so; a maze has no such."""
    wanted = {name: getattr(settings, name, None) for name in ("goal", "start", "stay")}
    told: dict[str, Any] = {name: value for name, value in wanted.items() if value is not None}
    if not told:
        return world
    if not dataclasses.is_dataclass(world) or not all(hasattr(world, name) for name in told):
        given = " and ".join(f"--{name}" for name in told)
        raise CogmapError(f"{given}: {world.name} cannot be told so; that is for Gymnasium worlds.")
    return dataclasses.replace(world, **told)


def warn_of_goal(agent: Agent | Rival, world: World) -> None:
    """Says so where nothing, or little, that was seen is like where a Gymnasium world leads."""
    goal = getattr(world, "goal", None)
    if goal is None or agent.seen is None or agent.seen.context.mask.any():
        return  # without a goal, or each episode's own
    if not hasattr(world, "has_goals"):
        return  # a building's are places, not observations
    if isinstance(agent, Agent) and (warning := agent.goal(goal).warning):
        print(f"warning: {warning}")


def filmed(world: World, path: Path | None) -> World:
    """The same world with frames, for a film at `path` or to be drawn."""
    if path is not None and path.suffix not in (".mp4", ".gif"):
        raise CogmapError(f"video {str(path)!r}; give a name that ends in .mp4 or .gif.")
    if not hasattr(world, "rendered"):
        raise CogmapError(f"{world.name} has no frames to film.")
    return dataclasses.replace(world, rendered=True)  # type: ignore[type-var]


HOW_TO_PLAN = (
    *("planner", "view", "tau_max", "radii", "directions", "recalled", "memory"),
    *("score", "every_horizon", "protocol"),
)


def planning_for(agent: Agent | Rival, settings: Choice) -> Planning | None:
    """How to plan: the run's own settings as the flags change them. A rival does not plan."""
    if isinstance(agent, Rival):
        for name in HOW_TO_PLAN:
            if getattr(settings, name) != getattr(Choice, name):
                flag = name.replace("_", "-")
                raise CogmapError(
                    f"--{flag}: this run is of {agent.method}, which acts by its own policy; "
                    "leave it out."
                )
        return None
    given = {
        name: getattr(settings, name) for name in ("planner", "directions", "recalled", "memory")
    }
    given["radii"] = read_radii(settings.radii)
    changed = {name: value for name, value in given.items() if value is not None}
    own = agent.planning
    if settings.protocol == "continuous":
        from cogmap.envs.continuous import off_lattice

        own = off_lattice(own)
    if settings.view != "own":  # None, too, is a view
        changed["view"] = settings.view
    return dataclasses.replace(own, **changed)


def read_radii(text: str | None) -> tuple[int, ...] | None:
    if text is None:
        return None
    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError:
        raise CogmapError(f"radii {text!r}; give whole numbers as 1,2,3,4,6.") from None


def told(agent: Agent | Rival, settings: Told, *, goals: bool = False) -> Agent | Rival:
    """The agent in its world as the flags change it. `goals`: --goal needs no world."""
    if agent.world is not None:
        return dataclasses.replace(agent, world=as_told(agent.world, settings))
    given = {"goal": settings.goal, "start": settings.start, "stay": settings.stay}
    for name, value in given.items():
        if value is not None and not (goals and name == "goal"):
            raise CogmapError(
                f"--{name} {value}: this run was learned from data alone; it has no world to tell."
            )
    return agent


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
