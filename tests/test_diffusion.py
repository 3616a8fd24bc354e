import numpy as np
import pytest

from cogmap.envs.maze import MOVES, Lattice, Maze
from cogmap.theory.diffusion import (
    best_horizon,
    free_space_density,
    free_space_progress,
    reflected_heat_kernel,
    varadhan_distance,
    walk_alpha,
)

ALPHA = 1 / 3  # of the nine moves


def chance_of_goal(lattice: Lattice, goal: int, tau_max: int) -> np.ndarray:
    """P^tau(x, goal) of every state at tau = 1..tau_max, by steps that only add. (tau_max, S)"""
    chance = np.zeros(len(lattice))
    chance[goal] = 1.0
    rows = []
    for _ in range(tau_max):
        chance = chance[lattice.successors].mean(axis=1)
        rows.append(chance)
    return np.stack(rows)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_the_free_space_density_integrates_to_one(n):
    sphere = {1: 2.0, 2: 2 * np.pi, 3: 4 * np.pi}[n]  # surface of the unit sphere
    radius = np.linspace(0.0, 40.0, 20001)
    density = free_space_density(radius, 7.0, alpha=0.4, n=n)
    total = np.trapezoid(sphere * radius ** (n - 1) * density, radius)
    assert total == pytest.approx(1.0, rel=1e-6)


def test_the_free_space_density_spreads_by_two_alpha_tau_an_axis():
    x = np.linspace(-60.0, 60.0, 20001)
    density = free_space_density(np.abs(x), 11.0, alpha=0.4, n=1)
    assert np.trapezoid(x**2 * density, x) == pytest.approx(2 * 0.4 * 11.0, rel=1e-6)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_progress_is_the_slope_of_the_density_towards_the_goal(n):
    r, tau, step = 5.0, 6.0, 1e-5
    closer, farther = free_space_density(np.array([r - step, r + step]), tau, alpha=0.7, n=n)
    slope = (closer - farther) / (2 * step)
    assert free_space_progress(r, tau, alpha=0.7, n=n) == pytest.approx(slope, rel=1e-6)


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("r", [0.5, 10.0])
def test_the_best_horizon_has_the_largest_progress(r, n):
    formula = best_horizon(r, alpha=0.7, n=n)
    taus = formula * np.geomspace(0.1, 10.0, 4001)
    values = [free_space_progress(r, tau, alpha=0.7, n=n) for tau in taus]
    assert taus[np.argmax(values)] == pytest.approx(formula, rel=2e-3)


def test_at_the_best_horizon_the_walk_has_spread_a_fixed_part_of_the_way():
    for r in (1.0, 7.0):
        spread = np.sqrt(2 * 2 * ALPHA * best_horizon(r, alpha=ALPHA, n=2))
        assert spread == pytest.approx(r * np.sqrt(2 / 4))


def test_alpha_of_the_nine_lattice_moves_is_a_third():
    assert walk_alpha(MOVES) == pytest.approx(1 / 3)
    assert np.allclose(MOVES.T @ MOVES / len(MOVES), 2 * walk_alpha(MOVES) * np.eye(2))


@pytest.mark.parametrize("r", [8, 12, 16])
def test_the_best_horizon_of_the_lattice_walk_agrees_with_free_space(r):
    lattice = Maze.from_text("\n".join(["." * 14] * 14), name="room").lattice
    middle = np.array([22.0, 22.0])
    goal, near, far = lattice.nearest(middle + np.array([[0, 0], [r - 1, 0], [r, 0]]))
    free = best_horizon(r - 0.5, alpha=ALPHA, n=2)  # the middle of the step
    chance = chance_of_goal(lattice, goal, int(3 * free))
    exact = 1 + np.argmax(chance[:, near] - chance[:, far])
    assert free / 1.1 < exact < free * 1.1


def test_the_reflected_kernel_integrates_to_one_and_is_symmetric():
    places = (np.arange(400) + 0.5) * 2.0 / 400
    density = [reflected_heat_kernel(2.0, 0.3, y, 0.05, alpha=0.8) for y in places]
    assert np.mean(density) * 2.0 == pytest.approx(1.0, abs=1e-9)
    back = reflected_heat_kernel(2.0, 1.1, 0.3, 0.05, alpha=0.8)
    assert reflected_heat_kernel(2.0, 0.3, 1.1, 0.05, alpha=0.8) == pytest.approx(back)


def test_the_reflected_kernel_is_the_sum_over_mirror_images():
    length, x, y, tau, alpha = 2.0, 0.3, 1.4, 0.2, 0.8
    turns = 2 * length * np.arange(-20, 21)
    images = np.concatenate([y + turns, -y + turns])
    mirrored = free_space_density(np.abs(x - images), tau, alpha=alpha, n=1).sum()
    assert reflected_heat_kernel(length, x, y, tau, alpha=alpha) == pytest.approx(mirrored)


def test_varadhan_distance_tends_to_the_distance_on_the_reflected_interval():
    length, x, y, alpha = 1.0, 0.2, 0.7, 0.5
    errors = []
    for tau in (0.04, 0.016, 0.005):
        score = np.log(reflected_heat_kernel(length, x, y, tau, alpha=alpha) * length)
        errors.append(abs(varadhan_distance(score, tau, alpha=alpha) - 0.5))
    assert errors[2] < errors[1] < errors[0]
    assert errors[2] < 0.04 * 0.5


def test_varadhan_distance_undoes_eq_9_and_is_zero_where_the_score_is_positive():
    distance, tau = np.array([0.0, 1.5, 8.0]), 3.0
    score = -(distance**2) / (4 * ALPHA * tau)
    assert np.allclose(varadhan_distance(score, tau, alpha=ALPHA), distance)
    assert varadhan_distance(np.array(0.7), tau, alpha=ALPHA) == 0.0


def u_turn(scale: int) -> tuple[Lattice, np.ndarray, float]:
    """A room with a wall from its left side, points above and below it, and the way between."""
    half, wall = ["." * 6 * scale] * 2 * scale, "#" * 4 * scale + "." * 2 * scale
    lattice = Maze.from_text("\n".join([*half, wall, *half]), name="u").lattice
    middle, end, side = 8.0 * scale - 4, 16.0 * scale - 6, 4.0 * scale
    above, below = (0.0, middle - 2 - side), (0.0, middle + 2 + side)
    return lattice, np.array([above, below]), 2 * np.hypot(end, side) + 4


def test_finer_walks_read_the_way_around_a_wall_and_not_the_way_through_it():
    errors = []
    for scale in (2, 5):
        lattice, points, geodesic = u_turn(scale)
        source, goal = lattice.nearest(points)
        tau = int(0.03 * geodesic**2)  # the same rescaled time at every scale
        ratio = chance_of_goal(lattice, goal, tau)[-1, source] * len(lattice)
        read = varadhan_distance(np.log(ratio), tau, alpha=ALPHA)
        errors.append(abs(read / geodesic - 1.0))
        assert read > 3 * np.linalg.norm(points[0] - points[1])
    assert errors[1] < 0.6 * errors[0]
    assert errors[1] < 0.07


def test_a_near_point_behind_a_wall_scores_below_a_far_point_in_the_open():
    lattice, points, _ = u_turn(2)
    goal, behind, open_way = lattice.nearest(np.array([*points, points[0] + (30.0, 0.0)]))
    chance = chance_of_goal(lattice, goal, 100)[-1]
    assert chance[behind] < chance[open_way]
