"""Names that a user chooses between. No torch here: the command line reads them for its help."""

from __future__ import annotations

from typing import Literal

Device = Literal["auto", "cpu", "cuda", "mps"]
Unexplored = Literal["far", "scattered"]  # what a coverage below 1 leaves out

# Beside a view; or no view at all, but where the agent is.
Shown = Literal["nothing", "position", "heading", "both", "position-alone"]

# Metadata of settings that rows were measured without: left out of their hash at the default, which
# is what those rows had, so that a new setting does not make all that was measured look stale.
LATER = {"later": True}
