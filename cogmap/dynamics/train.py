"""Algorithm 2: learning phi from action-labelled transitions (Eq. 6)."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from cogmap import devices, runs
from cogmap.choices import Device
from cogmap.data.past import SAMPLE, Past
from cogmap.data.sampling import Episodes
from cogmap.data.trajectories import Trajectories
from cogmap.dynamics.model import DynamicsConfig, LocalDynamics
from cogmap.dynamics.settings import DynamicsTraining
from cogmap.errors import CogmapError
from cogmap.progress import Progress
from cogmap.temporal.batches import Rows
from cogmap.training import Track, train, untracked

WIDE = 60.0  # moves; worlds of a larger half width are stretched


def squared_error(prediction: Tensor, following: Tensor) -> Tensor:
    """Eq. 6: the mean over transitions of the squared distance. (B, d), (B, d) -> ()"""
    return (prediction - following).square().flatten(1).sum(1).mean()


def train_dynamics(
    data: Trajectories,
    settings: DynamicsTraining,
    folder: Path,
    *,
    seed: int,
    device: Device | torch.device = "auto",
    progress: Progress = iter,
    track: Track = untracked,
) -> LocalDynamics:
    """Algorithm 2, with the paper's line numbers at the side. Writes `folder`; resumes from it."""
    if data.actions is None:
        raise CogmapError("this dataset has no actions; local dynamics needs them (actions.npy).")
    chip = devices.pick(device)
    states = Rows(data, chip, held=True)
    actions = torch.as_tensor(np.array(data.actions), dtype=torch.float32, device=chip)
    episodes = Episodes(data, device=chip)
    episodes.check_horizon(1)
    if settings.ahead > episodes.longest:
        raise CogmapError(
            f"ahead={settings.ahead} exceeds the longest episode ({episodes.longest} steps); lower "
            "--dynamics.ahead."
        )
    first = np.setdiff1d(np.arange(len(data)), data.episode_starts + data.episode_lengths - 1)
    past = isinstance(data, Past)  # then there are as many numbers as can be made of some rows
    some = first[:: max(1, len(first) // SAMPLE)] if past else first[: 1 << 20]
    rows = torch.as_tensor(some, device=chip)
    reach = (states(rows + 1) - states(rows)).square().mean(0).sqrt().clamp(min=1e-6)
    every = states(rows if past else torch.arange(len(data), device=chip))
    low, high = every.amin(0), every.amax(0)
    torch.manual_seed(seed)
    model = LocalDynamics(  # 1
        DynamicsConfig(
            observation_size=every.shape[1],
            action_size=actions.shape[1],
            hold=data.hold,
            width=settings.width,
            cycles=settings.cycles,
            parts=() if past else one_hot_parts(every),
            frames=data.frames if isinstance(data, Past) else 0,
        ),
        low=low.cpu(),
        high=high.cpu(),
        stretch=((high - low) / (2 * WIDE * reach)).clamp(min=1.0).cpu(),
        reach=reach.cpu(),
        seed=seed,
    ).to(chip)
    generator = torch.Generator(chip).manual_seed(seed)
    ahead = torch.full((), settings.ahead, device=chip)

    def loss() -> tuple[Tensor, dict[str, Tensor]]:
        told = model.config.predicted
        unit = reach[:told]
        u = torch.rand(settings.batch, generator=generator, device=chip, dtype=torch.float64)
        here, _ = episodes.pairs(ahead, u)  # 3
        predicted, errors = states(here), []
        for step in range(settings.ahead):
            predicted = model(predicted, actions[here + step])
            # The optimiser sees each number's error in units of its own typical move, or the
            # fastest would count alone; Eq. 6 itself is reported.
            seen = states(here + step + 1)[:, :told]
            errors.append(squared_error(predicted[:, :told] / unit, seen / unit))  # 4
        value = torch.stack(errors).mean()
        return value, {"squared_error": squared_error(predicted[:, :told], seen).detach()}

    train(
        model,
        loss,
        settings,
        model.config,
        generator=generator,
        folder=folder,
        progress=progress,
        track=track,
    )
    return model


def one_hot_parts(rows: Tensor) -> tuple[int, ...]:
    """For each number, which run of ones and zeros with one 1 in every row it is part of; 0: none.

    (N, d) -> d numbers, all 0 where nothing is of that kind
    """
    bits = ((rows == 0) | (rows == 1)).all(0).tolist()
    parts, found, begin = [0] * len(bits), 0, 0
    while begin < len(bits):
        end, total = begin, torch.zeros_like(rows[:, 0])
        while end < len(bits) and bits[end] and not bool((total == 1).all()):
            total = total + rows[:, end]
            end += 1
        if end > begin + 1 and bool((total == 1).all()):
            found += 1
            parts[begin:end] = [found] * (end - begin)
        begin = max(end, begin + 1)
    return tuple(parts) if found else ()


def load_dynamics(folder: Path, *, device: torch.device | str = "cpu") -> LocalDynamics:
    """A trained model from its folder."""
    values = runs.read_json(folder / "config.json")
    config = runs.settings_from(DynamicsConfig, values, where=str(folder / "config.json"))
    size = config.observation_size
    model = LocalDynamics(
        config, low=torch.zeros(size), high=torch.ones(size), reach=torch.ones(size)
    )
    runs.load_weights(folder, model)
    return model.to(device).eval()
