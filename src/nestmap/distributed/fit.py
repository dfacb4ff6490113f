"""`HNNE.fit` and `HNNE.plan` of dask arrays: workers check the chunks, and search large data.

What one process has room for, the client does by the code of one machine: all of a small fit; of a
large one the levels above the rows and the layout, which read the rows from the shared folder.
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..core.input.memory import Budget, format_size, memory_budget, parse_size
from ..core.input.source import RowSource
from ..core.input.validate import row_dtype, work_dtype
from ..core.points.point_set import power_of_two
from ..errors import MemoryBudgetError
from ..method.arrangement.local import n_columns
from ..method.neighbors import check_metric
from ..method.neighbors.metric import Metric, known_metric
from ..method.rows import RowsHere, TrainingRows
from ..method.run import Run
from ..model.fit import fit
from ..model.fitted import FittedMap
from ..model.growth.like import OldModel
from ..model.memory import LEAVES_PER_ROW
from ..model.plan import ClusterPlan, Plan
from ..model.planning import ON_DISK, plan_fit
from ..model.settings import FitSettings
from .division import MOST_CELLS, MOST_MEMBERS, SPARE, number_of_parts, per_row
from .inputs import active_client, feature_names, row_chunks
from .leaf_places import PlacesOnWorkers, place_bytes
from .merge import PER_ITEM, ROUNDS
from .phases import Phases, chunk_advice
from .results import Chunks
from .rows import RowsOnWorkers
from .search import LevelsOnWorkers, is_searched
from .store import BLOCK_BYTES, NUMBERS_BYTES, Store
from .tasks import check_chunk

PART_BYTES = 600_000_000  # of the working memory of a part, if max_memory is not given
FIXED = 200_000_000  # of a worker: the interpreter, libraries, blocks in flight


@dataclass(frozen=True, eq=False)
class FittedChunks:
    """What a fit of a dask array gives."""

    fitted: FittedMap
    features: dict[str, Any]  # attributes that describe its columns
    chunks: Chunks


def fit_chunks(
    X: Any, settings: FitSettings, run: Run, client: Any = None, like: OldModel | None = None
) -> FittedChunks:
    """Fit a dask array or frame, on the workers of a client (None: the active one)."""
    client = active_client() if client is None else client
    with client.as_current():  # lengths of frames are counted there, too
        return _fit_on(client, X, settings, run, like)


def _fit_on(
    client: Any, X: Any, settings: FitSettings, run: Run, like: OldModel | None
) -> FittedChunks:
    names = feature_names(X)
    X = row_chunks(X)
    settings.check(X.shape[0])
    _check_metric(settings, X.shape[1])
    phases = Phases(client, run.progress)
    room = _room(settings.max_memory)
    _check_chunks(X, phases.worker_memory)
    features = {"n_features_in_": int(X.shape[1])} | (
        {} if names is None else {"feature_names_in_": names}
    )
    with ExitStack() as stack:
        store = None
        if _is_large(X, room):
            _check_room(room, phases.worker_memory)
            folder = stack.enter_context(phases.shared_folder(settings.folder()))
            store = Store(folder, X.shape[0], X.shape[1], str(row_dtype(X.dtype)))
        rows = _load(X, phases, store, run, room)
        metric = settings.metric_of(rows.X)
        plan = _plan(X, settings, rows.X, metric, run.n_threads, room)
        fitted = fit(rows, settings, run, plan=plan, like=like)
        if store is not None:
            fitted = replace(fitted, X=None)  # its file goes
    folder_kept = settings.folder()
    kept = None if folder_kept is None else str(folder_kept.resolve())
    chunks = Chunks(X.chunks[0], kept, fitted.tree.hierarchy.levels[0].members)
    return FittedChunks(fitted, features, chunks)


def plan_chunks(X: Any, settings: FitSettings, n_threads: int) -> Plan:
    """The plan of such a fit, from at most 20,000 rows."""
    X = row_chunks(X)
    room = _room(settings.max_memory)
    settings.check(X.shape[0])
    sample = RowSource(X).sample(20_000)
    return _plan(X, settings, sample, settings.metric_of(sample), n_threads, room)


def _is_large(X: Any, room: int) -> bool:
    """Whether the rows go to a folder that the workers share."""
    return bool(X.shape[0] * _per_row(X, "approximate") > room)


def _plan(
    X: Any, settings: FitSettings, rows: Any, metric: Metric, n_threads: int, room: int
) -> Plan:
    """The plan as one machine would make it, and what the workers need; `rows`: some, or all."""
    n = X.shape[0]
    is_large = _is_large(X, room)
    own = memory_budget(None)
    # a search in parts needs no memory here
    budget = Budget(2**62, False) if is_large else own
    plan = plan_fit(rows, metric, settings, n_threads, budget=budget, n_rows=n)
    n_parts = _n_parts(X, metric, plan.method, room) if is_large else 1
    cluster = _cluster_plan(X, plan.method, n_parts, is_large)
    if n_parts > 1 and PER_ITEM * n > room:
        cluster = _with_merge(cluster, X)
    if is_large:
        cluster = _with_places(cluster, X, settings.n_components)
    disk = plan.table if is_large and plan.table > ON_DISK * own.size else plan.disk
    return replace(plan, budget=own.size, disk=disk, cluster=cluster)


def _with_places(plan: ClusterPlan, X: Any, n_components: int) -> ClusterPlan:
    """The same and the tasks that put rows to their places."""
    n = X.shape[0]
    row_bytes = X.shape[1] * row_dtype(X.dtype).itemsize
    coordinates = 8 * n_components
    p = n_columns(n, X.shape[1])
    tasks = {
        "project": -(-n * row_bytes // BLOCK_BYTES),
        "place": -(-n * place_bytes(row_bytes, n_components, p) // BLOCK_BYTES),
    }
    moved = {"project": n * (row_bytes + coordinates), "place": n * row_bytes}
    leaves = int(LEAVES_PER_ROW * n) * (4 * p + coordinates + 64)
    return replace(
        plan,
        tasks=plan.tasks | tasks,
        moved=plan.moved | moved,
        disk=plan.disk + n * (coordinates + 16) + leaves,
    )


def _with_merge(plan: ClusterPlan, X: Any) -> ClusterPlan:
    """The same and the tasks that join rows to clusters, if these are too many for one process."""
    n = X.shape[0]
    parts = plan.n_parts
    table = int(LEAVES_PER_ROW * X.shape[0]) * X.shape[1] * work_dtype(X.dtype).itemsize
    tasks = {"link": parts, "jump": ROUNDS * parts, "root": parts, "mean": parts}
    rows = n * X.shape[1] * row_dtype(X.dtype).itemsize
    moved = {"link": 32 * n, "jump": 72 * ROUNDS * n, "root": 40 * n, "mean": rows + table}
    return replace(
        plan,
        tasks=plan.tasks | tasks,
        moved=plan.moved | moved,
        disk=plan.disk + table + n * NUMBERS_BYTES,
    )


def _cluster_plan(X: Any, method: str, n_parts: int, large: bool) -> ClusterPlan:
    n = X.shape[0]
    row_bytes = X.shape[1] * row_dtype(X.dtype).itemsize
    blocks = -(-n * row_bytes // BLOCK_BYTES)
    size = n * row_bytes
    chunks = len(X.chunks[0])
    tasks = {"check": chunks}
    moved = {"check": size}
    memory = 3 * max(X.chunks[0]) * X.shape[1] * X.dtype.itemsize
    if n_parts == 1:
        return ClusterPlan(n_parts, memory + FIXED, size if large else 0, tasks, moved)
    members = 1.0 if method == "exact" else MOST_MEMBERS  # of a part, with guests, at most
    tasks |= {"sort": blocks, "spread": blocks, "join": n_parts}
    moved |= {"sort": size, "spread": 2 * size, "join": size + 8 * n}
    if method == "exact":
        tasks = tasks | {"ask": n_parts}
        moved = moved | {"ask": size + 8 * n}
    memory = max(memory, int(members * n * _per_row(X, method)) // n_parts)
    return ClusterPlan(n_parts, memory + FIXED, int((1 + members) * size), tasks, moved)


def _room(max_memory: Any) -> int:
    """Bytes of a part's working memory."""
    if max_memory is None:
        return PART_BYTES
    size = parse_size(max_memory)
    if size < 2 * FIXED:
        raise MemoryBudgetError(
            f"max_memory={max_memory!r}: a task on a worker needs {format_size(2 * FIXED)} at least"
        )
    return int((size - FIXED) / SPARE)


