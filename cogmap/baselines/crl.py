"""Contrastive RL: which row of the batch does this goal belong to?

    phi(s, a)' psi(g) / sqrt(n)   the logit that g is a later row of the episode of (s, a)

A binary contrast with every other goal of the batch; the policy does what makes the goal likeliest.
Eysenbach et al., Contrastive Learning as Goal-Conditioned Reinforcement Learning (2022).
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from cogmap.baselines.goals import Batch
from cogmap.baselines.method import Method, Shape
from cogmap.baselines.networks import Actor, Value, climbing
from cogmap.baselines.settings import RivalTraining
from cogmap.training import Statistics


class Critic(nn.Module):
    """Two of phi and two of psi, each of as many numbers as a layer has units."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        seen, done, width = shape.observation_size, shape.action_size, shape.width
        self.phi = Value(seen + done, width, copies=2, outputs=width)
        self.psi = Value(seen, width, copies=2, outputs=width)


class CRL(Method):
    """Two critics and a policy."""

    def __init__(self, shape: Shape, settings: RivalTraining) -> None:
        super().__init__(shape, settings)
        self.critic = Critic(shape)
        self.actor = Actor(2 * shape.observation_size, shape.action_size, shape.width)

    @property
    def parts(self) -> Mapping[str, nn.Module]:
        return {"critic": self.critic, "actor": self.actor}

    def losses(self, batch: Batch) -> tuple[dict[str, Tensor], Statistics]:
        here, critic = batch.observations, self.critic
        phi, psi = critic.phi(here, batch.actions), critic.psi(batch.value_goals)
        logits = torch.einsum("kin,kjn->kij", phi, psi) / math.sqrt(phi.shape[-1])
        own = torch.eye(len(here), device=here.device).expand_as(logits)
        sought = critic.psi(batch.actor_goals)

        def worth(actions: Tensor) -> Tensor:
            return likeness(critic.phi(here, actions), sought)

        mean = self.actor(here, batch.actor_goals)
        right = logits.detach().mean(0).argmax(1) == torch.arange(len(here), device=here.device)
        return {
            "critic": F.binary_cross_entropy_with_logits(logits, own),
            "actor": climbing(mean, batch.actions, worth, self.alpha),
        }, {"told_apart": right.float().mean()}

    def mean(self, observations: Tensor, goals: Tensor) -> Tensor:
        return self.actor(observations, goals)

    def value(self, observations: Tensor, goals: Tensor) -> Tensor:
        """Of what the policy would do."""
        phi = self.critic.phi(observations, self.act(observations, goals))
        return likeness(phi, self.critic.psi(goals))


def likeness(phi: Tensor, psi: Tensor) -> Tensor:
    """The smaller of the two logits. (2, B, n) x 2 -> (B,)"""
    return ((phi * psi).sum(-1) / math.sqrt(phi.shape[-1])).amin(0)
