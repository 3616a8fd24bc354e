"""Batches of pairs as scores and counts (Alg. 1, lines 4-6), in two ways to the same loss.

Where observations repeat, pairs are counted on the table of distinct ones, and each of those is
encoded once an update. Elsewhere the rows of a batch are encoded as they come.

Long horizons are composed from two halves, after Chapman and Kolmogorov:

    p(y | x, s + t) = sum_z p(z | x, s) p(y | z, t)

The first half is recorded pairs (x, z); the second is the model's own p(y | z, t). A walk holds
few independent pairs a thousand steps apart but many half as far, and so on down: the estimate's
variance falls by as much as the walk forgets in t steps. It takes observations to be states, so
that what follows z does not depend on x (docs/differences.md).

Shape letters: T horizons, B sources, C targets, S distinct observations.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from cogmap.data.sampling import Episodes, pair_counts
from cogmap.data.trajectories import Trajectories
from cogmap.temporal.model import TemporalModel

TABLE_LIMIT = 2048  # distinct observations up to which a whole table is scored in each update
COMPOSE_FROM = 64  # shorter horizons have pairs enough of their own


class Batches(Protocol):
    def draw(
        self, model: TemporalModel, taus: Tensor, generator: torch.Generator
    ) -> tuple[Tensor, Tensor]:
        """Raw scores and counts of positive pairs at each horizon. (T,) -> (T, B, C) x 2"""


def first_lag(taus: Tensor, *, compose: bool) -> Tensor:
    """The lag to record pairs at: half of a composed horizon, all of any other. (T,) -> (T,)"""
    return torch.where(taus >= COMPOSE_FROM, taus // 2, taus) if compose else taus


@torch.no_grad()
def onward(
    model: TemporalModel, middle: Tensor, targets: Tensor, taus: Tensor, log_share: Tensor
) -> Tensor:
    """p(y | z, t) of the model over the targets, t the rest of each horizon. -> (T, B, C)

    Horizons that are not composed end at the middle: theirs is the identity.
    """
    rest = (taus - first_lag(taus, compose=True)).clamp(min=1)
    share = torch.softmax(model.raw_pair_score(middle, targets, rest) + log_share, dim=-1)
    identity = torch.eye(len(middle), device=middle.device)
    return torch.where((taus >= COMPOSE_FROM)[:, None, None], share, identity)


class TableBatches:
    """Pairs counted on a table of distinct observations."""

    def __init__(
        self, data: Trajectories, episodes: Episodes, *, pairs: int, compose: bool
    ) -> None:
        device = episodes.starts.device
        self._episodes, self._pairs = episodes, pairs
        self._compose, self._spread = compose, data.spread
        self._table = torch.as_tensor(np.array(data.table), dtype=torch.float32, device=device)
        self._index = torch.as_tensor(np.array(data.index), dtype=torch.long, device=device)
        share = torch.bincount(self._index, minlength=len(self._table)) / len(self._index)
        self._log_share = share.clamp(min=1e-12).log()

    def draw(
        self, model: TemporalModel, taus: Tensor, generator: torch.Generator
    ) -> tuple[Tensor, Tensor]:
        table, index = self._table, self._index
        counts = []
        for lag in first_lag(taus, compose=self._compose).unbind():
            source, target = self._episodes.pairs(lag, self._pairs, generator)
            counts.append(pair_counts(index[source], index[target], len(table)))
        positives = torch.stack(counts)  # (T, S, S)
        if self._compose:
            positives = positives @ onward(model, table, table, taus, self._log_share)
        around = torch.rand(table.shape, generator=generator, device=table.device) * 2 - 1
        seen = table + self._spread * around
        return model.raw_pair_score(seen, seen, taus), positives


class RowBatches:
    """Pairs as rows of a dataset; the other rows' targets are the negatives."""

    def __init__(
        self, data: Trajectories, episodes: Episodes, *, batch: int, compose: bool
    ) -> None:
        self._device = episodes.starts.device
        self._data, self._episodes, self._batch, self._compose = data, episodes, batch, compose
        self._identity = torch.eye(batch, device=self._device)
        self._everything = None
        if self._device.type != "cpu":  # states fit on the device whole; a graph needs them there
            rows = data.rows(np.arange(len(data)))
            self._everything = torch.as_tensor(rows, dtype=torch.float32).to(self._device)

    def _observe(self, rows: Tensor) -> Tensor:
        if self._everything is not None:
            return self._everything[rows]
        return torch.as_tensor(self._data.rows(rows.numpy()), dtype=torch.float32)

    def draw(
        self, model: TemporalModel, taus: Tensor, generator: torch.Generator
    ) -> tuple[Tensor, Tensor]:
        scores, counts = [], []
        for tau in taus[:, None].unbind():  # (1,) each
            begin, end = self._episodes.pairs(tau, self._batch, generator)
            target = self._observe(end)
            if self._compose:
                middle = self._observe(begin + first_lag(tau, compose=True))
                even = torch.zeros((), device=self._device)  # targets are drawn as p0 is
                counts.append(onward(model, middle, target, tau, even))
            else:
                counts.append(self._identity[None])
            scores.append(model.raw_pair_score(self._observe(begin), target, tau))
        return torch.cat(scores), torch.cat(counts)


def batches_for(
    data: Trajectories, episodes: Episodes, *, pairs: int, batch: int, compose: bool
) -> Batches:
    """On the table where there is a small one, else on rows."""
    if data.table is not None and len(data.table) <= TABLE_LIMIT:
        return TableBatches(data, episodes, pairs=pairs, compose=compose)
    return RowBatches(data, episodes, batch=batch, compose=compose)
