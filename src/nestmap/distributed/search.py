"""First neighbours of rows that exceed the memory of one worker: in parts, then across parts.

The result is the minimum by (distance, key, row), whatever the parts are and in whatever order
tasks end. It is that of one machine where every part that bounds do not rule out is asked
("exact"). In the approximate search rows near a border are guests of the parts beyond; sampled
rows, compared with all parts, tell its recall.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from ..core.arrays import Array
from ..core.points.duplicates import hash_points
from ..core.points.point_set import make_points
from ..core.points.reduce import Reducer
from ..method.neighbors import Found
from ..method.neighbors.choice import decide
from ..method.neighbors.metric import Metric
from ..method.run import Run
from .division import LISTED, number_of_parts, per_row
from .level_search import LevelItems, LevelSearch
from .merge import PER_ITEM
from .phases import Phases
from .store import Store

_MOST_COLUMNS = 128  # reduced columns that the approximate search makes use of


@dataclass(frozen=True, eq=False)
class ClusterSearch:
    """Searches rows, and nodes of levels too many for one worker, on the workers of a client."""

    phases: Phases
    store: Store  # of the rows
    room: int  # bytes of a part's working memory
    n_parts: int  # of the rows, about
    unit: float  # of the rows, as `power_of_two` finds it

    def __call__(
        self,
        metric: Metric,
        run: Run,
        k: int,
        items: Any,
        keys: Array,
        hashes: Array | None,
        reducer: Reducer | None,
    ) -> Found | None:
        """First neighbours of items below level k; None if one machine has room (see `Finder`)."""
        if self._parts(items, "approximate") < 2:  # whatever the method
            return None
        search = decide(items, metric.name, run.search(k))
        n_parts = self._parts(items, search.method)
        if n_parts < 2:
            return None
        if search.method != "exact":
            columns = min(search.columns, _MOST_COLUMNS)
            search = replace(search, columns=columns, n_listed=min(search.n_listed, LISTED))
        store = self.store
        if k:
            store = store.beside(f"level-{k}", items)
            hashes = hash_points(items, run.n_threads)
        assert hashes is not None
        level = LevelSearch(self.phases, store, f"level {k}", search, store is not self.store)
        unit = None if k else self.unit
        points = make_points(items, metric.name, n_threads=run.n_threads, unit=unit)
        done = level.find(LevelItems(points, keys, hashes), n_parts, reducer, run)
        found = Found(done.neighbors, None, done.merge.division.reducer)
        if PER_ITEM * store.n > self.room:
            return replace(found, merge=done.merge)
        done.merge.close()
        return found

    def _parts(self, items: Any, method: str) -> int:
        n, width = items.shape
        return number_of_parts(n, per_row(n, width, items.dtype, method), self.room, method)


def is_searched(metric: Metric, method: str) -> bool:
    """Whether parts can be searched: metrics with kernels, where neighbours are not given."""
    return method in ("exact", "approximate") and metric.has_kernels
