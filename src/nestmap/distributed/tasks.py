"""What workers do: each function is a task, calls stages that one machine calls too, and takes small arguments only.

A task that runs twice gives the same and writes the same bytes. One thread each: dask runs as many at once as a
worker has threads.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from .._arrays import Array, blocks
from .._input.kinds import check_rows_kind
from .._input.validate import cast_rows
from .._points.duplicates import Copies, hash_points
from .._version import __version__
from ..neighbors.approximate import approximate_neighbors
from ..neighbors.choice import Search
from ..neighbors.join import ALL_CELLS, Index, Joined, build_index, join_points
from ..neighbors.report import NeighborReport
from .division import Division, boxes, load_division
from .store import RowFile, Store

_QUERY_VALUES = 4_000_000  # of rows that ask a part at a time
NEAR_CELLS = 8  # approximate: a row asks the parts of so many nearest cells at first


def sees(folder: str, token: str) -> bool:
    """Whether this worker sees what the client wrote, and may write there."""
    path = Path(folder) / "token"
    try:
        if path.read_text() != token:
            return False
        with path.open("r+b"):
            return True
    except OSError:
        return False


def survey(dask_worker: Any) -> tuple[str, int, int]:
    """What a worker has: version of nestmap, bytes (0: no limit), threads."""
    return __version__, dask_worker.memory_manager.memory_limit or 0, dask_worker.state.nthreads


def check_chunk(rows: Any, start: int, shape: tuple[int, int], dtype: str, file: RowFile | None) -> tuple[Array, Any]:
    """Hashes of the rows of a chunk, checked and written to the file; the rows themselves if there is none."""
    where = f"X: the chunk of rows {start} to {start + shape[0] - 1}"
    if sparse.issparse(rows):
        raise ValueError(f"{where} is sparse; make it dense: X.map_blocks(lambda block: block.toarray())")
    rows = rows if isinstance(rows, np.ndarray) else np.asarray(rows)
    check_rows_kind(rows)
    if rows.shape != shape:
        raise ValueError(f"{where} came as shape {rows.shape} instead of {shape}")
    if rows.dtype.newbyteorder("=") != np.dtype(dtype).newbyteorder("="):
        raise ValueError(f"{where} came as {rows.dtype}, but the array says {dtype}; use X.astype({dtype!r})")
    kept = cast_rows(rows, first_row=start)
    hashes = hash_points(kept, 1)
    if file is None:
        return hashes, kept
    file.write(start, kept)
    return hashes, None


@dataclass(frozen=True, eq=False)
class Sorted:
    """Where the rows of a block belong."""

    cells: Array  # uint16
    lows: Array
    highs: Array


def sort_block(store: Store, version: str, part: tuple[int, int]) -> Sorted:
    """The cell of each row of a block, and the boxes around them."""
    division = load_division(store, version)
    z = division.short(division.points(store.rows.read(*part)))
    cells = division.cells_of(z)
    return Sorted(cells.astype(np.uint16), *boxes(z, cells, len(division.centres)))


def spread_block(store: Store, version: str, part: tuple[int, int], found: Sorted, places: Array) -> None:
    """Write the rows of a block to their parts; `places`: of its first row in each of them."""
    division, rows = load_division(store, version), store.rows.read(*part)
    own = division.part_of_cell[found.cells]
    for p in np.unique(own):
        store.parted.write(int(places[p]), rows[own == p])


@dataclass(frozen=True, eq=False)
class PartNeighbors:
    """First neighbours inside one part, by places in the order of parts, and the rows that ask other parts."""

    squared: Array
    ids: Array
    report: NeighborReport
    asks: dict[int, Array]  # by part: places of rows


def join_part(store: Store, version: str, p: int, search: Search) -> PartNeighbors:
    """First neighbours inside a part, by the search of one machine."""
    division = load_division(store, version)
    first, points, hashes = _open_part(store, division, p)
    joined: Joined
    exact = search.method == "exact"
    if exact:
        joined = join_points(points, 1, division.reducer, None, hashes, search.columns)
    else:
        joined = approximate_neighbors(
            points, 1, (3 + search.target_recall) / 4, division.reducer, None, hashes, search.columns, search.n_listed
        )
    ids = np.where(joined.ids >= 0, joined.ids + first, -1)
    limits = joined.squared.copy()
    limits[joined.settled] = -np.inf
    return PartNeighbors(
        joined.squared, ids, joined.report, _asks(division, points, limits, p, None if exact else NEAR_CELLS)
    )


def _asks(division: Division, points: Any, limits: Array, p: int, n_cells: int | None) -> dict[int, Array]:
    """By part, the places of rows of part p that may have a nearer neighbour there."""
    reach = limits if points.norm == "L1" else np.sqrt(limits, out=limits.copy(), where=limits > 0)
    reach = reach.astype(np.float32) * np.float32(1 + 1e-6)
    asks = division.near_parts(division.short(points), reach, p, n_cells)
    return {q: rows + int(division.starts[p]) for q, rows in enumerate(asks) if len(rows)}


def near_part(store: Store, version: str, p: int, n_cells: int) -> dict[int, Array]:
    """The same for limits that rows have now (`limits-p`), and more of their nearest cells."""
    division = load_division(store, version)
    _, points, _ = _open_part(store, division, p)
    limits = store.load(f"limits-{p}")["limits"]
    return _asks(division, points, np.where(limits == 0, -np.inf, limits), p, n_cells)


def _open_part(store: Store, division: Division, p: int) -> tuple[int, Any, Array]:
    """The first place of a part, its points, and their hashes."""
    first, last = (int(i) for i in division.starts[p : p + 2])
    keys, hashes = np.ascontiguousarray(store.keys.read(first, last).T)
    return first, division.points(store.parted.read(first, last), keys), hashes


@dataclass(frozen=True, eq=False)
class Answers:
    """What rows of other parts found in one part, where it is as near as what they had; and what sampled rows did."""

    rows: Array
    squared: Array
    ids: Array
    truth: Array  # of the sampled rows: the distance of the nearest row in this part, or what they had


def ask_part(store: Store, version: str, p: int, n_visit: int, sampled: bool) -> Answers:
    """Nearest rows of a part for rows of other parts (`ask-p`), and for sampled rows (`sample`), exact for these.

    `n_visit`: cells of the part that a row looks into.
    """
    division = load_division(store, version)
    first, points, hashes = _open_part(store, division, p)
    index = build_index(points, 1, division.reducer, Copies(points, hashes).distinct)
    asked = store.load(f"ask-{p}")
    rows, squared, ids = _query(index, store, division, asked["rows"], asked["limits"], n_visit)
    better = ids >= 0
    truth = np.empty(0)
    if sampled:
        sample = store.load("sample")
        truth = _true_distances(index, store, division, sample["rows"], sample["limits"], p)
    return Answers(rows[better], squared[better], ids[better] + first, truth)


def _query(
    index: Index, store: Store, division: Division, rows: Array, limits: Array, n_visit: int
) -> tuple[Array, Array, Array]:
    squared, ids = limits.copy(), np.full(len(rows), -1, dtype=np.int64)
    for part in blocks(len(rows), store.width, values=_QUERY_VALUES):
        queries = division.points(store.parted.take(rows[part]))
        found, away = index.nearest(queries, 1, limits[part], n_visit)
        near = (found >= 0) & (away <= limits[part])
        ids[part] = np.where(near, found, -1)
        squared[part] = np.where(near, away, limits[part])
    return rows, squared, ids


def _true_distances(index: Index, store: Store, division: Division, rows: Array, limits: Array, p: int) -> Array:
    """Distances of the true neighbours of sampled rows in a part, if these are nearer than what they had."""
    truth = limits.copy()
    own = (rows >= division.starts[p]) & (rows < division.starts[p + 1])
    truth[~own] = _query(index, store, division, rows[~own], limits[~own], ALL_CELLS)[1]
    distinct = np.arange(index.points.n) if index.partition is None else index.partition.order
    inside = np.flatnonzero(own & np.isin(rows - division.starts[p], distinct))  # copies have their neighbour
    if len(inside):
        truth[inside] = np.minimum(limits[inside], index.nearest_others(rows[inside] - division.starts[p], 1))
    return truth
