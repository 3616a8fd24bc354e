"""Pictures as states: what a look knows, and what a state remembers."""

import dataclasses

import numpy as np
import pytest
import torch

import cogmap
from cogmap.data.trajectories import Trajectories
from cogmap.errors import CogmapError
from cogmap.sight.model import Points, Sight, SightConfig
from cogmap.sight.settings import SightTraining
from cogmap.sight.train import load_sight, remembered, train_sight

SIDE = 24


def drawn(places):
    """Pictures of one blob before a dark background. (N, 2) in 0..1 -> (N, SIDE, SIDE, 3)"""
    grid = np.stack(np.meshgrid(*[np.arange(SIDE)] * 2, indexing="ij"), axis=-1)
    gaps = grid[None] - (3 + places * (SIDE - 7))[:, None, None]
    bright = 200 * np.exp(-np.square(gaps).sum(-1) / 4) + 20
    return np.repeat(bright[..., None], 3, axis=-1).astype(np.uint8)


def pushed(episodes, length, seed=0):
    """A blob that goes where it is pushed, not at once: it keeps most of its speed."""
    rng = np.random.default_rng(seed)
    places, actions = [], []
    for _ in range(episodes):
        place, speed = rng.uniform(0, 1, 2), np.zeros(2)
        for _ in range(length):
            action = rng.uniform(-1, 1, 2)
            places.append(place.copy())
            actions.append(action)
            speed = 0.7 * speed + 0.06 * action
            place = np.clip(place + speed, 0, 1)
    starts = np.arange(0, episodes * length, length)
    data = Trajectories(starts, drawn(np.array(places)), actions=np.array(actions, np.float32))
    return data, np.array(places)


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    data, places = pushed(episodes=40, length=30)
    folder = tmp_path_factory.mktemp("sight")
    settings = SightTraining(frames=3, numbers=4, points=8, steps=250, batch=64)
    return data, places, train_sight(data, settings, folder, tau_max=8, device="cpu"), folder


def told(known, wanted):
    """Share of what is wanted that a linear function of what is known tells."""
    known = np.concatenate([known, np.ones((len(known), 1))], axis=1)
    half = len(known) // 2
    weights, *_ = np.linalg.lstsq(known[:half], wanted[:half], rcond=None)
    rest = wanted[half:]
    return 1 - np.square(known[half:] @ weights - rest).sum() / np.square(rest - rest.mean(0)).sum()


def test_a_look_tells_where_a_thing_is_that_it_was_never_told_of(trained):
    data, places, sight, _ = trained
    states = remembered(data, sight).observations
    assert told(states[:, :4], places) > 0.95


def test_a_state_tells_how_fast_it_moves_which_a_look_does_not(trained):
    data, places, sight, _ = trained
    states = remembered(data, sight).observations
    later = np.flatnonzero(np.arange(len(data)) % 30 > 0)
    speed = places[later] - places[later - 1]
    assert told(states[later], speed) > 0.8 > 0.4 > told(states[later, :4], speed)


