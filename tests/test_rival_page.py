"""A run of another method on the page and in the report: its values in place of G, its routes."""

from __future__ import annotations

import base64
import json
import re

import numpy as np
import pytest
import torch

pytest.importorskip("fastapi")

from browsing import Server, needs_chromium, painted, settle, sideways, state
from fastapi.testclient import TestClient
from test_html_report import check_alone
from test_page import ROUTE, TINY, pixel, shade

from cogmap import rival
from cogmap.baselines.method import Shape
from cogmap.baselines.settings import RivalTraining
from cogmap.baselines.train import METHODS
from cogmap.cli import main
from cogmap.commands.info_ import trained_for
from cogmap.config import RunConfig
from cogmap.envs.gym import GymWorld
from cogmap.envs.maze import Maze
from cogmap.envs.pointmaze import PointMaze
from cogmap.evaluation.evaluate import plan
from cogmap.rival import Rival
from cogmap.settings import RunSettings
from cogmap.web.ground import PATIENCE
from cogmap.web.onefile import packed
from cogmap.web.report import steps_per_unit
from cogmap.web.rival_chart import RivalChart
from cogmap.web.server import create_app

VALUED = [name for name in METHODS if name != "gcbc"]
MEDIUM = PointMaze(Maze.load("medium"))
LEARNING = RivalTraining(steps=20, rows=3000, batch=64, width=32)
FARAWAY = (20.0, 20.0)


def untrained(method) -> Rival:
    torch.manual_seed(0)
    settings = LEARNING.settled(method, fast=False)
    model = METHODS[method](Shape(2, 2, 32), settings).eval()
    with torch.no_grad():
        for weights in model.parameters():  # some begin at zero, and with them every value
            weights.add_(0.2 * torch.randn_like(weights))
    return Rival(method, model, MEDIUM)


def far_valued() -> Rival:
    """A rival of qrl whose values go far below what G is drawn at."""
    agent = untrained("qrl")
    with torch.no_grad():
        agent.model.model.distance.phi.nets[-1].weight.mul_(1e4)
    assert agent.values(np.zeros((1, 2)), np.array(FARAWAY))[0] < -1000
    return agent


