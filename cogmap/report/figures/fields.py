"""Score fields: G towards one goal over all places the agent can be, at one horizon (Fig. 1A)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from cogmap.envs.maze import AGENT_RADIUS, Maze
from cogmap.report.figures.pixels import draw_goal, draw_image
from cogmap.report.routes import INK, draw_maze
from cogmap.temporal.model import TemporalModel
from cogmap.theory.agreement import learned_score

if TYPE_CHECKING:
    from matplotlib.axes import Axes

TAUS = (16, 512)  # Fig. 1A
PIXEL = 0.25  # units: side of a pixel
DEEPEST = -6.0  # nat: scores below this have one colour; e^-6 of a place's usual chance is "never"


@dataclass(frozen=True)
class ScoreField:
    """G(x, goal, tau) over a maze."""

    maze: Maze
    goal: np.ndarray  # (2,) x and y
    tau: int  # moves
    score: np.ndarray  # (Y, X) nat, at the middle of each pixel; nan where the agent cannot be


def score_fields(
    model: TemporalModel, maze: Maze, goal: np.ndarray, *, taus: Sequence[int] = TAUS
) -> list[ScoreField]:
    """The model's score at every pixel, one field a horizon."""
    middles = pixel_middles(maze)  # (Y, X, 2)
    free = maze.clearance(middles.reshape(-1, 2)).reshape(middles.shape[:2]) >= AGENT_RADIUS
    score = learned_score(model, np.asarray(taus))(middles[free], goal)  # (N, T)
    fields = []
    for t, tau in enumerate(taus):
        image = np.full(middles.shape[:2], np.nan)
        image[free] = score[:, t]
        fields.append(ScoreField(maze, np.asarray(goal), int(tau), image))
    return fields


def pixel_middles(maze: Maze) -> np.ndarray:
    """x and y of every pixel's middle; rows go up as y does. (Y, X, 2)"""
    low, high = maze.bounds
    xs, ys = (np.arange(a + PIXEL / 2, b, PIXEL) for a, b in zip(low, high, strict=True))
    return np.stack(np.meshgrid(xs, ys, indexing="xy"), axis=-1)


def draw_field(field: ScoreField, axes: Axes) -> Axes:
    """The field over the maze's walls, the goal as a star."""
    draw_maze(field.maze, axes)
    low, high = field.maze.bounds
    draw_image(
        np.ma.masked_invalid(field.score),
        (low[0], high[0], low[1], high[1]),
        axes,
        colours="viridis",
        lowest=max(DEEPEST, float(np.nanmin(field.score))),
    )
    draw_goal(field.goal, axes)
    axes.set_title(f"tau = {field.tau}", fontsize=10, color=INK)
    return axes
