"""Minari's datasets: found on this machine, read into ours, and written from ours.

A Minari episode has T + 1 observations and T actions. Spaces become vectors: a Box is its own
numbers, Discrete, MultiDiscrete and MultiBinary are ones and zeros, Dict and Tuple are joined part
by part. A space of one Box keeps its shape, so that pictures stay pictures.
"""

from __future__ import annotations

import difflib
import os
import re
import shutil
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from cogmap.data.packages import needed
from cogmap.data.trajectories import Trajectories
from cogmap.errors import CogmapError

GOAL_PARTS = {"observation", "achieved_goal", "desired_goal"}  # of a goal environment
PICTURE_SIDE = 16  # pixels from which an array of bytes is a picture and not so many numbers
NAME = re.compile(r"([-\w]+/)*[-\w]+-v\d+")
Tell = Callable[[str], None]
Parts = dict[str, np.ndarray]  # by name, "" where there is only one: (rows, ...)


def store() -> Path:
    """Where Minari keeps datasets on this machine."""
    return Path(os.environ.get("MINARI_DATASETS_PATH") or Path.home() / ".minari" / "datasets")


def find_minari(path: Path) -> Path | None:
    """The folder of a Minari dataset by path or name; None for what is neither. Never downloads."""
    if path.exists():
        folder = path.absolute().parent if path.name == "data" else path
        return folder if _is_dataset(folder) else None
    if _is_dataset(store() / path):
        return store() / path
    name = path.as_posix()
    if path.is_absolute() or not NAME.fullmatch(name):
        return None
    near = _nearest(name)
    raise CogmapError(
        f"Minari dataset {name} is not on this machine; get it with `minari download {name}`"
        + (f", or take one that is here: {', '.join(near)}." if near else ".")
    )


def _is_dataset(folder: Path) -> bool:
    return (folder / "data" / "metadata.json").is_file()


def _nearest(name: str) -> list[str]:
    """Names on this machine that are most like this one, or any."""
    folders = (file.parent.parent for file in store().rglob("data/metadata.json"))
    names = sorted(folder.relative_to(store()).as_posix() for folder in folders)
    return difflib.get_close_matches(name, names, n=3, cutoff=0.4) or names[:3]


def read_minari(folder: Path, *, hold: int | None, tell: Tell) -> Trajectories:
    """A dataset with T + 1 rows for each episode; the last row's action is unused, and zero."""
    what = f"{folder.name} is a Minari dataset, which"
    needed("h5py", what=what)
    minari, spaces = needed("minari", what=what), needed("gymnasium.spaces", what=what)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # gymnasium's, of spaces that someone else chose
            dataset = minari.MinariDataset(folder / "data")
            episodes = [_rows(episode, dataset) for episode in dataset.iterate_episodes()]
            observations = [_joined(seen) for seen, _ in episodes]
            own = _own(dataset.storage.metadata)
    except CogmapError as error:
        raise CogmapError(f"{folder}: {error}") from None
    except Exception as error:  # json, h5py, gymnasium and minari raise almost anything
        raise CogmapError(f"{folder} is damaged or no Minari dataset: {_line(error)}") from None
    if not episodes:
        raise CogmapError(f"{folder} has no episodes; record or download it anew.")
    tell("convention: Minari's; an episode of T actions has T + 1 rows, the last action unused.")
    parts, left_out = _described(dataset.observation_space, episodes[0][0])
    if parts or left_out:
        tell(f"observations: {parts}" + (f"; left out: {left_out}" if left_out else "") + ".")
    if isinstance(dataset.action_space, spaces.Discrete):
        tell(f"actions: {dataset.action_space.n} kinds, as ones and zeros (one-hot).")
    lengths = [len(rows) for rows in observations]
    return Trajectories(
        episode_starts=np.cumsum([0, *lengths[:-1]]),
        observations=np.concatenate(observations),
        actions=np.concatenate([actions for _, actions in episodes]),
        hold=own["hold"] if hold is None else hold,
        controls=own["controls"],
        source=f"imported from Minari's {dataset.spec.dataset_id}" + (parts and f": {parts}"),
    )


