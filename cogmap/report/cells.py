"""Rows of measurements, chosen and summed up as the cells of a table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from cogmap.evaluation.metrics import wilson_interval

Row = dict[str, Any]


LARGE, GIANT = "pointmaze-large", "pointmaze-giant"


def worlds_of(rows: Iterable[Row]) -> list[str]:
    """Worlds by size: Large, Giant, then others by name. Pages do not depend on the rows' order."""
    found = {row["world"] for row in rows}
    return [world for world in (LARGE, GIANT) if world in found] + sorted(found - {LARGE, GIANT})


def title(world: str) -> str:
    """What a table calls a world."""
    return world.removeprefix("pointmaze-").title()


def chosen(rows: Iterable[Row], **columns: Any) -> list[Row]:
    """Rows whose columns have these values."""
    return [row for row in rows if all(row.get(name) == v for name, v in columns.items())]


def seeds_of(rows: Iterable[Row]) -> int:
    """How many training seeds are behind some rows."""
    return len({row["train_seed"] for row in rows})


def rate(rows: Sequence[Row]) -> tuple[float, float, float]:
    """SR over all episodes and its interval."""
    count = sum(row["episodes"] for row in rows)
    reached = sum(round(row["sr"] * row["episodes"]) for row in rows)
    return (reached / count, *wilson_interval(reached, count))


def cell(rows: Sequence[Row], *, bold: bool = False, interval: bool = True) -> str:
    """`SR / SPL [low, high]`, or a dash where nothing was measured."""
    if not rows:
        return "-"
    sr, low, high = rate(rows)
    weights = [row["episodes"] for row in rows]
    spl = np.average([row["spl"] for row in rows], weights=weights)
    head = f"{sr:.2f} / {spl:.2f}"
    return (f"**{head}**" if bold else head) + (f" [{low:.2f}, {high:.2f}]" if interval else "")


def explored_cell(rows: Sequence[Row]) -> str:
    """`SR (number)` of the episodes with both ends explored, or a dash where nobody asked."""
    asked = [row for row in rows if "explored" in row]
    count = sum(row["explored"] for row in asked)
    reached = sum(round(row["explored_sr"] * row["explored"]) for row in asked if row["explored"])
    if not count:
        return "none" if asked else "-"
    return f"{reached / count:.2f} ({count})"


def markdown(rows: Sequence[Sequence[str]]) -> list[str]:
    """A table whose first row is its header."""
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    return [lines[0], "|" + " --- |" * len(rows[0]), *lines[1:]]


def short(hardware: str) -> str:
    """Hardware without the versions that rows also carry: `2 CPU cores`, `..., NVIDIA H200`."""
    return hardware.split(", torch")[0]


def footer(rows: Sequence[Row], name: str) -> list[str]:
    """Where the rows are, what made them, on what, and how long the measuring took."""
    where = sorted({short(row["hardware"]) for row in rows})
    commands = ", ".join(f"`{command}`" for command in sorted({row["command"] for row in rows}))
    minutes = sum({row["cell"]: row["minutes"] for row in rows}.values())
    return [
        "",
        f"Rows: results/{name}.jsonl, by {commands}; {minutes:.0f} minutes of measuring (training "
        f"not counted) on {' and on '.join(where)}.",
    ]
