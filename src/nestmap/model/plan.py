"""What a fit will need, before it starts: memory, disk, and the way to find neighbours."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field, replace
from math import nan
from pathlib import Path
from typing import Any

from scipy import sparse

from ..core.input.memory import Budget, format_size
from ..core.input.validate import work_dtype
from ..core.points.reduce import ALL_COLUMNS, MOST_COLUMNS, MOVED, sample_size
from ..core.progress import Progress, in_seconds
from ..errors import MemoryBudgetError
from ..method.arrangement import MOST_LOCAL, n_columns
from ..method.neighbors.choice import Search, columns_for, decide
from ..method.neighbors.effort import (
    TABLE,
    cell_size,
    exact_columns,
    list_bytes,
    list_lengths,
    longest_list,
)
from ..method.neighbors.metric import EUCLIDEAN, Metric
from ..method.neighbors.prepared import ROWS_WITH_PANELS
from ..method.run import Run
from .costs import Graphs, Job, expected_share, faster_ways, n_items, predict_costs

# level-0 nodes per row, at most, about: pairs alone would give 0.5, real data give 0.15 to 0.22
_LEAVES = 0.25
_FIXED = 150_000_000  # the interpreter, libraries, blocks in flight
_CHOICES = (384, 256, 128, 64, 48, 32, 16)
_PER_ITEM = 30 * 8  # bytes of a neighbour graph
_PER_NODE = 2 * 50 * 12 + 200  # of the islands: weights both ways while they are added, grid
# of communities: links while they are added, and what leaves take
_PER_LINK = 60
_LINKS = 15
_PER_COMMUNITY = 1500
_OF_ROWS = ("short rows", "directions", "first neighbours")  # stages of the search of the rows
_LONG = 10.0  # seconds: of fits that take longer even a silent one speaks, once
ON_DISK = 1 / 8  # of the budget: larger tables of centroids go to disk


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


@dataclass(frozen=True)
class Plan:
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
    """

    n_rows: int
    n_features: int
    method: str
    columns: int
    memory: int
    budget: int
    disk: int = 0
    smallest: int = 0
    stages: dict[str, int] = field(default_factory=dict)
    exact_pairs: float = nan
    n_listed: int = 0
    stage_seconds: dict[str, float] = field(default_factory=dict)
    faster: dict[str, float] = field(default_factory=dict)
    cluster: ClusterPlan | None = None

    @property
    def seconds(self) -> float:
        """Time of the fit, roughly: docs/scale.md compares it with measurements."""
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


