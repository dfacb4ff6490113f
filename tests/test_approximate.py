"""The approximate search: kernels against their twins, honest reports, the same bits for any number
of threads.
"""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import builds, core, using

from nestmap import HNNE, Descent, RecallWarning
from nestmap.core.input.memory import Budget
from nestmap.core.native import kernels
from nestmap.core.native import probe as twin
from nestmap.core.numbers import as_markdown
from nestmap.core.points.point_set import PointSet, make_points
from nestmap.core.points.reduce import fit_reducer, reduce_rows
from nestmap.method.neighbors import effort, first_neighbors, prepared
from nestmap.method.neighbors.approximate import approximate_neighbors
from nestmap.method.neighbors.cells import Partition, fine_partition, telling_columns
from nestmap.method.neighbors.choice import Search, columns_for, decide, predicted_pairs
from nestmap.method.neighbors.effort import TABLE, Allowance, decide_effort
from nestmap.method.neighbors.index import make_cells
from nestmap.method.neighbors.join import Joined, join_points
from nestmap.method.neighbors.metric import known_metric
from nestmap.method.neighbors.prepared import GraphJob, NeighborLists
from nestmap.model.planning import plan_fit
from nestmap.model.settings import FitSettings

pytestmark = pytest.mark.usefixtures("one_blas_thread")


def change(monkeypatch: pytest.MonkeyPatch, **numbers: float) -> None:
    """Other numbers in the table of the searches."""
    for name, value in numbers.items():
        monkeypatch.setitem(vars(effort.TABLE), name, value)


def search(points: PointSet, n_threads: int, target: float, **options: Any) -> Joined:
    return approximate_neighbors(GraphJob(points, target, n_threads=n_threads, **options))


def mixture(n: int, d: int, seed: int = 0, groups: int = 30) -> np.ndarray:
    rng = np.random.default_rng(seed)
    centres = 3 * rng.standard_normal((groups, d))
    return (centres[rng.integers(0, groups, n)] + rng.standard_normal((n, d))).astype(np.float32)


def small_cells(metric: str, n: int = 500, d: int = 20, size: int = 37):
    """Rows in cells of about equal size, as the kernels and as the twins see them."""
    points = make_points(mixture(n, d), metric)
    reduced = reduce_rows(points, fit_reducer(points, most=16), 1)
    order = np.argsort(reduced.z[:, 0], kind="stable")
    starts = np.append(np.arange(0, n, size), n).astype(np.int64)
    partition = Partition(order, starts, np.empty((0, 0)))
    reduced = reduced.take(order, 1)
    cells = make_cells(points, reduced, partition, reduced.z.shape[1], 2, with_panels=False)
    x = np.column_stack([reduced.z, reduced.tails[:, -1]]).astype(np.float64)
    return points, partition, cells, twin.CellRows(x, starts, points.norm)


