"""What a report says of episodes in a building (terrain_report.py has the page)."""

from __future__ import annotations

from collections.abc import Sequence

from cogmap.evaluation.evaluate import Evaluation
from cogmap.evaluation.rollout import Episode
from cogmap.report.tables import result_rows
from cogmap.web.onefile import choices, section, table
from cogmap.web.storey import told


def walked(result: Evaluation, shown: Sequence[Episode], *, within: float, note: str) -> list[str]:
    """What came of all episodes, and of each, with ways in metres; `note` below the latter.

    Success is to come `within` so many metres of the goal.
    """
    about = (
        f"All of it is on {result.world}. SR: share of {len(result.episodes)} episodes that came "
        f"within {within:.2f} m of the goal in {result.budget:,} moves, with its 95 % Wilson "
        "interval. SPL weighs each by shortest way over way gone."
    )
    numbers = {id(episode): number for number, episode in enumerate(shown)}
    rows = []
    for episode, row in zip(result.episodes, result.rows(), strict=True):
        cells = [
            row["task"],
            told(episode.task.start),
            told(episode.task.goal),
            "yes" if row["success"] else "no",
            str(row["steps"]),
            f"{row['length']:.1f}",
            f"{row['shortest']:.1f}",
            f"{row['spl']:.2f}",
        ]
        rows.append((numbers.get(id(episode)), cells))
    head = ["task", "start", "goal", "reached", "moves", "metres gone", "shortest, m", "SPL"]
    return [
        section("Result", table(result_rows([result])), about),
        section("Episodes", choices(head, rows), note),
    ]
