"""Every command as a user would type it, and one clear line for every wrong input."""

import json
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from cogmap.cli import main
from cogmap.dynamics.settings import DynamicsTraining
from cogmap.explore.settings import Exploration
from cogmap.planning.objective import IN_VIEW
from cogmap.settings import RunSettings

ROOT = Path(__file__).parent.parent
LARGE = str(ROOT / "models/pointmaze-large")
TINY = ["--steps", "4", "--lags", "1", "--batch", "32", "--width", "16", "--embedding", "8"]
TINY += ["--dynamics.steps", "4", "--dynamics.width", "16", "--walk-steps", "3000"]
TINY += ["--action-steps", "400", "--tau-max", "64", "--device", "cpu"]
ROOMS = "#######\n#..#..#\n#.....#\n#..#..#\n#######\n"


@pytest.fixture(scope="module")
def maze_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("maze") / "rooms.txt"
    path.write_text(ROOMS)
    return str(path)


@pytest.fixture(scope="module")
def run(maze_file, tmp_path_factory):
    folder = str(tmp_path_factory.mktemp("runs") / "tiny")
    assert main(["train", "--maze", maze_file, "--out", folder, *TINY]) == 0
    return folder


def refused(capsys, arguments: list[str], *words: str) -> None:
    capsys.readouterr()
    assert main(arguments) == 2
    lines = capsys.readouterr().err.strip().splitlines()
    assert len(lines) == 1 and lines[0].startswith("cogmap: "), lines
    for word in words:
        assert word in lines[0], lines[0]


def test_train_on_a_text_maze_then_evaluate_and_plan(run, maze_file, tmp_path, capsys):
    out = tmp_path / "out.json"
    arguments = ["evaluate", run, "--budget", "40", "--json", str(out)]
    assert main([*arguments, "--results", str(tmp_path / "r/rows.jsonl"), "--references"]) == 0
    result = json.loads(out.read_text())
    assert {"sr", "spl", "episodes", "planner", "world", "seed"} <= result.keys()
    assert result["world"] == "pointmaze-rooms" and result["episodes"] == len(result["rows"]) == 20
    assert result["sr"] == np.mean([row["success"] for row in result["rows"]])
    rows = [json.loads(line) for line in (tmp_path / "r/rows.jsonl").read_text().splitlines()]
    assert [row["method"] for row in rows] == ["random", "cogmap", "oracle"]
    assert [row["train_seed"] for row in rows] == [None, 0, None]
    assert len({row["settings"] for row in rows}) == 3
    assert rows[1]["trained_on"] == rows[1]["hardware"] and "commit" in rows[1]
    again = ["evaluate", run, "--budget", "40", "--results", str(tmp_path / "r/rows.jsonl")]
    assert main(again) == 0 and main([*again, "--view", "3"]) == 0
    *_, same, other = (tmp_path / "r/rows.jsonl").read_text().splitlines()
    assert json.loads(same)["settings"] == rows[1]["settings"] != json.loads(other)["settings"]
    assert "shortest path (ceiling)" in capsys.readouterr().out
    figure = tmp_path / "route.png"
    assert main(["plan", run, "--start", "-1,0", "--goal", "12,8", "--figure", str(figure)]) == 0
    assert figure.stat().st_size > 5000
    assert "SPL" in capsys.readouterr().out


def test_the_shipped_model_plans_from_the_command_line(capsys):
    assert main(["plan", LARGE, "--start", "0,0", "--goal", "12,16", "--physics", "kinematic"]) == 0
    text = capsys.readouterr().out
    head, _, *rows, outcome = text.splitlines()
    assert "reached the goal" in outcome
    _, _, _, _, asked, horizon, _ = zip(*map(str.split, rows), strict=True)
    assert head.split()[4:6] == ["asked", "horizon"] and asked[-1] == f"1-{IN_VIEW}"
    for span, tau in zip(asked, map(int, horizon)):
        shortest, longest = map(int, span.split("-"))
        assert shortest <= tau <= longest <= 2 * shortest + IN_VIEW


def evaluated(tmp_path, *arguments: str) -> dict:
    """The result on two pairs of Large with these arguments."""
    pairs, out = tmp_path / "pairs.json", tmp_path / "out.json"
    pairs.write_text('[{"start": [0, 0], "goal": [8, 0]}, {"start": [4, 8], "goal": [12, 8]}]')
    evaluate = ["evaluate", LARGE, "--tasks", str(pairs), "--tau-max", "256", "--device", "cpu"]
    assert main([*evaluate, "--budget", "200", "--json", str(out), *arguments]) == 0
    return json.loads(out.read_text())


