"""Gymnasium's spaces as vectors and back."""

import numpy as np
import pytest

pytest.importorskip("gymnasium")

from gymnasium import spaces

from cogmap.envs.actions import choices
from cogmap.envs.gym import GymWorld
from cogmap.envs.spaces import coding_of
from cogmap.errors import CogmapError

KINDS = [
    spaces.Box(np.array([-2.0, 0.0], np.float32), np.array([2.0, 8.0], np.float32)),
    spaces.Discrete(4),
    spaces.Discrete(3, start=5),
    spaces.MultiDiscrete([3, 2]),
    spaces.MultiBinary(3),
    spaces.Tuple((spaces.Discrete(2), spaces.Box(-1.0, 1.0, (2,)))),
    spaces.Dict({"arm": spaces.Box(-1.0, 1.0, (2,)), "grip": spaces.Discrete(2)}),
]


@pytest.mark.parametrize("space", KINDS, ids=str)
def test_a_decoded_action_is_one_of_its_space(space):
    coding = coding_of(space, what="the action")
    rng = np.random.default_rng(0)
    for _ in range(50):
        assert space.contains(coding.decode(rng.uniform(-1, 1, coding.shape[0]).astype(np.float32)))


def test_an_action_of_a_box_is_scaled_from_minus_one_to_one():
    coding = coding_of(KINDS[0], what="the action")
    np.testing.assert_allclose(coding.decode(np.array([-1.0, 1.0])), [-2.0, 8.0])
    np.testing.assert_allclose(coding.decode(np.array([0.0, 0.0])), [0.0, 4.0])


def test_what_is_discrete_becomes_ones_and_zeros_and_back():
    coding = coding_of(spaces.Discrete(3, start=5), what="the action")
    assert coding.encode(6).tolist() == [0.0, 1.0, 0.0] and coding.decode(coding.encode(6)) == 6
    several = coding_of(spaces.MultiDiscrete([3, 2]), what="the action")
    assert several.encode(np.array([2, 0])).tolist() == [0, 0, 1, 1, 0]
    assert several.decode(several.encode(np.array([2, 0]))).tolist() == [2, 0]


def test_parts_of_a_dict_are_joined_under_their_names():
    space = spaces.Dict({"arm": spaces.Box(-1.0, 1.0, (2,)), "grip": spaces.Discrete(2)})
    coding = coding_of(space, what="the observation")
    assert coding.names == ("arm0", "arm1", "grip0", "grip1")
    seen = coding.encode({"arm": np.array([0.5, -0.5], np.float32), "grip": 1})
    assert seen.tolist() == [0.5, -0.5, 0.0, 1.0]
    assert coding.dimensions("grip").tolist() == [2, 3]


def test_pictures_stay_bytes_with_their_channels_last():
    first = spaces.Box(0, 255, (3, 64, 48), np.uint8)
    coding = coding_of(first, what="the observation")
    assert coding.picture and coding.shape == (64, 48, 3)
    assert coding.encode(np.zeros((3, 64, 48), np.uint8)).dtype == np.uint8


def test_a_space_without_numbers_is_refused_and_one_beside_numbers_left_out():
    with pytest.raises(CogmapError, match="not supported"):
        coding_of(spaces.Text(3), what="the observation")
    mixed = spaces.Dict({"at": spaces.Box(0.0, 1.0, (1,)), "mission": spaces.Text(9)})
    assert coding_of(mixed, what="the observation").left_out == ("mission",)
    picture = spaces.Dict({"at": spaces.Box(0.0, 1.0, (1,)), "view": KINDS_PICTURE})
    with pytest.raises(CogmapError, match="picture beside numbers"):
        coding_of(picture, what="the observation")


KINDS_PICTURE = spaces.Box(0, 255, (64, 64, 3), np.uint8)


def test_random_actions_and_candidates_of_any_space_are_actions():
    world = GymWorld("Pendulum-v1", hold=1)
    rng = np.random.default_rng(0)
    drawn = world.random_actions(rng, 200)
    assert drawn.shape == (200, 1) and -1 <= drawn.min() < -0.9 and 0.9 < drawn.max() <= 1
    offered = choices(world.acting, 32)
    assert 0.0 in offered and {-1.0, 1.0} <= set(offered.ravel().tolist())
    discrete = GymWorld("Acrobot-v1", hold=1)
    assert sorted(choices(discrete.acting, 32).tolist()) == [[0, 0, 1], [0, 1, 0], [1, 0, 0]]