def plan_fit(
    X: Any,
    metric: Metric,
    options: Search,
    *,
    n_components: int,
    local: bool,
    given: bool,
    budget: Budget,
    n_rows: int | None = None,
    detail: str | None = None,
    layout: str = "",
    n_threads: int = 1,
    kind: str = "first_neighbors",
    lists: bool = False,
) -> Plan:
    """Method and memory of a fit on validated rows; reads at most 20,000 of them.

    `n_components`: of the map, 0 for none. `n_rows`: of the fit, where X is only a sample of them.
    `detail`: of the islands; None for other layouts. `layout`: '' for none. `kind`: of the tree;
    `lists`: whole lists are given.

    Reduced columns decide what an approximate search finds. They follow from the data and from a
    max_memory that was given; the memory that happens to be free must not change the map.
    """
    n = n_rows or X.shape[0]
    n_features = X.shape[1]
    method, exact_pairs, most = _method(X, metric, options, given, n)
    whole = -(-n_features // 16) * 16
    # few columns are all kept
    most = min(most, whole)
    least = whole if n_features <= 64 else 16
    if sparse.issparse(X):
        # of centroids: at most the values of all rows
        table = int(X.data.nbytes + X.indices.nbytes)
    else:
        table = int(_LEAVES * n) * n_features * work_dtype(X.dtype).itemsize
    longest = longest_list(n)
    graphs = Graphs.of(n, metric, kind, lists, detail)
    plans = [
        _estimate(
            n,
            n_features,
            method,
            columns,
            n_listed,
            n_components,
            local,
            table,
            disk,
            detail,
            graphs,
            kind,
        )
        for disk in ((False,) if sparse.issparse(X) else (False, True))
        for columns in dict.fromkeys(max(least, min(c, most)) for c in _CHOICES)
        for n_listed in list_lengths()
        if n_listed <= longest
    ]
    allowed = plans
    if not budget.given:
        allowed = [
            p
            for p in plans
            if p.n_listed == longest and (method != "approximate" or p.columns == most)
        ]
    smallest = min(p.memory for p in allowed)
    small = table <= ON_DISK * budget.size or sparse.issparse(X)  # a CSR table stays in memory
    fitting = [p for p in allowed if p.memory <= budget.size and (p.disk or small)]
    if not fitting:
        raise _refusal(f"{n} x {n_features} rows", budget, smallest, min(p.memory for p in plans))
    plan = replace(fitting[0], budget=budget.size, smallest=smallest, exact_pairs=exact_pairs)
    job = Job(
        n,
        n_features if not sparse.issparse(X) else max(1, X.nnz // X.shape[0]),
        method,
        plan.columns,
        layout,
        detail or "leaves",
        expected_share(X, metric, n, exact_pairs),
        metric.is_function,
        graphs,
        kind == "graph",
    )
    return replace(
        plan, stage_seconds=predict_costs(job, n_threads), faster=faster_ways(job, n_threads)
    )


def _refusal(what: str, budget: Budget, smallest: int, least: int) -> MemoryBudgetError:
    """The error of a budget that is too small.

    `least` would do for a search that keeps less, if it were given.
    """
    ways = [f"give max_memory={_for_argument(smallest)} or more"]
    if least < smallest:
        ways.append(
            f"{_for_argument(least)} or more for a search that keeps less of each row and may "
            "find less"
        )
    return MemoryBudgetError(
        f"max_memory: a fit of {what} needs about {format_size(smallest)} beyond X, and the "
        f"budget is {format_size(budget.size)}; {', or '.join([*ways, 'fewer rows'])}"
    )


def _for_argument(size: int) -> str:
    return repr(format_size(1.1 * size).replace(" ", ""))


def expect(plan: Plan, progress: Progress) -> None:
    """Tell progress what to expect; say so, once, if a fit that tells nothing will take long."""
    progress.expect(plan.stage_seconds)
    if plan.seconds > _LONG and progress.is_silent:
        logging.getLogger("nestmap").warning(plan.warning())


def make_run(
    plan: Plan, options: Search, n_threads: int, progress: Progress, folder: Path | None
) -> Run:
    """The plan's decisions as the stages take them; `options` are what was asked for."""
    nodes = replace(options, columns=plan.columns, n_listed=plan.n_listed or options.n_listed)
    resolved = options.method == "auto" and plan.method in ("exact", "approximate")
    rows = replace(nodes, method=plan.method, exact_pairs=plan.exact_pairs) if resolved else nodes
    return Run(n_threads, progress, rows, nodes, folder, plan.disk > 0)


def _method(X: Any, metric: Metric, options: Search, given: bool, n: int) -> tuple[str, float, int]:
    """The way's name, the exact one's pairs if it had to be asked for, and columns to keep."""
    if given:
        return "given", nan, exact_columns(n)
    if metric.changes_rows:  # euclidean after a change of the rows
        return _method(metric.rows(X), EUCLIDEAN, options, given, n)
    if not metric.has_kernels:
        return "brute force", nan, exact_columns(n)
    chosen = decide(X, metric.name, options, n)
    columns = (
        columns_for(X, metric.name, n, options.target_recall)
        if chosen.method == "approximate"
        else exact_columns(n)
    )
    return chosen.method, chosen.exact_pairs, columns


def _estimate(
    n: int,
    n_features: int,
    method: str,
    columns: int,
    n_listed: int,
    d: int,
    local: bool,
    table: int,
    on_disk: bool,
    detail: str | None,
    graphs: Graphs,
    kind: str,
) -> Plan:
    """Bytes per stage, from what the stages keep per row (docs/scale.md)."""
    short = 4.5 * columns + 4  # a short row, its tails and size
    kept = 32  # hashes and their order, members, links
    head = (
        min(columns, 96)
        if method == "exact"
        else min(columns, 64)
        if columns <= ALL_COLUMNS
        else 0.8 * columns
    )
    panels = 4 * (head + 2) * 1.2  # cells are not multiples of a panel
    if method == "exact":
        search = n * (panels + 24)
    else:
        search = n * list_bytes(n_listed) + min(n, ROWS_WITH_PANELS) * panels
    n_cells = 0 if method == "exact" else n / cell_size(n)
    sample = sample_size(n, n_features)
    leaves = _LEAVES * n
    p = n_columns(n, n_features) if local and d <= MOST_LOCAL else d
    stages = {
        "short rows": n * (kept + short + 0.5 * columns + 4 * MOVED + 16),
        "directions": n * kept + 16 * sample * n_features + 24 * n_features * min(columns, sample),
        "first neighbours": n * (kept + short + 24)
        + search
        + 4 * n_cells * min(n_cells, TABLE.near_cells),
        "centroids": n * (kept + 48) + (0 if on_disk else table),
        "layout": n * (kept + 16 + 8 * d * 4)
        + leaves * 4 * p * (d + 3)
        + (0 if on_disk else table),
    }
    if detail is not None:
        items = n_items("rows" if detail == "rows" else graphs.tree or graphs.forces, n, _LEAVES)
        stages["islands"] = stages["layout"] + items * (_PER_NODE + _PER_ITEM)
    stages |= _graph_stages(n, n_features, stages["centroids"], graphs, kind == "graph")
    if graphs.tree == "rows" and method == "exact" and columns >= min(MOST_COLUMNS, n_features):
        stages["graph"] += n * short  # of the join, which are made before (neighbors/shared.py)
    if d == 0:
        del stages["layout"]
    if method in ("given", "brute force"):
        stages = {k: v for k, v in stages.items() if k not in _OF_ROWS}
    graph = n_items(graphs.tree, n, _LEAVES) * _PER_ITEM  # kept to the end
    later = ("centroids", "communities", "layout")
    stages = {
        k: v + (graph if k in later or (k in _OF_ROWS and graphs.tree == "rows") else 0)
        for k, v in stages.items()
    }
    whole = {k: int(v) + _FIXED for k, v in stages.items()}
    return Plan(
        n,
        n_features,
        method,
        columns,
        max(whole.values()),
        0,
        table if on_disk else 0,
        0,
        whole,
        n_listed=n_listed,
    )


def _graph_stages(
    n: int, n_features: int, centroids: float, graphs: Graphs, communities: bool
) -> dict[str, float]:
    """Bytes of the search of neighbour graphs, and of communities; `centroids`: of their nodes."""
    found: dict[str, float] = {}
    if graphs.tree or graphs.forces:
        items = max(n_items(graph, n, _LEAVES) for graph in (graphs.tree, graphs.forces))
        short = 5 * min(TABLE.usual_columns, -(-n_features // 16) * 16) + 4 * MOVED + 44
        panels = 4 * 66 * 1.2
        each = (
            short + list_bytes(TABLE.longest_list) + 2 * _PER_ITEM
        )  # lists, and neighbours in float64
        found["graph"] = centroids + items * each + min(items, ROWS_WITH_PANELS) * panels
    if communities:
        items = n_items(graphs.tree or "rows", n, _LEAVES)
        found["communities"] = (
            centroids + items * _LINKS * _PER_LINK + n_items("nodes", n, _LEAVES) * _PER_COMMUNITY
        )
    return found
