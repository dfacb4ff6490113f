"""What a fit will need, before it starts: memory, disk, and the way to find neighbours."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from scipy import sparse

from ..core.input.memory import Budget, format_size, memory_budget
from ..core.input.validate import work_dtype
from ..core.progress import Progress
from ..errors import MemoryBudgetError
from ..method.neighbors.choice import columns_for, decide
from ..method.neighbors.effort import exact_columns, list_lengths, longest_list
from ..method.neighbors.given import brings_lists
from ..method.neighbors.metric import EUCLIDEAN, Metric
from ..method.run import Decided
from .costs import expected_share, faster_ways, predict_costs
from .memory import LEAVES_PER_ROW, stage_bytes, whole_columns
from .plan import Graphs, Plan
from .settings import FitSettings

_COLUMN_CHOICES = (384, 256, 128, 64, 48, 32, 16)  # reduced columns that a plan may keep per row
_LONG_FIT = 10.0  # seconds: of fits that take longer even a silent one speaks, once
ON_DISK = 1 / 8  # of the budget: larger tables of centroids go to disk


def plan_fit(
    X: Any,
    metric: Metric,
    settings: FitSettings,
    n_threads: int = 1,
    *,
    budget: Budget | None = None,
    n_rows: int | None = None,
) -> Plan:
    """Method, memory and time of a fit on validated rows; reads at most 20,000 of them.

    `budget`: None for that of the settings; `n_rows`: of the fit, where X is a sample of them.

    Reduced columns decide what an approximate search finds. They follow from the data and from a
    max_memory that was given; the memory that happens to be free must not change the map.
    """
    budget = memory_budget(settings.max_memory) if budget is None else budget
    n = n_rows or X.shape[0]
    usual = _usual(X, metric, settings, n)
    sized = [_sized(each, settings) for each in _variants(usual)]
    chosen = _choose(sized, usual, budget)
    chosen = replace(chosen, share=expected_share(X, metric, n, chosen.exact_pairs))
    return replace(
        chosen,
        stage_seconds=predict_costs(chosen, settings, n_threads),
        faster=faster_ways(chosen, settings, n_threads),
    )


def _usual(X: Any, metric: Metric, settings: FitSettings, n: int) -> Plan:
    """The plan of n rows with all columns and lists that the search makes use of."""
    way = _way(X, metric, settings, n)
    is_csr = sparse.issparse(X)
    if is_csr:
        # of centroids: at most the values of all rows
        table = int(X.data.nbytes + X.indices.nbytes)
    else:
        table = int(LEAVES_PER_ROW * n) * X.shape[1] * work_dtype(X.dtype).itemsize
    lists = brings_lists(settings.neighbors)
    # few columns are all kept
    columns = min(way.columns, whole_columns(X.shape[1]))
    return Plan(
        method=way.method,
        nodes=replace(way.nodes, columns=columns, n_listed=longest_list(n)),
        exact_pairs=way.exact_pairs,
        n_rows=n,
        n_features=X.shape[1],
        graphs=Graphs.of(n, metric, settings.hierarchy, lists, settings.detail(n)),
        values_per_row=max(1, X.nnz // X.shape[0]) if is_csr else None,
        table=table,
    )


def _variants(plan: Plan) -> Iterator[Plan]:
    """The plan with ever less memory: centroids on disk, fewer columns, shorter lists."""
    least = whole_columns(plan.n_features) if plan.n_features <= 64 else 16
    columns = dict.fromkeys(max(least, min(c, plan.columns)) for c in _COLUMN_CHOICES)
    for disk in (0,) if plan.values_per_row is not None else (0, plan.table):
        for n_columns in columns:
            for n_listed in list_lengths():
                if n_listed <= plan.n_listed:
                    nodes = replace(plan.nodes, columns=n_columns, n_listed=n_listed)
                    yield replace(plan, disk=disk, nodes=nodes)


def _sized(plan: Plan, settings: FitSettings) -> Plan:
    """The same with its memory."""
    stages = stage_bytes(plan, settings)
    return replace(plan, stages=stages, memory=max(stages.values()))


def _choose(plans: list[Plan], usual: Plan, budget: Budget) -> Plan:
    """The first plan that the budget allows, or an error that says what would do."""
    allowed = plans
    if not budget.given:
        allowed = [
            plan
            for plan in plans
            if plan.n_listed == usual.n_listed
            and (usual.method != "approximate" or plan.columns == usual.columns)
        ]
    smallest = min(plan.memory for plan in allowed)
    # a CSR table stays in memory
    fits_memory = usual.table <= ON_DISK * budget.size or usual.values_per_row is not None
    fitting = [
        plan for plan in allowed if plan.memory <= budget.size and (plan.disk or fits_memory)
    ]
    if not fitting:
        what = f"{usual.n_rows} x {usual.n_features} rows"
        raise _refusal(what, budget, smallest, min(plan.memory for plan in plans))
    return replace(fitting[0], budget=budget.size, smallest=smallest)


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
    if plan.seconds > _LONG_FIT and progress.is_silent:
        logging.getLogger("nestmap").warning(plan.warning())


def _way(X: Any, metric: Metric, settings: FitSettings, n: int) -> Decided:
    """How the neighbours of n rows like these are found."""
    nodes = replace(settings.search, columns=exact_columns(n))
    if not settings.finds_neighbors:
        return Decided("given", nodes)
    if metric.changes_rows:  # euclidean after a change of the rows
        return _way(metric.rows(X), EUCLIDEAN, settings, n)
    if not metric.has_kernels:
        return Decided("brute force", nodes)
    chosen = decide(X, metric.name, settings.search, n)
    if chosen.method == "approximate":
        columns = columns_for(X, metric.name, n)
        nodes = replace(nodes, columns=columns)
    return Decided(chosen.method, nodes, chosen.exact_pairs)
