"""The page's server, asked as the page asks it."""

import contextlib
import functools
import io
import json
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import torch

pytest.importorskip("fastapi")
from fastapi.testclient import TestClient

from cogmap.agent import Agent
from cogmap.commands.serve_ import check_port
from cogmap.config import FORMAT
from cogmap.envs.album import Album
from cogmap.envs.maze import AGENT_RADIUS, CELL, GOAL_RADIUS, Maze
from cogmap.envs.maze_map import MazeMap
from cogmap.errors import CogmapError
from cogmap.evaluation.evaluate import evaluate
from cogmap.theory.walk import ReversibleWalk
from cogmap.web.server import create_app

LARGE = Path("models/pointmaze-large")
TINY = {"walk-steps": 20_000, "tau-max": 64, "steps": 60, "batch": 64, "checkpoint-every": 20}
TINY |= {"action-steps": 2000, "dynamics.steps": 20, "width": 32}
RING = ["#####", "#...#", "#.#.#", "#...#", "#####"]


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    work = tmp_path_factory.mktemp("drawn")
    app = create_app(LARGE, work=work, training=TINY)
    with TestClient(app) as client:
        yield client
    app.state.workshop.close()


@pytest.fixture(scope="module")
def agent():
    return Agent.load(LARGE, device="cpu")


@pytest.fixture(scope="module")
def chart(client):
    return client.get("/api/maps/run").json()


def plan(client, **asked):
    with client.stream("POST", "/api/maps/run/plan", json=asked) as answer:
        return answer.status_code, [json.loads(line) for line in answer.iter_lines()]


def test_the_map_is_the_agents_maze(chart, agent):
    assert chart["rows"] == agent.world.maze.text.splitlines()
    assert np.array_equal(chart["points"], agent.world.maze.lattice.points)
    assert chart["taus"] == [2**k for k in range(14)]


def test_the_map_carries_the_constants_that_the_page_needs(chart, client, agent):
    lengths = {
        "cell": CELL,
        "unit": MazeMap.unit,
        "agent_radius": AGENT_RADIUS,
        "goal_radius": GOAL_RADIUS,
    }
    assert {name: chart[name] for name in lengths} == lengths
    assert chart["candidates"] == agent.planning.directions
    schemas = client.get("/openapi.json").json()["components"]["schemas"]
    drawn = schemas["DrawRequest"]["properties"]["rows"]
    limits = {"smallest": drawn["minItems"], "largest": drawn["maxItems"]}
    assert chart["drawing"] == limits
    assert chart["longest_past"] == schemas["InspectRequest"]["properties"]["places"]["maxItems"]


def test_a_field_is_the_models_score_at_every_lattice_point(client, chart, agent):
    answer = client.get("/api/maps/run/field", params={"x": 20, "y": 8, "tau": 256}).json()
    points = torch.tensor(chart["points"])
    wanted = agent.temporal.goal_score(points, torch.tensor([20.0, 8.0]), torch.tensor([256]))
    assert np.allclose(answer["values"], wanted[:, 0].numpy(), atol=1e-3)


def test_an_exact_field_is_the_walks_own_score(client, chart, agent):
    lattice = agent.world.maze.lattice
    goal = 17
    x, y = lattice.points[goal]
    asked = {"x": x, "y": y, "tau": 64, "score": "exact"}
    answer = client.get("/api/maps/run/field", params=asked).json()
    wanted = ReversibleWalk.on(lattice.successors).score(np.array([64]), goal)[:, 0]
    assert np.allclose(answer["values"], wanted, atol=2e-3)


