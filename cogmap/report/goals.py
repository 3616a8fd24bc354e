"""Table 1: goal reaching from states (A) and from pictures (B), as sections of docs/results.md."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from cogmap.report import paper
from cogmap.report.cells import (
    GIANT,
    LARGE,
    Row,
    cell,
    chosen,
    footer,
    markdown,
    seeds_of,
    title,
    worlds_of,
)

COLUMNS = [(LARGE, "official"), (GIANT, "official"), (LARGE, "random"), (GIANT, "random")]
TITLES = {"official": "official tasks", "random": "random pairs"}


HEADER = ["SR / SPL [95 % of SR]", *(f"{title(w)}, {TITLES[t]}" for w, t in COLUMNS)]


def line(rows: Sequence[Row], label: str, *, bold: bool = False, **columns: Any) -> list[str]:
    """One line of such a table: the rows with these columns."""
    some = [chosen(rows, world=w, tasks=t, **columns) for w, t in COLUMNS]
    return [label, *(cell(each, bold=bold) for each in some)]


def maze_state(rows: Sequence[Row], folder: Path) -> list[str]:
    """Table 1A, and the mazes that nothing was tuned on."""
    ours = chosen(rows, variant="ours", planner="gp")
    seeds = seeds_of(ours)
    table = [
        HEADER,
        line(rows, "random policy", method="random"),
        line(rows, "**ours, GP**", bold=True, variant="ours", planner="gp"),
        line(rows, "ours, PAP", variant="ours", planner="pap"),
        line(rows, "the paper's loss and GP", variant="paper-best", planner="gp"),
        line(rows, "the paper's loss and PAP", variant="paper-best", planner="pap"),
        line(rows, "shortest-path oracle", method="oracle"),
    ]
    for key in ("gp", "pap", "oracle"):
        reported = [paper.GOAL_REACHING[column][key] for column in COLUMNS]
        name = key.upper() if key != "oracle" else key
        table.append([f"the paper: {name}", *(f"{sr:.2f} / {spl:.2f}" for sr, spl in reported)])
    counts = " and ".join(
        f"{sum(r['episodes'] for r in ours if r['tasks'] == t and r['world'] == LARGE)} {what}"
        for t, what in TITLES.items()
    )
    trained = [row["training_minutes"] for row in ours if row["world"] in (LARGE, GIANT)]
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
    for row in sorted(ours, key=lambda row: row["world"]):
        if row["world"] in (LARGE, GIANT):
            continue
        floor, ceiling = (
            chosen(rows, method=method, world=row["world"]) for method in ("random", "oracle")
        )
        minutes = f"{row['training_minutes']:.1f} minutes"
        strangers.append(
            [
                title(row["world"]).lower(),
                cell([row], bold=True),
                cell(floor),
                cell(ceiling),
                minutes,
            ]
        )
    return [*lines, *markdown(strangers), *footer(rows, "maze-state")]


def readings(rows: Sequence[Row], folder: Path) -> list[str]:
    """What each thing that the paper's text leaves open does alone."""
    worlds = worlds_of(rows)
    table = [["SR / SPL [95 % of SR]", *map(title, worlds)]]
    for tag in dict.fromkeys(row["tag"] for row in rows):
        cells = [cell(chosen(rows, tag=tag, world=world)) for world in worlds]
        table.append([tag, *cells])
    note = f"GP, official tasks, {rows[0]['episodes']} episodes, training seed 0."
    return [note, "", *markdown(table), *footer(rows, "readings")]


def parts(rows: Sequence[Row], folder: Path) -> list[str]:
    """What each part of our recipe is worth."""
    tags = [row["tag"].split("; ") for row in rows]
    kinds, names = (list(dict.fromkeys(tag[k] for tag in tags)) for k in (1, 0))
    columns = [(world, kind) for world in worlds_of(rows) for kind in kinds]
    table = [["SR / SPL", *(f"{title(world)}, {kind}" for world, kind in columns)]]
    for name in names:
        found = [chosen(rows, world=world, tag=f"{name}; {kind}") for world, kind in columns]
        table.append([name, *(cell(some, interval=False) for some in found)])
    note = (
        f"GP, official tasks, {rows[0]['episodes']} episodes, training seed 0. 4M and 0.1M are "
        "steps of the lattice walk; actions: 4M random actions; pictures: of the grid."
    )
    return [note, "", *markdown(table), *footer(rows, "parts")]


def maze_vision(rows: Sequence[Row], folder: Path) -> list[str]:
    """Table 1B."""
    ours = chosen(rows, variant="image", planner="gp")
    seen = [
        ("**ours, GP**, pictures of the grid", "image", "gp", "grid"),
        ("**ours, GP**, a picture at each decision", "image", "gp", "camera"),
        ("ours, PAP, pictures of the grid", "image", "pap", "grid"),
        ("convolution, GP, pictures of the grid", "convolution", "gp", "grid"),
        ("convolution, PAP, pictures of the grid", "convolution", "pap", "grid"),
    ]
    table = [
        HEADER,
        line(rows, "random policy", method="random"),
        *(
            line(
                rows,
                label,
                bold=label.startswith("**"),
                variant=variant,
                planner=planner,
                pictures=pictures,
            )
            for label, variant, planner, pictures in seen
        ),
        line(rows, "shortest-path oracle", method="oracle"),
    ]
    for key in ("gp", "pap"):
        reported = [paper.FROM_IMAGES[column][key] for column in COLUMNS]
        texts = [f"{sr:.2f}" + (f" / {spl:.2f}" if spl else "") for sr, spl in reported]
        table.append([f"the paper: {key.upper()}", *texts])
    seeds = seeds_of(ours)
    minutes = [row["training_minutes"] for row in ours]
    counts = [
        f"{sum(row['episodes'] for row in taken)} in {title(world)}"
        for world in worlds_of(ours)
        if (taken := chosen(ours, pictures="camera", tasks="official", world=world))
    ]
    return [
        f"{seeds} training seeds; trained in {min(minutes):.1f} to {max(minutes):.1f} minutes a "
        "model, several at a time. Official episodes with a picture at each decision: "
        f"{' and '.join(counts)}.",
        "",
        *markdown(table),
        *footer(rows, "maze-vision"),
    ]


def walks(rows: Sequence[Row], folder: Path) -> list[str]:
    """Our recipe on random actions: no lattice."""
    table = [HEADER, line(rows, "ours, from 4M random actions", variant="actions")]
    for seed in sorted({row["train_seed"] for row in rows}):
        table.append(line(rows, f"training seed {seed}", train_seed=seed))
    minutes = [row["training_minutes"] for row in rows]
    return [
        f"{seeds_of(rows)} training seeds, every setting as in Table 1A; trained in "
        f"{min(minutes):.1f} to {max(minutes):.1f} minutes a model, several at a time.",
        "",
        *markdown(table),
        *footer(rows, "walks"),
    ]
