"""Algorithm 1: learning theta from pairs of observations tau steps apart (Sec. 2.3).

    python -m cogmap.temporal.train config.json

runs on a bare host (numpy, torch, safetensors); config.json holds {"data": DIR, "out": DIR} and
any field of TemporalTraining, seed and device.

    torchrun --nproc-per-node=2 -m cogmap.temporal.train config.json

trains one model with several processes. They divide the horizons of each update between them: a
horizon's sources, targets and negatives stay whole, so the loss is that of one process.
"""

from __future__ import annotations

import dataclasses
import functools
import math
import sys
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from cogmap import devices, runs
from cogmap.choices import Device
from cogmap.data.sampling import HORIZON_LAWS, Episodes
from cogmap.data.trajectories import Trajectories
from cogmap.errors import CogmapError, check_seed
from cogmap.progress import Progress
from cogmap.temporal import losses
from cogmap.temporal.batches import Batches
from cogmap.temporal.eyes import Keypoints
from cogmap.temporal.model import TemporalConfig, TemporalModel
from cogmap.temporal.settings import TAU_MAX, UPDATES, Encoder, TemporalTraining
from cogmap.training import Track, train, untracked

TURNED = 1 / 4  # of an embedding's units whose sign one encoder turns for targets
BANK_LIMIT = 1024  # reference observations kept to stand for p0
MEAN_PICTURES = 512  # about, whose mean a convolution takes away
BACKGROUND_PICTURES = 128  # whose median is the background
CHECKED_PICTURES = 4096  # of the data, about, that are checked before training begins
NUMBERS_AT_ONCE = 1 << 23  # of the pictures that are looked at together
WALKED_STEPS, WALKED_PAIRS = 64, 4096  # that tell how far a walk gets
WIDE = 7.0  # worlds of a larger half width, in such distances, are stretched