def test_a_route_arrives_step_by_step_and_is_the_one_that_evaluate_takes(client, chart, agent):
    pairs = {"start": chart["start"], "goal": chart["goal"]}
    code, lines = plan(client, **pairs)
    *steps, outcome = lines
    assert code == 200 and outcome["kind"] == "outcome" and outcome["success"]
    assert steps[0]["at"] == chart["start"]
    assert all(a["to"] == b["at"] for a, b in zip(steps, steps[1:]))
    assert steps[-1]["left"] <= 0.001 and steps[0]["left"] > 20
    assert -(-outcome["steps"] // 5) == len(steps)


def test_the_route_equals_an_evaluated_episode(client, chart, agent, tmp_path):
    file = tmp_path / "pairs.json"
    file.write_text(json.dumps([{"start": chart["start"], "goal": chart["goal"]}]))
    [episode] = evaluate(agent, tasks=str(file), budget=1000).episodes
    _, lines = plan(client, start=chart["start"], goal=chart["goal"])
    assert [line["horizon"] for line in lines[:-1]] == [d.horizon for d in episode.decisions]
    assert lines[-1]["length"] == pytest.approx(episode.length, abs=1e-3)


def test_inspecting_a_step_finds_the_candidate_that_was_taken(client, chart):
    _, lines = plan(client, start=chart["start"], goal=chart["goal"])
    for number in (0, 5, 12):
        asked = {
            "places": [line["at"] for line in lines[: number + 1]],
            "chosen": [line["candidate"] for line in lines[:number]],
            "goal": chart["goal"],
        }
        answer = client.post("/api/maps/run/inspect", json=asked).json()
        assert answer["best"] == lines[number]["candidate"]
        best = answer["candidates"][answer["best"]]
        assert best["value"] == pytest.approx(lines[number]["value"], rel=1e-2)
        assert answer["taus"][int(np.argmax(best["progress"]))] == lines[number]["horizon"]


def test_an_inspection_tells_the_horizons_that_this_decision_asked(client, agent):
    planner = agent.planner("gp")
    for here, goal in (([0, 0], [1, 0]), ([0, 0], [36, 24])):
        asked = {"places": [here], "chosen": [], "goal": goal}
        answer = client.post("/api/maps/run/inspect", json=asked).json()
        decision = planner.decide(np.array(here), np.array(goal))
        assert answer["taus"] == decision.taus.tolist()
        best = answer["candidates"][answer["best"]]
        np.testing.assert_allclose(best["progress"], decision.progress, rtol=1e-3)


def test_an_embedding_lies_in_the_square_and_keeps_neighbours_together(client, chart):
    answer = client.get("/api/maps/run/embedding", params={"tau": 16, "method": "pca"}).json()
    plane, points = np.array(answer["points"]), np.array(chart["points"])
    assert plane.shape == points.shape and np.abs(plane).max() == pytest.approx(1.0, abs=1e-3)
    near = np.linalg.norm(points[1:] - points[:-1], axis=1) == 1
    steps = np.linalg.norm(plane[1:] - plane[:-1], axis=1)
    assert np.median(steps[near]) < 0.2


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("field?x=0&y=0&tau=3", "tau=3"),
        ("field?x=nan&y=0&tau=4", "finite"),
        ("field?x=900&y=0&tau=4", "outside the maze"),
        ("field?x=0&tau=4", "Field required"),
        ("field?x=0&y=0&tau=4&score=other", "learned"),
        ("embedding?tau=4&method=umap", "tsne"),
    ],
)
def test_a_wrong_value_gets_422_and_a_reason(client, path, reason):
    answer = client.get(f"/api/maps/run/{path}")
    assert answer.status_code == 422 and reason in answer.text


@pytest.mark.parametrize(
    ("asked", "reason"),
    [
        ({"start": [0, 0], "goal": [2.1, 2.1]}, "wall"),
        ({"start": [0, 0], "goal": [36, 24], "planner": "best"}, "planner 'best'"),
        ({"start": [0, 0], "goal": [36, 24], "budget": 0}, "greater than or equal"),
        ({"start": [0, 0], "goal": [36, 24], "speed": 2}, "Extra inputs"),
        ({"start": [0], "goal": [36, 24]}, "Field required"),
    ],
)
def test_a_plan_that_cannot_be_is_refused_before_it_begins(client, asked, reason):
    answer = client.post("/api/maps/run/plan", json=asked)
    assert answer.status_code == 422 and reason in answer.text


