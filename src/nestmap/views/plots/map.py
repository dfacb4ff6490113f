"""The map as a picture."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

from ...core.arrays import Array
from ...core.framing import Frame, is_outside
from ...core.input.validate import check_number
from ...method.describe import Facts, LevelDescription
from ...method.describe.tables import as_label, read_column
from ...method.hierarchy import Hierarchy
from .backend import choose_frame, clear, frame_map, load_matplotlib, new_axes, size_in_points
from .beyond import draw_rows
from .colors import Theme, color_levels, get_theme, hue_level
from .key import Box, draw_key
from .outlines import draw_outlines, get_outlines
from .rows import QUALITIES, RowColors, color_by_column, color_by_quality, find_column
from .shading import Window, shade_points
from .text import choose_names, write_names

SHADED = 100_000  # rows: beyond, a picture is shaded by density
_LOOKED_AT = 200_000  # rows: is there any where the legend would be?
_PIXELS = 1400  # of a shaded picture, along the longer side
_AROUND = 0.1  # longer sides: coasts further outside a frame that leaves rows out do not widen it
_RASTERIZED = 5000  # points: beyond, they are pixels in a PDF or SVG, too


def plot(
    model: Any,
    color: Any = None,
    *,
    labels: Any = True,
    level: int | None = None,
    metadata: Any = None,
    texts: Any = None,
    names: Any = None,
    X: Any = None,
    outlines: bool = True,
    frame: str = "most",
    theme: str = "light",
    size: float | None = None,
    alpha: float | None = None,
    shade: bool | None = None,
    legend: bool = True,
    title: str | None = None,
    ax: Any = None,
) -> Any:
    """Draw a map: rows, coasts or regions of clusters, and their names.

    Parameters
    ----------
    model : HNNE
        Fitted, with a map in the plane; or anything with `embedding_` and `hierarchy_`.
    color : int, str or array, optional
        A level of the hierarchy (default: that of `labels_`), with children in shades of their
        parent's colour; a column of `metadata`; one value per row (text and few whole numbers are
        categories, other numbers a scale); or 'trustworthiness' or 'recall': how well each row's
        neighbourhood is kept.
    labels : optional
        Names of clusters. True: by `texts`, `metadata`, `names` or a colour of categories, else
        numbers. False: none. A column of `metadata`, or one value per row: by what most rows of a
        cluster have. What `Hierarchy.describe` gives, or a list of such for two levels; a dict of
        level to names; a sequence of one name per cluster.
    level : int, optional
        The level whose clusters are outlined and named; default: that of `color`, or of `labels_`.
    metadata : DataFrame or dict of columns, optional
    texts, names : sequence of str, optional
        One text, or one name, per row: clusters are named by their words, or by typical rows.
    X : the training rows, optional
        For 'trustworthiness' and 'recall' of a model that was loaded.
    outlines : bool
        Draw coasts, regions or balls.
    frame : {'most', 'all'}
        What the picture shows: at least 99.5% of the rows, where all of them would leave a third
        of it or more empty, with marks and counts at the edge for those further out; or all.
    theme : {'light', 'dark'}
    size, alpha : float, optional
        Area of a point in square points of paper, and opacity; by default from the number of rows.
    shade : bool, optional
        Shade by density instead of drawing points; default: beyond 100,000 rows.
    legend : bool
        A legend for categories, a colour bar for numbers.
    title : str, optional
    ax : matplotlib Axes, optional
        Where to draw; default: a new figure.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> import nestmap
    >>> from sklearn.datasets import load_digits
    >>> digits = load_digits()
    >>> model = nestmap.HNNE().fit(digits.data)
    >>> axes = nestmap.plot(model, metadata={"digit": digits.target})
    >>> axes.figure.savefig("digits.png")  # doctest: +SKIP
    """
    load_matplotlib()
    look = get_theme(theme)
    positions = _check_positions(model)
    shown = choose_frame(positions, frame)
    hierarchy: Hierarchy = model.hierarchy_
    number = _choose_level(model, level, color)
    shades = color_levels(hierarchy, number, look)
    rows = _color_rows(model, color, number, shades, metadata, X, look)
    axes = clear(new_axes(look) if ax is None else ax, look, title)
    coarse = coarser_level(hierarchy, number)
    land = _find_land(model, (coarse, number), shown) if outlines else {}
    key = _frame(axes, positions, shown, land, rows if legend else None, look)
    _draw_land(axes, land, coarse, shades if _is_level(color) else None, look)
    draw = _how_to_draw(len(positions), shade, size, alpha)
    taken = draw_rows(axes, positions, rows, draw, look, key)
    facts, given = _naming_facts(labels, metadata, texts, names, rows, hierarchy, number)
    named = choose_names(hierarchy, given, (number, coarse), facts)
    write_names(axes, model, named, look, taken, land)
    return axes


def _find_land(
    model: Any, levels: tuple[int | None, int], shown: Frame
) -> dict[int, list[list[Array]]]:
    """Outlines of the clusters of each level."""
    return {k: get_outlines(model, k, shown) for k in levels if k is not None}


def _how_to_draw(
    n_rows: int, shade: bool | None, size: float | None, alpha: float | None
) -> Callable[[Any, Array, RowColors], None]:
    """Rows as points, or shaded by density."""
    is_shaded = n_rows > SHADED if shade is None else shade
    return _draw_density if is_shaded else partial(_draw_points, size=size, alpha=alpha)


def _frame(
    axes: Any,
    positions: Array,
    shown: Frame,
    land: dict[int, list[list[Array]]],
    rows: RowColors | None,
    theme: Theme,
) -> Box | None:
    """Limits that show rows and coasts, and a legend of the colours; the box that it takes."""
    rings = [ring for clusters in land.values() for rings in clusters for ring in rings]
    if shown.n_outside:
        around = _AROUND * float((shown.high - shown.low).max())
        near = Frame(shown.low - around, shown.high + around, 0)
        rings = [ring[~is_outside(ring, near)] for ring in rings]
    frame_map(axes, np.concatenate([[shown.low, shown.high], *rings]))
    if rows is None:
        return None
    some = positions[:: -(-len(positions) // _LOOKED_AT)]
    return draw_key(axes, rows, np.concatenate([some, *rings]), theme)


def _is_level(color: Any) -> bool:
    """Whether a colour is a level, or the default one."""
    is_number = isinstance(color, int | np.integer) and not isinstance(color, bool)
    return color is None or is_number


def _check_positions(model: Any) -> Array:
    """Where the rows lie; raises for a model without a map in the plane."""
    from sklearn.utils.validation import check_is_fitted

    if hasattr(model, "get_params"):
        check_is_fitted(model)
    if not hasattr(model, "embedding_"):
        raise TypeError(
            "plot draws the map of a fitted model, as in nestmap.plot(HNNE().fit(X)); "
            f"got {type(model).__name__}"
        )
    positions = np.asarray(model.embedding_)
    if positions.ndim != 2 or positions.shape[1] != 2:
        raise ValueError(
            f"plot draws maps in the plane; this one has {positions.shape[1]} dimensions: "
            "use model.relayout(n_components=2)"
        )
    return positions


def _choose_level(model: Any, level: Any, color: Any) -> int:
    """The level that was asked for, else that of the colours, else that of the labels."""
    asked = color if level is None and _is_level(color) else level
    if asked is not None:
        return int(model.hierarchy_.check_level(asked))
    known = getattr(model, "label_level_", None)
    return int(model.hierarchy_.default_level() if known is None else known)


def _color_rows(
    model: Any,
    color: Any,
    number: int,
    shades: dict[int, Array],
    metadata: Any,
    X: Any,
    theme: Theme,
) -> RowColors:
    hierarchy: Hierarchy = model.hierarchy_
    if _is_level(color):
        own = number if color is None else hierarchy.check_level(color)
        colors = shades[own] if own in shades else color_levels(hierarchy, own, theme)[own]
        return RowColors(hierarchy.labels(own), colors)
    if isinstance(color, str) and color in QUALITIES:
        return color_by_quality(model, color, X, theme)
    return color_by_column(find_column(color, metadata, hierarchy.n_rows), theme)


def coarser_level(hierarchy: Hierarchy, level: int) -> int | None:
    """The level with the hues, if it has at least two clusters and clearly fewer than `level`."""
    above = hue_level(hierarchy, level)
    if above > level and 1 < hierarchy.level_sizes[above] <= hierarchy.level_sizes[level] / 1.5:
        return above
    return None


def _naming_facts(
    labels: Any,
    metadata: Any,
    texts: Any,
    names: Any,
    rows: RowColors,
    hierarchy: Hierarchy,
    level: int,
) -> tuple[Facts, Any]:
    """What clusters are named by, and `labels` where names are given."""
    if isinstance(labels, str):
        asked = find_column(labels, metadata, hierarchy.n_rows, "labels")
        return Facts((as_label(asked),)), True
    is_long = (
        hasattr(labels, "__len__")
        and len(labels) == hierarchy.n_rows != hierarchy.level_sizes[level]
    )
    if is_long and not isinstance(labels, Mapping | LevelDescription):
        return Facts((as_label(read_column("", labels, hierarchy.n_rows)),)), True
    if labels is not True:
        return Facts(), labels
    found = Facts.of(hierarchy.n_rows, metadata=metadata, texts=texts, names=names)
    if found or rows.column is None:
        return found, True
    return Facts((rows.column,)), True


def _draw_land(
    axes: Any,
    land: dict[int, list[list[Array]]],
    coarse: int | None,
    shades: dict[int, Array] | None,
    theme: Theme,
) -> None:
    """Clusters filled faintly and outlined, in own colours or grey; stronger for coarser ones."""
    from matplotlib.colors import to_rgb

    for level, rings in land.items():
        own = np.tile(to_rgb(theme.quiet), (len(rings), 1)) if shades is None else shades[level]
        faces, edges = (
            np.hstack([own[: len(rings)], np.full((len(rings), 1), a)]) for a in (0.08, 0.75)
        )
        if level == coarse:
            draw_outlines(axes, rings, faces, "none", 0, 1)
            draw_outlines(axes, rings, "none", (*to_rgb(theme.line), 0.6), 0.9, 4)
        else:
            draw_outlines(axes, rings, faces, edges, 0.7, 2)


def _draw_points(
    axes: Any, positions: Array, rows: RowColors, size: float | None, alpha: float | None
) -> None:
    """Dots whose area falls with the number of rows, in an order that favours no cluster."""
    n = len(positions)
    width, height = size_in_points(axes)
    room = width * height / 400_000
    area = float(np.clip(15 * room * (1800 / n) ** 0.55, 0.35, 40)) if size is None else size
    opacity = float(np.clip(1.15 - 0.1 * np.log10(n), 0.5, 0.9)) if alpha is None else alpha
    check_number("size", area, 1e-3, 1e6)
    check_number("alpha", opacity, 0, 1)
    order = np.random.RandomState(0).permutation(n)
    axes.scatter(
        *positions[order].T,
        c=rows.colors[rows.codes[order]],
        s=area,
        alpha=opacity,
        linewidths=0,
        rasterized=n > _RASTERIZED,
        zorder=3,
    )


def _draw_density(axes: Any, positions: Array, rows: RowColors) -> None:
    left, right = axes.get_xlim()
    bottom, top = axes.get_ylim()
    longer = max(right - left, top - bottom)
    width, height = (
        max(1, round(_PIXELS * side / longer)) for side in (right - left, top - bottom)
    )
    image = shade_points(
        positions, rows.colors, rows.codes, Window(left, right, bottom, top, width, height)
    )
    axes.imshow(
        image,
        extent=(left, right, bottom, top),
        origin="lower",
        interpolation="antialiased",
        zorder=3,
        aspect="equal",
    )
