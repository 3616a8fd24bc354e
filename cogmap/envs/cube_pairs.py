"""Starts and goals in cube-single, 25 steps apart in episodes of the expert (Sec. 4.1).

    python -m cogmap.envs.cube_pairs FOLDER

makes both files of this package's folder pairs/ again, in about four minutes: cube-single.json, the
manifest, says which row of which episode each pair begins at, and has the hash of the other;
cube-single.npz holds their states, so that no evaluation depends on how an episode would turn out
with another version of the simulator.

Two sets. `held-out`: 1,000 pairs, one each of as many episodes, recorded with a seed that no run
records with. `lewm`: 50 pairs drawn as LeWM's evaluation draws them, from all rows of 10,000
episodes that a run may have been trained on.
"""

from __future__ import annotations

import hashlib
import io
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from pathlib import Path

import numpy as np

from cogmap.envs.arm import CENTRE, CUBE, SCALE
from cogmap.errors import CogmapError

OFFSET, BUDGET = 25, 50  # control steps to the goal as it was recorded, and of an episode
SOLVED = 0.04  # m: the cube is where it is to go before anything is done
HELD_OUT_SEED = 1 << 20
HELD_OUT = 1000
LEWM_SEED, LEWM_EPISODES, LEWM_DRAW, LEWM = 0, 10_000, 42, 50
ARRAYS = ("starts", "ends", "goals", "actions")


@dataclass(frozen=True)
class Pairs:
    """Some pairs, and the sets they belong to."""

    starts: np.ndarray  # (N, 41) qpos and qvel
    ends: np.ndarray  # (N, 41) of what was recorded OFFSET steps later
    goals: np.ndarray  # (N, 28) what was seen there
    actions: np.ndarray  # (N, OFFSET, 5) what the oracle did in between
    sets: dict[str, range]

    @property
    def targets(self) -> np.ndarray:
        """The cube's centre at the goal. (N, 3)"""
        return self.ends[:, 14:17]

    @property
    def solved(self) -> np.ndarray:
        """(N,) bool: nothing needs to be done"""
        gap = np.linalg.norm(self.starts[:, 14:17] - self.targets, axis=1)
        return np.asarray(gap <= SOLVED)

    def towards(self, place: np.ndarray, seen: np.ndarray | None = None) -> Pairs:
        """The same starts with the cube to be brought to another place. (3,) in metres

        `seen` is what is to be seen there (28,); by default as before but for the cube.
        """
        ends, goals = self.ends.copy(), self.goals.copy()
        ends[:, 14:17] = place
        if seen is not None:
            goals[:] = seen
        goals[:, CUBE] = (place - CENTRE) * SCALE
        return replace(self, ends=ends, goals=goals)

    def numbers(self, name: str, count: int | None, *, first: int = 0) -> range:
        """Those of a set, or some of them from one on."""
        if name not in self.sets:
            raise CogmapError(f"tasks {name!r}; cube-single has {' and '.join(self.sets)}.")
        every = self.sets[name]
        count = len(every) - first if count is None else count
        if first + count > len(every) or first >= len(every):
            raise CogmapError(
                f"episodes={count} from number {first} on; {name} has {len(every)} pairs."
            )
        return every[first : first + count]

    def some(self, numbers: Sequence[int]) -> Pairs:
        """By their numbers through all sets."""
        if any(not 0 <= number < len(self.starts) for number in numbers):
            raise CogmapError(
                f"pair {max(numbers)}; cube-single has pairs 0 to {len(self.starts) - 1}."
            )
        rows = np.array(numbers)
        return replace(self, **{name: getattr(self, name)[rows] for name in ARRAYS})

    @classmethod
    @cache
    def packaged(cls) -> Pairs:
        """Those that come with the package."""
        return cls.load(Path(str(resources.files("cogmap.envs").joinpath("pairs"))))

    @classmethod
    def load(cls, folder: Path) -> Pairs:
        """Raises where the states are not those that the manifest speaks of."""
        manifest = folder / "cube-single.json"
        try:
            told = json.loads(manifest.read_text())
            states = (folder / "cube-single.npz").read_bytes()
        except (OSError, ValueError) as error:
            raise CogmapError(f"{manifest} and its .npz cannot be read ({error}).") from None
        found = hashlib.sha256(states).hexdigest()
        if found != told.get("sha256"):
            raise CogmapError(
                f"{manifest}: cube-single.npz has the hash {found[:12]}..., not the manifest's "
                f"{str(told.get('sha256'))[:12]}...; copy both anew, or make them with "
                "`python -m cogmap.envs.cube_pairs`."
            )
        sets, begin = {}, 0
        for name, about in told["sets"].items():
            sets[name] = range(begin, begin + len(about["pairs"]))
            begin = sets[name].stop
        with np.load(io.BytesIO(states)) as arrays:
            return cls(**{name: arrays[name] for name in ARRAYS}, sets=sets)


def places(name: str) -> list[tuple[int, int]]:
    """Which episode and which row of it each pair of a set begins at."""
    if name == "held-out":
        rows = np.random.default_rng(HELD_OUT_SEED).integers(_rows(), size=HELD_OUT)
        return [(episode, int(row)) for episode, row in enumerate(rows)]
    # le-wm, eval.py: a choice from all valid rows but the last.
    drawn = np.random.default_rng(LEWM_DRAW).choice(
        LEWM_EPISODES * _rows() - 1, LEWM, replace=False
    )
    return [divmod(int(row), _rows()) for row in sorted(drawn)]


def _rows() -> int:
    """Rows of an episode that a pair may begin at."""
    from cogmap.envs.handling import STEPS

    return STEPS + 1 - OFFSET


def recorded(name: str) -> Iterator[tuple[np.ndarray, ...]]:
    """The episodes of a set played again, and of each what its pair needs."""
    from cogmap.envs.arm import Arm
    from cogmap.envs.handling import handle

    arm, seed = Arm(), HELD_OUT_SEED if name == "held-out" else LEWM_SEED
    for number, row in places(name):
        one = handle(arm, "expert", seed=seed, number=number)
        end = row + OFFSET
        yield one.states[row], one.states[end], one.observations[end], one.actions[row:end]


def main(folder: str) -> None:
    sets = {"held-out": HELD_OUT_SEED, "lewm": LEWM_SEED}
    columns = zip(*(pair for name in sets for pair in recorded(name)))
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **dict(zip(ARRAYS, map(np.stack, columns))))  # type: ignore[arg-type]
    told = {
        "what": f"pairs of rows {OFFSET} control steps apart in episodes of the expert",
        "sha256": hashlib.sha256(buffer.getvalue()).hexdigest(),
        "sets": {name: {"seed": seed, "pairs": places(name)} for name, seed in sets.items()},
    }
    (Path(folder) / "cube-single.npz").write_bytes(buffer.getvalue())
    (Path(folder) / "cube-single.json").write_text(json.dumps(told) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
