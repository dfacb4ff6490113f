"""The best neighbour of each row so far, whatever part it was found in."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..core.arrays import Array
from ..core.nearest import is_nearer
from .tasks import Answers


@dataclass(frozen=True, eq=False)
class Best:
    """The best neighbour of each row so far, by places in the order of parts."""

    order: Array
    keys: Array
    squared: Array
    ids: Array

    @classmethod
    def of(cls, order: Array, hashes: Array) -> Best:
        return cls(
            order,
            hashes[order],
            np.full(len(order), np.inf),
            np.full(len(order), -1, dtype=np.int64),
        )

    def places(self, rows: Array) -> Array:
        """Where rows of X are."""
        found = np.empty_like(self.order)
        found[self.order] = np.arange(len(found))
        return found[rows]

    def offer(self, found: Answers) -> None:
        """Take what is nearer; of equal distances the lowest key, then the first row."""
        rows = found.rows
        ids = found.ids
        old = self.ids[rows]
        first = np.where(old < 0, -1, self.order[old])
        take = is_nearer(
            found.squared,
            self.keys[ids],
            self.order[ids],
            np.where(old < 0, np.inf, self.squared[rows]),
            self.keys[old],
            first,
        )
        self.squared[rows[take]] = found.squared[take]
        self.ids[rows[take]] = ids[take]

    def ordered(self, order: Array) -> Best:
        """The same in the order of other parts."""
        at = self.places(order)
        new = Best(order, self.keys[at], self.squared[at], self.ids[at])
        return replace(new, ids=np.where(new.ids < 0, -1, new.places(self.order[new.ids])))

    def by_rows(self) -> tuple[Array, Array]:
        """Neighbours and distances in the order of X."""
        ids = np.empty_like(self.ids)
        squared = np.empty_like(self.squared)
        ids[self.order] = self.order[self.ids]
        squared[self.order] = self.squared
        return ids, squared
