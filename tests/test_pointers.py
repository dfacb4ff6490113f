"""Components and centroids part by part: those of one machine, for any first-neighbour graph."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from nestmap.core.points.point_set import make_points
from nestmap.distributed import merge
from nestmap.distributed.division import Division, divide
from nestmap.distributed.merge import Merge
from nestmap.distributed.store import Store
from nestmap.method.hierarchy import build
from nestmap.method.hierarchy.build import merge_items
from nestmap.method.hierarchy.merge import components, link_graph
from nestmap.method.run import Run

RNG = np.random.default_rng(3)


class Here:
    """Phases whose tasks run in this process, each twice, as after the death of a worker."""

    def __init__(self) -> None:
        self.moved: dict[str, int] = {}
        self.tasks: dict[str, int] = {}
        self.shuffled = 0

    def submit(self, name: str, function: Any, arguments: list[tuple[Any, ...]]) -> list[Any]:
        self.tasks[name] = self.tasks.get(name, 0) + len(arguments)
        return [[function(*each) for _ in range(2)][1] for each in reversed(arguments)][::-1]

    def results(
        self, name: str, what: str, futures: list[Any], advice: str
    ) -> Iterator[tuple[int, Any]]:
        return iter(enumerate(futures))


def parted(
    folder: Path, X: np.ndarray, parts: np.ndarray, n_parts: int
) -> tuple[Store, Division, np.ndarray]:
    """A store of rows that belong to these parts, two guests behind the rows of each; rows in the
    order of parts.
    """
    store = Store(str(folder), *X.shape, str(X.dtype))
    order = np.argsort(parts, kind="stable")
    counts = np.bincount(parts, minlength=n_parts)
    starts, begins = (np.concatenate([[0], np.cumsum(counts + more)]) for more in (0, 2))
    store.parted.create(more=2 * n_parts)
    for p in range(n_parts):
        store.parted.write(int(begins[p]), X[order[starts[p] : starts[p + 1]]])
    blank = divide(make_points(X, "euclidean"), 2, 16)
    division = Division(
        **{**vars(blank), "part_of_cell": np.arange(n_parts), "starts": starts, "begins": begins}
    )
    division.save(store)
    return store, division, order


def merged(
    folder: Path,
    X: np.ndarray,
    ids: np.ndarray,
    parts: np.ndarray,
    n_parts: int,
    weights: np.ndarray,
) -> tuple[Any, Here]:
    """What tasks make of first neighbours."""
    store, division, order = parted(folder, X, parts, n_parts)
    places, here = np.empty(len(X), dtype=np.int64), Here()
    places[order] = np.arange(len(X))
    job = Merge(
        here, store, "level 0", division, str(folder), order, places[ids[order]], Run(), False
    )  # type: ignore[arg-type]
    return job(weights, np.float32), here


def check(
    folder: Path,
    X: np.ndarray,
    ids: np.ndarray,
    parts: np.ndarray,
    n_parts: int,
    weights: np.ndarray,
) -> Here:
    """Compare them with those of one machine."""
    found, here = merged(folder, X, ids, parts, n_parts, weights)
    members = components(link_graph(ids))
    assert_array_equal(found.members, members)
    centroids, sizes = merge_items(X, weights, members, members.max() + 1, np.float32, Run())
    assert_array_equal(found.centroids, centroids)
    assert_array_equal(found.sizes, sizes)
    return here


@settings(max_examples=60, deadline=None)
@given(
    st.integers(2, 300),
    st.integers(1, 6),
    st.integers(0, 2**32),
    st.sampled_from(["any", "cycles", "chain"]),
)
def test_any_graph(
    tmp_path_factory: pytest.TempPathFactory, n: int, n_parts: int, seed: int, kind: str
) -> None:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3)).astype(np.float32)
    ids = rng.integers(0, n, n)
    if kind == "cycles":
        ids = rng.permutation(n)
    elif kind == "chain":  # as long as can be, through all parts
        along = rng.permutation(n)
        ids[along] = np.append(along[1:], along[-2])
    parts, weights = rng.integers(0, n_parts, n), rng.integers(1, 9, n).astype(float)
    check(tmp_path_factory.mktemp("store"), X, ids, parts, n_parts, weights)


def test_few_rounds_and_few_strays(tmp_path: Path) -> None:
    """Where most neighbours share their part, few rows are read from others, and rounds end soon."""
    X = np.sort(RNG.normal(size=(5000, 1)).astype(np.float32), axis=0)
    away = np.abs(np.diff(X[:, 0]))
    left, right = np.append(np.inf, away), np.append(away, np.inf)
    ids = np.arange(5000) + np.where(left < right, -1, 1)
    here = check(tmp_path, X, ids, np.arange(5000) // 1000, 5, np.ones(5000))
    assert here.tasks["jump"] <= 3 * 5 and here.tasks["link"] == here.tasks["mean"] == 5
    assert here.shuffled < 40 * 4


def test_pointers_that_never_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(merge, "_MOST_ROUNDS", 1)
    X = RNG.normal(size=(100, 2)).astype(np.float32)
    with pytest.raises(RuntimeError, match="level 0: pointers went on to jump"):
        merged(tmp_path, X, np.roll(np.arange(100), 1), RNG.integers(0, 3, 100), 3, np.ones(100))


@pytest.mark.parametrize("at", [0, 40, 97])
def test_a_group_of_very_many_among_others(monkeypatch: pytest.MonkeyPatch, at: int) -> None:
    """Its mean is summed run by run, by itself, whatever comes before and behind it."""
    X = RNG.normal(size=(400, 5)).astype(np.float32)
    members = np.concatenate([np.arange(100), np.full(300, at)])
    whole = merge_items(X, np.ones(400), members, 100, np.float32, Run())[0]
    monkeypatch.setattr(build, "_MAX_VALUES_PER_GROUP", 1000)
    monkeypatch.setattr(build, "_VALUES_PER_GATHER", 250)
    found, sizes = merge_items(X, np.ones(400), members, 100, np.float32, Run())
    np.testing.assert_allclose(found, whole, rtol=1e-5, atol=1e-6)
    assert sizes[at] == 301 and sizes.sum() == 400
