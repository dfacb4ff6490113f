"""Neighbours that users bring, in each of the forms that other libraries make them."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from conftest import digits
from scipy import sparse
from sklearn.base import clone
from sklearn.metrics import adjusted_mutual_info_score
from sklearn.neighbors import NearestNeighbors, kneighbors_graph

import nestmap
from nestmap import FINCH, HNNE, Descent, build_hierarchy, first_neighbors
from nestmap.method.neighbors import given_neighbors

X = digits()[:300] + np.random.default_rng(0).normal(0, 0.01, (300, 64)).astype(
    np.float32
)  # no ties
N = len(X)
K = 15  # neighbours that the tree of a fit takes: whoever brings as many gets the same
DISTANCES, IDS = (
    NearestNeighbors(n_neighbors=K + 1).fit(X).kneighbors(X)
)  # the first is the row itself
GRAPH = kneighbors_graph(X, K, mode="distance")
TRUE = first_neighbors(X).ids
rng = np.random.default_rng(1)
SHUFFLE = rng.permuted(np.tile(np.arange(K + 1), (N, 1)), axis=1)
FORMS = {
    "first": TRUE,
    "list": TRUE.tolist(),
    "lists": IDS,
    "lists without the row": IDS[:, 1:],
    "pair": (IDS, DISTANCES),
    "pair in a list": [IDS, DISTANCES],
    "as UMAP has it": (IDS.astype(np.int32), DISTANCES.astype(np.float32), object()),
    "in any order": (
        np.take_along_axis(IDS, SHUFFLE, 1),
        np.take_along_axis(DISTANCES, SHUFFLE, 1),
    ),
    "with gaps": np.where(np.arange(K + 1) == 3, -1, IDS),
    "csr": GRAPH,
    "csc array": sparse.csc_array(GRAPH),
    "with the diagonal": GRAPH + sparse.eye(N) * 1e-9,
}


@cache
def fitted(hierarchy: str) -> HNNE:
    """Without given neighbours."""
    return HNNE(hierarchy=hierarchy).fit(X)


@pytest.mark.parametrize("form", FORMS)
def test_each_form_gives_the_first_neighbours(form: str) -> None:
    found = given_neighbors(FORMS[form], N)
    np.testing.assert_array_equal(found.ids, TRUE)
    assert (
        found.report.method == "given" and not found.report.exact and np.isnan(found.report.recall)
    )


@pytest.mark.parametrize("hierarchy", ["graph", "first_neighbors"])
@pytest.mark.parametrize("form", FORMS)
def test_each_form_gives_the_same_map(form: str, hierarchy: str) -> None:
    expected = fitted(hierarchy)
    model = HNNE(neighbors=FORMS[form], hierarchy=hierarchy).fit(X)
    if (form, hierarchy) == (
        "with gaps",
        "graph",
    ):  # other lists, and so another tree on the same leaves
        np.testing.assert_array_equal(model.labels(0), expected.labels(0))
        assert (model.embedding_ != expected.embedding_).any()
        return
    for k in range(expected.hierarchy_.n_levels):
        np.testing.assert_array_equal(model.labels(k), expected.labels(k))
    np.testing.assert_array_equal(model.embedding_, expected.embedding_)
    np.testing.assert_array_equal(
        model.relayout(layout=Descent(radius=0.2)).embedding_,
        expected.relayout(layout=Descent(radius=0.2)).embedding_,
    )


def test_the_tree_is_that_of_the_lists() -> None:
    """And the forces go by the rows: with lists of other rows, clusters are others, and the map is
    still faithful.
    """
    strange = np.random.default_rng(2).permuted(np.tile(np.arange(N), (N, 1)), axis=1)[:, :K]
    strange = np.column_stack([TRUE, strange])
    model = HNNE(neighbors=strange).fit(X)
    assert adjusted_mutual_info_score(model.labels_, fitted("graph").labels_) < 0.5
    assert nestmap.metrics.trustworthiness(X, model.embedding_) > 0.9


@pytest.mark.parametrize("form", ["lists", "pair", "csr"])
def test_clusters_and_files(form: str, tmp_path: Any) -> None:
    given = FORMS[form]
    model = clone(HNNE(neighbors=given)).fit(X)
    assert (
        str(model.neighbor_report_).startswith("given: 300 rows; the nearest of ")
        and model.plan(X).method == "given"
    )
    np.testing.assert_array_equal(FINCH(neighbors=given).fit(X).labels_, FINCH().fit(X).labels_)
    assert (
        build_hierarchy(X, neighbors=given).level_sizes
        == fitted("first_neighbors").hierarchy_.level_sizes
    )
    model.save(tmp_path / "m.nestmap")
    np.testing.assert_array_equal(nestmap.load(tmp_path / "m.nestmap").neighbors, TRUE)
    assert len(repr(model).splitlines()) <= 20


def test_equal_rows_may_come_before_the_row_itself() -> None:
    ids = np.array([[1, 0, 2], [0, 1, 2], [2, 1, 0]])
    assert given_neighbors(ids, 3).ids.tolist() == [1, 0, 1]
    assert given_neighbors(
        (ids, np.array([[0.0, 0, 5], [0, 0, 5], [0, 5, 5]])), 3
    ).ids.tolist() == [1, 0, 1]
    stored = sparse.csr_matrix(
        (np.array([0.0, 3, 0, 4, 4, 3]), [1, 2, 0, 2, 1, 0], [0, 2, 4, 6]), (3, 3)
    )
    assert given_neighbors(stored, 3).ids.tolist() == [1, 0, 0]  # a stored 0 is a distance
    assert given_neighbors((np.array([[1], [0]]), np.full((2, 1), np.inf)), 2).ids.tolist() == [
        1,
        0,
    ]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (
            IDS[:-1],
            r"expected 300 integers.*sparse \(n, n\) matrix.*got an array of shape \(299, 16\)",
        ),
        (DISTANCES, "type float64"),
        ([[1], [0, 1]], "expected 300 integers"),
        (IDS[:, :0], "expected 300 integers"),
        (IDS[:, :1], "no other row is listed for row 0 .300 such rows"),
        (np.where(np.equal(IDS, TRUE[:, None]), 300, IDS), "names row 300, which does not exist"),
        (np.where(np.arange(K + 1) == K, 300, IDS), "row 0 names row 300, which does not exist"),
        (
            (np.where(np.arange(K + 1) == K, -2, IDS), DISTANCES),
            "row 0 names row -2, which does not exist",
        ),
        ((IDS, DISTANCES[:, :3]), r"shape \(300, 16\), distances \(300, 3\)"),
        ((IDS, IDS[0]), "second of a pair"),
        ((IDS, -DISTANCES), "are negative"),
        (-GRAPH, "are negative"),
        (GRAPH[:, :5], r"has shape \(300, 300\)"),
        (kneighbors_graph(X, 5, mode="connectivity"), "graph of weights.*mode='distance'"),
        (sparse.csr_matrix((N, N)), "no other row is listed for row 0"),
        (np.arange(N), "row 0 names itself"),
    ],
)
def test_refusals(given: Any, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        HNNE(neighbors=given).fit(X)
