"""Questions about sets of rows: against the plain answer by NumPy over the user's own values."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nestmap import HNNE
from nestmap.views.explore.bins import count_bins, find_bins
from nestmap.views.explore.map_store import MapStore
from nestmap.views.explore.order import ROWS, TreeOrder
from nestmap.views.explore.query import RowQueries, RowsError, sets, sorting, summary
from nestmap.views.explore.query.bits import RowBits
from nestmap.views.explore.query.expressions import name_of, read_expression
from nestmap.views.explore.store import write_store

N = 1300
EVERY = {"kind": "all", "of": []}
NONE = {"kind": "any", "of": []}


@dataclass(frozen=True, eq=False)
class Oracle:
    """A store, and all of its values in tree order, from what was given to write it."""

    queries: RowQueries
    tree: TreeOrder
    values: dict[str, np.ndarray]  # float64, NaN: missing; codes of categories, 255: missing
    texts: list[str]

    def rows(self, given: dict[str, Any]) -> np.ndarray:
        """The set, one truth value per row, by definition."""
        match given:
            case {"kind": "all", "of": of}:
                return np.logical_and.reduce([np.ones(N, bool), *map(self.rows, of)])
            case {"kind": "any", "of": of}:
                return np.logical_or.reduce([np.zeros(N, bool), *map(self.rows, of)])
            case {"kind": "not", "of": of}:
                return ~self.rows(of)
            case {"kind": "range", "column": key, "low": low, "high": high}:
                return (self.values[key] >= low) & (self.values[key] <= high)
            case {"kind": "categories", "column": key, "codes": codes}:
                return np.isin(self.values[key], codes)
            case {"kind": "missing", "column": key}:
                own = self.values[key]
                return np.isnan(own) if own.dtype.kind == "f" else own == 255
            case {"kind": "cluster", "level": level, "index": index}:
                starts = self.tree.starts(level)
                places = np.arange(N)
                return (places >= starts[index]) & (places < starts[index + 1])
            case {"kind": "places", "ranges": ranges}:
                found = np.zeros(N, bool)
                for begin, end in ranges:
                    found[begin:end] = True
                return found
            case {"kind": "search", "query": query}:
                wanted = query.strip().lower()
                hits = np.array([bool(wanted) and wanted in text for text in self.texts])
                numbers = [str(row) == wanted for row in self.tree.rows.tolist()]
                return hits | np.array(numbers)
        raise AssertionError(given)


@pytest.fixture(name="oracle", scope="module")
def given_oracle(tmp_path_factory: pytest.TempPathFactory) -> Oracle:
    rng = np.random.default_rng(5)
    X = rng.normal(size=(N, 4)) + 6 * rng.integers(0, 5, (N, 1))
    model = HNNE().fit(X)
    height = np.round(rng.normal(size=N), 3)
    height[::9] = np.nan
    height[4] = np.inf
    kinds = np.array(["ant", "bee", "cow", None], dtype=object)[rng.integers(0, 4, N)]
    when = np.datetime64("1999-12-31T23:59:58") + rng.integers(0, 10**9, N)
    large = 2**53 - rng.integers(0, 5000, N)  # exact in double precision only
    many = [f"kind {i}" for i in rng.integers(0, 400, N)]
    metadata = {
        "height": height, "animal": kinds, "when": when, "large": large, "many": many,
        "whole": rng.integers(-5, 30, N), "sure": rng.random(N) < 0.2,
    }  # fmt: skip
    names = [f"row with {i}" for i in rng.permutation(N)]
    folder = tmp_path_factory.mktemp("rows") / "store"
    write_store(folder, model, names=names, metadata=metadata, quality={"score": rng.random(N)})
    tree = TreeOrder.of(model.hierarchy_)
    queries = RowQueries(MapStore(folder))
    by_name = {record["name"]: record for record in queries.columns}
    own: dict[str, np.ndarray] = {
        "height": np.where(np.isfinite(height), height, np.nan),
        "when": (when - np.datetime64(0, "s")).astype(float),
        "large": large.astype(float),
        "whole": metadata["whole"].astype(float),
        "membership": model.hierarchy_.membership(model.label_level_).astype(float),
    }
    for name in ("animal", "many", "sure"):
        codes = {category: i for i, category in enumerate(by_name[name]["categories"])}
        own[name] = np.array(
            [
                255 if value is None else codes.get(str(value), codes.get("(other)"))
                for value in np.asarray(metadata[name]).tolist()
            ],
            dtype=np.uint8,
        )
    values = {by_name[name]["key"]: array[tree.rows] for name, array in own.items()}
    texts = [
        " ".join(each for each in (names[i], kinds[i], many[i]) if each) for i in tree.rows.tolist()
    ]
    return Oracle(queries, tree, values, texts)


@pytest.fixture(autouse=True)
def given_small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Several blocks of few rows."""
    for module in (sets, sorting):
        monkeypatch.setattr(module, "ROWS_AT_ONCE", 256)
    monkeypatch.setattr("nestmap.views.explore.query.queries.ROWS_AT_ONCE", 320)


