"""What the server answers to requests that the page never sends: a reason, never a failure."""

import json
import math
import random
import re
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

pytest.importorskip("fastapi")
from fastapi.routing import APIRoute
from fastapi.testclient import TestClient
from starlette.routing import Mount, Route

from cogmap.agent import Agent
from cogmap.web.chart import PLANNERS_KEPT, Chart
from cogmap.web.server import create_app

LARGE = Path("models/pointmaze-large")
TINY = {"walk-steps": 20_000, "tau-max": 64, "steps": 60, "batch": 64, "checkpoint-every": 20}
TINY |= {"action-steps": 2000, "dynamics.steps": 20, "width": 32}
RING = ["#####", "#...#", "#.#.#", "#...#", "#####"]

# One request that each route accepts. A route without an entry fails the first test below.
PLAN = {"start": [0, 0], "goal": [2, 0], "planner": "gp", "budget": 10}
INSPECT = {"places": [[0, 0], [1, 0]], "chosen": [0], "goal": [4, 0], "planner": "gp"}
LEGAL: dict[str, dict[str, Any]] = {
    "GET /": {},
    "GET /docs": {},
    "GET /openapi.json": {},
    "GET /static/{path}": {"path": {"path": "main.js"}},
    "GET /api/health": {},
    "GET /api/maps": {},
    "GET /api/maps/{id}": {"path": {"id": "run"}},
    "GET /api/maps/{id}/field": {
        "path": {"id": "run"},
        "query": {"x": 0, "y": 0, "tau": 16, "score": "learned"},
    },
    "GET /api/maps/{id}/picture": {"path": {"id": "run"}, "query": {"x": 0, "y": 0}},
    "GET /api/maps/{id}/embedding": {"path": {"id": "run"}, "query": {"tau": 16, "method": "pca"}},
    "POST /api/maps/{id}/plan": {"path": {"id": "run"}, "body": PLAN},
    "POST /api/maps/{id}/inspect": {"path": {"id": "run"}, "body": INSPECT},
    "POST /api/mazes": {"body": {"rows": RING}},
    "GET /api/jobs/{id}": {"path": {"id": "drawn-1"}},
    "DELETE /api/jobs/{id}": {"path": {"id": "drawn-1"}},
    "GET /api/jobs/{id}/field": {"path": {"id": "drawn-1"}, "query": {"x": 0, "y": 0, "tau": 16}},
    "GET /files/{id}/{path}": {"path": {"id": "run", "path": "config.json"}},
}
REFUSED = {"GET /api/maps/{id}/picture"}  # legal elsewhere: this run learned from positions

NUMBERS = [math.nan, math.inf, -math.inf, 1e308, -1e308, 10**400, -(10**400), 2**63, -1, 0.5]
TEXTS = ["", "x", "x" * 100_000, "../../pyproject.toml", "\0", "\ud800", "1e999", "null", "#" * 9]
PLANNERS = ["beta=nan", "beta=-1", "beta=", "beta=1e-320", "beta=1e308", "beta=" + "9" * 5000]
OTHERS: list[Any] = [None, True, [], {}, [[]], [None], {"x": 1}, [math.nan, 1], [0] * 3]
WRONG: list[Any] = [*NUMBERS, *TEXTS, *PLANNERS, *OTHERS]

BODIES = [
    b"",
    b"{",
    b"null",
    b"[]",
    b"NaN",
    b'"text"',
    b"\xff\xfe",
    b"[" * 100_000,
    b'{"rows": ' + b"9" * 5000 + b"}",
    b'{"\\ud800": 1}',
    b'{"goal": [NaN, 1], "start": [Infinity, -Infinity]}',
]
PARTS = ["other", "..", "%2e%2e", "%2e%2e%2fREADME.md", "%2fetc%2fpasswd", "%00", "%ff", "%0a"]
PARTS += ["nan", "-1", "a" * 5000, "a/" * 2000, "%ed%a0%80", "~root", "C:%5cboot.ini", ""]


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    app = create_app(LARGE, work=tmp_path_factory.mktemp("drawn"), training=TINY)
    with TestClient(app) as client:  # an exception in a route is raised here, with its traceback
        job = client.post("/api/mazes", json={"rows": RING}).json()
        while job["phase"] not in ("done", "failed", "stopped"):
            time.sleep(0.2)
            job = client.get(f"/api/jobs/{job['id']}").json()
        assert job["phase"] == "done" and job["id"] == "drawn-1"
        yield client
    app.state.workshop.close()


def operations(app) -> set[str]:
    """Every method and path that the app answers."""
    found = set()
    for route in app.routes:
        if isinstance(route, Mount):
            found.add(f"GET {route.path}/{{path}}")
            continue
        assert isinstance(route, APIRoute | Route), route
        path = route.path.replace("{path:path}", "{path}")
        found |= {f"{method} {path}" for method in route.methods - {"HEAD"}}
    return found


def ask(client, operation: str, *, content: bytes | None = None, **changed):
    """The route's legal request with another path, query or body; parts of a path are quoted."""
    request = LEGAL.get(operation, {}) | changed
    method, pattern = operation.split(" ")
    url = re.sub(r"{(\w+)}", lambda part: request["path"][part.group(1)], pattern)
    query = [
        f"{name}={quote(as_text(value), errors='replace')}"
        for name, value in request.get("query", {}).items()
    ]
    if content is None and "body" in request:
        content = json.dumps(request["body"]).encode()
    headers = {} if content is None else {"content-type": "application/json"}
    url += "?" + "&".join(query) if query else ""
    return client.request(method, url, content=content, headers=headers)


