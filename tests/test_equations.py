"""docs/equations.md tells the truth about where each equation lives."""

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


def test_every_test_in_the_map_exists_and_mentions_its_subject():
    for equation, name, test in ROWS:
        text = (ROOT / "tests" / test).read_text()
        subject = name.split(".")[-1]
        owner = name.split(".")[-2]
        assert subject in text or owner in text, f"{equation}: {test} does not mention {name}"
