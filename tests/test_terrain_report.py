"""The report of a run without a map is one file, and what it holds is what was measured."""

from __future__ import annotations

import base64
import json
import re
from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("fastapi")
pytest.importorskip("gymnasium")
from test_html_report import check_alone
from tiny_runs import trained, trained_on_logs

from cogmap.agent import Agent
from cogmap.cli import main
from cogmap.evaluation.evaluate import evaluate
from cogmap.web import terrain_report
from cogmap.web.terrain import Terrain
from cogmap.web.terrain_report import MOST_ROUTES, page, thin
from tests.worlds_of_gym import Line

EPISODES = 8


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("line") / "run"
    told = {"goal": "place>=0.95", "start": "place<=0.35", "stay": True}
    return trained(folder, "Line", names=("place",), **told)


@pytest.fixture(scope="module")
def terrain(run):
    return Terrain(run, agent=Agent.load(run, device="cpu"))


@pytest.fixture(scope="module")
def result(terrain):
    return evaluate(terrain.agent, episodes=EPISODES, budget=25)


@pytest.fixture(scope="module")
def text(terrain, result):
    return page(terrain, result, terrain.world, terrain.agent.planner())


def record_of(text):
    found = re.search(r'<script type="application/json" id="record">(.*?)</script>', text, re.S)
    return json.loads(found.group(1))


@pytest.fixture(scope="module")
def record(text):
    return record_of(text)


def unpacked(packed, steps, *shape):
    return np.frombuffer(base64.b64decode(packed), "<i2").reshape(shape) / steps


def test_the_file_refers_to_no_other_file_and_no_other_host(text):
    check_alone(text)
    assert len(text) < 8e6


def test_points_and_scores_equal_the_models(terrain, record):
    taus, count = record["world"]["taus"], len(terrain.rows)
    points = unpacked(record["points"], record["steps_per_side"], len(taus), count, 2)
    [scores] = record["fields"]  # one goal for all routes
    scores = unpacked(scores, record["steps_per_nat"], len(taus), count)
    goal = terrain.seen.goal("place>=0.95")
    for k, tau in enumerate(taus):
        assert np.abs(points[k] - terrain.plane(tau, "pca").points).max() < 1e-4
        exact = terrain.field(goal.rows, tau)
        assert np.abs(scores[k] - np.maximum(exact, -32.768)).max() <= 5.1e-4


def test_the_routes_are_the_episodes_that_the_table_counts(result, record, terrain):
    assert len(record["routes"]) == MOST_ROUTES < EPISODES
    seeds = {int(episode.task.start[0]): episode for episode in result.episodes}
    for route in record["routes"]:
        episode = seeds[route["seed"]]
        steps, outcome = route["steps"], route["outcome"]
        assert [step["candidate"] for step in steps] == [d.candidate for d in episode.decisions]
        assert [step["horizon"] for step in steps] == [d.horizon for d in episode.decisions]
        assert outcome["steps"] == episode.steps and outcome["success"] == episode.success
        assert outcome["stayed"] == pytest.approx(episode.stayed, abs=1e-4)
        looks = np.array([sight["observation"] for sight in (*steps, outcome)])
        for tau, places in zip(terrain.taus, route["places"], strict=True):
            assert np.allclose(places, terrain.places(looks, tau, "pca"), atol=1e-3)
        assert all(sight["frame"] for sight in (*steps, outcome))


def test_an_episode_is_watched_with_the_decisions_it_had_and_not_with_new_ones(terrain, result):
    twisted = replace(result, episodes=[replace(result.episodes[0])])
    [episode] = twisted.episodes
    other = [1 - decision.candidate for decision in episode.decisions]
    actions = terrain.agent.planner().candidates.actions
    episode.decisions = [
        replace(decision, candidate=k, action=actions[k])
        for decision, k in zip(episode.decisions, other, strict=True)
    ]
    [route] = record_of(page(terrain, twisted, terrain.world, terrain.agent.planner()))["routes"]
    assert [step["candidate"] for step in route["steps"]] == other
    assert not route["outcome"]["at_goal"]  # it walks the other way


class Whim(Line):
    """The line, until it has had enough."""

    enough = False

    def step(self, action):
        return super().step(0 if Whim.enough else action)


def test_a_world_that_does_not_repeat_itself_is_told_so(terrain, text, monkeypatch):
    whim = replace(terrain.agent.world, env="test_terrain_report:Whim")
    agent = replace(terrain.agent, world=replace(whim, stay=False))
    result = evaluate(agent, episodes=3, budget=40)
    monkeypatch.setattr(Whim, "enough", True)
    again = page(Terrain(terrain.folder, agent=agent), result, agent.world, agent.planner())
    assert "does not repeat itself" in again and "does not repeat itself" not in text


