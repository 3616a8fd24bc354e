"""What each figure shows, read back from what was drawn."""

import json
import re
import sys
from pathlib import Path
from types import SimpleNamespace

import matplotlib
import numpy as np
import pytest
import torch
from matplotlib.colors import LogNorm, to_hex

from cogmap.cli import main
from cogmap.envs.maze import AGENT_RADIUS, Maze
from cogmap.envs.pointmaze import PointMaze
from cogmap.envs.tasks import Task
from cogmap.errors import CogmapError
from cogmap.evaluation.rollout import Episode
from cogmap.report import canvas, curves, paper
from cogmap.report.figures import embeddings, exact, fields, journeys, law, measured, two_rooms
from cogmap.report.figures.projections import align, tsne
from cogmap.report.figures.sheets import OF_A_RUN, OF_RESULTS
from cogmap.report.routes import COLOURS, PAIRS, draw_routes
from cogmap.report.studies import PAGES, coverages, data, horizon_panels
from cogmap.reproduce.scale import Scale
from cogmap.reproduce.studies import STUDIES
from cogmap.temporal.train import load_temporal

matplotlib.use("Agg")
ROOT = Path(__file__).parent.parent
LARGE = Maze.load("large")
HALL = Maze.from_text("########\n#......#\n########", name="hall")
ROOMS = "#######\n#..#..#\n#.....#\n#..#..#\n#######\n"
TINY = ["--steps", "4", "--lags", "1", "--batch", "32", "--width", "16", "--embedding", "8"]
TINY += ["--dynamics.steps", "4", "--dynamics.width", "16", "--walk-steps", "3000"]
TINY += ["--action-steps", "400", "--tau-max", "64", "--device", "cpu"]


@pytest.fixture(scope="module")
def model():
    return load_temporal(ROOT / "models/pointmaze-large/temporal")


@pytest.fixture
def axes():
    figure, grid = canvas.panels(1, 1, (3, 3))
    yield grid[0][0]
    canvas.pyplot().close(figure)


def line(axes, marker: str):
    """The first line drawn with a marker."""
    return next(each for each in axes.lines if each.get_marker() == marker)


def episode(route, horizons, *, goal, success=True, name="task1") -> Episode:
    decisions = [SimpleNamespace(horizon=tau) for tau in horizons]
    places = [np.array(place, dtype=float) for place in route]
    task = Task(name, tuple(route[0]), tuple(goal))
    return Episode(task, 1.0, success=success, route=places, decisions=decisions)


# Score fields


def test_a_fields_pixels_are_the_models_scores_and_the_star_sits_at_the_goal(model, axes):
    goal = np.array([12.0, 16.0])
    field = fields.score_fields(model, LARGE, goal, taus=[16])[0]
    fields.draw_field(field, axes)
    image = axes.images[-1]
    assert image.origin == "lower"  # the first row lies at the bottom
    left, right, bottom, top = image.get_extent()
    pixels = image.get_array()
    for x, y in ((0.1, 0.1), (12.0, 16.0), (31.9, 15.9)):
        row = int((y - bottom) / (top - bottom) * pixels.shape[0])
        column = int((x - left) / (right - left) * pixels.shape[1])
        middle = left + fields.PIXEL * (column + 0.5), bottom + fields.PIXEL * (row + 0.5)
        assert abs(middle[0] - x) <= fields.PIXEL and abs(middle[1] - y) <= fields.PIXEL
        here = torch.tensor([middle], dtype=torch.float32)
        there = torch.as_tensor(goal, dtype=torch.float32)
        with torch.no_grad():
            expected = float(model.goal_score(here, there, torch.tensor([16]))[0, 0])
        assert pixels[row, column] == pytest.approx(expected, abs=1e-4)
    assert np.allclose(line(axes, "*").get_xydata(), [goal])


def test_a_field_is_blank_exactly_where_the_agent_cannot_be(model, axes):
    field = fields.score_fields(model, LARGE, np.zeros(2), taus=[16])[0]
    fields.draw_field(field, axes)
    middles = fields.pixel_middles(LARGE)
    free = LARGE.clearance(middles.reshape(-1, 2)) >= AGENT_RADIUS
    assert (np.ma.getmaskarray(axes.images[-1].get_array()).ravel() == ~free).all()