@pytest.mark.parametrize("planner", ["gp", "pap", "beta=0.3"])
def test_evaluate_with_every_planner_on_a_pairs_file(planner, tmp_path):
    result = evaluated(tmp_path, "--planner", planner)
    assert result["planner"] == planner and result["episodes"] == 2 and result["tau_max"] == 256
    assert (result["view"], result["memory"], result["sr"]) == (8.0, True, 1.0)


def test_the_papers_rule_is_asked_for_as_the_help_says(tmp_path, capsys):
    words = "--view None --radii 1 --memory False"
    with pytest.raises(SystemExit):
        main(["evaluate", "--help"])
    helped = capsys.readouterr().out.replace("│", " ").split()
    assert f"as in the paper with {words}." in " ".join(helped)
    for planner in ("gp", "pap"):
        result = evaluated(tmp_path, "--planner", planner, *words.split())
        told = (result["planner"], result["view"], result["radii"], result["memory"])
        assert told == (planner, None, [1], False)


def test_evaluation_repeats_by_seed_and_takes_exact_scores(tmp_path):
    rows = []
    for k, seed in enumerate(["3", "3", "4"]):
        out = tmp_path / f"{k}.json"
        arguments = ["evaluate", LARGE, "--tasks", "official", "--episodes", "1", "--seed", seed]
        arguments += ["--score", "exact", "--budget", "30", "--radii", "1,2", "--json", str(out)]
        assert main(arguments) == 0
        rows.append(json.loads(out.read_text())["rows"])
    assert rows[0] == rows[1] != rows[2]
    assert len(rows[0]) == 5


def test_explore_import_and_train_on_data(tmp_path, maze_file, capsys):
    walk, acts = tmp_path / "walk", tmp_path / "acts"
    assert main(["explore", "--maze", maze_file, "--out", str(walk), "--steps", "2000"]) == 0
    explore = ["explore", "--maze", maze_file, "--walk", "actions", "--out", str(acts)]
    assert main([*explore, "--steps", "600", "--episodes", "3", "--hold", "5"]) == 0
    source = tmp_path / "log.npz"
    observations = np.load(acts / "observations.npy")
    terminals = np.zeros(len(observations))
    terminals[np.append(np.load(acts / "episode_starts.npy")[1:] - 1, -1)] = 1
    actions = np.load(acts / "actions.npy")
    np.savez(source, observations=observations, actions=actions, terminals=terminals)
    assert main(["import", str(source), "--out", str(tmp_path / "in"), "--hold", "5"]) == 0
    np.testing.assert_array_equal(np.load(tmp_path / "in/observations.npy"), observations)
    out = str(tmp_path / "run")
    train = ["train", "--data", str(tmp_path / "in"), "--maze", maze_file, "--out", out, *TINY]
    assert main(train) == 0
    assert main(["evaluate", out, "--budget", "10"]) == 0
    assert not (tmp_path / "run/data").exists()
    for folder in (str(walk), out):
        assert main(["info", folder]) == 0
    assert main(["info"]) == 0
    text = capsys.readouterr().out
    assert "distinct" in text and "planning     planner gp, view 8.0, radii (1, 2, 3, 4, 6)" in text


def test_resume_and_config_repeat_a_run(run, tmp_path):
    from safetensors.numpy import load_file

    def weights(folder) -> dict:
        return load_file(Path(folder) / "temporal/model.safetensors")

    before = weights(run)
    assert main(["train", "--resume", run]) == 0
    again = tmp_path / "again"
    assert main(["train", "--config", f"{run}/config.json", "--out", str(again)]) == 0
    for folder in (run, again):
        after = weights(folder)
        assert all(np.array_equal(before[name], after[name]) for name in before)


def test_ctrl_c_leaves_a_run_that_resumes(maze_file, tmp_path):
    out = tmp_path / "run"
    tiny = [*TINY, "--steps", "100000", "--checkpoint-every", "5"]
    command = [sys.executable, "-m", "cogmap", "train", "--maze", maze_file, "--out", str(out)]
    process = subprocess.Popen(
        [*command, *tiny],
        cwd=ROOT,
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a shell's & ignores it
    )
    for _ in range(600):
        if (out / "temporal/training_state.pt").exists():
            break
        time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    _, text = process.communicate(timeout=60)
    assert process.returncode == 130
    assert b"Traceback" not in text
    config = json.loads((out / "config.json").read_text())
    config["temporal"]["steps"] = 10
    (out / "config.json").write_text(json.dumps(config))
    assert main(["train", "--resume", str(out)]) == 0