def test_the_tables_hold_the_result_the_checks_and_the_settings(run, text, result):
    low, high = result.interval
    checks = json.loads((run / "checks.json").read_text())
    cells = [f"{result.sr:.2f}", f"{low:.2f}-{high:.2f}", f"{result.stayed:.2f}", "place"]
    for tau, known, right in zip(checks["taus"], checks["information"], checks["calibration"]):
        assert f"<td>{tau}</td><td>{known:.2f}</td><td>{right:.2f}</td>" in text
    [error] = checks["error"]
    assert f"<td>place</td><td>{error:.3f}</td>" in text
    cells += ["temporal tau_max", "world hold", "world goal"]
    for cell in cells:
        assert f"<td>{cell}</td>" in text, cell
    assert text.count("data-route=") >= MOST_ROUTES
    for episode in result.episodes:
        assert f"<td>{episode.task.start[0]:.0f}</td>" in text


def test_the_loss_is_that_of_the_training(run, record):
    rows = [json.loads(line) for line in (run / "temporal/metrics.jsonl").read_text().splitlines()]
    assert [(r["step"], r["loss"]) for r in record["curve"]] == [
        (row["step"], round(row["loss"], 4)) for row in rows
    ]


def test_frames_are_left_out_evenly_until_they_fit():
    def sight(frame):
        return {"frame": frame}

    routes = [{"steps": [sight("x" * 10) for _ in range(19)], "outcome": sight("x" * 10)}]
    thin(routes, 1000)
    assert all(step["frame"] for step in routes[0]["steps"])
    thin(routes, 70)
    kept = [k for k, step in enumerate(routes[0]["steps"]) if step["frame"]]
    assert kept == [0, 3, 6, 9, 12, 15, 18]


def test_a_file_of_many_frames_stays_small(terrain, result, monkeypatch):
    whole = len(page(terrain, result, terrain.world, terrain.agent.planner()))
    monkeypatch.setattr(terrain_report, "ROOM", 0)
    monkeypatch.setattr(terrain_report, "LEAST_ROOM", 10)
    small = page(terrain, result, terrain.world, terrain.agent.planner())
    assert len(small) < whole
    for route in record_of(small)["routes"]:
        assert route["steps"][0]["frame"]  # each begins with one
        assert not any(step["frame"] for step in route["steps"][1:])


def test_the_command_leads_where_its_flags_say(run, tmp_path, capsys):
    file = tmp_path / "report.html"
    flags = ["--goal", "place<=0.05", "--start", "place>=0.65", "--episodes", "2"]
    assert main(["report", str(run), "--html", str(file), *flags, "--budget", "30"]) == 0
    assert "MB" in capsys.readouterr().out
    text = file.read_text()
    for route in record_of(text)["routes"]:
        assert route["goal"] == "place<=0.05" and route["outcome"]["success"]
        assert route["steps"][0]["observation"][0] >= 0.65
    assert "begun where place&gt;=0.65, that reached the goal, place&lt;=0.05, in 30" in text


def test_a_run_from_logs_alone_is_reported_with_scores_of_goals(run, tmp_path, capsys):
    logs, file = trained_on_logs(tmp_path / "logs", run / "data"), tmp_path / "report.html"
    assert main(["report", str(logs), "--html", str(file)]) == 0
    assert "there is no simulator to plan in" in capsys.readouterr().out
    record = record_of(file.read_text())
    assert not record["world"]["plans"]
    assert len(record["routes"]) == terrain_report.GOALS >= len(record["fields"])
    assert "No episodes: this run was learned from data alone" in file.read_text()
    assert main(["report", str(logs), "--html", str(file), "--goal", "x0>=0.9"]) == 0
    [only] = record_of(file.read_text())["routes"]
    assert only["goal"] == "x0 in 0.9..inf" and only["marks"]


@pytest.mark.parametrize(
    ("flags", "reason"),
    [
        (["--goal", "size=3"], "no number is called 'size'"),
        (["--start", "place>=9"], "resets began with"),
        (["--planner", "best"], "best"),
        (["--episodes", "0"], "episodes=0"),
        (["--tasks", "official"], "only its resets"),
    ],
)
def test_what_cannot_be_reported_is_refused_in_one_line(run, flags, reason, tmp_path, capsys):
    file = tmp_path / "report.html"
    assert main(["report", str(run), "--html", str(file), *flags]) == 2
    error = capsys.readouterr().err
    assert reason in error and error.strip().count("\n") == 0 and not file.exists()


@pytest.mark.parametrize("command", ["serve", "report"])
def test_a_maze_is_not_told_a_goal_in_words(command, tmp_path, capsys):
    html = ["--html", str(tmp_path / "r.html")] if command == "report" else []
    assert main([command, "models/pointmaze-large", *html, "--goal", "x=1"]) == 2
    assert "that is for Gymnasium worlds" in capsys.readouterr().err
