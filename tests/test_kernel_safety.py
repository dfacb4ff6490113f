"""Kernels get arguments that no caller should pass: an error that names the argument, never a stray
read or write.

What only a sanitizer can see is seen by `make sanitize`, which runs these tests too.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from conftest import LIMIT, builds, core, using

from nestmap.core.native import fourier

N, DIMS, N_CELLS, LISTED, KEPT = 60, 16, 4, 3, 2
pytestmark = pytest.mark.skipif(not builds(), reason="there is no compiled module")


def short_rows(norm: str = "L2", scale: float = 1.0, starts: Any = None) -> dict[str, Any]:
    """Arguments of Cells: 60 rows of 16 columns, nothing left out."""
    z = (np.random.default_rng(0).normal(size=(N, DIMS)) * scale).astype(np.float32)
    x = z.astype(np.float64)
    rest = x[:, 8:].sum(axis=1) if norm == "L1" else np.sqrt((x[:, 8:] ** 2).sum(axis=1))
    sizes = np.abs(x).sum(axis=1) if norm == "L1" else (x * x).sum(axis=1)
    most = float(np.finfo(np.float32).max)
    starts = np.linspace(0, N, N_CELLS + 1).astype(np.int64) if starts is None else np.array(starts)
    return {
        "z": z,
        "tails": np.stack([np.clip(rest, -most, most), np.zeros(N)], axis=1).astype(np.float32),
        "sizes": np.minimum(sizes, most).astype(np.float32),
        "ids": np.arange(N),
        "starts": starts,
        "head": 8,
        "slack": 1e-5,
        "norm": norm,
        "with_panels": True,
        "n_threads": 2,
    }


def rows_of(z: np.ndarray) -> Any:
    return core().dense_rows(z, np.ones(1), np.zeros(1), np.zeros(1))


def lists() -> dict[str, Any]:
    return {
        "ids": np.full((N, KEPT), -1, dtype=np.int32),
        "estimates": np.full((N, KEPT), np.inf, dtype=np.float32),
    }


def polygons() -> dict[str, Any]:
    """Two squares."""
    square = np.array([[0.0, 0], [1, 0], [1, 1], [0, 1]])
    return {"starts": np.array([0, 4, 8]), "corners": np.concatenate([square, square + 2])}


def arguments(kernel: str) -> dict[str, Any]:
    """Arguments that a kernel takes."""
    rng = np.random.default_rng(1)
    x, order, starts = rng.normal(size=(N, DIMS)), rng.permutation(N), np.array([0, 20, 20, N])
    threads, search = {"n_threads": 2}, {"n_threads": 2, "progress": None}
    if kernel == "Cells":
        return short_rows()
    if kernel == "PairSet":
        return {"n_cells": N_CELLS}
    if kernel == "dense_rows":
        return {"x": x, "scale": np.ones(N), "shift": np.zeros(1), "extra": np.zeros(N)}
    if kernel == "csr_rows":
        data = {
            "data": np.ones(5),
            "indices": np.arange(5),
            "indptr": np.array([0, 2, 4, 5]),
            "n_cols": 5,
        }
        return data | {"scale": np.ones(3), "shift": np.zeros(1), "extra": np.zeros(3)}
    if kernel == "project":
        return {
            "x": x,
            "mean": x[0].copy(),
            "basis": x[:3].copy(),
            "z": np.zeros((N, 3)),
            **threads,
        }
    if kernel == "group_means":
        means = np.zeros((3, DIMS))
        return {
            "x": x,
            "order": order,
            "starts": starts,
            "weights": np.ones(N),
            "means": means,
            **threads,
        }
    if kernel == "hash_rows":
        return {"x": x, "hash": np.zeros(N, dtype=np.uint64), **threads}
    if kernel == "largest":
        return {"x": x.ravel(), **threads}
    if kernel == "count_within":
        counts = {name: np.zeros((N, 2), dtype=np.int64) for name in ("below", "upto")}
        return {"values": x, "lower": np.zeros((N, 2)), "upper": np.ones((N, 2)), **counts}
    if kernel == "pair_distances":
        return {
            "rows": rows_of(x),
            "i": order,
            "j": order[::-1].copy(),
            "distances": np.zeros(N),
            "norm": "L2",
        }
    if kernel == "divide_regions":
        regions = {
            "region_" + name.replace("corners", "points"): a for name, a in polygons().items()
        }
        groups = {
            "order": order,
            "starts": np.array([0, 20, N]),
            "offsets": rng.normal(size=(N, 2)),
        }
        return (
            regions
            | groups
            | {
                "shares": np.ones(N),
                "rounds": 1,
                "want_polygons": True,
                "centres": np.zeros((N, 2)),
                **threads,
            }
        )
    if kernel == "outside":
        return {
            **polygons(),
            "ids": rng.integers(0, 2, N),
            "points": x[:, :2].copy(),
            "out": np.zeros(N),
            **threads,
        }
    if kernel == "small_frames":
        maps = np.zeros((3, 2, DIMS), dtype=np.float32)
        groups = {
            "order": order,
            "starts": starts,
            "weights": np.ones(N),
            "offsets": np.zeros((N, 2)),
            "maps": maps,
        }
        return {"z": x.astype(np.float32), **groups, **threads}
    if kernel in ("eigenvectors", "orthonormal"):
        square = {"matrices": np.stack([x.T @ x, np.eye(DIMS)]), "values": np.zeros((2, DIMS))}
        return {**square, **threads} if kernel == "eigenvectors" else {"rows": x[:5].copy()}
    if kernel in ("convolve", "even_transform"):
        kind = "<f4" if kernel == "convolve" else "<f8"
        lengths = {"of_rows": fourier.roots(12, kind), "of_cols": fourier.roots(10, kind)}
        if kernel == "even_transform":
            return {"values": np.ones((7, 6)), **lengths, "out": np.zeros((6, 7)), **threads}
        charges = np.ones((6, 5), dtype=np.float32)
        transfer = np.ones((6, 12), dtype=np.float32)
        out = {"transfer": transfer, "potential": np.zeros_like(charges)}
        return {"charges": charges, **lengths, **out, **threads}
    if kernel == "alignments":
        maps = rng.normal(size=(N, 2, DIMS)).astype(np.float32)
        places = {
            "centres": x.astype(np.float32),
            "anchors": x[:, :2].copy(),
            "around": order.reshape(-1, 1),
        }
        return {"maps": maps, **places, "out": np.zeros((N, 2, 2)), **threads}
    if kernel == "calibrate":
        near = np.sort(np.abs(x[:, :6]), axis=1).astype(np.float32)
        return {
            "distances": near,
            "perplexity": 2.0,
            "weights": np.zeros((N, 6), dtype=np.float32),
            **threads,
        }
    places, grid = x[:, :2].astype(np.float32), {"x": -10.0, "y": -10.0, "spacing": 0.5}
    if kernel == "spread":
        charges = np.zeros((48, 48), dtype=np.float32)
        return {
            "positions": places,
            "masses": np.ones(N, dtype=np.float32),
            **grid,
            "charges": charges,
            **threads,
        }
    if kernel == "move":
        ones = {
            name: np.ones((N, 2), dtype=np.float32) for name in ("velocities", "gains", "moved")
        }
        graph = {
            "starts": np.arange(N + 1),
            "ids": order.astype(np.int32),
            "weights": np.ones(N, dtype=np.float32),
        }
        motion = {"attraction": 1.0, "repulsion": 1.0, "momentum": 0.8, "longest": 5.0}
        return {
            **graph,
            **grid,
            "potential": np.zeros((48, 48), dtype=np.float32),
            **motion,
            "rates": np.ones(N, dtype=np.float32),
            "homes": places.copy(),
            "ties": np.ones(N, dtype=np.float32),
            "positions": places,
            **ones,
            "bounds": np.zeros((2, 2), dtype=np.float32),
            **threads,
        }
    if kernel in ("communities", "merge_order"):
        around = np.stack([np.roll(np.arange(N), 1), np.roll(np.arange(N), -1)], axis=1).astype(
            np.int32
        )
        ring = {
            "starts": np.arange(0, 2 * N + 1, 2),
            "ids": around.ravel(),
            "weights": np.ones(2 * N),
        }
        nodes = {"volumes": np.full(N, 2.0), "parents": np.zeros(N, dtype=np.int32)}
        labels = {name: np.zeros(N, dtype=np.int32) for name in ("labels", "first", "second")}
        if kernel == "communities":
            return {
                **ring,
                **nodes,
                "order": order.astype(np.int32),
                "resolution": 0.01,
                "labels": labels["labels"],
            }
        return {
            **ring,
            **nodes,
            "first": labels["first"],
            "second": labels["second"],
            "similarities": np.zeros(N),
        }
    strong = np.tile(order.astype(np.int32)[:, None], 3)
    if kernel == "strongest":
        graph = {
            "starts": np.arange(N + 1),
            "ids": strong[:, 0].copy(),
            "weights": np.ones(N, dtype=np.float32),
        }
        return {
            **graph,
            "strong": strong,
            "strengths": np.ones((N, 3), dtype=np.float32),
            **threads,
        }
    if kernel == "better_places":
        return {
            "ids": strong,
            "weights": np.ones((N, 3), dtype=np.float32),
            "n_tried": 2,
            "near": 10.0,
            "positions": places,
            "counts": np.ones(N, dtype=bool),
            "places": np.ones((N, 2), dtype=np.float32),
            "times": np.ones(N, dtype=np.float32),
            **threads,
        }
    cells, near = core().Cells(**short_rows()), np.zeros((N_CELLS, LISTED), dtype=np.int32)
    native, best = rows_of(short_rows()["z"]), {"distances": np.full(N, np.inf)}
    if kernel == "Cells.centres":
        return {"self": cells, "out": np.zeros((N_CELLS, 9), dtype=np.float32)}
    if kernel == "near_cells":
        return {"cells": cells, "near": near, **search}
    core().near_cells(cells, near, 1, None)
    if kernel == "probe":
        return {"cells": cells, "near": near, "first": 0, "last": LISTED, **lists(), **search}
    full = {
        "ids": np.tile(np.int32([3, 4]), (N, 1)),
        "estimates": np.zeros((N, KEPT), dtype=np.float32),
    }
    if kernel == "rank_lists":
        asked = {
            "positions": np.array([5, 7]),
            "distances": np.zeros((2, 1)),
            "found": np.zeros((2, 1), dtype=np.int64),
        }
        return {"cells": cells, "rows": native, **full, **asked, **search}
    if kernel == "Graph":
        return {"cells": cells, **full, "max_candidates": 2}
    if kernel == "Graph.improve":
        return {"self": core().Graph(cells, *full.values(), 2), **search}
    if kernel == "Graph.n_new":
        return {"self": core().Graph(cells, *full.values(), 2)}
    best["ids"] = np.full(N, -1)
    if kernel == "self_join":
        done = core().PairSet(N_CELLS)
        return {"cells": cells, "rows": native, "n_visit": N_CELLS, "done": done, **best, **search}
    assert kernel == "query"
    others = core().Cells(**short_rows())
    return {
        "queries": others,
        "query_rows": native,
        "cells": cells,
        "rows": native,
        **best,
        **threads,
    }


def call(kernel: str, given: dict[str, Any]) -> Any:
    if "." in kernel:
        kind, name = kernel.split(".")
        return getattr(getattr(core(), kind), name)(
            given["self"], **{k: v for k, v in given.items() if k != "self"}
        )
    return getattr(core(), kernel)(**given)


KERNELS = (
    "Cells",
    "Cells.centres",
    "PairSet",
    "dense_rows",
    "csr_rows",
    "project",
    "group_means",
    "hash_rows",
    "largest",
    "count_within",
    "pair_distances",
    "divide_regions",
    "outside",
    "small_frames",
    "alignments",
    "eigenvectors",
    "orthonormal",
    "convolve",
    "even_transform",
    "calibrate",
    "spread",
    "move",
    "strongest",
    "better_places",
    "near_cells",
    "probe",
    "Graph",
    "Graph.improve",
    "Graph.n_new",
    "rank_lists",
    "self_join",
    "query",
    "communities",
    "merge_order",
)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("build", builds())
def test_the_arguments_of_these_tests_are_good_ones(build: str, kernel: str) -> None:
    with using(build):
        call(kernel, arguments(kernel))


@pytest.mark.parametrize("build", builds())
def test_every_kernel_is_tested_here(build: str) -> None:
    with using(build):
        names = {
            name
            for name in dir(core())
            if callable(getattr(core(), name)) and not name.startswith("_")
        }
    assert names - {"Rows", "supported"} == {name for name in KERNELS if "." not in name}


@pytest.mark.parametrize("kernel", KERNELS)
def test_arrays_of_another_length_are_errors(kernel: str) -> None:
    """One row less, or one column less: an error that names one of the arguments that do not fit."""
    with using(builds()[0]):
        good = arguments(kernel)
        for name, value in good.items():
            for axis in range(value.ndim if isinstance(value, np.ndarray) else 0):
                if (kernel, name, axis) in FREE:
                    continue
                short = np.ascontiguousarray(np.delete(value, -1, axis=axis))
                with pytest.raises(ValueError, match=r"^\w+: (expected|must|columns|lists|is for)"):
                    call(kernel, {**arguments(kernel), name: short})


@pytest.mark.parametrize("kernel", KERNELS)
def test_arrays_are_taken_as_they_are(kernel: str) -> None:
    """Of another type, in another order, or results that cannot be written: no rounded copy, no
    lost result.
    """
    with using(builds()[0]):
        for name, value in arguments(kernel).items():
            if not isinstance(value, np.ndarray):
                continue
            other = np.longdouble if value.dtype.kind == "f" else np.int16
            strided = np.repeat(value, 2, axis=0)[::2]
            for changed in (
                value.astype(other),
                strided,
                *([np.asfortranarray(value)] if value.ndim > 1 else []),
            ):
                if changed.flags.c_contiguous and changed.dtype == value.dtype:
                    continue  # a single column is in both orders
                with pytest.raises(TypeError, match="incompatible function arguments"):
                    call(kernel, {**arguments(kernel), name: changed})
        for name in RESULTS.get(kernel, ()):
            given = arguments(kernel)
            given[name].setflags(write=False)
            with pytest.raises(TypeError, match="incompatible function arguments"):
                call(kernel, given)


RESULTS = {
    "Cells.centres": ["out"],
    "project": ["z"],
    "group_means": ["means"],
    "hash_rows": ["hash"],
    "count_within": ["below", "upto"],
    "pair_distances": ["distances"],
    "divide_regions": ["centres"],
    "outside": ["out"],
    "small_frames": ["offsets", "maps"],
    "alignments": ["out"],
    "eigenvectors": ["matrices", "values"],
    "orthonormal": ["rows"],
    "convolve": ["potential"],
    "even_transform": ["out"],
    "near_cells": ["near"],
    "calibrate": ["weights"],
    "spread": ["charges"],
    "move": ["velocities", "gains", "moved", "bounds"],
    "strongest": ["strong", "strengths"],
    "better_places": ["places", "times"],
    "probe": ["ids", "estimates"],
    "Graph": ["ids", "estimates"],
    "rank_lists": ["distances", "found"],
    "self_join": ["distances", "ids"],
    "query": ["distances", "ids"],
}

# no other array has to fit these
FREE = {
    ("largest", "x", 0),
    ("orthonormal", "rows", 0),
    ("orthonormal", "rows", 1),
    ("dense_rows", "x", 1),
    ("hash_rows", "x", 1),
    ("count_within", "values", 1),
    ("outside", "starts", 0),
    ("alignments", "around", 1),
    ("near_cells", "near", 1),
    ("probe", "near", 1),
    ("spread", "charges", 0),
    ("spread", "charges", 1),
    ("move", "potential", 0),
    ("move", "potential", 1),
}


def put(index: Any, value: Any) -> Callable[[np.ndarray], np.ndarray]:
    """A change of an array: one other value."""

    def change(array: np.ndarray) -> np.ndarray:
        array = array.copy()
        array[index] = value
        return array

    return change


BAD = [
    ("Cells", "z", put((7, 12), np.nan), ValueError, "z: row 7 holds NaN or infinity"),
    ("Cells", "z", put((7, 3), -np.inf), ValueError, "z: row 7"),
    ("Cells", "tails", put((9, 1), np.inf), ValueError, "tails: row 9"),
    ("Cells", "sizes", put(3, np.nan), ValueError, "sizes: row 3"),
    ("Cells", "starts", put(1, 50), ValueError, "starts: must ascend from 0 to 60"),
    ("Cells", "starts", put(0, 1), ValueError, "starts: must begin with 0"),
    ("Cells", "starts", put(0, -1), ValueError, "starts"),
    ("Cells", "starts", put(4, 61), ValueError, "starts"),
    ("Cells", "head", 12, ValueError, "head=12"),
    ("Cells", "head", 0, ValueError, "head=0"),
    ("Cells", "head", 24, ValueError, "head=24"),
    ("Cells", "slack", np.nan, ValueError, "slack=nan"),
    ("Cells", "norm", "", ValueError, "norm=''"),
    ("PairSet", "n_cells", -1, ValueError, "n_cells=-1"),
    ("dense_rows", "scale", np.ones(2), ValueError, r"scale: expected shape \(60\), got \(2\)"),
    ("csr_rows", "indptr", put(1, 6), ValueError, "indptr"),
    ("csr_rows", "indptr", put(0, -1), ValueError, "indptr"),
    ("csr_rows", "indptr", np.empty(0, dtype=np.int64), ValueError, "indptr: must not be empty"),
    ("group_means", "order", put(3, 60), IndexError, "order: 60 is out of range, there are 60"),
    ("group_means", "order", put(3, -1), IndexError, "order: -1"),
    ("group_means", "starts", put(1, 61), ValueError, "starts"),
    ("group_means", "starts", put(3, 61), ValueError, "starts"),
    ("pair_distances", "i", put(3, 60), IndexError, "i: 60"),
    ("pair_distances", "j", put(3, -1), IndexError, "j: -1"),
    ("pair_distances", "norm", "L3", ValueError, "norm='L3'"),
    ("divide_regions", "order", put(0, 60), IndexError, "order: 60"),
    ("divide_regions", "order", np.zeros(N, dtype=np.int64), ValueError, "order: 0 is there twice"),
    ("divide_regions", "starts", put(2, 59), ValueError, "starts"),
    ("divide_regions", "region_starts", put(2, 9), ValueError, "region_starts"),
    (
        "divide_regions",
        "region_points",
        put((0, 0), np.nan),
        ValueError,
        "region_points: holds NaN",
    ),
    ("divide_regions", "offsets", put((5, 1), np.nan), ValueError, "offsets: holds NaN"),
    ("divide_regions", "shares", put(5, 0.0), ValueError, "shares: must be positive"),
    (
        "divide_regions",
        "shares",
        np.full(N, 1e308),
        ValueError,
        "shares: must be positive and finite",
    ),
    ("outside", "ids", put(5, 2), IndexError, "ids: 2"),
    ("outside", "starts", put(2, 9), ValueError, "starts"),
    ("small_frames", "order", put(5, 60), IndexError, "order: 60"),
    ("small_frames", "order", np.zeros(N, dtype=np.int64), ValueError, "order: 0 is there twice"),
    ("small_frames", "starts", put(1, 61), ValueError, "starts"),
    ("alignments", "around", put((5, 0), 60), IndexError, "around: 60"),
    ("move", "ids", put(3, 60), IndexError, "ids: "),
    ("move", "positions", put((3, 0), np.nan), ValueError, "positions: "),
    ("spread", "positions", put((3, 0), np.inf), ValueError, "positions: "),
    ("strongest", "starts", put(3, 61), ValueError, "starts"),
    ("strongest", "weights", put(3, np.nan), ValueError, "weights: "),
    ("better_places", "ids", put((3, 0), 60), IndexError, "ids: "),
    ("better_places", "ids", put((3, 1), -1), IndexError, "ids: "),
    ("better_places", "positions", put((3, 0), np.nan), ValueError, "positions: "),
    ("calibrate", "distances", put((3, 0), np.nan), ValueError, "distances: "),
    ("near_cells", "near", np.empty((N_CELLS, 0), dtype=np.int32), ValueError, "near: must have"),
    ("probe", "near", put((1, 1), 4), IndexError, "near: 4"),
    ("probe", "near", put((1, 1), -1), IndexError, "near: -1"),
    ("Graph", "ids", put((5, 1), 60), IndexError, "ids: 60"),
    ("Graph", "max_candidates", 0, ValueError, "max_candidates=0"),
    ("Graph", "max_candidates", 65, ValueError, "max_candidates=65"),
    ("rank_lists", "ids", put((5, 1), 60), IndexError, "ids: 60"),
    (
        "rank_lists",
        "found",
        np.empty((2, 3), dtype=np.int64),
        ValueError,
        "found: must have 1 to 2",
    ),
    ("rank_lists", "positions", put(1, 60), IndexError, "positions: 60"),
    ("self_join", "n_visit", -1, ValueError, "n_visit=-1"),
]


@pytest.mark.parametrize(("kernel", "name", "bad", "error", "message"), BAD)
def test_bad_values_are_errors(
    kernel: str, name: str, bad: Any, error: type[Exception], message: str
) -> None:
    with using(builds()[0]):
        given = arguments(kernel)
        given[name] = bad(given[name]) if callable(bad) else bad
        with pytest.raises(error, match=f"^{message}"):
            call(kernel, given)


@pytest.mark.parametrize(
    "kernel", [name for name in KERNELS if name not in ("PairSet", "Cells.centres")]
)
@pytest.mark.parametrize("n_threads", [0, -3])
def test_threads_are_at_least_one(kernel: str, n_threads: int) -> None:
    with using(builds()[0]):
        given = arguments(kernel)
        if "n_threads" in given:
            with pytest.raises(ValueError, match=f"^n_threads={n_threads}: must be at least 1"):
                call(kernel, {**given, "n_threads": n_threads})


def test_objects_that_do_not_belong_together_are_errors() -> None:
    with using(builds()[0]):
        few, narrow = rows_of(np.ones((N - 1, DIMS))), rows_of(np.ones((N, DIMS - 1)))
        for kernel in ("self_join", "query", "rank_lists"):
            with pytest.raises(IndexError, match="ids of cells: 59 is out of range"):
                call(kernel, {**arguments(kernel), "rows": few})
        with pytest.raises(IndexError, match="ids of cells: 59 is out of range"):
            call("query", {**arguments("query"), "query_rows": few})
        with pytest.raises(ValueError, match="query_rows: have 15 columns, rows have 16"):
            call("query", {**arguments("query"), "query_rows": narrow})
        for change in ({"head": 16}, {"norm": "L1"}):
            with pytest.raises(ValueError, match="queries: head, columns of z and norm"):
                call(
                    "query",
                    {**arguments("query"), "queries": core().Cells(**short_rows() | change)},
                )
        with pytest.raises(ValueError, match="done: is for another number of cells"):
            call("self_join", {**arguments("self_join"), "done": core().PairSet(N_CELLS - 1)})


@pytest.mark.parametrize("norm", ["L1", "L2"])
@pytest.mark.parametrize("build", builds())
def test_bounds_that_overflow_break_nothing(build: str, norm: str) -> None:
    """Finite rows whose squares are infinite: bounds are NaN, which has no place in an order."""
    with using(build):
        cells = core().Cells(**short_rows(norm, scale=5e37 if norm == "L1" else 1e30))
        near = np.empty((N_CELLS, N_CELLS), dtype=np.int32)
        core().near_cells(cells, near, 2, None)
        assert (near[:, 0] == np.arange(N_CELLS)).all(), "its own cell comes first"
        assert (np.sort(near, axis=1) == np.arange(N_CELLS)).all(), "each cell is listed once"
        core().near_cells(cells, near[:, :2].copy(), 2, None)
        found = lists()
        core().probe(cells, near, 0, N_CELLS, found["ids"], found["estimates"], 2, None)
        core().Graph(cells, found["ids"], found["estimates"], 2).improve(2, None)
        assert found["ids"].min() >= -1 and found["ids"].max() < N


def test_lists_that_change_between_rounds_are_checked_again() -> None:
    with using(builds()[0]):
        given = arguments("Graph")
        graph = core().Graph(**given)
        given["ids"][7, 0] = N
        with pytest.raises(IndexError, match="ids: 60"):
            graph.improve(2, None)


@pytest.mark.parametrize("build", builds())
def test_rows_without_a_neighbour_are_said(build: str) -> None:
    """All bounds are infinity less infinity; a row number of -1 would be an index further on."""
    with using(build):
        short = short_rows(scale=1e30)
        cells, native = core().Cells(**short | {"z": np.abs(short["z"])}), rows_of(short["z"])
        with pytest.raises(
            ValueError, match="row 0 has no neighbour: its distances are not numbers"
        ):
            call("self_join", {**arguments("self_join"), "cells": cells, "rows": native})
        with pytest.raises(
            ValueError, match="row 0 has no neighbour: its distances are not numbers"
        ):
            call("query", {**arguments("query"), "queries": cells, "cells": cells})


@pytest.mark.parametrize("build", builds())
def test_more_rows_than_positions_can_tell_are_an_error(build: str) -> None:
    none = np.empty((2**31, 0), dtype=np.float32)  # takes no memory
    with using(build):
        with pytest.raises(
            OverflowError, match=r"^2147483648 rows: the search takes at most 2147483647"
        ):
            core().Cells(**short_rows() | {"z": none, "tails": none})
        with pytest.raises(
            OverflowError, match=r"^4294967296 cells: the search takes at most 2147483647"
        ):
            core().PairSet(2**32)


@pytest.mark.parametrize("starts", [[0, 0, 17, 17, 17, 60, 60], [0, 60, 60]])
@pytest.mark.parametrize("norm", ["L1", "L2"])
@pytest.mark.parametrize("build", builds())
def test_empty_cells_change_nothing(build: str, norm: str, starts: list[int]) -> None:
    with using(build):
        short = short_rows(norm, starts=starts)
        z, n_cells = short["z"], len(starts) - 1
        cells, native = core().Cells(**short), rows_of(z)
        done, distances, ids = core().PairSet(n_cells), np.full(N, np.inf), np.full(N, -1)
        for n_visit in (1, 2, n_cells):
            core().self_join(cells, native, n_visit, done, distances, ids, 2, None)
        difference = z[:, None].astype(np.float64) - z
        exact = np.abs(difference).sum(axis=2) if norm == "L1" else (difference**2).sum(axis=2)
        np.fill_diagonal(exact, np.inf)
        np.testing.assert_array_equal(ids, exact.argmin(axis=1))
        near, found = np.empty((n_cells, n_cells), dtype=np.int32), lists()
        core().near_cells(cells, near, 2, None)
        core().probe(cells, near, 0, n_cells, found["ids"], found["estimates"], 2, None)
        np.testing.assert_array_equal(found["ids"][:, 0], ids)
        again, who = np.full(N, np.inf), np.full(N, -1)
        core().query(cells, native, cells, native, again, who, 2)
        np.testing.assert_array_equal(who, ids)


@pytest.mark.parametrize("build", builds())
def test_no_rows_at_all(build: str) -> None:
    with using(build):
        none = {
            name: value[:0]
            for name, value in short_rows().items()
            if name in ("z", "tails", "sizes", "ids")
        }
        cells = core().Cells(**short_rows() | none | {"starts": np.zeros(1, dtype=np.int64)})
        empty = lists()
        ids, bounds, near = (
            empty["ids"][:0],
            empty["estimates"][:0],
            np.empty((0, 1), dtype=np.int32),
        )
        core().near_cells(cells, near, 2, None)
        assert core().probe(cells, near, 0, 1, ids, bounds, 2, None) == 0


@pytest.mark.parametrize("extent", [1e-160, 1e160, 1e300])
def test_regions_of_any_extent_are_divided(extent: float) -> None:
    """Areas and squares that overflow or vanish."""
    with using(builds()[0]):
        given = arguments("divide_regions")
        n = 20_000
        many = {"order": np.arange(n), "starts": np.array([0, n, n]), "shares": np.ones(n)}
        many |= {
            "offsets": np.random.default_rng(0).normal(size=(n, 2)) * extent,
            "centres": np.empty((n, 2)),
        }
        starts, points = core().divide_regions(
            **given | many | {"region_points": given["region_points"] * extent, "rounds": 0}
        )
        assert len(starts) == n + 1 and starts[-1] == len(points) and (np.diff(starts) >= 0).all()


LIMITED = """
import resource
import numpy as np
from nestmap.core.native import core

