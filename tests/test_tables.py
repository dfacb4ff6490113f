"""`TableEncoder`: what it writes, what it makes of new rows, records, odd frames."""

from __future__ import annotations

import json
import sys
import time
from dataclasses import replace
from datetime import date, datetime
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from conftest import LIMIT
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from threadpoolctl import threadpool_info, threadpool_limits

from nestmap import HNNE
from nestmap.errors import ModelFileError
from nestmap.tables import TableEncoder, decide_columns, dominant_columns
from nestmap.tables import encoder as encoder_module
from nestmap.tables.blocks import fit_block
from nestmap.tables.cells import read_cells
from nestmap.tables.prototypes import Prototypes

N_ROWS = 300


def films(n: int = N_ROWS, seed: int = 0) -> dict[str, Any]:
    """A table as people have it: two groups of rows, gaps, a counter, dates, long tails."""
    rng = np.random.default_rng(seed)
    group = rng.integers(0, 2, n)
    days = np.datetime64("1990-01-01") + rng.integers(0, 9000, n)
    budget = [f"${v:,.0f}" for v in np.exp(rng.normal(12 + 4 * group, 1))]
    return {
        "Unnamed: 0": np.arange(n),
        "title": [f"Film {i}" for i in range(n)],
        "budget": ["n/a" if i % 9 == 0 else value for i, value in enumerate(budget)],
        "rating": np.where(rng.random(n) < 0.2, np.nan, rng.normal(5 + 2 * group, 1)),
        "mpaa": [["R", "PG", "", "G"][i] for i in rng.integers(0, 2, n) + 2 * group],
        "released": [str(day) for day in days],
        "sequel": [bool(v) for v in rng.random(n) < 0.2 + 0.5 * group],
        "studio": [f"Studio {v % 70}" for v in rng.zipf(1.5, n)],
        "video": np.where(rng.random(n) < 0.85, np.nan, 1.0 + rng.random(n)),
        "unit": ["USD"] * n,
    }


def test_each_column_weighs_as_one() -> None:
    encoder = TableEncoder(missing="keep")
    rows = encoder.fit_transform(films())
    assert rows.dtype == np.float32
    start = 0
    for block in encoder.blocks_:
        part = rows[:, start : start + block.width]
        start += block.width
        assert np.nanmean(part, axis=0) == pytest.approx(np.zeros(block.width), abs=1e-4)
        assert np.nanvar(part, axis=0).sum() == pytest.approx(1, abs=1e-3), block.name
    assert len(encoder.get_feature_names_out()) == rows.shape[1] == start
    mapped = [decision.name for decision in encoder.decisions_.mapped]
    assert mapped == ["budget", "rating", "mpaa", "released", "sequel", "studio"]


def test_rare_levels_are_bounded_and_tails_squashed() -> None:
    rare = ["common"] * 499 + ["rare"]
    tail = np.append(np.random.default_rng(0).normal(size=499), 1e12)
    rows = TableEncoder().fit_transform({"level": rare, "size": tail})
    assert np.linalg.norm(rows[499, :2] - rows[0, :2]) <= 4.001
    assert np.abs(rows[:, 2]).max() < 5
    infinite = TableEncoder().fit_transform({"x": [1.0, 2, 3, np.inf, -np.inf, 5], "y": range(6)})
    assert np.isfinite(infinite).all()


def test_weights_count_columns() -> None:
    table = films()
    rows = TableEncoder({"title": "drop"}, weights={"rating": 4, "mpaa": 0}, missing="keep")
    found = rows.fit_transform(table)
    names = rows.get_feature_names_out()
    assert np.nanvar(found[:, names == "rating"]) == pytest.approx(4, rel=1e-3)
    assert np.nanvar(found[:, [name.startswith("mpaa=") for name in names]]) == 0


def test_the_same_table_in_any_make() -> None:
    table = films()
    frame = pd.DataFrame(table)
    rows = TableEncoder().fit_transform(table)
    for other in (frame, pa.Table.from_pandas(frame), frame.convert_dtypes()):
        assert TableEncoder().fit_transform(other) == pytest.approx(rows, abs=1e-5)
    cells = np.array([list(column) for column in table.values()], dtype=object).T
    as_array = TableEncoder().fit(cells)
    assert as_array.feature_names_in_[2] == "x2"
    assert as_array.transform(cells).shape == rows.shape
    categorical = frame.assign(mpaa=frame["mpaa"].astype("category"))
    assert TableEncoder().fit_transform(categorical).shape == rows.shape


