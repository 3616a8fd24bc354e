"""Several runs of one rival, made by one training: seeds, mazes, settings side by side on a GPU.

    python -m cogmap.several config.json

does it on a host that has numpy, torch and safetensors alone. The file holds

    {"method": "qrl", "folder": DIR, "runs": [{"world": {...}, "data": DIR, "out": DIR}, ...]}

where `folder` keeps what an interrupted training goes on from, a world is as a run's config.json
has it, and a run may have a "seed" and settings of its "rival". Stopped and started again, it goes
on.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cogmap import rival, runs
from cogmap.baselines.settings import MethodName, RivalTraining
from cogmap.baselines.train import Member, train_together
from cogmap.config import RunConfig
from cogmap.data.trajectories import Trajectories
from cogmap.envs.kinds import restored
from cogmap.envs.world import World
from cogmap.errors import CogmapError
from cogmap.progress import Bars, no_bars
from cogmap.rival import MODEL, Rival
from cogmap.settings import RunSettings
from cogmap.training import Tracker, no_tracker


@dataclass(frozen=True)
class Run:
    """What one of the runs is made of."""

    world: World
    settings: RunSettings
    folder: Path
    data: Path


def train(
    method: MethodName,
    several: Sequence[Run],
    folder: str | Path,
    *,
    bars: Bars = no_bars,
    track: Tracker = no_tracker,
) -> list[Rival]:
    """Makes run folders, each as rival.train does, by one training (baselines/stack.py).

    What it resumes from lies in `folder`; called again it goes on.
    """
    data = {run.data: Trajectories.load(run.data) for run in several}
    members = []
    for run in several:
        settings = rival.settled(run.settings, method)
        if not rival.begun(run.folder, method, settings):
            config = RunConfig.new(settings, run.world.describe(), data=run.data, method=method)
            rival.check(run.world, config)
            config.write(run.folder)
        members.append(Member(data[run.data], settings.rival, settings.seed, run.folder / MODEL))
    device = several[0].settings.device
    bar = bars(method, "update")
    told = track(MODEL)
    train_together(method, members, Path(folder), device=device, progress=bar, track=told)
    return [Rival.load(run.folder, world=run.world, device=device) for run in several]


def main(path: str = "") -> None:
    if not path:
        raise CogmapError("say what to make: python -m cogmap.several config.json")
    told = runs.read_json(Path(path))
    if not isinstance(told, dict) or told.keys() - {"device"} != {"method", "folder", "runs"}:
        raise CogmapError(f'{path} must hold {{"method": NAME, "folder": DIR, "runs": [...]}}.')
    several = []
    for one in told["runs"]:
        if not isinstance(one, dict) or not {"world", "data", "out"} <= one.keys():
            raise CogmapError(f'{path}: a run is {{"world": {{...}}, "data": DIR, "out": DIR}}.')
        world = restored(one["world"])
        if world is None:
            raise CogmapError(f"{path}: {one['world']} is not one of the package's worlds.")
        training = runs.settings_from(RivalTraining, one.get("rival", {}), where=path)
        seed, device = one.get("seed", 0), told.get("device", "auto")
        settings = RunSettings(seed=seed, device=device, rival=training)
        several.append(Run(world, settings, Path(one["out"]), Path(one["data"])))
    train(told["method"], several, told["folder"])


if __name__ == "__main__":
    try:
        main(*sys.argv[1:2])
    except CogmapError as error:
        sys.stderr.write(f"cogmap: {error}\n")
        sys.exit(2)
