"""Results as rows of text."""

from __future__ import annotations

from collections.abc import Sequence

from cogmap.evaluation.evaluate import Evaluation


def result_rows(evaluations: Sequence[Evaluation]) -> list[list[str]]:
    """A header and one row an evaluation."""
    stay = any(result.stayed is not None for result in evaluations)
    held = ["stayed"] if stay else []
    judged = any(result.unsolved for result in evaluations)
    told = ["not solved at the start"] if judged else []
    rows = [["planner", "world", "tasks", "episodes", "SR", "95 %", "SPL", *held, *told, "seconds"]]
    for result in evaluations:
        low, high = result.interval
        rows.append(
            [
                result.policy,
                result.world,
                result.tasks,
                str(len(result.episodes)),
                f"{result.sr:.2f}",
                f"{low:.2f}-{high:.2f}",
                "-" if result.spl is None else f"{result.spl:.2f}",
                *(["-" if result.stayed is None else f"{result.stayed:.2f}"] if stay else []),
                *([of_unsolved(result)] if judged else []),
                f"{result.seconds:.0f}",
            ]
        )
    return rows


def of_unsolved(result: Evaluation) -> str:
    """SR, its interval and their number, of the episodes that did not begin at their goal."""
    told = result.summary()
    if not told.get("unsolved"):
        return "-"
    low, high = told["unsolved_sr_low"], told["unsolved_sr_high"]
    return f"{told['unsolved_sr']:.2f}, {low:.2f}-{high:.2f}, {told['unsolved']}"


def as_text(rows: Sequence[Sequence[str]]) -> str:
    """Columns aligned by spaces, the header underlined."""
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
    lines.insert(1, "  ".join("-" * width for width in widths))
    return "\n".join(lines)