def test_fit_transform_is_fit_then_transform() -> None:
    table = films()
    encoder = TableEncoder()
    rows = encoder.fit_transform(table)
    assert (encoder.transform(table) == rows).all()
    assert (encoder.fit(table).transform(table) == rows).all()
    assert np.isfinite(rows).all()


def test_new_rows_with_other_columns() -> None:
    table = films()
    encoder = TableEncoder().fit(table)
    rows = encoder.transform(table)
    shuffled = {name: table[name] for name in [*table][::-1]}
    beside = {name: v for name, v in shuffled.items() if name not in ("title", "unit", "video")}
    assert (encoder.transform({**beside, "extra": range(N_ROWS)}) == rows).all()
    with pytest.raises(ValueError, match=r"no column 'rating', which the map depends on"):
        encoder.transform({name: v for name, v in table.items() if name != "rating"})
    empty = encoder.transform({**table, "rating": [None] * N_ROWS})
    assert np.isfinite(empty).all()
    with pytest.raises(NotFittedError):
        TableEncoder().transform(table)


def test_new_categories_are_told_and_far_from_all() -> None:
    table = {"kind": ["a", "b", "c", "a"] * 10, "size": np.linspace(0, 1, 40)}
    for missing, apart in (("keep", 1e-5), ("expected", 0.1)):  # balanced ones are about as far
        encoder = TableEncoder(missing=missing).fit(table)
        with pytest.warns(UserWarning, match="'kind': the fit saw no 'new'"):
            new = encoder.transform({"kind": ["new"], "size": [0.0]})[0]
        old = encoder.transform(table)
        to_kinds = [np.linalg.norm(new[:3] - old[i, :3]) for i in range(3)]
        assert np.ptp(to_kinds) == pytest.approx(0, abs=apart)
        assert min(to_kinds) > 0.5


def columns_that_repeat() -> dict[str, Any]:
    """Two columns that say nearly the same, one of its own, a category, a vector."""
    rng = np.random.default_rng(0)
    size = rng.normal(size=300)
    return {
        "size": size,
        "length": size + 0.3 * rng.normal(size=300),
        "age": rng.normal(size=300),
        "kind": np.where(size > 0.5, "big", "small"),
        "vector": list(rng.normal(size=(300, 4))),
    }


def test_what_columns_have_in_common_counts_half_and_columns_keep_their_weight() -> None:
    table = columns_that_repeat()
    weights = {"age": 3.0, "length": 0.5}
    plain = TableEncoder(missing="keep", weights=weights).fit_transform(table)
    encoder = TableEncoder(weights=weights)
    rows = encoder.fit_transform(table)
    before, after = (np.corrcoef(each[:, 0], each[:, 1])[0, 1] for each in (plain, rows))
    assert 1 - after > 2 * (1 - before)
    kinds = [rows[:, :1], rows[:, 1:2], rows[:, 2:3], rows[:, 3:5]]
    assert [each.var(axis=0).sum() for each in kinds] == pytest.approx([1, 0.5, 3, 1], rel=0.05)
    assert (rows[:, 5:] == plain[:, 5:]).all()  # a vector is a metric of its own
    one = {name: values[:1] for name, values in table.items()}
    assert (encoder.transform(one) == rows[:1]).all()  # the bits, or fits would not know their rows


def test_columns_of_no_weight_and_columns_alone_are_not_balanced() -> None:
    table = columns_that_repeat()
    rows = TableEncoder(weights={"size": 0}).fit_transform(table)
    assert (rows[:, 0] == 0).all()
    alone = TableEncoder(columns={"size": "number"}).fit_transform({"size": table["size"]})
    plain = TableEncoder(missing="keep").fit_transform({"size": table["size"]})
    assert alone == pytest.approx(plain, rel=1e-5)
    vectors = TableEncoder().fit_transform({"vector": table["vector"]})
    assert (
        vectors == TableEncoder(missing="keep").fit_transform({"vector": table["vector"]})
    ).all()


