"""Contrasts that learn the temporal log-density ratio (Sec. 2.3), with one signature.

A loss takes a Batch and how much of the training is done, 0 to 1, and returns the mean over pairs
and named statistics. A plain batch of B pairs has the identity as its counts. Where observations
repeat, a batch of any size has its counts on the table of distinct ones: the same loss for the
price of encoding each distinct one once.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor
from torch.nn import functional as F

from cogmap.temporal.settings import TemporalTraining


@dataclass(frozen=True)
class Batch:
    """Raw scores of sources against targets, and how often each target followed each source."""

    scores: Tensor  # (T, B, C) beta0 <h, g> + beta1
    counts: Tensor  # (T, B, C) positive pairs; where composed, expected ones
    # (C,) or (T, B, C): log p0 of the targets, -inf for those that a source is not compared with.
    # None: p0 is how often the counts have each target.
    log_share: Tensor | None = None
    composed: Tensor | None = None  # (T,) bool: horizons whose counts are expected ones
    # (T, B, C) what a composed score should agree with, where the counts are too few for it.
    expected: Tensor | None = None


class Loss(Protocol):
    def __call__(self, batch: Batch, done: Tensor | float) -> tuple[Tensor, dict[str, Tensor]]: ...


def nce(
    batch: Batch, done: Tensor | float = 1.0, *, negatives: float | None = None
) -> tuple[Tensor, dict[str, Tensor]]:
    """Eq. 5: the paper's binary contrast, sigma(G - log N) against N negatives a source.

    Negatives are the other pairs' targets. With log_share there are as many, but they follow p0:
    a batch of some sources does not see how often each target occurs. N is their number unless
    `negatives` says otherwise; then each counts N / their number.
    """
    scores, counts = batch.scores, batch.counts
    pairs = counts.sum((-2, -1), keepdim=True)  # (T, 1, 1)
    sources = counts.sum(-1, keepdim=True)  # (T, B, 1)
    if batch.log_share is None:
        others = sources * counts.sum(-2, keepdim=True) - counts  # (T, B, C)
    else:
        others = sources * (pairs - 1) * batch.log_share.exp()
    if negatives is None:
        logits, weight = scores - (pairs - 1).log(), others
    else:
        logits, weight = scores - math.log(negatives), others * (negatives / (pairs - 1))
    positive = (counts * F.softplus(-logits)).sum((-2, -1)) / pairs[..., 0, 0]
    negative = (weight * F.softplus(logits)).sum((-2, -1)) / pairs[..., 0, 0]
    return (positive + negative).mean(), {
        "positive": positive.mean().detach(),
        "negative": negative.mean().detach(),
    }


def softmax(
    batch: Batch,
    done: Tensor | float = 1.0,
    *,
    agreement: float = TemporalTraining.agreement,
    floor: float = TemporalTraining.agreement_floor,
) -> tuple[Tensor, dict[str, Tensor]]:
    """Picks each source's target out of all targets (InfoNCE), and agrees with composed horizons.

    The weight `agreement` is reached after half of the training, in a straight line: a young
    model's composed horizons say that everything is equally likely, and agreeing with that would
    make it so.

    The contrast leaves a free offset at every source, so scores must be normalised over a bank
    before they are compared between sources (Eq. 12); TemporalModel does so when `normalised`.
    """
    pairs = batch.counts.sum((-2, -1))
    log_share = batch.log_share
    if log_share is None:
        targets = batch.counts.sum(-2)  # (T, C)
        share = (targets / pairs[:, None]).clamp(min=1e-30)
        log_share = torch.where(targets > 0, share.log(), -torch.inf)[:, None]
    score = batch.scores - torch.logsumexp(batch.scores + log_share, dim=-1, keepdim=True)
    # Mutual information is at least -contrast: the mean log-ratio of the positives.
    contrast = -((batch.counts * score).sum((-2, -1)) / pairs).mean()
    statistics = {"information": -contrast.detach()}
    if batch.composed is None or agreement == 0:
        return contrast, statistics
    expected = batch.counts if batch.expected is None else batch.expected
    gap = log_agreement(score, expected, log_share, batch.composed, floor=floor)
    statistics["agreement"] = gap.detach()
    weight = agreement * torch.as_tensor(done).mul(2).clamp(max=1)
    return contrast + weight * gap, statistics


def log_agreement(
    score: Tensor, expected: Tensor, log_share: Tensor, composed: Tensor, *, floor: float
) -> Tensor:
    """How far G lies from the log of its composed counterpart, over every source and target.

    The contrast weighs a target by its probability, so it does not care for goals that are far:
    e^-8 is as good as e^-10. A planner does: it lives on their differences. Huber's loss, above a
    floor, zero for horizons that are not composed, for sources without pairs and for targets
    without a share. (T, B, C) x 2, (C,) or (T, B, C), (T,) -> ()
    """
    total = expected.sum(-1, keepdim=True)  # (T, B, 1)
    kernel = (expected / total.clamp(min=1e-9)).clamp(min=1e-30)
    target = (kernel.log() - log_share).clamp(min=floor)
    error = F.smooth_l1_loss(score.clamp(min=floor), target, reduction="none")
    error = torch.where((total > 0) & log_share.isfinite(), error, 0.0).mean((-2, -1))  # (T,)
    return (error * composed).mean()
