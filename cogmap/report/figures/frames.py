"""Episodes of a world without a map as frames, the horizon that argued under each (Fig. 6)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from cogmap.agent import Agent
from cogmap.envs.world import TaskSet, World
from cogmap.errors import CogmapError
from cogmap.evaluation.rollout import PlannerPolicy, as_they_run, run_episodes
from cogmap.report import canvas

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

EPISODES, FRAMES = 3, 8  # of the sheet; evenly spaced frames of each
TRIED = 24  # tasks of which those with the longest way are drawn
INCHES = 1.0  # of a frame


@dataclass(frozen=True)
class Film:
    """What an episode looked like."""

    frames: list[np.ndarray]  # (H, W, 3) uint8, evenly spaced from the start to the end
    steps: list[int]  # at which each was taken
    horizons: list[int]  # that argued for what was done last; 0 at the start
    goal: np.ndarray | None  # what the goal looks like, where the world knows
    name: str
    success: bool


def films(agent: Agent, world: World) -> list[Film]:
    """The episodes with the longest way among those that reach their goals."""
    if not hasattr(world, "rendered"):
        raise CogmapError(f"{world.name} has no frames to draw.")
    tasks = world.tasks(None, episodes=TRIED, budget=None, seed=0)
    policy = PlannerPolicy(agent.planner(world=world), hold=world.hold)
    tried = run_episodes(world, tasks.tasks, policy, budget=tasks.budget)
    order = sorted(range(len(tried)), key=lambda k: (not tried[k].success, -tried[k].length))
    seen: Any = replace(world, rendered=True)  # type: ignore[type-var]
    return [film(agent, seen, tasks, k, tried[k].steps) for k in order[:EPISODES]]


def film(agent: Agent, world: World, tasks: TaskSet, number: int, steps: int) -> Film:
    """One of the tasks once more, which takes `steps`, with frames."""
    task = tasks.tasks[number]
    running: Any = world.begin([task])
    goal = running.goal_frame(0) if hasattr(running, "goal_frame") else None
    policy = PlannerPolicy(agent.planner(world=world), hold=world.hold)
    wanted = np.linspace(0, steps, FRAMES).round().astype(int).tolist()
    frames: list[np.ndarray] = []
    at: list[int] = []
    horizons: list[int] = []
    for [episode] in as_they_run(world, [task], policy, budget=tasks.budget, running=running):
        if len(at) < FRAMES and episode.steps >= wanted[len(at)]:
            at.append(episode.steps)
            frames.append(running.frame(0))
            horizons.append(episode.decisions[-1].horizon if episode.decisions else 0)
    return Film(frames, at, horizons, goal, task.name, bool(running.succeeded[0]))


def draw_frame(picture: np.ndarray, text: str, axes: Axes) -> Axes:
    """One frame and what is said under it."""
    axes.imshow(picture)
    axes.set_xticks([])
    axes.set_yticks([])
    axes.set_xlabel(text, fontsize=8)
    return axes


def frames_sheet(shown: Sequence[Film]) -> Figure:
    """A row an episode, its goal at the right."""
    with_goal = any(film.goal is not None for film in shown)
    columns = FRAMES + with_goal
    size = INCHES * columns, (INCHES + 0.25) * len(shown)
    figure, grid = canvas.panels(len(shown), columns, size)
    for row, one in zip(grid, shown):
        for axes in row:
            axes.set_axis_off()
        for axes, picture, step, horizon in zip(row, one.frames, one.steps, one.horizons):
            axes.set_axis_on()
            draw_frame(picture, f"step {step}" + (f", τ = {horizon}" if horizon else ""), axes)
        row[0].set_ylabel(one.name + ("" if one.success else ", missed"), fontsize=8)
        if one.goal is not None:
            row[-1].set_axis_on()
            draw_frame(one.goal, "goal", row[-1])
    return figure
