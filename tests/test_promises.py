"""What a user may rely on without reading the code (design: promises)."""

import ast
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
ROOMS = ["data", "temporal", "dynamics", "planning", "theory", "explore"]
BARE_HOST = sys.stdlib_module_names | {"numpy", "torch", "safetensors", "cogmap"}


def python(code: str, **environment: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env=os.environ | environment,
    )


def statements(tree: ast.AST, *, later: bool) -> Iterator[ast.AST]:
    """What a module may execute: without blocks for type checkers; in functions too if `later`."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING"):
            continue
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not later:
            continue
        yield node
        yield from statements(node, later=later)


def imports(path: Path, *, later: bool) -> set[str]:
    """Modules that a file imports; of `from a import b` both a and a.b, which may be a name."""
    found = set()
    for node in statements(ast.parse(path.read_text()), later=later):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            module = "." * node.level + (node.module or "")
            found |= {module} | {f"{module}.{alias.name}" for alias in node.names}
    return found


def file_of(module: str) -> Path | None:
    """Of a module of ours; None for any other name."""
    path = ROOT.joinpath(*module.split("."))
    found = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    return found if module.split(".")[0] == "cogmap" and found.is_file() else None


@pytest.mark.parametrize("room", ROOMS)
def test_a_core_room_imports_only_the_standard_library_numpy_torch_and_safetensors(room):
    """Nor does what it imports of ours, at least until a function is called there."""
    inside = sorted((ROOT / "cogmap" / room).rglob("*.py"))
    assert len(inside) > 1, f"cogmap/{room} is no room"
    waiting, wrong, seen = list(inside), [], set(inside)
    while waiting:
        path = waiting.pop()
        names = imports(path, later=path in inside)
        wrong += [(path.name, name) for name in names if name.split(".")[0] not in BARE_HOST]
        reached = {file for name in names if (file := file_of(name)) is not None} - seen
        waiting += reached
        seen |= reached
    assert wrong == []


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


def test_threads_fall_asleep_soon_unless_the_user_says_otherwise():
    """Set before torch is imported, which is when OpenMP reads it."""
    code = (
        "import os, sys\n"
        "for name in {}: os.environ.pop(name, None)\n"  # what importing cogmap here has set
        "import cogmap\n"
        "print(os.environ.get('GOMP_SPINCOUNT'), 'torch' in sys.modules)"
    )
    assert python(code.format(["GOMP_SPINCOUNT"])).stdout.split() == ["3000", "False"]
    assert python(code.format([]), GOMP_SPINCOUNT="7").stdout.split() == ["7", "False"]
    active = python(code.format(["GOMP_SPINCOUNT"]), OMP_WAIT_POLICY="ACTIVE")
    assert active.stdout.split() == ["None", "False"]


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
