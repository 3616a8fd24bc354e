"""Several temporal models that learned the same, as one: the mean of their scores.

What a model reads into few episodes another one, which began elsewhere and drew other pairs, does
not; what there is to know both know. Of a mean of raw scores (Eq. 3)

    mean_k beta0_k (<h_k, g_k> - 1) + beta1_k = beta0 (<h, g> - 1) + beta1

with beta0 and beta1 the means, h all h_k side by side, each times sqrt(beta0_k / sum_k beta0_k),
and g alike: unit embeddings again. So whatever takes a temporal model takes several.

Shape letters: M models; all others as in model.py.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from cogmap.errors import CogmapError
from cogmap.temporal.model import TemporalModel

MEMBER_SEEDS = 1 << 20  # between the seeds of two members, so that no two runs share one


def member_folders(count: int) -> list[str]:
    """Of a run folder: where each member is kept."""
    return ["temporal", *(f"temporal-{member}" for member in range(1, count))]


class Beside(nn.Module):
    """The same input through several modules, their outputs side by side. -> (..., M W)"""

    def __init__(self, parts: Sequence[nn.Module]) -> None:
        super().__init__()
        self.parts = nn.ModuleList(parts)

    def forward(self, x: Tensor) -> Tensor:
        return torch.cat([part(x) for part in self.parts], dim=-1)


class Heads(nn.Module):
    """Each member's head on its part of features and horizons, by the root of its share of beta0.

    The coupling that beta0 is multiplied by is the same for all, so it leaves shares as they are.
    """

    def __init__(self, heads: Sequence[nn.Module], betas: nn.ModuleList) -> None:
        super().__init__()
        self.heads, self.betas = nn.ModuleList(heads), betas

    def forward(self, feature: Tensor, horizon: Tensor) -> Tensor:
        """(..., N, M W), (..., T, M E) -> (..., N, T, M D), unit length"""
        count = len(self.heads)
        features, horizons = feature.chunk(count, dim=-1), horizon.chunk(count, dim=-1)
        log_beta0 = [betas(part)[..., 0] for betas, part in zip(self.betas, horizons)]
        share = torch.stack(log_beta0, dim=-1).softmax(-1)  # (..., T, M)
        parts = [head(one, part) for head, one, part in zip(self.heads, features, horizons)]
        embedded = torch.stack(parts, dim=-2)  # (..., N, T, M, D)
        return (embedded * share.sqrt()[..., None, :, :, None]).flatten(-2)


class Ensemble(TemporalModel):
    """Several temporal models behind the one interface."""

    def __init__(self, models: Sequence[TemporalModel]) -> None:
        nn.Module.__init__(self)  # its parts are those of its members
        first = models[0]
        if first.eye is not None:
            raise CogmapError("models that each see pictures in a way of their own have no mean.")
        count = len(models)
        self.config = dataclasses.replace(
            first.config,
            width=count * first.config.width,
            embedding=count * first.config.embedding,
        )
        self.eye = None
        self.member_betas = betas = nn.ModuleList(model.betas for model in models)
        self.source_trunk = Beside([model.source_trunk for model in models])
        self.target_trunk = Beside([model.target_trunk for model in models])
        self.source_head = Heads([model.source_head for model in models], betas)
        self.target_head = Heads([model.target_head for model in models], betas)
        self.horizon = Beside([model.horizon for model in models])
        self.register_buffer("bank", first.bank)
        self.register_buffer("bank_log_share", first.bank_log_share)

    def beta(self, horizon: Tensor, taus: Tensor) -> tuple[Tensor, Tensor]:
        """The means of the members'. (T, M E), (T,) -> (T,), (T,)"""
        parts = horizon.chunk(len(self.member_betas), dim=-1)
        told = torch.stack([betas(part) for betas, part in zip(self.member_betas, parts)])
        log_beta0, beta1 = told.unbind(-1)  # (M, T)
        coupled = (self.config.coupling / taus).clamp(min=1.0)
        return log_beta0.exp().mean(0) * coupled, beta1.mean(0)


def together(models: Sequence[TemporalModel]) -> TemporalModel:
    """One model of one or several."""
    return models[0] if len(models) == 1 else Ensemble(models)
