"""Answers that were given last, up to a number of bytes."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable
from typing import Generic, TypeVar

T = TypeVar("T")


class Kept(Generic[T]):
    """Values by key; those used least recently go when there are too many bytes.

    Examples
    --------
    >>> kept = Kept[str](10)
    >>> kept.put(1, "one", 4)
    >>> kept.put(2, "two", 4)
    >>> kept.get(1), kept.put(3, "three", 6), kept.get(2)
    ('one', None, None)
    """

    def __init__(self, most_bytes: int) -> None:
        self._most = most_bytes
        self._bytes = 0
        self._values: OrderedDict[Hashable, tuple[T, int]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Hashable) -> T | None:
        with self._lock:
            if key not in self._values:
                return None
            self._values.move_to_end(key)
            return self._values[key][0]

    def put(self, key: Hashable, value: T, n_bytes: int) -> None:
        with self._lock:
            if key in self._values:
                self._bytes -= self._values.pop(key)[1]
            self._values[key] = (value, n_bytes)
            self._bytes += n_bytes
            while self._bytes > self._most and self._values:
                self._bytes -= self._values.popitem(last=False)[1][1]
