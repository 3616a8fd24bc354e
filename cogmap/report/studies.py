"""The paper's tables and figures from measured rows: each a section of docs/results.md (Sec. 4).

A section takes the rows of its study and the page's folder, writes its figure there, and returns
lines of Markdown. Intervals are 95 % Wilson intervals over the episodes of all seeds together.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from cogmap.report import curves, paper
from cogmap.report.cells import (
    LARGE,
    Row,
    cell,
    chosen,
    explored_cell,
    footer,
    markdown,
    title,
    worlds_of,
)
from cogmap.report.cube import cube, cube_pictures
from cogmap.report.first_person import first_person
from cogmap.report.goals import maze_state, maze_vision, parts, readings, walks
from cogmap.report.rivals import rivals
from cogmap.report.zoo import gym

Section = Callable[[Sequence[Row], Path], list[str]]

TAU_MAX = "longest horizon tau_max (moves)"


def coverages(name: str) -> list[str]:
    """Our rows beside one of Table 2: with c below 1 what is far is left out, or scattered cells.

    The paper does not say which (docs/differences.md).
    """
    return [name, f"{name}-scattered"] if name.startswith("c=0") else [name]


def data_rows(rows: Sequence[Row], name: str, maze: str) -> list[Row]:
    """Of one row of Table 2; 4M and c=1 are the models of Table 1A."""
    variant = "ours" if name in ("4M", "c=1") else name
    return chosen(rows, variant=variant, world=f"pointmaze-{maze}")


def data(rows: Sequence[Row], folder: Path) -> list[str]:
    """Table 2: ours beside the paper's GP and PAP."""
    header = ["SR on official tasks"]
    for maze in ("Large", "Giant"):
        header += [f"{maze}, ours", "both ends explored", "paper"]
    table = [header]
    for name, reported in paper.DATA.items():
        for reading in coverages(name):
            line = [reading]
            for maze in ("large", "giant"):
                some = data_rows(rows, reading, maze)
                spread = f" ± {np.std([row['sr'] for row in some]):.2f}" if some else ""
                gp, pap = reported[maze]
                line += [cell(some) + spread, explored_cell(some), f"{gp:.2f} / {pap:.2f}"]
            table.append(line)
    return [
        "Ours: SR / SPL [95 % of SR] ± standard deviation of SR over seeds; both ends explored: SR "
        "(number) of the episodes whose start and goal lie within one unit of a place that the "
        "walk saw; the paper: SR of GP / PAP. A dash: not measured.",
        "",
        *markdown(table),
        *footer(rows, "data"),
    ]


def probes(rows: Sequence[Row], folder: Path) -> list[str]:
    """Table 4: mean over seeds, and the paper's."""
    taus = sorted({row["tau"] for row in rows})
    table = [["Spearman", *(f"tau = {tau}" for tau in taus)]]
    labels = {"ours": "ours", "paper": "the paper's loss, ours to train"}
    for world in worlds_of(rows):
        for variant, label in labels.items():
            some = chosen(rows, world=world, variant=variant)
            for where in ("near", "far"):
                means = [np.mean([r[where] for r in some if r["tau"] == tau]) for tau in taus]
                table.append([f"{title(world)}, {label}, {where}", *(f"{m:.2f}" for m in means)])
        if world == LARGE:
            for index, where in enumerate(("near", "far")):
                known = [paper.PROBES.get(tau) for tau in taus]
                numbers = ["-" if k is None else f"{k[index]:.2f}" for k in known]
                table.append([f"Large, the paper, {where}", *numbers])
    note = "Near pairs are at most 8 moves apart; mean over training seeds."
    return [note, "", *markdown(table), *footer(rows, "probes")]


