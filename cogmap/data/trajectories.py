"""Recorded experience: what was seen, what was done, and where each episode begins (Sec. 2.1).

On disk a dataset is a folder of columns, opened by memory map:

    meta.json            format, hold, controls, source (free text)
    episode_starts.npy   (E,)       row at which each episode begins; the first is 0
    actions.npy          (N, A)     the action taken at each row; the last row of an episode: unused
    observations.npy     (N, ...)   one observation a row, or, where observations repeat,
    table.npy            (S, ...)     the distinct observations and
    index.npy            (N,)         which of them each row saw

Row t and row t + tau of one episode are a pair at horizon tau; rows t and t + 1 with the action of
row t are a transition. An action is held for `hold` simulator steps between two rows. `controls`
says whether actions are what was sent to the simulator, so that local dynamics can learn from
them; those of a lattice walk are moves between its points.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from cogmap.errors import CogmapError

FORMAT = 1


@dataclass(frozen=True)
class Trajectories:
    """Columns of one dataset. Exactly one of `observations` and (`table`, `index`) is given."""

    episode_starts: np.ndarray  # (E,) int64
    observations: np.ndarray | None = None  # (N, ...) float32 or uint8
    table: np.ndarray | None = None  # (S, ...) distinct observations
    index: np.ndarray | None = None  # (N,) int32 into table
    actions: np.ndarray | None = None  # (N, A) float32
    hold: int = 1  # simulator steps between two rows
    controls: bool = True  # whether the actions are what was sent to the simulator
    source: str = ""  # how it was made, for a reader

    def __post_init__(self) -> None:
        if (self.observations is None) == (self.table is None):
            raise CogmapError("a dataset holds either observations or a table with an index.")
        if (self.table is None) != (self.index is None):
            raise CogmapError(
                "a table of observations needs an index column, and an index a table."
            )
        starts = np.asarray(self.episode_starts)
        if starts.ndim != 1 or not len(starts) or starts[0] != 0 or (np.diff(starts) <= 0).any():
            raise CogmapError("episode_starts must rise from 0; one row for each episode.")
        if starts[-1] >= len(self):
            raise CogmapError(
                f"episode_starts ends at row {starts[-1]}, but there are {len(self)} rows."
            )
        if self.index is not None and self.table is not None:
            low, high = int(self.index.min()), int(self.index.max())
            if low < 0 or high >= len(self.table):
                raise CogmapError(f"index reaches beyond the table of {len(self.table)} rows.")
        if self.actions is not None and len(self.actions) != len(self):
            raise CogmapError(
                f"{len(self.actions)} actions for {len(self)} observations; give one a row."
            )

    def __len__(self) -> int:
        column = self.index if self.index is not None else self.observations
        assert column is not None
        return len(column)

    @property
    def observation_shape(self) -> tuple[int, ...]:
        column = self.table if self.table is not None else self.observations
        assert column is not None
        return tuple(column.shape[1:])

    @property
    def episode_lengths(self) -> np.ndarray:
        """Rows of each episode. (E,)"""
        return np.diff(np.append(self.episode_starts, len(self)))

    def rows(self, rows: np.ndarray) -> np.ndarray:
        """The observations of some rows. (B,) -> (B, ...)"""
        if self.table is not None and self.index is not None:
            return self.table[self.index[rows]]
        assert self.observations is not None
        return self.observations[rows]

    def distinct(self) -> tuple[np.ndarray, np.ndarray]:
        """The reference p0 of this data: its observations (S, ...) and their shares (S,)."""
        if self.table is not None and self.index is not None:
            counts = np.bincount(self.index, minlength=len(self.table))
            return np.asarray(self.table), counts / counts.sum()
        assert self.observations is not None
        return self.observations, np.full(len(self), 1.0 / len(self))

    def parted(self, share: float) -> tuple[Trajectories, Trajectories | None]:
        """All but the last episodes, about that share, and those; None where there are too few."""
        last = int(len(self.episode_starts) * share)
        if last < 1:
            return self, None
        count = len(self.episode_starts) - last
        row = int(self.episode_starts[count])
        starts = self.episode_starts
        head, tail = self._cut(slice(0, row)), self._cut(slice(row, None))
        return (
            replace(self, episode_starts=starts[:count], **head),
            replace(self, episode_starts=starts[count:] - row, **tail),
        )

    def first(self, episodes: int) -> Trajectories:
        """The first so many episodes."""
        if not 1 <= episodes <= len(self.episode_starts):
            raise CogmapError(
                f"{episodes} episodes; {self.source or 'this dataset'} has "
                f"{len(self.episode_starts)}."
            )
        ends = np.append(self.episode_starts, len(self))
        starts = self.episode_starts[:episodes]
        return replace(self, episode_starts=starts, **self._cut(slice(0, int(ends[episodes]))))

    @classmethod
    def together(cls, parts: Sequence[Trajectories]) -> Trajectories:
        """One after the other; of rows, not tables."""
        rows = [part.observations for part in parts if part.observations is not None]
        actions = [part.actions for part in parts if part.actions is not None]
        if not len(rows) == len(actions) == len(parts):
            raise CogmapError("datasets of rows with actions can be joined, tables cannot.")
        offsets = np.cumsum([0, *(len(part) for part in parts)])
        starts = [part.episode_starts + offset for part, offset in zip(parts, offsets)]
        return replace(
            parts[0],
            episode_starts=np.concatenate(starts),
            observations=np.concatenate(rows),
            actions=np.concatenate(actions),
            source="; ".join(part.source for part in parts),
        )

    def _cut(self, rows: slice) -> dict[str, Any]:
        """Some rows of each column that has one a row."""
        columns = {name: getattr(self, name) for name in ("observations", "index", "actions")}
        return {name: None if column is None else column[rows] for name, column in columns.items()}

    def check_finite(self) -> None:
        """Raises where a column holds NaN or infinity, naming the first row."""
        for name in ("observations", "table", "actions"):
            column = getattr(self, name)
            if column is None or not np.issubdtype(column.dtype, np.floating):
                continue
            for begin in range(0, len(column), 1 << 20):  # a chunk at a time: columns may be large
                block = column[begin : begin + (1 << 20)]
                wrong = ~np.isfinite(block.reshape(len(block), -1)).all(axis=1)
                if wrong.any():
                    row = begin + int(wrong.argmax())
                    raise CogmapError(
                        f"{name} row {row} is {column[row].tolist()}; drop or mend such rows first."
                    )

    def save(self, folder: Path) -> None:
        """Writes the columns, then meta.json: a folder without it is not a dataset."""
        temporary = folder / "column.tmp"  # a column may be a memory map of the file it replaces
        try:
            folder.mkdir(parents=True, exist_ok=True)
            (folder / "meta.json").unlink(missing_ok=True)
            for name in ("episode_starts", "observations", "table", "index", "actions"):
                column, path = getattr(self, name), folder / f"{name}.npy"
                if column is None:
                    path.unlink(missing_ok=True)
                    continue
                with temporary.open("wb") as file:
                    np.save(file, column)
                temporary.replace(path)
            about = {"hold": self.hold, "controls": self.controls, "source": self.source}
            (folder / "meta.json").write_text(json.dumps({"format": FORMAT} | about) + "\n")
        except OSError as error:
            if folder.is_dir():
                temporary.unlink(missing_ok=True)
            reason = error.strerror or f"{error} (is the disk full?)"
            raise CogmapError(f"cannot write {folder}: {reason}.") from None

    @classmethod
    def load(cls, folder: str | Path) -> Trajectories:
        """Opens a dataset folder; columns stay on disk until they are read."""
        folder = Path(folder)
        try:
            meta = json.loads((folder / "meta.json").read_text())
        except (OSError, ValueError):
            raise CogmapError(
                f"{folder} is not a dataset (no readable meta.json); make one with "
                "`cogmap explore` or `cogmap import`."
            ) from None
        if not isinstance(meta, dict) or meta.get("format") != FORMAT:
            raise CogmapError(f"{folder}/meta.json is not of format {FORMAT}; make it anew.")
        hold = meta.get("hold", 1)
        if not isinstance(hold, int):
            raise CogmapError(f"{folder}/meta.json: hold={hold!r}; want a whole number.")

        def column(name: str) -> np.ndarray | None:
            path = folder / f"{name}.npy"
            if not path.exists():
                return None
            try:
                return np.load(path, mmap_mode="r")
            except (ValueError, OSError, EOFError):  # EOF: an empty file
                raise CogmapError(f"{path} is truncated or no .npy file; make it anew.") from None

        starts = column("episode_starts")
        if starts is None:
            raise CogmapError(f"{folder} has no episode_starts.npy; make the dataset anew.")
        table = column("table")
        # Folders of 0.3.0 do not say; there a table meant the moves of a lattice walk.
        controls = meta.get("controls", table is None)
        if not isinstance(controls, bool):
            raise CogmapError(f"{folder}/meta.json: controls={controls!r}; want true or false.")
        return cls(
            episode_starts=np.asarray(starts),
            observations=column("observations"),
            table=table,
            index=column("index"),
            actions=column("actions"),
            hold=hold,
            controls=controls,
            source=str(meta.get("source", "")),
        )
