import functools
import math

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from cogmap.temporal import losses
from cogmap.temporal.losses import Batch, Loss, nce, softmax
from cogmap.temporal.settings import TemporalTraining

FLOOR, WEIGHT = TemporalTraining.agreement_floor, TemporalTraining.agreement
log_agreement = functools.partial(losses.log_agreement, floor=FLOOR)

PAIRS = 1e7  # exact joint probabilities become counts of this many pairs


def random(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def one(scores: Tensor, counts: Tensor, **known: Tensor) -> Batch:
    """A batch of one horizon. (B, C) x 2"""
    return Batch(scores[None], counts[None], **known)


def four_states(tau: int) -> tuple[Tensor, Tensor]:
    """Joint probabilities of (x_t, x_{t+tau}) and pi of an uneven reversible walk. (4, 4), (4,)"""
    weights = torch.tensor(
        [[3.0, 2.0, 0.5, 0.2], [2.0, 1.0, 1.0, 0.1], [0.5, 1.0, 4.0, 2.0], [0.2, 0.1, 2.0, 0.4]],
        dtype=torch.float64,
    )
    pi = weights.sum(1) / weights.sum()
    matrix = weights / weights.sum(1, keepdim=True)
    return pi[:, None] * torch.linalg.matrix_power(matrix, tau), pi


def fit(loss: Loss, counts: Tensor, **known: Tensor) -> Tensor:
    """The free table of scores that minimises a loss. (B, C) -> (B, C)"""
    scores = torch.zeros_like(counts, requires_grad=True)
    optimiser = torch.optim.LBFGS(
        [scores],
        max_iter=2000,
        tolerance_grad=1e-12,
        tolerance_change=0.0,
        line_search_fn="strong_wolfe",
    )

    def closure() -> Tensor:
        optimiser.zero_grad()
        value, _ = loss(one(scores, counts, **known))
        value.backward()
        return value

    optimiser.step(closure)
    return scores.detach()


def batch_with_repeats(seed: int = 0) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """A table of scores (6, 6), the counts of 40 pairs on it, and both for the batch itself."""
    source, target = torch.randint(
        6, (2, 40), generator=torch.Generator().manual_seed(seed), dtype=torch.int64
    )
    table = random(6, 6, seed=seed)
    counts = torch.zeros(6, 6, dtype=torch.float64)
    counts.index_put_((source, target), torch.ones(40, dtype=torch.float64), accumulate=True)
    return table, counts, table[source][:, target], torch.eye(40, dtype=torch.float64)


def test_nce_of_a_plain_batch_is_the_pseudocode_of_app_c():
    scores = random(12, 12)
    logits = scores - math.log(len(scores) - 1)
    positives = logits.diagonal()
    negatives = F.softplus(logits).sum(1)
    negatives = negatives - F.softplus(positives)
    loss = (F.softplus(-positives) + negatives).mean()
    ours, statistics = nce(one(scores, torch.eye(12, dtype=torch.float64)))
    assert torch.allclose(ours, loss)
    assert torch.allclose(statistics["positive"], F.softplus(-positives).mean())
    assert torch.allclose(statistics["negative"], negatives.mean())


@pytest.mark.parametrize("n", [1.0, 5.0, 300.0])
def test_nce_with_a_number_of_negatives_is_eq_5(n):
    scores = random(12, 12)
    sigma = torch.sigmoid(scores - math.log(n))
    others = ~torch.eye(12, dtype=torch.bool)
    loss = -sigma.diagonal().log().mean() - n * (1 - sigma)[others].log().mean()
    batch = one(scores, torch.eye(12, dtype=torch.float64))
    assert torch.allclose(nce(batch, negatives=n)[0], loss)


def test_nce_takes_the_number_of_other_pairs_for_n():
    batch = one(random(12, 12), torch.eye(12, dtype=torch.float64))
    assert torch.allclose(nce(batch)[0], nce(batch, negatives=11.0)[0])


def test_softmax_of_a_plain_batch_is_cross_entropy_less_the_logarithm_of_its_size():
    scores = random(12, 12)
    loss = F.cross_entropy(scores, torch.arange(12)) - math.log(12)
    ours, statistics = softmax(one(scores, torch.eye(12, dtype=torch.float64)))
    assert torch.allclose(ours, loss)
    assert torch.allclose(statistics["information"], -loss)


LOSSES = {"nce": nce, "nce of 3": functools.partial(nce, negatives=3.0), "softmax": softmax}
every_loss = pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES.keys())


