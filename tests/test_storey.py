"""The page and the report of a run in a building: a plan of its floor, and what is seen on it."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import numpy as np
import pytest
import torch

pytest.importorskip("fastapi")
pytest.importorskip("embreex")
from browsing import PHONE, Server, needs_chromium, painted, pixel, settle, sideways, state
from fastapi.testclient import TestClient
from navmeshes import two_rooms_scene
from test_html_report import check_alone

import cogmap
from cogmap.envs.building_run import FRAME
from cogmap.envs.building_tasks import Corners
from cogmap.envs.egocentric import RECALLED, Building
from cogmap.envs.maze import Maze
from cogmap.envs.maze_scene import MazeScene
from cogmap.envs.scene import NavmeshScene
from cogmap.envs.turning import HEADINGS, LONGEST
from cogmap.envs.world import Task
from cogmap.errors import CogmapError
from cogmap.evaluation.evaluate import evaluate
from cogmap.evaluation.rollout import PlannerPolicy, run_episodes
from cogmap.temporal.scorer import LearnedScorer
from cogmap.web import storey as storeys
from cogmap.web.floor_plan import floor_of
from cogmap.web.frames import as_url
from cogmap.web.server import create_app
from cogmap.web.storey import Storey, recorded, terrain_of
from cogmap.web.terrain_report import page as report_page

SETTINGS = cogmap.RunSettings(  # hardly learned: the page shows what models say, right or not
    exploration=cogmap.Exploration(walk_steps=5_000, action_steps=2_000),
    temporal=cogmap.TemporalTraining(steps=30, tau_max=64, batch=32, width=32, embedding=16),
    dynamics=cogmap.DynamicsTraining(steps=30, batch=64, width=32),
    device="cpu",
)
MOVES = 8  # of a plan: each is a view to cast
LABEL = "two rooms, made up"
PLAN = {"start": "1,1,3", "goal": "4,1,0", "budget": MOVES}
ROUTE = "cogmap?.state.route?.outcome && !cogmap.state.planning && cogmap.state.field"


@pytest.fixture(scope="module", autouse=True)
def short_plans():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(storeys, "MOVES_OF_A_PLAN", MOVES)
        yield


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return tmp_path_factory.mktemp("rooms") / "run"


@pytest.fixture(scope="module")
def agent(run, tmp_path_factory):
    scene = two_rooms_scene(tmp_path_factory.mktemp("scene"))
    return cogmap.train(Building(scene, pixels=16, beside="both"), SETTINGS, run)


@pytest.fixture(scope="module")
def storey(agent, run):
    return terrain_of(run, agent=agent)


@pytest.fixture(scope="module")
def app(agent, run, tmp_path_factory):
    return create_app(run, work=tmp_path_factory.mktemp("drawn"), agent=agent)


@pytest.fixture(scope="module")
def client(app):
    with TestClient(app) as client:
        yield client


def told(client, **changed):
    with client.stream("POST", "/api/world/plan", json=PLAN | changed) as answer:
        lines = [json.loads(line) for line in answer.iter_lines()]
        assert answer.status_code == 200, lines
        return lines


def field(client, **query):
    answer = client.get("/api/world/field", params={"tau": 16, "goal": PLAN["goal"]} | query)
    assert answer.status_code == 200, answer.text
    return answer.json()


def area(triangles):
    a, b, c = np.moveaxis(np.array(triangles), 1, 0)
    return np.abs((b - a)[:, 0] * (c - a)[:, 1] - (b - a)[:, 1] * (c - a)[:, 0]).sum() / 2


def test_the_plan_is_the_floor_from_above_with_its_lattice_in_it(client, storey):
    world = client.get("/api/world").json()
    assert world["name"] == LABEL and world["names"] == ["x", "z", "heading"]
    assert world["methods"] == ["floor"] and world["plans"] and world["frames"]
    assert np.array(world["rows"]) == pytest.approx(storey.states.points, abs=1e-4)
    query = {"tau": 16, "method": "floor"}
    points = np.array(client.get("/api/world/points", params=query).json()["points"])
    metre = world["floor"]["spacing"] / 0.25
    gaps = points - points[0]  # x to the right, and z downward, as a heading of 0 looks along -z
    ways = storey.states.points - storey.states.points[0]
    assert gaps == pytest.approx(ways * (metre, -metre), abs=1e-3)
    assert np.abs(points).max() <= 1
    floor = storey.world.scene.floor
    assert area(world["floor"]["triangles"]) == pytest.approx(floor.area * metre**2, rel=1e-2)
    assert len(world["floor"]["walls"]) == len(floor.edges)
    assert world["floor"]["reach"] == pytest.approx(0.25 * np.hypot(2, 1) * metre, abs=1e-3)


def test_a_scene_without_a_plan_of_its_own_is_drawn_around_its_lattice(storey):
    class Bare:
        points, tasks = storey.states.points, Corners()

    floor = floor_of(Bare(), lambda places: places)
    assert floor.walls == []
    assert area(floor.triangles) == pytest.approx(0.25**2 * len(storey.states.points), rel=1e-3)


def test_a_maze_is_drawn_as_its_cells_with_the_walls_and_the_radius_of_its_own():
    rows = ["#####", "#...#", "#.#.#", "#...#", "#####"]
    scene = MazeScene(Maze.from_text("\n".join(rows), name="ring"))
    floor = floor_of(scene, lambda places: places)
    assert area(floor.triangles) == pytest.approx(8)  # cells of a metre
    walls = np.array(floor.walls)
    assert np.linalg.norm(walls[:, 1] - walls[:, 0], axis=-1) == pytest.approx(np.ones(12 + 4))
    corners = np.array(floor.triangles).reshape(-1, 2)
    assert (corners.min(axis=0) == walls.min(axis=(0, 1))).all()
    gaps = np.abs(scene.points[:, None] - scene.cells).max(axis=-1)  # (P, C)
    assert gaps.min(axis=1).max() <= 0.5
    assert floor.reach == scene.tasks.within == 0.25 != LONGEST


def test_views_are_taken_from_what_the_walk_kept_if_that_is_of_the_same_scene(agent, run, storey):
    every = np.arange(len(storey.states))
    table = recorded(run)
    seen = agent.world.observe(every)
    np.testing.assert_array_equal(table, seen)

    def cast_of(given):
        """How many states are cast after this was given."""
        fresh, cast = replace(agent.world), []
        fresh.recall(given)
        with pytest.MonkeyPatch.context() as patch:
            view = NavmeshScene.view
            patch.setattr(
                NavmeshScene, "view", lambda *at, **how: cast.append(1) or view(*at, **how)
            )
            np.testing.assert_array_equal(fresh.observe(every), seen)
        return len(cast)

    assert cast_of(table) == 0
    assert cast_of(255 - table) == len(every) - RECALLED
    assert cast_of(table[:-1]) == len(every)


def test_the_field_is_the_score_of_the_view_at_a_heading_or_the_best_of_them(client, agent, storey):
    place, point = np.array([4.0, 1.0]), 20
    goal = agent.world.observe(np.array([HEADINGS * storey.states.nearest(place)]))
    every = agent.world.observe(HEADINGS * point + np.arange(HEADINGS))
    goals, looks = (agent.look(torch.as_tensor(seen).float()) for seen in (goal, every))
    scorer = LearnedScorer(agent.temporal, torch.tensor([16]))
    scores = scorer.score(looks[None], scorer.embed_goals(goals)[None])[0, :, 0].numpy()
    assert np.ptp(scores) > 0.01
    for heading in (0, 5):
        found = field(client, heading=heading)["values"][point]
        assert found == pytest.approx(float(scores[heading]), abs=2e-3)
    best = field(client)
    assert best["values"][point] == pytest.approx(float(scores.max()), abs=2e-3)
    assert best["goal"] == "4,1,0" and best["marks"] == [storey.states.nearest(place)]
    assert field(client, goal="4,1")["values"] != best["values"]  # of all views from there


def test_a_plan_is_the_episode_that_an_evaluation_runs_and_shows_each_view(client, agent, storey):
    begun, *steps, outcome = told(client)
    task = Task("t", (1.0, 1.0, 3.0), (4.0, 1.0, 0.0))
    policy = PlannerPolicy(agent.planner(), hold=1)
    [episode] = run_episodes(agent.world, [task], policy, budget=MOVES)
    assert [step["candidate"] for step in steps] == [d.candidate for d in episode.decisions]
    assert [step["horizon"] for step in steps] == [d.horizon for d in episode.decisions]
    assert outcome["success"] == episode.success and outcome["steps"] == len(steps) > 3
    sights = [*steps, outcome]
    assert [sight["observation"][:2] for sight in sights] == [
        pytest.approx(place) for place in episode.route
    ]
    assert sights[0]["observation"] == [1, 1, 3] and begun["goal"] == "4,1,0"
    for sight in (sights[0], sights[-1]):
        [x, z, heading] = sight["observation"]
        running = storey.world.begin([Task("t", (x, z, heading), (4.0, 1.0))])
        assert sight["frame"] == as_url(running.frame(0))
        asked = {"tau": 1, "method": "floor", "observations": [sight["observation"]]}
        [place] = client.post("/api/world/places", json=asked).json()["points"]
        assert place == pytest.approx(sight["place"], abs=1e-3)
    seen = storey.world.begin([Task("t", (4.0, 1.0, 0), (4.0, 1.0))])
    assert begun["frame"] == as_url(seen.frame(0))
    ways = client.get("/api/world").json()["ways"]
    assert len(ways) == len(steps[0]["values"]) and ways[6]["name"] == "forward"


def test_a_goal_that_any_view_tells_is_shown_all_around_above_the_label(storey):
    frame = storey.goal_frame(Task("t", (1.0, 1.0), (4.0, 1.0)))
    place, side = np.array([4.0, 1.0]), FRAME // 4
    for k in (0, 5, 11):
        row, column = divmod(k, 4)
        tile = frame[side * row : side * (row + 1), side * column : side * (column + 1)]
        seen = storey.world.scene.view(
            place, storey.states.headings(np.array([k]))[0], size=side
        ).colour
        np.testing.assert_array_equal(tile, seen)
    label = storey.goal_frame(Task("t", (1.0, 1.0), (4.0, 1.0, 2.0)))[FRAME:]
    np.testing.assert_array_equal(frame[3 * side :], label)
    assert 0 < (label < 128).mean() < 0.5  # text on white


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        ({"start": "9,9"}, r"start \(9, 9\) is not on the floor"),
        ({"goal": "-3,1,2"}, r"goal \(-3, 1\) is not on the floor"),
        ({"start": "1,1,12"}, "a heading is a whole number, 0 to 11"),
        ({"goal": "4,1,0.5"}, "a heading is a whole number, 0 to 11"),
        ({"goal": "nan,1"}, "x,z,heading"),
        ({"start": "here"}, "give x,z or x,z,heading"),
        ({"goal": "/etc/passwd.npy"}, "give x,z or x,z,heading"),
        ({"goal": "#9999"}, "row #9999"),
        ({"heading": 12}, "heading=12"),
        ({"method": "pca"}, "method=pca"),
        ({"tau": 3}, "tau=3"),
        ({"planner": "best"}, "'best'"),
    ],
)
def test_what_is_no_place_is_refused_in_a_line(client, wrong, reason):
    answers = []
    if not {"method", "planner"} & set(wrong):
        query = {"tau": 16, "goal": PLAN["goal"]} | wrong
        answers.append(client.get("/api/world/field", params=query))
    if "heading" not in wrong:
        answers.append(client.post("/api/world/plan", json=PLAN | wrong))
    for answer in answers:
        assert answer.status_code == 422, wrong
        detail = answer.json()["detail"]
        assert re.search(reason, detail) and "\n" not in detail


def test_unknown_tasks_and_headings_are_refused(storey, agent):
    with pytest.raises(CogmapError, match="corners"):
        evaluate(agent, tasks="official")
    with pytest.raises(CogmapError, match="0 to 11"):
        storey.field(np.zeros((1, *agent.world.observation_shape)), 16, -1)


@pytest.fixture(scope="module")
def report(storey):
    result = evaluate(storey.agent, episodes=2, budget=MOVES)
    return result, report_page(storey, result, storey.world, storey.agent.planner())


def test_the_report_holds_routes_with_views_and_names_the_scene(report, storey):
    result, text = report
    check_alone(text)
    assert isinstance(storey, Storey)
    found = re.search(r'<script type="application/json" id="record">(.*?)</script>', text, re.S)
    record = json.loads(found.group(1))
    assert f"All of it is on {LABEL}" in text and record["world"]["name"] == LABEL
    ends = {(route["start"], route["goal"]) for route in record["routes"]}
    own = {
        (",".join(f"{v:g}" for v in e.task.start), ",".join(f"{v:g}" for v in e.task.goal))
        for e in result.episodes
    }
    assert ends <= own and len(record["routes"]) == 6
    for route in record["routes"]:
        assert route["goal_frame"] and all(step["frame"] for step in route["steps"])
        assert np.array(route["places"]).shape[0] == len(record["world"]["taus"])
    for episode in result.episodes:
        assert f"<td>{episode.length:.1f}</td><td>{episode.shortest:.1f}</td>" in text


@pytest.fixture(scope="module")
def server(app):
    running = Server(app)
    yield running
    running.stop()


@needs_chromium
def test_a_click_on_the_plan_leads_there_and_each_view_is_shown(server, storey, visit):
    page = visit(server.url, ready=ROUTE)
    nearest = storey.states.nearest
    for name, place in (("start", (0.5, 0.5)), ("goal", (4.5, 1.5))):
        page.select_option("#sets", name)
        page.mouse.click(*pixel(page, nearest(np.array(place))))
        page.wait_for_function(ROUTE)
    page.select_option("#start-look", "9")
    page.wait_for_function("cogmap.state.start === '0.5,0.5,9'")
    page.select_option("#goal-look", "2")
    page.wait_for_function("cogmap.state.route?.begun?.goal === '4.5,1.5,2'")
    page.wait_for_function(ROUTE)
    page.mouse.move(5, 5)
    assert state(page, "route.steps[0].observation") == [0.5, 0.5, 9]
    assert page.get_attribute("#goal-frame", "src") == state(page, "route.begun.frame")
    page.fill("#step", "0")
    settle(page)
    assert page.get_attribute("#frame", "src") == state(page, "route.steps[0].frame")
    assert LABEL in page.inner_text("#label") and "heading 9" in page.inner_text("#reading")
    assert page.inner_text("#world") == LABEL
    assert not page.is_visible("#seed") and not page.is_visible("#method")

    page.evaluate("cogmap.change({ route: null, hover: null })")
    settle(page)
    row = nearest(np.array([1.5, 1.0]))
    shades = []
    for heading in ("", "6"):
        page.select_option("#gaze", heading)
        page.wait_for_function("cogmap.state.field && !cogmap.state.busy")
        settle(page)
        wanted = field_of(page, heading)
        page.wait_for_function("(values) => cogmap.state.field.values[0] === values", arg=wanted[0])
        settle(page)
        shades.append(painted(page, "cloud", pixel(page, row)))
        low, high = max(-8, min(wanted)), max(wanted)
        colour = page.evaluate(
            """async (share) => {
              const { colour } = await import("cogmap/scales.js");
              return colour("viridis", share).match(/[0-9]+/g).map(Number);
            }""",
            (max(-8, wanted[row]) - low) / (high - low),
        )
        assert np.abs(np.array(shades[-1]) - colour).max() <= 12
    page.set_viewport_size(PHONE)
    settle(page)
    assert sideways(page) == 0


def field_of(page, heading):
    return page.evaluate(
        """async (heading) => {
          const { state, source } = cogmap;
          const asked = { tau: state.world.taus[state.octave], goal: state.goal };
          return (await source.field({ ...asked, heading: heading || null })).values;
        }""",
        heading,
    )


@needs_chromium
def test_a_report_opens_from_disk_and_shows_the_views_of_another_episode(report, visit, tmp_path):
    file = tmp_path / "report.html"
    file.write_text(report[1], encoding="utf-8")
    page = visit(file.as_uri(), ready=ROUTE)
    first = page.get_attribute("#goal-frame", "src")
    page.click("tr[data-route='2'] button")  # it goes back, so its goal is another place
    page.wait_for_function("cogmap.state.task === 2")
    page.wait_for_function(ROUTE)
    settle(page)
    assert page.get_attribute("#goal-frame", "src") == state(page, "route.begun.frame") != first
    assert page.is_visible("#frame") and LABEL in page.inner_text("#label")
    assert state(page, "start").count(",") == 2
    assert sideways(page) == 0