def test_only_long_tails_are_squashed_hard() -> None:
    rng = np.random.default_rng(0)
    size = rng.normal(size=500)
    rows = TableEncoder(missing="keep").fit_transform({"size": size, "x": rng.random(500)})
    assert np.corrcoef(rows[:, 0], size)[0, 1] > 0.999
    size[0] = 1e6
    rows = TableEncoder(missing="keep").fit_transform({"size": size, "x": rng.random(500)})
    assert rows[0, 0] < 1.5 * np.sort(rows[:, 0])[-2]


def test_new_cells_that_cannot_be_read_are_told() -> None:
    table = {"size": [f"{v}.5" for v in range(5, 45)], "x": np.arange(40) % 7}
    encoder = TableEncoder().fit(table)
    with pytest.warns(UserWarning, match="'size': 40 cells cannot be read"):
        rows = encoder.transform({**table, "size": ["tall"] * 40})
    assert np.isfinite(rows).all()


def test_numbers_may_come_as_texts_and_texts_as_numbers() -> None:
    size = np.arange(40) * 1.5
    zips = [f"{10000 + i % 4}" for i in range(40)]
    encoder = TableEncoder({"zip": "category"}).fit({"size": size, "zip": zips})
    rows = encoder.transform({"size": size, "zip": zips})
    other = {"size": [str(v) for v in size], "zip": [int(z) for z in zips]}
    assert encoder.transform(other) == pytest.approx(rows)


def test_decisions_print_and_count_duplicates() -> None:
    table = {name: list(v) * 2 for name, v in films().items() if name != "Unnamed: 0"}
    encoder = TableEncoder().fit(table)
    told = str(encoder.decisions_)
    assert told.startswith("600 rows, 300 distinct; 6 of 9 columns mapped")
    assert "columns={'studio': 'drop'}" in told
    assert encoder.decisions_["video"].kind == "empty"
    with pytest.raises(ValueError, match="no column can be mapped"):
        TableEncoder().fit({"unit": ["cm"] * 30})
    with pytest.raises(ValueError, match="the table is empty"):
        TableEncoder().fit({"unit": []})


def test_circles_vary_only_where_dates_do() -> None:
    days = np.datetime64("2024-03-04T00:00:00") + np.arange(90) * np.timedelta64(1, "D")
    names = TableEncoder().fit({"day": days}).get_feature_names_out().tolist()
    assert names == ["day_year", "day_weekday_cos", "day_weekday_sin"]
    rows = TableEncoder().fit_transform({"hour": [h % 24 for h in range(96)]})
    midnight = np.linalg.norm(rows[23] - rows[0])
    assert midnight == pytest.approx(np.linalg.norm(rows[1] - rows[0]), rel=1e-4)


def test_expected_values_are_nearer_than_means() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(500, 2)) @ rng.normal(size=(2, 8)) + 0.1 * rng.normal(size=(500, 8))
    holed = np.where(rng.random(x.shape) < 0.2, np.nan, x)
    gone = np.isnan(holed)
    true = TableEncoder(missing="keep").fit(x).transform(x)
    error = {}
    for missing in ("mean", "expected"):
        rows = TableEncoder(missing=missing).fit_transform(holed)
        error[missing] = float(((rows - true)[gone] ** 2).mean())
    assert error["expected"] < 0.2 * error["mean"]


def curved(n: int = 600, seed: int = 0) -> Any:
    """Points of a spiral: what one column says of another is no straight line."""
    angle = np.random.default_rng(seed).uniform(0, 9, n)
    return np.stack([angle * np.cos(angle), angle * np.sin(angle), angle], axis=1)


def test_curved_relations_are_filled_from_near_rows() -> None:
    x = curved()
    holed = x.copy()
    holed[np.arange(600) % 3 == 0, 1] = np.nan
    gone = np.isnan(holed)
    encoder = TableEncoder(missing="keep").fit(holed)
    true = encoder.transform(x)
    rows = encoder.transform(holed)
    straight = rows.copy()
    filler = encoder.filler_
    filler.fill(rows)
    replace(filler, prototypes=Prototypes.none(3)).fill(straight)
    errors = [float(((each - true)[gone] ** 2).mean()) for each in (rows, straight)]
    assert errors[0] < 0.3 * errors[1]


