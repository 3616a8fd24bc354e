"""Wandering on a graph of states: a walk, and the part of the graph it may enter (Sec. 4.1).

Shape letters: S states, M moves, T steps, L links.
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


def states_wanted(states: int, coverage: float) -> int:
    """How many states the share `coverage` of them is."""
    if not 0.0 < coverage <= 1.0:
        raise CogmapError(f"coverage={coverage} lies outside (0, 1]; 1 explores the whole maze.")
    return max(1, round(coverage * states))


def coverage_mask(successors: np.ndarray, coverage: float, rng: np.random.Generator) -> np.ndarray:
    """A connected part that holds the share `coverage` of the states. (S, M) -> (S,) bool

    It grows outward from one random state, nearest states first, as far as walking reaches.
    """
    states = len(successors)
    wanted = states_wanted(states, coverage)
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


def scattered_mask(
    successors: np.ndarray, patches: np.ndarray, coverage: float, rng: np.random.Generator
) -> np.ndarray:
    """The share `coverage` of the states, scattered patches left out. (S, M), (S,) -> (S,) bool

    `patches` says which patch a state belongs to; each is connected, as a maze's cells are. They go
    one at a time, drawn from those that leave the others in one piece: any patch of a loop, but of
    a tree its dead ends alone. The share is met to within half a patch; at least one patch stays.
    Like the other mask it ends where walking from one random state ends.
    """
    states = len(successors)
    wanted = states_wanted(states, coverage)
    if wanted == states:
        return np.ones(states, dtype=bool)
    beside = _beside(successors, patches)
    sizes = np.bincount(patches)
    kept = _part(beside, set(beside), int(rng.choice(patches)))
    while True:
        excess = sizes[list(kept)].sum() - wanted
        nearer = [patch for patch in sorted(kept) if sizes[patch] < 2 * excess]
        spare = [patch for patch in nearer if _in_one_piece(beside, kept - {patch})]
        if not spare:
            return np.isin(patches, list(kept))
        kept.remove(int(rng.choice(spare)))


def _beside(successors: np.ndarray, patches: np.ndarray) -> dict[int, set[int]]:
    """The patches that one move leads to from each. (S, M), (S,)"""
    ends = np.broadcast_arrays(patches[:, None], patches[successors])
    links = np.unique(np.stack(ends, axis=-1).reshape(-1, 2), axis=0)  # (L, 2)
    beside: dict[int, set[int]] = {}
    for here, there in links.tolist():
        beside.setdefault(here, set()).add(there)
    return beside


def _part(beside: dict[int, set[int]], kept: set[int], start: int) -> set[int]:
    """Of some patches those that can be walked to from one of them."""
    part, frontier = {start}, [start]
    while frontier:
        new = (beside[frontier.pop()] & kept) - part
        part |= new
        frontier += new
    return part


def _in_one_piece(beside: dict[int, set[int]], kept: set[int]) -> bool:
    """Whether some patches are one connected part; none at all are not."""
    return bool(kept) and _part(beside, kept, min(kept)) == kept


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
