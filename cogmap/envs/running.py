"""Episodes of a Gymnasium world under way, one environment each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import gymnasium
import numpy as np

from cogmap.envs.making import reason_of
from cogmap.envs.world import Moved, Task
from cogmap.errors import CogmapError
from cogmap.goals import Goal, Seen

if TYPE_CHECKING:
    from cogmap.envs.gym import GymWorld

SUCCESS = ("is_success", "success")  # what an environment's info may call it
TRIES = 1000  # resets until one begins as it was asked to


class GymRun:
    """Episodes under way, one environment each."""

    places = None

    def __init__(self, world: GymWorld, tasks: Sequence[Task], seen: Seen) -> None:
        self._world, self._envs = world, [world.make() for _ in tasks]
        begun = [self._reset(env, task, seen) for env, task in zip(self._envs, tasks)]
        self._now = [now for now, _ in begun]
        self._goals = [self._goal(task, now, seen) for task, now in zip(tasks, self._now)]
        self.goals = np.stack([goal.rows for goal in self._goals])
        self.there = np.array([self._arrived(k, info) for k, (_, info) in enumerate(begun)])
        self.succeeded = self.there.copy()
        self.ended = np.zeros(len(tasks), bool)
        self.raised: dict[int, str] = {}  # why an episode broke off
        self._inside = np.zeros(len(tasks))

    def _reset(self, env: gymnasium.Env, task: Task, seen: Seen) -> tuple[Any, dict[str, Any]]:
        seed, world = int(task.start[0]), self._world
        start: Goal | None = None
        for attempt in range(TRIES):
            try:
                now, info = env.reset(seed=(seed + attempt) % (1 << 31))
            except Exception as error:  # an environment may raise anything
                raise CogmapError(f"{world.name} raised in reset: {reason_of(error)}") from None
            if world.start is None:
                return now, info
            if start is None or seen.context.mask.any():  # else it is the same in every episode
                start = seen.goal(world.start, world.numbers(now))
            if start.reached(world.encode(now)[None])[0]:
                return now, info
        raise CogmapError(
            f"{world.name}: none of {TRIES} resets began with {world.start}; widen --start."
        )

    def _goal(self, task: Task, now: Any, seen: Seen) -> Goal:
        world, here = self._world, self._world.numbers(now)
        if world.goal is not None:
            return seen.goal(world.goal, here)
        if world.has_goals:
            wanted = np.asarray(now["desired_goal"], dtype=np.float64).ravel()
            places = world.seeing.dimensions("achieved_goal")
            return seen.within({str(p): float(v) for p, v in zip(places, wanted)}, here)
        rng = np.random.default_rng(int(task.start[0]))
        row = seen.rows[rng.integers(len(seen.rows))][None]
        return seen.at(row[0] if world.context is None else seen.context.whole(row, here)[0])

    def _arrived(self, k: int, info: dict[str, Any]) -> bool:
        """Whether an episode is at its goal: by the environment's word, if it has goals."""
        now, world = self._now[k], self._world
        if not (world.has_goals and world.goal is None):
            return bool(self._goals[k].reached(world.encode(now)[None])[0])
        for word in SUCCESS:
            if word in info:
                return bool(info[word])
        reward = getattr(self._envs[k].unwrapped, "compute_reward", None)
        if reward is None:  # its goal is then as one in words, each number met
            return bool(self._goals[k].reached(world.encode(now)[None])[0])
        # A sparse reward is as good as at the goal itself; where that is 0 or 1 differs.
        wanted = now["desired_goal"]
        return bool(reward(now["achieved_goal"], wanted, info) >= reward(wanted, wanted, info))

    @property
    def finished(self) -> np.ndarray:
        """(E,) which need no more decisions"""
        return self.ended if self._world.stay else self.ended | self.succeeded

    @property
    def stayed(self) -> np.ndarray | None:
        return self._inside if self._world.stay else None

    def observe(self, which: np.ndarray) -> np.ndarray:
        return np.stack([self._world.encode(self._now[k]) for k in which])

    def frame(self, k: int) -> np.ndarray:
        """What one episode looks like. -> (H, W, 3)"""
        return np.asarray(self._envs[k].render())

    def act(self, which: np.ndarray, actions: np.ndarray, steps: int) -> Moved:
        taken = np.zeros(len(which), dtype=int)
        for n, (k, action) in enumerate(zip(which, actions)):
            wanted = self._world.decode(action)
            for _ in range(steps):
                taken[n] += 1
                try:
                    self._now[k], _, ended, cut, info = self._envs[k].step(wanted)
                    self.there[k] = self._arrived(k, info)
                except CogmapError:
                    raise
                except Exception as error:  # an environment may raise anything
                    print(f"{self._world.name} raised ({reason_of(error)}); its episode ends here.")
                    self.raised[int(k)] = reason_of(error)
                    self.ended[k], self.there[k] = True, False
                    break
                self._inside[k] += self.succeeded[k] and self.there[k]
                self.succeeded[k] |= self.there[k]
                self.ended[k] = ended or cut
                if self.finished[k]:
                    break
        return Moved(taken, taken.astype(float))

    def shortest(self) -> np.ndarray | None:
        return None
