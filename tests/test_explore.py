import numpy as np
import pytest
from scipy.stats import chisquare

from cogmap.data.trajectories import Trajectories
from cogmap.envs.maze import MOVES, Maze
from cogmap.envs.physics import KinematicPhysics
from cogmap.envs.pointmaze import PointMaze, action_steps
from cogmap.envs.wandering import collect_actions, collect_walk, explorable
from cogmap.errors import CogmapError
from cogmap.explore.settings import Exploration
from cogmap.explore.walks import coverage_mask, graph_walk, masked, scattered_mask, split_steps
from cogmap.progress import no_bars
from cogmap.theory.geodesic import moves_to

MEDIUM = Maze.load("medium")
LARGE = Maze.load("large")
TREE = Maze.from_text("#####\n#...#\n##.##\n##.##\n#...#\n#####", name="tree")
LOOP = Maze.from_text("#####\n#...#\n#.#.#\n#...#\n#####", name="loop")
TWO_PARTS = Maze.from_text("#####\n#.#.#\n#####", name="two parts")


def positions(data: Trajectories) -> np.ndarray:
    return data.rows(np.arange(len(data))).astype(np.float64)


def transitions(data: Trajectories) -> np.ndarray:
    """Rows whose next row belongs to the same episode."""
    last = np.append(data.episode_starts[1:], len(data)) - 1
    return np.setdiff1d(np.arange(len(data)), last)


def wander(*, steps: int = 300, seed: int = 0, episodes: int = 6, hold: int = 5, **settings):
    return collect_actions(
        MEDIUM,
        KinematicPhysics(MEDIUM),
        steps=steps,
        seed=seed,
        episodes=episodes,
        hold=hold,
        **settings,
    )


def least_clearance_on_the_way(data: Trajectories) -> float:
    seen, rows = positions(data), transitions(data)
    shares = np.linspace(0.0, 1.0, 11)[:, None, None]
    between = seen[rows] + shares * (seen[rows + 1] - seen[rows])
    return float(MEDIUM.clearance(between.reshape(-1, 2)).min())


def test_a_walk_follows_its_moves_through_the_table_of_successors():
    moves = np.random.default_rng(0).integers(9, size=50)
    states = graph_walk(MEDIUM.lattice.successors, 17, moves)
    assert len(states) == 51
    assert states[0] == 17
    assert np.array_equal(states[1:], MEDIUM.lattice.successors[states[:-1], moves])


def test_the_lattice_walk_only_makes_legal_moves():
    data = collect_walk(MEDIUM, steps=3000, seed=0, episodes=3)
    rows = transitions(data)
    legal = MEDIUM.lattice.successors[data.index[rows]]
    assert (legal == data.index[rows + 1][:, None]).any(axis=1).all()


def test_the_lattice_walk_draws_its_nine_moves_uniformly():
    data = collect_walk(MEDIUM, steps=30_000, seed=1)
    successors = MEDIUM.lattice.successors
    open_ground = (successors[:, 1:] != np.arange(len(successors))[:, None]).all(axis=1)
    rows = transitions(data)
    rows = rows[open_ground[data.index[rows]]]
    counts = [(data.actions[rows] == move).all(axis=1).sum() for move in MOVES]
    assert sum(counts) == len(rows) > 5000
    assert chisquare(counts).pvalue > 0.01


def test_the_actions_of_a_lattice_walk_are_what_was_done_in_five_simulator_steps():
    data = collect_walk(MEDIUM, steps=500, seed=2, episodes=2)
    seen, rows = positions(data), transitions(data)
    assert data.hold == 5
    physics = KinematicPhysics(MEDIUM)
    physics.reset(seen[rows])
    reached = physics.hold(data.actions[rows], data.hold, np.ones(len(rows), dtype=bool))[:, -1]
    assert np.allclose(reached, seen[rows + 1], atol=1e-9)
    assert (data.actions[rows] == 0).all(axis=1).mean() > 1 / 9  # blocked moves count as stay


