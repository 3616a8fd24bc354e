"""What a user may rely on without reading the code (design: promises)."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
ROOMS = ["data", "temporal", "dynamics", "planning", "theory"]


def python(code: str) -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)


@pytest.mark.parametrize("room", ROOMS)
def test_a_core_room_imports_only_numpy_torch_and_safetensors(room):
    modules = [
        ".".join(path.relative_to(ROOT).with_suffix("").parts)
        for path in sorted((ROOT / "cogmap" / room).glob("*.py"))
        if path.name != "__init__.py"
    ]
    wrong = ["tyro", "tqdm", "scipy", "matplotlib", "ogbench", "gymnasium", "mujoco", "sklearn"]
    code = (
        "import sys, importlib\n"
        f"for name in {wrong}: sys.modules[name] = None\n"  # importing any of these now fails
        f"for name in {modules}: importlib.import_module(name)\n"
    )
    result = python(code)
    assert result.returncode == 0, result.stderr


def test_help_answers_without_torch_and_at_once():
    code = (
        "import sys\nfrom cogmap.cli import main\n"
        "try: main(['--help'])\n"
        "except SystemExit: pass\n"
        "assert not {'torch', 'numpy'} & set(sys.modules), 'slow imports'"
    )
    began = time.perf_counter()
    result = python(code)
    assert result.returncode == 0 and "evaluate" in result.stdout, result.stderr
    assert time.perf_counter() - began < 5.0


def test_public_names_import_from_the_package():
    import cogmap

    assert {
        "Trajectories",
        "TemporalModel",
        "LocalDynamics",
        "Planner",
        "Decision",
        "evaluate",
    } <= (set(cogmap.__all__))
    for name in cogmap.__all__:
        assert getattr(cogmap, name).__name__ == name
    assert set(cogmap.__all__) == set(cogmap._HOMES)


def test_nothing_reaches_for_the_network():
    code = (
        "import socket\n"
        "def refuse(*a, **k): raise AssertionError('network')\n"
        "socket.socket.connect = refuse\nsocket.create_connection = refuse\n"
        "from cogmap.cli import main\n"
        "assert main(['plan', 'models/pointmaze-large', '--start', '0,0', '--goal', '8,0']) == 0"
    )
    result = python(code)
    assert result.returncode == 0, result.stderr


def test_temporal_training_runs_as_a_module_on_a_bare_host(tmp_path):
    from cogmap.envs.maze import Maze
    from cogmap.envs.wandering import collect_walk

    collect_walk(Maze.load("medium"), steps=3000, seed=0).save(tmp_path / "walk")
    config = tmp_path / "config.json"
    config.write_text(
        f'{{"data": "{tmp_path}/walk", "out": "{tmp_path}/out", "steps": 3, "tau_max": 64}}'
    )
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "cogmap.temporal.train", str(config)]
    subprocess.run(command, check=True, cwd=ROOT, env=environment)
    assert (tmp_path / "out/model.safetensors").exists()
