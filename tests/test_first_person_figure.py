"""Fig. 3 of runs in buildings: the route on the plan, views beside it, and the commands."""

from __future__ import annotations

from types import SimpleNamespace

import matplotlib
import numpy as np
import pytest
from matplotlib.colors import LogNorm
from navmeshes import two_rooms_scene

from cogmap.cli import main
from cogmap.envs import continuous, maze_scene
from cogmap.envs.continuous import DIRECTIONS, NEAR, Continuous, directions
from cogmap.envs.egocentric import BACKWARD, FORWARD, LEFT, Building
from cogmap.envs.floor_plan import floor_plan
from cogmap.envs.maze import Maze
from cogmap.envs.maze_scene import MazeScene
from cogmap.envs.turning import MOVES
from cogmap.envs.world import Task
from cogmap.evaluation.rollout import Episode, Restless, run_episodes
from cogmap.report import canvas
from cogmap.report.figures import first_person as drawn
from cogmap.report.figures.beside import places_beside
from cogmap.report.routes import COLOURS

pytest.importorskip("embreex")
matplotlib.use("Agg")
CORNER = "####\n#..#\n##.#\n####"
LABEL = "two rooms, made up"
TASK = Task("t", (1.0, 1.0, 9.0), (4.0, 1.0, 3.0))


@pytest.fixture(scope="module")
def scene(tmp_path_factory):
    return two_rooms_scene(tmp_path_factory.mktemp("scene"))


@pytest.fixture
def axes():
    figure, grid = canvas.panels(1, 1, (4, 3))
    yield grid[0][0]
    canvas.pyplot().close(figure)


class Told(Restless):
    """Does one thing after the other; its horizons are 64, 63, ..."""

    hold = 1

    def __init__(self, actions):
        self.actions, self.done = actions, 0

    def act(self, episodes, observations, goals):
        action = self.actions[self.done % len(self.actions)]
        self.done += 1
        return action[None], [SimpleNamespace(horizon=65 - self.done)]


def walked(world, actions, budget: int, task: Task = TASK) -> Episode:
    [episode] = run_episodes(world, [task], Told(actions), budget=budget)
    return episode


def on_lattice(scene, budget: int = 24) -> tuple[Building, Episode]:
    """A heading of 9 is along +x, towards the goal; the first move turns away from it."""
    world = Building(scene, pixels=16)
    moves = np.eye(len(MOVES), dtype=np.float32)
    return world, walked(world, moves[[LEFT, BACKWARD, FORWARD]], budget)


def texts(figure) -> list[str]:
    found = [figure.get_suptitle()]
    for axes in figure.axes:
        found += [axes.get_xlabel(), axes.get_ylabel(), *(text.get_text() for text in axes.texts)]
    return found


def number_of(axes, text: str) -> np.ndarray:
    return np.array(next(each for each in axes.texts if each.get_text() == text).xy)


def test_an_episode_keeps_which_way_it_looked_at_each_place(scene):
    _, episode = on_lattice(scene, budget=4)
    assert len(episode.headings) == len(episode.route) == 5
    np.testing.assert_allclose(np.degrees(episode.headings), [270, 300, 300, 300, 330])
    world = Continuous.of(Building(scene, pixels=16))
    off = walked(world, directions()[[27, 0]], 2)
    np.testing.assert_allclose(np.mod(np.degrees(off.headings), 360), [270, 270, 0], atol=1e-4)


def test_views_are_those_of_evenly_spaced_decisions_with_their_horizons(scene):
    world, episode = on_lattice(scene)
    found = drawn.sights(world.scene, episode)
    assert [sight.number for sight in found] == list(range(1, 11))
    decisions = [sight.decision for sight in found]
    assert decisions[0] == 0 and decisions[-1] == 23 and set(np.diff(decisions)) <= {2, 3}
    for sight in found:
        assert sight.horizon == 64 - sight.decision
        heading = 9 + 1 + (sight.decision - 1) // 3 if sight.decision else 9
        seen = scene.view(sight.place, np.radians(30 * heading), size=drawn.PIXELS)
        assert drawn.PIXELS > 32 and np.array_equal(sight.view, seen.colour)
    few = drawn.sights(world.scene, on_lattice(scene, budget=3)[1])
    assert [sight.decision for sight in few] == [0, 1, 2]


