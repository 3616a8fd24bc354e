"""The one error a user is meant to read: one line, the value, the way out."""


class CogmapError(ValueError):
    """A wrong input. The command line prints it as one line and exits with code 2."""
