"""cogmap plan"""

from __future__ import annotations

import math

import numpy as np

from cogmap.agent import Agent
from cogmap.cli import Plan
from cogmap.commands.evaluate_ import read_radii, world_for
from cogmap.errors import CogmapError
from cogmap.evaluation.rollout import Episode, PlannerPolicy, run_episodes
from cogmap.evaluation.tasks import Task
from cogmap.report.routes import save_routes
from cogmap.report.tables import as_text
from cogmap.runs import check_writable


def run(settings: Plan) -> None:
    start, goal = read_point("start", settings.start), read_point("goal", settings.goal)
    if settings.budget < 1:
        raise CogmapError(f"budget={settings.budget}; give at least 1 simulator step.")
    if settings.figure is not None:
        check_writable(settings.figure)
    agent = Agent.load(settings.run, device=settings.device)
    world = world_for(agent, settings)
    world.check_task(np.array(start), np.array(goal))
    planner = agent.planner(
        settings.planner,
        world=world,
        tau_max=settings.tau_max,
        radii=read_radii(settings.radii),
        score=settings.score,
        every_horizon=settings.every_horizon,
    )
    task = Task("plan", start, goal)
    [episode] = run_episodes(
        world, [task], PlannerPolicy(planner, world.observe), budget=settings.budget
    )
    print(as_text(decision_rows(episode)))
    outcome = "reached the goal" if episode.success else "did not reach the goal"
    print(
        f"{outcome} in {episode.steps} simulator steps: {episode.length:.1f} units, "
        f"shortest {episode.shortest:.1f}, SPL {episode.efficiency:.2f}"
    )
    if settings.figure is not None:
        title = f"{settings.planner}: {episode.length:.0f} units, shortest {episode.shortest:.0f}"
        tau_max = int(planner.rule.horizons.taus[-1])
        save_routes(world.maze, [(title, [episode])], settings.figure, tau_max=tau_max)
        print(f"drawn -> {settings.figure}")


def read_point(name: str, text: str) -> tuple[float, float]:
    try:
        x, y = (float(part) for part in text.split(","))
    except ValueError:
        raise CogmapError(f"{name} {text!r} is not a pair of numbers x,y.") from None
    if not (math.isfinite(x) and math.isfinite(y)):
        raise CogmapError(f"{name} {text!r} is not a pair of finite numbers x,y.")
    return x, y


def decision_rows(episode: Episode) -> list[list[str]]:
    """A header and one row a decision."""
    rows = [["step", "x", "y", "heading", "horizon", "value"]]
    for number, (place, decision) in enumerate(zip(episode.route, episode.decisions)):
        heading = math.degrees(math.atan2(decision.action[1], decision.action[0]))
        rows.append(
            [
                str(number),
                f"{place[0]:.2f}",
                f"{place[1]:.2f}",
                f"{heading:.0f}",
                str(decision.horizon),
                f"{decision.value:.4f}",
            ]
        )
    return rows
