"""A study runs from one command, goes on after Ctrl-C, and is rendered."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from cogmap.cli import main
from cogmap.reproduce.studies import STUDIES

SCENES = Path(os.environ.get("COGMAP_SCENES", "scenes")).absolute()


def lines(path):
    return path.read_text().splitlines() if path.exists() else []


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Models that the quick studies share."""
    return tmp_path_factory.mktemp("reproduce")


@pytest.mark.parametrize("name", list(STUDIES))
def test_every_study_runs_from_one_command(name, folder, capfd, monkeypatch):
    if name == "first-person" and not (SCENES / "apartment_1.navmesh").exists():
        pytest.skip("set COGMAP_SCENES to a folder with Habitat's test scenes")
    monkeypatch.chdir(folder)
    command = ["reproduce", name, "--quick", "--seeds", "1", "--runs", str(folder)]
    assert main(command) == 0
    page = (folder / "quick" / "results.md").read_text()
    assert f"<!-- begin {name} -->" in page and f"results/{name}.jsonl" in page
    before = (folder / "quick" / "results" / f"{name}.jsonl").read_bytes()
    assert main(command) == 0  # again: nothing to do
    assert (folder / "quick" / "results" / f"{name}.jsonl").read_bytes() == before
    for picture in {"horizons", "temperature", "theory"} & {name}:
        assert (folder / "quick" / f"{picture}.png").stat().st_size > 10_000


def test_wrong_settings_are_refused_in_one_line(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["reproduce", "data", "--quick", "--seeds", "0"]) == 2
    assert main(["reproduce", "data", "--quick", "--workers", "0"]) == 2
    errors = capsys.readouterr().err.splitlines()
    assert [line for line in errors if line.startswith("cogmap: ")] == [
        "cogmap: seeds=0; give at least 1.",
        "cogmap: workers=0; give at least 1.",
    ]


def test_ctrl_c_stops_a_study_at_once_and_it_goes_on_later(tmp_path):
    """As a user would: interrupt it once something is measured, then run it again."""
    command = [sys.executable, "-m", "cogmap", "reproduce", "probes", "--quick", "--runs", "."]
    rows = tmp_path / "quick" / "results" / "probes.jsonl"
    process = subprocess.Popen(
        command,
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a shell's & ignores it
    )
    deadline = time.monotonic() + 120
    while not lines(rows) and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.1)
    began = time.monotonic()
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130 and "Traceback" not in errors
    assert time.monotonic() - began < 20
    measured = lines(rows)
    assert measured
    again = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, env=os.environ)
    assert again.returncode == 0, again.stderr
    assert lines(rows)[: len(measured)] == measured and len(lines(rows)) > len(measured)


def test_without_its_scenes_the_first_person_study_writes_nothing(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("COGMAP_SCENES", str(tmp_path / "none"))
    assert main(["reproduce", "first-person", "--quick", "--runs", str(tmp_path / "runs")]) == 2
    assert "apartment_1.navmesh" in capsys.readouterr().err
    assert not (tmp_path / "runs").exists()
