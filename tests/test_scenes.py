"""Buildings by path: which way up a GLB is, where its nodes place it, files found again."""

import json
import os
import struct
from pathlib import Path

import numpy as np
import pytest
from navmeshes import ROOMS, TABLE, navmesh_bytes, two_rooms

from cogmap.cli import main
from cogmap.config import RunConfig
from cogmap.envs.egocentric import Building
from cogmap.envs.kinds import restored
from cogmap.envs.scenes import scene_of_files
from cogmap.envs.surface import read_glb
from cogmap.errors import CogmapError
from cogmap.settings import RunSettings

SCENES = Path(os.environ.get("COGMAP_SCENES", "scenes"))
# A ramp of 6 m x 3 m around the two rooms, from 0.1 m to 3 m: x, y (up), z.
RAMP = np.array([(-0.5, 0.1, -0.5), (5.5, 0.1, -0.5), (5.5, 3.0, 2.5)], "<f4")


def glb(path: Path, points: np.ndarray, nodes: list[dict], **more) -> Path:
    """One triangle, as the mesh 0; `more` goes into its primitive, and `colours` (3, 3) with it."""
    colours = more.pop("colours", None)
    told = {
        "asset": {"version": "2.0"},
        "nodes": nodes,
        "meshes": [{"primitives": [{"attributes": {"POSITION": 0}}]}],
        "accessors": [{"bufferView": 0, "componentType": 5126, "count": 3, "type": "VEC3"}],
        "bufferViews": [{"byteLength": 36}],
        **more,
    }
    binary = points.astype("<f4").tobytes()
    if colours is not None:
        told["meshes"][0]["primitives"][0]["attributes"]["COLOR_0"] = 1
        told["accessors"].append(
            {"bufferView": 1, "componentType": 5121, "normalized": True, "count": 3, "type": "VEC3"}
        )
        told["bufferViews"].append({"byteOffset": 36, "byteLength": 12, "byteStride": 4})
        binary += np.pad(np.asarray(colours, "u1"), ((0, 0), (0, 1))).tobytes()
    text = json.dumps(told).encode()
    text += b" " * (-len(text) % 4)
    parts = struct.pack("<II", len(text), 0x4E4F534A) + text
    parts += struct.pack("<II", len(binary), 0x004E4942) + binary
    path.write_bytes(struct.pack("<4sII", b"glTF", 2, 12 + len(parts)) + parts)
    return path


def z_up(points: np.ndarray) -> np.ndarray:
    """As a file with its z up has them."""
    x, y, z = points.T
    return np.stack([x, -z, y], axis=-1)


@pytest.fixture
def navmesh(tmp_path):
    two_rooms(tmp_path)
    return tmp_path / "rooms.navmesh"


def test_nodes_place_a_mesh_one_within_the_other(tmp_path):
    half = np.sqrt(0.5)
    nodes = [
        {"children": [1], "translation": [10, 0, 0]},
        {"children": [2], "rotation": [0, half, 0, half]},  # a quarter about y: x becomes -z
        {"mesh": 0, "scale": [2, 3, 4]},
    ]
    surface = read_glb(glb(tmp_path / "a.glb", np.eye(3), nodes))
    np.testing.assert_allclose(surface.corners[0], [(10, 0, -2), (10, 3, 0), (14, 0, 0)], atol=1e-6)
    matrix = [0, 0, -2, 0, 0, 3, 0, 0, 4, 0, 0, 0, 10, 0, 0, 1]  # the same, by columns
    same = read_glb(glb(tmp_path / "b.glb", np.eye(3), [{"mesh": 0, "matrix": matrix}]))
    np.testing.assert_allclose(same.corners, surface.corners, atol=1e-6)


def test_a_node_of_no_scene_is_not_seen(tmp_path):
    nodes = [{"mesh": 0}, {"mesh": 0, "translation": [5, 0, 0]}]
    path = glb(tmp_path / "a.glb", np.eye(3), nodes, scenes=[{"nodes": [1]}], scene=0)
    assert read_glb(path).corners[..., 0].min() == 5


def test_colours_of_corners_are_those_of_their_triangle_and_factors_colour_them(tmp_path):
    colours = [(255, 0, 30), (0, 0, 60), (0, 0, 90)]
    surface = read_glb(glb(tmp_path / "a.glb", np.eye(3), [{"mesh": 0}], colours=colours))
    assert surface.textures[surface.texture[0]].tolist() == [[[85, 0, 60]]]
    plain = read_glb(glb(tmp_path / "b.glb", np.eye(3), [{"mesh": 0}]))
    assert plain.textures[plain.texture[0]].tolist() == [[[128, 128, 128]]]


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({"extensionsRequired": ["KHR_draco_mesh_compression"]}, "needs KHR_draco"),
        ({"nodes": [{"children": [0], "mesh": 0}], "scenes": [{"nodes": [0]}]}, "in a circle"),
        ({"nodes": [{}]}, "holds no mesh"),
        ({"accessors": []}, "no GLB that can be read"),
    ],
)
def test_what_cannot_be_read_is_said_in_a_line(tmp_path, more, told):
    nodes = more.pop("nodes", [{"mesh": 0}])
    with pytest.raises(CogmapError, match=told):
        read_glb(glb(tmp_path / "a.glb", np.eye(3), nodes, **more))