@every_loss
@pytest.mark.parametrize("seed", range(3))
def test_a_loss_on_the_table_is_the_loss_on_the_batch(loss, seed):
    table, counts, batch, identity = batch_with_repeats(seed)
    assert counts.max() > 1
    on_table, table_statistics = loss(one(table, counts))
    on_batch, batch_statistics = loss(one(batch, identity))
    assert torch.allclose(on_table, on_batch)
    for name in batch_statistics:
        assert torch.allclose(table_statistics[name], batch_statistics[name])


@every_loss
def test_the_gradient_on_the_table_is_the_gradient_of_the_batch(loss):
    table, counts, _, identity = batch_with_repeats()
    source, target = torch.nonzero(counts).repeat_interleave(counts[counts > 0].long(), 0).T
    there = table.clone().requires_grad_()
    here = table.clone().requires_grad_()
    loss(one(there, counts))[0].backward()
    loss(one(here[source][:, target], identity))[0].backward()
    assert torch.allclose(there.grad, here.grad)


@every_loss
def test_targets_that_never_occur_do_not_matter(loss):
    table, counts, _, _ = batch_with_repeats()
    wide = torch.cat([table, torch.full((6, 1), 50.0, dtype=torch.float64)], dim=1)
    wide_counts = torch.cat([counts, torch.zeros(6, 1, dtype=torch.float64)], dim=1)
    wide.requires_grad_()
    value, _ = loss(one(wide, wide_counts))
    value.backward()
    assert torch.allclose(value, loss(one(table, counts))[0])
    assert torch.equal(wide.grad[:, -1], torch.zeros(6, dtype=torch.float64))


@every_loss
def test_the_loss_of_several_horizons_is_their_mean(loss):
    batches = [batch_with_repeats(seed)[:2] for seed in range(3)]
    together = loss(Batch(*(torch.stack(part) for part in zip(*batches, strict=True))))[0]
    apart = torch.stack([loss(one(*batch))[0] for batch in batches])
    assert torch.allclose(together, apart.mean())


NEGATIVES = [None, 1.0, 7.0, 500.0]


@pytest.mark.parametrize("tau", [1, 3])
@pytest.mark.parametrize("negatives", NEGATIVES)
def test_nce_recovers_the_exact_ratio_on_a_four_state_walk(negatives, tau):
    joint, pi = four_states(tau)
    exact = (joint / pi[:, None] / pi).log()
    assert exact.abs().max() > 0.1
    fitted = fit(functools.partial(nce, negatives=negatives), PAIRS * joint)
    assert torch.allclose(fitted, exact, atol=1e-4)


def test_the_optimum_of_nce_does_not_depend_on_the_number_of_negatives():
    joint, pi = four_states(2)
    pairs = 50.0  # few pairs: a source's own is missing from its negatives, for every N alike
    ratio = joint / pi[:, None] / pi
    closed_form = (ratio * (pairs - 1) / (pairs - ratio)).log()
    for negatives in NEGATIVES:
        fitted = fit(functools.partial(nce, negatives=negatives), pairs * joint)
        assert torch.allclose(fitted, closed_form, atol=1e-4)


@pytest.mark.parametrize("tau", [1, 3])
def test_softmax_normalised_over_p0_recovers_the_exact_ratio(tau):
    joint, pi = four_states(tau)
    fitted = fit(softmax, PAIRS * joint)
    normalised = fitted - torch.logsumexp(fitted + pi.log(), dim=1, keepdim=True)
    assert torch.allclose(normalised, (joint / pi[:, None] / pi).log(), atol=1e-4)


