"""Pictures of a world as PNG files, small enough to travel inside a message."""

from __future__ import annotations

import base64
import struct
import zlib
from collections.abc import Sequence

import numpy as np

SIDE = 250  # pixels of a frame's longer side, about


def png(picture: np.ndarray) -> bytes:
    """A picture as a PNG file. (H, W, 3) uint8"""
    height, width, _ = picture.shape

    def chunk(kind: bytes, data: bytes) -> bytes:
        check = struct.pack(">I", zlib.crc32(kind + data))
        return struct.pack(">I", len(data)) + kind + data + check

    rows = b"".join(b"\0" + row.tobytes() for row in picture)
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    parts = (b"IHDR", header), (b"IDAT", zlib.compress(rows)), (b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunk(*part) for part in parts)


def shrunk(picture: np.ndarray, side: int = SIDE) -> np.ndarray:
    """The mean of whole blocks, so that the longer side is about `side`. -> (h, w, 3) uint8"""
    block = max(1, round(max(picture.shape[:2]) / side))
    height, width = (size // block for size in picture.shape[:2])
    picture = coloured(picture)[: height * block, : width * block]
    total = np.zeros((height, width, 3), dtype=np.uint32)
    for row in range(block):
        for column in range(block):
            total += picture[row::block, column::block]
    return np.asarray((total + block**2 // 2) // block**2, dtype=np.uint8)


def tiled(pictures: Sequence[np.ndarray], side: int, *, across: int) -> np.ndarray:
    """Pictures that are as high as wide, in rows of some. -> (h, w, 3) uint8"""
    small = [shrunk(picture, side) for picture in pictures]
    rows = [np.concatenate(small[k : k + across], axis=1) for k in range(0, len(small), across)]
    return np.concatenate(rows)


def coloured(picture: np.ndarray) -> np.ndarray:
    """Red, green and blue of a picture; one in shades of grey has the last of its channels in each.

    (H, W, C) -> (H, W, 3) uint8
    """
    shown = picture[..., :3] if picture.shape[2] >= 3 else np.repeat(picture[..., -1:], 3, axis=2)
    return np.asarray(shown, dtype=np.uint8)


def as_url(picture: np.ndarray, side: int = SIDE) -> str:
    """A small PNG inside an address, as an <img> takes it. (H, W, C)"""
    return "data:image/png;base64," + base64.b64encode(png(shrunk(picture, side))).decode()