def test_what_nothing_predicts_is_the_mean() -> None:
    """Prototypes are not trusted where they say nothing."""
    x = np.random.default_rng(0).normal(size=(600, 6))
    holed = np.where(np.random.default_rng(1).random(x.shape) < 0.1, np.nan, x)
    encoder = TableEncoder(missing="keep").fit(holed)
    assert encoder.filler_.prototypes.trust.max() < 0.5
    rows = encoder.transform(holed)
    gone = np.isnan(rows)
    encoder.filler_.fill(rows)
    assert rows[gone].var() < 0.05


def test_prototypes_are_few_and_are_kept() -> None:
    wide = np.random.default_rng(0).normal(size=(3000, 60))
    encoder = TableEncoder().fit(wide)
    assert encoder.filler_.prototypes.rows.size <= 2**15
    assert not len(TableEncoder().fit(wide[:30]).filler_.prototypes.rows)
    record, arrays = TableEncoder().fit(curved()).to_record()
    again = TableEncoder.from_record(record, arrays)
    new = curved(50, seed=1)
    new[::2, 1] = np.nan
    np.testing.assert_array_equal(
        again.transform(new), TableEncoder.from_record(record, arrays).transform(new)
    )
    np.testing.assert_array_equal(again.transform(new), TableEncoder().fit(curved()).transform(new))
    older = {name: each for name, each in arrays.items() if name != "prototypes"}
    assert np.isfinite(TableEncoder.from_record(record, older).transform(new)).all()
    for name, wrong in (("weights", arrays["weights"][:5]), ("trust", arrays["trust"][:1])):
        with pytest.raises(ModelFileError, match="prototypes"):
            TableEncoder.from_record(record, {**arrays, name: wrong})


def test_texts_by_their_words() -> None:
    rng = np.random.default_rng(0)
    words = [["sea ship sail wave", "law court judge trial"][i] for i in rng.integers(0, 2, 200)]
    table = {"body": [f"the {w} of number {i}" for i, w in enumerate(words)], "x": rng.random(200)}
    assert not decide_columns(table)["body"].mapped
    encoder = TableEncoder(texts="tfidf")
    rows = encoder.fit_transform(table)[:, :-1]
    sea = np.array([w.startswith("sea") for w in words])
    gap = np.linalg.norm(rows[sea].mean(0) - rows[~sea].mean(0))
    assert gap > 1
    assert np.var(rows, axis=0).sum() == pytest.approx(1, rel=0.01)
    again = TableEncoder.from_record(*encoder.to_record())
    assert (again.transform(table) == encoder.transform(table)).all()


def test_vectors_weigh_as_their_directions() -> None:
    rng = np.random.default_rng(0)
    vectors = [row.tolist() for row in rng.normal(size=(400, 6))]
    rows = TableEncoder().fit_transform({"emb": vectors, "size": rng.normal(size=400)})
    assert np.var(rows[:, :6], axis=0).sum() == pytest.approx(6, rel=0.05)
    with pytest.raises(ValueError, match="held lists of 6 numbers in fit, now of 2"):
        TableEncoder().fit({"emb": vectors}).transform({"emb": [[1.0, 2.0]]})


def test_records_hold_everything() -> None:
    table = films()
    encoder = TableEncoder({"title": "drop"}, {"rating": 2.0}).fit(table)
    record, arrays = encoder.to_record()
    again = TableEncoder.from_record(json.loads(json.dumps(record)), arrays)
    assert (again.transform(table) == encoder.transform(table)).all()
    assert str(again.decisions_) == str(encoder.decisions_)
    assert again.get_params() == encoder.get_params()
    assert (again.get_feature_names_out() == encoder.get_feature_names_out()).all()


