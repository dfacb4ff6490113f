"""The approximate search: kernels against their twins, honest reports, the same bits for any number of threads."""

from __future__ import annotations

import numpy as np
import pytest

from nestmap import HNNE, RecallWarning
from nestmap._native import builds, core, using
from nestmap._native import probe as twin
from nestmap._points.point_set import PointSet, make_points
from nestmap._points.reduce import fit_reducer, reduce_rows
from nestmap.neighbors import FirstNeighbors, first_neighbors
from nestmap.neighbors import choice as choice_module
from nestmap.neighbors.approximate import Candidates, _Search, approximate_neighbors
from nestmap.neighbors.cells import Partition, fine_partition
from nestmap.neighbors.choice import Search, is_exact, predicted_pairs
from nestmap.neighbors.join import join_points, make_cells


def mixture(n: int, d: int, seed: int = 0, groups: int = 30) -> np.ndarray:
    rng = np.random.default_rng(seed)
    centres = 3 * rng.standard_normal((groups, d))
    return (centres[rng.integers(0, groups, n)] + rng.standard_normal((n, d))).astype(np.float32)


def small_cells(metric: str, n: int = 500, d: int = 20, size: int = 37):
    """Rows in cells of about equal size, as the kernels and as the twins see them."""
    points = make_points(mixture(n, d), metric)
    reduced = reduce_rows(points, fit_reducer(points), 1)
    order = np.argsort(reduced.z[:, 0], kind="stable")
    starts = np.append(np.arange(0, n, size), n).astype(np.int64)
    partition = Partition(order, starts, np.empty((0, 0)))
    reduced = reduced.take(order, 1)
    cells = make_cells(points, reduced, partition, reduced.z.shape[1], 2)
    x = np.column_stack([reduced.z, reduced.tails[:, -1]]).astype(np.float64)
    return points, partition, cells, twin.ShortRows(x, starts, points.norm)


@pytest.mark.parametrize("metric", ["euclidean", "manhattan"])
@pytest.mark.parametrize("build", builds())
def test_kernels_agree_with_twins(build: str, metric: str) -> None:
    with using(build):
        points, partition, cells, rows = small_cells(metric)
        n, n_cells, k, m = points.n, len(partition.starts) - 1, 5, 8
        near, beyond = np.empty((n_cells, m), dtype=np.int32), np.empty(n_cells)
        core().near_cells(cells, near, beyond, 2, None)
        np.testing.assert_array_equal(near, twin.near_cells(rows, m))
        lists = Candidates.empty(n, k)
        ids, bounds = lists.ids.astype(np.int64), lists.bounds.astype(np.float64)
        for first, last in ((0, 2), (2, 5)):
            core().probe(cells, near, first, last, lists.ids, lists.bounds, 2, None)
            ids, bounds = twin.probe(rows, near, first, last, ids, bounds)
            np.testing.assert_allclose(lists.bounds, bounds, rtol=1e-4)
            assert np.mean(lists.ids == ids) > 0.999  # near ties may swap in float32
        known = np.ascontiguousarray(lists.ids[:, :3])
        core().repair(cells, known, lists.ids, lists.bounds, 2, None)
        ids, bounds = twin.repair(rows, known.astype(np.int64), ids, bounds)
        np.testing.assert_allclose(lists.bounds, bounds, rtol=1e-4)
        found, who = np.empty(n), np.empty(n, dtype=np.int64)
        core().verify_lists(
            cells, points.native, lists.ids, lists.bounds, np.empty(0, dtype=np.int64), found, who, 2, None
        )
        i, j = np.meshgrid(partition.order, partition.order, indexing="ij")
        exact = points.pair_distances(i.ravel(), points, j.ravel(), points.norm).reshape(n, n)
        by_twin, position = twin.verify_lists(exact, lists.ids.astype(np.int64))
        np.testing.assert_allclose(found, by_twin, rtol=1e-12)
        np.testing.assert_array_equal(who, partition.order[position])


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "manhattan"])
def test_recall_is_what_the_report_says(metric: str) -> None:
    points = make_points(mixture(30_000, 24), metric)
    exact = join_points(points, 2)[0]
    found, _ = approximate_neighbors(points, 2, 0.8)
    recall = np.mean(found.distances <= exact.distances)
    report = found.report
    assert report.recall >= 0.8
    assert abs(report.recall - recall) < 0.05, "the sample tells the truth"
    assert not report.exact and report.method == "approximate" and report.target == 0.8
    assert (found.distances >= exact.distances * (1 - 1e-12)).all()
    assert {"cells", "visits", "verification", "sample"} <= report.seconds.keys()
    assert "recall" in str(report)


