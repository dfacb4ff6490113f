"""Seconds that a fit will take, by stage.

Rough, from measurements on two cores with AVX2 (docs/use/scale.md).

Most stages are linear in the rows. What varies is the search for neighbours: a trial on a few rows
says how much of it bounds can rule out.
"""

from __future__ import annotations

from dataclasses import replace
from math import sqrt
from typing import Any

import numpy as np

from ..core.native import core
from ..method.layout import SETTINGS
from ..method.layout.islands.schedule import SCHEDULE
from ..method.neighbors.choice import pair_share
from ..method.neighbors.effort import TABLE, longest_list
from ..method.neighbors.item_graph import FEW_ROWS, MOST_NODES, MOST_ROWS
from ..method.neighbors.metric import Metric
from .job import Graphs, Job, n_items

FEW = 30_000  # rows: fits of fewer take seconds, and no trial is worth it
_TRIALS = (500, 2000)  # rows: how the share of pairs that are left falls with their number
_STEEPEST = -0.8  # of the fall
# rows up to which no trial tells the fall: that of images is taken
_SOME = 100_000
_USUAL = -0.6
# of matrix products in float64 and float32, on one core
_FLOPS = 2.5e10
_SINGLE_FLOPS = 6e10
_LEAVES = 0.15  # level-0 nodes per row
_TWIN = 30  # times: without compiled kernels


def expected_share(X: Any, metric: Metric, n: int, predicted: float = np.nan) -> float:
    """The share of pairs that an exact search of n rows like these has to bound.

    `predicted`: pairs of that search, if the choice of the method has asked for them.
    """
    if n <= FEW or not metric.has_kernels or core() is None:
        return 1.0
    if n <= _SOME and not np.isnan(predicted):
        return float(np.clip(2 * predicted / float(n) ** 2 * (n / _TRIALS[0]) ** _USUAL, 1e-4, 1.1))
    few, more = (pair_share(X, metric.name, size) for size in _TRIALS)
    slope = np.log(max(more, 1e-6) / max(few, 1e-6)) / np.log(_TRIALS[1] / _TRIALS[0])
    return float(np.clip(more * (n / _TRIALS[1]) ** np.clip(slope, _STEEPEST, 0.0), 1e-4, 1.1))


def predict_costs(job: Job, n_threads: int) -> dict[str, float]:
    """Seconds of each kind of stage, in their order."""
    costs = _tree_costs(job)
    if job.layout:
        values = job.n * job.n_values
        costs |= {"preliminary": 0.02 + 1e-9 * values, "arrangement": 2e-9 * values}
    if job.has_forces:
        costs |= _island_costs(job)
    elif job.layout:
        costs["layout"] = SETTINGS[job.layout].seconds_per_row * job.n
    speedup = max(1, n_threads) ** 0.9 / (1 if core() is not None else _TWIN)
    return {kind: cost / speedup for kind, cost in costs.items()}


def _tree_costs(job: Job) -> dict[str, float]:
    """The tree on one core.

    A graph of rows is found before first neighbours, one of nodes when these are known.
    """
    values = job.n * job.n_values
    search = _search_cost(job)
    costs = {"reading": 2e-9 * values}
    if job.graphs.tree == "rows":
        costs["graph"] = search if job.method == "brute force" else _graph_cost(job, "rows")
    costs |= {"neighbours": search, "centroids": 1.5e-9 * values}
    if not job.communities or _LEAVES * job.n > MOST_NODES:
        costs["upper levels"] = 0.02 + 0.1 * min(search, 2e-8 * values + 1e-4 * job.n)
    if job.graphs.tree == "nodes":
        costs["graph"] = _graph_cost(job, "nodes")
    if job.communities:
        of_rows = job.graphs.tree != "nodes"
        costs["communities"] = 0.02 + (
            1.8e-5 * job.n if of_rows else 3e-5 * n_items("nodes", job.n, _LEAVES)
        )
    return costs


