"""cogmap: learning to plan from random exploration."""

from __future__ import annotations

import importlib
import os
from typing import TYPE_CHECKING, Any

__version__ = "0.8.0"

# Threads of OpenMP that wait for each other spin, and where a neighbour holds one of the cores they
# spin most of the time: training then fell to a third of its pace on two cores, to a fortieth on
# those of another host. Spinning less before they sleep helps (docs/results.md, speed). OpenMP
# reads this when torch is imported, so it stands before any import of ours.
if "OMP_WAIT_POLICY" not in os.environ:
    os.environ.setdefault("GOMP_SPINCOUNT", "3000")

# Names are imported when they are first used, so that `cogmap --help` need not wait for torch.
_HOMES = {
    "Agent": "cogmap.agent",
    "Building": "cogmap.envs.egocentric",
    "CogmapError": "cogmap.errors",
    "CubeSingle": "cogmap.envs.cube",
    "Decision": "cogmap.planning.planner",
    "DynamicsTraining": "cogmap.dynamics.settings",
    "Evaluation": "cogmap.evaluation.evaluate",
    "GymWorld": "cogmap.envs.gym",
    "Exploration": "cogmap.explore.settings",
    "LocalDynamics": "cogmap.dynamics.model",
    "Maze": "cogmap.envs.maze",
    "Planner": "cogmap.planning.planner",
    "Planning": "cogmap.planning.settings",
    "PointMaze": "cogmap.envs.pointmaze",
    "Rival": "cogmap.rival",
    "RivalTraining": "cogmap.baselines.settings",
    "RunSettings": "cogmap.settings",
    "TemporalModel": "cogmap.temporal.model",
    "SightTraining": "cogmap.sight.settings",
    "TemporalTraining": "cogmap.temporal.settings",
    "Trajectories": "cogmap.data.trajectories",
    "World": "cogmap.envs.world",
    "evaluate": "cogmap.evaluation.evaluate",
    "plan": "cogmap.evaluation.evaluate",
    "resume": "cogmap.pipeline",
    "train": "cogmap.pipeline",
    "train_dynamics": "cogmap.dynamics.train",
    "train_temporal": "cogmap.temporal.train",
}
__all__ = [
    "Agent",
    "Building",
    "CogmapError",
    "CubeSingle",
    "Decision",
    "DynamicsTraining",
    "Evaluation",
    "GymWorld",
    "Exploration",
    "LocalDynamics",
    "Maze",
    "Planner",
    "Planning",
    "PointMaze",
    "Rival",
    "RivalTraining",
    "RunSettings",
    "TemporalModel",
    "SightTraining",
    "TemporalTraining",
    "Trajectories",
    "World",
    "evaluate",
    "plan",
    "resume",
    "train",
    "train_dynamics",
    "train_temporal",
]

if TYPE_CHECKING:
    from cogmap.agent import Agent
    from cogmap.baselines.settings import RivalTraining
    from cogmap.data.trajectories import Trajectories
    from cogmap.dynamics.model import LocalDynamics
    from cogmap.dynamics.settings import DynamicsTraining
    from cogmap.dynamics.train import train_dynamics
    from cogmap.envs.cube import CubeSingle
    from cogmap.envs.egocentric import Building
    from cogmap.envs.gym import GymWorld
    from cogmap.envs.maze import Maze
    from cogmap.envs.pointmaze import PointMaze
    from cogmap.envs.world import World
    from cogmap.errors import CogmapError
    from cogmap.evaluation.evaluate import Evaluation, evaluate, plan
    from cogmap.explore.settings import Exploration
    from cogmap.pipeline import resume, train
    from cogmap.planning.planner import Decision, Planner
    from cogmap.planning.settings import Planning
    from cogmap.rival import Rival
    from cogmap.settings import RunSettings
    from cogmap.sight.settings import SightTraining
    from cogmap.temporal.model import TemporalModel
    from cogmap.temporal.settings import TemporalTraining
    from cogmap.temporal.train import train_temporal


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'cogmap' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