def test_demo_runs_on_a_small_maze_and_continues(maze_file, tmp_path, monkeypatch, capsys):
    def small(*, temporal, **given):
        return RunSettings(
            exploration=Exploration(walk_steps=9000, action_steps=400),
            temporal=replace(temporal, batch=32, width=16),
            dynamics=DynamicsTraining(steps=4),
            **given,
        )

    monkeypatch.setattr("cogmap.commands.demo_.RunSettings", small)
    monkeypatch.setattr("cogmap.envs.tasks.RANDOM_BUDGET", 30)
    out = tmp_path / "demo"
    arguments = ["demo", "--maze", maze_file, "--steps", "3", "--out", str(out), "--device", "cpu"]
    for _ in range(2):
        assert main(arguments) == 0
        assert (out / "routes.png").stat().st_size > 5000
    text = capsys.readouterr().out
    assert "random policy (floor)" in text and "shortest path (ceiling)" in text


def test_an_encoder_that_cannot_see_the_world_is_refused_before_exploring(capsys, tmp_path):
    out = tmp_path / "run"
    train = ["train", "--maze", "large", "--out", str(out), *TINY]
    refused(capsys, [*train, "--encoder", "keypoints"], "encoder=keypoints", "(2,)")
    refused(capsys, [*train, "--encoder", "state", "--observation", "image"], "encoder=state")
    refused(capsys, [*train, "--walk", "actions", "--walk-steps", "10"], "tau_max=64")
    assert not out.exists()


def test_random_actions_serve_for_pairs_and_transitions_and_as_pictures(maze_file, tmp_path):
    out = tmp_path / "run"
    assert main(["train", "--maze", maze_file, "--out", str(out), *TINY, "--walk", "actions"]) == 0
    assert (out / "data/walk").is_dir() and not (out / "data/actions").exists()
    seen = ["train", "--maze", "large", "--out", str(tmp_path / "seen"), *TINY]
    assert main([*seen, "--walk", "actions", "--observation", "image", "--steps", "1"]) == 0


def test_wrong_places_are_named(capsys):
    plan = ["plan", LARGE, "--physics", "kinematic"]
    refused(capsys, [*plan, "--start", "0,0", "--goal", "4,4"], "goal (4, 4)", "wall")
    refused(capsys, [*plan, "--start", "200,0", "--goal", "0,0"], "start (200, 0)", "outside")
    refused(capsys, [*plan, "--start", "a,b", "--goal", "0,0"], "start 'a,b'")
    refused(capsys, [*plan, "--start", "nan,1", "--goal", "0,0"], "start 'nan,1'")
    refused(capsys, [*plan, "--start", "0,0,0", "--goal", "0,0"], "start '0,0,0'")


def test_a_goal_that_cannot_be_reached_is_named(run, tmp_path, capsys):
    parted = tmp_path / "parted.txt"
    parted.write_text("#####\n#.#.#\n#####\n")
    arguments = ["plan", run, "--maze", str(parted), "--start", "0,0", "--goal", "8,0"]
    refused(capsys, arguments, "goal (8, 0)", "cannot be reached")


@pytest.mark.parametrize(
    "text, word",
    [("##\n#\n", "row 2"), ("###\n###\n", "no free cell"), ("", "empty"), ("#x#\n", "'x'")],
)
def test_wrong_mazes_are_refused_before_anything_is_written(text, word, tmp_path, capsys):
    path, out = tmp_path / "bad.txt", tmp_path / "run"
    path.write_text(text)
    refused(capsys, ["train", "--maze", str(path), "--out", str(out)], word)
    assert not out.exists()


def test_wrong_planners_and_horizons_are_refused(capsys):
    evaluate = ["evaluate", LARGE, "--episodes", "1", "--physics", "kinematic"]
    refused(capsys, [*evaluate, "--planner", "beta=-1"], "beta=-1")
    refused(capsys, [*evaluate, "--planner", "best"], "'best'", "gp, pap")
    refused(capsys, [*evaluate, "--tau-max", "0"], "tau_max=0")
    refused(capsys, [*evaluate, "--tau-max", "99999"], "tau_max=99999")
    refused(capsys, [*evaluate, "--radii", "0,1"], "radii")
    refused(capsys, [*evaluate, "--radii", "far"], "radii 'far'")
    refused(capsys, [*evaluate, "--view", "-1"], "view=-1.0")
    refused(capsys, [*evaluate, "--every-horizon"], "--view None")
    refused(capsys, [*evaluate, "--tasks", "nowhere.json"], "nowhere.json")
    refused(capsys, ["evaluate", LARGE, "--episodes", "0"], "episodes=0")
    refused(capsys, ["evaluate", LARGE, "--seed", "-1"], "seed=-1")
    refused(capsys, ["evaluate", LARGE, "--budget", "-5"], "budget=-5")


