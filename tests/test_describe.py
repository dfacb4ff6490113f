"""Descriptions of clusters: typical rows, traits, names."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from conftest import digits
from scipy import sparse
from sklearn.datasets import load_digits, load_iris

from nestmap import HNNE, build_hierarchy
from nestmap.method.describe import describe_clusters
from nestmap.method.describe.names import MAX_LETTERS, make_unique
from nestmap.method.describe.tables import read_columns
from nestmap.method.describe.traits import WordCounts
from nestmap.method.describe.words import find_word_traits

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "manhattan", "chebyshev", "hellinger"])
def test_typical_rows_are_nearest_to_the_centroid(metric: str) -> None:
    X = digits()[:500].astype(np.float64)
    tree = build_hierarchy(X, metric)
    told = tree.describe(1, X, n_typical=3)
    labels, centroids = tree.labels(1), tree.levels[1].centroids
    for cluster in told:
        rows = np.flatnonzero(labels == cluster.number)
        distances = distances_to(X[rows], centroids[cluster.number], metric)
        assert set(cluster.typical) <= set(rows) and cluster.size == len(rows)
        assert len(cluster.typical) == min(3, len(rows))
        found = distances[np.searchsorted(rows, cluster.typical)]
        np.testing.assert_allclose(found, np.sort(distances)[: len(found)], rtol=1e-5)


def distances_to(rows: np.ndarray, centre: np.ndarray, metric: str) -> np.ndarray:
    """By definition."""
    if metric == "cosine":
        return 1 - rows @ centre / np.linalg.norm(rows, axis=1) / np.linalg.norm(centre)
    if metric == "hellinger":
        rows, centre = np.sqrt(rows), np.sqrt(centre)
    order = {"manhattan": 1, "chebyshev": np.inf}.get(metric, 2)
    return np.linalg.norm(rows - centre, order, axis=1)


def test_typical_rows_of_a_matrix_of_distances_begin_with_the_medoid() -> None:
    X = digits()[:200].astype(np.float64)
    D = np.sqrt(((X[:, None] - X[None]) ** 2).sum(axis=2))
    tree = build_hierarchy(D, "precomputed")
    for cluster in tree.describe(1, D):
        assert D[cluster.typical[0], tree.levels[1].centroids.rows[cluster.number]] == 0


def test_without_rows_typical_ones_come_from_the_nearest_leaf() -> None:
    X = digits()
    tree = build_hierarchy(X)
    leaf_of, labels = tree.labels(0), tree.labels(2)
    for cluster in tree.describe(2, n_typical=4):
        leaves = np.unique(leaf_of[labels == cluster.number])
        away = np.linalg.norm(
            tree.levels[0].centroids[leaves] - tree.levels[2].centroids[cluster.number], axis=1
        )
        assert leaf_of[cluster.typical[0]] == leaves[np.argmin(away)]
    for sets in (X > 7, sparse.csr_matrix(X > 7)):
        assert len(build_hierarchy(sets, "jaccard").describe(1)) > 1


def test_categories_name_the_clusters_of_digits() -> None:
    X, y = load_digits(return_X_y=True)
    model = HNNE().fit(X)
    told = model.hierarchy_.describe(metadata={"digit": y})
    labels = model.labels_
    assert len(set(told.names)) == len(told) == labels.max() + 1
    for cluster in told:
        own = y[labels == cluster.number]
        most = np.bincount(own).argmax()
        assert cluster.name.startswith(f"digit {most}") and cluster.traits[0].value == str(most)
        assert cluster.traits[0].inside == pytest.approx(np.mean(own == most))
        assert cluster.traits[0].overall == pytest.approx(np.mean(y == most))


def test_numbers_are_named_where_they_are_shifted() -> None:
    X = RNG.normal(size=(600, 3))
    X[200:400, 0] += 9
    labels = np.repeat([0, 1, 2], 200)
    told = describe_clusters(
        labels, [np.array([0])] * 3, metadata={"first": X[:, 0], "second": X[:, 1]}
    )
    assert [t.column for t in told[1].traits] == ["first"] and told[1].name == "high first"
    assert told[1].traits[0].inside == np.sort(X[200:400, 0])[99]
    assert told[1].traits[0].overall == np.sort(X[:, 0])[299]
    assert told[0].traits[0].value == "low" and str(told[0].traits[0]).startswith("first low: ")


def test_pure_chance_is_no_trait() -> None:
    labels = RNG.integers(0, 5, 2000)
    labels[:5] = np.arange(5)
    noise = {
        "a": RNG.choice(["x", "y", "z"], 2000),
        "b": RNG.normal(size=2000),
        "id": [f"row {i}" for i in range(2000)],
    }
    told = describe_clusters(labels, [np.array([0])] * 5, metadata=noise)
    assert sum(len(cluster.traits) for cluster in told) <= 1
    assert all(name.startswith("mixed: a ") for name in told.names)


def test_words_by_class_based_tf_idf() -> None:
    texts = ["the cat sat near water"] * 10 + ["the dog ran near water"] * 10
    labels = np.repeat([0, 1], 10)
    found = find_word_traits(WordCounts.of(texts, stop_words=None), labels, 2)
    assert {t.value for t in found[0]} == {"cat", "sat"} and {t.value for t in found[1]} == {
        "dog",
        "ran",
    }
    # share of the cluster's words times log(1 + words per cluster / occurrences)
    assert found[0][0].score == pytest.approx(10 / 50 * np.log(1 + 50 / 10))
    with pytest.raises(ValueError, match="texts: empty vocabulary"):
        WordCounts.of(["the", "the"])


def test_typical_names_make_names() -> None:
    X = digits()
    tree = build_hierarchy(X)
    names = [f"w{i}" for i in range(len(X))]
    told = tree.describe(2, X, names=names)
    assert told[0].typical_names == tuple(names[i] for i in told[0].typical)
    assert told[0].name == ", ".join(told[0].typical_names[:3])


def test_a_series_of_names_is_taken_in_the_order_of_its_rows() -> None:
    pandas = pytest.importorskip("pandas")
    names = pandas.Series([f"w{i}" for i in range(60)], index=range(59, -1, -1))
    labels = np.repeat([0, 1], 30)
    told = describe_clusters(labels, [np.array([3]), np.array([40])], names=names)
    assert [each.typical_names for each in told] == [("w3",), ("w40",)]


def test_missing_texts_of_any_kind_hold_no_words() -> None:
    pandas = pytest.importorskip("pandas")
    texts = [None, float("nan"), pandas.NA, pandas.NaT, "red sea"]
    assert WordCounts.of(texts).words.tolist() == ["red", "sea"]


def test_a_frame_is_described_by_its_own_columns() -> None:
    pandas = pytest.importorskip("pandas")
    iris = load_iris(as_frame=True)
    tree = build_hierarchy(iris.data)
    told = tree.describe(
        None,
        iris.data,
        metadata=pandas.DataFrame({"kind": pandas.Categorical(iris.target.map(str))}),
    )
    assert {t.kind for cluster in told for t in cluster.traits} == {"category", "number"}
    assert "petal width (cm)" in {t.column for t in told[0].traits}
    frame = told.to_frame()
    assert list(frame["name"]) == told.names and frame.loc[0, "size"] == told[0].size


def test_columns_of_all_kinds() -> None:
    table: dict[str, Any] = {
        "text": ["a", None, "b", "a"],
        "flag": [True, False, True, True],
        "few": np.array([3, 3, 1, 1]),
        "number": [0.5, np.nan, 2.0, 1.0],
        "day": np.array(["2020-01-01", "NaT", "2020-01-03", "2020-01-02"], dtype="datetime64[D]"),
        "many": np.arange(4),
    }
    found = {column.name: column for column in read_columns(table, 4)}
    assert found["text"].values.tolist()[1] == -1 and found["flag"].categories is not None
    assert found["few"].categories.tolist() == ["1", "3"] and found["number"].categories is None
    assert found["day"].is_time and np.isnan(found["day"].values[1])
    assert read_columns(np.arange(100), 100)[0].categories is None
    structured = np.array([(1, 2.0)] * 4, dtype=[("a", int), ("b", float)])
    assert [c.name for c in read_columns(structured, 4)] == ["a", "b"]


def test_names_are_short_and_differ() -> None:
    parts = [["x" * 80], ["a b " * 30], ["bag"], ["bag"], ["bag (2)"], ["bag"], [], ["cluster 6"]]
    names = make_unique(parts, [1, 2, 9, 8, 7, 6, 5, 4])
    assert len(set(names)) == len(names) and all(len(name) <= MAX_LETTERS + 5 for name in names)
    assert names[2:4] == ["bag", "bag (3)"]


def test_reprs_fit_on_a_screen() -> None:
    told = build_hierarchy(digits()).describe(0, metadata={"digit": load_digits().target})
    lines = repr(told).splitlines()
    assert (
        len(lines) <= 24 and all(len(line) <= 110 for line in lines) and "381 smaller" in lines[-1]
    )


@pytest.mark.parametrize(
    "wrong, message",
    [
        ({"metadata": {"a": [1, 2]}}, "column 'a': needs one value for each of the 100 rows"),
        ({"metadata": np.zeros((100, 2))}, "metadata: takes a DataFrame"),
        ({"texts": ["a"]}, "texts: needs one for each of the 100 rows of the fit, got 1"),
        ({"names": ["a"]}, "names: needs one for each"),
        ({"X": np.zeros((3, 64))}, "X: needs the rows of the fit, 100 x 64, got 3 x 64"),
        ({"feature_names": ["a"]}, "give X, too"),
        ({"X": digits()[:100], "feature_names": ["a"]}, "X has 64 columns, got 1 names"),
        ({"n_typical": 0}, "n_typical"),
        ({"level": 9}, "level=9"),
    ],
)
def test_wrong_input_is_named(wrong: dict[str, Any], message: str) -> None:
    tree = build_hierarchy(digits()[:100])
    with pytest.raises(ValueError, match=message):
        tree.describe(**wrong)
