"""Goals as people think of them become sets of seen rows and a test of arrival."""

from pathlib import Path

import numpy as np
import pytest

from cogmap.data.trajectories import Trajectories
from cogmap.errors import CogmapError
from cogmap.goals import SET, Seen


@pytest.fixture(scope="module")
def seen() -> Seen:
    angle = np.cumsum(np.random.default_rng(0).normal(0, 0.2, 4000))
    rows = np.stack([np.cos(angle), np.sin(angle), np.gradient(angle)], 1).astype(np.float32)
    data = Trajectories(episode_starts=np.array([0, 2000]), observations=rows)
    return Seen.of(data, ("cos", "sin", "speed"))


def test_named_numbers_are_met_within_what_one_decision_changes(seen):
    goal = seen.goal("cos=1,speed=0")
    assert goal.rows.shape == (SET, 3) and goal.reached(goal.rows).all()
    assert np.abs(goal.rows[:, 0] - 1).max() <= seen.change[0]
    assert not goal.reached(np.array([[-1.0, 0.0, 0.0]]))[0]
    assert np.array_equal(seen.goal("0=1,2=0").rows, goal.rows)


def test_ranges_bound_what_they_name_and_nothing_else(seen):
    goal = seen.goal("sin>=0.9, speed=-0.1..0.1")
    assert (goal.rows[:, 1] >= 0.9).all() and (np.abs(goal.rows[:, 2]) <= 0.1).all()
    assert goal.reached(np.array([[7.0, 0.95, 0.05], [7.0, 0.95, 0.2]])).tolist() == [True, False]


def test_an_observation_is_a_goal_in_every_number(seen):
    row = seen.rows[100]
    goal = seen.goal(row)
    assert np.array_equal(goal.rows, row[None]) and goal.reached(row[None])[0]
    moved = row + np.array([0, 0, 3 * seen.change[2]], np.float32)
    assert not goal.reached(moved[None])[0]
    assert np.array_equal(seen.goal(",".join(str(v) for v in row)).rows, goal.rows)


def test_rows_of_a_file_are_a_goal_any_of_which_will_do(seen, tmp_path):
    path = tmp_path / "goals.npy"
    np.save(path, seen.rows[[10, 500]])
    goal = seen.goal(str(path))
    assert len(goal.rows) == SET and goal.reached(seen.rows[[10, 500]]).all()


def test_a_predicate_chooses_seen_rows(seen):
    goal = seen.goal(lambda row: row[1] > 0.99)
    assert (goal.rows[:, 1] > 0.99).all()
    with pytest.raises(CogmapError, match="no seen row"):
        seen.goal(lambda row: row[1] > 2)
    with pytest.raises(CogmapError, match="raised"):
        seen.goal(lambda row: row[9] > 2)


def test_a_goal_that_nothing_resembles_says_so_with_the_nearest(seen):
    goal = seen.goal("speed=40")
    assert "nothing in the data is like this goal" in goal.warning
    fastest = seen.rows[:, 2].max()
    assert f"speed={fastest:.3g}" in goal.warning
    assert seen.goal("cos=1").warning == ""


def test_a_goal_that_was_seen_a_few_times_says_so(seen):
    low, high = np.sort(seen.rows[:, 2])[[-3, -1]]
    assert "only 3 of" in seen.goal(f"speed={low}..{high}").warning
    assert "only 3 of" in seen.goal(lambda row: row[2] >= low).warning
    assert seen.goal(seen.rows[100]).warning == ""  # a whole observation always is


def test_several_rows_that_nothing_resembles_say_so(seen):
    assert "nothing in the data is like this goal" in seen.goal(seen.rows[:2] + 90).warning
    assert seen.goal(seen.rows[:2]).warning == ""


def test_of_many_rows_all_parts_stand_for_the_goal(seen):
    goal = seen.goal(seen.rows[:500])
    assert len(goal.rows) == SET and np.array_equal(goal.rows[-1], seen.rows[499])


@pytest.mark.parametrize(
    "wanted", [["a", "b"], [[1], [1, 2]], {"speed": "fast"}, {}, [np.nan, 0, 0], None]
)
def test_what_is_no_goal_is_refused_in_one_line(seen, wanted):
    with pytest.raises(CogmapError) as caught:
        seen.goal(wanted)
    assert "\n" not in str(caught.value)


def test_what_was_seen_is_kept_with_a_run(seen, tmp_path):
    seen.save(tmp_path / "seen.npz")
    again = Seen.load(tmp_path / "seen.npz")
    assert again is not None and again.names == seen.names
    assert np.array_equal(again.rows, seen.rows) and np.array_equal(again.change, seen.change)
    assert Seen.load(Path(tmp_path / "nothing.npz")) is None


def test_steps_between_episodes_are_no_changes():
    rows = np.concatenate([np.zeros((50, 1)), np.full((50, 1), 9.0)]).astype(np.float32)
    rows[::2] += 0.1
    data = Trajectories(episode_starts=np.array([0, 50]), observations=rows)
    assert Seen.of(data).change[0] == pytest.approx(0.1, rel=1e-3)
