"""Pictures of mazes."""

import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from cogmap.envs.album import Album
from cogmap.envs.camera import Camera, check_camera, grid_points
from cogmap.envs.maze import Maze
from cogmap.errors import CogmapError

pytest.importorskip("ogbench")


OGBENCH = """
import sys, numpy as np, gymnasium, ogbench
name, points, out = sys.argv[1:]
env = gymnasium.make(f"pointmaze-{name}-v0", ob_type="pixels", width=64, height=64).unwrapped
env.reset(seed=0)
pictures = []
for point in np.load(points):
    env.set_state(point, np.zeros(2))
    pictures.append(env.get_ob())
np.save(out, pictures)
"""


@pytest.mark.parametrize("name", ["large", "giant"])
def test_pictures_are_ogbenchs_own_pixel_by_pixel(name, tmp_path):
    maze, rng = Maze.load(name), np.random.default_rng(0)
    points = grid_points(maze)
    places = points[rng.choice(len(points), 5)] + rng.uniform(-0.05, 0.05, (5, 2))
    np.save(tmp_path / "points.npy", places)
    command = [sys.executable, "-c", OGBENCH, name, tmp_path / "points.npy", tmp_path / "out.npy"]
    subprocess.run(command, check=True, env=os.environ | {"MUJOCO_GL": "egl"})
    assert np.array_equal(Camera(maze).pictures(places), np.load(tmp_path / "out.npy"))


@pytest.mark.parametrize("name", ["large", "giant"])
def test_the_packages_pictures_are_the_cameras(name, tmp_path):
    maze = Maze.load(name)
    album = Album.of(maze, tmp_path)
    assert np.array_equal(album.points, grid_points(maze)) and not list(tmp_path.iterdir())
    rows = np.random.default_rng(1).choice(len(album.points), 6)
    # Another GL library may round a colour otherwise.
    taken = Camera(maze).pictures(album.points[rows]).astype(int)
    assert np.abs(taken - album.pictures[rows]).max() <= 2


def test_an_album_that_was_interrupted_goes_on_where_it_stopped(tmp_path):
    maze = Maze.from_text("###\n#.#\n###", name="cell")
    asked = []

    def stop_after_five(rows):
        for k, row in enumerate(rows):
            if k == 5:
                raise KeyboardInterrupt
            yield row

    with pytest.raises(KeyboardInterrupt):
        Album.take(maze, tmp_path, progress=stop_after_five)
    album = Album.take(maze, tmp_path, progress=lambda rows: asked.extend(rows) or rows)
    assert len(asked) == len(album.points) - 5
    assert album.pictures.reshape(len(album.points), -1).any(1).all()


def test_state_commands_never_load_a_gl_library():
    code = "from cogmap.envs.maze import Maze; from cogmap.envs.pointmaze import PointMaze\n"
    code += "PointMaze(Maze.load('large')).simulator()\n"
    code += "import sys; assert 'mujoco' in sys.modules and 'OpenGL' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_without_a_gl_library_one_line_names_the_package(monkeypatch):
    monkeypatch.setenv("MUJOCO_GL", "nothing")
    with pytest.raises(CogmapError, match="apt-get install libegl1") as caught:
        check_camera(Maze.load("large"))
    assert "\n" not in str(caught.value)


def test_a_context_that_cannot_be_made_gets_one_line_before_anything_is_collected(monkeypatch):
    egl = pytest.importorskip("mujoco.egl")

    def refuse(*size):
        raise RuntimeError("EGLError(\n\terr = EGL_BAD_ACCESS,\n)")

    monkeypatch.setattr(egl, "GLContext", refuse)
    monkeypatch.delenv("MUJOCO_GL", raising=False)
    with pytest.raises(CogmapError, match="EGL_BAD_ACCESS.*apt-get install") as caught:
        check_camera(Maze.load("large"))
    assert "\n" not in str(caught.value)


def test_where_pictures_can_be_taken_the_check_says_nothing():
    check_camera(Maze.from_text("###\n#.#\n###", name="cell"))


def test_two_threads_at_once_get_the_pictures_that_one_would_take():
    maze = Maze.load("large")
    camera, other = Camera(maze), Camera(maze)
    points = maze.lattice.points[:: len(maze.lattice) // 8]
    alone = camera.pictures(points)
    with ThreadPoolExecutor(3) as pool:
        forward = pool.submit(camera.pictures, points)
        backward = pool.submit(camera.pictures, points[::-1])
        beside = pool.submit(other.pictures, points)
        assert np.array_equal(forward.result(), alone)
        assert np.array_equal(backward.result()[::-1], alone)
        assert np.array_equal(beside.result(), alone)


def test_a_camera_that_is_gone_leaves_no_thread_behind():
    before = set(threading.enumerate())
    camera = Camera(Maze.from_text("###\n#.#\n###", name="cell"))
    [thread] = set(threading.enumerate()) - before
    del camera
    thread.join(timeout=10)
    assert not thread.is_alive()


def test_the_agent_covers_a_handful_of_pixels_and_all_else_is_constant():
    maze = Maze.load("large")
    points = maze.lattice.points[:: len(maze.lattice) // 6]
    pictures = Camera(maze).pictures(points)
    background = np.median(pictures, axis=0)
    changed = (pictures != background).any(-1).sum((1, 2))
    assert changed.min() >= 1 and changed.max() <= 12
    assert len(np.unique(pictures.reshape(len(points), -1), axis=0)) == len(points)


def test_the_grid_holds_the_lattice_and_every_place_where_a_ball_rests():
    maze = Maze.load("large")
    points = grid_points(maze)
    for point in maze.lattice.points:
        assert (points == point).all(1).any()
    assert maze.clearance(points).min() >= 0.65


def test_a_gl_library_that_does_not_exist_gets_one_line_from_the_command(tmp_path):
    command = [sys.executable, "-m", "cogmap", "evaluate", "models/pointmaze-large-image"]
    command += ["--episodes", "1", "--budget", "5"]
    for name in ("nothing", "osmesa"):
        result = subprocess.run(
            command, env=os.environ | {"MUJOCO_GL": name}, capture_output=True, text=True
        )
        if name == "osmesa" and result.returncode == 0:
            continue  # it is installed here
        assert result.returncode == 2 and "Traceback" not in result.stderr
        assert "apt-get install" in result.stderr
