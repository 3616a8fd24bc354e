"""cogmap: learning to plan from random exploration."""

from __future__ import annotations

import importlib
import os
from typing import TYPE_CHECKING, Any

__version__ = "0.3.0"

# Threads of OpenMP that wait for each other spin, and where a neighbour holds one of the cores they
# spin most of the time: two cores made 0.5 updates a second of training instead of 25. Asleep they
# made 3.4. OpenMP reads this when torch is imported, so it stands before any import of ours.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

# Names are imported when they are first used, so that `cogmap --help` need not wait for torch.
_HOMES = {
    "Agent": "cogmap.agent",
    "CogmapError": "cogmap.errors",
    "Decision": "cogmap.planning.planner",
    "Evaluation": "cogmap.evaluation.evaluate",
    "LocalDynamics": "cogmap.dynamics.model",
    "Maze": "cogmap.envs.maze",
    "Planner": "cogmap.planning.planner",
    "PointMaze": "cogmap.envs.pointmaze",
    "TemporalModel": "cogmap.temporal.model",
    "Trajectories": "cogmap.data.trajectories",
    "evaluate": "cogmap.evaluation.evaluate",
    "train_dynamics": "cogmap.dynamics.train",
    "train_temporal": "cogmap.temporal.train",
}
__all__ = [
    "Agent",
    "CogmapError",
    "Decision",
    "Evaluation",
    "LocalDynamics",
    "Maze",
    "Planner",
    "PointMaze",
    "TemporalModel",
    "Trajectories",
    "evaluate",
    "train_dynamics",
    "train_temporal",
]

if TYPE_CHECKING:
    from cogmap.agent import Agent
    from cogmap.data.trajectories import Trajectories
    from cogmap.dynamics.model import LocalDynamics
    from cogmap.dynamics.train import train_dynamics
    from cogmap.envs.maze import Maze
    from cogmap.envs.pointmaze import PointMaze
    from cogmap.errors import CogmapError
    from cogmap.evaluation.evaluate import Evaluation, evaluate
    from cogmap.planning.planner import Decision, Planner
    from cogmap.temporal.model import TemporalModel
    from cogmap.temporal.train import train_temporal


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'cogmap' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
