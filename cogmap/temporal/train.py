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
from cogmap.data.sampling import HORIZON_LAWS, Episodes, pair_counts
from cogmap.data.trajectories import Trajectories
from cogmap.errors import CogmapError
from cogmap.temporal import losses
from cogmap.temporal.model import TemporalConfig, TemporalModel
from cogmap.training import Optimisation, Progress, train

TABLE_LIMIT = 2048  # distinct observations up to which pairs are counted on the whole table
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
    horizons: Literal["log", "root"] = "log"
    """p(tau): log-uniform, or proportional to tau^-1/2."""
    lags: int = 1
    """Horizons drawn in each update."""
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

    def horizons() -> Tensor:  # 3: one draw in each of `lags` equal parts of [0, 1)
        u = torch.rand(settings.lags, generator=generator, device=device)
        parts = torch.arange(settings.lags, device=device)
        return law((parts + u) / settings.lags, settings.tau_max)

    counted = data.table is not None and len(data.table) <= TABLE_LIMIT
    if counted:
        table = torch.as_tensor(np.array(data.table), dtype=torch.float32, device=device)
        index = torch.as_tensor(np.array(data.index), dtype=torch.long, device=device)

    def loss_on_table() -> tuple[Tensor, dict[str, Tensor]]:
        taus = horizons()
        counts = []
        for tau in taus.unbind():
            source, target = episodes.pairs(tau, settings.pairs, generator)  # 4
            counts.append(pair_counts(index[source], index[target], len(table)))
        scores = model.raw_pair_score(table, table, taus)  # 5, 6: every target is a negative
        return contrast(scores, torch.stack(counts))  # 7

    identity = torch.eye(settings.batch, device=device)

    def loss_on_rows() -> tuple[Tensor, dict[str, Tensor]]:
        values, statistics = [], {}
        for tau in horizons()[:, None].unbind():
            rows = episodes.pairs(tau, settings.batch, generator)  # 4
            source, target = (observations(data, side, device) for side in rows)
            scores = model.raw_pair_score(source, target, tau)  # 5, 6: the other rows' targets
            value, statistics = contrast(scores, identity)  # 7
            values.append(value)
        return torch.stack(values).mean(), statistics

    on_device = None
    if not counted and device.type != "cpu":  # states fit on the device whole
        on_device = torch.as_tensor(data.rows(np.arange(len(data))), dtype=torch.float32).to(device)

    def observations(data: Trajectories, rows: Tensor, device: torch.device) -> Tensor:
        if on_device is not None:
            return on_device[rows]
        return torch.as_tensor(data.rows(rows.numpy()), dtype=torch.float32, device=device)

    train(
        model,
        loss_on_table if counted else loss_on_rows,
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
