"""A camera that casts rays, without a screen or a GL library: what is seen of a surface.

Textures are kept in halves of halves (a pyramid): a ray that hits far away or at a slant covers
many of a texture's pixels, and reads them from the level on which they are about one.

Shape letters: N views, R rays of a view, T triangles.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from cogmap.envs.surface import Surface
from cogmap.errors import CogmapError

FIELD = 90.0  # degrees; Habitat's default
SLANT = 0.05  # cosine below which a surface is not read any coarser
VOID = 0  # of 255: what is seen where nothing is, and depth there, as in Habitat


@dataclass(frozen=True)
class View:
    """What one camera saw."""

    colour: np.ndarray  # (H, W, 3) uint8
    depth: np.ndarray  # (H, W) m along the line of sight of the middle; 0: nothing there


class RayCamera:
    """Looks at a surface from any place, level, in any direction."""

    def __init__(self, surface: Surface, *, height: int, width: int, field: float = FIELD) -> None:
        """Pixels, and the horizontal angle in degrees."""
        try:
            from embreex.mesh_construction import TriangleMesh
            from embreex.rtcore_scene import EmbreeScene
        except ImportError:
            raise CogmapError("ray casting needs embreex; pip install 'cogmap[scenes]'.") from None
        self._surface, self._shape = surface, (height, width)
        self._scene: Any = EmbreeScene()
        TriangleMesh(self._scene, np.ascontiguousarray(surface.corners, dtype=np.float32))
        self._pixels, self._levels = _pyramids(surface.textures)
        half = np.tan(np.radians(field) / 2)
        right = ((np.arange(width) + 0.5) / width * 2 - 1) * half
        up = (1 - (np.arange(height) + 0.5) / height * 2) * half * height / width
        grid = np.stack(np.broadcast_arrays(right, up[:, None], -1.0), axis=-1)
        self._ahead = grid.reshape(
            -1, 3
        )  # (R, 3), one metre ahead each, so that their lengths are depths
        self._step = 2 * half / width  # a pixel's side, one metre away
        one, two = (surface.corners[:, k] - surface.corners[:, 0] for k in (1, 2))
        normal = np.cross(one, two)
        size = np.linalg.norm(normal, axis=-1)
        self._normal = normal / np.maximum(size, 1e-12)[:, None]
        across = [surface.places[:, k] - surface.places[:, 0] for k in (1, 2)]
        area = np.abs(across[0][:, 0] * across[1][:, 1] - across[0][:, 1] * across[1][:, 0])
        pixels = np.array([each.shape[0] * each.shape[1] for each in surface.textures])
        # Pixels of the texture on a metre of the triangle.
        self._density = np.sqrt(area * pixels[surface.texture] / np.maximum(size, 1e-12))

    def view(self, eye: np.ndarray, yaw: float) -> View:
        """From an eye (x, y, z); a yaw of 0 looks along -z and turns to the left."""
        cos, sin = np.cos(yaw), np.sin(yaw)
        turn = np.array([[cos, 0, sin], [0, 1, 0], [-sin, 0, cos]])
        ways = np.ascontiguousarray(self._ahead @ turn.T, dtype=np.float32)
        origins = np.broadcast_to(eye, ways.shape).astype(np.float32)
        hit = self._scene.run(origins, ways, output=1)
        triangle = hit["primID"].astype(np.int64)
        met = np.flatnonzero(triangle >= 0)
        depth = np.zeros(len(ways))
        depth[met] = hit["tfar"][met]
        colour = np.full((len(ways), 3), float(VOID))
        colour[met] = self._colour(
            triangle[met], hit["u"][met], hit["v"][met], depth[met], ways[met]
        )
        pixels = np.round(colour).astype(np.uint8).reshape(*self._shape, 3)
        return View(pixels, depth.reshape(self._shape))

    def _colour(
        self, triangle: np.ndarray, u: np.ndarray, v: np.ndarray, depth: np.ndarray, way: np.ndarray
    ) -> np.ndarray:
        """Of points on triangles, between the four nearest pixels. (n,) each, (n, 3) -> (n, 3)"""
        shares = np.stack([1 - u - v, u, v], axis=-1)
        place = (shares[..., None] * self._surface.places[triangle]).sum(1)  # (n, 2)
        length = np.linalg.norm(way, axis=-1)
        slant = np.abs((way * self._normal[triangle]).sum(-1)) / length
        covered = self._density[triangle] * depth * self._step / np.sqrt(np.maximum(slant, SLANT))
        level = np.log2(np.maximum(covered, 1.0))
        lower = np.floor(level).astype(np.int64)
        levels = self._levels[self._surface.texture[triangle]]  # (n, L, 3)
        share = (level - lower)[:, None]
        coarse = self._between(levels, lower + 1, place)
        return (1 - share) * self._between(levels, lower, place) + share * coarse

    def _between(self, levels: np.ndarray, level: np.ndarray, place: np.ndarray) -> np.ndarray:
        """On one level of each texture, between its four nearest pixels. -> (n, 3)"""
        last = levels.shape[1] - 1
        begin, high, wide = levels[np.arange(len(level)), np.minimum(level, last)].T
        across, down = place[:, 0] * wide - 0.5, place[:, 1] * high - 0.5
        left, top = np.floor(across).astype(np.int64), np.floor(down).astype(np.int64)
        colour = np.zeros((len(level), 3))
        for right in (0, 1):
            for below in (0, 1):
                weight = np.abs(1 - right - (across - left)) * np.abs(1 - below - (down - top))
                row = begin + (top + below) % high * wide + (left + right) % wide
                colour += weight[:, None] * self._pixels[row]
        return colour


class Cameras:
    """Square views of one surface in any size; its camera is made when a size is first asked."""

    def __init__(self, surface: Surface) -> None:
        self._surface = surface
        self._known: dict[int, RayCamera] = {}

    def view(self, eye: np.ndarray, yaw: float, *, size: int) -> View:
        if size not in self._known:
            self._known[size] = RayCamera(self._surface, height=size, width=size)
        return self._known[size].view(eye, yaw)


def _pyramids(textures: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Every level of every texture in one column, and where each begins. (P, 3), (M, L, 3)"""
    columns, tables, begin = [], [], 0
    for texture in textures:
        level: np.ndarray = texture.astype(np.float32)
        table = []
        while True:
            high, wide = level.shape[:2]
            table.append((begin, high, wide))
            columns.append(level.reshape(-1, 3))
            begin += high * wide
            if max(high, wide) == 1:
                break
            level = np.pad(level, ((0, high % 2), (0, wide % 2), (0, 0)), mode="edge")
            level = (level[::2] + level[1::2]) / 2
            level = (level[:, ::2] + level[:, 1::2]) / 2
        tables.append(table)
    longest = max(map(len, tables))
    tables = [table + table[-1:] * (longest - len(table)) for table in tables]
    return np.concatenate(columns), np.array(tables)