def _island_costs(job: Job) -> dict[str, float]:
    """The islands on one core."""
    costs = {}
    leaves = _LEAVES * job.n
    if job.graphs.forces:
        costs["island graph"] = _graph_cost(job, job.graphs.forces)
    if job.detail == "rows" and job.n <= FEW_ROWS:
        return {**costs, "rows": 0.1 + 1.3e-4 * job.n}
    # leaves that are too many, or that rows follow, are passed over: the level above is optimised
    first = float(SCHEDULE.first_nodes)
    nodes = leaves if first < leaves <= MOST_NODES and job.detail == "leaves" else leaves / 6
    costs["nodes"] = 0.05 + 9e-5 * min(first, leaves) + 4e-5 * nodes + 1e-6 * job.n
    if job.detail == "rows":
        costs["rows"] = 0.1 + 2.2e-7 * SCHEDULE.row_steps * job.n
    return costs


def _graph_cost(job: Job, graph: str) -> float:
    """Of a neighbour graph, on one core."""
    n = n_items(graph, job.n, _LEAVES)
    columns = min(TABLE.usual_columns, job.n_values)
    rounds = 1 + 1.7 * job.share * sqrt(job.share) if job.n > FEW else 1.0
    each = 1.7e-5 if graph == "rows" else 1.2e-5
    return 0.02 + 2.0 * n * job.n_values * columns / _FLOPS + each * n * rounds


def _search_cost(job: Job) -> float:
    """Of the first neighbours of the rows, on one core."""
    n = job.n
    reduction = 2.0 * job.n * job.n_values * job.columns / _FLOPS
    if job.method == "given":
        return 2e-9 * n * job.n_values
    if job.method == "brute force":
        return float(n) ** 2 * (5e-6 if job.is_callable else 4e-9 * job.n_values)
    if job.method == "approximate":
        listed = min(1.0, longest_list(n) / 14)  # of millions of rows lists are short
        rounds = 1 + 1.7 * job.share * sqrt(job.share)  # the less bounds tell, the more of them
        return reduction + 2.5e-5 * n * listed * rounds
    # k-means: each row meets the centre of each cell
    cells = n * 1.6 * float(n) ** 0.5 * 2 * 24 / _FLOPS
    each = 1.2e-9 + 1.2e-11 * job.columns
    if job.share >= 1:  # bounds are of no use: matrix products
        each = 4e-9 + 2 * job.n_values / _SINGLE_FLOPS
    return reduction + float(cells) + job.share * float(n) ** 2 / 2 * each


def _without_rows(job: Job) -> Graphs:
    """The graphs of the same job with detail='leaves'."""
    own = job.graphs
    usual = "rows" if job.n <= MOST_ROWS else "nodes"
    return replace(own, forces="" if own.tree == usual == "nodes" else own.forces and usual)


def faster_ways(job: Job, n_threads: int) -> dict[str, float]:
    """Parameters that would make a fit faster by a third or more, and the seconds it would take."""
    total = sum(predict_costs(job, n_threads).values())
    ways: dict[str, Job] = {}
    if job.method == "exact" and job.n > FEW and core() is not None:
        ways["neighbors='approximate'"] = replace(job, method="approximate")
    if job.has_forces and job.detail == "rows":
        ways["detail='leaves'"] = replace(job, detail="leaves", graphs=_without_rows(job))
    if job.has_forces:
        ways["layout='descent'"] = replace(
            job, layout="descent", graphs=replace(job.graphs, forces="")
        )
    if job.method == "brute force":
        ways["metric='euclidean', 'cosine' or 'manhattan'"] = replace(
            job, method="exact", columns=64
        )
    found = {name: sum(predict_costs(way, n_threads).values()) for name, way in ways.items()}
    return {name: seconds for name, seconds in found.items() if seconds < 2 / 3 * total}
