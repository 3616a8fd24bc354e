"""Candidate actions, held along their way and judged at several radii (Alg. 3, lines 3-5)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cogmap.errors import CogmapError


@dataclass(frozen=True)
class Candidates:
    """The actions on offer and where along each of them the score is read.

    One unit is `steps_per_unit` applications of the local dynamics with the action held. A
    candidate is judged at every radius and executed for one unit.
    """

    actions: np.ndarray  # (A, action size) float32
    radii: tuple[int, ...] = (1, 2, 3, 4, 6)  # in units
    steps_per_unit: int = 1

    def __post_init__(self) -> None:
        if not self.radii or min(self.radii) < 1:
            raise CogmapError(f"radii={self.radii}; give whole numbers of units from 1 on.")

    @property
    def reading_steps(self) -> list[int]:
        """Applications of the dynamics after which the score is read. (R,)"""
        return [radius * self.steps_per_unit for radius in self.radii]


def directions(count: int) -> np.ndarray:
    """Unit steps in evenly spaced directions. (count, 2) float32"""
    angle = 2 * np.pi * np.arange(count) / count
    return np.stack([np.cos(angle), np.sin(angle)], axis=-1).astype(np.float32)
