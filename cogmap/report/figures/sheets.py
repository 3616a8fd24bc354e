"""Every figure by name: what it is drawn from, and how its panels lie on the sheet."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from cogmap.agent import Agent
from cogmap.envs.egocentric import Building
from cogmap.envs.maze import Maze
from cogmap.envs.maze_map import MazeMap
from cogmap.envs.world import World, map_of
from cogmap.errors import CogmapError
from cogmap.report import canvas, paper
from cogmap.report.cells import Row
from cogmap.report.curves import success_sheet
from cogmap.report.figures import (
    embeddings,
    exact,
    fields,
    first_person,
    frames,
    journeys,
    law,
    measured,
    two_rooms,
)
from cogmap.report.routes import routes_sheet
from cogmap.report.studies import TAU_MAX, horizon_panels

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MAZE_WIDTH = 4.2  # inches


class MissingRows(CogmapError):
    """Nothing was measured yet for a figure of results."""


@dataclass(frozen=True)
class Material:
    """What figures are drawn from. Each part is made once, when the first figure needs it."""

    agent: Agent
    world: World

    @cached_property
    def journeys(self) -> dict[str, journeys.Journey]:
        return journeys.plan_journeys(self.agent, self.world)

    @property
    def goal(self) -> np.ndarray:
        """The goal of the first task."""
        tasks = self.world.tasks(None, episodes=1, budget=None, seed=0).tasks
        return np.array(tasks[0].goal)

    @property
    def plane(self) -> MazeMap:
        return map_of(self.world, "a figure")

    @property
    def maze(self) -> Maze:
        return self.plane.maze

    @property
    def height(self) -> float:
        """Of a panel that is MAZE_WIDTH wide, in inches."""
        rows, columns = self.maze.walls.shape
        return MAZE_WIDTH * rows / columns

    def learned(self, taus: Sequence[int]) -> list[int]:
        """Those of the paper's horizons that the model has learned, else its longest."""
        longest = self.agent.temporal.config.tau_max
        return [tau for tau in taus if tau <= longest] or [longest]


def shaded(axes: Axes, *, extend: str = "neither") -> Any:
    """Adds a colour bar for the last image of a panel."""
    figure = axes.get_figure()
    assert figure is not None
    bar = figure.colorbar(axes.images[-1], ax=axes, shrink=0.8, pad=0.02, extend=extend)
    bar.ax.tick_params(labelsize=8)
    return bar


def fields_sheet(material: Material) -> Figure:
    """Fig. 1A."""
    found = fields.score_fields(
        material.agent.temporal,
        material.maze,
        material.goal,
        taus=material.learned(fields.TAUS),
    )
    size = (MAZE_WIDTH + 0.7) * len(found), material.height + 0.35
    figure, grid = canvas.panels(1, len(found), size)
    for axes, field in zip(grid[0], found):
        bar = shaded(fields.draw_field(field, axes), extend="min")
    bar.set_label("score G towards the star (nat)", fontsize=9)
    return figure


def embeddings_sheet(material: Material) -> Figure:
    """Fig. 1B and 4."""
    maze, taus = material.maze, material.learned(embeddings.TAUS)
    found = embeddings.projections(material.agent.temporal, maze.lattice, taus=taus, dimensions=2)
    figure, grid = canvas.panels(1, 1 + len(found), (3.0 * (1 + len(found)), 2.9))
    embeddings.draw_legend(maze, grid[0][0])
    for axes, projection in zip(grid[0][1:], found):
        embeddings.draw_projection(projection, axes)
    return figure


def embeddings_3d_sheet(material: Material) -> Figure:
    """Fig. 5."""
    maze, taus = material.maze, material.learned(embeddings.TAUS_3D)
    found = embeddings.projections(material.agent.temporal, maze.lattice, taus=taus, dimensions=3)
    sides = embeddings.shared_sides(found)
    figure = canvas.pyplot().figure(figsize=(3.6 * (1 + len(found)), 3.4), layout="constrained")
    embeddings.draw_legend(maze, figure.add_subplot(1, 1 + len(found), 1))
    for k, projection in enumerate(found, start=2):
        axes = figure.add_subplot(1, 1 + len(found), k, projection="3d")
        embeddings.draw_cloud(projection, maze.lattice.successors, axes, sides=sides)
    return figure


def routes_figure(material: Material) -> Figure:
    """Fig. 1C."""
    maze = material.maze
    drawn = [
        journey.only(journeys.drawn_tasks(maze.name)) for journey in material.journeys.values()
    ]
    longest = max(journey.tau_max for journey in drawn)
    return routes_sheet(maze, [(j.title, j.episodes) for j in drawn], tau_max=longest)


