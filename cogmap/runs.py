"""A run folder: what was asked, what was measured, and weights that a kill cannot spoil.

RUN/config.json              the world and every setting of the run
RUN/temporal/, RUN/dynamics/ one folder a model:
    config.json                its shape
    model.safetensors          its weights
    metrics.jsonl              one line a report (docs/metrics.md)
    training_state.pt          optimiser, randomness and step, to resume from
"""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeVar

import safetensors
import torch
from safetensors.torch import load_model, save_model

from cogmap.errors import CogmapError

T = TypeVar("T")


def replace_file(path: Path, write: Callable[[Path], Any]) -> None:
    """Writes beside the file, then renames: a reader sees the old file or the new one, whole."""
    temporary = path.with_name(path.name + ".tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write(temporary)
        temporary.chmod(0o644)  # safetensors makes files that only their owner can read
        os.replace(temporary, path)
    except (OSError, RuntimeError, safetensors.SafetensorError) as error:
        temporary.unlink(missing_ok=True) if path.parent.is_dir() else None
        reason = getattr(error, "strerror", None) or str(error).splitlines()[0]
        raise CogmapError(
            f"cannot write {path}: {reason}; free space or choose another --out."
        ) from None


def check_new_folder(folder: Path) -> None:
    """Raises where a folder to write is a file or holds something already."""
    if folder.exists() and not folder.is_dir():
        raise CogmapError(f"{folder} is a file; choose another --out.")
    if folder.is_dir() and any(folder.iterdir()):
        raise CogmapError(f"{folder} is not empty; choose another --out.")


def check_new_run(folder: Path) -> None:
    """Raises where a folder holds a run."""
    if (folder / "config.json").exists():
        raise CogmapError(
            f"{folder} holds a run already; continue it with --resume {folder}, "
            "or choose another --out."
        )


def check_writable(path: Path) -> None:
    """Raises unless a file can be written there; leaves nothing behind."""
    if path.is_dir():
        raise CogmapError(f"cannot write {path}: it is a folder; give the name of a file.")
    probe = path.with_name(path.name + ".tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        probe.write_bytes(b"")
        probe.unlink()
    except OSError as error:
        raise CogmapError(f"cannot write {path}: {error.strerror}; choose another place.") from None


def write_json(path: Path, value: Any) -> None:
    text = json.dumps(value, indent=1) + "\n"
    replace_file(path, lambda temporary: temporary.write_text(text))


def read_json(path: Path) -> Any:
    try:
        return json.loads(path.read_text())
    except FileNotFoundError:
        raise CogmapError(f"{path} is missing; is {path.parent} a finished run or model?") from None
    except (OSError, ValueError) as error:
        raise CogmapError(f"{path} cannot be read: {error}; copy or make it anew.") from None


def settings_from(kind: type[T], values: Any, *, where: str) -> T:
    """A settings dataclass from JSON, with one clear line for a wrong or missing name."""
    assert dataclasses.is_dataclass(kind)
    if not isinstance(values, dict):
        raise CogmapError(f"{where}: expected an object of settings.")
    known = {field.name: field for field in dataclasses.fields(kind)}
    if unknown := sorted(set(values) - set(known)):
        raise CogmapError(f"{where}: unknown setting {unknown[0]!r}; known: {', '.join(known)}.")
    fixed = {k: tuple(v) if isinstance(v, list) else v for k, v in values.items()}
    try:
        return kind(**fixed)
    except TypeError as error:
        raise CogmapError(f"{where}: {error}.") from None


def write_lines(path: Path, lines: Iterable[str]) -> None:
    """A file of lines, replaced whole."""
    text = "".join(line + "\n" for line in lines)
    replace_file(path, lambda temporary: temporary.write_text(text))


def append_line(path: Path, row: dict[str, Any]) -> None:
    """One more JSON line at the end of a file."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a") as file:
            file.write(json.dumps(row) + "\n")
    except OSError as error:
        raise CogmapError(f"cannot write {path}: {error.strerror}.") from None


def trim_metrics(folder: Path, step: int) -> float:
    """Drops reports from after a step: a run resumed there will write them again.

    Returns the seconds of training that had gone by then.
    """
    path = folder / "metrics.jsonl"
    if not path.exists():
        return 0.0
    lines = [line for line in path.read_text().splitlines() if json.loads(line)["step"] <= step]
    write_lines(path, lines)
    return json.loads(lines[-1]).get("seconds", 0.0) if lines else 0.0


def save_weights(folder: Path, model: torch.nn.Module, config: Any) -> None:
    """config.json and model.safetensors, each replaced whole."""
    write_json(folder / "config.json", dataclasses.asdict(config))
    # save_model knows that tied encoders share tensors; save_file does not.
    replace_file(folder / "model.safetensors", lambda temporary: save_model(model, str(temporary)))


def load_weights(folder: Path, model: torch.nn.Module) -> None:
    path = folder / "model.safetensors"
    if not path.is_file():
        raise CogmapError(f"{path} is missing; train it first, or copy the whole model folder.")
    try:
        load_model(model, str(path))
    except (safetensors.SafetensorError, RuntimeError, OSError) as error:
        reason = str(error).splitlines()[0]
        raise CogmapError(
            f"{path} is truncated or of another shape ({reason}); copy or train it anew."
        ) from None


def save_state(folder: Path, state: dict[str, Any]) -> None:
    replace_file(folder / "training_state.pt", lambda temporary: torch.save(state, temporary))


def load_state(folder: Path) -> dict[str, Any] | None:
    """What to resume from; None where training never began."""
    path = folder / "training_state.pt"
    if not path.is_file():
        return None
    try:
        return torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # torch raises many kinds for a damaged archive
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise CogmapError(f"{path} is damaged ({reason}); delete it to train anew.") from None


def commit() -> str:
    """The commit of the code that runs, with a + where it was changed since; '' outside a clone.

    COGMAP_COMMIT says it for a copy that came without its history.
    """
    if given := os.environ.get("COGMAP_COMMIT"):
        return given
    here = Path(__file__).parent

    def git(*words: str) -> str:
        asked = ["git", "-C", str(here), *words]
        return subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()

    try:
        git("ls-files", "--error-unmatch", "__init__.py")  # or it is a clone of something else
        changed = git("status", "--porcelain", "--untracked-files=no", "--", ".")
        return git("rev-parse", "--short=10", "HEAD") + ("+" if changed else "")
    except (OSError, subprocess.CalledProcessError):
        return ""
