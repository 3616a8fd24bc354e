"""Records an environment acted in at random, side by side, in parts that survive a kill.

A part is a few episodes with a seed of its own. Finished parts stay on disk, so that a recording
that was killed goes on with the next; once all are there they are joined into one dataset.

An episode that ends by itself, at a goal or in a fall, is recorded as if it stayed there for a
while. So pairs say where a walk is after tau steps whether it has ended by then or not, and what
ends an episode early is no way to anywhere.
"""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from cogmap.data.trajectories import Trajectories
from cogmap.envs.making import reason_of
from cogmap.errors import CogmapError
from cogmap.progress import Progress

if TYPE_CHECKING:
    from cogmap.envs.gym import GymWorld

SIDE_BY_SIDE = 8  # environments
PART = 16_000  # environment steps
CRASHES = 20  # in a row, after which an environment is given up


def record(
    world: GymWorld,
    folder: Path,
    *,
    steps: int,
    each: int,
    seed: int,
    progress: Progress = iter,
) -> None:
    """`steps` environment steps in episodes of at most `each`, into a dataset folder."""
    count = max(1, round(steps / PART))
    share = -(-steps // count)
    folder.mkdir(parents=True, exist_ok=True)
    for number in progress(range(count)):
        path = folder / f"part{number}.npz"
        if path.exists():
            continue
        episodes = recorded(world, steps=share, each=each, seed=(seed, number))
        temporary = folder / "part.tmp.npz"
        np.savez(temporary, **joined(episodes))  # type: ignore[arg-type]
        temporary.replace(path)
    parts = [dict(np.load(folder / f"part{number}.npz")) for number in range(count)]
    starts, rows = [], 0
    for part in parts:
        starts.append(part["episode_starts"] + rows)
        rows += len(part["observations"])
    Trajectories(
        episode_starts=np.concatenate(starts),
        observations=np.concatenate([part["observations"] for part in parts]),
        actions=np.concatenate([part["actions"] for part in parts]),
        hold=world.hold,
        source=f"{steps} steps of {world.name}, random actions held for {world.hold}",
    ).save(folder)
    for number in range(count):
        (folder / f"part{number}.npz").unlink()


def joined(episodes: list[tuple[np.ndarray, np.ndarray]]) -> dict[str, np.ndarray]:
    """Columns of several (observations, actions), which are of equal length."""
    lengths = [len(observations) for observations, _ in episodes]
    return {
        "episode_starts": np.cumsum([0, *lengths[:-1]]),
        "observations": np.concatenate([observations for observations, _ in episodes]),
        "actions": np.concatenate([actions for _, actions in episodes]),
    }


def recorded(
    world: GymWorld, *, steps: int, each: int, seed: Any
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Episodes of random actions, environments taking turns. [(rows, ...), (rows, a)]

    An environment that raises loses the episode it was in, and is made anew. The first time is
    told, and in the end how often it was.
    """
    rng = np.random.default_rng(seed)
    side = min(SIDE_BY_SIDE, max(2, steps // each))
    envs = [world.make() for _ in range(side)]
    under_way: list[list[Any]] = [[] for _ in envs]
    episodes: list[tuple[np.ndarray, np.ndarray]] = []
    spent, lost, in_a_row = 0, 0, 0
    while spent < steps:
        actions = world.random_actions(rng, side)
        for k, env in enumerate(envs):
            try:
                if not under_way[k]:
                    now, _ = env.reset(seed=int(rng.integers(1 << 31)))
                    under_way[k] = [[world.encode(now)], [], 0]
                seen, done, length = under_way[k]
                taken, ended, cut, now = held(world, env, actions[k])
                seen.append(world.encode(now))
                in_a_row = 0
            except CogmapError:
                raise
            except Exception as error:  # an environment may raise anything
                lost, in_a_row, reason = lost + 1, in_a_row + 1, reason_of(error)
                if in_a_row >= CRASHES:
                    raise CogmapError(
                        f"{world.name} raised {CRASHES} times in a row: {reason}"
                    ) from None
                if lost == 1:
                    print(f"{world.name} raised ({reason}); its episode is lost.")
                close(env)
                envs[k], under_way[k] = world.make(), []
                spent += 1  # or a world that always raises would never end
                continue
            done.append(actions[k])
            spent += taken
            under_way[k][2] = length + taken
            if ended:  # whatever is done from here on, it stays so
                seen += [seen[-1]] * world.linger
                done += list(world.random_actions(rng, world.linger))
            if ended or cut or under_way[k][2] >= each or spent >= steps:
                episodes.append(finished(seen, done))
                under_way[k] = []
    for env in envs:
        close(env)
    for kept in under_way:
        if kept and len(kept[1]) > 1:
            episodes.append(finished(kept[0], kept[1]))
    if not episodes:
        raise CogmapError(f"{world.name} raised in each of {lost} episodes: {reason}")
    if lost > 1:
        print(f"{world.name} raised {lost} times in {spent:,} steps; as many episodes are lost.")
    return episodes


def close(env: Any) -> None:
    """Lets go of what it holds: windows, processes, a robot."""
    with contextlib.suppress(Exception):  # one that has just raised may raise again
        env.close()


def held(world: GymWorld, env: Any, action: np.ndarray) -> tuple[int, bool, bool, Any]:
    """Holds one action; the steps it took, whether the episode ended or was cut, what is seen."""
    wanted = world.decode(action)
    taken, ended, cut = 0, False, False
    while taken < world.hold and not (ended or cut):
        now, _, ended, cut, _ = env.step(wanted)
        taken += 1
    return taken, bool(ended), bool(cut), now


def finished(seen: list[np.ndarray], done: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Rows of one episode; the last row's action is unused."""
    return np.stack(seen), np.stack([*done, np.zeros_like(done[-1])])
