import itertools
import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from cogmap.errors import CogmapError
from cogmap.planning.objective import (
    Horizons,
    geometric,
    horizon_weights,
    log_progress,
    objective,
    progress,
    rule,
)
from cogmap.planning.settings import Planning

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


def test_log_progress_is_the_gain_in_g_above_the_floor():
    here = torch.tensor([[-9.0, -2.0, 0.0]])
    there = torch.tensor([[-7.0, -3.0, 1.0], [-5.0, -8.0, 0.0]])
    expected = torch.tensor([[0.0, -1.0, 1.0], [1.0, -4.0, 0.0]])
    assert torch.equal(log_progress(there, here, floor=-6.0), expected)


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
@pytest.mark.parametrize("kind", ["every", "geometric"])
def test_quadrature_gives_the_sums_over_every_integer(name, tau_max, kind):
    full = Horizons.every(tau_max) if kind == "every" else geometric(tau_max, 0.99)[0]
    few = full.quadrature()
    exact = full.weights @ SMOOTH[name](full.taus)
    assert few.weights @ SMOOTH[name](few.taus) == pytest.approx(exact, rel=1e-3)
    assert few.weights.sum() == pytest.approx(full.weights.sum())


def test_quadrature_is_far_smaller_than_the_sum_it_stands_for():
    few = Horizons.every(8192).quadrature()
    assert len(few.taus) < 200
    assert (few.taus[:20] == np.arange(1, 21)).all()
    assert few.taus[-1] == 8192


@given(tau_max=st.integers(1, 20000))
@settings(max_examples=60, deadline=None, derandomize=True)
def test_quadrature_keeps_weights_positive_and_horizons_within(tau_max):
    few = Horizons.every(tau_max).quadrature()
    assert few.weights.sum() == pytest.approx(1.0)
    assert (few.weights > 0).all()
    assert (np.diff(few.taus) > 0).all()
    assert few.taus[0] == 1
    assert few.taus[-1] == tau_max


@pytest.mark.parametrize("tau_max", range(1, 17))
def test_quadrature_of_few_horizons_is_every_integer(tau_max):
    few = Horizons.every(tau_max).quadrature()
    assert (few.taus == np.arange(1, tau_max + 1)).all()
    assert np.allclose(few.weights, 1 / tau_max)


@pytest.mark.parametrize(("tau_max", "last"), [(1, 1), (7, 4), (8, 8), (8192, 8192), (9000, 8192)])
def test_octaves_are_the_powers_of_two_up_to_tau_max(tau_max, last):
    octaves = Horizons.octaves(tau_max)
    assert octaves.taus.tolist() == [2**k for k in range(int(math.log2(last)) + 1)]
    assert np.allclose(octaves.weights, 1 / len(octaves.taus))


@pytest.mark.parametrize("tau_max", [1, 50, 3000])
@pytest.mark.parametrize("gamma", [0.5, 0.99])
def test_geometric_weights_fall_by_gamma_from_horizon_zero_and_sum_to_one(tau_max, gamma):
    horizons, zero = geometric(tau_max, gamma)
    weights = np.append(zero, horizons.weights)
    assert (horizons.taus == np.arange(1, tau_max + 1)).all()
    assert weights.sum() == pytest.approx(1.0)
    assert np.allclose(weights, zero * gamma ** np.arange(tau_max + 1), rtol=1e-9, atol=0.0)


@pytest.mark.parametrize("gamma", [0.0, 1.0, -0.1, 1.5, math.nan])
def test_geometric_weights_refuse_a_discount_outside_zero_and_one(gamma):
    with pytest.raises(CogmapError, match="gamma="):
        geometric(10, gamma)


def test_rules_carry_the_temperatures_of_the_paper():
    assert rule(Planning(planner="gp"), tau_max=64).beta == 0.0
    assert rule(Planning(planner="pap"), tau_max=64).beta == math.inf
    assert rule(Planning(planner="beta=0.25"), tau_max=64).beta == 0.25
    assert rule(Planning(planner="beta=0"), tau_max=64).beta == 0.0
    assert rule(Planning(planner="beta=inf"), tau_max=64).beta == math.inf


@pytest.mark.parametrize("planner", ["gp", "pap", "beta=0.1"])
def test_the_rules_of_the_paper_can_use_every_horizon(planner):
    full = rule(Planning(planner=planner), tau_max=500, every_horizon=True).horizons
    assert (full.taus == np.arange(1, 501)).all()
    assert np.allclose(full.weights, 1 / 500)
    few = rule(Planning(planner=planner), tau_max=500).horizons
    assert len(few.taus) < 500
    assert few.weights @ np.log(few.taus) == pytest.approx(np.log(full.taus).mean())


def test_the_paper_rules_read_exp_g_and_the_log_rule_reads_g_above_its_floor():
    assert rule(Planning(planner="gp"), tau_max=64).floor is None
    assert rule(Planning(planner="pap"), tau_max=64).floor is None
    log = rule(Planning(floor=-4.0), tau_max=64)
    assert log.floor == -4.0
    assert log.beta == math.inf
    assert log.horizons.taus.tolist() == [1, 2, 4, 8, 16, 32, 64]


def test_the_geometric_rule_keeps_the_weight_of_horizon_zero():
    for every_horizon in (False, True):
        made = rule(
            Planning(planner="geometric", gamma=0.9), tau_max=300, every_horizon=every_horizon
        )
        assert made.zero_weight == pytest.approx(geometric(300, 0.9)[1])
        assert made.zero_weight + made.horizons.weights.sum() == pytest.approx(1.0)
        assert len(made.horizons.taus) == 300 if every_horizon else len(made.horizons.taus) < 300


@pytest.mark.parametrize("planner", ["beta=-1", "beta=nan", "beta=", "beta=warm", "beta=-inf"])
def test_a_rule_refuses_a_temperature_that_is_none(planner):
    with pytest.raises(CogmapError, match="temperature"):
        rule(Planning(planner=planner), tau_max=64)


@pytest.mark.parametrize("planner", ["", "GP", "best", "nan"])
def test_a_rule_refuses_a_name_it_does_not_know_and_says_which_there_are(planner):
    with pytest.raises(CogmapError, match="gp, pap, log, geometric"):
        rule(Planning(planner=planner), tau_max=64)


@pytest.mark.parametrize("planner", ["gp", "pap", "log", "geometric", "beta=1"])
@pytest.mark.parametrize("tau_max", [0, -5])
def test_a_rule_refuses_horizons_below_one(planner, tau_max):
    with pytest.raises(CogmapError, match=f"tau_max={tau_max}"):
        rule(Planning(planner=planner), tau_max=tau_max)
