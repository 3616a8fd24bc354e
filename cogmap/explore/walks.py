"""Wandering on a graph of states: a walk, and the part of the graph it may enter (Sec. 4.1).

Shape letters: S states, M moves, T steps.
"""

from __future__ import annotations

from collections import deque

import numpy as np

from cogmap.errors import CogmapError


def split_steps(steps: int, episodes: int) -> list[int]:
    """Steps of each episode, as equal as can be."""
    if episodes < 1:
        raise CogmapError(f"episodes={episodes}; give at least one.")
    if steps < episodes:
        raise CogmapError(f"steps={steps} over {episodes} episodes leaves empty ones; walk longer.")
    return [len(part) for part in np.array_split(np.arange(steps), episodes)]


def coverage_mask(successors: np.ndarray, coverage: float, rng: np.random.Generator) -> np.ndarray:
    """A connected part that holds the share `coverage` of the states. (S, M) -> (S,) bool

    It grows outward from one random state, nearest states first, as far as walking reaches.
    """
    if not 0.0 < coverage <= 1.0:
        raise CogmapError(f"coverage={coverage} lies outside (0, 1]; 1 explores the whole maze.")
    states = len(successors)
    wanted = max(1, round(coverage * states))
    mask = np.zeros(states, dtype=bool)
    if wanted == states:
        return ~mask
    start = int(rng.integers(states))
    mask[start] = True
    frontier, reached = deque([start]), 1
    while frontier and reached < wanted:
        for state in successors[frontier.popleft()]:
            if not mask[state] and reached < wanted:
                mask[state] = True
                reached += 1
                frontier.append(int(state))
    return mask


def masked(successors: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """The same moves, but those that lead out of the mask stay where they are. (S, M), (S,)"""
    stay = np.arange(len(successors))[:, None]
    return np.where(mask[successors], successors, stay)


def graph_walk(successors: np.ndarray, start: int, moves: np.ndarray) -> np.ndarray:
    """Follows moves (T,) from a start; row t is the state before move t. -> (T + 1,) int32"""
    width = successors.shape[1]
    following = successors.ravel().tolist()  # a flat list: four times faster than numpy
    state = int(start)
    visited = [state]
    append = visited.append
    for move in moves.tolist():
        state = following[state * width + move]
        append(state)
    return np.array(visited, dtype=np.int32)
