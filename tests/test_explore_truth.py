"""What a store says of where its map misleads: torn links, rows at one place."""

from __future__ import annotations

from collections import Counter
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from conftest import digits

from nestmap import HNNE
from nestmap.method.neighbors.graph import neighbor_graph
from nestmap.views.explore.map_store import MapStore
from nestmap.views.explore.order import TreeOrder
from nestmap.views.explore.store import write_store
from nestmap.views.explore.tears import FAR

X = np.concatenate([digits()[:500], np.repeat(digits()[7:9], 60, axis=0)])
K = 6
TORN = np.random.default_rng(0).normal((40, -3), size=(len(X), 2))  # tears nearly all


@cache
def fitted() -> HNNE:
    return HNNE().fit(X)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> MapStore:
    folder = tmp_path_factory.mktemp("truth") / "store"
    neighbors = neighbor_graph(X, K).ids
    return MapStore(write_store(folder, fitted(), neighbors=neighbors, compare={"torn": TORN}))


def tears(store: MapStore, number: int, level: int) -> list[dict[str, object]]:
    n = store.meta["levels"][level]["n_nodes"]
    chunks = [store.read_json(f"m{number}/tears/{level}/{c}.json") for c in range(-(-n // 256))]
    return [each for chunk in chunks for each in chunk]


@pytest.mark.parametrize("number", [0, 1])
def test_torn_links_are_counted_exactly(store: MapStore, number: int) -> None:
    meta = store.meta["maps"][number]
    low, high = np.reshape(meta["frame"], (2, 2))
    positions = fitted().embedding_ if number == 0 else TORN
    ids = neighbor_graph(X, K).ids
    tree = TreeOrder.of(fitted().hierarchy_)
    apart = np.linalg.norm(positions[ids] - positions[:, None], axis=2)
    far = apart > FAR * (high - low).max()
    assert meta["tear_levels"] == store.meta["named_levels"]
    n_all = 0
    for level in meta["tear_levels"]:
        owner = np.repeat(np.arange(tree.size(level)), np.diff(tree.starts(level)))[tree.places]
        told = tears(store, number, level)
        assert len(told) == tree.size(level)
        for cluster, each in enumerate(told):
            own = owner == cluster
            assert each["links"] == own.sum() * K and each["far"] == far[own].sum()
            to = Counter(owner[ids[own]][far[own]].tolist())
            widest = each["to"]
            assert isinstance(widest, list) and dict(widest).items() <= to.items()
            assert [n for _, n in widest] == sorted(to.values(), reverse=True)[:8]
            bundles = np.reshape(each["bundles"], (-1, 5))
            assert bundles[:, 4].sum() <= far[own].sum() and len(bundles) <= 40
            if len(bundles) < 40:
                assert bundles[:, 4].sum() == far[own].sum()
            n_all += len(bundles)
            places = positions[own] - (low + high) / 2
            room = 1e-3 * np.abs(places).max()
            inside = (bundles[:, :2] >= places.min(axis=0) - room) & (
                bundles[:, :2] <= places.max(axis=0) + room
            )
            assert inside.all()  # bundles begin where the cluster is
    assert n_all


def test_rows_at_one_place_are_counted(store: MapStore) -> None:
    tree = TreeOrder.of(fitted().hierarchy_)
    embedding = fitted().embedding_
    _, group, counts = np.unique(embedding, axis=0, return_inverse=True, return_counts=True)
    own, other = store.meta["maps"]
    assert own["copies"] == [0] and other["copies"] == []
    found = np.frombuffer(store.read("m0/copies/0.bin"), "<u4")
    np.testing.assert_array_equal(found, counts[group.reshape(-1)][tree.rows])
    assert found[tree.places[7]] == found[tree.places[500]] == 61  # a row and its sixty copies


def test_without_neighbours_nothing_is_torn(tmp_path: Path) -> None:
    folder = write_store(tmp_path / "store", HNNE().fit(digits()[:200]))
    assert MapStore(folder).meta["maps"][0]["tear_levels"] == []


def test_clusters_in_several_places_are_told_on_levels_without_names(tmp_path: Path) -> None:
    model = HNNE().fit(digits())
    many = {f"c{i}": np.arange(len(digits())) % 3 for i in range(2000)}
    store = MapStore(write_store(tmp_path / "store", model, metadata=many))
    split = [k for k, level in enumerate(model.summary()) if level.n_split]
    assert set(split) - set(store.meta["named_levels"])
    assert store.meta["maps"][0]["piece_levels"] == split