def allow(room):
    used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
    limit = resource.RLIM_INFINITY if room is None else used + room
    resource.setrlimit(resource.RLIMIT_AS, (limit, resource.RLIM_INFINITY))

x = np.arange(1_200_000, dtype=np.float32).reshape(-1, 2)
expected, found = np.empty(len(x), dtype=np.uint64), np.empty(len(x), dtype=np.uint64)
"""
# no thread that has ended leaves a stack behind before the limit is set
FEW_THREADS = """
allow({room})
core().hash_rows(x, found, 100_000)
allow(None)
core().hash_rows(x, expected, 1)
assert (found == expected).all()
"""
STOPPED = """
class Enough(Exception): ...

def progress(share):
    raise Enough

rng = np.random.default_rng(0)
z = rng.normal(size=(20_000, 16)).astype(np.float32)
sizes, starts = (z * z).sum(axis=1), np.arange(0, 20_001, 100)
tails = np.stack([np.sqrt((z[:, 8:] ** 2).sum(axis=1)), np.zeros(len(z))], axis=1).astype(np.float32)
cells = core().Cells(z, tails, sizes, np.arange(len(z)), starts, 8, 1e-5, "L2", True, 1)
rows = core().dense_rows(z, np.ones(1), np.zeros(1), np.zeros(1))
distances, ids, done = np.full(len(z), np.inf), np.full(len(z), -1), core().PairSet(200)
allow({room})
try:
    core().self_join(cells, rows, 200, done, distances, ids, 100_000, progress)
