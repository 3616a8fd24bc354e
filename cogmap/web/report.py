"""A run as one self-contained page: maze, scores, planned routes and tables, for any browser."""

from __future__ import annotations

import base64
import html
import json
import re
from collections.abc import Sequence
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

import numpy as np

from cogmap import runs
from cogmap.evaluation.evaluate import Evaluation
from cogmap.evaluation.rollout import Episode
from cogmap.report.tables import result_rows
from cogmap.web.chart import Chart

MOST_ROUTES = 24  # drawn in the page; the tables count every episode
STEPS_PER_NAT = 1000  # scores are stored as whole thousandths


def page(chart: Chart, result: Evaluation, *, planner: str) -> str:
    """The whole file as text. It holds all that it needs and asks no server for anything."""
    static = resources.files("cogmap.web").joinpath("static")
    modules = {
        f"cogmap/{name}": _data_url(static.joinpath(name).read_text(encoding="utf-8"))
        for name in _imported(static, "report.js")
    }
    shown = _spread(result.episodes, MOST_ROUTES)
    parts = {
        "title": html.escape(f"cogmap report: {chart.description.name}"),
        "style": static.joinpath("style.css").read_text(encoding="utf-8"),
        "imports": json.dumps({"imports": modules}),
        "tables": tables(chart.folder, result, shown),
        "record": _script_safe(json.dumps(record(chart, shown, planner=planner))),
    }
    text = static.joinpath("report.html").read_text(encoding="utf-8")
    for name, part in parts.items():
        text = text.replace("{{" + name + "}}", part)
    return text


def record(chart: Chart, episodes: Sequence[Episode], *, planner: str) -> dict[str, Any]:
    """The JSON inside the page, from which recorded.js answers what a server would."""
    first = episodes[0].task
    ends = {"id": chart.id, "exact": False, "start": first.start, "goal": first.goal}
    goals = list(dict.fromkeys(episode.task.goal for episode in episodes))
    return {
        "planner": planner,
        "map": chart.description.model_dump(mode="json") | ends,
        "steps_per_nat": STEPS_PER_NAT,
        "actions": chart.planner(planner).candidates.actions.round(4).tolist(),
        "fields": [{"goal": goal, "scores": _packed(fields(chart, goal))} for goal in goals],
        "routes": [
            route(chart, episode, number=number) for number, episode in enumerate(episodes, start=1)
        ],
        "curve": curve(chart.folder),
    }


def fields(chart: Chart, goal: tuple[float, ...]) -> np.ndarray:
    """G towards a goal at each octave from every lattice point. -> (T, S)"""
    return np.stack(
        [chart.scores.field((goal[0], goal[1]), tau, "learned") for tau in chart.scores.taus]
    )


def route(chart: Chart, episode: Episode, *, number: int) -> dict[str, Any]:
    """An episode as columns with one entry for each decision; `places` has one more, the end."""
    goal, decisions = np.array(episode.task.goal), episode.decisions
    outcome = {"success": episode.success, "steps": episode.steps, "seconds": None}
    lengths = {"length": round(episode.length, 3), "shortest": round(episode.shortest or 0.0, 3)}
    return {
        "name": episode.task.name,
        "title": f"{number}: {episode.task.name}{'' if episode.success else ', missed'}",
        "start": episode.task.start,
        "goal": episode.task.goal,
        "places": [place.round(3).tolist() for place in episode.route],
        "candidate": [decision.candidate for decision in decisions],
        "horizon": [decision.horizon for decision in decisions],
        "value": [_short(decision.value) for decision in decisions],
        "left": [round(chart.plane.shortest(place, goal), 2) for place in episode.route[1:]],
        "values": [[_short(value) for value in decision.values] for decision in decisions],
        "taus": [decision.taus.tolist() for decision in decisions],
        "progress": [[_short(gain) for gain in decision.progress] for decision in decisions],
        "predicted": [decision.outcome.round(2).tolist() for decision in decisions],
        "outcome": outcome | lengths,
    }


