"""Divides rows into parts that fit a worker: k-means cells of a sample, joined to equal sizes.

Boxes around the cells tell what cannot be near. They bound distances whatever the division is, so
it decides the order of work for an exact search and never its result.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np

from ..core.arrays import Array, blocks
from ..core.input.validate import row_dtype
from ..core.points.point_set import PointSet, make_points
from ..core.points.reduce import Reducer, fit_reducer, reduce_rows, with_signs
from ..core.threads import single_threaded_blas
from ..method.neighbors.approximate import graph_bytes
from ..method.neighbors.cells import k_means, nearest_centre
from ..method.neighbors.choice import most_columns
from .store import Store

COLUMNS = 24  # leading reduced columns that cells and boxes look at
LISTED = 32  # rows that the approximate search lists per row, at most
MOST_MEMBERS = 3.0  # rows of the largest part with its guests, in parts of average size
SPARE = 1.25  # times its room: what a part may take, since parts are not of equal size
CELLS_PER_PART = 16
MOST_CELLS = 2048
_SAMPLE_PER_CELL = 64
_SLACK = 1e-5  # of the largest coordinate: short rows are float32


@dataclass(frozen=True, eq=False)
class Division:
    """Which part a row belongs to, and what is known of the parts."""

    metric: str
    unit: float
    reducer: Reducer
    centres: Array  # float32, n_cells x columns
    part_of_cell: Array
    starts: Array  # rows of part p are starts[p] to starts[p + 1] in the order of parts
    # of each cell, the smallest and largest coordinates of its rows; inf and -inf for none
    lows: Array
    highs: Array
    # guests of a part are rows of others within this margin of it; below 0: there are none
    reach: float = -1.0
    # `starts` with the guests counted
    begins: Array = field(default_factory=lambda: np.zeros(1, dtype=np.int64))

    @property
    def n_parts(self) -> int:
        return int(self.part_of_cell.max()) + 1

    def points(self, rows: Array, keys: Array | None = None) -> PointSet:
        """Rows in the unit of the fit."""
        return make_points(rows, self.metric, keys=keys, unit=self.unit)

    def short(self, points: PointSet) -> Array:
        """The leading coordinates of rows."""
        directions = np.ascontiguousarray(self.reducer.directions[:, : self.centres.shape[1]])
        lead = Reducer(self.reducer.mean, directions, self.reducer.norm)
        return np.ascontiguousarray(reduce_rows(points, lead, 1).z[:, : self.centres.shape[1]])

    def cells_of(self, z: Array) -> Array:
        """The cell of each row."""
        return nearest_centre(z, self.centres, 1)

    def margins(self, z: Array, cells: Array, apart: Array | None = None) -> Array:
        """How far each part is from rows of these cells, -inf: their own; `apart`: `cells_apart`.

        That is, about, the distance to the plane midway between the nearest centres of both parts.
        """
        apart = self.cells_apart() if apart is None else apart
        out = self._nearest(z)
        own = np.arange(len(z)), self.part_of_cell[cells]
        out -= out[own][:, None]
        out /= 2 * apart[cells]
        out[own] = -np.inf
        return out

    def cells_apart(self) -> Array:
        """Distance of the centre of each cell to the nearest one of each part; 1 for its own."""
        squared = (
            self._nearest(self.centres) + np.einsum("ij,ij->i", self.centres, self.centres)[:, None]
        )
        apart = np.sqrt(np.maximum(squared, np.finfo(np.float32).tiny))
        apart[np.arange(len(apart)), self.part_of_cell] = 1
        return np.asarray(apart)

    def _nearest(self, z: Array) -> Array:
        """Squared distances of rows to the nearest centre of each part, less the row's square."""
        by_part = np.argsort(self.part_of_cell, kind="stable")
        centres = self.centres[by_part]
        starts = np.searchsorted(self.part_of_cell[by_part], np.arange(self.n_parts))
        out = np.empty((len(z), self.n_parts), dtype=np.float32)
        for block in blocks(len(z), len(centres), values=1_000_000):
            away = np.einsum("ij,ij->i", centres, centres) - 2 * (z[block] @ centres.T)
            out[block] = np.minimum.reduceat(away, starts, axis=1)
        return out

    def guests(self, z: Array, cells: Array) -> tuple[Array, Array]:
        """Pairs of a row, given with its cell, and a part that has it as a guest (a halo row)."""
        if self.reach < 0:
            return np.empty(0, dtype=np.int32), np.empty(0, dtype=np.uint16)
        found = []
        apart = self.cells_apart()
        for block in blocks(len(z), len(self.centres), values=1_000_000):
            margins = self.margins(z[block], cells[block], apart)
            rows, parts = np.nonzero((margins <= self.reach) & (margins > -np.inf))
            found.append((rows + block.start, parts))
        rows, parts = (np.concatenate(column) for column in zip(*found, strict=True))
        return rows.astype(np.int32), parts.astype(np.uint16)

    def near_parts(self, z: Array, reach: Array, own: int) -> list[Array]:
        """For each part the rows that may have a neighbour there, within their reach."""
        asked: list[list[Array]] = [[np.empty(0, dtype=np.int64)] for _ in range(self.n_parts)]
        slack = _SLACK * float(np.abs(z).max(initial=0.0) + np.abs(self.centres).max())
        filled = self.lows[:, 0] <= self.highs[:, 0]
        cells_of = [np.flatnonzero(filled & (self.part_of_cell == p)) for p in range(self.n_parts)]
        for block in blocks(len(z), len(self.centres), values=1_000_000):
            x = z[block]
            within = reach[block] + np.float32(slack)
            for p, cells in enumerate(cells_of):
                if p == own or len(cells) == 0:
                    continue
                whole = self.lows[cells].min(axis=0)[None], self.highs[cells].max(axis=0)[None]
                # most are ruled out at once
                rows = np.flatnonzero(self._gaps(x, *whole)[:, 0] <= within)
                gaps = self._gaps(x[rows], self.lows[cells], self.highs[cells])
                asked[p].append(rows[(gaps <= within[rows, None]).any(axis=1)] + block.start)
        return [np.concatenate(found) for found in asked]

    def _gaps(self, z: Array, lows: Array, highs: Array) -> Array:
        """Distances of rows to boxes: no row inside is nearer, by the metric's norm."""
        out = np.zeros((len(z), len(lows)), dtype=np.float32)
        for j in range(z.shape[1]):
            outside = np.maximum(lows[:, j] - z[:, j, None], z[:, j, None] - highs[:, j])
            np.maximum(outside, 0, out=outside)
            out += outside if self.reducer.norm == "L1" else outside * outside
        return out if self.reducer.norm == "L1" else np.sqrt(out)

    def save(self, store: Store) -> None:
        """Write what tasks read."""
        store.save(
            "division",
            metric=np.array(self.metric),
            unit=self.unit,
            mean=self.reducer.mean,
            directions=self.reducer.directions,
            norm=np.array(self.reducer.norm),
            centres=self.centres,
            part_of_cell=self.part_of_cell,
            starts=self.starts,
            lows=self.lows,
            highs=self.highs,
            reach=self.reach,
            begins=self.begins,
        )


