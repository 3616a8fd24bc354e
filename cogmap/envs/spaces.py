"""Gymnasium's spaces as vectors: observations with a name for each number, actions in [-1, 1].

A Box is its own numbers; Discrete, MultiDiscrete and MultiBinary become ones and zeros; Dict and
Tuple are joined, each part under its name. Actions of a bounded Box are scaled to [-1, 1].
Observations keep their units, since goals are given in them; the models scale by what was seen.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from gymnasium import spaces

from cogmap.errors import CogmapError

PICTURE_SIDE = 16  # pixels from which an array of bytes is a picture and not so many numbers
GOAL_PARTS = ("observation", "achieved_goal", "desired_goal")  # of a goal environment
SUPPORTED = "Box, Discrete, MultiDiscrete, MultiBinary, and Dict or Tuple of them"


@dataclass(frozen=True)
class Leaf:
    """One plain space within a space, and how its values become numbers."""

    name: str  # "" where there is only one
    space: spaces.Space
    size: int
    names: tuple[str, ...]  # one a number
    take: Callable[[Any], Any]  # its value out of the whole one

    def encode(self, value: Any) -> np.ndarray:
        """-> (size,); raises for a value that is not of the space."""
        if isinstance(self.space, spaces.Discrete):
            return _one_hot(int(value) - int(self.space.start), self.size)
        if isinstance(self.space, spaces.MultiDiscrete):
            counts = self.space.nvec.ravel()
            place = np.asarray(value).ravel() - np.asarray(self.space.start).ravel()
            return np.concatenate([_one_hot(k, n) for k, n in zip(place, counts, strict=True)])
        numbers = np.asarray(value, dtype=np.float32).ravel()
        if len(numbers) != self.size:
            raise ValueError(f"{len(numbers)} numbers")
        return numbers

    def decode(self, numbers: np.ndarray) -> Any:
        """The nearest value. (size,) ->"""
        space = self.space
        if isinstance(space, spaces.Discrete):
            return int(numbers.argmax()) + int(space.start)
        if isinstance(space, spaces.MultiDiscrete):
            parts = np.split(numbers, np.cumsum(space.nvec.ravel())[:-1])
            chosen = np.array([part.argmax() for part in parts]).reshape(space.shape)
            return (chosen + space.start).astype(space.dtype)
        if isinstance(space, spaces.MultiBinary):
            return (numbers.reshape(space.shape) > 0.5).astype(space.dtype)
        assert isinstance(space, spaces.Box)
        low, high = space.low.ravel(), space.high.ravel()
        bounded = np.isfinite(low) & np.isfinite(high)
        value = np.array(numbers, dtype=np.float64)
        span = high[bounded].astype(np.float64) - low[bounded]
        value[bounded] = low[bounded] + (value[bounded] + 1) / 2 * span
        value = np.clip(value, low, high).reshape(space.shape)
        return (np.round(value) if np.issubdtype(space.dtype, np.integer) else value).astype(
            space.dtype
        )


@dataclass(frozen=True)
class Coding:
    """A space as one vector, or as a picture."""

    space: spaces.Space
    leaves: tuple[Leaf, ...]
    what: str  # of which world
    left_out: tuple[str, ...] = ()  # parts that are no numbers, or no part of the state
    picture: bool = False

    @property
    def shape(self) -> tuple[int, ...]:
        if self.picture:
            height, width, *rest = self._upright(np.zeros(self.space.shape or (), np.uint8)).shape
            return (height, width, *rest)
        return (sum(leaf.size for leaf in self.leaves),)

    @property
    def names(self) -> tuple[str, ...]:
        """Of each number."""
        return tuple(name for leaf in self.leaves for name in leaf.names)

    def encode(self, value: Any) -> np.ndarray:
        """An observation as the models see it. -> (d,), or (H, W, C) bytes"""
        try:
            if self.picture:
                return self._upright(_bytes(value, self.space.shape))
            seen = np.concatenate([leaf.encode(leaf.take(value)) for leaf in self.leaves])
        except (TypeError, ValueError, LookupError):  # whatever numpy thinks of it
            shape = getattr(value, "shape", ())
            shown = f"of shape {shape}" if shape else " ".join(f"{value!r:.60}".split())
            raise CogmapError(
                f"{self.what} {shown} is not of its space, {_told(self.space)}."
            ) from None
        if not np.isfinite(seen).all():
            raise CogmapError(f"{self.what} holds NaN or infinity: {seen[:8]}.")
        return seen

    def decode(self, numbers: np.ndarray) -> Any:
        """An action as the environment wants it. (a,) ->"""
        ends = np.cumsum([leaf.size for leaf in self.leaves])[:-1]
        values = [leaf.decode(part) for leaf, part in zip(self.leaves, np.split(numbers, ends))]
        return _built(self.space, iter(values))

    def dimensions(self, part: str) -> np.ndarray:
        """Which numbers one part of a Dict became."""
        ends = np.cumsum([leaf.size for leaf in self.leaves])
        spans = [
            np.arange(end - leaf.size, end)
            for leaf, end in zip(self.leaves, ends)
            if leaf.name == part
        ]
        return np.concatenate(spans) if spans else np.empty(0, dtype=int)

    def _upright(self, picture: np.ndarray) -> np.ndarray:
        """Height, width, channels, whatever the order was."""
        if picture.ndim == 2:
            return picture[..., None]
        if picture.shape[0] <= 4 < picture.shape[2]:
            return np.moveaxis(picture, 0, -1)
        return picture


def coding_of(space: spaces.Space, *, what: str) -> Coding:
    """How to read a space; raises for one that is not supported."""
    if _is_picture(space):
        return Coding(space, (Leaf("", space, 0, (), lambda value: value),), what, picture=True)
    leaves, left_out = _leaves(space, "", lambda value: value)
    if isinstance(space, spaces.Dict) and set(GOAL_PARTS) <= set(space.spaces):
        # Where to go is not where one is.
        leaves = [leaf for leaf in leaves if leaf.name != "desired_goal"]
    pictures = [leaf.name for leaf in leaves if _is_picture(leaf.space)]
    if pictures:
        raise CogmapError(
            f"{what} {pictures[0]!r} is a picture beside numbers; wrap the environment so that it "
            "shows the picture alone, or the numbers alone."
        )
    if not leaves:
        raise CogmapError(f"{what}: {space} is not supported; give {SUPPORTED}.")
    return Coding(space, tuple(leaves), what, tuple(left_out))


def _one_hot(place: int, count: int) -> np.ndarray:
    if not 0 <= place < count:  # an index below zero would count from the end
        raise ValueError(f"kind {place} of {count}")
    return np.eye(count, dtype=np.float32)[place]


def _bytes(value: Any, shape: tuple[int, ...] | None) -> np.ndarray:
    picture = np.asarray(value)
    if picture.shape != shape or picture.dtype != np.uint8:
        raise ValueError(f"a picture of shape {picture.shape}, {picture.dtype}")
    return picture


def _told(space: spaces.Space) -> str:
    """A space in a few words: a Box's bounds may fill pages."""
    if isinstance(space, spaces.Box):
        return f"Box of shape {space.shape}, {space.dtype}"
    return f"{' '.join(str(space).split())}"[:200]