def _own(metadata: dict[str, Any]) -> dict[str, Any]:
    """What our export wrote down; of a dataset by others, what most logs are."""
    own = metadata.get("cogmap", {})
    hold = int(own.get("hold", 1))
    if hold < 1:
        raise CogmapError(f"metadata.json says hold={hold}; give --hold.")
    return {"hold": hold, "controls": bool(own.get("controls", True))}


def _line(error: Exception) -> str:
    """What another package said, as one line."""
    return " ".join(str(error).split())[:200] or type(error).__name__


def _rows(episode: Any, dataset: Any) -> tuple[Parts, np.ndarray]:
    """What was seen in an episode by part, and what was done, with a zero action at the end."""
    seen = _parts(dataset.observation_space, episode.observations)
    done = list(_parts(dataset.action_space, episode.actions).values())
    if not seen or not done:
        raise CogmapError("its observations or actions hold no numbers that could be read.")
    actions = np.concatenate([column.reshape(len(column), -1) for column in done], axis=1)
    rows = len(next(iter(seen.values())))
    if rows != len(actions) + 1:
        raise CogmapError(f"an episode has {rows} observations for {len(actions)} actions.")
    return seen, np.pad(actions.astype(np.float32), ((0, 1), (0, 0)))


def _parts(space: Any, values: Any, name: str = "") -> Parts:
    """The plain parts of a space as numbers; those of other kinds (text, graphs) are left out."""
    spaces = needed("gymnasium.spaces", what="Minari")
    if isinstance(space, (spaces.Dict, spaces.Tuple)):
        parts: Parts = {}
        for key, part in _items(space):
            parts |= _parts(part, values[key], f"{name}.{key}" if name else str(key))
        return parts
    if isinstance(space, spaces.Box):
        column = np.asarray(values)
        return {name: column if column.ndim > 1 else column[:, None]}
    if isinstance(space, spaces.Discrete):
        return {name: _one_hot(np.asarray(values) - space.start, int(space.n))}
    if isinstance(space, spaces.MultiDiscrete):
        column = (np.asarray(values) - space.start).reshape(len(values), -1)
        counts = space.nvec.ravel()
        kinds = [_one_hot(column[:, k], int(count)) for k, count in enumerate(counts)]
        return {name: np.concatenate(kinds, axis=1)}
    if isinstance(space, spaces.MultiBinary):
        return {name: np.asarray(values, dtype=np.float32).reshape(len(values), -1)}
    return {}


def _items(space: Any) -> list[tuple[Any, Any]]:
    """Parts of a Dict or Tuple; not desired_goal: where to go is not where one is."""
    if isinstance(space.spaces, dict):
        goal = set(space.spaces) >= GOAL_PARTS
        return [i for i in space.spaces.items() if not (goal and i[0] == "desired_goal")]
    return list(enumerate(space.spaces))


def _one_hot(kinds: np.ndarray, count: int) -> np.ndarray:
    """(rows,) -> (rows, count)"""
    kinds = kinds.reshape(len(kinds))
    if len(kinds) and not 0 <= kinds.min() <= kinds.max() < count:
        raise CogmapError(f"kinds from {kinds.min()} to {kinds.max()} in a space of {count}.")
    return np.eye(count, dtype=np.float32)[kinds]


def _joined(parts: Parts) -> np.ndarray:
    """One column of all parts. -> (rows, d), or (rows, ...) of the only one"""
    columns = list(parts.values())
    if len(columns) == 1:
        only = columns[0]
        return only if only.dtype == np.uint8 else only.astype(np.float32)
    for name, column in parts.items():
        if column.dtype == np.uint8 and sorted((1, *column.shape[1:]))[-2] >= PICTURE_SIDE:
            raise CogmapError(
                f"{name!r} is a picture beside numbers; save the pictures alone, or the numbers "
                "alone, as observations.npy with actions.npy and episode_starts.npy."
            )
    flat = [column.reshape(len(column), -1).astype(np.float32) for column in columns]
    return np.concatenate(flat, axis=1)


