"""Wandering without a goal: the lattice walk, its coverage mask, and uniform actions (Sec. 4.1)."""

from __future__ import annotations

from collections import deque

import numpy as np

from cogmap.envs.maze import Lattice
from cogmap.errors import CogmapError


def coverage_mask(lattice: Lattice, coverage: float, rng: np.random.Generator) -> np.ndarray:
    """A connected part of the lattice that holds the share `coverage` of its states. (S,) bool

    It grows outward from one random state, nearest states first, as far as walking reaches.
    """
    if not 0.0 < coverage <= 1.0:
        raise CogmapError(f"coverage={coverage} lies outside (0, 1]; 1 explores the whole maze.")
    wanted = max(1, round(coverage * len(lattice)))
    mask = np.zeros(len(lattice), dtype=bool)
    if wanted == len(lattice):
        return ~mask
    start = int(rng.integers(len(lattice)))
    mask[start] = True
    frontier, reached = deque([start]), 1
    while frontier and reached < wanted:
        for state in lattice.successors[frontier.popleft()]:
            if not mask[state] and reached < wanted:
                mask[state] = True
                reached += 1
                frontier.append(int(state))
    return mask


def masked(lattice: Lattice, mask: np.ndarray) -> Lattice:
    """The same lattice with moves out of the mask replaced by stay."""
    stay = np.arange(len(lattice))[:, None]
    return Lattice(lattice.points, np.where(mask[lattice.successors], lattice.successors, stay))


def lattice_walk(lattice: Lattice, start: int, moves: np.ndarray) -> np.ndarray:
    """Follows moves (T,) from a start; row t is the state before move t. -> (T + 1,) int32"""
    width = lattice.successors.shape[1]
    successors = lattice.successors.ravel().tolist()  # a flat list: four times faster than numpy
    states = np.empty(len(moves) + 1, dtype=np.int32)
    state = int(start)
    visited = [state]
    append = visited.append
    for move in moves.tolist():
        state = successors[state * width + move]
        append(state)
    states[:] = visited
    return states
