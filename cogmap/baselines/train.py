"""Trains a rival on rows, and reads it back."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import torch
from torch import Tensor

from cogmap import devices, runs
from cogmap.baselines.crl import CRL
from cogmap.baselines.gcbc import GCBC
from cogmap.baselines.gciql import GCIQL
from cogmap.baselines.goals import Rows
from cogmap.baselines.hilp import HILP
from cogmap.baselines.hiql import HIQL
from cogmap.baselines.method import Method, Shape
from cogmap.baselines.qrl import QRL
from cogmap.baselines.settings import MethodName, RivalTraining
from cogmap.choices import Device
from cogmap.data.trajectories import Trajectories
from cogmap.progress import Progress
from cogmap.training import Part, Statistics, Track, constant, train, untracked

METHODS: dict[MethodName, type[Method]] = {
    "gcbc": GCBC,
    "gciql": GCIQL,
    "qrl": QRL,
    "hiql": HIQL,
    "hilp": HILP,
    "crl": CRL,
}


def train_rival(
    method: MethodName,
    data: Trajectories,
    settings: RivalTraining,
    folder: Path,
    *,
    seed: int = 0,
    device: Device | torch.device = "auto",
    progress: Progress = iter,
    track: Track = untracked,
) -> Method:
    """Learns from rows; writes `folder`, and resumes from it. Settings are settled ones."""
    chip = devices.pick(device)
    rows = Rows(data, device=chip)
    seen, done = rows.observations.shape[1], rows.actions.shape[1]
    shape = Shape(seen, done, settings.width, data.hold)
    torch.manual_seed(seed)
    model = METHODS[method](shape, settings).to(chip)
    generator = torch.Generator(chip).manual_seed(seed)

    def loss() -> tuple[dict[str, Tensor], Statistics]:
        return model.losses(rows.batch(settings.batch, settings, generator))

    parts = {
        name: Part(part.parameters(), settings.learning_rate) for name, part in model.parts.items()
    }
    train(
        model,
        loss,
        settings,
        shape,
        generator=generator,
        folder=folder,
        progress=progress,
        track=track,
        parts=parts,
        schedule=constant,
        after_step=model.after_step,
    )
    return model.eval()


def load_rival(
    method: MethodName, settings: RivalTraining, folder: Path, *, device: torch.device | str = "cpu"
) -> Method:
    """A trained one from its folder."""
    path = folder / "config.json"
    shape = runs.settings_from(Shape, runs.read_json(path), where=str(path))
    model = METHODS[method](shape, dataclasses.replace(settings, width=shape.width))
    runs.load_weights(folder, model)
    return model.to(device).eval()
