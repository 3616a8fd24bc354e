"""The local model F(x, a): where one held action leads (Eq. 2).

It learns the mean of what follows. Where numbers are ones and zeros, such as the cell of a grid,
that mean is a probability, and no state: so they are drawn from it, and an action may turn out in
several ways.

Shape letters: N states, L lots drawn for each, d numbers in one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor, nn

from cogmap.data.past import followed
from cogmap.temporal.encoders import FourierFeatures

LOTS = 16  # drawn where an action may turn out in several ways
UNLIKELY = 0.1  # probabilities below it are taken for errors of the model
DRAWN_STEPS = 64  # that have lots of their own


@dataclass(frozen=True)
class DynamicsConfig:
    """The shape of a local dynamics model."""

    observation_size: int
    """Numbers in one state."""
    action_size: int
    """Numbers in one action."""
    hold: int = 1
    """Simulator steps that one application stands for."""
    width: int = 256
    """Units in each hidden layer."""
    waves: int = 128
    """Fourier features of a state."""
    cycles: float = 2.0
    """Their typical periods across half the data's width, times its stretch: walls are sharp."""
    parts: tuple[int, ...] = ()
    """For each number, which run of ones and zeros (one of them 1) it is part of; 0: of none."""
    frames: int = 0
    """Looks that a state is made of (data/past.py), of which only the present one is predicted: the
    rest is what was seen and done. 0: all of a state is predicted."""

    @property
    def predicted(self) -> int:
        """Numbers of a state that are, the first so many."""
        if not self.frames:
            return self.observation_size
        return (self.observation_size - (self.frames - 1) * self.action_size) // self.frames


class Dynamics(Protocol):
    """F(x, a): where a held action leads (Eq. 2), as a planner asks for it; learned or known."""

    @property
    def hold(self) -> int:
        """Simulator steps that one application stands for."""

    @property
    def reach(self) -> Tensor:
        """(d,) typical displacement of one application; the planner computes where this lies"""

    def along(self, states: Tensor, actions: Tensor, steps: int) -> Tensor:
        """The states passed while one action is held, in L equally likely ways.

        (N, d), (N, A) -> (N, L, steps, d); or several actions in turn, (N, H, A), H >= steps
        """


class LocalDynamics(nn.Module):
    """Predicts the next state as the present one plus a learned displacement."""

    reach: Tensor
    lots: Tensor

    def __init__(
        self,
        config: DynamicsConfig,
        *,
        low: Tensor,
        high: Tensor,
        reach: Tensor,
        stretch: float | Tensor = 1.0,
        seed: int = 0,
    ) -> None:
        """`low` and `high` bound what was seen; `stretch` multiplies cycles. (d,) each"""
        super().__init__()
        self.config = config
        generator = torch.Generator().manual_seed(seed)
        self.features = FourierFeatures(
            low, high, count=config.waves, cycles=config.cycles * stretch, generator=generator
        )
        self.register_buffer("reach", reach)  # (d,) typical displacement, the output's unit
        self._parts = [
            torch.tensor([k for k, part in enumerate(config.parts) if part == which])
            for which in range(1, max(config.parts, default=0) + 1)
        ]
        draws = max(1, DRAWN_STEPS * len(self._parts))
        orders = [torch.randperm(LOTS, generator=generator) for _ in range(draws)]
        lots = (torch.stack(orders) + 0.5) / LOTS  # (draws, L) each level once
        self.register_buffer("lots", lots, persistent=False)
        self.layers = nn.Sequential(
            nn.Linear(self.features.width + config.action_size, config.width),
            nn.SiLU(),
            nn.Linear(config.width, config.width),
            nn.SiLU(),
            nn.Linear(config.width, config.width),
            nn.SiLU(),
            nn.Linear(config.width, config.predicted),
        )

    @property
    def hold(self) -> int:
        """Simulator steps that one application stands for."""
        return self.config.hold

    def forward(self, states: Tensor, actions: Tensor) -> Tensor:
        """(N, d), (N, A) -> (N, d)"""
        moved = self.layers(torch.cat([self.features(states), actions], dim=-1))
        told = self.config.predicted
        now = states[:, :told] + self.reach[:told] * moved
        if not self.config.frames:
            return now
        return followed(states, actions, now, frames=self.config.frames)

    @torch.no_grad()
    def along(self, states: Tensor, actions: Tensor, steps: int) -> Tensor:
        """The states passed while one action is held, in L equally likely ways.

        (N, d), (N, A) -> (N, L, steps, d); or several actions in turn, (N, H, A), H >= steps
        """
        lots = LOTS if self._parts else 1
        now, acts = (each.repeat_interleave(lots, 0) for each in (states, actions))
        passed = []
        for step in range(steps):
            now = self(now, acts if acts.ndim == 2 else acts[:, step])
            for number, part in enumerate(self._parts, start=step * len(self._parts)):
                now[:, part] = self._drawn(now[:, part], self.lots[number % len(self.lots)])
            passed.append(now)
        return torch.stack(passed, dim=1).unflatten(0, (len(states), lots))

    def _drawn(self, chance: Tensor, lots: Tensor) -> Tensor:
        """One 1 in each row, as often as its chance. (N L, s), (L,) -> (N L, s)"""
        likely = chance * (chance >= chance.amax(-1, keepdim=True).clamp(max=UNLIKELY))
        below = likely.cumsum(-1) / likely.sum(-1, keepdim=True)
        levels = lots.repeat(len(chance) // len(lots))
        chosen = (below < levels[:, None]).sum(-1).clamp(max=chance.shape[-1] - 1)
        return torch.zeros_like(chance).scatter(-1, chosen[:, None], 1.0)
