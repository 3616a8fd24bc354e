import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from cogmap.envs.maze import AGENT_RADIUS, MOVES, OGBENCH_MAPS, Maze
from cogmap.errors import CogmapError
from cogmap.theory.geodesic import moves_to

SMALL = """\
#####
#...#
#.#.#
#####"""

every_ogbench_maze = pytest.mark.parametrize("name", OGBENCH_MAPS)
some_walls = arrays(
    bool, st.tuples(st.integers(1, 4), st.integers(1, 4)), elements=st.booleans()
).filter(lambda walls: not walls.all())


def ogbench_env(name: str):
    pytest.importorskip("ogbench")
    import gymnasium

    return gymnasium.make(f"pointmaze-{name}-v0").unwrapped


def brute_force_clearance(walls: np.ndarray, point: np.ndarray) -> float:
    """The nearest of all walls, the ring around the map included, but at most one cell."""
    nearest = 4.0
    height, width = walls.shape
    for i in range(-1, height + 1):
        for j in range(-1, width + 1):
            if 0 <= i < height and 0 <= j < width and not walls[i, j]:
                continue
            beyond = np.abs(point - (4 * j - 4, 4 * i - 4)) - 2.0
            nearest = min(nearest, float(np.linalg.norm(beyond.clip(min=0.0))))
    return nearest


@every_ogbench_maze
def test_the_maps_are_those_of_ogbench(name):
    assert np.array_equal(Maze.load(name).walls, ogbench_env(name).maze_map == 1)


def test_cells_lie_where_ogbench_puts_them():
    env, maze = ogbench_env("large"), Maze.load("large")
    for i, j in np.ndindex(maze.walls.shape):
        centre = np.array(env.ij_to_xy((i, j)), dtype=float)
        assert tuple(centre) == (4 * j - 4, 4 * i - 4)
        row, column = maze.cells_of(centre[None])
        assert (row[0], column[0]) == (i, j)
        assert (maze.clearance(centre[None])[0] == 0.0) == maze.walls[i, j]
    low, high = maze.bounds
    points = np.random.default_rng(0).uniform(low, high, size=(200, 2))
    points[:20] = np.round(points[:20] / 4) * 4 - 2  # on the edges, which belong to the next cell
    points = points[(points >= low).all(axis=1)]
    rows, columns = maze.cells_of(points)
    assert list(zip(rows, columns)) == [env.xy_to_ij(point) for point in points]


@pytest.mark.parametrize(("name", "states"), [("large", 558), ("giant", 1038)])
def test_the_lattices_have_the_sizes_measured_in_the_simulator(name, states):
    lattice = Maze.load(name).lattice
    assert len(lattice) == len(lattice.points) == len(lattice.successors) == states


@every_ogbench_maze
def test_the_agent_fits_at_every_lattice_point_and_at_no_other_integer_point(name):
    maze = Maze.load(name)
    assert (maze.clearance(maze.lattice.points) >= AGENT_RADIUS).all()
    low, high = maze.bounds
    grid = np.stack(np.meshgrid(*(np.arange(a, b + 1) for a, b in zip(low, high))), -1)
    grid = grid.reshape(-1, 2)
    free = grid[maze.clearance(grid) >= AGENT_RADIUS]
    assert set(map(tuple, free)) == set(map(tuple, maze.lattice.points))


@every_ogbench_maze
def test_every_move_of_the_walk_can_be_taken_back(name):
    successors = Maze.load(name).lattice.successors
    here = np.arange(len(successors))
    for k, move in enumerate(MOVES):
        back = int((-move == MOVES).all(axis=1).argmax())
        moved = successors[:, k] != here
        assert moved.any() == (k != 0)
        assert np.array_equal(successors[successors[moved, k], back], here[moved])


@settings(max_examples=40, deadline=None)
@given(some_walls)
def test_a_move_is_legal_where_its_end_and_for_diagonals_both_sides_are_free(walls):
    lattice = Maze("random", walls).lattice
    state = {tuple(point): s for s, point in enumerate(lattice.points)}
    for s, (x, y) in enumerate(lattice.points):
        for k, (dx, dy) in enumerate(MOVES):
            way = [(x + dx, y), (x, y + dy), (x + dx, y + dy)]
            legal = all(point in state for point in way)
            assert lattice.successors[s, k] == (state[way[-1]] if legal else s)


def test_no_move_cuts_a_corner():
    lattice = Maze.from_text(SMALL, name="small").lattice  # its inner wall begins at (2, 2)
    above, beside = lattice.nearest(np.array([[2.0, 1.0], [1.0, 2.0]]))
    assert lattice.points[[above, beside]].tolist() == [[2.0, 1.0], [1.0, 2.0]]
    assert moves_to(lattice.successors, int(above))[beside] == 2


