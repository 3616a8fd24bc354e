"""Curves of the studies: success against a setting, and one move's signal beside its noise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from cogmap.errors import CogmapError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

INK, SIGNAL = "#1f2430", "#9aa3ad"
OURS, GP, PAP = "#2e7d5b", "#c8553d", "#3d6cc8"
COLOURS = {"ours": OURS, "GP": GP, "PAP": PAP}
SHADES = (OURS, "#7fb89b", GP, "#e3a394")

Points = Sequence[tuple[Any, Sequence[float]]]  # (x, one value a seed)


def _pyplot() -> Any:
    try:
        import matplotlib
    except ImportError:
        raise CogmapError("figures need matplotlib; pip install 'cogmap[report]'.") from None
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    return plt


def _save(figure: Figure, path: Path) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, dpi=130)
    except OSError as error:
        raise CogmapError(f"cannot write {path}: {error.strerror}.") from None
    finally:
        _pyplot().close(figure)


def _tidy(axes: Any, title: str) -> None:
    axes.set_title(title, fontsize=10, color=INK)
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(labelsize=8)


def save_success(panels: Mapping[str, Mapping[str, Points]], path: Path, *, x: str) -> None:
    """One panel a maze, one line a planner; bands are a standard deviation over seeds."""
    plt = _pyplot()
    size = (4.2 * len(panels), 3.2)
    figure, row = plt.subplots(1, len(panels), figsize=size, squeeze=False, layout="constrained")
    for axes, (title, lines) in zip(row[0], panels.items()):
        for label, points in lines.items():
            if not points:
                continue
            place = [p for p, _ in points]
            mean = np.array([np.mean(values) for _, values in points])
            spread = np.array([np.std(values) for _, values in points])
            axes.plot(place, mean, "o-", ms=3.5, color=COLOURS[label], label=label)
            low, high = np.clip([mean - spread, mean + spread], 0, 1)
            axes.fill_between(place, low, high, color=COLOURS[label], alpha=0.15, lw=0)
        axes.set_xscale("log", base=2)
        axes.set_ylim(-0.03, 1.03)
        axes.set_xlabel(x, fontsize=9)
        _tidy(axes, title)
    row[0][0].set_ylabel("success rate", fontsize=9)
    row[0][0].legend(fontsize=8, frameon=False)
    _save(figure, path)


def save_categories(panels: Mapping[str, Mapping[str, Points]], path: Path) -> None:
    """One panel a setting, one line a group, evenly spaced values of the setting."""
    plt = _pyplot()
    size = (4.6 * len(panels), 3.2)
    figure, row = plt.subplots(1, len(panels), figsize=size, squeeze=False, layout="constrained")
    for axes, (title, lines) in zip(row[0], panels.items()):
        colours = SHADES if len(lines) > 2 else (OURS, GP)
        for colour, (label, points) in zip(colours, lines.items()):
            mean = [np.mean(values) for _, values in points]
            spread = [np.std(values) for _, values in points]
            place = np.arange(len(points))
            style = {"fmt": "o-", "ms": 3.5, "capsize": 2, "lw": 1.4, "color": colour}
            axes.errorbar(place, mean, spread, label=label, **style)
            axes.set_xticks(place, [str(name) for name, _ in points], fontsize=8)
        axes.set_ylim(-0.03, 1.06)
        axes.set_xlabel(title, fontsize=9)
        axes.legend(fontsize=8, frameon=False)
        _tidy(axes, "")
    row[0][0].set_ylabel("success rate", fontsize=9)
    _save(figure, path)


def save_noise(
    panels: Mapping[str, Mapping[str, Sequence[float]]], taus: Sequence[int], path: Path
) -> None:
    """Above, what a good move gains in exp G and how wrong each fit of it is; below, the signs."""
    plt = _pyplot()
    size = (4.4 * len(panels), 5.4)
    figure, grid = plt.subplots(2, len(panels), figsize=size, squeeze=False, layout="constrained")
    for k, (title, lines) in enumerate(panels.items()):
        top, below = grid[0][k], grid[1][k]
        top.plot(taus, lines["signal"], color=SIGNAL, lw=5, label="exact gain of a good move")
        top.plot(taus, lines["nce"], "o-", ms=3.5, color=GP, label="error, the paper's loss")
        top.plot(taus, lines["ours"], "o-", ms=3.5, color=OURS, label="error, ours")
        top.set_yscale("log")
        top.set_ylim(1e-6, 1)
        below.plot(taus, lines["sign nce"], "o-", ms=3.5, color=GP, label="the paper's loss")
        below.plot(taus, lines["sign ours"], "o-", ms=3.5, color=OURS, label="ours")
        below.axhline(0.5, color=SIGNAL, lw=1, ls=":")
        below.set_ylim(0.4, 1.02)
        for axes in (top, below):
            axes.set_xscale("log", base=2)
        below.set_xlabel("horizon tau (moves)", fontsize=9)
        _tidy(top, title)
        _tidy(below, "")
    grid[0][0].set_ylabel("change of exp G over one move", fontsize=9)
    grid[1][0].set_ylabel("sign of the change right, far goals", fontsize=9)
    grid[0][0].legend(fontsize=8, frameon=False)
    grid[1][0].legend(fontsize=8, frameon=False)
    _save(figure, path)