@pytest.mark.parametrize("d", [20, 150])  # of the latter, short rows leave something out
@pytest.mark.parametrize("metric", ["euclidean", "manhattan"])
@pytest.mark.parametrize(
    "k", [5, 12, 16]
)  # fewer than the lanes of a vector, some left over, and none
@pytest.mark.parametrize("build", builds())
def test_kernels_agree_with_twins(build: str, k: int, metric: str, d: int) -> None:
    with using(build):
        points, partition, cells, rows = small_cells(metric, d=d)
        assert metric == "manhattan" or (rows.x[:, -1].min() > 0.1 * points.unit) == (d > 20)
        n, n_cells, m = points.n, len(partition.starts) - 1, 8
        near = np.empty((n_cells, m), dtype=np.int32)
        core().near_cells(cells, near, 2, None)
        np.testing.assert_array_equal(near, twin.near_cells(rows, m))
        lists = NeighborLists.empty(n, k)
        ids, estimates = lists.ids.astype(np.int64), lists.estimates.astype(np.float64)
        for first, last in ((0, 2), (2, 5)):
            core().probe(cells, near, first, last, lists.ids, lists.estimates, 2, None)
            ids, estimates = twin.probe(rows, near, first, last, ids, estimates)
            np.testing.assert_allclose(lists.estimates, estimates, rtol=1e-4)
            assert np.mean(lists.ids == ids) > 0.999  # near ties may swap in float32
        graph, by_twin = (
            core().Graph(cells, lists.ids, lists.estimates, 3),
            twin.Graph(rows, ids, estimates, 3),
        )
        for _ in range(3):
            assert graph.improve(2, None) > 0
            by_twin.improve()
            np.testing.assert_allclose(lists.estimates, by_twin.estimates, rtol=1e-4)
            assert np.mean(lists.ids == by_twin.ids) > 0.999
            assert abs(graph.n_new() - by_twin.new.sum()) <= 0.002 * ids.size
        found, who = np.empty((n, 3)), np.empty((n, 3), dtype=np.int64)
        core().rank_lists(
            cells,
            points.native,
            lists.ids,
            lists.estimates,
            np.empty(0, dtype=np.int64),
            found,
            who,
            2,
            None,
        )
        i, j = np.meshgrid(partition.order, partition.order, indexing="ij")
        exact = points.pair_distances(i.ravel(), points, j.ravel(), points.norm).reshape(n, n)
        expected, position = twin.rank_lists(exact, lists.ids.astype(np.int64), 3)
        np.testing.assert_allclose(found, expected, rtol=1e-12)
        np.testing.assert_array_equal(who, partition.order[position])


@pytest.mark.parametrize("build", builds())
def test_near_cells_of_many_at_equal_distances_are_the_lowest_numbers(build: str) -> None:
    """Cells of one row each on a grid: many more than are listed, and most distances occur several
    times.
    """
    side, m = 20, 12
    z = np.zeros((side**2, 16), dtype=np.float32)
    z[:, :2] = np.stack(np.divmod(np.random.default_rng(0).permutation(side**2), side), axis=1)
    nothing = np.zeros((side**2, 2), dtype=np.float32)
    starts, near = np.arange(side**2 + 1), np.empty((side**2, m), dtype=np.int32)
    with using(build):
        cells = core().Cells(
            z, nothing, (z**2).sum(axis=1), starts[:-1], starts, 16, 0.0, "L2", True, 2
        )
        core().near_cells(cells, near, 2, None)
    rows = twin.CellRows(np.column_stack([z, nothing[:, 0]]).astype(np.float64), starts, "L2")
    np.testing.assert_array_equal(near, twin.near_cells(rows, m))


@pytest.mark.parametrize("build", builds())
def test_entries_at_equal_distances_are_those_of_the_lowest_numbers(build: str) -> None:
    z = np.zeros((60, 16), dtype=np.float32)
    z[:, 0] = np.random.default_rng(0).integers(0, 5, 60)
    nothing = np.zeros((60, 2), dtype=np.float32)
    starts = np.array([0, 30, 60])
    rows = twin.CellRows(np.column_stack([z, nothing[:, 0]]).astype(np.float64), starts, "L2")
    near = np.array([[0, 1], [1, 0]], dtype=np.int32)
    lists = NeighborLists.empty(60, 16)
    with using(build):
        cells = core().Cells(
            z, nothing, (z**2).sum(axis=1), np.arange(60), starts, 16, 0.0, "L2", True, 2
        )
        core().probe(cells, near, 0, 2, lists.ids, lists.estimates, 2, None)
    ids, estimates = twin.probe(rows, near, 0, 2, np.full((60, 16), -1), np.full((60, 16), np.inf))
    np.testing.assert_array_equal(lists.estimates, estimates)
    np.testing.assert_array_equal(lists.ids, ids)