def client_of(agent: Rival, folder) -> TestClient:
    return TestClient(create_app(folder, work=folder / "drawn", agent=agent))


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run folder of qrl."""
    folder = tmp_path_factory.mktemp("rival") / "qrl"
    rival.train(MEDIUM, "qrl", RunSettings(rival=LEARNING, device="cpu"), folder)
    return folder


@pytest.fixture(scope="module")
def qrl(run):
    return Rival.load(run, device="cpu")


@pytest.fixture(scope="module")
def client(run, qrl):
    return client_of(qrl, run)


def driven(client, **asked):
    asked = {"start": [0, 0], "goal": [4, 0], "budget": 200} | asked
    with client.stream("POST", "/api/maps/run/plan", json=asked) as answer:
        return [json.loads(line) for line in answer.iter_lines()]


@pytest.mark.parametrize("method", VALUED)
def test_a_field_is_the_rivals_value_at_every_lattice_point(method, tmp_path):
    agent = untrained(method)
    client = client_of(agent, tmp_path)
    points = np.array(client.get("/api/maps/run").json()["points"])
    assert np.array_equal(points, MEDIUM.maze.lattice.points)
    for goal in ((0.0, 0.0), (12.3, 8.1)):
        answer = client.get("/api/maps/run/field", params=dict(zip("xy", goal))).json()
        wanted = agent.values(points, np.array(goal))
        assert answer["tau"] is None and len(set(answer["values"])) > 10
        np.testing.assert_allclose(answer["values"], wanted, rtol=1e-4)


def test_the_map_names_the_method_and_has_neither_horizons_nor_candidates(client):
    told = client.get("/api/maps/run").json()
    assert (told["method"], told["colours"]) == ("qrl", "value")
    assert told["taus"] == [] and told["candidates"] == 0 and not told["exact"]
    assert told["trained"].startswith("qrl, 20 updates of 64 rows")
    ours = TestClient(create_app("models/pointmaze-large", work="unused")).get("/api/maps/run")
    assert (ours.json()["method"], ours.json()["colours"]) == ("cogmap", "G")


def test_a_policy_without_values_has_no_field_and_says_so(tmp_path):
    client = client_of(untrained("gcbc"), tmp_path)
    assert client.get("/api/maps/run").json()["colours"] is None
    answer = client.get("/api/maps/run/field?x=0&y=0")
    assert answer.status_code == 422 and "gcbc learns a policy alone" in answer.text
    steps = driven(client)[:-1]
    assert steps and all(step["value"] is None for step in steps)


INSPECT = {"places": [[0, 0]], "chosen": [], "goal": [4, 0]}
PLAN = {"start": [0, 0], "goal": [4, 0], "planner": "gp"}


@pytest.mark.parametrize(
    ("method", "path", "body", "reason"),
    [
        ("GET", "field?x=0&y=0&tau=4", None, "no horizons"),
        ("GET", "field?x=0&y=0&score=exact", None, "no exact score"),
        ("GET", "field?x=900&y=0", None, "outside the maze"),
        ("GET", "embedding?tau=4", None, "embeds nothing"),
        ("GET", "picture?x=0&y=0", None, "no pictures"),
        ("POST", "inspect", INSPECT, "no candidates"),
        ("POST", "plan", PLAN, "own policy"),
    ],
)
def test_what_a_rival_has_not_is_refused_in_words(client, method, path, body, reason):
    answer = client.request(method, f"/api/maps/run/{path}", json=body)
    assert answer.status_code == 422 and reason in answer.text


def test_our_runs_must_still_be_asked_at_a_horizon():
    client = TestClient(create_app("models/pointmaze-large", work="unused"))
    answer = client.get("/api/maps/run/field?x=0&y=0")
    assert answer.status_code == 422 and "give tau, one of 1, 2, 4" in answer.text


def test_a_route_is_the_episode_of_the_policy_and_tells_its_values(client, qrl):
    *steps, outcome = driven(client)
    episode = plan(qrl, (0, 0), (4, 0), budget=200)
    route = np.array([steps[0]["at"]] + [step["to"] for step in steps])
    np.testing.assert_allclose(route, episode.route[: len(route)], atol=1e-4)
    assert len(steps) > 50 and all(step["horizon"] is None for step in steps)
    wanted = qrl.values(np.array([step["at"] for step in steps]), np.array([4, 0]))
    np.testing.assert_allclose([step["value"] for step in steps], wanted, rtol=1e-3)
    assert outcome["kind"] == "outcome"


def test_a_policy_that_stands_still_is_given_up_after_as_long_as_a_planner(tmp_path):
    agent = untrained("gcbc")
    torch.nn.init.zeros_(list(agent.model.actor.parameters())[-2])
    torch.nn.init.zeros_(list(agent.model.actor.parameters())[-1])
    assert not agent.act(np.zeros((1, 2)), np.ones((1, 2))).any()
    outcome = driven(client_of(agent, tmp_path), budget=1000)[-1]
    assert outcome["steps"] == PATIENCE * MEDIUM.hold - 1 and not outcome["success"]


GOALS = [(4, 0), (8, 8)]


def report(run, file) -> tuple[str, dict]:
    """The file's text and what it records, of two pairs."""
    pairs = file.with_suffix(".json")
    pairs.write_text(json.dumps([{"start": [0, 0], "goal": goal} for goal in GOALS]))
    arguments = ["report", str(run), "--html", str(file), "--tasks", str(pairs), "--budget", "150"]
    assert main(arguments) == 0
    text = file.read_text()
    found = re.search(r'<script type="application/json" id="record">(.*?)</script>', text, re.S)
    return text, json.loads(found.group(1))


def test_a_report_holds_values_routes_and_the_policy_between_its_references(run, qrl, tmp_path):
    text, record = report(run, tmp_path / "report.html")
    check_alone(text)
    points = MEDIUM.maze.lattice.points
    for field, goal in zip(record["fields"], GOALS, strict=True):
        assert tuple(field["goal"]) == goal
        kept = np.frombuffer(base64.b64decode(field["scores"]), "<i2") / record["steps_per_nat"]
        wanted = qrl.values(points, np.array(goal))
        assert np.abs(wanted).max() * record["steps_per_nat"] <= 32768
        np.testing.assert_allclose(kept, wanted, atol=0.51 / record["steps_per_nat"])
    for route, goal in zip(record["routes"], GOALS, strict=True):
        places = np.array(plan(qrl, (0, 0), goal, budget=150).route)
        np.testing.assert_allclose(route["places"], places, atol=5.1e-4)
        wanted = qrl.values(places[:-1], np.array(goal))
        np.testing.assert_allclose(route["value"], wanted, rtol=1e-3)
        assert route["horizon"] == [] and len(route["left"]) == len(places) - 1
    for policy in ("random policy (floor)", "qrl policy", "shortest path (ceiling)"):
        assert f"<td>{policy}</td>" in text
    assert "<td>rival steps</td><td>20</td>" in text and "temporal" not in text.split("Settings")[1]


