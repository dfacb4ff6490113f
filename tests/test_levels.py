"""Which level: the table of levels, the rule behind `labels_`, labels and predictions by number of
clusters.
"""

from __future__ import annotations

import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import digits
from scipy import sparse
from sklearn.datasets import load_digits, load_iris, make_blobs
from sklearn.metrics import adjusted_mutual_info_score

from nestmap import FINCH, HNNE, Communities, build_hierarchy
from nestmap.app.runs.folder import RunFolder
from nestmap.app.runs.record import to_text
from nestmap.method.hierarchy import HierarchySummary
from nestmap.method.hierarchy import summary as rule
from nestmap.method.hierarchy.summary import measure_stability

RNG = np.random.default_rng(0)


@pytest.mark.parametrize(
    "make",
    [
        lambda: load_digits(return_X_y=True),
        lambda: load_iris(return_X_y=True),
        lambda: make_blobs(2000, centers=40, n_features=8, cluster_std=0.5, random_state=0),
        lambda: make_blobs(2000, centers=8, n_features=8, random_state=1),
    ],
)
def test_the_level_of_labels_is_nearly_the_best_for_the_classes(make: Any) -> None:
    X, y = make()
    tree = build_hierarchy(X)
    scores = [adjusted_mutual_info_score(y, tree.labels(k)) for k in range(tree.n_levels)]
    assert scores[tree.default_level()] >= max(scores) - 0.05


def test_few_clusters_that_happen_to_lie_apart_are_not_picked() -> None:
    """Half of the rows in one heap, the others in many small ones, two of them remote: the top has
    three clusters.
    """
    centres = RNG.normal(size=(60, 6)) * 4
    X = np.concatenate([RNG.normal(size=(30, 6)) * 0.7 + c for c in centres])
    tree = build_hierarchy(X)
    assert tree.level_sizes[-1] < 10 <= tree.level_sizes[tree.default_level()]


def test_summary_counts_and_measures() -> None:
    tree = build_hierarchy(digits())
    table = tree.summary()
    assert isinstance(table, HierarchySummary) and len(table) == tree.n_levels == len(list(table))
    for k, row in enumerate(table):
        sizes = np.bincount(tree.labels(k))
        assert (row.level, row.n_clusters, row.smallest, row.largest) == (
            k,
            len(sizes),
            sizes.min(),
            sizes.max(),
        )
        assert row.median == np.median(sizes) and row.cohesion == tree.levels[k].link
    means = np.stack(
        [digits()[tree.labels(0) == g].mean(axis=0) for g in range(tree.level_sizes[0])]
    )
    centroids, own = tree.levels[2].centroids, tree.climb(np.arange(len(means)), 2)
    nearest = ((means[:, None] - centroids[None]) ** 2).sum(axis=2).argmin(axis=1)
    expected = np.average(nearest == own, weights=tree.levels[0].sizes)
    assert table[2].stability == pytest.approx(expected, abs=1e-3)
    assert np.isnan(table[0].score)
    assert max(table.levels[1:], key=lambda row: row.score).level == table.default


def test_summary_prints_small_and_becomes_a_frame() -> None:
    table = build_hierarchy(digits()).summary()
    lines = repr(table).splitlines()
    assert len(lines) == len(table) + 1 and all(len(line) < 100 for line in lines)
    assert f"*{table.default}" in lines[table.default + 1] and repr(table).count("*") == 1
    pandas = pytest.importorskip("pandas")
    frame = table.to_frame()
    assert isinstance(frame, pandas.DataFrame) and frame.loc[2, "n_clusters"] == table[2].n_clusters


def test_to_frame_without_pandas_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pandas", None)
    with pytest.raises(ImportError, match="pip install pandas"):
        build_hierarchy(digits()[:100]).summary().to_frame()


@pytest.mark.parametrize("metric", ["cosine", "correlation", "manhattan", "chebyshev", "hellinger"])
def test_every_metric_has_a_summary(metric: str) -> None:
    table = build_hierarchy(digits()[:400], metric).summary()
    assert all(0 < row.stability <= 1 for row in table) and table[table.default].score > 0


def test_sets_sparse_rows_and_matrices_have_a_summary() -> None:
    X = digits()[:300]
    dense = build_hierarchy(X, "cosine")
    assert (
        build_hierarchy(sparse.csr_matrix(X), "cosine").summary().default == dense.default_level()
    )
    assert all(0 < row.stability <= 1 for row in build_hierarchy(X > 7, "jaccard").summary())
    distances = np.sqrt(((X[:, None].astype(float) - X[None]) ** 2).sum(axis=2))
    tree = build_hierarchy(distances, "precomputed")
    medoids, leaves = (tree.levels[k].centroids.rows for k in (1, 0))
    expected = distances[np.ix_(leaves, medoids)].argmin(axis=1) == tree.climb(
        np.arange(len(leaves)), 1
    )
    assert measure_stability(tree, 1) == pytest.approx(
        np.average(expected, weights=tree.levels[0].sizes)
    )


def test_the_order_of_the_rows_makes_no_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rule, "_SAMPLE_LEAVES", 50)  # of 401 leaves
    X = digits()
    order = RNG.permutation(len(X))
    one, other = build_hierarchy(X).summary(), build_hierarchy(X[order]).summary()
    assert [row.stability for row in one] == pytest.approx(
        [row.stability for row in other], abs=1e-12
    )


