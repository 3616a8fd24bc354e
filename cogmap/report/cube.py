"""Table 3 from measured rows: cube-single, with its floors and the printed numbers beside."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from cogmap.evaluation.metrics import wilson_interval
from cogmap.report import paper
from cogmap.report.cells import Row, chosen, footer, markdown, rate, seeds_of

LABELS = {"ours": "ours", "gp": "GP, every horizon", "pap": "PAP, every horizon"}


def cube(rows: Sequence[Row], folder: Path) -> list[str]:
    """Both halves, and the references that they are to be read beside."""
    mixed, lewm = chosen(rows, tasks="held-out"), chosen(rows, tasks="lewm")
    shares = sorted({row["expert"] for row in mixed if row["expert"] is not None})
    rules = [rule for rule in LABELS if chosen(mixed, variant=rule)]
    header = ["expert episodes", *(LABELS[rule] for rule in rules)]
    top = [[*header, "the paper, PAP (quoted)", "LeWM (quoted)"]]
    for share in shares:
        cells = [both(chosen(mixed, expert=share, variant=rule)) for rule in rules]
        quoted = [f"{value:.3f}" for value in paper.MIXTURES[share]]
        top.append([f"{share:.0%}", *cells, *quoted])
    floors = [["on the same pairs", "held-out", "lewm"]]
    for name in dict.fromkeys(row["planner"] for row in rows if row["expert"] is None):
        floors.append([name, *(both(chosen(some, planner=name)) for some in (mixed, lewm))])
    bottom = [["expert episodes, LeWM's 50 pairs", "SR"]]
    bottom += [[f"{LABELS[rule]}, states", both(chosen(lewm, variant=rule))] for rule in rules]
    bottom += [[f"{name} (quoted), pixels", f"{sr:.2f}"] for name, sr in paper.EXPERT_ONLY.items()]
    raw, hard = paper.LEWM_RELEASED
    bottom.append(["LeWM's released model, by others (quoted), pixels", f"{raw:.2f}; {hard:.2f}"])
    ours = chosen(mixed, variant="ours")
    minutes = [row["training_minutes"] for row in ours]
    note = (
        f"From states; {seeds_of(ours)} training seeds, {ours[0]['episodes']} pairs a seed (fewer "
        "for the paper's rules: n is given). Each cell: SR of all pairs; SR [95 %] (n) of those "
        "that are not solved before anything is done. Quoted numbers are from pixels and of all "
        f"pairs. Training took {min(minutes):.1f} to {max(minutes):.1f} minutes a model."
    )
    parts = [*markdown(top), "", *markdown(bottom), "", *markdown(floors)]
    return [note, "", *parts, *footer(rows, "cube")]


def cube_pictures(rows: Sequence[Row], folder: Path) -> list[str]:
    """The upper half from pictures: all pairs by ours, the first few by every rule."""
    quick, exact = chosen(rows, pictures="quick"), chosen(rows, pictures="camera")
    kinds = ("learned_from", "sight_updates", "noise", "expert")
    mixtures = sorted({tuple(row[kind] for kind in kinds) for row in rows})
    most, least = (f(row["episodes"] for row in rows) for f in (max, min))
    rules = [rule for rule in LABELS if chosen(quick, variant=rule)]
    header = ["expert episodes", "of", "updates of the sight", "noise", f"ours, {most} pairs"]
    header += [f"{LABELS[rule]}, {least} pairs" for rule in rules]
    header += [f"ours, {least} pairs, OGBench's own pixels"]
    table = [[*header, "the paper, PAP (quoted)", "LeWM (quoted)"]]
    for mixture in mixtures:
        which = dict(zip(kinds, mixture))
        mine, share = chosen(quick, **which), which["expert"]
        cells = [both(chosen(mine, variant="ours", episodes=most))]
        few = chosen(mine, episodes=least)
        cells += [both(chosen(few, variant=rule)) for rule in rules]
        cells += [both(chosen(exact, **which))]
        told = [f"{share:.0%}", f"{which['learned_from']}", f"{which['sight_updates']:,}"]
        told.append(f"{which['noise']:g}")
        table.append([*told, *cells, *(f"{v:.3f}" for v in paper.MIXTURES[share])])
    minutes = [row["training_minutes"] for row in rows]
    note = (
        f"From 64 x 64 pictures; training seeds: {seeds_of(rows)}. Each cell: SR of all pairs; SR "
        "[95 %] (n) of those that are not solved before anything is done. Quoted numbers are of "
        f"all pairs. Training took {min(minutes):.1f} to {max(minutes):.1f} minutes a model, "
        "recording not counted."
    )
    return [note, "", *markdown(table), *footer(rows, "cube-pictures")]


def both(rows: Sequence[Row]) -> str:
    """SR of all pairs with its spread over seeds; of those that needed something to be done."""
    if not rows:
        return "-"
    count = sum(row["unsolved"] for row in rows)
    reached = sum(round(row["unsolved_sr"] * row["unsolved"]) for row in rows)
    low, high = wilson_interval(reached, count)
    spread = f" ± {np.std([row['sr'] for row in rows]):.3f}" if len(rows) > 1 else ""
    return f"{rate(rows)[0]:.3f}{spread}; {reached / count:.3f} [{low:.3f}, {high:.3f}] ({count})"
