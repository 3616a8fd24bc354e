"""The routes of a page without a maze: /api/world and below."""

from __future__ import annotations

from typing import Annotated

from fastapi import FastAPI, Query
from fastapi.responses import Response

from cogmap.web import terrain_messages as messages
from cogmap.web.frames import coloured, png
from cogmap.web.ground import as_place
from cogmap.web.journey import begin, field
from cogmap.web.messages import Failure
from cogmap.web.streaming import Lines, lines_of
from cogmap.web.terrain import Terrain


def add_routes(app: FastAPI, terrain: Terrain) -> None:
    """What the page of a run without a map asks for."""

    @app.get("/api/world")
    def world() -> messages.World:
        """The world, a sample of what was seen in it, and what can be asked of the model."""
        return terrain.description

    @app.get("/api/world/points")
    def points(tau: int, method: messages.Method = "pca") -> messages.Points:
        """h(x, tau) of the sample, projected to a plane."""
        found = [as_place(point) for point in terrain.plane(tau, method).points]
        return messages.Points(tau=tau, method=method, points=found)

    @app.post("/api/world/places")
    def places(asked: messages.PlacesRequest) -> messages.Points:
        """Where other observations lie in that plane."""
        seen = terrain.given(asked.observations)
        found = [as_place(place) for place in terrain.places(seen, asked.tau, asked.method)]
        return messages.Points(tau=asked.tau, method=asked.method, points=found)

    @app.get("/api/world/picture", response_class=Response)
    def picture(row: int) -> Response:
        """What a row of the sample looks like, as PNG, where observations are pictures."""
        return Response(png(coloured(terrain.picture(row))), media_type="image/png")

    @app.get("/api/world/field")
    def goal_field(
        tau: int,
        goal: Annotated[str | None, Query(max_length=messages.LONGEST_TEXT)] = None,
        start: Annotated[str | None, Query(max_length=messages.LONGEST_TEXT)] = None,
        seed: messages.Seed = 0,
        heading: int | None = None,
    ) -> messages.GoalField:
        """G at one horizon, from each of the sample, towards the goal that such a plan has.

        In a building that is from each place, at one heading or by default the best of all.
        """
        asked = messages.JourneyRequest(goal=goal, start=start, seed=seed, frames=False)
        return field(terrain, asked, tau, heading)

    @app.post(
        "/api/world/plan",
        response_class=Lines,
        responses={200: {"model": messages.Begun | messages.Move | messages.Arrival | Failure}},
    )
    def plan(asked: messages.JourneyRequest) -> Lines:
        """Plans in the simulator: where it leads, one Move a line, then an Arrival."""
        return lines_of(begin(terrain, asked).told())