def test_the_short_field_peaks_at_the_goal_and_the_long_one_spreads(model):
    goal = np.array([12.0, 16.0])
    short, long = fields.score_fields(model, LARGE, goal, taus=[16, 512])
    middles = fields.pixel_middles(LARGE)
    peak = middles[np.unravel_index(np.nanargmax(short.score), short.score.shape)]
    assert np.linalg.norm(peak - goal) < 2.5
    assert np.nanmean(short.score > -3) < 0.5 * np.nanmean(long.score > -3)


# Embeddings


def turned(points: np.ndarray, *, mirror: bool) -> np.ndarray:
    angle = 0.7
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    flip = np.diag([1.0, -1.0 if mirror else 1.0])
    return 0.31 * points @ turn @ flip + np.array([100.0, -7.0])


@pytest.mark.parametrize("mirror", [False, True])
def test_procrustes_maps_a_turned_scaled_and_mirrored_copy_back(mirror):
    points = LARGE.lattice.points
    assert np.allclose(align(turned(points, mirror=mirror), points), points)


def test_alignment_in_space_is_rigid_and_keeps_the_third_dimension():
    rng = np.random.default_rng(0)
    points = LARGE.lattice.points[::20]
    height = rng.normal(0, 3, len(points))
    solid = np.column_stack([points, height])
    turn = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    back = align(0.2 * solid @ turn + 5.0, points)

    def distances(places):
        return np.linalg.norm(places[:, None] - places[None], axis=-1)

    ratio = distances(back)[0, 1:] / distances(solid)[0, 1:]
    assert np.ptp(ratio) < 1e-9 and 0.5 < ratio.mean() < 1.2  # one scale for all directions
    assert back[:, 2].std() > 1.0
    assert abs(np.corrcoef(back[:, 0], points[:, 0])[0, 1]) > 0.95


def test_tsne_repeats_itself_and_keeps_clusters_apart():
    rng = np.random.default_rng(0)
    far = np.repeat([[0.0] * 8, [9.0] * 8], 30, axis=0) + rng.normal(0, 0.1, (60, 8))
    one, two = tsne(far, dimensions=2), tsne(far, dimensions=2)
    assert np.array_equal(one, two)
    gap = np.linalg.norm(one[:30].mean(0) - one[30:].mean(0))
    assert gap > 2 * max(one[:30].std(), one[30:].std())


def test_colours_follow_positions_in_the_legend_and_in_every_picture(axes):
    points = LARGE.lattice.points
    colours = embeddings.position_colours(points)
    corner = points.sum(axis=1).argmin()
    assert np.allclose(colours[corner], embeddings.LOW_LEFT, atol=0.02)
    near = np.abs(points - points[corner]).sum(axis=1) <= 2
    assert np.abs(colours[near] - colours[corner]).max() < 0.1
    embeddings.draw_legend(LARGE, axes)
    image = axes.images[-1]
    left, _, bottom, _ = image.get_extent()
    for state in (0, 300, len(points) - 1):
        x, y = points[state]
        drawn = image.get_array()[int(y - bottom), int(x - left)]
        assert np.allclose(drawn, [*colours[state], 1.0])
    assert (image.get_array()[..., 3] > 0).sum() == len(points)
    places = turned(points, mirror=False)
    embeddings.draw_projection(embeddings.Projection(16, places, colours), axes)
    picture = axes.collections[-1]
    assert np.allclose(picture.get_offsets(), places)
    assert np.allclose(picture.get_facecolors()[:, :3], colours)
    assert "16" in axes.get_title()


def test_embeddings_of_a_short_horizon_are_laid_out_as_the_maze_is(model):
    lattice = LARGE.lattice
    (found,) = embeddings.projections(model, lattice, taus=[16], dimensions=2)
    gaps = np.linalg.norm(found.places[lattice.successors[:, 1:]] - found.places[:, None], axis=-1)
    apart = np.linalg.norm(found.places[:, None] - found.places[None], axis=-1)
    assert np.median(gaps[gaps > 0]) < 0.2 * np.median(apart)