except Enough:
    raise SystemExit(0)
raise SystemExit("was not stopped")
"""
NO_MEMORY = """
wide, maps = np.zeros((2, 400_000), dtype=np.float32), np.zeros((257, 1, 400_000), dtype=np.float32)
order, starts, weights, offsets = np.arange(2), np.zeros(258, dtype=np.int64), np.ones(2), np.zeros((2, 1))
core().hash_rows(x, found, 2)  # leaves the stacks of two threads
for n_threads in (1, 2):
    allow(500_000)
    try:
        core().small_frames(wide, order, starts, weights, offsets, maps, n_threads)  # 100 MB for each thread
    except MemoryError:
        allow(None)
        continue
    raise SystemExit("there was memory")
"""


@pytest.mark.skipif(sys.platform != "linux", reason="limits of the address space")
@pytest.mark.skipif(
    "NESTMAP_SANITIZED" in os.environ, reason="sanitizers take all of the address space"
)
@pytest.mark.parametrize(
    "program",
    [
        FEW_THREADS.format(room=200_000_000),
        FEW_THREADS.format(room=6_000_000),
        STOPPED.format(room=6_000_000),
        STOPPED.format(room=200_000_000),
        NO_MEMORY,
    ],
    ids=[
        "few threads",
        "no threads",
        "stopped without threads",
        "stopped with few threads",
        "no memory",
    ],
)
def test_threads_that_cannot_start_are_done_without(program: str) -> None:
    """Stacks for 100 000 threads are more than the limit leaves room for."""
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-c", LIMITED + program],
        capture_output=True,
        check=False,
        env=environment,
        timeout=LIMIT,
    )
    assert done.returncode == 0, done.stderr.decode()


def test_a_fit_of_the_smallest_numbers_does_not_end_python() -> None:
    program = (
        "import numpy as np, nestmap; X = np.random.default_rng(0).normal(size=(60, 5)) * 1e-309; "
    )
    program += "nestmap.HNNE(metric='manhattan').fit(X)"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, check=False, timeout=LIMIT
    )
    assert done.returncode in (0, 1), done.stderr.decode()
