"""Worker processes for tests of fits on a cluster, rows for them, and what must be the same."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from conftest import core
from numpy.testing import assert_array_equal

from nestmap import HNNE
from nestmap.distributed import fit, level_search, search
from nestmap.method.layout.islands.schedule import SCHEDULE
from nestmap.method.neighbors.effort import TABLE
from nestmap.model import tree as fit_tree_module

dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")

RNG = np.random.default_rng(5)
N = 3000
ROWS = (RNG.normal(size=(N, 10)) + 3 * RNG.integers(0, 6, (N, 1))).astype(np.float32)
ROWS[200:230] = ROWS[7]  # copies, far from each other in the array
ROWS[2900] = ROWS[11]
ROWS[1000:1400] = np.round(ROWS[1000:1400])  # ties
OPTIONS: dict[str, Any] = {"layout": "descent"}  # the quickest
PAPER: dict[str, Any] = {**OPTIONS, "hierarchy": "first_neighbors"}  # all levels are searched


@pytest.fixture(scope="module")
def clusters() -> Iterator[Any]:
    """Clients of clusters by their number of workers, started when first asked for."""
    started: dict[int, Any] = {}

    def start(n: int) -> Any:
        if n not in started:
            cluster = distributed.LocalCluster(
                n_workers=n,
                threads_per_worker=1,
                memory_limit="1GiB",
                dashboard_address=":0",
                silence_logs=50,
            )
            started[n] = cluster, distributed.Client(cluster, set_as_default=False)
        started[n][1].wait_for_workers(n, timeout=240)  # also for those that a test has killed
        return started[n][1]

    # By default dask gives up a worker for good that died and is not back within 15 seconds: on a
    # busy machine, all. Workers are forked from a process that has everything imported: it takes
    # seconds, and tests kill many workers.
    settings = {
        "distributed.deploy.lost-worker-timeout": "10 minutes",
        "distributed.worker.multiprocessing-method": "forkserver",
    }
    with dask.config.set(settings):
        distributed.utils.get_mp_context().set_forkserver_preload(
            ["distributed", "nestmap.distributed.fit"]
        )
        yield start
    for cluster, client in started.values():
        client.close()
        cluster.close()


@pytest.fixture
def client(clusters: Any) -> Iterator[Any]:
    client = clusters(2)
    with client.as_current():
        yield client


@pytest.fixture
def parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small data take the way of large data: about seven parts, several blocks."""
    monkeypatch.setattr(fit, "PART_BYTES", 180_000)
    monkeypatch.setattr(level_search, "BLOCK_BYTES", 40_000)


@pytest.fixture(scope="module")
def alone() -> HNNE:
    return HNNE(**OPTIONS).fit(ROWS)


@pytest.fixture(scope="module")
def alone_as_paper() -> HNNE:
    return HNNE(**PAPER).fit(ROWS)


@pytest.fixture
def many(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small data take the way of large data: rows and leaves are too many for a neighbour graph."""
    monkeypatch.setattr(fit_tree_module, "MOST_ROWS", 100)
    monkeypatch.setattr(fit_tree_module, "MOST_NODES", 100)
    monkeypatch.setitem(vars(SCHEDULE), "first_nodes", 30)


def same(model: HNNE, alone: HNNE) -> None:
    """The same tree and the same map, to the bit."""
    assert model.hierarchy_.level_sizes == alone.hierarchy_.level_sizes
    for level, other in zip(model.hierarchy_, alone.hierarchy_, strict=True):
        assert_array_equal(level.members, other.members)
        assert_array_equal(level.centroids, other.centroids)
        assert_array_equal(level.keys, other.keys)
    for links, others in zip(model.hierarchy_.links, alone.hierarchy_.links, strict=True):
        assert_array_equal(links.ids, others.ids)
        assert_array_equal(links.ranks, others.ranks)
    assert_array_equal(np.asarray(model.embedding_), alone.embedding_)
    assert_array_equal(np.asarray(model.labels_), alone.labels_)
    assert model.far_distance_ == alone.far_distance_


@pytest.fixture
def pointers(parts: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Items are too many for one process to join them."""
    monkeypatch.setattr(search, "PER_ITEM", 180_000)


@pytest.fixture
def approximate(monkeypatch: pytest.MonkeyPatch) -> np.ndarray:
    """Rows that are few, but searched in parts of which each is large enough for the approximate
    search.
    """
    if core() is None:
        pytest.skip("without kernels all searches are exact")
    monkeypatch.setitem(vars(TABLE), "sure_rows", 0)
    monkeypatch.setattr(fit, "PART_BYTES", 5_000_000)
    monkeypatch.setattr(level_search, "BLOCK_BYTES", 100_000)
    X = np.random.default_rng(7).normal(size=(15_000, 6)).astype(np.float32)
    X[5000:5040] = X[3]  # copies
    X[9000] = X[14_000]
    return X
