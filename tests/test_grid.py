"""A grid runs what is missing, once, and knows rows that were made with other settings."""

import dataclasses
import json
import os
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from cogmap.choices import LATER
from cogmap.errors import CogmapError
from cogmap.planning.settings import Planning
from cogmap.reproduce import rivals
from cogmap.reproduce.grid import Job, outstanding, read_cells, run_grid
from cogmap.reproduce.page import replace_section
from cogmap.reproduce.scale import Scale
from cogmap.reproduce.studies import STUDIES, world_of
from cogmap.reproduce.work import model, plan, walked

ROOT = Path(__file__).parent.parent


def note(folder, name):
    """A training: leaves a file."""
    with (folder / "trained").open("a") as file:
        file.write(name + "\n")


def count(folder, value):
    """A measurement."""
    with (folder / "measured").open("a") as file:
        file.write(f"{value}\n")
    return [{"value": value}]


def fail():
    raise CogmapError("no such thing")


def grid(folder, values):
    model = Job("model", note, {"folder": folder, "name": "model"})
    return [
        Job(f"cell{v}", count, {"folder": folder, "value": v}, (model,), measures=True)
        for v in values
    ]


def note_all(jobs):
    """Several trainings by one call."""
    for told in jobs:
        note(**told)
    with (jobs[0]["folder"] / "calls").open("a") as file:
        file.write(f"{len(jobs)}\n")


def test_trainings_of_a_kind_are_done_by_one_call(tmp_path):
    def made(name, alike):
        told = {"folder": tmp_path, "name": name}
        return Job(name, note, told, together=note_all, alike=alike)

    models = [made("a", "x"), made("b", "y"), made("c", "x")]
    cells = [
        Job(f"cell {m.name}", count, {"folder": tmp_path, "value": m.name}, (m,), measures=True)
        for m in models
    ]
    found = run_grid(cells, tmp_path / "rows.jsonl", command="test")
    assert sorted(found) == ["cell a", "cell b", "cell c"]
    assert [rows[0]["value"] for rows in found.values()] == ["a", "b", "c"]
    assert sorted(lines(tmp_path / "trained")) == ["a", "b", "c"]
    assert sorted(lines(tmp_path / "calls")) == ["1", "2"]


def test_what_is_measured_elsewhere_is_kept_and_not_done(tmp_path):
    path = tmp_path / "rows.jsonl"
    [cell] = grid(tmp_path, [1])
    elsewhere = replace(cell, elsewhere=True)
    assert outstanding([elsewhere], {}) == []
    assert run_grid([elsewhere], path, command="test") == {}
    run_grid([cell], path, command="test")
    assert list(run_grid([elsewhere], path, command="test")) == ["cell1"]
    other = replace(elsewhere, arguments=elsewhere.arguments | {"value": 2})  # with other settings
    assert run_grid([other], path, command="test") == {} and len(lines(path)) == 1


def lines(path):
    return path.read_text().splitlines() if path.exists() else []


@pytest.mark.parametrize("engine", ["processes", "ray"])
def test_a_grid_runs_needs_first_and_nothing_twice(tmp_path, engine, monkeypatch):
    if engine == "ray":
        pytest.importorskip("ray")
        monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent))  # to find `note` and `count`
    results, seen = tmp_path / "rows.jsonl", []
    settings = {"command": "test", "engine": engine, "workers": 2}
    cells = run_grid(
        grid(tmp_path, [1, 2]), results, **settings, report=lambda n, d, t: seen.append((n, d, t))
    )
    assert {name: rows[0]["value"] for name, rows in cells.items()} == {"cell1": 1, "cell2": 2}
    assert seen[0] == ("model", 1, 3) and seen[-1][1:] == (3, 3)
    assert lines(tmp_path / "trained") == ["model"]
    # One more cell: the training is there to be needed again, the measured cells are not.
    run_grid(grid(tmp_path, [1, 2, 3]), results, **settings)
    assert lines(tmp_path / "trained") == ["model", "model"]
    assert sorted(lines(tmp_path / "measured")) == ["1", "2", "3"]
    # Nothing is missing: nothing runs, the model included.
    run_grid(grid(tmp_path, [3, 2, 1]), results, **settings)
    assert lines(tmp_path / "trained") == ["model", "model"]
    row = json.loads(lines(results)[0])
    assert row["command"] == "test" and row["hardware"] and row["minutes"] >= 0


