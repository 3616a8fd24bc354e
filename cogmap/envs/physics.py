"""What one action does to the point: OGBench's MuJoCo model, or a vectorised stand-in for it.

Both advance many episodes at once and clip actions to [-1, 1], which OGBench itself does not.
"""

from __future__ import annotations

import importlib.util
import os
import xml.etree.ElementTree as ElementTree
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType
from typing import Protocol

import numpy as np

from cogmap.envs.maze import AGENT_RADIUS, CELL, Maze
from cogmap.errors import CogmapError

STEP_LENGTH = 0.2  # OGBench's point.py: qpos += 0.2 * action
FRAME_SKIP = 5  # MuJoCo steps in one simulator step
PENETRATION_KEPT = 0.177  # share of a wall contact's depth left after one simulator step, measured


class Physics(Protocol):
    """Many episodes in one maze, advanced together."""

    def reset(self, starts: np.ndarray) -> None:
        """Begins one episode at each start. (E, 2)"""

    def hold(self, actions: np.ndarray, steps: int, active: np.ndarray) -> np.ndarray:
        """Holds one action for some simulator steps where active. (E, 2), (E,) -> (E, steps, 2)"""


def pointmaze_xml(maze: Maze) -> str:
    """OGBench's point.xml with the walls of this maze, built as its MazeEnv builds them."""
    package = importlib.util.find_spec("ogbench")  # only its file is needed: no slow import
    if package is None or package.origin is None:
        raise CogmapError(
            "the simulator needs OGBench; pip install 'cogmap[ogbench]' (Python below 3.13), "
            "or give --physics kinematic."
        )
    tree = ElementTree.parse(Path(package.origin).parent / "locomaze/assets/point.xml")
    world = tree.find(".//worldbody")
    floor = tree.find(".//geom[@name='floor']")
    assert world is not None and floor is not None
    for i, j in maze.blocks:
        geom = {"name": f"block_{i}_{j}", "type": "box", "contype": "1", "conaffinity": "1"}
        geom |= {"pos": f"{j * CELL - CELL} {i * CELL - CELL} {CELL / 4}", "material": "wall"}
        geom |= {"size": f"{CELL / 2} {CELL / 2} {CELL / 4}"}
        ElementTree.SubElement(world, "geom", geom)
    height, width = maze.walls.shape
    floor.set("pos", f"{2 * (width - 3)} {2 * (height - 3)} 0")
    floor.set("size", f"{2 * width} {2 * height} 0.2")
    return ElementTree.tostring(tree.getroot(), encoding="unicode")


def load_mujoco() -> ModuleType:
    """MuJoCo, imported when it is first needed; it loads the GL library that MUJOCO_GL names."""
    try:
        import mujoco
    except Exception as error:  # a GL library that is missing or unknown raises many kinds
        name = os.environ.get("MUJOCO_GL", "")
        raise CogmapError(
            f"MuJoCo cannot be loaded with MUJOCO_GL={name!r} ({error}); unset it, or install what "
            "it names (egl: apt-get install libegl1 libgl1-mesa-dri; osmesa: libosmesa6)."
        ) from None
    return mujoco


class MujocoPhysics:
    """The simulator itself. Every episode has its own MjData; they share one model."""

    def __init__(self, maze: Maze, *, threads: int | None = None) -> None:
        xml = pointmaze_xml(maze)
        self._mujoco = mujoco = load_mujoco()
        self._model = mujoco.MjModel.from_xml_string(xml)
        # OMP_NUM_THREADS is how a user, or a grid of processes, says how many cores are ours.
        self._threads = threads or int(os.environ.get("OMP_NUM_THREADS") or os.cpu_count() or 1)
        self._pool = ThreadPoolExecutor(self._threads)  # MuJoCo lets go of the GIL while it steps
        self._data: list = []

    def reset(self, starts: np.ndarray) -> None:
        self._data = [self._mujoco.MjData(self._model) for _ in starts]
        for data, start in zip(self._data, starts, strict=True):
            data.qpos[:] = start
            self._mujoco.mj_forward(self._model, data)  # as MujocoEnv.set_state does

    def hold(self, actions: np.ndarray, steps: int, active: np.ndarray) -> np.ndarray:
        moves = STEP_LENGTH * np.clip(np.asarray(actions, dtype=np.float64), -1.0, 1.0)
        path = np.empty((len(moves), steps, 2))

        def advance(episodes: np.ndarray) -> None:
            for e in episodes:
                data = self._data[e]
                if not active[e]:
                    path[e] = data.qpos
                    continue
                for k in range(steps):
                    data.qpos[:] += moves[e]
                    data.qvel[:] = 0.0
                    self._mujoco.mj_step(self._model, data, FRAME_SKIP)
                    path[e, k] = data.qpos

        shares = np.array_split(np.arange(len(moves)), min(self._threads, len(moves)))
        if len(shares) == 1:
            advance(shares[0])
        else:
            list(self._pool.map(advance, shares))
        return path


class KinematicPhysics:
    """The same motion without MuJoCo: move, then let walls push the ball out.

    For hosts without OGBench. Over random walks its mean error to MuJoCo is about 0.001 a step.
    """

    def __init__(self, maze: Maze) -> None:
        self._maze = maze
        self._xy = np.empty((0, 2))

    def reset(self, starts: np.ndarray) -> None:
        self._xy = np.array(starts, dtype=np.float64)

    def hold(self, actions: np.ndarray, steps: int, active: np.ndarray) -> np.ndarray:
        moves = STEP_LENGTH * np.clip(np.asarray(actions, dtype=np.float64), -1.0, 1.0)
        goes = np.asarray(active, dtype=bool)[:, None]
        path = np.empty((len(moves), steps, 2))
        for k in range(steps):
            self._xy = np.where(goes, self._pushed_out(self._xy + moves), self._xy)
            path[:, k] = self._xy
        return path

    def _pushed_out(self, xy: np.ndarray) -> np.ndarray:
        offsets, is_wall = self._maze.wall_offsets(xy)
        distance = np.linalg.norm(offsets, axis=-1)  # (N, 9)
        depth = np.where(is_wall & (distance > 0), AGENT_RADIUS - distance, 0.0).clip(min=0.0)
        normal = offsets / np.maximum(distance, 1e-9)[..., None]
        push = (1.0 - PENETRATION_KEPT) * depth[..., None] * normal  # (N, 9, 2)
        # Neighbouring blocks of one straight wall push the same way: the deepest counts, per side.
        return xy + push.max(axis=1).clip(min=0.0) + push.min(axis=1).clip(max=0.0)