def test_at_the_exact_ratio_softmax_tells_the_mutual_information():
    joint, pi = four_states(1)
    exact = (joint / pi[:, None] / pi).log()
    for known in ({}, {"log_share": pi.log()}):
        _, statistics = softmax(one(exact, joint, **known))
        assert torch.allclose(statistics["information"], (joint * exact).sum())


def test_softmax_leaves_a_free_offset_at_every_source_and_nce_none():
    table, counts, _, _ = batch_with_repeats()
    before, after = one(table, counts), one(table + random(6, 1, seed=9), counts)
    assert torch.allclose(softmax(after)[0], softmax(before)[0])
    assert abs(float(nce(after)[0] - nce(before)[0])) > 1e-2
    fixed, _ = four_states(1)
    fitted = fit(nce, PAIRS * fixed)
    for shift in (-0.1, 0.1):
        moved = fitted + torch.tensor([shift, 0, 0, 0], dtype=torch.float64)[:, None]
        assert nce(one(moved, PAIRS * fixed))[0] > nce(one(fitted, PAIRS * fixed))[0]


SOURCES = {"all sources": slice(None), "some sources": [1, 0]}
some_sources = pytest.mark.parametrize("sources", SOURCES.values(), ids=SOURCES.keys())


@some_sources
@pytest.mark.parametrize("composed", [None, True, False])
def test_softmax_that_knows_p0_recovers_the_exact_ratio_from_any_sources(composed, sources):
    joint, pi = four_states(2)
    exact = (joint / pi[:, None] / pi).log()
    known = {"log_share": pi.log()}
    if composed is not None:
        known["composed"] = torch.tensor([composed])
    fitted = fit(softmax, PAIRS * joint[sources], **known)
    normalised = fitted - torch.logsumexp(fitted + pi.log(), dim=1, keepdim=True)
    assert torch.allclose(normalised, exact[sources], atol=1e-4)


@some_sources
@pytest.mark.parametrize("negatives", NEGATIVES)
def test_nce_that_knows_p0_recovers_the_exact_ratio_from_any_sources(negatives, sources):
    joint, pi = four_states(2)
    exact = (joint / pi[:, None] / pi).log()
    loss = functools.partial(nce, negatives=negatives)
    fitted = fit(loss, PAIRS * joint[sources], log_share=pi.log())
    assert torch.allclose(fitted, exact[sources], atol=1e-4)


@pytest.mark.parametrize("loss", [softmax, nce])
def test_some_sources_without_p0_are_compared_with_their_own_targets(loss):
    joint, pi = four_states(1)
    some = joint[[1, 0]]
    ratio = some / some.sum(1, keepdim=True) / (some.sum(0) / some.sum())
    fitted = fit(loss, PAIRS * some)
    if loss is softmax:
        fitted = fitted - torch.logsumexp(
            fitted + (some.sum(0) / some.sum()).log(), dim=1, keepdim=True
        )
    assert torch.allclose(fitted, ratio.log(), atol=1e-4)
    assert (ratio.log() - (some / pi[[1, 0], None] / pi).log()).abs().max() > 0.2


def composed_walk(*taus: int) -> tuple[Tensor, Tensor, Tensor]:
    """G* and expected counts of 1000 pairs at each horizon, and log p0. (T, 4, 4) x 2, (4,)"""
    joints = torch.stack([four_states(tau)[0] for tau in taus])
    pi = four_states(1)[1]
    return (joints / pi[:, None] / pi).log(), 1000 * joints, pi.log()


def test_log_agreement_is_zero_at_the_log_of_the_composed_ratio_and_nowhere_else():
    exact, counts, log_share = composed_walk(2, 5)
    composed = torch.tensor([True, True])
    assert log_agreement(exact, counts, log_share, composed) == pytest.approx(0.0, abs=1e-12)
    for seed in range(5):
        other = exact + 0.1 * random(2, 4, 4, seed=seed)
        assert log_agreement(other, counts, log_share, composed) > 1e-3


