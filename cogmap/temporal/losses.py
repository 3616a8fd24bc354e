"""Contrasts that learn the temporal log-density ratio (Sec. 2.3), with one signature.

A loss takes a Batch and returns the mean over its pairs and named statistics.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional as F

from cogmap.temporal.batches import Batch

Loss = Callable[[Batch], tuple[Tensor, dict[str, Tensor]]]

FAR = -12.0  # nats: scores below this say "far" and no more


def nce(batch: Batch, *, negatives: float | None = None) -> tuple[Tensor, dict[str, Tensor]]:
    """Eq. 5: the paper's binary contrast, sigma(G - log N) against N negatives a source.

    Negatives are the rows of other pairs. N is their number unless `negatives` says otherwise; then
    each counts N / their number.
    """
    number = len(batch.other) - 2 if negatives is None else negatives
    logits = batch.scores - math.log(number)
    pulled = mean(F.softplus(-logits), batch.positive)
    pushed = number * mean(F.softplus(logits), batch.other)
    return (pulled + pushed).mean(), {
        "positive": mean(batch.scores, batch.positive).mean().detach(),
        "negative": mean(batch.scores, batch.other).mean().detach(),
    }


def softmax(batch: Batch) -> tuple[Tensor, dict[str, Tensor]]:
    """Picks each source's target out of the batch (InfoNCE), and agrees with composed horizons.

    The contrast leaves a free offset at every source, so scores must be normalised over a bank
    before they are compared between sources (Eq. 12); TemporalModel does so when `normalised`.
    """
    score = normalised(batch.scores, batch.other + batch.positive)
    # Mutual information is at least -contrast: the mean log-ratio of the positives.
    contrast = -mean(score, batch.positive).mean()
    statistics = {"information": -contrast.detach()}
    if batch.far is None or batch.expected is None:
        return contrast, statistics
    gap = agreement(batch.far, batch.expected, batch.other).mean()
    statistics["agreement"] = gap.detach()
    return contrast + gap, statistics


def agreement(far: Tensor, expected: Tensor, other: Tensor) -> Tensor:
    """How far G lies from the log of its composed counterpart. (T, B, B) x 2, (B, B) -> (T,)

    The contrast weighs a target by its probability, so it does not care for goals that are far:
    e^-8 is as good as e^-10. A planner does: it lives on their differences. Huber's loss.
    """
    kernel = (expected * other).clamp(min=1e-30)
    log_share = -other.sum(-1, keepdim=True).log()
    target = kernel.log() - kernel.sum(-1, keepdim=True).log() - log_share
    score = normalised(far, other)
    return mean(
        F.smooth_l1_loss(score.clamp(min=FAR), target.clamp(min=FAR), reduction="none"), other
    )


def normalised(scores: Tensor, targets: Tensor) -> Tensor:
    """Scores whose exponential is one on average over some targets. (T, B, B), (B, B)"""
    log_share = targets.log() - targets.sum(-1, keepdim=True).log()
    return scores - torch.logsumexp(scores + log_share, dim=-1, keepdim=True)


def mean(values: Tensor, over: Tensor) -> Tensor:
    """The mean over some entries. (T, B, B), (B, B) of 0 and 1 -> (T,)"""
    return (values * over).sum((-2, -1)) / over.sum()
