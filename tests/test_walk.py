import numpy as np
import pytest

from cogmap.envs.maze import Maze
from cogmap.theory.walk import SMALLEST_RATIO, ReversibleWalk, stationary, transition_matrix

TWO_ROOMS = """\
#######
#..#..#
#.....#
#######"""


def lattice_walk(text: str = TWO_ROOMS) -> ReversibleWalk:
    return ReversibleWalk.on(Maze.from_text(text, name="test").lattice.successors)


def weighted_walk(seed: int = 0, states: int = 9) -> ReversibleWalk:
    """A walk along the edges of a graph with random weights; pi is proportional to degree."""
    weights = np.random.default_rng(seed).uniform(0.1, 1.0, (states, states)) ** 3
    weights = weights + weights.T
    np.fill_diagonal(weights, 0.05)
    degree = weights.sum(axis=1)
    return ReversibleWalk(weights / degree[:, None], degree / degree.sum())


def two_state_walk(there: float, back: float) -> ReversibleWalk:
    """Its second eigenvalue is 1 - there - back."""
    matrix = np.array([[1 - there, there], [back, 1 - back]])
    return ReversibleWalk(matrix, np.array([back, there]) / (there + back))


def one_way_walk(seed: int = 0, states: int = 8) -> ReversibleWalk:
    """A chain without detailed balance; Prop. 4 needs none, and any p0."""
    rng = np.random.default_rng(seed)
    matrix = np.roll(np.eye(states), 1, axis=1) + 0.3 * rng.random((states, states)) ** 4
    p0 = rng.dirichlet(np.ones(states))
    return ReversibleWalk(matrix / matrix.sum(axis=1, keepdims=True), p0)


both_walks = pytest.mark.parametrize(
    "walk", [lattice_walk(), weighted_walk()], ids=["lattice", "weighted"]
)


def test_moves_that_end_in_one_place_add_their_probability():
    matrix = transition_matrix(np.array([[0, 0, 1], [0, 1, 2], [2, 2, 2]]))
    assert np.allclose(matrix, np.array([[2, 1, 0], [1, 1, 1], [0, 0, 3]]) / 3)


@both_walks
def test_rows_of_the_transition_matrix_sum_to_one(walk):
    assert (walk.matrix >= 0).all()
    assert np.allclose(walk.matrix.sum(axis=1), 1.0)


def test_the_lattice_walk_is_symmetric_and_its_stationary_distribution_uniform():
    walk = lattice_walk()
    assert np.allclose(walk.matrix, walk.matrix.T)
    assert np.allclose(stationary(walk.matrix), walk.pi)


def test_stationary_finds_the_degrees_of_a_weighted_graph():
    walk = weighted_walk()
    assert walk.pi.max() > 1.5 * walk.pi.min()
    assert np.allclose(stationary(walk.matrix), walk.pi)


@both_walks
def test_the_spectrum_falls_from_one_with_a_constant_first_eigenfunction(walk):
    values, functions = walk.spectrum
    assert values[0] == pytest.approx(1.0)
    assert (np.diff(values) <= 0).all()
    assert np.allclose(np.abs(functions[:, 0]), 1.0)


@both_walks
def test_eigenfunctions_are_orthonormal_under_pi(walk):
    functions = walk.spectrum[1]
    assert np.allclose(functions.T @ (walk.pi[:, None] * functions), np.eye(len(walk.pi)))


@both_walks
def test_the_spectral_sum_is_the_ratio_of_eq_16(walk):
    taus = np.array([1, 2, 3, 8, 51])
    for goal in (0, len(walk.pi) - 1):
        exact = [np.linalg.matrix_power(walk.matrix, t)[:, goal] / walk.pi[goal] for t in taus]
        assert np.allclose(walk.ratio(taus, goal), np.stack(exact, axis=1), atol=1e-10)


def test_the_weighted_walk_has_a_negative_eigenvalue_to_raise_to_odd_powers():
    assert weighted_walk().spectrum[0][-1] < -0.1


@both_walks
def test_power_is_the_walk_taken_step_by_step(walk):
    stepped = np.eye(len(walk.pi))
    for _ in range(5):
        stepped = stepped @ walk.matrix
    assert np.allclose(walk.power(5), stepped)


@both_walks
def test_the_score_is_the_logarithm_of_the_ratio(walk):
    ratio = walk.power(40) / walk.pi
    assert np.allclose(walk.score(np.array([40]), 2)[:, 0], np.log(ratio[:, 2]))


def test_the_score_of_the_unreachable_is_the_floor():
    walk = lattice_walk()
    beyond = walk.power(2)[:, 0] == 0
    assert beyond.any()
    assert np.allclose(walk.score(np.array([2]), 0)[beyond], np.log(SMALLEST_RATIO))


@both_walks
def test_the_dirichlet_energy_of_an_eigenfunction_is_one_less_its_eigenvalue(walk):
    values, functions = walk.spectrum
    energies = [walk.dirichlet(functions[:, j]) for j in range(len(values))]
    assert np.allclose(energies, 1.0 - values)


