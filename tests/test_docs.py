"""Numbers in the README and in docs/results.md are rows of results/."""

import json
import re
from pathlib import Path

import pytest

from cogmap.report.cells import cell, chosen
from cogmap.report.goals import COLUMNS
from cogmap.report.studies import PAGES

ROOT = Path(__file__).parent.parent
MEASURED = [name for name in PAGES if (ROOT / f"results/{name}.jsonl").exists()]


def rows_of(name: str) -> list[dict]:
    return [json.loads(line) for line in (ROOT / f"results/{name}.jsonl").read_text().splitlines()]


@pytest.mark.parametrize("name", MEASURED)
def test_every_section_of_the_results_is_what_its_rows_say(name, tmp_path):
    page = (ROOT / "docs/results.md").read_text()
    section = page.split(f"<!-- begin {name} -->\n")[1].split(f"\n<!-- end {name} -->")[0]
    assert section == "\n".join(PAGES[name](rows_of(name), tmp_path))


@pytest.mark.parametrize("name", MEASURED)
def test_every_row_names_its_command_and_hardware(name):
    for row in rows_of(name):
        assert row["command"].startswith(f"cogmap reproduce {name}") and row["hardware"]
        if "sr" in row:
            assert row["sr_low"] <= row["sr"] <= row["sr_high"]


@pytest.mark.parametrize("name", PAGES)
def test_every_study_has_its_rows_on_the_page_or_is_said_to_have_none(name):
    page = (ROOT / "docs/results.md").read_text()
    section, rest = page.split(f"<!-- begin {name} -->")[1].split(f"<!-- end {name} -->")
    excuse = f"Not measured yet; `cogmap reproduce {name}`"
    assert bool(section.strip()) == (name in MEASURED)
    assert rest.lstrip().startswith(excuse) == (name not in MEASURED)


LABELS = {
    "random policy": {"method": "random"},
    "ours, GP": {"variant": "ours", "planner": "gp"},
    "ours, PAP": {"variant": "ours", "planner": "pap"},
    "shortest-path oracle": {"method": "oracle"},
}


def test_the_readmes_table_is_measured():
    rows, found = rows_of("maze-state"), set()
    for line in (ROOT / "README.md").read_text().splitlines():
        printed = re.findall(r"\d\.\d\d / \d\.\d\d", line)
        if not line.startswith("|") or len(printed) != 4 or "the paper: " in line:
            continue
        label = line.split("|")[1].replace("**", "").split(" (")[0].strip()
        for (world, tasks), text in zip(COLUMNS, printed, strict=True):
            some = chosen(rows, world=world, tasks=tasks, **LABELS[label])
            assert cell(some).startswith(text), (label, world, tasks)
        found.add(label)
    assert found == set(LABELS)


def test_the_readme_names_only_files_that_exist():
    text = (ROOT / "README.md").read_text()
    for path in re.findall(r"\]\(([\w./-]+)\)", text):
        assert (ROOT / path).exists(), path
