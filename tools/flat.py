"""Models from flat parameters: those of a layout beside those of `HNNE`, as JSON has them."""

from __future__ import annotations

from typing import Any

from nestmap import HNNE, Descent, Islands, Mosaic

HOMES: dict[str, Any] = {"islands": Islands, "descent": Descent, "mosaic": Mosaic}
OF_ISLANDS = {"tightness", "detail"}
OF_LAYOUTS = OF_ISLANDS | {"radius", "arrangement", "preliminary", "inflate", "random_state"}


def flat(**parameters: Any) -> dict[str, Any]:
    """Parameters of `HNNE`, with those of its layout in settings.

    A seed, and defaults, that the layout does not have are left out.

    Examples
    --------
    >>> flat(metric="cosine", radius=0.2)
    {'metric': 'cosine', 'layout': Descent(radius=0.2)}
    """
    own = {name: parameters.pop(name) for name in [*parameters] if name in OF_LAYOUTS}
    layout = parameters.get("layout", "auto")
    if layout == "auto" and own.keys() - {"random_state"}:
        layout = "islands" if own.keys() & OF_ISLANDS else "descent"
    if layout in HOMES and own:
        known = HOMES[layout]().get_params()
        idle = {**Islands().get_params(), **Descent().get_params()}
        idle["random_state"] = own.get("random_state")
        kept = {k: v for k, v in own.items() if k in known or not is_same(v, idle[k])}
        parameters["layout"] = HOMES[layout](**kept)
    return parameters


def is_same(value: Any, default: Any) -> bool:
    return type(value) is type(default) and bool(value == default)


def make_hnne(*arguments: Any, **parameters: Any) -> HNNE:
    """`HNNE` from such parameters."""
    return HNNE(*arguments, **flat(**parameters))
