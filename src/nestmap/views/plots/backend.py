"""matplotlib, imported when a picture is drawn; axes that show a part of the plane undistorted."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np

from ...core.arrays import Array
from ...core.framing import Frame, find_frame, whole_frame
from ...core.input.validate import check_option
from .colors import Theme

FRAMES = ("most", "all")  # rows that a picture frames
_MARGIN = 0.04  # of the map's width, around it


def load_matplotlib() -> ModuleType:
    """The package, or an error that says how to get it."""
    try:
        import matplotlib
    except ImportError as error:
        raise ImportError("plots are drawn by matplotlib: pip install 'nestmap[plot]'") from error
    return matplotlib


def new_axes(theme: Theme, width: float = 9.0, height: float = 9.0, columns: int = 1) -> Any:
    """Axes of a new figure of pyplot, side by side, or a single one."""
    load_matplotlib()
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, columns, figsize=(width * columns, height), dpi=120)
    figure.set_facecolor(theme.background)
    figure.subplots_adjust(left=0.01, right=0.99, bottom=0.01, top=0.95, wspace=0.02)
    return axes


def clear(axes: Any, theme: Theme, title: str | None) -> Any:
    """No spines, no ticks, the theme's background; the axes."""
    axes.set_facecolor(theme.background)
    axes.set_xticks([])
    axes.set_yticks([])
    for side in axes.spines.values():
        side.set_visible(False)
    if title:
        axes.set_title(title, color=theme.text, fontsize=13, pad=8, parse_math=False)
    return axes


def size_in_points(axes: Any) -> tuple[float, float]:
    """Width and height of the axes, in points (1/72 inch)."""
    box = axes.get_position(original=True)
    width, height = axes.figure.get_size_inches()
    return 72 * box.width * width, 72 * box.height * height


def choose_frame(positions: Array, frame: str) -> Frame:
    """The part of the map that a picture shows."""
    check_option("frame", frame, FRAMES)
    return find_frame(positions) if frame == "most" else whole_frame(positions)


def limits(axes: Any) -> Frame:
    """The part of the map that the axes show."""
    x = axes.get_xlim()
    y = axes.get_ylim()
    return Frame(np.array([x[0], y[0]]), np.array([x[1], y[1]]), 0)


def frame_map(axes: Any, positions: Array) -> None:
    """Limits that show all positions, a unit as long across as up."""
    low = positions.min(axis=0)
    high = positions.max(axis=0)
    extent = high - low
    extent[extent <= 0] = max(float(extent.max()), 1e-9)
    extent *= 1 + 2 * _MARGIN
    paper = np.array(size_in_points(axes))
    unit = float((extent / paper).max())
    middle = (low + high) / 2
    half = unit * paper / 2
    axes.set_xlim(middle[0] - half[0], middle[0] + half[0])
    axes.set_ylim(middle[1] - half[1], middle[1] + half[1])
    axes.set_aspect("equal", adjustable="box")


def unit_of(axes: Any) -> float:
    """Units of the map per point of paper."""
    low, high = axes.get_xlim()
    return float(high - low) / size_in_points(axes)[0]