def test_the_route_lies_on_the_plan_as_seen_from_above_in_the_colours_of_its_horizons(scene, axes):
    world, episode = on_lattice(scene)
    shown = drawn.sights(scene, episode)
    drawn.draw_route(world, episode, shown, axes, tau_max=64)
    axes.get_figure().canvas.draw()
    free, walls, route = axes.collections
    assert len(walls.get_segments()) == len(scene.floor.edges)
    assert len(free.get_paths()) == len(scene.floor.triangles)
    ways = np.array(episode.route) * (1, -1)  # a heading of 0, along -z, looks up
    np.testing.assert_allclose(np.array(route.get_segments())[:, 0], ways[:-1])
    shades = canvas.pyplot().get_cmap(COLOURS)(LogNorm(1, 64)(64 - np.arange(24)))
    np.testing.assert_allclose(route.get_colors(), shades)
    stars = [line for line in axes.lines if line.get_marker() == "*"]
    assert [tuple(star.get_xydata()[0]) for star in stars] == [(4, -1)]
    for sight in shown:
        label = number_of(axes, str(sight.number))
        [leading] = [
            line
            for line in axes.lines
            if len(line.get_xdata()) == 2 and np.allclose(line.get_xydata()[1], label)
        ]
        np.testing.assert_allclose(leading.get_xydata()[0], sight.place * (1, -1))
    looking = [line.get_marker() for line in axes.lines if isinstance(line.get_marker(), tuple)]
    turned = [marker[2] for marker in looking]
    assert turned == pytest.approx([np.degrees(sight.heading) for sight in shown])


def test_numbers_hide_no_other_and_stay_on_the_sheet():
    anchors = np.repeat([[0.1, 0.1], [0.3, 0.1]], 5, axis=0)
    way = np.array([[[0.1, 0.1], [0.9, 0.1]]])
    bounds = np.zeros(2), np.ones(2)
    found = places_beside(anchors, radius=0.03, lines=way, bounds=bounds)
    gaps = np.linalg.norm(found[:, None] - found[None], axis=-1) + np.eye(len(found))
    assert gaps.min() > 2 * 0.03
    assert (found > 0.03).all() and (found < 0.97).all()
    beside = found - np.stack([found[:, 0].clip(0.1, 0.9), np.full(len(found), 0.1)], axis=-1)
    assert np.linalg.norm(beside, axis=-1).min() > 0.03  # nor the way
    # A label alone is as near as it can be.
    [alone] = places_beside(anchors[:1], radius=0.01, lines=way, bounds=bounds)
    assert np.linalg.norm(alone - anchors[0]) == pytest.approx(0.02)


def test_the_sheet_has_ten_views_the_goals_and_the_label(scene):
    world, episode = on_lattice(scene)
    figure = drawn.first_person_sheet(world, episode, tau_max=64)
    said = texts(figure)
    assert said[0].startswith(LABEL) and "did not reach the goal in 24 decisions" in said[0]
    for k, sight in enumerate(drawn.sights(scene, episode), start=1):
        assert f"{k}:  τ = {sight.horizon}" in said
    views = [axes.images[0].get_array() for axes in figure.axes if axes.images]
    assert len(views) == 11
    goal = scene.view(np.array(TASK.goal[:2]), np.radians(90), size=drawn.PIXELS)
    assert np.array_equal(views[-1], goal.colour) and "the goal" in said
    canvas.pyplot().close(figure)


def test_a_goal_of_all_views_is_shown_by_all(scene):
    world = Building(scene, pixels=16)
    tiles = drawn.goal_view(world, Task("t", (), (4.0, 1.0)))
    side = drawn.PIXELS // 4
    assert tiles.shape == (3 * side, 4 * side, 3)
    sixth = scene.view(np.array([4.0, 1.0]), np.radians(150), size=side).colour
    assert np.array_equal(tiles[side : 2 * side, side : 2 * side], sixth)