def curve(folder: Path) -> list[dict[str, float]]:
    """The loss as the temporal training reported it; empty if the run has no metrics."""
    path = folder / "temporal" / "metrics.jsonl"
    rows = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    known = [row for row in rows if np.isfinite(row.get("loss", np.nan))]  # it may have diverged
    return [{"step": row["step"], "loss": round(row["loss"], 4)} for row in known]


def tables(folder: Path, result: Evaluation, shown: Sequence[Episode]) -> str:
    """Result, routes and settings as HTML."""
    settings = runs.read_json(folder / "config.json")
    settings["world"] = result.world
    lines = [["setting", "value"]]
    for name, value in settings.items():
        inner = value.items() if isinstance(value, dict) else [("", value)]
        for key, part in inner:
            lines.append([f"{name} {key}".strip(), "-" if part is None else str(part)])
    note = (
        f"SR: share of {len(result.episodes)} episodes that came within one unit of the goal in "
        f"{result.budget:,} simulator steps, with its 95 % Wilson interval. SPL weighs each by "
        "shortest way over way gone."
    )
    return "\n".join(
        [
            _section("Result", _table(result_rows([result])), note),
            _section("Routes", _routes(result, shown)),
            _section("Settings of the run", _table(lines)),
        ]
    )


def _routes(result: Evaluation, shown: Sequence[Episode]) -> str:
    """One row an episode, with a button where the page holds its route."""
    numbers = {id(episode): number for number, episode in enumerate(shown)}
    head = ["", "task", "start", "goal", "reached", "steps", "length", "shortest", "SPL"]
    rows = [_row(head, "th")]
    for episode, row in zip(result.episodes, result.rows(), strict=True):
        number = numbers.get(id(episode))
        cells = [
            row["task"],
            "{:g}, {:g}".format(*(round(v, 2) for v in row["start"])),
            "{:g}, {:g}".format(*(round(v, 2) for v in row["goal"])),
            "yes" if row["success"] else "no",
            str(row["steps"]),
            f"{row['length']:.1f}",
            f"{row['shortest']:.1f}",
            f"{row['spl']:.2f}",
        ]
        button = "" if number is None else f'<button type="button">Show {number + 1}</button>'
        marked = "" if number is None else f' data-route="{number}"'
        plain = "".join(f"<td>{html.escape(cell)}</td>" for cell in cells)
        rows.append(f"<tr{marked}><td>{button}</td>{plain}</tr>")
    return "<table>" + "".join(rows) + "</table>"


def _table(rows: Sequence[Sequence[str]]) -> str:
    head, *rest = rows
    return "<table>" + _row(head, "th") + "".join(_row(row, "td") for row in rest) + "</table>"


def _row(cells: Sequence[str], kind: str) -> str:
    return "<tr>" + "".join(f"<{kind}>{html.escape(cell)}</{kind}>" for cell in cells) + "</tr>"


def _section(title: str, table: str, note: str = "") -> str:
    below = f"<p>{html.escape(note)}</p>" if note else ""
    return f'<section><h2>{title}</h2><div class="scroll">{table}</div>{below}</section>'


def _spread(episodes: Sequence[Episode], most: int) -> list[Episode]:
    """At most `most` of them, evenly from first to last."""
    if len(episodes) <= most:
        return list(episodes)
    return [episodes[k] for k in np.linspace(0, len(episodes) - 1, most).round().astype(int)]


def _packed(scores: np.ndarray) -> str:
    """Whole thousandths as 16-bit integers, lowest byte first, in base64.

    They end at -32.768, far below what is drawn: scores there say "far" and no more.
    """
    limits = np.iinfo(np.int16)
    whole = np.clip(np.rint(scores * STEPS_PER_NAT), limits.min, limits.max)
    return base64.b64encode(whole.astype("<i2").tobytes()).decode()


def _short(value: float) -> float | None:
    """Four digits, or None for the -inf of a candidate that was tried here before."""
    return float(f"{value:.4g}") if np.isfinite(value) else None


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
