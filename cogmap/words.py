"""Goals as typed: numbers, names with values and ranges, files, and functions by their name."""

from __future__ import annotations

import contextlib
import difflib
import importlib
import math
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from cogmap.errors import CogmapError

FILES = (".npy", ".txt", ".csv")
SHOWN = 12  # names that an error lists; of more the nearest alone
Range = float | tuple[float, float]  # a value, or (low, high), an end of which may be infinite


def read(text: str) -> np.ndarray | Callable | dict[str, Range]:
    """A goal as typed: numbers, NAME=VALUE, a file of observations, or module:function.

    `cos_theta=1,theta_dot=-0.5..0.5`, `position>=0.45`, `0.1,0.2,0.3`, `goal.npy`,
    `my_goals:upright`.
    """
    if text.endswith(FILES):
        return _numbers_of(Path(text))
    if (found := re.fullmatch(r"([\w.]+):(\w+)", text)) is not None:
        return _function(text, found[1], found[2])
    with contextlib.suppress(ValueError):
        return np.array([float(part) for part in text.split(",")])
    ranges: dict[str, Range] = {}
    for part in text.split(","):
        found = re.fullmatch(r"\s*([^<>=]+?)\s*(>=|<=|=)\s*(\S+)\s*", part)
        if found is None:
            raise CogmapError(
                f"goal {text!r}: cannot read {part!r}; give NAME=VALUE, NAME=LOW..HIGH, "
                "NAME>=VALUE, an observation's numbers, a .npy file, or module:function."
            )
        name, sign, value = found.groups()
        if name in ranges:
            raise CogmapError(
                f"goal {text!r}: {name!r} is there twice; say it as {name}=LOW..HIGH."
            )
        ranges[name] = _range(text, sign, value)
    return ranges


def _numbers_of(path: Path) -> np.ndarray:
    try:
        return np.load(path) if path.suffix == ".npy" else np.loadtxt(path, delimiter=",")
    except (OSError, ValueError, EOFError):
        raise CogmapError(f"goal {str(path)!r}: no readable file of numbers.") from None


def _function(text: str, module: str, name: str) -> Callable:
    try:
        found = getattr(importlib.import_module(module), name)
    except Exception as error:  # the user's own code may raise anything
        reason = " ".join(str(error).split()) or repr(error)
        raise CogmapError(f"goal {text!r}: {reason}.") from None
    if not callable(found):
        raise CogmapError(f"goal {text!r}: {name} is no function; give one of an observation.")
    return found


def _range(text: str, sign: str, value: str) -> Range:
    try:
        ends = [float(end) for end in value.split("..")]
    except ValueError:
        raise CogmapError(f"goal {text!r}: {value!r} is no number.") from None
    if len(ends) > 2 or (len(ends) == 2 and sign != "="):
        raise CogmapError(f"goal {text!r}: {value!r}; a range is NAME=LOW..HIGH.")
    if sign != "=":
        return (ends[0], math.inf) if sign == ">=" else (-math.inf, ends[0])
    return ends[0] if len(ends) == 1 else (ends[0], ends[1])


def bounds(
    ranges: Mapping[Any, Any], names: Sequence[str]
) -> dict[int, tuple[str, float, float | None]]:
    """Which numbers are meant: of each its words, its value or lower end, and its upper end."""
    if not ranges:
        raise CogmapError("a goal without numbers; give NAME=VALUE for one at least.")
    found: dict[int, tuple[str, float, float | None]] = {}
    for key, value in ranges.items():
        place = place_of(str(key), names)
        name = names[place]
        try:
            ends = [float(end) for end in np.atleast_1d(np.asarray(value, dtype=np.float64))]
        except (TypeError, ValueError):
            raise CogmapError(
                f"goal {name}={value!r}: a value or a (low, high) is wanted."
            ) from None
        if len(ends) == 1:
            if not math.isfinite(ends[0]):
                raise CogmapError(f"goal {name}={ends[0]}; give a finite number.")
            found[place] = (f"{name} = {ends[0]:g}", ends[0], None)
        elif len(ends) == 2 and ends[0] <= ends[1]:  # false for NaN too
            found[place] = (f"{name} in {ends[0]:g}..{ends[1]:g}", ends[0], ends[1])
        else:
            told = "..".join(f"{end:g}" for end in ends)
            raise CogmapError(f"goal {name}={told}; give the lower end first, as LOW..HIGH.")
    return found


def place_of(name: str, names: Sequence[str]) -> int:
    """Which number a name, or an index, means."""
    if name in names:
        return list(names).index(name)
    if name.isdigit() and int(name) < len(names):
        return int(name)
    if len(names) <= SHOWN:
        raise CogmapError(f"no number is called {name!r}; there are {', '.join(names)}.")
    near = difflib.get_close_matches(name, names, n=3, cutoff=0.0)
    raise CogmapError(
        f"no number is called {name!r}; there are {len(names)}, {names[0]} to {names[-1]}, and the "
        f"nearest names are {', '.join(near)}."
    )


def check_goal(text: str, names: Sequence[str]) -> None:
    """Raises for words that no observation with such names can be asked about."""
    wanted = read(text)
    if isinstance(wanted, dict):
        bounds(wanted, names)
    elif isinstance(wanted, np.ndarray) and wanted.shape[-1:] != (len(names),):
        raise wrong_shape(wanted.shape, (len(names),), names)


def wrong_shape(
    shape: tuple[int, ...], wanted: tuple[int, ...], names: Sequence[str]
) -> CogmapError:
    """The error for a goal of another size."""
    named = f": {', '.join(names)}" if 0 < len(names) <= SHOWN else ""
    return CogmapError(f"a goal of shape {shape}; observations here have shape {wanted}{named}.")
