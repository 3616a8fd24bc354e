"""Any Gymnasium environment, from random actions to a controller."""

import json
from dataclasses import replace

import imageio.v3 as imageio
import numpy as np
import pytest

pytest.importorskip("gymnasium")

import cogmap
from cogmap.cli import main
from cogmap.data.trajectories import Trajectories
from cogmap.envs.gym import GymWorld
from cogmap.envs.making import read_kwargs
from cogmap.envs.recording import record, recorded
from cogmap.envs.timescale import features, forgetting, occupied, spreading, trial_table
from cogmap.errors import CogmapError
from cogmap.evaluation.evaluate import floor
from cogmap.planning.settings import PAPER

LINE = "tests.worlds_of_gym:Line"
SETTINGS = cogmap.RunSettings(
    exploration=cogmap.Exploration(walk_steps=6000),
    temporal=cogmap.TemporalTraining(steps=150, tau_max=64, batch=96, width=48, embedding=16),
    dynamics=cogmap.DynamicsTraining(steps=200, batch=256, width=48, cycles=0.5),
    planning=cogmap.Planning(radii=(1, 2, 3)),
    device="cpu",
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("line") / "run"
    cogmap.train(GymWorld(LINE, hold=1, names=("place",)), SETTINGS, folder)
    return folder


@pytest.fixture(scope="module")
def agent(folder):
    return cogmap.Agent.load(folder, device="cpu")


def test_a_line_is_learned_and_every_seen_place_is_reached(agent):
    result = cogmap.evaluate(agent, episodes=20, budget=20)
    assert result.sr == 1.0 and result.spl is None
    same = agent.world.tasks(None, episodes=20, budget=20, seed=0)
    assert floor(agent.world, same).sr < 0.9


def test_a_goal_in_words_is_where_an_evaluation_leads(agent):
    world = replace(agent.world, goal="place>=0.95", start="place<=0.05")
    result = cogmap.evaluate(agent, world=world, episodes=5, budget=30)
    assert result.sr == 1.0 and {e.steps for e in result.episodes} == {10}
    assert floor(world, world.tasks(None, episodes=5, budget=12, seed=0)).sr < 1.0


def test_an_episode_that_stays_tells_how_long_it_was_at_its_goal(agent):
    world = replace(agent.world, goal="place>=0.95", stay=True)
    result = cogmap.evaluate(agent, world=world, episodes=5, budget=40)
    assert result.sr == 1.0 and result.stayed > 0.9  # pushing against the wall keeps it there
    assert result.summary()["stayed"] == round(result.stayed, 4)


def test_a_controller_leads_an_environment_one_step_at_a_time(agent):
    env = agent.world.make()
    seen, _ = env.reset(seed=3)
    controller = agent.controller({"place": 0.0})
    for _ in range(15):
        action = controller.act(seen)
        assert action in (0, 1)
        if controller.arrived:
            break
        seen, *_ = env.step(action)
    assert controller.arrived and seen[0] == 0.0
    action, state = controller.predict(seen, episode_start=True)
    assert state is None and len(controller.memory.chosen) <= 1
    with pytest.raises(CogmapError, match="shape"):
        controller.act(np.zeros(4, np.float32))


def test_a_held_action_lasts_as_long_as_it_was_learned_to(agent):
    held = replace(agent, world=replace(agent.world, hold=3))
    controller = held.controller({"place": 1.0})
    actions = [controller.act(np.zeros(1, np.float32)) for _ in range(6)]
    assert len(controller.memory.chosen) == 2 and actions[0] == actions[1] == actions[2]


@pytest.mark.parametrize("env", ["Reach", "Paid"])
def test_a_goal_environment_has_goals_and_success_of_its_own(env, tmp_path):
    world = GymWorld(f"tests.worlds_of_gym:{env}", hold=1)
    assert world.has_goals and world.observation_shape == (2,)
    assert "desired_goal" not in " ".join(world.observation_names)
    agent = cogmap.train(world, SETTINGS, tmp_path / "run")
    result = cogmap.evaluate(agent, episodes=10, budget=20)
    assert result.sr == 1.0
    assert any(episode.steps > 1 for episode in result.episodes)  # nobody is there for nothing
    few = agent.world.tasks(None, episodes=10, budget=2, seed=0)
    assert floor(agent.world, few).sr < 1.0


def test_an_episode_that_ended_is_recorded_as_staying_there():
    world = GymWorld("tests.worlds_of_gym:Ditch", 1, kwargs={"length": 5}, linger=5)
    episodes = recorded(world, steps=300, each=100, seed=0)
    ended = [rows for rows, _ in episodes if rows[-1] == 0.0]
    assert ended and all((rows[-6:] == 0.0).all() and rows[-7] > 0.0 for rows in ended)
    cut = [rows for rows, _ in recorded(world, steps=300, each=4, seed=0) if rows[-1] > 0.0]
    assert cut and all(len(rows) <= 5 for rows in cut)  # of being cut nothing follows


def test_where_episodes_end_early_pairs_are_recorded_at_short_lags():
    told = []
    world, settings = GymWorld("tests.worlds_of_gym:Ditch", kwargs={"length": 5}).settled(
        cogmap.RunSettings(), tell=told.append
    )
    assert 1 < world.linger == settings.temporal.recorded < settings.temporal.tau_max
    assert "end early" in "\n".join(told)
    assert settings.planning == replace(PAPER, planner="pap")


def test_where_actions_slip_it_plans_by_how_things_may_turn_out(tmp_path):
    told, longer = [], replace(SETTINGS.dynamics, steps=1000)
    world, settings = GymWorld("tests.worlds_of_gym:Slippery", hold=1, goal="10=1").settled(
        replace(SETTINGS, planning=cogmap.Planning(), dynamics=longer), tell=told.append
    )
    assert "several ways" in told[0] and settings.planning == replace(PAPER, planner="pap")
    agent = cogmap.train(world, settings, tmp_path / "run")
    [decision] = agent.planner().decide_many(np.eye(11)[[5]], np.eye(11)[[10]])
    assert decision.action.tolist() == [0.0, 1.0]
    assert cogmap.evaluate(agent, episodes=10, budget=100).sr == 1.0
    for same in ("Line", "Ditch"):
        assert not trial_table(GymWorld(f"tests.worlds_of_gym:{same}"), holds=(1,), seed=0).chance


def test_what_an_episode_cannot_change_is_taken_as_it_is(tmp_path):
    told = []
    world, settings = GymWorld(
        "tests.worlds_of_gym:Lamp", hold=1, names=("place", "light", "off")
    ).settled(SETTINGS, tell=told.append)
    assert world.episode == 200 and "light never change" in "\n".join(told)
    assert world.observation_shape == (2,)  # the light itself is not seen
    np.testing.assert_allclose(world.context.carried, [[0.0], [-1.0]], atol=0.01)
    agent = cogmap.train(world, settings, tmp_path / "run")
    aim = replace(agent.world, goal="off=-0.051..0.051")  # as far along as the lamp shines
    result = cogmap.evaluate(agent, world=aim, episodes=10, budget=15)
    assert result.sr == 1.0
    assert floor(aim, aim.tasks(None, episodes=10, budget=15, seed=0)).sr < 1.0
    env = agent.world.make()
    seen, _ = env.reset(seed=4)
    controller = agent.controller("off=-0.051..0.051")
    for _ in range(15):
        action = controller.act(seen)
        if controller.arrived:
            break
        seen, *_ = env.step(action)
    assert controller.arrived and abs(seen[0] - seen[1]) <= 0.051
    with pytest.raises(CogmapError, match="episodes differ in light"):
        agent.goal("off=0")


def test_a_recording_that_was_killed_goes_on_with_the_parts_that_are_there(tmp_path, monkeypatch):
    world = GymWorld(LINE, hold=1)
    record(world, tmp_path / "whole", steps=48_000, each=200, seed=5)
    whole = Trajectories.load(tmp_path / "whole")
    calls = []

    def counted(*args, **kwargs):
        calls.append(kwargs["seed"])
        if len(calls) == 2:
            raise KeyboardInterrupt
        return recorded(*args, **kwargs)

    monkeypatch.setattr("cogmap.envs.recording.recorded", counted)
    with pytest.raises(KeyboardInterrupt):
        record(world, tmp_path / "killed", steps=48_000, each=200, seed=5)
    assert not (tmp_path / "killed/meta.json").exists()
    record(world, tmp_path / "killed", steps=48_000, each=200, seed=5)
    again = Trajectories.load(tmp_path / "killed")
    assert len(calls) == 4  # the first, the one that was killed, and the two that were missing
    assert np.array_equal(whole.observations, again.observations)
    assert np.array_equal(whole.episode_starts, again.episode_starts)


def test_a_crash_is_told_and_loses_only_its_episode(capsys):
    world = GymWorld("tests.worlds_of_gym:Breaking", hold=1)
    episodes = recorded(world, steps=800, each=100, seed=0)
    assert "the motor is hot" in capsys.readouterr().out
    assert sum(len(rows) for rows, _ in episodes) > 100
    for rows, actions in episodes:
        assert len(rows) == len(actions) and np.isfinite(rows).all()


@pytest.mark.parametrize(
    ("env", "reason"),
    [
        ("tests.worlds_of_gym:Broken", "raised 20 times in a row: no power"),
        ("tests.worlds_of_gym:Wrong", "NaN or infinity"),
        ("tests.worlds_of_gym:Wider", "of shape"),
        ("tests.worlds_of_gym:Told", "not supported; give Box"),
        ("tests.worlds_of_gym:Nobody", "Nobody"),
        ("Pendulum-v2", "is it Pendulum-v1"),
        ("no_such_module:Class", "'no_such_module', which is not installed"),
    ],
)
def test_an_environment_that_cannot_be_recorded_is_refused_in_one_line(
    env, reason, tmp_path, capsys
):
    status = main(["train", "--env", env, "--out", str(tmp_path / "run")])
    error = capsys.readouterr().err
    assert status == 2 and reason in error and error.count("\n") == 1
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("flags", "reason"),
    [
        (["--env-kwargs", "length=5"], "give JSON"),
        (["--env-kwargs", '{"lenght": 5}'], "lenght"),
        (["--env-package", "no_such_package"], "no_such_package"),
        (["--names", "a,b"], "2 names for the 1 numbers"),
        (["--hold", "1", "--tau-max", "5000"], "exceeds an episode"),
        (["--maze", "large"], "not both"),
    ],
)
def test_flags_that_do_not_fit_are_refused_in_one_line(flags, reason, tmp_path, capsys):
    out = tmp_path / "run"
    status = main(["train", "--env", LINE, "--out", str(out), *flags])
    error = capsys.readouterr().err
    assert status == 2 and reason in error and error.count("\n") == 1 and not out.exists()


