"""Goal-conditioned behavioural cloning: do what was done on the way to a later row.

The plain floor. Ghosh et al., Learning to Reach Goals via Iterated Supervised Learning (2021).
"""

from __future__ import annotations

from collections.abc import Mapping

from torch import Tensor, nn

from cogmap.baselines.goals import Batch
from cogmap.baselines.method import Method, Shape
from cogmap.baselines.networks import Actor, log_likelihood
from cogmap.baselines.settings import RivalTraining
from cogmap.training import Statistics


class GCBC(Method):
    """A policy alone; it has no value."""

    def __init__(self, shape: Shape, settings: RivalTraining) -> None:
        super().__init__(shape, settings)
        self.actor = Actor(2 * shape.observation_size, shape.action_size, shape.width)

    @property
    def parts(self) -> Mapping[str, nn.Module]:
        return {"actor": self.actor}

    def losses(self, batch: Batch) -> tuple[dict[str, Tensor], Statistics]:
        mean = self.actor(batch.observations, batch.actor_goals)
        return {"actor": -log_likelihood(mean, batch.actions).mean()}, {}

    def mean(self, observations: Tensor, goals: Tensor) -> Tensor:
        return self.actor(observations, goals)
