"""Names that a user chooses between. No torch here: the command line reads them for its help."""

from __future__ import annotations

from typing import Literal

Device = Literal["auto", "cpu", "cuda", "mps"]
Unexplored = Literal["far", "scattered"]  # what a coverage below 1 leaves out
