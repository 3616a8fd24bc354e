"""Numbers as messages carry them."""

from __future__ import annotations

import math

import numpy as np
from torch import Tensor

from cogmap.errors import CogmapError


def finite(scores: np.ndarray | Tensor) -> np.ndarray:
    """The same; raises where a training has diverged."""
    found = np.asarray(scores)
    if not np.isfinite(found).all():
        raise CogmapError("the scores of this model are not finite; its training has diverged.")
    return found


def as_numbers(values: np.ndarray, digits: int = 5) -> list[float]:
    """A few digits of each."""
    return [float(f"{float(value):.{digits}g}") for value in values]


def as_value(value: float) -> float | None:
    """Four digits, or None for the -inf of a candidate that was tried here before."""
    return float(f"{value:.4g}") if math.isfinite(value) else None
