"""The compiled module (see cpp/module.cpp); the other builds have the same contents."""

from collections.abc import Callable
from typing import Any

from numpy.typing import NDArray

LANES: int
SMALL_GROUP: int
isa: str

def supported(isa: str) -> bool: ...

class Rows:
    def set_keys(self, keys: NDArray[Any]) -> None: ...

def dense_rows(x: NDArray[Any], scale: NDArray[Any], shift: NDArray[Any], extra: NDArray[Any]) -> Rows: ...
def csr_rows(
    data: NDArray[Any],
    indices: NDArray[Any],
    indptr: NDArray[Any],
    n_cols: int,
    scale: NDArray[Any],
    shift: NDArray[Any],
    extra: NDArray[Any],
) -> Rows: ...
def project(x: NDArray[Any], mean: NDArray[Any], basis: NDArray[Any], z: NDArray[Any], n_threads: int) -> None: ...
def group_means(
    x: NDArray[Any],
    order: NDArray[Any],
    starts: NDArray[Any],
    weights: NDArray[Any],
    means: NDArray[Any],
    n_threads: int,
) -> None: ...
def largest(x: NDArray[Any], n_threads: int) -> float: ...
def count_within(
    values: NDArray[Any], lower: NDArray[Any], upper: NDArray[Any], below: NDArray[Any], upto: NDArray[Any]
) -> None: ...
def pair_distances(rows: Rows, i: NDArray[Any], j: NDArray[Any], distances: NDArray[Any], norm: str) -> None: ...
def hash_rows(x: NDArray[Any], hash: NDArray[Any], n_threads: int) -> None: ...

class Cells:
    def __init__(
        self,
        z: NDArray[Any],
        tails: NDArray[Any],
        sizes: NDArray[Any],
        ids: NDArray[Any],
        starts: NDArray[Any],
        head: int,
        slack: float,
        norm: str,
        n_threads: int,
    ) -> None: ...
    @property
    def width(self) -> int: ...
    def centres(self, out: NDArray[Any]) -> None: ...

def divide_regions(
    region_starts: NDArray[Any],
    region_points: NDArray[Any],
    order: NDArray[Any],
    starts: NDArray[Any],
    offsets: NDArray[Any],
    shares: NDArray[Any],
    rounds: int,
    want_cells: bool,
    centres: NDArray[Any],
    n_threads: int,
) -> tuple[NDArray[Any], NDArray[Any]]: ...
def outside(
    starts: NDArray[Any],
    corners: NDArray[Any],
    ids: NDArray[Any],
    points: NDArray[Any],
    out: NDArray[Any],
    n_threads: int,
) -> None: ...
def small_frames(
    z: NDArray[Any],
    order: NDArray[Any],
    starts: NDArray[Any],
    weights: NDArray[Any],
    offsets: NDArray[Any],
    maps: NDArray[Any],
    n_threads: int,
) -> None: ...
def alignments(
    maps: NDArray[Any],
    centres: NDArray[Any],
    anchors: NDArray[Any],
    around: NDArray[Any],
    out: NDArray[Any],
    n_threads: int,
) -> None: ...
def near_cells(
    cells: Cells,
    near: NDArray[Any],
    beyond: NDArray[Any],
    n_threads: int,
    progress: Callable[[float], None] | None,
) -> None: ...
def probe(
    cells: Cells,
    near: NDArray[Any],
    first: int,
    last: int,
    ids: NDArray[Any],
    bounds: NDArray[Any],
    n_threads: int,
    progress: Callable[[float], None] | None,
) -> int: ...
def repair(
    cells: Cells,
    known: NDArray[Any],
    ids: NDArray[Any],
    bounds: NDArray[Any],
    n_threads: int,
    progress: Callable[[float], None] | None,
) -> None: ...
def verify_lists(
    cells: Cells,
    rows: Rows,
    ids: NDArray[Any],
    bounds: NDArray[Any],
    positions: NDArray[Any],
    distances: NDArray[Any],
    found: NDArray[Any],
    n_threads: int,
    progress: Callable[[float], None] | None,
) -> None: ...
def prove(
    cells: Cells,
    near: NDArray[Any],
    beyond: NDArray[Any],
    last: int,
    ids: NDArray[Any],
    bounds: NDArray[Any],
    distances: NDArray[Any],
    proved: NDArray[Any],
    n_threads: int,
    progress: Callable[[float], None] | None,
) -> None: ...

class PairSet:
    def __init__(self, n_cells: int) -> None: ...

def self_join(
    cells: Cells,
    rows: Rows,
    n_visit: int,
    done: PairSet,
    distances: NDArray[Any],
    ids: NDArray[Any],
    n_threads: int,
    progress: Callable[[float], None] | None,
) -> tuple[int, int, int]: ...
def query(
    queries: Cells,
    query_rows: Rows,
    cells: Cells,
    rows: Rows,
    distances: NDArray[Any],
    ids: NDArray[Any],
    n_threads: int,
) -> tuple[int, int, int]: ...