def test_clouds_share_their_camera_and_scale():
    plt = canvas.pyplot()
    lattice = HALL.lattice
    colours = embeddings.position_colours(lattice.points)
    solids = [
        np.column_stack([lattice.points * k, np.arange(len(lattice)) * 0.1 * k]) for k in (1, 2)
    ]
    found = [embeddings.Projection(k, solid, colours) for k, solid in enumerate(solids)]
    sides = embeddings.shared_sides(found)
    figure = plt.figure()
    drawn = []
    for k, projection in enumerate(found, start=1):
        axes = figure.add_subplot(1, 2, k, projection="3d")
        drawn.append(embeddings.draw_cloud(projection, lattice.successors, axes, sides=sides))
    one, two = drawn
    for name in ("elev", "azim"):
        assert getattr(one, name) == getattr(two, name) == embeddings.CAMERA[name]
    for limits in ("get_xlim", "get_ylim", "get_zlim"):
        assert getattr(one, limits)() == getattr(two, limits)()
    x, y, z = two.collections[-1]._offsets3d
    assert np.allclose(np.column_stack([x, y, z]), solids[1])
    plt.close(figure)


# Routes


def test_a_routes_colours_are_the_horizons_of_its_decisions(axes):
    one = episode([(0, 0), (1, 0), (2, 0)], [64, 8], goal=(3, 0))
    two = episode([(8, 0), (7, 0)], [512], goal=(6, 0))
    draw_routes(HALL, [one, two], axes, tau_max=512)
    assert [c.get_array().tolist() for c in axes.collections] == [[64, 8], [512]]
    assert axes.collections[0].get_segments()[1].tolist() == [[1, 0], [2, 0]]
    axes.get_figure().canvas.draw()  # colours are those of the map, and not one for all
    shades = canvas.pyplot().get_cmap(COLOURS)(LogNorm(1, 512)([64, 8]))
    np.testing.assert_allclose(axes.collections[0].get_colors(), shades)
    marks = [mark for mark in axes.lines if mark.get_marker() in "o*"]
    assert [tuple(mark.get_xydata()[0]) for mark in marks] == [(0, 0), (3, 0), (8, 0), (6, 0)]
    fills = [to_hex(mark.get_markerfacecolor()) for mark in marks]
    assert fills == [PAIRS[0], PAIRS[0], PAIRS[1], PAIRS[1]]


def test_a_title_counts_the_routes_that_arrived():
    some = [
        episode([(0, 0), (1, 0)], [8], goal=(2, 0), name=f"task{k}", success=k == 1)
        for k in (1, 2, 3)
    ]
    journey = journeys.Journey("the paper's GP", 512, some)
    assert journey.title == "the paper's GP, tau up to 512: reached 1 of 3"
    drawn = journey.only(journeys.drawn_tasks("large"))
    assert [e.task.name for e in drawn.episodes] == ["task1", "task3"]
    assert drawn.title.endswith("reached 1 of 2")
    assert len(journey.only(journeys.drawn_tasks("mine")).episodes) == 2


# The law


def test_the_laws_line_is_three_eighths_of_the_distance_squared(axes):
    assert law.free_space_law(np.array([10.0]))[0] == pytest.approx(37.5)
    found = law.Arguments(
        "the paper's GP", np.array([1.0, 40.0]), np.array([2, 512]), np.array([True, False])
    )
    law.draw_law(found, axes, tau_max=512)
    r, tau = next(each for each in axes.lines if each.get_linestyle() == "--").get_data()
    assert np.interp(10.0, r, tau) == pytest.approx(37.5, rel=0.01)
    assert r[0] == 1.0 and r[-1] == 40.0
    arrived, missed = (c.get_offsets().tolist() for c in axes.collections)
    assert arrived == [[1.0, 2.0]] and missed == [[40.0, 512.0]]


def test_distances_are_ways_around_walls():
    world = PointMaze(Maze.from_text(ROOMS, name="rooms"), physics="kinematic")
    # Straight through the middle wall it would be 8 units; the doorway is one row up.
    path = [(0.0, 0.0), (0.0, 1.0), (8.0, 4.0)]
    found = law.arguments("the paper's GP", world.map, [episode(path, [64, 32], goal=(12.0, 0.0))])
    assert found.horizon.tolist() == [64, 32]
    assert found.distance[0] > found.distance[1] > 12.0
    hall = PointMaze(HALL, physics="kinematic")
    straight = law.arguments(
        "the paper's GP", hall.map, [episode([(0, 0), (1, 0)], [8], goal=(9, 0))]
    )
    assert straight.distance.tolist() == [9.0]


