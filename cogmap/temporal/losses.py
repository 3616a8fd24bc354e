"""Contrasts that learn the temporal log-density ratio (Sec. 2.3), with one signature.

A loss takes raw scores (..., B, C) and the counts of positive pairs among them (..., B, C), and
returns the mean over pairs and named statistics. A plain batch of B pairs has the identity as its
counts. Where observations repeat, a batch of any size has its counts on the table of distinct
ones: the same loss for the price of encoding each distinct observation once.
"""

from __future__ import annotations

import math
from typing import Protocol

import torch
from torch import Tensor
from torch.nn import functional as F


class Loss(Protocol):
    def __call__(self, scores: Tensor, counts: Tensor) -> tuple[Tensor, dict[str, Tensor]]: ...


def nce(
    scores: Tensor, counts: Tensor, *, negatives: float | None = None
) -> tuple[Tensor, dict[str, Tensor]]:
    """Eq. 5: the paper's binary contrast, sigma(G - log N) against N negatives a source.

    Negatives are the other pairs' targets; N is their number unless `negatives` says otherwise
    (then each counts N / their number).
    """
    pairs = counts.sum((-2, -1), keepdim=True)  # (..., 1, 1)
    others = counts.sum(-1, keepdim=True) * counts.sum(-2, keepdim=True) - counts  # (..., B, C)
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


def softmax(scores: Tensor, counts: Tensor) -> tuple[Tensor, dict[str, Tensor]]:
    """Picks each source's target out of the batch's targets (InfoNCE).

    It leaves a free offset at every source, so scores must be normalised over a bank before they
    are compared between sources (Eq. 12); TemporalModel does so when `normalised`.
    """
    pairs = counts.sum((-2, -1))
    sources, targets = counts.sum(-1), counts.sum(-2)  # (..., B), (..., C)
    share = torch.where(targets > 0, targets / pairs[..., None], 0.0)
    log_share = torch.where(targets > 0, share.clamp(min=1e-30).log(), -torch.inf)
    log_partition = torch.logsumexp(scores + log_share[..., None, :], dim=-1)  # (..., B)
    agree = (counts * scores).sum((-2, -1)) / pairs
    apart = (sources * log_partition).sum(-1) / pairs
    # Mutual information is at least -loss: the mean log-ratio of the positives.
    return (apart - agree).mean(), {"information": (agree - apart).mean().detach()}
