"""Places for labels beside what they name, where they hide nothing."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

REACHES = (2.0, 3.0, 4.5, 6.0)  # radii from a label's middle to what it names
ANGLES = 2 * np.pi * np.arange(24) / 24
THROUGH = np.linspace(0.1, 0.9, 9)
HIDDEN, CROSSED = 10.0, 1.0  # what it costs to lie on a label or a mark, and on a line


def places_beside(
    anchors: np.ndarray,
    *,
    radius: float,
    lines: np.ndarray,
    marks: Sequence[np.ndarray] = (),
    bounds: tuple[np.ndarray, np.ndarray],
) -> np.ndarray:
    """Middles of round labels, set one after the other where they cover the least, and are near.

    `lines` and `marks` are what is better not covered; a label is within `bounds` all the same.
    (N, 2), (L, 2, 2), (2,) each, corners (2,) -> (N, 2)
    """
    spots = np.concatenate([_along(line, radius / 2) for line in lines] or [np.empty((0, 2))])
    kept = [*anchors, *marks]
    around = np.stack([np.cos(ANGLES), np.sin(ANGLES)], axis=-1)
    offered = radius * np.concatenate([reach * around for reach in REACHES])  # (K, 2)
    costs = np.linalg.norm(offered, axis=-1) / radius
    found: list[np.ndarray] = []
    for anchor in anchors:
        middles = anchor + offered
        inside = ((middles - radius >= bounds[0]) & (middles + radius <= bounds[1])).all(axis=1)
        cost = np.where(inside, costs, np.inf)
        cost = cost + CROSSED * _gaps(middles, spots, 1.3 * radius).sum(axis=1)
        cost = cost + HIDDEN * _gaps(middles, np.array(kept), 1.8 * radius).sum(axis=1)
        if found:
            others = np.array(found)
            cost = cost + 10 * HIDDEN * _gaps(middles, others, 2.3 * radius).sum(axis=1)
            for share in THROUGH:  # what leads to a label lies on no other
                between = anchor + share * (middles - anchor)
                cost = cost + HIDDEN * _gaps(between, others, 1.1 * radius).sum(axis=1)
        found.append(middles[cost.argmin()])
    return np.array(found).reshape(-1, 2)


def _gaps(middles: np.ndarray, spots: np.ndarray, reach: float) -> np.ndarray:
    """Which spots are nearer than that. (K, 2), (S, 2) -> (K, S) bool"""
    return np.linalg.norm(middles[:, None] - spots[None], axis=-1) < reach


def _along(line: np.ndarray, step: float) -> np.ndarray:
    """Points of a line, a step apart at most. (2, 2) -> (S, 2)"""
    count = 2 + int(np.linalg.norm(line[1] - line[0]) / step)
    return line[0] + np.linspace(0, 1, count)[:, None] * (line[1] - line[0])
