"""A run of a maze as one page: maze, scores, planned routes and tables (see onefile.py)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from cogmap.evaluation.evaluate import Evaluation
from cogmap.evaluation.rollout import Episode
from cogmap.report.tables import result_rows
from cogmap.web.chart import Chart
from cogmap.web.onefile import (
    assembled,
    choices,
    curve,
    packed,
    section,
    settings_of,
    spread,
    table,
)
from cogmap.web.terrain import as_value

MOST_ROUTES = 24  # drawn in the page; the tables count every episode
STEPS_PER_NAT = 1000  # scores are stored as whole thousandths


def page(chart: Chart, result: Evaluation, *, planner: str) -> str:
    """The whole file as text."""
    shown = spread(result.episodes, MOST_ROUTES)
    return assembled(
        "report.html",
        "report.js",
        title=f"cogmap report: {chart.description.name}",
        tables=tables(chart.folder, result, shown),
        record=record(chart, shown, planner=planner),
    )


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
        "fields": [
            {"goal": goal, "scores": packed(fields(chart, goal), STEPS_PER_NAT)} for goal in goals
        ],
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
        "value": [as_value(decision.value) for decision in decisions],
        "left": [round(chart.plane.shortest(place, goal), 2) for place in episode.route[1:]],
        "values": [[as_value(value) for value in decision.values] for decision in decisions],
        "taus": [decision.taus.tolist() for decision in decisions],
        "progress": [[as_value(gain) for gain in decision.progress] for decision in decisions],
        "predicted": [decision.outcome.round(2).tolist() for decision in decisions],
        "outcome": outcome | lengths,
    }


def tables(folder: Path, result: Evaluation, shown: Sequence[Episode]) -> str:
    """Result, routes and settings as HTML."""
    note = (
        f"SR: share of {len(result.episodes)} episodes that came within one unit of the goal in "
        f"{result.budget:,} simulator steps, with its 95 % Wilson interval. SPL weighs each by "
        "shortest way over way gone."
    )
    return "\n".join(
        [
            section("Result", table(result_rows([result])), note),
            section("Routes", _routes(result, shown)),
            settings_of(folder, world=result.world),
        ]
    )


def _routes(result: Evaluation, shown: Sequence[Episode]) -> str:
    """One row an episode, with a button where the page holds its route."""
    numbers = {id(episode): number for number, episode in enumerate(shown)}
    rows = []
    for episode, row in zip(result.episodes, result.rows(), strict=True):
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
        rows.append((numbers.get(id(episode)), cells))
    head = ["task", "start", "goal", "reached", "steps", "length", "shortest", "SPL"]
    return choices(head, rows)
