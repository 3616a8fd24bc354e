"""cogmap export"""

from __future__ import annotations

from cogmap.cli import Export
from cogmap.data.minari import write_minari
from cogmap.data.trajectories import Trajectories


def run(settings: Export) -> None:
    data = Trajectories.load(settings.dataset)
    folder = write_minari(data, settings.minari, root=settings.path, tell=print)
    print(f"{len(data):,} rows in {len(data.episode_starts)} episodes -> {folder}")