def as_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def check(answer, what: Any) -> None:
    """Accepted, or refused with a reason in words."""
    where = answer.request.method, str(answer.request.url)[:200], repr(what)[:200]
    assert 200 <= answer.status_code < 500, where
    if answer.status_code < 400:
        for line in answer.iter_lines() if "ndjson" in answer.headers["content-type"] else ():
            json.loads(line, parse_constant=pytest.fail)
        return
    detail = answer.json()["detail"]
    reasons = [detail] if isinstance(detail, str) else [error["msg"] for error in detail]
    assert reasons and all(reasons), where
    assert len(answer.content) < 10_000, where  # a reason, not the request once more


def variants(value: Any) -> Iterator[Any]:
    """The value with one thing in it wrong, missing or too much."""
    yield from WRONG
    if isinstance(value, dict):
        yield value | {"more": 1}
        for name in value:
            rest = {key: part for key, part in value.items() if key != name}
            yield rest
            for part in variants(value[name]):
                yield rest | {name: part}
    if isinstance(value, list):
        yield value * 2000
        for part in variants(value[0]):
            yield [part, *value[1:]]


def test_every_route_of_the_app_is_tried_here(client):
    assert set(LEGAL) == operations(client.app)
    described = client.app.openapi()["paths"]
    named = {f"{method.upper()} {path}" for path in described for method in described[path]}
    assert named <= set(LEGAL)


@pytest.mark.parametrize("operation", [name for name in LEGAL if name != "POST /api/mazes"])
def test_the_legal_request_is_accepted(client, operation):
    answer = ask(client, operation)
    assert answer.status_code == (422 if operation in REFUSED else 200), answer.text


@pytest.mark.parametrize("operation", [name for name in LEGAL if "body" in LEGAL[name]])
def test_a_wrong_body_is_refused_with_a_reason(client, operation):
    for body in variants(LEGAL[operation]["body"]):
        check(ask(client, operation, body=body), body)
    for content in BODIES:
        answer = ask(client, operation, content=content)
        check(answer, content)
        assert answer.status_code in (400, 422)


@pytest.mark.parametrize("operation", [name for name in LEGAL if "query" in LEGAL[name]])
def test_a_wrong_query_is_refused_with_a_reason(client, operation):
    query = LEGAL[operation]["query"]
    for name in query:
        rest = {key: value for key, value in query.items() if key != name}
        check(ask(client, operation, query=rest), f"no {name}")
        for value in (one for one in WRONG if len(as_text(one)) < 50_000):  # the client's limit
            check(ask(client, operation, query=rest | {name: value}), (name, value))


@pytest.mark.parametrize("operation", [name for name in LEGAL if "path" in LEGAL[name]])
def test_a_wrong_id_or_path_is_refused_and_nothing_outside_the_run_is_given(client, operation):
    path = LEGAL[operation]["path"]
    for name in path:
        for part in PARTS:
            answer = ask(client, operation, path=path | {name: part})
            check(answer, part)
            assert "root:" not in answer.text and "[build-system]" not in answer.text


@pytest.mark.parametrize("operation", LEGAL)
def test_another_method_is_refused(client, operation):
    path = operation.split(" ")[1]
    known = {name.split(" ")[0] for name in LEGAL if name.split(" ")[1] == path}
    for method in {"GET", "POST", "PUT", "PATCH", "DELETE"} - known:
        answer = ask(client, f"{method} {path}", path=LEGAL[operation].get("path"))
        check(answer, method)
        assert answer.status_code == 405


def test_nan_in_a_body_is_named_in_the_refusal(client):
    content = b'{"start": [0, 0], "goal": [NaN, 1]}'
    answer = ask(client, "POST /api/maps/{id}/plan", content=content)
    assert answer.status_code == 422
    [error] = answer.json()["detail"]
    assert error["loc"] == ["body", "goal", 0] and "finite" in error["msg"]


def test_sixty_requests_at_once_are_all_answered(client):
    def one(operation: str):
        answer = ask(client, operation)
        check(answer, operation)
        return answer

    mixed = [name for name in LEGAL for _ in range(2)]
    mixed += ["POST /api/maps/{id}/plan", "POST /api/maps/{id}/inspect"] * 13
    random.Random(0).shuffle(mixed)
    assert len(mixed) == 60
    with ThreadPoolExecutor(60) as pool:
        answers = list(pool.map(one, mixed))
    plans = [answer.text for answer in answers if str(answer.url).endswith("/plan")]
    seconds = re.compile(r'"seconds":[0-9.]+')
    assert len({seconds.sub("", plan) for plan in plans}) == 1  # side by side as one by one


def test_a_training_that_diverged_has_a_status(client):
    metrics = client.app.state.workshop.get("drawn-1").folder / "temporal" / "metrics.jsonl"
    before = client.get("/api/jobs/drawn-1").json()
    with metrics.open("a") as file:
        file.write('{"step": 61, "loss": NaN}\n')
    assert client.get("/api/jobs/drawn-1").json()["loss"] == before["loss"]


def test_threads_that_ask_for_one_planner_share_it_and_few_are_kept(monkeypatch):
    chart, make = Chart(LARGE, id="run"), Agent.planner

    def made_slowly(*given, **settings):
        time.sleep(0.05)  # so that the other threads ask meanwhile
        return make(*given, **settings)

    monkeypatch.setattr(Agent, "planner", made_slowly)
    with ThreadPoolExecutor(8) as pool:
        same = list(pool.map(chart.planner, ["gp"] * 8))
        names = [f"beta={beta}" for beta in range(1, PLANNERS_KEPT + 5)] * 2
        for name, planner in zip(names, pool.map(chart.planner, names), strict=True):
            assert planner.rule.name == name
    assert len(set(map(id, same))) == 1
    assert len(chart._planners) == PLANNERS_KEPT
