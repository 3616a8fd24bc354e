"""Pictures of a MuJoCo model, without a screen, for any number of threads."""

from __future__ import annotations

import copy
import importlib
import os
import weakref
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from cogmap.envs.physics import load_mujoco
from cogmap.errors import CogmapError


class Drawing:
    """Draws one model as one camera sees it.

    A GL context belongs to the thread in which it was made current. A drawing therefore makes and
    uses its context in one thread of its own; who asks for a picture waits for that thread.

    MuJoCo's own Renderer draws with the library that was chosen when mujoco was first imported,
    which may have been for states alone; this one chooses for itself.
    """

    def __init__(self, model: Any, view: Any, *, size: int) -> None:
        self._mujoco = mujoco = load_mujoco()
        self._model, self._view, self._size = model, view, size
        self._scene = mujoco.MjvScene(model, maxgeom=1000 + model.ngeom)
        self._options, self._frame = mujoco.MjvOption(), mujoco.MjrRect(0, 0, size, size)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="drawing")
        context, self._brush = self._thread.submit(self._begin).result()
        closing = weakref.finalize(self, _close, self._thread, self._brush, context)
        closing.atexit = False  # at exit the thread has already ended

    def _begin(self) -> tuple[Any, Any]:
        """Makes the GL context and what MuJoCo draws with; runs in the drawing's thread."""
        mujoco = self._mujoco
        backend = os.environ.get("MUJOCO_GL", "egl")
        whole = self._model.vis.global_
        whole.offwidth, whole.offheight = (
            max(n, self._size) for n in (whole.offwidth, whole.offheight)
        )
        try:
            library = importlib.import_module(f"mujoco.{backend}")
            context = library.GLContext(self._size, self._size)
            context.make_current()
            brush = mujoco.MjrContext(self._model, mujoco.mjtFontScale.mjFONTSCALE_150)
        except Exception as error:  # the GL libraries raise many kinds
            reason = " ".join(str(error).split())  # as one line
            raise CogmapError(
                f"cannot take pictures with {backend} ({reason}); install a GL library (Debian: "
                "apt-get install libegl1 libgl1-mesa-dri), or libosmesa6 and set MUJOCO_GL=osmesa."
            ) from None
        mujoco.mjr_setBuffer(mujoco.mjtFramebuffer.mjFB_OFFSCREEN.value, brush)
        return context, brush

    def picture(self, posed: Callable[[], Any]) -> np.ndarray:
        """What the camera sees of the MjData that `posed` returns. -> (size, size, 3) uint8"""
        return self._thread.submit(self._draw, posed).result()

    def _draw(self, posed: Callable[[], Any]) -> np.ndarray:
        """Does the work of `picture`; runs in the drawing's thread."""
        mujoco = self._mujoco
        everything = mujoco.mjtCatBit.mjCAT_ALL.value
        mujoco.mjv_updateScene(
            self._model, posed(), self._options, None, self._view, everything, self._scene
        )
        mujoco.mjr_render(self._frame, self._scene, self._brush)
        picture = np.empty((self._size, self._size, 3), dtype=np.uint8)
        mujoco.mjr_readPixels(picture, None, self._frame, self._brush)
        return picture[::-1].copy()  # GL's first row is the lowest, a picture's the highest


def coarsened(model: Any, *, cell: float, shadow: int) -> Any:
    """A copy whose meshes are drawn with few faces, and whose shadows with `shadow` pixels.

    Vertices of a mesh that lie in one cell (metres on a side) become one of them, and faces that
    are then lines or are there twice are left out. Vertices themselves stay, so contacts do too.
    """
    coarse = copy.copy(model)
    coarse.vis.quality.shadowsize = shadow
    for mesh in range(coarse.nmesh):
        begin, first = coarse.mesh_vertadr[mesh], coarse.mesh_faceadr[mesh]
        vertices = coarse.mesh_vert[begin : begin + coarse.mesh_vertnum[mesh]]
        rows = slice(first, first + coarse.mesh_facenum[mesh])
        _, stands, which = np.unique(
            np.floor(vertices / cell), axis=0, return_index=True, return_inverse=True
        )
        faces = stands[which.ravel()][coarse.mesh_face[rows]]  # (F, 3)
        corners, once = np.unique(np.sort(faces, axis=1), axis=0, return_index=True)
        kept = once[(np.diff(corners, axis=1) > 0).all(axis=1)]
        coarse.mesh_face[first : first + len(kept)] = faces[kept]
        for column in (coarse.mesh_facenormal, coarse.mesh_facetexcoord):
            column[first : first + len(kept)] = column[rows][kept]
        coarse.mesh_facenum[mesh] = len(kept)
    return coarse


def _close(thread: ThreadPoolExecutor, brush: Any, context: Any) -> None:
    """Frees the GL objects of a drawing in the thread that owns them."""
    thread.submit(brush.free)
    thread.submit(context.free)
    thread.shutdown(wait=False)
