"""How whole clusters are on a map: pieces, places, and who tells of them."""

from __future__ import annotations

import copy
import gzip
import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import digits
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from sklearn.neighbors import NearestNeighbors

from nestmap import HNNE, Islands
from nestmap.app.runs.folder import describe_levels
from nestmap.app.runs.record import to_text
from nestmap.method.hierarchy import Hierarchy, Level
from nestmap.method.layout import pieces as module
from nestmap.method.layout.pieces import find_pieces, piece_unit
from nestmap.method.neighbors.metric import EUCLIDEAN
from nestmap.views.explore.store import write_store

PLACES = np.array([[0.0, 0.0], [100, 0], [0, 100]])  # of the torn cluster
HERE = np.array([50.0, 50])  # of the whole one


def tree(*members: Any) -> Hierarchy:
    """A hierarchy whose clusters are given: of the rows, of the clusters of level 0, and so on."""
    levels, rows = [], np.ones(len(members[0]))
    for each in map(np.asarray, members):
        rows = np.bincount(each, rows)
        levels.append(Level(np.zeros((len(rows), 1)), rows.astype(np.int64), each, 1.0, 1.0))
    return Hierarchy(tuple(levels), EUCLIDEAN)


def heap(centre: Any, n: int, d: int = 2, seed: int = 0) -> np.ndarray:
    return np.asarray(centre) + np.random.default_rng(seed).normal(size=(n, d))


def torn(d: int = 2) -> tuple[Hierarchy, np.ndarray]:
    """Cluster 0 in three places of 100, 60 and 40 rows and three strays; cluster 1 in one, all
    around the strays.
    """
    corners = np.hstack([PLACES, np.zeros((3, d - 2))])
    middle = np.append(HERE, np.zeros(d - 2))
    heaps = [heap(at, n, d) for at, n in zip(corners, (100, 60, 40), strict=True)]
    positions = np.concatenate(
        [*heaps, heap(middle, 3, d, 1) * 0.01 + middle * 0.99, heap(middle, 300, d)]
    )
    return tree(np.repeat([0, 1], [203, 300])), positions


def whole_by_definition(positions: np.ndarray, labels: np.ndarray) -> float:
    """As benchmarks/clusters has it."""
    n, k = len(positions), 8
    near = (
        NearestNeighbors(n_neighbors=k + 1)
        .fit(positions)
        .kneighbors(return_distance=False, X=positions)[:, 1:]
    )
    starts, ends = np.repeat(np.arange(n), k), near.ravel()
    same = labels[starts] == labels[ends]
    graph = sparse.csr_matrix((np.ones(same.sum()), (starts[same], ends[same])), shape=(n, n))
    found = connected_components(graph, directed=False)[1]
    return float(sum(np.bincount(found[labels == label]).max() for label in np.unique(labels)) / n)


@cache
def fitted(detail: str = "rows") -> HNNE:
    return HNNE(hierarchy="first_neighbors", layout=Islands(detail=detail)).fit(digits())