def test_the_exact_score_decides_again_at_every_place_of_the_route(axes):
    class Ruler:
        """Its horizon is the distance to the goal."""

        def decide_many(self, places, goals):
            gaps = np.abs(places - goals).sum(axis=1)
            return [SimpleNamespace(horizon=int(gap)) for gap in gaps]

    route = [(x, 0) for x in range(20)]
    world = PointMaze(HALL, physics="kinematic")
    whole = episode(route, range(19), goal=(20, 0))
    found = law.arguments("the paper's GP", world.map, [whole, whole], exact=Ruler())
    assert found.exact.tolist() == [*range(20, 1, -1)] * 2
    assert np.allclose(found.distance, found.exact)
    law.draw_law(found, axes, tau_max=64)
    distance, horizon = line(axes, "x").get_data()
    assert np.allclose(distance, horizon, rtol=0.2)


def test_medians_lie_at_the_middle_of_their_decisions():
    distance = np.repeat([1.1, 30.0], 5)
    places, horizons = law.medians(distance, np.repeat([2, 512], 5))
    assert horizons.tolist() == [2, 512] and places[0] < 2 < places[1]


# Learned against exact


def test_every_pair_that_the_walk_can_join_is_compared_and_counted(model, axes):
    (found,) = exact.compare(model, LARGE.lattice, taus=[256], goals=5)
    assert len(found.exact) == len(found.learned) <= 5 * len(LARGE.lattice)
    assert found.log_error < 0.45 and np.corrcoef(found.exact, found.learned)[0, 1] > 0.98
    exact.draw_comparison(found, axes)
    seen = (found.exact >= exact.DEEPEST) & (found.learned >= exact.DEEPEST)
    assert axes.collections[0].get_array().sum() == seen.sum()
    x, y = axes.lines[0].get_data()
    assert np.array_equal(x, y) and x[0] <= found.exact[seen].min()
    assert f"{found.log_error:.2f} nat" in axes.get_title()


def test_a_perfect_fit_lies_on_the_diagonal(axes):
    values = np.linspace(-3, 2, 200)
    exact.draw_comparison(exact.Comparison(16, values, values, 0.0), axes)
    places = axes.collections[0].get_offsets()
    assert np.abs(places[:, 0] - places[:, 1]).max() < 0.2


def test_what_is_learned_lies_upwards(axes):
    values = np.linspace(-3, 2, 200)
    exact.draw_comparison(exact.Comparison(16, values, values + 1.0, 1.0), axes)
    places = axes.collections[0].get_offsets()
    assert np.allclose(places[:, 1] - places[:, 0], 1.0, atol=0.2)


# Two rooms


@pytest.fixture(scope="module")
def rooms():
    return two_rooms.TwoRooms.build()


def test_the_two_rooms_are_drawn_with_the_exact_score_and_the_goal(rooms, axes):
    two_rooms.draw_score(rooms, 256, axes)
    goal = rooms.maze.lattice.points[rooms.goal]
    assert np.allclose(line(axes, "*").get_xydata(), [goal])
    image = axes.images[-1]
    left, _, bottom, _ = image.get_extent()
    power = rooms.walk.power(256)[:, rooms.goal] * len(rooms.maze.lattice)
    for state in (0, rooms.goal, len(power) - 1):
        x, y = rooms.maze.lattice.points[state]
        drawn = image.get_array()[int(y - bottom), int(x - left)]
        assert drawn == pytest.approx(np.log(power[state]), abs=1e-6)


def test_the_difference_between_rooms_outlives_the_one_inside_a_room(rooms, axes):
    two_rooms.draw_contrasts(rooms, axes)
    inside, between, slow = (each.get_ydata() for each in axes.lines)
    taus = axes.lines[0].get_xdata()
    assert inside[0] > between[0] and (between > 2 * inside)[taus >= 1024].all()
    late = taus >= 2048
    assert np.allclose(between[late], slow[late], rtol=0.02)


