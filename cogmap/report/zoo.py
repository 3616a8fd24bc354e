"""The table of Gymnasium worlds from measured rows."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from cogmap.report.cells import Row, chosen, footer, markdown, rate, seeds_of


def gym(rows: Sequence[Row], folder: Path) -> list[str]:
    """Each world: ours beside the random policy, what was chosen for it, and what it cost."""
    rows = sorted(rows, key=lambda row: (row["world"], row["cell"]))  # in any order, one page
    ours = chosen(rows, method="cogmap")
    table = [
        ["world", "goal", "ours", "stays", "steps", "random policy", "hold, tau_max", "minutes"]
    ]
    for world in dict.fromkeys(row["world"] for row in ours):
        some, floor = chosen(ours, world=world), chosen(rows, world=world, method="random")
        stays = [row["stayed"] for row in some if row.get("stayed") is not None]
        steps = [row["steps"] for row in some if row["steps"] is not None]
        scales = dict.fromkeys(f"{row['hold']}, {row['tau_max']}" for row in some)
        minutes = [row["training_minutes"] for row in some]
        table.append(
            [
                world,
                f"`{some[0]['goal']}`",
                success(some),
                f"{np.mean(stays):.2f}" if stays else "-",
                f"{np.mean(steps):.0f}" if steps else "-",
                success(floor),
                "; ".join(scales),
                f"{min(minutes):.1f} to {max(minutes):.1f}",
            ]
        )
    note = (
        f"{seeds_of(ours)} training seeds of {ours[0]['episodes']} episodes each, every setting at "
        "its default. Ours and random: SR [95 %] (by seed); stays: share of the time "
        "since the goal was reached that was spent there; steps: to the goal, where it was reached."
    )
    return [note, "", *markdown(table), *footer(rows, "gym")]


def success(rows: Sequence[Row]) -> str:
    """SR with its interval, and each seed's."""
    sr, low, high = rate(rows)
    each = ", ".join(f"{row['sr']:.2f}" for row in rows)
    return f"{sr:.2f} [{low:.2f}, {high:.2f}] ({each})"
