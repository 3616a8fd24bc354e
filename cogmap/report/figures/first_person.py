"""A route in a building by the horizons that argued for it, and what was seen on it (Fig. 3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from cogmap.agent import Agent
from cogmap.envs.continuous import CAPPED, Continuous, off_lattice
from cogmap.envs.egocentric import Building
from cogmap.envs.floor_plan import floor_plan
from cogmap.envs.scene import Scene
from cogmap.envs.turning import angles
from cogmap.envs.world import Task
from cogmap.evaluation.rollout import Episode, PlannerPolicy, run_episodes
from cogmap.report import canvas
from cogmap.report.figures.beside import places_beside
from cogmap.report.figures.frames import draw_frame
from cogmap.report.routes import COLOURS, FLOOR, GOAL, INK, WALL, coloured

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import LogNorm
    from matplotlib.figure import Figure

VIEWS = 10  # Fig. 3
PIXELS = 160  # on a side of a view
ACROSS, DOWN = 4, 3  # views, the goal's, and what the marks mean
INCHES = 1.25  # of a view
HEIGHT, HEAD = 4.6, 0.5  # inches, of the sheet and of what is said above it
BAR = 0.8  # inches, of the colours
NARROWEST, WIDEST = 2.6, 5.2  # inches, of the plan
MARGIN = 0.6  # m around the plan
LABEL = 0.02  # radius of a number, as a share of the plan's longer side


@dataclass(frozen=True)
class Sight:
    """One decision of a route."""

    number: int  # of the view on the sheet, from 1
    decision: int  # from 0
    place: np.ndarray  # (2,) of (x, z) in metres, before it
    heading: float  # radians
    horizon: int | None  # that argued for it; None: nothing did
    view: np.ndarray  # (PIXELS, PIXELS, 3) uint8


def first_episode(
    agent: Agent, world: Building, *, tau_max: int | None = None
) -> tuple[Episode, int]:
    """The longest shortest way of the world's tasks among those reached, and the longest horizon.

    One episode of each task is tried; where no goal is reached, the farthest is drawn all the same.
    """
    tasks = world.tasks(None, episodes=1)
    planner = agent.planner(world=world, tau_max=tau_max)
    policy = PlannerPolicy(planner, hold=world.hold)
    tried = run_episodes(world, tasks.tasks, policy, budget=tasks.budget)
    chosen = max(tried, key=lambda episode: (episode.success, episode.shortest or 0.0))
    return chosen, int(planner.rule.horizons.taus[-1])


def sights(scene: Scene, episode: Episode, *, count: int = VIEWS) -> list[Sight]:
    """Evenly spaced decisions, the first and the last among them; all where there are few."""
    decided = len(episode.route) - 1
    shown = np.unique(np.linspace(0, decided - 1, min(count, decided)).round().astype(int))
    found = []
    for number, k in enumerate(shown.tolist(), start=1):
        place, heading = episode.route[k], episode.headings[k]
        horizon = episode.decisions[k].horizon if episode.decisions else None
        view = scene.view(place, heading, size=PIXELS).colour
        found.append(Sight(number, k, place, heading, horizon, view))
    return found


def goal_view(world: Building, task: Task) -> np.ndarray:
    """What a goal is told by: a view, or small ones of all that its place has. -> (H, W, 3)"""
    place = world.stood(np.array(task.goal[:2]))
    if len(task.goal) > 2:
        return world.scene.view(place, angles()[int(task.goal[2])], size=PIXELS).colour
    size = PIXELS // ACROSS
    views = [world.scene.view(place, angle, size=size).colour for angle in angles()]
    rows = [views[k : k + ACROSS] for k in range(0, len(views), ACROSS)]
    return np.concatenate([np.concatenate(row, axis=1) for row in rows])


def upward(places: np.ndarray) -> np.ndarray:
    """As seen from above, where a heading of 0 looks up. (..., 2) of (x, z) -> (..., 2)"""
    return np.asarray(places) * (1.0, -1.0)


def draw_plan(scene: Scene, axes: Axes) -> Axes:
    """Floor and walls."""
    from matplotlib.collections import LineCollection, PolyCollection

    plan = floor_plan(scene)
    # Edges of their own colour: no gap shows between triangles.
    free = PolyCollection(list(upward(plan.free)), facecolors=FLOOR, edgecolors=FLOOR, lw=0.6)
    axes.add_collection(free)
    axes.add_collection(LineCollection(list(upward(plan.walls)), colors=WALL, linewidths=1.4))
    low, high = _bounds(scene)
    axes.set_xlim(low[0] - MARGIN, high[0] + MARGIN)
    axes.set_ylim(low[1] - MARGIN, high[1] + MARGIN)
    axes.set_aspect("equal")
    axes.set_axis_off()
    return axes


def draw_route(
    world: Building, episode: Episode, shown: Sequence[Sight], axes: Axes, *, tau_max: int | None
) -> Axes:
    """The way over the plan, from the start (circle) to the goal (star, and what counts as there).

    Triangles point where the agent looks at the decisions that are shown; numbers are the views'.
    """
    from matplotlib.patches import Circle

    draw_plan(world.scene, axes)
    route = upward(np.array(episode.route))
    goal = upward(world.stood(np.array(episode.task.goal[:2])))
    pieces = np.stack([route[:-1], route[1:]], axis=1)  # (N, 2, 2)
    axes.add_collection(coloured(route, episode, tau_max=tau_max))
    axes.add_patch(Circle((goal[0], goal[1]), world.within, color=GOAL, alpha=0.25, lw=0))
    axes.plot(*route[0], "o", ms=11, mfc="white", mec=INK, mew=1.4, zorder=3)
    axes.plot(*goal, "*", ms=14, mfc=GOAL, mec=INK, mew=0.8, zorder=3)
    low, high = _bounds(world.scene)
    radius = LABEL * float((high - low).max())
    anchors = upward(np.array([sight.place for sight in shown]).reshape(-1, 2))
    walls = upward(floor_plan(world.scene).walls)
    labels = places_beside(
        anchors,
        radius=radius,
        lines=np.concatenate([pieces, walls]),
        marks=[route[0], goal],
        bounds=(low - MARGIN, high + MARGIN),
    )
    for sight, (x, y), label in zip(shown, anchors, labels):
        axes.plot([x, label[0]], [y, label[1]], "-", color=INK, lw=0.6, zorder=3.5)
        looking = (3, 0, float(np.degrees(sight.heading)))  # a triangle that is turned
        axes.plot(x, y, marker=looking, ms=6, mfc="white", mec=INK, mew=0.8, zorder=4)
        axes.add_patch(Circle((label[0], label[1]), radius, fc="white", ec=INK, lw=0.8, zorder=5))
        number = axes.annotate(str(sight.number), label, ha="center", va="center", fontsize=7)
        number.set_zorder(6)
    return axes


def draw_sight(sight: Sight, axes: Axes, *, tau_max: int | None) -> Axes:
    """A view in the colour of its horizon."""
    told = "" if sight.horizon is None else f":  τ = {sight.horizon:,}"
    draw_frame(sight.view, f"{sight.number}{told}", axes)
    if sight.horizon is not None:
        colour = canvas.pyplot().get_cmap(COLOURS)(_shades(tau_max)(sight.horizon))
        for side in axes.spines.values():
            side.set(color=colour, linewidth=2.5)
    return axes


def draw_marks(axes: Axes, *, within: float) -> Axes:
    """What the marks on the plan mean."""
    from matplotlib.colors import to_rgba

    axes.set_axis_off()
    for marker, size, fill, edge, text in (
        ("o", 9, "white", INK, "start"),
        ("*", 12, GOAL, INK, "goal"),
        ("o", 12, to_rgba(GOAL, 0.25), "none", f"within {within:.2g} m"),
        ((3, 0, 0), 6, "white", INK, "looks there"),
    ):
        axes.plot([], [], ls="", marker=marker, ms=size, mfc=fill, mec=edge, label=text)
    legend = axes.legend(loc="center", fontsize=8, frameon=False, borderpad=0, handletextpad=0.4)
    legend.set_in_layout(False)  # the views stay as wide as each other
    return axes


def first_person_sheet(world: Building, episode: Episode, *, tau_max: int | None) -> Figure:
    """The plan with the route at the left, ten views and the goal's at the right."""
    plt = canvas.pyplot()
    shown = sights(world.scene, episode)
    low, high = _bounds(world.scene)
    wide, tall = high - low + 2 * MARGIN
    left = float(np.clip((HEIGHT - HEAD) * wide / tall, NARROWEST, WIDEST))
    left += BAR * bool(episode.decisions)
    right = ACROSS * INCHES + 0.4
    figure = plt.figure(figsize=(left + right, HEIGHT), layout="constrained")
    outer = figure.add_gridspec(1, 2, width_ratios=(left, right))
    plan = figure.add_subplot(outer[0])
    draw_route(world, episode, shown, plan, tau_max=tau_max)
    if episode.decisions:
        shades = plt.cm.ScalarMappable(norm=_shades(tau_max), cmap=COLOURS)
        bar = figure.colorbar(shades, ax=plan, shrink=0.8, pad=0.02)
        bar.set_label("horizon that argued for the decision (moves)", fontsize=8)
        bar.ax.tick_params(labelsize=8)
    inner = outer[1].subgridspec(DOWN, ACROSS)
    cells = [figure.add_subplot(inner[divmod(k, ACROSS)]) for k in range(ACROSS * DOWN)]
    for axes in cells[len(shown) : -2]:
        axes.set_axis_off()
    for sight, axes in zip(shown, cells):
        draw_sight(sight, axes, tau_max=tau_max)
    draw_frame(goal_view(world, episode.task), "the goal", cells[-2])
    draw_marks(cells[-1], within=world.within)
    figure.suptitle(f"{world.name}\n{outcome(world, episode)}", fontsize=9, color=INK)
    return figure


