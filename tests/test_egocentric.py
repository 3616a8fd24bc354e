"""A building in the first person: what is seen, walks, tasks, and from training to plans."""

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from navmeshes import two_rooms_scene

import cogmap
from cogmap import pipeline
from cogmap.cli import main
from cogmap.data.mixed import unmixed
from cogmap.envs.egocentric import BACKWARD, FORWARD, HEADINGS, LEFT, Building
from cogmap.envs.turning import LONGEST
from cogmap.envs.world import Task
from cogmap.errors import CogmapError
from cogmap.evaluation.evaluate import floor
from cogmap.evaluation.rollout import PlannerPolicy
from cogmap.planning.candidates import Programs
from cogmap.progress import no_bars

SCENES = Path(os.environ.get("COGMAP_SCENES", "scenes"))
SETTINGS = cogmap.RunSettings(
    exploration=cogmap.Exploration(walk_steps=100_000, action_steps=20_000),
    temporal=cogmap.TemporalTraining(steps=200, tau_max=512, batch=64, width=64, embedding=16),
    dynamics=cogmap.DynamicsTraining(steps=600, batch=256, width=64),
    device="cpu",
)


@pytest.fixture(scope="module")
def scene(tmp_path_factory):
    return two_rooms_scene(tmp_path_factory.mktemp("scene"))


@pytest.fixture(scope="module")
def world(scene):
    return Building(scene, pixels=16)


