"""Moves on a lattice of headings: what a step undoes, where walls are, how far it is."""

import numpy as np
import pytest
from navmeshes import two_rooms_scene

from cogmap.envs.turning import BACKWARD, FORWARD, HEADINGS, LEFT, LONGEST, RIGHT, States, ways


@pytest.fixture(scope="module")
def scene(tmp_path_factory):
    return two_rooms_scene(tmp_path_factory.mktemp("scene"))


@pytest.fixture(scope="module")
def states(scene):
    return States.of(scene)


def test_a_step_is_half_a_metre_rounded_to_the_lattice():
    lengths = 0.25 * np.linalg.norm(ways(), axis=-1)
    assert set(lengths.round(3)) == {0.5, 0.559}
    assert lengths.max() == pytest.approx(LONGEST)
    assert ways()[0].tolist() == [0, -2]  # a heading of 0 looks along -z
    assert ways()[3].tolist() == [-2, 0]  # and a quarter to the left along -x
    np.testing.assert_array_equal(ways(), -np.roll(ways(), 6, axis=0))


def test_turns_undo_each_other_and_twelve_make_a_whole(states):
    every = np.arange(len(states))
    turned = states.successors[every, LEFT]
    np.testing.assert_array_equal(states.successors[turned, RIGHT], every)
    for _ in range(HEADINGS):
        every = states.successors[every, LEFT]
    np.testing.assert_array_equal(every, np.arange(len(states)))


def test_a_step_back_undoes_every_step_forward_that_was_free(states):
    every = np.arange(len(states))
    for go, back in ((FORWARD, BACKWARD), (BACKWARD, FORWARD)):
        there = states.successors[every, go]
        free = there != every
        np.testing.assert_array_equal(states.successors[there[free], back], every[free])
        assert 0.3 < free.mean() < 1.0


def test_the_walk_is_as_likely_backwards(states):
    count = len(states)
    chance = np.zeros((count, count))
    np.add.at(chance, (np.repeat(np.arange(count), 4), states.successors.ravel()), 0.25)
    np.testing.assert_array_equal(chance, chance.T)


def test_no_step_crosses_a_wall_and_every_free_one_is_taken(scene, states):
    for heading, way in enumerate(ways()):
        here = np.arange(len(states.points))
        there = states.successors[HEADINGS * here + heading, FORWARD]
        assert (there % HEADINGS == heading).all()
        ends = states.points + 0.25 * way
        free = scene.navigable(ends) & scene.clear(states.points, ends)
        moved = there // HEADINGS != here
        np.testing.assert_array_equal(moved, free)
        np.testing.assert_allclose(states.points[there[moved] // HEADINGS], ends[moved])


def test_the_points_are_one_piece_and_places_and_headings_go_together(scene, states):
    assert len(states.points) == len(scene.points)  # through the door, too
    asked = np.array([0, 5, 12, 12 * len(states.points) - 1])
    np.testing.assert_array_equal(states.places(asked), states.points[[0, 0, 1, -1]])
    np.testing.assert_allclose(states.headings(asked), np.radians([0, 150, 0, 330]))
    assert states.nearest(states.points[7] + 0.05) == 7


def test_what_cannot_be_reached_is_left_out(scene):
    class Cut:
        points = scene.points

        def clear(self, start, end):
            return (start[:, 0] - 2.4) * (end[:, 0] - 2.4) > 0  # as if the door were shut

    kept = States.of(Cut())
    assert (kept.points[:, 0] > 2.4).all() or (kept.points[:, 0] < 2.4).all()
    assert set(np.unique(kept.successors)) == set(range(len(kept)))
