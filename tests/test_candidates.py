"""Candidates: those that are the same everywhere, and those recalled from like states."""

import numpy as np
import pytest
import torch

from cogmap.data.trajectories import Trajectories
from cogmap.errors import CogmapError
from cogmap.planning.candidates import Candidates, Programs, Recall


def line(steps: int = 10, episodes: int = 3) -> Trajectories:
    """Episodes along a line; the action at row t of any episode is t."""
    rows = np.tile(np.arange(steps, dtype=np.float32), episodes)
    return Trajectories(
        episode_starts=np.arange(episodes) * steps,
        observations=np.stack([rows, 0 * rows], axis=1),
        actions=rows[:, None],
    )


def test_what_is_recalled_is_what_was_done_in_the_nearest_states_in_their_order():
    offer = Recall.of(line(), length=3).candidates(4, (1, 3))
    offered = offer.offered(torch.tensor([[4.2, 0.0], [0.0, 0.0]]))
    assert offered.shape == (2, 4, 3, 1) and offer.count == 4
    # Three episodes hold the nearest state; the fourth candidate is of the next nearest one.
    assert offered[0, :3, :, 0].tolist() == [[4, 5, 6]] * 3
    assert offered[0, 3, :, 0].tolist() == [5, 6, 7]
    assert offered[1, 0, :, 0].tolist() == [0, 1, 2]


def test_no_sequence_runs_into_another_episode():
    recall = Recall.of(line(), length=4)
    assert recall.actions.max() == 8  # row 9 is the last, and its action unused
    starts = recall.actions[:, 0, 0]
    np.testing.assert_array_equal(recall.actions[:, 3, 0], starts + 3)


def test_likeness_decides_what_is_near():
    data = line(episodes=1)
    aside = Recall.of(data, length=1, likeness=np.array([[0.0, 1.0]]))  # nothing tells rows apart
    assert aside.keys.shape == (9, 1)
    along = Recall.of(data, length=1, likeness=np.array([[-1.0, 0.0]]))
    offered = along.candidates(1, (1,)).offered(torch.tensor([[7.0, 5.0]]))
    assert offered.item() == 7


def test_a_recall_outlives_its_data(tmp_path):
    recall = Recall.of(line(), length=2)
    recall.save(tmp_path / "recall.npz")
    again = Recall.load(tmp_path / "recall.npz")
    here = torch.tensor([[3.0, 0.0]])
    first, second = (one.candidates(5, (1, 2)).offered(here) for one in (recall, again))
    assert torch.equal(first, second)
    assert Recall.load(tmp_path / "other.npz") is None
    (tmp_path / "recall.npz").write_bytes(b"PK")
    with pytest.raises(CogmapError, match="truncated"):
        Recall.load(tmp_path / "recall.npz")


def test_what_cannot_be_recalled_is_refused():
    with pytest.raises(CogmapError, match="20 actions in turn"):
        Recall.of(line(), length=20)
    with pytest.raises(CogmapError, match="recalls 2 actions in turn"):
        Recall.of(line(), length=2).candidates(4, (1, 3))


def test_fixed_candidates_are_the_same_in_every_episode():
    actions = np.eye(2, dtype=np.float32)
    offered = Candidates(actions, (1,)).offered(torch.zeros(3, 5))
    assert offered.shape == (3, 2, 2) and (offered == torch.eye(2)).all()


def test_of_twice_as_many_the_unsteady_half_is_left_out():
    steady, jumping = line(episodes=2), line(episodes=2)
    jumping.actions[:, 0] = np.resize([9.0, -9.0], len(jumping))
    recall = Recall.of(Trajectories.together([jumping, steady]), length=3)
    offered = recall.candidates(2, (1,)).offered(torch.tensor([[4.0, 0.0]]))
    assert offered[0, :, :, 0].tolist() == [[4, 5, 6], [4, 5, 6]]


def test_programs_are_the_same_everywhere_and_known_by_what_they_begin_with():
    turns = np.eye(3, dtype=np.float32)[[[0, 2], [1, 2], [2, 2]]]  # (3, 2, 3)
    offer = Programs(turns, (1, 2))
    offered = offer.offered(torch.zeros(4, 7))
    assert offered.shape == (4, 3, 2, 3)
    np.testing.assert_array_equal(offered[3], turns)
    # Not empty, unlike that of recalled ones: a planner remembers which it tried where.
    np.testing.assert_array_equal(offer.actions, np.eye(3))
    assert offer.count == 3
