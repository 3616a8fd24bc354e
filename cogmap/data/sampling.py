"""Horizons, and pairs and transitions drawn inside episodes (Alg. 1, lines 3-4; Alg. 2, line 3).

Everything is a tensor operation without a wait for the device, so that a whole training step can
be captured as one CUDA graph.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from cogmap.data.trajectories import Trajectories
from cogmap.errors import CogmapError

# p(tau): turns uniform numbers in [0, 1) into horizons 1..tau_max.
HorizonLaw = Callable[[Tensor, int], Tensor]


def log_uniform(u: Tensor, tau_max: int) -> Tensor:
    """Every octave equally often."""
    return torch.exp(u * math.log(tau_max + 1)).floor().clamp(1, tau_max).long()


def root_uniform(u: Tensor, tau_max: int) -> Tensor:
    """p(tau) ~ tau^-1/2: uniform in the walk's diffusion length sqrt(tau)."""
    return (u.square() * tau_max).floor().add(1).clamp(1, tau_max).long()


HORIZON_LAWS: dict[str, HorizonLaw] = {"log": log_uniform, "root": root_uniform}


class Episodes:
    """Where episodes lie in the rows, on a device, and draws of rows inside them."""

    def __init__(self, data: Trajectories, *, device: torch.device | str = "cpu") -> None:
        self.starts = torch.as_tensor(np.array(data.episode_starts), device=device)
        self.lengths = torch.as_tensor(data.episode_lengths, device=device)
        self.longest = int(data.episode_lengths.max()) - 1  # the longest horizon any episode holds

    def check_horizon(self, tau_max: int) -> None:
        if tau_max < 1:
            raise CogmapError(f"tau_max={tau_max} is below 1; horizons count steps from 1 on.")
        if tau_max > self.longest:
            raise CogmapError(
                f"tau_max={tau_max} exceeds the longest episode ({self.longest} steps); "
                "collect a longer walk or lower --tau-max."
            )

    def pairs(self, tau: Tensor, u: Tensor) -> tuple[Tensor, Tensor]:
        """Rows (t, t + tau), uniform over all such pairs that lie inside one episode. (N,) x 2

        `u` (N,) are uniform float64 numbers in [0, 1). Episodes shorter than tau have no such pair
        and are never drawn.
        """
        room = (self.lengths - tau).clamp(min=0)  # (E,) pairs in each episode
        ends = room.cumsum(0)
        pair = (u * ends[-1]).long()  # which of all pairs
        episode = torch.searchsorted(ends, pair, right=True)
        row = self.starts[episode] + pair - (ends[episode] - room[episode])
        return row, row + tau
