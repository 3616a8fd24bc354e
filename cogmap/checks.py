"""Whether a run has learned something that is so, on episodes that it was not trained on.

Three figures at fixed horizons: information, the mean of G over pairs that were recorded tau steps
apart (Eq. 4: in nats, at most what x tells of y, and never more at a longer horizon); calibration,
the mean of exp(G) over pairs that have nothing to do with each other (1 if G is a log-ratio); and
the local model's error after one decision, of each number in units of its typical change.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np
import torch

from cogmap import runs
from cogmap.data.sampling import Episodes
from cogmap.data.trajectories import Trajectories
from cogmap.dynamics.model import Dynamics
from cogmap.planning.objective import Horizons
from cogmap.temporal.model import TemporalModel
from cogmap.temporal.scorer import LearnedScorer

PAIRS, MOVES = 1024, 1 << 14
SHORT = 8  # horizons up to which a score far from any possible successor is implausible
PLAUSIBLE = -2.0  # nats; what cannot happen should be far below
SUSPICIOUS = 0.02  # share of impossible pairs that look plausible
SHOWN = 8  # numbers whose error is printed, the worst ones


@dataclass(frozen=True)
class Checks:
    """Figures of one run on held-out episodes."""

    taus: list[int]  # octaves
    information: list[float]  # (T,) nats
    calibration: list[float]  # (T,) 1 is right
    error: list[float]  # (d,) of one decision, in typical changes; 1: no better than no change
    implausible: float  # share of impossible pairs that the shortest horizons take for likely
    names: list[str] = field(default_factory=list)  # (d,) of the numbers

    def warnings(self) -> list[str]:
        """One line each."""
        lines = []
        if self.implausible > SUSPICIOUS:
            lines.append(
                f"warning: horizons up to {SHORT} call {self.implausible:.0%} of the places that "
                "cannot be reached in them likely; train longer (--steps), hold actions longer "
                "(--hold), or record more."
            )
        if max(self.error, default=0.0) > 1.0:
            worst = int(np.argmax(self.error))
            lines.append(
                f"warning: the local model does not predict {self._names()[worst]} "
                f"(error {self.error[worst]:.2f} of its typical change); plans will not hold."
            )
        return lines

    def text(self) -> list[str]:
        """For the terminal, warnings last."""
        known = "  ".join(f"{tau}: {v:.2f}" for tau, v in zip(self.taus, self.information))
        right = "  ".join(f"{tau}: {v:.2f}" for tau, v in zip(self.taus, self.calibration))
        worst = sorted(zip(self.error, self._names()), reverse=True)[:SHOWN]
        error = "  ".join(f"{name} {value:.2f}" for value, name in worst)
        if (others := len(self.error) - len(worst)) > 0:
            error += f"  (the worst of {len(worst) + others})"
        return [
            f"held out: information by horizon, nats  {known}",
            f"held out: calibration (1 is right)      {right}",
            f"held out: local model's error, in typical changes  {error}",
            *self.warnings(),
        ]

    def row(self, step: int) -> dict[str, float]:
        """For a tracker."""
        told = {"step": float(step), "implausible": self.implausible}
        for name, values in (("information", self.information), ("calibration", self.calibration)):
            told |= {f"{name}_{tau}": value for tau, value in zip(self.taus, values)}
        return told | {f"error_{name}": value for name, value in zip(self._names(), self.error)}

    def _names(self) -> list[str]:
        """Of the numbers; those of a look at a picture have none."""
        return self.names or [f"number {k}" for k in range(len(self.error))]

    def save(self, path: Path) -> None:
        runs.write_json(path, asdict(self))

    @classmethod
    def load(cls, path: Path) -> Checks | None:
        """None where a run has none."""
        return cls(**runs.read_json(path)) if path.exists() else None


@torch.no_grad()
def check_run(
    temporal: TemporalModel,
    dynamics: Dynamics,
    data: Trajectories,
    moves: Trajectories | None,
    *,
    names: Sequence[str] = (),
) -> Checks:
    """The figures of a run on pairs, and on transitions, that it has not seen.

    `names` are those of the numbers of a state.
    """
    chip = dynamics.reach.device
    episodes = Episodes(data)
    taus = Horizons.octaves(min(temporal.config.tau_max, max(1, episodes.longest // 2))).taus
    u = (torch.arange(PAIRS, dtype=torch.float64) + 0.5) / PAIRS
    most = farthest(temporal, data)
    information, calibration, likely, far = [], [], 0, 0
    for tau in taus.tolist():
        here, there = episodes.pairs(torch.tensor(tau), u)
        x, y = (looks(temporal, data, rows) for rows in (here, there))
        scorer = LearnedScorer(temporal, torch.tensor([tau], device=chip))
        goals = scorer.embed_goals(y)
        information.append(float(scorer.score(x[:, None], goals[:, None]).mean()))
        other = scorer.score(x[:, None], goals.roll(PAIRS // 3, 0)[:, None])[:, 0, 0]
        calibration.append(float(other.exp().mean()))
        if tau <= SHORT:
            beyond = ((y.roll(PAIRS // 3, 0) - x).abs() > tau * most).any(-1)
            far += int(beyond.sum())
            likely += int((other[beyond] > PLAUSIBLE).sum())
    error = [] if moves is None else one_decision(temporal, dynamics, moves, u)
    return Checks(
        taus.tolist(),
        [round(value, 4) for value in information],
        [round(value, 4) for value in calibration],
        [round(value, 4) for value in error],
        round(likely / max(far, 1), 4),
        list(names),
    )


def farthest(temporal: TemporalModel, data: Trajectories) -> torch.Tensor:
    """The most that one decision has ever changed each number by. (d,)

    What is rare, such as one kind of many, changes by much more than is typical of it.
    """
    first = np.setdiff1d(np.arange(len(data)), data.episode_starts + data.episode_lengths - 1)
    some = torch.as_tensor(first[:: max(1, len(first) // MOVES)])
    moved = looks(temporal, data, some + 1) - looks(temporal, data, some)
    return moved.abs().amax(0)


def looks(temporal: TemporalModel, data: Trajectories, rows: torch.Tensor) -> torch.Tensor:
    """What the model sees of some rows. (N,) -> (N, d)"""
    seen = torch.as_tensor(np.array(data.rows(rows.numpy())), dtype=torch.float32)
    return temporal.look(seen.to(temporal.bank.device))


def one_decision(
    temporal: TemporalModel,
    dynamics: Dynamics,
    data: Trajectories,
    u: torch.Tensor,
) -> list[float]:
    """Root mean squared error of each number after one decision, in typical changes. (d,)"""
    assert data.actions is not None
    here, there = Episodes(data).pairs(torch.tensor(1), u)
    x, y = (looks(temporal, data, rows) for rows in (here, there))
    actions = torch.as_tensor(np.array(data.actions[here.numpy()]), dtype=torch.float32).to(x)
    off = (dynamics.along(x, actions, 1)[:, :, 0].mean(1) - y) / dynamics.reach
    return off.square().mean(0).sqrt().tolist()
