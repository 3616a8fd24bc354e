"""The page and the report of a world without a maze, in a real browser."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("fastapi")
pytest.importorskip("uvicorn")
pytest.importorskip("gymnasium")
pytest.importorskip("playwright.sync_api")

from browsing import PHONE, Server, needs_chromium, painted, pixel, settle, sideways, state
from tiny_runs import trained, trained_on_logs

from cogmap.cli import main
from cogmap.web import sample as samples
from cogmap.web.server import create_app

pytestmark = needs_chromium

ROUTE = "cogmap?.state.route?.outcome && !cogmap.state.planning && cogmap.state.field"
POINTS = "cogmap?.state.points && cogmap.state.field"
SETTLED = """(() => {
  const { state } = globalThis.cogmap;
  const tau = state.world.taus[state.octave];
  const placed = state.route.places ?? state.route;
  return state.points.tau === tau && state.field.tau === tau
    && placed.tau === tau && placed.method === state.method && state.points.method === state.method;
})()"""


@pytest.fixture(scope="module", autouse=True)
def small_samples():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(samples, "SAMPLE", 200)  # t-SNE takes its time
        yield


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("line") / "run"
    return trained(folder, "Line", names=("place",), goal="place>=0.95", start="place<=0.05")


def serve(run, tmp_path_factory):
    return Server(create_app(run, work=tmp_path_factory.mktemp("drawn")))


@pytest.fixture(scope="module")
def server(run, tmp_path_factory):
    running = serve(run, tmp_path_factory)
    yield running
    running.stop()


def shade(page, row):
    """The colour of a point of the sample."""
    return painted(page, "cloud", pixel(page, row))


def viridis(page, share):
    return page.evaluate(
        """async (share) => {
          const { colour } = await import("cogmap/scales.js");
          return colour("viridis", share).match(/[0-9]+/g).map(Number);
        }""",
        share,
    )


def row_at(page, place):
    """A row of the sample at a place of the line."""
    rows = np.array(state(page, "world.rows"))[:, 0]
    return int(np.abs(rows - place).argmin())


def rested(page, ready=ROUTE):
    page.wait_for_function(ready)
    settle(page)


def test_the_page_opens_with_a_route_and_its_frames_and_a_click_sets_another_goal(server, visit):
    page = visit(server.url, ready=ROUTE)
    assert state(page, "route.outcome.success") and len(state(page, "route.steps")) == 10
    assert "Reached the goal in 10 environment steps" in page.inner_text("#status")
    assert page.inner_text("#goal-read") == "Towards place ≥ 0.95"
    assert page.get_attribute("#frame", "src").startswith("data:image/png")
    row = row_at(page, 0.5)
    page.mouse.click(*pixel(page, row))
    page.wait_for_function("cogmap.state.route?.begun?.goal.startsWith('#')")
    rested(page)
    chosen = int(state(page, "goal").removeprefix("#"))
    assert state(page, f"world.rows[{chosen}][0]") == pytest.approx(0.5)
    assert state(page, "route.outcome.observation[0]") == pytest.approx(0.5)


def test_a_typed_goal_leads_there_and_a_wrong_one_says_why_not(server, visit):
    page = visit(server.url, ready=ROUTE, forgiven=["422"])
    page.fill("#goal", "place=0.3")
    page.press("#goal", "Enter")
    page.wait_for_function("cogmap.state.route?.begun?.goal === 'place = 0.3'")
    rested(page)
    assert state(page, "route.outcome.observation[0]") == pytest.approx(0.3)
    page.fill("#goal", "size=3")
    page.press("#goal", "Enter")
    told = "document.getElementById('status').textContent.includes(\"No number is called 'size'\")"
    page.wait_for_function(told)
    assert state(page, "route") is None and state(page, "field") is None
    page.fill("#goal", "place=9")
    page.press("#goal", "Enter")
    page.wait_for_selector("#goal-warning:not([hidden])")
    assert "Nothing in the data is like this goal" in page.inner_text("#goal-warning")
    page.click("#plan")  # it would walk on for a thousand steps
    page.wait_for_function("!cogmap.state.planning")
    assert page.inner_text("#status") == "Stopped." and page.inner_text("#plan") == "Plan"


def test_the_route_follows_its_points_into_another_plane(server, visit):
    page = visit(server.url, ready=ROUTE)
    rested(page, SETTLED)

    def of_the_route():
        return page.evaluate(
            """async () => {
              const { routePoints } = await import("cogmap/world/state.js");
              return routePoints(cogmap.state);
            }"""
        )

    planes = []
    for change in (
        lambda: None,
        lambda: page.fill("#horizon", "1"),
        lambda: page.select_option("#method", "tsne"),
    ):
        change()
        rested(page, SETTLED)
        way, points = np.array(of_the_route()), np.array(state(page, "points.points"))
        assert way.shape == (11, 2)
        near = np.abs(way[:, None] - points[None]).max(-1).min(-1)
        assert near.max() < 0.02  # each step was seen before, and lies where it was
        planes.append(way)
    assert not np.allclose(planes[0], planes[1]) and not np.allclose(planes[1], planes[2])


def test_a_points_colour_is_its_score_or_the_number_that_was_chosen(server, visit):
    page = visit(server.url, ready=ROUTE)
    page.evaluate("cogmap.change({ route: null, field: { ...cogmap.state.field, marks: [] } })")
    settle(page)
    rows, values = state(page, "world.rows"), np.array(state(page, "field.values")).clip(-8)
    chosen = [row_at(page, place) for place in (0.1, 0.4, 0.8)]
    for row in chosen:
        share = (values[row] - values.min()) / (values.max() - values.min())
        assert np.abs(np.array(shade(page, row)) - viridis(page, share)).max() <= 12
    page.select_option("#colour", "0")
    settle(page)
    for row in chosen:
        assert np.abs(np.array(shade(page, row)) - viridis(page, rows[row][0])).max() <= 12


def test_one_can_walk_along_the_route_by_pointer_and_by_keys(server, visit):
    page = visit(server.url, ready=ROUTE, reduced_motion="reduce")  # it plays slowly
    page.focus("#ribbon")
    step = state(page, "step")
    page.keyboard.press("ArrowRight")
    assert state(page, "step") == step + 1
    assert f"{step + 2} of 11" in page.inner_text("#reading")
    first = page.get_attribute("#frame", "src")
    box = page.locator("#ribbon").bounding_box()
    page.mouse.move(box["x"] + box["width"] - 8, box["y"] + 100)
    assert state(page, "step") == 10 and "The end" in page.inner_text("#reading")
    assert page.get_attribute("#frame", "src") != first
    page.mouse.move(5, 5)
    octave = state(page, "octave")
    page.keyboard.press("[")
    assert state(page, "octave") == octave - 1
    page.keyboard.press("Space")
    assert state(page, "playing") and state(page, "step") < 10  # from the start again
    page.keyboard.press("Space")
    seed = state(page, "seed")
    page.click("#again")
    assert state(page, "seed") == seed + 1
    page.wait_for_function("cogmap.state.planning")
    rested(page)


def test_nothing_overflows_on_a_phone_and_dark_is_dark(server, visit):
    phone = {"viewport": PHONE, "has_touch": True, "is_mobile": True, "device_scale_factor": 3}
    page = visit(server.url, ready=ROUTE, color_scheme="dark", **phone)
    assert sideways(page) == 0
    for name in ("cloud", "ribbon", "candidates"):
        wide = page.evaluate(f"document.getElementById('{name}').width")
        assert wide == 3 * page.evaluate(f"document.getElementById('{name}').clientWidth") > 0
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    page.tap("#theme")
    assert page.evaluate("document.documentElement.dataset.theme") == "light"


def test_a_run_that_sees_pictures_shows_the_picture_of_its_goal(visit, tmp_path_factory):
    running = serve(trained(tmp_path_factory.mktemp("shown") / "run", "Shown"), tmp_path_factory)
    try:
        page = visit(running.url, ready=ROUTE)
        page.wait_for_function("document.getElementById('goal-picture').naturalWidth === 32")
        assert not page.is_visible("#start") and page.is_visible("#frame")
        page.mouse.click(*pixel(page, 5))
        page.wait_for_function("cogmap.state.route?.begun?.goal.startsWith('#')")
        rested(page)
        row = state(page, "goal").removeprefix("#")
        page.mouse.move(5, 5)
        assert page.get_attribute("#goal-picture", "src").endswith(f"row={row}")
        page.close()
    finally:
        running.stop()


def test_a_run_from_logs_alone_shows_scores_and_says_why_it_does_not_plan(
    run, visit, tmp_path_factory
):
    logs = trained_on_logs(tmp_path_factory.mktemp("logs") / "run", run / "data")
    running = serve(logs, tmp_path_factory)
    try:
        page = visit(running.url, ready=POINTS)
        assert page.is_visible("#no-world")
        assert not page.is_visible("#plan") and not page.is_visible("#ribbon")
        before = state(page, "field.values")
        page.fill("#goal", "x0<=0.1")
        page.press("#goal", "Enter")
        page.wait_for_function("cogmap.state.field?.goal === 'x0 in -inf..0.1'")
        assert page.inner_text("#goal-read") == "Towards x0 ≤ 0.1"
        assert state(page, "field.values") != before
        page.close()
    finally:
        running.stop()


def test_a_server_that_stops_is_told(run, visit, tmp_path_factory):
    running = serve(run, tmp_path_factory)
    page = visit(running.url, ready=ROUTE, forgiven=["ERR_", "Failed to load"])
    running.stop()
    page.fill("#horizon", "0")
    page.wait_for_selector("#banner:not([hidden])")
    assert "cogmap serve" in page.inner_text("#banner")


@pytest.fixture(scope="module")
def report(run, tmp_path_factory):
    file = tmp_path_factory.mktemp("report") / "report.html"
    flags = ["--goal", "place>=0.65", "--start", "place<=0.35", "--episodes", "3", "--stay", "True"]
    assert main(["report", str(run), "--html", str(file), *flags, "--budget", "15"]) == 0
    return file


def test_a_report_opens_from_disk_and_another_episode_can_be_chosen(report, visit):
    page = visit(report.as_uri(), ready=ROUTE)
    assert state(page, "route.outcome.success") and state(page, "field.values")
    assert page.inner_text("#goal-read") == "Towards place>=0.65"
    assert page.get_attribute("#frame", "src").startswith("data:image/png")
    assert "and was there for 100 % of the time since" in page.inner_text("#status")
    for k, way in enumerate((lambda: None, lambda: page.click("#next"))):
        way()
        rested(page)
        assert state(page, "task") == k and page.input_value("#route") == str(k)
        assert page.locator("tr.shown").get_attribute("data-route") == str(k)
    first = state(page, "route.steps[0].observation")
    page.click("tr[data-route='2'] button")
    rested(page)
    assert state(page, "task") == 2
    seen = [state(page, "route.steps[0].observation"), first]
    assert all(observation[0] <= 0.35 for observation in seen)
    page.fill("#horizon", "0")
    rested(page, SETTLED)
    way = state(page, "route.places.points")
    assert state(page, "points.tau") == 1 and len(way) == len(state(page, "route.steps")) + 1
    painted = "[...document.querySelectorAll('canvas')].every((one) => one.width > 100)"
    assert page.evaluate(painted) and page.is_visible("#loss")
    page.set_viewport_size(PHONE)
    settle(page)
    assert sideways(page) == 0


def test_a_report_of_logs_chooses_the_goal_next_to_a_click(run, visit, tmp_path):
    logs, file = trained_on_logs(tmp_path / "logs", run / "data"), tmp_path / "report.html"
    assert main(["report", str(logs), "--html", str(file)]) == 0
    page = visit(file.as_uri(), ready=POINTS)
    assert page.is_visible("#no-world")
    settle(page)
    rows = np.array(state(page, "world.rows"))[:, 0]
    marked = page.evaluate("JSON.parse(document.getElementById('record').textContent).routes")
    other = next(k for k, one in enumerate(marked) if rows[one["marks"][0]] != rows[0])
    page.mouse.click(*pixel(page, marked[other]["marks"][0]))
    settle(page)
    chosen = marked[state(page, "task")]
    assert rows[chosen["marks"][0]] == pytest.approx(rows[marked[other]["marks"][0]])
    assert state(page, "field.goal") == chosen["goal"]
