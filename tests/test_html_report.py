"""The report is one file, and what it holds is what the models and episodes say."""

from __future__ import annotations

import base64
import json
import re
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("pydantic")

from cogmap.cli import main
from cogmap.evaluation.evaluate import evaluate
from cogmap.web.chart import Chart
from cogmap.web.report import MOST_ROUTES, page

LARGE = Path(__file__).parent.parent / "models/pointmaze-large"
PAIRS = [{"start": [0, 0], "goal": [8, 8]}, {"start": [12, 8], "goal": [24, 16]}]


@pytest.fixture(scope="module")
def chart():
    return Chart(LARGE, id="run")


@pytest.fixture(scope="module")
def result(chart, tmp_path_factory):
    file = tmp_path_factory.mktemp("report") / "pairs.json"
    file.write_text(json.dumps(PAIRS))
    return evaluate(chart.agent, tasks=str(file), world=chart.world, budget=300)


@pytest.fixture(scope="module")
def text(chart, result):
    return page(chart, result, planner="gp")


@pytest.fixture(scope="module")
def record(text):
    found = re.search(r'<script type="application/json" id="record">(.*?)</script>', text, re.S)
    return json.loads(found.group(1))


def modules(text):
    imports = re.search(r'<script type="importmap">(.*?)</script>', text, re.S).group(1)
    return {
        name: base64.b64decode(url.removeprefix("data:text/javascript;base64,")).decode()
        for name, url in json.loads(imports)["imports"].items()
    }


def check_alone(text):
    """It refers to no other file and no other host."""
    scripts = modules(text)
    for part in (text, *scripts.values()):
        assert not re.search(r"https?://|//cdn|@import|url\(", part)
    assert set(re.findall(r'(?:src|href)="([^"]*)"', text)) <= {"data:,"}
    for name, script in scripts.items():
        asked = re.findall(r'from "([^"]+)"', script)
        assert set(asked) <= set(scripts), name
    assert "{{" not in re.sub(r"<script.*?</script>|<style.*?</style>", "", text, flags=re.S)


def test_the_file_refers_to_no_other_file_and_no_other_host(text):
    check_alone(text)
    assert len(text) < 3e6


def test_the_fields_equal_the_models_scores_to_a_thousandth(chart, record):
    assert record["map"]["taus"] == chart.scores.taus
    assert [tuple(field["goal"]) for field in record["fields"]] == [(8, 8), (24, 16)]
    for field in record["fields"]:
        whole = np.frombuffer(base64.b64decode(field["scores"]), "<i2")
        scores = whole.reshape(len(chart.scores.taus), -1) / 1000
        for tau, row in zip(chart.scores.taus, scores, strict=True):
            exact = chart.scores.field(tuple(field["goal"]), tau, "learned")
            assert np.abs(row - np.maximum(exact, -32.768)).max() <= 5.1e-4


def test_the_routes_equal_the_episodes(result, record):
    assert len(record["routes"]) == len(result.episodes)
    for route, episode in zip(record["routes"], result.episodes, strict=True):
        assert np.abs(np.array(route["places"]) - np.array(episode.route)).max() <= 5.1e-4
        assert route["horizon"] == [decision.horizon for decision in episode.decisions]
        assert route["candidate"] == [decision.candidate for decision in episode.decisions]
        assert route["outcome"]["success"] == episode.success
        for values, decision in zip(route["values"], episode.decisions, strict=True):
            kept = np.array([-np.inf if value is None else value for value in values])
            assert np.allclose(kept, decision.values, rtol=1e-3)


def test_each_decision_keeps_the_horizons_it_asked_and_its_progress_there(result, record):
    for route, episode in zip(record["routes"], result.episodes, strict=True):
        assert route["taus"] == [decision.taus.tolist() for decision in episode.decisions]
        assert len(set(map(tuple, route["taus"]))) > 1  # other ones near the goal than far from it
        for progress, decision in zip(route["progress"], episode.decisions, strict=True):
            np.testing.assert_allclose(progress, decision.progress, rtol=1e-3)


def test_the_tables_give_sr_with_its_interval_and_spl(text, result):
    low, high = result.interval
    for cell in (f"{result.sr:.2f}", f"{low:.2f}-{high:.2f}", f"{result.spl:.2f}", "softmax"):
        assert f"<td>{cell}</td>" in text


def test_a_report_of_many_episodes_holds_some_routes_and_counts_all(chart, result):
    result.episodes.extend(result.episodes * MOST_ROUTES)
    try:
        many = page(chart, result, planner="gp")
    finally:
        del result.episodes[2:]
    assert many.count("data-route=") >= MOST_ROUTES
    assert f"<td>{2 + 2 * MOST_ROUTES}</td>" in many


def test_report_refuses_what_it_cannot_write_or_plan(capsys, tmp_path):
    (tmp_path / "folder").mkdir()
    for arguments, word in (
        (["--html", str(tmp_path / "folder")], "cannot write"),
        (["--html", str(tmp_path / "r.html"), "--planner", "best"], "best"),
        (["--html", str(tmp_path / "r.html"), "--episodes", "0"], "episodes"),
    ):
        assert main(["report", str(LARGE), *arguments]) == 2
        assert word in capsys.readouterr().err
    assert not (tmp_path / "r.html").exists()


def test_only_commands_import_the_page():
    root = Path(__file__).parent.parent / "cogmap"
    for file in root.rglob("*.py"):
        room = file.relative_to(root).parts[0]
        if room not in ("web", "commands"):
            assert not re.search(r"(from|import) cogmap\.web", file.read_text()), file
