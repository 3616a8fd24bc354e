"""The contrasts in closed form: what they are, and what minimises them (Sec. 2.3)."""

import functools
import math

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from cogmap.planning.settings import Planning
from cogmap.temporal.batches import Batch
from cogmap.temporal.losses import FAR, Loss, agreement, nce, softmax

ROWS = 12  # of a batch of six pairs
MANY = 1e7  # rows of other pairs for each row that follows


def random(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


ITSELF = torch.eye(ROWS, dtype=torch.float64)
PARTNER = ITSELF.roll(ROWS // 2, dims=0)
OTHER = 1 - ITSELF - PARTNER


def pairs(scores: Tensor, **composed: Tensor) -> Batch:
    """A batch of pairs that are read both ways. (T, ROWS, ROWS)"""
    return Batch(scores, PARTNER, OTHER, **composed)


def one_way(scores: Tensor) -> Batch:
    return Batch(scores, PARTNER.triu(), OTHER)


def composed(taus: int = 3, seed: int = 0) -> dict[str, Tensor]:
    """Scores at horizons, and what composing might expect there."""
    expected = random(taus, ROWS, ROWS, seed=seed + 50).softmax(-1)
    return {"far": 2 * random(taus, ROWS, ROWS, seed=seed), "expected": expected}


def four_states(tau: int) -> tuple[Tensor, Tensor]:
    """Joint probabilities of (x_t, x_{t+tau}) and pi of an uneven reversible walk. (4, 4), (4,)"""
    weights = torch.tensor(
        [[3.0, 2.0, 0.5, 0.2], [2.0, 1.0, 1.0, 0.1], [0.5, 1.0, 4.0, 2.0], [0.2, 0.1, 2.0, 0.4]],
        dtype=torch.float64,
    )
    pi = weights.sum(1) / weights.sum()
    matrix = weights / weights.sum(1, keepdim=True)
    return pi[:, None] * torch.linalg.matrix_power(matrix, tau), pi


def all_pairs(scores: Tensor, tau: int) -> Batch:
    """Every pair of a long walk on four states, each state being as many rows as it is visited."""
    joint, pi = four_states(tau)
    return Batch(scores[None], joint, MANY * pi[:, None] * pi)


def exact_ratio(tau: int) -> Tensor:
    joint, pi = four_states(tau)
    return (joint / pi[:, None] / pi).log()


def fit(loss: Loss, tau: int) -> Tensor:
    """The free table of scores that minimises a loss over all pairs of a long walk. (4, 4)"""
    scores = torch.zeros(4, 4, dtype=torch.float64, requires_grad=True)
    optimiser = torch.optim.LBFGS(
        [scores],
        max_iter=2000,
        tolerance_grad=1e-12,
        tolerance_change=0.0,
        line_search_fn="strong_wolfe",
    )

    def closure() -> Tensor:
        optimiser.zero_grad()
        value, _ = loss(all_pairs(scores, tau))
        value.backward()
        return value

    optimiser.step(closure)
    return scores.detach()


@pytest.mark.parametrize("n", [1.0, 5.0, 300.0])
def test_nce_is_eq_5_with_the_rows_of_other_pairs_as_negatives(n):
    scores = random(ROWS, ROWS)
    sigma = torch.sigmoid(scores - math.log(n))
    pulled, pushed = [], []
    for x in range(ROWS):
        partner = (x + ROWS // 2) % ROWS
        pulled.append(-sigma[x, partner].log())
        pushed += [-(1 - sigma[x, y]).log() for y in range(ROWS) if y not in (x, partner)]
    expected = torch.stack(pulled).mean() + n * torch.stack(pushed).mean()
    value, statistics = nce(pairs(scores[None]), negatives=n)
    assert torch.allclose(value, expected)
    assert torch.allclose(statistics["positive"], scores[PARTNER > 0].mean())
    assert torch.allclose(statistics["negative"], scores[OTHER > 0].mean())


def test_nce_takes_the_number_of_rows_of_other_pairs_for_n():
    batch = pairs(random(1, ROWS, ROWS))
    assert torch.equal(nce(batch)[0], nce(batch, negatives=ROWS - 2)[0])
    assert not torch.allclose(nce(batch)[0], nce(batch, negatives=ROWS - 1)[0])


def test_softmax_is_cross_entropy_among_all_rows_but_itself_less_the_logarithm_of_their_number():
    scores = random(ROWS, ROWS)
    partner = (torch.arange(ROWS) + ROWS // 2) % ROWS
    without = scores.masked_fill(ITSELF > 0, -torch.inf)
    expected = F.cross_entropy(without, partner) - math.log(ROWS - 1)
    value, statistics = softmax(pairs(scores[None]))
    assert torch.allclose(value, expected)
    assert torch.allclose(statistics["information"], -expected)
    assert set(statistics) == {"information"}


@pytest.mark.parametrize("loss", [nce, softmax])
def test_rows_that_nothing_followed_are_not_pulled(loss):
    scores = random(1, ROWS, ROWS).requires_grad_()
    value, _ = loss(one_way(scores))
    value.backward()
    back = PARTNER.tril()
    assert (scores.grad[0][back > 0] == 0).all()
    assert (scores.grad[0][PARTNER.triu() > 0] < 0).all()
    moved = scores.detach() + 3 * back
    torch.testing.assert_close(loss(one_way(moved))[0], value)


@pytest.mark.parametrize("loss", [nce, softmax])
def test_no_row_is_compared_with_itself(loss):
    scores = random(1, ROWS, ROWS).requires_grad_()
    value, _ = loss(pairs(scores))
    value.backward()
    assert (scores.grad[0].diagonal() == 0).all()
    assert (scores.grad[0][ITSELF == 0] != 0).all()


LOSSES = {"nce": nce, "nce of 3": functools.partial(nce, negatives=3.0), "softmax": softmax}


@pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES.keys())
def test_the_loss_of_several_horizons_is_their_mean(loss):
    scores, more = random(3, ROWS, ROWS, seed=9), composed()
    together, statistics = loss(pairs(scores, **more))
    apart = [
        loss(pairs(scores[t : t + 1], **{name: value[t : t + 1] for name, value in more.items()}))
        for t in range(3)
    ]
    assert torch.allclose(together, torch.stack([value for value, _ in apart]).mean())
    for name, value in statistics.items():
        assert torch.allclose(value, torch.stack([each[name] for _, each in apart]).mean())


NEGATIVES = [None, 1.0, 7.0, 500.0]


@pytest.mark.parametrize("tau", [1, 3])
@pytest.mark.parametrize("negatives", NEGATIVES)
def test_nce_recovers_the_exact_ratio_on_a_four_state_walk_whatever_n_is(negatives, tau):
    exact = exact_ratio(tau)
    assert exact.abs().max() > 0.1
    fitted = fit(functools.partial(nce, negatives=negatives), tau)
    assert torch.allclose(fitted, exact, atol=1e-4)


@pytest.mark.parametrize("tau", [1, 3])
def test_softmax_recovers_the_exact_ratio_up_to_an_offset_of_each_source(tau):
    gap = fit(softmax, tau) - exact_ratio(tau)
    assert torch.allclose(gap, gap[:, :1].expand(4, 4), atol=1e-4)
    _, pi = four_states(tau)
    fitted = fit(softmax, tau)
    normalised = fitted - torch.logsumexp(fitted + pi.log(), dim=1, keepdim=True)
    assert torch.allclose(normalised, exact_ratio(tau), atol=1e-4)


def test_softmax_leaves_a_free_offset_at_every_source_and_nce_none():
    exact, offset = exact_ratio(1), random(4, 1)
    values = [softmax(all_pairs(exact + shift, 1))[0] for shift in (0, offset)]
    assert torch.allclose(*values)
    for shift in (-0.1, 0.1):
        moved = exact + torch.tensor([shift, 0, 0, 0], dtype=torch.float64)[:, None]
        assert nce(all_pairs(moved, 1))[0] > nce(all_pairs(exact, 1))[0] + 1e-5


def test_at_the_exact_ratio_softmax_tells_the_mutual_information():
    joint, _ = four_states(1)
    _, statistics = softmax(all_pairs(exact_ratio(1), 1))
    information = (joint * exact_ratio(1)).sum()
    assert information > 0.1
    assert torch.allclose(statistics["information"], information, atol=1e-6)


EVERY = torch.ones(4, 4, dtype=torch.float64)  # rows that are four states, each once


def even_walk(tau: int) -> Tensor:
    """P^tau of a walk that is everywhere equally often. (4, 4)"""
    step = torch.tensor(
        [[0.7, 0.3, 0.0, 0.0], [0.3, 0.5, 0.2, 0.0], [0.0, 0.2, 0.4, 0.4], [0.0, 0.0, 0.4, 0.6]],
        dtype=torch.float64,
    )
    return torch.linalg.matrix_power(step, tau)


@pytest.mark.parametrize(("first", "second"), [(3, 4), (5, 20)])
def test_agreement_is_zero_for_scores_that_obey_chapman_and_kolmogorov(first, second):
    expected = (even_walk(first) @ even_walk(second))[None]
    scores = even_walk(first + second)[None].log()
    assert agreement(scores, expected, EVERY) == pytest.approx(0.0, abs=1e-12)
    offset = random(1, 4, 1)  # of each source: no score has one once it is normalised
    assert agreement(scores + offset, expected, EVERY) == pytest.approx(0.0, abs=1e-12)


def test_agreement_is_positive_for_all_other_scores():
    expected = even_walk(7)[None]
    for seed in range(5):
        moved = expected.log() + 0.1 * random(1, 4, 4, seed=seed)
        assert agreement(moved, expected, EVERY) > 1e-4
    assert agreement(even_walk(8)[None].log(), expected, EVERY) > 1e-4


def test_agreement_is_hubers_mean_over_the_rows_of_other_pairs():
    more = composed()
    errors = []
    for far, expected in zip(more["far"], more["expected"]):
        for x in range(ROWS):
            others = OTHER[x] > 0
            score, target = far[x, others].softmax(0), expected[x, others]
            errors.append(score.log() - (target / target.sum()).log())
    error = torch.stack(errors)
    assert 0 < (error.abs() < 1).sum() < error.numel()
    huber = torch.where(error.abs() < 1, error.square() / 2, error.abs() - 0.5)
    ours = agreement(more["far"], more["expected"], OTHER)
    assert torch.allclose(ours, huber.view(3, -1).mean(1))


def test_agreement_cares_for_a_target_however_unlikely_it_is():
    """Of a source's targets the contrast feels the likely ones; agreement feels all alike."""
    expected = even_walk(3)[None]
    assert expected[0, 0].max() > 10 * expected[0, 0].min() > 0
    scores = (expected.log() + 0.5 * torch.tensor([1, 1, 1, -1])).requires_grad_()
    agreement(scores, expected, EVERY).backward()
    pull = scores.grad[0, 0]
    assert pull[3] < 0 and (pull[:3] > 0).all()
    assert pull[3].abs() > pull[:3].max()


def test_agreement_ignores_rows_that_are_not_of_another_pair():
    more = composed(taus=1)
    far, expected = more["far"].requires_grad_(), more["expected"]
    value = agreement(far, expected, OTHER)
    value.backward()
    assert (far.grad[0][OTHER == 0] == 0).all() and (far.grad[0][OTHER > 0] != 0).all()
    beside = agreement(far + 5 * PARTNER, expected + 9 * ITSELF, OTHER)
    torch.testing.assert_close(beside, value)


def test_agreement_ignores_differences_between_scores_that_say_far():
    """Beyond FAR below what is usual: e^-20 and nothing at all are both never."""
    far = torch.tensor([[0.0, 0.0, FAR - 3, FAR - 8]], dtype=torch.float64).expand(1, 4, 4)
    expected = torch.tensor([0.5, 0.5, 0.0, 1e-9], dtype=torch.float64).expand(1, 4, 4)
    scores = far.clone().requires_grad_()
    value = agreement(scores, expected, EVERY)
    value.backward()
    assert value.item() == pytest.approx(0.0, abs=1e-8)
    assert scores.grad.abs().max() < 1e-8
    near = far.clone()
    near[..., 2] = FAR + 4  # says "not so far" of what is never reached
    assert agreement(near, expected, EVERY) > 0.5


def test_agreement_tells_scores_apart_that_lie_a_few_nats_beyond_a_planners_view():
    """A planner that comes nearer will ask for them."""
    view = Planning().view
    told = torch.tensor([0.0, 0.0, 0.0, -view - 2], dtype=torch.float64)
    expected = torch.tensor([0.0, 0.0, 0.0, -view - 3], dtype=torch.float64).softmax(0)
    scores = told.expand(1, 4, 4).clone().requires_grad_()
    value = agreement(scores, expected.expand(1, 4, 4), EVERY)
    value.backward()
    assert value.item() == pytest.approx(0.5 / 4, rel=0.01)  # Huber's, of a nat in one of four
    assert (scores.grad[..., 3] > 0.05).all()


def test_softmax_adds_the_mean_agreement_of_all_horizons():
    scores, more = random(3, ROWS, ROWS, seed=9), composed()
    gaps = agreement(more["far"], more["expected"], OTHER)
    contrast, _ = softmax(pairs(scores))
    more["far"].requires_grad_()
    value, statistics = softmax(pairs(scores, **more))
    value.backward()
    assert gaps.min() > 0.1
    assert torch.allclose(statistics["agreement"], gaps.mean())
    assert torch.allclose(statistics["information"], -contrast)
    assert torch.allclose(value, contrast + statistics["agreement"])
    assert (more["far"].grad[:, OTHER > 0] != 0).all()
