"""config.json keeps what a run was made with; what another version wrote is refused."""

import dataclasses
import json
from pathlib import Path

import pytest

from cogmap import Agent, Exploration, Planning, RunSettings, TemporalTraining
from cogmap.config import RunConfig
from cogmap.envs.kinds import restored
from cogmap.envs.maze import Maze
from cogmap.envs.pointmaze import PointMaze
from cogmap.errors import CogmapError

WORLD = PointMaze(Maze.load("medium"), physics="kinematic", observation="image")


@pytest.mark.parametrize("version", [1, 2])
def test_a_run_of_a_version_before_is_refused_and_the_line_says_what_to_do(version, tmp_path):
    old = {"format": version, "planning": {"planner": "log", "floor": -3.0, "memory": 0.1}}
    (tmp_path / "config.json").write_text(json.dumps(old))
    with pytest.raises(CogmapError, match=f"format {version}, not 3.*train again") as refused:
        Agent.load(tmp_path)
    assert "\n" not in str(refused.value)


def test_a_config_comes_back_as_it_was_written(tmp_path):
    settings = RunSettings(
        exploration=Exploration(walk="actions", coverage=0.5),
        temporal=TemporalTraining(recorded=None, encoder="convolution"),
        planning=Planning(planner="pap", view=None, radii=(1, 2), memory=False),
        seed=3,
        device="cpu",
    )
    made = RunConfig.new(settings, WORLD.describe(), dynamics_data=Path("somewhere/actions"))
    made.write(tmp_path)
    assert RunConfig.read(tmp_path / "config.json") == made
    assert made.made["hardware"] and made.made["version"]
    again = restored(made.world)
    assert again.describe() == WORLD.describe() and again.maze.text == WORLD.maze.text


def test_the_fingerprint_is_of_what_is_learned_and_not_of_where_or_how_it_is_used():
    base = RunConfig.new(RunSettings(), WORLD.describe(), data=Path("here/walk"))

    def changed(**settings) -> RunConfig:
        return dataclasses.replace(base, settings=dataclasses.replace(base.settings, **settings))

    same = [
        changed(device="cuda"),
        changed(planning=Planning(memory=False)),
        dataclasses.replace(base, data=Path("there/walk"), made={}),
    ]
    assert {config.fingerprint for config in same} == {base.fingerprint}
    other = [
        changed(seed=1),
        changed(temporal=TemporalTraining(coupling=20.0)),
        dataclasses.replace(base, world=PointMaze(Maze.load("large")).describe()),
        dataclasses.replace(base, method="gciql"),
    ]
    assert len({config.fingerprint for config in [base, *other]}) == 5


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"format": 7}, "of another version"),
        ({"temporal": {"stepz": 3}}, "unknown setting 'stepz'"),
        ({"planning": {"radii": [0]}}, "radii"),
        ({"planning": {"view": 0.0}}, "view=0.0; give a positive number of nats, or None"),
        ({"planning": {"floor": -3.0}}, "unknown setting 'floor'"),
        ({"seed": -1}, "seed=-1"),
    ],
)
def test_a_config_that_cannot_be_is_refused(change, complaint, tmp_path):
    RunConfig.new(RunSettings(), None).write(tmp_path)
    path = tmp_path / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(CogmapError, match=complaint):
        RunConfig.read(path)


def test_a_run_of_another_method_is_not_taken_for_one_of_ours(tmp_path):
    config = RunConfig.new(RunSettings(), WORLD.describe())
    dataclasses.replace(config, method="gciql").write(tmp_path)
    with pytest.raises(CogmapError, match="a run of gciql, not of cogmap"):
        Agent.load(tmp_path)
