"""Habitat's own simulator: what it is asked, in which coordinates, and when it is refused.

A small stand-in for habitat_sim records the calls; it draws nothing of a real scene. Where the real
one and Habitat's scenes are, the last test asks them.
"""

import hashlib
import importlib.util
import os
import sys
import types
from pathlib import Path

import numpy as np
import pytest
from navmeshes import TABLE, two_rooms

from cogmap.cli import main
from cogmap.envs import habitat, scene
from cogmap.envs.egocentric import Building
from cogmap.envs.habitat import MESHES, HabitatScene, Mesh
from cogmap.envs.kinds import restored
from cogmap.envs.scene import KNOWN, Files
from cogmap.envs.turning import States
from cogmap.errors import CogmapError

SCENES = Path(os.environ.get("COGMAP_SCENES", "scenes"))
GLB = b"the picture of two rooms"


class Finder:
    """Two islands: a table top, and the rooms that the floor has."""

    num_islands = 2

    def __init__(self, floor):
        self.floor = floor

    def load_nav_mesh(self, path):
        return Path(path).exists()

    def island_area(self, number):
        return (1.0, 9.0)[number]

    def get_island(self, point):
        return int(point[0] < TABLE[0])

    def is_navigable(self, point, most):
        assert point.dtype == np.float32 and abs(point[1] - 0.2) < 1e-3 and most == 0.5
        on_table = TABLE[0] <= point[0] <= TABLE[2]
        return on_table or self.floor.navigable(np.array([[point[0], point[2]]]))[0]


