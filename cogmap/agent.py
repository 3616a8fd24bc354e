"""A trained agent: both models and the world they were learned in, ready to plan."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch

from cogmap import devices
from cogmap.choices import Device
from cogmap.config import METHOD, RunConfig
from cogmap.controller import Controller
from cogmap.dynamics.model import Dynamics
from cogmap.dynamics.train import load_dynamics
from cogmap.envs.kinds import restored
from cogmap.envs.world import Coded, World, fitting, map_of
from cogmap.errors import CogmapError
from cogmap.goals import Goal, Seen, Wanted
from cogmap.planning.alike import load_alike
from cogmap.planning.candidates import Candidates, Foreseen, Offer, Recall
from cogmap.planning.objective import Rule, rule
from cogmap.planning.planner import Planner, Scorer
from cogmap.planning.settings import Planning
from cogmap.rival import Rival
from cogmap.sight.model import Sight
from cogmap.sight.train import load_sight
from cogmap.temporal.model import TemporalModel
from cogmap.temporal.scorer import LearnedScorer
from cogmap.temporal.train import load_temporal
from cogmap.theory.scorer import ExactScorer

SEEN, RECALL, ALIKE, SIGHT = "seen.npz", "recall.npz", "alike", "sight"  # of a run folder


def load(
    folder: str | Path, *, world: World | None = None, device: Device = "auto"
) -> Agent | Rival:
    """A run folder of our method or of a rival; `world` where it is not one of the package's."""
    config = Path(folder) / "config.json"
    ours = not config.exists() or RunConfig.read(config).method == METHOD
    return (Agent if ours else Rival).load(folder, world=world, device=device)


