"""Settings of Algorithm 3. No torch here: the command line reads them for its help."""

from __future__ import annotations

from dataclasses import dataclass, field

from cogmap.choices import LATER
from cogmap.errors import CogmapError


@dataclass(frozen=True, kw_only=True)
class Planning:
    """How to plan. Nothing here has a world's unit, so that it carries between worlds."""

    planner: str = "gp"
    """gp, pap, or beta=NUMBER: the temperature of Eq. 8."""
    view: float | None = 8.0
    """Horizons to ask: those up to the shortest at which the goal is in view, G >= -view nats.
    None: every horizon, as in the paper."""
    radii: tuple[int, ...] = (1, 2, 3, 4, 6)
    """Decisions ahead at which a candidate is judged; the paper's is 1."""
    memory: bool = True
    """Whether places that were seen before come last."""
    directions: int = 32
    """Candidate actions of each decision, where the world's actions can be divided up."""
    recalled: int = field(default=0, metadata=LATER)
    """Candidates that are recalled instead: what was done in the recorded states most like the
    present one. 0: the world's own."""

    def __post_init__(self) -> None:
        if self.directions < 1:
            raise CogmapError(f"directions={self.directions}; give at least 1.")
        if self.recalled < 0:
            raise CogmapError(f"recalled={self.recalled}; give the number of candidates, or 0.")
        if not self.radii or min(self.radii) < 1:
            raise CogmapError(f"radii={self.radii}; give whole numbers of decisions from 1 on.")
        if self.view is not None and not self.view > 0.0:
            raise CogmapError(f"view={self.view}; give a positive number of nats, or None.")


PAPER = Planning(view=None, radii=(1,), memory=False)  # its own rule: GP, or PAP if so named
