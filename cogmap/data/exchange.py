"""Datasets of other people, read into ours: OGBench's .npz files and folders of plain .npy arrays.

OGBench's compact layout holds every observation once, `terminals` marking the last row of each
episode. Its full layout holds transitions with `next_observations`; the last one of an episode is
then appended as a row of its own.

A folder holds observations.npy, and may hold actions.npy and one of terminals.npy (N,) and
episode_starts.npy (E,); with neither, it is one episode.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from cogmap.data.trajectories import Trajectories
from cogmap.errors import CogmapError


def read_dataset(path: Path, *, hold: int = 1) -> Trajectories:
    """Reads an OGBench .npz file or a folder of .npy arrays, and checks it."""
    if hold < 1:
        raise CogmapError(f"hold={hold}; an action lasts at least one simulator step.")
    if path.is_dir():
        names = ("observations", "actions", "terminals", "episode_starts")
        arrays = {n: _load(path / f"{n}.npy") for n in names if (path / f"{n}.npy").exists()}
    elif path.suffix == ".npz" and path.is_file():
        arrays = _load_npz(path)
    else:
        raise CogmapError(f"{path} is neither a .npz file nor a folder of .npy arrays.")
    if "observations" not in arrays:
        found = ", ".join(sorted(arrays)) or "nothing"
        raise CogmapError(f"{path} has no observations (found {found}).")
    data = _assemble(arrays, path, hold)
    data.check_finite()
    return data


def _load(path: Path) -> np.ndarray:
    try:
        return np.load(path, mmap_mode="r", allow_pickle=False)
    except Exception:  # numpy and zipfile raise almost anything on a damaged file
        raise CogmapError(f"{path} is truncated or no plain .npy array.") from None


def _load_npz(path: Path) -> dict[str, np.ndarray]:
    try:
        with np.load(path, allow_pickle=False) as archive:
            return {name: archive[name] for name in archive.files}
    except Exception:
        raise CogmapError(f"{path} is truncated or no .npz archive.") from None


def _assemble(arrays: dict[str, np.ndarray], path: Path, hold: int) -> Trajectories:
    observations = arrays["observations"]
    if observations.ndim < 2 or not len(observations):
        raise CogmapError(f"{path}: observations have shape {observations.shape}; want (N, ...).")
    if not np.issubdtype(observations.dtype, np.number):
        raise CogmapError(f"{path}: observations are of type {observations.dtype}, not numbers.")
    count = len(observations)
    for name in ("actions", "terminals", "next_observations"):
        shape = arrays[name].shape if name in arrays else (count,)
        if shape[:1] != (count,):
            rows = shape[0] if shape else "single"
            raise CogmapError(f"{path}: {rows} {name} for {count} observations.")
    if "episode_starts" in arrays:
        starts = np.asarray(arrays["episode_starts"])
    elif "terminals" in arrays:
        ends = np.flatnonzero(np.asarray(arrays["terminals"]).reshape(count, -1).any(axis=1))
        starts = np.append(0, ends + 1)
        starts = starts[starts < count]
    else:
        starts = np.array([0])
    actions = arrays.get("actions")
    if actions is not None and actions.ndim < 2:
        raise CogmapError(f"{path}: actions have shape {actions.shape}; want (N, action size).")
    if "next_observations" in arrays:
        following = arrays["next_observations"]
        if following.shape != observations.shape:
            raise CogmapError(
                f"{path}: next_observations have shape {following.shape}, "
                f"observations {observations.shape}; make them equal."
            )
        last = np.append(starts[1:], count) - 1  # of each episode
        observations = np.insert(observations, last + 1, following[last], axis=0)
        if actions is not None:
            actions = np.insert(actions, last + 1, 0.0, axis=0)
        starts = starts + np.arange(len(starts))
    if np.issubdtype(observations.dtype, np.floating):
        observations = observations.astype(np.float32)
    return Trajectories(
        episode_starts=starts.astype(np.int64),
        observations=observations,
        actions=None if actions is None else actions.astype(np.float32),
        hold=hold,
        source=f"imported from {path.name}",
    )
