"""Table 2 as a picture: success against how much was explored, ours beside the paper's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from cogmap.report import paper
from cogmap.report.cells import Row, rate, seeds_of
from cogmap.report.curves import GP, INK, OURS, PAP
from cogmap.report.studies import coverages, data_rows

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class DataPoint:
    """One row of Table 2 in one maze. Success rates on the official tasks."""

    name: str  # the walk's length, or its coverage c and how it is read
    ours: tuple[float, float, float] | None  # SR and its 95 % interval; None: not measured
    seeds: int  # training seeds of ours
    gp: float  # the paper's
    pap: float  # the paper's


def data_points(rows: Sequence[Row], maze: str) -> list[DataPoint]:
    """The table's rows from top to bottom."""
    points = []
    for name, reported in paper.DATA.items():
        for reading in coverages(name):
            some = data_rows(rows, reading, maze)
            ours = rate(some) if some else None
            points.append(DataPoint(reading, ours, seeds_of(some), *reported[maze]))
    return points


def draw_data(points: Sequence[DataPoint], axes: Axes, *, title: str) -> Axes:
    """One line a row of the table: ours with its interval, the paper's two beside it."""
    places = np.arange(len(points), dtype=float)
    known = [k for k, point in enumerate(points) if point.ours is not None]
    rates = np.array([points[k].ours for k in known]).reshape(-1, 3)
    away = np.abs(rates[:, 1:] - rates[:, :1]).T
    axes.hlines(places, 0, 1, color="#e3e6ea", lw=1, zorder=0)
    axes.errorbar(
        rates[:, 0], places[known], xerr=away, fmt="o", ms=6, color=OURS, capsize=2, label="ours"
    )
    empty: dict[str, Any] = {"ls": "", "mfc": "white", "mew": 1.5, "ms": 6}
    lower = places + 0.18  # the paper's own, a little apart so that nothing is hidden
    axes.plot([p.gp for p in points], lower, "s", mec=GP, label="the paper: GP", **empty)
    axes.plot([p.pap for p in points], lower, "^", mec=PAP, label="the paper: PAP", **empty)
    axes.set_yticks(places, [point.name for point in points], fontsize=8)
    axes.invert_yaxis()
    axes.set_xlim(-0.03, 1.03)
    axes.set_xlabel("success rate", fontsize=9)
    axes.set_title(title, fontsize=10, color=INK)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(axis="y", length=0)
    axes.tick_params(axis="x", labelsize=8)
    return axes