def test_the_slow_mode_has_one_sign_a_room(rooms, axes):
    two_rooms.draw_slow_mode(rooms, axes)
    mode = rooms.walk.spectrum[1][:, 1] * np.sign(rooms.walk.spectrum[1][rooms.goal, 1])
    assert (mode[rooms.left] > 0).mean() > 0.98 and (mode[~rooms.left] < 0).mean() > 0.98
    drawn = axes.images[-1].get_array().compressed()
    assert np.allclose(np.sort(drawn), np.sort(mode))


# Measured rows


def row(maze: str, variant: str, seed: int, planner: str, sr: float, **more) -> dict:
    model = {"world": f"pointmaze-{maze}", "variant": variant, "train_seed": seed}
    return model | {"planner": planner, "sr": sr, "episodes": 20} | more


def test_success_is_drawn_at_the_mean_of_its_seeds(axes):
    rows = [row("large", "ours", s, "gp", sr, tau_max=64) for s, sr in enumerate((0.5, 0.7))]
    rows += [row("large", "ours", 0, "gp", 1.0, tau_max=128)]
    panels = horizon_panels(rows)
    curves.draw_success(panels["Large"], axes, title="Large", x="tau_max")
    x, y = axes.lines[0].get_data()
    assert x.tolist() == [64, 128] and np.allclose(y, [0.6, 1.0])
    assert len(axes.lines) == 1  # planners without rows are not drawn


def test_the_data_figure_shows_our_rates_beside_the_papers(axes):
    rows = [row("giant", "0.4M", s, "gp", sr) for s, sr in enumerate((0.9, 1.0))]
    points = measured.data_points(rows, "giant")
    names = [name for name in paper.DATA for name in coverages(name)]
    assert [point.name for point in points] == names and "c=0.75-scattered" in names
    measured.draw_data(points, axes, title="Giant")
    ours, gp, pap = (line(axes, marker).get_xydata() for marker in "os^")
    assert ours.shape == (1, 2) and np.allclose(
        ours, [[0.95, 1.0]]
    )  # only the second row of the table is measured
    assert points[1].seeds == 2 and points[0].ours is None
    reported = [paper.DATA[name.removesuffix("-scattered")]["giant"] for name in names]
    assert np.allclose(np.stack([gp[:, 0], pap[:, 0]], axis=1), reported)


def test_the_rows_of_the_data_study_are_those_of_its_table():
    jobs = STUDIES["data"](Scale())
    studied = {job.about["variant"] for job in jobs}
    shown = {reading for name in paper.DATA for reading in coverages(name)}
    assert studied == shown - {"4M", "c=1"} | {"ours"}
    asked = {job.about["variant"] for job in jobs if job.arguments.get("ends")}
    assert asked == {name for name in shown if name.startswith("c=0")}


def test_the_table_of_data_tells_success_where_both_ends_were_explored(tmp_path):
    made = {"hardware": "2 CPU cores", "command": "cogmap reproduce data", "minutes": 1.0}
    ends = [(5, 0.8), (15, 1.0), (0, None)]
    rows = [
        row("large", "c=0.75-scattered", s, "gp", 0.5, spl=0.4, cell=s, **made)
        | {"explored": count, "explored_sr": sr}
        for s, (count, sr) in enumerate(ends)
    ]
    rows += [row("large", "c=0.50", 0, "gp", 0.5, spl=0.4, cell="x", **made)]
    rows += [row("giant", "c=0.25", 0, "gp", 0.0, spl=0.0, cell="y", explored=0, **made)]
    lines = {line.split(" | ")[0]: line.split(" | ") for line in data(rows, tmp_path)}
    line = lines["| c=0.75-scattered"]
    assert line[1].startswith("0.50 / 0.40") and line[2] == "0.95 (20)"
    assert line[3] == "0.56 / 0.59" and line[4:6] == ["-", "-"]
    assert lines["| c=0.50"][2] == "-"  # measured, but nobody asked
    assert lines["| c=0.25"][5] == "none"


