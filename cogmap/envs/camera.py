"""OGBench's overhead camera: 64 x 64 pictures of a maze and the agent in it (Table 1B).

The pictures are those of `gymnasium.make("pointmaze-large-v0", ob_type="pixels", width=64,
height=64)`, pixel by pixel (tests/test_camera.py), and of any other maze in the same way. The agent
covers a handful of pixels; everything else is the same in every picture. A picture takes 40 to 100
ms without a GPU, so exploring takes them once, on a fine grid (`grid_points`), and looks them up.
"""

from __future__ import annotations

import importlib
import os
import weakref
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from cogmap.envs.maze import Maze
from cogmap.envs.physics import load_mujoco, pointmaze_xml
from cogmap.errors import CogmapError

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
    """Takes pictures of one maze, without a screen, for any number of threads.

    A GL context belongs to the thread in which it was made current. The camera therefore makes and
    uses its context in one thread of its own; who asks for a picture waits for that thread.

    MuJoCo's own Renderer draws with the library that was chosen when mujoco was first imported,
    which may have been for states alone; this one chooses for itself.
    """

    def __init__(self, maze: Maze) -> None:
        xml = pixels_xml(maze)
        self._mujoco = mujoco = load_mujoco()
        self._model = mujoco.MjModel.from_xml_string(xml)
        self._data = mujoco.MjData(self._model)
        self._colour_floor()
        height, width = maze.walls.shape
        self._view = mujoco.MjvCamera()
        self._view.lookat[:2] = 2 * (width - 3), 2 * (height - 3)
        self._view.distance = 5 * (width - 2)
        self._view.elevation = -90
        self._scene = mujoco.MjvScene(self._model, maxgeom=1000 + self._model.ngeom)
        self._options, self._frame = mujoco.MjvOption(), mujoco.MjrRect(0, 0, SIZE, SIZE)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="camera")
        context, self._drawing = self._thread.submit(self._begin_drawing).result()
        closing = weakref.finalize(self, _close, self._thread, self._drawing, context)
        closing.atexit = False  # at exit the thread has already ended

    def _begin_drawing(self) -> tuple[Any, Any]:
        """Makes the GL context and what MuJoCo draws with; runs in the camera's thread."""
        mujoco = self._mujoco
        backend = os.environ.get("MUJOCO_GL", "egl")
        try:
            library = importlib.import_module(f"mujoco.{backend}")
            context = library.GLContext(SIZE, SIZE)
            context.make_current()
            drawing = mujoco.MjrContext(self._model, mujoco.mjtFontScale.mjFONTSCALE_150)
        except Exception as error:  # the GL libraries raise many kinds
            reason = " ".join(str(error).split())  # as one line
            raise CogmapError(
                f"cannot take pictures with {backend} ({reason}); install a GL library (Debian: "
                "apt-get install libegl1 libgl1-mesa-dri), or libosmesa6 and set MUJOCO_GL=osmesa."
            ) from None
        mujoco.mjr_setBuffer(mujoco.mjtFramebuffer.mjFB_OFFSCREEN.value, drawing)
        return context, drawing

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
        return self._thread.submit(self._draw, xy).result()

    def _draw(self, xy: np.ndarray) -> np.ndarray:
        """Does the work of `picture`; runs in the camera's thread."""
        mujoco = self._mujoco
        self._data.qpos[:] = xy
        mujoco.mj_forward(self._model, self._data)
        everything = mujoco.mjtCatBit.mjCAT_ALL.value
        mujoco.mjv_updateScene(
            self._model, self._data, self._options, None, self._view, everything, self._scene
        )
        mujoco.mjr_render(self._frame, self._scene, self._drawing)
        picture = np.empty((SIZE, SIZE, 3), dtype=np.uint8)
        mujoco.mjr_readPixels(picture, None, self._frame, self._drawing)
        return picture[::-1].copy()  # GL's first row is the lowest, a picture's the highest

    def pictures(
        self, points: np.ndarray, *, progress: Callable[[Iterable], Iterable] = iter
    ) -> np.ndarray:
        """One picture a point. (N, 2) -> (N, 64, 64, 3) uint8"""
        return np.stack([self.picture(point) for point in progress(points)])


def _close(thread: ThreadPoolExecutor, drawing: Any, context: Any) -> None:
    """Frees the GL objects of a camera in the thread that owns them."""
    thread.submit(drawing.free)
    thread.submit(context.free)
    thread.shutdown(wait=False)


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
