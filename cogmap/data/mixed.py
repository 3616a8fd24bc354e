"""A picture with a few numbers beside it, as one array of bytes: the numbers are its last row.

So whatever holds pictures (datasets, tables, goals, run folders) holds these too. A number from 0
to 1 is two bytes, the high one first: a ten-metre room to the sixth of a millimetre.

Shape letters: N pictures of H x W pixels and C channels, k numbers.
"""

from __future__ import annotations

import numpy as np

MOST = 65535  # what two bytes hold


def mixed(pictures: np.ndarray, numbers: np.ndarray) -> np.ndarray:
    """(N, H, W, C) uint8, (N, k) in [0, 1] -> (N, H + 1, W, C) uint8"""
    count, _, width, channels = pictures.shape
    row = np.zeros((count, width * channels), np.uint8)
    whole = np.round(np.clip(numbers, 0.0, 1.0) * MOST).astype(np.int64)
    row[:, 0 : 2 * whole.shape[1] : 2], row[:, 1 : 2 * whole.shape[1] : 2] = np.divmod(whole, 256)
    return np.concatenate([pictures, row.reshape(count, 1, width, channels)], axis=1)


def unmixed(rows: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """(N, H + 1, W, C) -> (N, H, W, C), (N, k) in [0, 1]"""
    last = rows[:, -1].reshape(len(rows), -1)[:, : 2 * count].astype(np.float64)
    return rows[:, :-1], (256 * last[:, ::2] + last[:, 1::2]) / MOST
