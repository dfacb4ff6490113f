"""First neighbours of rows that exceed the memory of one worker: in parts, then across parts.

The result is the minimum by (distance, key, row), whatever the parts are and in whatever order
tasks end. It is that of one machine where every part that bounds do not rule out is asked
("exact"). In the approximate search rows near a border are guests of the parts beyond; sampled
rows, compared with all parts, tell its recall.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..core.points.duplicates import hash_points
from ..core.points.point_set import make_points
from ..method.hierarchy.build import (
    LevelItems,
    LevelStep,
    join_items,
    linked_step,
    merge_found,
)
from ..method.neighbors import Found
from ..method.neighbors.choice import Search, decide
from ..method.neighbors.metric import Metric
from ..method.run import Run
from .division import LISTED, number_of_parts, per_row
from .level_search import LevelSearch, MergeableNeighbors, SearchedItems
from .merge import PER_ITEM
from .phases import Phases
from .store import Store

_MOST_COLUMNS = 128  # reduced columns that the approximate search makes use of


@dataclass(frozen=True, eq=False)
class LevelsOnWorkers:
    """Joins rows, and nodes of levels too many for one worker, on the workers of a client."""

    phases: Phases
    store: Store  # of the rows
    room: int  # bytes of a part's working memory
    unit: float  # of the rows, as `power_of_two` finds it

    def join(self, items: LevelItems, metric: Metric, run: Run) -> LevelStep:
        """As `join_items`, which is called where one machine has room."""
        search = self._decide(items, metric, run) if run.plan.n_parts > 1 else None
        if search is None:
            return join_items(items, metric, run)
        done = self._find(items, metric, run, search)
        found = Found(done.neighbors, None, done.merge.division.reducer)
        if PER_ITEM * items.values.shape[0] <= self.room:
            done.merge.close()
            return merge_found(items, found, metric, run)
        nodes = done.merge(items.weights, items.dtype)
        step = linked_step(items, found, nodes.members)
        is_top = items.k and len(nodes.sizes) == 1
        return step if is_top else step.with_nodes(nodes.centroids, nodes.sizes)

    def _decide(self, items: LevelItems, metric: Metric, run: Run) -> Search | None:
        """How the items are searched in parts; None if one machine has room."""
        if self._parts(items, "approximate") < 2:  # whatever the method
            return None
        search = decide(items.values, metric.name, run.plan.search(items.k))
        if self._parts(items, search.method) < 2:
            return None
        if search.method == "exact":
            return search
        columns = min(search.columns, _MOST_COLUMNS)
        return replace(search, columns=columns, n_listed=min(search.n_listed, LISTED))

    def _find(
        self, items: LevelItems, metric: Metric, run: Run, search: Search
    ) -> MergeableNeighbors:
        """First neighbours of the items, and what can join them to nodes."""
        k = items.k
        hashes = items.known.hashes
        store = self.store
        if k:
            store = store.beside(f"level-{k}", items.values)
            hashes = hash_points(items.values, run.n_threads)
        assert hashes is not None
        level = LevelSearch(self.phases, store, f"level {k}", search, store is not self.store)
        unit = None if k else self.unit
        points = make_points(items.values, metric.name, n_threads=run.n_threads, unit=unit)
        some = SearchedItems(points, items.keys, hashes)
        return level.find(some, self._parts(items, search.method), items.reducer, run)

    def _parts(self, items: LevelItems, method: str) -> int:
        n, width = items.values.shape
        return number_of_parts(n, per_row(n, width, items.values.dtype, method), self.room, method)


def is_searched(metric: Metric, method: str) -> bool:
    """Whether parts can be searched: metrics with kernels, where neighbours are not given."""
    return method in ("exact", "approximate") and metric.has_kernels
