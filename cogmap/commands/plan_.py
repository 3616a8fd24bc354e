"""cogmap plan"""

from __future__ import annotations

import math

import numpy as np

from cogmap.agent import Agent, load
from cogmap.cli import Plan
from cogmap.commands.worlds import filmed, planning_for, warn_of_goal, world_for
from cogmap.envs.egocentric import Building
from cogmap.envs.world import map_of
from cogmap.errors import CogmapError
from cogmap.evaluation.evaluate import acting_of, plan
from cogmap.evaluation.rollout import Episode, as_they_run
from cogmap.report import canvas
from cogmap.report.figures.first_person import first_person_sheet
from cogmap.report.routes import save_routes
from cogmap.report.tables import as_text
from cogmap.report.video import write_strip, write_video
from cogmap.rival import Rival
from cogmap.runs import check_writable


def run(settings: Plan) -> None:
    for path in (settings.figure, settings.video):
        if path is not None:
            check_writable(path)
    agent = load(settings.run, device=settings.device)
    if agent.world is None and settings.maze is None:
        agent.acting_in(None)  # says what a run of a log is for
    if agent.world is not None and agent.world.map is None:
        without_map(agent, settings)
        return
    if settings.video is not None:
        raise CogmapError("--video is for Gymnasium worlds; draw a maze's route with --figure.")
    start, goal = read_point("start", settings.start), read_point("goal", settings.goal)
    world = world_for(agent, settings)
    plane = map_of(world, "cogmap plan")
    plane.check_task(np.array(start), np.array(goal))
    planning = planning_for(agent, settings)
    episode = plan(
        agent,
        start,
        goal,
        budget=1000 if settings.budget is None else settings.budget,
        planner=planning,
        world=world,
        tau_max=settings.tau_max,
        score=settings.score,
        every_horizon=settings.every_horizon,
    )
    if episode.decisions:
        print(as_text(decision_rows(episode)))
    outcome = "reached the goal" if episode.success else "did not reach the goal"
    print(
        f"{outcome} in {episode.steps} simulator steps: {episode.length:.1f} units, "
        f"shortest {episode.shortest:.1f}, SPL {episode.efficiency:.2f}"
    )
    if settings.figure is not None:
        name, tau_max = "", settings.tau_max
        if isinstance(agent, Rival):
            name = agent.method
        elif planning is not None:
            name, tau_max = planning.planner, tau_max or agent.temporal.config.tau_max
        title = f"{name}: {episode.length:.0f} units, shortest {episode.shortest:.0f}"
        save_routes(plane.maze, [(title, [episode])], settings.figure, tau_max=tau_max)
        print(f"drawn -> {settings.figure}")


def without_map(agent: Agent | Rival, settings: Plan) -> None:
    """One episode of a world that has resets and goals in words, maybe filmed."""
    world = world_for(agent, settings)
    warn_of_goal(agent, world)
    plan_drawn = isinstance(world, Building) and settings.figure is not None
    if plan_drawn:
        canvas.pyplot()  # what is missing is said before minutes are spent
    wanted = settings.video is not None or (settings.figure is not None and not plan_drawn)
    if wanted:
        world = filmed(world, settings.video)
    tasks = world.tasks(None, episodes=1, budget=settings.budget, seed=settings.seed)
    acting = acting_of(
        agent,
        world,
        planning_for(agent, settings),
        tau_max=settings.tau_max,
        score=settings.score,
        every_horizon=settings.every_horizon,
    )
    only = tasks.tasks[:1]  # a building has several
    running = world.begin(only)
    frames = []
    episodes: list[Episode] = []
    for episodes in as_they_run(  # noqa: B007
        world, only, acting.policy, budget=tasks.budget, running=running
    ):
        if wanted:
            frames.append(running.frame(0))  # type: ignore[attr-defined]
    [episode] = episodes
    rows = [["decision", "action", "asked", "horizon", "value"]]
    for number, decision in enumerate(episode.decisions):
        action = ", ".join(f"{value:.2g}" for value in decision.action)
        asked = f"{decision.taus[0]}-{decision.taus[-1]}"
        rows.append([str(number), action, asked, str(decision.horizon), f"{decision.value:.3g}"])
    if episode.decisions:
        print(as_text(rows))
    outcome = "reached the goal" if episode.success else "did not reach the goal"
    held = "" if episode.stayed is None else f"; there for {episode.stayed:.0%} of the time since"
    print(f"{outcome} in {episode.steps} simulator steps{held}")
    if settings.video is not None:
        write_video(settings.video, frames)
        print(f"{len(frames)} frames -> {settings.video}")
    if settings.figure is not None:
        if isinstance(world, Building):
            longest = acting.settings.get("tau_max")
            canvas.save(first_person_sheet(world, episode, tau_max=longest), settings.figure)
        else:
            write_strip(settings.figure, frames)
        print(f"drawn -> {settings.figure}")


def read_point(name: str, text: str | None) -> tuple[float, float]:
    if text is None:
        raise CogmapError(f"give --{name} x,y.")
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
