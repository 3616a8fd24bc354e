"""The settings of a whole run, one group a part. No torch here: the command line reads them."""

from __future__ import annotations

from dataclasses import dataclass, field

from cogmap.baselines.settings import RivalTraining
from cogmap.choices import LATER, Device
from cogmap.dynamics.settings import DynamicsTraining
from cogmap.errors import check_seed
from cogmap.explore.settings import Exploration
from cogmap.planning.settings import Planning
from cogmap.sight.settings import SightTraining
from cogmap.temporal.settings import TemporalTraining


@dataclass(frozen=True, kw_only=True)
class RunSettings:
    """What `cogmap.train` is told besides the world."""

    exploration: Exploration = field(default_factory=Exploration)
    """What to record."""
    sight: SightTraining = field(default_factory=SightTraining, metadata=LATER)
    """How to learn to see, where one picture does not tell the state."""
    temporal: TemporalTraining = field(default_factory=TemporalTraining)
    """How to learn the temporal model."""
    dynamics: DynamicsTraining = field(default_factory=DynamicsTraining)
    """How to learn the local dynamics."""
    planning: Planning = field(default_factory=Planning)
    """How to plan with the run, unless it is told otherwise."""
    rival: RivalTraining = field(default_factory=RivalTraining, metadata=LATER)
    """How to learn where it is not our method that does (docs/rivals.md)."""
    seed: int = 0
    """The run's only source of randomness."""
    device: Device = "auto"
    """Where to train."""

    def __post_init__(self) -> None:
        check_seed(self.seed)
