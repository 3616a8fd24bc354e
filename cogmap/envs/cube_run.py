"""Episodes of cube-single under way, and policies that only repeat what was recorded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from cogmap.envs.arm import CUBE_QPOS, Arm
from cogmap.envs.cube_pairs import Pairs
from cogmap.envs.world import Moved

Pictures = Literal["quick", "camera"]  # without what 64 pixels do not show, or OGBench's exactly
RADIUS = 0.04  # m; OGBench's success
SIZE, FRAME = 64, 160  # pixels on a side of what is seen, and of frames to look at


class CubeRun:
    """Episodes under way: one simulator, as many states of it."""

    places = stayed = None

    def __init__(self, arm: Arm, pairs: Pairs, *, pictures: Pictures | None = None) -> None:
        """`pictures`: how those that are seen are drawn; None: numbers are seen."""
        self._arm, self._pictures = arm, pictures
        self._data = [self._placed(start) for start in pairs.starts]
        self._ends, self.goals = pairs.ends, pairs.goals
        if self._pictures is not None:
            self.goals = np.stack([self._sight(self._placed(end)) for end in pairs.ends])
        self._seen = np.stack([self._sight(data) for data in self._data])
        self._targets = pairs.targets
        self.solved = pairs.solved
        # As in LeWM's evaluation, success is asked for after a step, not before the first.
        self.succeeded = np.zeros(len(self._data), bool)
        self.raised: dict[int, str] = {}

    def _placed(self, state: np.ndarray) -> Any:
        """A simulator in a recorded state. (41,)"""
        with self._arm.taken:
            self._arm.data = self._arm.another()
            self._arm.place(state[:21], state[21:])
            return self._arm.data

    def _sight(self, data: Any) -> np.ndarray:
        """What is seen in one: numbers or a picture."""
        with self._arm.taken:
            self._arm.data = data
            if self._pictures is None:
                return self._arm.observation()
            return self._arm.frame(size=SIZE, quick=self._pictures == "quick")

    @property
    def finished(self) -> np.ndarray:
        return self.succeeded

    @property
    def there(self) -> np.ndarray:
        """(E,) whether the cube is at its goal now"""
        cubes = np.array([data.qpos[CUBE_QPOS] for data in self._data])
        return np.asarray(np.linalg.norm(cubes - self._targets, axis=1) <= RADIUS)

    def observe(self, which: np.ndarray) -> np.ndarray:
        return self._seen[which]

    def act(self, which: np.ndarray, actions: np.ndarray, steps: int) -> Moved:
        taken, length = np.zeros(len(which), int), np.zeros(len(which))
        for n, k in enumerate(which):
            with self._arm.taken:
                self._arm.data = self._data[k]
                while taken[n] < steps and not self.succeeded[k]:
                    before = self._arm.cube
                    self._arm.step(actions[n])
                    taken[n] += 1
                    length[n] += float(np.linalg.norm(self._arm.cube - before))
                    gap = np.linalg.norm(self._arm.cube - self._targets[k])
                    self.succeeded[k] = gap <= RADIUS
            self._seen[k] = self._sight(self._data[k])
        return Moved(taken, length)

    def frame(self, k: int) -> np.ndarray:
        """What one episode looks like. -> (H, W, 3)"""
        return self._drawn(self._data[k])

    def goal_frame(self, k: int) -> np.ndarray:
        """What was recorded at its goal looks like. -> (H, W, 3)"""
        return self._drawn(self._placed(self._ends[k]))

    def _drawn(self, data: Any) -> np.ndarray:
        with self._arm.taken:
            self._arm.data = data
            return self._arm.frame(size=FRAME)

    def shortest(self) -> np.ndarray | None:
        return None


class Replayed:
    """Recorded actions in turn, the last again and again; it looks at nothing."""

    hold = 1

    def __init__(self, actions: np.ndarray) -> None:
        self._actions, self._step = actions, np.zeros(len(actions), int)

    def act(
        self, episodes: np.ndarray, observations: np.ndarray, goals: np.ndarray
    ) -> tuple[np.ndarray, Sequence[None]]:
        steps = np.minimum(self._step[episodes], self._actions.shape[1] - 1)
        self._step[episodes] += 1
        return self._actions[episodes, steps], [None] * len(episodes)

    def rest(self, episodes: np.ndarray) -> None:
        pass
