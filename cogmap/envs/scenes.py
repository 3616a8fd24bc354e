"""Scenes by what names them: a test scene of Habitat's, files of the user's own, or a maze.

A navigation mesh says where up is; a GLB does not: glTF has its y up, Habitat takes z. The reading
in which the floor lies within the box around the mesh is taken; of two the one that reaches the
height of the eye; where both do, it is asked.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Literal

from cogmap.envs.floor import Floor
from cogmap.envs.habitat import HabitatScene
from cogmap.envs.maze import Maze
from cogmap.envs.maze_scene import MazeScene
from cogmap.envs.navmesh import read_navmesh
from cogmap.envs.scene import EYE, KNOWN, NavmeshScene, Scene, known_scene, sha256
from cogmap.envs.surface import Surface, Up, read_glb
from cogmap.envs.walls import with_walls
from cogmap.errors import CogmapError

FOLDER = "COGMAP_SCENES"  # names the folder of scenes where none is given
READINGS: tuple[Up, ...] = ("y", "z")


def named_scene(
    name: str, folder: Path | None, *, simulator: Literal["habitat"] | None = None
) -> Scene:
    """One of Habitat's test scenes, from the folder of its files; by default COGMAP_SCENES."""
    told = os.environ.get(FOLDER)
    if folder is None and not told:
        raise CogmapError(
            f"{name} is read from {KNOWN[name].navmesh} of Habitat's test scenes; say in which "
            f"folder it is by --scenes or {FOLDER}."
        )
    folder = folder or Path(str(told))
    return HabitatScene.named(name, folder) if simulator else known_scene(name, folder)


def scene_of_files(
    navmesh: Path,
    glb: Path | None = None,
    *,
    label: str | None = None,
    up: Literal["auto"] | Up = "auto",
) -> NavmeshScene:
    """A floor from a .navmesh file, and the GLB above it; without one, walls that are made up."""
    floor = read_navmesh(navmesh)
    files = {"navmesh": str(navmesh.resolve()), "navmesh_sha256": sha256(navmesh)}
    if glb is None:
        called = f"{label or navmesh.stem} floor plan, synthetic appearance"
        return NavmeshScene(navmesh.stem, floor, with_walls(floor), called, files=files)
    raw = read_glb(glb)
    found = _reading(raw, floor, up, glb=glb, navmesh=navmesh)
    files |= {"glb": str(glb.resolve()), "glb_sha256": sha256(glb), "up": found}
    return NavmeshScene(navmesh.stem, floor, raw.turned(found), label or glb.stem, files=files)


def _reading(
    raw: Surface, floor: Floor, up: Literal["auto"] | Up, *, glb: Path, navmesh: Path
) -> Up:
    """Which axis of a GLB is up, so that it stands above a floor."""
    corners = floor.triangles.reshape(-1, 3)
    low, high = corners.min(axis=0), corners.max(axis=0)
    fitting = [one for one in READINGS if raw.turned(one).holds(low, high)]
    asked = list(READINGS) if up == "auto" else [up]
    left = [one for one in asked if one in fitting]
    if not left:
        ways = " or ".join(asked)
        raise CogmapError(
            f"{glb} is not above the floor of {navmesh} with its {ways} up: the floor spans "
            f"{_box(low)} to {_box(high)} m. Give the GLB that the navmesh was made of, in metres."
        )
    if len(left) > 1:  # what is seen at the height of the eye is not all below it
        left = [up for up in left if raw.turned(up).corners[..., 1].max() > high[1] + EYE] or left
    if len(left) > 1:
        raise CogmapError(f"{glb} fits {navmesh} with its y up and with its z up; say --up y or z.")
    return left[0]


def _box(corner: Any) -> str:
    return "(" + ", ".join(f"{value:.2f}" for value in corner) + ")"


def restored_scene(description: dict[str, Any]) -> Scene | None:
    """The scene that `describe` described; None for one of the user's own making."""
    if "maze" in description:
        drawn = description["maze"]
        return MazeScene(Maze.from_text("\n".join(drawn["rows"]), name=drawn["name"]))
    if "navmesh" in description:
        return _same_files(description)
    if description["scene"] not in KNOWN:
        return None
    told = os.environ.get(FOLDER) or description["scenes"]
    return named_scene(
        description["scene"],
        None if told is None else Path(told),
        simulator=description.get("simulator"),
    )


def _same_files(description: dict[str, Any]) -> NavmeshScene:
    """Files of the user's own, where and as they were when the run was made."""
    for kind in ("navmesh", "glb"):
        if kind in description:
            path = Path(description[kind])
            if not path.is_file():
                raise CogmapError(
                    f"{path}, which this run was made with, is gone; put it back, or its new place "
                    "into the run's config.json."
                )
            if sha256(path) != description[f"{kind}_sha256"]:
                raise CogmapError(f"{path} is not what this run was made with, by its sha256.")
    floor = read_navmesh(Path(description["navmesh"]))
    name, label = description["scene"], description["label"]
    kept = ("navmesh", "navmesh_sha256", "glb", "glb_sha256", "up")
    files = {key: description[key] for key in kept if key in description}
    if "glb" not in description:
        return NavmeshScene(name, floor, with_walls(floor), label, files=files)
    surface = read_glb(Path(description["glb"])).turned(description["up"])
    return NavmeshScene(name, floor, surface, label, files=files)