def reference(data: Trajectories, *, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Observations that stand for p0, and the log of their shares. (R, ...), (R,)"""
    observations, share = data.distinct()
    seen = np.flatnonzero(share)
    if len(seen) > BANK_LIMIT:
        seen = np.sort(np.random.default_rng(seed).choice(seen, BANK_LIMIT, replace=False))
    return observations[seen], np.log(share[seen] / share[seen].sum())


def background_of(pictures: np.ndarray) -> Tensor:
    """What does not move: the median of some pictures. (N, H, W, C) -> (H, W, C)"""
    some = pictures[:: max(1, len(pictures) // BACKGROUND_PICTURES)]
    return torch.as_tensor(np.median(some, axis=0))


def choose_encoder(
    data: Trajectories, bank: np.ndarray, asked: Encoder, *, numbers: int = 0
) -> Encoder:
    """The encoder asked for, or what fits the data. Raises where keypoints would miss something."""
    if len(data.observation_shape) != 3:
        if numbers:
            raise CogmapError(
                f"numbers={numbers}: observations of shape {data.observation_shape} are no "
                "pictures; leave it out."
            )
        return "state" if asked == "auto" else asked
    if numbers and asked == "keypoints":
        raise CogmapError("keypoints see no numbers beside a picture; leave --encoder at auto.")
    if asked not in ("auto", "keypoints"):
        return asked
    if numbers:
        return "convolution"
    observations, share = data.distinct()
    seen = np.flatnonzero(share)
    seen = seen[:: max(1, len(seen) // CHECKED_PICTURES)]
    eye = Keypoints(data.observation_shape, keypoints=1)
    eye.background.copy_(background_of(bank))
    step = at_once(data.observation_shape)
    try:
        for begin in range(0, len(seen), step):
            eye.check(torch.as_tensor(np.array(observations[seen[begin : begin + step]])))
    except CogmapError:
        if asked == "keypoints":
            raise
        return "convolution"
    return "keypoints"


def stretch_of(data: Trajectories, half_width: Tensor) -> Tensor:
    """How wide the world is beside what is covered in 64 steps; 1 where it is not. (d,) -> (d,)"""
    episodes = Episodes(data)
    lag = torch.tensor(min(WALKED_STEPS, episodes.longest))
    u = (torch.arange(WALKED_PAIRS, dtype=torch.float64) + 0.5) / WALKED_PAIRS
    here, there = (torch.as_tensor(data.rows(rows.numpy())) for rows in episodes.pairs(lag, u))
    covered = (there - here).float().square().mean(0).sqrt()
    return (half_width / (WIDE * covered).clamp(min=1e-6)).clamp(min=1.0)


def settled(settings: TemporalTraining, data: Trajectories) -> TemporalTraining:
    """What was left open, as the data tells it."""
    tau_max = settings.tau_max
    if tau_max == "auto":
        tau_max = min(TAU_MAX, 1 << max(0, (Episodes(data).longest // 4).bit_length() - 1))
    return dataclasses.replace(settings, steps=settings.steps or UPDATES, tau_max=tau_max)


def build_model(data: Trajectories, settings: TemporalTraining, *, seed: int = 0) -> TemporalModel:
    """An untrained model for this data, with its bank of reference observations."""
    bank, log_share = reference(data, seed=seed)
    config = TemporalConfig(
        observation_shape=data.observation_shape,
        tau_max=settings.longest,
        width=settings.width,
        embedding=settings.embedding,
        cycles=settings.cycles,
        tied=settings.one_encoder,
        turned=int(TURNED * settings.embedding),
        coupling=settings.coupling,
        normalised=settings.loss == "softmax",
        bank_size=len(bank),
        encoder=choose_encoder(data, bank, settings.encoder, numbers=settings.numbers),
        numbers=settings.numbers,
        target=settings.target,
        goal_numbers=settings.goal_numbers,
    )
    torch.manual_seed(seed)  # layers draw their first weights from the global generator
    low, high = -torch.ones(config.look_size), torch.ones(config.look_size)
    stretch: float | Tensor = 1.0
    if not config.sees:
        observations, _ = data.distinct()
        low = torch.as_tensor(observations.min(axis=0), dtype=torch.float32)
        high = torch.as_tensor(observations.max(axis=0), dtype=torch.float32)
        stretch = stretch_of(data, (high - low) / 2)
    elif config.numbers:
        # In a feature of a whole look a number would count little: as much as where it is alone.
        stretch = torch.ones(config.look_size)
        stretch[-config.numbers :] = math.sqrt(config.look_size / config.numbers)
    model = TemporalModel(config, low=low, high=high, stretch=stretch, seed=seed)
    if isinstance(model.eye, Keypoints):
        model.eye.background.copy_(background_of(bank))
    elif model.eye is not None:
        model.eye.measure(torch.as_tensor(np.array(bank[:: max(1, len(bank) // MEAN_PICTURES)])))
    fill_bank(model, bank)
    model.bank_log_share.copy_(torch.as_tensor(log_share, dtype=torch.float32))
    return model


def at_once(shape: tuple[int, ...]) -> int:
    """How many observations of a shape to look at together."""
    return max(1, min(512, NUMBERS_AT_ONCE // math.prod(shape)))


@torch.no_grad()
def fill_bank(model: TemporalModel, observations: np.ndarray) -> None:
    """Looks of the reference observations, as the model sees them now."""
    step = at_once(model.config.observation_shape)
    for begin in range(0, len(observations), step):
        rows = torch.as_tensor(np.array(observations[begin : begin + step]))
        rows = rows if rows.dtype == torch.uint8 else rows.float()
        looks = model.see(model.prepare(rows.to(model.bank.device)))
        model.bank[begin : begin + step] = looks


def train_temporal(
    data: Trajectories,
    settings: TemporalTraining,
    folder: Path,
    *,
    seed: int = 0,
    device: Device | torch.device = "auto",
    progress: Progress = iter,
    track: Track = untracked,
) -> TemporalModel:
    """Algorithm 1, with the paper's line numbers at the side. Writes `folder`; resumes from it."""
    chip = devices.pick(device)
    episodes = Episodes(data, device=chip)
    settings = settled(settings, data)
    episodes.check_horizon(settings.longest)
    model = build_model(data, settings, seed=seed).to(chip)  # 1
    generator = torch.Generator(chip).manual_seed(seed)
    law = HORIZON_LAWS[settings.horizons]
    contrast: losses.Loss = losses.softmax
    if settings.loss == "nce":
        contrast = functools.partial(losses.nce, negatives=settings.negatives)

    batches = Batches(data, episodes, settings)
    share = devices.rank().share(settings.lags, "lags")

    def loss() -> tuple[Tensor, dict[str, Tensor]]:
        u = torch.rand(settings.lags, generator=generator, device=chip)
        parts = torch.arange(settings.lags, device=chip)  # one horizon in each equal part
        taus = law((parts + u) / settings.lags, settings.longest)  # 3
        return contrast(batches.draw(model, taus, generator, share=share))  # 4, 5, 6, 7

    bank = reference(data, seed=seed)[0] if model.eye is not None else None

    def save() -> None:
        if bank is not None:  # the eye has changed what the reference looks like
            fill_bank(model, bank)
        runs.save_weights(folder, model, model.config)

    train(
        model,
        loss,
        settings,
        model.config,
        generator=generator,
        folder=folder,
        progress=progress,
        track=track,
        save=save,
    )
    return model


def load_temporal(folder: Path, *, device: torch.device | str = "cpu") -> TemporalModel:
    """A trained model from its folder."""
    path = folder / "config.json"
    values = runs.read_json(path)
    config = runs.settings_from(TemporalConfig, values, where=str(path))
    if "turned" not in values:  # its weights mean another function
        raise CogmapError(f"{path}: this model was trained by an older cogmap; train it again.")
    size = config.look_size
    model = TemporalModel(config, low=torch.zeros(size), high=torch.ones(size))
    runs.load_weights(folder, model)
    return model.to(device).eval()


def main(path: str) -> None:
    values = runs.read_json(Path(path))
    if not isinstance(values, dict) or not {"data", "out"} <= values.keys():
        raise CogmapError(f'{path} must hold {{"data": DIR, "out": DIR}} and settings.')
    data, out = Trajectories.load(values.pop("data")), Path(values.pop("out"))
    seed, device = check_seed(values.pop("seed", 0)), values.pop("device", "auto")
    settings = runs.settings_from(TemporalTraining, values, where=path)
    with devices.together(device):
        devices.rank().share(settings.lags, "lags")  # refused before anything is written
        if devices.rank().number == 0:
            about = {"seed": seed, "device": device}
            runs.write_json(out / "training.json", about | dataclasses.asdict(settings))
        train_temporal(data, settings, out, seed=seed, device=device)


if __name__ == "__main__":
    try:
        main(*sys.argv[1:2])
    except CogmapError as error:
        sys.stderr.write(f"cogmap: {error}\n")  # one write: processes do not mix their lines
        sys.exit(2)
