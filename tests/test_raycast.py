"""What a ray camera sees: distances and colours that geometry tells, and Habitat's own frame."""

import os
from pathlib import Path

import numpy as np
import pytest
from navmeshes import two_rooms_scene

from cogmap.envs.raycast import RayCamera
from cogmap.envs.scene import KNOWN, known_scene
from cogmap.envs.surface import Surface, read_glb
from cogmap.errors import CogmapError

SCENES = Path(os.environ.get("COGMAP_SCENES", "scenes"))
HABITAT = pytest.mark.skipif(
    not (SCENES / "van-gogh-room.glb").exists(),
    reason="set COGMAP_SCENES to a folder with Habitat's test scenes",
)
RED, BLUE = (255, 0, 0), (0, 0, 255)
# Habitat's frame of the Van Gogh Room was taken a quarter of a metre ahead of this place.
PLACE, TURN = np.array([3.1627, 0.1767, -0.1902]), 2 * np.arctan2(0.6422, 0.7665)


def wall(x0, x1, z, texture):
    """A wall across the z axis from y = 0 to 2, as two triangles of one texture."""
    a, b, c, d = (x0, 0, z), (x1, 0, z), (x1, 2, z), (x0, 2, z)
    uv = [(0, 1), (1, 1), (1, 0), (0, 0)]
    corners = np.array([[a, b, c], [a, c, d]], dtype=float)
    places = np.array([[uv[0], uv[1], uv[2]], [uv[0], uv[2], uv[3]]], dtype=float)
    return Surface(corners, places, np.zeros(2, int), [np.asarray(texture, np.uint8)])


def test_depth_is_measured_along_the_middle_of_the_view():
    camera = RayCamera(wall(-1, 1, -3, [[RED]]), height=64, width=64)
    view = camera.view(np.array([0.0, 1.0, 0.0]), 0.0)
    seen = view.depth > 0
    np.testing.assert_allclose(view.depth[seen], 3.0, rtol=1e-5)
    # A third of the view's half width on each side: 2 m of the 6 m that are 3 m away.
    assert seen[32].sum() == pytest.approx(64 / 3, abs=1)
    assert (view.colour[seen] == RED).all() and (view.colour[~seen] == 0).all()


def test_a_yaw_turns_to_the_left():
    camera = RayCamera(wall(-1, 1, -3, [[RED]]), height=16, width=16)
    eye = np.array([0.0, 1.0, 0.0])
    for yaw, column in ((np.radians(30), slice(8, 16)), (np.radians(-30), slice(0, 8))):
        seen = (camera.view(eye, yaw).depth > 0).any(axis=0)
        assert seen[column].sum() > seen.sum() / 2
    assert not camera.view(eye, np.pi).depth.any()


def test_textures_stand_upright_and_are_not_mirrored():
    texture = np.full((8, 8, 3), BLUE)
    texture[:4, :4] = RED  # above on the left
    view = RayCamera(wall(-1, 1, -1, texture), height=8, width=8).view(np.array([0, 1, 0.0]), 0.0)
    assert (view.colour[2, 2] == RED).all()
    for row, column in ((2, 5), (5, 2), (5, 5)):
        assert (view.colour[row, column] == BLUE).all()


def test_far_textures_are_seen_as_their_mean_and_not_as_a_pixel():
    checks = np.indices((64, 64)).sum(0) % 2 * 254
    texture = np.repeat(checks[..., None], 3, axis=-1)
    surface = wall(-1, 1, -20, texture)
    view = RayCamera(surface, height=64, width=64).view(np.array([0.0, 1.0, 0.0]), 0.0)
    assert np.abs(view.colour[view.depth > 0].astype(float) - 127).max() < 2


def test_the_camera_sees_walls_where_the_floor_ends(tmp_path):
    scene = two_rooms_scene(tmp_path)
    ahead = scene.view(np.array([1.0, 1.0]), 0.0, size=33).depth[16, 16]
    assert ahead == pytest.approx(1.0 + 0.1, abs=1e-3)  # the radius beyond the edge, at z = -0.1
    through = scene.view(np.array([1.0, 1.0]), -np.pi / 2, size=33)
    assert through.depth[16, 16] == pytest.approx(4.1, abs=1e-3)  # the door is open
    assert (through.depth > 0).all()  # closed all around


def test_walls_look_different_from_each_other(tmp_path):
    scene = two_rooms_scene(tmp_path)
    place = np.array([1.0, 1.0])
    views = [scene.view(place, k * np.pi / 2, size=16).colour.astype(float) for k in range(4)]
    for k in range(4):
        for other in range(k):
            assert np.abs(views[k] - views[other]).mean() > 20


def test_a_file_that_is_no_glb_is_refused(tmp_path):
    path = tmp_path / "odd.glb"
    path.write_bytes(b"version https://git-lfs.github.com/spec/v1\nsize 5\n")
    with pytest.raises(CogmapError, match="odd.glb is no GLB"):
        read_glb(path)


def test_a_navmesh_that_is_not_habitats_is_not_called_so(tmp_path):
    scene = two_rooms_scene(tmp_path)
    (tmp_path / "rooms.navmesh").rename(tmp_path / KNOWN["apartment-1"].navmesh)
    with pytest.raises(CogmapError, match="sha256"):
        known_scene("apartment-1", tmp_path)
    assert scene.label == "two rooms, made up"


@HABITAT
def test_the_van_gogh_room_looks_as_habitat_drew_it():
    colour, depth = (
        np.load(SCENES / f"van-gogh-room-reference-{what}.npy") for what in ("color", "depth")
    )
    surface = read_glb(SCENES / "van-gogh-room.glb").turned("z")
    eye = PLACE + 0.25 * np.array([-np.sin(TURN), 0, -np.cos(TURN)]) + [0, 1.5, 0]
    view = RayCamera(surface, height=480, width=640).view(eye, TURN)
    assert np.abs(view.depth - depth).mean() < 1e-3
    assert np.abs(view.colour.astype(float) - colour[..., :3]).mean() < 4


@HABITAT
def test_made_up_looks_are_labelled_so_and_authors_are_named():
    assert (
        known_scene("apartment-1", SCENES).label == "Apartment 1 floor plan, synthetic appearance"
    )
    assert "ruslans3d" in known_scene("van-gogh", SCENES).label
