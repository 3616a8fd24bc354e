"""Learning to see without being told what is there: three questions that a look must answer.

    which of the pictures in a batch follows this one after tau steps   (the contrast of Sec. 2.3)
    what was done from here on                                          (the next few actions)
    what was done between this picture and the next                     (one action)

The first asks for all that lasts, the second for how things lie to each other as far as whoever
acted cared, the third for what actions move. The first alone tells depth less well than all three
(docs/experiments.md, round 39). Where actions were drawn blindly the second asks for nothing.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from cogmap import devices, runs
from cogmap.choices import Device
from cogmap.data.past import Past
from cogmap.data.sampling import Episodes, root_uniform
from cogmap.data.trajectories import Trajectories
from cogmap.errors import CogmapError
from cogmap.progress import Progress
from cogmap.sight.model import Sight, SightConfig
from cogmap.sight.settings import SightTraining
from cogmap.temporal.batches import Rows
from cogmap.training import Track, train, untracked

WIDTH, EMBEDDING = 256, 64  # of the networks that ask
DEEDS = 5  # actions from a picture on that its look must tell
FIRST_SCALE = 10.0  # of cosines in the contrast
MEAN_PICTURES = 512  # about, whose mean is taken away
AT_ONCE = 512  # pictures that are looked at together


def network(inputs: int, outputs: int) -> nn.Module:
    return nn.Sequential(
        nn.Linear(inputs, WIDTH),
        nn.SiLU(),
        nn.Linear(WIDTH, WIDTH),
        nn.SiLU(),
        nn.Linear(WIDTH, outputs),
    )


class Questions(nn.Module):
    """A sight, and the networks that ask it the three questions; in the end only it is kept."""

    def __init__(self, sight: Sight, *, action_spread: Tensor) -> None:
        super().__init__()
        self.sight = sight
        size, actions = sight.config.numbers, sight.config.action_size
        self.source, self.target = network(size + 1, EMBEDDING), network(size + 1, EMBEDDING)
        self.scale = nn.Parameter(torch.tensor(FIRST_SCALE))
        self.deeds = network(size, DEEDS * actions)
        self.between = network(2 * size, actions)
        self.register_buffer("action_spread", action_spread)

    def follows(self, here: Tensor, there: Tensor, tau: Tensor) -> Tensor:
        """How well a picture is picked out of those of the other pairs. (B, d) x 2, () -> ()"""
        octave = (tau.float().log2() / 8 - 1).expand(len(here), 1)
        source = F.normalize(self.source(torch.cat([here, octave], -1)), dim=-1)
        target = F.normalize(self.target(torch.cat([there, octave], -1)), dim=-1)
        return F.cross_entropy(
            self.scale * source @ target.T, torch.arange(len(here), device=here.device)
        )

    def done(self, here: Tensor, actions: Tensor) -> Tensor:
        """Share of the next actions' variance that is not told. (B, d), (B, DEEDS, A) -> ()"""
        told = self.deeds(here).unflatten(-1, actions.shape[1:])
        return ((told - actions) / self.action_spread).square().mean()

    def did(self, here: Tensor, following: Tensor, actions: Tensor) -> Tensor:
        """The same of the action between two pictures. (B, d) x 2, (B, A) -> ()"""
        told = self.between(torch.cat([here, following - here], -1))
        return ((told - actions) / self.action_spread).square().mean()


def train_sight(
    data: Trajectories,
    settings: SightTraining,
    folder: Path,
    *,
    tau_max: int,
    seed: int = 0,
    device: Device | torch.device = "auto",
    progress: Progress = iter,
    track: Track = untracked,
) -> Sight:
    """Learns to see; writes `folder`, and resumes from it."""
    if data.actions is None or not data.controls:
        raise CogmapError("a sight needs what was done between pictures (actions.npy).")
    chip = devices.pick(device)
    tau_max = min(settings.tau_max or tau_max, tau_max)
    episodes = Episodes(data, device=chip)
    episodes.check_horizon(max(tau_max, DEEDS))
    actions = torch.as_tensor(np.array(data.actions), device=chip)  # bytes, of a long walk
    config = SightConfig(
        picture_shape=data.observation_shape,
        action_size=actions.shape[1],
        frames=settings.frames,
        numbers=settings.numbers,
        points=settings.points,
        eye=settings.eye,
    )
    torch.manual_seed(seed)
    sight = Sight(config)
    some = data.rows(np.arange(0, len(data), max(1, len(data) // MEAN_PICTURES)))
    sight.measure(torch.as_tensor(np.array(some)))
    asked = Questions(sight, action_spread=actions.float().std(0).clamp(min=1e-6).cpu()).to(chip)
    generator = torch.Generator(chip).manual_seed(seed)
    pictures = Rows(data, chip, held=chip.type != "cpu" or data.table is not None)

    def loss() -> tuple[Tensor, dict[str, Tensor]]:
        u = torch.rand(1 + settings.batch, generator=generator, device=chip, dtype=torch.float64)
        tau = root_uniform(u[0], tau_max)
        here, _ = episodes.pairs(tau.clamp(min=DEEDS), u[1:])
        few = here[: max(1, settings.batch // 3)]
        rows = torch.cat([here, here + tau, few + 1])
        looks = sight.look(pictures(rows))
        x, y, following = looks.split([len(here), len(here), len(few)])
        follows = asked.follows(x, y, tau)
        done = asked.done(x, torch.stack([actions[here + k].float() for k in range(DEEDS)], dim=1))
        did = asked.did(x[: len(few)], following, actions[few].float())
        told = {"follows": follows, "done": done, "did": did}
        return follows + done + did, {name: value.detach() for name, value in told.items()}

    train(
        asked,
        loss,
        settings,
        config,
        generator=generator,
        folder=folder,
        progress=progress,
        track=track,
    )
    runs.save_weights(folder, sight, config)  # all else has done its work
    return sight.eval()


def load_sight(folder: Path, *, device: torch.device | str = "cpu") -> Sight | None:
    """A trained sight from the folder of a finished run; None where a run has none."""
    path = folder / "config.json"
    if not path.exists():
        return None
    config = runs.settings_from(SightConfig, runs.read_json(path), where=str(path))
    sight = Sight(config)
    runs.load_weights(folder, sight)
    return sight.to(device).eval()


@torch.no_grad()
def remembered(data: Trajectories, sight: Sight) -> Trajectories:
    """The same rows as states, each with what was seen and done before it in its episode.

    Of a table only its looks are made, and states when they are asked for (data/past.py).
    """
    assert data.actions is not None
    chip = sight.mean.device
    pictures = data.distinct()[0]
    looks = torch.cat(
        [
            sight.look(torch.as_tensor(np.array(pictures[some]), device=chip))
            for some in np.array_split(np.arange(len(pictures)), max(1, len(pictures) // AT_ONCE))
        ]
    )
    if data.table is not None:
        held = {f.name: getattr(data, f.name) for f in dataclasses.fields(Trajectories)}
        return Past(**held | {"table": looks.cpu().numpy()}, frames=sight.config.frames)
    actions = torch.as_tensor(np.array(data.actions), dtype=torch.float32, device=chip)
    states = sight.begin(looks)
    age = np.arange(len(data)) - np.repeat(data.episode_starts, data.episode_lengths)
    for step in range(1, sight.config.frames):  # what began long enough ago has one more behind it
        later = torch.as_tensor(np.flatnonzero(age >= step), device=chip)
        states[later] = sight.follow(states[later - 1], actions[later - 1], looks[later])
    return dataclasses.replace(data, observations=states.float().cpu().numpy())
