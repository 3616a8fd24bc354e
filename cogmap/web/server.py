"""The page's server: FastAPI over one run and the mazes that were drawn; /docs describes it.

Nothing here reaches for another host, and the page is served from the package.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from importlib import resources
from pathlib import Path
from typing import Annotated

import numpy as np
from fastapi import FastAPI, HTTPException, Query, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse, JSONResponse, Response
from fastapi.staticfiles import StaticFiles

import cogmap
from cogmap.agent import Agent, load
from cogmap.errors import CogmapError
from cogmap.progress import Bars, no_bars
from cogmap.rival import Rival
from cogmap.web import messages
from cogmap.web.chart import Chart
from cogmap.web.frames import png
from cogmap.web.ground import Ground
from cogmap.web.rival_chart import chart_of
from cogmap.web.rounded import as_numbers
from cogmap.web.storey import terrain_of
from cogmap.web.streaming import Lines, lines_of
from cogmap.web.terrain import without_map
from cogmap.web.terrain_routes import add_routes
from cogmap.web.workshop import Training, Workshop

SERVED = "run"  # id of the run that the server was started with
MOST_REASONS = 10  # listed when a request is refused
LONGEST_REASON = 400  # characters of one of them
Coordinate = Annotated[float, Query(allow_inf_nan=False)]


class Shelf:
    """The charts of one server, loaded once each: its own run and the drawn mazes."""

    def __init__(self, chart: Ground, workshop: Workshop) -> None:
        self.workshop = workshop
        self._charts = {SERVED: chart}
        self._lock = threading.Lock()

    def get(self, id: str) -> Ground:
        with self._lock:
            if id not in self._charts:
                try:
                    training = self.workshop.get(id)
                except KeyError:
                    raise HTTPException(404, f"no map {id!r} here.") from None
                if training.status().phase != "done":
                    raise HTTPException(409, f"the map {id!r} is not trained yet.")
                self._charts[id] = Chart(training.folder, id=id)
            return self._charts[id]

    def ids(self) -> list[str]:
        drawn = [one.id for one in self.workshop.all() if one.status().phase == "done"]
        return [SERVED, *drawn]


def create_app(
    folder: Path,
    *,
    work: Path,
    training: dict[str, int | str] | None = None,
    agent: Agent | Rival | None = None,
    bars: Bars = no_bars,
) -> FastAPI:
    """The page of a run. Drawn mazes are trained in `work`; `training` overrides their settings.

    `bars` show how far a building is whose views are cast.
    """
    workshop = Workshop(work, training=training or {})
    agent = agent or load(folder, device="cpu")
    app = FastAPI(
        title="cogmap",
        version=cogmap.__version__,
        summary="Fields, plans and embeddings of a trained run.",
        docs_url=None,  # FastAPI's own pages load scripts from another host
        redoc_url=None,
    )

    app.state.workshop = workshop  # to be closed by whoever serves the app

    @app.exception_handler(CogmapError)
    def refuse(request: Request, error: CogmapError) -> JSONResponse:
        return JSONResponse({"detail": _printable(str(error))}, status_code=422)

    @app.exception_handler(RequestValidationError)
    def explain(request: Request, error: RequestValidationError) -> JSONResponse:
        # FastAPI's own handler repeats the input. JSON has no NaN, so it fails where that is NaN.
        detail = [
            {
                "type": one["type"],
                "loc": [_printable(k) if isinstance(k, str) else k for k in one["loc"]],
                "msg": _printable(one["msg"]),
            }
            for one in error.errors()[:MOST_REASONS]
        ]
        return JSONResponse({"detail": detail}, status_code=422)

    @app.get("/api/health")
    def health() -> dict[str, bool]:
        """Answers as long as the server runs."""
        return {"ok": True}

    folder_of: Callable[[str], Path]
    if without_map(agent):
        add_routes(app, terrain_of(folder, agent=agent, bars=bars))
        first, folder_of = "world.html", partial(_only, folder)
    else:
        shelf = Shelf(chart_of(folder, id=SERVED, agent=agent), workshop)
        add_maze_routes(app, shelf)
        first, folder_of = "index.html", lambda id: shelf.get(id).folder

    @app.get("/files/{id}/{path:path}", response_class=FileResponse)
    def file(id: str, path: str) -> FileResponse:
        """A file of the run's folder, such as config.json or temporal/metrics.jsonl."""
        return _file(folder_of(id), path)

    static = Path(str(resources.files("cogmap.web").joinpath("static")))

    @app.get("/", include_in_schema=False)
    def index() -> FileResponse:
        return FileResponse(static / first)

    @app.get("/docs", include_in_schema=False)
    def documentation() -> FileResponse:
        return FileResponse(static / "docs.html")

    app.mount("/static", StaticFiles(directory=static), name="static")
    return app