@pytest.mark.parametrize("n", [1, 2, 3, 9])
def test_few_rows(n: int) -> None:
    tree = build_hierarchy(digits()[:n])
    assert len(tree.summary()) == tree.n_levels and 0 <= tree.default_level() < tree.n_levels
    assert build_hierarchy(np.zeros((n, 3))).summary().default == 0
    assert repr(tree.summary())


def test_labels_without_arguments_are_those_of_the_model() -> None:
    model = HNNE().fit(digits())
    np.testing.assert_array_equal(model.hierarchy_.labels(), model.labels_)
    finch = FINCH().fit(digits())
    np.testing.assert_array_equal(finch.hierarchy_.labels(), finch.labels_)
    again = pickle.loads(pickle.dumps(model.hierarchy_))
    assert again.default_level() == model.hierarchy_.default_level()
    np.testing.assert_array_equal(again.labels(), model.labels_)


@pytest.mark.parametrize("make", [HNNE, FINCH])
def test_predict_by_number_of_clusters(make: Any) -> None:
    X = digits()
    model = make().fit(X[:1500])
    for k in (1, 5, 10, 37, model.hierarchy_.level_sizes[0]):
        np.testing.assert_array_equal(
            model.predict(X[:1500], n_clusters=k), model.hierarchy_.labels(n_clusters=k)
        )
    new = X[1500:]
    ten, leaves = model.predict(new, n_clusters=10), model.predict(new, level=0)
    assert set(zip(leaves, ten, strict=True)) <= set(
        zip(model.hierarchy_.labels(0), model.hierarchy_.labels(n_clusters=10), strict=True)
    )
    with pytest.raises(ValueError, match="use at most"):
        model.predict(new, n_clusters=model.hierarchy_.level_sizes[0] + 1)
    with pytest.raises(ValueError, match="either level or n_clusters"):
        model.predict(new, 0, n_clusters=3)
    with pytest.raises(ValueError, match="n_clusters='3'"):
        model.predict(new, n_clusters="3")


def test_the_number_of_clusters_is_explained() -> None:
    tree = Communities().fit(digits()).hierarchy_
    table = tree.summary()
    own = table[table.default]
    assert own.inside == pytest.approx(tree.membership().mean())
    weights = tree.levels[table.default].sizes
    clusters = tree.clusters()
    assert own.agreement == pytest.approx(
        np.average([each.agreement for each in clusters], weights=weights)
    )
    lines = table.explain().splitlines()
    assert len(lines) == len(table) + 3
    for level, line in zip(table, lines[1:], strict=False):
        assert f"level {level.level}: {level.n_clusters} clusters of {level.smallest}" in line
        assert f"{level.inside:.0%} of the links stay inside" in line
        assert ("<- labels_" in line) == (level.level == table.default)
    assert lines[-2].startswith(f"labels_ is level {table.default}, with 12 clusters: the scale")
    assert lines[-2].endswith("They stand apart.")
    assert lines[-2] == rule.tell_labels(tree)
    assert "labels(n_clusters=k)" in lines[-1]


def test_what_has_no_clusters_is_told_so() -> None:
    cloud = Communities().fit(np.random.default_rng(0).normal(size=(2000, 10))).hierarchy_
    assert "There is no sharp number of them" in cloud.summary().explain()
    blobs = make_blobs(2000, 8, centers=8, random_state=1)[0]
    assert "They stand apart." in Communities().fit(blobs).hierarchy_.summary().explain()
    overlapping = make_blobs(1000, 10, centers=4, cluster_std=6, random_state=0)[0]
    told = Communities().fit(overlapping).hierarchy_.summary().explain()
    assert "They stand apart" not in told


def test_first_neighbors_are_explained_by_their_own_figures() -> None:
    tree = build_hierarchy(digits())
    told = tree.summary().explain()
    own = tree.summary()[2]
    assert f"centroids {own.separation / own.cohesion:.2f} links apart" in told
    assert "labels_ is level 2, with 21 clusters: the highest score" in told
    assert "links stay inside" not in told


@pytest.mark.parametrize("n", [1, 2, 3, 6])
def test_few_rows_are_explained(n: int) -> None:
    for tree in (Communities().fit(digits()[:n]).hierarchy_, build_hierarchy(digits()[:n])):
        told = tree.summary().explain()
        assert "nan" not in told and "labels_ is level 0" in told
    copies = Communities().fit(np.ones((20, 3))).hierarchy_.summary().explain()
    assert "one cluster" in copies


def test_trees_without_memberships_are_explained() -> None:
    """Of models in files that are older than these."""
    tree = replace(Communities().fit(digits()).hierarchy_, strengths=None)
    levels = [replace(level, agreement=None) for level in tree.levels]
    told = replace(tree, levels=tuple(levels)).summary().explain()
    assert "nan" not in told and "was not measured" in told


def test_one_sentence_in_a_run(tmp_path: Path) -> None:
    from nestmap.app.cli import main

    np.save(tmp_path / "rows.npy", digits())
    main(["fit", str(tmp_path / "rows.npy"), "-o", str(tmp_path / "run"), "--quiet"])
    record = RunFolder(tmp_path / "run").record
    assert record["evidence"].startswith("labels_ is level 3, with 12 clusters")
    assert "They stand apart." in " ".join(to_text(record).split())
