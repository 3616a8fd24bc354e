"""Rivals learn what they should where the truth is known: a chain, a grid, an open box."""

import json
from dataclasses import replace

import numpy as np
import pytest
import torch

from cogmap.baselines.goals import Rows, check_rows, mixed
from cogmap.baselines.networks import expectile_loss, follow
from cogmap.baselines.qrl import SLACK
from cogmap.baselines.settings import RivalTraining
from cogmap.baselines.train import METHODS, load_rival, train_rival
from cogmap.data.trajectories import Trajectories
from cogmap.errors import CogmapError

SMALL = RivalTraining(batch=256, width=64, checkpoint_every=10_000, learning_rate=1e-3)
EPISODES, LENGTH = 40, 500


def rows_of(seen, done):
    """(E, T, d) and (E, T, a) as a dataset."""
    episodes, length = seen.shape[:2]
    return Trajectories(
        episode_starts=np.arange(0, episodes * length, length),
        observations=seen.reshape(episodes * length, -1).astype(np.float32),
        actions=done.reshape(episodes * length, -1).astype(np.float32),
    )


def wandered(move, start):
    """Random actions from `start` (E, d), and what `move` makes of states and them."""
    rng = np.random.default_rng(0)
    done = rng.uniform(-1, 1, size=(len(start), LENGTH, start.shape[1]))
    seen = np.empty_like(done)
    seen[:, 0] = start
    for t in range(LENGTH - 1):
        seen[:, t + 1] = move(seen[:, t], done[:, t])
    return rows_of(seen, done)


def trained(method, data, folder, *, steps, **settings):
    told = replace(SMALL, steps=steps, **settings).settled(method, fast=False)
    return train_rival(method, data, told, folder, seed=0, device="cpu")


def drawn(data, settings, size):
    rows = Rows(data, settings)
    return rows.batch(*rows.chances(size, torch.Generator().manual_seed(0)))


def test_goals_are_drawn_by_their_shares_and_later_ones_from_the_same_episode():
    seen = np.arange(40.0).reshape(4, 10, 1)
    settings = RivalTraining(discount=0.8, subgoal_steps=3).settled("gciql", fast=False)
    settings = replace(settings, subgoal_steps=3, value_goals=(0.2, 0.5, 0.3))
    batch = drawn([rows_of(seen, np.zeros((4, 10, 1)))], [settings], 200_000)
    here, goal, pursued, soon = (
        part[0, :, 0].long()
        for part in (batch.observations, batch.value_goals, batch.actor_goals, batch.soon)
    )
    last = here // 10 * 10 + 9
    assert (here < last).all() and (batch.next_observations[0, :, 0] == here + 1).all()
    # Any row may be the present one or later in its episode: 1 of 36, and 4 of 36 on average.
    assert (goal == here).float().mean().item() == pytest.approx(0.2 + 0.3 / 36, abs=0.005)
    assert (batch.there[0] == (goal == here)).all()
    same = goal // 10 == here // 10
    assert same.float().mean().item() == pytest.approx(0.7 + 0.3 / 4, abs=0.005)
    # One step on with chance 1 - 0.8, but for random goals and where the episode ends.
    first = here == last - 9
    share = (goal == here + 1)[first].float().mean().item()
    assert share == pytest.approx(0.5 * 0.2 + 0.3 / 36, abs=0.01)
    assert ((pursued > here) & (pursued <= last)).all()
    assert (soon == torch.minimum(here + 3, last)).all()
    assert (batch.towards[0, :, 0] == torch.minimum(soon, pursued)).all()


def test_geometric_goals_lie_as_far_as_the_discount_says():
    data = rows_of(np.arange(5000.0).reshape(1, -1, 1), np.zeros((1, 5000, 1)))
    settings = RivalTraining(discount=0.9).settled("crl", fast=False)
    batch = drawn([data], [settings], 100_000)
    ahead = (batch.value_goals - batch.observations)[0, :, 0]
    assert ahead.min() == 1 and ahead.mean().item() == pytest.approx(10, rel=0.02)
    assert (ahead == 1).float().mean().item() == pytest.approx(0.1, abs=0.005)


def test_shares_decide_between_the_three():
    row, later, anywhere = torch.zeros(4), torch.ones(4), torch.full((4,), 2.0)
    u = torch.tensor([0.1, 0.3, 0.69, 0.71])
    assert mixed(row, later, anywhere, (0.2, 0.5, 0.3), u).tolist() == [0, 1, 1, 2]


def test_a_high_expectile_lies_above_the_mean_and_one_half_is_the_mean():
    values = torch.tensor([0.0, 1.0, 5.0])
    for expectile, expected in ((0.5, 2.0), (0.9, 46 / 11)):  # 0.9 (5 - x) = 0.1 (x + x - 1)
        grid = torch.linspace(0, 5, 50_001)
        gaps = values - grid[:, None]
        best = grid[expectile_loss(gaps, gaps, expectile).sum(1).argmin()].item()
        assert best == pytest.approx(expected, abs=1e-3)


def test_targets_follow_slowly():
    target, leader = torch.nn.Linear(2, 2), torch.nn.Linear(2, 2)
    expected = 0.995 * target.weight + 0.005 * leader.weight
    follow(target.parameters(), leader.parameters())
    torch.testing.assert_close(target.weight, expected)


def ring():
    """Always one step on, and from the end back to the beginning: 3 ahead is 3, back is 2."""
    places = np.arange(1000).reshape(2, 500) % 5
    angle = 2 * np.pi * places / 5
    start, goal = np.divmod(np.arange(25), 5)
    data = rows_of(np.stack([np.cos(angle), np.sin(angle)], -1), np.ones((2, 500, 1)))
    return data, start, goal, (goal - start) % 5


