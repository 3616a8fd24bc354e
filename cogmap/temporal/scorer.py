"""A trained model held ready for planning at fixed horizons (Alg. 3, line 6).

What depends only on the horizons (their embeddings, betas and the bank's embeddings) is computed
once; a goal is embedded once; then each decision costs a trunk pass per candidate and a head pass
per candidate and horizon.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

if TYPE_CHECKING:
    from cogmap.temporal.model import TemporalModel

CHUNK = 1 << 24  # numbers in the largest intermediate tensor, about 64 MB


class LearnedScorer:
    """G_theta towards goals, at the horizons it was made for.

    Shape letters: E episodes, K observations of each, T horizons, D embedding, R bank.
    """

    def __init__(self, model: TemporalModel, taus: Tensor) -> None:
        self.model = model
        self.taus = taus.to(next(model.parameters()).device)
        with torch.no_grad():
            self._horizon = model.horizon(self.taus)  # (T, E)
            self._beta0, self._beta1 = model.beta(self._horizon)
            self._bank_feature = model.target_trunk(model.bank)
        self._bank: dict[int, Tensor] = {}  # chunk start -> (t, D, R), kept while it is small

    def embed_goals(self, goals: Tensor) -> Tensor:
        """g(y_g, tau) of each goal. (E, ...) -> (E, T, D)"""
        with torch.no_grad():
            return self.model.target_head(self.model.target_trunk(goals), self._horizon)

    @torch.no_grad()
    def score(self, observations: Tensor, goals: Tensor) -> Tensor:
        """G(x, y_g, tau). (E, K, ...), (E, T, D) -> (E, K, T)"""
        episodes, points = observations.shape[:2]
        feature = self.model.source_trunk(observations.flatten(0, 1))  # (E K, W)
        width = max(self.model.config.width, len(self.model.bank))
        step = max(1, CHUNK // (len(feature) * width))
        parts = []
        for begin in range(0, len(self.taus), step):
            some = slice(begin, begin + step)
            h = self.model.source_head(feature, self._horizon[some])  # (E K, t, D)
            ours = h.view(episodes, points, -1, h.shape[-1])
            align = torch.einsum("ektd,etd->ekt", ours, goals[:, some])
            score = self._beta0[some] * align + self._beta1[some]
            if self.model.config.normalised:
                score = score - self._log_partition(h, some).view_as(score)
            parts.append(score)
        return torch.cat(parts, dim=-1)

    def _log_partition(self, h: Tensor, some: slice) -> Tensor:
        """log E_p0 exp G of each source over the bank. (N, t, D) -> (N, t)"""
        bank = self._bank.get(some.start)
        if bank is None or bank.shape[0] != h.shape[1]:
            g = self.model.target_head(self._bank_feature, self._horizon[some])  # (R, t, D)
            bank = g.permute(1, 2, 0).contiguous() * self._beta0[some, None, None]
            if len(self._bank) < 8:
                self._bank[some.start] = bank
        raw = torch.bmm(h.transpose(0, 1), bank) + self._beta1[some, None, None]  # (t, N, R)
        return torch.logsumexp(raw + self.model.bank_log_share, dim=-1).T