@dataclass(frozen=True)
class Agent:
    """What a run folder holds."""

    temporal: TemporalModel
    dynamics: Dynamics
    world: World | None  # None for data that came without one
    planning: Planning = field(default_factory=Planning)  # how to plan unless told otherwise
    seen: Seen | None = None  # what goals are chosen from; a run of a maze keeps none
    recall: Recall | None = None  # what candidates are recalled from, in runs that do
    sight: Sight | None = None  # what makes states of pictures, where the temporal model sees none

    @classmethod
    def load(
        cls, folder: str | Path, *, world: World | None = None, device: Device = "auto"
    ) -> Agent:
        """Reads a run or model folder; `world` where it is not one of the package's."""
        folder = Path(folder)
        if not folder.is_dir():
            raise CogmapError(
                f"{folder} is no folder; give a run made by `cogmap train` or a model."
            )
        config = RunConfig.read(folder / "config.json")
        if config.method != METHOD:
            raise CogmapError(
                f"{folder} holds a run of {config.method}, not of {METHOD}, which this needs; "
                "`cogmap evaluate`, `plan`, `serve`, `report` and `info` take it."
            )
        if not (folder / "dynamics" / "config.json").exists():
            raise CogmapError(
                f"{folder} is not finished; go on with `cogmap train --resume {folder}`."
            )
        chip = devices.pick(device)
        temporal = load_temporal(folder / "temporal", device=chip)
        dynamics = load_dynamics(folder / "dynamics", device=chip)
        if temporal.config.look_size != dynamics.config.observation_size:
            raise CogmapError(
                f"{folder}: the temporal model sees {temporal.config.look_size} numbers, the local "
                f"dynamics {dynamics.config.observation_size}; they are of different data."
            )
        seen = Seen.load(folder / SEEN)
        here = world or restored(config.world, seen)
        recall = Recall.load(folder / RECALL, load_alike(folder / ALIKE, device=chip))
        sight = load_sight(folder / SIGHT, device=chip)
        return cls(temporal, dynamics, here, config.settings.planning, seen, recall, sight)

    @property
    def observation_shape(self) -> tuple[int, ...]:
        """Of what the run sees."""
        if self.sight is not None:
            return self.sight.config.picture_shape
        return self.temporal.config.observation_shape

    @property
    def sees(self) -> bool:
        """Whether observations are pictures."""
        return len(self.observation_shape) == 3

    def look(self, observations: torch.Tensor) -> torch.Tensor:
        """What scores know of observations that nothing came before. (N, ...) -> (N, d)"""
        if self.sight is not None:
            return self.sight.begin(self.sight.look(observations))
        return self.temporal.look(observations)

    def acting_in(self, world: World | None) -> World:
        """The world to act in: the given one, else its own. Raises where the two do not fit."""
        return fitting(world or self.world, self.observation_shape)

    def planner(
        self,
        planner: str | Planning | Rule | None = None,
        *,
        world: World | None = None,
        tau_max: int | None = None,
        score: Literal["learned", "exact"] = "learned",
        every_horizon: bool = False,
    ) -> Planner:
        """A planner over this agent's models: by name, by settings, or by a rule of one's own.

        `score="exact"` plans with the true score of the maze's lattice walk: the ceiling.
        """
        here = world or self.world
        if here is not None or self.seen is None or self.seen.actions is None:
            here = self.acting_in(world)
        settings = planner if isinstance(planner, Planning) else self.planning
        if isinstance(planner, str):
            settings = replace(settings, planner=planner)
        longest = self.temporal.config.tau_max
        if tau_max is not None and tau_max > longest and score == "learned":
            raise CogmapError(
                f"tau_max={tau_max} exceeds the horizons this model learned (1..{longest}); "
                "lower --tau-max or train with a larger one."
            )
        if isinstance(planner, Rule):
            chosen = planner
            if (asked := int(max(chosen.horizons.taus))) > longest and score == "learned":
                raise CogmapError(
                    f"the rule asks horizons up to {asked}; this model learned 1..{longest}."
                )
        else:
            longest = longest if tau_max is None else tau_max
            chosen = rule(settings, tau_max=longest, every_horizon=every_horizon)
        taus = torch.as_tensor(chosen.horizons.taus).to(self.dynamics.reach.device)
        scorer: Scorer = LearnedScorer(self.temporal, taus)
        if score == "exact":
            self.check_positions("the exact score")
            lattice = map_of(here, "the exact score").lattice
            scorer = ExactScorer(lattice.points, lattice.successors, taus)
        candidates: Offer
        if settings.recalled:
            if self.recall is None:
                raise CogmapError(
                    "this run kept nothing to recall actions from; train it with "
                    "--planning.recalled, or plan with --recalled 0."
                )
            candidates = self.recall.candidates(settings.recalled, chosen.radii)
        elif here is not None:
            candidates = here.candidates(settings, radii=chosen.radii, hold=self.dynamics.hold)
        else:
            candidates = self._taken(settings.directions, chosen.radii)
        width, known = candidates.actions.shape[1], self._action_size
        foreseen = isinstance(candidates, Foreseen)  # what they do is not the local model's to say
        if not foreseen and width != (width if known is None else known):
            raise CogmapError(
                f"candidates are actions of {width} numbers; the local model learned those of "
                f"{known}."
            )
        seeing: dict[str, Any] = {}
        if self.sight is not None:
            seeing = {"follow": self.sight.follow, "placed": self.sight.config.numbers}
        return Planner(scorer, self.dynamics, chosen, candidates, look=self.look, **seeing)

    @property
    def _action_size(self) -> int | None:
        """Numbers in an action; None: the dynamics is not a learned one."""
        config = getattr(self.dynamics, "config", None)
        return getattr(config, "action_size", None)

    def _taken(self, count: int, radii: tuple[int, ...]) -> Candidates:
        """Actions that were taken in the data: what a system without a world can be asked to do."""
        assert self.seen is not None and self.seen.actions is not None
        actions = self.seen.actions
        rows = np.linspace(0, len(actions) - 1, min(len(actions), 4 * count)).astype(int)
        return Candidates(actions[rows].astype(np.float32), radii)

    def goal(self, wanted: Wanted, here: np.ndarray | None = None) -> Goal:
        """A goal as people think of it (goals.py): numbers, names, rows, a file, a predicate."""
        if self.seen is None:
            raise CogmapError("this run keeps no seen observations; give positions of its maze.")
        if isinstance(self.world, Coded):
            wanted = self.world.as_goal(wanted)
        return self.seen.goal(wanted, here)

    def controller(
        self,
        goal: Wanted,
        *,
        planner: str | Planning | Rule | None = None,
        **settings: Any,
    ) -> Controller:
        """Leads a system to a goal, one step at a time. `settings` are those of `planner`."""
        codes = self.world if isinstance(self.world, Coded) else None
        deciding = self.planner(planner, **settings)
        hold = self.dynamics.hold * deciding.candidates.steps_per_unit
        if self.seen is not None and not self.seen.context.mask.any():
            self.goal(goal)  # what is wrong with it is said now, not at the first step
        return Controller(deciding, lambda here: self.goal(goal, here), hold=hold, codes=codes)

    def check_positions(self, what: str) -> None:
        """Raises for a run that sees pictures, where something speaks of positions."""
        if self.sees:
            raise CogmapError(
                f"{what} is for runs that learned from positions; this one sees pictures. "
                "`cogmap serve` and `cogmap evaluate` take it."
            )
