"""Standing, straight ways and shortest ways on a floor whose truths can be worked out by hand."""

import numpy as np
import pytest
from navmeshes import two_rooms

from cogmap.envs.floor import TOLERANCE


@pytest.fixture(scope="module")
def floor(tmp_path_factory):
    return two_rooms(tmp_path_factory.mktemp("floor"))


def places(*each):
    return np.array(each, dtype=float)


def test_one_stands_on_the_floor_and_a_centimetre_off_it(floor):
    just, far = TOLERANCE - 1e-4, TOLERANCE + 1e-4
    asked = places((1, 1), (2.5, 1), (-just, 1), (-far, 1), (2.5, 0.5 - just), (2.5, 0.5 - far))
    assert floor.navigable(asked).tolist() == [True, True, True, False, True, False]


def test_the_nearest_place_of_the_floor_is_itself_or_on_its_edge(floor):
    moved = floor.nearest(places((1, 1), (-3, 1), (2.5, 0.1)))
    np.testing.assert_allclose(moved, [(1, 1), (0, 1), (2.5, 0.5)])


def test_the_height_is_that_of_the_triangles(floor):
    np.testing.assert_allclose(floor.height(places((1, 1), (4, 2))), 0.2, atol=1e-6)


def test_a_lattice_has_the_multiples_on_the_floor(floor):
    points = floor.lattice(0.25)
    assert len(points) == 2 * 9 * 9 + 3 * 5  # two rooms, and the door between them
    np.testing.assert_array_equal(points, np.round(points * 4) / 4)


@pytest.mark.parametrize(
    ("start", "end", "free"),
    [
        ((0.5, 0.5), (1.5, 1.5), True),
        ((1.0, 1.0), (4.0, 1.0), True),
        ((1.0, 0.0), (4.0, 0.0), False),  # through the wall beside the door
        ((1.75, 2.0), (3.25, 0.5), False),  # past the door's edge
        ((0.0, 0.0), (2.0, 0.0), True),  # along a wall
        ((2.0, 0.5), (3.0, 0.5), True),  # along the door's side
        ((1.0, 0.5), (4.0, 0.5), True),  # touching both its corners
        ((2.0, 0.0), (3.0, 0.0), False),  # from corner to corner, outside
    ],
)
def test_a_straight_way_is_free_where_it_stays_on_the_floor(floor, start, end, free):
    for a, b in ((start, end), (end, start)):
        assert floor.clear(places(a), places(b)).tolist() == [free]


def test_shortest_ways_go_round_the_corners_of_the_door(floor):
    starts, ends = places((2, 0), (1, 1)), places((3, 0), (4, 1), (3, 2))
    expected = [
        [0.5 + 1 + 0.5, 0.5 + np.hypot(2, 0.5), 0.5 + np.hypot(1, 1) + 0.5],
        [np.hypot(2, 0.5) + 0.5, 3.0, np.hypot(2, 0.5) + 0.5],
    ]
    np.testing.assert_allclose(floor.geodesic(starts, ends), expected, atol=1e-9)


def test_shortest_ways_are_a_metric_no_shorter_than_straight_lines(floor):
    rng = np.random.default_rng(0)
    points = rng.permutation(floor.lattice(0.25))[:12]
    way = floor.geodesic(points, points)
    straight = np.linalg.norm(points[:, None] - points[None], axis=-1)
    np.testing.assert_allclose(way, way.T, atol=1e-9)
    assert (way >= straight - 1e-9).all() and np.isfinite(way).all()
    assert (way[:, :, None] <= way[:, None] + way.T[None] + 1e-9).all()