class Simulator:
    def __init__(self, configuration):
        self.world, [self.agent] = configuration
        self.closed = False

    def get_agent(self, number):
        assert number == 0
        return self

    def set_state(self, state, reset_sensors):
        assert reset_sensors
        self.state = state

    def get_sensor_observations(self):
        side = habitat.SIDE
        rgb = np.zeros((side, side, 4), np.uint8)
        rgb[: side // 2, :, 0], rgb[..., 3] = 200, 255  # the upper half is red
        return {"rgb": rgb, "depth": np.full((side, side), 2.5, np.float32)}

    def close(self):
        self.closed = True


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with files that pass for Habitat's, and a stand-in for its simulator."""
    floor = two_rooms(tmp_path)
    data = (tmp_path / "rooms.navmesh").read_bytes()
    (tmp_path / "rooms.glb").write_bytes(GLB)
    found = hashlib.sha256(GLB).hexdigest()
    known = Files("rooms.navmesh", hashlib.sha256(data).hexdigest(), None, "made up")
    monkeypatch.setitem(scene.KNOWN, "apartment-1", known)
    mesh = Mesh("rooms.glb", "the real rooms", len(GLB), found[:8], found[-4:])
    monkeypatch.setitem(habitat.MESHES, "apartment-1", mesh)
    fake = types.ModuleType("habitat_sim")
    fake.PathFinder = lambda: Finder(floor)
    fake.Simulator = Simulator
    fake.Configuration = lambda world, agents: (world, agents)
    for name in ("SimulatorConfiguration", "CameraSensorSpec", "AgentState"):
        setattr(fake, name, types.SimpleNamespace)
    fake.SensorType = types.SimpleNamespace(COLOR="colour", DEPTH="depth")
    fake.SensorSubType = types.SimpleNamespace(PINHOLE="pinhole")
    fake.agent = types.SimpleNamespace(AgentConfiguration=types.SimpleNamespace)
    common = types.ModuleType("habitat_sim.utils.common")
    common.quat_from_angle_axis = lambda angle, axis: (angle, axis.tolist())
    fake.utils = types.SimpleNamespace(common=common)
    monkeypatch.setitem(sys.modules, "habitat_sim", fake)
    monkeypatch.setitem(sys.modules, "habitat_sim.utils", types.ModuleType("habitat_sim.utils"))
    monkeypatch.setitem(sys.modules, "habitat_sim.utils.common", common)
    return tmp_path


def test_points_are_those_of_the_largest_island_that_the_simulator_tells(folder):
    rooms = HabitatScene.named("apartment-1", folder)
    assert len(rooms.points) == 2 * 9 * 9 + 3 * 5
    asked = np.array([(1.0, 1.0), (6.5, 0.5), (2.5, 0.0)])
    assert rooms.navigable(asked).tolist() == [True, False, False]  # floor, table, wall
    assert len(States.of(rooms).points) == len(rooms.points)
    assert rooms.clear(asked[:1], np.array([(4.0, 1.0)]))[0]
    assert rooms.geodesic(asked[:1], np.array([(4.0, 1.0)]))[0, 0] == pytest.approx(3.0)


def test_a_view_is_asked_at_the_place_on_the_floor_in_its_yaw_and_is_the_mean_of_blocks(folder):
    rooms = HabitatScene.named("apartment-1", folder)
    view = rooms.view(np.array([1.0, 0.5]), np.pi / 2, size=16)
    simulator = rooms._simulator
    np.testing.assert_allclose(simulator.state.position, (1.0, 0.2, 0.5), atol=1e-6)
    assert simulator.state.rotation == (np.pi / 2, [0.0, 1.0, 0.0])
    assert view.colour.shape == (16, 16, 3) and view.colour.dtype == np.uint8
    assert (view.colour[:8] == (200, 0, 0)).all() and (view.colour[8:] == 0).all()
    assert (view.depth == 2.5).all() and view.depth.shape == (16, 16)
    world, agent = simulator.world, simulator.agent
    assert world.scene_id == str(folder / "rooms.glb") and world.gpu_device_id == -1
    assert not world.allow_sliding and not world.enable_physics
    kinds = {camera.uuid: camera.sensor_type for camera in agent.sensor_specifications}
    assert kinds == {"rgb": "colour", "depth": "depth"}
    camera = agent.sensor_specifications[0]
    assert camera.position == [0.0, 1.5, 0.0] and camera.hfov == 90 and agent.height == 1.5
    with pytest.raises(CogmapError, match="parts of 320"):
        rooms.view(np.array([1.0, 0.5]), 0.0, size=33)
    del rooms
    assert simulator.closed


def test_it_goes_by_the_real_scenes_name_and_comes_back_by_it(folder, monkeypatch):
    monkeypatch.delenv("COGMAP_SCENES", raising=False)
    world = Building(HabitatScene.named("apartment-1", folder), pixels=16)
    assert world.name == "the real rooms"
    again = restored(world.describe())
    assert isinstance(again.scene, HabitatScene) and again.describe() == world.describe()
    np.testing.assert_array_equal(again.observe(np.array([3])), world.observe(np.array([3])))
    assert not any("synthetic" in mesh.label for mesh in MESHES.values())


@pytest.mark.parametrize(
    ("spoil", "told"),
    [
        (lambda path: path.unlink(), "missing; python -m habitat_sim"),
        (lambda path: path.write_bytes(GLB + b"!"), "has 25 bytes"),
        (lambda path: path.write_bytes(GLB[:-1] + b"!"), "its sha256 is"),
    ],
)
def test_a_mesh_that_is_not_habitats_is_refused(folder, spoil, told):
    spoil(folder / "rooms.glb")
    with pytest.raises(CogmapError, match=told):
        HabitatScene.named("apartment-1", folder)


def test_a_navmesh_that_is_not_habitats_is_refused(folder):
    path = folder / "rooms.navmesh"
    path.write_bytes(path.read_bytes() + b" ")
    with pytest.raises(CogmapError, match="sha256"):
        HabitatScene.named("apartment-1", folder)


def test_without_the_simulator_one_line_says_how_to_get_it(tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "habitat_sim", None)
    flags = ["--world", "van-gogh", "--simulator", "habitat", "--scenes", str(tmp_path)]
    assert main(["train", *flags, "--out", str(tmp_path / "run")]) == 2
    error = capsys.readouterr().err
    assert "conda install habitat-sim" in error and error.count("\n") == 1
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("name", ["apartment-1", "van-gogh"])
def test_the_real_simulator_agrees_with_our_floor(name):
    if importlib.util.find_spec("habitat_sim") is None:
        pytest.skip("habitat-sim is not installed")
    path = SCENES / MESHES[name].file
    if not path.exists() or path.stat().st_size != MESHES[name].size:
        pytest.skip(f"{KNOWN[name].navmesh} and {path.name} of Habitat's test scenes are not here")
    rooms = HabitatScene.named(name, SCENES)
    ours = {tuple(place) for place in rooms.floor.lattice(0.25)}
    assert len(ours ^ {tuple(place) for place in rooms.points}) <= 1
    view = rooms.view(rooms.points[0], 0.0, size=32)
    assert view.colour.std() > 0 and view.depth.max() > 0
