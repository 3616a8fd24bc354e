"""Where episodes of a maze start and end: OGBench's tasks, fixed pairs, a file (Sec. 4.1)."""

from __future__ import annotations

import json
from importlib import resources
from pathlib import Path

import numpy as np

from cogmap.envs.maze import AGENT_RADIUS, CELL, Maze, is_ogbench
from cogmap.envs.maze_map import MazeMap
from cogmap.envs.world import Task, TaskSet, check_tasks_wanted
from cogmap.errors import CogmapError, check_seed
from cogmap.theory.geodesic import moves_to

START_NOISE = 1.0  # OGBench's add_noise: uniform within one unit on each axis
OFFICIAL_EPISODES, OFFICIAL_BUDGET = 20, 1000  # Sec. 4.1
RANDOM_PAIRS, RANDOM_BUDGET = 20, 5000
PAIRS_SEED = 2027  # of the fixed pairs; tuning used others (docs/differences.md)
SPARE_CLEARANCE = 0.75  # drawn points keep a little off the walls
START_SHIFT = 0.3  # how far the start of a repeated pair may move
MIN_MOVES = 20  # Sec. 4.1: geodesic separation of at least 20 lattice cells


def pairs_file(maze: Maze) -> dict | None:
    """The package's tasks for one of OGBench's mazes; None for any other maze."""
    if not is_ogbench(maze):
        return None
    text = resources.files("cogmap.envs").joinpath(f"pairs/{maze.name}.json").read_text()
    return json.loads(text)


def official_tasks(maze: Maze, *, episodes: int, seed: int) -> list[Task]:
    """OGBench's five tasks, each with its start and goal noise.

    Episode k draws what `np.random.seed(1000 * seed + k); env.reset(options={"task_id": i})`
    draws: OGBench takes its noise from the global generator, so reset(seed=...) is not enough.
    """
    known = pairs_file(maze)
    if known is None:
        raise CogmapError(
            f"maze {maze.name} has no official tasks; give --tasks random or a pairs file."
        )
    tasks = []
    for number, (start, goal) in enumerate(known["official_cells"], start=1):
        for k in range(episodes):
            noise = np.random.RandomState((1000 * seed + k) % 2**32)
            ends = []
            for i, j in (start, goal):
                dx, dy = noise.uniform(-START_NOISE, START_NOISE, size=2)
                ends.append((j * CELL - CELL + dx, i * CELL - CELL + dy))
            tasks.append(Task(f"task{number}", *ends))
    return tasks


def draw_pairs(maze: Maze, *, count: int, seed: int) -> list[Task]:
    """Random starts and goals at least MIN_MOVES lattice moves apart, anywhere the agent fits.

    In a maze too small for that (one and a half times as far from end to end), at least half as
    far apart as its farthest points.
    """
    rng = np.random.default_rng(seed)
    lattice = maze.lattice
    low, high = maze.bounds
    farthest = 0
    for state in range(len(lattice)):
        farthest = max(farthest, int(moves_to(lattice.successors, state).max()))
        if farthest >= 1.5 * MIN_MOVES:
            break  # far enough: a large maze need not be searched whole
    least = MIN_MOVES if farthest >= 1.5 * MIN_MOVES else farthest // 2
    pairs: list[Task] = []
    while len(pairs) < count:
        ends = np.round(rng.uniform(low, high, size=(2, 2)), 2)
        if (maze.clearance(ends) < SPARE_CLEARANCE).any():
            continue
        start, goal = lattice.nearest(ends)
        if moves_to(lattice.successors, int(goal))[start] >= max(1, least):
            (x, y), (gx, gy) = ends.tolist()
            pairs.append(Task(f"pair{len(pairs) + 1}", (x, y), (gx, gy)))
    return pairs


def random_tasks(maze: Maze) -> list[Task]:
    """The package's fixed pairs; for a maze of the user's, pairs drawn with the same fixed seed."""
    known = pairs_file(maze)
    if known is None:
        return draw_pairs(maze, count=RANDOM_PAIRS, seed=PAIRS_SEED)
    return [
        Task(f"pair{number}", tuple(pair["start"]), tuple(pair["goal"]))
        for number, pair in enumerate(known["random_pairs"], start=1)
    ]


def repeated(maze: Maze, pairs: list[Task], *, episodes: int, seed: int) -> list[Task]:
    """Each pair as it is, then `episodes` - 1 more times from starts up to START_SHIFT away."""
    rng = np.random.default_rng(seed)
    tasks = []
    for pair in pairs:
        tasks.append(pair)
        while len(tasks) % episodes:
            shifted = np.array(pair.start) + rng.uniform(-START_SHIFT, START_SHIFT, size=2)
            if maze.clearance(shifted[None])[0] >= AGENT_RADIUS:
                tasks.append(Task(pair.name, (float(shifted[0]), float(shifted[1])), pair.goal))
    return tasks


def read_pairs(path: Path) -> list[Task]:
    """A user's file: [{"start": [x, y], "goal": [x, y]}, ...]."""
    try:
        rows = json.loads(path.read_text())
    except OSError:
        raise CogmapError(f"pairs file {path} cannot be read; is the path right?") from None
    except ValueError as error:
        raise CogmapError(f"pairs file {path} is not JSON ({error}).") from None
    wanted = 'a list of {"start": [x, y], "goal": [x, y]}'
    if not isinstance(rows, list) or not rows:
        raise CogmapError(f"pairs file {path}: expected {wanted}.")
    tasks = []
    for number, row in enumerate(rows, start=1):
        if not isinstance(row, dict) or set(row) != {"start", "goal"}:
            has = ", ".join(sorted(row)) if isinstance(row, dict) else repr(row)
            raise CogmapError(f"pairs file {path}, pair {number} has {has}; expected {wanted}.")
        ends = []
        for key in ("start", "goal"):
            value = row[key]
            numbers = isinstance(value, list) and len(value) == 2
            if not numbers or not all(isinstance(v, int | float) for v in value):
                raise CogmapError(
                    f"pairs file {path}, pair {number}: {key} is {value!r}, not [x, y]."
                )
            ends.append((float(value[0]), float(value[1])))
        tasks.append(Task(f"pair{number}", *ends))
    return tasks


def check_tasks(plane: MazeMap, tasks: list[Task]) -> None:
    """Raises for the first task that cannot be run in this maze."""
    for task in tasks:
        try:
            plane.check_task(np.array(task.start), np.array(task.goal))
        except CogmapError as error:
            raise CogmapError(f"{task.name}: {error}") from None


def choose_tasks(
    plane: MazeMap,
    name: str | None,
    *,
    episodes: int | None = None,
    budget: int | None = None,
    seed: int = 0,
) -> TaskSet:
    """official, random, or a pairs file; by default official where OGBench has tasks.

    `episodes` counts episodes of each task. Official ones differ by OGBench's noise; a pair runs
    once as written, and again from starts nearby if more are asked for.
    """
    check_seed(seed)
    check_tasks_wanted(episodes=episodes, budget=budget)
    maze = plane.maze
    name = name or ("official" if pairs_file(maze) else "random")
    if name == "official":
        chosen = official_tasks(maze, episodes=episodes or OFFICIAL_EPISODES, seed=seed)
        budget = budget or OFFICIAL_BUDGET
    else:
        pairs = random_tasks(maze) if name == "random" else read_pairs(Path(name))
        check_tasks(plane, pairs)
        chosen = repeated(maze, pairs, episodes=episodes or 1, seed=seed)
        budget = budget or RANDOM_BUDGET
    check_tasks(plane, chosen)
    return TaskSet(Path(name).name, chosen, budget, seed)
