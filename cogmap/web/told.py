"""Worlds without a map that are told where to go, and can be looked at on the way."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from cogmap.envs.world import Running, Task, World


class Told(World, Protocol):
    """A world that is told where to go in words, and may be looked at."""

    goal: str | None
    start: str | None

    @property
    def has_goals(self) -> bool: ...


class Filmed(Running, Protocol):
    """Episodes that know whether they are at their goals now, and can be looked at."""

    @property
    def there(self) -> np.ndarray:
        """(E,) bool"""

    raised: dict[int, str]  # why an episode broke off

    def frame(self, k: int) -> np.ndarray: ...


@dataclass(frozen=True)
class Aim:
    """A plan as it was asked for."""

    world: Told
    task: Task
    goal: str  # what to call it; empty: as it turns out
    warning: str  # one line, where nothing seen is like it
