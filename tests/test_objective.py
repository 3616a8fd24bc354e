import dataclasses
import itertools
import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from cogmap.errors import CogmapError
from cogmap.planning.objective import (
    IN_VIEW,
    Horizons,
    horizon_weights,
    in_view,
    objective,
    progress,
    rule,
)
from cogmap.planning.settings import PAPER, Planning

BETAS = [0.01, 0.1, 0.5, 1.0, 4.0, 30.0]


def deltas(seed: int = 0, actions: int = 5, horizons: int = 7) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(actions, horizons, generator=generator, dtype=torch.float64)


def uniform(horizons: int = 7) -> torch.Tensor:
    return torch.full((horizons,), 1.0 / horizons, dtype=torch.float64)


def uneven(horizons: int = 7) -> torch.Tensor:
    weights = torch.arange(1, horizons + 1, dtype=torch.float64)
    return weights / weights.sum()


def divergence(q: torch.Tensor, p: torch.Tensor) -> torch.Tensor:
    return torch.special.xlogy(q, q / p).sum(-1)


both_weights = pytest.mark.parametrize("weights", [uniform(), uneven()], ids=["even", "uneven"])


def test_progress_is_the_gain_in_exp_g():
    here = torch.tensor([[0.0, -1.0, 2.0]])
    there = torch.tensor([[0.5, -1.0, 1.0], [-3.0, 0.0, 2.0]])
    expected = np.exp(there.numpy()) - np.exp(here.numpy())
    assert np.allclose(progress(there, here), expected, atol=1e-6)


def test_at_one_horizon_progress_ranks_candidates_as_their_scores_do():
    there, here = deltas(1), deltas(2)[:1]
    assert (progress(there, here).argsort(0) == there.argsort(0)).all()


@both_weights
@pytest.mark.parametrize("beta", BETAS)
def test_the_objective_is_eq_8(weights, beta):
    delta = deltas()
    expected = beta * ((delta / beta).exp() * weights).sum(-1).log()
    assert torch.allclose(objective(delta, weights, beta), expected, atol=1e-12)


@both_weights
def test_at_zero_temperature_the_best_horizon_decides(weights):
    delta = deltas()
    assert torch.equal(objective(delta, weights, 0.0), delta.max(-1).values)


@both_weights
def test_at_infinite_temperature_horizons_are_averaged(weights):
    delta = deltas()
    assert torch.allclose(objective(delta, weights, math.inf), (delta * weights).sum(-1))


@both_weights
def test_small_temperatures_tend_to_the_best_horizon(weights):
    delta = deltas()
    gaps = [(objective(delta, weights, 0.0) - objective(delta, weights, b)).max() for b in BETAS]
    assert gaps == sorted(gaps)
    assert torch.allclose(objective(delta, weights, 1e-5), delta.amax(-1), atol=1e-4)
    assert torch.allclose(objective(delta, weights, 1e-30), delta.amax(-1))


@both_weights
def test_large_temperatures_tend_to_the_mean(weights):
    delta = deltas()
    mean = objective(delta, weights, math.inf)
    assert torch.allclose(objective(delta, weights, 1e5), mean, atol=1e-4)
    # One order further: V = mean + variance / (2 beta) + ...
    variance = (delta**2 * weights).sum(-1) - mean**2
    assert torch.allclose(100 * (objective(delta, weights, 100.0) - mean), variance / 2, rtol=0.05)


@pytest.mark.parametrize(("beta", "limit"), [(1e-320, 0.0), (1e-44, 0.0), (1e308, math.inf)])
def test_temperatures_beyond_single_precision_are_their_limits(beta, limit):
    delta, weights = deltas().float(), uneven().float()
    assert torch.equal(objective(delta, weights, beta), objective(delta, weights, limit))


@pytest.mark.parametrize("beta", [1e-3, 0.03, 1.0, 100.0, 1e4, 1e8])
def test_single_precision_is_enough_at_every_temperature(beta):
    delta, weights = deltas(horizons=4096).float(), uniform(4096)
    exact = objective(delta.double(), weights, beta)
    single = objective(delta, weights.float(), beta)
    assert torch.allclose(single.double(), exact, rtol=0.0, atol=1e-6)


