"""A trained model held ready for planning at fixed horizons (Alg. 3, line 6).

What depends only on the horizons (their embeddings, betas and the bank's embeddings) is computed
once; a goal is embedded once; then each decision costs a trunk pass per candidate and a head pass
per candidate and horizon.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import torch
from torch import Tensor

if TYPE_CHECKING:
    from cogmap.temporal.model import TemporalModel

# Numbers in the largest intermediate tensor: 4 MB stay in a processor's cache; a GPU wants few
# launches instead.
CHUNK, GPU_CHUNK = 1 << 20, 1 << 26
KEPT = 32  # times that many numbers of the bank's embeddings are kept at most


class LearnedScorer:
    """G_theta towards goals, at the horizons it was made for.

    A goal is a set of S observations, any of which will do: what exp(G) averages to over a set is
    how much likelier the set is than usual.

    Shape letters: E episodes, K observations of each, T horizons, D embedding, R bank; G groups of
    N observations that share t horizons.
    """

    def __init__(self, model: TemporalModel, taus: Tensor) -> None:
        self.model = model
        self.taus = taus.to(next(model.parameters()).device)
        self._chunk = CHUNK if self.taus.device.type == "cpu" else GPU_CHUNK
        with torch.no_grad():
            self._horizon = model.horizon(self.taus)  # (T, E)
            self._beta0, self._beta1 = model.beta(self._horizon, self.taus)
            self._bank_feature = model.target_trunk(model.bank)
        self._bank: Tensor | None = None  # (T, D, R)

    @torch.no_grad()
    def embed_goals(self, goals: Tensor) -> Tensor:
        """g(y_g, tau) of each observation. (S, ...) -> (S, T, D)"""
        return self.model.target_head(self.model.target_trunk(goals), self._horizon)

    @torch.no_grad()
    def score(self, observations: Tensor, goals: Tensor, at: Tensor | None = None) -> Tensor:
        """G(x, y_g, tau). (E, K, ...), (E, S, T, D) -> (E, K, T), or (E, K, t) at some (E, t)"""
        episodes, points = observations.shape[:2]
        feature = self.model.source_trunk(observations.flatten(0, 1))  # (E K, W)
        if at is None:
            at = torch.arange(len(self.taus), device=self.taus.device)[None]
        feature = feature.view(len(at), -1, feature.shape[-1])  # (G, N, W)
        # Of one horizon: the head's hidden units, or the bank's embeddings.
        numbers = max(feature.numel(), len(at) * len(self._bank_feature) * goals.shape[-1])
        parts = []
        for some in at.split(max(1, self._chunk // numbers), dim=1):  # (G, t)
            h = self.model.source_head(feature, self._horizon[some])  # (G, N, t, D)
            asked = some.expand(episodes, -1)
            each = asked[:, None, :, None].expand(-1, goals.shape[1], -1, goals.shape[-1])
            towards = goals.gather(2, each)  # (E, S, t, D)
            ours = h.view(episodes, points, *h.shape[2:])
            align = torch.einsum("ektd,estd->eskt", ours, towards)
            score = self._beta0[asked][:, None, None] * (align - 1)
            score = score.logsumexp(1) - math.log(goals.shape[1]) + self._beta1[asked][:, None]
            if self.model.config.normalised:
                score = score - self._log_partition(h, some).view_as(score)
            parts.append(score)
        return torch.cat(parts, dim=-1)

    def _log_partition(self, h: Tensor, some: Tensor) -> Tensor:
        """log E_p0 exp(G) of each source over the bank. (G, N, t, D), (G, t) -> (G, N, t)"""
        ours = h.transpose(1, 2).flatten(0, 1)  # (G t, N, D)
        raw = torch.bmm(ours, self._bank_at(some.flatten()))  # (G t, N, R)
        most = raw.amax(-1, keepdim=True)  # beta0 is large: exp without it would be nothing
        mass = raw.sub_(most).exp_() @ self.model.bank_log_share.exp()
        partition = mass.log_().add_(most[..., 0]).view(*some.shape, -1).transpose(1, 2)
        return partition + (self._beta1[some] - self._beta0[some])[:, None]

    def _bank_at(self, some: Tensor) -> Tensor:
        """beta0 g(y, tau) of the bank, kept unless it is large. (t,) -> (t, D, R)"""
        size = len(self.taus) * len(self._bank_feature) * self.model.config.embedding
        if size > KEPT * self._chunk:
            return self._embedded_bank(some)
        if self._bank is None:
            self._bank = self._embedded_bank(torch.arange(len(self.taus), device=some.device))
        return self._bank[some]

    def _embedded_bank(self, some: Tensor) -> Tensor:
        parts = []
        for few in some.split(max(1, self._chunk // self._bank_feature.numel())):
            g = self.model.target_head(self._bank_feature, self._horizon[few])  # (R, t, D)
            parts.append(g.permute(1, 2, 0) * self._beta0[few, None, None])
        return torch.cat(parts)
