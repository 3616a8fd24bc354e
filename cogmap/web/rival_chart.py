"""A run of a rival as the page looks at it: values in place of G, and routes of its policy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from cogmap.agent import Agent
from cogmap.errors import CogmapError
from cogmap.evaluation.evaluate import Evaluation, with_references
from cogmap.evaluation.rollout import Episode, RivalPolicy
from cogmap.rival import Rival
from cogmap.web import messages
from cogmap.web.chart import Chart
from cogmap.web.ground import Driver, Ground
from cogmap.web.rounded import as_value, finite


def chart_of(folder: Path, *, id: str, agent: Agent | Rival) -> Ground:
    """A run of either kind."""
    if isinstance(agent, Rival):
        return RivalChart(folder, id=id, agent=agent)
    return Chart(folder, id=id, agent=agent)


class RivalChart(Ground):
    """Colours are values, if the method has any; its policy decides alone."""

    agent: Rival
    unused = ("exploration", "sight", "temporal", "dynamics", "planning", "dynamics_data")

    def __init__(self, folder: Path, *, id: str, agent: Rival) -> None:
        super().__init__(folder, id=id, agent=agent)
        self.method = self.acts_by = agent.method
        known = self._values(self.points[:1], self._first[1])
        self.colours = None if known is None else "value"

    @property
    def trained(self) -> str:
        settings = self.agent.model.settings
        return f"{self.method}, {settings.steps:,} updates of {settings.batch:,} rows"

    def field(self, goal: messages.Place, tau: int | None, score: messages.Score) -> np.ndarray:
        """The value of each lattice point. -> (S,)"""
        if tau is not None or score != "learned":
            raise CogmapError(
                f"{self.method} knows no horizons and no exact score; leave them out."
            )
        values = self._values(self.points, goal)
        if values is None:
            raise CogmapError(f"{self.method} learns a policy alone; it values no places.")
        return finite(values)

    def fields(self, goal: messages.Place) -> np.ndarray:
        """The same as one layer, or none. -> (1, S) or (0, S)"""
        if self.colours is None:
            return np.empty((0, len(self.points)))
        return self.field(goal, None, "learned")[None]

    def driver(self, planner: str | None) -> Driver:
        if planner is not None:
            raise CogmapError(
                f"planner {planner!r}: this run is of {self.method}, which acts by its own policy; "
                "leave it out."
            )
        return Driver(RivalPolicy(self.agent), remembers=False)

    def reason(self, episode: Episode) -> dict[str, Any]:
        return {"value": self._along(episode, episode.route[-2:-1])[0]}

    def worths(self, episode: Episode) -> list[float | None]:
        return self._along(episode, episode.route[:-1])

    def beside(self, result: Evaluation) -> list[Evaluation]:
        """Where it stands between the random policy and the shortest way."""
        return with_references(self.world, result)

    def _along(self, episode: Episode, places: list[np.ndarray]) -> list[float | None]:
        """Values of places on a route, towards its goal. (n, 2) -> (n,)"""
        values = self._values(np.array(places).reshape(-1, 2), episode.task.goal)
        return [None] * len(places) if values is None else [as_value(value) for value in values]

    def _values(self, places: np.ndarray, goal: tuple[float, ...]) -> np.ndarray | None:
        """How near places are to a goal. (n, 2), (2,) -> (n,)"""
        here, there = self.plane.glance(places), self.plane.glance(np.array([goal]))
        return self.agent.values(here, there[0])
