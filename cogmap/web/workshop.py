"""Training a drawn maze in a process of its own: `cogmap train`, watched through its run folder."""

from __future__ import annotations

import json
import math
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from cogmap.envs.maze import Maze
from cogmap.envs.maze_map import MazeMap
from cogmap.envs.pointmaze import PointMaze
from cogmap.errors import CogmapError
from cogmap.planning.objective import Horizons
from cogmap.temporal.train import load_temporal
from cogmap.theory.geodesic import moves_to
from cogmap.web import messages
from cogmap.web.ground import as_place
from cogmap.web.scores import Scores

MOST_STATES = 600  # of a drawn maze: more would not train within two minutes on two cores
TRAINING: dict[str, int | str] = {  # less of everything than the default
    "walk-steps": 400_000,
    "tau-max": 8192,
    "steps": 1200,
    "action-steps": 20_000,
    "dynamics.steps": 1500,
    "checkpoint-every": 50,
    "device": "cpu",
}


@dataclass
class Training:
    """One drawn maze under way or done."""

    id: str
    folder: Path
    maze: Maze
    process: subprocess.Popen
    settings: dict[str, int | str]
    began: float = field(default_factory=time.monotonic)
    ended: float | None = None
    stopped: bool = False
    _scores: tuple[int, Scores] | None = None

    @cached_property
    def plane(self) -> MazeMap:
        return PointMaze(self.maze).map

    def version(self) -> int:
        """Milliseconds of the newest weights; 0 before there are any."""
        weights = self.folder / "temporal" / "model.safetensors"
        return int(weights.stat().st_mtime * 1000) if weights.exists() else 0

    def scores(self) -> Scores:
        """The temporal model as it was last saved."""
        version = self.version()
        if not version:
            raise CogmapError("the training has not begun to learn yet; ask again in a moment.")
        if self._scores is None or self._scores[0] != version:
            self._scores = (
                version,
                Scores(load_temporal(self.folder / "temporal"), self.plane),
            )
        return self._scores[1]

    def stop(self) -> None:
        if self.process.poll() is None:
            self.stopped = True
            self.process.terminate()
            self.process.wait(timeout=20)

    def status(self) -> messages.Job:
        code = self.process.poll()
        if code is not None and self.ended is None:
            self.ended = time.monotonic()
        reports = _reports(self.folder / "temporal")
        moves = _reports(self.folder / "dynamics")
        step, of = 0, int(self.settings["steps"])
        phase: messages.Phase = "exploring"
        detail = "wandering in the simulator without a goal"
        if self.stopped:
            phase, detail = "stopped", "stopped"
        elif code == 0:
            phase, step, detail = "done", of, "trained; now plan in it"
        elif code is not None:
            phase, detail = "failed", self._complaint()
        elif (self.folder / "dynamics" / "config.json").exists():
            phase, detail = "dynamics", "learning what one action does"
            step, of = (moves[-1]["step"] if moves else 0), int(self.settings["dynamics.steps"])
        elif self.version():
            phase, detail = "map", "learning G from pairs of observations"
            step = reports[-1]["step"] if reports else 0
        low, high = self.maze.bounds
        return messages.Job(
            id=self.id,
            map=self.id if phase == "done" else None,
            phase=phase,
            step=step,
            of=of,
            loss=[
                messages.Report(step=row["step"], loss=row["loss"])
                for row in reports
                if math.isfinite(row["loss"])  # a training that diverged reports NaN
            ],
            seconds=round((self.ended or time.monotonic()) - self.began, 1),
            detail=detail,
            rows=self.maze.text.splitlines(),
            low=as_place(low),
            high=as_place(high),
            cell=self.plane.cell,
            unit=self.plane.unit,
            points=[as_place(point) for point in self.maze.lattice.points],
            taus=Horizons.octaves(int(self.settings["tau-max"])).taus.tolist(),
            version=self.version(),
        )

    def _complaint(self) -> str:
        lines = (self.folder.parent / f"{self.id}.log").read_text(errors="replace").splitlines()
        return lines[-1] if lines else "the training ended without a word."


class Workshop:
    """Drawn mazes of one server, one training at a time."""

    def __init__(self, folder: Path, *, training: dict[str, int | str]) -> None:
        self._folder, self._settings = folder, TRAINING | training
        self._trainings: dict[str, Training] = {}
        self._lock = threading.Lock()

    def start(self, rows: list[str]) -> Training:
        """Raises for a maze that cannot be trained or while another is."""
        maze = Maze.from_text("\n".join(rows), name="drawn")
        states = len(maze.lattice)
        if not 20 <= states <= MOST_STATES:
            raise CogmapError(
                f"this maze has {states} states to stand on; draw one of 20 to {MOST_STATES} "
                "(a free cell has about nine)."
            )
        if (moves_to(maze.lattice.successors, 0) < 0).any():
            raise CogmapError("parts of this maze are walled off; open a way between them.")
        with self._lock:
            if any(one.process.poll() is None for one in self._trainings.values()):
                raise CogmapError("another maze is being trained; stop it or wait.")
            id = self._new_id()
            folder = self._folder / id
            self._folder.mkdir(parents=True, exist_ok=True)
            file = self._folder / f"{id}.txt"
            file.write_text(maze.text + "\n")
            command = [sys.executable, "-m", "cogmap", "train", "--maze", str(file)]
            command += ["--out", str(folder)]
            for name, value in self._settings.items():
                command += [f"--{name}", str(value)]
            with (self._folder / f"{id}.log").open("w") as log:
                process = subprocess.Popen(
                    command, stdout=log, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL
                )
            found = Training(id, folder, maze, process, self._settings)
            self._trainings[id] = found
            return found

    def get(self, id: str) -> Training:
        if id not in self._trainings:
            raise KeyError(id)
        return self._trainings[id]

    def all(self) -> list[Training]:
        return list(self._trainings.values())

    def close(self) -> None:
        for one in self._trainings.values():
            one.stop()

    def _new_id(self) -> str:
        number = 1
        while (self._folder / f"drawn-{number}").exists():
            number += 1
        return f"drawn-{number}"


def _reports(folder: Path) -> list[dict]:
    """Whole lines of metrics.jsonl; the last may be half written."""
    path = folder / "metrics.jsonl"
    rows = []
    for line in path.read_text().splitlines() if path.exists() else ():
        try:
            rows.append(json.loads(line))
        except ValueError:
            break
    return [row for row in rows if "loss" in row]
