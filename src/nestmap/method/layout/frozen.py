"""Values whose arrays cannot be changed in place."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self

import numpy as np

from ...core.arrays import Array, brief_repr


class Frozen:
    """Base of frozen dataclasses: marks their arrays as read-only, also after unpickling."""

    def __init_subclass__(cls) -> None:
        type.__setattr__(cls, "__repr__", brief_repr)  # dataclasses keep one that is there

    def __post_init__(self) -> None:
        for value in vars(self).values():
            for part in value if isinstance(value, tuple) else (value,):
                if isinstance(part, np.ndarray):
                    part.setflags(write=False)

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.__post_init__()


class PerNode(Frozen):
    """Base of those whose arrays have an entry for each node of a level."""

    def take(self, nodes: Array) -> Self:
        """Some of the nodes."""
        own = {name: value for name, value in vars(self).items() if isinstance(value, np.ndarray)}
        arrays = {name: value[nodes] for name, value in own.items()}
        return replace(self, **arrays)  # type: ignore[type-var]
