"""config.json keeps what a run was made with; runs of 0.3.0 are read as they were meant."""

import dataclasses
import json
import shutil
from pathlib import Path

import pytest

from cogmap import Agent, Exploration, Planning, RunSettings, TemporalTraining
from cogmap.config import RunConfig
from cogmap.envs.kinds import restored
from cogmap.envs.maze import Maze
from cogmap.envs.pointmaze import PointMaze
from cogmap.errors import CogmapError

MODELS = Path(__file__).parent.parent / "models"
WORLD = PointMaze(Maze.load("medium"), physics="kinematic", observation="image")


@pytest.mark.parametrize("name", ["large", "giant", "large-image", "giant-image"])
def test_runs_of_the_version_before_are_read_with_their_settings_and_world(name):
    folder = MODELS / f"pointmaze-{name}"
    written = json.loads((folder / "config.json").read_text())
    assert written["format"] == 1
    config = RunConfig.read(folder / "config.json")
    assert config.settings.temporal.steps == written["steps"]
    assert config.settings.dynamics.cycles == written["dynamics"]["cycles"]
    assert config.settings.exploration.action_steps == written["action_steps"]
    assert config.settings.planning == Planning() and config.method == "cogmap"
    world = restored(config.world)
    assert world.name == f"pointmaze-{name.removesuffix('-image')}"
    assert world.observation == ("image" if "image" in name else "state")


def test_a_config_comes_back_as_it_was_written(tmp_path):
    settings = RunSettings(
        exploration=Exploration(walk="actions", coverage=0.5),
        temporal=TemporalTraining(recorded_octaves=(9, 4), encoder="convolution"),
        planning=Planning(planner="gp", radii=(1, 2)),
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
        changed(planning=Planning(memory=0.0)),
        dataclasses.replace(base, data=Path("there/walk"), made={}),
    ]
    assert {config.fingerprint for config in same} == {base.fingerprint}
    other = [
        changed(seed=1),
        changed(temporal=TemporalTraining(agreement=0.2)),
        dataclasses.replace(base, world=PointMaze(Maze.load("large")).describe()),
        dataclasses.replace(base, method="gciql"),
    ]
    assert len({config.fingerprint for config in [base, *other]}) == 5


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"format": 7}, "no training settings of this version"),
        ({"temporal": {"stepz": 3}}, "unknown setting 'stepz'"),
        ({"planning": {"radii": [0]}}, "radii"),
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
    shutil.copytree(MODELS / "pointmaze-large", tmp_path / "run")
    config = RunConfig.read(tmp_path / "run/config.json")
    dataclasses.replace(config, method="gciql").write(tmp_path / "run")
    with pytest.raises(CogmapError, match="a run of gciql, not of cogmap"):
        Agent.load(tmp_path / "run")