@lru_cache(maxsize=2)
def load_division(store: Store, version: str) -> Division:
    """What the client wrote; read once per worker. `version` tells contents of a file apart."""
    found = store.load("division")
    reducer = Reducer(found["mean"], found["directions"], str(found["norm"]))
    return Division(
        str(found["metric"]),
        float(found["unit"]),
        reducer,
        found["centres"],
        found["part_of_cell"],
        found["starts"],
        found["lows"],
        found["highs"],
        float(found["reach"]),
        found["begins"],
    )


def divide(
    points: PointSet, n_parts: int, columns: int, reducer: Reducer | None = None
) -> Division:
    """Cells and parts of all rows, from a random sample of them; `reducer`: known directions."""
    with single_threaded_blas():
        reducer = reducer or fit_reducer(points, most=columns)  # those that one machine would take
    n_cells = min(CELLS_PER_PART * n_parts, MOST_CELLS)
    rng = np.random.default_rng(0)
    rows = np.sort(rng.choice(points.n, min(points.n, _SAMPLE_PER_CELL * n_cells), replace=False))
    sample = make_points(np.asarray(points.data[rows]), points.metric, unit=points.unit)
    width = min(COLUMNS, reducer.directions.shape[1])
    empty = np.empty((n_cells, width), dtype=np.float32)
    blank = Division(
        points.metric,
        points.unit,
        reducer,
        empty,
        np.zeros(n_cells, dtype=np.int64),
        np.zeros(1),
        empty,
        empty,
    )
    z = blank.short(sample)
    centres = k_means(z, min(n_cells, len(z)), 1)
    weights = np.bincount(nearest_centre(z, centres, 1), minlength=len(centres))
    parts = _join_cells(centres, weights, n_parts)
    none = np.full(centres.shape, np.inf, dtype=np.float32)
    starts = np.zeros(parts.max() + 2, dtype=np.int64)
    return Division(points.metric, points.unit, reducer, centres, parts, starts, none, -none)


