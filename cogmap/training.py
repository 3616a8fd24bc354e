"""The loop that all models share: steps, schedule, reports, checkpoints, resume, CUDA graph.

One model and one loss need nothing more. A model of several networks names its parts, and each
part descends a loss of its own: of GCIQL, say, the value, the critic and the actor. What follows a
step rather than a gradient, such as a target network, is moved by `after_step`.

Started by torchrun, several processes train one model: each computes the loss of its share, and
DistributedDataParallel averages the gradients, which is the gradient of the whole.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import torch
from torch import Tensor, distributed, nn
from torch.nn.parallel import DistributedDataParallel

from cogmap import devices, runs
from cogmap.errors import CogmapError
from cogmap.progress import Progress

Statistics = dict[str, Tensor]
# One for all parameters, or one for each part; None where the gradients are set already.
Losses = Tensor | Mapping[str, Tensor] | None
Loss = Callable[[], tuple[Losses, Statistics]]
Schedule = Callable[[int, int], float]  # share of the peak learning rate, of step and steps

REPORT_EVERY = 100  # steps between two lines of metrics.jsonl


class Objective(nn.Module):
    """A loss as a module, which is what DistributedDataParallel can share out."""

    def __init__(self, model: nn.Module, loss: Loss) -> None:
        super().__init__()
        self.model, self._loss = model, loss

    def forward(self) -> tuple[Losses, Statistics]:
        return self._loss()


@dataclass(frozen=True)
class Part:
    """Parameters that follow one loss; no other loss moves them, and it moves no others."""

    parameters: Iterable[nn.Parameter]
    learning_rate: float  # the schedule's peak
    weight_decay: float = 0.0


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


def constant(step: int, steps: int) -> float:
    """The peak learning rate throughout."""
    return 1.0


Track = Callable[[Mapping[str, float]], None]  # told each row of metrics.jsonl as it is written


def untracked(row: Mapping[str, float]) -> None:
    """Nobody else is told."""


Tracker = Callable[[str], Track]  # by part of a run


def no_tracker(part: str) -> Track:
    """metrics.jsonl alone."""
    return untracked


def train(
    model: nn.Module,
    loss: Loss,
    settings: Optimisation,
    config: Any,
    *,
    generator: torch.Generator,
    folder: Path,
    progress: Progress = iter,
    track: Track = untracked,
    save: Callable[[], None] | None = None,
    parts: Mapping[str, Part] | None = None,
    schedule: Schedule = one_cycle,
    after_step: Callable[[], None] = lambda: None,
    adam: Callable[[list[dict[str, Any]]], torch.optim.Optimizer] | None = None,
    capture: bool = True,
) -> None:
    """Minimises `loss`, which draws its own batch from `generator`, and keeps `folder` loadable.

    `config` is the model's shape, written beside its weights. With `parts`, only their parameters
    are trained, and the loss may return one loss for each by name: the same Lagrangian with two
    signs trains a model and its multiplier. `after_step` follows every update, without gradients;
    what it changes must be in the model's state_dict, which is what a checkpoint keeps. `save`
    writes the weights, where they are not to lie in `folder` as they are; `adam` makes an AdamW of
    parameter groups, if not torch's own. On a CUDA device an update is one graph: a loss or hook
    that waits for a tensor's value, or reads host memory, needs capture=False.

    Resumes from folder/training_state.pt where there is one; the result is the same as without
    the interruption (tests/test_training.py).
    """
    device = next(model.parameters()).device
    rank = devices.rank()
    objective: nn.Module = Objective(model, loss)
    if rank.of > 1:
        if parts is not None:  # DistributedDataParallel averages the gradient of one loss
            raise CogmapError(f"the parts {', '.join(parts)} need one process; leave out torchrun.")
        objective = DistributedDataParallel(objective)
    if parts is None:
        parts = {"all": Part(model.parameters(), settings.learning_rate, settings.weight_decay)}
    owned = {name: list(part.parameters) for name, part in parts.items()}
    # Adam treats each number by itself, so one optimiser of several groups is several optimisers.
    rates = {name: torch.zeros((), device=device) for name in parts}  # a graph sees them change
    groups = [
        {"params": owned[name], "lr": rates[name], "weight_decay": part.weight_decay}
        for name, part in parts.items()
    ]
    adam = adam or partial(torch.optim.AdamW, fused=True, capturable=device.type == "cuda")
    optimiser = adam(groups)
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
        for group, rate in zip(optimiser.param_groups, rates.values()):
            group["lr"] = rate  # the loaded one is a copy that the schedule would not reach
    before = runs.trim_metrics(folder, first) if rank.number == 0 else 0.0

    def step() -> Statistics:
        value, statistics = objective()
        if value is not None:
            optimiser.zero_grad(set_to_none=False)
            statistics = descend(value, owned) | statistics
        optimiser.step()
        with torch.no_grad():
            after_step()
        return statistics

    def checkpoint(done: int) -> None:
        if rank.number > 0:
            return
        if save is None:
            runs.save_weights(folder, model, config)
        else:
            save()
        values: dict[str, Any] = {"step": done, "generator": generator.get_state()}
        values |= {"model": model.state_dict(), "optimiser": optimiser.state_dict()}
        runs.save_state(folder, values)

    if state is None:
        checkpoint(0)  # so that a run killed at any point can be loaded and resumed
    model.train()
    devices.forget_peak(device)
    if capture and device.type == "cuda" and rank.of == 1 and first < settings.steps:
        step = captured(step, model, optimiser, generator)
    told: dict[str, float] = {}  # rates as the device knows them
    began = time.perf_counter()
    for number in progress(range(first, settings.steps)):
        for name, part in parts.items():
            if (peak := part.learning_rate * schedule(number, settings.steps)) != told.get(name):
                rates[name].fill_(peak)
                told[name] = peak
        statistics = step()
        done = number + 1
        if done % REPORT_EVERY == 0 or done == settings.steps:
            row: dict[str, float] = {name: float(value) for name, value in statistics.items()}
            if taken := row.keys() & {"step", "seconds", "memory"}:
                raise ValueError(f"a statistic is called {taken.pop()}, as a column is already")
            row = {"step": done} | row
            row = _averaged(row, device)
            row["seconds"] = round(before + time.perf_counter() - began, 3)
            row["memory"] = round(devices.peak_memory(device) / 2**30, 3)  # GiB
            if rank.number == 0:
                runs.append_line(folder / "metrics.jsonl", row)
                track(row)
        if done % settings.checkpoint_every == 0 or done == settings.steps:
            checkpoint(done)
    model.eval()


def descend(
    losses: Tensor | Mapping[str, Tensor], parts: Mapping[str, list[nn.Parameter]]
) -> Statistics:
    """Adds each loss's gradient to the parameters it is for; the losses by their reported names."""
    if isinstance(losses, Tensor):
        losses.backward()
        return {"loss": losses.detach()}
    if losses.keys() != parts.keys():
        raise ValueError(f"losses {', '.join(losses)} do not match the parts {', '.join(parts)}")
    for name, value in losses.items():
        value.backward(inputs=parts[name], retain_graph=True)  # losses may share a computation
    return {f"{name}_loss": value.detach() for name, value in losses.items()}


def _averaged(row: dict[str, float], device: torch.device) -> dict[str, float]:
    """The mean of each number over the processes that train together."""
    rank = devices.rank()
    if rank.of == 1:
        return row
    values = torch.tensor(list(row.values()), dtype=torch.float64, device=device)
    distributed.all_reduce(values)
    return dict(zip(row, (values / rank.of).tolist())) | {"step": row["step"]}


def captured(
    step: Callable[[], Statistics],
    model: nn.Module,
    optimiser: torch.optim.Optimizer,
    generator: torch.Generator,
) -> Callable[[], Statistics]:
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

    def replay() -> Statistics:
        graph.replay()
        return outcome

    return replay
