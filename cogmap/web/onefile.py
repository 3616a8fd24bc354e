"""A page and all that it needs as one file, for any browser and without a server."""

from __future__ import annotations

import base64
import html
import json
import re
from collections.abc import Mapping, Sequence
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from cogmap import runs

T = TypeVar("T")


def assembled(
    template: str, module: str, *, title: str, tables: str, record: Mapping[str, Any]
) -> str:
    """The whole file as text. It asks no server for anything.

    `template` is the page's HTML and `module` the script that starts it, both of static/; `record`
    is what the script reads instead of asking.
    """
    static = resources.files("cogmap.web").joinpath("static")
    modules = {
        f"cogmap/{name}": _data_url(static.joinpath(name).read_text(encoding="utf-8"))
        for name in _imported(static, module)
    }
    parts = {
        "title": html.escape(title),
        "style": static.joinpath("style.css").read_text(encoding="utf-8"),
        "imports": json.dumps({"imports": modules}),
        "tables": tables,
        "record": _script_safe(json.dumps(record)),
    }
    text = static.joinpath(template).read_text(encoding="utf-8")
    for name, part in parts.items():
        text = text.replace("{{" + name + "}}", part)
    return text


def curve(folder: Path) -> list[dict[str, float]]:
    """The loss as the temporal training reported it; empty if the run has no metrics."""
    path = folder / "temporal" / "metrics.jsonl"
    rows = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    known = [row for row in rows if np.isfinite(row.get("loss", np.nan))]  # it may have diverged
    return [{"step": row["step"], "loss": round(row["loss"], 4)} for row in known]


def settings_of(folder: Path, *, world: str | None = None, without: Sequence[str] = ()) -> str:
    """The settings of a run as HTML; of its world the name alone where that is given."""
    settings = runs.read_json(folder / "config.json")
    settings = {name: value for name, value in settings.items() if name not in without}
    settings["world"] = world or settings["world"]
    lines = [["setting", "value"]]
    for name, value in settings.items():
        inner = value.items() if isinstance(value, dict) else [("", value)]
        for key, part in inner:
            if key == "context":  # matrices, of which the page says what they mean
                continue
            lines.append([f"{name} {key}".strip(), "-" if part is None else str(part)])
    return section("Settings of the run", table(lines))


def table(rows: Sequence[Sequence[str]]) -> str:
    head, *rest = rows
    return "<table>" + _row(head, "th") + "".join(_row(row, "td") for row in rest) + "</table>"


def choices(head: Sequence[str], rows: Sequence[tuple[int | None, Sequence[str]]]) -> str:
    """A table with a button where the page holds what a row is about: (its number there, cells)."""
    lines = [_row(["", *head], "th")]
    for number, cells in rows:
        button = "" if number is None else f'<button type="button">Show {number + 1}</button>'
        marked = "" if number is None else f' data-route="{number}"'
        plain = "".join(f"<td>{html.escape(cell)}</td>" for cell in cells)
        lines.append(f"<tr{marked}><td>{button}</td>{plain}</tr>")
    return "<table>" + "".join(lines) + "</table>"


def section(title: str, table: str, note: str = "") -> str:
    return f'<section><h2>{title}</h2><div class="scroll">{table}</div>{noted(note)}</section>'


def noted(text: str) -> str:
    """A paragraph below a table."""
    return f"<p>{html.escape(text)}</p>" if text else ""


def spread(items: Sequence[T], most: int) -> list[T]:
    """At most `most` of them, evenly from first to last."""
    if len(items) <= most:
        return list(items)
    return [items[k] for k in np.linspace(0, len(items) - 1, most).round().astype(int)]


def packed(values: np.ndarray, per_unit: float) -> str:
    """Whole parts of a unit as 16-bit integers, lowest byte first, in base64; packed.js reads it.

    What they cannot hold they hold the nearest of: scores in thousandths end at -32.768, far below
    what is drawn.
    """
    limits = np.iinfo(np.int16)
    whole = np.clip(np.rint(values * per_unit), limits.min, limits.max)
    return base64.b64encode(whole.astype("<i2").tobytes()).decode()


def _row(cells: Sequence[str], kind: str) -> str:
    return "<tr>" + "".join(f"<{kind}>{html.escape(cell)}</{kind}>" for cell in cells) + "</tr>"


def _imported(static: Traversable, name: str) -> list[str]:
    """A module and all that it imports, directly or not."""
    found = [name]
    for one in found:  # the list grows while it is read
        script = static.joinpath(one).read_text(encoding="utf-8")
        found += [
            next_ for next_ in re.findall(r'from "cogmap/(.+?)"', script) if next_ not in found
        ]
    return found


def _data_url(script: str) -> str:
    return "data:text/javascript;base64," + base64.b64encode(script.encode()).decode()


def _script_safe(text: str) -> str:
    """JSON in which no text can end the script element around it."""
    return text.replace("</", "<\\/")
