"""cogmap bench as a user would type it, and the literal pseudo-code that it measures against."""

import json
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from cogmap import Agent
from cogmap.cli import main
from cogmap.envs.maze import Maze
from cogmap.envs.wandering import collect_walk
from cogmap.planning.objective import IN_VIEW
from cogmap.planning.settings import PAPER
from cogmap.report import literal
from cogmap.report.decisions import Cases
from cogmap.report.speed import Clock
from cogmap.temporal.batches import Batch
from cogmap.temporal.losses import nce
from cogmap.temporal.settings import TemporalTraining
from cogmap.temporal.train import build_model

ROOT = Path(__file__).parent.parent
LARGE = str(ROOT / "models/pointmaze-large")


@pytest.fixture(scope="module")
def agent():
    return Agent.load(LARGE, device="cpu")


def test_bench_prints_every_figure_and_writes_them(tmp_path, capsys):
    out, lines = tmp_path / "out.json", tmp_path / "r/rows.jsonl"
    arguments = ["bench", "--quick", "--run", LARGE, "--device", "cpu"]
    assert main([*arguments, "--json", str(out), "--results", str(lines)]) == 0
    text = capsys.readouterr().out
    for word in (
        "matrix products, float32",
        "training, literal",
        "training, our recipe",
        "extrapolated",
        "beside a busy process",
        "share of the float32 rate",
        "one decision, literal, 64 horizons",
        f"one decision, the default, {IN_VIEW} of",
        "10 decisions at once, quadrature",
        "same action as literal",
        "memory, training",
        "times literal",
    ):
        assert word in text, word
    assert "CPU cores" in text.splitlines()[-1] and "pointmaze-large" in text.splitlines()[-1]
    stored = json.loads(out.read_text())
    rows = [json.loads(line) for line in lines.read_text().splitlines()]
    assert [row["what"] for row in rows] == [row["what"] for row in stored["rows"]]
    assert all(row["value"] > 0 and row["what"] in text for row in rows)
    for row in rows:
        assert row["hardware"] == stored["hardware"] and row["world"] == "pointmaze-large"
        assert row["command"] == f"cogmap bench --run {LARGE} --device cpu --quick"
    same = {row["what"]: row["value"] for row in rows if row["what"].startswith("same action")}
    assert same["same action as literal, each of 64 horizons"] == 1.0


def test_bench_makes_a_model_where_there_is_none_on_a_host_without_extras(tmp_path):
    rooms = tmp_path / "rooms.txt"
    rooms.write_text("#######\n#..#..#\n#.....#\n#..#..#\n#######\n")
    wrong = ["scipy", "matplotlib", "ogbench", "gymnasium", "mujoco", "sklearn"]
    code = (
        "import sys\n"
        f"for name in {wrong}: sys.modules[name] = None\n"  # importing any of these now fails
        "from cogmap.cli import main\n"
        f"sys.exit(main(['bench', '--quick', '--maze', {str(rooms)!r}, '--device', 'cpu']))"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert result.returncode == 0, result.stderr
    last = result.stdout.splitlines()[-1]
    assert "pointmaze-rooms" in last and "model just timed" in last


def test_the_literal_decision_and_the_planner_on_every_horizon_choose_the_same_action(agent):
    world = replace(agent.world, physics="kinematic")
    planner = agent.planner(PAPER, world=world, tau_max=96, every_horizon=True)
    taus = torch.arange(1, 97)
    banks = literal.embedded_banks(agent.temporal, taus)
    cases = Cases.draw(world.maze, count=12)
    for state, goal in zip(cases.states, cases.goals):
        choice = literal.choose_action(
            agent.temporal,
            agent.dynamics,
            planner.candidates,
            torch.as_tensor(state),
            torch.as_tensor(goal),
            taus,
            banks,
        )
        assert choice == planner.decide(state, goal).candidate


@pytest.mark.parametrize("loss", ["softmax", "nce"])
def test_the_literal_goal_score_is_the_models(loss):
    walk = collect_walk(Maze.load("medium"), steps=3000, seed=0)
    model = build_model(walk, TemporalTraining(loss=loss, width=32))
    taus = torch.tensor([1, 7, 300, 8192])
    observations, goal = torch.rand(5, 2) * 20, torch.tensor([4.0, 8.0])
    with torch.no_grad():
        model.source_head.leave.weight.normal_()
        model.betas.bias[0] = 2.0  # scores start close together
        banks = literal.embedded_banks(model, taus)
        score = literal.goal_score(model, observations, goal, taus, banks)
        assert score.std(0).min() > 0.005
        for k, tau in enumerate(taus.tolist()):
            expected = model.pair_score(observations, goal[None], tau)[:, 0]
            torch.testing.assert_close(score[:, k], expected, atol=1e-4, rtol=1e-4)


def test_the_literal_training_loss_is_nce_with_targets_of_other_pairs():
    scores = 4 * torch.randn(40, 40, generator=torch.Generator().manual_seed(0))
    pairs = torch.eye(40)
    expected, _ = nce(Batch(scores[None], pairs, 1 - pairs), negatives=39)
    torch.testing.assert_close(literal.contrast(scores), expected)


def test_the_clock_ends_a_training_in_time_and_knows_its_rate():
    clock = Clock(torch.device("cpu"), seconds=0.1)
    began = time.perf_counter()
    for _ in clock(range(10**9)):
        time.sleep(0.01)
    assert time.perf_counter() - began < 1.0
    assert 20 < clock.rate <= 100


def test_wrong_inputs_to_bench_are_named_in_one_line(tmp_path, capsys):
    for arguments, word in (
        (["--maze", "tiny"], "'tiny'"),
        (["--run", str(tmp_path / "none")], "none"),
        (["--json", "/proc/cogmap/out.json"], "/proc/cogmap"),
        (["--results", "/proc/cogmap/rows.jsonl"], "/proc/cogmap"),
    ):
        capsys.readouterr()
        assert main(["bench", "--quick", *arguments]) == 2
        lines = capsys.readouterr().err.strip().splitlines()
        assert len(lines) == 1 and lines[0].startswith("cogmap: ") and word in lines[0], lines
    with pytest.raises(SystemExit) as stop:
        main(["bench", "--device", "abacus"])
    assert stop.value.code == 2
