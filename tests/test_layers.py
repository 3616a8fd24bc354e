"""Rooms import in one direction, and worlds are spoken to through their protocol."""

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "cogmap"

# A room imports from rooms above it. Rooms of one line know nothing of each other.
ORDER = [
    ("errors", "choices", "progress"),
    ("words",),
    ("devices", "runs"),
    ("data",),
    ("training",),
    ("temporal",),
    ("sight", "dynamics", "baselines"),
    ("planning",),
    ("theory", "explore", "goals"),
    ("settings",),
    ("config",),
    ("envs",),
    ("controller", "checks", "rival"),
    ("several",),
    ("agent",),
    ("pipeline",),
    ("evaluation",),
    ("report",),
    ("reproduce",),
    ("web",),
    ("cli",),
    ("commands",),
]
LEVEL = {room: level for level, rooms in enumerate(ORDER) for room in rooms}
FILES = sorted(PACKAGE.rglob("*.py"))


def room_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imported(path: Path) -> set[str]:
    """Modules of this package that a file imports, those for type checkers included."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
            if node.module == "cogmap":
                found |= {f"cogmap.{alias.name}" for alias in node.names}
    return {name for name in found if name.startswith("cogmap.")}


def test_every_room_has_its_place_in_the_order():
    rooms = {room_of(path) for path in FILES} - {"__init__", "__main__"}
    assert rooms == set(LEVEL)


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_a_room_imports_only_from_rooms_above_it(path):
    room = room_of(path)
    if room in ("__init__", "__main__"):
        return  # the front door leads everywhere
    for module in imported(path):
        other = module.split(".")[1]
        if other == room or other.startswith("__"):
            continue
        assert LEVEL[other] < LEVEL[room], f"{room} imports {module}"


def test_nothing_but_the_command_line_imports_it():
    for path in FILES:
        if room_of(path) not in ("cli", "commands", "__main__"):
            rooms = {module.split(".")[1] for module in imported(path)}
            assert not rooms & {"cli", "commands"}, path


SPEAK_TO_ANY_WORLD = (
    "agent",
    "rival",
    "baselines",
    "pipeline",
    "evaluation",
    "training",
    "temporal",
    "reproduce",
    "web",
)
MADE_FOR_MAZES = {"studies.py", "rivals.py", "workshop.py"}  # tables of mazes; drawn ones
MADE_FOR_BUILDINGS = {"first_person.py", "storey.py", "floor_plan.py"}  # their table, their page


@pytest.mark.parametrize("room", SPEAK_TO_ANY_WORLD)
def test_what_runs_in_every_world_names_none(room):
    """These may speak of World, and of the map that a world may have; of no world in particular."""
    allowed = {"cogmap.envs.world", "cogmap.envs.kinds", "cogmap.envs.maze_map"}
    for path in FILES:
        if room_of(path) == room and path.name not in MADE_FOR_MAZES | MADE_FOR_BUILDINGS:
            assert {m for m in imported(path) if m.startswith("cogmap.envs")} <= allowed, path
            names = {n.id for n in ast.walk(ast.parse(path.read_text())) if isinstance(n, ast.Name)}
            assert not names & {"PointMaze", "Maze", "GOAL_RADIUS", "CELL"}, path
