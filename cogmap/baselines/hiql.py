"""Hierarchical implicit Q-learning: a policy of subgoals, and one of actions towards them.

    V(s, phi(s, g))   an upper expectile of r + discount V(s'), without actions
    high policy       phi of where the data was k rows later, as much as that was of advantage
    low policy        what was done, as much as it was of advantage towards a row k later

Park et al., HIQL: Offline Goal-Conditioned RL with Latent States as Actions (2023).
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from cogmap.baselines.goals import Batch
from cogmap.baselines.method import Method, Shape, target_of
from cogmap.baselines.networks import Actor, Value, expectile_loss, follow, imitating
from cogmap.baselines.settings import RivalTraining
from cogmap.training import Statistics

SUBGOAL = 10  # numbers of phi


class Ahead(nn.Module):
    """Two values of what phi says of a goal."""

    def __init__(self, observation_size: int, width: int) -> None:
        super().__init__()
        self.phi = Value(2 * observation_size, width, outputs=SUBGOAL)
        self.v = Value(observation_size + SUBGOAL, width, copies=2)

    def subgoal(self, observations: Tensor, goals: Tensor) -> Tensor:
        """phi: a goal as seen from here, of length sqrt(10). (B, d) x 2 -> (B, 10)"""
        return on_sphere(self.phi(observations, goals)[0])


class HIQL(Method):
    """Two values over a shared phi, a slow copy of them, and two policies."""

    def __init__(self, shape: Shape, settings: RivalTraining) -> None:
        super().__init__(shape, settings)
        seen, width = shape.observation_size, shape.width
        self.ahead = Ahead(seen, width)
        self.slow_v = target_of(self.ahead.v)  # phi is the same one, as in OGBench
        self.high = Actor(2 * seen, SUBGOAL, width)
        self.low = Actor(seen + SUBGOAL, shape.action_size, width)

    @property
    def parts(self) -> Mapping[str, nn.Module]:
        return {"value": self.ahead, "high": self.high, "low": self.low}

    def losses(self, batch: Batch) -> tuple[dict[str, Tensor], Statistics]:
        here, after = batch.observations, batch.next_observations
        ahead, goals = self.ahead, batch.value_goals
        phi = ahead.subgoal(here, goals)
        values = ahead.v(here, phi)[..., 0]  # (2, B)
        with torch.no_grad():
            # All that is asked of phi beside, at once; then what the policies ask of the value.
            reached = torch.cat([after, here, batch.towards, here, here, after])
            sought = [batch.soon, batch.soon, batch.actor_goals, batch.actor_goals, batch.towards]
            seen = ahead.subgoal(reached, torch.cat([*sought, goals]))
            _, soon, _, _, towards, from_after = seen.chunk(6)
            pairs = 4 * len(here)
            found = ahead.v(reached[:pairs], seen[:pairs])[..., 0].mean(0).chunk(4)
            low_gain, high_gain = found[0] - found[1], found[2] - found[3]
            # The target tells which errors count more, the online value what the errors are.
            slow = self.slow_v(torch.cat([after, here]), torch.cat([from_after, phi]))[..., 0]
            later, now = slow.chunk(2, dim=1)
            going = self.discount * (1 - batch.there)
            backed_up = batch.rewards + going * later
            low_estimate = batch.rewards + going * later.amin(0)
            advantage = low_estimate - now.mean(0)
        error = backed_up - values
        high, low = self.high(here, batch.actor_goals), self.low(here, soon)
        return {
            "value": expectile_loss(advantage, error, self.expectile).sum(0).mean(),
            "high": imitating(high, towards, high_gain, self.alpha),
            "low": imitating(low, batch.actions, low_gain, self.alpha),
        }, {"value_mean": values.detach().mean()}

    def after_step(self) -> None:
        follow(self.slow_v.parameters(), self.ahead.v.parameters())

    def mean(self, observations: Tensor, goals: Tensor) -> Tensor:
        return self.low(observations, on_sphere(self.high(observations, goals)))

    def value(self, observations: Tensor, goals: Tensor) -> Tensor:
        subgoal = self.ahead.subgoal(observations, goals)
        return self.ahead.v(observations, subgoal)[..., 0].mean(0)


def on_sphere(subgoal: Tensor) -> Tensor:
    return math.sqrt(SUBGOAL) * F.normalize(subgoal, dim=-1)
