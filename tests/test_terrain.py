"""The server of a run without a map: what it says is what models and simulator say."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("fastapi")
pytest.importorskip("gymnasium")
from fastapi.testclient import TestClient
from test_server import BODIES, WRONG, as_text, check, variants
from tiny_runs import trained, trained_on_logs

from cogmap.agent import Agent
from cogmap.evaluation.evaluate import evaluate
from cogmap.goals import Context, Seen
from cogmap.web import sample as samples
from cogmap.web.frames import coloured, shrunk
from cogmap.web.sample import NUMBERS
from cogmap.web.server import create_app
from cogmap.web.terrain import Terrain
from tests.worlds_of_gym import Lamp, Line

GOAL = "place>=0.95"
SAMPLE, FEWEST = 300, 100  # of the tests: t-SNE takes its time
PLAN = {"goal": GOAL, "start": "place<=0.05", "seed": 3, "frames": False}


class Blind(Line):
    """The line, without anything to look at."""

    def __init__(self):
        super().__init__()


class Hot(Line):
    """The line; it breaks off where it is asked to go to its end."""

    def step(self, action):
        if self.place == self.length - 2 and action == 1:
            raise RuntimeError("the motor is hot")
        return super().step(action)


class Lost(Line):
    """The line; nobody knows where on it one is."""

    def seen(self):
        return super().seen() * (np.nan if getattr(self, "lost", False) else 1.0)

    def step(self, action):
        self.lost = True
        return super().step(action)


@pytest.fixture(scope="module", autouse=True)
def small_samples():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(samples, "SAMPLE", SAMPLE)
        patch.setattr(samples, "FEWEST", FEWEST)
        yield


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return trained(tmp_path_factory.mktemp("line") / "run", "Line", names=("place",), goal=GOAL)


@pytest.fixture(scope="module")
def agent(run):
    return Agent.load(run, device="cpu")


@pytest.fixture(scope="module")
def terrain(run, agent):
    return Terrain(run, agent=agent)


def asked(folder, tmp_path_factory, agent=None):
    return TestClient(create_app(folder, work=tmp_path_factory.mktemp("drawn"), agent=agent))


@pytest.fixture(scope="module")
def client(run, tmp_path_factory):
    with asked(run, tmp_path_factory) as client:
        yield client


def in_another(agent, run, env, tmp_path_factory):
    world = replace(agent.world, env=f"tests.test_terrain:{env}")
    return asked(run, tmp_path_factory, replace(agent, world=world))


def told(client, **changed):
    with client.stream("POST", "/api/world/plan", json=PLAN | changed) as answer:
        lines = [json.loads(line) for line in answer.iter_lines()]
        assert answer.status_code == 200, lines
        return lines


def field(client, **query):
    answer = client.get("/api/world/field", params={"tau": 4} | query)
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_the_sample_goes_evenly_through_what_was_seen(client, agent):
    world = client.get("/api/world").json()
    rows = np.array(world["rows"])
    assert rows.shape == (SAMPLE, 1) and world["names"] == ["place"]
    assert rows[[0, -1]] == pytest.approx(agent.seen.rows[[0, -1]])
    assert world["taus"] == [1, 2, 4, 8, 16, 32] and world["plans"] and world["frames"]
    assert world["goal"] == GOAL and not world["own_goals"] and not world["pictures"]
    assert world["actions"] == agent.planner().candidates.actions.tolist()


def test_observations_of_many_numbers_are_drawn_in_a_smaller_sample(agent, run):
    wide = np.random.default_rng(0).normal(size=(2000, 400)).astype(np.float32)
    names, none = tuple(f"x{k}" for k in range(400)), Context.none(400)

    class Wide(Terrain):
        def _look(self, observations):
            return super()._look(observations[:, :1])

    drawn = Wide(run, agent=replace(agent, seen=Seen(wide, names, np.ones(400), none)))
    assert len(drawn.rows) == NUMBERS // 400 == 150


@pytest.mark.parametrize("method", ["pca", "tsne"])
def test_an_observation_of_the_sample_is_placed_at_its_own_point(client, method):
    query = {"tau": 8, "method": method}
    points = np.array(client.get("/api/world/points", params=query).json()["points"])
    rows = client.get("/api/world").json()["rows"]
    some = [3, 50, 110, 299]
    places = client.post(
        "/api/world/places", json=query | {"observations": [rows[k] for k in some]}
    ).json()["points"]
    near = np.abs(np.array(places)[:, None] - points[None]).max(-1)
    for number, k in enumerate(some):
        alike = [j for j, row in enumerate(rows) if row == rows[k]]  # the line has eleven places
        assert near[number][alike].min() < 1e-3
    assert np.abs(points).max() == pytest.approx(1.0, abs=1e-3)


def test_the_field_is_the_planners_score_of_the_goal(client, agent, terrain):
    seen = field(client, goal=GOAL, tau=4)
    wanted = agent.goal(GOAL)
    planner = agent.planner()
    taus = planner.scorer.taus.tolist()
    rows = np.array(terrain.rows)
    for k in (0, 40, 211):
        goals = planner.scorer.embed_goals(planner._looks(wanted.rows))
        here = planner._looks(rows[[k]])
        score = planner.scorer.score(here[:, None], goals[None])[0, 0, taus.index(4)]
        assert seen["values"][k] == pytest.approx(float(score), abs=2e-3)
    assert wanted.reached(rows[seen["marks"]]).all()


def test_a_row_of_the_sample_is_a_goal(client):
    rows = client.get("/api/world").json()["rows"]
    by_row, by_number = field(client, goal="#7"), field(client, goal=str(rows[7][0]))
    assert by_row["values"] == by_number["values"]
    assert by_row["goal"] == f"#7: {rows[7][0]:g}" and rows[by_row["marks"][0]] == rows[7]


def test_a_goal_that_nothing_seen_is_like_is_told_so(client):
    assert not field(client, goal="place=1")["warning"]
    warning = field(client, goal="place=9")["warning"]
    assert "nothing in the data is like this goal" in warning
    assert told(client, goal="place=9", budget=1)[0]["warning"] == warning


def test_a_plan_is_the_episode_that_an_evaluation_runs(client, agent):
    begun, *steps, outcome = told(client)
    assert begun["kind"] == "begun" and begun["goal"] == "place in 0.95..inf"
    world = replace(agent.world, goal=GOAL, start="place<=0.05")
    result = evaluate(agent, world=world, episodes=1, budget=50, seed=0)
    [episode] = result.episodes
    seed = int(episode.task.start[0])
    _, *steps, outcome = told(client, seed=seed, budget=50)
    assert [step["candidate"] for step in steps] == [d.candidate for d in episode.decisions]
    assert [step["horizon"] for step in steps] == [d.horizon for d in episode.decisions]
    assert outcome["success"] == episode.success and outcome["steps"] == episode.steps == 10


def test_each_move_tells_what_was_seen_and_what_each_action_promised(client):
    _, *steps, outcome = told(client, tau=4)
    world = client.get("/api/world").json()
    seen = field(client, goal=GOAL, tau=4)
    assert [step["observation"][0] for step in steps] == pytest.approx(np.arange(10) / 10)
    assert outcome["observation"] == [1.0] and outcome["at_goal"]
    assert not any(step["at_goal"] for step in steps)
    for step in (*steps, outcome):
        row = int(np.argmin(np.abs(np.array(world["rows"])[:, 0] - step["observation"][0])))
        assert step["scores"][world["taus"].index(4)] == pytest.approx(
            seen["values"][row], abs=2e-3
        )
    query = {"tau": 4, "observations": [step["observation"] for step in steps]}
    places = client.post("/api/world/places", json=query).json()["points"]
    assert np.allclose([step["place"] for step in steps], places, atol=1e-4)
    for step in steps:
        gains = np.array(step["progress"])
        assert gains.shape == (2, len(step["taus"]))
        assert step["value"] == pytest.approx(gains[step["candidate"]].max(), rel=1e-2)
        assert step["horizon"] in step["taus"]


def test_without_a_goal_a_seen_observation_is_one_and_is_named(agent, run, tmp_path_factory):
    world = replace(agent.world, goal=None)
    with asked(run, tmp_path_factory, replace(agent, world=world)) as client:
        begun, *_, outcome = told(client, goal=None, start="", seed=5)
        assert begun["goal"].startswith("an observation that was seen: place ")
        shown = float(begun["goal"].split()[-1])
        assert outcome["success"] and outcome["observation"][0] == pytest.approx(shown, abs=0.11)


def test_frames_are_pictures_of_the_world_and_left_out_where_it_draws_none(
    client, agent, run, tmp_path_factory
):
    [_, first, *_] = told(client, frames=True)
    assert first["frame"].startswith("data:image/png;base64,")
    assert told(client)[1]["frame"] is None
    with in_another(agent, run, "Blind", tmp_path_factory) as blind:
        assert not blind.get("/api/world").json()["frames"]
        _, *steps, outcome = told(blind, frames=True)
        assert outcome["success"] and {step["frame"] for step in steps} == {None}


def test_an_environment_that_breaks_off_is_told_in_the_last_line(agent, run, tmp_path_factory):
    with in_another(agent, run, "Hot", tmp_path_factory) as hot:
        *_, step, outcome = told(hot)
        assert step["kind"] == "step" and not step["at_goal"]
        assert not outcome["success"] and "the motor is hot" in outcome["raised"]
        begun, failure = told(in_another(agent, run, "Lost", tmp_path_factory))
        assert begun["kind"] == "begun" and failure["kind"] == "failure"
        assert "NaN" in failure["detail"]


@pytest.mark.parametrize(
    ("goal", "reason"),
    [
        ("size=3", "no number is called 'size'"),
        ("place=far", "'far' is no number"),
        ("place", "the page reads NAME=VALUE"),
        ("1,2,3", "a goal of shape"),
        ("#300", "rows #0 to #299"),
        ("place=nan", "nan is no number"),
        ("1e99", "too large"),
        ("/etc/passwd.npy", "files and functions"),
        ("os:getcwd", "files and functions"),
    ],
)
def test_a_wrong_goal_is_refused_in_words(client, goal, reason):
    answer = client.get("/api/world/field", params={"tau": 4, "goal": goal})
    assert answer.status_code == 422 and reason in answer.json()["detail"]
    answer = client.post("/api/world/plan", json=PLAN | {"goal": goal})
    assert answer.status_code == 422 and reason in answer.json()["detail"]


def test_a_function_is_a_goal_only_where_the_run_names_it(agent, run, tmp_path_factory):
    own = replace(agent.world, goal="tests.test_terrain:at_the_end")
    with asked(run, tmp_path_factory, replace(agent, world=own)) as client:
        assert told(client, goal=own.goal)[-1]["success"]
        other = client.get("/api/world/field", params={"tau": 4, "goal": "os:getcwd"})
        assert other.status_code == 422


def at_the_end(observation):
    return observation[0] > 0.95


QUERIES = {
    "/api/world/points": {"tau": 4, "method": "pca"},
    "/api/world/field": {"tau": 4, "goal": GOAL, "start": "place<=0.5", "seed": 0},
    "/api/world/picture": {"row": 0},
}


@pytest.mark.parametrize("path", QUERIES)
def test_a_wrong_query_is_refused_with_a_reason(client, path):
    query = QUERIES[path]
    for name in query:
        for value in (one for one in WRONG if len(as_text(one)) < 50_000):
            text = as_text(value).encode(errors="replace").decode()
            check(client.get(path, params=query | {name: text}), (name, value))
    assert client.get(path).status_code == 422  # each needs something
    if path.endswith("field"):
        assert "no headings" in client.get(path, params=query | {"heading": 1}).json()["detail"]


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/api/world/places", {"tau": 4, "method": "pca", "observations": [[0.5]]}),
        ("/api/world/plan", PLAN | {"budget": 2, "planner": "gp", "tau": 4, "method": "pca"}),
    ],
)
def test_a_wrong_body_is_refused_with_a_reason(client, path, body):
    assert client.post(path, json=body).status_code == 200
    headers = {"content-type": "application/json"}
    for value in variants(body):
        content = json.dumps(value).encode()
        check(client.post(path, content=content, headers=headers), value)
    for content in BODIES:
        assert client.post(path, content=content, headers=headers).status_code in (400, 422)
    for wrong in ([[0.5, 0.5]], [[]], [[1e300]]):
        given = {"tau": 4, "observations": wrong}
        assert client.post("/api/world/places", json=given).status_code == 422


def test_a_map_is_not_asked_of_a_run_without_one(client):
    assert client.get("/api/maps").status_code == 404
    assert client.get("/files/run/config.json").status_code == 200
    assert client.get("/files/other/config.json").status_code == 404
    assert "world/main.js" in client.get("/").text


def test_a_run_that_sees_pictures_is_led_to_what_it_has_seen(tmp_path_factory):
    run = trained(tmp_path_factory.mktemp("shown") / "run", "Shown")
    seen = Agent.load(run, device="cpu").seen
    with asked(run, tmp_path_factory) as client:
        world = client.get("/api/world").json()
        assert world["pictures"] and world["frames"] and world["names"] == []
        assert set(map(len, world["rows"])) == {0}
        picture = client.get("/api/world/picture", params={"row": 3})
        assert picture.headers["content-type"] == "image/png"
        near = field(client, goal="#3", tau=1)
        [mark] = near["marks"]
        marked = client.get("/api/world/picture", params={"row": mark})
        assert near["goal"] == "#3" and marked.content == picture.content
        assert near["values"][mark] > np.quantile(near["values"], 0.7)
        _, *steps, outcome = told(client, goal="#3", start=None, frames=True)
        assert outcome["success"] and outcome["frame"]
        query = {"tau": 4, "observations": [outcome["observation"]]}
        [place] = client.post("/api/world/places", json=query | {"method": "tsne"}).json()["points"]
        plane = client.get("/api/world/points", params={"tau": 4, "method": "tsne"}).json()
        assert place in plane["points"]
        for wrong in ("place=1", "0.5", "x" * 30):
            answer = client.get("/api/world/field", params={"tau": 4, "goal": wrong})
            assert answer.status_code == 422 and "click a point" in answer.json()["detail"]
        assert client.post("/api/world/plan", json=PLAN | {"goal": "#3"}).status_code == 422
    assert seen.rows.ndim == 4


def test_a_run_from_logs_alone_has_scores_and_says_that_it_has_no_simulator(run, tmp_path_factory):
    logs = trained_on_logs(tmp_path_factory.mktemp("logs") / "run", run / "data")
    with asked(logs, tmp_path_factory) as client:
        world = client.get("/api/world").json()
        assert not world["plans"] and not world["frames"] and world["goal"] == ""
        seen = field(client, goal="x0>=0.95", tau=1)
        near = np.array(world["rows"])[:, 0] >= 0.95
        values = np.array(seen["values"])
        assert values[near].mean() > values[~near].mean()
        for answer in (
            client.post("/api/world/plan", json={"goal": "#3"}),
            client.get("/api/world/field", params={"tau": 1}),
        ):
            assert answer.status_code == 422
            assert "there is no simulator to plan in" in answer.json()["detail"]


def test_where_episodes_differ_the_seed_decides_what_a_goal_means(tmp_path_factory):
    names = ("place", "light", "off")
    run = trained(tmp_path_factory.mktemp("lamp") / "run", "Lamp", names=names)
    with asked(run, tmp_path_factory) as client:
        world = client.get("/api/world").json()
        assert world["names"] == ["place", "off"] and "light taken out" in world["trained"]
        marks = {seed: field(client, goal="off=0", seed=seed)["marks"] for seed in (1, 2)}
        rows = np.array(world["rows"])
        places = [np.median(rows[marks[seed], 0]) for seed in (1, 2)]
        lights = [Lamp().reset(seed=seed)[0][1] for seed in (1, 2)]
        assert places == pytest.approx(lights, abs=0.1)


def test_a_grey_picture_is_drawn_in_grey_and_a_large_one_smaller():
    grey = np.arange(256, dtype=np.uint8).reshape(16, 16, 1)
    assert (coloured(grey) == grey).all() and coloured(grey).shape == (16, 16, 3)
    assert shrunk(np.zeros((500, 400, 4), np.uint8)).shape == (250, 200, 3)
    blocks = grey.reshape(8, 2, 8, 2).mean(axis=(1, 3))
    assert np.abs(shrunk(grey, side=8)[..., 1] - blocks).max() <= 0.5
