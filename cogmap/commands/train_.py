"""cogmap train"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path

from cogmap import pipeline, rival
from cogmap.agent import Agent
from cogmap.cli import Train
from cogmap.commands.worlds import bars
from cogmap.config import METHOD, RunConfig
from cogmap.envs.kinds import restored
from cogmap.envs.maze import Maze
from cogmap.envs.pointmaze import PointMaze
from cogmap.envs.world import World
from cogmap.errors import CogmapError
from cogmap.settings import RunSettings
from cogmap.training import Track, Tracker, no_tracker

# Flags that only some worlds read, by the flag that chooses such a world.
OF_KIND = {
    "env": ("env_package", "env_kwargs", "hold", "names", "goal", "start", "stay"),
    "maze": ("observation", "physics", "walk", "action_steps", "coverage", "unexplored"),
    "world cube-single": ("expert",),
    "world apartment-1": ("scenes", "simulator", "beside"),
    "navmesh": ("glb", "label", "up"),
}
SEEN_FROM_WITHIN = ("action_steps", "beside")  # the part of a walk with its moves
BUILDING = ("scenes", "simulator", *SEEN_FROM_WITHIN)
READ = {
    "env": OF_KIND["env"],
    "maze": OF_KIND["maze"],
    "cube-single": ("observation", *OF_KIND["world cube-single"]),  # numbers, or pictures
    "apartment-1": BUILDING,
    "van-gogh": BUILDING,
    "navmesh": (*SEEN_FROM_WITHIN, *OF_KIND["navmesh"]),
    "first-person": ("observation", *SEEN_FROM_WITHIN),
}


def run(settings: Train) -> None:
    if settings.resume is not None:
        if dataclasses.replace(settings, resume=None, track=None) != Train():
            raise CogmapError(
                "--resume goes on with the run's own settings; leave out all flags but --track."
            )
        folder = settings.resume
        agent = resumed(folder, tracker(settings.track, folder))
    elif settings.out is None:
        raise CogmapError("give --out, the run folder to write (or --resume to continue one).")
    else:
        folder = settings.out
        agent = begun(settings, folder, tracker(settings.track, folder))
    print(f"trained -> {folder}")
    if agent.world is not None:
        print(f"next: cogmap evaluate {folder}")
    elif isinstance(agent, rival.Rival):
        print(f'next, in Python: cogmap.Rival.load("{folder}").act(observations, goals)')
    else:
        print(f'next, in Python: cogmap.Agent.load("{folder}").controller(goal)')


def begun(settings: Train, folder: Path, track: Tracker) -> Agent | rival.Rival:
    """A new run, of our method or of a rival."""
    world, given, data, dynamics_data = wanted(settings)
    if settings.method == "cogmap":
        return pipeline.train(
            world,
            given,
            folder,
            data=data,
            dynamics_data=dynamics_data,
            bars=bars,
            tell=print,
            track=track,
        )
    if dynamics_data is not None:
        raise CogmapError(f"--dynamics-data: {settings.method} learns from --data alone.")
    return rival.train(
        world, settings.method, given, folder, data=data, bars=bars, tell=print, track=track
    )


def resumed(folder: Path, track: Tracker) -> Agent | rival.Rival:
    """A run that goes on, whatever its method."""
    if RunConfig.read(folder / "config.json").method == METHOD:
        return pipeline.resume(folder, bars=bars, tell=print, track=track)
    return rival.resume(folder, bars=bars, track=track)


def wanted(settings: Train) -> tuple[World | None, RunSettings, Path | None, Path | None]:
    """The world, the settings and the datasets that the flags, or another run's config, name."""
    if settings.config is not None:
        stored = RunConfig.read(settings.config)
        given = dataclasses.replace(stored.settings, seed=settings.seed)
        return restored(stored.world), given, stored.data, stored.dynamics_data
    check_flags(settings)
    given = RunSettings(
        exploration=settings.exploration,
        sight=settings.sight,
        temporal=settings.temporal,
        dynamics=settings.dynamics,
        planning=settings.planning,
        rival=settings.rival,
        seed=settings.seed,
        device=settings.device,
    )
    return world_of(settings), given, settings.data, settings.dynamics_data


def world_of(settings: Train) -> World | None:
    """The world that the flags name; None: there is data alone."""
    if settings.world == "cube-single":
        return cube_world(settings)
    if settings.world is not None or settings.navmesh is not None:
        return building_world(settings)
    if settings.env is not None:
        return gym_world(settings)
    if settings.maze is None:
        return None
    if settings.observation == "first-person":
        return building_world(settings)
    return PointMaze(
        Maze.load(settings.maze), physics=settings.physics, observation=settings.observation
    )


