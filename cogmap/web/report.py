"""A run of a maze as one page: maze, fields, planned routes and tables (see onefile.py).

Shape letters: L layers of a field, S lattice points.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from cogmap.evaluation.evaluate import Evaluation
from cogmap.evaluation.rollout import Episode
from cogmap.report.tables import result_rows
from cogmap.web.ground import Ground
from cogmap.web.onefile import (
    assembled,
    choices,
    packed,
    section,
    settings_of,
    spread,
    table,
)
from cogmap.web.rounded import as_value

MOST_ROUTES = 24  # drawn in the page; the tables count every episode
STEPS_PER_NAT = 1000  # scores are stored as whole thousandths
LARGEST = 32_767  # of a stored number, which has 16 bits


def page(
    chart: Ground, result: Evaluation, *, planner: str, beside: Sequence[Evaluation] = ()
) -> str:
    """The whole file as text. `beside`: all rows of its first table, where there are others."""
    shown = spread(result.episodes, MOST_ROUTES)
    return assembled(
        "report.html",
        "report.js",
        title=f"cogmap report: {chart.description.name}",
        tables=tables(chart, result, shown, beside=beside or [result]),
        record=record(chart, shown, planner=planner),
    )


def record(chart: Ground, episodes: Sequence[Episode], *, planner: str) -> dict[str, Any]:
    """The JSON inside the page, from which recorded.js answers what a server would."""
    first = episodes[0].task
    ends = {"id": chart.id, "exact": False, "start": first.start, "goal": first.goal}
    goals = list(dict.fromkeys(episode.task.goal for episode in episodes))
    fields = [chart.fields((goal[0], goal[1])) for goal in goals]
    steps = steps_per_unit(chart, fields)
    return {
        "planner": planner,
        "map": chart.description.model_dump(mode="json") | ends,
        "steps_per_nat": steps,
        "actions": chart.actions(planner),
        "fields": [
            {"goal": goal, "scores": packed(field, steps)}
            for goal, field in zip(goals, fields, strict=True)
        ],
        "routes": [
            route(chart, episode, number=number) for number, episode in enumerate(episodes, start=1)
        ],
        "curve": chart.curve(),
    }


def steps_per_unit(chart: Ground, fields: Sequence[np.ndarray]) -> float:
    """Thousandths of G, which is not drawn far down; of values as fine as the largest allows.

    (L, S) each
    """
    if chart.taus:
        return STEPS_PER_NAT
    largest = max((float(np.abs(field).max()) for field in fields if field.size), default=0.0)
    return LARGEST / max(largest, 1e-9)


def route(chart: Ground, episode: Episode, *, number: int) -> dict[str, Any]:
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
        "value": chart.worths(episode),
        "left": [round(chart.plane.shortest(place, goal), 2) for place in episode.route[1:]],
        "values": [[as_value(value) for value in decision.values] for decision in decisions],
        "taus": [decision.taus.tolist() for decision in decisions],
        "progress": [[as_value(gain) for gain in decision.progress] for decision in decisions],
        "predicted": [decision.outcome.round(2).tolist() for decision in decisions],
        "outcome": outcome | lengths,
    }


def tables(
    chart: Ground, result: Evaluation, shown: Sequence[Episode], *, beside: Sequence[Evaluation]
) -> str:
    """Result, routes and settings as HTML."""
    note = (
        f"SR: share of {len(result.episodes)} episodes that came within one unit of the goal in "
        f"{result.budget:,} simulator steps, with its 95 % Wilson interval. SPL weighs each by "
        "shortest way over way gone."
    )
    return "\n".join(
        [
            section("Result", table(result_rows(beside)), note),
            section("Routes", _routes(result, shown)),
            settings_of(chart.folder, world=result.world, without=chart.unused),
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
