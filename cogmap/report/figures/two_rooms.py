"""Two rooms and a doorway: what a walk forgets first (Sec. 3, App. B.3), exactly.

Shape letters: S states, T horizons.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from cogmap.envs.maze import Maze
from cogmap.report.curves import GP, INK, OURS
from cogmap.report.figures.pixels import draw_goal, draw_states
from cogmap.theory.walk import ReversibleWalk

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ROOMS = """\
###########
#....#....#
#....#....#
#.........#
#....#....#
#....#....#
###########"""
TAUS = (16, 256, 2048)  # inside one room; both rooms mixed inside; the rooms themselves
DEEPEST = -12.0  # nat
CURVE = np.unique(np.geomspace(4, 8192, 60).astype(np.int64))


@dataclass(frozen=True)
class TwoRooms:
    """The exact walk in two rooms, and a goal in a corner of the left one."""

    maze: Maze

    @classmethod
    def build(cls) -> TwoRooms:
        return cls(Maze.from_text(ROOMS, name="two rooms"))

    @cached_property
    def walk(self) -> ReversibleWalk:
        return ReversibleWalk.on(self.maze.lattice.successors)

    @property
    def goal(self) -> int:
        """The state in the lower left corner."""
        return int(self.maze.lattice.points.sum(axis=1).argmin())

    @property
    def left(self) -> np.ndarray:
        """Which states lie left of the doorway's middle. (S,) bool"""
        x = self.maze.lattice.points[:, 0]
        return x < (x.min() + x.max()) / 2

    def contrasts(self, taus: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Of exp G* towards the goal: between the rooms and inside them. (T,) -> (T,), (T,)

        Between: the difference of the rooms' means. Inside: the standard deviation around them.
        """
        ratio = self.walk.ratio(taus, self.goal)  # (S, T)
        means = np.stack([ratio[self.left].mean(axis=0), ratio[~self.left].mean(axis=0)])
        own = np.where(self.left[:, None], means[0], means[1])
        return np.abs(means[0] - means[1]), np.sqrt(((ratio - own) ** 2).mean(axis=0))


def draw_score(rooms: TwoRooms, tau: int, axes: Axes) -> Axes:
    """G* towards the goal at one horizon; what hardly ever arrives in time stays blank."""
    score = rooms.walk.score(np.array([tau]), rooms.goal)[:, 0]
    score[score < DEEPEST] = np.nan
    draw_states(rooms.maze, score, axes, colours="viridis")
    draw_goal(rooms.maze.lattice.points[rooms.goal], axes)
    axes.set_title(f"G*, tau = {tau}", fontsize=10, color=INK)
    return axes


def draw_slow_mode(rooms: TwoRooms, axes: Axes) -> Axes:
    """The second eigenfunction, positive in the goal's room."""
    mode = rooms.walk.spectrum[1][:, 1]
    draw_states(rooms.maze, mode * np.sign(mode[rooms.goal]), axes, colours="cividis")
    draw_goal(rooms.maze.lattice.points[rooms.goal], axes)
    title = f"slowest mode, lasts {rooms.walk.relaxation_time:.0f} moves"
    axes.set_title(title, fontsize=10, color=INK)
    return axes


def draw_contrasts(rooms: TwoRooms, axes: Axes, *, taus: np.ndarray = CURVE) -> Axes:
    """How the two differences fade, and the slowest mode's share of the first."""
    between, inside = rooms.contrasts(taus)
    slow = rooms.walk.slow_mode(taus, rooms.goal)
    share = np.abs(slow[rooms.left].mean(axis=0) - slow[~rooms.left].mean(axis=0))
    axes.plot(taus, inside, "-.", color=GP, lw=2, label="inside a room")
    axes.plot(taus, between, color=OURS, lw=2, label="between the rooms")
    axes.plot(taus, share, color=INK, lw=1.2, ls="--", label="slowest mode alone")
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_ylim(1e-3, 2 * float(inside.max()))
    axes.set_xlabel("horizon tau (moves)", fontsize=9)
    axes.set_title("difference of exp G*", fontsize=10, color=INK)
    axes.legend(fontsize=8, frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(labelsize=8)
    return axes
