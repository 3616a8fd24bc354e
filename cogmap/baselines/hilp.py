"""Hilbert foundation policies: states in a space where straight distance is time, and a policy for
every direction in it.

    V(s, g) = -|phi(s) - phi(g)|   an upper expectile of r + discount V(s', g), without actions
    policy of a direction z        implicit Q-learning of the reward (phi(s') - phi(s)) z
    towards a goal                 z = the direction from phi(s) to phi(g), anew at each step

Park et al., Foundation Policies with Hilbert Representations (2024). Directions are drawn anew for
each batch, as its authors' code does since 2025; their paper's numbers came from one fixed draw.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from cogmap.baselines.goals import NOISE, Batch
from cogmap.baselines.method import Method, Shape, target_of
from cogmap.baselines.networks import Actor, Value, expectile_loss, follow, imitating
from cogmap.baselines.settings import RivalTraining
from cogmap.training import Statistics

LATENT = NOISE  # numbers of phi: 32
SKILL_EXPECTILE, SKILL_DISCOUNT = 0.9, 0.99


class HILP(Method):
    """Two phi, and implicit Q-learning of directions in the first; slow copies of both."""

    def __init__(self, shape: Shape, settings: RivalTraining) -> None:
        super().__init__(shape, settings)
        seen, done, width = shape.observation_size, shape.action_size, shape.width
        self.phi = Value(seen, width, copies=2, outputs=LATENT)
        self.v = Value(seen + LATENT, width)
        self.q = Value(seen + LATENT + done, width, copies=2)
        self.slow_phi, self.slow_q = target_of(self.phi), target_of(self.q)
        self.actor = Actor(seen + LATENT, done, width)

    @property
    def parts(self) -> Mapping[str, nn.Module]:
        return {"phi": self.phi, "value": self.v, "critic": self.q, "actor": self.actor}

    def losses(self, batch: Batch) -> tuple[dict[str, Tensor], Statistics]:
        here, after = batch.observations, batch.next_observations
        before, sought = self.phi(torch.cat([here, batch.value_goals])).chunk(2, dim=1)
        values = -apart(before, sought)
        with torch.no_grad():
            slow = self.slow_phi(torch.cat([here, after, batch.value_goals])).chunk(3, dim=1)
            going = self.discount * (1 - batch.there)
            later = -apart(slow[1], slow[2])
            backed_up = batch.rewards + going * later
            low_estimate = batch.rewards + going * later.amin(0)
            advantage = low_estimate + apart(slow[0], slow[2]).mean(0)
            skill = F.normalize(batch.noise, dim=-1)
            reward = ((self.phi(after)[0] - before[0]) * skill).sum(-1)
            backed_up_q = reward + SKILL_DISCOUNT * self.v(after, skill)[0, :, 0]
            q = self.slow_q(here, skill, batch.actions).amin(0)[:, 0]
        value = self.v(here, skill)[0, :, 0]
        q_error = self.q(here, skill, batch.actions)[..., 0] - backed_up_q
        gap, error = q - value, backed_up - values
        mean = self.actor(here, skill)
        return {
            "phi": expectile_loss(advantage, error, self.expectile).sum(0).mean(),
            "value": expectile_loss(gap, gap, SKILL_EXPECTILE).mean(),
            "critic": q_error.square().sum(0).mean(),
            "actor": imitating(mean, batch.actions, gap, self.alpha),
        }, {"value_mean": values.detach().mean()}

    def after_step(self) -> None:
        follow(self.slow_phi.parameters(), self.phi.parameters())
        follow(self.slow_q.parameters(), self.q.parameters())

    def mean(self, observations: Tensor, goals: Tensor) -> Tensor:
        here, goal = self.phi(torch.cat([observations, goals]))[0].chunk(2)
        return self.actor(observations, F.normalize(goal - here, dim=-1))

    def value(self, observations: Tensor, goals: Tensor) -> Tensor:
        here, goal = self.phi(torch.cat([observations, goals])).chunk(2, dim=1)
        return -apart(here, goal).mean(0)


def apart(x: Tensor, y: Tensor) -> Tensor:
    """Straight distances; the root's slope stays finite at 0. (K, B, n) x 2 -> (K, B)"""
    return (x - y).square().sum(-1).clamp(min=1e-6).sqrt()
