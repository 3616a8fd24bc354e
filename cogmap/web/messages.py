"""The messages between the page and the server, with their types; /docs is made from them.

A field over the maze is a list with one number for each lattice point, in the order of
`Map.points`. Positions are in the simulator's units, y upward.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

Place = Annotated[tuple[float, float], Field(description="x, y")]
Score = Literal["learned", "exact"]
Method = Literal["pca", "tsne"]
Phase = Literal["exploring", "map", "dynamics", "done", "failed", "stopped"]

SMALLEST_DRAWN = 3  # cells on a side of a drawn maze: a border and one row within it
LARGEST_DRAWN = 16  # more would not train within two minutes
LONGEST_PAST = 1000  # decisions that one inspection may be given


class Message(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class Drawing(Message):
    """The size that a maze drawn on the page may have."""

    smallest: int = Field(default=SMALLEST_DRAWN, description="cells on a side, with the border")
    largest: int = LARGEST_DRAWN


class Map(Message):
    """A trained run: its maze, and what can be asked of it.

    The page and the report know the maze's lengths from here alone.
    """

    id: str
    name: str
    method: str = Field(description="cogmap, or that of a rival")
    colours: str | None = Field(
        description="what a field shows: G, or the value of a rival; None: it values no places"
    )
    rows: list[str] = Field(description="'#' wall, '.' free; the first row has the lowest y")
    low: Place = Field(description="lower corner of the maze; row 0 begins there")
    high: Place
    cell: float = Field(description="side of a cell")
    unit: float = Field(description="one lattice move")
    agent_radius: float = Field(description="the agent stands at least this far from walls")
    goal_radius: float = Field(description="a route has arrived when it is this close to the goal")
    points: list[Place] = Field(description="the lattice")
    taus: list[int] = Field(description="octaves of the horizon; a rival knows none")
    exact: bool = Field(description="whether the maze is small enough for G*")
    start: Place
    goal: Place
    pictures: bool = Field(description="whether the model sees pictures instead of positions")
    trained: str = Field(description="one line: the loss, the walk, the horizons")
    candidates: int = Field(
        description="actions that a planner weighs in one decision; 0: a policy decides alone"
    )
    longest_past: int = Field(default=LONGEST_PAST, description="most places of one InspectRequest")
    drawing: Drawing = Drawing()


class FieldOfScores(Message):
    """G towards a goal at one horizon, or the value that a rival gives to each place."""

    tau: int | None
    score: Score
    values: list[float]


class Embedding(Message):
    """h(x, tau) of every lattice point, projected to a plane and turned onto the maze."""

    tau: int
    method: Method
    points: list[Place] = Field(description="within [-1, 1] on both axes")


class PlanRequest(Message):
    start: Place
    goal: Place
    planner: str | None = Field(
        None, description="gp, pap, or beta=NUMBER; by default gp. A rival has none"
    )
    budget: int = Field(1000, ge=1, le=5000, description="simulator steps")


class Step(Message):
    """One decision and where it led."""

    kind: Literal["step"] = "step"
    at: Place = Field(description="where it was decided")
    to: Place = Field(description="where the agent stood afterwards")
    candidate: int | None = Field(None, description="None: a policy decided alone")
    horizon: int | None = Field(None, description="the horizon that argued for it")
    value: float | None = Field(
        description="V of the chosen candidate; of a rival the value of `at`, if it has values"
    )
    left: float = Field(description="shortest way from `to` to the goal region")


class Outcome(Message):
    """How a route ended."""

    kind: Literal["outcome"] = "outcome"
    success: bool
    steps: int
    length: float
    shortest: float
    seconds: float


class Failure(Message):
    """Sent last where a route could not go on."""

    kind: Literal["failure"] = "failure"
    detail: str


class InspectRequest(Message):
    """Asks for the candidates of one decision; the planner's memory needs those before it."""

    places: list[Place] = Field(
        min_length=1,
        max_length=LONGEST_PAST,
        description="where it was decided so far; the last is inspected",
    )
    chosen: list[int] = Field(
        max_length=LONGEST_PAST, description="candidates taken at all places but the last"
    )
    goal: Place
    planner: str = "gp"


class Candidate(Message):
    action: Place
    value: float | None = Field(
        description="V at its best radius, less where it was seen before; None: tried here before"
    )
    radius: int = Field(description="units along the action at which it is best")
    outcome: Place = Field(description="where the local model expects to be then")
    progress: list[float] = Field(description="at each of `taus`")


class Candidates(Message):
    taus: list[int] = Field(description="the horizons that were asked in this decision")
    best: int
    candidates: list[Candidate]


class DrawRequest(Message):
    rows: list[str] = Field(
        min_length=SMALLEST_DRAWN,
        max_length=LARGEST_DRAWN,
        description="'#' wall, '.' free; equal lengths",
    )


class Report(Message):
    step: int
    loss: float


class Job(Message):
    """How far the training of a drawn maze is, and the maze itself."""

    id: str
    map: str | None = Field(description="id of the finished map")
    phase: Phase
    step: int
    of: int
    loss: list[Report] = Field(description="of the temporal model")
    seconds: float
    detail: str = Field(description="what is going on, or what went wrong, in words")
    rows: list[str] = Field(description="as in Map; so are low, high, cell and unit")
    low: Place
    high: Place
    cell: float
    unit: float
    points: list[Place]
    taus: list[int]
    version: int = Field(description="grows when a new state of the model can be looked at")
