"""Logs of other systems, read into our datasets: .npz, .npy, HDF5 and Minari.

A log is a set of columns by name, in a .npz or HDF5 file or a folder of .npy files:

    observations           (N, ...)  what was seen
    actions                (N, A)    what was done then; (N,) whole numbers are kinds of action
    next_observations      (N, ...)  what was seen next; without it, see below
    terminals, dones, ...  (N,)      where an episode ends: at a mark in any of ENDS
    episode_starts         (E,)      where each begins, instead of marks; with neither, at row 0

With next_observations, rows are transitions, and the last one of an episode is appended as a row of
its own (OGBench's full layout, many of D4RL's). Without, the last row of an episode is its last
observation, and that row's action is unused (OGBench's compact layout, all other logs of
observation, action and done); if it was meant as a transition, where that led is lost. Where each
episode has one observation more than it has actions, nothing is missing.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from cogmap.data.minari import Tell, find_minari, read_minari
from cogmap.data.packages import needed
from cogmap.data.trajectories import Trajectories
from cogmap.errors import CogmapError

ENDS = ("terminals", "dones", "terminations", "timeouts", "truncations")
COLUMNS = ("observations", "actions", "next_observations", "episode_starts", *ENDS)
HDF5 = (".hdf5", ".h5")
KINDS = 1000  # of actions; more whole numbers than these are no kinds
Columns = dict[str, np.ndarray]


def read_dataset(
    path: Path, *, hold: int | None = None, tell: Tell = lambda line: None
) -> Trajectories:
    """Reads a log and checks it; `tell` is given a line for each thing that was taken as read.

    The path is that of a .npz or HDF5 file, of a folder of .npy files or of a Minari dataset, or
    is the name of a Minari dataset on this machine. `hold` is by default what a Minari dataset of
    ours says, else 1.
    """
    if hold is not None and hold < 1:
        raise CogmapError(f"hold={hold}; an action lasts at least one simulator step.")
    minari = find_minari(path)
    if minari is not None:
        data = read_minari(minari, hold=hold, tell=tell)
    else:
        data = _assemble(_read(path), path, hold=1 if hold is None else hold, tell=tell)
    data.check_finite()
    return data


def _read(path: Path) -> Columns:
    if path.is_dir():
        return _read_folder(path)
    if path.is_file() and path.suffix == ".npz":
        return _read_npz(path)
    if path.is_file() and path.suffix in HDF5:
        return _read_hdf5(path)
    raise CogmapError(
        f"{path} is neither a .npz or .hdf5 file, a folder of .npy arrays, nor a Minari dataset."
    )


def _check_names(path: Path, names: list[str]) -> None:
    if "observations" not in names:
        found = ", ".join(sorted(names)) or "nothing"
        raise CogmapError(f"{path} has no observations (found {found}).")


def _read_folder(folder: Path) -> Columns:
    files = {file.stem: file for file in folder.glob("*.npy")}
    _check_names(folder, list(files))
    return {name: _read_npy(files[name]) for name in COLUMNS if name in files}


def _read_npy(path: Path) -> np.ndarray:
    try:
        return np.load(path, mmap_mode="r", allow_pickle=False)
    except Exception:  # numpy and zipfile raise almost anything on a damaged file
        raise CogmapError(f"{path} is truncated or no plain .npy array.") from None


def _read_npz(path: Path) -> Columns:
    try:
        with np.load(path, allow_pickle=False) as archive:
            names = list(archive.files)
            columns = {name: archive[name] for name in COLUMNS if name in names}
    except Exception:
        raise CogmapError(f"{path} is truncated or no .npz archive.") from None
    _check_names(path, names)
    return columns


def _read_hdf5(path: Path) -> Columns:
    h5py = needed("h5py", what=f"{path.name} is HDF5, which")
    try:
        with h5py.File(path, "r") as file:
            names = list(file)
            plain = [n for n in COLUMNS if n in names and isinstance(file[n], h5py.Dataset)]
            columns = {name: np.asarray(file[name]) for name in plain}
    except Exception:  # h5py, too, raises almost anything
        raise CogmapError(f"{path} is truncated or no HDF5 file.") from None
    if any(name.startswith("episode_") and name not in COLUMNS for name in names):
        raise CogmapError(f"{path} is part of a Minari dataset; give the folder above it.")
    groups = [name for name in COLUMNS if name in names and name not in plain]
    if groups:
        raise CogmapError(f"{path}: {groups[0]} is a group; want one array of all rows.")
    _check_names(path, names)
    return columns


def _assemble(columns: Columns, path: Path, *, hold: int, tell: Tell) -> Trajectories:
    """Rows in order, the last of each episode with an unused action."""
    observations = _observations(columns, path)
    _check_marks(columns, path)
    steps = _steps(columns)  # rows of all other columns
    _check_lengths(columns, steps, path)
    starts = _starts(columns, steps, path)
    actions = _actions(columns["actions"], path, tell) if "actions" in columns else None
    tell(_convention(columns, steps))
    last = np.append(starts[1:], steps) - 1  # step of each episode
    if "next_observations" in columns:
        final = columns["next_observations"][last]
        observations = np.insert(observations, last + 1, final, axis=0)
    if len(observations) > steps:
        starts = starts + np.arange(len(starts))
        if actions is not None:
            actions = np.insert(actions, last + 1, 0.0, axis=0)
    elif actions is not None and _marks(columns) and "episode_starts" not in columns:
        tell(
            "warning: unless the last row of an episode is its final observation, what followed "
            f"the last action of each of {len(starts):,} episodes is lost; next_observations "
            "would keep it."
        )
    if observations.dtype != np.uint8:
        observations = observations.astype(np.float32)
    return Trajectories(
        episode_starts=starts,
        observations=observations,
        actions=actions,
        hold=hold,
        source=f"imported from {path.name}",
    )


def _observations(columns: Columns, path: Path) -> np.ndarray:
    observations = columns["observations"]
    if observations.ndim < 2 or not len(observations):
        raise CogmapError(f"{path}: observations have shape {observations.shape}; want (N, ...).")
    if not np.issubdtype(observations.dtype, np.number):
        raise CogmapError(f"{path}: observations are of type {observations.dtype}, not numbers.")
    following = columns.get("next_observations")
    if following is not None and following.shape[1:] != observations.shape[1:]:
        raise CogmapError(
            f"{path}: next_observations have shape {following.shape}, "
            f"observations {observations.shape}; make them equal."
        )
    return observations


def _check_marks(columns: Columns, path: Path) -> None:
    for name in _marks(columns):
        if columns[name].dtype.kind not in "biuf":
            raise CogmapError(
                f"{path}: {name} are of type {columns[name].dtype}; want 0 and 1, or booleans."
            )


def _marks(columns: Columns) -> list[str]:
    return [name for name in ENDS if name in columns]


def _ends(columns: Columns) -> np.ndarray:
    """Steps at which some mark says that an episode ends."""
    marks = [columns[name] for name in _marks(columns)]
    return np.flatnonzero(np.any([mark.reshape(len(mark), -1).any(1) for mark in marks], axis=0))


def _steps(columns: Columns) -> int:
    """Rows that actions and marks should have: those of the observations, or one less an episode.

    The latter only if all these columns agree on it, so that a wrong length is not taken for it.
    """
    count = len(columns["observations"])
    others = [columns[name] for name in ("actions", *ENDS) if name in columns]
    lengths = {column.shape[:1] for column in others}
    if "actions" not in columns or lengths in ({(count,)}, {()}) or len(lengths) != 1:
        return count
    if "next_observations" in columns or "episode_starts" in columns:
        return count
    steps = len(columns["actions"])
    ends = _ends(columns) if _marks(columns) else np.empty(0, dtype=int)
    episodes = len(ends[ends < steps - 1]) + 1
    return steps if steps and count == steps + episodes else count


def _check_lengths(columns: Columns, steps: int, path: Path) -> None:
    for name in ("actions", "next_observations", *ENDS):
        shape = columns[name].shape if name in columns else (steps,)
        if shape[:1] != (steps,):
            rows = shape[0] if shape else "single"
            count = len(columns["observations"])
            raise CogmapError(f"{path}: {rows} {name} for {count} observations.")


def _starts(columns: Columns, steps: int, path: Path) -> np.ndarray:
    """First step of each episode. (E,)"""
    if "episode_starts" in columns:
        given = np.asarray(columns["episode_starts"])
        starts = given.astype(np.int64) if given.dtype.kind in "iuf" else np.empty(0, np.int64)
        rise = starts.ndim == 1 and len(starts) and starts[0] == 0 and (np.diff(starts) > 0).all()
        if not rise or starts[-1] >= steps:
            raise CogmapError(
                f"{path}: episode_starts must rise from 0 and stay below the {steps} rows."
            )
        return starts
    starts = np.append(0, _ends(columns) + 1) if _marks(columns) else np.array([0])
    return starts[starts < steps]


def _actions(actions: np.ndarray, path: Path, tell: Tell) -> np.ndarray:
    """As vectors. (N,) or (N, A) -> (N, A)"""
    if actions.dtype.kind not in "biuf":
        raise CogmapError(f"{path}: actions are of type {actions.dtype}, not numbers.")
    if actions.ndim == 1 and actions.dtype.kind in "iu":
        low, high = int(actions.min()), int(actions.max())
        if low < 0 or high >= KINDS:
            raise CogmapError(
                f"{path}: actions are whole numbers from {low} to {high}; want kinds from 0 to "
                f"{KINDS - 1}, or vectors (N, action size)."
            )
        tell(f"actions: {high + 1} kinds, as ones and zeros (one-hot).")
        return np.eye(high + 1, dtype=np.float32)[actions]
    if actions.ndim == 1:
        actions = actions[:, None]
    if actions.ndim != 2 or not actions.shape[1]:
        raise CogmapError(f"{path}: actions have shape {actions.shape}; want (N, action size).")
    return actions.astype(np.float32)


def _convention(columns: Columns, steps: int) -> str:
    """How the columns were understood, in one line."""
    marks = " or ".join(_marks(columns))
    if "episode_starts" in columns:
        bounds = "episodes begin at episode_starts"
    else:
        bounds = f"episodes end at {marks}" if marks else "no marks, so all rows are one episode"
    if "next_observations" in columns:
        rows = "rows are transitions, and an episode's last next_observations its final row"
    elif steps < len(columns["observations"]):
        rows = "each episode has one observation more than actions, its final row"
    else:
        rows = "an episode's last row is its last observation, and that row's action unused"
    return f"convention: {bounds}; {rows}."
