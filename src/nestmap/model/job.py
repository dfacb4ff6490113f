"""What the memory and the time of a fit depend on."""

from __future__ import annotations

from dataclasses import dataclass

from ..method.layout import SETTINGS
from ..method.neighbors.effort import TABLE
from ..method.neighbors.item_graph import MOST_NODES, MOST_ROWS
from ..method.neighbors.metric import Metric


@dataclass(frozen=True)
class Graphs:
    """Neighbour graphs that a fit searches, for the tree and for the islands' forces.

    Each is one of 'rows', of 'nodes', or '' if there is none; the two may share one.
    """

    tree: str = ""
    forces: str = ""

    @classmethod
    def of(cls, n: int, metric: Metric, kind: str, lists: bool, detail: str | None) -> Graphs:
        """Of n rows.

        `kind`: of the tree; `lists`: of neighbours are given; `detail`: of islands, None for
        others.
        """
        usual = "rows" if n <= MOST_ROWS else "nodes"
        tree = "rows" if metric.takes_distances else usual
        if kind != "graph" or lists:
            tree = ""
        if detail is None:
            return cls(tree)
        is_known = metric.changes_rows or metric.has_kernels
        if is_known and (tree == "rows" or (tree and detail != "rows")):
            return cls(tree)
        return cls(tree, "rows" if detail == "rows" else usual)


@dataclass(frozen=True)
class Job:
    """A fit as far as its memory and its time depend on it."""

    n: int  # rows
    n_features: int
    method: str  # of the search of the rows
    columns: int  # reduced columns that are kept per row
    layout: str  # the kind of its settings; '' for no map
    detail: str = "leaves"  # the finest that forces act on
    share: float = 1.0  # of all pairs, those that an exact search has to bound
    is_callable: bool = False  # the metric
    graphs: Graphs = Graphs()
    communities: bool = False  # above the leaves
    n_components: int = 2
    is_local: bool = True  # the arrangement
    n_listed: int = TABLE.longest_list  # rows that an approximate search may list per row
    values_per_row: int | None = None  # of a CSR matrix
    table: int = 0  # bytes of the centroids of level 0
    on_disk: bool = False  # these

    @property
    def has_forces(self) -> bool:
        """Whether forces lay the map out, along a neighbour graph."""
        return bool(self.layout) and SETTINGS[self.layout].has_forces

    @property
    def n_values(self) -> int:
        """Stored values per row."""
        return self.n_features if self.values_per_row is None else self.values_per_row


def n_items(graph: str, n: int, leaves: float) -> float:
    """Items of a graph of n rows with so many leaves per row."""
    return {"": 0.0, "rows": float(n), "nodes": min(leaves * n, float(MOST_NODES))}[graph]
