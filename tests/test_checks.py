"""Held-out figures: what they call impossible, and how they name numbers."""

from pathlib import Path

import numpy as np
import torch

from cogmap.checks import Checks, check_run, farthest
from cogmap.data.trajectories import Trajectories
from cogmap.dynamics.settings import DynamicsTraining
from cogmap.dynamics.train import train_dynamics
from cogmap.temporal.settings import TemporalTraining
from cogmap.temporal.train import build_model

PLACES = 40


def walk(one_hot: bool) -> Trajectories:
    """Episodes on a line of forty places, as a number or as one of forty kinds."""
    rng = np.random.default_rng(0)
    moves = rng.integers(2, size=(20, 200)) * 2 - 1
    places = np.clip(PLACES // 2 + np.cumsum(moves, axis=1), 0, PLACES - 1).ravel()
    rows = np.eye(PLACES)[places] if one_hot else places[:, None] / PLACES
    return Trajectories(
        episode_starts=np.arange(20) * 200,
        observations=rows.astype(np.float32),
        actions=moves.reshape(-1, 1).astype(np.float32),
    )


def checked(data: Trajectories, folder: Path) -> Checks:
    """Of models that have learned nothing yet, and so call everything likely."""
    temporal = build_model(data, TemporalTraining(tau_max=8, width=16, embedding=8)).eval()
    training = DynamicsTraining(steps=1, batch=8, width=8)
    dynamics = train_dynamics(data, training, folder, seed=0, device="cpu")
    names = [f"place{k}" for k in range(data.observation_shape[0])]
    return check_run(temporal, dynamics, data, data, names=names)


def test_places_that_no_walk_reaches_in_time_should_not_look_likely(tmp_path):
    checks = checked(walk(one_hot=False), tmp_path)
    assert checks.implausible > 0.5 and "hold actions longer" in checks.warnings()[0]


def test_a_rare_kind_is_reached_in_one_decision_as_any_other(tmp_path):
    data = walk(one_hot=True)
    temporal = build_model(data, TemporalTraining(tau_max=8, width=16, embedding=8))
    assert torch.equal(farthest(temporal, data), torch.as_tensor(np.ptp(data.observations, axis=0)))
    assert checked(data, tmp_path).implausible == 0.0


def test_errors_are_told_by_name_and_of_many_the_worst(tmp_path):
    checks = checked(walk(one_hot=True), tmp_path)
    assert len(checks.error) == PLACES and set(checks.names) >= {"place0", "place39"}
    worst = checks.names[int(np.argmax(checks.error))]
    [told] = [line for line in checks.text() if "local model's error" in line]
    assert f"changes  {worst} {max(checks.error):.2f}" in told and "(the worst of 40)" in told
    row = checks.row(500)
    assert row["step"] == 500 and row["error_place3"] == checks.error[3]
    assert {"information_1", "calibration_8", "implausible"} <= row.keys()


def test_a_model_that_predicts_worse_than_no_change_is_warned_of_by_name():
    checks = Checks([1], [1.0], [1.0], [0.2, 1.4], 0.0, ["angle", "speed"])
    assert "does not predict speed (error 1.40" in checks.warnings()[0]


def test_figures_of_before_names_were_kept_are_read(tmp_path):
    old = '{"taus": [1], "information": [1.0], "calibration": [1.0], "error": [0.3], '
    (tmp_path / "checks.json").write_text(old + '"implausible": 0.0}')
    checks = Checks.load(tmp_path / "checks.json")
    assert checks is not None and "number 0 0.30" in checks.text()[2]
    checks.save(tmp_path / "again.json")
    again = Checks.load(tmp_path / "again.json")
    assert again == checks and Checks.load(tmp_path / "nothing.json") is None
