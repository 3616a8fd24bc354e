"""A trained rival and the world it was trained in, ready to act (cogmap/baselines)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch

from cogmap import devices, runs
from cogmap.baselines.goals import check_rows
from cogmap.baselines.method import Method
from cogmap.baselines.settings import MethodName
from cogmap.baselines.train import METHODS, load_rival, train_rival
from cogmap.choices import Device
from cogmap.config import RunConfig
from cogmap.data.trajectories import Trajectories
from cogmap.envs.kinds import restored
from cogmap.envs.world import Walked, World, fitting
from cogmap.errors import CogmapError
from cogmap.goals import Seen
from cogmap.progress import Bars, no_bars
from cogmap.settings import RunSettings
from cogmap.training import Tracker, no_tracker

MODEL, SEEN = "rival", "seen.npz"  # of a run folder


@dataclass(frozen=True)
class Rival:
    """What a run folder of another method holds."""

    method: MethodName
    model: Method
    world: World | None  # None for data that came without one
    seen: Seen | None = None  # what goals are chosen from; a run of a maze keeps none

    @classmethod
    def load(
        cls, folder: str | Path, *, world: World | None = None, device: Device = "auto"
    ) -> Rival:
        """Reads a run folder; `world` where it is not one of the package's."""
        folder = Path(folder)
        config = RunConfig.read(folder / "config.json")
        method = rival_of(config, folder)
        if not (folder / MODEL / "config.json").exists():
            raise CogmapError(
                f"{folder} is not finished; go on with `cogmap train --resume {folder}`."
            )
        model = load_rival(
            method, config.settings.rival, folder / MODEL, device=devices.pick(device)
        )
        seen = Seen.load(folder / SEEN)
        return cls(method, model, world or restored(config.world, seen), seen)

    @property
    def observation_shape(self) -> tuple[int, ...]:
        """Of what the run sees."""
        return (self.model.shape.observation_size,)

    @property
    def sees(self) -> bool:
        """Whether observations are pictures."""
        return False

    @property
    def hold(self) -> int:
        """Simulator steps that one action lasts."""
        return self.model.shape.hold

    def acting_in(self, world: World | None) -> World:
        """The world to act in: the given one, else its own. Raises where the two do not fit."""
        return fitting(world or self.world, self.observation_shape)

    @torch.no_grad()
    def act(self, observations: np.ndarray, goals: np.ndarray) -> np.ndarray:
        """(n, d), and goals (n, d) or sets of them (n, S, d), of which the nearest is sought."""
        here, wanted = self._given(observations), self._given(goals)
        if wanted.ndim == 3:
            near = self._values(here, wanted)  # (n, S)
            wanted = wanted[torch.arange(len(wanted)), near.argmax(-1)]
        return self.model.act(here, wanted).cpu().numpy()

    @torch.no_grad()
    def values(self, observations: np.ndarray, goal: np.ndarray) -> np.ndarray | None:
        """How near each observation is to a goal: the more, the nearer. (N, d), (d,) -> (N,)

        None where the method has no values.
        """
        here = self._given(observations)
        values = self.model.value(here, self._given(goal).expand_as(here))
        return None if values is None else values.cpu().numpy()

    def _given(self, numbers: np.ndarray) -> torch.Tensor:
        device = next(self.model.parameters()).device
        return torch.as_tensor(np.asarray(numbers), dtype=torch.float32, device=device)

    def _values(self, here: torch.Tensor, wanted: torch.Tensor) -> torch.Tensor:
        """(n, d), (n, S, d) -> (n, S); all alike where the method has no values."""
        many = here[:, None].expand_as(wanted)
        values = self.model.value(many.flatten(0, 1), wanted.flatten(0, 1))
        shape = wanted.shape[:2]
        return torch.zeros(shape) if values is None else values.view(shape)


