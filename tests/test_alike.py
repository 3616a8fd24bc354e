"""What makes states alike, where nobody says so: what was done from them."""

import numpy as np
import torch

from cogmap.data.trajectories import Trajectories
from cogmap.planning.alike import load_alike, train_alike
from cogmap.planning.candidates import Recall


def told(rng, episodes=40, length=25):
    """Eight numbers, of which the first alone decides what is done, and not in proportion."""
    states = rng.normal(size=(episodes * length, 8)).astype(np.float32)
    deeds = np.sign(np.sin(3 * states[:, :1]))
    actions = np.concatenate([deeds, 0.1 * rng.normal(size=deeds.shape)], axis=1)
    starts = np.arange(0, len(states), length)
    return Trajectories(starts, states, actions=actions.astype(np.float32))


def test_states_are_alike_from_which_the_same_was_done(tmp_path):
    rng = np.random.default_rng(0)
    data = told(rng)
    alike = train_alike(data, tmp_path / "alike", length=1, device="cpu")
    recall = Recall.of(data, length=1, alike=alike)
    asked = rng.normal(size=(200, 8)).astype(np.float32)
    with torch.no_grad():
        followed = recall.candidates(4, (1,)).offered(torch.as_tensor(asked))
    right = np.sign(np.sin(3 * asked[:, 0]))
    agree = (followed[:, :, 0, 0].numpy() == right[:, None]).mean()
    plain = Recall.of(data, length=1).candidates(4, (1,)).offered(torch.as_tensor(asked))
    chance = (plain[:, :, 0, 0].numpy() == right[:, None]).mean()
    assert agree > 0.8 and agree > chance + 0.1


def test_a_recall_with_learned_likeness_is_read_back(tmp_path):
    data = told(np.random.default_rng(1), episodes=4)
    alike = train_alike(data, tmp_path / "alike", length=2, device="cpu")
    recall = Recall.of(data, length=2, alike=alike)
    recall.save(tmp_path / "recall.npz")
    again = Recall.load(tmp_path / "recall.npz", load_alike(tmp_path / "alike"))
    here = torch.randn(3, 8)
    expected, found = (some.candidates(6, (1, 2)).offered(here) for some in (recall, again))
    torch.testing.assert_close(found, expected)
    assert load_alike(tmp_path / "none") is None
