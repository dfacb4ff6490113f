"""What a fitted model looks like in a notebook: a small map, its levels, how it was made."""

from __future__ import annotations

from base64 import b64encode
from html import escape
from io import BytesIO
from typing import Any

import numpy as np

from ...core.framing import find_frame, is_outside, project_to_edge
from ...method.hierarchy import HierarchySummary
from .beyond import told_beyond
from .colors import color_levels, get_theme
from .map import plot

_INCHES = 4.4
_DPI = 100
_DOTS = 1500  # rows of the map that is drawn without matplotlib
_STYLE = "border-collapse:collapse;font-size:85%;margin:0"


def model_html(model: Any) -> str:
    """A small page: no scripts, nothing from elsewhere, the same in light and dark notebooks."""
    tree = model.hierarchy_
    shape = f"{tree.n_rows:,} rows, {model.n_features_in_:,} columns"
    parts = [
        f"<b>{escape(repr_short(model))}</b><br>{shape}",
        levels_table(model.summary()),
        f"<small>neighbours: {escape(str(model.neighbor_report_))}</small>",
    ]
    side = "".join(f'<div style="margin-bottom:8px">{part}</div>' for part in parts)
    picture = draw_small(model) if model.embedding_.shape[1] == 2 else ""
    return (
        '<div style="display:flex;gap:16px;align-items:flex-start;flex-wrap:wrap">'
        f'{picture}<div style="max-width:640px">{side}</div></div>'
    )


def repr_short(model: Any, most: int = 200) -> str:
    """The parameters that are not the default, cut off at some length."""
    text = " ".join(repr(model).split())
    return text if len(text) <= most else text[: most - 1] + "…"


def levels_table(summary: HierarchySummary) -> str:
    """The levels as an HTML table; the one of `labels_` in bold."""
    cells = [line.split() for line in repr(summary).splitlines()]
    cell = 'style="padding:1px 6px;text-align:right'
    lines = []
    for i, row in enumerate(cells):
        weight = ";font-weight:bold" if i == 0 or row[0].startswith("*") else ""
        lines.append("".join(f'<td {cell}{weight}">{escape(value)}</td>' for value in row))
    return f'<table style="{_STYLE}">' + "".join(f"<tr>{line}</tr>" for line in lines) + "</table>"


def draw_small(model: Any, inches: float = _INCHES) -> str:
    """The map as an inline PNG by matplotlib, or as dots in an SVG where that is missing."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        return draw_svg(model)
    figure = Figure(figsize=(inches, inches), dpi=_DPI)
    figure.set_facecolor(get_theme("light").background)
    plot(model, labels=False, ax=figure.add_axes((0, 0, 1, 1)))
    buffer = BytesIO()
    figure.savefig(buffer, format="png")
    data = b64encode(buffer.getvalue()).decode()
    side = round(inches * 80)
    return f'<img width="{side}" height="{side}" alt="map" src="data:image/png;base64,{data}">'


def draw_svg(model: Any) -> str:
    """Up to 1,500 rows as dots in the colours of their clusters."""
    level = model.label_level_
    frame = find_frame(np.asarray(model.embedding_))
    step = -(-len(model.embedding_) // _DOTS)
    positions = np.array(model.embedding_[::step])
    outside = is_outside(positions, frame)
    positions[outside] = project_to_edge(positions[outside], frame).places
    labels = model.hierarchy_.labels(level)[::step]
    width = float((frame.high - frame.low).max()) or 1.0
    at = 5 + 340 * (positions - frame.low) / width
    colors = (
        (255 * color_levels(model.hierarchy_, level, get_theme("light"))[level])
        .round()
        .astype(np.int64)
    )
    dots = "".join(
        f'<circle cx="{x:.1f}" cy="{350 - y:.1f}" r="1.8" fill="rgb({r},{g},{b})"/>'
        for (x, y), (r, g, b) in zip(at, colors[labels], strict=True)
    )
    told = (
        f'<text x="5" y="350" font-size="9">{told_beyond(frame.n_outside)}</text>'
        if frame.n_outside
        else ""
    )
    return f'<svg width="350" height="355" style="background:white">{dots}{told}</svg>'
