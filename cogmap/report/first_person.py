"""The first person from measured rows, with the random policy's and the printed numbers beside."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from cogmap.report import paper
from cogmap.report.cells import Row, cell, chosen, footer, markdown, seeds_of

SHOWN = {
    "position": "view and position",
    "position-alone": "position alone",
    "nothing": "view alone",
    "heading": "view and heading",
    "both": "view, position and heading",
    "nothing-1": "view alone, by a sight",
    "nothing-4": "the last 4 views",
    "nothing-16": "the last 16 views",
}
TITLES = {
    "corners": "on the lattice",
    "far": "continuous protocol",
    "official": "the maze's own tasks, on the lattice",
}
RULES = {"ours": "ours", "gp": "the paper's GP", "pap": "the paper's PAP"}


def first_person(rows: Sequence[Row], folder: Path) -> list[str]:
    """Each scene on its lattice, then off it; every table is under the scene's label."""
    lines = [
        "Each cell: SR / SPL [95 % of SR]; n: training seeds x episodes a seed. Quoted numbers are "
        "the paper's, from pictures of the real apartment and by rules of its own.",
    ]
    for world in sorted({row["world"] for row in rows}):
        for tasks, title in TITLES.items():
            some = chosen(rows, world=world, tasks=tasks)
            if some:
                lines += ["", f"**{world}**, {title}:", "", *markdown(table(some, tasks))]
                if "Apartment 1" in world:
                    lines += ["", *quoted(tasks)]
    return [*lines, *footer(rows, "first-person")]


def table(rows: Sequence[Row], tasks: str) -> list[list[str]]:
    """What is shown and how it is planned with, a line each; the random policy first."""
    found = [["shown", "planner", "tau_max", "n", "SR / SPL"]]
    floor = chosen(rows, method="random")
    if floor:
        found.append(["-", "random policy", "-", f"{floor[0]['episodes']}", cell(floor)])
    mine = [row for row in rows if row["method"] != "random"]
    for shown in dict.fromkeys(row["shown"] for row in mine):
        for rule, name in RULES.items():
            line = chosen(mine, shown=shown, variant=rule)
            for tau_max in sorted({row["tau_max"] for row in line}):
                some = chosen(line, tau_max=tau_max)
                count = f"{seeds_of(some)} x {some[0]['episodes']}"
                found.append([SHOWN.get(shown, shown), name, str(tau_max), count, cell(some)])
    return found


def quoted(tasks: str) -> list[str]:
    """The paper's own."""
    known = paper.FIRST_PERSON[tasks]
    return markdown([["the paper (quoted)", "result"], *([name, text] for name, text in known)])
