"""Speed as figures: arithmetic, training, decisions and memory, in ratios to the pseudo-code.

Ours and the literal pseudo-code (cogmap/report/literal.py) run in one process on the same data
and models. Training is the real loop of cogmap/training.py, ended by its progress bar.
"""

from __future__ import annotations

import itertools
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
import torch
from torch.utils.flop_counter import FlopCounterMode

from cogmap import devices
from cogmap.baselines.settings import MethodName, RivalTraining
from cogmap.baselines.train import train_rival
from cogmap.data.sampling import HORIZON_LAWS, Episodes
from cogmap.data.trajectories import Trajectories
from cogmap.report import literal
from cogmap.temporal.model import TemporalModel
from cogmap.temporal.settings import TemporalTraining
from cogmap.temporal.train import build_model, train_temporal

SEED = 0
LITERAL_BATCH = 1024  # pairs of an update of the listing, which does not say how many
WARM = 3  # updates before the clock starts


@dataclass(frozen=True)
class Measured:
    """One measured figure."""

    what: str
    value: float
    unit: str
    ratio: float | None = None  # how many times the literal pseudo-code's figure


@dataclass(frozen=True)
class Training:
    """How fast one way of training goes."""

    updates: float  # a second
    pairs: float  # positive pairs a second
    operations: float  # floating-point operations of one update's matrix products
    memory: int  # bytes at the peak; see devices.peak_memory

    @property
    def operations_rate(self) -> float:
        """Floating-point operations a second."""
        return self.operations * self.updates


def settle(device: torch.device) -> None:
    """Waits until the device has done what it was given."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    elif device.type == "mps":
        torch.mps.synchronize()


class Clock:
    """A training's progress bar that ends it after `seconds` and knows its updates a second."""

    def __init__(self, device: torch.device, *, seconds: float) -> None:
        self._device, self._seconds = device, seconds
        self.rate = float("nan")  # updates a second, once training has ended

    def __call__(self, steps: Iterable[int]) -> Iterator[int]:
        done, began = 0, time.perf_counter()
        for number in steps:
            if done == WARM:
                settle(self._device)
                began = time.perf_counter()
            elif done > WARM and time.perf_counter() - began > self._seconds:
                break
            yield number
            done += 1
        settle(self._device)
        self.rate = (done - WARM) / (time.perf_counter() - began)


def repeated(call: Callable[[], object], device: torch.device, *, seconds: float) -> list[float]:
    """Seconds of each call, after an uncounted one, until `seconds` are over."""
    call()
    settle(device)
    taken: list[float] = []
    while not taken or sum(taken) < seconds:
        began = time.perf_counter()
        call()
        settle(device)
        taken.append(time.perf_counter() - began)
    return taken


def matrix_rates(device: torch.device, *, size: int, seconds: float) -> dict[str, float]:
    """Operations a second of square matrix products, by number format; the best of many.

    TF32 is float32 with products of fewer bits, which CUDA devices offer.
    """
    formats = [("float32", torch.float32, "highest")]
    if device.type == "cuda":
        formats += [("TF32", torch.float32, "high"), ("bfloat16", torch.bfloat16, "highest")]
    before = torch.get_float32_matmul_precision()
    rates = {}
    try:
        for name, kind, precision in formats:
            torch.set_float32_matmul_precision(precision)
            a = torch.randn(size, size, device=device).to(kind)
            taken = repeated(partial(torch.matmul, a, a), device, seconds=seconds)
            rates[name] = 2 * size**3 / min(taken)
    finally:
        torch.set_float32_matmul_precision(before)
    return rates


@contextmanager
def busy_neighbour() -> Iterator[None]:
    """Inside, another process keeps one core busy."""
    process = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        yield
    finally:
        process.kill()
        process.wait()


def our_training(
    data: Trajectories, settings: TemporalTraining, device: torch.device, *, seconds: float
) -> tuple[Training, TemporalModel]:
    """The real loop with these settings, stopped after `seconds`; and the model it made."""
    clock = Clock(device, seconds=seconds)
    with tempfile.TemporaryDirectory() as folder:
        # One update on the CPU, where it is eager and so can be counted.
        single = replace(settings, steps=1)
        with FlopCounterMode(display=False) as counter:
            train_temporal(data, single, Path(folder) / "counted", seed=SEED, device="cpu")
        model = train_temporal(
            data,
            settings,
            Path(folder) / "timed",
            seed=SEED,
            device=device,
            progress=clock,
        )
    pairs = settings.lags * settings.batch
    operations = float(counter.get_total_flops())
    rate = Training(clock.rate, clock.rate * pairs, operations, devices.peak_memory(device))
    return rate, model


def rival_pace(
    method: MethodName, data: Trajectories, device: torch.device, *, seconds: float
) -> float:
    """Updates a second of a rival of OGBench's size, by the real loop."""
    clock = Clock(device, seconds=seconds)
    settings = RivalTraining(size="ogbench").settled(method, fast=True)
    with tempfile.TemporaryDirectory() as folder:
        train_rival(method, data, settings, Path(folder) / "timed", device=device, progress=clock)
    return clock.rate


def literal_training(
    data: Trajectories, settings: TemporalTraining, device: torch.device, *, seconds: float
) -> Training:
    """Algorithm 1 by the literal pseudo-code: a fresh batch of rows and one lag an update."""
    model = build_model(data, replace(settings, loss="nce"), seed=SEED).to(device)
    optimiser = torch.optim.AdamW(model.parameters(), lr=settings.learning_rate)
    episodes = Episodes(data, device=device)
    observations = torch.as_tensor(data.rows(np.arange(len(data))), dtype=torch.float32).to(device)
    generator = torch.Generator(device).manual_seed(SEED)
    law, chance = HORIZON_LAWS[settings.horizons], torch.Generator().manual_seed(SEED)

    def update() -> None:
        tau = law(torch.rand((), generator=chance), settings.longest)
        u = torch.rand(LITERAL_BATCH, generator=generator, device=device, dtype=torch.float64)
        begin, end = episodes.pairs(tau.to(device), u)
        literal.train_temporal(model, optimiser, observations[begin], observations[end], int(tau))

    devices.forget_peak(device)
    with FlopCounterMode(display=False) as counter:
        update()
    clock = Clock(device, seconds=seconds)
    for _ in clock(itertools.count()):
        update()
    operations = float(counter.get_total_flops())
    return Training(clock.rate, clock.rate * LITERAL_BATCH, operations, devices.peak_memory(device))
