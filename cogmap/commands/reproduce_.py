"""cogmap reproduce"""

from __future__ import annotations

import dataclasses
import os

from tqdm import tqdm

from cogmap import devices
from cogmap.choices import Device
from cogmap.cli import Reproduce, command_of
from cogmap.envs.scenes import FOLDER
from cogmap.errors import CogmapError
from cogmap.report.studies import PAGES
from cogmap.reproduce.first_person import check_files
from cogmap.reproduce.grid import outstanding, read_cells, run_grid
from cogmap.reproduce.page import replace_section
from cogmap.reproduce.scale import Scale
from cogmap.reproduce.studies import STUDIES
from cogmap.runs import check_writable

# The same rows with any of them.
ELSEWHERE = ("scenes", "workers", "engine", "runs", "results", "page")


def run(settings: Reproduce) -> None:
    if settings.seeds < 1:
        raise CogmapError(f"seeds={settings.seeds}; give at least 1.")
    # The device goes into the recorded command: the same seed gives other weights on another one.
    settings = dataclasses.replace(settings, device=name_of(settings.device))
    scale = Scale(seeds=settings.seeds, device=settings.device, runs=settings.runs.absolute())
    results, page = settings.results, settings.page
    if settings.quick:
        small = settings.runs / "quick"
        scale = dataclasses.replace(scale, runs=small.absolute()).shrunk()
        results, page = small / "results", small / "results.md"
    if settings.scenes is not None:
        os.environ[FOLDER] = str(settings.scenes.absolute())  # workers read it too
    path = results / f"{settings.name}.jsonl"
    tasks = STUDIES[settings.name](scale)
    cells = read_cells(path)
    missing = outstanding(tasks, cells)
    check_files(missing)
    for file in (path, page):
        check_writable(file)
    here = [task for task in tasks if task.measures and not task.elsewhere]
    known = len(here) - sum(task.measures for task in missing)
    print(f"{settings.name}: {len(here)} measurements, {known} of them in {path}")
    if stale := [task.name for task in missing if task.name in cells]:
        print(f"{len(stale)} were made with other settings and are measured anew: {stale[0]}, ...")
    with tqdm(total=len(missing), unit="task", disable=not missing) as bar:

        def report(name: str, done: int, of: int) -> None:
            bar.set_description(name)
            bar.update()

        cells = run_grid(
            tasks,
            path,
            command=command_of(settings, first="name", without=ELSEWHERE),
            engine=settings.engine,
            workers=settings.workers,
            report=report,
        )
    rows = [row for task in tasks for row in cells.get(task.name, [])]
    section = PAGES[settings.name](rows, page.parent)
    replace_section(page, settings.name, section)
    print(f"{len(rows)} rows -> {path}; rendered -> {page}")


def name_of(device: Device) -> Device:
    """What `auto` stands for here."""
    kinds: dict[str, Device] = {"cpu": "cpu", "cuda": "cuda", "mps": "mps"}
    return kinds[devices.pick(device).type]
