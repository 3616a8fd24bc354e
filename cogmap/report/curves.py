"""Curves of the studies: success against a setting, and one move's signal beside its noise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from cogmap.report import canvas

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK, SIGNAL = "#1f2430", "#9aa3ad"
OURS, GP, PAP = "#009e73", "#d55e00", "#0072b2"  # Okabe and Ito's: seen by the colour-blind too
COLOURS = {"ours, GP": OURS, "the paper's GP": GP, "the paper's PAP": PAP}
STYLES = {"ours, GP": "o-", "the paper's GP": "s--", "the paper's PAP": "^:"}
SHADES = (OURS, "#7fc8b5", GP, "#eab48a")

Points = Sequence[tuple[Any, Sequence[float]]]  # (x, one value a seed)


def _tidy(axes: Axes, title: str) -> Axes:
    axes.set_title(title, fontsize=10, color=INK)
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(labelsize=8)
    return axes


def draw_success(lines: Mapping[str, Points], axes: Axes, *, title: str, x: str) -> Axes:
    """One line a planner against a setting; bands are a standard deviation over seeds."""
    for label, points in lines.items():
        if not points:
            continue
        place = [p for p, _ in points]
        mean = np.array([np.mean(values) for _, values in points])
        spread = np.array([np.std(values) for _, values in points])
        axes.plot(place, mean, STYLES[label], ms=3.5, color=COLOURS[label], label=label)
        low, high = np.clip([mean - spread, mean + spread], 0, 1)
        axes.fill_between(place, low, high, color=COLOURS[label], alpha=0.15, lw=0)
    axes.set_xscale("log", base=2)
    axes.set_ylim(-0.03, 1.03)
    axes.set_xlabel(x, fontsize=9)
    return _tidy(axes, title)


def draw_categories(lines: Mapping[str, Points], axes: Axes, *, x: str) -> Axes:
    """One line a group, evenly spaced values of the setting."""
    colours = SHADES if len(lines) > 2 else (OURS, GP)
    for colour, (label, points) in zip(colours, lines.items()):
        mean = [np.mean(values) for _, values in points]
        spread = [np.std(values) for _, values in points]
        place = np.arange(len(points))
        style: dict[str, Any] = {"fmt": "o-", "ms": 3.5, "capsize": 2, "lw": 1.4, "color": colour}
        axes.errorbar(place, mean, spread, label=label, **style)
        axes.set_xticks(place, [str(name) for name, _ in points], fontsize=8)
    axes.set_ylim(-0.03, 1.06)
    axes.set_xlabel(x, fontsize=9)
    axes.legend(fontsize=8, frameon=False)
    return _tidy(axes, "")


def draw_gains(lines: Mapping[str, Sequence[float]], taus: Sequence[int], axes: Axes) -> Axes:
    """What a good move gains in exp G, and how wrong each fit of it is."""
    axes.plot(taus, lines["signal"], color=SIGNAL, lw=5, label="exact gain of a good move")
    axes.plot(taus, lines["nce"], "o-", ms=3.5, color=GP, label="error, the paper's loss")
    axes.plot(taus, lines["ours"], "o-", ms=3.5, color=OURS, label="error, ours")
    axes.set_yscale("log")
    axes.set_ylim(1e-6, 1)
    axes.set_xscale("log", base=2)
    return _tidy(axes, "")


def draw_signs(lines: Mapping[str, Sequence[float]], taus: Sequence[int], axes: Axes) -> Axes:
    """How often the sign of that gain is right."""
    axes.plot(taus, lines["sign nce"], "o-", ms=3.5, color=GP, label="the paper's loss")
    axes.plot(taus, lines["sign ours"], "o-", ms=3.5, color=OURS, label="ours")
    axes.axhline(0.5, color=SIGNAL, lw=1, ls=":")
    axes.set_ylim(0.4, 1.02)
    axes.set_xscale("log", base=2)
    axes.set_xlabel("horizon tau (moves)", fontsize=9)
    return _tidy(axes, "")


def success_sheet(panels: Mapping[str, Mapping[str, Points]], *, x: str) -> Figure:
    """One panel a maze."""
    figure, row = canvas.panels(1, len(panels), (4.2 * len(panels), 3.2))
    for axes, (title, lines) in zip(row[0], panels.items()):
        draw_success(lines, axes, title=title, x=x)
    row[0][0].set_ylabel("success rate", fontsize=9)
    row[0][0].legend(fontsize=8, frameon=False)
    return figure


def save_success(panels: Mapping[str, Mapping[str, Points]], path: Path, *, x: str) -> None:
    canvas.save(success_sheet(panels, x=x), path)


def save_categories(panels: Mapping[str, Mapping[str, Points]], path: Path) -> None:
    """One panel a setting."""
    figure, row = canvas.panels(1, len(panels), (4.6 * len(panels), 3.2))
    for axes, (title, lines) in zip(row[0], panels.items()):
        draw_categories(lines, axes, x=title)
    row[0][0].set_ylabel("success rate", fontsize=9)
    canvas.save(figure, path)


def save_noise(
    panels: Mapping[str, Mapping[str, Sequence[float]]], taus: Sequence[int], path: Path
) -> None:
    """One column a maze: gains and errors above, signs below."""
    figure, grid = canvas.panels(2, len(panels), (4.4 * len(panels), 5.4))
    for k, (title, lines) in enumerate(panels.items()):
        draw_gains(lines, taus, grid[0][k]).set_title(title, fontsize=10, color=INK)
        draw_signs(lines, taus, grid[1][k])
    grid[0][0].set_ylabel("change of exp G over one move", fontsize=9)
    grid[1][0].set_ylabel("sign of the change right, far goals", fontsize=9)
    grid[0][0].legend(fontsize=8, frameon=False)
    grid[1][0].legend(fontsize=8, frameon=False)
    canvas.save(figure, path)
