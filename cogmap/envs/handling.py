"""Episodes in which OGBench's plan oracle handles the cube, as an expert or noisily (Sec. 4.1).

The oracle plans waypoints to the cube, to its target and away, adds noise that is correlated in
time, and follows them; when it is done there is a new target. The noisy one does the same, but each
action is a random one with probability 0.1.

An episode depends on the seed, the policy and its own number alone, so any part of a recording can
be made by any process, and what is there already is kept.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from zipfile import BadZipFile

import numpy as np

from cogmap.data.trajectories import Trajectories
from cogmap.envs.arm import ACTION_SIZE, Arm
from cogmap.errors import CogmapError
from cogmap.progress import Progress

Policy = Literal["expert", "noisy"]
RANDOM = {"expert": 0.0, "noisy": 0.1}  # Sec. 4.1: share of actions that are random
STEPS = 200  # control steps of an episode, as in LeWM's data
PART = 20  # episodes of a file
STATES = "states.npy"  # beside the columns of a dataset: (N, 41) qpos and qvel, to start from


@dataclass(frozen=True)
class Handled:
    """One episode, or several in a row."""

    observations: np.ndarray  # (N, 28) float32, or pictures (N, H, W, 3) uint8
    actions: np.ndarray  # (N, 5) float32; the last of an episode is unused
    states: np.ndarray  # (N, 41) float32 qpos and qvel


@contextlib.contextmanager
def numpy_seeded(seed: tuple[int, ...]) -> Iterator[None]:
    """OGBench's oracles draw from the global np.random."""
    before = np.random.get_state()
    np.random.seed(np.random.SeedSequence(seed).generate_state(4))
    try:
        yield
    finally:
        np.random.set_state(before)


def handle(arm: Arm, policy: Policy, *, seed: int, number: int, frames: int = 0) -> Handled:
    """One episode by its number; `frames`: pixels on a side of pictures in place of numbers."""
    from ogbench.manipspace.oracles.plan.cube_plan import CubePlanOracle

    source = (seed, sorted(RANDOM).index(policy), number)
    rng = np.random.default_rng(source)
    rows: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
    with numpy_seeded(source):
        info = arm.begin(int(rng.integers(1 << 31)))
        oracle = CubePlanOracle(env=arm.env, noise=0.1, noise_smoothing=0.5)
        oracle.reset(None, info)
        for step in range(STEPS + 1):
            seen = arm.frame(size=frames, quick=True) if frames else arm.observation()
            state = np.concatenate(arm.state).astype(np.float32)
            action = np.zeros(ACTION_SIZE, np.float32)
            if step < STEPS:
                if rng.random() < RANDOM[policy]:
                    wanted = rng.uniform(-1, 1, ACTION_SIZE)
                else:
                    wanted = oracle.select_action(None, arm.env.compute_ob_info())
                action = np.clip(wanted, -1, 1).astype(np.float32)
                arm.step(action)
                if oracle.done:
                    oracle.reset(*arm.env.set_new_target(p_stack=0.0))
            rows.append((seen, action, state))
    observations, actions, states = (np.stack(column) for column in zip(*rows))
    return Handled(observations, actions, states)


def handled_part(path: Path, policy: Policy, seed: int, numbers: range, frames: int) -> None:
    """Some episodes into one file; runs in a process of its own."""
    episodes = [
        handle(_arm(), policy, seed=seed, number=number, frames=frames) for number in numbers
    ]
    columns = {
        name: np.concatenate([getattr(episode, name) for episode in episodes])
        for name in ("observations", "actions", "states")
    }
    temporary = path.with_name(f"{path.stem}.tmp.npz")
    np.savez(temporary, **columns)  # type: ignore[arg-type]
    temporary.replace(path)


_kept: list[Arm] = []  # one simulator a process: making it takes a second


def _arm() -> Arm:
    if not _kept:
        _kept.append(Arm())
    return _kept[0]


def _begin() -> None:
    os.environ.setdefault("LP_NUM_THREADS", "1")  # Mesa draws with as many as there are cores
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle


def record(
    folder: Path,
    wanted: dict[Policy, int],
    *,
    seed: int,
    frames: int = 0,
    workers: int | None = None,
    progress: Progress = iter,
) -> None:
    """The first so many episodes of each policy, into a dataset folder."""
    workers = workers or int(os.environ.get("OMP_NUM_THREADS") or os.cpu_count() or 1)
    if not sum(wanted.values()):
        raise CogmapError("no episodes to record; give at least one.")
    folder.mkdir(parents=True, exist_ok=True)
    parts = [
        (folder / f"{policy}-{frames}-{seed}-{begin}.npz", policy, seed, numbers, frames)
        for policy, count in wanted.items()
        for begin in range(0, count, PART)
        for numbers in [range(begin, min(begin + PART, count))]
    ]
    missing = [part for part in parts if not part[0].exists()]
    if missing:
        _make(missing, workers, progress)
    join(folder, [part[0] for part in parts], wanted)


def _make(parts: list[tuple], workers: int, progress: Progress) -> None:
    """Parts side by side in several processes."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(min(workers, len(parts)), context, initializer=_begin) as pool:
        try:
            for future in progress([pool.submit(handled_part, *part) for part in parts]):
                future.result()
        except BaseException:  # Ctrl-C too: what is done is on disk
            for child in multiprocessing.active_children():
                child.terminate()
            raise


def _read(part: Path) -> dict[str, np.ndarray]:
    try:
        with np.load(part) as columns:
            return dict(columns)
    except (OSError, ValueError, EOFError, BadZipFile):
        raise CogmapError(
            f"{part} is truncated or no recording; delete it, and record on."
        ) from None


def join(folder: Path, parts: list[Path], wanted: dict[Policy, int]) -> None:
    """Makes one dataset of the parts and deletes them."""
    loaded = [_read(part) for part in parts]
    columns = {name: np.concatenate([part[name] for part in loaded]) for name in loaded[0]}
    np.save(folder / STATES, columns["states"])
    Trajectories(
        episode_starts=np.arange(0, len(columns["actions"]), STEPS + 1),
        observations=columns["observations"],
        actions=columns["actions"],
        source="cube-single, " + ", ".join(f"{n} {policy}" for policy, n in wanted.items()),
    ).save(folder)
    for part in parts:
        part.unlink()
