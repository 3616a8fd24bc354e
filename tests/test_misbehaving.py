"""Environments that raise, show what they should not, or are none: one line each."""

import json
import shutil
import warnings
from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("gymnasium")

import cogmap
from cogmap.cli import main
from cogmap.data.trajectories import Trajectories
from cogmap.envs.gym import GymWorld
from cogmap.envs.making import limit_of, make
from cogmap.envs.recording import recorded
from cogmap.errors import CogmapError
from cogmap.goals import Seen
from cogmap.planning.objective import rule
from tests.worlds_of_gym import Hot

WORLDS = "tests.worlds_of_gym"
LINE = f"{WORLDS}:Line"


def world_of(name: str, **told) -> GymWorld:
    """A world that has seen the line's eleven places."""
    rows = np.linspace(0, 1, 11, dtype=np.float32)[:, None]
    if name in ("Silent", "Reach"):
        rows = np.repeat(rows, 2, axis=1)
    seen = Seen.of(Trajectories(episode_starts=np.array([0]), observations=rows))
    return GymWorld(f"{WORLDS}:{name}", hold=1, seen=seen, **told)


@pytest.mark.parametrize(
    ("env", "reason"),
    [
        (f"{WORLDS}:np", "cannot make"),
        (f"{WORLDS}:Nothing", "has no attribute 'Nothing'"),
        (f"{WORLDS}:Line.place", "no environment is registered as 'Line.place'"),
        (f"{WORLDS}:Bare", "has no observation_space"),
        ("builtins:dict", "is no gymnasium.Env"),
        ("", "Malformed environment ID"),
        ("FrozenLak-v1", "is it FrozenLake-v1"),
        ("gymnasium:FrozenLak-v1", "is it FrozenLake-v1"),
        ("Nobody-Knows-v7", "say which package registers it"),
    ],
)
def test_what_cannot_be_made_is_refused_in_one_line(env, reason):
    with pytest.raises(CogmapError, match=reason) as caught:
        make(env)
    assert "\n" not in str(caught.value)


def test_an_id_of_a_module_is_that_of_the_registry():
    assert limit_of("gymnasium:Pendulum-v1") == limit_of("Pendulum-v1") == 200
    assert limit_of(LINE) is None and make("gymnasium:Pendulum-v1").action_space.shape == (1,)


def test_of_many_crashes_the_first_is_told_and_how_many_there_were(capsys):
    episodes = recorded(world_of("Hot"), steps=800, each=100, seed=0)
    first, last = capsys.readouterr().out.splitlines()
    assert "raised (the motor is hot); its episode is lost" in first
    assert "times in" in last and "as many episodes are lost" in last
    assert all(len(rows) <= 41 for rows, _ in episodes)


def test_an_environment_that_raises_while_it_is_planned_in_ends_its_episode_alone(capsys):
    world = world_of("Breaking", goal="x0>=0.95")  # raises at place 5
    tasks = world.tasks(None, episodes=12, budget=30, seed=0).tasks
    running = world.begin(tasks)
    left = running.observe(np.arange(12))[:, 0] < 0.45
    right = np.tile(np.array([0.0, 1.0]), (12, 1))
    for _ in range(11):
        which = np.flatnonzero(~running.finished)
        if len(which):
            running.act(which, right[which], 1)
    assert "the motor is hot" in capsys.readouterr().out and 0 < left.sum() < 12
    assert running.ended[left].all() and not running.succeeded[left].any()
    assert running.succeeded[running.observe(np.arange(12))[:, 0] > 0.95].all()


def test_an_environment_that_does_not_reset_is_told_by_its_name():
    world = world_of("Gone", goal="x0=1")
    with pytest.raises(CogmapError, match="Gone raised in reset: no such robot"):
        world.begin(world.tasks(None, episodes=1, budget=5, seed=0).tasks)


@pytest.mark.parametrize(
    ("env", "reason"),
    [
        ("Later", "holds NaN or infinity"),
        ("Behind", r"-1 is not of its space, Discrete\(11\)"),
        ("Gone", "raised 20 times in a row: no such robot"),
    ],
)
def test_a_recording_stops_at_what_is_no_observation(env, reason):
    with pytest.raises(CogmapError, match=reason) as caught:
        recorded(world_of(env), steps=500, each=100, seed=0)
    assert "\n" not in str(caught.value)


def test_actions_without_bounds_are_drawn_without_a_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        [(_, actions), *_] = recorded(world_of("Push"), steps=100, each=50, seed=0)
    assert np.abs(actions).max() <= 1.0


