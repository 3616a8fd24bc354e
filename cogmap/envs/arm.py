"""OGBench's cube-single in MuJoCo: a UR5e arm with a gripper, and one cube on a table (Sec. 4).

An action is five numbers in [-1, 1]: how far the gripper is to move along x, y and z (0.05 m), to
turn (0.3 rad) and to close (all the way) within one control step of 0.05 s, 25 steps of the
simulator. All of it is OGBench's own environment; only what costs time or draws needlessly at each
of its steps (its info, its colours, its picture) is left out (tests/test_arm.py compares the two).
"""

from __future__ import annotations

import threading
import warnings
from typing import Any

import numpy as np

from cogmap.envs.drawing import Drawing, coarsened
from cogmap.envs.physics import load_mujoco
from cogmap.errors import CogmapError

ACTION_SIZE = 5
CENTRE = np.array([0.425, 0.0, 0.0])  # m; OGBench shows positions from there,
SCALE = 10.0  # in decimetres
OPENING_SCALE = 3.0
FULLY_CLOSED = 0.8  # rad of the gripper's driver joint
FULL_CONTACT = 50.0  # N
CELL, SHADOW = 0.004, 512  # of quick pictures: a pixel of 64 is 0.013 m wide
JOINTS = ("shoulder_pan", "shoulder_lift", "elbow", "wrist_1", "wrist_2", "wrist_3")
NAMES = (  # of an observation's 28 numbers, in order
    *JOINTS,  # rad
    *(f"{joint}_speed" for joint in JOINTS),  # rad/s
    *("gripper_x", "gripper_y", "gripper_z"),  # between the fingertips, in dm from CENTRE
    *("gripper_cos", "gripper_sin"),  # of the angle that it is turned by
    "closed",  # 0 open to 3 closed
    "contact",  # force on the right finger, 1 from 50 N on
    *("cube_x", "cube_y", "cube_z"),  # dm from CENTRE
    *("cube_qw", "cube_qx", "cube_qy", "cube_qz"),  # its orientation
    *("cube_cos", "cube_sin"),  # of the angle that it is turned by
)
CUBE = slice(19, 22)  # of an observation
CUBE_QPOS = slice(14, 17)  # of the simulator's positions: the cube's centre in metres


def ogbench_cube() -> Any:
    """OGBench's CubeEnv, imported when it is first needed."""
    load_mujoco()  # says what is wrong with GL, if anything
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # GLFW's, that there is no screen
            from ogbench.manipspace.envs.cube_env import CubeEnv
    except ImportError as error:
        raise CogmapError(
            f"cube-single needs OGBench ({error.name} is missing); pip install 'cogmap[ogbench]' "
            "(Python below 3.13)."
        ) from None
    return CubeEnv


class Arm:
    """The simulator's model, and the state `data` that it acts on: any of `another`.

    A state is told by (qpos, qvel), 21 and 20 numbers.
    """

    def __init__(self) -> None:
        kind = ogbench_cube()

        class Unseen(kind):  # type: ignore[misc, valid-type]
            def compute_observation(self) -> None:
                """Nothing: with OGBench's pictures on, every reset would draw one."""

        # Pictures on only chooses OGBench's colours for them: a nearly transparent arm.
        self.env = Unseen("single", ob_type="pixels", mode="data_collection", visualize_info=False)
        self._mujoco = load_mujoco()
        self.env.reset(seed=0)
        self.model = model = self.env.model
        self._drawings: dict[tuple[int, bool], Drawing] = {}  # by size, and whether quick
        self.taken = threading.RLock()  # held from setting `data` to reading what came of it
        self._arm = self.env._arm_joint_ids
        self._grip = self.env._gripper_opening_joint_id
        self._tip = self.env._pinch_site_id
        self._pad = model.body("ur5e/robotiq/right_pad").id

    @property
    def data(self) -> Any:
        """The MjData that is acted on."""
        return self.env._data

    @data.setter
    def data(self, data: Any) -> None:
        self.env._data = data

    def another(self) -> Any:
        """One more MjData: making a whole simulator takes a second, this takes no time."""
        return self._mujoco.MjData(self.model)

    def begin(self, seed: int) -> dict[str, Any]:
        """A random scene as OGBench's data have it: arm, cube and target anywhere. -> its info"""
        _, info = self.env.reset(seed=seed)
        self._mujoco.mj_rnePostConstraint(self.model, self.data)
        return info

    @property
    def state(self) -> tuple[np.ndarray, np.ndarray]:
        """(21,), (20,)"""
        return self.data.qpos.copy(), self.data.qvel.copy()

    def place(self, qpos: np.ndarray, qvel: np.ndarray) -> None:
        """Sets a recorded state, as OGBench's set_state does, and the forces that go with it."""
        self._mujoco.mj_resetData(self.model, self.data)
        self.data.qpos[:], self.data.qvel[:] = qpos, qvel
        self._mujoco.mj_forward(self.model, self.data)
        self._mujoco.mj_rnePostConstraint(self.model, self.data)

    def step(self, action: np.ndarray) -> None:
        """One control step. (5,)"""
        self.env.set_control(np.clip(action, -1.0, 1.0))
        self._mujoco.mj_step(self.model, self.data, nstep=self.env._n_steps)
        self._mujoco.mj_rnePostConstraint(self.model, self.data)

    def frame(self, *, size: int = 64, quick: bool = False) -> np.ndarray:
        """What OGBench's camera for pictures sees. -> (size, size, 3) uint8

        A quick one has meshes and shadows no finer than 64 pixels show: without a GPU it takes a
        sixth of the time.
        """
        if (size, quick) not in self._drawings:
            view = self._mujoco.MjvCamera()
            view.type = self._mujoco.mjtCamera.mjCAMERA_FIXED
            view.fixedcamid = self.model.camera("front_pixels").id
            drawn = coarsened(self.model, cell=CELL, shadow=SHADOW) if quick else self.model
            self._drawings[size, quick] = Drawing(drawn, view, size=size)
        return self._drawings[size, quick].picture(lambda: self.data)

    @property
    def cube(self) -> np.ndarray:
        """The cube's centre in metres. (3,)"""
        return self.data.qpos[CUBE_QPOS].copy()

    def observation(self) -> np.ndarray:
        """What is seen now (NAMES). (28,) float32"""
        data = self.data
        turned = data.site_xmat[self._tip]
        length = np.hypot(turned[0], turned[3])
        w, x, y, z = quat = data.qpos[17:21]
        yaw = np.arctan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z))
        force = np.linalg.norm(data.cfrc_ext[self._pad])
        return np.concatenate(
            [
                data.qpos[self._arm],
                data.qvel[self._arm],
                (data.site_xpos[self._tip] - CENTRE) * SCALE,
                [turned[0] / length, turned[3] / length],
                [np.clip(data.qpos[self._grip] / FULLY_CLOSED, 0, 1) * OPENING_SCALE],
                [np.clip(force / FULL_CONTACT, 0, 1)],
                (data.qpos[CUBE_QPOS] - CENTRE) * SCALE,
                quat,
                [np.cos(yaw), np.sin(yaw)],
            ]
        ).astype(np.float32)
