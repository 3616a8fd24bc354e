"""Settings of Algorithm 3. No torch here: the command line reads them for its help."""

from __future__ import annotations

from dataclasses import dataclass

from cogmap.errors import CogmapError


@dataclass(frozen=True, kw_only=True)
class Planning:
    """How to plan. Lengths are in decisions, values in nats, so that they carry between worlds."""

    planner: str = "log"
    """log (recommended), gp, pap, geometric, or beta=NUMBER."""
    directions: int = 16
    """Candidate actions of each decision, where the world's actions can be divided up."""
    radii: tuple[int, ...] = (1, 2, 3, 4, 6)
    """Decisions ahead at which a candidate is judged by log and geometric; the paper's judge 1."""
    floor: float = -3.0
    """log: scores G below this say "far" and no more, in nats."""
    memory: float = 0.1
    """log, geometric: what a place loses each time it is seen, in nats (exp G for geometric)."""
    gamma: float = 0.99
    """geometric: the discount of a step."""

    def __post_init__(self) -> None:
        if self.directions < 1:
            raise CogmapError(f"directions={self.directions}; give at least 1.")
        if not self.radii or min(self.radii) < 1:
            raise CogmapError(f"radii={self.radii}; give whole numbers of decisions from 1 on.")
        if not self.memory >= 0.0:
            raise CogmapError(f"memory={self.memory}; give a number from 0 on.")
        if not self.floor < 0.0:
            raise CogmapError(f"floor={self.floor}; give a negative number of nats.")
        if not 0.0 < self.gamma < 1.0:
            raise CogmapError(f"gamma={self.gamma} lies outside (0, 1).")
