"""Which layouts there are, and what users may say to choose one."""

from __future__ import annotations

from typing import Any

from ...core.habits import did_you_mean
from .base import LayoutSettings
from .descent import Descent
from .islands.settings import Islands
from .mosaic import Mosaic

SETTINGS: dict[str, type[LayoutSettings]] = {each.kind: each for each in (Islands, Descent, Mosaic)}
LAYOUTS = ("auto", *SETTINGS)


def layout_settings(layout: Any, n_components: int) -> LayoutSettings:
    """The settings that `HNNE(layout=…)` stands for: a settings object, or a short form of one.

    Examples
    --------
    >>> layout_settings("auto", 2), layout_settings("auto", 3)
    (Islands(), Descent())
    """
    if isinstance(layout, LayoutSettings):
        return layout
    if isinstance(layout, str) and layout in LAYOUTS:
        if layout == "auto":
            layout = "islands" if n_components == 2 else "descent"
        return SETTINGS[layout]()
    hint = did_you_mean(layout, LAYOUTS) if isinstance(layout, str) else ""
    raise ValueError(
        f"layout={str(layout)[:60]!r} is not an option{hint}; use one of "
        f"{', '.join(map(repr, LAYOUTS))}, or settings such as Descent(radius=0.2)"
    )
