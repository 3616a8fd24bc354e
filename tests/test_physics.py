import numpy as np
import pytest

from cogmap.envs.maze import MOVES, Maze
from cogmap.envs.physics import KinematicPhysics, MujocoPhysics

pytest.importorskip("ogbench")

SMALL = """\
#####
#...#
#.#.#
#####"""


@pytest.fixture(scope="module")
def large() -> Maze:
    return Maze.load("large")


@pytest.fixture(scope="module", params=["mujoco", "kinematic"])
def small(request):
    maze = Maze.from_text(SMALL, name="small")
    return MujocoPhysics(maze) if request.param == "mujoco" else KinematicPhysics(maze)


def all_of(points: np.ndarray) -> np.ndarray:
    return np.ones(len(points), dtype=bool)


def random_places(maze: Maze, count: int, rng: np.random.Generator) -> np.ndarray:
    return maze.lattice.points[rng.integers(len(maze.lattice), size=count)]


def test_mujoco_physics_is_ogbench_bit_for_bit(large):
    import gymnasium

    env = gymnasium.make("pointmaze-large-v0").unwrapped
    np.random.seed(5)
    start, _ = env.reset(options={"task_id": 2})
    actions = np.repeat(np.random.default_rng(5).uniform(-1.0, 1.0, size=(60, 2)), 8, axis=0)
    theirs = np.array([env.step(action)[0] for action in actions])
    physics = MujocoPhysics(large, threads=1)
    physics.reset(start[None])
    ours = np.array([physics.hold(action[None], 1, [True])[0, 0] for action in actions])
    assert (large.clearance(theirs) < 0.7).mean() > 0.1  # walls are touched on the way
    assert np.array_equal(ours, theirs)


def test_an_action_held_is_the_same_action_repeated(small):
    small.reset(np.array([[0.0, 0.0]]))
    action = np.array([[1.0, -0.4]])
    one_by_one = [small.hold(action, 1, [True])[0, 0] for _ in range(7)]
    small.reset(np.array([[0.0, 0.0]]))
    assert np.array_equal(small.hold(action, 7, [True])[0], one_by_one)


def test_the_number_of_threads_changes_nothing(large):
    rng = np.random.default_rng(0)
    starts = random_places(large, 7, rng)
    actions = rng.uniform(-1.0, 1.0, size=(6, 7, 2))
    paths = []
    for threads in (1, 2):
        physics = MujocoPhysics(large, threads=threads)
        physics.reset(starts)
        paths.append([physics.hold(action, 5, all_of(starts)) for action in actions])
    assert np.array_equal(*paths)


def test_episodes_do_not_influence_one_another(small):
    starts = np.array([[0.0, 0.0], [0.5, 0.0], [8.0, 4.0]])
    actions = np.random.default_rng(1).uniform(-1.0, 1.0, size=(6, 3, 2))
    small.reset(starts)
    together = np.array([small.hold(action, 5, all_of(starts)) for action in actions])
    for e, start in enumerate(starts):
        small.reset(start[None])
        alone = np.array([small.hold(action[e][None], 5, [True])[0] for action in actions])
        assert np.array_equal(together[:, e], alone)


def test_actions_beyond_the_box_are_clipped_to_it(small):
    starts = np.zeros((2, 2))
    small.reset(starts)
    path = small.hold(np.array([[9.0, -0.5], [1.0, -0.5]]), 4, all_of(starts))
    assert np.array_equal(path[0], path[1])
    assert np.allclose(path[0, -1], [0.8, -0.4])
    small.reset(starts)
    path = small.hold(np.array([[-50.0, 50.0], [-1.0, 1.0]]), 40, all_of(starts))
    assert np.array_equal(path[0], path[1])


