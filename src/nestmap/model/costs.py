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
from ..method.layout import Descent, Islands, LayoutSettings
from ..method.layout.islands.schedule import SCHEDULE
from ..method.neighbors.choice import pair_share
from ..method.neighbors.effort import TABLE, longest_list
from ..method.neighbors.item_graph import FEW_ROWS, MOST_NODES, MOST_ROWS
from ..method.neighbors.metric import Metric, known_metric
from .plan import Graphs, Plan, n_items
from .settings import FitSettings

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


def predict_costs(plan: Plan, settings: FitSettings, n_threads: int) -> dict[str, float]:
    """Seconds of each kind of stage, in their order."""
    costs = _tree_costs(plan, settings)
    if settings.layout is not None:
        values = plan.n_rows * plan.n_values
        costs |= {"preliminary": 0.02 + 1e-9 * values, "arrangement": 2e-9 * values}
    if settings.has_forces:
        costs |= _island_costs(plan, settings.detail(plan.n_rows))
    elif settings.layout is not None:
        costs["layout"] = settings.layout.seconds_per_row * plan.n_rows
    speedup = max(1, n_threads) ** 0.9 / (1 if core() is not None else _TWIN)
    return {kind: cost / speedup for kind, cost in costs.items()}


def _tree_costs(plan: Plan, settings: FitSettings) -> dict[str, float]:
    """The tree on one core.

    A graph of rows is found before first neighbours, one of nodes when these are known.
    """
    values = plan.n_rows * plan.n_values
    search = _search_cost(plan, settings)
    costs = {"reading": 2e-9 * values}
    if plan.graphs.tree == "rows":
        costs["graph"] = search if plan.method == "brute force" else _graph_cost(plan, "rows")
    costs |= {"neighbours": search, "centroids": 1.5e-9 * values}
    if settings.hierarchy != "graph" or _LEAVES * plan.n_rows > MOST_NODES:
        costs["upper levels"] = 0.02 + 0.1 * min(search, 2e-8 * values + 1e-4 * plan.n_rows)
    if plan.graphs.tree == "nodes":
        costs["graph"] = _graph_cost(plan, "nodes")
    if settings.hierarchy == "graph":
        of_rows = plan.graphs.tree != "nodes"
        costs["communities"] = 0.02 + (
            1.8e-5 * plan.n_rows if of_rows else 3e-5 * n_items("nodes", plan.n_rows, _LEAVES)
        )
    return costs


def _island_costs(plan: Plan, detail: str | None) -> dict[str, float]:
    """The islands on one core."""
    costs = {}
    leaves = _LEAVES * plan.n_rows
    if plan.graphs.forces:
        costs["island graph"] = _graph_cost(plan, plan.graphs.forces)
    if detail == "rows" and plan.n_rows <= FEW_ROWS:
        return {**costs, "rows": 0.1 + 1.3e-4 * plan.n_rows}
    # leaves that are too many, or that rows follow, are passed over: the level above is optimised
    first = float(SCHEDULE.first_nodes)
    nodes = leaves if first < leaves <= MOST_NODES and detail == "leaves" else leaves / 6
    costs["nodes"] = 0.05 + 9e-5 * min(first, leaves) + 4e-5 * nodes + 1e-6 * plan.n_rows
    if detail == "rows":
        costs["rows"] = 0.1 + 2.2e-7 * SCHEDULE.row_steps * plan.n_rows
    return costs


def _graph_cost(plan: Plan, graph: str) -> float:
    """Of a neighbour graph, on one core."""
    n = n_items(graph, plan.n_rows, _LEAVES)
    columns = min(TABLE.usual_columns, plan.n_values)
    rounds = 1 + 1.7 * plan.share * sqrt(plan.share) if plan.n_rows > FEW else 1.0
    each = 1.7e-5 if graph == "rows" else 1.2e-5
    return 0.02 + 2.0 * n * plan.n_values * columns / _FLOPS + each * n * rounds


def _search_cost(plan: Plan, settings: FitSettings) -> float:
    """Of the first neighbours of the rows, on one core."""
    n = plan.n_rows
    reduction = 2.0 * plan.n_rows * plan.n_values * plan.columns / _FLOPS
    if plan.method == "given":
        return 2e-9 * n * plan.n_values
    if plan.method == "brute force":
        return float(n) ** 2 * (
            5e-6 if known_metric(settings.metric).is_function else 4e-9 * plan.n_values
        )
    if plan.method == "approximate":
        listed = min(1.0, longest_list(n) / 14)  # of millions of rows lists are short
        rounds = 1 + 1.7 * plan.share * sqrt(plan.share)  # the less bounds tell, the more of them
        return reduction + 2.5e-5 * n * listed * rounds
    # k-means: each row meets the centre of each cell
    cells = n * 1.6 * float(n) ** 0.5 * 2 * 24 / _FLOPS
    each = 1.2e-9 + 1.2e-11 * plan.columns
    if plan.share >= 1:  # bounds are of no use: matrix products
        each = 4e-9 + 2 * plan.n_values / _SINGLE_FLOPS
    return reduction + float(cells) + plan.share * float(n) ** 2 / 2 * each


def _without_rows(plan: Plan) -> Graphs:
    """The graphs of the same fit with detail='leaves'."""
    own = plan.graphs
    usual = "rows" if plan.n_rows <= MOST_ROWS else "nodes"
    return replace(own, forces="" if own.tree == usual == "nodes" else own.forces and usual)


def faster_ways(plan: Plan, settings: FitSettings, n_threads: int) -> dict[str, float]:
    """Parameters that would make a fit faster by a third or more, and the seconds it would take."""

    def total(way: Plan = plan, layout: LayoutSettings | None = settings.layout) -> float:
        return sum(predict_costs(way, replace(settings, layout=layout), n_threads).values())

    ways: dict[str, float] = {}
    if plan.method == "exact" and plan.n_rows > FEW and core() is not None:
        ways["neighbors='approximate'"] = total(replace(plan, method="approximate"))
    if settings.detail(plan.n_rows) == "rows":
        fewer = replace(plan, graphs=_without_rows(plan))
        ways["detail='leaves'"] = total(fewer, Islands(detail="leaves"))
    if settings.has_forces:
        without = replace(plan, graphs=replace(plan.graphs, forces=""))
        ways["layout='descent'"] = total(without, Descent())
    if plan.method == "brute force":
        known = replace(plan, method="exact", nodes=replace(plan.nodes, columns=64))
        ways["metric='euclidean', 'cosine' or 'manhattan'"] = total(known)
    return {name: seconds for name, seconds in ways.items() if seconds < 2 / 3 * total()}
