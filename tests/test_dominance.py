"""When a fit warns that a few columns decide its distances, and when it must not."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import digits
from scipy import sparse
from sklearn.datasets import (
    load_breast_cancer,
    load_diabetes,
    load_iris,
    load_wine,
    make_blobs,
    make_swiss_roll,
)
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from nestmap import HNNE
from nestmap.app.cli import main
from nestmap.errors import DominantColumnsWarning
from nestmap.tables import dominant_columns

WINE = load_wine().data
CANCER = load_breast_cancer().data


def pixels() -> Any:
    """Like USPS: 16 x 16 grey pictures, most of the edge empty."""
    small = digits()[:400].reshape(-1, 8, 8)
    return (small.repeat(2, axis=1).repeat(2, axis=2) / 8 - 1).reshape(-1, 256)


def counts(n_words: int = 400) -> Any:
    """Words of texts: a few are in every one, most in hardly any."""
    rate = 40 / np.arange(1, n_words + 1) ** 1.5
    lengths = np.random.default_rng(1).gamma(2, 1, (500, 1))
    return np.random.default_rng(2).poisson(rate * lengths)


def tfidf() -> Any:
    from sklearn.feature_extraction.text import TfidfTransformer

    return TfidfTransformer().fit_transform(sparse.csr_matrix(counts()))


def word_vectors() -> Any:
    """Correlated columns of one unit, one of them three times as wide as the others."""
    rng = np.random.default_rng(3)
    rows = rng.normal(size=(600, 20)) @ rng.normal(size=(20, 100)) + rng.normal(size=(600, 100))
    rows[:, 17] *= 3
    return rows


def films(n: int = 500) -> Any:
    """Gross, budget, votes, rating, minutes, year: units as different as columns."""
    rng = np.random.default_rng(4)
    budget = rng.lognormal(17, 1, n)
    votes = rng.lognormal(9, 1, n)
    gross = budget * rng.lognormal(0, 1, n)
    rest = rng.normal([6.3, 107, 1998], [1.2, 20, 12], (n, 3))
    return np.column_stack([gross, budget, votes, rest])


def dummies(n: int = 500) -> Any:
    """Categories as columns of 0 and 1, and an income."""
    rng = np.random.default_rng(5)
    return np.column_stack([np.eye(12)[rng.integers(0, 12, n)], rng.lognormal(10, 1, n)])


def log(n: int = 500) -> Any:
    """Connections: bytes in and out, and some rates."""
    rng = np.random.default_rng(6)
    return np.column_stack([rng.random((n, 8)), rng.lognormal(6, 3, (n, 2)), rng.random((n, 6))])


def cells() -> Any:
    """Scores of fifty components, and a part of the rows only: no longer quite uncorrelated."""
    rng = np.random.default_rng(7)
    kinds = rng.integers(0, 3, 900)
    rows = rng.normal(size=(900, 200)) + 3 * kinds[:, None] * rng.normal(size=200)
    return PCA(50, random_state=0).fit_transform(rows)[kinds > 0]


SILENT: dict[str, Callable[[], Any]] = {
    "digits": digits,
    "digits as integers": lambda: digits().astype(np.uint8),
    "pixels": pixels,
    "counts of words": counts,
    "counts, words in any order": lambda: np.random.default_rng(0).permutation(counts().T).T,
    "sparse counts": lambda: sparse.csr_matrix(counts()),
    "tf-idf": tfidf,
    "word vectors": word_vectors,
    "PCA of digits": lambda: PCA(20).fit_transform(digits()),
    "PCA of wine": lambda: PCA(13).fit_transform(WINE),
    "PCA of wine, three": lambda: PCA(3).fit_transform(WINE),
    "PCA of breast cancer": lambda: PCA(10).fit_transform(CANCER),
    "PCA of breast cancer, a part": lambda: PCA(10).fit_transform(CANCER)[100:300],
    "PCA of films, four, a part": lambda: PCA(4).fit_transform(films())[::3],
    "PCA of cells": cells,
    "PCA in float32": lambda: PCA(13).fit_transform(WINE).astype(np.float32),
    "LSA of counts": lambda: TruncatedSVD(30, random_state=0).fit_transform(counts() * 1.0),
    "LSA of tf-idf": lambda: TruncatedSVD(10, random_state=0).fit_transform(tfidf()),
    "SVD of wine": lambda: TruncatedSVD(5, random_state=0).fit_transform(WINE),
    "scaled wine": lambda: StandardScaler().fit_transform(WINE),
    "iris": lambda: load_iris().data,
    "diabetes": lambda: load_diabetes().data,
    "blobs": lambda: make_blobs(300, 10, random_state=0)[0],
    "a roll": lambda: make_swiss_roll(500, random_state=0)[0],
    "two columns": lambda: WINE[:, [0, 12]],
    "one column": lambda: WINE[:, 12:],
    "one column that varies": lambda: np.column_stack([WINE[:, 12], *np.ones((4, 178))]),
    "one row far away": lambda: np.vstack(
        [np.random.default_rng(0).normal(size=(99, 4)), [1e30, 0, 0, 0]]
    ),
    "constants": lambda: np.ones((50, 6)),
    "nine rows": lambda: WINE[::20],
}
TOLD: dict[str, tuple[Callable[[], Any], set[int]]] = {
    "wine": (lambda: WINE, {12}),
    "wine, integers": (lambda: WINE.astype(int), {12}),
    "wine in float32": (lambda: WINE.astype(np.float32), {12}),
    "breast cancer": (lambda: CANCER, {3, 23}),
    "films": (films, {0}),
    "films, four columns": (lambda: films()[:, [0, 2, 3, 4]], {0}),
    "films, two of six": (lambda: films()[:, [1, 0, 2, 3, 4, 5]] / [1, 2, 1, 1, 1, 1], {0, 1}),
    "films, four columns by size": (lambda: films()[:, [0, 2, 4, 3]], {0}),
    "films, three columns": (lambda: films()[:, [3, 0, 4]], {1}),
    "dummies": (dummies, {12}),
    "a column that is mostly 0": (
        lambda: np.column_stack([log()[:, :8], np.where(np.arange(500) % 20, 0.0, 1e4)]),
        {8},
    ),
    "a log": (log, {8, 9}),
    "wine, a wide column that varies about zero": (lambda: WINE - WINE.mean(axis=0), {12}),
    "wine beside its components": (
        lambda: np.column_stack([PCA(2).fit_transform(WINE), WINE]),
        {0, 14},
    ),
}


@pytest.mark.parametrize("name", SILENT)
def test_columns_that_are_alike_or_fall_off_by_nature(name: str) -> None:
    assert dominant_columns(SILENT[name]()) is None


@pytest.mark.parametrize("name", TOLD)
def test_columns_of_other_units(name: str) -> None:
    rows, columns = TOLD[name]
    found = dominant_columns(rows())
    assert found is not None
    assert {*found.names} <= {f"x{j}" for j in columns}
    assert sum(found.shares) >= 0.9


def test_a_fit_says_it_once_with_names_and_a_way_out() -> None:
    frame = load_wine(as_frame=True).data
    with pytest.warns(DominantColumnsWarning) as told:
        model = HNNE().fit(frame)
    assert len(told) == 1
    said = str(told[0].message)
    assert "1 of 13 columns decides the distances between rows: 'proline' (100%)" in said
    assert 'HNNE(encoder="table")' in said and "make_pipeline(StandardScaler(), HNNE())" in said
    assert told[0].filename == __file__
    with pytest.warns(DominantColumnsWarning, match=r"'x12' \(100%\) of the variance"):
        again = HNNE().fit(WINE)
    np.testing.assert_array_equal(again.embedding_, model.embedding_)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DominantColumnsWarning)
        HNNE().fit(WINE)


@pytest.mark.parametrize(
    ("metric", "params"),
    [
        ("cosine", None),
        ("correlation", None),
        ("seuclidean", None),
        ("mahalanobis", None),
        ("hellinger", None),
        ("canberra", None),
        ("minkowski", {"w": 1 / WINE.var(axis=0)}),
        (lambda a, b: float(np.abs(a - b).max()), None),
    ],
)
def test_metrics_that_do_not_weigh_columns_by_their_spread(metric: Any, params: Any) -> None:
    HNNE(metric=metric, metric_params=params).fit(WINE)  # a warning would be an error


@pytest.mark.parametrize(
    "metric", ["euclidean", "manhattan", "minkowski", "chebyshev", "sqeuclidean"]
)
def test_metrics_that_do(metric: str) -> None:
    with pytest.warns(DominantColumnsWarning, match="proline|x12"):
        HNNE(metric=metric).fit(WINE)


def test_absolute_differences_add_up_by_standard_deviations() -> None:
    rows = np.random.default_rng(0).normal(size=(300, 100))
    rows[:, 50] *= 40  # 94% of the variance, 29% of the standard deviations
    found = dominant_columns(rows)
    assert found is not None and found.names == ("x50",)
    assert dominant_columns(rows, norm="L1") is None
    wide = dominant_columns(WINE, norm="L1")
    assert wide is not None and "of the standard deviations" in wide.message


def test_what_was_scaled_before_and_distances_that_are_given() -> None:
    make_pipeline(StandardScaler(), HNNE()).fit(WINE)
    make_pipeline(PCA(13), HNNE()).fit(WINE)
    HNNE(metric="precomputed").fit(np.abs(WINE[:, 12:] - WINE[:, 12:].T))


def test_what_an_encoder_has_weighed() -> None:
    HNNE(encoder="table").fit(load_wine(as_frame=True).data)


def test_the_command_line_names_an_option(tmp_path: Path, capsys: Any) -> None:
    np.save(tmp_path / "wine.npy", WINE)
    assert main(["fit", str(tmp_path / "wine.npy"), "-o", str(tmp_path / "run")]) == 0
    said = capsys.readouterr().err
    assert "1 of 13 columns decides the distances between rows: 'x12' (100%)" in said
    assert "--metric seuclidean" in said and "StandardScaler" not in said
    again = ["fit", str(tmp_path / "wine.npy"), "-o", str(tmp_path / "scaled"), "--metric"]
    assert main([*again, "seuclidean"]) == 0
    assert "decides the distances" not in capsys.readouterr().err
