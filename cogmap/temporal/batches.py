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
from cogmap.errors import CogmapError
from cogmap.temporal.losses import Batch
from cogmap.temporal.model import TemporalModel
from cogmap.temporal.settings import TemporalTraining

TABLE_LIMIT = 4096  # distinct observations up to which a whole table is scored in each update
SOURCES = 512  # of them that are the sources of an update
DEVICE_SHARE = 0.5  # of a GPU's free memory that a dataset may take; training needs the rest
COPIED_ROWS = 1 << 14  # that go to a device at once


class Batches(Protocol):
    def draw(
        self, model: TemporalModel, taus: Tensor, generator: torch.Generator, *, share: slice
    ) -> Batch:
        """Scores and positive pairs at each horizon of `share`. (T,) -> (T', B, C)

        A horizon may give several entries of the batch, which stand together.
        What is drawn for a horizon does not depend on the share, so that processes that divide
        an update's horizons between them see what one process would.
        """

    def describe(self) -> dict[str, str | int | None]:
        """Which way pairs go to the loss, for the first line of metrics.jsonl."""


def recorded_part(taus: Tensor, u: Tensor, settings: TemporalTraining) -> Tensor:
    """The lag to record pairs at. (T,), (T,) uniform in [0, 1) -> (T,)

    All of a short horizon; of a composed one a lag from `recorded_lags`, log-uniform, at most half.
    """
    least, most = settings.recorded_lags
    top = (taus // 2).clamp(least, most)
    lag = (least * (top / least) ** u).long()
    return torch.where(taus >= max(settings.compose_from, 2 * least), lag, taus)


@torch.no_grad()
def onward(
    model: TemporalModel,
    middle: Tensor,
    targets: Tensor,
    rest: Tensor,
    log_share: Tensor,
) -> Tensor:
    """p(y | z, t) of the model over the targets, t the rest of each horizon. -> (T, B, C)

    If the recorded lag equals tau, t counts as 1, and the caller discards the result.
    """
    scores = model.raw_pair_score(middle, targets, rest.clamp(min=1))
    return torch.softmax(scores + log_share, dim=-1)


def few_digits(device: torch.device) -> torch.dtype:
    """For products that compose: a GPU multiplies short numbers many times faster."""
    return torch.bfloat16 if device.type == "cuda" else torch.float32


class TableBatches:
    """Pairs counted on a table of distinct observations."""

    def __init__(self, data: Trajectories, episodes: Episodes, settings: TemporalTraining) -> None:
        device = episodes.starts.device
        self._episodes, self._settings, self._spread = episodes, settings, data.spread
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
        self._short = few_digits(device)

    def describe(self) -> dict[str, str | int | None]:
        return {"path": "table", "distinct": len(self._table)}

    def draw(
        self, model: TemporalModel, taus: Tensor, generator: torch.Generator, *, share: slice
    ) -> Batch:
        table, device, settings = self._table, self._table.device, self._settings

        def uniform(*shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
            return torch.rand(*shape, generator=generator, device=device, dtype=dtype)

        part, sources = uniform(len(taus)), uniform(len(table)).argsort()[: self._sources]
        around = uniform(*table.shape) * 2 - 1 if self._spread else None
        draws = uniform(len(taus), settings.pairs, dtype=torch.float64)[share]
        lags = (recorded_part(taus, part, settings) if settings.composes else taus)[share]
        taus = taus[share]
        counts = torch.stack([self._count(*each, sources) for each in zip(lags, draws)])
        composed = lags < taus  # (T',)
        if self._prepared is None:
            self._prepared = model.prepare(table)
        looks = model.see(self._prepared)
        if settings.composes:
            middle = looks.detach()
            kernel = onward(model, middle, middle, taus - lags, self._log_share)
            product = counts.to(self._short) @ kernel.to(self._short)
            counts = torch.where(composed[:, None, None], product.float(), counts)
        # A row of the table stands for all states within the spread around it.
        seen = looks if around is None else looks + self._spread * around
        scores = model.raw_pair_score(seen, seen, taus, rows=sources)
        return Batch(scores, counts, self._log_share, composed)

    def _count(self, lag: Tensor, draws: Tensor, sources: Tensor) -> Tensor:
        """How often each target follows each of some sources. (), (N,), (B,) -> (B, S)"""
        states = len(self._table)
        begin, end = self._episodes.pairs(lag, draws)
        source, target = self._index[begin], self._index[end]
        if self._settings.both_ways:
            source, target = torch.cat([source, target]), torch.cat([target, source])
        # Pairs of all other sources are counted in one row more, which is dropped.
        row = torch.full((states,), len(sources), device=draws.device)
        row[sources] = torch.arange(len(sources), device=draws.device)
        counts = torch.zeros((len(sources) + 1) * states, device=draws.device)
        ones = torch.ones(len(source), device=draws.device)
        counts.scatter_add_(0, row[source] * states + target, ones)
        return counts.view(-1, states)[:-1]


class Rows:
    """Observations by row, in the type they were recorded in.

    A column is `held` on the device, because a training step that is captured as a CUDA graph can
    read nothing else; for a CPU it stays where it is, a memory map perhaps.
    """

    def __init__(self, data: Trajectories, device: torch.device, *, held: bool) -> None:
        self._data, self._index = data, None
        self._column: Tensor | None = None
        if not held:
            return
        column = data.table if data.table is not None else data.observations
        assert column is not None
        if device.type == "cuda":
            check_fits(column.nbytes, torch.cuda.mem_get_info(device)[0])
        kind = torch.as_tensor(np.array(column[:1])).dtype
        self._column = torch.empty(column.shape, dtype=kind, device=device)
        for begin in range(0, len(column), COPIED_ROWS):  # never twice in the host's memory
            some = slice(begin, begin + COPIED_ROWS)
            self._column[some] = torch.as_tensor(np.array(column[some]), device=device)
        if data.index is not None:
            self._index = torch.as_tensor(np.array(data.index), dtype=torch.long, device=device)

    def __call__(self, rows: Tensor) -> Tensor:
        """(N,) -> (N, ...); pictures stay uint8, all else becomes float32"""
        if self._column is None:
            seen = torch.as_tensor(np.array(self._data.rows(rows.numpy())))
        else:
            seen = self._column[rows if self._index is None else self._index[rows]]
        return seen if seen.dtype == torch.uint8 else seen.float()


def check_fits(size: int, free: int) -> None:
    """Raises where a dataset would take too much of a GPU's memory. Both in bytes."""
    if size > DEVICE_SHARE * free:
        raise CogmapError(
            f"observations of {size / 2**30:.1f} GiB do not fit beside the model in the "
            f"{free / 2**30:.1f} GiB that the GPU has free; train with --device cpu, or on fewer "
            "rows."
        )


class RowBatches:
    """Pairs as rows of a dataset; the other rows of the batch are the negatives.

    A batch has N pairs (x, z). Where horizons are composed, the x are its sources and all 2 N rows
    its targets. Rows stand for p0, so a source is not compared with itself; nor, where its horizon
    is composed, with the middle that was recorded for it.
    """

    def __init__(self, data: Trajectories, episodes: Episodes, settings: TemporalTraining) -> None:
        device, pairs = episodes.starts.device, settings.batch
        self._episodes, self._settings = episodes, settings
        self._rows = Rows(data, device, held=device.type != "cpu")
        self._sources = torch.arange(pairs, device=device)
        self._forward = self._sources % 2 == 0  # read both ways: every other pair is turned round
        self._short = few_digits(device)
        if settings.composes:
            itself = torch.eye(2 * pairs, device=device)
            partner = itself.roll(pairs, dims=0)
            self._pairs = partner[:pairs]  # (B, C)
            self._plain = _log_share(itself[:pairs])  # (B, C)
            self._apart = _log_share(itself + partner)  # (C, C)
        else:
            self._pairs = torch.eye(pairs, device=device)

    def describe(self) -> dict[str, str | int | None]:
        return {"path": "rows", "distinct": None}

    def draw(
        self, model: TemporalModel, taus: Tensor, generator: torch.Generator, *, share: slice
    ) -> Batch:
        device, settings = self._pairs.device, self._settings
        part = torch.rand(len(taus), generator=generator, device=device)
        draws = torch.rand(
            len(taus), settings.batch, generator=generator, device=device, dtype=torch.float64
        )[share]
        lags = (recorded_part(taus, part, settings) if settings.composes else taus)[share]
        taus = taus[share]
        pairs = [self._look(model, *each) for each in zip(lags, draws)]
        if settings.composes:
            parts = [self._compose(model, *each) for each in zip(pairs, taus, lags)]
            return Batch(*(torch.cat(part) for part in zip(*parts)))
        plain = []
        for looks, tau in zip(pairs, taus):
            first, second = looks.chunk(2)
            plain.append(model.raw_pair_score(first, second, tau[None]))
        return Batch(torch.cat(plain), self._pairs.expand(len(taus), -1, -1))

    def _look(self, model: TemporalModel, lag: Tensor, draws: Tensor) -> Tensor:
        """Looks of recorded pairs, first all x, then all z. (), (N,) -> (2 N, d)"""
        first, second = self._episodes.pairs(lag, draws)
        if self._settings.both_ways:
            first, second = (
                torch.where(self._forward, first, second),
                torch.where(self._forward, second, first),
            )
        return model.see(model.prepare(self._rows(torch.cat([first, second]))))

    def _compose(
        self, model: TemporalModel, looks: Tensor, tau: Tensor, lag: Tensor
    ) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
        """Pairs at the horizon, and again at the lag they were recorded at. -> (2, ...) each

        Short horizons are drawn seldom, and a batch of rows has few pairs: without the second
        contrast the short ones, which all others are composed of, would be learned late.
        """
        pairs, composed, fixed = len(self._pairs), lag < tau, looks.detach()
        apart = self._apart[:pairs]
        scores = model.raw_pair_score(looks, looks, torch.stack([tau, lag]), rows=self._sources)
        second = onward(model, fixed, fixed, (tau - lag)[None], self._apart)[0]
        counts = torch.where(composed, second[pairs:], self._pairs)
        # One recorded middle is enough for the contrast, which is linear in the counts, and too
        # few for their logarithm: the agreement takes the model's own first part over the batch.
        first = torch.softmax(scores[1].detach() + apart, dim=-1)
        expected = (first.to(self._short) @ second.to(self._short)).float()
        expected = expected.masked_fill(apart.isinf(), 0.0)
        return (
            scores,
            torch.stack([counts, self._pairs]),
            torch.stack([torch.where(composed, apart, self._plain), self._plain]),
            torch.stack([composed, torch.zeros_like(composed)]),
            torch.stack([expected, self._pairs]),
        )


def _log_share(left_out: Tensor) -> Tensor:
    """Equal shares of the targets that are not left out. (B, C) of 0 and 1 -> (B, C)"""
    kept = 1 - left_out
    return (kept / kept.sum(-1, keepdim=True)).log()


def batches_for(data: Trajectories, episodes: Episodes, settings: TemporalTraining) -> Batches:
    """On the table where there is a small one, else on rows."""
    if data.table is not None and np.count_nonzero(data.distinct()[1]) <= TABLE_LIMIT:
        return TableBatches(data, episodes, settings)
    return RowBatches(data, episodes, settings)