def test_values_beyond_what_a_number_of_a_report_holds_are_stored_more_coarsely(tmp_path):
    chart = RivalChart(tmp_path, id="run", agent=far_valued())
    fields = chart.fields(FARAWAY)
    steps = steps_per_unit(chart, [fields])
    kept = np.frombuffer(base64.b64decode(packed(fields, steps)), "<i2") / steps
    np.testing.assert_allclose(kept, fields[0], atol=0.51 / steps)


def test_a_report_refuses_a_planner(run, tmp_path, capsys):
    file = tmp_path / "report.html"
    assert main(["report", str(run), "--html", str(file), "--planner", "gp"]) == 2
    assert "qrl, which acts by its own policy" in capsys.readouterr().err and not file.exists()


def test_info_tells_how_a_rival_was_trained_and_nothing_of_our_models(run, capsys):
    assert main(["info", str(run)]) == 0
    text = capsys.readouterr().out
    lines = {line[:12].strip(): line[13:] for line in text.splitlines()}
    assert lines["method"] == "qrl" and lines["world"] == "pointmaze-medium"
    assert lines["updates"] == "20 of 64 rows" and "1 simulator step an action" in lines["policy"]
    assert "width 32" in lines["learning"] and "value_goals 0.0 0.0 1.0" in lines["learning"]
    assert lines["rows"].startswith("3,00") and lines["trained for"].endswith(" s")
    assert lines["settings"] == RunConfig.read(run / "config.json").fingerprint
    assert not {"temporal", "dynamics", "planning"} & set(lines)
    assert "subgoal_steps" not in text  # of another method


def test_the_time_of_a_resumed_training_is_that_of_all_its_parts(tmp_path):
    rows = [{"seconds": seconds} for seconds in (4.0, 9.0, 2.0, 5.0)]
    file = tmp_path / "metrics.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert trained_for(file) == 14.0 and trained_for(tmp_path / "none") is None


@pytest.mark.parametrize("command", [["figures", "RUN", "--out", "x"], ["bench", "--run", "RUN"]])
def test_what_needs_our_models_says_what_the_run_is_and_what_takes_it(command, run, capsys):
    assert main([str(run) if word == "RUN" else word for word in command]) == 2
    error = capsys.readouterr().err
    assert "a run of qrl" in error and "`cogmap evaluate`" in error and error.count("\n") == 1


def test_a_rival_of_a_world_without_a_map_is_refused_in_a_line(tmp_path, capsys):
    pytest.importorskip("gymnasium")
    world, folder = GymWorld("tests.worlds_of_gym:Line", hold=1), tmp_path / "line"
    rival.train(world, "gcbc", RunSettings(rival=LEARNING, device="cpu"), folder)
    for command in (["serve"], ["report", "--html", str(tmp_path / "report.html")]):
        assert main([command[0], str(folder), *command[1:]]) == 2
        error = capsys.readouterr().err
        assert "a run of gcbc" in error and "mazes" in error and error.count("\n") == 1
    assert main(["info", str(folder)]) == 0
    assert not (tmp_path / "report.html").exists()


@pytest.fixture
def open_run(visit, tmp_path):
    """Opens the page of a rival; ready when its route is there."""
    servers = []

    def opened(agent, **settings):
        servers.append(Server(create_app(tmp_path, work=tmp_path, training=TINY, agent=agent)))
        return visit(servers[-1].url, ready=ROUTE, **settings)

    yield opened
    for server in servers:
        server.stop()


def written(page):
    """All texts on the canvas."""
    return page.evaluate(
        """() => {
          const texts = [];
          const before = CanvasRenderingContext2D.prototype.fillText;
          CanvasRenderingContext2D.prototype.fillText = function (text, ...rest) {
            texts.push(text);
            before.call(this, text, ...rest);
          };
          cogmap.change({});
          return new Promise((go) => requestAnimationFrame(() => setTimeout(() => go(texts), 30)));
        }"""
    )


@needs_chromium
def test_the_page_of_a_rival_shows_its_method_and_no_horizon(open_run, qrl):
    page = open_run(qrl)
    texts = written(page)
    assert "qrl: value towards the goal, the higher the nearer" in texts
    assert "Along the route: qrl" in texts or "Along the route" in texts
    assert {"value of the place", "distance left", "value"} <= set(texts)
    assert not [text for text in texts if "τ" in text or "candidates" in text or "G*" in text]
    for name in ("horizon", "play", "plannerA", "compare", "show-exact", "show-embedding"):
        assert not page.is_visible(f"#{name}"), name
    assert page.is_visible("#scale") and "qrl: its own policy" in page.inner_text("main")
    assert page.inner_text("#trained").startswith("qrl, ")
    assert page.inner_text("#status").startswith("Qrl") or "qrl:" in page.inner_text("#status")
    page.focus("#canvas")
    for key in ("Space", "[", "]"):  # they mean nothing here
        page.keyboard.press(key)
    assert not state(page, "playing") and state(page, "octave") == 0
    page.keyboard.press(".")
    step = state(page, "inspected.step")
    assert page.text_content("#reading").startswith(f"move {step + 1}: value ")
    assert page.evaluate("cogmap.state.inspected.candidates") is None