@both_weights
@pytest.mark.parametrize("beta", BETAS)
def test_horizon_weights_attain_the_variational_maximum(weights, beta):
    delta = deltas()
    q = horizon_weights(delta, weights, beta)
    assert torch.allclose(q.sum(-1), torch.ones(len(delta), dtype=torch.float64))
    attained = (q * delta).sum(-1) - beta * divergence(q, weights)
    assert torch.allclose(attained, objective(delta, weights, beta), atol=1e-10)


@both_weights
@pytest.mark.parametrize("beta", BETAS)
def test_any_other_weights_lose_beta_times_their_divergence(weights, beta):
    delta = deltas()
    generator = torch.Generator().manual_seed(3)
    q = torch.softmax(torch.randn(delta.shape, generator=generator, dtype=torch.float64), -1)
    left = (q * delta).sum(-1) - beta * divergence(q, weights)
    lost = beta * divergence(q, horizon_weights(delta, weights, beta))
    assert torch.allclose(left, objective(delta, weights, beta) - lost, atol=1e-10)
    assert (lost > 0).all()


@pytest.mark.parametrize("beta", BETAS)
def test_the_objective_lies_in_both_sandwiches(beta):
    delta, weights = deltas(), uniform()
    value, best = objective(delta, weights, beta), delta.amax(-1)
    tilted = (horizon_weights(delta, weights, beta) * delta).sum(-1)
    for low, high in ((best - beta * math.log(7), best), (delta.mean(-1), tilted)):
        assert (low <= value + 1e-12).all()
        assert (value <= high + 1e-12).all()


def test_horizon_weights_reach_both_limits():
    delta, weights = deltas(), uneven()
    assert torch.equal(horizon_weights(delta, weights, math.inf), weights.expand_as(delta))
    at_zero = horizon_weights(delta, weights, 0.0)
    assert torch.equal(at_zero.argmax(-1), delta.argmax(-1))
    assert torch.equal(at_zero.sum(-1), torch.ones(len(delta), dtype=torch.float64))
    assert torch.allclose(horizon_weights(delta, weights, 1e-4), at_zero, atol=1e-6)
    assert torch.allclose(horizon_weights(delta, weights, 1e8), weights.expand_as(delta))


@both_weights
def test_the_objective_falls_as_the_temperature_rises(weights):
    delta = deltas()
    values = [objective(delta, weights, beta) for beta in [0.0, *BETAS, math.inf]]
    for colder, warmer in itertools.pairwise(values):
        assert (colder > warmer).all()


def test_scaling_progress_and_temperature_together_scales_the_objective():
    delta, weights = deltas(), uneven()
    scaled = objective(3.0 * delta, weights, 3.0 * 0.7)
    assert torch.allclose(scaled, 3.0 * objective(delta, weights, 0.7))


@pytest.mark.parametrize("beta", [-1.0, -math.inf, math.nan])
def test_the_objective_refuses_a_temperature_that_is_none(beta):
    with pytest.raises(CogmapError, match="beta="):
        objective(deltas(), uniform(), beta)


# App. B.5: exp-scores of two states at two horizons. Each may move to the other or stay.
EXP_SCORES = torch.tensor([[0.2, 0.8], [0.8, 0.2]], dtype=torch.float64)


def walk_of_app_b5(scores: torch.Tensor, beta: float, steps: int = 6) -> list[int]:
    """The states that the planner passes; where moving is not better, it stays. (2, T) -> steps"""
    state, passed = 0, []
    for _ in range(steps):
        values = objective(progress(scores, scores[state]), uniform(2), beta)
        state = 1 - state if values[1 - state] > values[state] + 1e-12 else state
        passed.append(state)
    return passed


@pytest.mark.parametrize("beta", [0.0, 0.05, 1.0, 100.0])
def test_gp_and_every_finite_temperature_cycle_on_the_example_of_app_b5(beta):
    assert walk_of_app_b5(EXP_SCORES.log(), beta) == [1, 0, 1, 0, 1, 0]


def test_pap_does_not_cycle_on_the_example_of_app_b5():
    assert walk_of_app_b5(EXP_SCORES.log(), math.inf) == [0] * 6


