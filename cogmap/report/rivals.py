"""The baseline rows of Table 1A from measured rows, the printed numbers beside them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from cogmap.config import METHOD
from cogmap.report import paper
from cogmap.report.cells import Row, cell, chosen, footer, markdown, seeds_of, title, worlds_of

NAMES = {"gcbc": "GCBC", "gciql": "GCIQL", "qrl": "QRL", "hiql": "HIQL", "hilp": "HILP"}
NAMES |= {"crl": "CRL"}
SIZES = {"ogbench": "", "small": ", small size"}
SETTINGS = {"actions": "published settings", "actions-fitted": "fitted to random data"}


def rivals(rows: Sequence[Row], folder: Path) -> list[str]:
    """Navigate data beside OGBench's numbers; random actions beside the paper's and ours."""
    parts = [
        "Each cell: SR / SPL [95 % of SR]; n is the number of training seeds; quoted cells are "
        "marked. Official tasks and the random pairs are those of Table 1A, where the floor (the "
        "random policy: 0.00 in all) and the ceiling (the oracle: 1.00) are measured. Minutes and "
        "GiB are a run's share where several were trained as one.",
    ]
    if known := chosen(rows, variant="navigate"):
        parts += ["", *markdown(proof(known))]
    parts += ["", *markdown(table([row for row in rows if row["variant"] != "navigate"]))]
    return [*parts, *footer(rows, "rivals")]


def proof(rows: Sequence[Row]) -> list[list[str]]:
    """Navigate data, published settings: are these the methods that they are called?"""
    found = [["navigate data, official tasks", *how_header(), "ours", "OGBench (quoted)"]]
    for world in worlds_of(rows):
        for method, name in NAMES.items():
            known = paper.NAVIGATE.get(world, {}).get(method)
            quoted = "-" if known is None else f"{known[0]:.2f} ± {known[1]:.2f}"
            for size, words in SIZES.items():
                if some := chosen(rows, world=world, method=method, size=size):
                    called = f"{title(world)}, {name}{words}"
                    found.append([called, *how(some), cell(some), quoted])
    return found


def table(rows: Sequence[Row]) -> list[list[str]]:
    """1M random actions: every method by its settings and its size, the paper's numbers, ours."""
    worlds = worlds_of(rows)
    kinds = [(world, tasks) for world in worlds for tasks in ("official", "random")]
    names = [f"{title(w)}, {'official' if t == 'official' else 'pairs'}" for w, t in kinds]
    found = [["1M random actions", *how_header(), *names]]
    for method, name in NAMES.items():
        for variant, words in SETTINGS.items():
            for size, trained in SIZES.items():
                if some := chosen(rows, method=method, variant=variant, size=size):
                    cells = [cell(chosen(some, world=w, tasks=t)) for w, t in kinds]
                    found.append([f"{name}, {words}{trained}", *how(some), *cells])
        quoted = [paper.RIVALS.get(kind, {}).get(method) for kind in kinds]
        if any(quoted):
            cells = ["-" if pair is None else f"{pair[0]:.2f} / {pair[1]:.2f}" for pair in quoted]
            found.append([f"{name}, the paper (quoted)", "3", "-", "-", "-", *cells])
    mine = chosen(rows, method=METHOD)
    if mine:
        cells = [cell(chosen(mine, world=w, tasks=t), bold=True) for w, t in kinds]
        found.append(["**ours, GP, on the same rows**", *how(mine), *cells])
    return found


def how_header() -> list[str]:
    return ["n", "updates x batch", "minutes", "GiB"]


def how(rows: Sequence[Row]) -> list[str]:
    """Seeds, updates, and of training the mean minutes and the most memory."""
    sizes = sorted({(row["updates"], row["batch"]) for row in rows if row.get("updates")})
    told = ", ".join(f"{updates / 1000:g}k x {batch}" for updates, batch in sizes) or "-"
    minutes = np.mean([row["training_minutes"] for row in rows])
    memory = max((row["training_gib"] for row in rows if row.get("training_gib")), default=None)
    most = "-" if memory is None else f"{memory:.1f}"
    return [str(seeds_of(rows)), told, f"{minutes:.1f}", most]