def _n_parts(X: Any, metric: Any, method: str, room: int) -> int:
    """Parts that the workers search the rows in; 1: the client does."""
    n_parts = (
        number_of_parts(X.shape[0], _per_row(X, method), room, method)
        if is_searched(metric, method)
        else 1
    )
    if n_parts > MOST_CELLS:
        least = int(SPARE * room * n_parts / MOST_CELLS) + FIXED
        raise MemoryBudgetError(
            f"X: {X.shape[0]} rows would be searched in {n_parts} parts, "
            f"and there can be {MOST_CELLS}: give workers more memory, "
            f"and max_memory='{-(-least // 1_000_000)}MB' or more"
        )
    return n_parts


def _per_row(X: Any, method: str) -> int:
    return per_row(X.shape[0], X.shape[1], X.dtype, method)


def _check_metric(settings: FitSettings, width: int) -> None:
    """Raise for a metric that cannot be, before the rows are read."""
    metric = settings.metric
    if known_metric(metric).takes_distances:
        raise ValueError(
            "metric='precomputed': a matrix of distances must be in memory; pass X.compute()"
        )
    if not known_metric(metric).changes_rows:  # whose parameters come from the rows
        check_metric(metric, np.eye(2, width), settings.metric_params)


def _check_room(room: int, limit: int | None) -> None:
    """Raise for parts that leave a worker no room.

    Others are not taken: approximate results depend on the parts.
    """
    needed = int(SPARE * room) + FIXED
    if limit is not None and needed > limit:
        raise MemoryBudgetError(
            f"a task of this fit takes up to {format_size(needed)}, "
            f"and a worker may use {format_size(limit)} per thread; "
            f"give workers more memory or fewer threads, or max_memory='{limit // 1_000_000}MB'"
        )