# The command


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("figures")
    (folder / "rooms.txt").write_text(ROOMS)
    maze, out = str(folder / "rooms.txt"), str(folder / "run")
    assert main(["train", "--maze", maze, "--out", out, *TINY]) == 0
    return out


def refused(capsys, arguments: list[str], *words: str) -> None:
    capsys.readouterr()
    assert main(["figures", *arguments]) == 2
    errors = capsys.readouterr().err.strip().splitlines()
    assert len(errors) == 1 and errors[0].startswith("cogmap: "), errors
    for word in words:
        assert word in errors[0], errors[0]


def test_all_figures_of_a_maze_of_ones_own_from_one_command(run, tmp_path, monkeypatch):
    monkeypatch.setattr(journeys, "TASKS", 1)
    monkeypatch.setattr(embeddings, "TAUS", (16,))
    monkeypatch.setattr(embeddings, "TAUS_3D", (16,))
    out = tmp_path / "out"
    arguments = ["figures", run, "--out", str(out), "--results", str(ROOT / "results")]
    assert main([*arguments, "--physics", "kinematic", "--device", "cpu"]) == 0
    lacking = {name for name in PAGES if not (ROOT / f"results/{name}.jsonl").exists()}
    drawn = [*OF_A_RUN, *(name for name in OF_RESULTS if name not in lacking)]
    names = {f"{name}.{kind}" for name in drawn for kind in ("pdf", "png")}
    assert {path.name for path in out.iterdir()} == names
    assert all(path.stat().st_size > 5000 for path in out.iterdir())


def test_figures_without_rows_are_left_out_unless_they_are_asked_for(tmp_path, capsys):
    arguments = ["--out", str(tmp_path / "out"), "--results", str(tmp_path)]
    assert main(["figures", *arguments]) == 0
    text = capsys.readouterr().out
    for name in ("horizons", "data"):
        assert f"{name}: left out" in text and f"`cogmap reproduce {name}` makes them" in text
    assert {path.name for path in (tmp_path / "out").iterdir()} == {
        "two-rooms.pdf",
        "two-rooms.png",
    }
    refused(capsys, [*arguments, "--only", "data"], "data.jsonl", "cogmap reproduce data")
    (tmp_path / "data.jsonl").write_text(json.dumps({"cell": "x"}) + "\n{\n")
    refused(capsys, [*arguments, "--only", "data"], "line 2")


def test_wrong_inputs_are_named_in_one_line(run, tmp_path, capsys, monkeypatch):
    out = ["--out", str(tmp_path / "out")]
    refused(capsys, [str(tmp_path / "none"), *out], "none", "cogmap train")
    refused(capsys, [*out, "--only", "law"], "law", "cogmap train")
    refused(capsys, [run, "--out", "/proc/cogmap", "--only", "two-rooms"], "/proc/cogmap")
    monkeypatch.setitem(sys.modules, "sklearn", None)
    refused(capsys, [run, *out, "--only", "embeddings"], "pip install 'cogmap[report]'")
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    refused(capsys, [run, *out], "matplotlib", "pip install 'cogmap[report]'")
    assert not (tmp_path / "out").exists()


def test_a_picture_of_an_unknown_kind_is_refused_and_leaves_nothing(tmp_path):
    figure, _ = canvas.panels(1, 1, (1, 1))
    with pytest.raises(CogmapError, match="cannot write .*picture.xyz"):
        canvas.save(figure, tmp_path / "picture.xyz")
    assert not list(tmp_path.iterdir())


def test_the_same_figure_is_the_same_file(tmp_path):
    for name in ("a.pdf", "b.pdf"):
        figure, grid = canvas.panels(1, 1, (2, 2))
        grid[0][0].plot([0, 1], [1, 0])
        canvas.save(figure, tmp_path / name)
    assert (tmp_path / "a.pdf").read_bytes() == (tmp_path / "b.pdf").read_bytes()


def test_the_page_of_figures_names_files_that_exist_and_are_small():
    page = (ROOT / "docs/figures.md").read_text()
    pictures = re.findall(r"\]\(([\w./-]+\.png)\)", page)
    assert len(pictures) >= len(OF_A_RUN) + len(OF_RESULTS)
    for name in pictures:
        assert (ROOT / "docs" / name).stat().st_size < 250_000, name
