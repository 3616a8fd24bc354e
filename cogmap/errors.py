"""The one error a user is meant to read: one line, the value, the way out."""

from __future__ import annotations


class CogmapError(Exception):
    """A wrong input. The command line prints it as one line and exits with code 2.

    Not a ValueError: the argument parser would catch that and draw a box around it.
    """


def check_seed(seed: int) -> int:
    """The seed, if it is one."""
    if seed < 0:
        raise CogmapError(f"seed={seed}; give a whole number from 0 on.")
    return seed
