"""What a building looks like: textured triangles, of a GLB file or made up (envs/walls.py).

Coordinates are Habitat's: x, y (up), z in metres. So are those of glTF; but Habitat takes a GLB to
have its z up, and its scenes do: what such a file calls (X, Y, Z) is (X, Z, -Y) here.

Shape letters: T triangles, M textures.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from cogmap.errors import CogmapError

GLB, JSON_CHUNK, TRIANGLES = b"glTF", 0x4E4F534A, 4
NUMBERS = {5121: "u1", 5123: "<u2", 5125: "<u4", 5126: "<f4"}
LENGTHS = {"SCALAR": 1, "VEC2": 2, "VEC3": 3, "VEC4": 4}
SLACK = 0.25  # m that a floor may reach beyond the box around what is to be above it
Up = Literal["y", "z"]


@dataclass(frozen=True, eq=False)
class Surface:
    """Triangles with a texture each, seen from both sides and unlit."""

    corners: np.ndarray  # (T, 3, 3)
    places: np.ndarray  # (T, 3, 2) in a texture: 0 to 1 across and down, repeated beyond
    texture: np.ndarray  # (T,) which of them
    textures: list[np.ndarray]  # M of (h, w, 3) uint8

    def turned(self, up: Up) -> Surface:
        """The same where what is called z here is up."""
        x, y, z = np.moveaxis(self.corners, -1, 0)
        return self if up == "y" else replace(self, corners=np.stack([x, z, -y], axis=-1))

    def holds(self, low: np.ndarray, high: np.ndarray) -> bool:
        """Whether the box around it holds another, but for SLACK. (3,), (3,)"""
        every = self.corners.reshape(-1, 3)
        inside = (every.min(axis=0) <= low + SLACK) & (high - SLACK <= every.max(axis=0))
        return bool(inside.all())


def read_glb(path: Path) -> Surface:
    """Meshes of a binary glTF file where its nodes place them, with its pictures; its y is up."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise CogmapError(f"cannot read {path}: {error.strerror}.") from None
    try:
        return _surface(data)
    except (ValueError, KeyError, IndexError, TypeError, OSError) as error:
        raise CogmapError(f"{path} is no GLB that can be read: {_reason(error)}.") from None


def _surface(data: bytes) -> Surface:
    length, kind = np.frombuffer(data, "<u4", 2, 12)
    if data[:4] != GLB or kind != JSON_CHUNK:
        raise ValueError("it does not begin as one")
    told = json.loads(data[20 : 20 + length])
    binary = data[20 + length + 8 :]
    if needed := set(told.get("extensionsRequired", [])):
        raise ValueError(f"it needs {', '.join(sorted(needed))}")
    textures = [_texture(told, binary, material) for material in told.get("materials", [])]
    plain = len(textures)
    textures.append(np.full((1, 1, 3), 128, np.uint8))  # of what has no material
    corners, places, texture = [], [], []
    for number, placed in _placed(told):
        for part in told["meshes"][number]["primitives"]:
            if part.get("mode", TRIANGLES) != TRIANGLES:
                raise ValueError("a mesh is not of triangles")
            points = _column(told, binary, part["attributes"]["POSITION"])
            points = points @ placed[:3, :3].T + placed[:3, 3]
            rows = np.arange(len(points)).reshape(-1, 1)
            if "indices" in part:
                rows = _column(told, binary, part["indices"]).astype(np.int64)
            rows = rows.reshape(-1, 3)
            corners.append(points[rows])
            on_texture = np.zeros((len(points), 2))
            if "TEXCOORD_0" in part["attributes"]:
                on_texture = _column(told, binary, part["attributes"]["TEXCOORD_0"])
            places.append(on_texture[rows])
            which = np.full(len(rows), part.get("material", plain))
            base = _base(told["materials"][part["material"]]) if "material" in part else {}
            if "COLOR_0" in part["attributes"] and "baseColorTexture" not in base:
                colours = _column(told, binary, part["attributes"]["COLOR_0"])[rows, :3].mean(1)
                colours = np.round(255 * colours * _factor(base))
                known, which = np.unique(colours, axis=0, return_inverse=True)
                which = which.ravel() + len(textures)  # a texture of one pixel for each colour
                textures += list(known.astype(np.uint8)[:, None, None])
            texture.append(which)
    if not corners:
        raise ValueError("it holds no mesh")
    every, across = np.concatenate(corners), np.concatenate(places)
    return Surface(every, across, np.concatenate(texture), textures)


