"""cogmap import"""

from __future__ import annotations

from cogmap.cli import Import
from cogmap.data.exchange import read_dataset
from cogmap.errors import CogmapError


def run(settings: Import) -> None:
    if settings.out.exists() and any(settings.out.iterdir()):
        raise CogmapError(f"{settings.out} is not empty; choose another --out.")
    data = read_dataset(settings.source, hold=settings.hold)
    data.save(settings.out)
    actions = (
        "no actions" if data.actions is None else f"actions of {data.actions.shape[1]} numbers"
    )
    print(
        f"{len(data):,} observations of shape {data.observation_shape} in "
        f"{len(data.episode_starts)} episodes, {actions} -> {settings.out}"
    )
