"""The paper's tables and figures from measured rows: each a section of docs/results.md (Sec. 4).

A section takes the rows of its study and the page's folder, writes its figure there, and returns
lines of Markdown. Intervals are 95 % Wilson intervals over the episodes of all seeds together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from cogmap.evaluation.metrics import wilson_interval
from cogmap.report import curves
from cogmap.reproduce import paper

Row = dict[str, Any]
Section = Callable[[Sequence[Row], Path], list[str]]

COLUMNS = [("large", "official"), ("giant", "official"), ("large", "random"), ("giant", "random")]
TITLES = {"official": "official tasks", "random": "random pairs"}
TAU_MAX = "longest horizon tau_max (moves)"


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


def data_rows(rows: Sequence[Row], name: str, maze: str) -> list[Row]:
    """Of one row of Table 2; 4M and c=1 are the models of Table 1A."""
    return chosen(rows, kind="ours" if name in ("4M", "c=1") else name, maze=maze)


def data(rows: Sequence[Row], folder: Path) -> list[str]:
    """Table 2: ours beside the paper's GP and PAP."""
    table = [["SR on official tasks", "Large, ours", "paper", "Giant, ours", "paper"]]
    for name, reported in paper.DATA.items():
        line = [name]
        for maze in ("large", "giant"):
            some = data_rows(rows, name, maze)
            spread = f" ± {np.std([row['sr'] for row in some]):.2f}" if some else ""
            gp, pap = reported[maze]
            line += [cell(some) + spread, f"{gp:.2f} / {pap:.2f}"]
        table.append(line)
    return [
        "Ours: SR / SPL [95 % of SR] ± standard deviation of SR over seeds; the paper: SR of GP / "
        "PAP.",
        "",
        *markdown(table),
        *footer(rows, "data"),
    ]


def probes(rows: Sequence[Row], folder: Path) -> list[str]:
    """Table 4: mean over seeds, and the paper's."""
    taus = sorted({row["tau"] for row in rows})
    table = [["Spearman", *(f"tau = {tau}" for tau in taus)]]
    labels = {"ours": "ours", "nce": "the paper's loss, ours to train"}
    for maze in mazes_of(rows):
        for kind, label in labels.items():
            some = [row for row in rows if model_of(row)[:2] == (maze, kind)]
            for where in ("near", "far"):
                means = [np.mean([r[where] for r in some if r["tau"] == tau]) for tau in taus]
                table.append([f"{maze.title()}, {label}, {where}", *(f"{m:.2f}" for m in means)])
        if maze == "large":
            for index, where in enumerate(("near", "far")):
                known = [paper.PROBES.get(tau) for tau in taus]
                numbers = ["-" if k is None else f"{k[index]:.2f}" for k in known]
                table.append([f"Large, the paper, {where}", *numbers])
    note = "Near pairs are at most 8 moves apart; mean over training seeds."
    return [note, "", *markdown(table), *footer(rows, "probes")]


def horizon_panels(rows: Sequence[Row]) -> dict[str, dict[str, curves.Points]]:
    """Fig. 2: maze -> planner -> (tau_max, success rate of each seed)."""
    series = [("ours", "log", "ours"), ("nce", "gp", "GP"), ("nce", "pap", "PAP")]
    panels = {}
    for maze in mazes_of(rows):
        lines: dict[str, curves.Points] = {}
        for kind, planner, label in series:
            some = chosen(rows, kind=kind, planner=planner, maze=maze)
            lines[label] = [
                (tau, [row["sr"] for row in some if row["tau_max"] == tau])
                for tau in sorted({row["tau_max"] for row in some})
            ]
        panels[maze.title()] = lines
    return panels


def horizons(rows: Sequence[Row], folder: Path) -> list[str]:
    """Fig. 2."""
    path = folder / "horizons.png"
    curves.save_success(horizon_panels(rows), path, x=TAU_MAX)
    episodes = rows[0]["episodes"]
    return [
        "![Success against the longest horizon](horizons.png)",
        "",
        f"*Official tasks, {episodes} episodes a point and seed; lines are means over seeds, bands "
        "one standard deviation. GP and PAP are the paper's rules on models of the paper's loss.*",
        *footer(rows, "horizons"),
    ]


