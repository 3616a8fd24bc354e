"""Where computation happens, and the one seed it starts from."""

from __future__ import annotations

import torch

from cogmap.errors import CogmapError
from cogmap.temporal.settings import Device

__all__ = ["Device", "pick"]


def pick(device: str) -> torch.device:
    """The named device; 'auto' takes a GPU where there is one."""
    available = {"cpu": True, "cuda": torch.cuda.is_available()}
    available["mps"] = torch.backends.mps.is_available()
    if device == "auto":
        return torch.device(next(name for name in ("cuda", "mps", "cpu") if available[name]))
    if device not in available:
        raise CogmapError(f"device {device!r}; choose auto, cpu, cuda or mps.")
    if not available[device]:
        raise CogmapError(f"device {device!r} is not available here; choose --device cpu or auto.")
    return torch.device(device)
