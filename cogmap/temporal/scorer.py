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

# Numbers in the largest intermediate tensor: 4 MB stay in a processor's cache; a GPU wants few
# launches instead.
CHUNK, GPU_CHUNK = 1 << 20, 1 << 26
BANKS_KEPT = 64  # chunks of horizons whose bank embeddings are kept


class LearnedScorer:
    """G_theta towards goals, at the horizons it was made for.

    Shape letters: E episodes, K observations of each, T horizons, D embedding, R bank.
    """

    def __init__(self, model: TemporalModel, taus: Tensor) -> None:
        self.model = model
        self.taus = taus.to(next(model.parameters()).device)
        self._chunk = CHUNK if self.taus.device.type == "cpu" else GPU_CHUNK
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
        step = max(1, self._chunk // (len(feature) * self.model.config.width))
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
        """log E_p0 exp(beta0 <h, g> + beta1) of each source over the bank. (N, t, D) -> (N, t)

        Alignments of unit vectors are at most one, so beta0 is the largest score there can be: it
        stands in for the maximum that a general logsumexp would have to look for.
        """
        bank = self._bank.get(some.start)
        if bank is None or bank.shape[0] != h.shape[1]:
            g = self.model.target_head(self._bank_feature, self._horizon[some])  # (R, t, D)
            bank = g.permute(1, 2, 0).contiguous() * self._beta0[some, None, None]
            if len(self._bank) < BANKS_KEPT:
                self._bank[some.start] = bank
        share = self.model.bank_log_share.exp()
        largest = self._beta0[some, None, None]
        parts = []
        for block in h.transpose(0, 1).split(max(1, self._chunk // bank[:, 0].numel()), dim=1):
            mass = torch.bmm(block, bank).sub_(largest).exp_()  # (t, n, R)
            parts.append(mass @ share)
        return torch.cat(parts, dim=1).log().T + self._beta0[some] + self._beta1[some]
