"""What the zoo's worlds need besides their names: a goal in words of geometry, a full state."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np

LAYOUT = 0  # seed of the one layout of four rooms
GOAL = (16, 16)  # cell of its green square
HEADINGS = 4
MOVES = 3  # of MiniGrid's seven actions: turn left, turn right, go forward
NEAR = 0.02  # metres from the target that count as there


def above(row: np.ndarray) -> bool:
    """Acrobot: the tip is above the line, one link's length over the joint."""
    cos1, sin1, cos2, sin2 = row[:4]
    return bool(-cos1 - (cos1 * cos2 - sin1 * sin2) > 1.0)


def near(row: np.ndarray) -> bool:
    """Reacher: the fingertip is at the target."""
    return bool(np.hypot(row[8], row[9]) < NEAR)


class FourRooms(gymnasium.Env):
    """MiniGrid's FourRooms in one layout, from its full state: cell and heading."""

    metadata = {"render_modes": ["rgb_array"]}

    def __init__(self, render_mode: str | None = None) -> None:
        from minigrid.envs import FourRoomsEnv

        self.render_mode = render_mode
        self._inner = FourRoomsEnv(goal_pos=GOAL, max_steps=1 << 30, render_mode=render_mode)
        size = float(self._inner.width)
        high = np.array([size, size, *[1.0] * HEADINGS], np.float32)
        self.observation_space = gymnasium.spaces.Box(np.zeros_like(high), high)
        self.action_space = gymnasium.spaces.Discrete(MOVES)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        super().reset(seed=seed)
        self._inner.reset(seed=LAYOUT)
        cells = [
            (x, y)
            for x in range(self._inner.width)
            for y in range(self._inner.height)
            if self._inner.grid.get(x, y) is None
        ]
        self._inner.agent_pos = cells[int(self.np_random.integers(len(cells)))]
        self._inner.agent_dir = int(self.np_random.integers(HEADINGS))
        return self._seen(), {}

    def step(self, action: int) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        _, reward, ended, _, info = self._inner.step(int(action))
        return self._seen(), float(reward), bool(ended), False, info

    def _seen(self) -> np.ndarray:
        heading = np.eye(HEADINGS)[self._inner.agent_dir]
        return np.array([*self._inner.agent_pos, *heading], np.float32)

    def render(self) -> np.ndarray:
        return np.asarray(self._inner.render())
