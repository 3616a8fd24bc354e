"""Buildings to stand and look around in: where one can stand, and what is seen there (App. D).

Two come by name, from files of the user's: `apartment-1` and `van-gogh` of Habitat's test scenes.
Their navigation meshes are CC-BY-NC-4.0, so the package does not hold them; they lie beside the
scenes in a download of Habitat's. Apartment 1 is on its real floor plan, with walls of our own.

Shape letters: N places, V views.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from cogmap.envs.building_tasks import Corners, SceneTasks
from cogmap.envs.floor import Floor
from cogmap.envs.navmesh import read_navmesh
from cogmap.envs.raycast import Cameras, View
from cogmap.envs.surface import Surface, read_glb
from cogmap.envs.turning import SPACING
from cogmap.envs.walls import with_walls
from cogmap.errors import CogmapError

EYE = 1.5  # m above the floor; Habitat's default


class Scene(Protocol):
    """What a first-person world needs of a building. Places are (x, z) in metres."""

    @property
    def name(self) -> str: ...

    @property
    def label(self) -> str:
        """What it is called wherever a number or a picture of it appears."""

    @property
    def tasks(self) -> SceneTasks: ...

    @property
    def points(self) -> np.ndarray:
        """Of the lattice, in one piece. (N, 2)"""

    def navigable(self, places: np.ndarray) -> np.ndarray:
        """Whether one can stand there. (N, 2) -> (N,) bool"""

    def clear(self, start: np.ndarray, end: np.ndarray) -> np.ndarray:
        """Whether one can go there straight. (N, 2), (N, 2) -> (N,) bool"""

    def geodesic(self, start: np.ndarray, end: np.ndarray) -> np.ndarray:
        """Shortest ways from all to all, in metres. (N, 2), (M, 2) -> (N, M)"""

    def describe(self) -> dict[str, Any]:
        """What config.json keeps of it, to bring it back (scenes.py); empty: it cannot be."""

    def view(self, place: np.ndarray, heading: float, *, size: int) -> View:
        """What is seen there. A heading of 0 looks along -z; it grows to the left, in radians."""


@dataclass(frozen=True, eq=False)
class NavmeshScene:
    """A navigation mesh, and a surface to look at."""

    name: str
    floor: Floor
    surface: Surface
    label: str
    tasks: SceneTasks = field(default_factory=Corners)
    files: dict[str, str] = field(default_factory=dict)  # that it was read from, to find it again

    def describe(self) -> dict[str, Any]:
        return dict(self.files)

    @cached_property
    def points(self) -> np.ndarray:
        return self.floor.lattice(SPACING)

    def navigable(self, places: np.ndarray) -> np.ndarray:
        return self.floor.navigable(places)

    def clear(self, start: np.ndarray, end: np.ndarray) -> np.ndarray:
        return self.floor.clear(start, end)

    def geodesic(self, start: np.ndarray, end: np.ndarray) -> np.ndarray:
        return self.floor.geodesic(start, end)

    def view(self, place: np.ndarray, heading: float, *, size: int) -> View:
        x, z = place
        eye = np.array([x, self.floor.height(np.array([[x, z]]))[0] + EYE, z])
        return self._cameras.view(eye, heading, size=size)

    @cached_property
    def _cameras(self) -> Cameras:
        return Cameras(self.surface)


@dataclass(frozen=True)
class Files:
    """Of one of Habitat's test scenes."""

    navmesh: str
    sha256: str
    glb: str | None  # None: its looks are made up
    label: str


KNOWN = {
    "apartment-1": Files(
        "apartment_1.navmesh",
        "3694bf3909ca9668e0506b07e20d932c8243adb2654dffb4f27f8fa8bd9b3c4b",
        None,
        "Apartment 1 floor plan, synthetic appearance",
    ),
    "van-gogh": Files(
        "van-gogh-room.navmesh",
        "0d0b50ceb92882aca27e02a4f3db2a0d0d10ed5271de075f04bf6bcb56ab15ab",
        "van-gogh-room.glb",
        '"Van Gogh Room" by ruslans3d (CC-BY-4.0)',
    ),
}


def known_floor(name: str, folder: Path) -> Floor:
    """Of one of Habitat's test scenes."""
    files = KNOWN[name]
    path = folder / files.navmesh
    floor = read_navmesh(path)
    if sha256(path) != files.sha256:
        raise CogmapError(
            f"{path} is not the {files.navmesh} of Habitat's test scenes, by its sha256; "
            "download it anew."
        )
    return floor


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def known_scene(name: str, folder: Path) -> NavmeshScene:
    """One of Habitat's test scenes, from a folder that holds its files."""
    files = KNOWN[name]
    floor = known_floor(name, folder)
    glb = None if files.glb is None else read_glb(folder / files.glb).turned("z")
    surface = with_walls(floor) if glb is None else glb
    return NavmeshScene(name, floor, surface, files.label, files={"scenes": str(folder)})
