"""A run without a map as one page: what was seen, G, episodes with frames, checks (onefile.py)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from cogmap.checks import Checks
from cogmap.envs.world import World
from cogmap.evaluation.evaluate import Evaluation
from cogmap.evaluation.rollout import Episode
from cogmap.pipeline import CHECKS
from cogmap.planning.planner import Planner
from cogmap.report.tables import result_rows
from cogmap.web.journey import Journey, RepeatedPolicy, set_out
from cogmap.web.onefile import (
    assembled,
    choices,
    curve,
    noted,
    packed,
    section,
    settings_of,
    spread,
    table,
)
from cogmap.web.storey import Storey
from cogmap.web.storey_report import walked
from cogmap.web.terrain import Terrain

MOST_ROUTES = 6  # drawn in the page; the tables count every episode
GOALS = 12  # of the sample, where there is no world to plan in
STEPS_PER_NAT = 1000  # scores are stored as whole thousandths
STEPS_PER_SIDE = 30_000  # of a plane, whose coordinates end at 1
NOT_AGAIN = (
    "This world does not repeat itself: with the same seeds and decisions what is drawn above "
    "ended otherwise than the episodes that are counted here."
)
ROOM = 7_500_000  # letters of the file, about; frames get what is left of them
LEAST_ROOM = 1_500_000
MOST_NUMBERS = 40  # of an observation, in the table of the local model's errors


def page(terrain: Terrain, result: Evaluation, world: World, planner: Planner) -> str:
    """Episodes of `world` as one file. They are watched once more, with the decisions they had."""
    episodes = spread(result.episodes, MOST_ROUTES)
    goal, warning = goal_of(terrain, world)
    journeys = [
        set_out(
            terrain,
            world,
            episode.task,
            RepeatedPolicy(planner, hold=world.hold, decisions=episode.decisions),
            budget=result.budget,
            tau=terrain.taus[-1],
            goal=goal,
            warning=warning,
        )
        for episode in episodes
    ]
    routes = [route(journey, number) for number, journey in enumerate(journeys, start=1)]
    again = [
        (shown["outcome"]["success"], shown["outcome"]["steps"]) == (episode.success, episode.steps)
        for shown, episode in zip(routes, episodes, strict=True)
    ]
    begin = routes[0]["start"] or getattr(world, "start", None) or ""
    told = {"goal": routes[0]["goal"], "start": begin}
    told |= {"budget": result.budget, "planner": result.policy}
    fields = np.stack([field(terrain, journey.goals) for journey in journeys])
    stored = record(terrain, routes, fields)
    stored["world"] |= told
    thin(routes, max(LEAST_ROOM, ROOM - size(stored)))
    again_note = "" if all(again) else NOT_AGAIN
    if isinstance(terrain, Storey):
        near = terrain.world.scene.tasks.within
        parts = walked(result, episodes, within=near, note=again_note)
    else:
        parts = _results(result, episodes, goal=goal, start=told["start"], note=again_note)
    return _page(terrain, stored, parts)


def page_of_goals(terrain: Terrain, goal: str | None) -> str:
    """G towards a goal, or by default some of the sample, where there is no world to plan in."""
    some = [terrain.goal(f"#{row}") for row in spread(range(len(terrain.rows)), GOALS)]
    wanted = some if goal is None else [terrain.seen.goal(goal)]
    routes: list[dict[str, Any]] = [
        {"title": f"{number}: {goal.text}", "goal": goal.text, "warning": goal.warning}
        | {"marks": terrain.marks(goal.rows), "seed": 0, "steps": [], "outcome": None}
        for number, goal in enumerate(wanted, start=1)
    ]
    fields = np.stack([field(terrain, goal.rows) for goal in wanted])
    stored = record(terrain, routes, fields)
    stored["world"]["goal"] = routes[0]["goal"]
    lines = [(number, [goal.text]) for number, goal in enumerate(wanted)]
    note = (
        "No episodes: this run was learned from data alone, so there is no simulator to plan in. "
        "The colours show G of each of these goals from everything that was seen."
    )
    return _page(terrain, stored, [section("Goals", choices(["goal"], lines), note)])


def goal_of(terrain: Terrain, world: Any) -> tuple[str, str]:
    """What to call the goal of every episode, and what to warn of; empty: each has its own."""
    if world.goal is None:
        return "", ""
    if terrain.episodes_differ:  # what a goal means, each reset decides
        return world.goal, ""
    return world.goal, terrain.seen.goal(world.goal).warning


def record(
    terrain: Terrain, routes: Sequence[dict[str, Any]], fields: np.ndarray
) -> dict[str, Any]:
    """The JSON inside the page, from which world/record.js answers what a server would.

    Routes that share a goal share its scores. fields: (routes, T, S)
    """
    distinct, which = np.unique(fields, axis=0, return_inverse=True)
    for shown, number in zip(routes, which.ravel().tolist(), strict=True):
        shown["field"] = number
    points = np.stack([terrain.plane(tau, terrain.methods[0]).points for tau in terrain.taus])
    return {
        "world": terrain.description.model_dump(mode="json"),
        "steps_per_nat": STEPS_PER_NAT,
        "steps_per_side": STEPS_PER_SIDE,
        "points": packed(points, STEPS_PER_SIDE),
        "fields": [packed(scores, STEPS_PER_NAT) for scores in distinct],
        "routes": routes,
        "curve": curve(terrain.folder),
    }


def field(terrain: Terrain, goals: np.ndarray) -> np.ndarray:
    """G towards a set of goals at each octave, from each of the sample. -> (T, S)"""
    return np.stack([terrain.field(goals, tau) for tau in terrain.taus])


def route(journey: Journey, number: int) -> dict[str, Any]:
    """An episode as the server would tell it, with its places at every octave."""
    terrain = journey.terrain
    begun, *steps, outcome = [line.model_dump(mode="json") for line in journey.told()]
    looks = terrain.given([sight["observation"] for sight in (*steps, outcome)])
    places = np.stack([terrain.places(looks, tau, terrain.methods[0]) for tau in terrain.taus])
    missed = "" if outcome["success"] else ", missed"
    for sight in (*steps, outcome):
        del sight["place"]
    return {
        "title": f"{number}: {journey.task.name}{missed}",
        "seed": int(journey.task.start[0]),
        "start": terrain.began(journey.task),
        "goal": begun["goal"],
        "goal_frame": begun["frame"],
        "marks": begun["marks"],
        "warning": begun["warning"],
        "steps": steps,
        "outcome": outcome | {"seconds": None},
        "places": places.round(4).tolist(),  # (T, K, 2)
    }


def size(stored: dict[str, Any]) -> int:
    """Letters of a record, about, without its frames."""
    numbers = [len(text) for text in (stored["points"], *stored["fields"])]
    plain = [
        {name: value for name, value in sight.items() if name != "frame"}
        for shown in stored["routes"]
        for sight in shown["steps"]
    ]
    places = [shown.get("places") for shown in stored["routes"]]
    return sum(numbers) + sum(len(str(part)) for part in (stored["world"], plain, places))


def thin(routes: Sequence[dict[str, Any]], room: int) -> None:
    """Leaves out frames, evenly, until they take no more than `room` letters."""
    sights = [[*shown["steps"], shown["outcome"]] for shown in routes]
    letters = sum(len(sight["frame"] or "") for way in sights for sight in way)
    every = math.ceil(letters / room)
    for way in sights:
        for number, sight in enumerate(way):
            if every > 1 and number % every:
                sight["frame"] = None  # the page shows the one before it


def _page(terrain: Terrain, stored: dict[str, Any], parts: list[str]) -> str:
    parts += [*_checks(terrain), settings_of(terrain.folder, without=("rival",))]
    title = f"cogmap report: {terrain.description.name}"
    tables = "\n".join(parts)
    return assembled(
        "world-report.html", "world/report.js", title=title, tables=tables, record=stored
    )


def _results(
    result: Evaluation, shown: Sequence[Episode], *, goal: str, start: str, note: str
) -> list[str]:
    """What came of all episodes, and of each; `note` below the latter."""
    stay = any(episode.stayed is not None for episode in result.episodes)
    begun = f", begun where {start}," if start else ""
    goal = f"the goal, {goal}," if goal else "their goals"
    about = (
        f"SR: share of {len(result.episodes)} episodes{begun} that reached {goal} in "
        f"{result.budget:,} environment steps, with its 95 % Wilson interval."
    )
    if stay:
        about += " Stayed: mean share of the time since then that was spent there."
    numbers = {id(episode): number for number, episode in enumerate(shown)}
    rows = []
    for episode in result.episodes:
        held = "-" if episode.stayed is None else f"{episode.stayed:.2f}"
        cells = [episode.task.name, f"{episode.task.start[0]:.0f}"]
        cells += ["yes" if episode.success else "no", str(episode.steps), *([held] if stay else [])]
        rows.append((numbers.get(id(episode)), cells))
    head = ["episode", "seed", "reached", "steps", *(["stayed"] if stay else [])]
    return [
        section("Result", table(result_rows([result])), about),
        section("Episodes", choices(head, rows), note),
    ]


def _checks(terrain: Terrain) -> list[str]:
    """Held-out figures of the run, if it has them."""
    checks = Checks.load(terrain.folder / CHECKS)
    if checks is None:
        return []
    rows = [["horizon", "information, nats", "calibration"]]
    each = zip(checks.taus, checks.information, checks.calibration, strict=True)
    rows += [[f"{tau:,}", f"{known:.2f}", f"{right:.2f}"] for tau, known, right in each]
    note = (
        "Of episodes that were not trained on. Information: mean G of pairs that many decisions "
        "apart, at most what one tells of the other. Calibration: mean exp(G) of unrelated pairs; "
        "1 is right."
    )
    names = terrain.names
    if terrain.seen.pictures:
        names = [f"number {k} of the eye" for k in range(len(checks.error))]
    worst = np.argsort(checks.error)[::-1][:MOST_NUMBERS]
    errors = [["number", "error after one decision"]]
    errors += [[names[k], f"{checks.error[k]:.3f}"] for k in sorted(worst.tolist())]
    about = (
        "Error of the local model, in units of what one decision typically changes; 1 is no better "
        "than to predict no change."
    )
    if len(checks.error) > MOST_NUMBERS:
        about += f" The {MOST_NUMBERS} largest of {len(checks.error)}."
    warned = " ".join(line[0].upper() + line[1:] for line in checks.warnings())
    return [
        section(
            "Held-out checks",
            table(rows) + noted(f"{note} {warned}".strip()) + table(errors) + noted(about),
        )
    ]
