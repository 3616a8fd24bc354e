"""How much of a study to run, and what all of its models have in common."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cogmap.baselines.settings import RivalTraining
from cogmap.choices import Device
from cogmap.dynamics.settings import DynamicsTraining
from cogmap.explore.settings import Exploration
from cogmap.settings import RunSettings
from cogmap.sight.settings import SightTraining
from cogmap.temporal.settings import TemporalTraining

MAZES = ("large", "giant")
MAZE = RunSettings(  # what `cogmap train --maze` settles on, said in full: rows keep a hash of it
    exploration=Exploration(walk_steps=4_000_000),
    temporal=TemporalTraining(steps=6000, tau_max=8192, tied=True),
)
# Mazes that nothing was tuned on; the last has 10,155 states.
STRANGERS = ("tree", "rooms", "corridor", "arena", "twenty", "serpent", "loops", "halls")


@dataclass(frozen=True)
class Scale:
    """How much of a study to run, and where."""

    seeds: int = 3  # training seeds 0, 1, ...
    device: Device = "auto"
    runs: Path = Path("runs/reproduce")  # folder of the trained models
    mazes: tuple[str, ...] = MAZES
    strangers: tuple[str, ...] = STRANGERS
    settings: RunSettings = MAZE  # what all models have in common
    actions: int | None = None  # random actions of each maze; None: ACTIONS
    episodes: int | None = None  # of each task; None: 20 official, 1 of each pair
    sweep_episodes: int = 5  # of each official task where many settings are swept
    budget: int | None = None  # simulator steps; None: the protocol's
    gym: dict[str, Any] = field(default_factory=dict)  # settings of the zoo that are no defaults
    rivals: RivalTraining = RivalTraining()  # what all rivals have in common

    def shrunk(self) -> Scale:
        """The same with sizes for a test: every part runs, no number means anything."""
        small = RunSettings(
            exploration=Exploration(walk_steps=2000, action_steps=1000),
            temporal=TemporalTraining(steps=3, tau_max=128, tied=True, batch=32, width=32),
            dynamics=DynamicsTraining(steps=20),
        )
        return Scale(
            seeds=min(self.seeds, 2),
            device=self.device,
            runs=self.runs,
            mazes=("large",),
            strangers=("corridor",),
            settings=small,
            actions=1000,
            episodes=1,
            sweep_episodes=1,
            budget=10,
            gym={
                "exploration": Exploration(walk_steps=4000),
                "sight": SightTraining(steps=3, batch=8),
                "temporal": TemporalTraining(steps=3, tau_max=8, batch=32, width=32),
                "dynamics": DynamicsTraining(steps=20),
            },
            rivals=RivalTraining(steps=3, batch=16, width=16, rows=2000),
        )
