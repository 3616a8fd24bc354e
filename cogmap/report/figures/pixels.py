"""A value or a colour for each state of the lattice, one pixel a state."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cogmap.envs.maze import Maze
from cogmap.report.routes import draw_maze

if TYPE_CHECKING:
    from matplotlib.axes import Axes

STAR = "#d55e00"  # Okabe and Ito's vermillion: not a colour of viridis or cividis


def lattice_image(points: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Values at their points, nan elsewhere; rows rise with y. (S, 2), (S, ...) -> (Y, X, ...)

    Points are whole numbers apart.
    """
    cells = (points - points.min(axis=0)).astype(np.int64)
    width, height = cells.max(axis=0) + 1
    image = np.full((height, width, *values.shape[1:]), np.nan)
    image[cells[:, 1], cells[:, 0]] = values
    return image


def draw_states(maze: Maze, values: np.ndarray, axes: Axes, *, colours: str | None = None) -> Axes:
    """Numbers by a colour map, (S,), or colours as they are, (S, 4), over the maze's walls."""
    draw_maze(maze, axes)
    points = maze.lattice.points
    image = lattice_image(points, values)
    if image.ndim == 3:
        image = np.nan_to_num(image)  # no colour and no opacity
    (left, bottom), (right, top) = points.min(axis=0) - 0.5, points.max(axis=0) + 0.5
    draw_image(np.ma.masked_invalid(image), (left, right, bottom, top), axes, colours=colours)
    return axes


def draw_image(
    image: np.ndarray,
    extent: tuple[float, float, float, float],
    axes: Axes,
    *,
    colours: str | None = None,
    lowest: float | None = None,
) -> Axes:
    """An image into a maze that is drawn already: the panel stays as it was."""
    across, up = axes.get_xlim(), axes.get_ylim()
    axes.imshow(
        image, extent=extent, origin="lower", cmap=colours, vmin=lowest, interpolation="nearest"
    )
    axes.set_xlim(across)
    axes.set_ylim(up)
    return axes


def draw_goal(goal: np.ndarray, axes: Axes) -> Axes:
    """A star. (2,)"""
    axes.plot(goal[0], goal[1], "*", ms=15, mfc=STAR, mec="white", mew=1.0, zorder=3)
    return axes
