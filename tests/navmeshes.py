"""Small floors for the tests, and .navmesh files of them as Detour writes such."""

from pathlib import Path

import numpy as np

from cogmap.envs.floor import Floor
from cogmap.envs.navmesh import DETAIL, LINK_BYTES, POLYGON, SET, TILE, read_navmesh
from cogmap.envs.scene import NavmeshScene
from cogmap.envs.walls import with_walls

# Two rooms of 2 m x 2 m with a door of 1 m between them, as rectangles (x0, z0, x1, z1), and apart
# from them the top of a table. Rectangles that touch share whole edges.
ROOMS = [
    (0.0, 0.0, 2.0, 0.5),
    (0.0, 0.5, 2.0, 1.5),
    (0.0, 1.5, 2.0, 2.0),
    (2.0, 0.5, 3.0, 1.5),
    (3.0, 0.0, 5.0, 0.5),
    (3.0, 0.5, 5.0, 1.5),
    (3.0, 1.5, 5.0, 2.0),
]
TABLE = (6.0, 0.0, 7.0, 1.0)


def navmesh_bytes(rectangles: list[tuple[float, ...]], *, radius: float = 0.1) -> bytes:
    """One tile; every rectangle is a polygon of four corners, of height 0.2 m."""
    points: list[tuple[float, float]] = []
    polygons = np.zeros(len(rectangles), POLYGON)
    details = np.zeros(len(rectangles), DETAIL)
    for k, (x0, z0, x1, z1) in enumerate(rectangles):
        corners = [(x0, z0), (x0, z1), (x1, z1), (x1, z0)]
        points += [corner for corner in corners if corner not in points]
        polygons[k]["corners"][:4] = [points.index(corner) for corner in corners]
        polygons[k]["count"] = 4
        details[k]["triangle"], details[k]["triangles"] = 2 * k, 2
    edges = {}
    for k, polygon in enumerate(polygons):
        ring = polygon["corners"][:4].tolist()
        edges |= {(ring[n], ring[(n + 1) % 4]): (k, n) for n in range(4)}
    for (a, b), (k, n) in edges.items():
        if (b, a) in edges:
            polygons[k]["beyond"][n] = edges[b, a][0] + 1
    vertices = np.array([(x, 0.2, z) for x, z in points], "<f4")
    triangles = np.tile(np.array([[0, 1, 2, 0], [0, 2, 3, 0]], "u1"), (len(rectangles), 1))
    links = 3  # whatever they hold is skipped
    counts = [len(polygons), len(vertices), links, len(details), 0, len(triangles), 0, 0, 0]
    header = np.array([TILE, 7, 0, 0, 0, 0, *counts], "<i4").tobytes()
    header += np.array([1.5, radius, 0.2, 0, 0, 0, 9, 9, 9, 1], "<f4").tobytes()
    body = vertices.tobytes() + polygons.tobytes() + bytes(links * LINK_BYTES) + details.tobytes()
    tile = header + body + triangles.tobytes()
    front = np.array([SET, 1, 1], "<i4").tobytes() + bytes(28)
    return front + np.array([128, len(tile)], "<i4").tobytes() + tile


def two_rooms(folder: Path) -> Floor:
    path = folder / "rooms.navmesh"
    path.write_bytes(navmesh_bytes([TABLE, *ROOMS]))
    return read_navmesh(path)


def two_rooms_scene(folder: Path) -> NavmeshScene:
    floor = two_rooms(folder)
    return NavmeshScene("two-rooms", floor, with_walls(floor), "two rooms, made up")
