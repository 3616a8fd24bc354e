"""Success rate, success weighted by path length, and what chance leaves open (Eq. 11)."""

from __future__ import annotations

import math
from collections.abc import Sequence

WILSON_Z = 1.959964  # 95 % of a normal distribution


def success_rate(successes: Sequence[bool]) -> float:
    """SR: the share of episodes that reached the goal region."""
    return sum(successes) / len(successes)


def path_efficiency(success: bool, length: float, shortest: float) -> float:
    """One term of SPL: S l / max(p, l); an episode that begins at its goal counts 1."""
    if not success:
        return 0.0
    return shortest / max(length, shortest) if shortest > 0 else 1.0


def wilson_interval(successes: int, episodes: int) -> tuple[float, float]:
    """The 95 % Wilson score interval of a success rate."""
    rate, z2 = successes / episodes, WILSON_Z**2
    centre = (rate + z2 / (2 * episodes)) / (1 + z2 / episodes)
    spread = WILSON_Z * math.sqrt(rate * (1 - rate) / episodes + z2 / (4 * episodes**2))
    spread /= 1 + z2 / episodes
    return max(0.0, centre - spread), min(1.0, centre + spread)
