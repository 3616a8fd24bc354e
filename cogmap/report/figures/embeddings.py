"""The maze and its embeddings in the same colours: one colour a place (Fig. 1B, 4 and 5).

Shape letters: S states, K dimensions of the picture.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from cogmap.envs.maze import Lattice, Maze
from cogmap.report.figures.pixels import draw_states
from cogmap.report.figures.projections import align, tsne
from cogmap.report.probes import source_embeddings
from cogmap.report.routes import INK
from cogmap.temporal.model import TemporalModel

if TYPE_CHECKING:
    from matplotlib.axes import Axes

TAUS = (1, 16, 256, 4096)  # Fig. 4
TAUS_3D = (1, 16, 4096)  # Fig. 5
CAMERA = {"elev": 38.0, "azim": -70.0}  # degrees, of all panels
EDGE = "#b8bec8"

# Colours of the maze's corners. Blue against orange is seen by every kind of colour vision, and
# dark against light is left for the other axis.
LOW_LEFT, LOW_RIGHT = (0.00, 0.20, 0.55), (0.70, 0.22, 0.00)
HIGH_LEFT, HIGH_RIGHT = (0.35, 0.80, 0.95), (1.00, 0.82, 0.10)


@dataclass(frozen=True)
class Projection:
    """The embeddings of one horizon as a picture that is turned onto the maze."""

    tau: int  # moves
    places: np.ndarray  # (S, K), in the maze's units but not its distances
    colours: np.ndarray  # (S, 3) of each state's position in the maze


def projections(
    model: TemporalModel, lattice: Lattice, *, taus: Sequence[int], dimensions: int
) -> list[Projection]:
    """t-SNE of h(x, tau) over the lattice, fitted and aligned anew at each horizon."""
    embeddings = source_embeddings(model, lattice.points, taus=taus)  # (S, T, D)
    colours = position_colours(lattice.points)
    return [
        Projection(
            tau, align(tsne(embeddings[:, t], dimensions=dimensions), lattice.points), colours
        )
        for t, tau in enumerate(taus)
    ]


def position_colours(points: np.ndarray) -> np.ndarray:
    """A colour for each position, blended from those of the four corners. (S, 2) -> (S, 3)"""
    low, high = points.min(axis=0), points.max(axis=0)
    x, y = ((points - low) / np.maximum(high - low, 1e-12)).T[:, :, None]
    below = (1 - x) * np.array(LOW_LEFT) + x * np.array(LOW_RIGHT)
    above = (1 - x) * np.array(HIGH_LEFT) + x * np.array(HIGH_RIGHT)
    return (1 - y) * below + y * above


def draw_legend(maze: Maze, axes: Axes) -> Axes:
    """The maze with each state in its colour: what the other panels are read by."""
    colours = position_colours(maze.lattice.points)
    opaque = np.column_stack([colours, np.ones(len(colours))])
    draw_states(maze, opaque, axes)
    axes.set_title(maze.name.title(), fontsize=10, color=INK)
    return axes


def draw_projection(projection: Projection, axes: Axes) -> Axes:
    """Each state where its embedding went, in the colour of where it is."""
    x, y = projection.places.T
    axes.scatter(x, y, c=projection.colours, s=7, lw=0)
    axes.set_aspect("equal", adjustable="datalim")
    axes.set_xticks([])
    axes.set_yticks([])
    axes.spines[:].set_color(EDGE)
    axes.set_title(f"tau = {projection.tau}", fontsize=10, color=INK)
    return axes


def draw_cloud(
    projection: Projection, successors: np.ndarray, axes: Any, *, sides: np.ndarray
) -> Any:
    """The same in three dimensions, with a thin line for each move. `sides` (3, 2) are limits."""
    here = np.repeat(np.arange(len(successors)), successors.shape[1])
    moves = np.stack([here, successors.ravel()], axis=1)
    ends = projection.places[moves[moves[:, 0] < moves[:, 1]]]  # (L, 2, 3)
    gaps = np.full((len(ends), 1, 3), np.nan)  # one line for all is drawn faster
    axes.plot(*np.concatenate([ends, gaps], axis=1).reshape(-1, 3).T, color=EDGE, lw=0.4)
    axes.scatter(*projection.places.T, c=projection.colours, s=6, lw=0, depthshade=False)
    axes.set(xlim=sides[0], ylim=sides[1], zlim=sides[2])
    axes.set_box_aspect(sides[:, 1] - sides[:, 0], zoom=0.95)
    axes.view_init(**CAMERA)
    axes.set_xticks([])
    axes.set_yticks([])
    axes.set_zticks([])
    axes.set_title(f"tau = {projection.tau}", fontsize=10, color=INK)
    return axes


def shared_sides(pictures: Sequence[Projection]) -> np.ndarray:
    """Limits that hold all pictures, so that their panels have one scale. -> (K, 2)"""
    places = np.concatenate([picture.places for picture in pictures])
    return np.stack([places.min(axis=0), places.max(axis=0)], axis=1)