@pytest.mark.parametrize("key", ["version", "parameters", "decisions", "blocks", "noise"])
def test_damaged_records_are_refused(key: str) -> None:
    record, arrays = TableEncoder().fit(films()).to_record()
    for wrong in (None, "x", [], {}, -1, [{"name": 3}]):
        with pytest.raises(ModelFileError):
            TableEncoder.from_record({**record, key: wrong}, arrays)
    with pytest.raises(ModelFileError):
        TableEncoder.from_record(record, {**arrays, "loadings": arrays["loadings"][1:]})
    with pytest.raises(ModelFileError):
        TableEncoder.from_record(record, {**arrays, "means": arrays["means"] * np.nan})
    with pytest.raises(ModelFileError):
        TableEncoder.from_record(record, {**arrays, "means": arrays["means"][1:]})
    for width in (0, -1, 2**60, 1.0, None):
        blocks = [{**record["blocks"][0], "width": width}, *record["blocks"][1:]]
        with pytest.raises(ModelFileError):
            TableEncoder.from_record({**record, "blocks": blocks}, arrays)
    with pytest.raises(ModelFileError):
        TableEncoder.from_record(record, {})


def test_scikit_learn_conventions() -> None:
    frame = pd.DataFrame(films())
    encoder = TableEncoder(columns={"studio": "drop"}, missing="mean")
    assert clone(encoder).get_params() == encoder.get_params()
    assert encoder.set_params(texts="tfidf").texts == "tfidf"
    pipeline = make_pipeline(TableEncoder(), HNNE()).fit(frame)
    assert pipeline[-1].embedding_.shape == (N_ROWS, 2)
    assert pipeline.transform(frame.head(5)).shape == (5, 2)
    as_frame = TableEncoder().set_output(transform="pandas").fit_transform(frame)
    assert "mpaa=R" in as_frame.columns
    with pytest.raises(ValueError, match="did you mean 'tfidf'"):
        TableEncoder(texts="tf-idf").fit(frame)
    with pytest.raises(ValueError, match=r"weights=.*did you mean 'rating'"):
        TableEncoder(weights={"raiting": 1}).fit(frame)


def test_columns_that_decide_distances() -> None:
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(100, 8)) * np.array([1, 1, 1, 500, 1, 1, 1, 1.0])
    found = dominant_columns(rows, list("abcdefgh"))
    assert found is not None
    assert found.names == ("d",)
    assert "1 of 8 column" in found.message and 'HNNE(encoder="table")' in found.message
    assert dominant_columns(rows / rows.std(axis=0)) is None
    assert dominant_columns(rows[:, :1]) is None
    assert dominant_columns(np.zeros((5, 4))) is None


def test_tables_that_are_none() -> None:
    with pytest.raises(ValueError, match="equal lengths"):
        TableEncoder().fit({"a": [1, 2], "b": [1]})
    with pytest.raises(ValueError, match="'a' twice"):
        TableEncoder().fit(pd.DataFrame([[1, 2]], columns=["a", "a"]))
    with pytest.raises(ValueError, match="got list of shape"):
        TableEncoder().fit([1, 2, 3])


CELLS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(10**20), 10**20),
    st.floats(),
    st.text(max_size=6),
    st.dates(),
    st.datetimes(),
    st.sampled_from(
        ["NA", "1,234", "$5", "12%", "2020-01-01", "30.02.2020", "9:30", "yes", "-999"]
    ),
)
COLUMNS = st.integers(1, 25).flatmap(
    lambda n: st.dictionaries(
        st.text(max_size=5),
        st.one_of(
            st.lists(CELLS, min_size=n, max_size=n),
            st.lists(st.floats(), min_size=n, max_size=n),
            st.lists(st.sampled_from(["a", "b", "", "3"]), min_size=n, max_size=n),
        ),
        min_size=1,
        max_size=4,
    )
)


@settings(max_examples=25, deadline=None)
@given(COLUMNS)
def test_odd_frames_get_decisions_and_finite_rows(table: dict[str, list[Any]]) -> None:
    decisions = decide_columns(table)
    assert len(decisions) == len(table) and str(decisions)
    if not decisions.mapped:
        return
    encoder = TableEncoder()
    rows = encoder.fit_transform(table)
    assert np.isfinite(rows).all()
    assert rows.shape[1] == len(encoder.get_feature_names_out())
    record, arrays = encoder.to_record()
    again = TableEncoder.from_record(json.loads(json.dumps(record)), arrays)
    assert (again.transform(table) == rows).all()


