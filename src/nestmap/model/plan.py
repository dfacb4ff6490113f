"""What was decided for a fit, and what it will need by prediction."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..core.input.memory import format_size
from ..core.progress import in_seconds
from ..method.neighbors.item_graph import MOST_NODES, MOST_ROWS
from ..method.neighbors.metric import Metric
from ..method.run import Decided


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
class ClusterPlan:
    """What a fit of a dask array needs on the workers.

    Attributes
    ----------
    n_parts : int
        Parts that the rows are searched in, at most; 1: the client finds the neighbours by itself.
    memory : int
        Bytes per thread of a worker, by estimate.
    disk : int
        Bytes of files in the folder that the client and the workers share; 0: none is needed.
    tasks : dict
        Tasks per phase, without those that read the chunks of X; how many rounds of "jump" there
        are is a guess.
    moved : dict
        Bytes that the tasks of each phase read from and write to that folder (or send to the
        client), at least: rows that ask other parts, or are their guests, come on top. Nobody knows
        their number before.
    """

    n_parts: int
    memory: int
    disk: int
    tasks: dict[str, int]
    moved: dict[str, int]

    def __str__(self) -> str:
        tasks = ", ".join(f"{n} {phase}" for phase, n in self.tasks.items())
        return (
            f"on a cluster: {self.n_parts} parts, about {format_size(self.memory)} per thread of "
            f"a worker, {format_size(self.disk)} of shared files, "
            f"{format_size(sum(self.moved.values()))} moved, tasks: {tasks}"
        )


@dataclass(frozen=True, kw_only=True)
class Plan(Decided):
    """The plan of a fit.

    Attributes
    ----------
    n_rows, n_features : int
    method : str
        How the neighbours of the rows will be found: 'exact', 'approximate', 'brute force', or
        'given'.
    columns : int
        Reduced columns kept per row.
    memory : int
        Bytes beyond X at the worst moment, by estimate.
    budget : int
        Bytes that max_memory allows.
    disk : int
        Bytes of temporary files (in work_dir, if there is one): centroids that memory has no room
        for.
    smallest : int
        The smallest max_memory that this fit could run with.
    stages : dict
        Bytes per stage.
    n_listed : int
        Rows that an approximate search may list per row.
    exact_pairs : float
        Pairs of rows that an exact search would have to bound, by prediction; NaN where that was
        not asked.
    stage_seconds : dict
        Seconds per kind of stage, and `seconds` in all: rough.
    faster : dict
        What would be faster by a third at least, and the seconds that it would take.
    cluster : ClusterPlan or None
        For dask arrays: what the workers need. `memory` and `seconds` are those of one machine
        then.
    graphs : Graphs
        Neighbour graphs that will be searched.
    share : float
        Of all pairs of rows, those that an exact search has to bound.
    values_per_row : int or None
        Stored values of a CSR matrix.
    table : int
        Bytes of the centroids of level 0.
    """

    n_rows: int
    n_features: int
    memory: int = 0
    budget: int = 0
    smallest: int = 0
    stages: dict[str, int] = field(default_factory=dict)
    stage_seconds: dict[str, float] = field(default_factory=dict)
    faster: dict[str, float] = field(default_factory=dict)
    cluster: ClusterPlan | None = None
    graphs: Graphs = Graphs()
    share: float = 1.0
    values_per_row: int | None = None
    table: int = 0

    @property
    def n_parts(self) -> int:
        """Parts that the rows are searched in: an approximate search finds by them."""
        return 1 if self.cluster is None else self.cluster.n_parts

    @property
    def n_values(self) -> int:
        """Stored values per row."""
        return self.n_features if self.values_per_row is None else self.values_per_row

    @property
    def seconds(self) -> float:
        """Time of the fit, roughly (docs/use/scale.md)."""
        return sum(self.stage_seconds.values())

    def __str__(self) -> str:
        text = (
            f"{self.n_rows} x {self.n_features}: {self.method} neighbours, {self.columns} "
            f"reduced columns, about {format_size(self.memory)} of memory beyond X (budget "
            f"{format_size(self.budget)}"
        )
        text += f", smallest {format_size(self.smallest)})"
        if self.disk:
            text += f", {format_size(self.disk)} of temporary files"
        text += f"; roughly {in_seconds(self.seconds)}" if self.stage_seconds else ""
        return f"{text}; {self.cluster}" if self.cluster else text

    def warning(self) -> str:
        """What to expect of a long fit, and what would be faster."""
        ways = [f"{name} {in_seconds(seconds)}" for name, seconds in self.faster.items()]
        return (
            f"nestmap: a fit of {self.n_rows:,} x {self.n_features:,} takes roughly "
            f"{in_seconds(self.seconds)} here (verbose=1 shows its progress)"
            + (f"; faster: {', '.join(ways)}" if ways else "")
        )


def n_items(graph: str, n: int, leaves: float) -> float:
    """Items of a graph of n rows with so many leaves per row."""
    return {"": 0.0, "rows": float(n), "nodes": min(leaves * n, float(MOST_NODES))}[graph]
