"""Algorithm 1: learning theta from pairs of observations tau steps apart (Sec. 2.3).

    python -m cogmap.temporal.train config.json

runs on a bare host (numpy, torch, safetensors); config.json holds {"data": DIR, "out": DIR} and
any field of TemporalTraining.
"""

from __future__ import annotations

import dataclasses
import functools
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from cogmap import devices, runs
from cogmap.data.sampling import HORIZON_LAWS, Episodes
from cogmap.data.trajectories import Trajectories
from cogmap.errors import CogmapError
from cogmap.temporal import losses
from cogmap.temporal.batches import TABLE_LIMIT, batches_for
from cogmap.temporal.model import TemporalConfig, TemporalModel
from cogmap.training import Optimisation, Progress, train

BANK_LIMIT = 1024  # reference observations kept for normalising sources


@dataclass(frozen=True)
class TemporalTraining:
    """Settings of Algorithm 1."""

    steps: int = 7000
    """Updates."""
    loss: Literal["softmax", "nce"] = "softmax"
    """softmax: picks the target out of the batch; nce: the paper's binary contrast (Eq. 5)."""
    negatives: float | None = None
    """N of the nce loss; by default the number of other pairs in the batch, as in the paper."""
    tau_max: int = 8192
    """Longest horizon."""
    horizons: Literal["log", "root"] = "root"
    """p(tau): log-uniform, or proportional to tau^-1/2."""
    lags: int = 4
    """Horizons drawn in each update."""
    compose: bool = True
    """Compose long horizons from two halves (softmax only; temporal/batches.py)."""
    pairs: int = 65536
    """Pairs drawn for each horizon where observations repeat (a table)."""
    batch: int = 1024
    """Pairs drawn for each horizon where they do not."""
    width: int = 256
    """Units in each hidden layer."""
    embedding: int = 64
    """Length of the unit embeddings."""
    cycles: float = 0.3
    """Typical periods of the Fourier features across half the data's width."""
    tied: bool = True
    """One encoder for sources and targets."""
    jitter: float = 0.0
    """Each row of a table stands for positions up to this far around it (lattice walks)."""
    learning_rate: float = 2e-3
    """Peak of the one-cycle schedule."""
    weight_decay: float = 1e-4
    """AdamW's."""
    checkpoint_every: int = 1000
    """Updates between two checkpoints."""
    seed: int = 0
    """The run's only source of randomness."""
    device: devices.Device = "auto"
    """Where to train."""

    def __post_init__(self) -> None:
        for name in ("steps", "lags", "pairs", "batch", "width", "embedding", "checkpoint_every"):
            if getattr(self, name) < 1:
                raise CogmapError(f"{name}={getattr(self, name)}; give at least 1.")
        if self.negatives is not None and self.negatives <= 0:
            raise CogmapError(f"negatives={self.negatives}; give a positive number.")


def build_model(data: Trajectories, settings: TemporalTraining) -> TemporalModel:
    """An untrained model for this data, with its bank of reference observations."""
    observations, share = data.distinct()
    rng = np.random.default_rng(settings.seed)
    normalised = settings.loss == "softmax"
    if len(observations) > (TABLE_LIMIT if data.table is not None else BANK_LIMIT):
        rows = np.sort(rng.choice(len(observations), BANK_LIMIT, replace=False, p=share))
        bank, log_share = observations[rows], np.full(BANK_LIMIT, -np.log(BANK_LIMIT))
    else:
        bank, log_share = observations[share > 0], np.log(share[share > 0])
    config = TemporalConfig(
        observation_shape=data.observation_shape,
        tau_max=settings.tau_max,
        width=settings.width,
        embedding=settings.embedding,
        cycles=settings.cycles,
        tied=settings.tied,
        normalised=normalised,
        bank_size=len(bank) if normalised else 0,
    )
    torch.manual_seed(settings.seed)  # layers draw their first weights from the global generator
    model = TemporalModel(
        config,
        low=torch.as_tensor(observations.min(axis=0), dtype=torch.float32),
        high=torch.as_tensor(observations.max(axis=0), dtype=torch.float32),
        seed=settings.seed,
    )
    if normalised:
        model.bank.copy_(torch.as_tensor(np.array(bank), dtype=torch.float32))
        model.bank_log_share.copy_(torch.as_tensor(log_share, dtype=torch.float32))
    return model


def train_temporal(
    data: Trajectories, settings: TemporalTraining, folder: Path, *, progress: Progress = iter
) -> TemporalModel:
    """Algorithm 1, with the paper's line numbers at the side. Writes `folder`; resumes from it."""
    device = devices.pick(settings.device)
    episodes = Episodes(data, device=device)
    episodes.check_horizon(settings.tau_max)
    model = build_model(data, settings).to(device)  # 1
    generator = torch.Generator(device).manual_seed(settings.seed)
    law = HORIZON_LAWS[settings.horizons]
    contrast: losses.Loss = losses.softmax
    if settings.loss == "nce":
        contrast = functools.partial(losses.nce, negatives=settings.negatives)

    batches = batches_for(
        data,
        episodes,
        pairs=settings.pairs,
        batch=settings.batch,
        jitter=settings.jitter,
        compose=settings.compose and settings.loss == "softmax",
    )

    def loss() -> tuple[Tensor, dict[str, Tensor]]:
        u = torch.rand(settings.lags, generator=generator, device=device)
        parts = torch.arange(settings.lags, device=device)  # one horizon in each equal part
        taus = law((parts + u) / settings.lags, settings.tau_max)  # 3
        scores, counts = batches.draw(model, taus, generator)  # 4, 5, 6
        return contrast(scores, counts)  # 7

    train(
        model,
        loss,
        Optimisation(
            steps=settings.steps,
            learning_rate=settings.learning_rate,
            weight_decay=settings.weight_decay,
            checkpoint_every=settings.checkpoint_every,
        ),
        generator=generator,
        folder=folder,
        save=lambda: runs.save_weights(folder, model, model.config),
        progress=progress,
    )
    return model


def load_temporal(folder: Path, *, device: torch.device | str = "cpu") -> TemporalModel:
    """A trained model from its folder."""
    values = runs.read_json(folder / "config.json")
    config = runs.settings_from(TemporalConfig, values, where=str(folder / "config.json"))
    size = config.observation_shape
    model = TemporalModel(config, low=torch.zeros(size), high=torch.ones(size))
    runs.load_weights(folder, model)
    return model.to(device).eval()


def main(path: str) -> None:
    values = runs.read_json(Path(path))
    data = Trajectories.load(values.pop("data"))
    out = Path(values.pop("out"))
    settings = runs.settings_from(TemporalTraining, values, where=path)
    runs.write_json(out / "training.json", dataclasses.asdict(settings))
    train_temporal(data, settings, out)


if __name__ == "__main__":
    main(sys.argv[1])
