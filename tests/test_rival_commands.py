"""Rivals from the command line: train, resume, evaluate, plan; and what is refused, in one line."""

import json

import pytest

from cogmap.cli import main
from cogmap.rival import Rival

TINY = ["--rival.steps", "3", "--rival.rows", "3000", "--rival.batch", "16", "--rival.width", "16"]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("rivals") / "qrl"
    assert main(["train", "--method", "qrl", "--maze", "medium", "--out", str(folder), *TINY]) == 0
    return folder


def said(capsys, *command):
    """What a command says as it is refused."""
    capsys.readouterr()
    assert main([str(word) for word in command]) == 2
    [line] = [x for x in capsys.readouterr().err.splitlines() if x.startswith("cogmap: ")]
    return line


def test_a_run_says_its_method_and_every_number_of_it(run):
    config = json.loads((run / "config.json").read_text())
    assert config["method"] == "qrl" and config["rival"]["alpha"] == 0.0003
    assert config["rival"]["value_goals"] == [0.0, 0.0, 1.0] and config["rival"]["size"] == "small"
    rival = Rival.load(run)
    assert rival.hold == 1 and rival.model.settings.width == 16


def test_it_is_evaluated_planned_and_resumed_like_a_run_of_ours(run, tmp_path, capsys):
    assert main(["evaluate", str(run), "--episodes", "1", "--budget", "20", "--references"]) == 0
    told = capsys.readouterr().out
    assert "qrl policy" in told and "shortest path" in told
    results = tmp_path / "rows.jsonl"
    command = ["evaluate", str(run), "--episodes", "1", "--budget", "20", "--results", str(results)]
    assert main(command) == 0
    [row] = [json.loads(line) for line in results.read_text().splitlines()]
    assert row["method"] == "qrl" and row["held"] == 1 and row["model"]
    figure = tmp_path / "route.png"
    ends = ["--start", "0,0", "--goal", "4,0", "--budget", "30"]
    assert main(["plan", str(run), *ends, "--figure", str(figure)]) == 0
    assert figure.stat().st_size > 5000
    before = (run / "rival" / "model.safetensors").read_bytes()
    assert main(["train", "--resume", str(run)]) == 0
    assert (run / "rival" / "model.safetensors").read_bytes() == before


@pytest.mark.parametrize("walk", ["lattice", "navigate"])
def test_other_walks_are_recorded_too(walk, tmp_path):
    out = str(tmp_path / "run")
    command = ["train", "--method", "gcbc", "--maze", "medium", "--out", out, "--rival.walk", walk]
    assert main([*command, *TINY]) == 0
    assert Rival.load(out).hold == (5 if walk == "lattice" else 1)


def test_a_rival_learns_from_data_alone_and_acts_without_a_world(tmp_path):
    data, out = str(tmp_path / "data"), str(tmp_path / "run")
    recorded = ["--walk", "navigate", "--steps", "2000"]
    assert main(["explore", "--maze", "medium", "--out", data, *recorded]) == 0
    assert main(["train", "--method", "hilp", "--data", data, "--out", out, *TINY]) == 0
    rival = Rival.load(out)
    assert rival.act([[0.0, 0.0]], [[4.0, 4.0]]).shape == (1, 2)
    assert rival.act([[0.0, 0.0]], [[[4.0, 4.0], [0.0, 1.0]]]).shape == (1, 2)  # either will do
    assert rival.values([[0.0, 0.0], [1.0, 0.0]], [4.0, 4.0]).shape == (2,)


def test_of_a_set_of_goals_the_nearest_is_sought(run):
    rival = Rival.load(run)
    here, goals = [[2.0, 2.0]], [[8.0, 3.0], [1.0, 7.0]]
    nearer = max(goals, key=lambda goal: rival.values(here, goal)[0])
    assert (rival.act(here, [goals]) == rival.act(here, [nearer])).all()


def test_what_does_not_fit_is_refused_in_one_line(run, tmp_path, capsys):
    out = ["--out", str(tmp_path / "new")]
    rival = ["train", "--method", "qrl", "--maze", "medium", *out]
    assert "--planner: this run is of qrl" in said(capsys, "evaluate", run, "--planner", "pap")
    assert "--tau-max: this run is of qrl" in said(capsys, "evaluate", run, "--tau-max", "4")
    assert "(64, 64, 3)" in said(capsys, *rival, "--observation", "image")
    assert "--steps is not read by qrl" in said(capsys, *rival, "--steps", "5")
    assert "--rival.walk" in said(capsys, *rival, "--walk", "actions")
    ours = ["train", "--maze", "medium", *out]
    assert "--rival.steps is a rival's" in said(capsys, *ours, "--rival.steps", "5")
    assert "learns from --data alone" in said(capsys, *rival, "--dynamics-data", tmp_path)
    assert "--maze to explore" in said(capsys, "train", "--method", "qrl", *out)
    assert "holds a run already" in said(
        capsys, "train", "--method", "qrl", "--maze", "medium", "--out", run
    )
    assert not (tmp_path / "new").exists()
