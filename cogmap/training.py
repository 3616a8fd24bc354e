"""The loop that both models share: steps, schedule, reports, checkpoints, resume, CUDA graph.

Started by torchrun, several processes train one model: each computes the loss of its share, and
DistributedDataParallel averages the gradients, which is the gradient of the whole.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

import torch
from torch import Tensor, distributed, nn
from torch.nn.parallel import DistributedDataParallel

from cogmap import devices, runs
from cogmap.errors import CogmapError
from cogmap.progress import Progress

Statistics = dict[str, Tensor]
Loss = Callable[[Tensor], tuple[Tensor, Statistics]]  # of the share of the steps that are done

REPORT_EVERY = 100  # steps between two lines of metrics.jsonl


class Objective(nn.Module):
    """A loss as a module, which is what DistributedDataParallel can share out."""

    def __init__(self, model: nn.Module, loss: Loss) -> None:
        super().__init__()
        self.model, self._loss = model, loss

    def forward(self, done: Tensor) -> tuple[Tensor, Statistics]:
        return self._loss(done)


class Optimisation(Protocol):
    """The part of a training's settings that this loop reads."""

    @property
    def steps(self) -> int: ...
    @property
    def learning_rate(self) -> float: ...
    @property
    def weight_decay(self) -> float: ...
    @property
    def checkpoint_every(self) -> int: ...


def one_cycle(step: int, steps: int, *, warm: float = 0.1) -> float:
    """Share of the peak learning rate: rises over the first tenth, then falls as a cosine to 0."""
    rise = max(1.0, warm * steps)
    if step < rise:
        return (step + 1) / rise
    return 0.5 * (1 + math.cos(math.pi * (step - rise) / max(1.0, steps - rise)))


def train(
    model: nn.Module,
    loss: Loss,
    settings: Optimisation,
    config: Any,
    *,
    generator: torch.Generator,
    folder: Path,
    progress: Progress = iter,
    before_saving: Callable[[], None] = lambda: None,
) -> None:
    """Minimises `loss`, which draws its own batch from `generator`, and keeps `folder` loadable.

    `config` is the model's shape, written beside its weights.

    Resumes from folder/training_state.pt where there is one; the result is the same as without
    the interruption (tests/test_training.py).
    """
    device = next(model.parameters()).device
    place = devices.place()
    objective: nn.Module = Objective(model, loss)
    if place.size > 1:
        objective = DistributedDataParallel(objective)
    rate, share_done = torch.zeros((), device=device), torch.zeros((), device=device)
    optimiser = torch.optim.AdamW(
        model.parameters(),
        lr=rate,
        weight_decay=settings.weight_decay,
        fused=True,
        capturable=device.type == "cuda",
    )
    first = 0
    if (state := runs.load_state(folder)) is not None:
        first = state["step"]
        try:
            model.load_state_dict(state["model"])
            optimiser.load_state_dict(state["optimiser"])
            generator.set_state(state["generator"])
        except (RuntimeError, ValueError):
            raise CogmapError(
                f"{folder} was trained on data or settings of another size, or on another kind of "
                "device; train a new run with --out."
            ) from None
        for group in optimiser.param_groups:
            group["lr"] = rate  # the loaded one is a copy that the schedule would not reach
        if place.rank == 0:
            runs.trim_metrics(folder, first)

    def step() -> tuple[Tensor, Statistics]:
        value, statistics = objective(share_done)
        optimiser.zero_grad(set_to_none=False)
        value.backward()
        optimiser.step()
        return value.detach(), statistics

    def checkpoint(done: int) -> None:
        if place.rank > 0:
            return
        before_saving()
        runs.save_weights(folder, model, config)
        values: dict[str, Any] = {"step": done, "generator": generator.get_state()}
        values |= {"model": model.state_dict(), "optimiser": optimiser.state_dict()}
        runs.save_state(folder, values)

    if state is None:
        checkpoint(0)  # so that a run killed at any point can be loaded and resumed
    if device.type == "cuda" and place.size == 1 and first < settings.steps:
        step = captured(step, model, optimiser, generator)
    model.train()
    began = time.perf_counter()
    for number in progress(range(first, settings.steps)):
        rate.fill_(settings.learning_rate * one_cycle(number, settings.steps))
        share_done.fill_(number / settings.steps)
        value, statistics = step()
        done = number + 1
        if done % REPORT_EVERY == 0 or done == settings.steps:
            row: dict[str, float] = {"step": done, "loss": float(value)}
            row |= {name: float(value) for name, value in statistics.items()}
            row = _averaged(row, device)
            row["seconds"] = round(time.perf_counter() - began, 3)
            if place.rank == 0:
                runs.append_line(folder / "metrics.jsonl", row)
        if done % settings.checkpoint_every == 0 or done == settings.steps:
            checkpoint(done)
    model.eval()


def _averaged(row: dict[str, float], device: torch.device) -> dict[str, float]:
    """The mean of each number over the processes that train together."""
    if devices.place().size == 1:
        return row
    values = torch.tensor(list(row.values()), dtype=torch.float64, device=device)
    distributed.all_reduce(values)
    return dict(zip(row, (values / devices.place().size).tolist())) | {"step": row["step"]}


def captured(
    step: Callable[[], tuple[Tensor, Statistics]],
    model: nn.Module,
    optimiser: torch.optim.Optimizer,
    generator: torch.Generator,
) -> Callable[[], tuple[Tensor, Statistics]]:
    """The same step as one CUDA graph: our small networks wait for launches, not for arithmetic.

    The warm-up that capture needs is undone, so a captured run starts where a plain one does.
    """
    weights = {name: value.clone() for name, value in model.state_dict().items()}
    moments = {
        parameter: {name: value.clone() for name, value in values.items()}
        for parameter, values in optimiser.state.items()
    }
    randomness = generator.get_state()
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    graph.register_generator_state(generator)
    with torch.cuda.graph(graph):
        outcome = step()
    with torch.no_grad():
        for name, value in model.state_dict().items():
            value.copy_(weights[name])
        for parameter, values in optimiser.state.items():
            for name, value in values.items():
                value.copy_(moments[parameter][name]) if parameter in moments else value.zero_()
    generator.set_state(randomness)

    def replay() -> tuple[Tensor, Statistics]:
        graph.replay()
        return outcome

    return replay