def test_a_goal_environment_that_tells_nothing_of_success_is_met_in_its_numbers():
    world = world_of("Silent")
    running = world.begin(world.tasks(None, episodes=20, budget=5, seed=1).tasks)
    here, there = running.observe(np.arange(20))[:, 0], running.goals[..., 0].mean(1)
    assert running.succeeded.any() and not running.succeeded.all()
    assert np.array_equal(running.succeeded, np.abs(here - there) < 0.11)


@pytest.mark.parametrize(
    ("flags", "reason"),
    [
        (["--goal", "size=1"], "no number is called 'size'"),
        (["--goal", ""], "cannot read ''"),
        (["--start", "0,1"], "a goal of shape (2,)"),
        (["--names", " "], "is empty, there twice"),
        (["--hold", "0"], "hold=0"),
        (["--hold", "-3"], "hold=-3"),
        (["--hold", "5000"], "hold=5000"),
        (["--walk-steps", "0"], "walk_steps=0"),
        (["--walk-steps", "100", "--hold", "1", "--tau-max", "60"], "exceeds an episode of 50"),
    ],
)
def test_what_the_flags_say_wrongly_is_told_before_anything_is_tried(
    flags, reason, tmp_path, capsys
):
    out = tmp_path / "run"
    assert main(["train", "--env", LINE, "--out", str(out), *flags]) == 2
    captured = capsys.readouterr()
    assert reason in captured.err and captured.err.count("\n") == 1 and not out.exists()
    assert "coverage" not in captured.out or "tau-max" in " ".join(flags)


def test_names_are_each_ones_own():
    with pytest.raises(CogmapError, match="there twice"):
        _ = GymWorld("Pendulum-v1", names=("a", "a", "b")).observation_names


def test_horizons_beyond_the_longest_episode_are_refused_before_recording():
    settings = cogmap.RunSettings(
        exploration=cogmap.Exploration(walk_steps=4000),
        temporal=cogmap.TemporalTraining(tau_max=900),
    )
    world = GymWorld("CartPole-v1", hold=1)
    with pytest.raises(CogmapError, match="tau_max=900 exceeds the episodes of CartPole-v1"):
        world.settled(settings, tell=lambda line: None)
    short = replace(settings, temporal=cogmap.TemporalTraining(tau_max=32))
    assert world.settled(short, tell=lambda line: None)[1].temporal.tau_max == 32


@pytest.fixture(scope="module")
def line(tmp_path_factory):
    """A run of the line, trained for a moment."""
    folder = tmp_path_factory.mktemp("line") / "run"
    small = ["--steps", "20", "--walk-steps", "3000", "--width", "16", "--dynamics.steps", "20"]
    told = ["--env", LINE, "--hold", "1", "--names", "place", "--goal", "place=1"]
    assert main(["train", *told, *small, "--out", str(folder), "--device", "cpu"]) == 0
    return folder


@pytest.fixture(scope="module")
def log(line, tmp_path_factory):
    """A run of the same rows as a log, without the world."""
    folder = tmp_path_factory.mktemp("log") / "run"
    small = ["--steps", "20", "--width", "16", "--dynamics.steps", "20", "--device", "cpu"]
    assert main(["train", "--data", str(line / "data"), *small, "--out", str(folder)]) == 0
    return folder


def test_a_run_says_what_its_numbers_are_called_and_what_was_held_out(line, capsys):
    assert main(["info", str(line)]) == 0
    told = capsys.readouterr().out
    assert "place=1" in told and "typical changes  place 0." in told


def test_a_goal_that_nothing_resembles_is_told_where_it_is_planned_for(line, capsys):
    for command in ("evaluate", "plan"):
        words = [command, str(line), "--goal", "place=40", "--budget", "2"]
        assert main(words + (["--episodes", "1"] if command == "evaluate" else [])) == 0
        assert "warning: nothing in the data is like this goal" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["evaluate", "LINE", "--seed", "-1"], "seed=-1"),
        (["plan", "LINE", "--seed", "-1"], "seed=-1"),
        (["plan", "LINE", "--score", "exact"], "draws on a map"),
        (["evaluate", "LINE", "--maze", "large"], "observations of shape (1,)"),
        (["evaluate", "LOG"], "without a world to act in"),
        (["plan", "LOG", "--goal", "x0=1"], "without a world to act in"),
        (["evaluate", "models/pointmaze-large", "--goal", "3,4"], "are for Gymnasium worlds"),
        (["train", "--env", LINE, "--coverage", "0.5", "--out", "OUT"], "--coverage is for --maze"),
        (["train", "--env", LINE, "--observation", "image", "--out", "OUT"], "is for --maze"),
        (["train", "--maze", "large", "--goal", "1,2", "--out", "OUT"], "--goal is for --env"),
        (["train", "--data", "DATA", "--hold", "3", "--out", "OUT"], "--hold is for --env"),
        (["train", "--data", "DATA", "--env", LINE, "--out", "OUT"], "leave --env out"),
    ],
)
def test_what_does_not_fit_a_run_is_refused_in_one_line(
    arguments, reason, line, log, tmp_path, capsys
):
    places = {"LINE": line, "LOG": log, "DATA": line / "data", "OUT": tmp_path / "out"}
    assert main([str(places.get(word, word)) for word in arguments]) == 2
    error = capsys.readouterr().err
    assert reason in error and error.count("\n") == 1 and not (tmp_path / "out").exists()


