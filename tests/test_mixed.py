"""Numbers beside a picture: as bytes of one array, and as an eye sees them."""

import numpy as np
import pytest
import torch

from cogmap.data.mixed import mixed, unmixed
from cogmap.data.trajectories import Trajectories
from cogmap.errors import CogmapError
from cogmap.temporal.eyes import Convolution, Mixed
from cogmap.temporal.settings import TemporalTraining
from cogmap.temporal.train import build_model

RNG = np.random.default_rng(0)
PICTURES = RNG.integers(256, size=(40, 16, 16, 3), dtype=np.uint8)
NUMBERS = RNG.uniform(size=(40, 3))


def test_pictures_come_back_whole_and_numbers_to_a_hundred_thousandth():
    rows = mixed(PICTURES, NUMBERS)
    assert rows.shape == (40, 17, 16, 3) and rows.dtype == np.uint8
    pictures, numbers = unmixed(rows, 3)
    np.testing.assert_array_equal(pictures, PICTURES)
    np.testing.assert_allclose(numbers, NUMBERS, atol=1e-5)


def test_the_ends_of_the_range_are_exact_and_what_is_beyond_them_is_cut():
    given = np.array([[0.0, 1.0, 2.0], [-1.0, 0.5, 1.0]])
    numbers = unmixed(mixed(PICTURES[:2], given), 3)[1]
    np.testing.assert_allclose(numbers, [[0, 1, 1], [0, 0.5, 1]], atol=1e-5)


def test_an_eye_sees_the_picture_as_a_convolution_does_and_the_numbers_as_they_are():
    torch.manual_seed(0)
    eye = Mixed((17, 16, 3), size=8, numbers=3)
    alone = Convolution((16, 16, 3), size=8)
    alone.load_state_dict(eye.picture.state_dict())
    rows = torch.as_tensor(mixed(PICTURES, NUMBERS))
    eye.measure(rows)
    alone.measure(torch.as_tensor(PICTURES))
    look = eye.see(eye.prepare(rows))
    assert look.shape == (40, 11)
    torch.testing.assert_close(look[:, :8], alone.see((torch.as_tensor(PICTURES),)))
    np.testing.assert_allclose(look[:, 8:].detach(), 2 * NUMBERS - 1, atol=1e-4)


def test_a_row_that_is_too_short_is_refused():
    with pytest.raises(CogmapError, match="16 x 3 bytes holds 24 at most"):
        Mixed((17, 16, 3), size=8, numbers=25)


def walk(numbers):
    rows = mixed(PICTURES, NUMBERS) if numbers else PICTURES
    index = RNG.integers(40, size=300).astype(np.int32)
    return Trajectories(episode_starts=np.array([0]), table=rows, index=index)


SMALL = {"steps": 1, "tau_max": 16, "width": 16, "embedding": 8}


def test_a_model_is_told_how_many_numbers_its_pictures_hold():
    model = build_model(walk(3), TemporalTraining(numbers=3, **SMALL))
    assert isinstance(model.eye, Mixed) and model.config.look_size == 32 + 3
    look = model.look(torch.as_tensor(mixed(PICTURES, NUMBERS)))
    np.testing.assert_allclose(look[:, -3:].detach(), 2 * NUMBERS - 1, atol=1e-4)
    assert isinstance(
        build_model(walk(0), TemporalTraining(encoder="convolution", **SMALL)).eye, Convolution
    )


def test_numbers_beside_keypoints_or_beside_no_picture_are_refused():
    with pytest.raises(CogmapError, match="keypoints see no numbers"):
        build_model(walk(3), TemporalTraining(numbers=3, encoder="keypoints", **SMALL))
    states = Trajectories(episode_starts=np.array([0]), observations=np.zeros((300, 2)))
    with pytest.raises(CogmapError, match="are no pictures"):
        build_model(states, TemporalTraining(numbers=3, **SMALL))
