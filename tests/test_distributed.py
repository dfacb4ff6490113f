"""Fits of dask arrays on real worker processes: the bits of one machine, errors before the work."""

# ruff: noqa: F401, F811 (fixtures)

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from conftest import LIMIT
from numpy.testing import assert_array_equal
from workers import (
    OPTIONS,
    PAPER,
    RNG,
    ROWS,
    N,
    alone,
    alone_as_paper,
    approximate,
    client,
    clusters,
    many,
    parts,
    pointers,
    same,
)

import nestmap
from nestmap import HNNE, Descent, MemoryBudgetError
from nestmap.core.points.point_set import make_points
from nestmap.core.points.reduce import fit_reducer
from nestmap.distributed import best, borders, division, fit, pages, results, search, store, tasks
from nestmap.distributed.borders import Borders
from nestmap.distributed.division import Division
from nestmap.distributed.store import RowFile
from nestmap.method.neighbors.index import build_index
from tools.flat import make_hnne

da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")


@pytest.mark.slow
@pytest.mark.parametrize(
    "n_workers, chunks",
    [(1, (700, 10)), (2, (500, 10)), (2, (N, 10)), (4, ((1, 1700, 1299), (10,))), (4, (77, 4))],
)
def test_the_bits_of_one_machine(
    clusters: Any, parts: None, alone: HNNE, alone_as_paper: HNNE, n_workers: int, chunks: Any
) -> None:
    with clusters(n_workers).as_current():
        model = make_hnne(**OPTIONS).fit(da.from_array(ROWS, chunks=chunks))
        paper = make_hnne(**PAPER).fit(da.from_array(ROWS, chunks=chunks))
    for each in (model, paper):
        assert "parts on a cluster" in each.neighbor_report_.note and each.neighbor_report_.exact
        assert int(each.neighbor_report_.note.split()[0]) > 4
    same(model, alone)
    assert "parts on a cluster" in paper.hierarchy_.reports[1].note  # too many nodes for one part
    assert "parts on a cluster" not in paper.hierarchy_.reports[2].note
    same(paper, alone_as_paper)


@pytest.mark.slow
def test_communities_of_very_many_rows(client: Any, parts: None, many: None) -> None:
    """Levels of first neighbours, until a level has few enough nodes for a graph."""
    for options in (OPTIONS, {"detail": "leaves"}):
        model = make_hnne(**options).fit(da.from_array(ROWS, chunks=(500, 10)))
        assert (
            "parts on a cluster" in model.hierarchy_.reports[1].note
            and model.hierarchy_.kind == "graph"
        )
        assert model.hierarchy_.reports[-1].n_rows <= 100 < model.hierarchy_.level_sizes[1]
        same(model, make_hnne(**options).fit(ROWS))


@pytest.mark.slow
@pytest.mark.parametrize("n_workers, chunks", [(1, 700), (2, 500), (4, 77)])
def test_components_and_centroids_by_tasks(
    clusters: Any, pointers: None, alone_as_paper: HNNE, n_workers: int, chunks: int
) -> None:
    stages = []
    with clusters(n_workers).as_current():
        X = da.from_array(ROWS, chunks=(chunks, 10))
        model = make_hnne(callback=lambda event: stages.append(event.stage), **PAPER).fit(X)
    same(model, alone_as_paper)
    assert [stage for stage in stages if stage == f"level 0: pointers of {N} items, round 2"]
    assert [
        stage for stage in stages if stage.startswith("level 1: centroids")
    ]  # whose items are nodes
    assert_array_equal(model.hierarchy_.levels[0].sizes, alone_as_paper.hierarchy_.levels[0].sizes)


