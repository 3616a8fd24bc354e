"""The paper's PyTorch-style pseudo-code (App. C) as it stands: what speed is measured against.

Eager float32, one horizon an update, each row encoded; a decision encodes the goal and every
candidate anew at every integer horizon. The networks are ours, so ratios compare ways to compute
and not sizes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from cogmap.dynamics.model import Dynamics
from cogmap.planning.candidates import Offer
from cogmap.temporal.model import TemporalModel

CHUNK = 256  # horizons scored at a time on a CPU, or gigabytes are needed
PIECE = 8  # horizons at a time for the bank: larger tensors come from the system, at twice the time


def contrast(logits: Tensor) -> Tensor:
    """The loss inside train_temporal, line by line: scores at one lag. (B, B) -> ()"""
    logits = logits - math.log(len(logits) - 1)
    positives = logits.diagonal()
    negatives = F.softplus(logits).sum(1)
    negatives = negatives - F.softplus(positives)
    return (F.softplus(-positives) + negatives).mean()


def train_temporal(
    temporal: TemporalModel,
    temporal_opt: torch.optim.Optimizer,
    current: Tensor,
    future: Tensor,
    tau: int,
) -> None:
    """train_temporal: one update on B pairs at a shared lag. (B, d), (B, d)"""
    loss = contrast(temporal.pair_score(current, future, tau))
    temporal_opt.zero_grad()
    loss.backward()
    temporal_opt.step()


def encode(trunk: nn.Module, head: nn.Module, observations: Tensor, horizon: Tensor) -> Tensor:
    """One full encoder pass for each observation at each horizon. (N, d), (T, E) -> (N, T, D)"""
    repeated = observations.repeat_interleave(len(horizon), 0)  # (N T, d)
    # Groups of one row and one horizon: the head pairs every row of a group with its horizons.
    embedded = head(trunk(repeated)[:, None], horizon.repeat(len(observations), 1)[:, None])
    return embedded.reshape(len(observations), len(horizon), -1)


def chunks(taus: Tensor) -> tuple[Tensor, ...]:
    """Horizons to score at a time: all of them on a GPU, what its cache holds on a CPU."""
    return taus.split(CHUNK if taus.device.type == "cpu" else len(taus))


@torch.no_grad()
def embedded_banks(temporal: TemporalModel, taus: Tensor) -> list[Tensor]:
    """The reference observations at each chunk of horizons. (R, t, D) each

    The listing knows no normaliser (Eq. 12), and our models need one to compare sources. What
    does not depend on the decision is left out of the literal version's time, in its favour.
    """
    feature = temporal.target_trunk(temporal.bank)

    def embedded(some: Tensor) -> Tensor:
        pieces = temporal.horizon(some).split(PIECE)
        return torch.cat([temporal.target_head(feature, piece) for piece in pieces], dim=1)

    return [embedded(some) for some in chunks(taus)]


def goal_score(
    temporal: TemporalModel,
    observations: Tensor,
    goal: Tensor,
    taus: Tensor,
    banks: Sequence[Tensor],
) -> Tensor:
    """G with h and g encoded anew. (N, d), (d,), (T,) -> (N, T)"""
    parts = []
    for some, bank in zip(chunks(taus), banks, strict=True):
        horizon = temporal.horizon(some)
        beta0, beta1 = temporal.beta(horizon, some)
        h = encode(temporal.source_trunk, temporal.source_head, observations, horizon)
        g = encode(temporal.target_trunk, temporal.target_head, goal[None], horizon)
        score = beta0 * ((h * g).sum(-1) - 1) + beta1
        if temporal.config.normalised:
            align = torch.einsum("ntd,rtd->ntr", h, bank)
            raw = beta0[:, None] * (align - 1) + beta1[:, None]
            score = score - torch.logsumexp(raw + temporal.bank_log_share, dim=-1)
        parts.append(score)
    return torch.cat(parts, dim=-1)


@torch.no_grad()
def choose_action(
    temporal: TemporalModel,
    dynamics: Dynamics,
    candidates: Offer,
    state: Tensor,
    goal: Tensor,
    taus: Tensor,
    banks: Sequence[Tensor],
) -> int:
    """choose_action for GP: which of the candidates, each held for one unit. (d,), (d,), (T,)"""
    actions = torch.as_tensor(candidates.actions).to(state)
    states = state.expand(len(actions), -1)
    next_states = dynamics.along(states, actions, candidates.steps_per_unit)[:, 0, -1]
    here = goal_score(temporal, state[None], goal, taus, banks).exp()
    there = goal_score(temporal, next_states, goal, taus, banks).exp()
    progress = there - here
    return int(progress.amax(1).argmax())