def test_the_command_line_trains_evaluates_plans_and_films(tmp_path, capsys):
    run, film = str(tmp_path / "run"), tmp_path / "film.gif"
    flags = ["--env", LINE, "--names", "place", "--goal", "place>=0.95", "--hold", "1"]
    small = ["--steps", "60", "--walk-steps", "4000", "--width", "32", "--dynamics.steps", "60"]
    assert main(["train", *flags, *small, "--out", run, "--device", "cpu"]) == 0
    assert main(["evaluate", run, "--episodes", "3", "--references"]) == 0
    assert "random policy" in capsys.readouterr().out
    assert main(["plan", run, "--goal", "place<=0.05", "--video", str(film)]) == 0
    assert "simulator steps" in capsys.readouterr().out and film.read_bytes()[:3] == b"GIF"
    strip = tmp_path / "strip.png"
    assert main(["plan", run, "--figure", str(strip)]) == 0
    assert imageio.imread(strip).shape == (9, 8 * 32, 3)
    assert main(["info", run]) == 0
    assert json.loads((tmp_path / "run/config.json").read_text())["world"]["hold"] == 1
    for wrong, reason in (("size=3", "no number is called 'size'"), ("1,2,3", "a goal of shape")):
        assert main(["plan", run, "--goal", wrong]) == 2
        assert reason in capsys.readouterr().err