@pytest.mark.slow
@pytest.mark.parametrize("metric", ["cosine", "manhattan", "correlation"])
def test_metrics(client: Any, parts: None, metric: str) -> None:
    model = make_hnne(metric=metric, **OPTIONS).fit(da.from_array(ROWS, chunks=(900, 10)))
    assert "parts on a cluster" in model.neighbor_report_.note
    same(model, make_hnne(metric=metric, **OPTIONS).fit(ROWS))


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["uint8", "float64", "int32"])
def test_types(client: Any, parts: None, dtype: str) -> None:
    X = (8 * ROWS + 60).clip(0, 255).astype(dtype)
    model = make_hnne(**OPTIONS).fit(da.from_array(X, chunks=(900, 10)))
    assert "parts on a cluster" in model.neighbor_report_.note
    same(model, make_hnne(**OPTIONS).fit(X))


@pytest.mark.slow
@pytest.mark.parametrize(
    "options", [{}, {"layout": "mosaic"}, {"n_components": 3}, {"detail": "leaves"}]
)
def test_layouts(client: Any, parts: None, options: dict[str, Any]) -> None:
    X = ROWS[:1500]
    same(make_hnne(**options).fit(da.from_array(X, chunks=(400, 10))), make_hnne(**options).fit(X))


@pytest.mark.slow
def test_small_data_are_fitted_by_the_client(client: Any, alone: HNNE) -> None:
    model = make_hnne(**OPTIONS).fit(da.from_array(ROWS, chunks=(500, 10)))
    same(model, alone)
    assert model.neighbor_report_.note == ""
    again = model.relayout(layout=Descent(radius=0.2))  # the rows are still there
    assert isinstance(again.embedding_, np.ndarray)


@pytest.mark.slow
def test_results_are_dask_arrays_of_the_same_chunks(
    client: Any, parts: None, alone: HNNE, tmp_path: Path
) -> None:
    X = da.from_array(ROWS, chunks=((1100, 1100, 800), (10,)))
    model = make_hnne(**OPTIONS).fit(X)
    assert model.embedding_.chunks == (X.chunks[0], (2,)) and model.labels_.chunks == (X.chunks[0],)
    assert_array_equal(model.labels(0).compute(), alone.labels(0))
    assert model.labels(-1).chunks == (X.chunks[0],)
    assert_array_equal(model.labels(n_clusters=5).compute(), alone.hierarchy_.labels(n_clusters=5))
    model.embedding_.to_zarr(str(tmp_path / "map.zarr"))
    assert_array_equal(da.from_zarr(str(tmp_path / "map.zarr")).compute(), alone.embedding_)
    other = pickle.loads(pickle.dumps(model))
    assert_array_equal(other.embedding_.compute(), alone.embedding_)
    model.save(tmp_path / "model.nestmap")
    assert_array_equal(nestmap.load(tmp_path / "model.nestmap").embedding_, alone.embedding_)
    assert_array_equal(
        model.transform(X + 0.01).compute(), alone.transform(ROWS + np.float32(0.01))
    )
    assert (
        len(model.extend(ROWS[:5] + 0.02).embedding_) == N + 5
    )  # all that it needs is in the client


@pytest.mark.slow
def test_frames(client: Any, alone: HNNE) -> None:
    frame = pd.DataFrame(ROWS, columns=list("abcdefghij"))
    model = make_hnne(**OPTIONS).fit(dd.from_pandas(frame, npartitions=4))
    same(model, alone)
    assert_array_equal(model.feature_names_in_, frame.columns)
    assert model.embedding_.chunks[0] == (750, 750, 750, 750)
    with pytest.raises(ValueError, match=r"not 'k' \("):
        HNNE().fit(dd.from_pandas(frame.assign(k="text"), npartitions=2))


