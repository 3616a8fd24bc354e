"""A grid of trainings and measurements: in order of need, in parallel, resumed where it stopped.

A task runs once those it needs are done. What a measurement returns is appended to a file of
results under the measurement's cell, with a hash of every setting behind it; a cell that is there
already with the same hash is not run again, nor is a training that only such cells need. A cell
that was measured with other settings is measured anew, and its old rows go. Trainings keep their
own checkpoints (cogmap/runs.py).
"""

from __future__ import annotations

import dataclasses
import json
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, Protocol

import torch

from cogmap import devices, runs
from cogmap.config import fingerprint
from cogmap.errors import CogmapError
from cogmap.report.cells import Row

Engine = Literal["processes", "ray"]
ELSEWHERE = ("folder", "device", "data", "dynamics_data")  # where it runs, not what it is


@dataclass(frozen=True)
class Job:
    """One call. `call` is a function of a module, so that another process can find it."""

    name: str  # of a training, or the cell of a measurement
    call: Callable[..., list[Row] | None]
    arguments: dict[str, Any] = field(default_factory=dict)
    needs: tuple[Job, ...] = ()
    measures: bool = False  # whether its rows go to the results
    about: dict[str, Any] = field(default_factory=dict)  # columns of its rows: world, method, ...
    # Jobs with one and the same are done by one call of it, which is told the arguments of each.
    together: Callable[[list[dict[str, Any]]], None] | None = None
    alike: str = ""  # what such jobs must have in common besides
    elsewhere: bool = False  # measured on other machines: kept where it is known, not done here

    @cached_property
    def fingerprint(self) -> str:
        """A hash of what the call and those before it are told; folders and devices aside."""
        told = {name: v for name, v in self.arguments.items() if name not in ELSEWHERE}
        needs = [need.fingerprint for need in self.needs]
        return fingerprint({"call": self.call.__name__, "told": plain(told), "needs": needs})


def plain(value: Any) -> Any:
    """Settings as JSON has them."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        told = {f.name: plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
        return {name: part for name, part in told.items() if name not in usual_since(value)}
    if isinstance(value, dict):
        return {name: plain(part) for name, part in value.items()}
    return [plain(part) for part in value] if isinstance(value, list | tuple) else value


def usual_since(settings: Any) -> set[str]:
    """Fields that came after rows were measured and are as they were then, unsaid (LATER)."""
    later = [f for f in dataclasses.fields(settings) if f.metadata.get("later")]
    usual = type(settings)()
    return {f.name for f in later if getattr(settings, f.name) == getattr(usual, f.name)}


class Executor(Protocol):
    """Where tasks run."""

    def submit(self, call: Callable[..., Any], /, **arguments: Any) -> Future: ...


def timed(call: Callable[..., list[Row] | None], arguments: dict[str, Any]) -> list[Row]:
    """Runs in the worker: the call's rows with what they cost and where."""
    began = time.perf_counter()
    rows = call(**arguments) or []
    minutes = round((time.perf_counter() - began) / 60, 2)
    about = {"minutes": minutes, "commit": runs.commit(), "hardware": devices.hardware()}
    return [{**row, **about} for row in rows]


def read_cells(path: Path) -> dict[str, list[Row]]:
    """Measured rows by cell. A last line cut off by a kill is dropped from the file."""
    cells: dict[str, list[Row]] = {}
    if not path.exists():
        return cells
    lines = path.read_text().splitlines()
    whole = []
    for number, line in enumerate(lines, start=1):
        try:
            row = json.loads(line)
            cells.setdefault(row["cell"], []).append(row)
            whole.append(line)
        except (ValueError, KeyError, TypeError):
            if number < len(lines):
                raise CogmapError(f"{path}, line {number} is no row of results; mend it.") from None
    if len(whole) < len(lines):
        runs.write_lines(path, whole)
    return cells


def forget(path: Path, cell: str) -> None:
    """Drops the rows of one cell: it was measured with other settings."""
    kept = [line for line in path.read_text().splitlines() if json.loads(line)["cell"] != cell]
    runs.write_lines(path, kept)


def is_measured(task: Job, cells: dict[str, list[Row]]) -> bool:
    """Whether the results hold this measurement, made with these settings."""
    rows = cells.get(task.name, [])
    return bool(rows) and all(row.get("settings") == task.fingerprint for row in rows)