class TestPieces:
    @pytest.mark.parametrize("d", [2, 3, 9])
    def test_a_cluster_in_three_places(self, d: int) -> None:
        hierarchy, positions = torn(d)
        (found,) = find_pieces(hierarchy, positions)
        assert found.n_places.tolist() == [3, 1] and found.n_split == 1
        assert found.rows[found.largest].tolist() == [100, 300]
        assert found.whole == pytest.approx(400 / 503)
        np.testing.assert_array_equal(
            np.flatnonzero(found.of_point == found.largest[0]), np.arange(100)
        )

    def test_clusters_in_one_place(self) -> None:
        labels = np.repeat(np.arange(5), 50)
        (found,) = find_pieces(
            tree(labels), np.concatenate([heap([30 * i, 0], 50) for i in range(5)])
        )
        assert found.whole == 1 and found.n_split == 0 and found.n_places.tolist() == [1] * 5

    def test_all_levels_at_once(self) -> None:
        """What is torn on a fine level may be whole above it, and the other way round."""
        positions = np.concatenate([heap([0, 0], 40), heap([90, 0], 40), heap([0, 0], 40, seed=1)])
        fine, coarse = find_pieces(tree(np.repeat([0, 0, 1], 40), [0, 0]), positions)
        assert fine.n_places.tolist()[0] == 2 and coarse.n_places.tolist() == [2]
        assert coarse.whole == pytest.approx(80 / 120)

    def test_equal_positions_are_one_spot(self) -> None:
        """Rows beyond the eighth at one spot would else have no neighbours but each other."""
        positions = np.repeat(np.arange(10.0), 20)[:, None] * [1.0, 1.0]
        (found,) = find_pieces(tree(np.zeros(200, dtype=int)), positions)
        assert found.whole == 1 and found.rows.tolist() == [200]
        (same,) = find_pieces(tree(np.arange(30) % 3), np.ones((30, 2)))  # clusters share a spot
        assert same.whole == 1 and same.n_places.tolist() == [1, 1, 1]

    def test_clusters_that_share_spots_are_told_apart(self) -> None:
        """Two clusters on the same line of spots: one on all of them, one at both ends."""
        line = np.arange(60.0)[:, None] * [1.0, 0.0]
        positions = np.concatenate([line, line[:10], line[-20:]])
        (found,) = find_pieces(tree(np.repeat([0, 1], [60, 30])), positions)
        assert found.n_places.tolist() == [1, 2] and found.rows[found.largest].tolist() == [60, 20]

    def test_single_rows_and_single_spots(self) -> None:
        (alone,) = find_pieces(tree([0]), np.zeros((1, 2)))
        assert alone.whole == 1 and alone.n_places.tolist() == [1]
        (singles,) = find_pieces(tree(np.arange(50)), heap([0, 0], 50))
        assert singles.whole == 1 and singles.n_split == 0
        (few,) = find_pieces(
            tree([0, 1, 0]), np.array([[0.0], [1], [2]])
        )  # fewer than eight others
        assert few.whole == 1

    def test_strays_are_no_places_and_a_scattered_cluster_has_none(self) -> None:
        grid = np.stack(np.meshgrid(np.arange(50.0), np.arange(50.0)), axis=-1).reshape(-1, 2)
        scattered = ((grid % 10 == 5).all(axis=1)).astype(int)
        (found,) = find_pieces(tree(scattered), grid)
        assert found.n_places.tolist() == [1, 0] and found.n_split == 1
        assert found.rows[found.largest[1]] == 1

    def test_of_equal_pieces_the_leftmost_is_the_largest(self) -> None:
        positions = np.concatenate([heap([90, 0], 20), heap([-90, 0], 20), heap([0, 0], 30)])
        (found,) = find_pieces(tree(np.repeat([0, 1], [40, 30])), positions)
        assert (positions[found.of_point == found.largest[0], 0] < -50).all()

    @pytest.mark.parametrize("scale", [1e-300, 1e-150, 1.0, 1e150, 1e300])
    def test_the_size_of_a_map_makes_no_difference(self, scale: float) -> None:
        hierarchy, positions = torn()
        (found,) = find_pieces(hierarchy, positions * scale)
        assert found.n_places.tolist() == [3, 1]

    def test_it_is_what_the_benchmarks_measure(self) -> None:
        model = fitted()
        for found in find_pieces(model.hierarchy_, model.embedding_):
            expected = whole_by_definition(model.embedding_, model.labels(found.level))
            assert found.whole == pytest.approx(expected, abs=1e-12)
            assert found.rows.sum() == 1797 and (np.bincount(found.owner) > 0).all()

    @pytest.mark.parametrize("unit", ["rows", "leaves"])
    def test_order_and_threads_make_no_difference(self, unit: str) -> None:
        hierarchy, positions = (
            fitted().hierarchy_,
            np.round(fitted().embedding_),
        )  # rows that coincide, and ties
        order = np.random.default_rng(0).permutation(len(positions))
        leaf = hierarchy.levels[0]
        shuffled = tree(leaf.members[order], *(level.members for level in hierarchy.levels[1:]))
        runs = [
            [(p.level, p.whole, p.n_places.tolist(), p.rows[p.largest].tolist()) for p in found]
            for found in (
                find_pieces(hierarchy, positions, 1, unit=unit),
                find_pieces(hierarchy, positions, 3, unit=unit),
                find_pieces(shuffled, positions[order], 2, unit=unit),
            )
        ]
        assert runs[0] == runs[1] == runs[2] and len(runs[0]) == hierarchy.n_levels - (
            unit == "leaves"
        )


