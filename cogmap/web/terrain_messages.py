"""The messages of a page without a maze: sampled observations, scores, plans (see terrain.py).

What is said of the sample is a list with one entry for each of `World.rows`, in their order. In a
building (storey.py) the sample is the lattice, and an observation is told as x, z and a heading.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from cogmap.web.messages import Message, Place

LONGEST_TEXT = 2000  # characters of a goal or a start
MOST_PLACES = 5001  # observations that one request may have placed: those of the longest plan
Observation = Annotated[
    list[float],
    Field(description="a number for each of `World.names`; of a picture what the eye makes of it"),
]
Text = Annotated[str, Field(max_length=LONGEST_TEXT)]
Method = Annotated[
    Literal["pca", "tsne", "floor"],
    Field(description="how the sample lies in a plane; floor: where it is in a building"),
]
Seed = Annotated[int, Field(ge=0, lt=1 << 31, description="of the environment's reset")]


class Floor(Message):
    """The plan of a building as seen from above, in the plane of its points."""

    triangles: list[list[Place]] = Field(description="where one can stand")
    walls: list[list[Place]] = Field(description="their two ends")
    spacing: float = Field(description="from one of `World.rows` to the next")
    reach: float = Field(description="a goal this close is reached, if nothing is in between")
    headings: int = Field(description="of which 0 looks up; they grow to the left")


class Way(Message):
    """What a candidate does, which is several moves."""

    name: str
    bearing: int = Field(description="degrees to the left of ahead that it goes, or turns to")
    goes: bool = Field(description="whether it does more than turn")


class World(Message):
    """A trained run in a world without a map, and what can be asked of it."""

    name: str
    trained: str = Field(description="one line: the loss, the horizons, what was seen")
    names: list[str] = Field(description="of an observation's numbers; empty: it is a picture")
    pictures: bool = Field(description="whether observations are pictures; see /api/world/picture")
    rows: list[Observation] = Field(
        description="the sample: seen observations, as they came; empty lists: pictures"
    )
    taus: list[int] = Field(description="octaves of the horizon, in decisions")
    actions: list[list[float]] = Field(
        description="what a planner weighs in every decision; empty: another set in each"
    )
    ways: list[Way] = Field(
        default=[], description="what they do, where they are more than one action"
    )
    hold: int = Field(description="environment steps that one decision lasts")
    plans: bool = Field(description="whether there is a simulator to plan in")
    frames: bool = Field(description="whether it can be looked at")
    own_goals: bool = Field(description="whether each reset says itself where to go")
    goal: str = Field(description="the run's own; empty: it has none")
    start: str = Field(description="how its episodes begin; empty: as a reset does")
    planner: str = Field(description="the run's own")
    budget: int = Field(description="environment steps of an episode unless told otherwise")
    methods: list[Method]
    floor: Floor | None = Field(default=None, description="of a building")


class Points(Message):
    """h(x, tau) of the sample, projected to a plane."""

    tau: int
    method: Method
    points: list[Place] = Field(description="within [-1, 1] on both axes")


class PlacesRequest(Message):
    """Asks where observations lie in the plane of a tau and a method."""

    tau: int
    method: Method = "pca"
    observations: list[Observation] = Field(max_length=MOST_PLACES)


class GoalField(Message):
    """G towards a goal at one horizon, from each observation of the sample."""

    tau: int
    values: list[float]
    goal: str = Field(description="the goal as it was understood")
    marks: list[int] = Field(description="rows of the sample nearest to those that would do")
    warning: str = Field(description="one line, where nothing seen is like it")


class JourneyRequest(Message):
    goal: Text | None = Field(
        default=None,
        description="as `cogmap plan --goal`, or #K for row K; by default the world's own",
    )
    start: Text | None = Field(
        default=None,
        description="as `cogmap plan --start`; by default the run's own; empty: as reset",
    )
    seed: Seed = 0
    planner: Text | None = Field(
        default=None, description="gp, pap, or beta=NUMBER; by default the run's"
    )
    budget: int | None = Field(default=None, ge=1, le=5000, description="environment steps")
    tau: int | None = Field(
        default=None, description="horizon of the plane; by default the longest"
    )
    method: Method | None = Field(default=None, description="by default the first of the world's")
    frames: bool = Field(default=True, description="whether to send what it looks like")


class Begun(Message):
    """Sent first: where a plan leads."""

    kind: Literal["begun"] = "begun"
    goal: str
    marks: list[int] = Field(description="as in GoalField; so is warning")
    warning: str
    frame: str | None = Field(description="what the goal looks like in a building, as in Move")


class Move(Message):
    """One decision: what was seen, what was weighed, what was chosen."""

    kind: Literal["step"] = "step"
    observation: Observation = Field(description="what it was decided on")
    place: Place = Field(description="its place in the plane")
    at_goal: bool = Field(description="whether that is the goal")
    scores: list[float] = Field(description="G of the goal from there, at each of `World.taus`")
    candidate: int = Field(description="which of `World.actions` was chosen")
    action: list[float]
    horizon: int = Field(description="the horizon that argued for it")
    value: float = Field(description="V of the chosen candidate")
    taus: list[int] = Field(description="the horizons that were asked")
    values: list[float | None] = Field(description="V of each candidate; None: tried here before")
    progress: list[list[float]] = Field(description="of each candidate, at each horizon asked")
    frame: str | None = Field(description="what it looks like there, as a data URL of a PNG")


class Arrival(Message):
    """How a plan ended, and where."""

    kind: Literal["outcome"] = "outcome"
    success: bool = Field(description="whether the goal was reached at any time")
    steps: int = Field(description="environment steps")
    stayed: float | None = Field(description="share of the time since then spent there")
    raised: str = Field(description="what the environment raised, if it ended so; or empty")
    seconds: float
    observation: Observation
    place: Place
    at_goal: bool
    scores: list[float]
    frame: str | None
