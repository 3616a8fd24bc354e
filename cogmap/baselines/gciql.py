"""Goal-conditioned implicit Q-learning.

    V(s, g)    an upper expectile of Q(s, a, g) over the actions a of the data
    Q(s, a, g) r + discount V(s', g), with r = -1 a step until s is g
    policy     what is worth most by Q, but like the data

Kostrikov et al., Offline Reinforcement Learning with Implicit Q-Learning (2022); with goals as in
OGBench (Park et al., 2025).
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor, nn

from cogmap.baselines.goals import Batch
from cogmap.baselines.method import Method, Shape, target_of
from cogmap.baselines.networks import Actor, Value, climbing, expectile_loss, follow
from cogmap.baselines.settings import RivalTraining
from cogmap.training import Statistics


class GCIQL(Method):
    """Two critics and a slow copy of them, a value, a policy."""

    def __init__(self, shape: Shape, settings: RivalTraining) -> None:
        super().__init__(shape, settings)
        seen, done, width = 2 * shape.observation_size, shape.action_size, shape.width
        self.v = Value(seen, width)
        self.q = Value(seen + done, width, copies=2)
        self.slow_q = target_of(self.q)
        self.actor = Actor(seen, done, width)

    @property
    def parts(self) -> Mapping[str, nn.Module]:
        return {"value": self.v, "critic": self.q, "actor": self.actor}

    def losses(self, batch: Batch) -> tuple[dict[str, Tensor], Statistics]:
        here, goals = batch.observations, batch.value_goals
        value = self.value(here, goals)
        with torch.no_grad():
            q = self.slow_q(here, goals, batch.actions).amin(0)[:, 0]
            later = (1 - batch.there) * self.value(batch.next_observations, goals)
            backed_up = batch.rewards + self.discount * later
        gap = q - value
        q_error = self.q(here, goals, batch.actions)[..., 0] - backed_up

        def worth(actions: Tensor) -> Tensor:
            return self.q(here, batch.actor_goals, actions).amin(0)

        mean = self.actor(here, batch.actor_goals)
        return {
            "value": expectile_loss(gap, gap, self.expectile).mean(),
            "critic": q_error.square().sum(0).mean(),
            "actor": climbing(mean, batch.actions, worth, self.alpha),
        }, {"value_mean": value.detach().mean()}

    def after_step(self) -> None:
        follow(self.slow_q.parameters(), self.q.parameters())

    def mean(self, observations: Tensor, goals: Tensor) -> Tensor:
        return self.actor(observations, goals)

    def value(self, observations: Tensor, goals: Tensor) -> Tensor:
        return self.v(observations, goals)[0, :, 0]