def test_log_agreement_is_hubers_mean_over_sources_targets_and_horizons():
    exact, counts, log_share = composed_walk(2, 5)
    error = 2 * random(2, 4, 4)
    assert 0 < (error.abs() < 1).sum() < error.numel()
    huber = torch.where(error.abs() < 1, error.square() / 2, error.abs() - 0.5)
    ours = log_agreement(exact + error, counts, log_share, torch.tensor([True, True]))
    assert torch.allclose(ours, huber.mean())


def test_log_agreement_cares_for_a_target_however_unlikely_it_is():
    exact, counts, log_share = composed_walk(1)
    composed = torch.tensor([True])
    values = []
    for target in range(4):
        moved = exact.clone()
        moved[0, 3, target] += 0.5
        values.append(float(log_agreement(moved, counts, log_share, composed)))
    assert counts[0, 3].max() > 10 * counts[0, 3].min()
    assert values == pytest.approx([0.125 / 16] * 4)


def test_log_agreement_does_not_depend_on_how_many_pairs_a_source_has():
    exact, counts, log_share = composed_walk(2)
    moved, composed = exact + 0.3 * random(1, 4, 4), torch.tensor([True])
    more = counts * torch.tensor([1.0, 50.0, 0.02, 7.0])[:, None]
    few, many = (log_agreement(moved, each, log_share, composed) for each in (counts, more))
    assert torch.allclose(few, many)


def test_log_agreement_ignores_horizons_that_are_not_composed():
    exact, counts, log_share = composed_walk(2, 5, 9)
    score = (exact + random(3, 4, 4)).requires_grad_()
    composed = torch.tensor([True, False, True])
    value = log_agreement(score, counts, log_share, composed)
    value.backward()
    alone = log_agreement(score[::2], counts[::2], log_share, torch.tensor([True, True]))
    assert torch.allclose(value, alone * 2 / 3)
    assert (score.grad[1] == 0).all()
    assert (score.grad[::2] != 0).all()
    assert log_agreement(score, counts, log_share, torch.tensor([False] * 3)) == 0


def test_log_agreement_ignores_sources_without_pairs():
    exact, counts, log_share = composed_walk(2)
    counts[0, 1] = 0.0
    score = exact.clone()
    score[0, 1] += 3.0
    score.requires_grad_()
    value = log_agreement(score, counts, log_share, torch.tensor([True]))
    value.backward()
    assert value.item() == pytest.approx(0.0, abs=1e-12)
    assert (score.grad[0, 1] == 0).all()


def test_log_agreement_ignores_differences_below_the_floor():
    _, counts, log_share = composed_walk(2)
    counts[0, 0] = torch.tensor([1.0, 1e-8, 1e-9, 0.0])
    target = counts[0, 0].clamp(min=1e-30).log() - log_share - counts[0, 0].sum().log()
    assert (target[1:] < FLOOR).all()
    below = torch.tensor([-0.1, -5.0, -40.0], dtype=torch.float64)
    score = (counts / counts.sum(-1, keepdim=True)).clamp(min=1e-30).log() - log_share
    score[0, 0, 1:] = FLOOR + below
    score.requires_grad_()
    value = log_agreement(score, counts, log_share, torch.tensor([True]))
    value.backward()
    assert value.item() == pytest.approx(0.0, abs=1e-12)
    assert (score.grad == 0).all()
    above = score.detach().clone()
    above[0, 0, 1] = FLOOR + 2.0  # says "not so far" of what is far
    assert log_agreement(above, counts, log_share, torch.tensor([True])) == pytest.approx(1.5 / 16)


