"""Wandering in a point maze without a goal: the lattice walk and random actions (Sec. 4.1)."""

from __future__ import annotations

import numpy as np

from cogmap.choices import Unexplored
from cogmap.data.trajectories import Trajectories
from cogmap.envs.maze import MOVES, Maze
from cogmap.envs.physics import Physics
from cogmap.errors import CogmapError, check_seed
from cogmap.explore.walks import coverage_mask, graph_walk, masked, scattered_mask, split_steps
from cogmap.progress import Progress

SIMULATOR_STEPS_PER_MOVE = 5  # Sec. 4.1: five simulator steps per lattice transition


def explorable(
    maze: Maze, coverage: float, unexplored: Unexplored, rng: np.random.Generator
) -> np.ndarray:
    """Which lattice points a walk may enter. -> (S,) bool"""
    lattice = maze.lattice
    if unexplored == "far":
        return coverage_mask(lattice.successors, coverage, rng)
    if unexplored == "scattered":
        rows, columns = maze.cells_of(lattice.points)
        cells = rows * maze.walls.shape[1] + columns
        return scattered_mask(lattice.successors, cells, coverage, rng)
    raise CogmapError(f"unexplored={unexplored!r}; give 'far' or 'scattered'.")


def collect_walk(
    maze: Maze,
    *,
    steps: int,
    seed: int,
    episodes: int = 1,
    coverage: float = 1.0,
    unexplored: Unexplored = "far",
) -> Trajectories:
    """The paper's lattice walk: nine moves, uniform; a blocked move stays where it is.

    Each transition is five simulator steps, which on this lattice end on the next point exactly
    (tests/test_physics.py), so the walk needs no simulator. A maze of several parts is explored
    in the part where each episode happens to start.
    """
    rng = np.random.default_rng(check_seed(seed))
    points, successors = maze.lattice.points, maze.lattice.successors
    mask = explorable(maze, coverage, unexplored, rng)
    successors = masked(successors, mask)
    starts, index, actions = [0], [], []
    for length in split_steps(steps, episodes):
        start = int(rng.choice(np.flatnonzero(mask)))
        moves = rng.integers(len(MOVES), size=length)
        states = graph_walk(successors, start, moves)
        moved = np.diff(points[states], axis=0)  # what was done, blocked moves as stay
        index.append(states)
        actions.append(np.append(moved, [[0.0, 0.0]], axis=0).astype(np.int8))
        starts.append(starts[-1] + len(states))
    share = f"coverage {coverage}" + (", scattered" if unexplored == "scattered" else "")
    return Trajectories(
        episode_starts=np.array(starts[:-1]),
        table=points.astype(np.float32),
        index=np.concatenate(index),
        actions=np.concatenate(actions),
        hold=SIMULATOR_STEPS_PER_MOVE,
        controls=False,
        source=f"lattice walk in {maze.name}, {steps} steps, {share}, seed {seed}",
    )


def collect_actions(
    maze: Maze,
    physics: Physics,
    *,
    steps: int,
    seed: int,
    episodes: int,
    hold: int,
    coverage: float = 1.0,
    unexplored: Unexplored = "far",
    progress: Progress = iter,
) -> Trajectories:
    """Uniform random actions in the simulator, each held for `hold` of its steps.

    Episodes start at random lattice points and run side by side. With coverage below one they
    start inside the mask; an action may lead out of it.
    """
    if hold < 1:
        raise CogmapError(f"hold={hold}; an action lasts at least one simulator step.")
    rng = np.random.default_rng(check_seed(seed))
    mask = explorable(maze, coverage, unexplored, rng)
    lengths = np.array(split_steps(steps, episodes))
    starts = maze.lattice.points[rng.choice(np.flatnonzero(mask), size=episodes)]
    longest = int(lengths.max())
    actions = rng.uniform(-1.0, 1.0, size=(episodes, longest + 1, 2)).astype(np.float32)
    seen = np.empty((episodes, longest + 1, 2), dtype=np.float32)
    seen[:, 0] = starts
    physics.reset(starts)
    for t in progress(range(longest)):
        seen[:, t + 1] = physics.hold(actions[:, t], hold, active=t < lengths)[:, -1]
    rows = np.arange(longest + 1) <= lengths[:, None]  # (E, T + 1): the rows that exist
    return Trajectories(
        episode_starts=np.concatenate([[0], np.cumsum(lengths + 1)[:-1]]),
        observations=seen[rows],
        actions=actions[rows],
        hold=hold,
        source=f"uniform actions in {maze.name}, {steps} steps, seed {seed}",
    )