@pytest.mark.parametrize("kind", [MujocoPhysics, KinematicPhysics])
def test_every_legal_lattice_move_is_five_simulator_steps_to_exactly_the_next_point(kind, large):
    lattice, physics = large.lattice, kind(large)
    here = lattice.points
    physics.reset(here)
    for k in range(5):  # stay and four directions; the way back makes the other four
        there = here[lattice.successors[:, k]]
        for begin, end in ((here, there), (there, here)):
            reached = physics.hold(end - begin, 5, all_of(here))[:, -1]
            assert np.abs(reached - end).max() < 1e-6
    assert np.array_equal(-MOVES[1:5], MOVES[5:])


def test_an_agent_that_stays_stays_at_every_lattice_point(large):
    points = large.lattice.points[::7]
    physics = MujocoPhysics(large)
    physics.reset(points)
    path = physics.hold(np.zeros_like(points), 10, all_of(points))
    assert np.abs(path - points[:, None]).max() < 1e-9


def test_the_kinematic_stand_in_follows_mujoco_closely(large):
    rng = np.random.default_rng(2)
    position = random_places(large, 20, rng)
    simulator, stand_in = MujocoPhysics(large), KinematicPhysics(large)
    simulator.reset(position)
    errors, touching = [], []
    for _ in range(40):
        action = rng.uniform(-1.0, 1.0, size=position.shape)
        for _ in range(5):
            stand_in.reset(position)
            guess = stand_in.hold(action, 1, all_of(position))[:, 0]
            position = simulator.hold(action, 1, all_of(position))[:, 0]
            errors.append(np.linalg.norm(guess - position, axis=1))
            touching.append(large.clearance(position) < 0.7)
    assert np.mean(touching) > 0.1
    assert np.mean(errors) < 0.001
    assert np.max(errors) < 0.1


def test_the_agent_slides_along_walls(small):
    small.reset(np.array([[0.0, 0.0]]))
    end = small.hold(np.array([[1.0, -1.0]]), 25, [True])[0, -1]
    assert abs(end[0] - 5.0) < 0.1
    assert -1.4 < end[1] < -1.3  # pressed to the wall, whose face is at -2


def test_a_wall_of_several_blocks_pushes_like_one(small):
    small.reset(np.array([[0.0, 0.0], [2.0, 0.0]]))  # before the middle of a block, before a seam
    middle, seam = small.hold(np.array([[0.0, -1.0]] * 2), 30, [True, True])[:, -1]
    assert abs(seam[1] - middle[1]) < 1e-2


def test_inactive_episodes_do_not_move(small):
    starts = np.array([[0.0, 0.0], [0.0, 0.0], [0.0, -1.4]])  # the last one touches a wall
    small.reset(starts)
    path = small.hold(np.ones((3, 2)), 5, np.array([True, False, False]))
    assert path[0, -1, 0] > 0.9
    assert np.array_equal(path[1:], np.repeat(starts[1:, None], 5, axis=1))
    path = small.hold(np.ones((3, 2)), 5, np.array([False, True, False]))
    assert path[1, -1, 0] > 0.9
    assert np.array_equal(path[2], np.repeat(starts[2:], 5, axis=0))


@pytest.mark.parametrize("kind", [MujocoPhysics, KinematicPhysics])
def test_no_action_drives_the_agent_into_a_wall(kind, large):
    rng = np.random.default_rng(3)
    starts = random_places(large, 20, rng)
    physics = kind(large)
    physics.reset(starts)
    least = 4.0
    for action in rng.uniform(-3.0, 3.0, size=(15, 20, 2)):
        path = physics.hold(action, 10, all_of(starts)).reshape(-1, 2)
        least = min(least, large.clearance(path).min())
    assert 0.5 < least < 0.7


def test_a_maze_open_at_its_edge_holds_the_agent_in():
    physics = MujocoPhysics(Maze.from_text("..", name="open"))
    physics.reset(np.array([[-4.0, -4.0]]))
    path = physics.hold(np.array([[-1.0, 0.0]]), 30, [True])
    assert path.min() > -5.5
