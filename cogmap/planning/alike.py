"""Which states are alike: those from which the same was done (candidates.py).

A few numbers of each state, learned to tell the next actions. Where a world knows what makes its
states alike it says so itself; of the numbers that pictures are reduced to nobody does.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from cogmap import devices, runs
from cogmap.choices import Device
from cogmap.data.sampling import Episodes
from cogmap.data.trajectories import Trajectories
from cogmap.progress import Progress
from cogmap.training import Track, train, untracked

WIDTH, KEYS, BATCH = 256, 16, 512


@dataclass(frozen=True)
class AlikeConfig:
    """The shape of the network."""

    state_size: int
    action_size: int
    length: int
    """Actions that are told."""


@dataclass(frozen=True)
class AlikeTraining:
    """How it is trained."""

    steps: int = 1500
    learning_rate: float = 2e-3
    weight_decay: float = 1e-2
    checkpoint_every: int = 500


class Alike(nn.Module):
    """Keys of states; those whose keys are near each other are alike."""

    mean: Tensor
    spread: Tensor

    def __init__(self, config: AlikeConfig) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(config.state_size))
        self.register_buffer("spread", torch.ones(config.state_size))
        self.layers = nn.Sequential(
            nn.Linear(config.state_size, WIDTH),
            nn.SiLU(),
            nn.Linear(WIDTH, WIDTH),
            nn.SiLU(),
            nn.Linear(WIDTH, KEYS),
        )
        told = config.length * config.action_size
        self.tell = nn.Sequential(nn.SiLU(), nn.Linear(KEYS, told))

    def forward(self, states: Tensor) -> Tensor:
        """(N, D) -> (N, KEYS)"""
        return self.layers((states - self.mean) / self.spread)

    @torch.no_grad()
    def keys(self, states: Tensor) -> Tensor:
        """The same of states that may lie on another device. (N, D) -> (N, KEYS)"""
        return self(states.to(self.mean))


def train_alike(
    data: Trajectories,
    folder: Path,
    *,
    length: int,
    seed: int = 0,
    device: Device | torch.device = "auto",
    progress: Progress = iter,
    track: Track = untracked,
) -> Alike:
    """Learns from states which `length` actions followed; writes `folder`, and resumes from it."""
    assert data.actions is not None
    chip = devices.pick(device)
    states = torch.as_tensor(data.rows(np.arange(len(data))), dtype=torch.float32, device=chip)
    actions = torch.as_tensor(np.array(data.actions), dtype=torch.float32, device=chip)
    config = AlikeConfig(states.shape[1], actions.shape[1], length)
    episodes = Episodes(data, device=chip)
    episodes.check_horizon(length)
    torch.manual_seed(seed)
    model = Alike(config).to(chip)
    model.mean.copy_(states.mean(0))
    model.spread.copy_(states.std(0).clamp(min=1e-5))
    spread = actions.std(0).clamp(min=1e-6)
    generator = torch.Generator(chip).manual_seed(seed)
    lag = torch.tensor(length, device=chip)

    def loss() -> tuple[Tensor, dict[str, Tensor]]:
        u = torch.rand(BATCH, generator=generator, device=chip, dtype=torch.float64)
        here, _ = episodes.pairs(lag, u)
        done = torch.stack([actions[here + k] / spread for k in range(length)], dim=1)
        return (model.tell(model(states[here])) - done.flatten(1)).square().mean(), {}

    train(
        model,
        loss,
        AlikeTraining(),
        config,
        generator=generator,
        folder=folder,
        progress=progress,
        track=track,
    )
    return model


def load_alike(folder: Path, *, device: torch.device | str = "cpu") -> Alike | None:
    """A trained one from its folder; None where a run has none."""
    path = folder / "config.json"
    if not path.exists():
        return None
    model = Alike(runs.settings_from(AlikeConfig, runs.read_json(path), where=str(path)))
    runs.load_weights(folder, model)
    return model.to(device).eval()
