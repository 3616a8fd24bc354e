"""G over a maze as the page draws it, learned and exact, for runs of positions and of pictures."""

from __future__ import annotations

import threading
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from cogmap.envs.maze_map import MazeMap
from cogmap.errors import CogmapError
from cogmap.planning.objective import Horizons
from cogmap.temporal.model import TemporalModel
from cogmap.temporal.scorer import LearnedScorer
from cogmap.theory.scorer import ExactScorer
from cogmap.web import messages

EXACT_LIMIT = 1600  # states up to which the spectrum of the walk takes seconds


class Scores:
    """G over a maze's lattice, learned and exact, at octaves of the horizon."""

    def __init__(self, temporal: TemporalModel, plane: MazeMap) -> None:
        self.plane, self.observe = plane, plane.glance
        self.points = plane.lattice.points
        self.taus = Horizons.octaves(temporal.config.tau_max).taus.tolist()
        self.has_exact = len(self.points) <= EXACT_LIMIT
        self._temporal = temporal
        self._places = torch.as_tensor(self.points, dtype=torch.float32)
        self._looks = self.look(self.points)
        self._scorers = {tau: LearnedScorer(temporal, torch.tensor([tau])) for tau in self.taus}
        self._lock = threading.Lock()

    @cached_property
    def _exact(self) -> ExactScorer:
        return ExactScorer(self.points, self.plane.lattice.successors, torch.tensor(self.taus))

    @torch.no_grad()
    def look(self, places: np.ndarray) -> Tensor:
        """What the model sees at each place. (N, 2) -> (N, d)"""
        return self._temporal.look(torch.as_tensor(self.observe(places), dtype=torch.float32))

    def place_of(self, looks: Tensor) -> np.ndarray:
        """Places that look most like these. (N, d) -> (N, 2)"""
        if not self._temporal.config.sees:
            return looks.numpy()
        return self.points[torch.cdist(looks, self._looks).argmin(1).numpy()]

    def field(self, goal: messages.Place, tau: int, score: messages.Score) -> np.ndarray:
        """G towards the goal from every lattice point at one of `taus`. -> (S,)"""
        self._check(tau)
        if score == "learned":
            scorer = self._scorers[tau]
            wanted = scorer.embed_goals(self.look(np.array([goal])))
            return scorer.score(self._looks[None], wanted[None])[0, :, 0].numpy()
        if not self.has_exact:
            raise CogmapError(
                f"this maze has {len(self.points)} states; exact scores are drawn up to "
                f"{EXACT_LIMIT}."
            )
        with self._lock:  # the walk's spectrum is computed once
            exact = self._exact
            ratios = exact.embed_goals(torch.tensor([goal], dtype=torch.float32))
        return exact.score(self._places[None], ratios[None])[0, :, self.taus.index(tau)].numpy()

    @torch.no_grad()
    def embedding(self, tau: int) -> np.ndarray:
        """h(x, tau) of every lattice point. -> (S, D)"""
        self._check(tau)
        horizon = self._temporal.horizon(torch.tensor([tau]))
        feature = self._temporal.source_trunk(self._looks)
        return self._temporal.source_head(feature, horizon)[:, 0].numpy()

    def _check(self, tau: int) -> None:
        if tau not in self.taus:
            known = ", ".join(map(str, self.taus))
            raise CogmapError(f"tau={tau}; this page shows {known}.")


def pca(embedding: np.ndarray) -> np.ndarray:
    """The two directions of largest spread. (S, D) -> (S, 2)"""
    middle, axes = principal_axes(embedding)
    return (embedding - middle) @ axes.T


def principal_axes(embedding: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The middle and the two directions of largest spread. (S, D) -> (D,), (2, D)"""
    middle = embedding.mean(axis=0)
    _, _, axes = np.linalg.svd(embedding - middle, full_matrices=False)
    return middle, axes[:2]
