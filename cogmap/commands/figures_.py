"""cogmap figures"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from cogmap.agent import Agent
from cogmap.cli import Figures
from cogmap.envs.world import map_of
from cogmap.errors import CogmapError
from cogmap.report import canvas
from cogmap.report.figures.projections import check_installed
from cogmap.report.figures.sheets import OF_A_RUN, OF_RESULTS, Material, MissingRows
from cogmap.runs import check_writable

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def run(settings: Figures) -> None:
    everything = [*OF_A_RUN, *OF_RESULTS] if settings.run else [*OF_RESULTS]
    wanted = list(dict.fromkeys(settings.only or everything))
    if settings.run is None and (lost := [name for name in wanted if name in OF_A_RUN]):
        raise CogmapError(f"{lost[0]} is drawn of a run; give one made by `cogmap train`.")
    canvas.pyplot()  # what is missing is said before minutes are spent
    if {"embeddings", "embeddings-3d"} & set(wanted):
        check_installed()
    drawings = prepare(settings, wanted)
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


def prepare(settings: Figures, wanted: list[str]) -> dict[str, Callable[[], Figure]]:
    """A call for each wanted figure; a run is loaded once for all that need it."""
    material = None
    if settings.run is not None:
        agent = Agent.load(settings.run, device=settings.device)
        agent.check_positions("cogmap figures")
        plane = map_of(agent.world, "cogmap figures")
        material = Material(agent, replace(plane.positions(), physics=settings.physics))
    return {
        name: partial(OF_A_RUN[name], material)
        if material is not None and name in OF_A_RUN
        else partial(OF_RESULTS[name], settings.results)
        for name in wanted
    }
