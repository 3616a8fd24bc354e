"""The one error a user is meant to read: one line, the value, the way out."""


class CogmapError(Exception):
    """A wrong input. The command line prints it as one line and exits with code 2.

    Not a ValueError: the argument parser would catch that and draw a box around it.
    """