def test_a_state_is_the_looks_and_actions_of_its_episode_up_to_now(trained):
    data, _, sight, _ = trained
    states = remembered(data, sight).observations
    with torch.no_grad():
        looks = sight.look(torch.as_tensor(data.observations)).numpy()
    for row in (30, 31, 32, 59, 60):  # the second episode begins at row 30
        begins = 30 * (row // 30)
        seen = [looks[max(begins, row - back)] for back in range(3)]
        done = [data.actions[row - b] if row - b >= begins else np.zeros(2) for b in (1, 2)]
        np.testing.assert_allclose(states[row], np.concatenate([*seen, *done]), atol=1e-6)


def test_states_followed_one_by_one_are_those_of_the_record(trained):
    """What a planner meets is what the models learned from."""
    data, _, sight, _ = trained
    states = torch.as_tensor(remembered(data, sight).observations)
    actions = torch.as_tensor(data.actions)
    with torch.no_grad():
        now = sight.begin(sight.look(torch.as_tensor(data.observations[:30])))
    state = now[:1]
    for row in range(1, 6):
        state = sight.follow(state, actions[row - 1 : row], now[row : row + 1])
        torch.testing.assert_close(state[0], states[row])


def test_one_picture_alone_is_a_state_of_its_own():
    sight = Sight(SightConfig((16, 16, 3), action_size=2, frames=1, numbers=5, points=4))
    looks = torch.randn(3, 5)
    torch.testing.assert_close(sight.begin(looks), looks)
    torch.testing.assert_close(sight.follow(torch.zeros(3, 5), torch.ones(3, 2), looks), looks)


def test_places_move_with_what_is_in_the_picture():
    torch.manual_seed(0)
    points = Points((SIDE, SIDE, 3), points=6, numbers=12)
    with torch.no_grad():
        points.maps.weight.mul_(200)  # so that a map is of the blob alone
        points.leave.weight.copy_(torch.eye(12))
        points.leave.bias.zero_()
        pair = np.array([[0.3, 0.4], [0.3 + 4 / (SIDE - 7), 0.4 + 2 / (SIDE - 7)]])
        pixels = torch.as_tensor(drawn(pair)).float().permute(0, 3, 1, 2) / 50
        here, there = points(pixels)
    moved = (there - here).view(6, 2) * (SIDE - 1) / 2
    assert (moved - torch.tensor([4.0, 2.0])).abs().amax(1).min() < 0.5


def test_a_sight_is_read_back_as_it_was(trained):
    data, _, sight, folder = trained
    again = load_sight(folder)
    pictures = torch.as_tensor(data.observations[:5])
    with torch.no_grad():
        torch.testing.assert_close(again.look(pictures), sight.look(pictures))
    assert load_sight(folder / "nothing") is None


def test_a_planner_decides_on_what_was_seen_and_done_before(trained, tmp_path):
    data, places, _, _ = trained
    data.save(tmp_path / "data")
    settings = cogmap.RunSettings(
        sight=SightTraining(frames=3, numbers=4, points=8, steps=30, batch=32),
        temporal=cogmap.TemporalTraining(steps=20, tau_max=8, batch=32, width=32, recorded=None),
        dynamics=cogmap.DynamicsTraining(steps=20, batch=32, width=32),
        device="cpu",
    )
    agent = cogmap.train(None, settings, tmp_path / "run", data=tmp_path / "data")
    again = cogmap.Agent.load(tmp_path / "run", device="cpu")
    for one in (agent, again):
        assert one.sees and one.observation_shape == (SIDE, SIDE, 3)
        assert one.temporal.config.observation_shape == (3 * 4 + 2 * 2,)
        controller = one.controller(data.observations[50])
        for row in range(3):
            controller.act(data.observations[row])
        last, memory = controller.decision, controller.memory
        # The look before is where the last state had it, and the action that was taken there.
        before = memory.places[-2]
        np.testing.assert_allclose(last.here[4:12], before[:8], atol=1e-6)
        assert not np.allclose(last.here[12:14], 0)
        # Asked what it would decide on, a planner says what it then decides on.
        asked = controller.planner.here(data.observations[3:4], [memory])
        controller.act(data.observations[3])
        np.testing.assert_allclose(asked[0], controller.decision.here, atol=1e-6)
    # A goal is one picture: what was seen before it does not matter.
    planner = agent.planner()
    with torch.no_grad():
        goal = agent.look(torch.as_tensor(data.observations[50:51]))
        other = goal.clone()
        other[:, 4:] += 1.0
        embedded = [planner.scorer.embed_goals(rows) for rows in (goal, other)]
    torch.testing.assert_close(*embedded)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"frames": -1}, "frames=-1"),
        ({"numbers": 0}, "sight numbers=0"),
        ({"batch": 1}, "at least 2 pairs"),
    ],
)
def test_settings_that_cannot_be_are_refused(change, words):
    with pytest.raises(CogmapError, match=words):
        SightTraining(**change)


def test_what_cannot_be_seen_so_is_said_before_anything_is_learned(tmp_path):
    data, _ = pushed(episodes=2, length=20)
    settings = SightTraining(frames=2, steps=1, batch=8)
    numbers = Trajectories(data.episode_starts, np.zeros((40, 3), np.float32), actions=data.actions)
    with pytest.raises(CogmapError, match="a state is made of pictures"):
        train_sight(numbers, settings, tmp_path, tau_max=8, device="cpu")
    blind = Trajectories(data.episode_starts, data.observations)
    with pytest.raises(CogmapError, match="what was done between pictures"):
        train_sight(blind, settings, tmp_path, tau_max=8, device="cpu")


def test_a_run_that_cannot_see_so_is_refused_before_anything_is_written(tmp_path):
    data, _ = pushed(episodes=2, length=20)
    data.save(tmp_path / "seen")
    blind = Trajectories(data.episode_starts, data.observations, controls=False)
    blind.save(tmp_path / "blind")
    settings = cogmap.RunSettings(
        sight=SightTraining(frames=2), temporal=cogmap.TemporalTraining(tau_max=8)
    )
    tied = cogmap.TemporalTraining(tau_max=8, tied=True)
    noise = cogmap.RunSettings(temporal=cogmap.TemporalTraining(tau_max=8, steps=1, noise=0.1))
    maze = cogmap.PointMaze(cogmap.Maze.load("medium"))
    seeing = cogmap.PointMaze(cogmap.Maze.load("medium"), observation="image")
    for words, world, told, folder in (
        ("are no pictures", maze, settings, None),
        ("is not recorded", seeing, settings, None),
        ("is not recorded", None, settings, "blind"),
        ("have no numbers to be off", None, noise, "seen"),
        ("a goal is one picture", None, dataclasses.replace(settings, temporal=tied), "seen"),
    ):
        where = None if folder is None else tmp_path / folder
        with pytest.raises(CogmapError, match=words):
            cogmap.train(world, told, tmp_path / "run", data=where)
        assert not (tmp_path / "run").exists()
