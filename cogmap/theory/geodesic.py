"""Shortest paths: by moves on a graph, and by length around the walls of a maze (Eq. 11's l).

In the plane the shortest path of a ball bends only around the corners of walls. Each corner is
given five points on a quarter circle; what they see of each other, walked in straight lines, is
the visibility graph. Its paths keep the clearance that the simulator's soft contacts allow.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

import numpy as np

CONTACT_RADIUS = 0.66  # how near to a wall a pushing ball rests in the simulator, measured
CORNER_POINTS = 5
CLEARANCE = CONTACT_RADIUS * np.cos(np.pi / 4 / (CORNER_POINTS - 1)) - 1e-6  # of their chords
POINTS_AT_ONCE = 32
PAIRS_AT_ONCE = 1 << 22  # numbers in the largest intermediate array


def moves_to(successors: np.ndarray, goal: int) -> np.ndarray:
    """Fewest moves from every state to the goal, -1 where there is no way. (S, M) -> (S,)

    Moves are taken to be reversible, as the lattice walk's are.
    """
    distance = np.full(len(successors), -1)
    distance[goal] = 0
    frontier = deque([goal])
    while frontier:
        state = frontier.popleft()
        for neighbour in successors[state]:
            if distance[neighbour] < 0:
                distance[neighbour] = distance[state] + 1
                frontier.append(int(neighbour))
    return distance


def all_pairs(lengths: np.ndarray) -> np.ndarray:
    """Floyd and Warshall: shortest path lengths from edge lengths, inf for none. (V, V)"""
    shortest = lengths.copy()
    for middle in range(len(shortest)):
        np.minimum(shortest, shortest[:, middle, None] + shortest[None, middle], out=shortest)
    return shortest


def segment_box_distance(
    start: np.ndarray, end: np.ndarray, low: np.ndarray, high: np.ndarray
) -> np.ndarray:
    """Distance between each segment and each axis-aligned box. (P, 2) x 2, (K, 2) x 2 -> (P, K)"""
    a, b = start[:, None], end[:, None]  # (P, 1, 2)
    along = b - a
    # Do they meet? The segment's parameter must lie in the slab of both axes (and in [0, 1]).
    with np.errstate(divide="ignore", invalid="ignore"):
        one, two = (low - a) / along, (high - a) / along  # (P, K, 2)
    inside = (a >= low) & (a <= high)
    enter = np.where(along == 0, np.where(inside, -np.inf, np.inf), np.minimum(one, two))
    leave = np.where(along == 0, np.where(inside, np.inf, -np.inf), np.maximum(one, two))
    meet = np.maximum(enter.max(-1), 0.0) <= np.minimum(leave.min(-1), 1.0)
    # If not, the nearest pair includes an end of the segment or a corner of the box.
    nearest = np.minimum(
        np.linalg.norm(a - np.clip(a, low, high), axis=-1),
        np.linalg.norm(b - np.clip(b, low, high), axis=-1),
    )
    square = np.maximum((along**2).sum(-1), 1e-12)  # (P, 1)
    for corner in (
        low,
        high,
        np.stack([low[:, 0], high[:, 1]], -1),
        np.stack([high[:, 0], low[:, 1]], -1),
    ):
        share = np.clip(((corner - a) * along).sum(-1) / square, 0.0, 1.0)
        gap = np.linalg.norm(corner - a - share[..., None] * along, axis=-1)
        nearest = np.minimum(nearest, gap)
    return np.where(meet, 0.0, nearest)


class VisibilityGraph:
    """Shortest paths of a ball between any two points of a maze."""

    def __init__(
        self,
        walls: np.ndarray,
        *,
        cell: float,
        clearance: Callable[[np.ndarray], np.ndarray],
    ) -> None:
        """walls (H, W) bool with a closed edge; `clearance` gives a point's distance to a wall."""
        self._clearance = clearance
        self._lengths: dict[bytes, np.ndarray] = {}
        exposed = np.zeros_like(walls)
        wide = np.pad(walls, 1, constant_values=True)
        height, width = walls.shape
        for di in (0, 1, 2):
            for dj in (0, 1, 2):
                exposed |= ~wide[di : di + height, dj : dj + width]
        blocks = np.argwhere(walls & exposed)[:, ::-1] * cell - cell  # centres as (x, y)
        self._low, self._high = blocks - cell / 2, blocks + cell / 2
        corners = _convex_corners(wide, cell)
        free = clearance(corners) >= CLEARANCE
        self.points = corners[free]  # (V, 2)
        one, two = np.triu_indices(len(self.points))  # sight is mutual
        gap = np.linalg.norm(self.points[one] - self.points[two], axis=-1)
        edges = np.full((len(self.points), len(self.points)), np.inf)
        edges[one, two] = np.where(self.visible(self.points[one], self.points[two]), gap, np.inf)
        self.between = all_pairs(np.minimum(edges, edges.T))  # (V, V)

    def visible(self, start: np.ndarray, end: np.ndarray) -> np.ndarray:
        """Whether the ball can roll straight from each start to its end. (P, 2), (P, 2) -> (P,)

        A ball that is squeezed closer to a wall than CLEARANCE may leave as it came.
        """
        radius = np.minimum(CLEARANCE, self._clearance(start) - 1e-6)
        radius = np.minimum(radius, self._clearance(end) - 1e-6)
        seen = np.empty(len(start), dtype=bool)
        step = max(1, PAIRS_AT_ONCE // max(1, len(self._low)))  # a map may have no walls
        for begin in range(0, len(start), step):
            some = slice(begin, begin + step)
            ends = np.concatenate([start[some], end[some]])
            near = self._low <= ends.max(axis=0) + CLEARANCE  # other walls cannot matter
            near &= self._high >= ends.min(axis=0) - CLEARANCE
            walls = near.all(axis=1)
            gap = segment_box_distance(start[some], end[some], self._low[walls], self._high[walls])
            seen[some] = (gap >= radius[some, None]).all(axis=1)
        return seen

    def next_stop(
        self, start: np.ndarray, goal: np.ndarray, *, beyond: float = 0.0
    ) -> tuple[np.ndarray, float]:
        """Where the shortest path first bends (or the goal), and the path's length, inf for none.

        Points within `beyond` of the start are passed over. (2,), (2,) -> (2,), ()
        """
        ends = np.concatenate([self.points, goal[None]])
        straight = np.linalg.norm(ends - start, axis=1)
        lengths = straight + np.append(self._to_goal(goal), 0.0)
        lengths[:-1][straight[:-1] <= beyond] = np.inf
        order = np.argsort(lengths)
        for begin in range(0, len(order), POINTS_AT_ONCE):  # the first in sight is the shortest
            some = order[begin : begin + POINTS_AT_ONCE]
            seen = self.visible(np.broadcast_to(start, (len(some), 2)), ends[some])
            if seen.any():
                best = some[seen.argmax()]
                return ends[best], float(lengths[best])
        return goal, np.inf

    def distance(self, start: np.ndarray, goal: np.ndarray) -> float:
        """Length of the shortest path, inf for none."""
        return self.next_stop(np.asarray(start, float), np.asarray(goal, float))[1]

    def _to_goal(self, goal: np.ndarray) -> np.ndarray:
        """Path length from every corner point to a goal, computed once a goal. (V,)"""
        key = goal.tobytes()
        if key not in self._lengths:
            straight = np.linalg.norm(self.points - goal, axis=1)
            seen = self.visible(self.points, np.broadcast_to(goal, self.points.shape))
            last = np.where(seen, straight, np.inf)
            self._lengths[key] = (self.between + last).min(axis=1) if len(last) else last
        return self._lengths[key]


def _convex_corners(wide: np.ndarray, cell: float) -> np.ndarray:
    """Points around every outward corner of the walls. -> (V, 2); `wide` has a ring of wall."""
    angles = np.linspace(0.0, np.pi / 2, CORNER_POINTS)
    points = []
    for i in range(wide.shape[0] - 1):
        for j in range(wide.shape[1] - 1):
            square = wide[i : i + 2, j : j + 2]
            if square.sum() != 1:
                continue
            row, column = np.argwhere(square)[0]
            # The corner between the four cells; `wide` is shifted by one against the map.
            x, y = (j - 0.5) * cell - cell, (i - 0.5) * cell - cell
            away = np.array([1 - 2 * column, 1 - 2 * row])
            arc = np.stack([np.cos(angles), np.sin(angles)], axis=-1) * CONTACT_RADIUS
            points.append(np.array([x, y]) + away * arc)
    return np.concatenate(points) if points else np.empty((0, 2))