def sheet_of(agent: Agent, world: Building, *, tau_max: int | None = None) -> Figure:
    """Of a run, by its own planning."""
    episode, longest = first_episode(agent, world, tau_max=tau_max)
    return first_person_sheet(world, episode, tau_max=longest)


def continuous_sheet_of(agent: Agent, world: Building) -> Figure:
    """The same off the lattice, with that protocol's cap on horizons."""
    longest = min(CAPPED, agent.temporal.config.tau_max)
    off = replace(agent, planning=off_lattice(agent.planning))
    return sheet_of(off, Continuous.of(world), tau_max=longest)


def outcome(world: Building, episode: Episode) -> str:
    """What came of it, and how far it was."""
    protocol = world.conditions().get("protocol")
    words = f"{protocol} protocol: " if protocol else ""
    words += "reached the goal" if episode.success else "did not reach the goal"
    words += f" in {len(episode.route) - 1:,} decisions, {episode.length:.1f} m"
    words += "" if episode.shortest is None else f" (shortest {episode.shortest:.1f} m)"
    return words if world.looks else f"{words}; it was shown its place and not these views"


def _bounds(scene: Scene) -> tuple[np.ndarray, np.ndarray]:
    """Of what is drawn of a plan, two opposite corners. (2,), (2,)"""
    plan = floor_plan(scene)
    corners = upward(np.concatenate([plan.free.reshape(-1, 2), plan.walls.reshape(-1, 2)]))
    return corners.min(axis=0), corners.max(axis=0)


def _shades(tau_max: int | None) -> LogNorm:
    from matplotlib.colors import LogNorm

    return LogNorm(1, tau_max)