def test_a_failing_task_says_why_and_keeps_what_was_measured(tmp_path):
    results = tmp_path / "rows.jsonl"
    [cell] = grid(tmp_path, [1])
    tasks = [cell, Job("broken", fail, needs=(cell,), measures=True)]
    with pytest.raises(CogmapError, match="no such thing"):
        run_grid(tasks, results, command="test", workers=1)
    assert list(read_cells(results)) == ["cell1"]


def test_a_row_cut_off_by_a_kill_is_measured_again(tmp_path):
    results = tmp_path / "rows.jsonl"
    settings = grid(tmp_path, [1])[0].fingerprint
    row = json.dumps({"cell": "cell1", "value": 1, "settings": settings})
    results.write_text(row + '\n{"cell": "cell2", "va')
    assert list(read_cells(results)) == ["cell1"]
    assert [task.name for task in outstanding(grid(tmp_path, [1, 2]), read_cells(results))] == [
        "model",
        "cell2",
    ]
    results.write_text('nonsense\n{"cell": "cell1"}\n')
    with pytest.raises(CogmapError, match="line 1 is no row"):
        read_cells(results)


def changed(job, **arguments):
    """The same cell, told something else."""
    return replace(job, arguments=job.arguments | arguments)


def test_a_cell_that_was_measured_with_other_settings_is_measured_anew(tmp_path):
    results = tmp_path / "rows.jsonl"
    [first, second] = grid(tmp_path, [1, 2])
    run_grid([first, second], results, command="test")
    run_grid([changed(first, value=7), second], results, command="test")
    rows = [json.loads(line) for line in lines(results)]
    assert [(row["cell"], row["value"]) for row in rows] == [("cell2", 2), ("cell1", 7)]
    assert rows[1]["settings"] == changed(first, value=7).fingerprint != first.fingerprint


def test_the_hash_of_a_cell_knows_what_its_model_was_told_and_not_where_it_lies(tmp_path):
    [cell] = grid(tmp_path, [1])
    assert grid(tmp_path / "elsewhere", [1])[0].fingerprint == cell.fingerprint
    other = replace(cell, needs=(changed(cell.needs[0], name="other"),))
    assert other.fingerprint != cell.fingerprint
    scale = Scale()
    more = replace(scale, settings=replace(scale.settings, planning=Planning(view=4.0)))
    for name, study in STUDIES.items():
        if name in ("maze-state", "maze-vision", "gym", "cube", "cube-pictures", "first-person"):
            continue
        assert study(scale)[0].fingerprint != study(more)[0].fingerprint


def test_a_run_folder_of_other_settings_is_refused(tmp_path):
    world = world_of("corridor", physics="kinematic").describe()
    settings = Scale().shrunk().settings
    model(tmp_path, world, settings, "cpu")
    model(tmp_path, world, settings, "cpu")  # the same: nothing is left to do
    with pytest.raises(CogmapError, match="holds a run of other settings"):
        model(tmp_path, world, replace(settings, seed=1), "cpu")


def test_a_row_tells_of_the_episodes_whose_ends_were_explored_where_it_is_asked_to(tmp_path):
    world = world_of("corridor", physics="kinematic")
    common = Scale().shrunk().settings
    part = replace(common.exploration, coverage=0.5, unexplored="scattered")
    model(tmp_path, world.describe(), replace(common, exploration=part), "cpu")
    tasks = {"tasks": "random", "budget": 10}
    [told] = plan(tmp_path, "pap", "cpu", ends=True, **tasks)
    [silent] = plan(tmp_path, "pap", "cpu", **tasks)
    assert told.keys() - silent.keys() == {"explored", "explored_sr", "explored_spl"}
    assert 0 <= told["explored"] < told["episodes"] == 20
    assert len(walked(tmp_path)) <= 0.5 * len(world.maze.lattice) + 8  # to within half a cell


def test_every_measured_row_in_the_repository_says_what_it_is_of():
    for name, study in STUDIES.items():
        jobs = {job.name: job for job in study(Scale())}
        for row in (json.loads(line) for line in lines(ROOT / "results" / f"{name}.jsonl")):
            about = jobs[row["cell"]].about
            assert {column: row[column] for column in about} == about, row["cell"]
            assert {"settings", "commit", "hardware", "command"} <= row.keys()


