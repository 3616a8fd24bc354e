import functools
import math

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from cogmap.data.sampling import pair_counts
from cogmap.temporal.losses import Loss, nce, softmax

PAIRS = 1e7  # exact joint probabilities become counts of this many pairs


def random(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def four_states(tau: int) -> tuple[Tensor, Tensor]:
    """Joint probabilities of (x_t, x_{t+tau}) and pi of an uneven reversible walk. (4, 4), (4,)"""
    weights = torch.tensor(
        [[3.0, 2.0, 0.5, 0.2], [2.0, 1.0, 1.0, 0.1], [0.5, 1.0, 4.0, 2.0], [0.2, 0.1, 2.0, 0.4]],
        dtype=torch.float64,
    )
    pi = weights.sum(1) / weights.sum()
    matrix = weights / weights.sum(1, keepdim=True)
    return pi[:, None] * torch.linalg.matrix_power(matrix, tau), pi


def fit(loss: Loss, counts: Tensor) -> Tensor:
    """The free table of scores that minimises a loss. (S, S)"""
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
        value, _ = loss(scores, counts)
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
    counts = pair_counts(source, target, 6).double()
    return table, counts, table[source][:, target], torch.eye(40, dtype=torch.float64)


def test_nce_of_a_plain_batch_is_the_pseudocode_of_app_c():
    scores = random(12, 12)
    logits = scores - math.log(len(scores) - 1)
    positives = logits.diagonal()
    negatives = F.softplus(logits).sum(1)
    negatives = negatives - F.softplus(positives)
    loss = (F.softplus(-positives) + negatives).mean()
    ours, statistics = nce(scores, torch.eye(12, dtype=torch.float64))
    assert torch.allclose(ours, loss)
    assert torch.allclose(statistics["positive"], F.softplus(-positives).mean())
    assert torch.allclose(statistics["negative"], negatives.mean())


@pytest.mark.parametrize("n", [1.0, 5.0, 300.0])
def test_nce_with_a_number_of_negatives_is_eq_5(n):
    scores = random(12, 12)
    sigma = torch.sigmoid(scores - math.log(n))
    others = ~torch.eye(12, dtype=torch.bool)
    loss = -sigma.diagonal().log().mean() - n * (1 - sigma)[others].log().mean()
    assert torch.allclose(nce(scores, torch.eye(12, dtype=torch.float64), negatives=n)[0], loss)


def test_nce_takes_the_number_of_other_pairs_for_n():
    scores, identity = random(12, 12), torch.eye(12, dtype=torch.float64)
    assert torch.allclose(nce(scores, identity)[0], nce(scores, identity, negatives=11.0)[0])


def test_softmax_of_a_plain_batch_is_cross_entropy_less_the_logarithm_of_its_size():
    scores = random(12, 12)
    loss = F.cross_entropy(scores, torch.arange(12)) - math.log(12)
    ours, statistics = softmax(scores, torch.eye(12, dtype=torch.float64))
    assert torch.allclose(ours, loss)
    assert torch.allclose(statistics["information"], -loss)


LOSSES = {"nce": nce, "nce of 3": functools.partial(nce, negatives=3.0), "softmax": softmax}
every_loss = pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES.keys())


@every_loss
@pytest.mark.parametrize("seed", range(3))
def test_a_loss_on_the_table_is_the_loss_on_the_batch(loss, seed):
    table, counts, batch, identity = batch_with_repeats(seed)
    assert counts.max() > 1
    on_table, table_statistics = loss(table, counts)
    on_batch, batch_statistics = loss(batch, identity)
    assert torch.allclose(on_table, on_batch)
    for name in batch_statistics:
        assert torch.allclose(table_statistics[name], batch_statistics[name])


@every_loss
def test_the_gradient_on_the_table_is_the_gradient_of_the_batch(loss):
    table, counts, _, identity = batch_with_repeats()
    source, target = torch.nonzero(counts).repeat_interleave(counts[counts > 0].long(), 0).T
    there = table.clone().requires_grad_()
    here = table.clone().requires_grad_()
    loss(there, counts)[0].backward()
    loss(here[source][:, target], identity)[0].backward()
    assert torch.allclose(there.grad, here.grad)


@every_loss
def test_targets_that_never_occur_do_not_matter(loss):
    table, counts, _, _ = batch_with_repeats()
    wide = torch.cat([table, torch.full((6, 1), 50.0, dtype=torch.float64)], dim=1)
    wide_counts = torch.cat([counts, torch.zeros(6, 1, dtype=torch.float64)], dim=1)
    wide.requires_grad_()
    value, _ = loss(wide, wide_counts)
    value.backward()
    assert torch.allclose(value, loss(table, counts)[0])
    assert torch.equal(wide.grad[:, -1], torch.zeros(6, dtype=torch.float64))


@every_loss
def test_the_loss_of_several_horizons_is_their_mean(loss):
    batches = [batch_with_repeats(seed)[:2] for seed in range(3)]
    together = loss(*(torch.stack(part) for part in zip(*batches, strict=True)))[0]
    apart = torch.stack([loss(*batch)[0] for batch in batches])
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
    assert torch.allclose(softmax(exact, joint)[1]["information"], (joint * exact).sum())


def test_softmax_leaves_a_free_offset_at_every_source_and_nce_none():
    table, counts, _, _ = batch_with_repeats()
    moved = table + random(6, 1, seed=9)
    assert torch.allclose(softmax(moved, counts)[0], softmax(table, counts)[0])
    assert abs(float(nce(moved, counts)[0] - nce(table, counts)[0])) > 1e-2
    fixed, _ = four_states(1)
    fitted = fit(nce, PAIRS * fixed)
    for shift in (-0.1, 0.1):
        moved = fitted + torch.tensor([shift, 0, 0, 0], dtype=torch.float64)[:, None]
        assert nce(moved, PAIRS * fixed)[0] > nce(fitted, PAIRS * fixed)[0]
