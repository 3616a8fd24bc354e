"""Embeddings as pictures: t-SNE, then a rigid turn onto the maze (App. D).

Shape letters: S states, D embedding, K dimensions of the picture.
"""

from __future__ import annotations

import importlib.util

import numpy as np

from cogmap.errors import CogmapError

PERPLEXITY = 30  # App. D
SEED = 0  # App. D


def check_installed() -> None:
    """Raises where t-SNE or Procrustes cannot be had."""
    for module, package in (("sklearn", "scikit-learn"), ("scipy", "scipy")):
        if importlib.util.find_spec(module) is None:
            raise CogmapError(f"projections need {package}; pip install 'cogmap[report]'.")


def tsne(embeddings: np.ndarray, *, dimensions: int) -> np.ndarray:
    """Neighbours stay neighbours; distances mean little. (S, D) -> (S, K)"""
    check_installed()
    from sklearn.manifold import TSNE

    few = (len(embeddings) - 1) / 3  # a small maze has fewer neighbours to give
    fit = TSNE(
        dimensions, perplexity=min(PERPLEXITY, few), init="pca", random_state=SEED, max_iter=1000
    )
    # In float64: at long horizons embeddings differ little.
    return fit.fit_transform(embeddings.astype(np.float64)).astype(np.float64)


def align(picture: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Turns, mirrors, scales and moves a picture onto the maze. (S, K), (S, 2) -> (S, K)

    All of it rigid but for one scale: a third dimension is turned with the rest, not flattened.
    The maze lies in the plane where that dimension is zero.
    """
    check_installed()
    from scipy.linalg import orthogonal_procrustes

    target = np.zeros_like(picture)
    target[:, :2] = points
    middle = target.mean(axis=0)
    centred = picture - picture.mean(axis=0)
    turn, overlap = orthogonal_procrustes(centred, target - middle)
    scale = overlap / max(float((centred**2).sum()), 1e-12)
    return scale * centred @ turn + middle
