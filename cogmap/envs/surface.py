"""What a building looks like: textured triangles, of a GLB file or made up (envs/walls.py).

Coordinates are Habitat's: x, y (up), z in metres. A GLB is taken to have its z up, as Habitat takes
it: what it calls (X, Y, Z) is (X, Z, -Y) here.

Shape letters: T triangles, M textures.
"""

from __future__ import annotations

import io
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from cogmap.errors import CogmapError

GLB, JSON_CHUNK, TRIANGLES = b"glTF", 0x4E4F534A, 4
NUMBERS = {5121: "u1", 5123: "<u2", 5125: "<u4", 5126: "<f4"}
LENGTHS = {"SCALAR": 1, "VEC2": 2, "VEC3": 3, "VEC4": 4}


@dataclass(frozen=True, eq=False)
class Surface:
    """Triangles with a texture each, seen from both sides and unlit."""

    corners: np.ndarray  # (T, 3, 3)
    places: np.ndarray  # (T, 3, 2) in a texture: 0 to 1 across and down, repeated beyond
    texture: np.ndarray  # (T,) which of them
    textures: list[np.ndarray]  # M of (h, w, 3) uint8


def read_glb(path: Path) -> Surface:
    """Meshes of a binary glTF file, with the pictures in it."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise CogmapError(f"cannot read {path}: {error.strerror}.") from None
    try:
        return _surface(data)
    except (ValueError, KeyError, IndexError, OSError) as error:
        raise CogmapError(f"{path} is no GLB that can be read: {error}.") from None


def _surface(data: bytes) -> Surface:
    length, kind = np.frombuffer(data, "<u4", 2, 12)
    if data[:4] != GLB or kind != JSON_CHUNK:
        raise ValueError("it does not begin as one")
    told = json.loads(data[20 : 20 + length])
    binary = data[20 + length + 8 :]
    textures = [_texture(told, binary, material) for material in told.get("materials", [])]
    textures.append(np.full((1, 1, 3), 128, np.uint8))  # of what has no material
    corners, places, texture = [], [], []
    for node in told["nodes"]:
        if "mesh" not in node:
            continue
        placed = {"matrix", "translation", "rotation", "scale", "children"} & set(node)
        if placed:
            raise ValueError(f"a mesh is placed by {', '.join(sorted(placed))}; bake that in")
        for part in told["meshes"][node["mesh"]]["primitives"]:
            if part.get("mode", TRIANGLES) != TRIANGLES:
                raise ValueError("a mesh is not of triangles")
            points = _column(told, binary, part["attributes"]["POSITION"])
            rows = np.arange(len(points)).reshape(-1, 1)
            if "indices" in part:
                rows = _column(told, binary, part["indices"]).astype(np.int64)
            rows = rows.reshape(-1, 3)
            corners.append(points[rows].astype(np.float64))
            known = "TEXCOORD_0" in part["attributes"]
            across = (
                _column(told, binary, part["attributes"]["TEXCOORD_0"])
                if known
                else np.zeros((len(points), 2))
            )
            places.append(across[rows].astype(np.float64))
            which = part.get("material", len(textures) - 1)
            texture.append(np.full(len(rows), which))
    every = np.concatenate(corners)
    every = np.stack([every[..., 0], every[..., 2], -every[..., 1]], axis=-1)
    return Surface(every, np.concatenate(places), np.concatenate(texture), textures)


def _column(told: dict[str, Any], binary: bytes, number: int) -> np.ndarray:
    """One accessor. -> (rows, numbers)"""
    accessor = told["accessors"][number]
    view = told["bufferViews"][accessor["bufferView"]]
    kind, width = np.dtype(NUMBERS[accessor["componentType"]]), LENGTHS[accessor["type"]]
    if view.get("byteStride", kind.itemsize * width) != kind.itemsize * width:
        raise ValueError("its columns are interleaved")
    start = view.get("byteOffset", 0) + accessor.get("byteOffset", 0)
    values = np.frombuffer(binary, kind, accessor["count"] * width, start)
    return values.reshape(-1, width)


def _texture(told: dict[str, Any], binary: bytes, material: dict[str, Any]) -> np.ndarray:
    """The base colour of a material: its picture, or one pixel. -> (h, w, 3) uint8"""
    base = material.get("pbrMetallicRoughness", {})
    factor = np.array(base.get("baseColorFactor", [1.0] * 4)[:3])
    if "baseColorTexture" not in base:
        return np.round(255 * factor).astype(np.uint8).reshape(1, 1, 3)
    try:
        from PIL import Image
    except ImportError:
        raise CogmapError("textures need Pillow; pip install 'cogmap[scenes]'.") from None
    image = told["images"][told["textures"][base["baseColorTexture"]["index"]]["source"]]
    view = told["bufferViews"][image["bufferView"]]
    start = view.get("byteOffset", 0)
    with Image.open(io.BytesIO(binary[start : start + view["byteLength"]])) as picture:
        pixels = np.asarray(picture.convert("RGB"))
    return np.round(pixels * factor).astype(np.uint8)
