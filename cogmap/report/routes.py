"""Planned routes over the maze, coloured by the horizon that argued for each step (Fig. 1C)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from cogmap.envs.maze import CELL, GOAL_RADIUS, Maze
from cogmap.evaluation.rollout import Episode
from cogmap.report import canvas

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import LineCollection
    from matplotlib.figure import Figure

WALL, FLOOR, INK = "#3b4252", "#f4f5f7", "#1f2430"
COLOURS = "plasma"
GOAL = "#2e9e6b"
PAIRS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00")  # Okabe and Ito's


def draw_maze(maze: Maze, axes: Axes) -> Axes:
    """Walls and floor; y grows upward as in the simulator."""
    low, high = maze.bounds
    axes.imshow(
        maze.walls,
        extent=(low[0], high[0], low[1], high[1]),
        origin="lower",
        cmap=_two_colours(),
        vmin=0,
        vmax=1,
        interpolation="nearest",
    )
    axes.set_xlim(low[0] + CELL / 2, high[0] - CELL / 2)
    axes.set_ylim(low[1] + CELL / 2, high[1] - CELL / 2)
    axes.set_aspect("equal")
    axes.set_xticks([])
    axes.set_yticks([])
    for side in axes.spines.values():
        side.set_visible(False)
    return axes


def draw_routes(
    maze: Maze, episodes: Sequence[Episode], axes: Axes, *, tau_max: int | None
) -> Axes:
    """Each episode's route with its start (circle) and goal (star, and the region around it).

    Of several episodes, each start is filled with the colour of its goal.
    """
    from matplotlib.patches import Circle

    draw_maze(maze, axes)
    several = len(episodes) > 1
    for k, episode in enumerate(episodes):
        goal = PAIRS[k % len(PAIRS)] if several else GOAL
        start = goal if several else "white"
        route = np.array(episode.route)
        x, y = episode.task.goal
        axes.add_collection(coloured(route, episode, tau_max=tau_max))
        axes.add_patch(Circle((x, y), GOAL_RADIUS, color=goal, alpha=0.25, lw=0))
        axes.plot(*episode.task.start, "o", ms=7, mfc=start, mec=INK, mew=1.4, zorder=3)
        axes.plot(*episode.task.goal, "*", ms=13, mfc=goal, mec=INK, mew=0.8, zorder=3)
    return axes


def coloured(route: np.ndarray, episode: Episode, *, tau_max: int | None) -> LineCollection:
    """The way as drawn (N + 1, 2), each of N stretches by the horizon that argued for it."""
    from matplotlib.collections import LineCollection
    from matplotlib.colors import LogNorm

    pieces = list(np.stack([route[:-1], route[1:]], axis=1))
    if not episode.decisions:  # a rival's policy argues with no horizon
        return LineCollection(pieces, colors=INK, linewidths=2.6, capstyle="round")
    # A collection that is given a colour would keep it, whatever its array says.
    lines = LineCollection(pieces, cmap=COLOURS, norm=LogNorm(1, tau_max), linewidths=2.6)
    lines.set_capstyle("round")
    lines.set_array(np.array([decision.horizon for decision in episode.decisions]))
    return lines


def save_routes(
    maze: Maze, groups: Sequence[tuple[str, Sequence[Episode]]], path: Path, *, tau_max: int | None
) -> None:
    """One panel a group, with a colour bar for the horizon."""
    canvas.save(routes_sheet(maze, groups, tau_max=tau_max), path)


def routes_sheet(
    maze: Maze, groups: Sequence[tuple[str, Sequence[Episode]]], *, tau_max: int | None
) -> Figure:
    """Panels of titled routes, three a row, with one colour bar where horizons argued for them."""
    plt = canvas.pyplot()
    from matplotlib.colors import LogNorm

    height, width = maze.walls.shape
    columns = min(3, len(groups))
    rows = -(-len(groups) // columns)
    size = (4.2 * columns + 1.1, (4.2 * height / width + 0.35) * rows)
    figure, panels = canvas.panels(rows, columns, size)
    for axes, group in zip(panels.flat, [*groups, *[None] * (rows * columns - len(groups))]):
        if group is None:
            axes.set_visible(False)
            continue
        title, episodes = group
        draw_routes(maze, episodes, axes, tau_max=tau_max)
        axes.set_title(title, fontsize=10, color=INK)
    if not any(episode.decisions for _, episodes in groups for episode in episodes):
        return figure
    shades = plt.cm.ScalarMappable(norm=LogNorm(1, tau_max), cmap=COLOURS)
    bar = figure.colorbar(shades, ax=panels, shrink=0.8, pad=0.02)
    bar.set_label("horizon that argued for the step (moves)", fontsize=9)
    return figure


def _two_colours():
    from matplotlib.colors import ListedColormap

    return ListedColormap([FLOOR, WALL])