@both_walks
def test_the_dirichlet_energy_is_the_quadratic_form_of_i_minus_p(walk):
    function = np.random.default_rng(1).normal(size=len(walk.pi))
    form = (walk.pi * function) @ (function - walk.matrix @ function)
    assert walk.dirichlet(function) == pytest.approx(form)


@both_walks
def test_no_cut_lies_below_the_spectral_gap(walk):
    rng = np.random.default_rng(2)
    gap = 1.0 - walk.spectrum[0][1]
    for share in rng.uniform(0.1, 0.9, size=200):
        region = rng.random(len(walk.pi)) < share
        if region.any() and not region.all():
            assert walk.cut_bound(region) >= gap - 1e-12


def test_the_cut_bound_and_the_relaxation_time_are_exact_for_two_states():
    walk = two_state_walk(0.2, 0.1)
    assert walk.cut_bound(np.array([True, False])) == pytest.approx(0.3)
    assert 1.0 - walk.spectrum[0][1] == pytest.approx(0.3)
    assert walk.relaxation_time == pytest.approx(1 / 0.3)


def test_the_second_eigenfunction_tells_two_rooms_apart():
    maze = Maze.from_text(TWO_ROOMS, name="test")
    walk = ReversibleWalk.on(maze.lattice.successors)
    x = maze.lattice.points[:, 0] - 8.0  # the doorway lies at 8
    second = walk.spectrum[1][:, 1]
    assert len(set(np.sign(second * x)[x != 0])) == 1
    assert np.allclose(second[x == 0], 0.0, atol=1e-9)


@both_walks
def test_the_mixing_bound_holds_for_every_pair(walk):
    for tau in (1, 4, 20, 100):
        apart = np.abs(walk.power(tau) / walk.pi - 1.0)
        assert (apart <= walk.mixing_bound(tau) + 1e-10).all()


def test_the_mixing_bound_is_exact_for_two_states():
    walk = two_state_walk(0.9, 0.4)  # its second eigenvalue is negative
    apart = np.abs(walk.power(3) / walk.pi - 1.0)
    assert np.allclose(apart, walk.mixing_bound(3))


def test_late_scores_are_the_second_mode_and_terms_of_its_square():
    walk = lattice_walk("######\n#....#\n######")
    values = walk.spectrum[0]
    assert values[1] > np.abs(values[2:]).max()
    taus = np.round(np.log([1e-2, 1e-3, 1e-4]) / np.log(values[1])).astype(int)
    slow = walk.slow_mode(taus, 0)
    beside = np.abs(walk.score(taus, 0) - slow).max(axis=0) / values[1] ** taus
    assert np.abs(slow).max(axis=0) == pytest.approx([2e-2, 2e-3, 2e-4], rel=0.1)
    assert (beside < 2.1 * values[1] ** taus).all()


prop_4_walks = pytest.mark.parametrize(
    "walk",
    [lattice_walk(), weighted_walk(), one_way_walk()],
    ids=["lattice", "weighted", "one-way"],
)


@prop_4_walks
def test_the_discounted_potential_is_the_geometric_sum_over_horizons(walk):
    gamma, goal = 0.8, 3
    total = sum(gamma**tau * walk.power(tau)[:, goal] for tau in range(200))
    assert np.allclose(walk.discounted(gamma, goal), (1 - gamma) * total / walk.pi[goal])


@prop_4_walks
def test_the_discounted_potential_is_first_arrival_times_its_value_at_the_goal(walk):
    for gamma in (0.5, 0.99):
        for goal in (0, 5):
            potential = walk.discounted(gamma, goal)
            arrival = walk.discounted_arrival(gamma, goal)
            assert np.allclose(potential, arrival * potential[goal])


def test_the_discounted_arrival_of_two_states_is_the_geometric_law():
    gamma, there = 0.9, 0.2
    arrival = two_state_walk(there, 0.1).discounted_arrival(gamma, 1)
    assert np.allclose(arrival, [gamma * there / (1 - gamma * (1 - there)), 1.0])


@prop_4_walks
def test_a_better_successor_exists_at_every_state_but_the_goal(walk):
    gamma, goal = 0.95, 1
    potential = walk.discounted(gamma, goal)
    best = np.where(walk.matrix > 0, potential[None], -np.inf).max(axis=1)
    others = np.arange(len(potential)) != goal
    assert (best[others] >= potential[others] / gamma * (1 - 1e-9)).all()
    assert (best[others] > potential[others]).all()


@prop_4_walks
@pytest.mark.parametrize("goal", [0, 4])
def test_greedy_ascent_on_the_discounted_potential_reaches_the_goal_from_everywhere(walk, goal):
    potential = walk.discounted(0.95, goal)
    best = np.where(walk.matrix > 0, potential[None], -np.inf).argmax(axis=1)
    best[goal] = goal
    places = np.arange(len(potential))
    for _ in range(len(potential) - 1):
        places = best[places]
    assert (places == goal).all()


@both_walks
def test_inner_products_of_walk_features_are_the_ratio_at_even_horizons(walk):
    for k in (1, 4):
        features = walk.power(k) / np.sqrt(walk.pi)
        ratio = np.stack([walk.ratio(np.array([2 * k]), y)[:, 0] for y in range(len(walk.pi))], 1)
        assert np.allclose(features @ features.T, ratio, atol=1e-10)
