"""cube-single from the command line and on the page; wrong inputs get one line."""

import json

import numpy as np
import pytest

import cogmap
from cogmap.cli import main
from cogmap.data.trajectories import Trajectories
from cogmap.envs.arm import CENTRE, CUBE, NAMES, SCALE
from cogmap.envs.cube import CubeSingle, place_of
from cogmap.envs.cube_pairs import Pairs
from cogmap.envs.handling import STEPS
from cogmap.errors import CogmapError
from cogmap.words import read

pytest.importorskip("ogbench")

TRAIN = ["train", "--world", "cube-single", "--walk-steps", "400", "--expert", "0.5"]
TRAIN += ["--steps", "20", "--batch", "32", "--width", "32", "--dynamics.steps", "20"]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cube") / "run"
    assert main([*TRAIN, "--out", str(folder), "--device", "cpu"]) == 0
    return folder


def test_exploring_records_what_training_reads(tmp_path, capsys):
    out = tmp_path / "noisy"
    command = ["explore", "--world", "cube-single", "--policy", "noisy", "--out", str(out)]
    assert main([*command, "--episodes", "2", "--seed", "7"]) == 0
    data = Trajectories.load(out)
    assert len(data.episode_starts) == 2 and data.observation_shape == (len(NAMES),)
    states = np.load(out / "states.npy")
    np.testing.assert_allclose(
        (states[:, 14:17] - CENTRE) * SCALE, data.observations[:, CUBE], atol=1e-4
    )
    assert f"{2 * (STEPS + 1)} rows in 2 episodes" in capsys.readouterr().out
    assert main([*command, "--episodes", "2"]) == 2
    assert "holds a dataset already" in capsys.readouterr().err


def test_larger_pictures_are_recorded_on_request(tmp_path):
    out = tmp_path / "large"
    command = ["explore", "--world", "cube-single", "--observation", "image", "--size", "224"]
    assert main([*command, "--episodes", "1", "--out", str(out)]) == 0
    data = Trajectories.load(out)
    assert data.observation_shape == (224, 224, 3) and len(data) == STEPS + 1


def test_evaluating_prints_both_rates_beside_their_references(run, capsys):
    assert main(["evaluate", str(run), "--episodes", "8", "--references"]) == 0
    out = capsys.readouterr().out
    assert "not solved at the start" in out
    for name in ("random policy", "zero action", "replay of the record"):
        [line] = [line for line in out.splitlines() if line.startswith(name)]
        assert line.split()[-1].isdigit()
    assert "1.00, " in line  # the replay, the last of them


def test_a_plan_is_told_filmed_and_led_elsewhere(run, tmp_path, capsys):
    strip = tmp_path / "strip.png"
    command = ["plan", str(run), "--seed", "3", "--budget", "3"]
    assert main([*command, "--figure", str(strip)]) == 0
    assert strip.stat().st_size > 10_000
    assert main([*command, "--goal", "cube_x=0,cube_y=1,cube_z=1.5"]) == 0
    assert capsys.readouterr().out.count("in 3 simulator steps") == 2


def test_figures_are_frames_with_horizons(run, tmp_path, monkeypatch):
    from cogmap.report.figures import frames

    monkeypatch.setattr(frames, "TRIED", 3)
    monkeypatch.setattr(frames, "EPISODES", 1)
    world = CubeSingle()
    [film] = frames.films(cogmap.Agent.load(run), world)
    assert len(film.frames) == len(film.steps) == len(film.horizons) == frames.FRAMES
    assert film.steps[0] == 0 and film.steps == sorted(film.steps)
    assert film.horizons[0] == 0 and min(film.horizons[1:]) >= 1
    assert film.goal.shape == film.frames[0].shape
    axes = frames.draw_frame(film.goal, "goal", frames.canvas.panels(1, 1, (2, 2))[1][0, 0])
    assert axes.get_xlabel() == "goal" and len(axes.images) == 1
    assert main(["figures", str(run), "--only", "frames", "--out", str(tmp_path)]) == 0
    assert (tmp_path / "frames.png").exists() and (tmp_path / "frames.pdf").exists()


def test_the_benchmark_says_how_many_episodes_one_plan_of_lewm_is_worth(run, tmp_path):
    file = tmp_path / "bench.json"
    assert main(["bench", "--run", str(run), "--quick", "--json", str(file)]) == 0
    decision, episode, lewm = json.loads(file.read_text())["rows"]
    assert episode["value"] == pytest.approx(50 * decision["value"] / 1000)
    assert lewm["value"] == pytest.approx(59 / episode["value"])


