"""The local model learns where a held action leads (Alg. 2, Eq. 2 and 6)."""

import json

import numpy as np
import pytest
import torch

from cogmap.data.trajectories import Trajectories
from cogmap.dynamics.model import LOTS, DynamicsConfig, LocalDynamics
from cogmap.dynamics.settings import DynamicsTraining
from cogmap.dynamics.train import load_dynamics, one_hot_parts, squared_error, train_dynamics
from cogmap.envs.maze import Maze
from cogmap.envs.physics import KinematicPhysics
from cogmap.envs.wandering import collect_actions
from cogmap.errors import CogmapError

ROOM = Maze.from_text("#####\n#...#\n#...#\n#####", name="room")
QUICK = DynamicsTraining(steps=1500, batch=256, width=64)


@pytest.fixture(scope="module")
def data():
    return collect_actions(ROOM, KinematicPhysics(ROOM), steps=8000, seed=0, episodes=20, hold=5)


@pytest.fixture(scope="module")
def trained(data, tmp_path_factory):
    folder = tmp_path_factory.mktemp("dynamics")
    return train_dynamics(data, QUICK, folder, seed=0, device="cpu"), folder


def test_a_prediction_is_the_state_and_a_move_in_units_of_the_reach():
    config = DynamicsConfig(observation_size=2, action_size=1, hold=5)
    reach = torch.tensor([2.0, 3.0])
    model = LocalDynamics(config, low=torch.zeros(2), high=torch.ones(2), reach=reach)
    with torch.no_grad():
        model.layers[-1].weight.zero_()
        model.layers[-1].bias.copy_(torch.tensor([1.0, -0.5]))
    states = torch.rand(4, 2)
    torch.testing.assert_close(model(states, torch.rand(4, 1)), states + torch.tensor([2.0, -1.5]))
    assert model.hold == 5


def test_squared_error_is_the_mean_squared_distance():
    prediction = torch.tensor([[1.0, 2.0], [0.0, 0.0]])
    following = torch.tensor([[1.0, 0.0], [3.0, 4.0]])
    assert squared_error(prediction, following).item() == pytest.approx((4.0 + 25.0) / 2)


def test_in_the_open_a_held_action_moves_by_its_length(trained):
    model, _ = trained
    middle = torch.tensor([[4.0, 2.0]])
    for action in ([1.0, 0.0], [0.0, -0.5], [-0.6, 0.6]):
        moved = model(middle, torch.tensor([action])) - middle
        assert torch.allclose(moved, torch.tensor([action]), atol=0.15), action


def test_a_wall_stops_it(trained):
    model, _ = trained
    at_wall = torch.tensor([[-1.3, 2.0]])
    into, away = model(at_wall.repeat(2, 1), torch.tensor([[-1.0, 0.0], [1.0, 0.0]]))
    assert into[0] > -1.7 and away[0] > -0.7


def test_along_applies_the_model_again_and_again(trained):
    model, _ = trained
    state, action = torch.tensor([[2.0, 2.0]]), torch.tensor([[0.3, 0.1]])
    passed = model.along(state, action, 3)[:, 0]
    once = model(state, action)
    twice = model(once, action)
    torch.testing.assert_close(passed[:, 0], once)
    torch.testing.assert_close(passed[:, 1], twice)


def test_a_model_saved_is_the_model_loaded(trained):
    model, folder = trained
    loaded = load_dynamics(folder)
    assert isinstance(loaded, LocalDynamics) and loaded.config == model.config
    state, action = torch.rand(5, 2), torch.rand(5, 2)
    assert torch.equal(model(state, action), loaded(state, action))


def test_transitions_are_never_taken_across_episodes(tmp_path):
    """Two episodes far apart: a step across would teach a jump of 100."""
    here = np.zeros((50, 2), dtype=np.float32)
    there = np.full((50, 2), 100.0, dtype=np.float32)
    data = Trajectories(
        episode_starts=np.array([0, 50]),
        observations=np.concatenate([here, there]),
        actions=np.zeros((100, 2), dtype=np.float32),
    )
    train_dynamics(data, DynamicsTraining(steps=100, batch=64, width=16), tmp_path, seed=0)
    last = json.loads((tmp_path / "metrics.jsonl").read_text().splitlines()[-1])
    assert last["squared_error"] < 1e-6


def test_data_without_actions_is_refused(tmp_path):
    data = Trajectories(episode_starts=np.array([0]), observations=np.zeros((5, 2), np.float32))
    with pytest.raises(CogmapError, match="actions"):
        train_dynamics(data, QUICK, tmp_path, seed=0)