@needs_chromium
def test_a_colour_is_the_value_of_its_place_and_follows_the_goal(open_run):
    agent = far_valued()
    page = open_run(agent)
    page.uncheck("#prompt")
    page.mouse.click(*pixel(page, (0, 8)))
    page.wait_for_function("`${cogmap.state.fields.learned.goal}` === `${cogmap.state.goal}`")
    page.mouse.move(5, 5)
    settle(page)
    points, goal = np.array(state(page, "map.points")), np.array(state(page, "goal"))
    values = np.array(state(page, "fields.learned.values"))
    np.testing.assert_allclose(values, agent.values(points, goal), rtol=1e-4, atol=1e-2)
    ends = np.array([goal, state(page, "start")])
    clear = np.abs(points[:, None] - ends).max(axis=-1).min(axis=1) > 3
    shares = (values - values.min()) / (values.max() - values.min())
    free = np.flatnonzero(clear)
    for k in free[:: len(free) // 8]:
        rgb = page.evaluate(
            """async (share) => {
              const { colour } = await import("cogmap/scales.js");
              return colour("viridis", share).match(/[0-9]+/g).map(Number);
            }""",
            shares[k],
        )
        assert np.abs(np.array(shade(page, points[k].tolist())) - rgb).max() <= 12


@needs_chromium
def test_the_page_of_a_policy_without_values_shows_the_maze_without_a_field(open_run):
    page = open_run(untrained("gcbc"))
    texts = written(page)
    assert "gcbc: a policy alone, it values no places" in texts
    assert "distance left" in texts and not [text for text in texts if text.startswith("value")]
    assert state(page, "fields.learned") is None and not page.is_visible("#scale")
    points, shown = np.array(state(page, "map.points")), state(page, "routes.A.steps")
    taken = np.array([step["to"] for step in shown] + [state(page, "goal"), state(page, "start")])
    free = [place for place in points if np.abs(taken - place).max(axis=1).min() > 3]
    assert len(free) > 50
    for place in free[:: len(free) // 8]:
        assert painted(page, "canvas", pixel(page, place.tolist())) == [247, 248, 250]


@needs_chromium
def test_a_maze_drawn_beside_a_rival_has_our_horizons_and_the_rival_keeps_none(open_run, qrl):
    page = open_run(qrl)
    page.click("#draw")
    page.fill("#columns", "5")
    page.fill("#rows", "4")
    page.keyboard.press("Tab")
    page.click("#clear")
    page.click("#train")
    page.wait_for_function("cogmap.state.mode === 'training'")
    assert page.is_visible("#horizon")
    page.wait_for_function("cogmap.state.mode === 'map'", timeout=60_000)
    page.wait_for_function(ROUTE)
    assert state(page, "map.method") == "cogmap" and page.is_visible("#horizon")
    page.check("#show-embedding")
    page.check("#compare")
    page.wait_for_function("cogmap.state.routes.B?.outcome && !cogmap.state.planning")
    page.select_option("#map", "run")
    page.wait_for_function("cogmap.state.map.method === 'qrl'")
    page.wait_for_function(ROUTE)
    assert not page.is_visible("#horizon") and not state(page, "compare")
    assert state(page, "routes.B") is None
    settle(page)


@needs_chromium
def test_a_report_of_a_rival_opens_from_disk(visit, run, tmp_path):
    report(run, tmp_path / "report.html")
    page = visit((tmp_path / "report.html").as_uri(), ready=ROUTE)
    assert "qrl: value towards the goal, the higher the nearer" in written(page)
    assert not page.is_visible("#horizon") and page.is_visible("#route")
    steps = state(page, "routes.A.steps")
    assert len(steps) > 50 and steps[0]["value"] < 0
    first = state(page, "fields.learned.values")
    page.select_option("#route", "1")
    page.wait_for_function("cogmap.state.fields.learned.goal[0] === 8")
    assert state(page, "fields.learned.values") != first
    page.set_viewport_size({"width": 360, "height": 740})
    settle(page)
    assert sideways(page) == 0
