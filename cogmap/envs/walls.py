"""A made-up appearance for a real floor plan: walls drawn up from its boundary, each of its own.

A navigation mesh is kept off the walls by the agent's radius, so walls stand that far outside its
boundary. Every wall has its own colours and pattern, drawn from its number, so that places can be
told apart by sight as they can in a furnished home; floor and ceiling are everywhere alike. What
is seen so is this package's invention and nothing of the building's (`Scene.label` says so).

Shape letters: B walls.
"""

from __future__ import annotations

import colorsys

import numpy as np

from cogmap.envs.floor import Floor
from cogmap.envs.surface import Surface

CEILING = 2.5  # m above the floor
PIXELS = 64  # of a wall's texture, from floor to ceiling and over as many metres across
MITRE = 2.0  # the most that a corner moves out, in radii
BEYOND = 1.0  # m that floor and ceiling reach past the boundary
PLANK = 0.125  # of a metre of the floor's texture
LOOKS_SEED = 15  # of the drawn patterns


def with_walls(floor: Floor) -> Surface:
    """Walls around a floor, and what is below and above it."""
    bottom = float(floor.triangles[..., 1].min())
    low, high = floor.bounds
    return drawn_up(_moved_out(floor), low - BEYOND, high + BEYOND, bottom=bottom)


def drawn_up(ends: np.ndarray, low: np.ndarray, high: np.ndarray, *, bottom: float) -> Surface:
    """Walls by their ends on the plan, a floor and a ceiling from `low` to `high`. (B, 2, 2)"""
    corners, places = [], []
    for a, b in ends:
        wide = np.linalg.norm(b - a) / CEILING
        at = [(a, bottom, 0.0, 1.0), (b, bottom, wide, 1.0), (b, bottom + CEILING, wide, 0.0)]
        at += [(a, bottom + CEILING, 0.0, 0.0)]
        corners.append([(x, y, z) for (x, z), y, _, _ in at])
        places.append([(u, v) for _, _, u, v in at])
    for y in (bottom, bottom + CEILING):
        square = [(low[0], low[1]), (high[0], low[1]), (high[0], high[1]), (low[0], high[1])]
        corners.append([(x, y, z) for x, z in square])
        places.append(square)  # a metre is once the texture
    rng = np.random.default_rng(LOOKS_SEED)
    textures = [_wall(rng) for _ in ends] + [_planks(rng), np.full((1, 1, 3), 235, np.uint8)]
    split = np.array([[0, 1, 2], [0, 2, 3]])
    return Surface(
        np.array(corners)[:, split].reshape(-1, 3, 3),
        np.array(places)[:, split].reshape(-1, 3, 2),
        np.repeat(np.arange(len(textures)), 2),
        textures,
    )


def _moved_out(floor: Floor) -> np.ndarray:
    """The boundary's edges, the radius further out, still joined at their ends. -> (B, 2, 2)"""
    edges = floor.edges[..., ::2]
    along = edges[:, 1] - edges[:, 0]
    out = np.stack([-along[:, 1], along[:, 0]], axis=-1)
    out /= np.linalg.norm(out, axis=-1, keepdims=True)
    within = floor.inside(edges.mean(axis=1) + 1e-3 * out)
    out[within] *= -1
    corners, which = np.unique(edges.reshape(-1, 2).round(4), axis=0, return_inverse=True)
    total, count = np.zeros_like(corners), np.bincount(which.ravel())
    np.add.at(total, which.ravel(), np.repeat(out, 2, axis=0))
    mean = total / count[:, None]
    # Where both walls are to be a radius out, the corner goes by their mean over its square.
    square = np.maximum((mean**2).sum(-1, keepdims=True), 1 / MITRE**2)
    return edges + floor.radius * (mean / square)[which.ravel()].reshape(edges.shape)


def _wall(rng: np.random.Generator) -> np.ndarray:
    """Two colours in stripes, bands, squares or spots, and a few pictures on it. -> (h, w, 3)"""
    hue, other = rng.uniform(), rng.uniform()
    light = _rgb(hue, rng.uniform(0.2, 0.7), rng.uniform(0.6, 1.0))
    dark = _rgb(other, rng.uniform(0.2, 0.9), rng.uniform(0.2, 0.7))
    row, column = np.mgrid[:PIXELS, :PIXELS]
    size = int(rng.choice([4, 8, 16]))
    pattern = [
        column // size % 2 == 0,
        row // size % 2 == 0,
        (row // size + column // size) % 2 == 0,
        (row % (2 * size) - size) ** 2 + (column % (2 * size) - size) ** 2 < (0.6 * size) ** 2,
    ][rng.integers(4)]
    wall = np.where(pattern[..., None], dark, light)
    for _ in range(rng.integers(1, 4)):
        top, left = rng.integers(8, 32), rng.integers(0, PIXELS - 16)
        high, wide = rng.integers(10, 24, size=2)
        wall[top : top + high, left : left + wide] = _rgb(rng.uniform(), 0.9, rng.uniform(0.3, 1))
    return wall.astype(np.uint8)


def _planks(rng: np.random.Generator) -> np.ndarray:
    """A metre of floor boards. -> (h, w, 3)"""
    boards = rng.uniform(0.85, 1.0, size=round(1 / PLANK))
    across = np.repeat(boards, PIXELS // len(boards))
    across[:: PIXELS // len(boards)] *= 0.6  # the joints
    return np.broadcast_to(
        across[None, :, None] * np.array([150.0, 110.0, 70.0]), (PIXELS, PIXELS, 3)
    ).astype(np.uint8)


def _rgb(hue: float, saturation: float, value: float) -> np.ndarray:
    """(3,) in 0..255"""
    return 255 * np.array(colorsys.hsv_to_rgb(hue, saturation, value))