def test_a_run_that_was_killed_before_its_end_says_how_to_go_on(line, tmp_path, capsys):
    half = tmp_path / "half"
    shutil.copytree(line, half)
    shutil.rmtree(half / "dynamics")
    assert main(["evaluate", str(half)]) == 2
    assert f"go on with `cogmap train --resume {half}`" in capsys.readouterr().err
    assert main(["train", "--resume", str(half)]) == 0
    assert main(["evaluate", str(half), "--episodes", "1", "--budget", "2"]) == 0


def test_a_goal_may_be_an_observation_as_the_environment_shows_it(line):
    agent = cogmap.Agent.load(line, device="cpu")
    assert agent.goal(np.array([1.0], np.float32)).rows.tolist() == [[1.0]]
    kinds = GymWorld("FrozenLake-v1")
    assert kinds.as_goal(15).argmax() == 15 and kinds.as_goal("15=1") == "15=1"
    parts = GymWorld(f"{WORLDS}:Reach")
    shown, _ = parts.make().reset(seed=1)
    assert len(parts.as_goal(shown)) == 2 and parts.as_goal({"observation0": 1}) == {
        "observation0": 1
    }


def test_horizons_and_actions_that_were_not_learned_are_refused(line):
    agent = cogmap.Agent.load(line, device="cpu")
    beyond = rule(agent.planning, tau_max=4096)
    with pytest.raises(CogmapError, match="asks horizons up to 4096; this model learned 1.."):
        agent.controller("place=1", planner=beyond)
    wider = replace(agent.world, env=f"{WORLDS}:Push")  # one number instead of two kinds
    with pytest.raises(CogmapError, match="candidates are actions of 1 numbers"):
        agent.planner(world=wider)


@pytest.mark.parametrize(
    "shown", ["here", None, {"place": 1}, np.zeros((4, 1)), np.array([np.nan])]
)
def test_a_controller_refuses_what_is_no_observation_in_one_line(line, shown):
    controller = cogmap.Agent.load(line, device="cpu").controller("place=1")
    with pytest.raises(CogmapError) as caught:
        controller.act(shown)
    assert "\n" not in str(caught.value)


def test_what_is_recorded_in_is_closed_again(monkeypatch):
    closed = []
    monkeypatch.setattr(Hot, "close", lambda env: closed.append(env))
    recorded(world_of("Hot"), steps=300, each=100, seed=0)
    assert len(set(map(id, closed))) == len(closed) >= 3


def test_a_run_that_goes_on_has_its_own_settings(line, capsys):
    assert main(["train", "--resume", str(line), "--seed", "3"]) == 2
    assert "leave out all flags but --track" in capsys.readouterr().err


def test_transitions_of_their_own_are_checked_on_their_own(line, tmp_path):
    """Pairs of a log whose actions are of another kind than those of the transitions."""
    data = Trajectories.load(line / "data")
    assert data.observations is not None
    wide = replace(
        data,
        episode_starts=np.arange(0, len(data), 100),
        actions=np.zeros((len(data), 5), np.float32),
    )
    wide.save(tmp_path / "wide")
    replace(wide, actions=data.actions).save(tmp_path / "moves")
    small = ["--steps", "10", "--width", "16", "--dynamics.steps", "10", "--device", "cpu"]
    paths = ["--data", tmp_path / "wide", "--dynamics-data", tmp_path / "moves"]
    assert main(["train", *map(str, paths), *small, "--out", str(tmp_path / "run")]) == 0
    assert len(json.loads((tmp_path / "run/checks.json").read_text())["error"]) == 1
