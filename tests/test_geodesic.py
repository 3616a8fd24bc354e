import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import shortest_path

from cogmap.envs.maze import Maze
from cogmap.envs.pointmaze import PointMaze
from cogmap.theory.geodesic import (
    CONTACT_RADIUS,
    VisibilityGraph,
    all_pairs,
    moves_to,
    segment_box_distance,
)

ONE_BLOCK = """\
#######
#.....#
#.....#
#..#..#
#.....#
#.....#
#######"""
BLOCK = np.array([8.0, 8.0])  # centre of the block, whose half width is 2
SPLIT = "#####\n#.#.#\n#.#.#\n#####"


def paths(text: str) -> VisibilityGraph:
    return PointMaze(Maze.from_text(text, name="test")).map.paths


def medium() -> tuple[Maze, VisibilityGraph]:
    maze = Maze.load("medium")
    return maze, PointMaze(maze).map.paths


def free_points(maze: Maze, count: int, *, seed: int) -> np.ndarray:
    low, high = maze.bounds
    points = np.random.default_rng(seed).uniform(low, high, size=(50 * count, 2))
    return points[maze.clearance(points) >= 0.7][:count]


@pytest.mark.parametrize("goal", [0, 57, -1])
def test_moves_to_agrees_with_scipy(goal):
    successors = Maze.load("medium").lattice.successors
    states, moves = successors.shape
    edges = (np.ones(states * moves), (np.repeat(np.arange(states), moves), successors.ravel()))
    graph = csr_matrix(edges, shape=(states, states))
    expected = shortest_path(graph, unweighted=True, indices=goal % states)
    assert (moves_to(successors, goal % states) == expected).all()


def test_moves_to_is_minus_one_where_there_is_no_way():
    maze = Maze.from_text(SPLIT, name="test")
    left, right = maze.lattice.nearest(np.array([[0.0, 0.0], [8.0, 0.0]]))
    moves = moves_to(maze.lattice.successors, left)
    assert moves[left] == 0
    assert moves[right] == -1
    assert ((moves >= 0) == (maze.lattice.points[:, 0] < 4)).all()


def test_all_pairs_agrees_with_scipy():
    rng = np.random.default_rng(0)
    lengths = np.where(rng.random((30, 30)) < 0.04, rng.uniform(1, 9, (30, 30)), np.inf)
    lengths = np.minimum(lengths, lengths.T)
    np.fill_diagonal(lengths, 0.0)
    before = lengths.copy()
    expected = shortest_path(np.where(np.isinf(lengths), 0.0, lengths), directed=False)
    assert np.isinf(expected).any()
    assert np.allclose(all_pairs(lengths), expected)
    assert (lengths == before).all()


number = st.floats(-6, 6).map(lambda x: round(x, 2))  # ties and axis-parallel segments are common
width = st.floats(0.01, 5).map(lambda x: round(x, 2))
place = st.tuples(number, number)


@settings(max_examples=300, deadline=None, derandomize=True)
@given(start=place, end=place, corner=place, size=st.tuples(width, width))
def test_segment_box_distance_agrees_with_points_along_the_segment(start, end, corner, size):
    start, end, low = np.array(start), np.array(end), np.array(corner)
    high = low + np.array(size)
    exact = segment_box_distance(start[None], end[None], low[None], high[None])[0, 0]
    points = start + np.linspace(0.0, 1.0, 2001)[:, None] * (end - start)
    sampled = np.linalg.norm(points - np.clip(points, low, high), axis=1).min()
    spacing = np.linalg.norm(end - start) / 2000
    assert sampled - spacing / 2 - 1e-9 <= exact <= sampled + 1e-9


def test_segment_box_distance_takes_every_segment_with_every_box():
    rng = np.random.default_rng(0)
    start, end, low = rng.uniform(-5, 5, (3, 4, 2))
    low = low[:3]
    high = low + 1.0
    table = segment_box_distance(start, end, low, high)
    assert table.shape == (4, 3)
    for i in range(4):
        for k in range(3):
            row, box = slice(i, i + 1), slice(k, k + 1)
            assert table[i, k] == segment_box_distance(start[row], end[row], low[box], high[box])


