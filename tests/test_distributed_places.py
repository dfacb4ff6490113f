"""Rows put to their places by workers: the map of one machine, whatever runs and tasks the leaves
are cut into.
"""

# ruff: noqa: F401, F811 (fixtures)

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from workers import ROWS, N, client, clusters, parts, same

from nestmap import HNNE, build_hierarchy
from nestmap.distributed import fit, leaf_places, results
from nestmap.distributed.phases import Phases
from nestmap.method.arrangement import local
from tools.flat import make_hnne

da = pytest.importorskip("dask.array")
X = da.from_array(ROWS, chunks=(700, 10))


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> list[Phases]:
    """Some ten runs of leaves and about as many tasks; the phases of each fit."""
    monkeypatch.setattr(local, "_VALUES_PER_RUN", 3000)
    monkeypatch.setattr(leaf_places, "BLOCK_BYTES", 30_000)
    found: list[Phases] = []

    def keep(*arguments: Any) -> Phases:
        found.append(Phases(*arguments))
        return found[-1]

    monkeypatch.setattr(fit, "Phases", keep)
    return found


def _refuse(*_: Any) -> Any:
    raise AssertionError("the client looked at rows")


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [
        {"detail": "leaves"},
        {"layout": "descent", "preliminary": "random", "random_state": 3},
        {"layout": "descent", "n_components": 3, "metric": "manhattan"},
        {"layout": "descent"},
    ],
)
@pytest.mark.parametrize("copies", [True, False])
def test_places_by_tasks(
    client: Any,
    parts: None,
    told: list[Phases],
    monkeypatch: pytest.MonkeyPatch,
    options: Any,
    copies: bool,
) -> None:
    rows = ROWS if copies else np.unique(ROWS, axis=0)
    alone = make_hnne(**options).fit(rows)
    monkeypatch.setattr(local.Projection, "__call__", _refuse)
    same(make_hnne(**options).fit(da.from_array(rows, chunks=(700, 10))), alone)
    assert told[0].tasks["place"] > 4 and told[0].tasks["project"] == -(-len(rows) // 750)
    assert told[0].moved["place"] >= 0.9 * rows.nbytes  # of equal rows of a leaf, one


@pytest.mark.slow
@pytest.mark.parametrize("options", [{"metric": "cosine"}, {"metric": "correlation"}])
def test_other_metrics(client: Any, parts: None, told: list[Phases], options: Any) -> None:
    options = {"layout": "descent"} | options
    same(make_hnne(**options).fit(X), make_hnne(**options).fit(ROWS))
    assert told[0].tasks["place"] > 4


@pytest.mark.slow
def test_coordinates_for_other_frames(client: Any, parts: None, told: list[Phases]) -> None:
    """Without frames of their own, leaves need no rows but their coordinates, which workers
    compute.
    """
    options = {"layout": "descent", "arrangement": "global", "inflate": True}
    same(make_hnne(**options).fit(X), make_hnne(**options).fit(ROWS))
    assert "place" not in told[0].tasks and told[0].tasks["project"] > 1


@pytest.mark.slow
def test_rows_that_were_never_divided(
    client: Any, parts: None, told: list[Phases], tmp_path: Path
) -> None:
    """A fit that goes on from finished levels reads the rows in the order of X."""
    options: dict[str, Any] = {"layout": "descent", "work_dir": tmp_path / "work"}
    first = make_hnne(**options).fit(X)
    second = make_hnne(**options).fit(X)
    assert "join" in told[0].tasks and "join" not in told[1].tasks and told[1].tasks["place"] > 4
    same(second, HNNE(layout="descent").fit(ROWS))
    assert_array_equal(first.embedding_, second.embedding_)
    moved = [each.shuffled / ROWS.nbytes for each in told]
    assert 0.9 < moved[1] <= 1  # each row, from wherever it is


def test_runs_are_whole_branches_of_the_tree() -> None:
    tree = build_hierarchy(ROWS)
    along = local.in_tree_order(tree)
    assert_array_equal(np.sort(along), np.arange(tree.levels[0].n_nodes))
    for k in range(1, tree.n_levels):
        nodes = tree.climb(along, k)
        assert (
            np.count_nonzero(np.diff(nodes)) == tree.levels[k].n_nodes - 1
        )  # each of them in one piece


def test_labels_are_made_from_leaves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tree = build_hierarchy(ROWS)
    for large in (0, 10**9):
        monkeypatch.setattr(results, "_LARGE", large)
        chunks = results.Chunks((1000, 2000), str(tmp_path), tree.levels[0].members)
        for level in range(tree.n_levels):
            found = chunks.labels(tree.labels_of_leaves(level))
            assert found.chunks == ((1000, 2000),) and found.dtype == tree.labels(level).dtype
            assert_array_equal(found.compute(scheduler="sync"), tree.labels(level))
    assert (
        len([*tmp_path.glob("leaves-*")]) == 1 and len([*tmp_path.iterdir()]) == 1 + tree.n_levels
    )


@pytest.mark.slow
def test_places_in_an_older_map(client: Any, parts: None, told: list[Phases]) -> None:
    old = HNNE(layout="descent").fit(ROWS[:2500])
    same(HNNE(layout="descent").fit(X, like=old), HNNE(layout="descent").fit(ROWS, like=old))
    assert told[0].tasks["place"] > 4
