"""The arm is OGBench's: numbers, motion and pictures, step by step."""

import os
import subprocess
import sys

import numpy as np
import pytest

from cogmap.envs.arm import CUBE, NAMES, Arm

gymnasium = pytest.importorskip("gymnasium")
pytest.importorskip("ogbench")


@pytest.fixture(scope="module")
def arm():
    return Arm()


@pytest.fixture(scope="module")
def theirs():
    """OGBench's own environment, which must be asked for pictures to have their colours."""
    made = gymnasium.make("cube-single-v0", mode="data_collection", terminate_at_goal=False)
    made.reset(seed=5)
    return made.unwrapped


def test_every_number_of_an_observation_is_ogbenchs_along_a_hundred_random_actions(arm, theirs):
    _, info = theirs.reset(seed=5)
    arm.place(info["qpos"], info["qvel"])
    rng = np.random.default_rng(0)
    for _ in range(100):
        action = rng.uniform(-1, 1, 5)
        seen = theirs.step(action)[0]
        arm.step(action)
        np.testing.assert_allclose(arm.observation(), seen, atol=1e-6)
    assert len(NAMES) == len(seen)


def test_names_say_where_the_cube_is(arm):
    arm.begin(3)
    assert NAMES[CUBE] == ("cube_x", "cube_y", "cube_z")
    np.testing.assert_allclose(arm.observation()[CUBE], (arm.cube - [0.425, 0, 0]) * 10, atol=1e-6)


def test_a_placed_state_is_the_one_that_was_taken(arm):
    arm.begin(1)
    for _ in range(5):
        arm.step(np.ones(5))
    state, cube = arm.state, arm.cube
    arm.step(-np.ones(5))
    arm.place(*state)
    np.testing.assert_array_equal(np.concatenate(arm.state), np.concatenate(state))
    np.testing.assert_array_equal(arm.cube, cube)


def test_two_states_of_one_simulator_do_not_disturb_each_other(arm):
    first, second = arm.another(), arm.another()
    arm.data = first
    arm.begin(1)
    before = arm.observation()
    arm.data = second
    arm.begin(2)
    arm.step(np.ones(5))
    arm.data = first
    np.testing.assert_array_equal(arm.observation(), before)


def test_actions_beyond_one_count_as_one(arm):
    arm.begin(4)
    state = arm.state
    arm.step(np.full(5, 7.0))
    far = arm.observation()
    arm.place(*state)
    arm.step(np.ones(5))
    np.testing.assert_array_equal(arm.observation(), far)


THEIRS = """
import sys, gymnasium, numpy as np, ogbench
env = gymnasium.make("visual-cube-single-v0", mode="data_collection").unwrapped
_, info = env.reset(seed=2)
np.savez(sys.argv[1], qpos=info["qpos"], qvel=info["qvel"], seen=env.compute_observation())
"""


def test_frames_are_ogbenchs_pictures_pixel_by_pixel(arm, tmp_path):
    command = [sys.executable, "-W", "ignore", "-c", THEIRS, tmp_path / "theirs.npz"]
    subprocess.run(command, check=True, env=os.environ | {"MUJOCO_GL": "egl"})
    theirs = np.load(tmp_path / "theirs.npz")
    arm.place(theirs["qpos"], theirs["qvel"])
    assert (arm.frame() == theirs["seen"]).all()
    assert arm.frame(size=224).shape == (224, 224, 3)


def test_quick_frames_show_what_ogbenchs_do_and_are_drawn_of_few_faces(arm):
    """Within 4 of 255 levels in all but 3 of 100 pixels; the cube to a tenth of a pixel."""
    for seed in range(5):
        arm.begin(seed)
        arm.place(*arm.state)
        whole, quick = arm.frame().astype(int), arm.frame(quick=True).astype(int)
        gaps = np.abs(whole - quick)
        assert gaps.mean() < 0.5 and (gaps.max(-1) > 4).mean() < 0.03
        red = [frame[..., 0] - frame[..., 1:].max(-1) for frame in (whole, quick)]
        rows = np.arange(64)
        places = [
            np.array([(some.sum(axis) * rows).sum() / some.sum() for axis in (0, 1)])
            for some in (np.maximum(part - 30, 0) for part in red)
        ]
        assert np.abs(places[0] - places[1]).max() < 0.1


def test_few_faces_touch_as_the_whole_mesh_does(arm):
    from cogmap.envs.drawing import coarsened

    coarse = coarsened(arm.model, cell=0.004, shadow=512)
    assert coarse.mesh_facenum.sum() < arm.model.mesh_facenum.sum() / 5
    assert (coarse.mesh_facenum > 0).all()
    np.testing.assert_array_equal(coarse.mesh_vert, arm.model.mesh_vert)
    np.testing.assert_array_equal(coarse.mesh_graph, arm.model.mesh_graph)