@pytest.mark.parametrize("build", builds())
def test_rows_in_many_parts_meet_as_in_one(build: str) -> None:
    """Of more than 32,768 rows, who lists whom is found part by part: copies that do not know of
    each other.
    """
    n, k, copies = 500, 5, 80
    points = make_points(mixture(n, 20), "euclidean")
    short = reduce_rows(points, fit_reducer(points), 1)

    def lists_after(times: int, rounds: int) -> NeighborLists:
        """Copy c of row i has number i * times + c; all know k random rows of their own copy."""
        z, tails, sizes = (np.repeat(a, times, axis=0) for a in (short.z, short.tails, short.sizes))
        starts = np.arange(0, n * times + 1, times)
        cells = core().Cells(z, tails, sizes, np.arange(n * times), starts, 16, 0.0, "L2", False, 2)
        known = np.random.default_rng(1).permuted(np.tile(np.arange(1, n), (n, 1)), axis=1)[:, :k]
        known = (np.arange(n)[:, None] + known) % n
        away = np.linalg.norm(short.z[:, None] - short.z[known], axis=2).astype(np.float32) ** 2
        by_distance = np.argsort(away, axis=1)
        known, away = (
            np.take_along_axis(known, by_distance, 1),
            np.take_along_axis(away, by_distance, 1),
        )
        ids = (known[:, None] * times + np.arange(times)[:, None]).reshape(-1, k).astype(np.int32)
        found = NeighborLists(ids, np.repeat(away, times, axis=0))
        graph = core().Graph(
            cells, found.ids, found.estimates, 64
        )  # no sampling: more than list any row
        for _ in range(rounds):
            graph.improve(2, None)
        return found

    with using(build):
        start, one, many = lists_after(1, 0), lists_after(1, 3), lists_after(copies, 3)
    assert one.estimates.mean() < 0.8 * start.estimates.mean()
    np.testing.assert_array_equal(many.estimates, np.repeat(one.estimates, copies, axis=0))
    expected = one.ids[:, None] * copies + np.arange(copies)[:, None]
    np.testing.assert_array_equal(many.ids.reshape(expected.shape), expected)


@pytest.mark.parametrize("build", builds())
def test_cells_without_panels_are_refused_where_they_are_needed(build: str) -> None:
    with using(build):
        points, partition, cells, _ = small_cells("euclidean")
        squared, ids = np.full(points.n, np.inf), np.full(points.n, -1, dtype=np.int64)
        done = core().PairSet(len(partition.starts) - 1)
        with pytest.raises(ValueError, match="cells: were made without panels"):
            core().self_join(cells, points.native, 1, done, squared, ids, 1, None)
        with pytest.raises(ValueError, match="cells: were made without panels"):
            core().query(cells, points.native, cells, points.native, squared, ids, 1)