def _check_chunks(X: Any, limit: int | None) -> None:
    """Raise for chunks that leave a worker no room."""
    largest = max(X.chunks[0])
    row_bytes = X.shape[1] * X.dtype.itemsize
    if limit is not None and 2 * largest * row_bytes + FIXED > 0.8 * limit:
        raise MemoryBudgetError(
            f"X: a worker may use {format_size(limit)} per thread, "
            f"and {chunk_advice(largest, row_bytes, limit)}"
        )


def _load(X: Any, phases: Phases, store: Store | None, run: Run, room: int) -> TrainingRows:
    """Let the workers check the rows; where there are many, they write them to a folder."""
    sizes = X.chunks[0]
    starts = np.concatenate([[0], np.cumsum(sizes)])
    file = None if store is None else store.rows.create()
    arguments = [
        (int(start), (int(size), X.shape[1]), str(X.dtype), file)
        for start, size in zip(starts[:-1], sizes, strict=True)
    ]
    futures = phases.compute("check", check_chunk, [*X.to_delayed().ravel()], arguments)
    advice = chunk_advice(max(sizes), X.shape[1] * X.dtype.itemsize, phases.worker_memory)
    hashes = np.empty(X.shape[0], dtype=np.uint64)
    rows = np.empty(X.shape if file is None else (0, 0), dtype=row_dtype(X.dtype))
    largest = 0.0
    for i, found in phases.results("check", f"reading {X.shape[0]} rows", futures, advice):
        part = slice(starts[i], starts[i + 1])
        hashes[part] = found.hashes
        largest = max(largest, found.largest)
        if found.rows is not None:
            rows[part] = found.rows
    phases.moved["check"] = X.shape[0] * X.shape[1] * row_dtype(X.dtype).itemsize
    unit = power_of_two(np.array([largest]))
    if store is None or file is None:
        return RowsHere(rows, run, hashes)
    levels = LevelsOnWorkers(phases, store, room, unit)
    return RowsOnWorkers(file.mapped(), hashes, levels, PlacesOnWorkers(phases, store))
