"""The losses of rivals against numbers worked out by hand, on a batch of two rows.

States, goals and actions are one number each; networks are told what to say, so that every loss is
a few sums.
"""

import math

import pytest
import torch
from torch import nn

from cogmap.baselines.goals import NOISE, Batch
from cogmap.baselines.method import Shape
from cogmap.baselines.networks import iqe
from cogmap.baselines.settings import RivalTraining
from cogmap.baselines.train import METHODS

SHAPE = Shape(observation_size=1, action_size=1, width=8)
HALF_LOG = 0.5 * math.log(2 * math.pi)


def column(*numbers):
    return torch.tensor(numbers)[:, None]


BATCH = Batch(
    observations=column(0.0, 1.0),
    actions=column(0.5, -0.5),
    next_observations=column(0.5, 0.5),
    value_goals=column(2.0, 1.0),
    there=torch.tensor([0.0, 1.0]),
    actor_goals=column(3.0, 0.0),
    soon=column(1.0, 0.0),
    towards=column(2.0, 0.5),
    noise=torch.ones(2, NOISE),
)


class Told(nn.Module):
    """Says what a function of its inputs says."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *inputs):
        return self.function(*inputs)


def told(*functions):
    """K networks, each a function of (B, 1) inputs."""
    return Told(lambda *inputs: torch.stack([function(*inputs) for function in functions]))


def made(name, **settings):
    torch.manual_seed(0)
    usual = RivalTraining(**settings).settled(name, fast=False)
    return METHODS[name](SHAPE, usual)


def policy(*means):
    return Told(lambda *inputs: column(*means))


def numbers(losses):
    return {name: loss.item() for name, loss in losses.items()}


def test_gcbc():
    model = made("gcbc")
    model.actor = policy(0.2, 0.0)
    losses, _ = model.losses(BATCH)
    # -log N(0.5; 0.2, 1) and -log N(-0.5; 0, 1)
    assert numbers(losses) == {"actor": pytest.approx((0.045 + 0.125) / 2 + HALF_LOG)}


def test_gciql():
    model = made("gciql", alpha=0.1, expectile=0.9, discount=0.99)
    model.v = told(lambda s, g: -(g - s).abs())
    model.q = told(lambda s, g, a: -(g - s - a).abs(), lambda s, g, a: -(g - s - a).abs() - 1)
    model.slow_q = told(lambda s, g, a: -(g - s - a).abs(), lambda s, g, a: 0 * a + 9)
    model.actor = policy(0.2, -3.0)  # the second is clipped to -1, but not for the cloning
    losses, _ = model.losses(BATCH)
    found = numbers(losses)
    # Q - V: -1.5 + 2 = 0.5, -0.5 - 0 = -0.5
    assert found["value"] == pytest.approx((0.9 * 0.25 + 0.1 * 0.25) / 2)
    # r + 0.99 V(s'): -1 - 0.99 * 1.5 = -2.485, and 0 where the goal is there
    errors = (-1.5 + 2.485) ** 2 + (-2.5 + 2.485) ** 2, 0.5**2 + 1.5**2
    assert found["critic"] == pytest.approx(sum(errors) / 2, rel=1e-4)
    # Q of the policy: -2.8 - 1 and -0 - 1, over their own mean size
    cloned = (0.5 * 0.3**2 + 0.5 * 2.5**2) / 2 + HALF_LOG
    assert found["actor"] == pytest.approx(1.0 + 0.1 * cloned, rel=1e-4)


class Line(nn.Module):
    """Distances that are what is told of a pair; nothing is embedded."""

    def embed(self, observations):
        return observations

    def between(self, x, y):
        return 3 * (y - x).clamp(min=0)[:, 0] + (x - y).clamp(min=0)[:, 0]


def test_qrl():
    model = made("qrl", alpha=0.1)
    model.model.distance = Line()
    model.model.change = told(lambda phi, a: 2 * a)
    model.multiplier.log.data.fill_(math.log(4.0))
    model.actor = policy(0.5, 0.0)
    losses, _ = model.losses(BATCH)
    found = numbers(losses)
    # d(s, g) = 6, 0; d(s, s') = 1.5, 0.5; s + 2 a = 1, 0, which is off s' by 3 * 0.5 + 0.5 each way
    far = sum(100 * math.log1p(math.exp((500 - d) / 100)) for d in (6, 0)) / 2
    excess = 0.5**2 / 2
    assert found["model"] == pytest.approx(far + 4 * excess + (1.5 + 0.5) / 2, rel=1e-5)
    assert found["multiplier"] == pytest.approx(4 * (0.05 - excess))
    # The policy leads to 1 and 1, at 6 from 3 and at 1 from 0.
    cloned = (0.0 + 0.5 * 0.5**2) / 2 + HALF_LOG
    assert found["actor"] == pytest.approx(1.0 + 0.1 * cloned, rel=1e-4)


class Ahead(nn.Module):
    """Subgoals are goals themselves."""

    def __init__(self):
        super().__init__()
        self.v = told(lambda s, g: -(g - s).abs(), lambda s, g: -(g - s).abs() - 1)

    def subgoal(self, observations, goals):
        return goals


def test_hiql():
    model = made("hiql", alpha=2.0, expectile=0.7, discount=0.5)
    model.ahead = Ahead()
    model.slow_v = told(lambda s, g: -(g - s).abs(), lambda s, g: 0 * g)
    model.high, model.low = policy(2.0, 1.5), policy(0.5, 0.0)
    losses, _ = model.losses(BATCH)
    found = numbers(losses)
    # Row 1: V' = -1.5, 0; targets -1 + 0.5 V' = -1.75, -1; the lower against the mean -1: -0.75.
    # Row 2 is there: targets 0, 0, against the mean 0: no loss of weight to be had, so 0.7.
    row1 = 0.3 * ((-1.75 + 2) ** 2 + (-1 + 3) ** 2)
    row2 = 0.7 * ((0 - 0) ** 2 + (0 + 1) ** 2)
    assert found["value"] == pytest.approx((row1 + row2) / 2)
    # Towards the low goals 1 and 0 both went from 1 to 0.5: a gain of 0.5 each.
    low = math.exp(2 * 0.5) * (2 * HALF_LOG + 0.0 + 0.5 * 0.5**2) / 2
    assert found["low"] == pytest.approx(low, rel=1e-5)
    # Towards the goals 3 and 0, being at 2 and 0.5: gains of 2 and 0.5.
    high = math.exp(2 * 2) * HALF_LOG + math.exp(2 * 0.5) * (HALF_LOG + 0.5 * 1.0**2)
    assert found["high"] == pytest.approx(high / 2, rel=1e-5)


def test_an_advantage_weighs_at_most_a_hundred():
    model = made("hiql", alpha=1000.0)
    model.ahead, model.low, model.high = Ahead(), policy(0.5, -0.5), policy(2.0, 0.5)
    model.slow_v = model.ahead.v
    losses, _ = model.losses(BATCH)
    assert losses["low"].item() == pytest.approx(100 * HALF_LOG)


def test_hilp():
    model = made("hilp", alpha=2.0, expectile=0.95, discount=0.5)
    model.phi = told(lambda s: s.expand(-1, NOISE), lambda s: 2 * s.expand(-1, NOISE))
    model.slow_phi = told(lambda s: 0 * s.expand(-1, NOISE), lambda s: s.expand(-1, NOISE))
    model.v = told(lambda s, z: s)
    model.q = told(lambda s, z, a: a, lambda s, z, a: a + 1)
    model.slow_q = told(lambda s, z, a: s + a, lambda s, z, a: s + a + 5)
    model.actor = policy(0.5, 0.0)
    losses, _ = model.losses(BATCH)
    found, root = numbers(losses), math.sqrt(NOISE)  # |phi(s) - phi(g)| = root |s - g|
    # Row 1: slow V' = -0.001, -1.5 root; targets -1 + 0.5 V'; the lower against the mean -root.
    targets = -1 - 0.5e-3, -1 - 0.75 * root
    advantage = targets[1] + (1e-3 + 2 * root) / 2
    assert advantage > 0
    row1 = 0.95 * ((targets[0] + 2 * root) ** 2 + (targets[1] + 4 * root) ** 2)
    row2 = 0.95 * 2 * 1e-6  # there: the values are the root's floor, the targets 0
    assert found["phi"] == pytest.approx((row1 + row2) / 2, rel=1e-4)
    # Directions are (1, ..., 1) / root: going from 0 to 0.5 is worth root / 2, back as much less.
    worth = root / 2 + 0.99 * 0.5, -root / 2 + 0.99 * 0.5
    errors = [(a - w) ** 2 + (a + 1 - w) ** 2 for a, w in zip((0.5, -0.5), worth)]
    assert found["critic"] == pytest.approx(sum(errors) / 2, rel=1e-5)
    # Q - V: 0.5 - 0 and 0.5 - 1
    assert found["value"] == pytest.approx((0.9 * 0.25 + 0.1 * 0.25) / 2)
    actor = math.exp(1.0) * HALF_LOG + math.exp(-1.0) * (HALF_LOG + 0.125)
    assert found["actor"] == pytest.approx(actor / 2, rel=1e-5)


def test_crl():
    model = made("crl", alpha=0.1)
    model.critic.phi = told(lambda s, a: s + a, lambda s, a: s + 2 * a)
    model.critic.psi = told(lambda g: g, lambda g: g)
    model.actor = policy(1.0, 0.0)
    losses, statistics = model.losses(BATCH)
    found = numbers(losses)
    logits = [[1.0, 0.5], [1.0, 0.5]], [[2.0, 1.0], [0.0, 0.0]]  # phi times the goals 2 and 1
    wrong = [
        math.log1p(math.exp(-one[i][j] if i == j else one[i][j]))
        for one in logits
        for i in range(2)
        for j in range(2)
    ]
    assert found["critic"] == pytest.approx(sum(wrong) / 8, rel=1e-5)
    # Of the policy's actions 1 and 0: min(3 * 1, 3 * 2) and min(0, 0)
    cloned = (0.5 * 0.5**2 + 0.5 * 0.5**2) / 2 + HALF_LOG
    assert found["actor"] == pytest.approx(-1.0 + 0.1 * cloned, rel=1e-5)
    assert statistics["told_apart"].item() == 0.5


def test_iqe_is_the_length_of_a_union_of_intervals():
    generator = torch.Generator().manual_seed(0)
    x = torch.randint(-6, 7, (200, 5), generator=generator).double()
    y = torch.randint(-6, 7, (200, 5), generator=generator).double()
    for begins, ends, found in zip(x.tolist(), y.tolist(), iqe(x, y).tolist()):
        covered = {k for a, b in zip(begins, ends) for k in range(int(a), int(b))}
        assert found == len(covered)


def test_iqe_obeys_the_triangle_and_not_symmetry():
    generator = torch.Generator().manual_seed(1)
    x, y, z = torch.randn(3, 500, 8, generator=generator)
    assert (iqe(x, z) <= iqe(x, y) + iqe(y, z) + 1e-5).all()
    assert (iqe(x, x) == 0).all()
    assert (iqe(x, y) - iqe(y, x)).abs().max() > 1