def _join_cells(centres: Array, weights: Array, n_parts: int) -> Array:
    """The part of each cell: cells are halved by weight across their main direction, repeatedly."""
    part_of = np.zeros(len(centres), dtype=np.int64)
    todo = [(np.arange(len(centres)), n_parts)]
    n_done = 0
    while todo:
        cells, n = todo.pop()
        if n <= 1 or len(cells) <= 1:
            part_of[cells] = n_done
            n_done = n_done + 1
            continue
        share = weights[cells] / max(1, weights[cells].sum())
        away = centres[cells] - share @ centres[cells]
        _, directions = np.linalg.eigh((away * share[:, None]).T @ away)
        along = np.argsort(away @ with_signs(directions[:, -1:])[:, 0], kind="stable")
        cells = cells[along]
        share = np.cumsum(share[along])
        cut = int(np.clip(np.searchsorted(share, (n // 2) / n) + 1, 1, len(cells) - 1))
        todo += [(cells[cut:], n - n // 2), (cells[:cut], n // 2)]
    return part_of


def boxes(z: Array, cells: Array, n_cells: int) -> tuple[Array, Array]:
    """Smallest and largest coordinates of the rows of each cell."""
    lows = np.full((n_cells, z.shape[1]), np.inf, dtype=np.float32)
    highs = -lows
    order = np.argsort(cells, kind="stable")
    counts = np.bincount(cells, minlength=n_cells)
    used = np.flatnonzero(counts)
    starts = np.cumsum(counts[used]) - counts[used]
    lows[used] = np.minimum.reduceat(z[order], starts, axis=0)
    highs[used] = np.maximum.reduceat(z[order], starts, axis=0)
    return lows, highs


def per_row(n: int, width: int, dtype: Any, method: str) -> int:
    """Memory per row of a part while neighbours are searched: row, short rows, panels, lists."""
    columns = min(most_columns(n), -(-width // 16) * 16)
    row_bytes = width * row_dtype(dtype).itemsize
    short = 4.5 * columns + 4
    panels = 4 * (min(columns, 96) + 2) * 1.2
    if method == "exact":
        return int(row_bytes + 2 * short + panels + 24 + 64)
    return int(row_bytes + max(2 * short, short + panels + graph_bytes(LISTED)) + 64)


def number_of_parts(n: int, per_row: int, room: int, method: str) -> int:
    """Number of parts that fit into `room` bytes each, with guests if the search is approximate."""
    if n * per_row <= room:
        return 1
    return max(2, -(-int(n * per_row * (1 if method == "exact" else MOST_MEMBERS / SPARE)) // room))