def test_every_view_is_cast_once_and_is_what_the_camera_sees(scene):
    world = Building(scene, pixels=16, beside="nothing")
    asked = np.array([5, 100, 5])
    views = world.observe(asked)
    np.testing.assert_array_equal(views[0], views[2])
    for state, view in zip(asked, views):
        place = world.states.points[state // HEADINGS]
        seen = scene.view(place, np.radians(30 * (state % HEADINGS)), size=16)
        np.testing.assert_array_equal(view, seen.colour)
    object.__setattr__(scene, "view", None)  # what was cast is not asked for again
    np.testing.assert_array_equal(world.observe(asked), views)
    object.__delattr__(scene, "view")


@pytest.mark.parametrize(
    ("beside", "count"), [("nothing", 0), ("position", 2), ("heading", 2), ("both", 4)]
)
def test_beside_the_view_stand_the_numbers_that_were_asked_for(scene, beside, count):
    world = Building(scene, pixels=16, beside=beside)
    states = np.arange(len(world.states))[::37]
    seen = world.observe(states)
    assert seen.shape[1:] == world.observation_shape == (16 + (count > 0), 16, 3)
    if not count:
        return
    numbers = unmixed(seen, count)[1]
    if beside != "heading":  # places as shares of the floor, 5 m x 2 m
        np.testing.assert_allclose(numbers[:, :2] * (5, 2), world.states.places(states), atol=1e-4)
    if beside != "position":
        angle = world.states.headings(states)
        told = np.stack([np.cos(angle), np.sin(angle)], axis=-1)
        np.testing.assert_allclose(2 * numbers[:, -2:] - 1, told, atol=1e-4)


def test_a_walk_follows_the_moves_that_it_keeps_and_begins_with_its_first_part(world, tmp_path):
    settings = cogmap.Exploration(walk_steps=3000, action_steps=500)
    walk, acted = world.explore(settings, tmp_path, seed=3, bars=no_bars)
    assert len(walk) == 3001 and len(acted) == 501
    np.testing.assert_array_equal(walk.index[:501], acted.index)
    np.testing.assert_array_equal(walk.actions[:501], acted.actions)
    moves = walk.actions[:-1].argmax(axis=1)
    following = world.states.successors[walk.index[:-1], moves]
    np.testing.assert_array_equal(following, walk.index[1:])
    np.testing.assert_array_equal(walk.rows(np.array([7]))[0], world.observe(walk.index[7:8])[0])
    again, _ = world.explore(settings, tmp_path, seed=4, bars=no_bars)  # is there already
    np.testing.assert_array_equal(again.index, walk.index)


def test_candidates_turn_and_then_go(world):
    offer = world.candidates(cogmap.Planning(), radii=(1, 4), hold=1)
    assert isinstance(offer, Programs) and offer.turns.shape == (14, 4, 4)
    moves = {tuple(each) for each in offer.turns.argmax(-1).tolist()}
    assert (FORWARD,) * 4 in moves and (BACKWARD,) * 4 in moves
    assert (LEFT, LEFT, FORWARD, FORWARD) in moves and len(moves) == 14
    with pytest.raises(CogmapError, match="from 1 to 4"):
        Programs(offer.turns, (5,))


def test_tasks_lead_between_the_farthest_corners_both_ways_from_random_headings(scene, world):
    tasks = world.tasks("corners-all-views", seed=1).tasks
    assert len(tasks) == 4 * 25
    ends = {(task.start[:2], task.goal) for task in tasks}
    assert ends == {(goal, start) for start, goal in ends} and len(ends) == 4
    ways = sorted(
        float(scene.geodesic(np.array([a]), np.array([b]))[0, 0]) for a, b in ends
    )  # the diagonals, which the door lets through
    assert ways == pytest.approx([np.hypot(5, 2)] * 4)
    headings = np.array([task.start[2] for task in tasks])
    single = world.tasks(None, seed=1).tasks
    assert [(t.start, t.goal[:2]) for t in single] == [(t.start, t.goal) for t in tasks]
    assert {task.goal[2] for task in single} == set(range(12))
    assert set(headings) == set(range(12))
    assert world.tasks(None, seed=1) == world.tasks("corners", seed=1) != world.tasks(None, seed=2)
    with pytest.raises(CogmapError, match="corners or corners-all-views"):
        world.tasks("official")


def test_success_is_one_lattice_move_with_nothing_in_between(world):
    def begun(start, goal):
        return bool(world.begin([Task("t", start, goal)]).succeeded[0])

    assert begun((1.0, 1.0), (1.0, 1.0)) and begun((1.0, 1.0), (1.5, 1.25))
    assert not begun((1.0, 1.0), (1.5, 1.5))  # 0.71 m
    assert not begun((2.0, 0.25), (2.5, 0.5))  # across the corner of the door
    with pytest.raises(CogmapError, match="not on the floor"):
        begun((2.5, 0.0), (1.0, 1.0))


def test_an_episode_moves_stops_at_walls_and_ends_at_its_goal(world):
    running = world.begin([Task("t", (1.0, 1.0, 9), (4.0, 1.0))])  # looking along +x
    eye = np.eye(4, dtype=np.float32)
    assert running.shortest()[0] == pytest.approx(3.0 - LONGEST)
    turned = running.act(np.array([0]), eye[[LEFT]], 1)
    assert turned.length[0] == 0 and running.places[0].tolist() == [1.0, 1.0]
    running.act(np.array([0]), eye[[1]], 1)
    moved = running.act(np.array([0]), eye[[FORWARD]], 3)
    assert moved.steps[0] == 3 and moved.length[0] == pytest.approx(1.5)
    moved = running.act(np.array([0]), eye[[FORWARD]], 10)
    assert running.succeeded[0] and moved.steps[0] == 2  # 3.5 m is near enough
    wall = world.begin([Task("t", (1.0, 2.0, 0), (4.0, 1.0))])
    held = wall.act(np.array([0]), eye[[BACKWARD]], 5)
    assert held.length[0] == 0 and held.steps[0] == 5 and not wall.succeeded[0]


def test_a_goal_is_the_view_of_a_place_and_heading_or_all_twelve_of_a_place(world):
    running = world.begin([Task("t", (1.0, 1.0, 4), (4.0, 1.0))])
    point = world.states.nearest(np.array([4.0, 1.0]))
    views = world.observe(HEADINGS * point + np.arange(HEADINGS))
    np.testing.assert_array_equal(running.goals, views[None])
    single = world.begin([Task("t", (1.0, 1.0, 4), (4.0, 1.0, 3))])
    np.testing.assert_array_equal(single.goals, views[None, 3])
    with pytest.raises(CogmapError, match="goal with a heading, or none"):
        world.begin([Task("t", (1.0, 1.0), (4.0, 1.0, 3)), Task("t", (1.0, 1.0), (4.0, 1.0))])
    here = HEADINGS * world.states.nearest(np.array([1.0, 1.0])) + 4
    np.testing.assert_array_equal(running.observe(np.array([0])), world.observe(np.array([here])))


def test_ends_of_the_users_own_are_read_and_what_is_none_is_refused(world):
    told = replace(world, start="1,1,3", goal="4,1")
    assert {(t.start, t.goal) for t in told.tasks(None).tasks} == {((1.0, 1.0, 3.0), (4.0, 1.0))}
    for wrong in ("here", "1", "1,2,3,4", "nan,1"):
        with pytest.raises(CogmapError, match="x,z"):
            replace(world, goal=wrong).tasks(None)


def test_frames_are_large_views_above_their_label(scene, world):
    running = world.begin([Task("t", (1.0, 1.0, 3), (4.0, 1.0))])
    frame = running.frame(0)
    seen = scene.view(np.array([1.0, 1.0]), np.pi / 2, size=frame.shape[1]).colour
    np.testing.assert_array_equal(frame[: len(seen)], seen)
    assert len(frame) > len(seen) and 0 < (frame[len(seen) :] < 128).mean() < 0.5  # text on white


@pytest.fixture(scope="module")
def agent(world, tmp_path_factory):
    folder = tmp_path_factory.mktemp("run") / "run"
    return cogmap.train(replace(world, beside="both"), SETTINGS, folder)


def test_a_building_is_explored_learned_and_planned_in(agent):
    result = cogmap.evaluate(agent, episodes=3, budget=100)
    assert result.sr >= 0.75 > 0.25 > floor(agent.world, agent.world.tasks(None, budget=100)).sr
    row = result.summary()
    assert row["world"] == "two rooms, made up" and row["beside"] == "both"
    assert all(e.efficiency <= 1 for e in result.episodes)


@pytest.fixture(scope="module")
def remembering(world, tmp_path_factory):
    settings = replace(SETTINGS, sight=cogmap.SightTraining(frames=3, steps=40, batch=32))
    folder = tmp_path_factory.mktemp("run") / "run"
    return folder, cogmap.train(replace(world, beside="nothing"), settings, folder)


def test_a_building_without_numbers_is_learned_from_views_and_those_before_them(remembering, world):
    folder, agent = remembering
    sight, temporal = agent.sight.config, agent.temporal.config
    assert sight.eye == "convolution" and sight.frames == 3 and sight.picture_shape == (16, 16, 3)
    assert temporal.observation_shape == (sight.state_size,) and temporal.target == agent.sight.now
    assert agent.dynamics.config.predicted == sight.numbers
    again = cogmap.Agent.load(folder, world=agent.world, device="cpu")
    for one in (agent, again):
        row = cogmap.evaluate(one, episodes=1, budget=20).summary()
        assert row["beside"] == "nothing" and row["episodes"] == 4
    resumed = pipeline.resume(folder, world=agent.world)
    for name, value in agent.temporal.state_dict().items():
        torch.testing.assert_close(resumed.temporal.state_dict()[name], value)


def test_horizons_are_drawn_by_what_is_shown(world):
    """Uniformly by octave of a view alone: of mostly long ones an eye in a maze learned nothing."""
    for beside, law in (("position", "root"), ("both", "root"), ("nothing", "log")):
        _, settled = replace(world, beside=beside).settled(SETTINGS, tell=print)
        assert settled.temporal.horizons == law
        assert (settled.temporal.recorded is None) == (law == "log")


def test_a_planner_remembers_the_views_of_its_episode(remembering):
    _, agent = remembering
    running = agent.world.begin(agent.world.tasks(None, episodes=1).tasks[:1])
    policy, every = PlannerPolicy(agent.planner(), hold=1), np.array([0])
    seen, done = [], []
    for _ in range(4):
        seen.append(running.observe(every))
        actions, [decision] = policy.act(every, seen[-1], running.goals)
        running.act(every, actions, 1)
        done.append(actions[0])
    with torch.no_grad():
        looks = agent.sight.look(torch.as_tensor(np.concatenate(seen[:0:-1])))  # the last three
    state = torch.cat([looks.flatten(), torch.as_tensor(np.concatenate(done[2:0:-1]))])
    np.testing.assert_allclose(decision.here, state, atol=1e-5)


def test_memory_of_views_that_cannot_be_is_refused_before_anything_is_written(world, tmp_path):
    sight = cogmap.SightTraining(frames=2)
    for beside, temporal, told in (
        ("position", {}, "--beside nothing"),
        ("heading", {}, "--beside nothing"),
        ("nothing", {"encoder": "convolution"}, "leave out --encoder"),
        ("nothing", {"recorded": 50}, "leave out --recorded"),
        ("nothing", {"tied": True}, "leave out --tied"),
    ):
        settings = replace(SETTINGS, sight=sight, temporal=replace(SETTINGS.temporal, **temporal))
        with pytest.raises(CogmapError, match=told):
            cogmap.train(replace(world, beside=beside), settings, tmp_path / "run")
        assert not (tmp_path / "run").exists()


def test_what_cannot_be_explored_is_refused_before_anything_is_written(world, tmp_path):
    for wrong, told in (
        ({"walk_steps": 100}, "exceeds the walk"),
        ({"walk_steps": 1000, "action_steps": 2000}, "part of the walk"),
    ):
        settings = replace(SETTINGS, exploration=cogmap.Exploration(**wrong))
        with pytest.raises(CogmapError, match=told):
            cogmap.train(world, settings, tmp_path / "run")
        assert not (tmp_path / "run").exists()


def test_without_its_files_a_scene_says_where_they_come_from(monkeypatch, capsys, tmp_path):
    monkeypatch.delenv("COGMAP_SCENES", raising=False)
    out = ["--out", str(tmp_path / "run")]
    assert main(["train", "--world", "apartment-1", *out]) == 2
    assert "apartment_1.navmesh" in capsys.readouterr().err
    assert main(["train", "--world", "van-gogh", "--scenes", str(tmp_path), *out]) == 2
    assert "cannot read" in capsys.readouterr().err
    assert main(["train", "--maze", "large", "--beside", "both", *out]) == 2
    assert "--beside is for --world apartment-1" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("name", ["apartment-1", "van-gogh"])
def test_habitats_scenes_are_trained_evaluated_and_restored_by_name(name, tmp_path, capsys):
    if not (SCENES / "apartment_1.navmesh").exists():
        pytest.skip("set COGMAP_SCENES to a folder with Habitat's test scenes")
    run = str(tmp_path / "run")
    few = [
        "--walk-steps",
        "20000",
        "--action-steps",
        "2000",
        "--tau-max",
        "256",
        "--steps",
        "2",
        "--batch",
        "16",
    ]
    few += ["--dynamics.steps", "2", "--width", "32", "--device", "cpu"]
    trained = ["train", "--world", name, "--scenes", str(SCENES), "--out", run, *few]
    assert main(trained) == 0
    assert main(["evaluate", run, "--episodes", "1", "--budget", "3"]) == 0
    assert main(["plan", run, "--budget", "5", "--video", str(tmp_path / "way.gif")]) == 0
    assert main(["plan", run, "--goal", "0,0", "--budget", "3"]) == (2 if name == "van-gogh" else 0)
    label = {"apartment-1": "synthetic appearance", "van-gogh": "ruslans3d"}[name]
    assert label in capsys.readouterr().out