@pytest.mark.slow
def test_large_tables_take_seconds() -> None:
    rng = np.random.default_rng(0)
    n = 100_000
    table = {f"n{j}": rng.normal(size=n) for j in range(30)}
    table |= {f"c{j}": rng.choice(["a", "b", "c", ""], n) for j in range(6)}
    started = time.process_time()
    rows = TableEncoder().fit_transform(table)
    assert rows.shape[0] == n
    assert time.process_time() - started < 20


def test_pandas_is_imported_by_its_users_only() -> None:
    import subprocess

    code = (
        "import sys\n"
        "class Refuse:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name.partition('.')[0] in ('pandas', 'pyarrow', 'polars'):\n"
        "            raise ModuleNotFoundError(name)\n"
        "sys.meta_path.insert(0, Refuse())\n"
        "from nestmap.tables import TableEncoder\n"
        "table = {'a': [1, 2, 3, None], 'b': ['x', 'y', 'x', 'NA']}\n"
        "print(TableEncoder().fit_transform(table).shape)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=LIMIT
    )
    assert done.stdout.strip() == "(4, 3)", done.stderr


def test_a_row_has_the_same_bits_alone_and_among_others() -> None:
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(300, 4)) @ rng.normal(size=(4, 37)) + rng.normal(size=(300, 37))
    rows[rng.random(rows.shape) < 0.2] = np.nan
    encoder = TableEncoder().fit({f"x{j}": column for j, column in enumerate(rows.T)})
    together = rows.copy()  # in float64: nothing is rounded away
    encoder.filler_.fill(together)
    encoder.balance_.apply(together)
    for size in (1, 3, 7):
        for start in range(0, 60, size):
            some = rows[start : start + size].copy()
            encoder.filler_.fill(some)
            encoder.balance_.apply(some)
            assert some.tobytes() == together[start : start + size].tobytes()


@pytest.mark.parametrize("make", [dict, pd.DataFrame])
def test_numbers_among_texts_are_the_same_level_in_any_batch(make: Any) -> None:
    table = {"kind": [1, "b", 2.0, None, 2, "b", 0.5, 1.0], "size": [1.0, 5, 2, 8, 3, 3, 9, 7]}
    encoder = TableEncoder().fit(make(table))
    assert encoder.blocks_[0].encoder.levels == ("1", "2", "b", "0.5")
    together = encoder.transform(make(table))
    for size in (1, 2, 3):
        for start in range(0, 8, size):
            some = {name: values[start : start + size] for name, values in table.items()}
            rows = encoder.transform(make(some))
            assert rows.tobytes() == together[start : start + size].tobytes()