def test_the_page_plans_shows_frames_and_takes_a_clicked_goal(run, tmp_path):
    testclient = pytest.importorskip("fastapi.testclient")
    from cogmap.web.server import create_app

    client = testclient.TestClient(create_app(run, work=tmp_path))
    world = client.get("/api/world").json()
    assert world["actions"] == [] and world["own_goals"] and world["names"] == list(NAMES)
    told = client.post("/api/world/plan", json={"seed": 3, "budget": 2, "frames": True})
    begun, *moves, outcome = [json.loads(line) for line in told.text.splitlines()]
    assert begun["kind"] == "begun" and outcome["kind"] == "outcome"
    assert len(moves) == 2 and len(moves[0]["values"]) == 32
    assert moves[0]["frame"].startswith("data:image/png")
    clicked = client.post("/api/world/plan", json={"goal": "#5", "budget": 1, "frames": False})
    assert json.loads(clicked.text.splitlines()[0])["marks"] == [5]
    far = client.post("/api/world/plan", json={"seed": 5000, "budget": 1})
    assert far.status_code == 422 and "pairs 0 to 1049" in far.json()["detail"]


def test_a_goal_in_words_or_numbers_is_the_cubes_place():
    words = "cube_x=0,cube_y=1,cube_z=1.5"
    wanted = place_of(words, read(words))
    np.testing.assert_allclose(wanted, [0.425, 0.1, 0.15])
    numbers = np.zeros(len(NAMES))
    numbers[CUBE] = 0, 1, 1.5
    np.testing.assert_allclose(place_of("numbers", numbers), wanted)
    led = Pairs.packaged().some([0, 1]).towards(wanted)
    np.testing.assert_allclose(led.targets, np.tile(wanted, (2, 1)), rtol=1e-6)
    np.testing.assert_allclose(led.goals[:, CUBE], np.tile([0, 1, 1.5], (2, 1)), atol=1e-6)
    for wrong in ("cube_x=1", "cube_x=0,cube_y=1,cube_z>=1", "1,2,3"):
        with pytest.raises(CogmapError, match="say where the cube is to go"):
            place_of(wrong, read(wrong))


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["train", "--world", "cube-single", "--maze", "large", "--out", "OUT"], "not both"),
        (["train", "--world", "cube-single", "--walk-steps", "77", "--out", "OUT"], "of 200"),
        (["train", "--world", "cube-single", "--tau-max", "300", "--out", "OUT"], "an episode"),
        (["train", "--world", "cube-single", "--coverage", "0.5", "--out", "OUT"], "for --maze"),
        (["train", "--world", "cube-single", "--goal", "cube_x=1", "--out", "OUT"], "for --env"),
        (["train", "--world", "cube-single", "--target", "40", "--out", "OUT"], "numbers 0 to 27"),
        (["train", "--world", "cube-single", "--tied", "True", "--out", "OUT"], "leave out --tied"),
        (["train", "--maze", "large", "--expert", "0.5", "--out", "OUT"], "for --world"),
        (["explore", "--world", "cube-single", "--steps", "5", "--out", "OUT"], "for mazes"),
        (["explore", "--world", "cube-single", "--episodes", "0", "--out", "OUT"], "at least one"),
        (["explore", "--out", "OUT"], "give --maze, or --world"),
        (["explore", "--world", "cube-single", "--size", "224", "--out", "OUT"], "no pixels"),
        (["explore", "--maze", "large", "--size", "224", "--out", "OUT"], "for cube-single"),
        (["evaluate", "RUN", "--tasks", "official"], "has held-out and lewm"),
        (["evaluate", "RUN", "--episodes", "2000"], "has 1000 pairs"),
        (["evaluate", "RUN", "--radii", "9"], "recalls 5 actions"),
        (["evaluate", "RUN", "--recalled", "-1"], "number of candidates"),
        (["evaluate", "RUN", "--stay", "True"], "cannot be told so"),
        (["evaluate", "models/pointmaze-large", "--recalled", "8"], "nothing to recall"),
        (["plan", "RUN", "--start", "cube_x=1"], "choose which by --seed"),
        (["plan", "RUN", "--goal", "up"], "goal 'up'"),
        (["figures", "RUN", "--only", "routes", "--out", "OUT"], "not drawn of this run"),
    ],
)
def test_what_does_not_fit_is_refused_in_one_line(arguments, reason, run, tmp_path, capsys):
    places = {"RUN": run, "OUT": tmp_path / "out"}
    assert main([str(places.get(word, word)) for word in arguments]) == 2
    error = capsys.readouterr().err
    assert reason in error and error.count("\n") == 1 and not (tmp_path / "out").exists()


def test_without_a_gl_library_pictures_are_refused_before_anything_is_recorded(
    tmp_path, capsys, monkeypatch
):
    monkeypatch.setenv("MUJOCO_GL", "nothing")
    out = tmp_path / "run"
    command = ["train", "--world", "cube-single", "--observation", "image", "--out", str(out)]
    assert main(command) == 2
    error = capsys.readouterr().err
    assert "apt-get install libegl1" in error and error.count("\n") == 1 and not out.exists()
