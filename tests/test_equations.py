"""docs/equations.md tells the truth about where each equation lives."""

import ast
import importlib
import re
from functools import reduce
from pathlib import Path

ROOT = Path(__file__).parent.parent
TEXT = (ROOT / "docs/equations.md").read_text()
ROWS = re.findall(
    r"^\| (Eq\. \d+|Alg\. \d) \|.*\| `([\w.]+)` \| `(\w+\.py)` \|$", TEXT, re.MULTILINE
)


def resolve(name: str) -> object:
    parts = name.split(".")
    for cut in range(len(parts), 0, -1):
        try:
            module = importlib.import_module(".".join(parts[:cut]))
        except ModuleNotFoundError:
            continue
        return reduce(getattr, parts[cut:], module)
    raise AssertionError(f"{name} does not exist")


def test_every_equation_and_algorithm_of_the_paper_has_a_row():
    assert [row[0] for row in ROWS] == [f"Eq. {n}" for n in range(1, 30)] + [
        f"Alg. {n}" for n in range(1, 4)
    ]


def test_every_name_in_the_map_exists():
    for name in re.findall(r"`(cogmap\.[\w.]+)`", TEXT):
        assert callable(resolve(name)), name


def called(test: str) -> set[str]:
    """Names of the functions, classes and methods that a file of tests calls."""
    calls = [
        node.func
        for node in ast.walk(ast.parse((ROOT / "tests" / test).read_text()))
        if isinstance(node, ast.Call)
    ]
    names = {func.id for func in calls if isinstance(func, ast.Name)}
    return names | {func.attr for func in calls if isinstance(func, ast.Attribute)}


def test_every_test_in_the_map_calls_its_subject():
    uncalled = [row for row in ROWS if row[1].split(".")[-1] not in called(row[2])]
    assert uncalled == []
