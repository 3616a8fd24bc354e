"""Episodes of the oracle: what they hold, and that a recording can be cut short anywhere."""

import numpy as np
import pytest

from cogmap.data.trajectories import Trajectories
from cogmap.envs import handling
from cogmap.envs.arm import Arm
from cogmap.envs.handling import STATES, STEPS, handle, record
from cogmap.errors import CogmapError

pytest.importorskip("ogbench")


@pytest.fixture(scope="module")
def arm():
    return Arm()


def test_an_episode_depends_on_its_number_alone(arm):
    np.random.seed(1)
    first = handle(arm, "expert", seed=3, number=7)
    np.random.seed(2)
    handle(arm, "noisy", seed=3, number=1)
    again = handle(arm, "expert", seed=3, number=7)
    np.testing.assert_array_equal(first.observations, again.observations)
    np.testing.assert_array_equal(first.actions, again.actions)
    other = handle(arm, "expert", seed=3, number=8)
    assert np.abs(other.observations[0] - first.observations[0]).max() > 0.1


def test_the_oracle_leaves_numpys_own_randomness_alone(arm):
    np.random.seed(5)
    wanted = np.random.rand()
    np.random.seed(5)
    handle(arm, "expert", seed=0, number=0)
    assert np.random.rand() == wanted


def test_actions_lead_from_each_row_to_the_next(arm):
    one = handle(arm, "noisy", seed=3, number=0)
    assert one.observations.shape == (STEPS + 1, 28) and one.states.shape == (STEPS + 1, 41)
    arm.place(one.states[100, :21], one.states[100, 21:])
    for step in range(100, 110):
        arm.step(one.actions[step])
    np.testing.assert_allclose(arm.observation()[19:22], one.observations[110, 19:22], atol=0.02)


def test_the_expert_moves_the_cube_and_a_tenth_of_noisy_actions_are_random(arm):
    expert = [handle(arm, "expert", seed=11, number=n) for n in range(6)]
    lifted = [episode.observations[:, 21].max() > 1.0 for episode in expert]
    assert all(lifted)  # each lifts the cube by ten centimetres at some time
    # The oracle never asks for a gripper as fast as a random action does.
    noisy = [handle(arm, "noisy", seed=11, number=n) for n in range(6)]
    fast = np.mean([np.abs(e.actions[:-1, 4]) > 0.75 for e in noisy])
    slow = np.mean([np.abs(e.actions[:-1, 4]) > 0.75 for e in expert])
    assert slow < 0.005 and 0.01 < fast < 0.05  # a quarter of a tenth


def test_a_recording_that_was_cut_short_goes_on(tmp_path, monkeypatch):
    monkeypatch.setattr(handling, "PART", 2)
    calls = []
    whole = handling.handled_part

    def part(path, *told):
        if len(calls) == 2:
            raise KeyboardInterrupt
        calls.append(path.name)
        whole(path, *told)

    monkeypatch.setattr(handling, "_make", lambda parts, workers, bar: [part(*p) for p in parts])
    monkeypatch.setattr(handling, "handled_part", part)
    with pytest.raises(KeyboardInterrupt):
        record(tmp_path, {"expert": 4, "noisy": 2}, seed=0)
    assert not (tmp_path / "meta.json").exists() and len(calls) == 2
    monkeypatch.setattr(handling, "handled_part", whole)
    monkeypatch.setattr(handling, "_make", lambda parts, workers, bar: [whole(*p) for p in parts])
    record(tmp_path, {"expert": 4, "noisy": 2}, seed=0)
    data = Trajectories.load(tmp_path)
    assert len(data.episode_starts) == 6 and len(data) == 6 * (STEPS + 1)
    assert len(np.load(tmp_path / STATES)) == len(data)
    assert not list(tmp_path.glob("*.npz"))


def test_no_episodes_are_refused_in_one_line(tmp_path):
    with pytest.raises(CogmapError, match="give at least one"):
        record(tmp_path, {"expert": 0}, seed=0)


def test_a_part_that_was_cut_short_is_named(tmp_path, monkeypatch):
    (tmp_path / "expert-0-0-0.npz").write_bytes(b"PK cut short")
    with pytest.raises(CogmapError, match="expert-0-0-0.npz is truncated"):
        record(tmp_path, {"expert": 1}, seed=0)