def test_an_inspection_needs_a_candidate_for_each_place_but_the_last(client, chart):
    asked = {"places": [[0, 0], [1, 0]], "chosen": [], "goal": chart["goal"]}
    answer = client.post("/api/maps/run/inspect", json=asked)
    assert answer.status_code == 422 and "2 places and 0 candidates" in answer.text


def test_files_of_the_run_are_served_and_none_outside_it(client):
    assert client.get("/files/run/config.json").json()["format"] == FORMAT
    for path in ("%2e%2e/%2e%2e/pyproject.toml", "..%2f..%2fpyproject.toml", "%2fetc%2fpasswd"):
        assert client.get(f"/files/run/{path}").status_code in (403, 404)
    assert client.get("/files/run/%2e%2e/README.md").status_code == 403
    assert client.get("/static/%2e%2e/server.py").status_code == 404


def test_the_api_is_documented(client):
    page = client.get("/docs")
    assert page.status_code == 200 and "://" not in page.text  # nothing from another host
    paths = client.get("/openapi.json").json()["paths"]
    assert "/api/maps/{id}/field" in paths and "422" in str(paths["/api/maps/{id}/plan"])


def test_an_unknown_map_or_training_is_not_found(client):
    assert client.get("/api/maps/other").status_code == 404
    assert client.get("/api/jobs/other").status_code == 404


@pytest.mark.parametrize(
    ("rows", "reason"),
    [
        (["###", "#.#", "###"], "states"),
        (["#####", "#..#", "#####"], "equally long"),
        (["#####", "#.?.#", "#####"], "'?'"),
        (["#######", "#..#..#", "#..#..#", "#######"], "walled off"),
        (["#" * 60] * 3, "no free cell"),
    ],
)
def test_a_maze_that_cannot_be_trained_is_refused(client, rows, reason):
    answer = client.post("/api/mazes", json={"rows": rows})
    assert answer.status_code == 422 and reason in answer.text


def test_a_drawn_maze_is_explored_trained_and_planned_in(client):
    job = client.post("/api/mazes", json={"rows": RING}).json()
    busy = client.post("/api/mazes", json={"rows": RING})
    assert busy.status_code == 422 and "another maze" in busy.text
    phases, seen = [], False
    while job["phase"] not in ("done", "failed", "stopped"):
        time.sleep(0.2)
        job = client.get(f"/api/jobs/{job['id']}").json()
        phases.append(job["phase"])
        if job["version"] and not seen:
            field = client.get(f"/api/jobs/{job['id']}/field?x=0&y=0&tau=16").json()
            seen = len(field["values"]) == len(job["points"])
    assert job["phase"] == "done", job["detail"]
    assert seen and "map" in phases and job["loss"][-1]["step"] == 60
    assert {"id": job["map"], "name": job["map"]} in client.get("/api/maps").json()
    drawn = client.get(f"/api/maps/{job['map']}").json()
    assert drawn["rows"] == RING
    asked = {"start": drawn["start"], "goal": drawn["goal"], "budget": 20}
    assert client.post(f"/api/maps/{job['map']}/plan", json=asked).status_code == 200


def test_a_training_can_be_stopped(client):
    job = client.post("/api/mazes", json={"rows": RING}).json()
    assert client.delete(f"/api/jobs/{job['id']}").json()["phase"] == "stopped"
    assert client.get(f"/api/maps/{job['id']}").status_code == 409