def test_no_step_of_the_lattice_walk_crosses_a_wall():
    assert least_clearance_on_the_way(collect_walk(MEDIUM, steps=3000, seed=3)) >= 0.7


@pytest.mark.parametrize(
    "collect",
    [lambda seed: collect_walk(MEDIUM, steps=100, seed=seed), lambda seed: wander(seed=seed)],
    ids=["walk", "actions"],
)
def test_a_seed_repeats_its_walk_and_another_seed_makes_another(collect):
    first, again, other = positions(collect(4)), positions(collect(4)), positions(collect(5))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


@pytest.mark.parametrize("coverage", [0.001, 0.1, 0.37, 0.8, 1.0])
def test_a_coverage_mask_is_connected_and_of_the_size_asked_for(coverage):
    lattice = MEDIUM.lattice
    mask = coverage_mask(lattice.successors, coverage, np.random.default_rng(0))
    assert mask.sum() == max(1, round(coverage * len(lattice)))
    within = masked(lattice.successors, mask)
    distance = moves_to(within, int(np.flatnonzero(mask)[0]))
    assert np.array_equal(distance >= 0, mask)


def test_a_coverage_mask_holds_the_states_nearest_to_where_it_grew():
    class FirstState:
        @staticmethod
        def integers(high: int) -> int:
            return 0

    lattice = MEDIUM.lattice
    mask = coverage_mask(lattice.successors, 0.3, FirstState())
    distance = moves_to(lattice.successors, 0)
    assert distance[mask].max() <= distance[~mask].min() + 1
    assert mask[distance < distance[mask].max()].all()


def test_a_coverage_mask_ends_where_walking_ends():
    mask = coverage_mask(TWO_PARTS.lattice.successors, 0.9, np.random.default_rng(0))
    assert mask.sum() == 9  # of 18 points


def test_a_walk_never_leaves_its_mask():
    mask = coverage_mask(MEDIUM.lattice.successors, 0.2, np.random.default_rng(0))
    start = int(np.flatnonzero(mask)[0])
    moves = np.random.default_rng(1).integers(9, size=5000)
    assert mask[graph_walk(masked(MEDIUM.lattice.successors, mask), start, moves)].all()


def test_a_walk_with_coverage_sees_that_share_of_the_lattice_and_no_more():
    data = collect_walk(MEDIUM, steps=20_000, seed=0, episodes=2, coverage=0.1)
    assert len(np.unique(data.index)) == round(0.1 * len(MEDIUM.lattice))


def test_episodes_of_random_actions_start_inside_the_mask():
    data = wander(episodes=60, steps=60, coverage=0.02)
    starts = positions(data)[data.episode_starts]
    assert len(np.unique(starts, axis=0)) <= round(0.02 * len(MEDIUM.lattice))


@pytest.mark.parametrize("coverage", [0.0, -0.5, 1.01, float("nan")])
def test_a_coverage_outside_zero_to_one_is_refused(coverage):
    with pytest.raises(CogmapError, match=f"coverage={coverage} lies outside"):
        collect_walk(MEDIUM, steps=10, seed=0, coverage=coverage)


def cells_of(maze: Maze, mask: np.ndarray) -> set[tuple[int, int]]:
    """The cells of the lattice points in a mask."""
    rows, columns = maze.cells_of(maze.lattice.points[mask])
    return set(zip(rows.tolist(), columns.tolist(), strict=True))


def is_connected(maze: Maze, mask: np.ndarray) -> bool:
    distance = moves_to(masked(maze.lattice.successors, mask), int(np.flatnonzero(mask)[0]))
    return np.array_equal(distance >= 0, mask)


def scattered(maze: Maze, coverage: float, seed: int = 0) -> np.ndarray:
    return explorable(maze, coverage, "scattered", np.random.default_rng(seed))


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("coverage", [0.25, 0.5, 0.75])
def test_scattered_cells_leave_one_piece_of_the_size_asked_for_to_within_half_a_cell(
    coverage, seed
):
    mask = scattered(LARGE, coverage, seed)
    assert abs(mask.sum() - coverage * len(LARGE.lattice)) <= 8  # a cell has 16 points at most
    assert is_connected(LARGE, mask)
    assert not cells_of(LARGE, mask) & cells_of(LARGE, ~mask)  # cells are left out whole


