import dataclasses

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from cogmap.data.trajectories import Trajectories
from cogmap.errors import CogmapError
from cogmap.temporal import scorer as scorer_module
from cogmap.temporal.encoders import FourierFeatures, HorizonHead, Mirror
from cogmap.temporal.model import TemporalConfig, TemporalModel
from cogmap.temporal.scorer import LearnedScorer
from cogmap.temporal.settings import TemporalTraining
from cogmap.temporal.train import train_temporal

TAUS = torch.tensor([1, 2, 3, 7, 20, 64, 200, 500, 1000, 3000, 8192])
LOW, HIGH = torch.tensor([-4.0, 0.0]), torch.tensor([20.0, 12.0])
PLAIN, TURNED = slice(0, 6), slice(6, 8)  # units of a small tied model


def points(count: int, *, seed: int) -> Tensor:
    share = torch.rand(count, 2, generator=torch.Generator().manual_seed(seed))
    return LOW + share * (HIGH - LOW)


def untrained(*, tied: bool = True, normalised: bool = True, bank: int = 13) -> TemporalModel:
    """A small model with betas that vary with the horizon and an uneven bank."""
    torch.manual_seed(0)
    config = TemporalConfig(
        observation_shape=(2,),
        width=16,
        embedding=8,
        waves=4,
        tied=tied,
        turned=2,
        normalised=normalised,
        bank_size=bank,
    )
    model = TemporalModel(config, low=LOW, high=HIGH)
    with torch.no_grad():
        model.betas.weight.normal_(std=0.5)
        for module in model.modules():
            if isinstance(module, HorizonHead):
                module.leave.weight.normal_()  # spreads the embeddings, which start close together
    share = torch.rand(bank, generator=torch.Generator().manual_seed(1)) + 0.1
    model.bank.copy_(points(bank, seed=2))
    model.bank_log_share.copy_((share / share.sum()).log())
    return model.eval().requires_grad_(False)


def silent(units: slice) -> TemporalModel:
    """A tied model some of whose units are always zero."""
    model = untrained(tied=True)
    model.source_head.leave.weight[units] = 0
    model.source_head.leave.bias[units] = 0
    return model