def test_the_features_of_a_wide_world_have_more_periods(tmp_path):
    """Halls of 120 moves to a side need finer features than a room, or walls blur."""
    rng = np.random.default_rng(0)

    def periods(apart: float) -> torch.Tensor:
        moves = rng.choice([-1.0, 1.0], size=(2, 200, 2))
        rows = moves.cumsum(1)
        rows[1, :, 0] += apart  # the second episode begins far away in one dimension
        data = Trajectories(
            observations=rows.reshape(-1, 2).astype(np.float32),
            actions=moves.reshape(-1, 2),
            episode_starts=np.array([0, 200]),
        )
        quick = DynamicsTraining(steps=1, batch=8, width=8)
        model = train_dynamics(data, quick, tmp_path / str(apart), seed=0, device="cpu")
        return model.features.waves.square().mean(1).sqrt()

    narrow, wide = periods(1.0), periods(240.0)
    assert wide[0] > 1.5 * narrow[0] and torch.equal(wide[1], narrow[1])


def test_runs_of_ones_and_zeros_are_found():
    cell, heading = (
        torch.eye(3)[torch.tensor([0, 1, 2, 1])],
        torch.eye(2)[torch.tensor([0, 1, 1, 0])],
    )
    place = torch.tensor([[0.0], [0.5], [1.0], [0.2]])
    assert one_hot_parts(torch.cat([cell, heading], 1)) == (1, 1, 1, 2, 2)
    assert one_hot_parts(torch.cat([place, cell], 1)) == (0, 1, 1, 1)
    assert one_hot_parts(place) == ()
    assert one_hot_parts(torch.tensor([[0.0], [1.0]])) == ()  # one bit by itself may be anything


def test_where_numbers_are_ones_and_zeros_an_action_turns_out_as_often_as_it_did(tmp_path):
    """From cell 0 the one action leads to cell 1 or, in a quarter of all cases, to cell 2."""
    rng = np.random.default_rng(0)
    cells = np.stack([np.zeros(4000, int), np.where(rng.random(4000) < 0.25, 2, 1)], 1).ravel()
    data = Trajectories(
        episode_starts=np.arange(0, 8000, 2),
        observations=np.eye(3, dtype=np.float32)[cells],
        actions=np.ones((8000, 1), np.float32),
    )
    model = train_dynamics(data, DynamicsTraining(steps=200, batch=256, width=32), tmp_path, seed=0)
    states = torch.eye(3)[[0, 0]]
    passed = model.along(states, torch.ones(2, 1), 1)
    assert passed.shape == (2, LOTS, 1, 3)
    assert set(passed.flatten().tolist()) == {0.0, 1.0}
    np.testing.assert_allclose(passed[:, :, 0].mean(1), [[0.0, 0.75, 0.25]] * 2, atol=0.07)
    again = load_dynamics(tmp_path).along(states, torch.ones(2, 1), 1)
    assert torch.equal(passed, again)


def test_several_actions_are_applied_in_turn(trained):
    model, _ = trained
    state = torch.tensor([[2.0, 2.0]])
    actions = torch.tensor([[[0.3, 0.1], [-0.2, 0.4], [0.0, 0.5]]])
    passed = model.along(state, actions, 2)[0, 0]
    once = model(state, actions[:, 0])
    torch.testing.assert_close(passed[0], once[0])
    torch.testing.assert_close(passed[1], model(once, actions[:, 1])[0])
    held = actions[:, :1].expand(-1, 3, -1)
    torch.testing.assert_close(model.along(state, held, 3), model.along(state, held[:, 0], 3))


def wheel(episodes=40, steps=50):
    """Points that turn about the origin, faster the further out, in eight noisy numbers."""
    rng = np.random.default_rng(0)
    radius = rng.uniform(0.5, 1.5, size=(episodes, 1))
    angle = rng.uniform(0, 2 * np.pi, size=(episodes, 1)) + 0.4 * radius * np.arange(steps)
    seen = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=-1)
    seen = seen.reshape(-1, 2) @ rng.normal(size=(2, 8)) + 0.1 * rng.normal(
        size=(episodes * steps, 8)
    )
    return Trajectories(
        episode_starts=np.arange(episodes) * steps,
        observations=seen.astype(np.float32),
        actions=np.zeros((episodes * steps, 1), np.float32),
    )


def test_learning_several_actions_ahead_serves_predictions_so_far_ahead(tmp_path):
    data = wheel()
    rows = torch.as_tensor(data.observations)
    here = torch.arange(0, 40 * 50, 50)[:, None] + torch.arange(0, 45, 5)
    errors = {}
    for ahead in (1, 4):
        settings = DynamicsTraining(steps=400, batch=128, width=32, ahead=ahead)
        model = train_dynamics(data, settings, tmp_path / str(ahead), seed=0, device="cpu")
        passed = model.along(rows[here.ravel()], torch.zeros(here.numel(), 1), 4)[:, 0]
        gap = (passed[:, -1] - rows[here.ravel() + 4]).square().mean()
        errors[ahead] = gap.item()
    assert errors[4] < 0.8 * errors[1]


def test_more_actions_ahead_than_an_episode_has_are_refused(tmp_path):
    with pytest.raises(CogmapError, match="ahead=50 exceeds the longest episode"):
        train_dynamics(wheel(), DynamicsTraining(ahead=50), tmp_path, seed=0, device="cpu")
