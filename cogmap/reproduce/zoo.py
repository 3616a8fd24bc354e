"""Worlds that have nothing to do with mazes, each as `cogmap train --env` would take it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from cogmap.config import METHOD
from cogmap.reproduce import work
from cogmap.reproduce.grid import Job
from cogmap.reproduce.scale import Scale
from cogmap.settings import RunSettings

EPISODES = 50
# What `cogmap train --env` is told of each; everything else is at its default.
ZOO: dict[str, dict[str, Any]] = {
    "Pendulum-v1": {
        "names": ["cos", "sin", "speed"],
        "goal": "cos>=0.98,speed=-0.5..0.5",
        "start": "cos<=-0.98,speed=-0.5..0.5",
        "stay": True,
    },
    "MountainCarContinuous-v0": {"names": ["position", "velocity"], "goal": "position>=0.45"},
    "Acrobot-v1": {"goal": "cogmap.envs.zoo:above"},
    "CartPole-v1": {
        "names": ["x", "v", "angle", "turn"],
        "goal": "x=0.2..0.4,angle=-0.1..0.1",
        "stay": True,
    },
    "Reacher-v5": {
        "names": [
            *("cos1", "cos2", "sin1", "sin2", "target_x", "target_y", "turn1", "turn2"),
            *("off_x", "off_y"),
        ],
        "goal": "cogmap.envs.zoo:near",
    },
    "cogmap.envs.zoo:FourRooms": {
        "names": ["x", "y", "east", "south", "west", "north"],
        "goal": "x=16,y=16",
    },
}


def gym(scale: Scale) -> list[Job]:
    """Each world of the zoo: ours and the random policy of the same hold."""
    tasks = []
    for env, told in ZOO.items():
        world = {"kind": "gymnasium", "env": env} | told
        for seed in range(scale.seeds):
            model = learned(scale, world, seed)
            for which in ("planned", "wandered"):
                arguments = {"folder": model.arguments["folder"], "device": scale.device}
                arguments |= {"episodes": scale.episodes or EPISODES, "budget": scale.budget}
                call = work.planned_by_default if which == "planned" else work.wandered
                cell, about = f"{model.name}/{which}", model.about
                if which == "wandered":
                    about = about | {"method": "random"}
                tasks.append(Job(cell, call, arguments, (model,), measures=True, about=about))
    return tasks


def learned(scale: Scale, world: dict[str, Any], seed: int) -> Job:
    """A run of a world with every default, or as small as a test wants it."""
    settings = replace(RunSettings(seed=seed), **scale.gym)
    short = world["env"].rpartition(":")[2]
    name = f"{short.lower()}-ours-{seed}"
    arguments = {"folder": scale.runs / name, "world": world, "settings": settings}
    about = {"world": short, "method": METHOD, "variant": "ours", "train_seed": seed}
    return Job(name, work.model, arguments | {"device": scale.device}, about=about)
