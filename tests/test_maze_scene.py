"""A maze in the first person: its lattice in metres, walls, tasks, from training to plans."""

import json
from pathlib import Path

import numpy as np
import pytest

from cogmap.cli import main
from cogmap.envs.egocentric import Building
from cogmap.envs.kinds import restored
from cogmap.envs.maze import Maze
from cogmap.envs.maze_scene import BUDGET, UNIT, MazeScene
from cogmap.envs.pointmaze import PointMaze
from cogmap.envs.tasks import choose_tasks
from cogmap.envs.turning import HEADINGS, States
from cogmap.envs.world import Task
from cogmap.errors import CogmapError

MODEL = str(Path(__file__).parent.parent / "models/maze-large-first-person")
CORNER = "####\n#..#\n##.#\n####"  # cells at (0, 0), (1, 0) and (1, 1) m


@pytest.fixture(scope="module")
def corner():
    return MazeScene(Maze.from_text(CORNER, name="corner"))


@pytest.fixture(scope="module")
def large():
    return Building(MazeScene(Maze.load("large")))


def places(*each):
    return np.array(each, dtype=float)


def moves_to(states: States, near: np.ndarray) -> np.ndarray:
    """Fewest moves from every state to a point of a set. (P,) bool -> (S,), -1: no way"""
    there = np.repeat(near, HEADINGS)
    moves, count = np.where(there, 0, -1), 0
    while True:  # a state is next where a move of it leads to one that is known
        new = (moves < 0) & there[states.successors].any(axis=1)
        if not new.any():
            return moves
        count += 1
        moves[new] = count
        there = there | new


def test_a_unit_is_a_quarter_of_a_metre_and_the_lattice_is_the_mazes_own(corner, large):
    assert UNIT == 0.25
    np.testing.assert_array_equal(corner.points, corner.maze.lattice.points / 4)
    assert len(corner.points) == 9 * 3 + 2 * 3  # three cells of a metre, and what is between them
    assert len(large.states.points) == len(large.scene.maze.lattice)  # every point is reached
    assert len(large.states) == 6696


def test_one_stands_as_far_from_walls_as_the_ball_and_goes_straight_only_past_them(corner):
    stand = corner.navigable(places((0, 0), (0.3, 0.3), (0.4, 0), (0, 1), (1, 1), (9, 9)))
    assert stand.tolist() == [True, True, True, False, True, False]
    assert corner.navigable(places((0, 0.4))).tolist() == [False]  # 0.1 m from the wall
    start = places((0, 0), (0, 0), (0.25, 0), (0, 0))
    end = places((1, 0), (1, 1), (0.75, 0.25), (0, 1))
    assert corner.clear(start, end).tolist() == [True, False, True, False]
    np.testing.assert_array_equal(corner.clear(start, end), corner.clear(end, start))


def test_shortest_ways_are_the_mazes_own_in_metres(corner, large):
    straight, round_the_corner = corner.geodesic(places((0, 0)), places((1, 0), (1, 1)))[0]
    assert straight == pytest.approx(1.0)
    assert np.hypot(0.5, 0.5) * 2 < round_the_corner < 2.0
    scene = large.scene
    a, b = scene.points[[0, 100]], scene.points[[300, 400, 500]]
    paths = PointMaze(scene.maze).map.paths
    expected = [[paths.distance(one * 4, two * 4) / 4 for two in b] for one in a]
    np.testing.assert_allclose(scene.geodesic(a, b), expected)


def test_walls_stand_at_the_sides_of_the_cells_and_corridors_are_open(corner):
    pytest.importorskip("embreex")
    assert len(corner.sides) == 2 + 1 + 1 + 1 + 3  # of the cells at (0, 0), (1, 0), (1, 1)
    for turn, depth in ((0, 0.5), (np.pi / 2, 0.5), (np.pi, 0.5), (-np.pi / 2, 1.5)):
        view = corner.view(np.array([0.0, 0.0]), turn, size=33)
        assert view.depth[16, 16] == pytest.approx(depth, abs=1e-3)
        assert (view.depth > 0).all()  # closed all around, below and above


def test_a_maze_that_is_open_at_its_edge_is_closed_there():
    pytest.importorskip("embreex")
    scene = MazeScene(Maze.from_text("..\n..", name="open"))
    assert len(scene.sides) == 8
    view = scene.view(scene.points[0], np.pi / 2, size=9)
    assert (view.depth > 0).all()


def test_every_wall_looks_different(large):
    pytest.importorskip("embreex")
    seen = [
        large.scene.view(place, turn, size=8).colour.mean(axis=(0, 1))
        for place in UNIT * 4 * places((0, 0), (1, 0), (2, 0), (0, 1))
        for turn in (0.0, np.pi / 2)
    ]
    gaps = [np.abs(a - b).max() for k, a in enumerate(seen) for b in seen[:k]]
    assert min(gaps) > 5


