"""Quasimetric RL: distances as long as single steps allow.

    max E d(s, g)  over all pairs,  such that  d(s, s') <= 1  for each step of the data

d is an interval quasimetric of phi(s) and phi(g). The Lagrangian's multiplier is learned beside it.
The policy goes where a model of phi's next value says that the goal is nearest.

Wang et al., Optimal Goal-Reaching Reinforcement Learning via Quasimetric Learning (2023), and
Improved Representation of Asymmetrical Distances with Interval Quasimetric Embeddings (2022).
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from cogmap.baselines.goals import Batch
from cogmap.baselines.method import Method, Shape
from cogmap.baselines.networks import Actor, Value, climbing, iqe
from cogmap.baselines.settings import RivalTraining
from cogmap.training import Statistics

GROUP = 8  # numbers of phi in each interval union; phi has as many as a layer has units
SLACK = 0.05  # epsilon: how much the squared excess of a step may be
REACH, SOFT = 500.0, 100.0  # distances are stretched up to some 500 steps, by a softplus as wide


class Quasimetric(nn.Module):
    """phi, and how far it is from one phi to another: between the mean and the largest union."""

    def __init__(self, inputs: int, width: int) -> None:
        super().__init__()
        self.phi = Value(inputs, width, outputs=width)
        self.share = nn.Parameter(torch.zeros(()))  # of the mean, before a sigmoid

    def embed(self, observations: Tensor) -> Tensor:
        return self.phi(observations)[0]

    def between(self, x: Tensor, y: Tensor) -> Tensor:
        """(B, n) x 2 -> (B,)"""
        unions = iqe(x.unflatten(-1, (-1, GROUP)), y.unflatten(-1, (-1, GROUP)))
        return torch.lerp(unions.amax(-1), unions.mean(-1), self.share.sigmoid())


class Model(nn.Module):
    """The distance and, in its phi, what an action does."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.distance = Quasimetric(shape.observation_size, shape.width)
        width = shape.width
        self.change = Value(width + shape.action_size, width, outputs=width)

    def next(self, phi: Tensor, actions: Tensor) -> Tensor:
        return phi + self.change(phi, actions)[0]


class Multiplier(nn.Module):
    """A positive number, learned by its logarithm."""

    def __init__(self) -> None:
        super().__init__()
        self.log = nn.Parameter(torch.zeros(()))


class QRL(Method):
    """A distance with a model in its latent space, a multiplier, a policy."""

    def __init__(self, shape: Shape, settings: RivalTraining) -> None:
        super().__init__(shape, settings)
        self.model = Model(shape)
        self.multiplier = Multiplier()
        self.actor = Actor(2 * shape.observation_size, shape.action_size, shape.width)

    @property
    def parts(self) -> Mapping[str, nn.Module]:
        return {"model": self.model, "multiplier": self.multiplier, "actor": self.actor}

    def losses(self, batch: Batch) -> tuple[dict[str, Tensor], Statistics]:
        distance = self.model.distance
        seen = (batch.observations, batch.next_observations, batch.value_goals, batch.actor_goals)
        here, after, anywhere, goal = distance.embed(torch.cat(seen)).chunk(4)
        far = distance.between(here, anywhere)
        step = distance.between(here, after)
        excess = (step - 1).relu().square().mean()
        multiplier = self.multiplier.log.exp()
        stretched = (SOFT * F.softplus((REACH - far) / SOFT)).mean()
        told = self.model.next(here, batch.actions)
        off = (distance.between(after, told) + distance.between(told, after)).mean() / 2

        def worth(actions: Tensor) -> Tensor:
            return -distance.between(self.model.next(here, actions), goal)

        mean = self.actor(batch.observations, batch.actor_goals)
        return {
            "model": stretched + multiplier.detach() * excess + off,
            "multiplier": multiplier * (SLACK - excess.detach()),
            "actor": climbing(mean, batch.actions, worth, self.alpha),
        }, {"distance": far.detach().mean(), "one_step": step.detach().mean()}

    def mean(self, observations: Tensor, goals: Tensor) -> Tensor:
        return self.actor(observations, goals)

    def value(self, observations: Tensor, goals: Tensor) -> Tensor:
        distance = self.model.distance
        return -distance.between(distance.embed(observations), distance.embed(goals))