def test_softmax_adds_the_weighted_agreement_of_its_normalised_scores():
    exact, counts, log_share = composed_walk(2, 5)
    composed = torch.tensor([True, False])
    moved = exact + random(2, 4, 4)
    score = moved - torch.logsumexp(moved + log_share, dim=-1, keepdim=True)
    agreement = log_agreement(score, counts, log_share, composed)
    contrast, _ = softmax(Batch(moved, counts, log_share))
    value, statistics = softmax(Batch(moved, counts, log_share, composed))
    assert agreement > 0
    assert torch.allclose(value, contrast + WEIGHT * agreement)
    assert torch.allclose(statistics["agreement"], agreement)
    assert torch.allclose(statistics["information"], -contrast)


@pytest.mark.parametrize(
    ("done", "share"), [(0.0, 0.0), (0.125, 0.25), (0.25, 0.5), (0.5, 1.0), (0.75, 1.0), (1.0, 1.0)]
)
def test_the_weight_of_the_agreement_rises_over_the_first_half_of_the_training(done, share):
    exact, counts, log_share = composed_walk(2, 5)
    batch = Batch(exact + random(2, 4, 4), counts, log_share, torch.tensor([True, True]))
    _, statistics = softmax(batch)
    expected = share * WEIGHT * statistics["agreement"] - statistics["information"]
    for number in (done, torch.tensor(done)):
        value, at_that_time = softmax(batch, number)
        assert torch.allclose(value, expected)
        assert at_that_time == statistics


def test_nce_does_not_depend_on_how_much_is_done():
    batch = one(*batch_with_repeats()[:2])
    assert nce(batch, 0.0)[0] == nce(batch, 0.5)[0] == nce(batch)[0]


def test_the_weight_and_the_floor_of_the_agreement_are_what_is_asked_for():
    exact, counts, log_share = composed_walk(2, 5)
    batch = Batch(exact + 3 * random(2, 4, 4), counts, log_share, torch.tensor([True, True]))
    contrast, statistics = softmax(batch, agreement=0)
    assert set(statistics) == {"information"}
    score = batch.scores - torch.logsumexp(batch.scores + log_share, dim=-1, keepdim=True)
    gaps = {
        floor: losses.log_agreement(score, counts, log_share, batch.composed, floor=floor)
        for floor in (-12.0, -1.0)
    }
    assert gaps[-1.0] < 0.9 * gaps[-12.0]
    for floor, gap in gaps.items():
        value, _ = softmax(batch, agreement=0.7, floor=floor)
        assert torch.allclose(value, contrast + 0.7 * gap)


def test_scores_agree_with_what_is_expected_where_that_is_not_the_counts():
    exact, counts, log_share = composed_walk(2, 5)
    few = torch.zeros_like(counts).scatter_(-1, counts.argmax(-1, keepdim=True), 1.0)
    composed = torch.tensor([True, True])
    _, apart = softmax(Batch(exact, few, log_share, composed))
    _, statistics = softmax(Batch(exact, few, log_share, composed, counts))
    assert statistics["agreement"] == pytest.approx(0.0, abs=1e-12)
    assert apart["agreement"] > 0.1
    assert statistics["information"] == apart["information"]


def test_a_source_is_not_compared_with_targets_that_have_no_share():
    """A batch without the target gives the same loss, but for the mean over all entries."""
    exact, counts, _ = composed_walk(2)
    scores = exact + random(1, 4, 4)
    wide = torch.cat([scores, torch.full((1, 4, 1), 7.0, dtype=torch.float64)], dim=-1)
    wide.requires_grad_()
    log_share = torch.full((1, 4, 5), math.log(1 / 4), dtype=torch.float64)
    log_share[..., -1] = -torch.inf
    wide_counts = torch.cat([counts, torch.zeros(1, 4, 1, dtype=torch.float64)], dim=-1)
    composed = torch.tensor([True])
    value, with_it = softmax(Batch(wide, wide_counts, log_share, composed, wide_counts))
    _, without = softmax(Batch(scores, counts, log_share[..., :4], composed, counts))
    value.backward()
    assert torch.allclose(with_it["information"], without["information"])
    assert torch.allclose(with_it["agreement"], without["agreement"] * 4 / 5)
    assert (wide.grad[..., -1] == 0).all() and wide.grad.isfinite().all()
