"""Pictures without a window: panels to draw on, and files that are written whole."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from cogmap import runs
from cogmap.errors import CogmapError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DPI = 130


def pyplot() -> Any:
    """matplotlib, drawing to memory only."""
    try:
        import matplotlib
    except ImportError:
        raise CogmapError("figures need matplotlib; pip install 'cogmap[report]'.") from None
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    return plt


def panels(rows: int, columns: int, size: tuple[float, float]) -> tuple[Figure, Any]:
    """A figure with rows x columns of axes; `size` in inches. -> (figure, (rows, columns) axes)"""
    return pyplot().subplots(rows, columns, figsize=size, squeeze=False, layout="constrained")


def save(figure: Figure, *paths: Path, dpi: int = DPI) -> None:
    """Writes the figure to each path, its kind by the suffix, and closes it."""
    try:
        for path in paths:
            kind = path.suffix.lstrip(".") or "png"
            # Without a date, the same figure is the same file.
            about = {"CreationDate": None} if kind == "pdf" else None

            def write(temporary: Path, kind: str = kind, about: dict | None = about) -> None:
                figure.savefig(temporary, format=kind, dpi=dpi, metadata=about)

            runs.replace_file(path, write)
    except ValueError as error:  # matplotlib does not know this kind
        raise CogmapError(f"cannot write {path}: {error}.") from None
    finally:
        pyplot().close(figure)
