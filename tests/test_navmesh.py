"""Habitat's navigation meshes: read as Detour writes them, their largest island."""

import os
from pathlib import Path

import numpy as np
import pytest
from navmeshes import ROOMS, TABLE, navmesh_bytes, two_rooms

from cogmap.envs.navmesh import read_navmesh
from cogmap.errors import CogmapError

SCENES = Path(os.environ.get("COGMAP_SCENES", "scenes"))
# Habitat counts 840 lattice points in Apartment 1; which one is ours alone is not known.
HABITAT = [("van-gogh-room", 7.3, 115), ("apartment_1", 50.8, 841)]


def test_the_largest_island_is_kept_and_table_tops_are_left_out(tmp_path):
    floor = two_rooms(tmp_path)
    assert floor.area == pytest.approx(4 + 1 + 4)
    assert floor.radius == pytest.approx(0.1)
    x0, z0, x1, z1 = TABLE
    assert not floor.navigable(np.array([[(x0 + x1) / 2, (z0 + z1) / 2]]))[0]


def test_edges_between_polygons_are_no_boundary(tmp_path):
    floor = two_rooms(tmp_path)
    lengths = np.linalg.norm(np.diff(floor.edges[..., ::2], axis=1)[:, 0], axis=-1)
    assert lengths.sum() == pytest.approx(2 * (8 - 1) + 2)  # rooms less the door, its two sides


@pytest.mark.parametrize(
    ("spoil", "told"),
    [
        (lambda data: b"nothing" + data, "no navmesh that can be read"),
        (lambda data: data[:8] + b"\2" + data[9:], "2 tiles"),
        (lambda data: data[:200], "no navmesh that can be read"),
        (lambda data: data[:48] + b"XXXX" + data[52:], "Detour's version 7"),
    ],
)
def test_a_file_of_another_kind_is_refused_with_its_name(tmp_path, spoil, told):
    path = tmp_path / "odd.navmesh"
    path.write_bytes(spoil(navmesh_bytes(ROOMS)))
    with pytest.raises(CogmapError, match=told) as raised:
        read_navmesh(path)
    assert "odd.navmesh" in str(raised.value)


def test_a_missing_file_is_told(tmp_path):
    with pytest.raises(CogmapError, match="cannot read .*nowhere"):
        read_navmesh(tmp_path / "nowhere.navmesh")


@pytest.mark.parametrize(("name", "area", "points"), HABITAT)
def test_habitats_own_files_have_the_areas_and_lattices_that_habitat_finds(name, area, points):
    path = SCENES / f"{name}.navmesh"
    if not path.exists():
        pytest.skip("set COGMAP_SCENES to a folder with Habitat's test scenes")
    floor = read_navmesh(path)
    assert floor.area == pytest.approx(area, abs=0.05)
    assert len(floor.lattice(0.25)) == points
