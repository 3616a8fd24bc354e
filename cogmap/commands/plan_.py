"""cogmap plan"""

from __future__ import annotations

import math

import numpy as np

from cogmap.agent import Agent
from cogmap.cli import Plan
from cogmap.commands.worlds import planning_for, world_for
from cogmap.envs.world import map_of
from cogmap.errors import CogmapError
from cogmap.evaluation.evaluate import plan
from cogmap.evaluation.rollout import Episode
from cogmap.report.routes import save_routes
from cogmap.report.tables import as_text
from cogmap.runs import check_writable


def run(settings: Plan) -> None:
    start, goal = read_point("start", settings.start), read_point("goal", settings.goal)
    if settings.figure is not None:
        check_writable(settings.figure)
    agent = Agent.load(settings.run, device=settings.device)
    world = world_for(agent, settings)
    plane = map_of(world, "cogmap plan")
    plane.check_task(np.array(start), np.array(goal))
    planning = planning_for(agent, settings)
    episode = plan(
        agent,
        start,
        goal,
        budget=settings.budget,
        planner=planning,
        world=world,
        tau_max=settings.tau_max,
        score=settings.score,
        every_horizon=settings.every_horizon,
    )
    print(as_text(decision_rows(episode)))
    outcome = "reached the goal" if episode.success else "did not reach the goal"
    print(
        f"{outcome} in {episode.steps} simulator steps: {episode.length:.1f} units, "
        f"shortest {episode.shortest:.1f}, SPL {episode.efficiency:.2f}"
    )
    if settings.figure is not None:
        title = f"{planning.planner}: {episode.length:.0f} units, shortest {episode.shortest:.0f}"
        tau_max = settings.tau_max or agent.temporal.config.tau_max
        save_routes(plane.maze, [(title, [episode])], settings.figure, tau_max=tau_max)
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
    rows = [["step", "x", "y", "heading", "asked", "horizon", "value"]]
    for number, (place, decision) in enumerate(zip(episode.route, episode.decisions)):
        heading = math.degrees(math.atan2(decision.action[1], decision.action[0]))
        rows.append(
            [
                str(number),
                f"{place[0]:.2f}",
                f"{place[1]:.2f}",
                f"{heading:.0f}",
                f"{decision.taus[0]}-{decision.taus[-1]}",
                str(decision.horizon),
                f"{decision.value:.3g}",
            ]
        )
    return rows