def check_flags(settings: Train) -> None:
    """Raises for a flag that would be ignored."""
    asked = [n for n in ("maze", "env", "world", "navmesh") if getattr(settings, n) is not None]
    if len(asked) > 1:
        raise CogmapError(f"give --{' or --'.join(asked)}, not both.")
    if settings.env is not None and (settings.data or settings.dynamics_data):
        raise CogmapError(
            "a log (--data) is learned from by itself; leave --env out, and lead the environment "
            "with agent.controller(goal)."
        )
    if settings.observation != "state" and settings.data is not None:
        seen = f"--observation {settings.observation}"
        raise CogmapError(f"{seen} explores a maze; leave --data out.")
    within = settings.observation == "first-person"
    if within and settings.maze is None:
        raise CogmapError("--observation first-person is for --maze; leave it out, or give --maze.")
    fresh = Train()
    check_groups(settings, fresh)
    read = set(READ["first-person" if within else settings.world or (asked or ["maze"])[0]])
    for kind, names in OF_KIND.items():
        for name in names:
            if name in read:
                continue
            part = "exploration" if hasattr(settings.exploration, name) else None
            given, usual = (getattr(s, part) if part else s for s in (settings, fresh))
            if getattr(given, name) != getattr(usual, name):
                flag = name.replace("_", "-")
                if within:
                    raise CogmapError(f"--{flag} is not for --observation first-person.")
                raise CogmapError(f"--{flag} is for --{kind}; leave it out, or give --{kind}.")


def check_groups(settings: Train, usual: Train) -> None:
    """Raises for a setting of another method than the one that is trained."""
    ours = settings.method == "cogmap"
    groups = ("rival",) if ours else ("sight", "temporal", "dynamics", "planning")
    for group in groups:
        given, left = getattr(settings, group), getattr(usual, group)
        for field in dataclasses.fields(given):
            if getattr(given, field.name) != getattr(left, field.name):
                prefix = "" if group == "temporal" else f"{group}."
                flag = f"--{prefix}{field.name}".replace("_", "-")
                whose = "a rival's; give --method" if ours else f"not read by {settings.method}"
                raise CogmapError(f"{flag} is {whose}, or leave it out.")
    maze = not ours and settings.maze is not None
    if maze and settings.exploration != usual.exploration:
        raise CogmapError(
            f"{settings.method} records --rival.rows by --rival.walk in a maze; leave out --walk, "
            "--walk-steps, --action-steps, --coverage and --unexplored, or give --data."
        )


def tracker(name: str | None, folder: Path) -> Tracker:
    """Tells a tracker each row of the metrics, beside metrics.jsonl."""
    if name is None:
        return no_tracker
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        raise CogmapError("--track tensorboard needs it; pip install 'cogmap[track]'.") from None

    def of(part: str) -> Track:
        writer = SummaryWriter(str(folder / part))

        def told(row: Mapping[str, float]) -> None:
            for metric, value in row.items():
                if metric != "step":
                    writer.add_scalar(f"{part}/{metric}", value, int(row["step"]))
            writer.flush()

        return told

    return of


def cube_world(settings: Train) -> World:
    """The arm and its cube."""
    from cogmap.envs.cube import CubeSingle  # imports nothing of OGBench yet

    assert settings.observation != "first-person"  # check_flags
    return CubeSingle(observation=settings.observation)


def building_world(settings: Train) -> World:
    """A building, or a maze, seen in the first person."""
    from cogmap.envs.egocentric import Building  # needs nothing of [scenes] yet
    from cogmap.envs.maze_scene import MazeScene
    from cogmap.envs.scene import Scene
    from cogmap.envs.scenes import named_scene, scene_of_files

    scene: Scene
    if settings.maze is not None:
        scene = MazeScene(Maze.load(settings.maze))
    elif settings.navmesh is not None:
        scene = scene_of_files(settings.navmesh, settings.glb, label=settings.label, up=settings.up)
    else:
        assert settings.world is not None
        scene = named_scene(settings.world, settings.scenes, simulator=settings.simulator)
    return Building(scene, beside=settings.beside)


def gym_world(settings: Train) -> World:
    """The Gymnasium environment that the flags name."""
    try:
        from cogmap.envs.gym import GymWorld
        from cogmap.envs.making import read_kwargs
    except ImportError as error:
        raise CogmapError(f"--env needs {error.name}; pip install 'cogmap[gym]'.") from None
    assert settings.env is not None
    if settings.hold == 0:
        raise CogmapError("hold=0; give at least 1 step, or auto.")
    return GymWorld(
        settings.env,
        hold=0 if settings.hold == "auto" else settings.hold,
        package=settings.env_package,
        kwargs=read_kwargs(settings.env_kwargs),
        names=tuple(map(str.strip, settings.names.split(","))) if settings.names else (),
        goal=settings.goal,
        start=settings.start,
        stay=settings.stay,
    )