def test_kwargs_are_json():
    assert read_kwargs('{"g": 9.8}') == {"g": 9.8} and read_kwargs(None) == {}
    with pytest.raises(CogmapError, match="give JSON"):
        read_kwargs("[1]")


def test_a_longer_hold_is_chosen_where_short_ones_cover_little():
    table = trial_table(
        GymWorld("tests.worlds_of_gym:Line", kwargs={"length": 400}), holds=None, seed=0
    )
    assert table.hold > 1 and f"hold {table.hold}" in table.text()
    cover = [trial.coverage for trial in table.trials]
    assert cover[0] < cover[-1]
    given = trial_table(GymWorld(LINE), holds=(2,), seed=0)
    assert given.hold == 2 and "as given" in given.text()


def test_a_slower_walk_forgets_later():
    rng = np.random.default_rng(0)

    def walk(keep):
        rows = np.zeros((20, 400, 1))
        for t in range(1, 400):
            rows[:, t] = keep * rows[:, t - 1] + rng.normal(size=(20, 1))
        return rows.reshape(-1, 1), np.arange(20) * 400

    times = []
    for keep in (0.8, 0.95):
        rows, starts = walk(keep)
        times.append(forgetting(features(rows, seed=0), starts, lag=8))
        assert times[-1] == pytest.approx(-1 / np.log(keep), rel=0.35)
        assert spreading(features(rows, seed=0), starts) > 0
    assert times[1] > 2 * times[0]


def test_coverage_counts_cells_of_all_trials_alike():
    wide, narrow = np.random.default_rng(0).uniform(-1, 1, (2, 500, 3))
    cells = occupied({1: 0.1 * narrow, 5: wide})
    assert len(cells[1]) < len(cells[5]) and cells[1] <= cells[5] | cells[1]


def test_metrics_reach_tensorboard_as_they_are_written(tmp_path):
    events = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    run = tmp_path / "run"
    small = ["--steps", "40", "--walk-steps", "4000", "--width", "32", "--dynamics.steps", "40"]
    status = main(
        ["train", "--env", LINE, "--hold", "1", *small, "--out", str(run), "--track", "tensorboard"]
    )
    assert status == 0
    rows = [json.loads(line) for line in (run / "temporal/metrics.jsonl").read_text().splitlines()]
    read = events.EventAccumulator(str(run / "temporal"))
    read.Reload()
    told = read.Scalars("temporal/loss")
    assert [event.step for event in told] == [row["step"] for row in rows]
    assert told[-1].value == pytest.approx(rows[-1]["loss"], rel=1e-5)


def test_pictures_are_learned_from_and_led_to(tmp_path):
    agent = cogmap.train(GymWorld("tests.worlds_of_gym:Shown", hold=1), SETTINGS, tmp_path / "run")
    assert agent.temporal.config.sees
    assert cogmap.evaluate(agent, episodes=8, budget=25).sr == 1.0
