"""How a run in a building learns and plans, where nobody says otherwise (App. D)."""

from __future__ import annotations

from dataclasses import replace

from cogmap.dynamics.settings import DynamicsTraining
from cogmap.planning.settings import Planning
from cogmap.settings import RunSettings
from cogmap.sight.settings import SightTraining
from cogmap.temporal.settings import TAU_MAX, TemporalTraining

WALK_STEPS = 8_000_000  # App. D
ACTION_STEPS = 400_000  # of the same walk, whose moves the local dynamics learns from
UPDATES = 3000
RADII = (1, 2, 3)  # moves of a candidate after which it is judged
NUMBERS, FOLLOWS = 32, 64  # of a look; longest lag of views that it is learned from
LOOKING = 1000  # updates of a sight


def settled(settings: RunSettings, *, looks: bool, numbers: int, is_state: bool) -> RunSettings:
    """`looks`: there are views, with so many `numbers` beside them; `is_state`: what is shown tells
    all that what follows depends on."""
    exploration, temporal = settings.exploration, settings.temporal
    if exploration.walk_steps == "auto":
        exploration = replace(exploration, walk_steps=WALK_STEPS)
    if exploration.action_steps == "auto":
        few = min(ACTION_STEPS, exploration.steps)
        exploration = replace(exploration, action_steps=few)
    if temporal.tau_max == "auto":
        temporal = replace(temporal, tau_max=TAU_MAX)
    sight = settings.sight
    if sight.frames:  # states of several views, of which a goal is told one
        sight = in_buildings(sight)
    elif temporal.tied == "auto":
        temporal = replace(temporal, tied=True)
    if temporal.steps == 0:
        temporal = replace(temporal, steps=UPDATES)
    if temporal.encoder == "auto" and not sight.frames:
        temporal = replace(temporal, encoder="convolution" if looks else "state")
    if temporal.recorded == "auto" and not is_state:
        # A view may come from several places, and a place may be left in any direction.
        temporal = replace(temporal, recorded=None)
    if looks and not is_state and temporal.horizons == TemporalTraining().horizons:
        # Most of the usual horizons are so long that little can be told, and an eye that is asked
        # of nothing else may learn nothing (docs/experiments.md, round 46).
        temporal = replace(temporal, horizons="log")
    temporal = replace(temporal, numbers=numbers)
    planning = settings.planning
    if planning.radii == Planning().radii:
        planning = replace(planning, radii=RADII)
    dynamics = settings.dynamics
    if dynamics.ahead == DynamicsTraining().ahead:
        dynamics = replace(dynamics, ahead=max(RADII))
        if dynamics.batch == DynamicsTraining().batch:
            dynamics = replace(dynamics, batch=dynamics.batch // 2)  # of longer rows
    learned = replace(settings, exploration=exploration, sight=sight, temporal=temporal)
    return replace(learned, dynamics=dynamics, planning=planning)


def in_buildings(sight: SightTraining) -> SightTraining:
    """How to learn to see where a camera goes about, unless told otherwise."""
    usual = SightTraining()
    ours = {"eye": "convolution", "numbers": NUMBERS, "tau_max": FOLLOWS, "steps": LOOKING}
    left = {k: v for k, v in ours.items() if getattr(sight, k) == getattr(usual, k)}
    return replace(sight, **left)  # type: ignore[arg-type]
