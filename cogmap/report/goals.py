"""Table 1: goal reaching from states (A) and from pictures (B), as sections of docs/results.md."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from cogmap.report.cells import Row, cell, chosen, footer, markdown, mazes_of, model_of
from cogmap.reproduce import paper

COLUMNS = [("large", "official"), ("giant", "official"), ("large", "random"), ("giant", "random")]
TITLES = {"official": "official tasks", "random": "random pairs"}


def maze_state(rows: Sequence[Row], folder: Path) -> list[str]:
    """Table 1A, and the mazes that nothing was tuned on."""
    ours = chosen(rows, kind="ours", planner="log")
    seeds = len({model_of(row)[2] for row in ours})
    table = [["SR / SPL [95 % of SR]", *(f"{m.title()}, {TITLES[t]}" for m, t in COLUMNS)]]

    def line(label: str, kind: str, planner: str, *, bold: bool = False) -> None:
        cells = [
            cell(chosen(rows, kind=kind, planner=planner, maze=m, tasks=t), bold=bold)
            for m, t in COLUMNS
        ]
        table.append([label, *cells])

    line("random policy", "", "random policy (floor)")
    line("**ours**", "ours", "log", bold=True)
    line("GP, the paper's loss", "nce", "gp")
    line("PAP, the paper's loss", "nce", "pap")
    line("shortest-path oracle", "", "shortest path (ceiling)")
    for key in ("gp", "pap", "oracle"):
        reported = [paper.GOAL_REACHING[column][key] for column in COLUMNS]
        name = key.upper() if key != "oracle" else key
        table.append([f"the paper: {name}", *(f"{sr:.2f} / {spl:.2f}" for sr, spl in reported)])
    counts = " and ".join(
        f"{sum(r['episodes'] for r in ours if r['tasks'] == t and r['maze'] == 'large')} {what}"
        for t, what in TITLES.items()
    )
    trained = [row["training_minutes"] for row in ours if row["maze"] in ("large", "giant")]
    lines = [
        f"{seeds} training seeds; {counts} a maze. Ours trained in {min(trained):.1f} to "
        f"{max(trained):.1f} minutes a model.",
        "",
        *markdown(table),
        "",
        "Mazes that nothing was tuned on, with every default (`cogmap train --maze FILE`, then",
        "`cogmap evaluate`), 20 random pairs each:",
        "",
    ]
    strangers = [["maze", "ours", "random policy", "oracle", "training"]]
    for row in sorted(ours, key=lambda row: row["maze"]):
        if row["maze"] in ("large", "giant"):
            continue
        floor, ceiling = (
            chosen(rows, planner=planner, maze=row["maze"])
            for planner in ("random policy (floor)", "shortest path (ceiling)")
        )
        minutes = f"{row['training_minutes']:.1f} minutes"
        strangers.append([row["maze"], cell([row], bold=True), cell(floor), cell(ceiling), minutes])
    return [*lines, *markdown(strangers), *footer(rows, "maze-state")]


def maze_vision(rows: Sequence[Row], folder: Path) -> list[str]:
    """Table 1B."""
    ours = chosen(rows, kind="image", planner="log")
    table = [["SR / SPL [95 % of SR]", *(f"{m.title()}, {TITLES[t]}" for m, t in COLUMNS)]]
    for label, name, value in (
        ("random policy", "planner", "random policy (floor)"),
        ("**ours**, pictures of the grid", "pictures", "grid"),
        ("**ours**, a picture at each decision", "pictures", "camera"),
        ("shortest-path oracle", "planner", "shortest path (ceiling)"),
    ):
        ours_too = name == "pictures"
        of = [row for row in rows if row.get(name) == value]
        kind = "image" if ours_too else ""
        some = [chosen(of, kind=kind, maze=m, tasks=t) for m, t in COLUMNS]
        table.append([label, *(cell(each, bold=ours_too) for each in some)])
    for key in ("gp", "pap"):
        reported = [paper.FROM_IMAGES[column][key] for column in COLUMNS]
        texts = [f"{sr:.2f}" + (f" / {spl:.2f}" if spl else "") for sr, spl in reported]
        table.append([f"the paper: {key.upper()}", *texts])
    seeds = len({model_of(row)[2] for row in ours})
    minutes = [row["training_minutes"] for row in ours]
    counts = [
        f"{sum(row['episodes'] for row in taken)} in {maze.title()}"
        for maze in mazes_of(ours)
        if (taken := chosen(ours, kind="image", pictures="camera", tasks="official", maze=maze))
    ]
    return [
        f"{seeds} training seeds; trained in {min(minutes):.1f} to {max(minutes):.1f} minutes a "
        "model, several at a time. Official episodes with a picture at each decision: "
        f"{' and '.join(counts)}.",
        "",
        *markdown(table),
        *footer(rows, "maze-vision"),
    ]