def line():
    """One step this way or that, between two ends."""
    rng = np.random.default_rng(0)
    places = np.zeros((4, 500, 1))
    for t in range(499):
        places[:, t + 1] = np.clip(places[:, t] + rng.choice([-1, 1], size=(4, 1)), 0, 9)
    start, goal = np.divmod(np.arange(100), 10)
    return rows_of(places, np.ones((4, 500, 1))), start, goal, np.abs(start - goal)


@pytest.mark.parametrize("chain", [ring, line])
def test_qrl_counts_steps_and_knows_which_way_they_go(chain, tmp_path):
    data, start, goal, truth = chain()
    model = trained("qrl", data, tmp_path / "run", steps=600, learning_rate=3e-3, batch=128)
    places = torch.as_tensor(np.unique(data.rows(np.arange(len(data))), axis=0))
    if chain is ring:
        places = torch.as_tensor(data.rows(np.arange(5)))
    with torch.no_grad():
        found = -model.value(places[start], places[goal]).numpy()
    longest = 1 + SLACK**0.5  # what the constraint lets a step be
    assert np.corrcoef(found, truth)[0, 1] > 0.98
    assert np.abs(found / longest - truth).mean() < 0.3 * truth.mean()


@pytest.mark.parametrize("method", ["hiql", "hilp"])
def test_values_on_a_grid_are_discounted_steps(method, tmp_path):
    """Nine moves on a 5 x 5 grid, so that a distance is the larger of two differences."""
    rng = np.random.default_rng(0)
    moves = rng.integers(-1, 2, size=(EPISODES, LENGTH, 2))
    seen = np.empty((EPISODES, LENGTH, 2))
    seen[:, 0] = rng.integers(5, size=(EPISODES, 2))
    for t in range(LENGTH - 1):
        seen[:, t + 1] = np.clip(seen[:, t] + moves[:, t], 0, 4)
    model = trained(
        method,
        rows_of(seen, moves),
        tmp_path / "run",
        steps=1500,
        discount=0.8,
        expectile=0.97,
        value_goals=(0.1, 0.4, 0.5),
    )
    places = torch.cartesian_prod(torch.arange(5.0), torch.arange(5.0))
    start, goal = np.divmod(np.arange(625), 25)
    with torch.no_grad():
        found = model.value(places[start], places[goal]).numpy()
    steps = (places[start] - places[goal]).abs().numpy().max(axis=1)
    truth = -(1 - 0.8**steps) / (1 - 0.8)
    assert np.corrcoef(found, truth)[0, 1] > 0.95
    assert np.abs(found - truth).mean() < 0.4


@pytest.fixture(scope="module")
def box():
    """Uniform actions of at most 0.2 in a square of 4 x 4."""
    start = np.random.default_rng(1).uniform(0, 4, size=(EPISODES, 2))
    return wandered(lambda state, action: np.clip(state + 0.2 * action, 0, 4), start)


@pytest.mark.parametrize("method", METHODS)
def test_policies_point_at_goals_in_an_open_box(method, box, tmp_path):
    model = trained(method, box, tmp_path / "run", steps=BOX_STEPS[method])
    here, goal = 4 * torch.rand(2, 1000, 2, generator=torch.Generator().manual_seed(0))
    apart = (goal - here).norm(dim=-1) > 0.5
    here, goal = here[apart], goal[apart]
    with torch.no_grad():
        pointing = torch.cosine_similarity(model.act(here, goal), goal - here, dim=-1)
        near = model.value(here, goal)
    assert pointing.mean() > 0.4, pointing.mean()
    if (
        near is not None and method != "hiql"
    ):  # whose values the grid above tests; here they are slow
        assert np.corrcoef(near, -(goal - here).norm(dim=-1))[0, 1] > 0.5
    again = load_rival(method, model.settings, tmp_path / "run")
    with torch.no_grad():
        assert torch.equal(again.act(here, goal), model.act(here, goal))


BOX_STEPS = {"gcbc": 200, "gciql": 1000, "qrl": 300, "hiql": 1200, "hilp": 1200, "crl": 800}


@pytest.mark.parametrize("method", METHODS)
def test_a_rival_that_was_stopped_goes_on_as_if_it_had_not_been(method, box, tmp_path):
    told = replace(SMALL, steps=6, checkpoint_every=3).settled(method, fast=False)
    train_rival(method, box, told, tmp_path / "whole", device="cpu")

    def until_four(numbers):
        for number in numbers:
            if number == 4:
                raise KeyboardInterrupt
            yield number

    with pytest.raises(KeyboardInterrupt):
        train_rival(method, box, told, tmp_path / "part", device="cpu", progress=until_four)
    train_rival(method, box, told, tmp_path / "part", device="cpu")
    reports = (tmp_path / "part" / "metrics.jsonl").read_text().splitlines()
    assert [json.loads(report)["step"] for report in reports] == [6]
    weights = [(tmp_path / n / "model.safetensors").read_bytes() for n in ("whole", "part")]
    assert weights[0] == weights[1]


def test_what_cannot_be_learned_from_is_said():
    seen = np.zeros((1, 5, 2))
    with pytest.raises(CogmapError, match="no actions"):
        check_rows(replace(rows_of(seen, seen), actions=None))
    with pytest.raises(CogmapError, match="reach 2"):
        check_rows(rows_of(seen, seen + 2))
    with pytest.raises(CogmapError, match="two rows"):
        check_rows(rows_of(seen.reshape(5, 1, 2), seen.reshape(5, 1, 2)))
    with pytest.raises(CogmapError, match="add up to 1"):
        RivalTraining(value_goals=(0.5, 0.5, 0.5))
    with pytest.raises(CogmapError, match="discount"):
        RivalTraining(discount=1.0)
