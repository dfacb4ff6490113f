"""What workers do: each function is a task, calls stages of one machine, takes small arguments.

A task that runs twice gives the same and writes the same bytes. One thread each: dask runs as many
at once as a worker has threads.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from .._version import __version__
from ..core.arrays import Array, blocks
from ..core.input.kinds import check_rows_kind
from ..core.input.validate import cast_rows, largest_value
from ..core.points.duplicates import Copies, hash_points
from ..core.points.point_set import PointSet
from ..method.neighbors.approximate import approximate_neighbors
from ..method.neighbors.choice import Search
from ..method.neighbors.join import Joined, build_index, join_points
from ..method.neighbors.report import NeighborReport
from .division import Division, boxes, load_division
from .pages import keeps_pages
from .store import RowFile, Store

_QUERY_VALUES = 4_000_000  # of rows that ask a part at a time
_N_SAMPLED = 256  # rows that steer the approximate search of a part


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


@dataclass(frozen=True)
class Worker:
    """What a worker has."""

    version: str  # of nestmap
    memory: int  # bytes; 0: no limit
    n_threads: int


def survey(dask_worker: Any) -> Worker:
    """What this worker has."""
    memory = dask_worker.memory_manager.memory_limit or 0
    return Worker(__version__, memory, dask_worker.state.nthreads)


@dataclass(frozen=True, eq=False)
class Checked:
    """What is known of a chunk."""

    hashes: Array
    largest: float  # absolute value
    rows: Array | None  # if they were not written to a file


@keeps_pages
def check_chunk(
    rows: Any, start: int, shape: tuple[int, int], dtype: str, file: RowFile | None
) -> Checked:
    """A chunk, checked and written to the file."""
    where = f"X: the chunk of rows {start} to {start + shape[0] - 1}"
    if sparse.issparse(rows):
        raise ValueError(
            f"{where} is sparse; make it dense: X.map_blocks(lambda block: block.toarray())"
        )
    rows = rows if isinstance(rows, np.ndarray) else np.asarray(rows)
    check_rows_kind(rows)
    if rows.shape != shape:
        raise ValueError(f"{where} came as shape {rows.shape} instead of {shape}")
    if rows.dtype.newbyteorder("=") != np.dtype(dtype).newbyteorder("="):
        raise ValueError(
            f"{where} came as {rows.dtype}, but the array says {dtype}; use X.astype({dtype!r})"
        )
    kept = cast_rows(rows, first_row=start)
    if file is not None:
        file.write(start, kept)
    return Checked(hash_points(kept, 1), largest_value(kept), kept if file is None else None)


@dataclass(frozen=True, eq=False)
class Sorted:
    """Where the rows of a block belong, and which of them are guests of which other parts."""

    cells: Array  # uint16
    lows: Array
    highs: Array
    guests: Array  # int32, numbers of rows in the block
    hosts: Array  # uint16


@keeps_pages
def sort_block(store: Store, version: str, part: tuple[int, int]) -> Sorted:
    """The cell of each row of a block, the bounding boxes of cells, and guests of other parts."""
    division = load_division(store, version)
    z = division.short(division.points(store.rows.read(*part)))
    cells = division.cells_of(z)
    return Sorted(
        cells.astype(np.uint16), *boxes(z, cells, len(division.centres)), *division.guests(z, cells)
    )


def spread_block(
    store: Store, version: str, part: tuple[int, int], found: Sorted, own: Array, guests: Array
) -> None:
    """Write the rows of a block to their parts; `own`, `guests`: offsets of its first ones."""
    division = load_division(store, version)
    rows = store.rows.read(*part)
    of = division.part_of_cell[found.cells]
    for p in np.unique(of):
        store.parted.write(int(own[p]), rows[of == p])
    for p in np.unique(found.hosts):
        store.parted.write(int(guests[p]), rows[found.guests[found.hosts == p]])


@dataclass(frozen=True, eq=False)
class Answers:
    """What rows found in one part, by places in the order of parts."""

    rows: Array
    squared: Array
    ids: Array


NOTHING = Answers(*(np.empty(0, dtype=kind) for kind in (np.int64, np.float64, np.int64)))


@dataclass(frozen=True, eq=False)
class PartNeighbors:
    """First neighbours inside one part."""

    found: Answers
    report: NeighborReport
    asks: dict[int, Array]  # exact: by part, places of rows that may have a nearer neighbour there
    truth: Array  # approximate: distances of the nearest rows of this part for sampled rows


@keeps_pages
def join_part(store: Store, version: str, p: int, search: Search) -> PartNeighbors:
    """First neighbours inside a part, as on one machine; approximate: guests are searched, too."""
    division = load_division(store, version)
    part = _open_part(store, division, p)
    points = part.points
    joined: Joined
    asks: dict[int, Array] = {}
    truth = np.empty(0)
    if search.method == "exact":
        joined = join_points(points, 1, division.reducer, None, part.hashes, search.columns)
        asks = _asks(division, points, joined, p)
    else:
        joined = approximate_neighbors(
            points,
            1,
            search.target_recall,
            division.reducer,
            None,
            part.hashes,
            search.columns,
            search.n_listed,
            n_sampled=_N_SAMPLED,
        )
        truth = _true_distances(store, division, joined, part.places)
    ids = np.where(joined.ids >= 0, part.places[joined.ids], -1)
    return PartNeighbors(Answers(part.places, joined.squared, ids), joined.report, asks, truth)


def _asks(division: Division, points: Any, joined: Joined, p: int) -> dict[int, Array]:
    """By part, the places of rows of part p that may have a nearer neighbour there."""
    limits = joined.squared.copy()
    limits[joined.settled] = -np.inf
    reach = limits if points.norm == "L1" else np.sqrt(limits, out=limits.copy(), where=limits > 0)
    reach = reach.astype(np.float32) * np.float32(1 + 1e-6)
    asks = division.near_parts(division.short(points), reach, p)
    return {q: rows + int(division.starts[p]) for q, rows in enumerate(asks) if len(rows)}


def _true_distances(store: Store, division: Division, joined: Joined, places: Array) -> Array:
    """Distances of the nearest rows of a part for sampled rows (`sample`), its members or not."""
    sample = store.load("sample")
    index = joined.index
    assert index is not None
    order = np.argsort(places)
    at = order[np.searchsorted(places, sample["places"], sorter=order).clip(max=len(places) - 1)]
    member = places[at] == sample["places"]
    truth = np.empty(len(member))
    truth[member] = joined.squared[at[member]]
    distinct = np.arange(index.points.n) if index.partition is None else index.partition.order
    inside = np.flatnonzero(member & np.isin(at, distinct))  # copies have their neighbour
    if len(inside):
        truth[inside] = np.minimum(truth[inside], index.nearest_others(at[inside], 1))
    if not member.all():
        truth[~member] = index.nearest(division.points(sample["rows"][~member]), 1)[1]
    return truth


@dataclass(frozen=True, eq=False)
class Members:
    """The members of a part, its own rows and its guests."""

    places: Array
    points: PointSet
    hashes: Array


def _open_part(store: Store, division: Division, p: int) -> Members:
    first, last = (int(i) for i in division.begins[p : p + 2])
    keys, hashes, places = np.ascontiguousarray(store.keys.read(first, last).T)
    points = division.points(store.parted.read(first, last), keys)
    return Members(places.astype(np.int64), points, hashes)


@keeps_pages
def ask_part(store: Store, version: str, p: int) -> Answers:
    """Nearest rows of a part for rows of others (`ask-p`), as near as what these have; exact."""
    division = load_division(store, version)
    own = _open_part(store, division, p)
    distinct = Copies(own.points, own.hashes).distinct
    index = build_index(own.points, 1, division.reducer, distinct)
    asked = store.load(f"ask-{p}")
    rows = asked["rows"]
    limits = asked["limits"]
    squared = limits.copy()
    ids = np.full(len(rows), -1, dtype=np.int64)
    for part in blocks(len(rows), store.width, values=_QUERY_VALUES):
        queries = division.points(store.parted.take(rows[part]))
        ids[part], squared[part] = index.nearest(queries, 1, limits[part])
    near = (ids >= 0) & (squared <= limits)
    return Answers(rows[near], squared[near], own.places[ids[near]])