def test_its_tasks_are_the_mazes_with_random_headings_at_both_ends(large):
    tasks = large.tasks(None, seed=2)
    assert tasks.name == "official" and tasks.budget == BUDGET == 1000 and len(tasks.tasks) == 100
    plane = PointMaze(large.scene.maze).map
    for mine, task in zip(tasks.tasks, choose_tasks(plane, "official", seed=2).tasks):
        assert mine.name == task.name
        for got, told in ((mine.start, task.start), (mine.goal, task.goal)):
            assert np.abs(np.array(got[:2]) - np.array(told) / 4).max() <= UNIT / 2 + 1e-9
    assert {t.start[2] for t in tasks.tasks} == {t.goal[2] for t in tasks.tasks} == set(range(12))
    every = large.tasks("official-all-views", seed=2)
    assert [t.start for t in every.tasks] == [t.start for t in tasks.tasks]
    assert [t.goal for t in every.tasks] == [t.goal[:2] for t in tasks.tasks]
    assert len(large.tasks("random").tasks) == 20
    with pytest.raises(CogmapError, match="pairs file corners"):
        large.tasks("corners")


def test_every_goal_can_be_reached_within_the_budget(large):
    for name in ("official", "random"):
        tasks = large.tasks(name)
        running = large.undrawn().begin(tasks.tasks)
        points = large.states.points
        assert not running.succeeded.any()
        moves = {}
        for state, task in zip(running.states, tasks.tasks):
            goal = np.array(task.goal[:2])
            if task.goal[:2] not in moves:
                near = np.linalg.norm(points - goal, axis=-1) <= UNIT + 1e-6
                moves[task.goal[:2]] = moves_to(large.states, near)
            assert 0 < moves[task.goal[:2]][state] <= 60 < tasks.budget
        assert (running.shortest() > 1.0).all()


def test_success_is_a_unit_and_no_more(corner):
    starts = [(0.0, 0.0), (0.25, 0.0), (0.0, -0.25), (0.25, 0.25), (0.5, 0.0)]
    running = Building(corner, drawn=False).begin([Task("t", s, (0.0, 0.0)) for s in starts])
    assert running.succeeded.tolist() == [True, True, True, False, False]
    assert running.shortest()[-1] == pytest.approx(0.25)


def test_a_start_in_a_part_that_is_cut_off_is_refused(tmp_path):
    apart = Maze.from_text("#######\n#...#.#\n#...#.#\n#######", name="apart")
    world = Building(MazeScene(apart))
    pairs = tmp_path / "pairs.json"
    pairs.write_text(json.dumps([{"start": [16, 0], "goal": [16, 4]}]))
    with pytest.raises(CogmapError, match="cannot be reached from"):
        world.tasks(str(pairs))


def test_the_description_brings_a_maze_back(corner):
    world = Building(corner, beside="both", pixels=16)
    told = json.loads(json.dumps(world.describe()))
    again = restored(told)
    assert isinstance(again, Building) and again.describe() == world.describe()
    assert again.name == "first-person pointmaze-corner" and again.scene.maze.text == CORNER
    np.testing.assert_array_equal(again.states.points, world.states.points)


def test_a_maze_is_trained_evaluated_and_planned_in_from_the_command_line(tmp_path, capsys):
    pytest.importorskip("embreex")
    (tmp_path / "corner.txt").write_text(CORNER)
    run, maze = str(tmp_path / "run"), str(tmp_path / "corner.txt")
    few = ["--walk-steps", "3000", "--action-steps", "500", "--tau-max", "64", "--steps", "2"]
    few += ["--batch", "16", "--dynamics.steps", "2", "--width", "32", "--device", "cpu"]
    seen = ["--observation", "first-person", "--beside", "both"]
    assert main(["train", "--maze", maze, *seen, "--out", run, *few]) == 0
    assert main(["evaluate", run, "--budget", "3", "--references", "--tasks", "random"]) == 0
    told = capsys.readouterr().out
    assert "first-person pointmaze-corner" in told and "random policy" in told
    assert main(["plan", run, "--start=0,0,3", "--goal=1,1", "--budget", "3"]) == 0
    assert main(["plan", run, "--goal=0,1", "--budget", "3"]) == 2
    assert "not on the floor of first-person pointmaze-corner" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("flags", "told"),
    [
        (["--maze", "large", "--physics", "kinematic"], "--physics is not for --observation first"),
        (["--maze", "large", "--coverage", "0.5"], "--coverage is not for --observation first"),
        (["--world", "van-gogh"], "is for --maze"),
        ([], "is for --maze"),
        (["--maze", "large", "--data", "walk"], "leave --data out"),
    ],
)
def test_flags_that_the_first_person_does_not_read_are_refused(flags, told, tmp_path, capsys):
    out = ["--out", str(tmp_path / "run"), "--observation", "first-person"]
    assert main(["train", *flags, *out]) == 2
    assert told in capsys.readouterr().err and not (tmp_path / "run").exists()


def test_the_committed_model_finds_its_way(tmp_path):
    out = tmp_path / "rows.jsonl"
    assert main(["evaluate", MODEL, "--episodes", "1", "--results", str(out)]) == 0
    row = json.loads(out.read_text())
    assert row["world"] == "first-person pointmaze-large" and row["beside"] == "position"
    assert row["sr"] == 1.0 and row["spl"] > 0.6