def exact_sheet(material: Material) -> Figure:
    """Learned against exact."""
    taus = material.learned(exact.TAUS)
    found = exact.compare(material.agent.temporal, material.maze.lattice, taus=taus)
    figure, grid = canvas.panels(1, len(found), (3.7 * len(found), 3.6))
    for axes, comparison in zip(grid[0], found):
        exact.draw_comparison(comparison, axes)
    grid[0][0].set_ylabel("learned G (nat)", fontsize=9)
    shades = axes.collections[0]  # of one scale in all panels
    bar = figure.colorbar(shades, ax=grid, shrink=0.8, pad=0.01, extend="max")
    bar.set_label("pairs", fontsize=9)
    bar.ax.tick_params(labelsize=8)
    return figure


def law_sheet(material: Material) -> Figure:
    """Eq. 15 over the planned routes."""
    figure, grid = canvas.panels(1, 2, (9.0, 3.6))
    grid[0][0].sharey(grid[0][1])
    grid[0][0].sharex(grid[0][1])
    for axes, name in zip(grid[0], ("the paper's GP", "ours, GP")):
        journey, planning = material.journeys[name], journeys.RULES[name]
        again = None  # with a memory of its way, a place alone does not tell what it decides
        if not planning.memory:
            again = material.agent.planner(
                planning, world=material.world, tau_max=journey.tau_max, score="exact"
            )
        found = law.arguments(name, material.plane, journey.episodes, exact=again)
        law.draw_law(found, axes, tau_max=journey.tau_max).set_title(journey.title, fontsize=10)
    grid[0][0].set_ylabel("horizon that argued (moves)", fontsize=9)
    grid[0][0].legend(fontsize=8, frameon=False, loc="lower right")
    return figure


def horizons_sheet(results: Path) -> Figure:
    """Fig. 2."""
    return success_sheet(horizon_panels(measured_rows(results, "horizons")), x=TAU_MAX)


def data_sheet(results: Path) -> Figure:
    """Table 2."""
    rows, mazes = measured_rows(results, "data"), list(paper.DATA["4M"])
    figure, grid = canvas.panels(1, len(mazes), (4.4 * len(mazes), 4.2))
    for axes, maze in zip(grid[0], mazes):
        measured.draw_data(measured.data_points(rows, maze), axes, title=maze.title())
    drawn, names = grid[0][0].get_legend_handles_labels()
    order = sorted(range(len(names)), key=lambda k: names[k] != "ours")
    figure.legend(
        [drawn[k] for k in order],
        [names[k] for k in order],
        loc="outside upper center",
        ncols=len(names),
        fontsize=8,
        frameon=False,
    )
    return figure


def measured_rows(results: Path, name: str) -> list[Row]:
    """The rows that `cogmap reproduce NAME` left."""
    path = results / f"{name}.jsonl"
    rows = []
    for number, line in enumerate(path.read_text().splitlines() if path.is_file() else [], 1):
        try:
            rows.append({"cell": "", **json.loads(line)})
        except (ValueError, TypeError):
            raise CogmapError(f"{path}, line {number} is no row of results; mend it.") from None
    if not rows:
        raise MissingRows(f"{path} has no rows; `cogmap reproduce {name}` makes them.")
    return rows


def two_rooms_sheet(results: Path) -> Figure:
    """Sec. 3's example."""
    rooms = two_rooms.TwoRooms.build()
    count = len(two_rooms.TAUS)
    figure = canvas.pyplot().figure(figsize=(4.0 * count, 5.6), layout="constrained")
    grid = figure.add_gridspec(2, count)
    for k, tau in enumerate(two_rooms.TAUS):
        shaded(two_rooms.draw_score(rooms, tau, figure.add_subplot(grid[0, k])))
    two_rooms.draw_contrasts(rooms, figure.add_subplot(grid[1, :-1]))
    shaded(two_rooms.draw_slow_mode(rooms, figure.add_subplot(grid[1, -1])))
    return figure


# Those of a trained model, and those that need none.
OF_A_RUN: dict[str, Callable[[Material], Figure]] = {
    "fields": fields_sheet,
    "embeddings": embeddings_sheet,
    "embeddings-3d": embeddings_3d_sheet,
    "routes": routes_figure,
    "exact": exact_sheet,
    "law": law_sheet,
}
# Those of a world without a map.
OF_FRAMES: dict[str, Callable[[Agent, World], Figure]] = {
    "frames": lambda agent, world: frames.frames_sheet(frames.films(agent, world)),
}
# Those of a building.
OF_A_BUILDING: dict[str, Callable[[Agent, Building], Figure]] = {
    "first-person": first_person.sheet_of,
    "first-person-continuous": first_person.continuous_sheet_of,
}
OF_RESULTS: dict[str, Callable[[Path], Figure]] = {
    "horizons": horizons_sheet,
    "data": data_sheet,
    "two-rooms": two_rooms_sheet,
}
