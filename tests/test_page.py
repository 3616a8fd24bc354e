"""The page in a real browser: what a reader does with pointer, keyboard and a small screen."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("fastapi")
pytest.importorskip("uvicorn")
pytest.importorskip("playwright.sync_api")

from browsing import PHONE, Server, needs_chromium, painted, settle, sideways, state

from cogmap.cli import main
from cogmap.web.server import create_app

pytestmark = needs_chromium

ROOT = Path(__file__).parent.parent
LARGE = ROOT / "models/pointmaze-large"
TINY = {"steps": 4, "lags": 1, "batch": 32, "width": 16, "embedding": 8, "tau-max": 64}
TINY |= {"walk-steps": 3000, "action-steps": 400, "dynamics.steps": 4, "dynamics.width": 16}
MAP = "cogmap?.state.map"
ROUTE = "cogmap?.state.routes.A?.outcome && !cogmap.state.planning"


def serve(work: Path, port: int | None = None, run: Path = LARGE) -> Server:
    return Server(create_app(run, work=work, training=TINY), port)


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    running = serve(tmp_path_factory.mktemp("drawn"))
    yield running
    running.stop()


@pytest.fixture
def visit(visit):
    """Opens pages of mazes; ready when the first route is there."""
    return lambda url, ready=ROUTE, **settings: visit(url, ready=ready, **settings)


def rested(page):
    page.wait_for_function(ROUTE)


def pixel(page, place, pane="learned"):
    """Where a place of the maze is on the screen."""
    x, y = page.evaluate(
        """async ([place, name]) => {
          const { view } = await import("cogmap/geometry.js");
          const { body, layout } = await import("cogmap/layout.js");
          const canvas = document.getElementById("canvas");
          const pane = layout(cogmap.state, canvas.clientWidth).panes.find((p) => p.name === name);
          const [x, y] = view(cogmap.state.map, body(pane)).place(place);
          const box = canvas.getBoundingClientRect();
          return [box.left + x, box.top + y];
        }""",
        [list(place), pane],
    )
    return x, y


def shade(page, place, pane="learned"):
    """The colour that the canvas shows at a place of the maze."""
    return painted(page, "canvas", pixel(page, place, pane))


def test_the_page_opens_with_a_route_and_a_click_sets_another_goal(server, visit):
    page = visit(server.url)
    assert state(page, "routes.A.outcome.success")
    assert "reached the goal" in page.inner_text("#status")
    assert len(state(page, "fields.learned.values")) == len(state(page, "map.points"))
    page.wait_for_function("cogmap.state.fields.exact")
    page.mouse.click(*pixel(page, (20, 8)))
    assert state(page, "goal") == pytest.approx([20, 8], abs=0.11)
    rested(page)
    before = state(page, "goal")
    page.mouse.click(*pixel(page, (17.6, 1)))  # a wall of Large
    after = state(page, "goal")
    assert after != before and after in state(page, "map.points")
    assert "That is a wall" in page.inner_text("#status")
    rested(page)
    assert "That is a wall" in page.inner_text("#status")  # still told when the plan is there
    assert state(page, "routes.A.goal") == after


def test_dragging_has_one_field_in_flight_and_ends_with_the_field_of_the_last_place(server, visit):
    page = visit(server.url)
    page.uncheck("#show-exact")
    flying = {"now": 0, "most": 0}

    def began(request):
        if "/field" in request.url:
            flying["now"] += 1
            flying["most"] = max(flying.values())

    def ended(request):
        flying["now"] -= "/field" in request.url

    page.on("request", began)
    page.on("requestfinished", ended)
    x, y = pixel(page, state(page, "goal"))
    page.mouse.move(x, y)
    page.mouse.down()
    for k in range(25):
        page.mouse.move(x - 6 * k, y + 2 * k)
    assert state(page, "dragging") == "goal"
    page.mouse.up()
    page.wait_for_function("`${cogmap.state.fields.learned.goal}` === `${cogmap.state.goal}`")
    rested(page)
    assert flying["most"] == 1
    x, y = pixel(page, state(page, "start"))
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(*pixel(page, (4, 8)), steps=4)
    page.mouse.up()
    assert state(page, "start") == pytest.approx([4, 8], abs=0.11)


def test_the_slider_and_play_change_the_horizon_and_the_colours(server, visit):
    page = visit(server.url)
    page.uncheck("#show-exact")
    far = state(page, "start")
    colours = []
    for octave in (0, len(state(page, "map.taus")) - 1):
        page.fill("#horizon", str(octave))
        tau = state(page, "map.taus")[octave]
        page.wait_for_function(f"cogmap.state.fields.learned.tau === {tau}")
        assert page.inner_text("#tau") == f"τ = {tau}"
        settle(page)
        colours.append(shade(page, (far[0] + 1.2, far[1] + 1.2)))
    assert colours[0] != colours[1]
    page.click("#play")
    page.wait_for_function("cogmap.state.octave !== cogmap.state.map.taus.length - 1")
    page.click("#play")
    assert not state(page, "playing")


def test_a_colour_is_the_score_of_its_place_and_both_fields_share_a_scale(server, visit):
    page = visit(server.url)
    page.wait_for_function("cogmap.state.fields.exact")
    page.keyboard.press("Escape")
    points, fields = state(page, "map.points"), state(page, "fields")
    shown = np.array([fields[name]["values"] for name in ("learned", "exact")]).clip(-8)
    low, high = shown.min(), shown.max()
    route = np.array([step["at"] for step in state(page, "routes.A.steps")])
    free = [k for k, place in enumerate(points) if np.abs(route - place).max(axis=1).min() > 3]
    for pane, values in zip(("learned", "exact"), shown, strict=True):
        for k in free[:: len(free) // 8]:
            share = (values[k] - low) / (high - low)
            rgb = page.evaluate(
                """async (share) => {
                  const { colour } = await import("cogmap/scales.js");
                  return colour("viridis", share).match(/[0-9]+/g).map(Number);
                }""",
                share,
            )
            assert np.abs(np.array(shade(page, points[k], pane)) - rgb).max() <= 12


def test_two_planners_run_side_by_side_and_each_move_can_be_looked_into(server, visit):
    page = visit(server.url)
    page.mouse.click(*pixel(page, (12, 8)))
    rested(page)
    page.check("#compare")
    page.wait_for_function("cogmap.state.routes.B?.outcome && !cogmap.state.planning")
    assert state(page, "routes.A.planner") == "gp" and state(page, "routes.B.planner") == "pap"
    step = len(state(page, "routes.A.steps")) // 2
    page.mouse.move(*pixel(page, state(page, f"routes.A.steps[{step}].at")))
    page.wait_for_function("cogmap.state.inspected?.candidates")
    seen = state(page, "inspected")
    assert len(seen["candidates"]["candidates"]) == state(page, "map.candidates")
    chosen = state(page, f"routes.{seen['route']}.steps[{seen['step']}]")
    assert seen["candidates"]["best"] == seen["candidate"] == chosen["candidate"]
    assert f"τ = {chosen['horizon']}" in page.text_content("#reading")
    page.select_option("#plannerB", "beta")
    page.wait_for_function("cogmap.state.routes.B?.planner.startsWith('beta=')")
    page.wait_for_function("cogmap.state.routes.B?.outcome && !cogmap.state.planning")


def test_the_embedding_is_linked_with_the_maze_by_the_pointer(server, visit):
    page = visit(server.url)
    page.check("#show-embedding")
    page.wait_for_function("cogmap.state.embedding")
    page.mouse.move(*pixel(page, (4, 8)))
    page.wait_for_function("cogmap.state.hover")
    assert state(page, "map.points")[state(page, "hover.state")] == [4, 8]
    page.check("#show-difference")
    page.wait_for_function("cogmap.state.fields.exact")
    settle(page)


def test_the_keyboard_alone_moves_plays_plans_and_inspects(server, visit):
    page = visit(server.url)
    for _ in range(40):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.id") == "canvas":
            break
    assert page.evaluate("document.activeElement.matches('#canvas:focus-visible')")
    goal = state(page, "goal")
    page.keyboard.press("ArrowLeft")
    assert state(page, "goal") == [goal[0] - 1, goal[1]]
    page.wait_for_timeout(400)
    rested(page)
    octave = state(page, "octave")
    page.keyboard.press("[")
    assert state(page, "octave") == octave - 1
    page.keyboard.press("Space")
    assert state(page, "playing")
    page.keyboard.press("Space")
    page.keyboard.press("Enter")
    page.wait_for_function("cogmap.state.planning")
    rested(page)
    page.keyboard.press(".")
    step = state(page, "inspected.step")
    page.keyboard.press("ArrowRight")
    assert state(page, "inspected.step") == step + 1
    page.wait_for_function("cogmap.state.inspected.candidates")
    candidate = state(page, "inspected.candidate")
    page.keyboard.press("ArrowUp")
    assert state(page, "inspected.candidate") == (candidate + 1) % state(page, "map.candidates")
    page.keyboard.press("Escape")
    assert state(page, "inspected") is None


def test_a_drawn_maze_is_trained_and_can_be_planned_in(server, visit):
    page = visit(server.url, ready=MAP, forgiven=["422"])
    page.click("#draw")
    page.fill("#columns", "16")
    page.fill("#rows", "16")
    page.click("#clear")
    page.click("#train")
    page.wait_for_function("document.getElementById('status').textContent.includes('states')")
    assert state(page, "mode") == "draw"  # too large, and told so
    page.fill("#columns", "5")
    page.fill("#rows", "4")
    page.keyboard.press("Tab")
    page.focus("#canvas")
    rows = state(page, "editor.rows")
    assert rows == ["#####", "#...#", "#...#", "#####"]
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Space")
    assert state(page, "editor.rows")[1] == "#.#.#"
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Space")
    page.click("#train")
    assert "2 parts" in page.inner_text("#status")  # a wall from side to side
    page.focus("#canvas")
    for key in ("Space", "ArrowDown", "Space"):
        page.keyboard.press(key)
    assert state(page, "editor.rows") == rows
    page.click("#train")
    page.wait_for_function("cogmap.state.mode === 'training'")
    page.wait_for_function("cogmap.state.mode === 'map'", timeout=60_000)
    page.wait_for_function(ROUTE)
    assert state(page, "map.rows") == rows
    assert len(page.query_selector_all("#map option")) == 2


def test_nothing_overflows_sideways_on_a_phone_and_the_canvas_is_sharp(server, visit):
    phone = {"viewport": PHONE, "has_touch": True, "is_mobile": True, "device_scale_factor": 3}
    page = visit(server.url, ready=MAP, **phone)
    page.check("#compare")
    page.check("#show-embedding")
    page.check("#show-difference")
    page.wait_for_function("cogmap.state.embedding")
    settle(page)
    assert sideways(page) == 0
    assert page.evaluate("document.getElementById('canvas').width") == 3 * page.evaluate(
        "document.getElementById('canvas').clientWidth"
    )
    page.tap("#draw")
    settle(page)
    assert sideways(page) == 0


def test_dark_and_light_follow_the_system_and_the_button(server, visit):
    page = visit(server.url, ready=MAP, color_scheme="dark", reduced_motion="reduce")
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    assert state(page, "calm")
    dark = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.click("#theme")
    assert page.evaluate("document.documentElement.dataset.theme") == "light"
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != dark


def test_a_server_that_stops_is_told_and_the_page_recovers(visit, tmp_path):
    first = serve(tmp_path / "drawn")
    page = visit(first.url, forgiven=["ERR_", "Failed to load"])
    first.stop()
    page.fill("#horizon", "2")
    page.wait_for_selector("#banner:not([hidden])")
    assert "cogmap serve" in page.inner_text("#banner")
    again = serve(tmp_path / "drawn", port=first.port)
    try:
        page.wait_for_selector("#banner", state="hidden")
        page.wait_for_function(ROUTE)
        assert state(page, "octave") == 2
    finally:
        again.stop()


def test_a_report_opens_from_disk_without_a_server(visit, tmp_path):
    pairs = [{"start": [0, 0], "goal": [8, 8]}, {"start": [36, 24], "goal": [24, 16]}]
    (tmp_path / "pairs.json").write_text(json.dumps(pairs))
    file = tmp_path / "report.html"
    arguments = ["report", str(LARGE), "--html", str(file), "--budget", "400"]
    assert main([*arguments, "--tasks", str(tmp_path / "pairs.json")]) == 0
    page = visit(file.as_uri())
    assert state(page, "goal") == [8, 8] and state(page, "routes.A.outcome.success")
    page.wait_for_function("cogmap.state.inspected?.candidates")
    seen = state(page, "inspected")
    progress = seen["candidates"]["candidates"][seen["candidate"]]["progress"]
    argued = seen["candidates"]["taus"][int(np.argmax(progress))]
    assert argued == state(page, f"routes.A.steps[{seen['step']}].horizon")
    asked = f"{seen['candidates']['taus'][0]} to {seen['candidates']['taus'][-1]} asked"
    assert f"τ = {argued}, of {asked}" in page.text_content("#reading")
    first = state(page, "fields.learned.values")
    page.select_option("#route", "1")
    page.wait_for_function("cogmap.state.fields.learned.goal[0] === 24")
    assert state(page, "fields.learned.values") != first
    page.mouse.click(*pixel(page, (7, 8)))
    assert state(page, "goal") == [8, 8]
    page.set_viewport_size(PHONE)
    settle(page)
    assert sideways(page) == 0


def test_a_run_that_learned_from_pictures_shows_what_it_sees(visit, tmp_path):
    server = serve(tmp_path, run=ROOT / "models/pointmaze-large-image")
    try:
        page = visit(server.url, ready=MAP)
        loaded = (
            "[...document.querySelectorAll('#pictures img')].every((o) => o.naturalWidth === 64)"
        )
        page.wait_for_function(loaded)
        assert page.is_visible("#pictures")
        here, goal = page.eval_on_selector_all("#pictures img", "(all) => all.map((o) => o.src)")
        assert here != goal and "/picture?" in here
        page.close()  # before the server, which is still planning
    finally:
        server.stop()


def test_a_run_from_positions_shows_no_pictures(server, visit):
    assert not visit(server.url, ready=MAP).is_visible("#pictures")


LENGTHS = ["low", "high", "cell", "unit", "agent_radius", "goal_radius", "points", "start", "goal"]
LENGTHS += ["places", "at", "to", "left", "outcome", "length", "shortest"]


def scaled(message, factor):
    """A message of the server with every length in it times a factor."""

    def times(value):
        return [times(part) for part in value] if isinstance(value, list) else factor * value

    if isinstance(message, list):
        return [scaled(part, factor) for part in message]
    if not isinstance(message, dict):
        return message
    return {
        name: times(value) if name in LENGTHS else scaled(value, factor)
        for name, value in message.items()
    }


def stand_between(page, *, factor, changed, asked):
    """Lets the page see a world in which every length is times a factor, and other constants."""

    def pass_on(route):
        request = route.request
        url, _, query = request.url.partition("?")
        given = dict(part.split("=") for part in query.split("&")) if query else {}
        for axis in {"x", "y"} & set(given):
            given[axis] = str(float(given[axis]) / factor)
        body = request.post_data_json and scaled(request.post_data_json, 1 / factor)
        asked.append((url, body))
        query = "&".join(f"{name}={value}" for name, value in given.items())
        answer = route.fetch(url=f"{url}?{query}", post_data=body and json.dumps(body))
        lines = [scaled(json.loads(line), factor) for line in answer.text().splitlines()]
        if url.endswith("/api/maps/run"):
            lines[0] |= changed
        route.fulfill(response=answer, body="\n".join(map(json.dumps, lines)))

    page.route("**/api/maps/run**", pass_on)


def test_the_page_takes_every_constant_of_the_maze_from_the_map(server, visit):
    asked: list[tuple[str, dict]] = []
    changed = {"candidates": 11, "longest_past": 4, "drawing": {"smallest": 5, "largest": 7}}
    plain = visit(server.url)
    other = visit(
        server.url,
        prepare=lambda page: stand_between(page, factor=3, changed=changed, asked=asked),
    )
    assert state(other, "map.cell") == 3 * state(plain, "map.cell")
    shades = {}
    for page in (plain, other):
        page.uncheck("#show-exact")
        page.wait_for_function("cogmap.state.inspected?.candidates")
        page.focus("#canvas")
        page.keyboard.press("Escape")
        page.keyboard.press("ArrowLeft")  # one lattice point
        page.wait_for_function(f"!cogmap.state.routes.A || {ROUTE}")
        rested(page)
        page.wait_for_function("`${cogmap.state.fields.learned.goal}` === `${cogmap.state.goal}`")
        page.keyboard.press("Escape")
        settle(page)
        points = state(page, "map.points")
        shades[page] = np.array([shade(page, point) for point in points[::9]])
    assert state(other, "goal") == [3 * v for v in state(plain, "goal")]
    assert np.abs(shades[plain] - shades[other]).max() <= 3  # the same picture
    steps = [np.array([step["at"] for step in state(p, "routes.A.steps")]) for p in (plain, other)]
    assert np.allclose(3 * steps[0], steps[1])

    for x, y in ((17.6, 1), (4, -1.6), (8.3, 0.2)):  # in a wall, touching one, free
        plain.mouse.click(*pixel(plain, (x, y)))
        other.mouse.click(*pixel(other, (3 * x, 3 * y)))
        assert state(other, "goal") == pytest.approx([3 * v for v in state(plain, "goal")])
        rested(plain)
        rested(other)

    other.wait_for_function("cogmap.state.inspected?.candidates")
    for _ in range(6):
        other.keyboard.press(".")
    other.wait_for_function("cogmap.state.inspected?.candidates")
    assert max(len(body["places"]) for url, body in asked if url.endswith("inspect")) == 4
    texts = other.evaluate(
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
    assert "What the planner saw: 11 candidates by value V" in texts
    other.click("#draw")
    other.fill("#columns", "30")
    other.fill("#rows", "1")
    other.keyboard.press("Tab")
    rows = state(other, "editor.rows")
    assert (len(rows[0]), len(rows)) == (7, 5)
    assert other.get_attribute("#columns", "max") == "7"


def test_the_report_takes_the_scale_of_its_scores_from_the_record(visit, tmp_path):
    (tmp_path / "pairs.json").write_text(json.dumps([{"start": [0, 0], "goal": [4, 0]}]))
    file = tmp_path / "report.html"
    arguments = ["report", str(LARGE), "--html", str(file), "--budget", "40"]
    assert main([*arguments, "--tasks", str(tmp_path / "pairs.json")]) == 0
    text = file.read_text()
    other = tmp_path / "other.html"
    other.write_text(text.replace('"steps_per_nat": 1000', '"steps_per_nat": 500'))
    first, second = (visit(one.as_uri()) for one in (file, other))
    values = np.array(state(first, "fields.learned.values"))
    assert np.allclose(2 * values, state(second, "fields.learned.values"))