def _placed(told: dict[str, Any]) -> Iterator[tuple[int, np.ndarray]]:
    """Every mesh of the scene, and its place by its node's transform and those above. (4, 4)"""
    nodes = told["nodes"]
    below = {child for node in nodes for child in node.get("children", [])}
    roots = [number for number in range(len(nodes)) if number not in below]
    if "scenes" in told:
        roots = told["scenes"][told.get("scene", 0)].get("nodes", [])
    waiting = [(root, np.eye(4)) for root in roots]
    for _ in nodes:  # each has one parent at most
        if not waiting:
            return
        number, above = waiting.pop()
        placed = above @ _transform(nodes[number])
        waiting += [(child, placed) for child in nodes[number].get("children", [])]
        if "mesh" in nodes[number]:
            yield nodes[number]["mesh"], placed
    if waiting:
        raise ValueError("its nodes go round in a circle")


def _transform(node: dict[str, Any]) -> np.ndarray:
    """(4, 4)"""
    if "matrix" in node:
        return np.array(node["matrix"], dtype=float).reshape(4, 4).T  # by columns
    x, y, z, w = node.get("rotation", (0, 0, 0, 1))
    turn = np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
        ]
    )
    result = np.eye(4)
    result[:3, :3] = turn * np.array(node.get("scale", (1, 1, 1)))
    result[:3, 3] = node.get("translation", (0, 0, 0))
    return result


def _reason(error: Exception) -> str:
    """A missing key's error is the key alone."""
    return f"it has no {error}" if isinstance(error, KeyError) else str(error)


def _column(told: dict[str, Any], binary: bytes, number: int) -> np.ndarray:
    """One accessor, whole numbers that stand for shares as shares. -> (rows, numbers) float"""
    accessor = told["accessors"][number]
    view = told["bufferViews"][accessor["bufferView"]]
    kind, width = np.dtype(NUMBERS[accessor["componentType"]]), LENGTHS[accessor["type"]]
    values: np.ndarray = np.ndarray(
        (accessor["count"], width),
        kind,
        binary,
        view.get("byteOffset", 0) + accessor.get("byteOffset", 0),
        (view.get("byteStride", kind.itemsize * width), kind.itemsize),
    )
    most = np.iinfo(kind).max if accessor.get("normalized") and kind.kind == "u" else 1
    return values.astype(np.float64) / most


def _base(material: dict[str, Any]) -> dict[str, Any]:
    return material.get("pbrMetallicRoughness", {})


def _factor(base: dict[str, Any]) -> np.ndarray:
    """(3,) of 1"""
    return np.array(base.get("baseColorFactor", [1.0] * 4)[:3])


def _texture(told: dict[str, Any], binary: bytes, material: dict[str, Any]) -> np.ndarray:
    """The base colour of a material: its picture, or one pixel. -> (h, w, 3) uint8"""
    base = _base(material)
    factor = _factor(base)
    if "baseColorTexture" not in base:
        return np.round(255 * factor).astype(np.uint8).reshape(1, 1, 3)
    try:
        from PIL import Image
    except ImportError:
        raise CogmapError("textures need Pillow; pip install 'cogmap[scenes]'.") from None
    if base["baseColorTexture"].get("texCoord", 0):
        raise ValueError("a texture goes by a second set of coordinates")
    image = told["images"][told["textures"][base["baseColorTexture"]["index"]]["source"]]
    if "bufferView" not in image:
        raise ValueError(f"its picture {image.get('uri', '')[:40]} is not within it")
    view = told["bufferViews"][image["bufferView"]]
    start = view.get("byteOffset", 0)
    with Image.open(io.BytesIO(binary[start : start + view["byteLength"]])) as picture:
        pixels = np.asarray(picture.convert("RGB"))
    return np.round(pixels * factor).astype(np.uint8)
