"""Embeddings of a sample drawn in a plane, in which other observations find their place.

Shape letters: S sampled observations, N others, D embedding.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from cogmap.report.figures.projections import align, tsne
from cogmap.web.messages import Method
from cogmap.web.scores import principal_axes


@dataclass(frozen=True)
class Plane:
    """The sample's embedding at one horizon, drawn."""

    points: np.ndarray  # (S, 2) within [-1, 1]
    embedding: np.ndarray  # (S, D)
    turn: np.ndarray | None  # (D, 2) from the embedding to the plane; None: t-SNE has no axes

    def places(self, embedding: np.ndarray) -> np.ndarray:
        """By the same axes, or that of the nearest of the sample. (N, D) -> (N, 2)"""
        if self.turn is not None:
            gaps = embedding - self.embedding.mean(axis=0)
            return gaps @ self.turn + self.points.mean(axis=0)
        apart = torch.cdist(torch.as_tensor(embedding), torch.as_tensor(self.embedding))
        return self.points[apart.argmin(1).numpy()]


def drawn(embedding: np.ndarray, overview: np.ndarray, *, method: Method) -> Plane:
    """In a plane and turned onto an overview, so that it stays put as the horizon moves.

    (S, D), (S, 2)
    """
    if method == "tsne":
        return Plane(_fitted(align(tsne(embedding, dimensions=2), overview)), embedding, None)
    middle, axes = principal_axes(embedding)
    flat = (embedding - middle) @ axes.T
    points = _fitted(align(flat, overview))
    # All that was done to `flat`, which lies around zero, is one linear map and a shift.
    rigid, *_ = np.linalg.lstsq(flat, points - points.mean(axis=0), rcond=None)
    return Plane(points, embedding, axes.T @ rigid)


def _fitted(points: np.ndarray) -> np.ndarray:
    """Moved and scaled, alike on both axes, to fill [-1, 1]."""
    centred = points - (points.max(axis=0) + points.min(axis=0)) / 2
    return centred / max(float(np.abs(centred).max()), 1e-12)
