"""The local model F(x, a): where one held action leads (Eq. 2)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor, nn

from cogmap.temporal.encoders import FourierFeatures


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


class Dynamics(Protocol):
    """F(x, a): where a held action leads (Eq. 2), as a planner asks for it; learned or known."""

    @property
    def hold(self) -> int:
        """Simulator steps that one application stands for."""

    @property
    def reach(self) -> Tensor:
        """(d,) typical displacement of one application; the planner computes where this lies"""

    def along(self, states: Tensor, actions: Tensor, steps: int) -> Tensor:
        """The states passed while one action is held. (N, d), (N, A) -> (N, steps, d)"""


class LocalDynamics(nn.Module):
    """Predicts the next state as the present one plus a learned displacement."""

    reach: Tensor

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
        self.layers = nn.Sequential(
            nn.Linear(self.features.width + config.action_size, config.width),
            nn.SiLU(),
            nn.Linear(config.width, config.width),
            nn.SiLU(),
            nn.Linear(config.width, config.width),
            nn.SiLU(),
            nn.Linear(config.width, config.observation_size),
        )

    @property
    def hold(self) -> int:
        """Simulator steps that one application stands for."""
        return self.config.hold

    def forward(self, states: Tensor, actions: Tensor) -> Tensor:
        """(N, d), (N, A) -> (N, d)"""
        moved = self.layers(torch.cat([self.features(states), actions], dim=-1))
        return states + self.reach * moved

    @torch.no_grad()
    def along(self, states: Tensor, actions: Tensor, steps: int) -> Tensor:
        """The states passed while one action is held. (N, d), (N, A) -> (N, steps, d)"""
        passed = []
        for _ in range(steps):
            states = self(states, actions)
            passed.append(states)
        return torch.stack(passed, dim=1)