def test_ctrl_c_ends_the_server_and_its_training_quietly(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "cogmap", "serve", str(LARGE), "--port", str(port)]
    deaf = functools.partial(signal.signal, signal.SIGINT, signal.default_int_handler)
    server = subprocess.Popen(
        [*command, "--work", str(tmp_path)], stdout=-1, stderr=-1, text=True, preexec_fn=deaf
    )
    url = f"http://127.0.0.1:{port}"
    for _ in range(300):
        time.sleep(0.1)
        with contextlib.suppress(OSError):
            urllib.request.urlopen(f"{url}/api/health")
            break
    body = json.dumps({"rows": RING}).encode()
    asked = urllib.request.Request(f"{url}/api/mazes", body, {"Content-Type": "application/json"})
    assert json.load(urllib.request.urlopen(asked))["phase"] == "exploring"
    server.send_signal(signal.SIGINT)
    out, error = server.communicate(timeout=30)
    assert url in out and "Traceback" not in error and server.returncode in (0, 130)
    time.sleep(0.2)
    assert not [line for line in running_commands() if str(tmp_path) in line]


def running_commands() -> list[str]:
    """Command lines of the processes of this machine."""
    lines = []
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            lines.append(file.read_bytes().replace(b"\0", b" ").decode(errors="replace"))
    return lines


def test_a_port_in_use_is_refused_with_the_way_out():
    with (
        socket.create_server(("127.0.0.1", 0)) as taken,
        pytest.raises(CogmapError, match="another --port"),
    ):
        check_port("127.0.0.1", taken.getsockname()[1])


def test_a_run_from_positions_has_no_pictures(client, chart):
    answer = client.get("/api/maps/run/picture?x=0&y=0")
    assert not chart["pictures"] and answer.status_code == 422 and "positions" in answer.text


@pytest.fixture(scope="module")
def seeing(tmp_path_factory):
    app = create_app(Path("models/pointmaze-large-image"), work=tmp_path_factory.mktemp("none"))
    with TestClient(app) as client:
        yield client


def test_a_run_from_pictures_shows_what_it_sees(seeing):
    from PIL import Image

    chart = seeing.get("/api/maps/run").json()
    assert chart["pictures"] and "from pictures" in chart["trained"]
    answer = seeing.get("/api/maps/run/picture?x=8&y=8")
    assert answer.headers["content-type"] == "image/png"
    album = Album.packaged(Maze.load("large"))
    wanted = album.pictures[album.nearest(np.array([[8.0, 8.0]]))[0]]
    assert np.array_equal(np.asarray(Image.open(io.BytesIO(answer.content))), wanted)
    assert seeing.get("/api/maps/run/picture?x=2&y=4").status_code == 422  # inside a wall


def test_a_run_from_pictures_has_a_field_and_plans(seeing):
    values = seeing.get("/api/maps/run/field?x=8&y=0&tau=64").json()["values"]
    chart = seeing.get("/api/maps/run").json()
    best = np.array(chart["points"])[int(np.argmax(values))]
    assert np.linalg.norm(best - [8, 0]) < 2
    asked = {"start": [0, 0], "goal": [8, 0], "budget": 200}
    with seeing.stream("POST", "/api/maps/run/plan", json=asked) as answer:
        *steps, outcome = [json.loads(line) for line in answer.iter_lines()]
    assert outcome["success"] and 6 <= len(steps) <= 12
    inspected = seeing.post(
        "/api/maps/run/inspect", json={"places": [[0, 0]], "chosen": [], "goal": [8, 0]}
    ).json()
    chosen = inspected["candidates"][inspected["best"]]
    assert chosen["action"][0] > 0.7 and chosen["outcome"][0] > 0.5


def test_two_planners_of_a_run_from_pictures_run_at_once_as_they_do_alone(seeing):
    def steps(planner):
        asked = {"start": [0, 0], "goal": [8, 0], "planner": planner, "budget": 20}
        lines = seeing.post("/api/maps/run/plan", json=asked).text.splitlines()
        return [json.loads(line) for line in lines[:-1]], json.loads(lines[-1])["kind"]

    alone = [steps(planner) for planner in ("gp", "pap")]
    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(steps, ("gp", "pap"))) == alone
    assert all(len(moves) == 4 and end == "outcome" for moves, end in alone)
