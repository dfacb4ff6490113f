"""What a fit will need, before it starts: memory, disk, and the way to find neighbours."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from math import nan
from pathlib import Path
from typing import Any

from scipy import sparse

from ..core.input.memory import Budget, format_size, memory_budget
from ..core.input.validate import work_dtype
from ..core.progress import Progress, in_seconds
from ..errors import MemoryBudgetError
from ..method.neighbors.choice import Search, columns_for, decide
from ..method.neighbors.effort import exact_columns, list_lengths, longest_list
from ..method.neighbors.given import brings_lists
from ..method.neighbors.metric import EUCLIDEAN, Metric
from ..method.run import Run
from .costs import expected_share, faster_ways, predict_costs
from .job import Graphs, Job
from .memory import LEAVES_PER_ROW, stage_bytes
from .settings import FitSettings

_COLUMN_CHOICES = (384, 256, 128, 64, 48, 32, 16)  # reduced columns that a plan may keep per row
_LONG_FIT = 10.0  # seconds: of fits that take longer even a silent one speaks, once
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


@dataclass(frozen=True)
class _Way:
    """How the neighbours of the rows are found, and how many reduced columns it is given."""

    method: str
    columns: int
    exact_pairs: float = nan  # of the exact search, if they had to be asked for


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
    way = _way(X, metric, settings, n)
    # few columns are all kept
    whole = -(-X.shape[1] // 16) * 16
    way = replace(way, columns=min(way.columns, whole))
    job = _job(X, metric, settings, way, n)
    sizes = [_sized(each) for each in _variants(job, whole if X.shape[1] <= 64 else 16)]
    chosen = _choose(sizes, job, budget)
    job = replace(job, columns=chosen.columns, share=expected_share(X, metric, n, way.exact_pairs))
    return replace(
        chosen,
        exact_pairs=way.exact_pairs,
        stage_seconds=predict_costs(job, n_threads),
        faster=faster_ways(job, n_threads),
    )


def _job(X: Any, metric: Metric, settings: FitSettings, way: _Way, n: int) -> Job:
    """What memory and time depend on, with all columns and lists that the search makes use of."""
    detail = settings.detail(n)
    lists = brings_lists(settings.neighbors)
    is_csr = sparse.issparse(X)
    if is_csr:
        # of centroids: at most the values of all rows
        table = int(X.data.nbytes + X.indices.nbytes)
    else:
        table = int(LEAVES_PER_ROW * n) * X.shape[1] * work_dtype(X.dtype).itemsize
    return Job(
        n,
        X.shape[1],
        way.method,
        way.columns,
        settings.layout_kind,
        detail or "leaves",
        is_callable=metric.is_function,
        graphs=Graphs.of(n, metric, settings.hierarchy, lists, detail),
        communities=settings.hierarchy == "graph",
        n_components=settings.n_components,
        is_local=settings.is_local,
        n_listed=longest_list(n),
        values_per_row=max(1, X.nnz // X.shape[0]) if is_csr else None,
        table=table,
    )


def _variants(job: Job, least_columns: int) -> Iterator[Job]:
    """The job with ever less memory: centroids on disk, fewer columns, shorter lists."""
    columns = dict.fromkeys(max(least_columns, min(c, job.columns)) for c in _COLUMN_CHOICES)
    for on_disk in (False,) if job.values_per_row is not None else (False, True):
        for n_columns in columns:
            for n_listed in list_lengths():
                if n_listed <= job.n_listed:
                    yield replace(job, on_disk=on_disk, columns=n_columns, n_listed=n_listed)


def _sized(job: Job) -> Plan:
    """The plan of a job, without its budget and its time."""
    stages = stage_bytes(job)
    return Plan(
        job.n,
        job.n_features,
        job.method,
        job.columns,
        max(stages.values()),
        0,
        disk=job.table if job.on_disk else 0,
        stages=stages,
        n_listed=job.n_listed,
    )


def _choose(plans: list[Plan], job: Job, budget: Budget) -> Plan:
    """The first plan that the budget allows, or an error that says what would do."""
    allowed = plans
    if not budget.given:
        allowed = [
            plan
            for plan in plans
            if plan.n_listed == job.n_listed
            and (job.method != "approximate" or plan.columns == job.columns)
        ]
    smallest = min(plan.memory for plan in allowed)
    # a CSR table stays in memory
    fits_memory = job.table <= ON_DISK * budget.size or job.values_per_row is not None
    fitting = [
        plan for plan in allowed if plan.memory <= budget.size and (plan.disk or fits_memory)
    ]
    if not fitting:
        what = f"{job.n} x {job.n_features} rows"
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


def make_run(
    plan: Plan, options: Search, n_threads: int, progress: Progress, folder: Path | None
) -> Run:
    """The plan's decisions as the stages take them; `options` are what was asked for."""
    nodes = replace(options, columns=plan.columns, n_listed=plan.n_listed or options.n_listed)
    resolved = options.method == "auto" and plan.method in ("exact", "approximate")
    rows = replace(nodes, method=plan.method, exact_pairs=plan.exact_pairs) if resolved else nodes
    return Run(n_threads, progress, rows, nodes, folder, plan.disk > 0)


def _way(X: Any, metric: Metric, settings: FitSettings, n: int) -> _Way:
    """How the neighbours of n rows like these are found."""
    if not settings.finds_neighbors:
        return _Way("given", exact_columns(n))
    if metric.changes_rows:  # euclidean after a change of the rows
        return _way(metric.rows(X), EUCLIDEAN, settings, n)
    if not metric.has_kernels:
        return _Way("brute force", exact_columns(n))
    chosen = decide(X, metric.name, settings.search, n)
    columns = exact_columns(n)
    if chosen.method == "approximate":
        columns = columns_for(X, metric.name, n)
    return _Way(chosen.method, columns, chosen.exact_pairs)