def test_every_study_names_each_of_its_cells_once():
    for name, study in STUDIES.items():
        tasks = study(Scale())
        assert all(task.measures for task in tasks), name
        assert len({task.name for task in tasks}) == len(tasks), name


def test_models_of_one_name_have_one_recipe_in_all_studies():
    recipes = {}
    for study in STUDIES.values():
        for task in study(Scale()):
            for need in task.needs:
                assert recipes.setdefault(need.name, need.arguments) == need.arguments


def test_a_section_of_a_page_is_replaced_and_the_rest_kept(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("# Mine\n\n<!-- begin a -->\nold\n<!-- end a -->\n\nAfter.\n")
    replace_section(page, "a", ["new"])
    replace_section(page, "b", ["more"])
    replace_section(page, "b", ["most"])
    assert page.read_text() == (
        "# Mine\n\n<!-- begin a -->\nnew\n<!-- end a -->\n\nAfter.\n\n"
        "<!-- begin b -->\nmost\n<!-- end b -->\n"
    )


KILLED = """
import os, time
from cogmap.reproduce.grid import executor

if __name__ == "__main__":
    with executor("processes", 1) as pool:
        print(pool.submit(os.getpid).result(), flush=True)
        pool.submit(time.sleep, 60).result()
"""


def test_a_worker_ends_with_a_study_that_was_killed(tmp_path):
    script = tmp_path / "study.py"
    script.write_text(KILLED)
    process = subprocess.Popen([sys.executable, script], stdout=subprocess.PIPE, text=True)
    worker = int(process.stdout.readline())
    os.kill(worker, 0)  # it is there
    process.kill()
    process.wait()
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        try:
            os.kill(worker, 0)
        except ProcessLookupError:
            return
        time.sleep(0.1)
    os.kill(worker, 9)
    raise AssertionError("the worker went on")


def test_a_rivals_cell_of_a_cpu_is_not_one_of_a_gpu_and_proofs_learn_longer(monkeypatch):
    sizes, known = {}, {}
    for device in ("cpu", "cuda"):
        monkeypatch.setattr(rivals.devices, "pick", lambda asked: torch.device(asked))
        made = [
            rivals.rival(Scale(device=device), "large", "qrl", walk, 0)
            for walk in ("actions", "navigate")
        ]
        known[device] = {job.fingerprint for job in made}
        told = [job.arguments["settings"].rival for job in made]
        sizes[device] = [(training.size, training.steps) for training in told]
    assert not known["cpu"] & known["cuda"]
    assert sizes["cpu"] == [("small", 20_000), ("small", 60_000)]
    assert sizes["cuda"] == [("ogbench", 1_000_000)] * 2


def test_rivals_of_a_gpu_are_trained_as_one_and_those_of_a_cpu_stay_in_the_table(monkeypatch):
    monkeypatch.setattr(rivals.devices, "pick", lambda asked: torch.device(asked))
    tasks = {device: rivals.rivals(Scale(device=device, seeds=2)) for device in ("cpu", "cuda")}
    for device, size in (("cpu", "small"), ("cuda", "ogbench")):
        sizes = {task.about.get("size") for task in tasks[device] if not task.elsewhere}
        assert sizes == {size, None}  # ours has none
        kept = [task for task in tasks[device] if task.elsewhere]
        assert {task.about["size"] for task in kept} == {"ogbench", "small"} - {size}
    here, there = ({task.name: task.fingerprint for task in tasks[d]} for d in ("cpu", "cuda"))
    rows_of_rivals = [name for name in here if "cogmap" not in name]
    assert all(here[name] == there[name] for name in rows_of_rivals)
    trainings = [t.needs[0] for t in tasks["cuda"] if t.about.get("size") == "ogbench"]
    assert {job.alike for job in trainings} >= {"qrl actions", "qrl navigate", "gcbc actions"}
    assert all(job.together is rivals.work.rivals_together for job in trainings)


def test_a_setting_that_came_later_leaves_hashes_alone_until_it_is_set():
    @dataclasses.dataclass(frozen=True)
    class Before:
        steps: int = 3

    @dataclasses.dataclass(frozen=True)
    class Since:
        steps: int = 3
        width: int = dataclasses.field(default=8, metadata=LATER)

    def hashed(told):
        return Job("cell", print, {"settings": told}).fingerprint

    assert hashed(Before()) == hashed(Since())
    assert hashed(Since(width=9)) not in (hashed(Before()), hashed(Since(width=10)))
