"""Planning with the true score: G* of the lattice walk in place of the learned one (Sec. 3)."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from cogmap.theory.walk import SMALLEST_RATIO, ReversibleWalk


class ExactScorer:
    """exp G* between lattice points, interpolated to any position: what a perfect fit gives."""

    def __init__(self, points: np.ndarray, successors: np.ndarray, taus: Tensor) -> None:
        """points (S, 2) on the integer lattice, successors (S, M), taus (T,)"""
        self.taus = taus
        self._walk = ReversibleWalk.on(successors)
        self._points = points
        self._origin = points.min(axis=0).astype(np.int64) - 1
        shape = points.max(axis=0).astype(np.int64) - self._origin + 2
        self._state = np.full(shape, -1)
        cells = points.astype(np.int64) - self._origin
        self._state[cells[:, 0], cells[:, 1]] = np.arange(len(points))

    def corners(self, xy: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The four lattice points around each position and their weights. (N, 2) -> (N, 4) x 2

        Points that do not exist (walls) get no weight; off the lattice the nearest point counts.
        """
        place = np.clip(xy - self._origin, 0.0, np.array(self._state.shape) - 1.001)
        low = np.floor(place).astype(np.int64)
        part = place - low
        states, weights = [], []
        for dx in (0, 1):
            for dy in (0, 1):
                states.append(self._state[low[:, 0] + dx, low[:, 1] + dy])
                sides = np.where([dx, dy], part, 1.0 - part)
                weights.append(sides.prod(axis=1))
        state, weight = np.stack(states, 1), np.stack(weights, 1)
        weight = np.where(state >= 0, weight, 0.0)
        lost = weight.sum(axis=1) < 1e-6
        if lost.any():
            gaps = np.linalg.norm(xy[lost, None] - self._points[None], axis=-1)
            state[lost, 0] = gaps.argmin(axis=1)
            weight[lost, 0] = 1.0
        return np.where(state >= 0, state, 0), weight / weight.sum(axis=1, keepdims=True)

    def embed_goals(self, goals: Tensor) -> Tensor:
        """exp G*(state, goal, tau) of every state. (E, 2) -> (E, S, T)"""
        states, weights = self.corners(goals.cpu().numpy().astype(np.float64))
        taus = self.taus.cpu().numpy()
        ratios = [
            sum(w * self._walk.ratio(taus, s) for s, w in zip(row, weight, strict=True) if w > 0)
            for row, weight in zip(states, weights, strict=True)
        ]
        return torch.as_tensor(np.stack(ratios))

    def score(self, observations: Tensor, goals: Tensor, at: Tensor | None = None) -> Tensor:
        """(E, K, 2), sets of goals (E, n, S, T) -> (E, K, T), or (E, K, t) at some (E, t)"""
        goals = goals.mean(1)
        episodes, count = observations.shape[:2]
        xy = observations.cpu().numpy().astype(np.float64).reshape(-1, 2)
        states, weights = self.corners(xy)
        state = torch.as_tensor(states.reshape(episodes, count, 4))
        weight = torch.as_tensor(weights.reshape(episodes, count, 4, 1))
        row = torch.arange(episodes)[:, None, None]
        ratio = (goals[row, state] * weight).sum(2)  # (E, K, T)
        score = ratio.clamp(min=SMALLEST_RATIO).log().float().to(observations.device)
        return score if at is None else score.gather(-1, at[:, None].expand(-1, count, -1))