@pytest.mark.slow
def test_approximate_search(
    clusters: Any, approximate: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = []
    for n_workers, chunks, per_item in (
        (2, 5000, 0),
        (4, 1234, 10_000),
    ):  # clusters joined by the client, and by tasks
        monkeypatch.setattr(search, "PER_ITEM", per_item)
        with clusters(n_workers).as_current():
            X = da.from_array(approximate, chunks=(chunks, 6))
            found.append(make_hnne(neighbors="approximate", **OPTIONS).fit(X))
    one, two = found
    same(two, one)
    report = one.neighbor_report_
    assert report.method == "approximate" and not report.exact and report.n_sampled == 1000
    assert int(report.note.split()[0]) > 2
    truth = nestmap.first_neighbors(approximate, method="exact")
    distances = np.linalg.norm(
        approximate - approximate[one.hierarchy_.links[0].ids].astype(float), axis=1
    )
    recall = np.mean(distances <= truth.distances * (1 + 1e-6))
    assert recall > 0.88 and abs(recall - report.recall) < 0.03


@pytest.mark.slow
def test_a_second_attempt_if_guests_were_too_few(
    client: Any, approximate: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    shares: list[float] = []

    def reach(self: Borders, parted: Division, share: float) -> float:
        shares.append(share)
        return 0.0 if len(shares) == 1 else found(self, parted, share)

    found = Borders.reach
    monkeypatch.setattr(Borders, "reach", reach)
    X = da.from_array(approximate, chunks=(5000, 6))
    report = make_hnne(neighbors="approximate", **OPTIONS).fit(X).neighbor_report_
    np.testing.assert_allclose(shares[:2], [0.95, 0.975])  # whose parts are others, perhaps
    assert report.recall > 0.9 and report.n_sampled == 500  # the others had a say


@pytest.mark.parametrize("shape", [(10, 2), (10,)])
def test_large_results_go_to_the_work_dir(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shape: Any
) -> None:
    monkeypatch.setattr(results, "_LARGE", 0)
    values = RNG.normal(size=shape)
    for _ in range(2):  # the second finds the file
        found = results.Chunks((3, 7), str(tmp_path), np.zeros(10, dtype=np.int64)).of(
            values, "embedding"
        )
        assert found.chunks[0] == (3, 7) and len(pickle.dumps(found.__dask_graph__())) < 5000
        assert_array_equal(found.compute(scheduler="sync"), values)
    assert len([*tmp_path.iterdir()]) == 1


# Bad input, before the work


@pytest.mark.slow
def test_bad_chunks(client: Any, parts: None) -> None:
    bad = ROWS.copy()
    bad[2100, 3] = np.nan
    with pytest.raises(ValueError, match="NaN, first at row 2100, column 3"):
        HNNE().fit(da.from_array(bad, chunks=(500, 10)))
    X = da.from_array(ROWS, chunks=(500, 10))
    with pytest.raises(ValueError, match=r"unknown sizes.*compute_chunk_sizes"):
        HNNE().fit(X[X[:, 0] > 1])
    with pytest.raises(
        ValueError, match=r"rows \d+ to \d+ came as shape \(500, 9\) instead of \(500, 10\)"
    ):
        HNNE().fit(X.map_blocks(lambda block: block[:, :9], dtype=X.dtype, chunks=X.chunks))
    with pytest.raises(ValueError, match="came as float64, but the array says float32"):
        HNNE().fit(X.map_blocks(lambda block: block.astype(float), dtype=X.dtype, chunks=X.chunks))
    with pytest.raises(ValueError, match="n_components=0"):
        HNNE(n_components=0).fit(X)
    with pytest.raises(MemoryBudgetError, match=r"1.1 GB per thread.*rechunk\(\{0: "):
        HNNE().fit(da.zeros((10_000_000, 100), chunks=(5_000_000, 100)))
    with pytest.raises(MemoryBudgetError, match="max_memory='1MB'"):
        HNNE(max_memory="1MB").fit(X)
    with pytest.raises(MemoryBudgetError, match=r"1.1 GB per thread.*max_memory='1073MB'"):
        HNNE(max_memory="4GB").fit(da.zeros((10_000_000, 100), chunks=(100_000, 100)))
    with pytest.raises(ValueError, match="metric='cosin' is no metric"):
        HNNE(metric="cosin").fit(X)
    with pytest.raises(ValueError, match="metric='precomputed'"):
        HNNE(metric="precomputed").fit(X[:10, :10])


@pytest.mark.slow
def test_a_client_that_is_given(clusters: Any, parts: None, alone: HNNE) -> None:
    with pytest.raises(
        ValueError, match="client: workers fit dask arrays, and X is of type ndarray"
    ):
        HNNE().fit(ROWS, client=clusters(2))
    same(
        make_hnne(**OPTIONS).fit(da.from_array(ROWS, chunks=(500, 10)), client=clusters(2)), alone
    )  # none is active


def test_there_must_be_a_client() -> None:
    with pytest.raises(ValueError, match=r"distributed\.Client\(\)"):
        HNNE().fit(da.from_array(ROWS, chunks=(500, 10)))


def test_plan(parts: None) -> None:
    X = da.from_array(ROWS, chunks=(500, 10))
    plan = HNNE().plan(X)
    assert plan.method == "exact" and plan.cluster.n_parts > 4 and plan.cluster.tasks["check"] == 6
    assert (
        plan.cluster.tasks["join"] == plan.cluster.n_parts
        and plan.cluster.disk > 2 * ROWS.nbytes + 32 * N
    )
    assert plan.cluster.tasks["place"] >= plan.cluster.tasks["project"] == 1
    assert plan.cluster.moved["spread"] == 2 * ROWS.nbytes and "parts" in str(plan)
    assert HNNE().plan(ROWS).cluster is None


def test_plan_of_more_rows_than_one_process_joins(
    parts: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    X = da.from_array(ROWS, chunks=(500, 10))
    few = HNNE().plan(X).cluster
    monkeypatch.setattr(fit, "PER_ITEM", 180_000)
    many = HNNE().plan(X).cluster
    assert few is not None and many is not None
    assert "mean" not in few.tasks and many.tasks["mean"] == many.tasks["link"] == many.n_parts
    assert many.tasks["jump"] % many.n_parts == 0 and many.disk > few.disk + 96 * N
    assert sum(many.moved.values()) > sum(few.moved.values()) + ROWS.nbytes


def test_plan_of_an_approximate_search(approximate: np.ndarray) -> None:
    X = da.from_array(approximate, chunks=(5000, 6))
    plan = HNNE(neighbors="approximate").plan(X)
    assert (
        plan.method == "approximate"
        and plan.cluster.n_parts > 2
        and "ask" not in plan.cluster.tasks
    )
    assert (
        4 < plan.cluster.disk / approximate.nbytes < 8
    )  # with guests, at most, and coordinates of short rows
    assert plan.cluster.memory <= fit.FIXED + division.SPARE * fit.PART_BYTES


def test_more_parts_than_there_can_be(parts: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fit, "MOST_CELLS", 2)
    with pytest.raises(
        MemoryBudgetError, match=r"in \d+ parts, and there can be 2: .*max_memory='\d+MB'"
    ):
        HNNE().plan(da.from_array(ROWS, chunks=(500, 10)))


# Pieces


def test_row_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = RowFile(str(tmp_path / "rows"), N, 10, "float32").create()
    for start in (1000, 0, 2000):
        file.write(start, ROWS[start : start + 1000])
    assert_array_equal(file.read(5, 2100), ROWS[5:2100])
    assert_array_equal(file.mapped(), ROWS)
    some = RNG.permutation(N)[:777]
    assert_array_equal(file.take(some), ROWS[some])
    monkeypatch.setattr(store, "_GAP_BYTES", 200)  # between rows that are read by themselves
    assert_array_equal(file.take(some), ROWS[some])
    assert_array_equal(file.take(some[:0]), ROWS[:0])
    with pytest.raises(OSError, match="cut off"):
        file.read(N - 1, N + 5)


@pytest.mark.parametrize("metric", ["euclidean", "manhattan"])
def test_boxes_bound_distances(metric: str) -> None:
    """No row has a row of a part nearer than its reach says, unless it asks that part."""
    points = make_points(ROWS, metric)
    parted = division.divide(points, 6, 16)
    z = parted.short(points)
    cells = parted.cells_of(z)
    lows, highs = division.boxes(z, cells, len(parted.centres))
    parted = Division(**{**vars(parted), "lows": lows, "highs": highs})
    own = parted.part_of_cell[cells]
    assert np.bincount(own, minlength=6).min() > N / 20
    x = ROWS[:300].astype(float) * points.unit
    away = np.abs(x[:, None] - ROWS * points.unit)
    away = away.sum(axis=2) if metric == "manhattan" else np.sqrt((away**2).sum(axis=2))
    reach = np.full(300, np.quantile(away, 0.01), dtype=np.float32)
    asked = parted.near_parts(z[:300], reach, own=-1)
    n_asked = 0
    for p in range(parted.n_parts):
        needed = np.flatnonzero((away[:, own == p] <= reach[:, None]).any(axis=1))
        assert np.isin(needed, asked[p]).all()
        n_asked += len(asked[p])
    assert n_asked < 300 * parted.n_parts  # some were ruled out


def test_guests_come_from_the_border() -> None:
    """Neighbours meet in some part as often as was asked for, and rows far inside stay at home."""
    X = np.random.default_rng(8).normal(size=(40_000, 4)).astype(np.float32)
    points = make_points(X, "euclidean")
    parted, sample = borders.divide_for_guests(points, 14, 16, None, 0.99)
    assert parted.n_parts < 11
    z, truth = parted.short(points), nestmap.first_neighbors(X).ids
    cells, shares = parted.cells_of(z), []
    own = parted.part_of_cell[cells]
    for share in (0.0, 0.96, 0.99):
        reached = replace(parted, reach=sample.reach(parted, share))
        member = np.zeros((len(X), parted.n_parts), dtype=bool)
        member[np.arange(len(X)), own] = True
        guests, hosts = reached.guests(z, cells)
        assert not member[guests, hosts].any()  # nobody is a guest at home
        member[guests, hosts] = True
        shares.append((member & member[truth]).any(axis=1).mean())
        assert member.sum(axis=0).max() <= division.MOST_MEMBERS * len(X) / 14
        assert len(guests) < len(X)
    assert shares[0] < shares[1] < shares[2]
    np.testing.assert_allclose(shares[1:], [0.96, 0.99], atol=0.02)
    assert len(replace(parted, reach=-1.0).guests(z, cells)[0]) == 0


def test_guests_have_room() -> None:
    """Parts are as few as have room for their guests; where all rows are near borders, guests are
    as many as fit.
    """
    X = np.random.default_rng(8).normal(size=(10_000, 8)).astype(np.float32)
    points = make_points(X, "euclidean")
    parts = [
        borders.divide_for_guests(points, 20, 32, None, share)[0].n_parts
        for share in (0.5, 0.95, 0.999)
    ]
    assert parts[0] < parts[1] < parts[2] == 20
    parted, sample = borders.divide_for_guests(points, 20, 32, None, 0.999)
    z = parted.short(points)
    cells = parted.cells_of(z)
    _, hosts = replace(parted, reach=sample.reach(parted, 0.999)).guests(z, cells)
    members = np.bincount(hosts, minlength=20) + np.bincount(
        parted.part_of_cell[cells], minlength=20
    )
    assert 0.9 < members.max() / (division.MOST_MEMBERS * len(X) / 20) < 1.1


def test_neighbours_in_the_order_of_other_parts() -> None:
    rows, keys = np.arange(50), RNG.integers(0, 9, 50).astype(np.uint64)
    one, two = RNG.permutation(50), RNG.permutation(50)
    found = best.Best.of(one, keys)
    found.offer(tasks.Answers(rows[:40], RNG.random(40), RNG.integers(0, 50, 40)))
    other = found.ordered(two)
    assert_array_equal(other.keys, keys[two])
    some = one[:40]  # the others have no neighbour yet
    for now, before in zip(other.by_rows(), found.by_rows(), strict=True):
        assert_array_equal(now[some], before[some])
    assert (other.ids[other.places(one[40:])] == -1).all()
    again = other.ordered(one)
    assert_array_equal(again.ids, found.ids)
    assert_array_equal(again.squared, found.squared)


def test_queries_with_limits() -> None:
    """What is asked for with a distance to beat: nearer rows, equally near ones, or nobody."""
    points = make_points(ROWS[:2000], "euclidean")
    index = build_index(points, 1, fit_reducer(points))
    asked = make_points(ROWS[2300:2500], "euclidean", like=points)
    _, squared = index.nearest(asked, 1)
    again, away = index.nearest(asked, 1, squared.copy())
    assert_array_equal(away, squared)
    assert (again >= 0).all()
    nobody, kept = index.nearest(asked, 1, np.nextafter(np.float32(0.5) * squared, 0).astype(float))
    assert (nobody[squared > 0] == -1).all() and (kept <= squared / 2).all()
    own = index.nearest_others(np.array([3, 7, 200]), 1)
    brute = np.array(
        [
            np.delete(((ROWS[:2000].astype(float) - ROWS[i]) ** 2).sum(axis=1), i).min()
            for i in (3, 7, 200)
        ]
    )
    np.testing.assert_allclose(own, brute * points.unit**2, rtol=1e-6)


_FAULTS = """
import resource
import numpy as np
from nestmap.distributed import pages

def use(n):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(n):
        np.ones(2**17)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

use(1)
print(pages._glibc() is not None, use(200), pages.keeps_pages(use)(200), use(200))
"""


def test_pages_are_kept_while_a_task_runs() -> None:
    """Dask tells malloc to give pages back at once; a task that uses them again does not pay for
    each of them.
    """
    environment = {**os.environ, "MALLOC_TRIM_THRESHOLD_": "65536"}
    found = subprocess.run(
        [sys.executable, "-c", _FAULTS],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
        timeout=LIMIT,
    )
    glibc, before, kept, after = found.stdout.split()
    if glibc != "True" or int(before) < 10_000:
        pytest.skip("another malloc")
    assert 5 * int(kept) < int(before) and int(after) > int(before) / 2  # and then all is as it was


def test_tasks_that_fail_leave_malloc_as_it_was() -> None:
    @pages.keeps_pages
    def outer(fail: bool) -> int:
        assert pages._running == 1
        return inner(fail)

    @pages.keeps_pages
    def inner(fail: bool) -> int:
        if fail:
            raise KeyError
        return pages._running

    assert outer(False) == 2
    with pytest.raises(KeyError):
        outer(True)
    assert pages._running == 0


def test_task_names_are_readable() -> None:
    from dask.utils import key_split

    assert key_split(("nestmap-join-" + "0123456789abcdef" * 2, 3)) == "nestmap-join"
    assert tasks.sees("/nonexistent", "x") is False


# The command


@pytest.mark.slow
def test_command(
    client: Any, parts: None, alone: HNNE, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from nestmap.app.cli import main

    names = list("abcdefghij")
    frame = pd.DataFrame(ROWS, columns=names).assign(other="text")
    (tmp_path / "rows").mkdir()
    for i, part in enumerate((frame[:1500], frame[1500:])):
        part.to_parquet(tmp_path / "rows" / f"{i}.parquet")
    np.save(tmp_path / "rows.npy", ROWS)
    to = ["--scheduler", client.scheduler.address, "--layout", "descent", "--quiet"]
    for data in ("rows/*.parquet", "rows.npy"):
        assert main(["fit", str(tmp_path / data), "-o", str(tmp_path / "run"), "--force", *to]) == 0
        model = nestmap.load(tmp_path / "run" / "map-2d.nestmap")
        assert_array_equal(model.embedding_, alone.embedding_)
    assert not (tmp_path / "run.work").exists()
    assert (
        main(["fit", str(tmp_path / "rows.npy"), "-o", str(tmp_path / "new"), "--dims", "2,3", *to])
        == 2
    )
    assert "several --dims needs the rows in one process" in capsys.readouterr().err
    assert (
        main(
            [
                "fit",
                str(tmp_path / "rows" / "*.parquet"),
                "-o",
                str(tmp_path / "new"),
                "--columns",
                "zz",
                *to,
            ]
        )
        == 2
    )
    assert "has no column 'zz'" in capsys.readouterr().err