def test_scattered_cells_lie_in_several_places():
    def parts(mask: np.ndarray) -> int:
        """Pieces that the unexplored falls into."""
        left, count = ~mask, 0
        while left.any():
            start = int(np.flatnonzero(left)[0])
            left &= moves_to(masked(LARGE.lattice.successors, ~mask), start) < 0
            count += 1
        return count

    assert min(parts(scattered(LARGE, 0.75, seed)) for seed in range(5)) >= 3


def test_any_cell_of_a_loop_may_go_but_of_a_tree_only_dead_ends():
    def first_to_go(maze: Maze) -> set[tuple[int, int]]:
        cells = len(cells_of(maze, np.ones(len(maze.lattice), dtype=bool)))
        masks = [scattered(maze, 1 - 1 / cells, seed) for seed in range(60)]
        assert all(len(cells_of(maze, ~mask)) == 1 for mask in masks)
        return set().union(*(cells_of(maze, ~mask) for mask in masks))

    assert first_to_go(TREE) == {(1, 1), (1, 3), (4, 1), (4, 3)}
    assert len(first_to_go(LOOP)) == 8


def test_patches_of_any_graph_can_be_scattered():
    states = np.arange(12)  # a ring, in patches of three
    ring = np.stack([states, (states + 1) % 12, (states - 1) % 12], axis=1)
    mask = scattered_mask(ring, states // 3, 0.75, np.random.default_rng(0))
    assert mask.reshape(4, 3).all(axis=1).sum() == 3 and mask.sum() == 9


def test_scattered_cells_leave_at_least_one_and_nothing_out_at_full_coverage():
    assert len(cells_of(LARGE, scattered(LARGE, 0.001))) == 1
    assert scattered(LARGE, 1.0).all()
    assert scattered(TWO_PARTS, 1.0).all()


def test_scattered_cells_are_left_out_of_the_part_that_walking_reaches():
    assert scattered(TWO_PARTS, 0.9).sum() == 9  # of 18 points


def test_a_walk_sees_all_but_the_scattered_cells():
    data = collect_walk(MEDIUM, steps=50_000, seed=3, coverage=0.5, unexplored="scattered")
    seen = np.isin(np.arange(len(MEDIUM.lattice)), data.index)
    assert np.array_equal(seen, scattered(MEDIUM, 0.5, seed=3))
    assert "coverage 0.5, scattered" in data.source


def test_random_actions_start_outside_the_scattered_cells():
    data = wander(episodes=60, steps=60, seed=1, coverage=0.3, unexplored="scattered")
    starts = MEDIUM.lattice.nearest(positions(data)[data.episode_starts])
    assert scattered(MEDIUM, 0.3, seed=1)[starts].all()


@pytest.mark.parametrize("walk", ["lattice", "actions"])
def test_a_world_leaves_out_what_its_settings_say(walk, tmp_path):
    world = PointMaze(MEDIUM, physics="kinematic")
    settings = Exploration(
        walk=walk, walk_steps=200, action_steps=20, coverage=0.3, unexplored="scattered"
    )
    world.check(settings, tau_max=64)
    for data in world.explore(settings, tmp_path, seed=2, bars=no_bars):
        starts = MEDIUM.lattice.nearest(positions(data)[data.episode_starts])
        assert scattered(MEDIUM, 0.3, seed=2)[starts].all()


@pytest.mark.parametrize("coverage", [0.0, 1.01])
def test_scattered_cells_too_need_a_coverage_between_zero_and_one(coverage):
    with pytest.raises(CogmapError, match=f"coverage={coverage} lies outside"):
        collect_walk(MEDIUM, steps=10, seed=0, coverage=coverage, unexplored="scattered")


def test_an_unknown_way_to_leave_cells_out_is_refused():
    with pytest.raises(CogmapError, match="unexplored='near'; give 'far' or 'scattered'"):
        collect_walk(MEDIUM, steps=10, seed=0, unexplored="near")


def test_steps_are_split_over_episodes_as_equally_as_can_be():
    assert split_steps(10, 3) == [4, 3, 3]
    assert split_steps(3, 3) == [1, 1, 1]


@pytest.mark.parametrize(
    "data",
    [collect_walk(MEDIUM, steps=100, seed=0, episodes=7), wander(steps=100, episodes=7)],
    ids=["walk", "actions"],
)
def test_each_episode_has_one_row_more_than_steps(data):
    assert data.episode_lengths.tolist() == [16, 16, 15, 15, 15, 15, 15]
    assert len(data) == len(data.actions) == 107


def test_random_actions_fill_the_box_and_do_not_leave_it():
    actions = wander(steps=2000, hold=1).actions
    assert actions.dtype == np.float32
    assert np.abs(actions).max() <= 1.0
    assert actions.min(axis=0).max() < -0.98
    assert actions.max(axis=0).min() > 0.98


@pytest.mark.parametrize("hold", [1, 3, 5])
def test_a_stored_transition_simulated_again_gives_the_stored_next_observation(hold):
    data = wander(hold=hold)
    seen, rows = positions(data), transitions(data)
    assert data.hold == hold
    physics = KinematicPhysics(MEDIUM)
    physics.reset(seen[rows])
    reached = physics.hold(data.actions[rows], hold, np.ones(len(rows), dtype=bool))[:, -1]
    assert np.abs(reached - seen[rows + 1]).max() < 1e-4


@pytest.mark.parametrize("hold", [1, 3])
def test_away_from_walls_an_action_held_moves_the_agent_by_a_fifth_of_it_a_step(hold):
    data = wander(hold=hold)
    seen, rows = positions(data), transitions(data)
    free = rows[MEDIUM.clearance(seen[rows]) > 0.7 + 0.3 * hold]
    assert len(free) > 20
    moved = seen[free + 1] - seen[free]
    assert np.allclose(moved, 0.2 * hold * data.actions[free], atol=1e-5)


def test_no_recorded_step_crosses_a_wall():
    assert least_clearance_on_the_way(wander(steps=2000, hold=1)) > 0.5
    assert least_clearance_on_the_way(wander(steps=2000, hold=5)) > 0.3


def test_an_episode_that_has_ended_is_simulated_no_further():
    class Recorder(KinematicPhysics):
        calls: list = []

        def hold(self, actions, steps, active):
            self.calls.append((steps, list(active)))
            return super().hold(actions, steps, active)

    collect_actions(MEDIUM, Recorder(MEDIUM), steps=3, seed=0, episodes=2, hold=4)
    assert Recorder.calls == [(4, [True, True]), (4, [True, False])]


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"episodes": 0}, "episodes=0; give at least one"),
        ({"steps": 5, "episodes": 6}, "steps=5 over 6 episodes"),
        ({"hold": 0}, "hold=0; an action lasts"),
    ],
)
def test_impossible_settings_are_refused_by_name(settings, complaint):
    with pytest.raises(CogmapError, match=complaint):
        wander(**settings)


@pytest.mark.parametrize(("steps", "episodes"), [(5, 6), (5, 0), (0, 1)])
def test_a_lattice_walk_needs_an_episode_and_a_step_for_each(steps, episodes):
    with pytest.raises(CogmapError, match="episodes"):
        collect_walk(MEDIUM, steps=steps, seed=0, episodes=episodes)


def test_random_actions_are_controls_and_the_moves_of_a_lattice_walk_are_not():
    assert wander().controls
    assert not collect_walk(MEDIUM, steps=50, seed=0).controls


def test_a_large_maze_is_tried_with_more_actions():
    wall = "#" * 32
    wide = Maze.from_text("\n".join([wall, *["#" + "." * 30 + "#"] * 12, wall]), name="wide")
    assert action_steps(Exploration(), MEDIUM) == 100_000
    assert action_steps(Exploration(action_steps=70), wide) == 70
    assert action_steps(Exploration(), wide) == 50 * len(wide.lattice) > 100_000
