"""Navigate data are as OGBench's generator records them."""

import numpy as np
import pytest

from cogmap.envs.guided import collect_navigate, is_corner, ways
from cogmap.envs.maze import CELL, Maze
from cogmap.envs.physics import KinematicPhysics

LARGE = Maze.load("large")


def test_the_oracle_goes_where_ogbench_s_goes():
    pytest.importorskip("ogbench")
    import gymnasium
    import ogbench  # noqa: F401  registers its environments

    env = gymnasium.make("pointmaze-large-v0").unwrapped
    cells, onward = ways(LARGE)
    centres = CELL * cells[:, ::-1] - CELL
    rng = np.random.default_rng(0)
    for here, goal in rng.integers(len(cells), size=(200, 2)):
        wanted, _ = env.get_oracle_subgoal(centres[here], centres[goal])
        np.testing.assert_allclose(centres[onward[goal, here]], wanted)


def test_goals_lie_where_ways_turn_fork_or_end():
    maze = Maze.from_text("#####\n#...#\n###.#\n###.#\n#####", name="bend")
    corners = {(1, 1), (1, 3), (3, 3)}  # two ends and a turn; the others are pieces of a hallway
    cells, _ = ways(maze)
    assert {tuple(map(int, cell)) for cell in cells if is_corner(maze, cell)} == corners


def test_episodes_go_through_the_maze_with_noise_and_never_through_a_wall():
    data = collect_navigate(LARGE, KinematicPhysics(LARGE), rows=20_020, seed=0)
    assert len(data) == 20_020 and len(data.episode_starts) == 20  # of 1,001 rows
    assert data.hold == 1 and np.abs(data.actions).max() <= 1
    seen = data.observations.reshape(20, 1001, 2)
    assert (LARGE.clearance(data.observations) > 0.5).all()
    # Led, they are 11 units away after 100 steps; random actions would be at 1.2.
    gone = np.linalg.norm(seen[:, 100:] - seen[:, :-100], axis=-1).mean()
    assert gone > 6
    # In the open an action moves by a fifth of itself.
    moved, done = np.diff(seen, axis=1), data.actions.reshape(20, 1001, 2)[:, :-1]
    free = LARGE.clearance(seen[:, :-1].reshape(-1, 2)).reshape(20, 1000) > 1.0
    np.testing.assert_allclose(moved[free], 0.2 * done[free], atol=1e-4)
    again = collect_navigate(LARGE, KinematicPhysics(LARGE), rows=20_020, seed=0)
    np.testing.assert_array_equal(again.observations, data.observations)


def test_a_small_maze_may_be_longer_ways_round():
    maze = Maze.from_text("#####\n#...#\n#.#.#\n#...#\n#####", name="ring")
    cells, onward = ways(maze)
    number = {tuple(map(int, cell)): k for k, cell in enumerate(cells)}
    way, goal = [number[1, 1]], number[3, 3]
    while way[-1] != goal:
        way.append(onward[goal, way[-1]])
    assert len(way) == 5  # four moves, either way round
    assert onward[goal, goal] == goal
