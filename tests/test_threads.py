"""Everything that runs in threads, on few rows: for ThreadSanitizer (`make sanitize`), and for the
same bits.
"""

from __future__ import annotations

import os
from threading import Thread

import numpy as np
import pytest
from conftest import BACKENDS, run_together, using

from nestmap import HNNE, first_neighbors
from nestmap.core import native as _native
from nestmap.core.points.point_set import make_points
from nestmap.method.neighbors.approximate import approximate_neighbors
from nestmap.method.neighbors.prepared import GraphJob
from nestmap.metrics import trustworthiness


def rows(n: int = 3000, d: int = 40) -> np.ndarray:
    rng = np.random.default_rng(0)
    return (5 * rng.normal(size=(20, d))[rng.integers(0, 20, n)] + rng.normal(size=(n, d))).astype(
        np.float32
    )


def test_the_build_under_test_is_the_one_with_sanitizers() -> None:
    if "NESTMAP_SANITIZED" in os.environ:
        assert f"sanitize-{os.environ['NESTMAP_SANITIZED']}" in _native.core().__file__
    assert _native.core() is not None


@pytest.mark.parametrize("backend", BACKENDS[:-1])
@pytest.mark.parametrize("metric", ["euclidean", "cosine", "manhattan"])
def test_searches(metric: str, backend: str) -> None:
    with using(backend):
        exact = [first_neighbors(rows(), metric, method="exact", n_jobs=n).ids for n in (1, 2, 8)]
        points = make_points(rows(), metric)
        lists = [approximate_neighbors(GraphJob(points, 0.9, n_threads=n)).ids for n in (1, 8)]
    for found in exact[1:]:
        np.testing.assert_array_equal(found, exact[0])
    np.testing.assert_array_equal(*lists)


@pytest.mark.parametrize("backend", BACKENDS[:-1])
@pytest.mark.parametrize("layout", ["islands", "descent", "mosaic"])
def test_maps_and_new_rows(layout: str, backend: str) -> None:
    with using(backend):
        models = [HNNE(layout=layout, n_jobs=n).fit(rows()) for n in (1, 2, 8)]
        placed = [model.transform(rows() + np.float32(0.1)) for model in models]
        [model.audit() for model in models]
    for model, new in zip(models[1:], placed[1:], strict=True):
        np.testing.assert_array_equal(model.embedding_, models[0].embedding_)
        np.testing.assert_array_equal(new, placed[0])


def test_scores() -> None:
    X = rows(1000)
    assert trustworthiness(X, X[:, :2], n_jobs=1) == trustworthiness(X, X[:, :2], n_jobs=8)


def test_fits_in_threads_of_the_user() -> None:
    found: dict[int, np.ndarray] = {}

    def fit(key: int) -> None:
        found[key] = HNNE(n_jobs=2).fit_transform(rows(1000))

    threads = [Thread(target=fit, args=(key,)) for key in range(3)]
    run_together(threads)
    assert len(found) == 3
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])
