"""cogmap import"""

from __future__ import annotations

from cogmap.cli import Import
from cogmap.data.exchange import read_dataset
from cogmap.runs import check_new_folder


def run(settings: Import) -> None:
    check_new_folder(settings.out)
    data = read_dataset(settings.source, hold=settings.hold, tell=print)
    data.save(settings.out)
    actions = (
        "no actions" if data.actions is None else f"actions of {data.actions.shape[1]} numbers"
    )
    print(
        f"{len(data):,} observations of shape {data.observation_shape} in "
        f"{len(data.episode_starts)} episodes, {actions} -> {settings.out}"
    )
