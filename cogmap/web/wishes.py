"""Goals and starts as typed on the page: words, numbers, or a row of the sample."""

from __future__ import annotations

import re

import numpy as np

from cogmap.errors import CogmapError
from cogmap.goals import Seen
from cogmap.words import FILES, read

NUMBERS = re.compile(r"[-+.,\deE\s]+")  # an observation
ROW = re.compile(r"#(\d{1,9})")


def row_of(text: str) -> int | None:
    """Which row of the sample #K means; None for words."""
    found = ROW.fullmatch(text.strip())
    return None if found is None else int(found[1])


def check(what: str, text: str, seen: Seen, *, own: str | None = None) -> None:
    """Raises for words that the page does not take.

    Files and functions only where the run itself names them: who may see the page may not have the
    server open or import things.
    """
    if text == own:
        return
    if seen.pictures:
        ways = "a reset begins as it does" if what == "start" else "click a point, or give #ROW"
        raise CogmapError(f"{what} {text!r}: this run sees pictures, which have no words; {ways}.")
    if text.endswith(FILES) or not (NUMBERS.fullmatch(text) or re.search("[<>=]", text)):
        raise CogmapError(
            f"{what} {text!r}: the page reads NAME=VALUE, NAME=LOW..HIGH, NAME>=VALUE or an "
            f"observation's numbers ({', '.join(seen.names[:12])}); files and functions are for "
            "`cogmap plan`."
        )
    wanted = read(text)
    if isinstance(wanted, np.ndarray):
        with np.errstate(over="ignore"):
            if not np.isfinite(wanted.astype(np.float32)).all():
                raise CogmapError(f"{what} {text!r}: too large a number.")
    for name, value in wanted.items() if isinstance(wanted, dict) else ():
        if np.isnan(value).any():
            raise CogmapError(f"{what} {text!r}: nan is no number.")
        if name not in seen.names and not re.fullmatch("[0-9]{1,9}", name):
            raise CogmapError(f"no number is called {name!r}; there are {', '.join(seen.names)}.")