def test_the_way_is_a_straight_line_where_one_can_see():
    graph = paths(ONE_BLOCK)
    assert graph.distance([0.0, 0.0], [16.0, 0.0]) == pytest.approx(16.0)
    assert graph.distance([0.0, 0.0], [4.0, 16.0]) == pytest.approx(np.hypot(4, 16))
    assert graph.distance([3.0, 4.0], [3.0, 4.0]) == 0.0


def around_the_block(ahead: float) -> float:
    """The taut way past the block at CONTACT_RADIUS, both ends level with its centre."""
    corner = np.hypot(ahead - 2.0, 2.0)  # from an end to the nearer corner
    tangent = np.sqrt(corner**2 - CONTACT_RADIUS**2)
    rise = np.arctan2(2.0, ahead - 2.0) + np.arcsin(CONTACT_RADIUS / corner)
    return 2 * (tangent + CONTACT_RADIUS * rise) + 4.0  # the arc turns by the angle of the rise


@pytest.mark.parametrize("ahead", [4.0, 6.5, 8.0])
def test_the_way_around_one_block_is_tangents_arcs_and_its_side(ahead):
    ends = BLOCK - [ahead, 0.0], BLOCK + [ahead, 0.0]
    length = paths(ONE_BLOCK).distance(*ends)
    assert length == pytest.approx(around_the_block(ahead), abs=0.015)
    assert length > 2 * np.hypot(ahead - 2, 2) + 4


def test_the_first_stop_is_a_point_near_a_corner_from_which_the_rest_is_the_way():
    graph = paths(ONE_BLOCK)
    start, goal = BLOCK - [8.0, 1.0], BLOCK + [8.0, -1.0]
    stop, length = graph.next_stop(start, goal)
    assert np.linalg.norm(stop - (BLOCK - 2.0)) == pytest.approx(CONTACT_RADIUS)
    assert length == pytest.approx(np.linalg.norm(stop - start) + graph.distance(stop, goal))


def test_stops_within_reach_are_passed_over():
    graph = paths(ONE_BLOCK)
    start, goal = BLOCK - [3.0, 2.0], BLOCK + [8.0, -1.0]
    near, _ = graph.next_stop(start, goal)
    stop, _ = graph.next_stop(start, goal, beyond=2.0)
    assert np.linalg.norm(near - start) < 2.0 < np.linalg.norm(stop - start)


def test_there_is_no_way_between_separate_rooms():
    graph = paths(SPLIT)
    assert graph.distance([0.0, 0.0], [8.0, 0.0]) == np.inf
    assert graph.distance([0.0, 0.0], [0.0, 4.0]) == pytest.approx(4.0)


def test_a_map_without_walls_is_one_room():
    assert paths("....\n....").distance([0.0, -4.0], [8.0, 0.0]) == pytest.approx(np.hypot(8, 4))


def test_the_way_is_as_long_as_the_way_back():
    maze, graph = medium()
    points = free_points(maze, 20, seed=0)
    for a, b in zip(points[:10], points[10:], strict=True):
        assert graph.distance(a, b) == pytest.approx(graph.distance(b, a))


def test_a_detour_is_never_shorter():
    maze, graph = medium()
    points = free_points(maze, 14, seed=1)
    between = np.array([[graph.distance(a, b) for b in points] for a in points])
    assert np.isfinite(between).all()
    assert (between >= np.linalg.norm(points[:, None] - points[None], axis=-1) - 1e-9).all()
    detour = (between[:, :, None] + between[None]).min(axis=1)
    assert (between <= detour + 0.01).all()  # corners are polygons, so a stop may cut one finer


def test_the_way_is_shorter_than_the_lattice_walks_by_at_most_a_fifth():
    maze, graph = medium()
    lattice = maze.lattice
    goal = int(lattice.nearest(np.array([[20.0, 20.0]]))[0])
    sides = lattice.points[lattice.successors] - lattice.points[:, None]
    lengths = np.linalg.norm(sides, axis=-1)
    states, moves = lattice.successors.shape
    rows = np.repeat(np.arange(states), moves)
    edges = csr_matrix((lengths.ravel(), (rows, lattice.successors.ravel())), (states, states))
    on_lattice = shortest_path(edges, indices=goal)
    for state in range(0, states, 20):
        length = graph.distance(lattice.points[state], lattice.points[goal])
        assert length <= on_lattice[state] + 1e-9
        # Eight directions cost at most 8.3%; the lattice also keeps 1 from walls, not 0.66.
        assert length >= on_lattice[state] / 1.2
