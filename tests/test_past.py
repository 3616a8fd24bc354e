"""States of several looks, gathered when asked for: where one view does not tell a place."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from cogmap.data.past import Past, followed
from cogmap.data.trajectories import Trajectories
from cogmap.dynamics.model import DynamicsConfig, LocalDynamics
from cogmap.dynamics.settings import DynamicsTraining
from cogmap.dynamics.train import train_dynamics
from cogmap.sight.model import Sight, SightConfig
from cogmap.sight.train import remembered
from cogmap.temporal.batches import Rows
from cogmap.temporal.settings import TemporalTraining
from cogmap.temporal.train import train_temporal

# Six places in a ring and what is seen at each: places 0 and 3 look the same, their neighbours not.
VIEWS = np.array([0, 1, 2, 0, 3, 4])
AGAIN, SINGLE = (0, 3), (1, 2, 4, 5)


def ring(steps, seed=0, frames=2):
    """Random steps to either side, as states of several looks; and the place of each row."""
    rng = np.random.default_rng(seed)
    moves = rng.integers(2, size=steps)
    places = np.cumsum(np.append(0, 2 * moves - 1)) % 6
    actions = np.eye(2, dtype=np.uint8)[np.append(moves, 0)]
    looks = np.eye(5, dtype=np.float32)
    data = Past(
        np.zeros(1, np.int64), table=looks, index=VIEWS[places], actions=actions, frames=frames
    )
    return data, places


def recorded(episodes=(7, 1, 12), seed=0):
    """Pictures of a table, seen in a few episodes, with actions of three numbers."""
    rng = np.random.default_rng(seed)
    starts = np.cumsum([0, *episodes[:-1]])
    rows = sum(episodes)
    return Trajectories(
        starts,
        table=rng.integers(256, size=(9, 16, 16, 3), dtype=np.uint8),
        index=rng.integers(9, size=rows).astype(np.int32),
        actions=rng.normal(size=(rows, 3)).astype(np.float32),
    )


@pytest.mark.parametrize("eye", ["points", "convolution"])
@pytest.mark.parametrize("frames", [1, 2, 4, 16])
def test_states_made_when_asked_for_are_those_made_beforehand(frames, eye):
    """Episodes of one row and of fewer rows than a state has looks included."""
    data = recorded()
    torch.manual_seed(0)
    sight = Sight(SightConfig((16, 16, 3), 3, frames, numbers=5, points=4, eye=eye))
    sight.measure(torch.as_tensor(data.table))
    lazily = remembered(data, sight)
    pictures = data.table[data.index]
    eagerly = remembered(replace(data, table=None, index=None, observations=pictures), sight)
    assert lazily.observation_shape == eagerly.observation_shape == (sight.config.state_size,)
    rows = np.random.default_rng(1).permutation(len(data))
    np.testing.assert_allclose(lazily.rows(rows), eagerly.observations[rows], atol=1e-5)
    gathered = Rows(lazily, torch.device("cpu"), held=True)(torch.as_tensor(rows))
    np.testing.assert_array_equal(gathered.numpy(), lazily.rows(rows))
    some, share = lazily.distinct()
    np.testing.assert_array_equal(some, lazily.rows(np.arange(len(data))))
    assert share.sum() == pytest.approx(1)


def test_a_state_of_two_looks_tells_places_apart_that_look_the_same():
    data, places = ring(3000)
    states = data.rows(np.arange(1, len(data)))
    for frames, told in ((1, False), (2, True)):
        seen = states[:, : 5 * frames] if frames == 1 else states
        kinds, kind = np.unique(seen, axis=0, return_inverse=True)
        where = [set(places[1:][kind == k].tolist()) for k in range(len(kinds))]
        assert any(here == set(AGAIN) for here in where) != told
        assert all(len(here) == 1 for here in where) == told


def test_what_follows_a_state_is_gathered_from_its_row():
    data, _ = ring(50, frames=3)
    states = torch.as_tensor(data.rows(np.arange(51)))
    actions = torch.as_tensor(np.array(data.actions)).float()
    after = followed(states[:-1], actions[:-1], states[1:, :5], frames=3)
    torch.testing.assert_close(after, states[1:])


def test_scores_and_moves_from_a_place_that_looks_like_another_are_its_own(tmp_path):
    """One look cannot tell which; the look before and the move since can."""
    data, places = ring(4000)
    rows = np.arange(100, 400)
    here = {place: rows[places[rows] == place] for place in AGAIN}
    goal = torch.zeros(1, data.observation_shape[0])
    goal[0, 1] = 1.0  # what is seen at place 1 alone, beside place 0 and two steps from place 3
    for frames, told in ((1, False), (2, True)):
        seen = replace(data, frames=frames)
        settings = TemporalTraining(
            steps=250, tau_max=4, batch=64, width=32, embedding=16, target=tuple(range(5))
        )
        model = train_temporal(seen, settings, tmp_path / f"t{frames}", device="cpu")
        near, far = (torch.as_tensor(seen.rows(here[place])) for place in AGAIN)
        with torch.no_grad():
            to = goal[:, : seen.observation_shape[0]]
            gap = model.pair_score(near, to, 1).mean() - model.pair_score(far, to, 1).mean()
        assert (gap > 2.0) == told
        settings = DynamicsTraining(steps=250, batch=128, width=32, cycles=0.3)
        dynamics = train_dynamics(seen, settings, tmp_path / f"d{frames}", seed=0, device="cpu")
        right = []
        for place in AGAIN:
            states = torch.as_tensor(seen.rows(here[place]))
            for move in (0, 1):
                actions = torch.eye(2)[[move]].expand(len(states), -1)
                looks = dynamics.along(states, actions, 1)[:, 0, 0, :5].argmax(-1).numpy()
                right.append(looks == VIEWS[(place + 2 * move - 1) % 6])
        assert (np.concatenate(right).mean() > 0.95) == told


def test_of_a_state_of_several_looks_only_the_present_one_is_predicted():
    config = DynamicsConfig(observation_size=3 * 4 + 2 * 2, action_size=2, width=8, frames=3)
    low, high = -torch.ones(16), torch.ones(16)
    model = LocalDynamics(config, low=low, high=high, reach=torch.ones(16))
    assert config.predicted == 4 and model.layers[-1].out_features == 4
    states, actions = torch.randn(5, 16), torch.randn(5, 2)
    with torch.no_grad():
        after = model(states, actions)
    torch.testing.assert_close(after[:, 4:12], states[:, :8])
    torch.testing.assert_close(after[:, 12:], torch.cat([actions, states[:, 12:14]], dim=-1))
    assert (after[:, :4] - states[:, :4]).abs().min() > 0