def test_a_sample_meets_cells_in_turn_as_all_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Panels are made for some cells at a time: what the sample finds, and so the search, is the
    same.
    """
    points = make_points(mixture(6000, 30, seed=2), "euclidean")
    once = search(points, 2, 0.95)
    turns: list[int] = []
    made = prepared.make_cells
    monkeypatch.setattr(
        prepared, "make_cells", lambda *a, **k: turns.append(len(a[1].z)) or made(*a, **k)
    )
    monkeypatch.setattr(prepared, "ROWS_WITH_PANELS", 700)
    again = search(points, 2, 0.95)
    assert (
        len(turns) > 8 and sum(turns[2:]) == turns[0]
    )  # all rows, the sample, then the cells in turn
    assert (again.report.recall, again.report.n_rounds) == (
        once.report.recall,
        once.report.n_rounds,
    )
    np.testing.assert_array_equal(again.ids, once.ids)


def test_short_rows_are_put_in_order_in_place() -> None:
    points = make_points(mixture(3000, 50), "euclidean")
    short = reduce_rows(points, fit_reducer(points), 1)
    order = np.random.default_rng(3).permutation(points.n)
    taken, memory = short.take(order, 1), short.z
    moved = short.put_in_order(order, 2)
    assert moved.z is memory and moved.z.ctypes.data % 64 == 0 and moved.z.shape[1] == 64
    for a, b in ((moved.z, taken.z), (moved.tails, taken.tails), (moved.sizes, taken.sizes)):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "manhattan"])
def test_recall_is_what_the_report_says(metric: str) -> None:
    points = make_points(mixture(30_000, 24), metric)
    exact = join_points(points, 2).in_metric(points)
    found = search(points, 2, 0.8).in_metric(points)
    recall = np.mean(found.distances <= exact.distances)
    report = found.report
    assert report.recall >= 0.8
    assert abs(report.recall - recall) < 0.05, "the sample tells the truth"
    assert not report.exact and report.method == "approximate" and report.target == 0.8
    assert (found.distances >= exact.distances * (1 - 1e-12)).all()
    assert {"cells", "visits", "ranking", "sample"} <= report.seconds.keys()
    assert "recall" in str(report)


def grouped(n: int, d: int, groups: int, inner: int) -> np.ndarray:
    """Rows with the look of embeddings: each group has directions of its own, so that no few
    directions tell much.
    """
    rng = np.random.default_rng(0)
    rows = []
    for size in rng.multinomial(n, np.full(groups, 1 / groups)):
        directions = rng.standard_normal((inner, d)) / np.sqrt(inner)
        rows.append(rng.standard_normal(d) + rng.standard_normal((size, inner)) @ directions)
    return rng.permutation(np.concatenate(rows)).astype(np.float32)


def test_rows_that_few_directions_say_little_about_get_more_columns() -> None:
    points = make_points(grouped(12_000, 800, 80, 12), "cosine")
    exact = join_points(points, 2).in_metric(points)
    found = {
        (target, most): search(points, 2, target, allowance=Allowance(columns=most)).in_metric(
            points
        )
        for target, most in ((0.3, 192), (0.8, 192), (0.8, 64))
    }
    columns = {case: each.report.n_reduced_columns for case, each in found.items()}
    assert columns == {(0.3, 192): 192, (0.8, 192): 192, (0.8, 64): 64}, "unless memory forbids it"
    recalls = {case: np.mean(each.distances <= exact.distances) for case, each in found.items()}
    assert recalls[0.8, 192] > recalls[0.8, 64] + 0.02 > 0.8, "they tell more of what is near"


def test_of_rows_without_bounds_fewer_are_sampled() -> None:
    X = np.random.default_rng(0).standard_normal((5_000, 800)).astype(np.float32)
    some, more = (search(make_points(X, "euclidean"), 2, t).report for t in (0.75, 0.995))
    assert (some.n_sampled, more.n_sampled) == (125, 167), "half of them steer"


def test_cells_are_made_by_the_columns_that_vary() -> None:
    rng = np.random.default_rng(0)
    flat = rng.standard_normal((5_000, 128)).astype(np.float32)
    assert telling_columns(flat) in (104, 112) and telling_columns(flat[:, :16]) == 16
    assert telling_columns(flat * 0.9 ** np.arange(128, dtype=np.float32)) == 24
    assert telling_columns(np.zeros((100, 64), dtype=np.float32)) == 24
    # groups of one direction each: the leading 24 columns tell most of them not apart
    groups = rng.integers(0, 100, 20_000)
    z = np.eye(128, dtype=np.float32)[groups] + 0.05 * rng.standard_normal((20_000, 128)).astype(
        np.float32
    )
    found = fine_partition(z, 2)
    mixed = [len(np.unique(groups[found.order[a:b]])) for a, b in pairwise(found.starts)]
    assert np.mean(np.array(mixed) == 1) > 0.8


@pytest.mark.parametrize("kind", ["float32", "float64", "float16", "uint8"])
@pytest.mark.parametrize("metric", ["euclidean", "cosine", "correlation", "manhattan"])
@pytest.mark.parametrize("build", builds())
def test_ranked_distances_have_the_bits_of_pairs(build: str, metric: str, kind: str) -> None:
    X = (8 * mixture(3_000, 21) + 100).astype(kind)
    X[:4] = 0  # rows without direction
    with using(build):
        points = make_points(X, metric)
        found = search(points, 2, 0.8)
        direct = kernels.pair_distances(points, np.arange(points.n), found.ids)
    assert not found.report.exact
    np.testing.assert_array_equal(found.squared, direct)


def test_distances_belong_to_the_neighbours() -> None:
    points = make_points(mixture(25_000, 10), "euclidean")
    found = search(points, 2, 0.5).in_metric(points)
    rows = np.arange(0, points.n, 97)
    direct = points.pair_distances(rows, points, found.ids[rows], "L2")
    np.testing.assert_allclose(found.distances[rows], points.to_metric(direct), rtol=1e-12)
    assert (found.ids != np.arange(points.n)).all()


def test_same_bits_for_any_number_of_threads() -> None:
    points = make_points(mixture(25_000, 40), "euclidean")
    one, many = (search(points, n, 0.995) for n in (1, 3))
    np.testing.assert_array_equal(one.ids, many.ids)
    np.testing.assert_array_equal(one.squared, many.squared)
    assert (
        one.report.recall == many.report.recall and one.report.n_rounds == many.report.n_rounds > 0
    )


def test_a_higher_target_finds_more() -> None:
    points = make_points(mixture(40_000, 30, groups=5), "euclidean")
    low, high = (search(points, 2, target).report for target in (0.3, 0.95))
    assert high.recall >= 0.93 > low.recall, "the rows that judge are others than those that steer"
    assert high.n_rounds > low.n_rounds


def test_duplicates_are_neighbours_of_each_other() -> None:
    X = mixture(24_000, 6)
    X[5_000:15_000] = X[7]
    found = search(make_points(X, "euclidean"), 2, 0.7)
    same = np.flatnonzero((X[7] == X).all(axis=1))
    assert (found.squared[same] == 0).all()
    assert found.ids[same[0]] == same[1] and (found.ids[same[1:]] == same[0]).all()


def test_equal_rows_only() -> None:
    found = first_neighbors(np.ones((21_000, 3), dtype=np.float32), method="approximate")
    assert found.ids[0] == 1 and (found.ids[1:] == 0).all() and (found.distances == 0).all()


def test_fine_cells_hold_every_row_once_and_stay_small() -> None:
    z = np.concatenate([mixture(20_000, 16), np.zeros((6_000, 16), dtype=np.float32)])
    found = fine_partition(z, 2)
    np.testing.assert_array_equal(np.sort(found.order), np.arange(len(z)))
    sizes = np.diff(found.starts)
    assert sizes.min() > 0 and sizes.max() <= 4 * 192, "even where k-means cannot divide"


def method_of(X: np.ndarray, **options: Any) -> str:
    return decide(X, "euclidean", Search(**options)).method


def test_auto_is_exact_for_few_rows_and_where_bounds_rule_out_much(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    easy, hard = mixture(26_000, 3), np.random.default_rng(0).standard_normal((26_000, 60))
    assert method_of(easy) == method_of(hard) == "exact"
    change(monkeypatch, exact_pairs=21_000**2 // 2)
    cost = predicted_pairs(hard, "euclidean")
    assert predicted_pairs(easy, "euclidean") < 0.2 * cost
    change(monkeypatch, exact_pairs=int(cost / 2))
    assert method_of(easy) == "exact" and method_of(hard) == "approximate"
    assert decide(hard, "euclidean", Search()).exact_pairs == cost
    assert (
        method_of(hard, method="exact") == "exact"
        and method_of(easy, method="approximate") == "approximate"
    )
    assert method_of(easy, method="approximate", target_recall=1) == "exact"


def test_auto_knows_the_price_of_pairs_that_bounds_leave_over() -> None:
    """Rows of many columns and no structure: the exact join would compute nearly all distances."""
    rng = np.random.default_rng(0)
    embeddings = rng.standard_normal((700, 768)).astype(np.float32)
    chosen = decide(embeddings, "cosine", Search(), n=100_000)
    assert chosen.method == "approximate" and chosen.exact_pairs > TABLE.exact_pairs
    few_directions = rng.standard_normal((700, 20)) @ rng.standard_normal((20, 768))
    assert decide(few_directions, "cosine", Search(), n=100_000).method == "exact"


def test_columns_follow_from_what_directions_hold() -> None:
    hard, n = grouped(2_500, 400, 80, 12), 500_000
    easy = (hard[:, :20] @ np.random.default_rng(1).standard_normal((20, 400))).astype(np.float32)
    assert columns_for(hard, "cosine", n) == columns_for(hard, "cosine", 50_000) == 256
    assert columns_for(easy, "cosine", n) == columns_for(hard[:, :100].copy(), "cosine", n) == 112
    millions = [columns_for(hard, "cosine", m * 10**6) for m in (3, 5, 9, 17)]
    assert millions == [256, 192, 112, 48], "memory"
    budget = Budget(10**11, given=False)
    settings = FitSettings(2, layout=Descent(), neighbors="approximate")
    plans = {
        name: plan_fit(X, known_metric("cosine"), settings, budget=budget, n_rows=n)
        for name, X in (("hard", hard), ("easy", easy))
    }
    assert plans["hard"].columns == 256 and plans["easy"].columns == 112
    more = plans["hard"].stages["first neighbours"] - plans["easy"].stages["first neighbours"]
    assert more >= n * 4.5 * 128


def test_a_target_of_nearly_all_is_exact_where_bounds_are_of_use() -> None:
    nearly_all = Search(method="approximate", target_recall=0.997)
    easy, hard = (
        mixture(700, 12),
        np.random.default_rng(0).standard_normal((700, 768)).astype(np.float32),
    )
    assert decide(easy, "euclidean", nearly_all, n=100_000).method == "exact"
    assert decide(easy, "euclidean", nearly_all, n=1_000_000).method == "approximate"
    assert (
        decide(easy, "euclidean", Search(method="approximate"), n=100_000).method == "approximate"
    )
    assert decide(hard, "cosine", nearly_all, n=100_000).method == "approximate"


@pytest.mark.parametrize("target", [0.05, 0.5, 0.8, 0.9, 0.97])
def test_a_target_is_about_what_is_found(target: float) -> None:
    """Rows of eight dimensions: visits alone find some two thirds."""
    X = np.random.default_rng(0).standard_normal((30_000, 8)).astype(np.float32)
    found = first_neighbors(X, method="approximate", target_recall=target)
    true = np.mean(found.distances <= first_neighbors(X, method="exact").distances * (1 + 1e-6))
    assert true > target - 0.02
    assert (
        abs(found.report.recall - true)
        < 4 * np.sqrt(true * (1 - true) / max(1, found.report.n_sampled)) + 1e-3
    )


def test_lists_grow_until_a_target_is_reached() -> None:
    """Of rows without structure, lists of the first length find too few neighbours."""
    X = np.random.default_rng(0).standard_normal((24_000, 40)).astype(np.float32)
    points = make_points(X, "euclidean")
    some, most = (search(points, 2, target).report for target in (0.6, 0.95))
    assert some.n_listed < most.n_listed and min(some.n_rounds, most.n_rounds) >= 1
    assert some.recall > 0.58 and most.recall > 0.93


def test_lists_are_as_long_as_a_target_asks_for() -> None:
    longer = [effort.longer_list(16, 0.8, target) for target in (0.81, 0.9, 0.95, 0.999, 1)]
    assert longer == [32, 32, 48, 64, 64], "the most, if nothing is expected to do"
    assert [effort.longer_list(40, recall, 0.9) for recall in (0.89, 0.8)] == [48, 64]
    assert [decide_effort(10**5, is_flat=flat).listed for flat in (False, True)] == [16, 24]
    assert [decide_effort(10**5, k=k).listed for k in (2, 15, 30, 55)] == [24, 32, 48, 64]


def test_effort_follows_from_rows_spectrum_and_memory() -> None:
    assert [decide_effort(10**6, is_flat=flat).columns for flat in (False, True)] == [112, 256]
    millions = [decide_effort(m * 10**6) for m in (2, 4, 8, 16)]
    assert [each.longest for each in millions] == [64, 32, 16, 8]
    assert [each.columns for each in millions] == [112, 112, 112, 64]
    little = decide_effort(10**6, is_flat=True, allowance=Allowance(columns=48, listed=16))
    assert (little.columns, little.listed, little.longest) == (48, 16, 16)
    graph = decide_effort(10**6, k=30, allowance=Allowance(listed=16))
    assert graph.listed == 48, "k neighbours need a list of k, whatever memory allows"


def test_the_table_of_the_search_is_printed_in_the_docs() -> None:
    pages = Path(__file__).parent.parent.joinpath("docs").rglob("*.md")
    told = [text for text in (page.read_text() for page in pages) if "| `exact_pairs` |" in text]
    assert len(told) == 1 and as_markdown(TABLE) in told[0], "print(as_markdown(TABLE))"


def test_a_target_that_the_sample_cannot_tell_takes_rounds_until_they_bring_nothing() -> None:
    """With few sampled rows, all of which are found after some rounds."""
    points = make_points(mixture(20_000, 40, groups=5), "euclidean")
    few, many = (search(points, 2, target, sampled=40) for target in (0.9, 0.99))
    exact = join_points(points, 2)
    few_found, many_found = (np.mean(found.ids == exact.ids) for found in (few, many))
    assert many.report.n_rounds > few.report.n_rounds and many_found > max(few_found, 0.997)


def test_longer_lists_are_not_tried_where_all_pairs_are_cheaper() -> None:
    X = np.random.default_rng(0).standard_normal((24_000, 40)).astype(np.float32)
    points = make_points(X, "euclidean")
    found = search(points, 2, 0.99, exact_pairs=lambda: 1e6)
    assert found.report.exact and "longer than all pairs" in found.report.note
    np.testing.assert_array_equal(found.ids, join_points(points, 2).ids)
    longer = search(points, 2, 0.9).report
    assert longer.n_listed > 16 and longer.recall > 0.85


def test_first_neighbors_takes_the_method_and_checks_it() -> None:
    X = mixture(21_000, 12)
    assert first_neighbors(X).report.exact
    assert not first_neighbors(X, method="approximate", target_recall=0.6).report.exact
    with pytest.raises(ValueError, match="neighbors='fast'"):
        first_neighbors(X, method="fast")
    with pytest.raises(ValueError, match=r"target_recall=1\.5"):
        first_neighbors(X, target_recall=1.5)


def test_a_target_out_of_reach_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    change(monkeypatch, longest_list=16)
    X = np.random.default_rng(0).standard_normal((30_000, 50)).astype(np.float32)
    with pytest.warns(RecallWarning, match="was not reached"):
        first_neighbors(X, method="approximate", target_recall=0.99)


def test_the_estimator_reports_its_approximation() -> None:
    X = mixture(22_000, 12)
    model = HNNE(neighbors="approximate", target_recall=0.7).fit(X)
    report = model.neighbor_report_
    assert (
        report.method == "approximate"
        and 0.7 <= report.recall <= 1
        and report.n_sampled >= 500
        and report.n_listed >= 8
    )
    assert [each.n_rows for each in model.hierarchy_.reports] == [
        22_000,
        22_000,
    ]  # first neighbours, and the graph
    paper = HNNE(
        neighbors="approximate", target_recall=0.7, hierarchy="first_neighbors", layout="descent"
    ).fit(X)
    assert len(paper.hierarchy_.reports) >= paper.hierarchy_.n_levels
    np.testing.assert_array_equal(model.transform(X[:50]), model.embedding_[:50])
    assert model.predict(X[:50] + np.float32(1e-3)).shape == (50,)
