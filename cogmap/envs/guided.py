"""OGBench's navigate data, made here: an oracle led from goal to goal, with noise in its actions.

As OGBench's generate_locomaze.py (MIT licence) records them for the point agent: towards the centre
of the next cell on the shortest way, plus normal noise of 0.5, clipped; once a goal is reached,
another follows. No policy is learned for it and nothing is downloaded.
"""

from __future__ import annotations

from collections import deque

import numpy as np

from cogmap.data.trajectories import Trajectories
from cogmap.envs.maze import CELL, GOAL_RADIUS, Maze
from cogmap.envs.physics import Physics
from cogmap.errors import CogmapError, check_seed
from cogmap.progress import Progress

NOISE = 0.5  # of each action's numbers
STEPS = {"giant": 2000}  # of an episode, as published; elsewhere 1,000
NEIGHBOURS = ((-1, 0), (0, -1), (1, 0), (0, 1))  # the first of equally good ones is taken


def collect_navigate(
    maze: Maze,
    physics: Physics,
    *,
    rows: int,
    seed: int,
    progress: Progress = iter,
) -> Trajectories:
    """About as many rows as asked for, in whole episodes that run side by side."""
    length = STEPS.get(maze.name, 1000) + 1  # rows
    episodes = max(1, round(rows / length))
    rng = np.random.default_rng(check_seed(seed))
    cells, onward = ways(maze)
    corners = np.array([k for k, cell in enumerate(cells) if is_corner(maze, cell)])
    if not len(corners):
        raise CogmapError(f"maze {maze.name} has hallways alone; goals lie elsewhere.")
    centres = CELL * cells[:, ::-1] - CELL  # (C, 2) as x and y
    number = np.full(maze.walls.shape, -1)
    number[tuple(cells.T)] = np.arange(len(cells))

    def near(which: np.ndarray) -> np.ndarray:
        """Places around some cells' centres."""
        return centres[which] + rng.uniform(-CELL / 4, CELL / 4, size=(len(which), 2))

    here = near(rng.integers(len(cells), size=episodes))
    goal = near(corners[rng.integers(len(corners), size=episodes)])
    seen = np.empty((episodes, length, 2), dtype=np.float32)
    actions = np.empty((episodes, length, 2), dtype=np.float32)
    everyone = np.ones(episodes, dtype=bool)
    physics.reset(here)
    for t in progress(range(length)):
        at, to = (number[maze.cells_of(place)] for place in (here, goal))
        way = centres[onward[to, at]] - here
        way /= np.linalg.norm(way, axis=1, keepdims=True) + 1e-6
        seen[:, t] = here
        actions[:, t] = np.clip(way + rng.normal(0.0, NOISE, size=way.shape), -1.0, 1.0)
        here = physics.hold(actions[:, t], 1, active=everyone)[:, -1]
        done = np.flatnonzero(np.linalg.norm(here - goal, axis=1) <= GOAL_RADIUS)
        goal[done] = near(corners[rng.integers(len(corners), size=len(done))])
    return Trajectories(
        episode_starts=np.arange(0, episodes * length, length),
        observations=seen.reshape(-1, 2),
        actions=actions.reshape(-1, 2),
        source=f"navigate in {maze.name}, {episodes} episodes of {length} rows, seed {seed}",
    )


def ways(maze: Maze) -> tuple[np.ndarray, np.ndarray]:
    """Free cells (C, 2) as row and column, and which comes next from each towards each.

    The second, (C, C), is indexed by goal, then by place; a cell without a way stays where it is.
    """
    cells = np.argwhere(~maze.walls)
    number = {(int(i), int(j)): k for k, (i, j) in enumerate(cells)}
    beside = [
        [number[i + di, j + dj] for di, dj in NEIGHBOURS if (i + di, j + dj) in number]
        for i, j in number
    ]
    onward = np.tile(np.arange(len(cells)), (len(cells), 1))
    for goal in range(len(cells)):
        far = {goal: 0}
        waiting = deque([goal])
        while waiting:
            cell = waiting.popleft()
            for other in beside[cell]:
                if other not in far:
                    far[other] = far[cell] + 1
                    waiting.append(other)
        for cell in far:
            nearest = min(beside[cell], key=far.__getitem__, default=cell)
            if cell != goal:
                onward[goal, cell] = nearest
    return cells, onward


def is_corner(maze: Maze, cell: np.ndarray) -> bool:
    """Whether a free cell is no piece of a hallway: goals lie where ways turn, fork or end."""
    i, j = (int(n) + 1 for n in cell)
    up, left, down, right = (bool(maze.padded[i + di, j + dj]) for di, dj in NEIGHBOURS)
    return not (
        (not up and not down and left and right) or (up and down and not left and not right)
    )
