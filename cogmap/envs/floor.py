"""A floor to walk on, in triangles: who stands on it, straight ways, shortest ways.

Plan coordinates are (x, z), in metres; y is up. A place counts as on the floor within a centimetre
of it, as Habitat has it: lattice points often lie on an edge. What is straight or shortest is then
measured from the nearest place on the floor itself.

Shape letters: N places, T triangles, B edges of the boundary, V corners of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from cogmap.theory.geodesic import all_pairs

TOLERANCE = 0.01  # m; Habitat's is_navigable
ROUNDING = 1e-6  # m; beside what a float32 of a few metres can tell apart
LOOKS = np.linspace(0.0, 1.0, 11)[1:-1]  # along a straight way, where it is looked for the floor
AT_ONCE = 1 << 20  # numbers in the largest intermediate array


@dataclass(frozen=True, eq=False)
class Floor:
    """One connected floor."""

    triangles: np.ndarray  # (T, 3, 3) corners (x, y, z)
    edges: np.ndarray  # (B, 2, 3) of its boundary
    radius: float = 0.0  # m by which it was kept off the walls

    @cached_property
    def bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """(x, z) of two opposite corners. (2,), (2,)"""
        plan = self.triangles[..., ::2].reshape(-1, 2)
        return plan.min(axis=0), plan.max(axis=0)

    @property
    def area(self) -> float:
        one, two = (self._plan[:, k] - self._plan[:, 0] for k in (1, 2))
        return float(np.abs(_cross(one, two)).sum() / 2)

    @cached_property
    def _plan(self) -> np.ndarray:
        return self.triangles[..., ::2]  # (T, 3, 2)

    def _shares(self, plan: np.ndarray) -> np.ndarray:
        """Barycentric coordinates of places in every triangle. (N, 2) -> (N, T, 3)"""
        a, b, c = (self._plan[:, k] for k in range(3))
        whole = _cross(b - a, c - a)
        whole = np.where(np.abs(whole) < 1e-12, 1e-12, whole)
        p = plan[:, None]
        second = _cross(p - a, c - a) / whole
        third = _cross(b - a, p - a) / whole
        return np.stack([1 - second - third, second, third], axis=-1)

    def inside(self, plan: np.ndarray) -> np.ndarray:
        """Whether places lie on the floor itself. (N, 2) -> (N,)"""
        return np.concatenate(
            [
                (self._shares(part) >= -ROUNDING).all(-1).any(-1)
                for part in _parts(plan, 3 * len(self.triangles))
            ]
        )

    def nearest(self, plan: np.ndarray) -> np.ndarray:
        """Each place, or the nearest one of the floor where it lies outside. (N, 2) -> (N, 2)"""
        result = plan.astype(np.float64)
        outside = np.flatnonzero(~self.inside(plan))
        a, along = self.edges[:, 0, ::2], np.diff(self.edges[..., ::2], axis=1)[:, 0]
        for k in outside:
            share = ((plan[k] - a) * along).sum(-1) / (along**2).sum(-1)
            foot = a + np.clip(share, 0.0, 1.0)[:, None] * along
            result[k] = foot[((foot - plan[k]) ** 2).sum(-1).argmin()]
        return result

    def navigable(self, plan: np.ndarray) -> np.ndarray:
        """Whether one can stand there. (N, 2) -> (N,) bool"""
        return np.linalg.norm(self.nearest(plan) - plan, axis=-1) <= TOLERANCE

    def height(self, plan: np.ndarray) -> np.ndarray:
        """Of the floor at places. (N, 2) -> (N,) y"""
        heights = []
        for part in _parts(self.nearest(plan), 3 * len(self.triangles)):
            shares = self._shares(part)
            best = shares.min(-1).argmax(-1)  # (n,) the triangle that it lies in
            shares = shares[np.arange(len(part)), best]
            heights.append((shares * self.triangles[best, :, 1]).sum(-1))
        return np.concatenate(heights)

    def lattice(self, spacing: float) -> np.ndarray:
        """Multiples of `spacing` where one can stand. -> (N, 2)"""
        grid = self.grid(spacing)
        return grid[self.navigable(grid)]

    def grid(self, spacing: float) -> np.ndarray:
        """Multiples of `spacing` in the box around it. -> (N, 2)"""
        low, high = self.bounds
        first, last = np.floor(low / spacing), np.ceil(high / spacing)
        xs, zs = (np.arange(first[k], last[k] + 1) * spacing for k in (0, 1))
        return np.stack(np.meshgrid(xs, zs, indexing="ij"), axis=-1).reshape(-1, 2)

    def clear(self, start: np.ndarray, end: np.ndarray) -> np.ndarray:
        """Whether straight ways stay on the floor. (N, 2), (N, 2) -> (N,) bool"""
        a, b = self.nearest(start), self.nearest(end)
        c, d = self.edges[:, 0, ::2], self.edges[:, 1, ::2]
        free = []
        for way in _parts(np.concatenate([a, b], axis=-1), 2 * len(self.edges)):
            p, q = way[:, None, :2], way[:, None, 2:]
            ends = _cross(q - p, c - p), _cross(q - p, d - p)  # (n, B), positive on the left
            sides = _cross(d - c, p - c), _cross(d - c, q - c)
            crossed = (ends[0] * ends[1] < -(ROUNDING**2)) & (sides[0] * sides[1] < -(ROUNDING**2))
            free.append(~crossed.any(-1))
        result = np.concatenate(free)
        # A way that meets the boundary in its corners alone crosses no edge.
        left = np.flatnonzero(result)
        between = a[left, None] + LOOKS[:, None] * (b - a)[left, None]  # (n, looks, 2)
        result[left] = self.navigable(between.reshape(-1, 2)).reshape(-1, len(LOOKS)).all(-1)
        return result

    @cached_property
    def _corners(self) -> tuple[np.ndarray, np.ndarray]:
        """Corners of the boundary, and shortest ways between them. (V, 2), (V, V)"""
        points = np.unique(self.edges[..., ::2].reshape(-1, 2), axis=0)
        one, two = np.triu_indices(len(points), k=1)
        seen = self.clear(points[one], points[two])
        lengths = np.full((len(points), len(points)), np.inf)
        np.fill_diagonal(lengths, 0.0)
        gap = np.linalg.norm(points[one] - points[two], axis=-1)
        lengths[one, two] = lengths[two, one] = np.where(seen, gap, np.inf)
        return points, all_pairs(lengths)

    def _to_corners(self, plan: np.ndarray) -> np.ndarray:
        """Straight ways from places to what they see of the corners, inf. (N, 2) -> (N, V)"""
        points = self._corners[0]
        pairs = np.repeat(plan, len(points), 0), np.tile(points, (len(plan), 1))
        gap = np.linalg.norm(pairs[0] - pairs[1], axis=-1)
        return np.where(self.clear(*pairs), gap, np.inf).reshape(len(plan), len(points))

    def geodesic(self, start: np.ndarray, end: np.ndarray) -> np.ndarray:
        """Exact shortest ways on the floor, in metres, from all to all. (N, 2), (M, 2) -> (N, M)

        They bend at corners of the boundary alone: a visibility graph.
        """
        a, b = self.nearest(start), self.nearest(end)
        there = (self._to_corners(a)[:, :, None] + self._corners[1]).min(axis=1)  # (N, V)
        back = self._to_corners(b)  # (M, V)
        around = np.stack([(there + row).min(axis=1) for row in back], axis=1)
        pairs = np.repeat(a, len(b), 0), np.tile(b, (len(a), 1))
        straight = np.linalg.norm(pairs[0] - pairs[1], axis=-1)
        straight = np.where(self.clear(*pairs), straight, np.inf).reshape(len(a), len(b))
        return np.minimum(straight, around)


def _cross(one: np.ndarray, two: np.ndarray) -> np.ndarray:
    """(..., 2), (..., 2) -> (...)"""
    return np.asarray(one[..., 0] * two[..., 1] - one[..., 1] * two[..., 0])


def _parts(rows: np.ndarray, each: int) -> list[np.ndarray]:
    """Rows in parts that stay small where each becomes so many numbers."""
    return np.array_split(rows, max(1, -(-len(rows) * each // AT_ONCE)))