def embeddings(model: TemporalModel, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """h(x, tau) and g(y, tau). (B, T, D), (C, T, D)"""
    horizon = model.horizon(TAUS)
    h = model.source_head(model.source_trunk(x), horizon)
    return h, model.target_head(model.target_trunk(y), horizon)


both_ways = pytest.mark.parametrize("tied", [True, False], ids=["tied", "untied"])
both_scales = pytest.mark.parametrize("normalised", [True, False], ids=["normalised", "raw"])


@both_ways
def test_embeddings_have_unit_norm(tied):
    h, g = embeddings(untrained(tied=tied), points(5, seed=3), points(6, seed=4))
    assert h.shape == (5, len(TAUS), 8)
    assert torch.allclose(h.norm(dim=-1), torch.ones(5, len(TAUS)))
    assert torch.allclose(g.norm(dim=-1), torch.ones(6, len(TAUS)))


def test_an_observation_has_a_different_embedding_at_each_horizon():
    h, _ = embeddings(untrained(), points(1, seed=3), points(1, seed=3))
    apart = torch.cdist(h[0], h[0]) + torch.eye(len(TAUS))
    assert apart.min() > 1e-3


def test_tied_encoders_embed_a_target_as_a_source_with_the_last_quarter_of_its_units_turned():
    x = points(5, seed=3)
    h, g = embeddings(untrained(tied=True), x, x)
    assert torch.equal(g[..., PLAIN], h[..., PLAIN])
    assert torch.equal(g[..., TURNED], -h[..., TURNED])
    assert (h != 0).all()


@pytest.mark.parametrize(("size", "turned"), [(64, 16), (10, 2), (4, 4), (3, 0)])
def test_a_mirror_turns_the_last_units(size, turned):
    mirror = Mirror(HorizonHead(width=4, embedding=size), turned=turned)
    assert mirror.turned(torch.ones(size)).tolist() == [1] * (size - turned) + [-1] * turned


def test_a_mirror_has_no_weights_but_its_heads():
    head = HorizonHead(width=4, embedding=8)
    mirror = Mirror(head, turned=2)
    ours, theirs = ({id(value) for value in each.parameters()} for each in (mirror, head))
    assert ours == theirs
    assert mirror.state_dict().keys() == {f"head.{name}" for name in head.state_dict()}


def test_a_tied_model_has_one_trunk_and_one_head():
    model = untrained(tied=True)
    assert model.target_trunk is model.source_trunk
    assert model.target_head.head is model.source_head


def test_untied_encoders_embed_sources_and_targets_differently():
    x = points(5, seed=3)
    model = untrained(tied=False)
    h, g = embeddings(model, x, x)
    assert (h - g).norm(dim=-1).min() > 1e-2
    raw = model.raw_pair_score(x, x, TAUS)
    assert not torch.allclose(raw, raw.transpose(1, 2), atol=1e-2)


def test_tied_scores_are_symmetric():
    x = points(5, seed=3)
    model, y = untrained(tied=True), points(6, seed=4)
    raw = model.raw_pair_score(x, x, TAUS)
    assert torch.allclose(raw, raw.transpose(1, 2), atol=1e-5)
    there, back = model.raw_pair_score(x, y, TAUS), model.raw_pair_score(y, x, TAUS)
    assert torch.allclose(there, back.transpose(1, 2), atol=1e-5)
    assert raw.std() > 0.1


def test_tied_scores_have_as_many_negative_eigenvalues_as_turned_units():
    """Sylvester's law of inertia; of <h, h> no eigenvalue is negative."""
    x = points(40, seed=3)
    h, g = embeddings(untrained(tied=True), x, x)
    for t in range(len(TAUS)):
        ours, targets = h[:, t].double(), g[:, t].double()
        values = torch.linalg.eigvalsh(ours @ targets.T)
        assert ((values < -1e-10).sum(), (values > 1e-10).sum()) == (2, 6)
        assert torch.linalg.eigvalsh(ours @ ours.T).min() > -1e-10


def fit(exact: Tensor, *, mirror: Mirror | None) -> Tensor:
    """What tied unit embeddings leave of scores, at best and with any offset of each source."""
    chance = torch.Generator().manual_seed(0)
    table = torch.randn(len(exact), 8, generator=chance, dtype=torch.float64).requires_grad_()
    offset = torch.zeros(len(exact), 1, dtype=torch.float64, requires_grad=True)
    log_beta0 = torch.zeros((), dtype=torch.float64, requires_grad=True)
    optimiser = torch.optim.LBFGS(
        [table, offset, log_beta0],
        max_iter=200,
        tolerance_grad=1e-10,
        tolerance_change=0.0,
        line_search_fn="strong_wolfe",
    )

    def left() -> Tensor:
        h = F.normalize(table, dim=-1)
        g = h if mirror is None else mirror.turned(h)
        return exact - log_beta0.exp() * (h @ g.T - 1) - offset

    def closure() -> Tensor:
        optimiser.zero_grad()
        value = left().square().sum()
        value.backward()
        return value

    optimiser.step(closure)
    return left().detach()


def test_turned_units_represent_an_exact_score_that_a_plain_inner_product_misses():
    """Two steps in a row of three states, whose walk itself has no negative eigenvalue."""
    step = torch.tensor([[3.0, 1.0, 0.0], [1.0, 2.0, 1.0], [0.0, 1.0, 3.0]]).double() / 4
    assert torch.linalg.eigvalsh(step).min() > 0.2
    exact = (3 * step @ step).log()
    centring = torch.eye(3).double() - 1 / 3  # what takes any offset away
    least = torch.linalg.eigvalsh(centring @ exact @ centring).min()
    assert least < -0.1
    mirror = Mirror(HorizonHead(width=1, embedding=8), turned=2).double()
    assert fit(exact, mirror=mirror).abs().max() < 1e-6
    assert fit(exact, mirror=None).norm() > -least - 1e-6


@both_ways
def test_the_raw_score_is_eq_3(tied):
    model, x, y = untrained(tied=tied), points(5, seed=3), points(6, seed=4)
    h, g = embeddings(model, x, y)
    beta0, beta1 = model.beta(model.horizon(TAUS), TAUS)
    assert (beta0 > 0).all()
    assert beta0.std() > 0.1
    assert beta1.std() > 0.1
    raw = model.raw_pair_score(x, y, TAUS)
    assert raw.shape == (len(TAUS), 5, 6)
    for t in range(len(TAUS)):
        expected = beta0[t] * (h[:, t] @ g[:, t].T - 1) + beta1[t]
        assert torch.allclose(raw[t], expected, atol=1e-5)


@both_ways
def test_one_tensor_for_both_sides_scores_as_two_equal_tensors(tied):
    model, x = untrained(tied=tied), points(5, seed=3)
    same, copied = model.raw_pair_score(x, x, TAUS), model.raw_pair_score(x, x.clone(), TAUS)
    assert torch.allclose(same, copied, atol=1e-5)


def test_one_tensor_for_both_sides_is_encoded_once_by_tied_encoders():
    model, x, passes = untrained(tied=True), points(5, seed=3), []
    for module in (model.source_trunk, model.source_head):
        module.register_forward_hook(lambda module, *_: passes.append(module))
    model.raw_pair_score(x, x, TAUS)
    assert passes == [model.source_trunk, model.source_head]
    model.raw_pair_score(x, x.clone(), TAUS)
    assert len(passes) == 2 + 4


MODELS = {
    "untied": lambda: untrained(tied=False),
    "tied": untrained,
    "tied, nothing turned": lambda: silent(TURNED),
}


@pytest.mark.parametrize("name", MODELS)
def test_the_raw_score_is_beta1_where_embeddings_coincide_and_less_elsewhere(name):
    model, x = MODELS[name](), points(9, seed=3)
    h, g = embeddings(model, x, x)
    coincide = (h[:, None] - g[None]).norm(dim=-1).permute(2, 0, 1) < 1e-6  # (T, B, B)
    assert coincide.sum() == (9 * len(TAUS) if name == "tied, nothing turned" else 0)
    _, beta1 = model.beta(model.horizon(TAUS), TAUS)
    below = beta1[:, None, None] - model.raw_pair_score(x, x, TAUS)
    assert (below[coincide].abs() < 1e-4).all()
    assert (below[~coincide] > 0).all()


def test_an_observation_that_only_turned_units_tell_has_its_least_score_with_itself():
    """As of a walk that always moves on, after one step; no <h, h> says so."""
    model, x = silent(PLAIN), points(9, seed=3)
    beta0, beta1 = (beta[:, None] for beta in model.beta(model.horizon(TAUS), TAUS))
    raw = model.raw_pair_score(x, x, TAUS)
    itself = raw.diagonal(dim1=1, dim2=2)
    assert torch.allclose(itself, beta1 - 2 * beta0, atol=1e-4)
    assert (raw >= itself[..., None] - 1e-4).all() and (raw.amax(2) > itself + 0.1).any()


@both_ways
def test_exp_g_is_the_embedding_kernel_of_eq_21(tied):
    model, x, y = untrained(tied=tied), points(5, seed=3), points(6, seed=4)
    h, g = embeddings(model, x, y)
    beta0, beta1 = (beta[:, None, None] for beta in model.beta(model.horizon(TAUS), TAUS))
    square = (h[:, None] - g[None]).square().sum(-1).permute(2, 0, 1)  # (T, B, C)
    kernel = beta1.exp() * (-beta0 / 2 * square).exp()
    assert torch.allclose(model.raw_pair_score(x, y, TAUS).exp(), kernel, rtol=1e-3, atol=1e-6)


def test_tied_scores_fall_from_the_goal_as_eq_22_says_where_nothing_is_turned():
    model = silent(TURNED)
    x, goal = points(9, seed=3), points(1, seed=4)
    h, h_goal = embeddings(model, x, goal)
    beta0, _ = model.beta(model.horizon(TAUS), TAUS)
    expected = beta0 / 2 * (h - h_goal).square().sum(-1)  # (N, T)
    score = model.raw_pair_score(torch.cat([x, goal]), goal, TAUS)[..., 0].T  # (N + 1, T)
    assert torch.allclose(score[-1] - score[:-1], expected, atol=1e-4)
    assert (expected > 0).all()


def test_turned_units_count_against_the_distance_that_tied_scores_tell():
    """Eq. 22 between the mean of G(x, x) and G(y, y), which need not be alike, and G(x, y)."""
    model, x = untrained(tied=True), points(9, seed=3)
    model.source_head.leave.weight[TURNED] *= 5
    h, _ = embeddings(model, x, x)
    beta0, _ = model.beta(model.horizon(TAUS), TAUS)
    square = (h[:, None] - h[None]).square().permute(2, 0, 1, 3)  # (T, B, B, D)
    distance = square[..., PLAIN].sum(-1) - square[..., TURNED].sum(-1)
    raw = model.raw_pair_score(x, x, TAUS)
    itself = raw.diagonal(dim1=1, dim2=2)
    fall = (itself[:, :, None] + itself[:, None]) / 2 - raw
    assert torch.allclose(fall, beta0[:, None, None] / 2 * distance, atol=1e-4)
    assert (itself.std(1) > 0.01).all() and (distance < -0.01).any()


@both_ways
@pytest.mark.parametrize("tau", [1, 20, 8192])
def test_normalised_scores_average_to_one_over_the_bank_at_every_source(tau, tied):
    x, share = points(30, seed=3), untrained().bank_log_share.exp()
    model = untrained(tied=tied, normalised=True)
    mean = model.pair_score(x, model.bank, tau).exp() @ share
    assert torch.allclose(mean, torch.ones(30), atol=1e-4)
    raw = untrained(tied=tied, normalised=False)
    assert (raw.pair_score(x, raw.bank, tau).exp() @ share).log().abs().max() > 0.1


def test_normalising_subtracts_the_gap_of_eq_12():
    x, y = points(5, seed=3), points(6, seed=4)
    model, raw = untrained(normalised=True), untrained(normalised=False)
    share = model.bank_log_share.exp()
    for tau in (1, 64):
        gap = (raw.pair_score(x, model.bank, tau).exp() @ share).log()[:, None]
        expected = raw.pair_score(x, y, tau) - gap
        assert torch.allclose(model.pair_score(x, y, tau), expected, atol=1e-4)
        taus = torch.tensor([tau])
        assert torch.allclose(model.log_partition(x, taus), gap, atol=1e-4)


@both_scales
@both_ways
def test_the_goal_score_is_the_pair_score_horizon_by_horizon(tied, normalised):
    model = untrained(tied=tied, normalised=normalised)
    x, goal = points(7, seed=3), points(1, seed=4)
    score = model.goal_score(x, goal[0], TAUS)
    assert score.shape == (7, len(TAUS))
    for column, tau in zip(score.T, TAUS.tolist(), strict=True):
        assert torch.allclose(column, model.pair_score(x, goal, tau)[:, 0], atol=1e-4)


def test_the_scorer_normalises_scores_whose_exponentials_are_nothing():
    """beta0 reaches a thousand at one step, and turned units keep <h, g> below 1 everywhere."""
    model, x = untrained(), points(5, seed=3)
    with torch.no_grad():
        model.betas.weight.zero_()
        model.betas.bias[0] = 5.0
    taus = torch.tensor([1])
    raw = model.raw_pair_score(x, model.bank, taus)
    assert raw.max() < -200 and raw.exp().max() == 0
    goal = points(1, seed=4)[0]
    wanted = model.pair_score(x, goal[None], 1)
    assert torch.allclose(model.goal_score(x, goal, taus), wanted, rtol=1e-3, atol=0.01)


@both_scales
@both_ways
def test_the_scorer_keeps_episodes_apart(tied, normalised):
    model = untrained(tied=tied, normalised=normalised)
    x, goals = points(12, seed=3).view(3, 4, 2), points(3, seed=4)
    scorer = LearnedScorer(model, TAUS)
    score = scorer.score(x, scorer.embed_goals(goals)[:, None])
    assert score.shape == (3, 4, len(TAUS))
    for episode in range(3):
        alone = model.goal_score(x[episode], goals[episode], TAUS)
        assert torch.allclose(score[episode], alone, atol=1e-4)


@both_ways
def test_the_score_of_a_set_is_the_mean_likelihood_of_its_members(tied):
    model = untrained(tied=tied, normalised=True)
    x, goals = points(4, seed=3), points(3, seed=4)
    scorer = LearnedScorer(model, TAUS)
    score = scorer.score(x[None], scorer.embed_goals(goals)[None])[0]
    each = torch.stack([model.goal_score(x, goal, TAUS) for goal in goals])
    assert torch.allclose(score, each.exp().mean(0).log(), atol=1e-4)


SOME = torch.tensor([[4, 5, 6], [10, 0, 10], [1, 2, 3]])  # horizons of three episodes


@both_scales
@both_ways
def test_scores_at_some_horizons_are_those_horizons_of_all_scores(tied, normalised):
    scorer = LearnedScorer(untrained(tied=tied, normalised=normalised), TAUS)
    x, goals = points(12, seed=3).view(3, 4, 2), scorer.embed_goals(points(3, seed=4))[:, None]
    every, some = scorer.score(x, goals), scorer.score(x, goals, SOME)
    assert some.shape == (3, 4, 3)
    for episode in range(3):
        assert torch.allclose(some[episode], every[episode][:, SOME[episode]], atol=1e-5)
    alone = scorer.score(x[:1], goals[:1], SOME[:1])
    assert torch.allclose(alone, some[:1], atol=1e-5)


@both_scales
@pytest.mark.parametrize("at", [None, SOME], ids=["all", "some"])
@pytest.mark.parametrize("kept", [0, 32], ids=["bank not kept", "bank kept"])
@pytest.mark.parametrize("horizons", [1, 2, 7])
def test_scores_in_chunks_are_the_scores_at_once(horizons, kept, at, normalised, monkeypatch):
    model = untrained(normalised=normalised)
    x, goals = points(12, seed=3).view(3, 4, 2), points(3, seed=4)
    whole = LearnedScorer(model, TAUS)
    expected = whole.score(x, whole.embed_goals(goals)[:, None], at)
    numbers = max(12 * 16, 13 * 8) if at is None else 3 * 13 * 8  # of one horizon
    monkeypatch.setattr(scorer_module, "CHUNK", horizons * numbers)
    monkeypatch.setattr(scorer_module, "KEPT", kept)
    chunked = LearnedScorer(model, TAUS)
    for _ in range(2):  # the second time from what it kept of the bank
        score = chunked.score(x, chunked.embed_goals(goals)[:, None], at)
        assert torch.allclose(score, expected, atol=1e-4)


@pytest.mark.parametrize(("kept", "passes"), [(32, [11]), (0, [1] * 22)])
def test_a_bank_is_embedded_once_where_it_is_small_and_horizon_by_horizon_where_it_is_large(
    kept, passes, monkeypatch
):
    monkeypatch.setattr(scorer_module, "KEPT", kept)
    monkeypatch.setattr(scorer_module, "CHUNK", 11 * 13 * 16 if kept else 1)
    model = untrained(tied=False)
    scorer = LearnedScorer(model, TAUS)
    goals = scorer.embed_goals(points(1, seed=4))[:, None]
    asked, embed = [], model.target_head.forward

    def noted(feature, horizon):
        asked.append(len(horizon))
        assert len(feature) == 13
        return embed(feature, horizon)

    monkeypatch.setattr(model.target_head, "forward", noted)
    for seed in (5, 6):
        scorer.score(points(2, seed=seed)[None], goals)
    assert asked == passes


def test_a_source_that_is_far_from_the_whole_bank_has_a_finite_score():
    """So that no gain of a candidate is infinity less infinity."""
    model, x, taus = untrained(), points(1, seed=3), torch.tensor([1])
    model.betas.bias[0] = 9.0
    _, beta1 = model.beta(model.horizon(taus), taus)
    assert (model.raw_pair_score(x, model.bank, taus) - beta1).max() < -104  # exp of it is nothing
    assert model.goal_score(x, points(1, seed=4)[0], taus).isfinite().all()


def test_scoring_for_planning_asks_for_no_gradients():
    model = untrained().requires_grad_(True)
    x = points(3, seed=3)
    assert model.raw_pair_score(x, x, TAUS).requires_grad
    assert not model.goal_score(x, x[0], TAUS).requires_grad


def test_tied_models_share_their_parameters_and_untied_ones_have_twice_the_encoder():
    def size(module: torch.nn.Module) -> int:
        return sum(parameter.numel() for parameter in module.parameters())

    tied, untied = untrained(tied=True), untrained(tied=False)
    assert size(untied) - size(tied) == size(tied.source_trunk) + size(tied.source_head)


def test_fourier_features_put_the_data_into_the_unit_square_beside_its_sines():
    features = FourierFeatures(
        LOW, HIGH, count=4, cycles=0.3, generator=torch.Generator().manual_seed(0)
    )
    ends = features(torch.stack([LOW, HIGH, (LOW + HIGH) / 2]))
    assert ends.shape == (3, 2 + 2 * 4)
    assert torch.allclose(ends[:, :2], torch.tensor([[-1.0, -1.0], [1.0, 1.0], [0.0, 0.0]]))
    sines, cosines = ends[:, 2:6], ends[:, 6:]
    assert torch.allclose(sines**2 + cosines**2, torch.ones(3, 4))
    assert torch.allclose(sines[0], -sines[1], atol=1e-5)
    assert torch.allclose(cosines[2], torch.ones(4))


def test_fourier_features_have_more_periods_in_a_dimension_that_is_stretched():
    def waves(cycles):
        chance = torch.Generator().manual_seed(0)
        return FourierFeatures(LOW, HIGH, count=4, cycles=cycles, generator=chance).waves

    ratio = waves(torch.tensor([0.3, 0.9])) / waves(0.3)
    assert torch.allclose(ratio, torch.tensor([[1.0], [3.0]]).expand(2, 4))


def test_fourier_features_stay_finite_where_the_data_has_no_width():
    flat = FourierFeatures(LOW, LOW, count=4, cycles=0.3, generator=torch.Generator())
    assert flat(LOW[None]).isfinite().all()


@pytest.mark.parametrize("coupling", [30.0, 200.0])
def test_beta0_begins_as_coupling_over_tau_and_at_least_one_and_beta1_alike_everywhere(coupling):
    """G falls as -distance^2 / tau at short horizons (Prop. 1)."""
    config = TemporalConfig(observation_shape=(2,), width=8, coupling=coupling)
    model = TemporalModel(config, low=LOW, high=HIGH)
    beta0, beta1 = model.beta(model.horizon(TAUS), TAUS)
    expected = [max(1.0, coupling / tau) for tau in TAUS.tolist()]
    assert torch.allclose(beta0, torch.tensor(expected))
    assert beta0[0] == coupling and beta0[-1] == 1.0
    assert torch.allclose(beta1, torch.full((len(TAUS),), 7.0))


def test_what_is_learned_of_beta0_is_a_factor_of_where_it_begins():
    model = untrained()
    log_factor = model.betas(model.horizon(TAUS))[:, 0]
    beta0, _ = model.beta(model.horizon(TAUS), TAUS)
    begins = (30.0 / TAUS).clamp(min=1.0)
    assert log_factor.abs().max() > 0.1
    assert torch.allclose(beta0, begins * log_factor.exp())


def test_one_seed_makes_one_model():
    config = dataclasses.replace(untrained().config, bank_size=0)
    built = []
    for seed in (0, 0, 1):
        torch.manual_seed(seed)
        built.append(TemporalModel(config, low=LOW, high=HIGH, seed=seed).state_dict())
    assert all(torch.equal(built[0][name], built[1][name]) for name in built[0])
    waves = "source_trunk.features.waves"
    assert not torch.equal(built[0][waves], built[2][waves])


def test_observations_that_are_neither_flat_nor_pictures_are_refused():
    with pytest.raises(CogmapError, match=r"\(64, 64\)"):
        TemporalModel(TemporalConfig(observation_shape=(64, 64)), low=LOW, high=HIGH)


def part_seeing(target: tuple[int, ...]) -> TemporalModel:
    config = TemporalConfig(
        observation_shape=(2,), width=16, embedding=8, waves=4, tied=False, target=target
    )
    return TemporalModel(config, low=LOW, high=HIGH)


def test_targets_show_the_numbers_that_goals_are_told_in_and_sources_show_all():
    model = part_seeing((1,))
    x, y = points(3, seed=1), points(4, seed=2)
    score = model.raw_pair_score(x, y, TAUS[:3])
    aside = y + torch.tensor([5.0, 0.0])
    torch.testing.assert_close(score, model.raw_pair_score(x, aside, TAUS[:3]))
    along = y + torch.tensor([0.0, 1.0])
    assert (score - model.raw_pair_score(x, along, TAUS[:3])).abs().max() > 1e-4
    for shift in ([1.0, 0.0], [0.0, 1.0]):
        moved = model.raw_pair_score(x + torch.tensor(shift), y, TAUS[:3])
        assert (score - moved).abs().max() > 1e-4


@pytest.mark.parametrize(
    ("target", "tied", "line"),
    [
        ((2,), False, "numbers 0 to 1"),
        ((-1,), False, "numbers 0 to 1"),
        ((0,), True, "one encoder"),
    ],
)
def test_numbers_that_no_observation_has_are_refused(target, tied, line):
    config = TemporalConfig(observation_shape=(2,), tied=tied, target=target)
    with pytest.raises(CogmapError, match=line):
        TemporalModel(config, low=LOW, high=HIGH)


def test_the_few_numbers_of_a_goal_are_what_lasts(tmp_path):
    """One number lasts and one is soon forgotten; a goal of one number is the first.

    So are an arm's cube and the arm itself: nobody says which of a picture's numbers are which.
    """
    rng = np.random.default_rng(0)
    episodes, length = 60, 64
    lasting, brief = np.zeros((2, episodes, length))
    lasting[:, 0], brief[:, 0] = rng.normal(size=(2, episodes))
    for step in range(1, length):
        lasting[:, step] = lasting[:, step - 1] + 0.02 * rng.normal(size=episodes)
        brief[:, step] = 0.6 * brief[:, step - 1] + 0.8 * rng.normal(size=episodes)
    mixed = np.stack([lasting + brief, lasting - brief], axis=-1).reshape(-1, 2).astype(np.float32)
    data = Trajectories(np.arange(0, len(mixed), length), mixed)
    settings = TemporalTraining(
        steps=300, tau_max=32, batch=64, width=32, embedding=8, tied=False, goal_numbers=1
    )
    model = train_temporal(data, settings, tmp_path, device="cpu")
    with torch.no_grad():
        told = model.target_trunk.trunk.reduce(torch.as_tensor(mixed))[:, 0].numpy()
    known = [abs(np.corrcoef(told, x.ravel())[0, 1]) for x in (lasting, brief)]
    assert known[0] > 0.9 > 0.4 > known[1]


def test_few_numbers_and_one_encoder_do_not_go_together():
    config = TemporalConfig(observation_shape=(2,), tied=True, goal_numbers=1)
    with pytest.raises(CogmapError, match="one encoder"):
        TemporalModel(config, low=LOW, high=HIGH)
    with pytest.raises(CogmapError, match="leave out --tied"):
        TemporalTraining(goal_numbers=3, tied=True)
    with pytest.raises(CogmapError, match="goal_numbers=-1"):
        TemporalTraining(goal_numbers=-1)
    with pytest.raises(CogmapError, match="--recorded None"):
        TemporalTraining(goal_numbers=3, recorded=50)
