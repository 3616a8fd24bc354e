"""Moves in a building: turns of 30 degrees, and half a metre forward or backward (App. D).

The agent stands on a lattice point and looks in one of twelve directions. Rules, which the random
policy's success depends on (docs/differences.md):

1. Snapping. What is rounded to the lattice is the way of a move, not where it ends: half a metre at
   30 degrees is (0.43, 0.25) m and becomes (0.5, 0.25). So a step back undoes a step forward, and
   a walk of random moves is as likely backwards.
2. Walls. A move whose straight way leaves the floor does not happen: the agent stays where it is,
   and does not slide along the wall.
3. Only the largest set of points that can be reached from each other is kept.

Shape letters: P points, S = 12 P states (state = 12 point + heading), M = 4 moves, N states.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from cogmap.envs.scene import Scene

SPACING = 0.25  # m, App. D: of the lattice
HEADINGS = 12
STEP = 0.5  # m
MOVES = ("left", "right", "forward", "backward")
LEFT, RIGHT, FORWARD, BACKWARD = range(len(MOVES))
LONGEST = SPACING * np.hypot(2, 1)  # m of a snapped move: 0.56


def angles() -> np.ndarray:
    """Of the headings, in radians. (12,)"""
    return 2 * np.pi * np.arange(HEADINGS) / HEADINGS


def ways() -> np.ndarray:
    """Where a step forward leads at each heading, in lattice spacings. (12, 2) of (x, z)"""
    ahead = np.stack([-np.sin(angles()), -np.cos(angles())], axis=-1)
    return np.round(ahead * STEP / SPACING).astype(np.int64)


@dataclass(frozen=True, eq=False)
class States:
    """Where one can stand and look, and what each move does there."""

    points: np.ndarray  # (P, 2) m
    successors: np.ndarray  # (S, M) states

    @classmethod
    def of(cls, scene: Scene) -> States:
        cells = np.round(scene.points / SPACING).astype(np.int64)
        there = _steps(scene, cells)
        kept = _largest_part(there)
        number = np.full(len(cells), -1)
        number[kept] = np.arange(len(kept))
        # A point's own move stays where it is; no move leads out of the part that is kept.
        there = number[there[kept]]  # (P, 12)
        point, heading = np.divmod(np.arange(HEADINGS * len(kept)), HEADINGS)
        behind = (heading + HEADINGS // 2) % HEADINGS
        to = [
            HEADINGS * point + (heading + 1) % HEADINGS,
            HEADINGS * point + (heading - 1) % HEADINGS,
            HEADINGS * there[point, heading] + heading,
            HEADINGS * there[point, behind] + heading,
        ]
        return cls(scene.points[kept], np.stack(to, axis=-1))

    def __len__(self) -> int:
        return len(self.successors)

    def places(self, states: np.ndarray) -> np.ndarray:
        """(N,) -> (N, 2) m"""
        return self.points[np.asarray(states) // HEADINGS]

    def headings(self, states: np.ndarray) -> np.ndarray:
        """(N,) -> (N,) radians"""
        return angles()[np.asarray(states) % HEADINGS]

    def nearest(self, place: np.ndarray) -> int:
        """The lattice point that is nearest to a place. (2,) ->"""
        return int(np.linalg.norm(self.points - place, axis=-1).argmin())


def _steps(scene: Scene, cells: np.ndarray) -> np.ndarray:
    """The point that a step at each heading leads to; the same where a wall is. -> (N, 12)"""
    low = cells.min(axis=0) - 2
    grid = np.full(cells.max(axis=0) - low + 3, -1)
    grid[tuple((cells - low).T)] = np.arange(len(cells))
    ends = cells[:, None] + ways()[None] - low  # (N, 12, 2)
    there = grid[ends[..., 0], ends[..., 1]]
    here = np.broadcast_to(np.arange(len(cells))[:, None], there.shape)
    forth = np.nonzero((there >= 0) & (here < there))  # a way is as free in both directions
    free = scene.clear(scene.points[here[forth]], scene.points[there[forth]])
    result = here.copy()
    for point, heading in zip(*(part[free] for part in forth)):
        result[point, heading] = there[point, heading]
        result[there[point, heading], (heading + HEADINGS // 2) % HEADINGS] = point
    return result


def _largest_part(there: np.ndarray) -> np.ndarray:
    """The points of the largest connected part. (N, 12) -> (n,)"""
    part = np.arange(len(there))
    while True:  # the smallest number spreads
        least = np.minimum(part, part[there].min(axis=1))
        if (least == part).all():
            break
        part = least
    return np.flatnonzero(part == np.bincount(part).argmax())
