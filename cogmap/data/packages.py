"""Packages that only the exchange of data needs; a bare host trains and plans without them."""

from __future__ import annotations

import importlib
from typing import Any

from cogmap.errors import CogmapError


def needed(module: str, *, what: str) -> Any:
    """A module of the extra [exchange], imported when it is first asked for."""
    try:
        return importlib.import_module(module)
    except ImportError:
        package = module.split(".")[0]
        raise CogmapError(f"{what} needs {package}; pip install 'cogmap[exchange]'.") from None