def temperature(rows: Sequence[Row], folder: Path) -> list[str]:
    """Success against beta, and against gamma."""
    ends = {"gp": 0.0, "pap": np.inf}
    betas = {row["planner"] for row in rows if row["planner"] not in ("geometric", "log")}
    ordered = sorted(betas, key=lambda p: ends[p] if p in ends else float(p.removeprefix("beta=")))
    beta_panel: dict[str, list[tuple[str, list[float]]]] = {}
    gamma_panel: dict[str, list[tuple[str, list[float]]]] = {}
    for maze in mazes_of(rows):
        some = [row for row in rows if row["maze"] == maze]
        names = {"gp": "0 (GP)", "pap": "inf (PAP)"}
        beta_panel[maze.title()] = [
            (names.get(p, p.removeprefix("beta=")), [r["sr"] for r in some if r["planner"] == p])
            for p in ordered
        ]
        for suffix, label in (("", "with horizon zero"), ("no zero", "without")):
            points: dict[str, list[float]] = {}
            for row in some:
                parts = row["cell"].split("/")
                if row["planner"] == "geometric" and (parts[-1] == "no zero") == bool(suffix):
                    points.setdefault(parts[3].removeprefix("gamma="), []).append(row["sr"])
            gamma_panel[f"{maze.title()}, {label}"] = sorted(points.items())
    panels = {"temperature beta": beta_panel, "geometric weights gamma": gamma_panel}
    curves.save_categories(panels, folder / "temperature.png")
    mazes = mazes_of(rows)
    default = [["SR / SPL [95 % of SR]", *(maze.title() for maze in mazes)]]
    for planner in [*ordered, "log"]:
        some = [row for row in rows if row["planner"] == planner]
        default.append([planner, *(cell([r for r in some if r["maze"] == m]) for m in mazes)])
    return [
        "![Success against temperature and discount](temperature.png)",
        "",
        f"*Our models, candidates judged at 1, 2, 3, 4 and 6 units, tau_max 8192, official tasks, "
        f"{rows[0]['episodes']} episodes a point and seed; error bars: one standard deviation over "
        "seeds.*",
        "",
        *markdown(default),
        *footer(rows, "temperature"),
    ]


def theory(rows: Sequence[Row], folder: Path) -> list[str]:
    """Learned G against exact G*, and the figure of why the paper's loss and rules lose."""
    mazes = mazes_of(rows)
    taus = sorted({row["tau"] for row in rows})

    def mean(maze: str, kind: str, name: str) -> list[float]:
        some = [row for row in rows if model_of(row)[:2] == (maze, kind)]
        return [float(np.mean([r[name] for r in some if r["tau"] == tau])) for tau in taus]

    panels = {}
    for maze in mazes:
        panels[maze.title()] = {
            "signal": mean(maze, "ours", "signal"),
            "nce": mean(maze, "nce", "noise"),
            "ours": mean(maze, "ours", "noise"),
            "sign nce": mean(maze, "nce", "sign_right_far"),
            "sign ours": mean(maze, "ours", "sign_right_far"),
        }
    curves.save_noise(panels, taus, folder / "theory.png")
    lines = ["![Signal and noise of one move at each horizon](theory.png)", ""]
    for maze in mazes:
        table = [[maze.title(), *(str(tau) for tau in taus)]]
        for kind, label in (("ours", "ours"), ("nce", "the paper's loss")):
            for name, what in (
                ("relative_error", "relative error"),
                ("sign_right", "sign right"),
                ("sign_right_far", "sign right, far"),
            ):
                values = ["-" if np.isnan(v) else f"{v:.2f}" for v in mean(maze, kind, name)]
                table.append([f"{label}: {what}", *values])
        lines += [*markdown(table), ""]
    lines += [
        "Relative error: rms error of exp G in spreads of exp G*. Sign right: share of moves whose "
        "gain in G has the sign of the exact gain; far: at least 20 moves from the goal.",
        *footer(rows, "theory"),
    ]
    return lines


PAGES: dict[str, Section] = {
    "maze-state": maze_state,
    "maze-vision": maze_vision,
    "horizons": horizons,
    "data": data,
    "probes": probes,
    "temperature": temperature,
    "theory": theory,
}