def check(world: World | None, config: RunConfig) -> None:
    """Everything that can be wrong with a rival's run, before anything is written."""
    settings = config.settings
    devices.pick(settings.device)
    if config.data is not None:
        data = Trajectories.load(config.data)
        data.check_finite()
        check_rows(data)
        if world is not None and data.observation_shape != world.observation_shape:
            raise CogmapError(
                f"{config.data} holds observations of shape {data.observation_shape}; "
                f"{world.name} shows {world.observation_shape}."
            )
        return
    if world is None:
        raise CogmapError("give --maze to explore, or --data to train on.")
    if len(world.observation_shape) != 1:
        raise CogmapError(
            f"{config.method} learns from numbers; {world.name} shows {world.observation_shape}."
        )
    world.check(settings.exploration, tau_max=1)


def train(
    world: World | None,
    method: MethodName,
    settings: RunSettings,
    folder: str | Path,
    *,
    data: str | Path | None = None,
    bars: Bars = no_bars,
    tell: Callable[[str], None] = lambda line: None,
    track: Tracker = no_tracker,
) -> Rival:
    """Makes a run folder: rows that the world records, or a dataset, and a rival that learns them.

    As pipeline.train does for our method; an interrupted run goes on with `resume`.
    """
    folder = Path(folder)
    if method not in METHODS:
        raise CogmapError(f"method={method!r}; give cogmap, {', '.join(METHODS)}.")
    runs.check_new_run(folder)
    if world is not None:
        world, settings = world.settled(settings, tell=tell)
    settings = settled(settings, method)
    described = None if world is None else world.describe()
    given = None if data is None else Path(data)
    config = RunConfig.new(settings, described, data=given, method=method)
    check(world, config)
    config.write(folder)
    return _run(world, config, folder, bars, track)


def begun(folder: Path, method: MethodName, settings: RunSettings) -> bool:
    """Whether a run is there. Raises where it is one of other settings than these."""
    if not (folder / "config.json").exists():
        return False
    found = RunConfig.read(folder / "config.json")
    if found.method != method or found.settings.rival != settled(settings, method).rival:
        raise CogmapError(
            f"{folder} holds a run of other settings; delete it, or choose another folder."
        )
    return True


def settled(settings: RunSettings, method: MethodName) -> RunSettings:
    """With every number of the rival's training that was left to the method and the device."""
    fast = devices.pick(settings.device).type == "cuda"
    return replace(settings, rival=settings.rival.settled(method, fast=fast))


def resume(
    folder: str | Path,
    *,
    world: World | None = None,
    bars: Bars = no_bars,
    track: Tracker = no_tracker,
) -> Rival:
    """Continues a run with its own settings; every part that is already there is kept."""
    config = RunConfig.read(Path(folder) / "config.json")
    return _run(world or restored(config.world), config, Path(folder), bars, track)


def _run(world: World | None, config: RunConfig, folder: Path, bars: Bars, track: Tracker) -> Rival:
    method = rival_of(config, folder)
    data = _rows(world, config, folder / "data", bars)
    if world is None or world.map is None:
        seen = Seen.load(folder / SEEN) or Seen.of(
            data, getattr(world, "observation_names", ()), getattr(world, "context", None)
        )
        seen.save(folder / SEEN)
    train_rival(
        method,
        data,
        config.settings.rival,
        folder / MODEL,
        seed=config.settings.seed,
        device=config.settings.device,
        progress=bars(method, "update"),
        track=track(MODEL),
    )
    return Rival.load(folder, world=world, device=config.settings.device)


def rival_of(config: RunConfig, folder: Path) -> MethodName:
    """The method of a run, which must be a rival."""
    for name in METHODS:
        if name == config.method:
            return name
    raise CogmapError(f"{folder} holds a run of {config.method}, which is no rival.")


def _rows(world: World | None, config: RunConfig, folder: Path, bars: Bars) -> Trajectories:
    """Those that were given, or what the world records."""
    settings = config.settings
    if config.data is not None:
        return Trajectories.load(config.data)
    if world is None:
        raise CogmapError(
            f"this run explores {(config.world or {}).get('kind', 'a world')}, which is not one of "
            "the package's; give it as `world`."
        )
    if isinstance(world, Walked):
        rival = settings.rival
        return world.walked(rival.walk, rival.rows, folder, seed=settings.seed, bars=bars)
    return world.explore(settings.exploration, folder, seed=settings.seed, bars=bars)[1]