def outstanding(tasks: Iterable[Job], cells: dict[str, list[Row]]) -> list[Job]:
    """Measurements that are not in the results, and what they need, each once, needs first."""
    found: dict[str, Job] = {}

    def visit(task: Job) -> None:
        if task.name not in found:
            for need in task.needs:
                visit(need)
            found[task.name] = task

    for task in tasks:
        if not (task.elsewhere or is_measured(task, cells)):
            visit(task)
    return list(found.values())


def grouped(jobs: Sequence[Job]) -> list[list[Job]]:
    """Those that are done by one call, in order of the first of each."""
    groups: dict[Any, list[Job]] = {}
    for job in jobs:
        key = job.name if job.together is None else (job.together, job.alike)
        groups.setdefault(key, []).append(job)
    return list(groups.values())


def submitted(pool: Executor, jobs: list[Job]) -> Future:
    """One call for one job, or for several."""
    together = jobs[0].together
    if together is None:
        return pool.submit(timed, call=jobs[0].call, arguments=jobs[0].arguments)
    told = [job.arguments for job in jobs]
    return pool.submit(timed, call=together, arguments={"jobs": told})


def run_grid(
    tasks: Sequence[Job],
    path: Path,
    *,
    command: str,
    engine: Engine = "processes",
    workers: int = 1,
    report: Callable[[str, int, int], None] = lambda name, done, of: None,
) -> dict[str, list[Row]]:
    """Runs what is missing from `path` and returns the rows of all tasks by cell."""
    if workers < 1:
        raise CogmapError(f"workers={workers}; give at least 1.")
    measured = read_cells(path)
    waiting = outstanding(tasks, measured)
    total, done = len(waiting), set[str]()
    if waiting:
        with executor(engine, workers) as pool:
            running: dict[Future, list[Job]] = {}
            while waiting or running:
                ready = [task for task in waiting if all(n.name in done for n in task.needs)]
                for some in grouped(ready)[: 2 * workers - len(running)]:  # a few ahead: none idles
                    waiting = [task for task in waiting if task not in some]
                    running[submitted(pool, some)] = some
                for future in wait(running, return_when=FIRST_COMPLETED).done:
                    some = running.pop(future)
                    rows = future.result()
                    for task in some:
                        if task.measures and task.name in measured:
                            forget(path, task.name)
                        made = {"settings": task.fingerprint, "command": command}
                        for row in rows if task.measures else ():
                            runs.append_line(path, {"cell": task.name, **task.about, **row, **made})
                        done.add(task.name)
                        report(task.name, len(done), total)
    cells = read_cells(path)
    return {
        task.name: cells[task.name]
        for task in tasks
        if task.name in cells and (not task.elsewhere or is_measured(task, cells))
    }


@contextmanager
def executor(engine: Engine, workers: int) -> Iterator[Executor]:
    """Processes on this machine, or Ray: on its cluster where one runs, else on this machine.

    On a cluster the runs folder must be one that all its machines share.
    """
    if engine == "ray":
        yield from _ray(workers)
        return
    threads = max(1, (os.cpu_count() or 1) // workers)
    context = multiprocessing.get_context("spawn")  # a forked CUDA or OpenMP does not work
    with ProcessPoolExecutor(workers, context, initializer=_begin, initargs=(threads,)) as pool:
        try:
            yield pool
        except BaseException:  # Ctrl-C too: do not wait for minutes of work under way
            for child in multiprocessing.active_children():
                child.terminate()
            raise


def _begin(threads: int) -> None:
    """In a new worker: its share of the cores; Ctrl-C is the parent's to handle."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
    os.environ["OMP_NUM_THREADS"] = str(threads)  # the simulator's threads (envs/physics.py)
    torch.set_num_threads(threads)


def _end_with(parent: int) -> None:
    """Ends this process once its parent is gone, killed perhaps: or a training would go on, and the
    next start of the study would write into the same folder."""
    while os.getppid() == parent:
        time.sleep(0.5)
    os._exit(1)


def _ray(workers: int) -> Iterator[Executor]:
    try:
        import ray
    except ImportError:
        raise CogmapError("--engine ray needs Ray; pip install 'cogmap[ray]'.") from None
    if not ray.is_initialized():
        ray.init(num_cpus=workers, include_dashboard=False, log_to_driver=False)
    share = torch.cuda.device_count() / workers

    class OnRay:
        def submit(self, call: Callable[..., Any], /, **arguments: Any) -> Future:
            remote = ray.remote(call).options(num_cpus=1, num_gpus=min(1.0, share))
            return remote.remote(**arguments).future()

    try:
        yield OnRay()
    finally:
        ray.shutdown()
