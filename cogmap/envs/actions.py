"""Actions of a Gymnasium world: those of a random walk, and those on offer to a planner."""

from __future__ import annotations

import numpy as np
from gymnasium import spaces

from cogmap.envs.spaces import Coding

LEVELS = 33  # of a single number, at most
DRAWN = 4096  # to find all that there are, where there are few


def random_actions(acting: Coding, rng: np.random.Generator, count: int) -> np.ndarray:
    """Uniform, and one each of what is discrete. -> (count, a)"""
    parts = []
    for leaf in acting.leaves:
        sizes = getattr(leaf.space, "nvec", None)
        if isinstance(leaf.space, spaces.Box):
            parts.append(rng.uniform(-1.0, 1.0, size=(count, leaf.size)))
        elif isinstance(leaf.space, spaces.MultiBinary):
            parts.append(rng.integers(2, size=(count, leaf.size)).astype(float))
        else:
            for n in [leaf.size] if sizes is None else sizes.ravel():
                parts.append(np.eye(n)[rng.integers(n, size=count)])
    return np.concatenate(parts, axis=1).astype(np.float32)


def choices(acting: Coding, count: int) -> np.ndarray:
    """A grid over the actions, or, of many dimensions, an even sample. -> (A, a)"""
    boxes = [isinstance(leaf.space, spaces.Box) for leaf in acting.leaves]
    rng = np.random.default_rng(0)
    if not any(boxes):
        every = np.unique(random_actions(acting, rng, DRAWN), axis=0)
        if len(every) <= 4 * count:
            return every[::-1].copy()
        return every[np.linspace(0, len(every) - 1, 4 * count).astype(int)]
    if all(boxes):
        size = acting.shape[0]
        levels = min(LEVELS, int((2 * count) ** (1 / size)))
        levels -= 1 - levels % 2  # odd: to do nothing is on offer
        if levels >= 3:
            axes = np.meshgrid(*[np.linspace(-1, 1, levels)] * size, indexing="ij")
            return np.stack([axis.ravel() for axis in axes], 1).astype(np.float32)
    some = random_actions(acting, rng, 4 * count)
    if all(boxes):  # nothing, and the strongest of each kind too
        some[0] = 0.0
        some[1 : 1 + 2 * count] = np.sign(some[1 : 1 + 2 * count])
    return some
