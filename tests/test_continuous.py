"""Off the lattice: walks, walls, what is shown ahead, tasks, and plans by a known score."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from navmeshes import two_rooms_scene

import cogmap
from cogmap.cli import Evaluate, main
from cogmap.commands.worlds import planning_for
from cogmap.envs.continuous import (
    DIRECTIONS,
    NEAR,
    WALK,
    Continuous,
    directions,
    free_paces,
    heading_of,
)
from cogmap.envs.egocentric import ALONE, FORWARD, HEADINGS, Building
from cogmap.envs.kinds import restored
from cogmap.envs.scene import SPACING
from cogmap.envs.world import Task
from cogmap.errors import CogmapError
from cogmap.evaluation.evaluate import floor
from cogmap.evaluation.rollout import PlannerPolicy, run_episodes
from cogmap.planning.objective import rule
from cogmap.planning.planner import Planner
from cogmap.planning.settings import PAPER, Planning
from cogmap.theory.scorer import ExactScorer

EAST = 27  # of the directions: along +x


@pytest.fixture(scope="module")
def scene(tmp_path_factory):
    return two_rooms_scene(tmp_path_factory.mktemp("scene"))


@pytest.fixture(scope="module")
def world(scene):
    return Continuous.of(Building(scene, pixels=16))


def begun(world, start, goal):
    return world.begin([Task("t", start, goal)])


def go(running, direction):
    return running.act(np.array([0]), directions()[[direction]].astype(np.float32), 1)


def test_directions_are_36_and_headings_are_the_ways_one_walks():
    ways = directions()
    assert len(ways) == 36 and np.allclose(ways[0], (0, -1)) and np.allclose(ways[EAST], (1, 0))
    turned = np.cos(heading_of(ways) - 2 * np.pi * np.arange(36) / 36)
    np.testing.assert_allclose(turned, 1)


def test_a_walk_is_as_long_as_asked_and_stops_before_a_wall(scene):
    at = np.array([[1.0, 1.0], [1.6, 0.2], [2.0, 0.2], [1.6, 1.0]])
    east = np.tile([1.0, 0.0], (4, 1))
    # Free; to the wall at x = 2; at it; through the door.
    assert free_paces(scene, at, east).tolist() == [15, 8, 0, 15]
    ways = np.tile(directions(), (9, 1))
    at = np.repeat(np.random.default_rng(0).uniform(0.2, 1.8, (9, 2)), DIRECTIONS, axis=0)
    ends = at + 0.05 * free_paces(scene, at, ways)[:, None] * ways
    assert scene.navigable(ends).all() and scene.clear(at, ends).all()
    full = at + WALK * ways
    assert (np.linalg.norm(ends - full, axis=1)[scene.navigable(full)] < 1e-6).mean() > 0.9


def test_what_is_shown_ahead_is_what_is_seen_after_going_there(world):
    running = begun(world, (1.0, 1.0, 0), (4.0, 1.0, 3))
    shown = running.ahead(np.array([0]))
    assert shown.shape == (1, DIRECTIONS, *world.observation_shape)
    moved = go(running, 5)
    assert moved.length[0] == pytest.approx(WALK) and moved.steps[0] == 1
    assert np.linalg.norm(running.places[0] - (1.0, 1.0)) == pytest.approx(WALK)
    np.testing.assert_array_equal(running.observe(np.array([0]))[0], shown[0, 5])


def test_on_the_lattice_the_same_is_seen_as_there(world):
    states = np.arange(len(world.states))[::131]
    seen = world.seen_at(world.states.places(states), world.states.headings(states))
    np.testing.assert_array_equal(seen, world.observe(states))


def test_success_is_within_30_cm_on_the_way_and_not_through_a_wall(world):
    running = begun(world, (1.0, 1.0, 0), (1.6, 1.0, 3))
    moved = go(running, EAST)  # ends 0.15 m past the goal, and is there before
    assert running.succeeded[0] and moved.length[0] == pytest.approx(0.3)
    assert not begun(world, (1.0, 1.0), (1.35, 1.0, 0)).succeeded[0]
    assert begun(world, (1.0, 1.0), (1.0 + NEAR, 1.0, 0)).succeeded[0]
    assert running.shortest()[0] == pytest.approx(0.0)  # from where it is by now
    assert begun(world, (1.0, 1.0), (4.0, 1.0, 0)).shortest()[0] == pytest.approx(3.0 - NEAR)
    corner = begun(world, (1.95, 0.3), (2.05, 0.5, 0))  # around the corner of the door
    assert not corner.succeeded[0]
    with pytest.raises(CogmapError, match="not on the floor"):
        begun(world, (2.5, 0.0), (1.0, 1.0))


def test_the_far_tasks_go_both_ways_from_three_headings(world):
    tasks = world.tasks(None, seed=3).tasks
    assert [task.start[2] for task in tasks] == [0, 4, 8, 0, 4, 8]
    ends = {(task.start[:2], task.goal[:2]) for task in tasks}
    assert len(ends) == 2 and ends == {(goal, start) for start, goal in ends}
    assert all(0 <= task.goal[2] < HEADINGS for task in tasks)
    assert len(world.tasks("far", episodes=4).tasks) == 24
    assert len(world.tasks("corners", episodes=2).tasks) == 8
    told = Continuous.of(Building(world.scene, start="1,1,3", goal="4.1,1"))
    assert [(t.start, t.goal) for t in told.tasks(None).tasks] == [((1, 1, 3), (4.1, 1))]
    assert told.begin(told.tasks(None).tasks).goals.shape[:2] == (1, HEADINGS)


@pytest.mark.parametrize("settings", [Planning(), PAPER], ids=["ours", "the paper's"])
def test_the_score_of_the_walk_reaches_the_far_pair(scene, settings):
    """Of its places alone: positions are what ReversibleWalk takes."""
    world = Continuous.of(Building(scene, beside=ALONE))
    states = world.states
    there = states.successors.reshape(-1, HEADINGS, 4)[:, :, FORWARD] // HEADINGS
    chosen = rule(settings, tau_max=512)
    cells = np.round(states.points / SPACING).astype(np.int64)
    scorer = ExactScorer(cells, there, torch.as_tensor(chosen.horizons.taus))
    unused = SimpleNamespace(reach=torch.full((2,), 2.0), hold=1)  # nothing is predicted
    offer = world.candidates(settings, radii=(1, 2, 3), hold=1)
    planner = Planner(scorer, unused, chosen, offer, look=lambda places: places / SPACING)
    with pytest.raises(CogmapError, match="looked at"):
        planner.decide(np.zeros(2), np.zeros(2))
    tasks = world.tasks(None)
    episodes = run_episodes(world, tasks.tasks, PlannerPolicy(planner, hold=1), budget=30)
    assert all(episode.success for episode in episodes)
    assert np.mean([episode.efficiency for episode in episodes]) > 0.77
    assert floor(world, world.tasks(None, budget=10)).sr < 0.5


@pytest.mark.parametrize(
    "told, view",
    [({}, 8.0), ({"protocol": "continuous"}, None), ({"protocol": "continuous", "view": 4.0}, 4.0)],
)
def test_every_horizon_is_asked_off_the_lattice_unless_told_otherwise(told, view, tmp_path):
    run = SimpleNamespace(planning=Planning())
    assert planning_for(run, Evaluate(run=tmp_path, **told)).view == view


def test_position_alone_is_two_numbers_that_are_learned_from_and_led_by(scene, tmp_path):
    building = Building(scene, beside=ALONE)
    seen = building.observe(np.arange(24))
    assert building.observation_shape == seen.shape[1:] == (2,)
    assert (seen[:12] == seen[0]).all() and (seen[12] != seen[0]).any()
    settings = cogmap.RunSettings(
        exploration=cogmap.Exploration(walk_steps=20_000, action_steps=2000),
        temporal=cogmap.TemporalTraining(steps=5, tau_max=64, batch=32, width=32),
        dynamics=cogmap.DynamicsTraining(steps=5),
        device="cpu",
    )
    agent = cogmap.train(building, settings, tmp_path / "run")
    assert agent.temporal.config.observation_shape == (2,)
    lattice = cogmap.evaluate(agent, episodes=1, budget=5)
    off = cogmap.evaluate(agent, world=Continuous.of(building), budget=5, tau_max=32)
    assert lattice.summary()["observation"] == "position" and lattice.tasks == "corners"
    row = off.summary()
    assert (row["protocol"], row["candidates"], row["radii"]) == ("continuous", 36, [1])


def test_the_protocol_is_described_and_refused_where_there_is_no_building(capsys, tmp_path):
    told = {"kind": "building", "scene": "my own", "protocol": "continuous"}
    assert restored(told) is None
    run = ["plan", "models/pointmaze-large", "--start", "0,0", "--goal", "8,0"]
    assert main([*run, "--protocol", "continuous"]) == 2
    assert "--protocol continuous is for buildings" in capsys.readouterr().err