def _described(space: Any, parts: Parts) -> tuple[str, str]:
    """Which numbers each named part became, and which parts were left out."""
    told, begin = [], 0
    for name, column in parts.items():
        end = begin + column[0].size
        told.append(f"{name} {begin}" + (f"-{end - 1}" if end > begin + 1 else ""))
        begin = end
    names = {str(key) for key in getattr(space, "spaces", ())}
    missing = sorted(n for n in names if not any(p == n or p.startswith(f"{n}.") for p in parts))
    return ("" if "" in parts else ", ".join(told)), ", ".join(missing)


def write_minari(data: Trajectories, name: str, *, root: Path | None, tell: Tell) -> Path:
    """Writes a dataset under its name in Minari's store, or in another root; the folder of it.

    Rewards are zero and every episode is cut off, not terminated: our data knows of neither.
    """
    needed("h5py", what="an export to Minari")
    datasets = needed("minari.dataset.minari_dataset", what="an export to Minari")
    try:
        datasets.parse_dataset_id(name)
    except (ValueError, TypeError):  # the latter where the version is missing
        raise CogmapError(f"{name} is no Minari name; give one as mine/walk-v0.") from None
    folder = (store() if root is None else root) / name
    if folder.exists():
        raise CogmapError(f"{folder} exists already; choose another name or version.")
    if data.actions is None:
        raise CogmapError("the dataset has no actions, and Minari keeps none without them.")
    short = int((data.episode_lengths < 2).sum())
    if short == len(data.episode_starts):
        raise CogmapError("every episode has a single row; Minari keeps episodes with an action.")
    if short:
        tell(f"warning: {short} episodes of a single row have no action and were left out.")
    temporary = folder.with_name(f".{folder.name}.tmp")  # hidden: Minari does not list it
    try:
        shutil.rmtree(temporary, ignore_errors=True)
        temporary.mkdir(parents=True)
        _write(data, name, temporary / "data")
        temporary.replace(folder)
    except Exception as error:  # a full disk, or a Minari that has changed
        raise CogmapError(f"cannot write {folder}: {_line(error)}") from None
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return folder


def _write(data: Trajectories, name: str, folder: Path) -> None:
    storages = needed("minari.dataset.minari_storage", what="an export to Minari")
    assert data.actions is not None
    first = data.rows(np.arange(1))
    # Minari's JPEG would change pictures; releases that had no choice knew no such argument.
    lossless = {"jpeg_encoding": False} if first.dtype == np.uint8 else {}
    storage = storages.MinariStorage.new(
        folder, observation_space=_box(first), action_space=_box(data.actions[:1]), **lossless
    )
    version = needed("minari", what="an export to Minari").__version__
    about = {"dataset_id": name, "minari_version": version, "description": data.source}
    own = {"hold": data.hold, "controls": data.controls}
    storage.update_metadata(about | {"cogmap": own})
    storage.update_episodes(_buffers(data))


def _box(column: np.ndarray) -> Any:
    """The space of a column's rows, without bounds."""
    spaces = needed("gymnasium.spaces", what="an export to Minari")
    whole = np.issubdtype(column.dtype, np.integer)
    low, high = (
        (np.iinfo(column.dtype).min, np.iinfo(column.dtype).max) if whole else (-np.inf, np.inf)
    )
    return spaces.Box(low, high, column.shape[1:], column.dtype.type)


def _buffers(data: Trajectories) -> Iterator[Any]:
    """Episodes as Minari takes them, one at a time: pictures may not fit in memory."""
    buffers = needed("minari.data_collector", what="an export to Minari")
    assert data.actions is not None
    for start, length in zip(data.episode_starts, data.episode_lengths):
        steps = int(length) - 1
        if steps < 1:
            continue
        yield buffers.EpisodeBuffer(
            observations=np.asarray(data.rows(np.arange(start, start + length))),
            actions=np.asarray(data.actions[start : start + steps]),
            rewards=np.zeros(steps),
            terminations=np.zeros(steps, dtype=bool),
            truncations=np.arange(steps) == steps - 1,
        )