def test_the_axis_is_up_with_which_the_mesh_is_above_the_floor(tmp_path, navmesh):
    upright = glb(tmp_path / "y.glb", RAMP, [{"mesh": 0}])
    lying = glb(tmp_path / "z.glb", z_up(RAMP), [{"mesh": 0}])
    for path, up in ((upright, "y"), (lying, "z")):
        scene = scene_of_files(navmesh, path)
        assert scene.describe()["up"] == up and scene.label == path.stem
        np.testing.assert_allclose(scene.surface.corners[0], RAMP, atol=1e-6)
    with pytest.raises(CogmapError, match="not above the floor .* with its z up"):
        scene_of_files(navmesh, upright, up="z")
    away = glb(tmp_path / "away.glb", RAMP + (20, 0, 0), [{"mesh": 0}])
    with pytest.raises(CogmapError, match=r"away.glb is not above the floor of .*rooms.navmesh"):
        scene_of_files(navmesh, away)
    corners = np.array([(-9, -9, -9), (9, 9, 9), (9, -9, 9)])
    cube = glb(tmp_path / "cube.glb", corners, [{"mesh": 0}])
    with pytest.raises(CogmapError, match="say --up y or z"):
        scene_of_files(navmesh, cube)
    assert scene_of_files(navmesh, cube, up="z").describe()["up"] == "z"


def test_a_floor_without_a_glb_is_called_made_up_whatever_its_label(navmesh):
    assert scene_of_files(navmesh).label == "rooms floor plan, synthetic appearance"
    made_up = scene_of_files(navmesh, label="Office")
    assert made_up.label == "Office floor plan, synthetic appearance"


def test_habitats_own_room_is_seen_to_have_its_z_up():
    mesh = SCENES / "van-gogh-room.glb"
    if not mesh.exists():
        pytest.skip("set COGMAP_SCENES to a folder with Habitat's test scenes")
    assert scene_of_files(SCENES / "van-gogh-room.navmesh", mesh).describe()["up"] == "z"


def test_files_are_found_again_and_other_ones_are_refused(tmp_path, navmesh, monkeypatch):
    path = glb(tmp_path / "y.glb", RAMP, [{"mesh": 0}])
    monkeypatch.chdir(tmp_path)
    scene = scene_of_files(Path("rooms.navmesh"), Path("y.glb"), label="our office")
    world = Building(scene, beside="both")
    told = json.loads(json.dumps(world.describe()))
    monkeypatch.chdir("/")
    again = restored(told)
    assert again.describe() == world.describe() and again.name == "our office"
    np.testing.assert_array_equal(again.scene.surface.corners, scene.surface.corners)
    fingerprint = RunConfig(RunSettings(), told).fingerprint  # where files lie is not part of it
    assert RunConfig(RunSettings(), told | {"glb": "/elsewhere"}).fingerprint == fingerprint
    assert RunConfig(RunSettings(), told | {"glb_sha256": "0"}).fingerprint != fingerprint
    path.write_bytes(path.read_bytes() + b" ")
    with pytest.raises(CogmapError, match="not what this run was made with"):
        restored(told)
    path.unlink()
    with pytest.raises(CogmapError, match="is gone"):
        restored(told)


def test_wrong_files_on_the_command_line_are_one_line_before_anything_is_written(
    tmp_path, navmesh, capsys
):
    out = ["--out", str(tmp_path / "run")]
    odd = tmp_path / "odd.bin"
    odd.write_bytes(b"nothing of the kind")
    away = glb(tmp_path / "away.glb", RAMP + (20, 0, 0), [{"mesh": 0}])
    for flags, told in (
        (["--navmesh", str(tmp_path / "none")], "cannot read"),
        (["--navmesh", str(odd)], "no navmesh"),
        (["--navmesh", str(away)], "no navmesh"),
        (["--navmesh", str(navmesh), "--glb", str(odd)], "no GLB"),
        (["--navmesh", str(navmesh), "--glb", str(navmesh)], "no GLB"),
        (["--navmesh", str(navmesh), "--glb", str(away)], "not above the floor"),
        (["--glb", str(away)], "--glb is for --navmesh"),
        (["--navmesh", str(navmesh), "--maze", "large"], "not both"),
        (["--navmesh", str(navmesh), "--simulator", "habitat"], "--simulator is for --world"),
    ):
        assert main(["train", *flags, *out]) == 2
        error = capsys.readouterr().err
        assert told in error and error.count("\n") == 1
        assert not (tmp_path / "run").exists()


def test_a_building_by_path_is_trained_and_evaluated(tmp_path, navmesh, capsys):
    pytest.importorskip("embreex")
    navmesh.write_bytes(navmesh_bytes([*ROOMS, TABLE]))
    run = str(tmp_path / "run")
    few = ["--walk-steps", "3000", "--action-steps", "500", "--tau-max", "64", "--steps", "2"]
    few += ["--batch", "16", "--dynamics.steps", "2", "--width", "32", "--device", "cpu"]
    assert main(["train", "--navmesh", str(navmesh), "--out", run, *few]) == 0
    assert main(["evaluate", run, "--episodes", "1", "--budget", "3"]) == 0
    assert "rooms floor plan, synthetic appearance" in capsys.readouterr().out
    navmesh.unlink()
    assert main(["evaluate", run, "--episodes", "1", "--budget", "3"]) == 2
    assert "is gone" in capsys.readouterr().err
