import json

import numpy as np
import pytest

from cogmap.envs.maze import OGBENCH_MAPS, Maze
from cogmap.envs.pointmaze import PointMaze
from cogmap.envs.tasks import (
    PAIRS_SEED,
    RANDOM_PAIRS,
    START_SHIFT,
    Task,
    check_tasks,
    draw_pairs,
    official_tasks,
    random_tasks,
    read_pairs,
    repeated,
)
from cogmap.errors import CogmapError
from cogmap.theory.geodesic import moves_to

every_ogbench_maze = pytest.mark.parametrize("name", OGBENCH_MAPS)
TWO_PARTS = Maze.from_text("#####\n#.#.#\n#####", name="two parts")


@every_ogbench_maze
@pytest.mark.parametrize("seed", [0, 3])
def test_official_tasks_are_what_ogbench_draws(name, seed):
    pytest.importorskip("ogbench")
    import gymnasium

    env = gymnasium.make(f"pointmaze-{name}-v0")
    tasks = official_tasks(Maze.load(name), episodes=3, seed=seed)
    assert [task.name for task in tasks] == [f"task{i}" for i in range(1, 6) for _ in range(3)]
    for i in range(1, 6):
        for k in (0, 2):
            np.random.seed(1000 * seed + k)
            start, info = env.reset(options={"task_id": i})
            task = tasks[3 * (i - 1) + k]
            assert np.allclose(task.start, start, rtol=0, atol=1e-12)
            assert np.allclose(task.goal, info["goal"], rtol=0, atol=1e-12)


def test_official_tasks_can_be_run_and_leave_the_global_generator_alone():
    np.random.seed(0)
    before = np.random.get_state()[1].copy()
    world = PointMaze(Maze.load("medium"))
    check_tasks(world.map, official_tasks(world.maze, episodes=2, seed=1))
    assert np.array_equal(np.random.get_state()[1], before)


def test_a_maze_of_ones_own_has_no_official_tasks():
    with pytest.raises(CogmapError, match="maze two parts has no official tasks; give --tasks"):
        official_tasks(TWO_PARTS, episodes=1, seed=0)


def test_a_maze_that_only_borrows_a_name_has_no_official_tasks():
    with pytest.raises(CogmapError, match="no official tasks"):
        official_tasks(Maze("large", TWO_PARTS.walls), episodes=1, seed=0)


@pytest.mark.parametrize(("name", "least"), [("medium", 20), ("large", 20), ("giant", 20)])
def test_the_fixed_pairs_are_twenty_and_lie_far_apart_within_reach(name, least):
    maze = Maze.load(name)  # medium is small: half of the 32 moves between its farthest points
    pairs = random_tasks(maze)
    assert [pair.name for pair in pairs] == [f"pair{i}" for i in range(1, 21)]
    check_tasks(PointMaze(maze).map, pairs)
    for pair in pairs:
        start, goal = maze.lattice.nearest(np.array([pair.start, pair.goal]))
        assert moves_to(maze.lattice.successors, int(goal))[start] >= least


@every_ogbench_maze
def test_the_fixed_pairs_are_drawn_with_their_seed(name):
    maze = Maze.load(name)
    assert draw_pairs(maze, count=20, seed=PAIRS_SEED) == random_tasks(maze)


def test_another_seed_draws_other_pairs():
    maze = Maze.load("medium")
    assert draw_pairs(maze, count=3, seed=1) == draw_pairs(maze, count=3, seed=1)
    assert draw_pairs(maze, count=3, seed=1) != draw_pairs(maze, count=3, seed=2)


@pytest.mark.parametrize("text", ["...", ".", "###\n#.#\n###"])
def test_a_tiny_maze_still_yields_pairs_and_they_lie_apart(text):
    maze = Maze.from_text(text, name="tiny")
    pairs = random_tasks(maze)
    assert len(pairs) == RANDOM_PAIRS
    check_tasks(PointMaze(maze).map, pairs)
    states = [maze.lattice.nearest(np.array([pair.start, pair.goal])) for pair in pairs]
    distances = [moves_to(maze.lattice.successors, int(goal))[start] for start, goal in states]
    assert min(distances) >= np.ptp(maze.lattice.points, axis=0).max() // 2


def test_pairs_of_a_maze_in_two_parts_stay_within_one():
    pairs = random_tasks(TWO_PARTS)
    check_tasks(PointMaze(TWO_PARTS).map, pairs)
    assert {pair.start[0] < 4 for pair in pairs} == {True, False}


