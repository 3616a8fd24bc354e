"""Batches of pairs as scores and counts (Alg. 1, lines 4-6), in two ways to the same loss.

Where observations repeat, pairs are counted on the table of distinct ones, and each of those is
encoded once an update. Elsewhere the rows of a batch are encoded as they come.

Long horizons are composed of two parts, after Chapman and Kolmogorov:

    p(y | x, s + t) = sum_z p(z | x, s) p(y | z, t)

The first part is recorded pairs (x, z); the second is the model's own p(y | z, t). A walk holds
few independent pairs a thousand steps apart but many that are a few dozen apart, so the recorded
part is short. It takes observations to be states, so that what follows z does not depend on x; and
with one encoder for both sides it takes the walk to be reversible, so that its pairs can be read
both ways (docs/differences.md).

Shape letters: T horizons, B sources, C targets, S distinct observations, N pairs.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from cogmap.data.sampling import Episodes
from cogmap.data.trajectories import Trajectories
from cogmap.temporal.losses import Batch
from cogmap.temporal.model import TemporalModel

TABLE_LIMIT = 4096  # distinct observations made up to which a whole table is scored in each update
SOURCES = 512  # of them that are the sources of an update
COMPOSE_FROM = 64  # shorter horizons have pairs enough of their own
FIRST_PART = (8, 256)  # lags that the recorded part of a composed horizon is drawn from


class Batches(Protocol):
    def draw(
        self, model: TemporalModel, taus: Tensor, generator: torch.Generator, *, share: slice
    ) -> Batch:
        """Scores and positive pairs at each horizon of `share`. (T,) -> (T', B, C)

        What is drawn for a horizon does not depend on the share, so that processes that divide
        an update's horizons between them see what one process would.
        """


def recorded_part(taus: Tensor, u: Tensor) -> Tensor:
    """The lag to record pairs at. (T,), (T,) uniform in [0, 1) -> (T,)

    All of a short horizon; of a composed one a lag from FIRST_PART, log-uniform, at most half.
    """
    least, most = FIRST_PART
    top = (taus // 2).clamp(least, most)
    lag = (least * (top / least) ** u).long()
    return torch.where(taus >= COMPOSE_FROM, lag, taus)


@torch.no_grad()
def onward(
    model: TemporalModel, middle: Tensor, targets: Tensor, rest: Tensor, log_share: Tensor
) -> Tensor:
    """p(y | z, t) of the model over the targets, t the rest of each horizon. -> (T, B, C)

    Where nothing is left of a horizon it ends at the middle, and the entry means nothing.
    """
    return torch.softmax(
        model.raw_pair_score(middle, targets, rest.clamp(min=1)) + log_share, dim=-1
    )


class TableBatches:
    """Pairs counted on a table of distinct observations."""

    def __init__(
        self, data: Trajectories, episodes: Episodes, *, pairs: int, compose: bool, both_ways: bool
    ) -> None:
        device = episodes.starts.device
        self._episodes, self._pairs = episodes, pairs
        self._compose, self._both_ways, self._spread = compose, both_ways, data.spread
        # Observations that were never made are left out: nothing is known of them.
        seen, index, counts = np.unique(
            np.asarray(data.index), return_inverse=True, return_counts=True
        )
        rows = torch.as_tensor(np.array(data.distinct()[0][seen]), device=device)
        self._table = rows if rows.dtype == torch.uint8 else rows.float()  # pictures stay small
        self._index = torch.as_tensor(index, dtype=torch.long, device=device)
        share = torch.as_tensor(counts / len(index), dtype=torch.float32, device=device)
        self._log_share = share.log()
        self._prepared: tuple[Tensor, ...] | None = None
        self._sources = min(SOURCES, len(self._table))
        # Targets need few digits, and a GPU multiplies short numbers many times faster.
        self._short = torch.bfloat16 if device.type == "cuda" else torch.float32

    def draw(
        self, model: TemporalModel, taus: Tensor, generator: torch.Generator, *, share: slice
    ) -> Batch:
        table, device = self._table, self._table.device

        def uniform(*shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
            return torch.rand(*shape, generator=generator, device=device, dtype=dtype)

        part, sources = uniform(len(taus)), uniform(len(table)).argsort()[: self._sources]
        around = uniform(*table.shape) * 2 - 1 if self._spread else None
        places = uniform(len(taus), self._pairs, dtype=torch.float64)[share]
        lags = (recorded_part(taus, part) if self._compose else taus)[share]
        taus = taus[share]
        counts = torch.stack([self._count(*each, sources) for each in zip(lags, places)])
        composed = lags < taus  # (T',)
        if self._prepared is None:
            self._prepared = model.prepare(table)
        looks = model.see(self._prepared)
        if self._compose:
            middle = looks.detach()
            kernel = onward(model, middle, middle, taus - lags, self._log_share)
            product = counts.to(self._short) @ kernel.to(self._short)
            counts = torch.where(composed[:, None, None], product.float(), counts)
        seen = looks if around is None else looks + self._spread * around  # states have a spread
        scores = model.raw_pair_score(seen, seen, taus, rows=sources)
        return Batch(scores, counts, self._log_share, composed)

    def _count(self, lag: Tensor, places: Tensor, sources: Tensor) -> Tensor:
        """How often each target follows each of some sources. (), (N,), (B,) -> (B, S)"""
        states = len(self._table)
        begin, end = self._episodes.pairs(lag, places)
        source, target = self._index[begin], self._index[end]
        if self._both_ways:
            source, target = torch.cat([source, target]), torch.cat([target, source])
        row = torch.full((states,), len(sources), device=places.device)  # others: one row more
        row[sources] = torch.arange(len(sources), device=places.device)
        counts = torch.zeros((len(sources) + 1) * states, device=places.device)
        ones = torch.ones(len(source), device=places.device)
        counts.scatter_add_(0, row[source] * states + target, ones)
        return counts.view(-1, states)[:-1]


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

    def _look(self, model: TemporalModel, rows: Tensor) -> Tensor:
        return model.look(self._observe(rows))

    def draw(
        self, model: TemporalModel, taus: Tensor, generator: torch.Generator, *, share: slice
    ) -> Batch:
        part = torch.rand(len(taus), generator=generator, device=self._device)
        places = torch.rand(
            len(taus), self._batch, generator=generator, device=self._device, dtype=torch.float64
        )
        even = torch.zeros((), device=self._device)  # targets are drawn as p0 is
        scores, counts = [], []
        for tau, u, place in zip(taus[share, None], part[share, None], places[share]):
            begin, end = self._episodes.pairs(tau, place)
            target, positive = self._look(model, end), self._identity[None]
            if self._compose:
                lag = recorded_part(tau, u)
                kernel = onward(model, self._look(model, begin + lag), target, tau - lag, even)
                positive = torch.where((lag < tau)[:, None, None], kernel, positive)
            scores.append(model.raw_pair_score(self._look(model, begin), target, tau))
            counts.append(positive)
        return Batch(torch.cat(scores), torch.cat(counts))


def batches_for(
    data: Trajectories, episodes: Episodes, *, pairs: int, batch: int, compose: bool, tied: bool
) -> Batches:
    """On the table where there is a small one, else on rows."""
    if data.table is not None and np.count_nonzero(data.distinct()[1]) <= TABLE_LIMIT:
        both_ways = compose and tied
        return TableBatches(data, episodes, pairs=pairs, compose=compose, both_ways=both_ways)
    return RowBatches(data, episodes, batch=batch, compose=compose)
