"""Trains a rival on rows, and reads it back."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import torch
from torch import Tensor

from cogmap import devices, runs
from cogmap.baselines import fused
from cogmap.baselines.crl import CRL
from cogmap.baselines.gcbc import GCBC
from cogmap.baselines.gciql import GCIQL
from cogmap.baselines.goals import Rows, check_rows
from cogmap.baselines.hilp import HILP
from cogmap.baselines.hiql import HIQL
from cogmap.baselines.method import Method, Shape
from cogmap.baselines.qrl import QRL
from cogmap.baselines.settings import MethodName, RivalTraining
from cogmap.baselines.stack import Stack, compiled
from cogmap.choices import Device
from cogmap.data.trajectories import Trajectories
from cogmap.errors import CogmapError
from cogmap.progress import Progress
from cogmap.training import Part, Statistics, Track, constant, train, untracked

ALIKE = ("steps", "batch", "width", "learning_rate")  # of runs that are trained as one
METHODS: dict[MethodName, type[Method]] = {
    "gcbc": GCBC,
    "gciql": GCIQL,
    "qrl": QRL,
    "hiql": HIQL,
    "hilp": HILP,
    "crl": CRL,
}


@dataclass(frozen=True)
class Member:
    """A run of a method, to be trained alone or together with others."""

    data: Trajectories
    settings: RivalTraining  # settled
    seed: int
    folder: Path  # for its weights


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
    one = Member(data, settings, seed, folder)
    return train_together(method, [one], folder, device=device, progress=progress, track=track)[0]


def train_together(
    method: MethodName,
    members: Sequence[Member],
    folder: Path,
    *,
    device: Device | torch.device = "auto",
    progress: Progress = iter,
    track: Track = untracked,
) -> list[Method]:
    """Several runs as one (stack.py): each writes its weights and its reports to its own folder.

    What all resume from lies in `folder`.
    """
    if all(trained_with_others(one) for one in members):
        return [load_rival(method, one.settings, one.folder) for one in members]
    chip = devices.pick(device)
    size, shape = members[0].settings, shape_of(members[0])
    for one in members:
        for name in ALIKE:
            if getattr(one.settings, name) != getattr(size, name) or shape_of(one) != shape:
                raise CogmapError(f"{one.folder} differs from {members[0].folder} in its size.")
    data, settings = [one.data for one in members], [one.settings for one in members]
    rows = Rows(data, settings, device=chip)
    models = []
    for one in members:
        torch.manual_seed(one.seed)
        models.append(METHODS[method](shape, one.settings))
    stack = Stack(models).to(chip)
    generator = torch.Generator(chip).manual_seed(members[0].seed)
    draw = partial(rows.chances, size.batch, generator)
    fast = None
    if fused.usable(rows.observations):
        torch.set_float32_matmul_precision("high")  # TF32, as JAX has it
        fast = compiled(stack, rows, *draw())

    def loss() -> tuple[dict[str, Tensor] | None, Statistics]:
        if fast is not None:
            return None, named(fast(*draw()))
        losses, statistics = stack.losses(rows.batch(*draw()))
        each = {f"{part}_loss": value.detach() for part, value in losses.items()}
        return {part: value.sum() for part, value in losses.items()}, named(each | statistics)

    def named(each: Statistics) -> Statistics:
        """Numbers of each run by name; several runs have theirs behind the name."""
        if len(members) == 1:
            return {name: value[0] for name, value in each.items()}
        return {f"{name}/{n}": v for name, value in each.items() for n, v in enumerate(value)}

    def unstack() -> None:
        for number, model in enumerate(models):
            model.load_state_dict(stack.member(number))

    def save() -> None:
        unstack()
        for one, model in zip(members, models):
            runs.save_weights(one.folder, model, shape)

    train(
        stack,
        loss,
        size,
        shape,
        generator=generator,
        folder=folder,
        progress=progress,
        track=track,
        save=save,
        parts={
            name: Part(part.parameters(), size.learning_rate) for name, part in stack.parts.items()
        },
        schedule=constant,
        after_step=stack.all.after_step,
        adam=fused.adam(chip),
    )
    unstack()
    if len(members) > 1:
        share_reports(folder, [one.folder for one in members])
    return [model.eval() for model in models]


def shape_of(run: Member) -> Shape:
    check_rows(run.data)
    assert run.data.actions is not None
    seen, done = run.data.observation_shape[0], run.data.actions.shape[1]
    return Shape(seen, done, run.settings.width, run.data.hold)


def trained_with_others(run: Member) -> bool:
    """Whether a training of several has ended: what that goes on from is not in this folder."""
    path = run.folder / "metrics.jsonl"
    lines = path.read_text().splitlines() if path.exists() else []
    last = json.loads(lines[-1]) if lines else {}
    return "together" in last and last["step"] == run.settings.steps


def share_reports(folder: Path, each: Sequence[Path]) -> None:
    """To each run its own of the reports of all; of seconds and memory its share."""
    path = folder / "metrics.jsonl"
    reports = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    for number, own_folder in enumerate(each):
        lines = []
        for report in reports:
            own = {name: value for name, value in report.items() if "/" not in name}
            for name in ("seconds", "memory"):
                own[name] = round(own[name] / len(each), 3)
            for name, value in report.items():
                if name.endswith(f"/{number}"):
                    own[name.removesuffix(f"/{number}")] = value
            lines.append(json.dumps(own | {"together": len(each)}))
        runs.write_lines(own_folder / "metrics.jsonl", lines)


def load_rival(
    method: MethodName, settings: RivalTraining, folder: Path, *, device: torch.device | str = "cpu"
) -> Method:
    """A trained one from its folder."""
    path = folder / "config.json"
    shape = runs.settings_from(Shape, runs.read_json(path), where=str(path))
    model = METHODS[method](shape, dataclasses.replace(settings, width=shape.width))
    runs.load_weights(folder, model)
    return model.to(device).eval()
