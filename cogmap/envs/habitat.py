"""Habitat's test scenes as the user's own habitat-sim shows them (App. D).

The simulator tells where one can stand and draws what is seen; the walk's rules are ours
(turning.py), and so are straight and shortest ways, over the same navigation mesh: the simulator's
own shortest ways are up to 63 % longer than the shortest (docs/first-person.md).

The package does not install habitat-sim and does not hold its scenes. The scenes' files are checked
before anything is drawn: of the mesh with its pictures the size is known, and how its SHA-256
begins and ends.
"""

from __future__ import annotations

import importlib
import weakref
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from cogmap.envs.building_tasks import Corners, SceneTasks
from cogmap.envs.floor import Floor
from cogmap.envs.raycast import FIELD, View
from cogmap.envs.scene import EYE, KNOWN, known_floor, sha256
from cogmap.envs.turning import SPACING
from cogmap.errors import CogmapError

INSTALL = "conda install habitat-sim headless -c conda-forge -c aihabitat"
DOWNLOAD = "python -m habitat_sim.utils.datasets_download --uids habitat_test_scenes"
SIDE = 320  # pixels that are drawn; a smaller view is the mean of whole blocks of them
GPU = -1  # of habitat-sim: whichever there is, or none; a number of none ends the process
CLIMB = 0.5  # m; Habitat's max_y_delta


@dataclass(frozen=True)
class Mesh:
    """What is known of a file that the package does not hold."""

    file: str
    label: str
    size: int  # bytes
    begins: str  # of its SHA-256
    ends: str


MESHES = {
    "apartment-1": Mesh(
        "apartment_1.glb",
        "Apartment 1 of Habitat's test scenes (CC-BY-NC-4.0)",
        50_006_356,
        "c0b1314d",
        "785e",
    ),
    "van-gogh": Mesh(
        "van-gogh-room.glb",
        'Van Gogh Room of Habitat\'s test scenes, from "Van Gogh Room" by ruslans3d (CC-BY-4.0)',
        21_835_724,
        "24570d71",
        "9e84",
    ),
}


@dataclass(frozen=True, eq=False)
class HabitatScene:
    """One of Habitat's test scenes, in habitat-sim."""

    name: str
    folder: Path  # of its files
    floor: Floor
    habitat: Any  # the module habitat_sim
    tasks: SceneTasks = Corners()

    @classmethod
    def named(cls, name: str, folder: Path) -> HabitatScene:
        """Raises where the simulator is missing, or a file is not Habitat's."""
        try:
            habitat = importlib.import_module("habitat_sim")
            importlib.import_module("habitat_sim.utils.common")
        except ImportError as error:
            raise CogmapError(
                f"--simulator habitat needs habitat-sim ({error}); {INSTALL}, or leave it out."
            ) from None
        floor = known_floor(name, folder)
        _check_mesh(folder / MESHES[name].file, MESHES[name])
        return cls(name, folder, floor, habitat)

    @property
    def label(self) -> str:
        return MESHES[self.name].label

    def describe(self) -> dict[str, Any]:
        return {"simulator": "habitat", "scenes": str(self.folder)}

    @cached_property
    def points(self) -> np.ndarray:
        grid = self.floor.grid(SPACING)
        return grid[self.navigable(grid)]

    @cached_property
    def _finder(self) -> Any:
        path = self.folder / KNOWN[self.name].navmesh
        finder = self.habitat.PathFinder()
        if not finder.load_nav_mesh(str(path)):
            raise CogmapError(f"habitat-sim cannot load {path}.")
        return finder

    def _placed(self, places: np.ndarray) -> np.ndarray:
        """On the floor, as the simulator takes them. (N, 2) -> (N, 3) float32"""
        x, z = places.T
        return np.stack([x, self.floor.height(places), z], axis=-1).astype(np.float32)

    def navigable(self, places: np.ndarray) -> np.ndarray:
        """On the largest island, by the simulator: others are tops of beds and tables."""
        finder = self._finder
        main = max(range(finder.num_islands), key=finder.island_area)
        return np.array(
            [
                bool(finder.is_navigable(point, CLIMB)) and finder.get_island(point) == main
                for point in self._placed(places)
            ],
            dtype=bool,
        )

    def clear(self, start: np.ndarray, end: np.ndarray) -> np.ndarray:
        return self.floor.clear(start, end)

    def geodesic(self, start: np.ndarray, end: np.ndarray) -> np.ndarray:
        return self.floor.geodesic(start, end)

    @cached_property
    def _simulator(self) -> Any:
        """With a colour and a depth camera at the eye of its one agent."""
        habitat = self.habitat
        world = habitat.SimulatorConfiguration()
        world.scene_id = str(self.folder / MESHES[self.name].file)
        world.gpu_device_id = GPU
        world.enable_physics = False
        world.allow_sliding = False
        world.create_renderer = True
        world.load_semantic_mesh = False
        cameras = []
        for uuid, kind in (("rgb", "COLOR"), ("depth", "DEPTH")):
            camera = habitat.CameraSensorSpec()
            camera.uuid = uuid
            camera.sensor_type = getattr(habitat.SensorType, kind)
            camera.sensor_subtype = habitat.SensorSubType.PINHOLE
            camera.resolution = [SIDE, SIDE]
            camera.position = [0.0, EYE, 0.0]
            camera.hfov = FIELD
            cameras.append(camera)
        agent = habitat.agent.AgentConfiguration(
            height=EYE, radius=self.floor.radius, sensor_specifications=cameras
        )
        simulator = habitat.Simulator(habitat.Configuration(world, [agent]))
        weakref.finalize(self, simulator.close)
        return simulator

    def view(self, place: np.ndarray, heading: float, *, size: int) -> View:
        """As the simulator draws it: its yaw, too, is 0 along -z and grows to the left."""
        if size < 1 or SIDE % size:
            raise CogmapError(f"a view of {size} pixels; habitat-sim is asked for parts of {SIDE}.")
        state = self.habitat.AgentState()
        state.position = self._placed(place[None])[0]
        turn = self.habitat.utils.common.quat_from_angle_axis
        state.rotation = turn(heading, np.array([0.0, 1.0, 0.0]))
        self._simulator.get_agent(0).set_state(state, reset_sensors=True)
        seen = self._simulator.get_sensor_observations()
        colour = np.round(_blocks(np.asarray(seen["rgb"])[..., :3], size))
        depth = _blocks(np.asarray(seen["depth"])[..., None], size)[..., 0]
        return View(colour.astype(np.uint8), depth)


def _blocks(pixels: np.ndarray, size: int) -> np.ndarray:
    """Their means. (SIDE, SIDE, c) -> (size, size, c)"""
    side = len(pixels) // size
    return pixels.reshape(size, side, size, side, -1).astype(np.float64).mean(axis=(1, 3))


def _check_mesh(path: Path, known: Mesh) -> None:
    """Raises for a file that is not Habitat's, by what is known of that."""
    if not path.is_file():
        raise CogmapError(f"{path} is missing; {DOWNLOAD} --data-path FOLDER brings it.")
    size = path.stat().st_size
    if size != known.size:
        raise CogmapError(
            f"{path} has {size:,} bytes, the {known.file} of Habitat's test scenes "
            f"{known.size:,}; {DOWNLOAD}."
        )
    found = sha256(path)
    if not (found.startswith(known.begins) and found.endswith(known.ends)):
        raise CogmapError(
            f"{path} is not the {known.file} of Habitat's test scenes: its sha256 is {found}, not "
            f"{known.begins}...{known.ends}."
        )
