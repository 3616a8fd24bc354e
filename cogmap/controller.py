"""A goal as a controller: asked at every step, it decides when it must and holds in between."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from cogmap.envs.world import Coded
from cogmap.errors import CogmapError
from cogmap.goals import Goal
from cogmap.planning.memory import Memory
from cogmap.planning.planner import Decision, Planner


class Controller:
    """Leads one system to one goal, and holds it there.

        controller = agent.controller("cos_theta=1")
        action = controller.act(observation)  # at each step of the environment

    Observations and actions are the environment's own where `codes` translates them.
    """

    def __init__(
        self,
        planner: Planner,
        goal_of: Callable[[np.ndarray], Goal],
        *,
        hold: int,
        codes: Coded | None = None,
    ) -> None:
        """`goal_of` makes the goal from what an episode shows first."""
        self.planner, self.hold = planner, hold
        self._goal_of, self._codes = goal_of, codes
        self.reset()

    def reset(self) -> None:
        """Forgets the episode."""
        self.memory = Memory()
        self.goal: Goal | None = None  # once something was seen
        self.decision: Decision | None = None  # the last one
        self.arrived = False  # whether what was last seen is the goal
        self._left = 0  # steps that the last action is held on

    def act(self, observation: Any) -> Any:
        """The action for the next step of the environment."""
        seen = np.asarray(observation) if self._codes is None else self._codes.encode(observation)
        if self.goal is None:
            whole = seen if self._codes is None else self._codes.numbers(observation)
            self.goal = self._goal_of(whole)
        if seen.shape != self.goal.rows.shape[1:]:
            raise CogmapError(
                f"an observation of shape {seen.shape}; this controller was made for "
                f"{self.goal.rows.shape[1:]}."
            )
        self.arrived = bool(self.goal.reached(seen[None])[0])
        if self.arrived:
            self.memory = Memory()  # who is there may stay
        if self._left == 0 or self.decision is None:
            [self.decision] = self.planner.decide_many(
                seen[None], self.goal.rows[None], memories=[self.memory]
            )
            self.memory.add(self.decision)
            self._left = self.hold
        self._left -= 1
        action = self.decision.action
        return action if self._codes is None else self._codes.decode(action)

    def predict(
        self,
        observation: Any,
        state: Any = None,
        episode_start: Any = None,
        deterministic: bool = True,
    ) -> tuple[Any, None]:
        """As Stable-Baselines3 asks a policy: (action, state)."""
        if episode_start is not None and np.any(episode_start):
            self.reset()
        return self.act(observation), None
