"""OGBench's overhead camera: 64 x 64 pictures of a maze and the agent in it (Table 1B).

The pictures are those of `gymnasium.make("pointmaze-large-v0", ob_type="pixels", width=64,
height=64)`, pixel by pixel (tests/test_camera.py), and of any other maze in the same way. The agent
covers a handful of pixels; everything else is the same in every picture. A picture takes 40 to 100
ms without a GPU, so exploring takes them once, on a fine grid (`grid_points`), and looks them up.
"""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from cogmap.envs.drawing import Drawing
from cogmap.envs.maze import Maze
from cogmap.envs.physics import load_mujoco, pointmaze_xml

SIZE = 64  # pixels on a side
SHADES = 192  # OGBench's floor: red rises along one axis and green along the other, up to this
GRID = 0.25  # spacing of the positions that pictures are taken at
NEAREST_WALL = 0.65  # clearance of those positions: a ball pressed to a wall rests 0.657 from it


def pixels_xml(maze: Maze) -> str:
    """The simulator's model as OGBench changes it for pictures."""
    tree = ElementTree.fromstring(pointmaze_xml(maze))

    def find(path: str) -> ElementTree.Element:
        found = tree.find(path)
        assert found is not None, path
        return found

    find(".//material[@name='wall']").set("rgba", ".6 .6 .6 1")
    find(".//light[@name='global']").attrib.pop("ambient")
    find(".//light[@name='torso_light']/..").remove(find(".//light[@name='torso_light']"))
    find(".//material[@name='grid']").set("texuniform", "false")
    return ElementTree.tostring(tree, encoding="unicode")


class Camera:
    """Takes pictures of one maze."""

    def __init__(self, maze: Maze) -> None:
        xml = pixels_xml(maze)
        self._mujoco = mujoco = load_mujoco()
        self._model = mujoco.MjModel.from_xml_string(xml)
        self._data = mujoco.MjData(self._model)
        self._colour_floor()
        height, width = maze.walls.shape
        view = mujoco.MjvCamera()
        view.lookat[:2] = 2 * (width - 3), 2 * (height - 3)
        view.distance = 5 * (width - 2)
        view.elevation = -90
        self._drawing = Drawing(self._model, view, size=SIZE)

    def _colour_floor(self) -> None:
        """Red rises along one side of the floor, green along the other; blue is even."""
        floor = self._model.tex("grid")
        height, width = int(floor.height[0]), int(floor.width[0])
        data = self._model.tex_data[floor.adr[0] : floor.adr[0] + 3 * height * width]
        shades = data.reshape(height, width, 3)
        shades[..., 0] = (np.arange(height) / height * SHADES).astype(np.uint8)[:, None]
        shades[..., 1] = (np.arange(width) / width * SHADES).astype(np.uint8)[None]
        shades[..., 2] = 128

    def picture(self, xy: np.ndarray) -> np.ndarray:
        """What the camera sees with the agent there. (2,) -> (64, 64, 3) uint8"""

        def posed() -> Any:
            self._data.qpos[:] = xy
            self._mujoco.mj_forward(self._model, self._data)
            return self._data

        return self._drawing.picture(posed)

    def pictures(
        self, points: np.ndarray, *, progress: Callable[[Iterable], Iterable] = iter
    ) -> np.ndarray:
        """One picture a point. (N, 2) -> (N, 64, 64, 3) uint8"""
        return np.stack([self.picture(point) for point in progress(points)])


def check_camera(maze: Maze) -> None:
    """Raises, within a second, where pictures of the maze cannot be taken on this machine.

    For whoever is about to spend minutes before the first picture.
    """
    Camera(maze).picture(maze.lattice.points[0])


def grid_points(maze: Maze, spacing: float = GRID) -> np.ndarray:
    """Positions on a fine grid where the agent can stand. (P, 2)"""
    low, high = maze.bounds
    xs, ys = (np.arange(low[k], high[k] + spacing / 2, spacing) for k in (0, 1))
    grid = np.stack(np.meshgrid(xs, ys, indexing="xy"), axis=-1).reshape(-1, 2)
    return grid[maze.clearance(grid) >= NEAREST_WALL]
