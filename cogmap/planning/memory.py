"""What an episode remembers: a place that is seen again means that the models are wrong there."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from cogmap.planning.planner import Decision


@dataclass
class Memory:
    """Where one episode decided before, and which candidate it took there."""

    places: list[np.ndarray] = field(default_factory=list)  # (d,) looks
    chosen: list[int] = field(default_factory=list)

    last: Decision | None = None

    def __post_init__(self) -> None:
        self._rows: dict[bytes, int] = {}  # of places that differ
        self._spots = self._taken = np.empty((0, 0), np.float32)
        self._counted = 0  # of the decisions

    def add(self, decision: Decision) -> None:
        self.places.append(decision.here)
        self.chosen.append(decision.candidate)
        self.last = decision

    def spots(self, placed: int, candidates: int) -> tuple[np.ndarray, np.ndarray]:
        """Each place once, by its first numbers, and how often each candidate was taken there.

        Who is lost goes round: of thousands of decisions most were made where others were.
        (N, placed), (N, A)
        """
        for place, candidate in zip(self.places[self._counted :], self.chosen[self._counted :]):
            spot = np.asarray(place[:placed], np.float32)
            row = self._rows.setdefault(spot.tobytes(), len(self._rows))
            if row >= len(self._spots):  # twice the room, so that growing costs little
                room = max(16, 2 * len(self._spots))
                self._spots = _grown(self._spots, room, placed)
                self._taken = _grown(self._taken, room, candidates)
            self._spots[row] = spot
            self._taken[row, candidate] += 1
        self._counted = len(self.places)
        count = len(self._rows)
        return (
            self._spots[:count].reshape(count, placed),
            self._taken[:count].reshape(count, candidates),
        )


def _grown(rows: np.ndarray, room: int, width: int) -> np.ndarray:
    """The same with zeros behind. (N, width) -> (room, width)"""
    grown = np.zeros((room, width), np.float32)
    grown[: len(rows)] = rows.reshape(len(rows), width)
    return grown