def test_moving_in_app_b5_is_worth_beta_log_cosh():
    scores = EXP_SCORES.log()
    moving = progress(scores[1], scores[0])
    for beta in (0.1, 0.6, 5.0):
        value = float(objective(moving, uniform(2), beta))
        assert value == pytest.approx(beta * math.log(math.cosh(0.6 / beta)))
    assert float(objective(moving, uniform(2), 0.0)) == pytest.approx(0.6)
    assert float(objective(moving, uniform(2), math.inf)) == pytest.approx(0.0, abs=1e-12)


def test_tied_positive_unit_vectors_realise_the_example_of_app_b5():
    angles = torch.tensor([math.pi / 12, 5 * math.pi / 12], dtype=torch.float64)
    u, v = torch.stack([angles.cos(), angles.sin()], dim=-1)
    assert (torch.stack([u, v]) > 0).all()
    assert float(u @ v) == pytest.approx(0.5)
    states = torch.stack([torch.stack([v, u]), torch.stack([u, v])])  # (state, horizon, 2)
    scores = math.log(16) * states @ u + math.log(0.05)
    assert torch.allclose(scores.exp(), EXP_SCORES)
    assert walk_of_app_b5(scores, 0.0) == [1, 0, 1, 0, 1, 0]
    assert walk_of_app_b5(scores, math.inf) == [0] * 6


def test_pap_progress_is_the_gain_of_one_potential():
    scores = deltas(4)
    potential = scores.exp().mean(-1)
    values = objective(progress(scores, scores[2]), uniform(), math.inf)
    assert torch.allclose(values, potential - potential[2])


SMOOTH = {
    "log": np.log,
    "root": np.sqrt,
    "inverse": lambda tau: 1 / tau,
    "decay": lambda tau: np.exp(-tau / 50),
    "heat kernel": lambda tau: np.exp(-40 / tau) / tau,
    "bump over an octave": lambda tau: np.exp(-((np.log2(tau) - 6) ** 2)),
}


@pytest.mark.parametrize("name", SMOOTH)
@pytest.mark.parametrize("tau_max", [100, 1000, 8192])
def test_quadrature_gives_the_sums_over_every_integer_to_one_in_a_hundred(name, tau_max):
    full = Horizons.every(tau_max)
    few = full.quadrature()
    exact = full.weights @ SMOOTH[name](full.taus)
    assert few.weights @ SMOOTH[name](few.taus) == pytest.approx(exact, rel=1e-2)


def test_quadrature_has_every_integer_at_first_and_then_four_nodes_an_octave():
    few = Horizons.every(8192).quadrature()
    assert few.taus[:6].tolist() == [1, 2, 3, 4, 5, 6]
    counts = [((few.taus > 2**k) & (few.taus <= 2 ** (k + 1))).sum() for k in range(2, 13)]
    assert min(counts) == 3 and max(counts) == 5 and np.mean(counts) == pytest.approx(4, abs=0.2)


@given(tau_max=st.integers(1, 20000))
@settings(max_examples=60, deadline=None, derandomize=True)
def test_quadrature_keeps_weights_positive_and_horizons_within(tau_max):
    few = Horizons.every(tau_max).quadrature()
    assert few.weights.sum() == pytest.approx(1.0)
    assert (few.weights > 0).all()
    assert (np.diff(few.taus) > 0).all()
    assert few.taus[0] == 1
    assert few.taus[-1] == tau_max


@pytest.mark.parametrize("tau_max", range(1, 9))
def test_quadrature_of_few_horizons_is_every_integer(tau_max):
    few = Horizons.every(tau_max).quadrature()
    assert (few.taus == np.arange(1, tau_max + 1)).all()
    assert np.allclose(few.weights, 1 / tau_max)


@pytest.mark.parametrize(("tau_max", "last"), [(1, 1), (7, 4), (8, 8), (8192, 8192), (9000, 8192)])
def test_octaves_are_the_powers_of_two_up_to_tau_max(tau_max, last):
    octaves = Horizons.octaves(tau_max)
    assert octaves.taus.tolist() == [2**k for k in range(int(math.log2(last)) + 1)]
    assert np.allclose(octaves.weights, 1 / len(octaves.taus))


def test_rules_carry_the_temperatures_of_the_paper():
    assert rule(Planning(planner="gp"), tau_max=64).beta == 0.0
    assert rule(Planning(planner="pap"), tau_max=64).beta == math.inf
    assert rule(Planning(planner="beta=0.25"), tau_max=64).beta == 0.25
    assert rule(Planning(planner="beta=0"), tau_max=64).beta == 0.0
    assert rule(Planning(planner="beta=inf"), tau_max=64).beta == math.inf


