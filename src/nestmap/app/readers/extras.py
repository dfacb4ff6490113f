"""Libraries that are not part of a plain install."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def require(name: str, path: Any) -> Any:
    """A module that a file needs, or an error that says how to get it."""
    try:
        return import_module(name)
    except ImportError as error:
        raise ImportError(
            f"{path} is read with {name}: pip install 'nestmap[files]' (or pip install {name})"
        ) from error