def _is_picture(space: spaces.Space) -> bool:
    if not isinstance(space, spaces.Box) or space.dtype != np.uint8 or len(space.shape) < 2:
        return False
    return sorted(space.shape)[-2] >= PICTURE_SIDE


def _leaves(
    space: spaces.Space, name: str, take: Callable[[Any], Any]
) -> tuple[list[Leaf], list[str]]:
    """The plain spaces of a space in order, and the names of those that are none."""
    if isinstance(space, (spaces.Dict, spaces.Tuple)):
        parts = space.spaces.items() if isinstance(space, spaces.Dict) else enumerate(space.spaces)
        leaves: list[Leaf] = []
        left_out: list[str] = []
        for key, part in parts:
            inner = f"{name}.{key}" if name else str(key)
            some, others = _leaves(part, inner, partial(_part, take, key))
            leaves, left_out = leaves + some, left_out + others
        return leaves, left_out
    if isinstance(space, spaces.Box):
        size = int(np.prod(space.shape))
    elif isinstance(space, spaces.Discrete):
        size = int(space.n)
    elif isinstance(space, spaces.MultiDiscrete):
        size = int(space.nvec.sum())
    elif isinstance(space, spaces.MultiBinary):
        size = int(np.prod(space.shape))
    else:
        return [], [name or str(space)]
    names = (name,) if name and size == 1 else tuple(f"{name or 'x'}{k}" for k in range(size))
    return [Leaf(name, space, size, names, take)], []


def _part(take: Callable[[Any], Any], key: Any, value: Any) -> Any:
    return take(value)[key]


def _built(space: spaces.Space, values: Any) -> Any:
    """A value of a space from those of its plain spaces, in order."""
    if isinstance(space, spaces.Dict):
        return {key: _built(part, values) for key, part in space.spaces.items()}
    if isinstance(space, spaces.Tuple):
        return tuple(_built(part, values) for part in space.spaces)
    return next(values)