def test_distances_belong_to_the_neighbours() -> None:
    points = make_points(mixture(25_000, 10), "euclidean")
    found, _ = approximate_neighbors(points, 2, 0.5)
    rows = np.arange(0, points.n, 97)
    direct = points.pair_distances(rows, points, found.ids[rows], "L2")
    np.testing.assert_allclose(found.distances[rows], points.to_metric(direct), rtol=1e-12)
    assert (found.ids != np.arange(points.n)).all()


def test_same_bits_for_any_number_of_threads() -> None:
    points = make_points(mixture(25_000, 40), "euclidean")
    one, many = (approximate_neighbors(points, n, 0.9)[0] for n in (1, 3))
    np.testing.assert_array_equal(one.ids, many.ids)
    np.testing.assert_array_equal(one.distances, many.distances)
    assert one.report.recall == many.report.recall and one.report.proved == many.report.proved


def test_a_higher_target_finds_more() -> None:
    points = make_points(mixture(40_000, 30, groups=5), "euclidean")
    recalls = [approximate_neighbors(points, 2, target)[0].report for target in (0.3, 0.95)]
    assert recalls[1].recall >= 0.95 > recalls[0].recall
    assert recalls[1].n_probes > recalls[0].n_probes


def with_proofs(
    points: PointSet, target: float, monkeypatch: pytest.MonkeyPatch
) -> tuple[FirstNeighbors, np.ndarray]:
    """What the search finds, and which rows it counts as proved, of distinct rows."""
    proved, finish = np.zeros(points.n, dtype=bool), _Search.finish

    def and_keep(search: _Search) -> tuple[np.ndarray, np.ndarray, int]:
        found, ids, n_proved = finish(search)
        which = np.empty(len(found), dtype=np.uint8)
        core().prove(
            search.cells, search.near, search.beyond, search.n_probes, search.lists.ids, search.lists.bounds,
            found, which, 2, None,
        )  # fmt: skip
        proved[search.partition.order] = which
        return found, ids, n_proved

    monkeypatch.setattr(_Search, "finish", and_keep)
    return approximate_neighbors(points, 2, target)[0], proved


