"""Several layouts of one hierarchy side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .backend import new_axes
from .colors import get_theme
from .map import plot


def plot_layouts(
    model: Any,
    layouts: Sequence[str] | Mapping[str, Any] = ("islands", "mosaic", "descent"),
    color: Any = None,
    *,
    theme: str = "light",
    axes: Any = None,
    **options: Any,
) -> Any:
    """Draw maps of one model beside each other, in the same colours.

    Parameters
    ----------
    model : HNNE
        With its training rows, or with maps given.
    layouts : sequence of str, or dict of title to model
        Layouts that `relayout` makes, or maps that are there.
    color, theme, **options
        As in `plot`.
    axes : sequence of matplotlib Axes, optional

    Returns
    -------
    array of matplotlib Axes

    Examples
    --------
    >>> import nestmap
    >>> from sklearn.datasets import load_digits
    >>> model = nestmap.HNNE().fit(load_digits().data)
    >>> axes = nestmap.plot_layouts(model, ["islands", "mosaic"])
    """
    look = get_theme(theme)
    if not isinstance(layouts, Mapping):
        layouts = {
            name: model if _has(model, name) else model.relayout(layout=name) for name in layouts
        }
    if axes is None:
        axes = new_axes(look, 6.5, 6.8, len(layouts))
    axes = [axes] if len(layouts) == 1 and not hasattr(axes, "__len__") else axes
    for i, (ax, (name, each)) in enumerate(zip(axes, layouts.items(), strict=True)):
        own = {"title": name, "legend": i == len(layouts) - 1, **options}  # one says it for all
        plot(each, color, theme=theme, ax=ax, **own)
    return axes


def _has(model: Any, layout: str) -> bool:
    return getattr(getattr(model, "layout_", None), "kind", None) == layout
