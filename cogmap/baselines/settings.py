"""How a rival is trained. No torch here: the command line reads them for its help."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

from cogmap.errors import CogmapError

MethodName = Literal["gcbc", "gciql", "qrl", "hiql", "hilp", "crl"]
SizeName = Literal["ogbench", "small"]
Mix = tuple[float, float, float]  # chances of: the present row, a later one, any row

# OGBench's own (HILP: its authors'); alpha as its hyperparameters.sh has it for PointMaze.
PUBLISHED: dict[MethodName, dict[str, Any]] = {
    "gcbc": {},
    "gciql": {"alpha": 0.003, "expectile": 0.9},
    "qrl": {"alpha": 0.0003, "value_goals": (0.0, 0.0, 1.0)},
    "hiql": {"alpha": 3.0, "expectile": 0.7, "subgoal_steps": 25},
    "hilp": {"alpha": 10.0, "expectile": 0.95, "value_goals": (0.0, 0.625, 0.375)},
    "crl": {"alpha": 0.03, "value_goals": (0.0, 1.0, 0.0)},
}
SIZES: dict[SizeName, dict[str, Any]] = {
    "ogbench": {"steps": 1_000_000, "batch": 1024, "width": 512, "learning_rate": 3e-4},
    "small": {"steps": 20_000, "batch": 256, "width": 256, "learning_rate": 1e-3},
}


@dataclass(frozen=True, kw_only=True)
class RivalTraining:
    """How to train a rival. What is left at 0 or empty is the method's own, as published."""

    walk: Literal["actions", "lattice", "navigate"] = "actions"
    """What to record in a maze: uniform random actions, each lasting one simulator step, 20
    episodes of 50,000; the lattice walk; or OGBench's navigate data, led by an oracle."""
    rows: int = 1_000_000
    """How many rows to record there."""
    size: Literal["auto", "ogbench", "small"] = "auto"
    """ogbench: 1M updates of 1,024 rows, layers of 512, as published; small: 20,000 of 256, layers
    of 256, learning three times as fast, 2 to 15 minutes on a CPU core. auto: ogbench on a GPU,
    small elsewhere."""
    steps: int = 0
    """Updates, if not those of the size."""
    batch: int = 0
    """Rows in an update, if not those of the size."""
    width: int = 0
    """Units in each of three hidden layers, if not those of the size."""
    discount: float = 0.99
    """Of values, and of how far later goals lie; OGBench has 0.995 in Giant."""
    alpha: float = 0.0
    """How much a policy keeps to the data, or, of hiql and hilp, to what was of advantage."""
    expectile: float = 0.0
    """Of values."""
    subgoal_steps: int = 0
    """hiql's: rows to a subgoal."""
    value_goals: Mix | tuple[()] = ()
    """Shares of goals of the value: the present row, a later one of its episode (geometric in the
    discount), any row. Published: 0.2 0.5 0.3, but none present with qrl, hilp and crl."""
    actor_goals: Mix | tuple[()] = ()
    """The same of the policy, later ones uniform. Published: 0 1 0."""
    learning_rate: float = 0.0
    """Adam's, constant, if not that of the size."""
    checkpoint_every: int = 5000
    """Updates between two checkpoints."""

    def __post_init__(self) -> None:
        for name in ("rows", "checkpoint_every"):
            if getattr(self, name) < 1:
                raise CogmapError(f"{name}={getattr(self, name)}; give at least 1.")
        for name in ("steps", "batch", "width", "subgoal_steps"):
            if getattr(self, name) < 0:
                raise CogmapError(f"{name}={getattr(self, name)}; give at least 1, or 0 to leave.")
        if not 0.0 < self.discount < 1.0:
            raise CogmapError(f"discount={self.discount}; give a number between 0 and 1.")
        for name in ("value_goals", "actor_goals"):
            mix = getattr(self, name)
            if mix and (min(mix) < 0 or abs(sum(mix) - 1) > 1e-6):
                raise CogmapError(f"{name}={mix}; give three shares that add up to 1.")

    @property
    def weight_decay(self) -> float:
        """None, as published."""
        return 0.0

    def settled(self, method: MethodName, *, fast: bool = False) -> RivalTraining:
        """Every number that was left to the method and the size. `fast`: on a GPU."""
        size: SizeName = ("ogbench" if fast else "small") if self.size == "auto" else self.size
        usual: dict[str, Any] = SIZES[size] | {
            "value_goals": (0.2, 0.5, 0.3),
            "actor_goals": (0.0, 1.0, 0.0),
        }
        usual |= PUBLISHED[method]
        left = {name: value for name, value in usual.items() if not getattr(self, name)}
        return replace(self, size=size, **left)