def test_the_four_spots_of_giant_where_walls_touch_at_a_corner_are_not_crossed():
    maze = Maze.load("giant")
    touching = [
        (i, j)
        for i, j in np.ndindex(11, 15)
        if maze.walls[i, j] == maze.walls[i + 1, j + 1] != maze.walls[i, j + 1]
        and maze.walls[i, j + 1] == maze.walls[i + 1, j]
    ]
    assert touching == [(2, 11), (5, 8), (6, 6), (8, 11)]
    for i, j in touching:
        corner = np.array([4 * j - 2, 4 * i - 2])
        assert maze.clearance(corner[None])[0] == 0.0
        across = [(1, -1), (-1, 1)] if maze.walls[i, j] else [(1, 1), (-1, -1)]
        one, other = maze.lattice.nearest(corner + np.array(across))
        assert np.abs(maze.lattice.points[one] - maze.lattice.points[other]).max() == 2
        assert moves_to(maze.lattice.successors, int(one))[other] > 10


@settings(max_examples=60, deadline=None)
@given(some_walls, st.integers(0, 1000))
def test_clearance_is_the_distance_to_the_nearest_wall(walls, seed):
    maze = Maze("random", walls)
    points = np.random.default_rng(seed).uniform(*maze.bounds, size=(20, 2))
    points[10:] = np.round(points[10:])  # the lattice, and the edges and corners of walls
    expected = [brute_force_clearance(walls, point) for point in points]
    assert np.allclose(maze.clearance(points), expected, atol=1e-12)


def test_nearest_finds_the_closest_lattice_point():
    lattice = Maze.load("medium").lattice
    rng = np.random.default_rng(0)
    states = rng.integers(len(lattice), size=50)
    nudged = lattice.points[states] + rng.uniform(-0.45, 0.45, size=(50, 2))
    assert np.array_equal(lattice.nearest(nudged), states)


@every_ogbench_maze
def test_a_maze_written_as_text_reads_back_the_same(name):
    maze = Maze.load(name)
    assert maze.text == OGBENCH_MAPS[name]
    assert np.array_equal(Maze.from_text(maze.text, name=name).walls, maze.walls)


@pytest.mark.parametrize(
    "text",
    [
        SMALL.replace("#", "1").replace(".", "0"),
        "\n".join(" ".join(row) for row in SMALL.splitlines()),
        SMALL + "\n",
        "\n" + SMALL + "\n\n  \n",
        SMALL.replace("\n", "\r\n"),
    ],
    ids=["ones and zeros", "spaces", "trailing newline", "blank lines around", "windows lines"],
)
def test_a_maze_file_may_be_written_in_several_ways(text, tmp_path):
    file = tmp_path / "mine.txt"
    file.write_bytes(text.encode())
    maze = Maze.load(file)
    assert maze.name == "mine"
    assert maze.text == SMALL


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("###\n#.\n###", "row 2 has 2 cells, row 1 has 3"),
        ("###\n#.#\n\n###", "row 3 has 0 cells"),
        ("###\n#x#\n###", "row 2 holds 'x'"),
        ("###\n###", "no free cell"),
        ("", "empty"),
        (" \n\n", "empty"),
    ],
)
def test_a_map_that_cannot_be_read_is_refused_with_its_fault(text, complaint):
    with pytest.raises(CogmapError, match=complaint) as caught:
        Maze.from_text(text, name="broken")
    assert "maze broken" in str(caught.value)


def test_an_unknown_maze_is_refused_with_the_known_names():
    with pytest.raises(CogmapError, match="'enormous': neither one of medium, large, giant"):
        Maze.load("enormous")


def test_a_folder_is_not_a_maze(tmp_path):
    with pytest.raises(CogmapError, match="nor a text file"):
        Maze.load(tmp_path)


def test_a_binary_file_is_not_a_maze(tmp_path):
    file = tmp_path / "picture.png"
    file.write_bytes(b"\x89PNG\r\n\x1a\n\xff\xfe")
    with pytest.raises(CogmapError, match=r"picture\.png: not a text file"):
        Maze.load(file)


def test_a_maze_open_at_its_edge_gets_a_ring_of_blocks():
    blocks = {(int(i), int(j)) for i, j in Maze.from_text("..\n.#", name="open").blocks}
    ring = {(i, j) for i in range(-1, 3) for j in range(-1, 3)} - {(0, 0), (0, 1), (1, 0)}
    assert blocks == ring
    assert (1, 1) in blocks


def test_a_closed_maze_is_built_of_its_own_walls_alone():
    maze = Maze.load("medium")
    assert np.array_equal(maze.blocks, np.argwhere(maze.walls))


def test_the_lattice_of_an_open_maze_keeps_off_its_edge():
    maze = Maze.from_text("...\n...", name="open")
    assert len(maze.lattice) == 11 * 7
    assert np.abs(maze.clearance(maze.lattice.points)).min() == 1.0
