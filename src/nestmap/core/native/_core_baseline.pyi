"""The compiled module (see cpp/module.cpp); the other builds have the same contents.

Arrays are taken as they are: of exactly these types, C-contiguous, writable where results go.
Anything else is a TypeError; shapes and indices that do not fit are a ValueError or an IndexError
that names the argument.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

F32 = NDArray[np.float32]
F64 = NDArray[np.float64]
I32 = NDArray[np.int32]
I64 = NDArray[np.int64]
Real = F32 | F64

LANES: int
SMALL_GROUP: int
isa: str

def supported(isa: str) -> bool: ...

class Rows:
    def set_keys(self, keys: NDArray[Any]) -> None: ...

def dense_rows(x: NDArray[Any], scale: F64, shift: F64, extra: F64) -> Rows: ...
def csr_rows(
    data: Real,
    indices: I32 | I64,
    indptr: I32 | I64,
    n_cols: int,
    scale: F64,
    shift: F64,
    extra: F64,
) -> Rows: ...
def project(x: Real, mean: F64, basis: F64, z: F64, n_threads: int) -> None: ...
def group_means(
    x: Real,
    order: I64,
    starts: I64,
    weights: F64,
    means: Real,
    n_threads: int,
) -> None: ...
def largest(x: Real, n_threads: int) -> float: ...
def count_within(values: Real, lower: F64, upper: F64, below: I64, upto: I64) -> None: ...
def pair_distances(rows: Rows, i: I64, j: I64, distances: F64, norm: str) -> None: ...
def hash_rows(x: Real, hash: NDArray[np.uint64], n_threads: int) -> None: ...

class Cells:
    def __init__(
        self,
        z: F32,
        tails: F32,
        sizes: F32,
        ids: I64,
        starts: I64,
        head: int,
        slack: float,
        norm: str,
        with_panels: bool,
        n_threads: int,
    ) -> None: ...
    @property
    def width(self) -> int: ...
    def centres(self, out: F32) -> None: ...

def divide_regions(
    region_starts: I64,
    region_points: F64,
    order: I64,
    starts: I64,
    offsets: F64,
    shares: F64,
    rounds: int,
    want_polygons: bool,
    centres: F64,
    n_threads: int,
) -> tuple[I64, F64]: ...
def outside(
    starts: I64,
    corners: F64,
    ids: I64,
    points: F64,
    out: F64,
    n_threads: int,
) -> None: ...
def small_frames(
    z: F32,
    order: I64,
    starts: I64,
    weights: F64,
    offsets: F64,
    maps: F32,
    n_threads: int,
) -> None: ...
def alignments(
    maps: F32,
    centres: F32,
    anchors: F64,
    around: I64,
    out: F64,
    n_threads: int,
) -> None: ...
def calibrate(distances: F32, perplexity: float, weights: F32, n_threads: int) -> None: ...
def spread(
    positions: F32, masses: F32, x: float, y: float, spacing: float, charges: F32, n_threads: int
) -> None: ...
def move(
    starts: I64,
    ids: I32,
    weights: F32,
    x: float,
    y: float,
    spacing: float,
    potential: F32,
    attraction: float,
    repulsion: float,
    momentum: float,
    longest: float,
    rates: F32,
    homes: F32,
    ties: F32,
    positions: F32,
    velocities: F32,
    gains: F32,
    moved: F32,
    bounds: F32,
    n_threads: int,
) -> None: ...
def strongest(
    starts: I64, ids: I32, weights: F32, strong: I32, strengths: F32, n_threads: int
) -> None: ...
def better_places(
    ids: I32,
    weights: F32,
    n_tried: int,
    near: float,
    positions: F32,
    counts: NDArray[np.bool_],
    places: F32,
    times: F32,
    n_threads: int,
) -> None: ...
def near_cells(
    cells: Cells,
    near: I32,
    n_threads: int,
    progress: Callable[[float], None] | None,
) -> None: ...
def probe(
    cells: Cells,
    near: I32,
    first: int,
    last: int,
    ids: I32,
    estimates: F32,
    n_threads: int,
    progress: Callable[[float], None] | None,
) -> int: ...
def rank_lists(
    cells: Cells,
    rows: Rows,
    ids: I32,
    estimates: F32,
    positions: I64,
    distances: F64,
    found: I64,
    n_threads: int,
    progress: Callable[[float], None] | None,
) -> None: ...

class Graph:
    def __init__(self, cells: Cells, ids: I32, estimates: F32, max_candidates: int) -> None: ...
    def improve(self, n_threads: int, progress: Callable[[float], None] | None) -> int: ...
    def n_new(self) -> int: ...

class PairSet:
    def __init__(self, n_cells: int) -> None: ...

def self_join(
    cells: Cells,
    rows: Rows,
    n_visit: int,
    done: PairSet,
    distances: F64,
    ids: I64,
    n_threads: int,
    progress: Callable[[float], None] | None,
) -> tuple[int, int, int]: ...
def query(
    queries: Cells,
    query_rows: Rows,
    cells: Cells,
    rows: Rows,
    distances: F64,
    ids: I64,
    n_threads: int,
) -> tuple[int, int, int]: ...
def communities(
    starts: I64,
    ids: I32,
    weights: F64,
    volumes: F64,
    parents: I32,
    order: I32,
    resolution: float,
    labels: I32,
) -> None: ...
def merge_order(
    starts: I64,
    ids: I32,
    weights: F64,
    volumes: F64,
    parents: I32,
    first: I32,
    second: I32,
    similarities: F64,
) -> int: ...
def eigenvectors(matrices: F64, values: F64, n_threads: int) -> None: ...
def orthonormal(rows: F64) -> None: ...
def convolve(
    charges: F32, of_rows: F32, of_cols: F32, transfer: F32, potential: F32, n_threads: int
) -> None: ...
def even_transform(values: F64, of_rows: F64, of_cols: F64, out: F64, n_threads: int) -> None: ...