def test_columns_are_fitted_by_one_thread_of_blas(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that the weight of vectors has the same bits on any number of cores."""
    n_threads = []

    def listens(*arguments: Any) -> Any:
        n_threads.extend(
            each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"
        )
        return fit_block(*arguments)

    monkeypatch.setattr(encoder_module, "fit_block", listens)
    with threadpool_limits(2, "blas"):
        TableEncoder().fit({"at": [[1.0, 2.0], [3.0, 4.0], [5.0, 7.0]]})
    assert set(n_threads) == {1}


def test_days_and_times_among_texts_are_the_same_level_in_any_batch() -> None:
    moments = [date(2020, 1, 1), datetime(2021, 2, 3, 4, 5), pd.Timestamp("2020-01-01")]
    table = {"when": ["a", *moments, "2020-01-01", None], "size": [1.0, 5, 2, 8, 3, 9]}
    encoder = TableEncoder().fit(table)
    levels = encoder.blocks_[0].encoder.levels
    assert sorted(levels) == ["2020-01-01", "2021-02-03T04:05:00", "a"]
    together = encoder.transform(table)
    for i in range(6):
        rows = encoder.transform({name: [values[i]] for name, values in table.items()})
        assert rows.tobytes() == together[i].tobytes()


@pytest.mark.parametrize("make", [dict, pd.DataFrame])
def test_rows_of_nothing_but_gaps_are_read_as_others(make: Any) -> None:
    """Nothing shows there what a column holds."""
    table = {
        "at": [[1.0, 2.0], [3.0, 4.0], None, [5.0, 7.5]],
        "size": [1.0, None, 2.0, 5.0],
        "kind": ["a", None, "b", "a"],
        "made": ["2020-01-01", "2021-02-03", None, "2022-05-06"],
    }
    encoder = TableEncoder().fit(make(table))
    together = encoder.transform(make(table))
    for i in range(4):
        rows = encoder.transform(make({name: [values[i]] for name, values in table.items()}))
        assert rows.tobytes() == together[i].tobytes()
    assert len(encoder.transform(make({name: [] for name in table}))) == 0


def test_whole_numbers_beyond_floats_are_texts() -> None:
    (cells,) = read_cells({"digits": [10**400, 7, None]})
    assert cells.form == "text" and cells.texts.tolist() == [str(10**400), "7"]


def test_lists_of_texts_are_one_value_per_row() -> None:
    for lists in ([["a", "b"], ["c", "d"]], [["a", "b"], ["c", None]], [["a"], ["c", "d"]]):
        (cells,) = read_cells({"tags": lists})
        assert cells.form == "text" and cells.values.tolist() == [0, 1]


def test_weights_that_are_no_numbers() -> None:
    for weight in ("2", None, -1, np.nan, np.inf):
        with pytest.raises(ValueError, match=r"weights=\{'rating': .*takes a number from 0"):
            TableEncoder(weights={"rating": weight}).fit(films())


def test_one_name_for_two_of_very_many_columns() -> None:
    table = pd.DataFrame(np.zeros((2, 6000)), columns=[*map(str, range(5999)), "7"])
    with pytest.raises(ValueError, match="got '7' twice"):
        decide_columns(table)


@pytest.mark.parametrize("unit", [1e-90, 1.0, 1e90])
def test_vectors_of_any_unit_weigh_the_same(unit: float) -> None:
    at = np.random.default_rng(0).normal(size=(50, 3)) * unit
    at[:, 0] = 1e300  # the same in all rows
    rows = TableEncoder(missing="keep").fit_transform({"at": at})
    assert rows.var(axis=0) == pytest.approx([0, 1, 1], abs=0.3)


def test_vectors_that_are_too_large_to_compare() -> None:
    table = {"at": [[1e300, 2.0], [3.0, 4e300], [5.0, 6.0]], "size": [1.0, 2.0, 4.0]}
    with pytest.raises(ValueError, match=r"'at' holds numbers of up to 4e\+300.*another unit"):
        TableEncoder().fit(table)


def test_texts_without_words_name_the_way_out() -> None:
    table = {"note": ["a b c d e", "b c d e a"] * 20, "size": np.arange(40.0) ** 1.5}
    with pytest.raises(ValueError, match=r"'note'.*columns=\{'note': 'drop'\} leaves it out"):
        TableEncoder({"note": "text"}).fit(table)


def test_a_record_has_as_many_arrays_for_many_columns_as_for_few() -> None:
    """The header of a model file names each, and has no room for thousands."""
    table = {f"x{i}": np.arange(9.0) ** (1 + i / 40) for i in range(40)}
    _, arrays = TableEncoder().fit(table).to_record()
    assert sorted(arrays) == ["loadings", "means", "prototypes", "trust", "weights"]


@pytest.mark.parametrize("reading", [("guess", ""), ("cycle", "0"), ("cycle", "often")])
def test_a_record_with_cells_that_nobody_can_read_is_refused(reading: tuple[str, str]) -> None:
    table = {"month": [1 + i % 12 for i in range(36)], "size": np.arange(36.0) ** 1.5}
    record, arrays = TableEncoder().fit(table).to_record()
    assert record["blocks"][0]["encoder"]["reading"] == {"kind": "cycle", "form": "12"}
    TableEncoder.from_record(record, arrays)
    kind, form = reading
    record["blocks"][0]["encoder"]["reading"] = {"kind": kind, "form": form}
    with pytest.raises(ModelFileError, match="damaged"):
        TableEncoder.from_record(record, arrays)


def test_a_record_with_vectors_of_another_width_is_refused() -> None:
    table = {"at": [[1.0, 2.0], [3.0, 4.0], [5.0, 7.0]]}
    record, arrays = TableEncoder().fit(table).to_record()
    record["blocks"][0]["encoder"]["width"] = 2**60
    with pytest.raises(ModelFileError, match="damaged"):
        TableEncoder.from_record(record, arrays)
