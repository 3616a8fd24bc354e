"""What the embeddings know of distance: rank correlations near and far (App. D, Table 4).

Shape letters: S states, M moves, T horizons, D embedding.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from cogmap.envs.maze import Lattice
from cogmap.errors import CogmapError
from cogmap.temporal.model import TemporalModel

NEAR = 8  # App. D: near pairs are at most eight geodesic steps apart
PAPER_TAUS = (1, 16, 256, 4096)  # the columns of Table 4
FAR_PAIRS = 200_000  # of more, this many are drawn; rho's standard error is then 0.002


@dataclass(frozen=True)
class Probe:
    """Embedding distance against geodesic distance at one horizon."""

    tau: int  # steps
    near: float  # Spearman's rho, -1 to 1, over pairs at most NEAR moves apart; nan for none
    far: float  # the same over pairs farther apart
    near_pairs: int  # pairs of distinct states that `near` is over
    far_pairs: int  # pairs that `far` is over: all, or as many as were drawn


def probe_model(
    model: TemporalModel,
    lattice: Lattice,
    *,
    rng: np.random.Generator,
    taus: Sequence[int] = PAPER_TAUS,
) -> list[Probe]:
    """Table 4 of a trained model, one row a horizon."""
    embeddings = source_embeddings(model, lattice.points, taus=taus)
    return probe(embeddings, moves_between(lattice.successors), taus=taus, rng=rng)


def source_embeddings(
    model: TemporalModel, points: np.ndarray, *, taus: Sequence[int]
) -> np.ndarray:
    """h(x, tau) of every point. (S, 2), (T,) -> (S, T, D)"""
    longest = model.config.tau_max
    if max(taus) > longest:
        raise CogmapError(
            f"tau={max(taus)} exceeds the horizons this model learned (1..{longest}); "
            "ask for shorter ones or train with a larger tau_max."
        )
    device = next(model.parameters()).device
    with torch.no_grad():
        feature = model.source_trunk(torch.as_tensor(points, dtype=torch.float32, device=device))
        horizon = model.horizon(torch.as_tensor(taus, device=device))
        return model.source_head(feature, horizon).cpu().numpy()


def moves_between(successors: np.ndarray) -> np.ndarray:
    """Fewest moves between all states, -1 where there is no way. (S, M) -> (S, S)

    Row g is theory.geodesic.moves_to(successors, g), for all goals at once.
    """
    _need_scipy()
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import shortest_path

    states, count = successors.shape
    here = np.repeat(np.arange(states), count)
    steps = csr_array((np.ones(here.size), (here, successors.ravel())), shape=(states, states))
    moves = shortest_path(steps, unweighted=True)
    return np.where(np.isinf(moves), -1, moves).astype(np.int64)


def probe(
    embeddings: np.ndarray,
    moves: np.ndarray,
    *,
    taus: Sequence[int],
    rng: np.random.Generator,
    most_far: int = FAR_PAIRS,
) -> list[Probe]:
    """Rank correlations of Euclidean distance with moves. (S, T, D), (S, S) -> T rows

    Over all pairs of distinct states that have a way between them; of more than `most_far` far
    pairs, `rng` draws that many, the same at every horizon.
    """
    _need_scipy()
    from scipy.spatial.distance import pdist

    apart = moves[np.triu_indices(len(moves), k=1)]  # each pair once, in pdist's order
    near = np.flatnonzero((apart >= 0) & (apart <= NEAR))
    far = np.flatnonzero(apart > NEAR)
    if len(far) > most_far:
        far = rng.choice(far, most_far, replace=False)
    rows = []
    for t, tau in enumerate(taus):
        # In float64: at long horizons embeddings differ little.
        distance = pdist(embeddings[:, t].astype(np.float64))
        rho_near, rho_far = (_rank_correlation(distance[of], apart[of]) for of in (near, far))
        rows.append(Probe(int(tau), rho_near, rho_far, len(near), len(far)))
    return rows


def _rank_correlation(one: np.ndarray, two: np.ndarray) -> float:
    """Spearman's rho, nan where there is nothing to rank. (P,), (P,)"""
    from scipy.stats import spearmanr

    if len(one) < 2 or np.ptp(one) == 0 or np.ptp(two) == 0:
        return float("nan")
    return float(spearmanr(one, two).statistic)


def _need_scipy() -> None:
    if importlib.util.find_spec("scipy") is None:
        raise CogmapError("probes need scipy; pip install 'cogmap[report]'.")