def add_maze_routes(app: FastAPI, shelf: Shelf) -> None:
    """What the page of mazes asks for."""
    workshop = shelf.workshop

    @app.get("/api/maps")
    def maps() -> list[dict[str, str]]:
        """The run that is served, then the drawn mazes that are trained."""
        return [{"id": id, "name": shelf.get(id).description.name} for id in shelf.ids()]

    @app.get("/api/maps/{id}")
    def one_map(id: str) -> messages.Map:
        """The maze of one run, its constants, and what can be asked of the model."""
        return shelf.get(id).description

    @app.get("/api/maps/{id}/field")
    def field(
        id: str,
        x: Coordinate,
        y: Coordinate,
        tau: int | None = None,
        score: messages.Score = "learned",
    ) -> messages.FieldOfScores:
        """G towards the goal (x, y) from every lattice point at one horizon; a rival's value."""
        chart = shelf.get(id)
        chart.plane.check_bounds("goal", (x, y))
        return _field(chart.field((x, y), tau, score), tau, score)

    @app.get("/api/maps/{id}/picture", response_class=Response)
    def picture(id: str, x: Coordinate, y: Coordinate) -> Response:
        """What is seen at (x, y) in a run that learned from pictures, as PNG."""
        chart = shelf.get(id)
        if not chart.sees:
            raise CogmapError("this run learned from positions; it sees no pictures.")
        chart.plane.check_place("place", np.array([x, y]))
        seen = chart.plane.glance(np.array([[x, y]]))[0]
        return Response(png(seen), media_type="image/png")

    @app.get("/api/maps/{id}/embedding")
    def embedding(id: str, tau: int, method: messages.Method = "pca") -> messages.Embedding:
        """h(x, tau) of every lattice point, projected to a plane."""
        plane = shelf.get(id).projection(tau, method).round(4).tolist()
        return messages.Embedding(tau=tau, method=method, points=[(x, y) for x, y in plane])

    @app.post(
        "/api/maps/{id}/plan",
        response_class=Lines,
        responses={200: {"model": messages.Step | messages.Outcome | messages.Failure}},
    )
    def plan(id: str, asked: messages.PlanRequest) -> Lines:
        """Plans in the simulator: one Step a line as it is executed, then an Outcome."""
        chart = shelf.get(id)
        driver = chart.check(asked)
        return lines_of(chart.drive(asked, driver))

    @app.post("/api/maps/{id}/inspect")
    def inspect(id: str, asked: messages.InspectRequest) -> messages.Candidates:
        """What each candidate of one decision promised, at every horizon."""
        return shelf.get(id).candidates(asked)

    @app.post("/api/mazes")
    def draw(asked: messages.DrawRequest) -> messages.Job:
        """Begins to explore and train a drawn maze."""
        return workshop.start(asked.rows).status()

    @app.get("/api/jobs/{id}")
    def job(id: str) -> messages.Job:
        """How far a training is."""
        return _training(workshop, id).status()

    @app.delete("/api/jobs/{id}")
    def stop(id: str) -> messages.Job:
        """Stops a training."""
        training = _training(workshop, id)
        training.stop()
        return training.status()

    @app.get("/api/jobs/{id}/field")
    def job_field(id: str, x: Coordinate, y: Coordinate, tau: int) -> messages.FieldOfScores:
        """G towards (x, y) by the newest checkpoint of a training that may still run."""
        training = _training(workshop, id)
        training.plane.check_bounds("goal", (x, y))
        return _field(training.scores().field((x, y), tau, "learned"), tau, "learned")


def _only(folder: Path, id: str) -> Path:
    """The folder of the one run there is."""
    if id != SERVED:
        raise HTTPException(404, f"no run {id!r} here.")
    return folder


def _file(folder: Path, path: str) -> FileResponse:
    root = folder.resolve()
    try:
        found = (root / path).resolve()
        exists = found.is_file()
    except (OSError, ValueError):  # too long for a file name, or with a null byte in it
        raise HTTPException(404, "the run has no such file.") from None
    if not found.is_relative_to(root):
        raise HTTPException(403, "that path lies outside the run folder.")
    if not exists:
        raise HTTPException(404, f"the run has no file {path!r}.")
    return FileResponse(found)


def _training(workshop: Workshop, id: str) -> Training:
    try:
        return workshop.get(id)
    except KeyError:
        raise HTTPException(404, f"no training {id!r} here.") from None


def _field(values: np.ndarray, tau: int | None, score: messages.Score) -> messages.FieldOfScores:
    if not np.isfinite(values).all():
        raise CogmapError("the scores of this model are not finite; its training has diverged.")
    told = values.round(3).tolist() if tau is not None else as_numbers(values)  # of any scale
    return messages.FieldOfScores(tau=tau, score=score, values=told)


def _printable(text: str) -> str:
    """Shortened, and with lone surrogates escaped, so that it can always be sent as UTF-8."""
    text = text.encode(errors="backslashreplace").decode()
    return text if len(text) <= LONGEST_REASON else text[: LONGEST_REASON - 4] + " ..."