def horizon_panels(rows: Sequence[Row]) -> dict[str, dict[str, curves.Points]]:
    """Fig. 2: world -> planner -> (tau_max, success rate of each seed)."""
    series = [
        ("ours", "gp", "ours, GP"),
        ("paper", "gp", "the paper's GP"),
        ("paper", "pap", "the paper's PAP"),
    ]
    panels = {}
    for world in worlds_of(rows):
        lines: dict[str, curves.Points] = {}
        for variant, planner, label in series:
            some = chosen(rows, variant=variant, planner=planner, world=world)
            lines[label] = [
                (tau, [row["sr"] for row in some if row["tau_max"] == tau])
                for tau in sorted({row["tau_max"] for row in some})
            ]
        panels[title(world)] = lines
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
        "one standard deviation. The paper's GP and PAP are its rules on models of its loss.*",
        *footer(rows, "horizons"),
    ]


def temperature(rows: Sequence[Row], folder: Path) -> list[str]:
    """Success against beta, over the horizons in view and over all of them."""
    names = {"gp": "0 (GP)", "pap": "inf (PAP)"}
    worlds, tags = worlds_of(rows), list(dict.fromkeys(row["tag"] for row in rows))
    planners = list(dict.fromkeys(row["planner"] for row in rows))
    planners.sort(key=lambda p: float({"gp": "0", "pap": "inf"}.get(p, p.split("=")[-1])))
    panels: dict[str, dict[str, list[tuple[str, list[float]]]]] = {}
    table = [["SR / SPL [95 % of SR]", *(f"{title(w)}, {tag}" for w in worlds for tag in tags)]]
    for tag in tags:
        panels[f"temperature beta, {tag}"] = {
            title(world): [
                (
                    names.get(p, p.removeprefix("beta=")),
                    [row["sr"] for row in chosen(rows, world=world, tag=tag, planner=p)],
                )
                for p in planners
            ]
            for world in worlds
        }
    curves.save_categories(panels, folder / "temperature.png")
    for planner in planners:
        cells = [
            cell(chosen(rows, planner=planner, world=world, tag=tag))
            for world in worlds
            for tag in tags
        ]
        table.append([planner, *cells])
    return [
        "![Success against temperature](temperature.png)",
        "",
        f"*Our models with every other setting at its default, tau_max 8192, official tasks, "
        f"{rows[0]['episodes']} episodes a point and seed; error bars: one standard deviation over "
        "seeds.*",
        "",
        *markdown(table),
        *footer(rows, "temperature"),
    ]


def theory(rows: Sequence[Row], folder: Path) -> list[str]:
    """Learned G against exact G*, and the figure of why the paper's loss and rules lose."""
    worlds = worlds_of(rows)
    taus = sorted({row["tau"] for row in rows})

    def mean(world: str, variant: str, name: str) -> list[float]:
        some = chosen(rows, world=world, variant=variant)
        return [float(np.mean([r[name] for r in some if r["tau"] == tau])) for tau in taus]

    panels = {}
    for world in worlds:
        panels[title(world)] = {
            "signal": mean(world, "ours", "signal"),
            "nce": mean(world, "paper", "noise"),
            "ours": mean(world, "ours", "noise"),
            "sign nce": mean(world, "paper", "sign_right_far"),
            "sign ours": mean(world, "ours", "sign_right_far"),
        }
    curves.save_noise(panels, taus, folder / "theory.png")
    lines = ["![Signal and noise of one move at each horizon](theory.png)", ""]
    for world in worlds:
        table = [[title(world), *(str(tau) for tau in taus)]]
        for variant, label in (("ours", "ours"), ("paper", "the paper's loss")):
            for name, what in (
                ("relative_error", "relative error"),
                ("sign_right", "sign right"),
                ("sign_right_far", "sign right, far"),
            ):
                values = ["-" if np.isnan(v) else f"{v:.2f}" for v in mean(world, variant, name)]
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
    "readings": readings,
    "parts": parts,
    "maze-vision": maze_vision,
    "horizons": horizons,
    "data": data,
    "probes": probes,
    "temperature": temperature,
    "theory": theory,
    "walks": walks,
    "gym": gym,
    "cube": cube,
    "cube-pictures": cube_pictures,
    "rivals": rivals,
    "first-person": first_person,
}
