"""cogmap figures"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from cogmap.agent import Agent
from cogmap.cli import Figures
from cogmap.envs.egocentric import Building
from cogmap.envs.world import map_of
from cogmap.errors import CogmapError
from cogmap.report import canvas
from cogmap.report.figures.projections import check_installed
from cogmap.report.figures.sheets import (
    OF_A_BUILDING,
    OF_A_RUN,
    OF_FRAMES,
    OF_RESULTS,
    Material,
    MissingRows,
)
from cogmap.runs import check_writable

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def run(settings: Figures) -> None:
    agent = None if settings.run is None else Agent.load(settings.run, device=settings.device)
    own = {} if agent is None else of_this(agent)
    wanted = list(dict.fromkeys(settings.only or [*own, *OF_RESULTS]))
    if lost := [name for name in wanted if name not in own and name not in OF_RESULTS]:
        if agent is None:
            raise CogmapError(f"{lost[0]} is drawn of a run; give one made by `cogmap train`.")
        raise CogmapError(f"{lost[0]} is not drawn of this run; there are {', '.join(own)}.")
    canvas.pyplot()  # what is missing is said before minutes are spent
    if {"embeddings", "embeddings-3d"} & set(wanted):
        check_installed()
    drawings = prepare(settings, agent, wanted)
    check_writable(settings.out / f"{wanted[0]}.png")
    for name, draw in drawings.items():
        began = time.perf_counter()
        try:
            figure = draw()
        except MissingRows as error:
            if settings.only:
                raise
            print(f"{name}: left out, {error}")
            continue
        paths = [settings.out / f"{name}.{kind}" for kind in ("pdf", "png")]
        canvas.save(figure, *paths)
        seconds = time.perf_counter() - began
        print(f"{name}: {paths[0]} and .png, {seconds:.1f} s", flush=True)


def of_this(agent: Agent) -> dict[str, Callable]:
    """The figures of a run: those of a maze, routes with views in a building, or frames."""
    world = agent.acting_in(None)
    if isinstance(world, Building):
        return dict(OF_A_BUILDING)
    if world.map is None:
        return dict(OF_FRAMES)
    agent.check_positions("cogmap figures")
    return dict(OF_A_RUN)


def prepare(
    settings: Figures, agent: Agent | None, wanted: list[str]
) -> dict[str, Callable[[], Figure]]:
    """A call for each wanted figure; what they need of a run is made once for all of them."""
    calls: dict[str, Callable[[], Figure]] = {}
    material = None
    for name in wanted:
        if name in OF_RESULTS:
            calls[name] = partial(OF_RESULTS[name], settings.results)
        elif name in OF_A_BUILDING:
            assert agent is not None
            building: Any = agent.acting_in(None)
            calls[name] = partial(OF_A_BUILDING[name], agent, building)
        elif name in OF_FRAMES:
            assert agent is not None
            calls[name] = partial(OF_FRAMES[name], agent, agent.acting_in(None))
        else:
            assert agent is not None
            if material is None:
                plane = map_of(agent.world, "cogmap figures")
                material = Material(agent, replace(plane.positions(), physics=settings.physics))
            calls[name] = partial(OF_A_RUN[name], material)
    return calls