def key_of(oracle: Oracle, name: str) -> str:
    return next(r["key"] for r in oracle.queries.columns if r["name"] == name)


def leaves(oracle: Oracle) -> st.SearchStrategy[dict[str, Any]]:
    """Sets of one kind, with ends that are values of rows."""
    numbers = [key for key, own in oracle.values.items() if own.dtype.kind == "f"]
    others = [key for key, own in oracle.values.items() if own.dtype.kind != "f"]
    place = st.integers(0, N)
    row = st.integers(0, N - 1)

    def between(key: str, i: int, j: int) -> dict[str, Any]:
        ends = np.nan_to_num(oracle.values[key][[i, j]])
        return {"kind": "range", "column": key, "low": float(min(ends)), "high": float(max(ends))}

    def cluster(level: int, at: float) -> dict[str, Any]:
        index = int(at * (oracle.tree.size(level) - 1))
        return {"kind": "cluster", "level": level, "index": index}

    codes = st.lists(st.integers(0, 255), max_size=5)
    queries = st.sampled_from(["", "12", "ROW with 1", "bee", "kind 3", "nothing like it"])
    return st.one_of(
        st.builds(between, st.sampled_from(numbers), row, row),
        st.fixed_dictionaries(
            {"kind": st.just("categories"), "column": st.sampled_from(others), "codes": codes}
        ),
        st.fixed_dictionaries(
            {"kind": st.just("missing"), "column": st.sampled_from(sorted(oracle.values))}
        ),
        st.builds(cluster, st.integers(0, oracle.tree.n_levels - 1), st.floats(0, 1)),
        st.fixed_dictionaries(
            {
                "kind": st.just("places"),
                "ranges": st.lists(st.tuples(place, place).map(list), max_size=6),
            }
        ),
        st.fixed_dictionaries({"kind": st.just("search"), "query": queries}),
    )