@pytest.mark.parametrize("planner", ["gp", "pap", "beta=0.1"])
def test_the_rules_of_the_paper_can_use_every_horizon(planner):
    asked = dataclasses.replace(PAPER, planner=planner)
    full = rule(asked, tau_max=500, every_horizon=True).horizons
    assert (full.taus == np.arange(1, 501)).all()
    assert np.allclose(full.weights, 1 / 500)
    few = rule(asked, tau_max=500).horizons
    assert len(few.taus) < 500
    assert few.weights @ np.log(few.taus) == pytest.approx(np.log(full.taus).mean())


def test_a_rule_that_asks_the_horizons_in_view_is_not_for_every_integer():
    with pytest.raises(CogmapError, match="view=8.0.*--view None"):
        rule(Planning(), tau_max=64, every_horizon=True)


def test_the_rule_is_gp_over_the_horizons_in_view_unless_it_is_told_otherwise():
    made = rule(Planning(), tau_max=64)
    assert (made.name, made.beta, made.view, made.memory) == ("gp", 0.0, 8.0, True)
    paper = rule(PAPER, tau_max=64)
    assert (paper.name, paper.beta, paper.view, paper.memory) == ("gp", 0.0, None, False)
    assert paper.radii == (1,)


def asked(*scores: float, view: float = 8.0) -> list[int]:
    """Which of these horizons are asked from a place with these scores."""
    return in_view(torch.tensor([scores]), view)[0].tolist()


def up_to(last: int) -> list[int]:
    """As many horizons as are asked, of which this is the longest."""
    return list(range(last + 1 - IN_VIEW, last + 1))


def test_the_horizons_up_to_the_shortest_that_sees_the_goal_are_asked():
    assert asked(-30, -20, -15, -12, -10, -8, -5, -2, 0, 1) == up_to(5)
    assert asked(-30, -20, -15, -12, -10, -8, -5, -2, 0, 1, view=2.0) == up_to(7)


def test_horizons_that_lose_sight_of_the_goal_again_change_nothing():
    assert asked(-30, -20, -15, -12, -9, -7, -9, -20, -20) == up_to(5)


def test_where_no_horizon_sees_the_goal_those_up_to_the_nearest_are_asked():
    assert asked(-90, -80, -70, -60, -20, -12, -25, -40) == up_to(5)


def test_near_the_goal_the_shortest_horizons_are_asked():
    nodes = Horizons.every(8192).quadrature().taus
    for first in range(IN_VIEW):
        scores = [-20.0] * first + [2.0] * (len(nodes) - first)
        assert nodes[asked(*scores)].tolist() == list(range(1, IN_VIEW + 1))


def test_where_there_are_fewer_horizons_all_are_asked():
    for count in range(1, IN_VIEW):
        assert asked(*[4.0] * count) == asked(*[-20.0] * count) == list(range(count))


def test_each_episode_asks_its_own_horizons():
    near, far = [3.0] * 9, [-40.0] * 7 + [-2.0, -1.0]
    rows = in_view(torch.tensor([near, far]), 8.0).tolist()
    assert rows == [up_to(IN_VIEW - 1), up_to(7)]


@pytest.mark.parametrize("planner", ["beta=-1", "beta=nan", "beta=", "beta=warm", "beta=-inf"])
def test_a_rule_refuses_a_temperature_that_is_none(planner):
    with pytest.raises(CogmapError, match="temperature"):
        rule(Planning(planner=planner), tau_max=64)


@pytest.mark.parametrize("planner", ["", "GP", "best", "nan"])
def test_a_rule_refuses_a_name_it_does_not_know_and_says_which_there_are(planner):
    with pytest.raises(CogmapError, match="gp, pap or beta=NUMBER"):
        rule(Planning(planner=planner), tau_max=64)


@pytest.mark.parametrize("planner", ["gp", "pap", "beta=1"])
@pytest.mark.parametrize("tau_max", [0, -5])
def test_a_rule_refuses_horizons_below_one(planner, tau_max):
    with pytest.raises(CogmapError, match=f"tau_max={tau_max}"):
        rule(Planning(planner=planner), tau_max=tau_max)