def test_wrong_pairs_files_are_refused(tmp_path, capsys):
    path = tmp_path / "pairs.json"
    for text, word in (
        ('[{"start": [0, 0], "end": [8, 0]}]', "end"),
        ('[{"start": [0, 0], "goal": [8]}]', "goal"),
        ("{", "JSON"),
        ("[]", "expected"),
        ('[{"start": [0, 0], "goal": [4, 4]}]', "wall"),
    ):
        path.write_text(text)
        arguments = ["evaluate", LARGE, "--tasks", str(path), "--physics", "kinematic"]
        refused(capsys, arguments, word)


def test_missing_and_truncated_checkpoints_are_refused(run, tmp_path, capsys):
    refused(capsys, ["evaluate", str(tmp_path / "none")], "none")
    for part in ("temporal/model.safetensors", "dynamics/model.safetensors", "config.json"):
        copy = tmp_path / part.replace("/", "-")
        shutil.copytree(run, copy)
        (copy / part).write_bytes((copy / part).read_bytes()[:100])
        refused(capsys, ["evaluate", str(copy)], part)
        (copy / part).unlink()
        refused(capsys, ["evaluate", str(copy)], part, "missing")


def test_wrong_data_is_refused_before_anything_is_written(tmp_path, maze_file, capsys):
    folder, out = tmp_path / "arrays", tmp_path / "data"
    folder.mkdir()
    observations = np.zeros((30, 2), dtype=np.float32)
    observations[7, 1] = np.nan
    np.save(folder / "observations.npy", observations)
    refused(capsys, ["import", str(folder), "--out", str(out)], "row 7", "nan")
    assert not out.exists()
    np.save(folder / "observations.npy", np.zeros((30, 3), dtype=np.float32))
    np.save(folder / "actions.npy", np.zeros((30, 2), dtype=np.float32))
    assert main(["import", str(folder), "--out", str(out)]) == 0
    train = ["train", "--data", str(out), "--out", str(tmp_path / "run")]
    refused(capsys, [*train, "--tau-max", "30"], "tau_max=30", "29")
    refused(capsys, [*train, "--tau-max", "8", "--maze", maze_file], "(3,)", "(2,)")
    refused(capsys, [*train, "--tau-max", "0"], "tau_max=0")
    assert not (tmp_path / "run").exists()
    refused(capsys, ["train", "--data", str(tmp_path), "--out", str(tmp_path / "run")], "meta.json")
    refused(capsys, ["train", "--out", str(tmp_path / "run")], "--maze")
    refused(capsys, ["train", "--maze", maze_file], "--out")


def test_a_dataset_of_another_size_than_the_models_is_refused(tmp_path, capsys):
    folder, data, out = tmp_path / "arrays", tmp_path / "data", tmp_path / "run"
    folder.mkdir()
    np.save(folder / "observations.npy", np.random.rand(200, 3).astype(np.float32))
    np.save(folder / "actions.npy", np.zeros((200, 2), dtype=np.float32))
    assert main(["import", str(folder), "--out", str(data)]) == 0
    train = ["train", "--data", str(data), "--out", str(out), *TINY]
    assert main(train) == 0
    refused(capsys, ["evaluate", str(out)], "without a world")
    refused(capsys, ["evaluate", str(out), "--maze", "large"], "(3,)")
    other = tmp_path / "other"
    assert main(["explore", "--maze", "medium", "--out", str(other), "--steps", "300"]) == 0
    mixed = ["train", "--data", str(data), "--dynamics-data", str(other), *TINY]
    refused(capsys, [*mixed, "--out", str(tmp_path / "mixed")], "(2,)", "(3,)")


def test_output_folders_that_cannot_be_written_are_refused(run, maze_file, tmp_path, capsys):
    train = ["train", "--maze", maze_file, *TINY]
    refused(capsys, [*train, "--out", run], "--resume")
    refused(capsys, [*train, "--out", "/proc/cogmap"], "/proc/cogmap")
    explore = ["explore", "--maze", maze_file, "--steps", "100", "--out"]
    refused(capsys, [*explore, "/proc/cogmap"], "/proc/cogmap")
    refused(capsys, [*explore, str(Path(run))], "not empty")
    evaluate = ["evaluate", run, "--budget", "5", "--json", "/proc/cogmap/out.json"]
    refused(capsys, evaluate, "/proc/cogmap")
    plan = ["plan", run, "--start", "0,0", "--goal", "12,8", "--budget", "5", "--figure"]
    refused(capsys, [*plan, "/proc/cogmap/route.png"], "/proc/cogmap")


def test_an_unknown_option_exits_with_two(capsys):
    with pytest.raises(SystemExit) as stop:
        main(["evaluate", LARGE, "--speed", "fast"])
    assert stop.value.code == 2