def test_off_the_lattice_the_goal_and_what_counts_as_there_are_the_protocols(scene, axes):
    world = Continuous.of(Building(scene, pixels=16))
    task = Task("t", (1.0, 1.0, 0.0), (4.1, 1.03, 3.0))
    episode = walked(world, directions()[[27]], DIRECTIONS, task)
    assert episode.success and len(episode.route) == 5
    drawn.draw_route(world, episode, drawn.sights(scene, episode), axes, tau_max=64)
    [star] = [line for line in axes.lines if line.get_marker() == "*"]
    np.testing.assert_allclose(star.get_xydata(), [(4.1, -1.03)])
    circle = next(patch for patch in axes.patches if np.allclose(patch.center, (4.1, -1.03)))
    assert circle.radius == NEAR
    assert drawn.outcome(world, episode).startswith("continuous protocol: reached the goal in 4 ")


def test_a_maze_from_within_has_its_walls_on_the_plan_and_an_agent_without_views_is_told_so():
    scene = MazeScene(Maze.from_text(CORNER, name="corner"))
    plan = floor_plan(scene)
    assert len(plan.free) == 2 * len(scene.cells) and np.array_equal(plan.walls, scene.sides)
    assert len(plan.walls) == 8  # three cells in a row, around a corner
    world = Building(scene, beside="position-alone")
    moves = np.eye(len(MOVES), dtype=np.float32)
    episode = walked(world, moves[[LEFT]], 2, Task("t", (0.0, 0.0, 0.0), (1.0, 1.0, 0.0)))
    figure = drawn.first_person_sheet(world, episode, tau_max=64)
    assert "first-person pointmaze-corner" in texts(figure)[0]
    assert "and not these views" in texts(figure)[0]
    canvas.pyplot().close(figure)


def test_a_policy_that_argues_with_no_horizon_is_drawn_in_ink(scene, axes):
    world, episode = on_lattice(scene, budget=4)
    episode.decisions.clear()
    drawn.draw_route(world, episode, drawn.sights(scene, episode), axes, tau_max=None)
    assert axes.collections[-1].get_array() is None
    assert all(sight.horizon is None for sight in drawn.sights(scene, episode))


def test_the_hardest_goal_that_was_reached_is_the_one_that_is_drawn(scene, monkeypatch):
    def episode(name, success, shortest):
        return Episode(Task(name, (), ()), shortest, success=success)

    some = [episode("near", True, 1.0), episode("far", True, 3.0), episode("missed", False, 9.0)]
    monkeypatch.setattr(drawn, "run_episodes", lambda *_, **__: some)
    planner = SimpleNamespace(rule=SimpleNamespace(horizons=SimpleNamespace(taus=[1, 64])))
    agent = SimpleNamespace(planner=lambda **_: planner)
    chosen, tau_max = drawn.first_episode(agent, Building(scene))
    assert chosen.task.name == "far" and tau_max == 64


def test_the_commands_draw_it(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(continuous, "BUDGET", 4)
    monkeypatch.setattr(maze_scene.MazeTasks, "budget", 4)
    (tmp_path / "corner.txt").write_text(CORNER)
    run, maze = str(tmp_path / "run"), str(tmp_path / "corner.txt")
    few = ["--walk-steps", "3000", "--action-steps", "500", "--tau-max", "64", "--steps", "2"]
    few += ["--batch", "16", "--dynamics.steps", "2", "--width", "32", "--device", "cpu"]
    assert main(["train", "--maze", maze, "--observation", "first-person", "--out", run, *few]) == 0
    for protocol in ("lattice", "continuous"):
        path = tmp_path / f"{protocol}.png"
        ends = ["--start=0,0,3", "--goal=1,1", "--budget", "3", "--protocol", protocol]
        assert main(["plan", run, *ends, "--figure", str(path)]) == 0
        height, width, _ = canvas.pyplot().imread(path).shape
        assert width > 1.5 * height > 500  # the sheet, and no strip of frames
    capsys.readouterr()
    out = tmp_path / "out"
    assert main(["figures", run, "--only", "routes", "--out", str(out)]) == 2
    assert "there are first-person, first-person-continuous." in capsys.readouterr().err
    assert not out.exists()
    names = ["first-person", "first-person-continuous"]
    assert main(["figures", run, "--only", *names, "--out", str(out), "--device", "cpu"]) == 0
    assert {path.name for path in out.iterdir()} == {
        f"{name}.{kind}" for name in names for kind in ("pdf", "png")
    }
