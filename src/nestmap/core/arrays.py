"""The array type, and ways to cut rows and groups into pieces."""

from __future__ import annotations

from dataclasses import fields
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
BLOCK_VALUES = 4_000_000  # values in a temporary block: 32 MB


def blocks(n: int, width: int, values: int | None = None) -> list[slice]:
    """Slices that cover n rows, with at most `values` values each in rows of this width.

    Examples
    --------
    >>> blocks(5, 10, values=20)
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
    step = max(1, (BLOCK_VALUES if values is None else values) // max(1, width))
    return [slice(i, min(n, i + step)) for i in range(0, n, step)]


def runs(starts: Array, size: int, alone: int | None = None) -> list[slice]:
    """Consecutive groups (group g is starts[g]:starts[g + 1]) with about `size` members in total.

    Groups of more than `alone` members are runs of their own.

    Examples
    --------
    >>> runs(np.array([0, 2, 4, 9]), 4)
    [slice(0, 2, None), slice(2, 3, None)]
    >>> runs(np.array([0, 2, 9, 10]), 10, alone=5)
    [slice(0, 1, None), slice(1, 2, None), slice(2, 3, None)]
    """
    cuts = np.searchsorted(starts, np.arange(0, starts[-1], max(1, size)))
    large = (
        np.empty(0, dtype=np.int64) if alone is None else np.flatnonzero(np.diff(starts) > alone)
    )
    cuts = np.unique(np.concatenate([cuts, large, large + 1, [len(starts) - 1]]))
    return [slice(int(a), int(b)) for a, b in pairwise(cuts)]


def brief_repr(thing: Any) -> str:
    """The repr of a dataclass that holds arrays, these by type and shape only: at most a screen.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> @dataclass(repr=False)
    ... class Pair:
    ...     name: str
    ...     values: Array
    ...     __repr__ = brief_repr
    >>> Pair("squares", np.arange(10) ** 2)
    Pair(name='squares', values=int64[10])
    """
    told = (f"{f.name}={_brief(getattr(thing, f.name))}" for f in fields(thing) if f.repr)
    return f"{type(thing).__name__}({', '.join(told)})"


def _brief(value: Any) -> str:
    if hasattr(value, "shape") and hasattr(value, "dtype"):
        return f"{value.dtype}[{', '.join(map(str, value.shape))}]"
    if isinstance(value, tuple) and len(value) > 4:
        return f"({', '.join(map(_brief, value[:4]))}, … {len(value) - 4} more)"
    if isinstance(value, tuple):
        return f"({', '.join(map(_brief, value))})"
    return repr(value)
