"""Runs of the small worlds in worlds_of_gym.py, trained in seconds, that tests look at."""

from __future__ import annotations

from pathlib import Path

import cogmap
from cogmap.envs.gym import GymWorld

SETTINGS = cogmap.RunSettings(
    exploration=cogmap.Exploration(walk_steps=4000),
    temporal=cogmap.TemporalTraining(steps=100, tau_max=32, batch=64, width=32, embedding=16),
    dynamics=cogmap.DynamicsTraining(steps=120, batch=256, width=32, cycles=0.5),
    planning=cogmap.Planning(radii=(1, 2, 3)),
    device="cpu",
)


def trained(folder: Path, env: str, **told) -> Path:
    """A run of one of those worlds, by its class."""
    cogmap.train(GymWorld(f"tests.worlds_of_gym:{env}", hold=1, **told), SETTINGS, folder)
    return folder


def trained_on_logs(folder: Path, data: Path) -> Path:
    """A run that knows its data and no world."""
    cogmap.train(None, SETTINGS, folder, data=data)
    return folder
