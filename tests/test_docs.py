"""Numbers in the README and in docs/results.md are rows of results/."""

import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
ROWS = [json.loads(line) for line in (ROOT / "results/pointmaze.jsonl").read_text().splitlines()]
COLUMNS = [("large", "official"), ("large", "random"), ("giant", "official"), ("giant", "random")]
LABELS = {
    "random policy": ("random policy (floor)", "models/pointmaze-"),
    "ours": ("log", "models/pointmaze-"),
    "geometric weights": ("geometric", "models/pointmaze-"),
    "GP, as the paper defines it": ("gp", "models/pointmaze-"),
    "PAP, as the paper defines it": ("pap", "models/pointmaze-"),
    "shortest-path oracle": ("shortest path (ceiling)", "models/pointmaze-"),
    "ours, training seed 1": ("log", "runs/{maze}1 "),
    "ours, training seed 2": ("log", "runs/{maze}2 "),
    "GP on the paper's loss": ("gp", "runs/{maze}-nce "),
    "PAP on the paper's loss": ("pap", "runs/{maze}-nce "),
}


def printed(name: str) -> dict[str, list[str]]:
    """Label -> the SR / SPL cells of every table row with four of them."""
    found = {}
    for line in (ROOT / name).read_text().splitlines():
        cells = re.findall(r"\d\.\d\d / \d\.\d\d", line)
        if line.startswith("|") and len(cells) == 4:
            label = line.split("|")[1].replace("**", "").split(" (")[0].strip()
            found[label] = cells
    return found


@pytest.mark.parametrize("page", ["README.md", "docs/results.md"])
def test_every_printed_result_is_a_measured_row(page):
    table = {label: cells for label, cells in printed(page).items() if "the paper:" not in label}
    assert table and set(table) <= set(LABELS)
    for label, cells in table.items():
        planner, model = LABELS[label]
        for (maze, tasks), cell in zip(COLUMNS, cells, strict=True):
            matching = [
                f"{row['sr']:.2f} / {row['spl']:.2f}"
                for row in ROWS
                if (row["planner"], row["maze"], row["tasks"]) == (planner, maze, tasks)
                and model.format(maze=maze) in row["command"]
                and row["episodes"] in (20, 100)
                and row.get("score") != "exact"
            ]
            assert matching == [cell], (label, maze, tasks)


def test_every_row_names_its_command_and_hardware():
    for row in ROWS:
        assert row["command"].startswith("cogmap evaluate ") and row["hardware"]
        assert row["sr_low"] <= row["sr"] <= row["sr_high"]


def test_the_readme_names_only_files_that_exist():
    text = (ROOT / "README.md").read_text()
    for path in re.findall(r"\]\(([\w./-]+)\)", text):
        assert (ROOT / path).exists(), path