def test_a_pair_that_is_repeated_runs_once_as_written_and_then_from_nearby():
    maze = Maze.load("medium")
    pairs = random_tasks(maze)[:4]
    tasks = repeated(maze, pairs, episodes=5, seed=0)
    assert tasks[::5] == pairs
    assert len(set(tasks)) == len(tasks) == 20
    for number, task in enumerate(tasks):
        pair = pairs[number // 5]
        assert (task.name, task.goal) == (pair.name, pair.goal)
        assert np.abs(np.subtract(task.start, pair.start)).max() <= START_SHIFT
    assert (maze.clearance(np.array([task.start for task in tasks])) >= 0.7).all()


def test_repeats_follow_their_seed():
    maze = Maze.load("medium")
    pairs = random_tasks(maze)[:2]
    assert repeated(maze, pairs, episodes=1, seed=0) == pairs
    first = repeated(maze, pairs, episodes=3, seed=0)
    assert first == repeated(maze, pairs, episodes=3, seed=0)
    assert first != repeated(maze, pairs, episodes=3, seed=1)


def test_repeats_of_a_start_beside_a_wall_keep_off_it():
    maze = Maze.load("medium")
    beside = Task("pair1", (-1.3, -1.3), (16.0, 0.0))
    starts = np.array([task.start for task in repeated(maze, [beside], episodes=30, seed=0)])
    assert (maze.clearance(starts[1:]) >= 0.7).all()


def test_a_file_of_pairs_is_read(tmp_path):
    file = tmp_path / "pairs.json"
    pairs = [{"start": [0, 1.5], "goal": [2, 3]}, {"goal": [6, 7], "start": [4, 5]}]
    file.write_text(json.dumps(pairs))
    assert read_pairs(file) == [
        Task("pair1", (0.0, 1.5), (2.0, 3.0)),
        Task("pair2", (4.0, 5.0), (6.0, 7.0)),
    ]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ('[{"start": [0, 0], "end": [4, 0]}]', "pair 1 has end, start; expected a list"),
        ('[{"start": [0, 0], "goal": [4, 0]}, [1, 2]]', r"pair 2 has \[1, 2\]"),
        ("start 0 0", "is not JSON"),
        ("", "is not JSON"),
        ("[]", "expected a list of"),
        ('{"start": [0, 0], "goal": [4, 0]}', "expected a list of"),
        ('[{"start": ["0", "1"], "goal": [4, 0]}]', r"pair 1: start is \['0', '1'\]"),
        ('[{"start": [0, 0], "goal": [4, 0, 1]}]', r"pair 1: goal is \[4, 0, 1\]"),
        ('[{"start": [0, 0], "goal": 4}]', "pair 1: goal is 4, not"),
        ('[{"start": [0, 0], "goal": [4, null]}]', r"goal is \[4, None\]"),
    ],
)
def test_a_file_of_pairs_that_cannot_be_read_is_refused_with_its_fault(text, complaint, tmp_path):
    file = tmp_path / "pairs.json"
    file.write_text(text)
    with pytest.raises(CogmapError, match=complaint) as caught:
        read_pairs(file)
    assert str(file) in str(caught.value)


def test_a_missing_file_of_pairs_is_refused(tmp_path):
    with pytest.raises(CogmapError, match="cannot be read; is the path right"):
        read_pairs(tmp_path / "none.json")


@pytest.mark.parametrize(
    ("start", "goal", "complaint"),
    [
        ((4.0, 0.0), (8.0, 0.0), r"task7: start \(4, 0\) touches or lies inside a wall"),
        ((0.0, 0.0), (8.0, 1.5), r"task7: goal \(8, 1.5\) touches .* free point is \(8, 1\)"),
        ((0.0, 0.0), (80.0, 0.0), r"task7: goal \(80, 0\) lies outside the maze"),
        ((0.0, 0.0), (8.0, 0.0), "task7: the goal .* cannot be reached"),
        ((0.0, float("nan")), (1.0, 1.0), "task7: start .* is not a pair of numbers"),
    ],
)
def test_a_task_that_cannot_be_run_is_refused_by_name(start, goal, complaint):
    fine = Task("task1", (0.0, 0.0), (1.0, 1.0))
    with pytest.raises(CogmapError, match=complaint):
        check_tasks(PointMaze(TWO_PARTS).map, [fine, Task("task7", start, goal)])
