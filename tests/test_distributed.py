"""torchrun: several processes train the model that one process would (temporal/train.py)."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from cogmap import devices
from cogmap.data.trajectories import Trajectories
from cogmap.devices import Rank
from cogmap.envs.maze import Maze
from cogmap.envs.wandering import collect_walk
from cogmap.errors import CogmapError
from cogmap.temporal.model import TemporalModel
from cogmap.temporal.settings import TemporalTraining
from cogmap.temporal.train import build_model, load_temporal, main, train_temporal

ROOT = Path(__file__).parent.parent
CORRIDOR = Maze.from_text("########\n#......#\n########", name="corridor")
# Steps for two reports; both horizons of an update are composed, each by its own process.
SETTINGS = {"steps": 200, "tau_max": 256, "lags": 2, "width": 16, "embedding": 8, "batch": 64}
SETTINGS |= {"checkpoint_every": 50}


def write_config(folder: Path, walk: Path, **changes) -> Path:
    """FOLDER.json, which asks for a training into FOLDER."""
    path = folder.with_suffix(".json")
    path.write_text(
        json.dumps(SETTINGS | {"device": "cpu", "data": str(walk), "out": str(folder)} | changes)
    )
    return path


def torchrun(config: Path, *, processes: int = 2) -> subprocess.CompletedProcess:
    """As a user would, on a port that is free and on this machine alone."""
    loopback = next(name for _, name in socket.if_nameindex() if name.startswith("lo"))
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    command += ["--local-addr=localhost", f"--nproc-per-node={processes}"]
    return subprocess.run(
        [*command, "-m", "cogmap.temporal.train", str(config)],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env=os.environ | {"OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": loopback},
        timeout=120,
    )


def reports(folder: Path) -> list[dict[str, float]]:
    lines = (folder / "metrics.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines]


def weights(model: TemporalModel) -> dict[str, torch.Tensor]:
    """All weights but beta1's: the softmax loss leaves it free, so that rounding alone moves it."""
    state = model.state_dict()
    return state | {name: state[name][0] for name in ("betas.weight", "betas.bias")}


def assert_same_training(one: Path, other: Path) -> None:
    """The same reports, weights and scores, up to the rounding of sums in another order."""
    first, second = reports(one), reports(other)
    assert [row["step"] for row in first] == [row["step"] for row in second] == [100, 200]
    for mine, theirs, tolerance in zip(first, second, (1e-5, 1e-4)):
        for name in ("loss", "information", "agreement"):
            assert mine[name] == pytest.approx(theirs[name], rel=tolerance), (mine, theirs)
    mine, theirs = load_temporal(one), load_temporal(other)
    for name, value in weights(mine).items():
        torch.testing.assert_close(value, weights(theirs)[name], rtol=1e-3, atol=1e-4, msg=name)
    for tau in (1, 40, 256):
        scores = [model.pair_score(model.bank, model.bank, tau) for model in (mine, theirs)]
        torch.testing.assert_close(*scores, rtol=1e-3, atol=1e-3)


@pytest.fixture(scope="module", autouse=True)
def one_thread():
    """As torchrun gives its processes: on busy cores two threads wait for each other most."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="module")
def walk(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("distributed") / "walk"
    collect_walk(CORRIDOR, steps=5000, seed=1).save(folder)
    return folder


@pytest.fixture(scope="module")
def alone(walk) -> Path:
    """A training by one process, that has learned something."""
    folder = walk.parent / "alone"
    main(str(write_config(folder, walk)))
    assert reports(folder)[-1]["information"] > 0.3
    return folder


def test_two_processes_train_the_model_that_one_process_trains(walk, alone, tmp_path):
    folder = tmp_path / "together"
    result = torchrun(write_config(folder, walk))
    assert result.returncode == 0, result.stderr
    assert_same_training(folder, alone)
    untrained = build_model(Trajectories.load(walk), TemporalTraining(**SETTINGS))
    moved = weights(load_temporal(folder))["source_head.leave.weight"]
    assert (moved - weights(untrained)["source_head.leave.weight"]).abs().max() > 0.05


class Killed(Exception):
    pass


def killed_after_130(numbers):
    for number in numbers:
        if number == 130:
            raise Killed
        yield number


def test_two_processes_resume_what_one_process_began(walk, alone, tmp_path):
    folder = tmp_path / "cut"
    settings = TemporalTraining(**SETTINGS)
    with pytest.raises(Killed):
        train_temporal(Trajectories.load(walk), settings, folder, progress=killed_after_130)
    state = torch.load(folder / "training_state.pt", weights_only=True)
    assert state["step"] == 100
    result = torchrun(write_config(folder, walk))
    assert result.returncode == 0, result.stderr
    assert_same_training(folder, alone)


def test_lags_that_processes_cannot_share_are_named_and_nothing_is_trained(walk, tmp_path):
    folder = tmp_path / "odd"
    result = torchrun(write_config(folder, walk, lags=3))
    assert result.returncode != 0
    ours = {line for line in result.stderr.splitlines() if line.startswith("cogmap: ")}
    assert ours == {"cogmap: lags=3 cannot be shared by 2 processes; make it a multiple of 2."}
    assert "train_temporal" not in result.stderr  # no traceback of ours beside it
    written = {path.name for path in folder.iterdir()} if folder.exists() else set()
    assert written <= {"training.json"}


@pytest.mark.parametrize(("count", "size"), [(1, 1), (6, 1), (6, 2), (6, 3), (8, 8)])
def test_the_shares_of_all_processes_are_equal_and_cover_everything_once(count, size):
    shares = [list(range(count))[Rank(number, size).share(count, "lags")] for number in range(size)]
    assert sum(shares, []) == list(range(count))
    assert {len(share) for share in shares} == {count // size}


@pytest.mark.parametrize(("count", "size"), [(1, 2), (3, 2), (4, 3)])
def test_what_cannot_be_shared_equally_is_refused(count, size):
    with pytest.raises(CogmapError, match=f"lags={count} cannot be shared by {size} processes"):
        Rank(0, size).share(count, "lags")


def test_a_process_that_torchrun_did_not_start_is_alone(monkeypatch):
    monkeypatch.delenv("WORLD_SIZE", raising=False)
    with devices.together("cpu"):
        assert devices.rank() == Rank(number=0, of=1)
    monkeypatch.setenv("WORLD_SIZE", "1")  # torchrun --nproc-per-node=1
    with devices.together("cpu"):
        assert devices.rank() == Rank(number=0, of=1)
