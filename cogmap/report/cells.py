"""Rows of measurements, chosen and summed up as the cells of a table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from cogmap.evaluation.metrics import wilson_interval

Row = dict[str, Any]


def model_of(row: Row) -> tuple[str, str, int]:
    """Maze, kind and training seed of the model behind a row: `giant-ours-0/...`."""
    parts = row["cell"].split("/")[0].split("-")
    return (parts[0], parts[1], int(parts[2])) if len(parts) == 3 else (parts[0], "", 0)


def mazes_of(rows: Iterable[Row]) -> list[str]:
    """Mazes by size: Large, Giant, then others by name. Pages do not depend on the rows' order."""
    known = ("large", "giant")
    found = {model_of(row)[0] for row in rows}
    return [m for m in known if m in found] + sorted(found - set(known))


def chosen(rows: Iterable[Row], *, kind: str = "", **fields: Any) -> list[Row]:
    """Rows of one kind of model whose fields have these values."""
    return [
        row
        for row in rows
        if model_of(row)[1] == kind and all(row.get(name) == v for name, v in fields.items())
    ]


def rate(rows: Sequence[Row]) -> tuple[float, float, float]:
    """SR over all episodes and its interval."""
    count = sum(row["episodes"] for row in rows)
    reached = sum(round(row["sr"] * row["episodes"]) for row in rows)
    return (reached / count, *wilson_interval(reached, count))


def cell(rows: Sequence[Row], *, bold: bool = False) -> str:
    """`SR [low, high] / SPL`, or a dash where nothing was measured."""
    if not rows:
        return "-"
    sr, low, high = rate(rows)
    weights = [row["episodes"] for row in rows]
    spl = np.average([row["spl"] for row in rows], weights=weights)
    head = f"{sr:.2f} / {spl:.2f}"
    return (f"**{head}**" if bold else head) + f" [{low:.2f}, {high:.2f}]"


def markdown(rows: Sequence[Sequence[str]]) -> list[str]:
    """A table whose first row is its header."""
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    return [lines[0], "|" + " --- |" * len(rows[0]), *lines[1:]]


def footer(rows: Sequence[Row], name: str) -> list[str]:
    """Where the rows are, what made them, on what, and how long the measuring took."""
    where = sorted({row["hardware"] for row in rows})
    commands = ", ".join(f"`{command}`" for command in sorted({row["command"] for row in rows}))
    minutes = sum({row["cell"]: row["minutes"] for row in rows}.values())
    return [
        "",
        f"Rows: results/{name}.jsonl, by {commands}; {minutes:.0f} minutes of measuring (training "
        f"not counted) on {' and on '.join(where)}.",
    ]
