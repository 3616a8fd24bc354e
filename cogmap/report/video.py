"""Frames as a film."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from cogmap.errors import CogmapError

PER_SECOND = 15
STRIP, STRIP_HEIGHT = 8, 160  # frames of a strip, and about how high, in pixels


def write_video(path: Path, frames: Sequence[np.ndarray]) -> None:
    """An .mp4 or .gif of frames (H, W, 3)."""
    try:
        import imageio.v3 as imageio
    except ImportError:
        raise CogmapError("--video needs imageio; pip install 'cogmap[gym]'.") from None
    if path.suffix == ".gif":
        imageio.imwrite(path, np.stack(frames), duration=1000 / PER_SECOND, loop=0)
        return
    height, width = (size - size % 2 for size in frames[0].shape[:2])  # as the codec wants them
    stack = np.stack([frame[:height, :width] for frame in frames])
    imageio.imwrite(path, stack, fps=PER_SECOND, codec="libx264", macro_block_size=1)


def write_strip(path: Path, frames: Sequence[np.ndarray]) -> None:
    """Evenly spaced frames side by side, the last at the right."""
    try:
        import imageio.v3 as imageio
    except ImportError:
        raise CogmapError("--figure needs imageio here; pip install 'cogmap[gym]'.") from None
    shown = [frames[k] for k in np.linspace(0, len(frames) - 1, STRIP).round().astype(int)]
    step = max(1, round(shown[0].shape[0] / STRIP_HEIGHT))
    imageio.imwrite(path, np.concatenate([frame[::step, ::step] for frame in shown], axis=1))
