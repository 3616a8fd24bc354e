"""Habitat's .navmesh files: where an agent can stand in a scanned building (App. D).

A file is a set of Detour tiles; Habitat writes one. A tile is a header and arrays of one type each:

    header    25 numbers     counts, the agent it was made for, bounds
    vertices  (V, 3) f4      x, y (up), z in metres
    polygons  (P,) 32 bytes  up to six vertices each; for each edge the polygon beyond it, 0: none
    links     (L,) 12 bytes  skipped
    details   (P,) 12 bytes  which of the next two are a polygon's
    more vertices (D, 3) f4  of the triangles that follow the floor's height
    triangles (T, 4) u1      three corners: a polygon's own vertices first, then its further ones

The rest (a search tree and connections off the mesh) is not needed. Polygons that share an edge are
one island; the largest is the floor: others are tops of beds and tables.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from cogmap.envs.floor import Floor
from cogmap.errors import CogmapError

SET, SET_VERSION = int.from_bytes(b"MSET", "big"), 1
TILE, TILE_VERSION = int.from_bytes(b"DNAV", "big"), 7
SET_HEADER, TILE_PREFIX, TILE_HEADER = 40, 8, 100  # bytes
POLYGON = np.dtype(
    [
        ("link", "<u4"),
        ("corners", "<u2", 6),
        ("beyond", "<u2", 6),
        ("flags", "<u2"),
        ("count", "u1"),
        ("area", "u1"),
    ]
)
DETAIL = np.dtype(
    [("vertex", "<u4"), ("triangle", "<u4"), ("vertices", "u1"), ("triangles", "u1"), ("pad", "V2")]
)
LINK_BYTES = 12


def read_navmesh(path: Path) -> Floor:
    """The largest island of a file."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise CogmapError(f"cannot read {path}: {error.strerror}.") from None
    try:
        return _floor(data)
    except (ValueError, IndexError) as error:
        raise CogmapError(f"{path} is no navmesh that can be read: {error}.") from None


def _floor(data: bytes) -> Floor:
    magic, version, tiles = np.frombuffer(data, "<i4", 3)
    if (magic, version) != (SET, SET_VERSION):
        raise ValueError("it is not a set of Detour tiles of version 1, as Habitat's are")
    if tiles != 1:
        raise ValueError(f"it has {tiles} tiles; Habitat writes 1")
    start = SET_HEADER + TILE_PREFIX
    numbers = np.frombuffer(data, "<i4", 25, start)
    if (numbers[0], numbers[1]) != (TILE, TILE_VERSION):
        raise ValueError("its tile is not of Detour's version 7")
    _, radius, _ = np.frombuffer(data, "<f4", 3, start + 60)  # the agent's height, radius, climb
    start += TILE_HEADER

    def column(kind: str | np.dtype, shape: tuple[int, ...]) -> np.ndarray:
        nonlocal start
        values = np.frombuffer(data, kind, int(np.prod(shape)), start).reshape(shape)
        start += values.nbytes
        return values

    polygons, vertices, links, details, more, triangles = (int(n) for n in numbers[6:12])
    points = column("<f4", (vertices, 3)).astype(np.float64)
    polygon = column(POLYGON, (polygons,))
    start += links * LINK_BYTES
    detail = column(DETAIL, (details,))
    further = column("<f4", (more, 3)).astype(np.float64)
    corners = column("u1", (triangles, 4))

    every = []  # each polygon's triangles (t, 3, 3)
    for one, part in zip(polygon, detail):
        own = points[one["corners"][: one["count"]]]
        known = np.concatenate(
            [own, further[part["vertex"] : part["vertex"] + int(part["vertices"])]]
        )
        rows = slice(part["triangle"], part["triangle"] + int(part["triangles"]))
        every.append(known[corners[rows, :3]])
    island = _largest_island(polygon, np.array([_area(each) for each in every]))
    edges = [
        (points[one["corners"][k]], points[one["corners"][(k + 1) % one["count"]]])
        for one in polygon[island]
        for k in range(one["count"])
        if one["beyond"][k] == 0
    ]
    return Floor(np.concatenate([every[k] for k in island]), np.array(edges), float(radius))


def _area(triangles: np.ndarray) -> float:
    """Seen from above. (t, 3, 3) ->"""
    one, two = (triangles[:, k, ::2] - triangles[:, 0, ::2] for k in (1, 2))
    return float(np.abs(one[:, 0] * two[:, 1] - one[:, 1] * two[:, 0]).sum() / 2)


def _largest_island(polygon: np.ndarray, areas: np.ndarray) -> np.ndarray:
    """Which polygons hang together, where they cover most. (P,), (P,) -> (p,)"""
    island = np.full(len(polygon), -1)
    for first in range(len(polygon)):
        if island[first] >= 0:
            continue
        frontier = [first]
        while frontier:
            k = frontier.pop()
            if island[k] < 0:
                island[k] = first
                beyond = polygon["beyond"][k][: polygon["count"][k]]
                frontier += [int(other) - 1 for other in beyond if other]
    return np.flatnonzero(island == np.bincount(island, weights=areas).argmax())