@cache  # hypothesis needs the same strategy each time
def expressions(oracle: Oracle) -> st.SearchStrategy[dict[str, Any]]:
    def combined(inner: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[dict[str, Any]]:
        return st.one_of(
            st.fixed_dictionaries(
                {"kind": st.sampled_from(["all", "any"]), "of": st.lists(inner, max_size=3)}
            ),
            st.fixed_dictionaries({"kind": st.just("not"), "of": inner}),
        )

    leaf = leaves(oracle)
    some = st.one_of(leaf, combined(leaf))
    return st.one_of(some, combined(some))


def check(oracle: Oracle, given_set: dict[str, Any], draw: Callable[..., Any]) -> None:
    """All answers about one set."""
    queries = oracle.queries
    wanted = oracle.rows(given_set)
    places = np.flatnonzero(wanted)
    assert queries.count(given_set) == len(places)
    assert queries.places(given_set).tolist() == places.tolist()
    assert queries.rows_of(given_set).tolist() == sorted(oracle.tree.rows[places].tolist())

    level = draw(st.integers(ROWS, oracle.tree.n_levels - 1))
    begin = draw(st.integers(0, oracle.tree.size(level)))
    end = draw(st.integers(begin, oracle.tree.size(level)))
    below = np.concatenate([[0], np.cumsum(wanted)])[oracle.tree.starts(level)]
    marks = queries.marks(given_set, level, begin, end)
    assert marks.dtype == np.uint32 and marks.tolist() == np.diff(below)[begin:end].tolist()

    edges = np.flatnonzero(np.diff(np.concatenate([[0], wanted.astype(int), [0]])))
    ranges = edges.reshape(-1, 2).tolist()
    most = draw(st.integers(0, 12))
    found = queries.ranges(given_set, most)
    assert (None if found is None else found.tolist()) == (ranges if len(ranges) <= most else None)


@given(st.data())
@settings(
    max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_sets_are_what_they_say(oracle: Oracle, data: st.DataObject) -> None:
    check(oracle, data.draw(expressions(oracle)), data.draw)


@given(st.data())
@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_pages_are_windows_of_the_sorted_rows(oracle: Oracle, data: st.DataObject) -> None:
    given_set = data.draw(expressions(oracle))
    key = data.draw(st.sampled_from([None, "row", *sorted(oracle.values)]))
    descending = data.draw(st.booleans())
    offset = data.draw(st.integers(0, N + 10))
    limit = data.draw(st.integers(0, 700))
    places = np.flatnonzero(oracle.rows(given_set))
    page = oracle.queries.page(given_set, key, descending, offset, limit)
    assert page.total == len(places)
    if key is None:
        wanted = places[::-1] if descending else places
        assert page.places.tolist() == wanted[offset : offset + limit].tolist()
        return
    own = oracle.tree.rows if key == "row" else oracle.values[key]
    values = own[places].astype(float)
    values[values == 255] = np.nan if own.dtype == np.uint8 else 255
    order = np.argsort(values, kind="stable")
    n_known = int((~np.isnan(values)).sum())
    if descending:
        order[:n_known] = order[:n_known][::-1]
    got = values[np.searchsorted(places, page.places)]
    # categories beyond the 254 most common are one code here, and sorted by their names there
    if key != key_of(oracle, "many"):
        assert page.places.tolist() == places[order][offset : offset + limit].tolist()
    else:
        assert len(got) == len(order[offset : offset + limit])


@given(st.data())
@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_charts_count_every_row_once(oracle: Oracle, data: st.DataObject) -> None:
    given_set = data.draw(expressions(oracle))
    records = {record["key"]: record for record in oracle.queries.columns}
    keys = data.draw(st.lists(st.sampled_from(sorted(oracle.values)), max_size=5))
    rows = oracle.rows(given_set)
    answer = oracle.queries.charts(given_set, keys)
    assert answer["count"] == rows.sum()
    assert [chart["column"] for chart in answer["charts"]] == keys
    for chart in answer["charts"]:
        record = records[chart["column"]]
        own = oracle.values[chart["column"]][rows]
        bins = own if own.dtype == np.uint8 else find_bins(own, record)
        n_bins = count_bins(record)
        counts = np.bincount(bins, minlength=256)
        assert chart["counts"] == counts[:n_bins].tolist() and chart["missing"] == counts[255]
        assert counts[n_bins:255].sum() == 0


def test_bins_are_as_the_page_has_them() -> None:
    steps = {"kind": "number", "min": -1.0, "low": 0.0, "high": 4.8, "max": 9.0}
    values = np.array([-1.0, 0.0, 0.05, 0.1001, 4.79, 4.8, 9.0, np.nan])
    assert find_bins(values, steps).tolist() == [0, 0, 0, 1, 47, 47, 47, 255]
    edges = {"kind": "number", "min": -7.3, "low": -7.3, "high": 5.9, "max": 5.9}
    values = np.round(np.arange(-7.3, 5.95, 0.1), 1)
    step = (5.9 - -7.3) / 48  # of `binOf` in bins.ts
    page = [min(math.floor((value - -7.3) / step), 47) for value in values.tolist()]
    assert find_bins(values, edges).tolist() == page
    whole = {"kind": "number", "min": -7.0, "low": -4.0, "high": 4.0, "max": 8.0}
    assert count_bins(whole) == 9
    assert find_bins(np.array([-7.0, -4, -3.5, 0, 4, 8]), whole).tolist() == [0, 0, 1, 4, 8, 8]
    assert count_bins({**whole, "quality": True}) == 48
    constant = {"kind": "number", "min": 2.0, "low": 2.0, "high": 2.0, "max": 2.0}
    assert find_bins(np.array([2.0, 2.0]), constant).tolist() == [0, 0]


def test_values_are_exact(oracle: Oracle) -> None:
    """Whole numbers and dates are compared as they were given, not as single precision."""
    key = key_of(oracle, "large")
    largest = oracle.values[key].max()
    for value in (largest, largest - 1):
        exact = {"kind": "range", "column": key, "low": value, "high": value}
        assert oracle.queries.count(exact) == (oracle.values[key] == value).sum()
    record = next(r for r in oracle.queries.columns if r["key"] == key)
    assert record["dtype"] == "f8" and record["max"] == largest
    rows = np.array([N - 1, 0, 17, 17])
    assert np.array_equal(oracle.queries.values(key, rows), oracle.values[key][rows])
    assert oracle.queries.row_numbers(rows).tolist() == oracle.tree.rows[rows].tolist()
    assert oracle.queries.places_of(oracle.tree.rows[rows]).tolist() == rows.tolist()


def test_what_a_set_is(oracle: Oracle) -> None:
    """A cluster's summary tells its clusters and rows of it; rows that are alike have traits."""
    queries = oracle.queries
    level = queries.store.meta["label_level"]
    cluster = {"kind": "cluster", "level": level, "index": 0}
    told = queries.summary(cluster)
    assert told["clusters"] == [{"level": level, "index": 0, "count": queries.count(cluster)}]
    rows = queries.places(cluster).tolist()
    assert told["typical"] and set(told["typical"]) <= set(rows) and set(told["odd"]) <= set(rows)
    bees = {"kind": "categories", "column": key_of(oracle, "animal"), "codes": [1]}
    assert queries.summary(bees)["traits"][0].startswith("animal=bee 100% (all 3")
    ants = {"kind": "categories", "column": key_of(oracle, "animal"), "codes": [0]}
    assert queries.summary(bees, ants)["traits"][0].startswith("animal=bee 100% (all 4")
    late = {"kind": "range", "column": key_of(oracle, "when"), "low": 1.8e9, "high": 1e12}
    assert queries.summary(late)["traits"][0].startswith("when late: 20")
    assert queries.summary(EVERY)["traits"] == []
    assert queries.summary(NONE) == {
        "count": 0, "traits": [], "clusters": [], "typical": [], "odd": []
    }  # fmt: skip


def test_some_of_very_many_rows_are_compared(
    oracle: Oracle, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the same traits, about, and shares of all rows, not of those that were looked at."""
    bees = {"kind": "categories", "column": key_of(oracle, "animal"), "codes": [1]}
    late = {"kind": "range", "column": key_of(oracle, "when"), "low": 1.8e9, "high": 1e12}
    both = {"kind": "all", "of": [bees, late]}
    whole = [trait.split(" (all ") for trait in oracle.queries.summary(both)["traits"]]
    monkeypatch.setattr(summary, "_MOST_COMPARED", 60)
    some = [trait.split(" (all ") for trait in oracle.queries.summary(both)["traits"]]
    told = {what: overall for what, overall in whole if what.startswith("animal")}
    also = {what: overall for what, overall in some if what.startswith("animal")}
    assert told.keys() == also.keys() == {"animal=bee 100%"}
    share, other_share = (int(each["animal=bee 100%"].split("%")[0]) for each in (told, also))
    assert other_share == pytest.approx(share, abs=10) and share < 40


@given(st.integers(1, 700), st.data())
@settings(max_examples=60, deadline=None)
def test_bits_of_ranges(n: int, data: st.DataObject) -> None:
    place = st.integers(0, n)
    ranges = data.draw(st.lists(st.tuples(place, place), max_size=20))
    wanted = np.zeros(n, dtype=bool)
    for begin, end in ranges:
        wanted[begin:end] = True
    bits = RowBits.of_ranges(n, np.array(ranges, dtype=np.int64).reshape(-1, 2))
    assert bits.mask(0, n).astype(bool).tolist() == wanted.tolist()
    assert (~bits).take(0, n).tolist() == np.flatnonzero(~wanted).tolist()
    assert bits.before(np.arange(n + 1)).tolist() == [0, *np.cumsum(wanted).tolist()]
    begin = data.draw(place)
    assert bits.mask(begin, n).tolist() == wanted[begin:].astype(int).tolist()


NONSENSE: list[tuple[Any, str]] = [
    (None, "a set is an object"),
    ([], "a list of 0"),
    ({}, "kind: one of all, any"),
    ({"kind": ["all"]}, "kind: one of"),
    ({"kind": "all"}, "has the fields of"),
    ({"kind": "all", "of": [], "more": 1}, "has the fields of, got 'more, of'"),
    ({"kind": "all", "of": EVERY}, "of: a list of sets"),
    ({"kind": "all", "of": [EVERY] * 1000}, "at most 1000 parts"),
    ({"kind": "range", "column": "nope", "low": 0, "high": 1}, "none with the key 'nope'"),
    ({"kind": "range", "column": ["c0"], "low": 0, "high": 1}, "none with the key a list"),
    ({"kind": "range", "column": "q0", "low": float("nan"), "high": 1}, "low: a finite number"),
    ({"kind": "range", "column": "q0", "low": 0, "high": float("inf")}, "high: a finite number"),
    ({"kind": "range", "column": "q0", "low": 10**400, "high": 1}, "got a very large number"),
    ({"kind": "range", "column": "q0", "low": True, "high": 1}, "low: a finite number, got True"),
    ({"kind": "range", "column": "c1", "low": 0, "high": 1}, "column c1 has categories"),
    ({"kind": "categories", "column": "q0", "codes": [1]}, "column q0 has numbers"),
    ({"kind": "categories", "column": "c1", "codes": 1}, "codes: a list"),
    ({"kind": "categories", "column": "c1", "codes": [1] * 257}, "at most 256 codes"),
    ({"kind": "categories", "column": "c1", "codes": [256]}, "from 0 to 255, got 256"),
    ({"kind": "categories", "column": "c1", "codes": [1.0]}, "codes: a whole number"),
    ({"kind": "missing", "column": 3}, "none with the key 3"),
    ({"kind": "cluster", "level": 99, "index": 0}, "level: a whole number from 0 to"),
    ({"kind": "cluster", "level": 0, "index": -1}, "index: a whole number from 0 to"),
    ({"kind": "places", "ranges": [[0, N + 1]]}, f"places are 0 to {N}"),
    ({"kind": "places", "ranges": [[-1, 2]]}, f"places are 0 to {N}"),
    ({"kind": "places", "ranges": [[0, 2**70]]}, f"places are 0 to {N}"),
    ({"kind": "places", "ranges": [[0, 1, 2]]}, "pairs of whole numbers"),
    ({"kind": "places", "ranges": [[0, True]]}, "pairs of whole numbers"),
    ({"kind": "places", "ranges": [[0, 1]] * 300_001}, "at most 300000"),
    ({"kind": "search", "query": 5}, "query: a text"),
    ({"kind": "no\ud800" * 100}, "…"),
]


@pytest.mark.parametrize(("given_set", "why"), NONSENSE)
def test_nonsense_is_told(oracle: Oracle, given_set: Any, why: str) -> None:
    with pytest.raises(RowsError) as error:
        oracle.queries.count(given_set)
    assert why in str(error.value) and len(str(error.value)) < 300


def test_sets_inside_each_other_have_an_end(oracle: Oracle) -> None:
    deep: dict[str, Any] = EVERY
    for _ in range(30):
        deep = {"kind": "not", "of": deep}
    assert oracle.queries.count(deep) == N
    for _ in range(20_000):
        deep = {"kind": "not", "of": deep}
    with pytest.raises(RowsError, match="32 inside each other"):
        oracle.queries.count(deep)


def test_other_nonsense_is_told_too(oracle: Oracle) -> None:
    ask = oracle.queries
    for question, why in (
        (lambda: ask.charts(EVERY, ["nope"]), "none with the key"),
        (lambda: ask.charts(EVERY, "c0"), "columns: a list"),
        (lambda: ask.charts(EVERY, ["c0"] * 1000), "columns: there are"),
        (lambda: ask.marks(EVERY, -2, 0, 1), "level: -1 for rows"),
        (lambda: ask.marks(EVERY, 0, 5, 4), "begin, end: a range"),
        (lambda: ask.marks(EVERY, ROWS, 0, N + 1), "begin, end: a range"),
        (lambda: ask.page(EVERY, "nope"), "none with the key"),
        (lambda: ask.page(EVERY, None, False, -1), "offset: a whole number"),
        (lambda: ask.page(EVERY, None, False, 0, 10**9), "limit: at most"),
        (lambda: ask.ranges(EVERY, -1), "most: a whole number"),
        (lambda: ask.values("c0", [N]), "rows: whole numbers"),
        (lambda: ask.values("c0", [0.5]), "rows: whole numbers"),
    ):
        with pytest.raises(RowsError, match=why):
            question()


def test_ends_between_two_short_numbers_are_not_rounded(tmp_path: Path) -> None:
    steps = 2.0**24 + 2 * np.arange(60)  # from 2^24 on float32 has the even numbers only
    model = HNNE().fit(np.random.default_rng(2).normal(size=(120, 3)))
    store = MapStore(write_store(tmp_path / "store", model, metadata={"step": np.tile(steps, 2)}))
    queries = RowQueries(store)
    key = next(record["key"] for record in queries.columns if record["name"] == "step")
    assert queries.files.records[key]["dtype"] == "f4"
    for low, high, n in ((-1e300, 2.0**24 + 3.5, 2), (2.0**24 + 0.5, 1e300, 59), (1e300, 1e301, 0)):
        asked = {"kind": "range", "column": key, "low": low, "high": high}
        assert queries.count(asked) == 2 * n


def test_what_is_remembered_by_very_many_places_is_short(oracle: Oracle) -> None:
    ranges = [[place, place + 1] for place in range(0, N, 2)]
    names = set()
    for last in (N - 3, N - 1):
        asked = {"kind": "not", "of": {"kind": "places", "ranges": [*ranges, [last, last + 1]]}}
        expression = read_expression(asked, oracle.queries.sets.known)
        assert expression == read_expression(asked, oracle.queries.sets.known)
        names.add(name_of(expression))
        assert len(name_of(expression)) == 32
    assert len(names) == 2
