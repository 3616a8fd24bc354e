"""One decision over all 8,192 integer horizons: this planner against the paper's pseudo-code.

    python benchmarks/decision.py [models/pointmaze-large [results/speed.jsonl]]

The literal version is the listing of App. C: every candidate is encoded at every horizon, goal
and present state included, for each decision (the bank that normalises sources, which the listing
does not have, is embedded beforehand and not timed). Ours computes the trunk once per observation
and keeps goal embeddings; the quadrature also replaces 8,192 horizons by about two hundred. All
three run in one process on the same states, and must choose the same action.
"""

from __future__ import annotations

import json
import os
import sys
import time

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from cogmap import Agent
from cogmap.evaluation.tasks import draw_pairs
from cogmap.planning.planner import Planner
from cogmap.temporal.model import TemporalModel

DECISIONS = 12
CHUNK = 256  # horizons at a time, or the literal version needs many gigabytes


def encode(model: TemporalModel, observations: Tensor, taus: Tensor) -> Tensor:
    """One full encoder pass for each pair of observation and horizon. -> (N, T, D)"""
    repeated = observations.repeat_interleave(len(taus), 0)
    horizon = model.horizon(taus).repeat(len(observations), 1)
    head = model.source_head
    scale1, shift1, scale2, shift2 = head.film(horizon).chunk(4, dim=-1)
    hidden = F.silu(head.enter(model.source_trunk(repeated)) * (1 + scale1) + shift1)
    hidden = F.silu(head.middle(hidden) * (1 + scale2) + shift2)
    return F.normalize(head.leave(hidden), dim=-1).view(len(observations), len(taus), -1)


@torch.no_grad()
def embedded_bank(model: TemporalModel) -> list[Tensor]:
    """The bank's embeddings, a chunk of horizons at a time. (R, CHUNK, D) each"""
    feature = model.target_trunk(model.bank)
    taus = torch.arange(1, model.config.tau_max + 1).split(CHUNK)
    return [model.target_head(feature, model.horizon(some)) for some in taus]


@torch.no_grad()
def literal_choice(
    agent: Agent, planner: Planner, banks: list[Tensor], state: np.ndarray, goal: np.ndarray
) -> int:
    """choose_action of App. C for GP, written down as it stands."""
    model = agent.temporal
    taus = torch.arange(1, model.config.tau_max + 1)
    actions = torch.as_tensor(planner.candidates.actions)
    here = torch.as_tensor(state, dtype=torch.float32)
    there = agent.dynamics(here.expand(len(actions), -1), actions)
    target = torch.as_tensor(goal, dtype=torch.float32)

    def goal_score(observations: torch.Tensor) -> torch.Tensor:
        parts = []
        for some, bank in zip(taus.split(CHUNK), banks, strict=True):
            beta0, beta1 = model.beta(model.horizon(some))
            h = encode(model, observations, some)
            g = encode(model, target[None], some)
            raw = torch.einsum("ntd,rtd->ntr", h, bank) * beta0[:, None] + beta1[:, None]
            partition = torch.logsumexp(raw + model.bank_log_share, dim=-1)
            score = beta0 * (h * g).sum(-1) + beta1 - partition
            parts.append(score)
        return torch.cat(parts, dim=-1)

    progress = goal_score(there).exp() - goal_score(here[None]).exp()
    return int(progress.amax(1).argmax())


def timed(decide, cases: list[tuple[np.ndarray, np.ndarray]]) -> tuple[float, list[int]]:
    """Median seconds of a decision after one for warming up, and the choices."""
    decide(*cases[0])
    seconds, choices = [], []
    for case in cases:
        began = time.perf_counter()
        choices.append(decide(*case))
        seconds.append(time.perf_counter() - began)
    return float(np.median(seconds)), choices


def main(folder: str, results: str | None = None) -> None:
    agent = Agent.load(folder, device="cpu")
    world = agent.world(physics="kinematic")
    pairs = draw_pairs(world.maze, count=DECISIONS, seed=5)
    cases = [(np.array(pair.start), np.array(pair.goal)) for pair in pairs]
    every = agent.planner("gp", world=world, every_horizon=True)
    few = agent.planner("gp", world=world)
    banks = embedded_bank(agent.temporal)
    slow, expected = timed(lambda x, y: literal_choice(agent, every, banks, x, y), cases)
    rows = [("literal pseudo-code", len(every.rule.horizons.taus), slow, 1.0, 1.0)]
    for name, planner in (("every horizon", every), ("quadrature", few)):
        seconds, choices = timed(lambda x, y, p=planner: p.decide(x, y).candidate, cases)
        same = float(np.mean(np.array(choices) == np.array(expected)))
        rows.append((name, len(planner.rule.horizons.taus), seconds, slow / seconds, same))
    print(f"{'decision':20} {'horizons':>8} {'seconds':>9} {'speed-up':>9} {'same action':>12}")
    for name, horizons, seconds, ratio, same in rows:
        print(f"{name:20} {horizons:8d} {seconds:9.4f} {ratio:9.1f} {same:12.2f}")
    if results is not None:
        with open(results, "a") as file:
            for name, horizons, seconds, ratio, same in rows:
                row = {"decision": name, "horizons": horizons, "candidates": 16}
                row |= {"seconds": round(seconds, 4), "speedup": round(ratio, 1), "same": same}
                row |= {"decisions": DECISIONS, "hardware": f"{os.cpu_count()} CPU cores"}
                row["command"] = f"python benchmarks/decision.py {folder}"
                file.write(json.dumps(row) + "\n")


if __name__ == "__main__":
    main(*(sys.argv[1:] or ["models/pointmaze-large"]))
