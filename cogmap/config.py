"""config.json of a run: its method, its world and every setting, so that it can be made again."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import cogmap
from cogmap import devices, runs
from cogmap.baselines.settings import RivalTraining
from cogmap.dynamics.settings import DynamicsTraining
from cogmap.errors import CogmapError
from cogmap.explore.settings import Exploration
from cogmap.planning.settings import Planning
from cogmap.settings import RunSettings
from cogmap.sight.settings import SightTraining
from cogmap.temporal.settings import TemporalTraining

FORMAT = 3  # the weights of 1 and 2 stand for another G
METHOD = "cogmap"  # what a run folder says was trained in it; rivals say their own names
GROUPS = {
    "exploration": Exploration,
    "sight": SightTraining,
    "temporal": TemporalTraining,
    "dynamics": DynamicsTraining,
    "planning": Planning,
    "rival": RivalTraining,
}


@dataclass(frozen=True)
class RunConfig:
    """What a run was made with."""

    settings: RunSettings
    world: dict[str, Any] | None  # as the world describes itself; None: data without a world
    data: Path | None = None  # pairs that were given instead of explored
    dynamics_data: Path | None = None  # transitions that were given
    method: str = METHOD
    made: dict[str, str] = field(default_factory=dict)  # version, commit and hardware of the start

    @classmethod
    def new(
        cls,
        settings: RunSettings,
        world: dict[str, Any] | None,
        *,
        data: Path | None = None,
        dynamics_data: Path | None = None,
        method: str = METHOD,
    ) -> RunConfig:
        """Of a run that begins here and now."""
        made = {"version": cogmap.__version__, "commit": runs.commit()}
        made["hardware"] = devices.hardware()
        return cls(settings, world, data, dynamics_data, method, made)

    @property
    def fingerprint(self) -> str:
        """A hash of all that decides what is learned: not the device, nor how to plan with it."""
        values = self._values()
        for name in ("device", "planning", "made"):
            del values[name]
        if values["world"] is not None:  # where pictures come from matters to acting alone
            elsewhere = "pictures", "scenes", "navmesh", "glb"  # so does where a scene's files lie
            values["world"] = {k: v for k, v in values["world"].items() if k not in elsewhere}
        for name in ("data", "dynamics_data"):  # the same data may lie elsewhere
            values[name] = values[name] and Path(values[name]).name
        return fingerprint(values)

    def _values(self) -> dict[str, Any]:
        values: dict[str, Any] = {"method": self.method, "world": self.world}
        values |= dataclasses.asdict(self.settings)
        for name in ("data", "dynamics_data"):
            path = getattr(self, name)
            values[name] = None if path is None else str(path)
        return values | {"made": self.made}

    def write(self, folder: Path) -> None:
        runs.write_json(folder / "config.json", {"format": FORMAT, **self._values()})

    @classmethod
    def read(cls, path: Path) -> RunConfig:
        values = runs.read_json(path)
        known = values.get("format") if isinstance(values, dict) else None
        if known != FORMAT:
            raise CogmapError(
                f"{path} is of another version (format {known}, not {FORMAT}), whose weights stand "
                "for something else; train again."
            )
        settings: dict[str, Any] = {
            name: runs.settings_from(kind, values.get(name, {}), where=f"{path}, {name}")
            for name, kind in GROUPS.items()
        }
        settings |= {name: values[name] for name in ("seed", "device") if name in values}
        return cls(
            settings=RunSettings(**settings),
            world=values.get("world"),
            data=None if values.get("data") is None else Path(values["data"]),
            dynamics_data=(
                None if values.get("dynamics_data") is None else Path(values["dynamics_data"])
            ),
            method=values.get("method", METHOD),
            made=values.get("made", {}),
        )


def fingerprint(values: Any) -> str:
    """A short hash of settings: equal for equal settings, on any machine."""
    text = json.dumps(values, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:12]
