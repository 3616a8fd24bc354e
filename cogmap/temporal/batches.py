"""Recorded pairs as scores (Alg. 1, lines 4-6), and long horizons composed of short ones.

A walk holds many independent pairs a few dozen steps apart, and few a thousand apart; and pairs
say little of what is improbable at their lag. So pairs are recorded at short lags only, and every
horizon is also taught by two shorter ones, after Chapman and Kolmogorov:

    p(y | x, s + t) = sum_z p(z | x, s) p(y | z, t)

Both parts are the model's own, and x, y and z are rows of one batch. It takes observations to be
states, so that what follows z does not depend on x (docs/differences.md).

A batch is N pairs: first all x, then what was seen s steps later. Rows of other pairs stand for p0.
With one encoder for both sides, which takes the walk to be as likely backwards, pairs are read both
ways.

Shape letters: T horizons, N pairs, B = 2 N rows of a batch.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from cogmap.data.past import Gathered, Past
from cogmap.data.sampling import Episodes
from cogmap.data.trajectories import Trajectories
from cogmap.errors import CogmapError
from cogmap.temporal.model import TemporalModel
from cogmap.temporal.settings import TemporalTraining

DEVICE_SHARE = 0.5  # of a GPU's free memory that a dataset may take; training needs the rest
COPIED_ROWS = 1 << 14  # that go to a device at once
LAGS_BY_ROOT = 1 / 5  # longest recorded lag, beside the root of the data's length


@dataclass(frozen=True)
class Batch:
    """Raw scores of every row against every row, and which of them followed which."""

    scores: Tensor  # (T, B, B) at the lag that pairs were recorded at
    positive: Tensor  # (B, B) 1 for pairs, else 0
    other: Tensor  # (B, B) 1 for targets of another pair, which stand for p0, else 0
    # Where horizons are composed:
    far: Tensor | None = None  # (T, B, B) scores at the horizon
    expected: Tensor | None = None  # (T, B, B) p(y | x, horizon) of two shorter ones


class Batches:
    """Draws rows of a dataset."""

    def __init__(self, data: Trajectories, episodes: Episodes, settings: TemporalTraining) -> None:
        device = episodes.starts.device
        self._episodes, self._settings = episodes, settings
        self._rows = Rows(data, device, held=device.type != "cpu" or data.table is not None)
        self._longest = longest_lag(data, episodes, settings)
        self._spread: Tensor | None = None  # of the noise, in each number
        if settings.noise:
            check_noise(settings.noise, data.observation_shape)
            spread = settings.noise * data.distinct()[0].std(axis=0)
            self._spread = torch.as_tensor(spread, dtype=torch.float32, device=device)
        itself = torch.eye(2 * settings.batch, device=device)
        partner = itself.roll(settings.batch, dims=0)
        self._other = 1 - itself - partner
        self._positive = partner if settings.one_encoder else partner.triu()  # only x has a target
        self._short = torch.bfloat16 if device.type == "cuda" else torch.float32

    def draw(
        self, model: TemporalModel, taus: Tensor, generator: torch.Generator, *, share: slice
    ) -> Batch:
        """A batch at each horizon of `share`. (T,) -> (T', B, B)

        What is drawn for a horizon does not depend on the share, so that processes that divide an
        update's horizons between them see what one process would.
        """
        shape = len(taus), 1 + self._settings.batch
        u = torch.rand(shape, generator=generator, device=taus.device, dtype=torch.float64)[share]
        off = self._noise(len(taus), generator)[share]
        taus = taus[share]
        if self._longest is None:  # nothing is composed
            looks = [self._look(model, *each) for each in zip(taus, u[:, 1:], off)]
            plain = [model.raw_pair_score(x, x, tau[None]) for x, tau in zip(looks, taus)]
            return Batch(torch.cat(plain), self._positive, self._other)
        taus = taus.clamp(min=2)  # a lag of 1 is half of 2
        lags = recorded_lags(taus, u[:, 0], self._longest)
        looks = [self._look(model, *each) for each in zip(lags, u[:, 1:], off)]
        parts = [self._compose(model, *each) for each in zip(looks, taus, lags)]
        scores, far, expected = (torch.stack(part) for part in zip(*parts))
        return Batch(scores, self._positive, self._other, far, expected)

    def _noise(self, horizons: int, generator: torch.Generator) -> Tensor:
        """What observations are off by; nothing is drawn where there is no noise. (T, B or 1, d)"""
        if self._spread is None:
            return torch.zeros(horizons, 1, 1, device=generator.device)
        shape = horizons, 2 * self._settings.batch, len(self._spread)
        drawn = torch.randn(shape, generator=generator, device=generator.device)
        return drawn * self._spread

    def _look(self, model: TemporalModel, lag: Tensor, u: Tensor, off: Tensor) -> Tensor:
        """Rows `lag` steps apart, first all x, then what followed. (), (N,), (B, d) -> (B, d)"""
        rows = torch.cat(self._episodes.pairs(lag, u))
        return model.see(self._rows.prepared(rows, model)) + off

    def _compose(
        self, model: TemporalModel, looks: Tensor, tau: Tensor, lag: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Scores at the lag and at the horizon, and what composing expects there. (B, B) each"""
        scores, far = model.raw_pair_score(looks, looks, torch.stack([lag, tau]))
        with torch.no_grad():
            fixed = looks.detach()
            rest = model.raw_pair_score(fixed, fixed, (tau - lag)[None])[0]
            first, second = (self._kernel(part).to(self._short) for part in (scores, rest))
        return scores, far, (first @ second).float()

    def _kernel(self, scores: Tensor) -> Tensor:
        """p(y | x) over the rows of other pairs. (B, B) -> (B, B)"""
        return torch.softmax(scores + self._other.log(), dim=-1)


def check_noise(noise: float, shape: tuple[int, ...]) -> None:
    """Raises where there are no numbers that noise could be added to."""
    if noise and len(shape) > 1:
        raise CogmapError(f"noise={noise}: pictures have no numbers to be off; leave it out.")


def longest_lag(data: Trajectories, episodes: Episodes, settings: TemporalTraining) -> int | None:
    """The longest lag to record pairs at; None: every horizon is recorded, none composed.

    n rows hold n / s independent pairs s steps apart: the longer the lag, the fewer pairs; the
    shorter, the more often it is composed. With four times the rows auto has both twice as long
    lags and twice as many pairs.
    """
    if settings.loss == "nce" or settings.recorded is None or settings.longest < 2:
        return None
    if settings.partial:  # of where x leads only a part is told, and no state to go on from
        return None
    if settings.recorded == "auto":
        return min(max(1, round(LAGS_BY_ROOT * math.sqrt(len(data)))), episodes.longest)
    return settings.recorded


def recorded_lags(taus: Tensor, u: Tensor, longest: int) -> Tensor:
    """The lag to record pairs at. (T,), (T,) uniform in [0, 1) -> (T,)

    Log-uniform in the three octaves up to half the horizon, or up to `longest` where that is less.
    """
    most = (taus // 2).clamp(1, longest)
    least = (most // 8).clamp(min=1)
    return (least * (most / least) ** u).long()


class Rows:
    """Observations by row, in the type they were recorded in.

    A column is `held` on the device, because a training step that is captured as a CUDA graph can
    read nothing else, and a table, because it is small; for a CPU all else stays where it is, a
    memory map perhaps. States of several looks are made from what is held.
    """

    def __init__(self, data: Trajectories, device: torch.device, *, held: bool) -> None:
        self._data, self._index = data, None
        self._column: Tensor | None = None
        self._ready: tuple[Tensor, ...] | None = None
        self._gathered = Gathered(data, device) if isinstance(data, Past) else None
        if not held or self._gathered is not None:
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
        if self._gathered is not None:
            return self._gathered(rows)
        if self._column is None:
            seen = torch.as_tensor(np.array(self._data.rows(rows.numpy())))
        else:
            seen = self._column[rows if self._index is None else self._index[rows]]
        return seen if seen.dtype == torch.uint8 else seen.float()

    def prepared(self, rows: Tensor, model: TemporalModel) -> tuple[Tensor, ...]:
        """What of them does not change while a model learns; for a table it is made once. (N,)"""
        if self._index is None:
            return model.prepare(self(rows))
        if self._ready is None:
            column = self._column
            assert column is not None
            self._ready = model.prepare(column if column.dtype == torch.uint8 else column.float())
        return tuple(part[self._index[rows]] for part in self._ready)


def check_fits(size: int, free: int) -> None:
    """Raises where a dataset would take too much of a GPU's memory. Both in bytes."""
    if size > DEVICE_SHARE * free:
        raise CogmapError(
            f"observations of {size / 2**30:.1f} GiB do not fit beside the model in the "
            f"{free / 2**30:.1f} GiB that the GPU has free; train with --device cpu, or on fewer "
            "rows."
        )