def test_proofs_hold_and_easy_rows_are_proved(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    tight = 100 * rng.standard_normal((400, 8)).repeat(60, axis=0) + 0.01 * rng.standard_normal((24_000, 8))
    hard = 30 * rng.standard_normal((24_000, 8))
    points = make_points(np.concatenate([tight, hard]), "euclidean")
    found, proved = with_proofs(points, 0.5, monkeypatch)
    wrong = found.distances > join_points(points, 2)[0].distances
    assert wrong.any() and proved.mean() == found.report.proved > 0.1
    assert not (proved & wrong).any()


def test_duplicates_are_neighbours_of_each_other() -> None:
    X = mixture(24_000, 6)
    X[5_000:15_000] = X[7]
    found, _ = approximate_neighbors(make_points(X, "euclidean"), 2, 0.7)
    same = np.flatnonzero((X[7] == X).all(axis=1))
    assert (found.distances[same] == 0).all()
    assert found.ids[same[0]] == same[1] and (found.ids[same[1:]] == same[0]).all()


def test_equal_rows_only() -> None:
    found = first_neighbors(np.ones((21_000, 3), dtype=np.float32), method="approximate")
    assert found.ids[0] == 1 and (found.ids[1:] == 0).all() and (found.distances == 0).all()


def test_no_proof_of_rows_that_float32_cannot_tell_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """Groups far from the origin: wide ones can be proved, in tight ones the neighbour is a matter of luck."""
    rng = np.random.default_rng(0)
    width = np.where(np.arange(300) % 2, 1.0, 1e-4).repeat(80)[:, None]
    X = 1e3 * rng.standard_normal((300, 20)).repeat(80, axis=0) + width * rng.standard_normal((24_000, 20))
    points = make_points(X, "euclidean")
    found, proved = with_proofs(points, 0.9, monkeypatch)
    wrong = found.distances > join_points(points, 2)[0].distances
    assert wrong.any() and proved.mean() == found.report.proved > 0.1
    assert not (proved & wrong).any()


def test_fine_cells_hold_every_row_once_and_stay_small() -> None:
    z = np.concatenate([mixture(20_000, 16), np.zeros((6_000, 16), dtype=np.float32)])
    found = fine_partition(z, 2)
    np.testing.assert_array_equal(np.sort(found.order), np.arange(len(z)))
    sizes = np.diff(found.starts)
    assert sizes.min() > 0 and sizes.max() <= 4 * 192, "even where k-means cannot divide"


def test_auto_is_exact_for_few_rows_and_where_bounds_rule_out_much(monkeypatch: pytest.MonkeyPatch) -> None:
    easy, hard = mixture(26_000, 3), np.random.default_rng(0).standard_normal((26_000, 60))
    auto, metric = Search(), "euclidean"
    assert is_exact(easy, metric, auto) and is_exact(hard, metric, auto)
    assert predicted_pairs(easy, metric) < 0.2 * predicted_pairs(hard, metric)
    monkeypatch.setattr(choice_module, "SURE", 21_000)
    monkeypatch.setattr(choice_module, "MOST_PAIRS", predicted_pairs(hard, metric) / 2)
    assert is_exact(easy, metric, auto) and not is_exact(hard, metric, auto)
    assert is_exact(hard, metric, Search("exact")) and not is_exact(easy, metric, Search("approximate"))
    assert is_exact(easy, metric, Search("approximate", target_recall=1))


def test_first_neighbors_takes_the_method_and_checks_it() -> None:
    X = mixture(21_000, 12)
    assert first_neighbors(X).report.exact
    assert not first_neighbors(X, method="approximate", target_recall=0.6).report.exact
    with pytest.raises(ValueError, match="neighbors='fast'"):
        first_neighbors(X, method="fast")
    with pytest.raises(ValueError, match=r"target_recall=1\.5"):
        first_neighbors(X, target_recall=1.5)


def test_a_target_out_of_reach_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nestmap.neighbors.approximate._LISTED", 4)
    monkeypatch.setattr("nestmap.neighbors.approximate.MOST_LISTED", 4)
    X = np.random.default_rng(0).standard_normal((30_000, 50)).astype(np.float32)
    with pytest.warns(RecallWarning, match="was not reached"):
        first_neighbors(X, method="approximate", target_recall=0.99)


def test_the_estimator_reports_its_approximation() -> None:
    X = mixture(22_000, 12)
    model = HNNE(neighbors="approximate", target_recall=0.7).fit(X)
    report = model.neighbor_report_
    assert report.method == "approximate" and 0.7 <= report.recall <= 1 and report.n_sampled >= 500
    assert len(model.hierarchy_.reports) >= model.hierarchy_.n_levels
    np.testing.assert_array_equal(model.transform(X[:50]), model.embedding_[:50])
    assert model.predict(X[:50] + np.float32(1e-3)).shape == (50,)