class TestUnits:
    def test_leaves_stand_for_rows_where_these_lie_in_balls(self) -> None:
        assert [piece_unit(1000, fitted(detail).layout_) for detail in ("rows", "leaves")] == [
            "rows",
            "leaves",
        ]
        assert piece_unit(1000) == "rows" and piece_unit(1_000_001, fitted().layout_) == "leaves"
        for layout in ("descent", "mosaic"):
            assert piece_unit(10**7, fitted().relayout(layout=layout).layout_) == ""

    def test_leaves_count_by_their_rows(self) -> None:
        """Three leaves of 30, 20 and 10 rows, the last far away from the others."""
        leaves = np.repeat([0, 1, 2, *range(3, 23)], [30, 20, 10, *[3] * 20])
        at = np.array(
            [[0.0, 0], [1, 0], [500, 0], *([500 + np.cos(i), np.sin(i)] for i in range(20))]
        )
        positions = at[leaves] + 0.01 * heap([0, 0], len(leaves))
        (found,) = find_pieces(tree(leaves, [0, 0, 0] + [1] * 20), positions, unit="leaves")
        assert found.level == 1 and found.n_places.tolist() == [2, 1]
        assert found.rows[found.largest].tolist() == [50, 60]

    def test_many_rows_are_measured_on_leaves_and_that_is_said(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(module, "MAX_ROWS", 1000)
        audit, table = fitted().audit(), fitted().summary()
        assert (
            audit.measured_on == table.measured_on == "leaves"
            and "pieces are those of leaves" in str(audit)
        )
        assert np.isnan(audit.levels[0].whole) and np.isnan(table[0].whole)
        assert repr(table).splitlines()[1].split()[-2:] == ["–", "–"]
        levels = describe_levels(fitted())
        assert "whole" not in levels[0] and levels[1]["measured_on"] == "leaves"


class TestTold:
    def test_audit_and_summary_have_the_same_figures(self) -> None:
        model = fitted()
        audit, table = model.audit(), model.summary()
        for found, told, row in zip(
            find_pieces(model.hierarchy_, model.embedding_), audit.levels, table, strict=True
        ):
            assert (
                (told.whole, told.n_split)
                == (row.whole, row.n_split)
                == (found.whole, found.n_split)
            )
        assert f"{audit.levels[1].whole:.2%} in the largest piece of their cluster" in str(audit)
        assert (
            repr(table).splitlines()[0].endswith("whole  split")
            and len(repr(table).splitlines()[0]) < 100
        )
        assert f"{table[2].whole:.3f}" in model._repr_html_()

    def test_the_other_columns_are_those_of_the_tree(self) -> None:
        pytest.importorskip("pandas")
        tree_only, table = fitted().hierarchy_.summary().to_frame(), fitted().summary().to_frame()
        assert [*table.columns] == [*tree_only.columns, "whole", "n_split"]
        assert table[[*tree_only.columns]].equals(tree_only)

    @pytest.mark.parametrize("layout", ["descent", "mosaic"])
    def test_balls_and_regions_are_whole_by_their_promise(self, layout: str) -> None:
        model = fitted().relayout(layout=layout)
        assert model.audit().measured_on == "" and "piece" not in str(model.audit())
        assert repr(model.summary()) == repr(model.hierarchy_.summary())
        assert "whole" not in describe_levels(model)[0]

    def test_runs_record_it(self) -> None:
        levels = describe_levels(fitted())
        table = fitted().summary()
        assert [level["whole"] for level in levels] == [round(row.whole, 4) for row in table]
        record = {
            "source": "digits",
            "versions": {"nestmap": "0"},
            "created": "now",
            "seconds": {},
            "maps": [],
            "neighbors": "exact",
            "changed": {},
            "levels": levels,
            "label_level": 2,
            "tree": [],
        }
        assert (
            f"; whole {table[2].whole:.3f}, {table[2].n_split} not in one place  <- labels"
            in to_text(record)
        )
        older = [
            {k: v for k, v in level.items() if k not in ("whole", "split")} for level in levels
        ]
        assert "whole" not in to_text({**record, "levels": older})


def test_the_store_says_which_clusters_are_split_and_where_the_largest_piece_is(
    tmp_path: Path,
) -> None:
    model = copy.copy(fitted())
    level, labels = 2, model.labels(2)
    wanted = int(np.bincount(labels).argmax())
    rows = np.flatnonzero(labels == wanted)
    model.embedding_ = np.stack([1000.0 * labels, np.zeros(len(labels))], axis=1) + heap(
        [0, 0], len(labels)
    )
    model.embedding_[rows[: len(rows) // 3]] += [0, 5000]
    folder = write_store(
        tmp_path / "store", model, compare={"mosaic": model.relayout(layout="mosaic")}
    )
    meta = json.loads(gzip.decompress((folder / "meta.json.gz").read_bytes()))
    assert level in meta["maps"][0]["piece_levels"] and meta["maps"][1]["piece_levels"] == []
    data = gzip.decompress((folder / f"m0/pieces/{level}.bin.gz").read_bytes())
    assert np.frombuffer(data, "<u4", 1)[0] == 1 and len(data) == 4 + 5 * 4
    node, places = np.frombuffer(data, "<u4", 2, 4)
    x, y, radius = np.frombuffer(data, "<f4", 3, 12)
    order = np.argsort(-np.bincount(labels), kind="stable")
    assert places == 2 and 0 < radius < 3 and model.hierarchy_.n_levels > level + 1
    assert wanted == order[0] and node < len(order)
    low, high = model.embedding_.min(axis=0), model.embedding_.max(axis=0)
    expected = model.embedding_[rows[len(rows) // 3 :]].mean(axis=0)
    np.testing.assert_allclose([x, y] + (low + high) / 2, expected, atol=0.01)
