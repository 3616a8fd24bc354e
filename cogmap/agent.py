"""A trained agent: both models and the maze they were learned in, ready to plan."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import torch
from torch import Tensor

from cogmap import devices, runs
from cogmap.dynamics.model import LocalDynamics
from cogmap.dynamics.train import load_dynamics
from cogmap.envs.album import Album
from cogmap.envs.maze import Maze
from cogmap.envs.pointmaze import SHAPES, PointMaze
from cogmap.errors import CogmapError
from cogmap.planning.objective import Rule, rule
from cogmap.planning.planner import Planner, Scorer
from cogmap.temporal.model import TemporalModel
from cogmap.temporal.scorer import LearnedScorer
from cogmap.temporal.train import load_temporal
from cogmap.theory.scorer import ExactScorer


@dataclass(frozen=True)
class Agent:
    """What a run folder holds."""

    temporal: TemporalModel
    dynamics: LocalDynamics
    maze: Maze | None  # None for data that came without one

    @classmethod
    def load(cls, folder: str | Path, *, device: devices.Device = "auto") -> Agent:
        """Reads a run or model folder."""
        folder = Path(folder)
        if not folder.is_dir():
            raise CogmapError(
                f"{folder} is no folder; give a run made by `cogmap train` or a model."
            )
        place = devices.pick(device)
        maze = maze_of(runs.read_json(folder / "config.json"))
        temporal = load_temporal(folder / "temporal", device=place)
        dynamics = load_dynamics(folder / "dynamics", device=place)
        if temporal.config.look_size != dynamics.config.observation_size:
            raise CogmapError(
                f"{folder}: the temporal model sees {temporal.config.look_size} numbers, the local "
                f"dynamics {dynamics.config.observation_size}; they are of different data."
            )
        return cls(temporal, dynamics, maze)

    def world(
        self,
        maze: Maze | None = None,
        *,
        physics: Literal["mujoco", "kinematic"] = "mujoco",
        pictures: Literal["camera", "grid"] = "camera",
    ) -> PointMaze:
        """The maze to act in: its own, unless another is given.

        A run that sees gets pictures from where the agent stands, or, many times faster, those
        of the nearest place on the package's grid.
        """
        here = maze or self.maze
        if here is None:
            raise CogmapError("this run was trained without a maze; give --maze to act in one.")
        shape = self.temporal.config.observation_shape
        if shape not in SHAPES:
            raise CogmapError(
                f"the model sees observations of shape {shape}; a point maze shows "
                f"{' or '.join(map(str, SHAPES))}."
            )
        album = None
        if self.temporal.config.sees and pictures == "grid":
            album = Album.packaged(here)
            if album is None:
                raise CogmapError(f"the package has no pictures of {here.name}; use the camera.")
        return PointMaze(here, physics=physics, observation=SHAPES[shape], album=album)

    def planner(
        self,
        planner: str | Rule = "log",
        *,
        world: PointMaze | None = None,
        tau_max: int | None = None,
        radii: Sequence[int] | None = None,
        score: Literal["learned", "exact"] = "learned",
        every_horizon: bool = False,
    ) -> Planner:
        """A planner by name (see planning.objective.rule) or rule over this agent's models.

        `score="exact"` plans with the true score of the maze's lattice walk: the ceiling.
        """
        world = world or self.world()
        longest = self.temporal.config.tau_max
        if tau_max is not None and tau_max > longest and score == "learned":
            raise CogmapError(
                f"tau_max={tau_max} exceeds the horizons this model learned (1..{longest}); "
                "lower --tau-max or train with a larger one."
            )
        if score == "exact" and self.temporal.config.sees:
            raise CogmapError("the exact score speaks of positions; this run sees pictures.")
        longest = longest if tau_max is None else tau_max
        chosen = planner
        if isinstance(chosen, str):
            chosen = rule(chosen, tau_max=longest, every_horizon=every_horizon)
        if radii is not None:
            chosen = replace(chosen, radii=tuple(radii))
        taus = torch.as_tensor(chosen.horizons.taus).to(next(self.temporal.parameters()).device)
        scorer: Scorer
        if score == "exact":
            lattice = world.maze.lattice
            scorer = ExactScorer(lattice.points, lattice.successors, taus)
        else:
            scorer = LearnedScorer(self.temporal, taus)
        return Planner(
            scorer,
            self.dynamics,
            chosen,
            world.candidates(hold=self.dynamics.config.hold, radii=chosen.radii),
            look=self.temporal.look,
            arrived=self.arrived if self.temporal.config.sees else world.arrived,
            goal_share=self.goal_share() if self.temporal.config.sees else world.goal_share(),
        )

    def check_positions(self, what: str) -> None:
        """Raises for a run that sees pictures, where something draws over positions."""
        if self.temporal.config.sees:
            raise CogmapError(
                f"{what} shows runs that learned from positions; this one sees pictures. "
                "`cogmap serve` and `cogmap evaluate` take it."
            )

    def arrived(self, looks: Tensor, goals: Tensor) -> Tensor:
        """Within a typical move of the goal. (E, K, d), (E, d) -> (E, K)"""
        return (
            torch.linalg.vector_norm(looks - goals[:, None], dim=-1) <= self.dynamics.reach.norm()
        )

    def goal_share(self) -> float:
        """p0 of the places that count as arrived, averaged over what was explored."""
        bank, share = self.temporal.bank, self.temporal.bank_log_share.exp()
        near = torch.cdist(bank[::16], bank) <= self.dynamics.reach.norm()
        return float((near.float() @ share).mean())


def maze_of(config: dict) -> Maze | None:
    """The maze that a run's config.json describes."""
    described = config.get("maze") if isinstance(config, dict) else None
    if described is None:
        return None
    return Maze.from_text("\n".join(described["rows"]), name=described["name"])


def maze_as_json(maze: Maze) -> dict:
    """The other way round, so that a run needs no maze file beside it."""
    return {"name": maze.name, "rows": maze.text.splitlines()}
