"""The explorer's store, read back by hand as docs/use/explorer.md describes it."""

from __future__ import annotations

import gzip
import io
import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import digits
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image
from sklearn.datasets import load_digits

from nestmap import HNNE
from nestmap.core.progress import Progress
from nestmap.method.hierarchy.tree import Hierarchy, Level
from nestmap.method.hierarchy.typical import find_extremes, find_typical
from nestmap.method.neighbors.metric import EUCLIDEAN
from nestmap.views.explore.content import as_cells, check_content
from nestmap.views.explore.map_store import MapStore
from nestmap.views.explore.order import ROWS, TreeOrder
from nestmap.views.explore.panels import count_some, feature_columns, named_levels
from nestmap.views.explore.store import write_store
from nestmap.views.explore.trust import measure_trust

N = 600
X, Y = digits()[:N], load_digits().target[:N]
RNG = np.random.default_rng(0)


@cache
def fitted(n: int = N, layout: str = "islands") -> HNNE:
    return HNNE(layout=layout).fit(X[:n])


class Files:
    """Files of a store, unpacked."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.meta = self.json("meta.json")

    def bytes(self, name: str) -> bytes:
        return gzip.decompress((self.folder / f"{name}.gz").read_bytes())

    def json(self, name: str) -> Any:
        return json.loads(self.bytes(name))

    def level(self, level: str, number: int = 0) -> dict[str, np.ndarray]:
        """All tiles of a level, put together; places with their origins."""
        tiles = self.meta["maps"][number]["tiles"][level]
        names = (
            ("x", "y", "row", "parent")
            if level == "rows"
            else ("x", "y", "radius", "size", "first_row", "children", "parent", "cluster")
        )
        parts: dict[str, list[np.ndarray]] = {name: [] for name in names}
        for t, (begin, end) in enumerate(zip(tiles["begin"], tiles["end"], strict=True)):
            data, at = self.bytes(f"m{number}/{level}/{t}.bin"), 0
            for name in names:
                n = end - begin + (name == "children")
                kind = "<f4" if name in ("x", "y", "radius") else "<u4"
                values = np.frombuffer(data, kind, n, at)
                at += 4 * n
                if name in "xy":
                    values = values.astype(np.float64) + tiles["origin"][t]["xy".index(name)]
                parts[name].append(
                    values[:-1] if name == "children" and end < tiles["end"][-1] else values
                )
            assert at == len(data)
        return {name: np.concatenate(values) for name, values in parts.items()}

    def colors(self, key: str, level: str, kind: str) -> np.ndarray:
        n = len(self.meta["maps"][0]["tiles"][level]["begin"])
        return np.concatenate(
            [np.frombuffer(self.bytes(f"colors/{key}/{level}/{t}.bin"), kind) for t in range(n)]
        )


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Files:
    """A store with everything in it."""
    trust = measure_trust(X, fitted().embedding_)
    ink = X.sum(axis=1).astype(np.float64)
    ink[::50] = np.nan
    words = np.array(["even", "odd", None], dtype=object)
    folder = write_store(
        tmp_path_factory.mktemp("store") / "all",
        fitted(),
        X,
        names=[f"no {i}" for i in range(N)],
        metadata={"digit": Y, "ink": ink, "word": words[np.where(Y == 0, 2, Y % 2)]},
        texts=[f"the digit {y} as it was written" for y in Y],
        quality=trust.scores,
        neighbors=trust.neighbors,
        images=X.reshape(-1, 8, 8),
        compare={"mosaic": fitted(layout="mosaic"), "plain": X[:, 20:22]},
        title="digits",
    )
    return Files(folder)


def test_rows_come_back_where_the_model_has_them(files: Files) -> None:
    maps = [fitted().embedding_, fitted(layout="mosaic").embedding_, X[:, 20:22]]
    assert [each["name"] for each in files.meta["maps"]] == ["islands", "mosaic", "plain"]
    assert [each["layout"] for each in files.meta["maps"]] == ["islands", "mosaic", "points"]
    for number, positions in enumerate(maps):
        rows = files.level("rows", number)
        assert sorted(rows["row"]) == list(range(N))
        width = np.ptp(positions, axis=0).max()
        np.testing.assert_allclose(
            np.stack([rows["x"], rows["y"]], 1), positions[rows["row"]], atol=1e-7 * width
        )
        box = files.meta["maps"][number]["bounds"]
        assert box == [*positions.min(axis=0).tolist(), *positions.max(axis=0).tolist()]


def test_the_tree_comes_back(files: Files) -> None:
    tree, rows = fitted().hierarchy_, files.level("rows")
    assert files.meta["n_rows"] == N and files.meta["label_level"] == fitted().label_level_
    assert [level["n_nodes"] for level in files.meta["levels"]] == list(tree.level_sizes)
    for k in range(tree.n_levels):
        nodes, labels = files.level(str(k)), tree.labels(k)[rows["row"]]
        assert sorted(nodes["cluster"]) == list(range(tree.level_sizes[k]))
        assert (nodes["size"] == tree.levels[k].sizes[nodes["cluster"]]).all()
        own = np.repeat(nodes["cluster"], nodes["size"])
        assert (own == labels).all()  # rows below a node are contiguous
        assert (nodes["first_row"] == np.cumsum(nodes["size"]) - nodes["size"]).all()
        below = rows if k == 0 else files.level(str(k - 1))
        assert (
            np.repeat(np.arange(len(nodes["size"])), np.diff(nodes["children"])) == below["parent"]
        ).all()
        is_top = k == tree.n_levels - 1
        assert (nodes["parent"] == 0xFFFFFFFF).all() == is_top
        if not is_top:
            above = files.level(str(k + 1))["cluster"]
            assert (above[nodes["parent"]] == tree.levels[k + 1].members[nodes["cluster"]]).all()


def test_siblings_come_by_size(files: Files) -> None:
    for k in range(fitted().hierarchy_.n_levels):
        nodes = files.level(str(k))
        same = nodes["parent"][1:] == nodes["parent"][:-1]
        assert (nodes["size"][1:] <= nodes["size"][:-1])[same].all()


def test_centres_and_radii(files: Files) -> None:
    rows, tree = files.level("rows"), fitted().hierarchy_
    positions = fitted().embedding_[rows["row"]]
    for k in range(tree.n_levels):
        nodes = files.level(str(k))
        for i in range(0, len(nodes["size"]), 7):
            own = positions[nodes["first_row"][i] : nodes["first_row"][i] + nodes["size"][i]]
            np.testing.assert_allclose([nodes["x"][i], nodes["y"][i]], own.mean(axis=0), atol=1e-5)
            away = np.sort(np.hypot(*(own - own.mean(axis=0)).T))
            expected = away[int(np.ceil(0.9 * len(own))) - 1]
            assert nodes["radius"][i] == pytest.approx(expected, rel=1e-5, abs=1e-6)


def test_colours_of_rows_and_nodes(files: Files) -> None:
    rows, tree = files.level("rows")["row"], fitted().hierarchy_
    digit, ink, word, *quality = files.meta["columns"]
    assert (digit["name"], digit["kind"], digit["categories"]) == (
        "digit",
        "category",
        [str(i) for i in range(10)],
    )
    assert digit["counts"] == np.bincount(Y).tolist()
    assert (files.colors(digit["key"], "rows", "u1") == Y[rows]).all()
    values = files.colors(ink["key"], "rows", "<f4")
    assert ink["missing"] == np.isnan(values).sum() == 12
    assert ((files.colors(word["key"], "rows", "u1") == 255) == (Y[rows] == 0)).all()
    scores = ["neighbourhood recall", "trustworthiness", "membership"]
    assert [each["name"] for each in quality] == scores
    shares = files.colors("m0", "rows", "<f4")
    assert (shares == tree.membership(fitted().label_level_)[rows]).all()
    assert all(
        each["quality"] and 0 <= each["min"] <= each["low"] < each["high"] <= each["max"] <= 1
        for each in quality
    )
    known = np.sort(values[~np.isnan(values)])
    assert [ink["min"], ink["low"], ink["high"], ink["max"]] == known[[0, 5, -6, -1]].tolist()
    for k in range(tree.n_levels):
        labels = tree.labels(k)[rows]
        nodes = files.level(str(k))["cluster"]
        modes, means = (
            files.colors(digit["key"], str(k), "u1"),
            files.colors(ink["key"], str(k), "<f4"),
        )
        for i, node in enumerate(nodes):
            counts = np.bincount(Y[rows][labels == node], minlength=10)
            assert counts[modes[i]] == counts.max()
            own = values[labels == node]
            if np.isnan(own).all():
                assert np.isnan(means[i])
            else:
                assert means[i] == pytest.approx(np.nanmean(own), rel=1e-5)


def test_names_and_panels(files: Files) -> None:
    tree, rows = fitted().hierarchy_, files.level("rows")["row"]
    assert files.meta["named_levels"] == list(range(tree.n_levels))
    for k in range(tree.n_levels):
        names, clusters = files.json(f"names/{k}.json"), files.level(str(k))["cluster"]
        assert len(set(names)) == len(names) == tree.level_sizes[k]
        panels = [
            panel
            for c in range(-(-len(names) // 256))
            for panel in files.json(f"panels/{k}/{c}.json")
        ]
        assert [panel["name"] for panel in panels] == names
        typical, odd = find_extremes(tree, k, X, 6)
        for panel, cluster in zip(panels, clusters, strict=True):
            assert [rows[i] for i, _ in panel["typical"]] == typical[cluster].tolist()
            assert [rows[i] for i, _ in panel["odd"]] == odd[cluster].tolist()
            assert all(text == f"no {rows[i]}" for i, text in panel["typical"] + panel["odd"])
            assert panel["size"] == tree.levels[k].sizes[cluster]


def panels_of(folder: Path, level: int) -> list[dict[str, Any]]:
    store = Files(folder)
    n = len(store.json(f"names/{level}.json"))
    return [p for c in range(-(-n // 256)) for p in store.json(f"panels/{level}/{c}.json")]


def test_panels_say_what_makes_a_name_true(tmp_path: Path) -> None:
    model = fitted()
    top = model.hierarchy_.n_levels - 1
    metadata = {"digit": [f"d{y}" for y in Y]}
    told = model.describe([top], metadata=metadata)
    expected = {each.name: [t.evidence for t in each.evidence] for each in told[top]}
    assert any("% (" in line for lines in expected.values() for line in lines)
    names = {top: [each.name for each in told[top]]}
    whys = {top: ["\n".join(expected[name]) for name in names[top]]}
    ways: list[dict[str, Any]] = [
        {"metadata": metadata},
        {"cluster_names": told},
        {"cluster_names": names, "cluster_whys": whys},
    ]
    for i, content in enumerate(ways):
        write_store(tmp_path / str(i), model, **content)
        found = {p["name"]: p["why"] for p in panels_of(tmp_path / str(i), top)}
        assert found == expected
    write_store(
        tmp_path / "own",
        model,
        metadata=metadata,
        cluster_names={top: [*"abcdefghijklmnopq"][: len(names[top])]},
    )
    assert not any(p["why"] for p in panels_of(tmp_path / "own", top))


def test_typical_and_odd_rows_are_different_ones_at_the_two_ends() -> None:
    tree = fitted().hierarchy_
    level = tree.levels[-1]
    typical, odd = find_extremes(tree, tree.n_levels - 1, X, 4)
    for node in range(level.n_nodes):
        away = np.linalg.norm(X - level.centroids[node], axis=1)
        assert not {*typical[node]} & {*odd[node]}
        own = tree.members(-1, node)
        assert away[typical[node]].max() <= away[np.setdiff1d(own, typical[node])].min() + 1e-4
        assert away[odd[node]].min() >= np.sort(away[own])[::-1][: len(odd[node])].min() - 1e-4
    assert [a.tolist() for a in find_typical(tree, 1, X, 4)] == [
        a.tolist() for a in find_extremes(tree, 1, X, 4)[0]
    ]


def test_values_neighbours_pictures_and_search(files: Files) -> None:
    rows = files.level("rows")["row"]
    assert files.meta["fields"] == ["row", "name", "text", "digit", "ink", "word"]
    values = files.json("rows/0.json")
    assert len(values) == N and [row[0] for row in values] == rows.tolist()
    assert values[5][:4] == [
        int(rows[5]),
        f"no {rows[5]}",
        f"the digit {Y[rows[5]]} as it was written",
        int(Y[rows[5]]),
    ]
    assert [row[4] is None for row in values] == [row % 50 == 0 for row in rows]
    trust = measure_trust(X, fitted().embedding_)
    neighbors = np.frombuffer(files.bytes("neighbors/0.bin"), "<u4").reshape(
        N, files.meta["neighbors"]
    )
    assert (rows[neighbors] == trust.neighbors[rows]).all()
    sheet = np.asarray(Image.open(io.BytesIO(files.bytes("images/0.png"))))
    assert sheet.shape == (8 * 19, 8 * 32) and files.meta["images"] == {"width": 8, "height": 8}
    one = sheet[8 * (77 // 32) :, 8 * (77 % 32) :][:8, :8]
    assert (one == np.rint(X[rows[77]].reshape(8, 8) * 255 / X.max())).all()
    places = np.frombuffer(files.bytes("places/0.bin"), "<u4")
    assert (rows[places] == np.arange(N)).all()
    assert files.meta["searchable"] and files.json("search/0.json")[5].startswith(
        f"no {rows[5]} the digit"
    )


def read_outlines(files: Files, level: int, number: int = 0) -> list[list[np.ndarray]]:
    """Rings of each node in tree order, where the map has them."""
    data = files.bytes(f"m{number}/outlines/{level}.bin")
    n = int(np.frombuffer(data, "<u4", 1)[0])
    rings = np.frombuffer(data, "<u4", n, 4)
    counts = np.frombuffer(data, "<u4", int(rings.sum()), 4 + 4 * n)
    points = np.frombuffer(data, "<f4", -1, 4 + 4 * n + 4 * len(counts)).reshape(-1, 2)
    assert len(points) == counts.sum()
    x0, y0, x1, y1 = files.meta["maps"][number]["bounds"]
    middle = np.array([x0 + x1, y0 + y1]) / 2
    each = np.split(points + middle, np.cumsum(counts)[:-1])
    ends = np.cumsum(rings)
    return [each[end - own : end] for end, own in zip(ends, rings, strict=True)]


def test_outlines(files: Files) -> None:
    tree = fitted().hierarchy_
    for k in files.meta["outlined_levels"]:
        assert len(read_outlines(files, k)) == tree.level_sizes[k]
    top = fitted().layout_.outlines(-1)
    clusters = files.level(str(k))["cluster"].tolist()
    for own, cluster in zip(read_outlines(files, k), clusters, strict=True):
        assert len(own) == len(top[cluster])
        np.testing.assert_allclose(np.concatenate(own), np.concatenate(top[cluster]), atol=1e-4)


@pytest.mark.parametrize("number", [0, 1, 2])
def test_outlines_of_every_map_hold_the_rows_of_their_clusters(files: Files, number: int) -> None:
    from matplotlib.path import Path as Ring

    k = files.meta["outlined_levels"][-1]
    rows, level = files.level("rows", number), files.level(str(k), number)
    places, inside = np.stack([rows["x"], rows["y"]], axis=1), 0
    for first, size, rings in zip(
        level["first_row"], level["size"], read_outlines(files, k, number), strict=True
    ):
        hits = sum(
            Ring(ring).contains_points(places[first : first + size]).astype(int) for ring in rings
        )
        inside += int((np.asarray(hits) % 2 == 1).sum())
    assert (
        inside > (0.9 if number < 2 else 0.15) * N
    )  # two pixels of the digits tell no clusters apart


def test_regions_of_another_tree_are_not_ours(tmp_path: Path) -> None:
    mosaic, other = fitted(layout="mosaic"), HNNE(layout="mosaic").fit(X[::-1])
    assert mosaic.hierarchy_ is not fitted().hierarchy_
    files = Files(
        write_store(tmp_path / "a", fitted(), compare={"same tree": mosaic, "other tree": other})
    )
    k = files.meta["outlined_levels"][-1]
    clusters = files.level(str(k))["cluster"].tolist()
    regions = mosaic.layout_.outlines(k)
    for rings, cluster in zip(read_outlines(files, k, 1), clusters, strict=True):
        np.testing.assert_allclose(rings[0], regions[cluster], atol=1e-5)
    assert len(read_outlines(files, k, 2)) == len(clusters)


def test_another_value_in_any_file_gives_another_store(tmp_path: Path) -> None:
    names = [f"no {i}" for i in range(N)]
    stores = [
        MapStore(write_store(tmp_path / str(i), fitted(), names=given))
        for i, given in enumerate((names, names, [*names[:-1], "other"]))
    ]
    assert stores[0].id == stores[1].id != stores[2].id


def test_the_same_bytes_each_time_and_for_any_number_of_threads(tmp_path: Path) -> None:
    for name, n_jobs in (("a", 1), ("b", 3)):
        write_store(
            tmp_path / name,
            fitted(),
            names=[str(i) for i in range(N)],
            metadata={"y": Y},
            n_jobs=n_jobs,
        )
    first = sorted(path.relative_to(tmp_path / "a") for path in (tmp_path / "a").rglob("*.gz"))
    assert first == sorted(
        path.relative_to(tmp_path / "b") for path in (tmp_path / "b").rglob("*.gz")
    )
    assert len(first) > 20
    assert all(
        (tmp_path / "a" / path).read_bytes() == (tmp_path / "b" / path).read_bytes()
        for path in first
    )


# -- tiles
# ---------------------------------------------------------------------------------------------------


def random_tree(rng: np.random.Generator, n_rows: int, n_levels: int) -> Hierarchy:
    levels, below = [], np.ones(n_rows, dtype=np.int64)
    for _ in range(n_levels):
        n = max(1, int(len(below) / rng.uniform(1, 4)))
        members = np.concatenate(
            [np.arange(n), (n * rng.random(len(below) - n) ** 3).astype(np.int64)]
        )
        rng.shuffle(members)
        below = np.bincount(members, below, n).astype(np.int64)
        levels.append(Level(np.zeros((n, 1)), below, members, 1.0, 1.0))
    return Hierarchy(tuple(levels), EUCLIDEAN)


@given(st.integers(0, 10**6), st.integers(1, 400), st.integers(1, 6), st.integers(1, 40))
def test_tiles_hold_every_item_once_and_are_cut_at_the_highest_ancestors(
    seed: int, n_rows: int, n_levels: int, most: int
) -> None:
    tree = TreeOrder.of(hierarchy := random_tree(np.random.default_rng(seed), n_rows, n_levels))
    assert sorted(tree.rows) == list(range(n_rows))
    for level in range(ROWS, n_levels):
        cuts = tree.tiles(level, most)
        assert cuts[0] == 0 and cuts[-1] == tree.size(level)
        assert (np.diff(cuts) > 0).all() and (np.diff(cuts) <= most).all()
        for k in range(level + 1, n_levels):  # a node that fits is not cut
            starts = tree.starts(k, level)
            inside = np.searchsorted(cuts, starts[:-1], side="right") < np.searchsorted(
                cuts, starts[1:], side="left"
            )
            sizes = np.diff(starts)
            assert not (inside & (sizes <= most)).any()
            assert (hierarchy.levels[k].sizes[tree.clusters[k]] == np.diff(tree.starts(k))).all()
        # neighbouring tiles of the same parent would not fit into one
        if level + 1 < n_levels:
            parents = tree.parents(level)
            joint = parents[cuts[1:-1] - 1] == parents[cuts[1:-1]]
            assert ((cuts[2:] - cuts[:-2]) > most)[joint].all() or most == 1


def test_a_large_store_has_tiles_with_boxes_of_all_their_rows(tmp_path: Path) -> None:
    n = 20_000
    points = (
        np.random.default_rng(1).normal(size=(n, 2)) * 1e-6 + 1000
    )  # far from the origin: float32 would not do
    model = HNNE(layout="descent").fit(points)
    files = Files(write_store(tmp_path / "s", model))
    tiles, rows = files.meta["maps"][0]["tiles"]["rows"], files.level("rows")
    assert len(tiles["begin"]) > 2 and sorted(rows["row"]) == list(range(n))
    sizes = np.subtract(tiles["end"], tiles["begin"])
    assert sizes.max() <= 8192
    own = model.embedding_[rows["row"]]
    for t, (x0, y0, x1, y1) in enumerate(tiles["box"]):
        inside = own[tiles["begin"][t] : tiles["end"][t]]
        assert [*inside.min(axis=0), *inside.max(axis=0)] == [x0, y0, x1, y1]
        found = np.stack([rows["x"], rows["y"]], 1)[tiles["begin"][t] : tiles["end"][t]]
        assert np.abs(found - inside).max() <= 1e-7 * max(x1 - x0, y1 - y0) + 1e-12
    nodes = files.level("0")
    for t, (begin, end) in enumerate(
        zip(*(files.meta["maps"][0]["tiles"]["0"][w] for w in ("begin", "end")), strict=True)
    ):
        first = nodes["first_row"][begin]
        below = own[first : first + nodes["size"][begin:end].sum()]
        assert files.meta["maps"][0]["tiles"]["0"]["box"][t] == [
            *below.min(axis=0),
            *below.max(axis=0),
        ]


def test_equal_rows_are_cut_into_tiles_too(tmp_path: Path) -> None:
    model = HNNE(layout="descent").fit(np.repeat([[0.0, 0], [1, 1], [5, 5]], 6000, axis=0))
    files = Files(write_store(tmp_path / "s", model))
    assert sorted(files.level("rows")["row"]) == list(range(18_000))


@pytest.mark.parametrize("n", [1, 2, 3, 5])
def test_tiny_maps(tmp_path: Path, n: int) -> None:
    files = Files(write_store(tmp_path / "s", HNNE().fit(X[:n]), X[:n]))
    assert files.meta["n_rows"] == n and sorted(files.level("rows")["row"]) == list(range(n))


# -- hostile values
# ------------------------------------------------------------------------------------------

HOSTILE = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "</script>",
    "\x00\x01\x1b[31m\u202e",
    "\ud800 lone",
    "x" * 1_000_000,
    "",
    "NaN",
    "__proto__",
    "'; DROP TABLE rows; --",
    "🦜" * 400,
    "\u2028\r\n",
]


def test_hostile_values_become_short_texts(tmp_path: Path) -> None:
    values = np.array([HOSTILE[i % len(HOSTILE)] for i in range(N)], dtype=object)
    mixed = np.array(
        [None, float("nan"), 10**30, b"\xff\xfe", float("inf"), 3, True, "x" * 1_000_000],
        dtype=object,
    )
    metadata = {
        "<b>column</b>": values,
        "mixed": mixed[np.arange(N) % 8],
        "x" * 10_000: np.arange(N) % 3,
        "infinite": np.array([np.inf, -np.inf, np.nan, 1e300, -1e300, 0])[np.arange(N) % 6],
        "when": np.array(["2020-01-01", "NaT"], dtype="datetime64[s]")[np.arange(N) % 2],
        "row": np.arange(N) * 2**50,
    }
    files = Files(
        write_store(
            tmp_path / "s",
            fitted(),
            names=values,
            texts=list(values),
            metadata=metadata,
            title="\ud800",
        )
    )
    assert max(path.stat().st_size for path in files.folder.rglob("*.gz")) < 400_000
    shown = files.json("rows/0.json")
    assert max(len(cell) for row in shown for cell in row if isinstance(cell, str)) == 300
    assert files.meta["fields"][-1] == "row_" and len(files.meta["fields"]) == len(
        {*files.meta["fields"]}
    )
    by_row = {row[0]: row for row in shown}
    assert (
        by_row[0][1] == "<script>alert(1)</script>" and by_row[4][1] == "\ud800 lone"
    )  # texts stay texts
    mixed_at = files.meta["fields"].index("mixed")
    assert [by_row[i][mixed_at] for i in range(7)] == [
        None,
        None,
        str(10**30),
        "\ufffd\ufffd",
        "inf",
        3,
        True,
    ]
    assert [by_row[i][mixed_at + 2] for i in range(4)] == ["inf", "-inf", None, 1e300]
    assert [by_row[i][mixed_at + 3] for i in range(2)] == ["2020-01-01T00:00:00", None]
    assert by_row[9][mixed_at + 4] == str(9 * 2**50)
    for k in files.meta["named_levels"]:
        assert max(map(len, files.json(f"names/{k}.json"))) <= 60
    assert all(len(column["name"]) <= 100 for column in files.meta["columns"])
    MapStore(files.folder)


def test_texts_without_words_name_nothing(tmp_path: Path) -> None:
    files = Files(write_store(tmp_path / "s", fitted(), texts=["the and of"] * N))
    assert files.json("names/0.json")[0].startswith("cluster ")


def test_words_of_very_many_texts_are_counted_in_some_of_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("nestmap.views.explore.panels._MAX_TEXTS_COUNTED", 3)
    counted = count_some([f"word{i}" for i in range(9)], Progress(0))
    assert (
        counted is not None
        and list(counted.words) == ["word0", "word3", "word6"]
        and len(counted) == 9
    )


def test_many_categories_are_counted_as_others(tmp_path: Path) -> None:
    column = np.minimum(np.arange(N) // 2, 280).astype(str)  # 281 kinds, the last of 40 rows
    files = Files(write_store(tmp_path / "s", fitted(), metadata={"kind": column}))
    record = files.meta["columns"][0]
    assert (
        len(record["categories"]) == len(record["counts"]) == 255
        and record["categories"][-1] == "(other)"
    )
    assert sum(record["counts"]) == N and record["counts"][record["categories"].index("280")] == 40
    codes = files.colors(record["key"], "rows", "u1")
    rows = files.level("rows")["row"]
    assert (codes == 254).sum() == record["counts"][-1] == 54
    assert all(
        record["categories"][c] in (column[row], "(other)")
        for c, row in zip(codes, rows, strict=True)
    )


def test_numbers_of_any_kind_are_cells() -> None:
    assert as_cells(np.array([1.5, 2.0])) == [1.5, 2.0]
    assert as_cells(np.array([True, False])) == [True, False]
    assert as_cells(np.array([2**60, 3], dtype=np.uint64)) == [str(2**60), 3]
    assert as_cells(np.array([b"a", b"\xff"])) == ["a", "\ufffd"]
    assert as_cells(np.array([1.5, np.nan, np.inf])) == [1.5, None, "inf"]


def test_missing_values_of_pandas_are_missing() -> None:
    pandas = pytest.importorskip("pandas")
    texts = pandas.Series(["a", None, "b"], dtype="string")
    numbers = pandas.Series([1, None, 3], dtype="Int64")
    found = check_content(3, metadata={"kind": texts, "n": numbers}, texts=texts, names=texts)
    assert found.texts == found.names == ["a", "", "b"]
    assert [as_cells(each) for each in found.values.values()] == [["a", None, "b"], [1, None, 3]]


# -- names of clusters, bad input
# --------------------------------------------------------------------------------


def test_names_by_a_column_a_function_or_a_list(tmp_path: Path) -> None:
    tree = fitted().hierarchy_
    top = tree.n_levels - 1
    n = tree.level_sizes[top]
    given = {-1: [f"given {i}" for i in range(n)]}
    for i, (names, expected) in enumerate(
        [
            (
                lambda level, cluster, rows: f"{level}/{cluster}/{len(rows)}",
                [f"{top}/{c}/{s}" for c, s in enumerate(tree.levels[top].sizes)],
            ),
            (given, given[-1]),
        ]
    ):
        files = Files(write_store(tmp_path / str(i), fitted(), cluster_names=names))
        assert files.json(f"names/{top}.json") == [
            expected[c] for c in files.level(str(top))["cluster"]
        ]
    files = Files(
        write_store(tmp_path / "column", fitted(), metadata={"digit": Y}, cluster_names="digit")
    )
    for cluster, name in zip(
        files.level(str(top))["cluster"], files.json(f"names/{top}.json"), strict=True
    ):
        counts = np.bincount(Y[tree.members(top, cluster)], minlength=10)
        assert counts[int(name.split(" ")[0])] == counts.max()


def test_columns_of_the_training_rows_are_described_unless_there_are_very_many(
    tmp_path: Path,
) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X[:, 20:24], columns=["a", "b", "c", "d"])
    model = HNNE().fit(frame)
    for data in (frame, frame.to_numpy()):  # the model knows the names
        files = Files(write_store(tmp_path / "s", model, data))
        traits = [trait for panel in files.json("panels/0/0.json") for trait in panel["traits"]]
        assert any(trait.startswith(("a high", "a low")) for trait in traits)
    assert feature_columns(model, pandas.DataFrame(np.zeros((N, 101)))) == ()
    assert named_levels(model.hierarchy_, 2) == list(range(model.hierarchy_.n_levels))
    assert named_levels(model.hierarchy_, 600_000) == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"names": ["a"]}, "names: needs one for each of the 600 rows, got 1"),
        ({"texts": ["a"]}, "texts: needs one for each"),
        ({"metadata": {"a": [1]}}, "metadata: column 'a' needs one value for each"),
        ({"quality": np.zeros(3)}, "quality: 'quality' needs one score for each"),
        ({"neighbors": np.zeros((N, 2))}, "neighbors: needs row numbers"),
        ({"neighbors": np.full((N, 2), N)}, "neighbors: rows are 0 to 599, got 600"),
        ({"images": np.zeros((N, 3))}, "images: needs numbers of shape"),
        ({"images": np.zeros((N, 300, 2))}, "images: up to 256 x 256"),
        ({"cluster_names": "digit"}, "cluster_names='digit': no column"),
        ({"cluster_names": {-1: ["a"]}}, "clusters, got 1 names"),
        ({"cluster_names": 3}, "cluster_names: a column of metadata"),
        ({"compare": {"b": np.zeros((N, 3))}}, "map 'b': the explorer shows 600 rows in 2-D"),
        ({"compare": {"b": np.full((N, 2), np.nan)}}, "map 'b': has positions that are NaN"),
        ({"compare": 7}, "compare: a dict"),
    ],
)
def test_what_does_not_fit_is_refused_before_anything_is_written(
    tmp_path: Path, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message.replace("(", r"\(")):
        write_store(tmp_path / "s", fitted(), **options)
    assert not list(tmp_path.iterdir())


def test_maps_in_4d_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"relayout\(n_components=2\)"):
        write_store(tmp_path / "s", fitted().relayout(n_components=4, layout="descent"))


def test_a_store_that_fails_leaves_the_old_one(tmp_path: Path) -> None:
    write_store(tmp_path / "s", fitted(), title="old")

    def fail(level: int, cluster: int, rows: Any) -> str:
        raise RuntimeError("no name")

    with pytest.raises(RuntimeError, match="no name"):
        write_store(tmp_path / "s", fitted(), cluster_names=fail)
    assert [path.name for path in tmp_path.iterdir()] == ["s"]
    assert Files(tmp_path / "s").meta["title"] == "old"


def test_a_folder_that_is_no_store_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("all my work")
    for folder in (tmp_path, tmp_path / "thesis.txt"):
        with pytest.raises(FileExistsError, match="is not replaced"):
            write_store(folder, fitted())
    assert (tmp_path / "thesis.txt").read_text() == "all my work"
    (tmp_path / "empty").mkdir()
    assert Files(write_store(tmp_path / "empty", fitted())).meta["n_rows"] == N


def test_metadata_as_a_frame_a_record_array_or_one_column() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": [1, 2], "b": ["x", None]})
    assert [c.name for c in check_content(2, metadata=frame).columns] == ["a", "b"]
    records = np.array([(1, 2.0)], dtype=[("a", "i4"), ("b", "f8")])
    assert [c.name for c in check_content(1, metadata=records).columns] == ["a", "b"]
    assert check_content(2, metadata=frame["b"]).fields == ["row", "b"]
    assert check_content(2, metadata=[1, 2]).fields == ["row", "value"]


def test_columns_whose_names_clash_are_all_there() -> None:
    given = {"name": [0, 1], "name_": [2, 3], "row": [4, 5], "text": [6, 7]}
    both = check_content(2, names=["a", "b"], metadata=given)
    assert both.fields == ["row", "name", "name__", "name_", "row_", "text"]
    assert [c.name for c in both.columns] == [
        "name",
        "name_",
        "row",
        "text",
    ]  # cluster_names="row" finds its column
    long = "x" * 200
    alike = check_content(
        2, metadata={1: [0, 1], "1": [2, 3], "1_": [4, 5], long: [6, 7], long + "y": [8, 9]}
    )
    assert alike.fields == ["row", "1", "1__", "1_", f"{'x' * 99}…", f"{'x' * 99}…_"]
    assert [values.tolist() for values in alike.values.values()] == [
        [0, 1],
        [2, 3],
        [4, 5],
        [6, 7],
        [8, 9],
    ]
    assert [c.name for c in alike.columns] == alike.fields[1:]
    scores = check_content(2, quality={1: [0, 0], "1": [1, 1]}).quality
    assert {name: values.tolist() for name, values in scores.items()} == {"1": [0, 0], "1_": [1, 1]}


def test_columns_of_a_frame_with_the_same_name_are_all_there() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame([[0, "a"], [1, "b"]], columns=["both", "both"])
    found = check_content(2, metadata=frame)
    assert found.fields == ["row", "both", "both_"] and found.values["both_"].tolist() == ["a", "b"]


def test_trust_of_a_perfect_map_and_of_a_random_one() -> None:
    points = RNG.random((300, 2))
    good, bad = measure_trust(points, points), measure_trust(points, RNG.random((300, 2)))
    assert (
        good.scores["neighbourhood recall"].min() == 1 and good.scores["trustworthiness"].min() == 1
    )
    assert bad.scores["neighbourhood recall"].mean() < 0.2
    away = np.linalg.norm(points[:, None] - points[good.neighbors], axis=2)
    assert (np.diff(away, axis=1) >= 0).all()
    assert measure_trust(points[:1], points[:1]).scores == {}
