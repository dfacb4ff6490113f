"""Gower's distance: by its definition, in fits of tables, in files."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.datasets import load_wine
from sklearn.metrics import adjusted_mutual_info_score

import nestmap
from nestmap import FINCH, HNNE
from nestmap.errors import ModelFileError
from nestmap.method.neighbors.metric.gower import GowerMetric
from nestmap.tables import GowerEncoder

pandas = pytest.importorskip("pandas")
KINDS = np.random.default_rng(1).integers(0, 4, 300)


def table(share_missing: float = 0.0, seed: int = 0, kinds: Any = KINDS) -> Any:
    """Numbers, texts, codes, booleans, times."""
    rng = np.random.default_rng(seed)
    n = len(kinds)
    frame = pandas.DataFrame(
        {
            "size": 10 * kinds + rng.normal(size=n),
            "price": np.exp(rng.normal(size=n) + kinds),
            "kind": np.array(["ant", "bee", "cow", "dog"])[kinds],
            "code": rng.integers(0, 5, n) + 100.0,
            "is_new": pandas.array(rng.random(n) < 0.5, dtype="boolean"),
            "colour": pandas.Categorical(np.array(["red", "blue"])[kinds // 2]),
            "seen": pandas.Timestamp("2020-01-01") + pandas.to_timedelta(kinds * 9, unit="D"),
            "weight": rng.normal(size=n),
            "height": kinds + rng.normal(size=n),
        }
    )
    return frame.mask(rng.random(frame.shape) < share_missing)


CATEGORIES = ("kind", "is_new", "colour")


def by_definition(a: Any, b: Any, fitted: Any, categories: tuple[str, ...] = CATEGORIES) -> Any:
    """Gower's distances of rows of two frames, with the ranges of a third; NaN without a column."""
    found = np.zeros((len(a), len(b)))
    counts = np.zeros((len(a), len(b)))
    for name in fitted.columns:
        there = a[name].notna().to_numpy()[:, None] & b[name].notna().to_numpy()[None]
        x, y = (each[name].to_numpy(object, na_value=None)[:, None] for each in (a, b))
        if name in categories:
            apart = (x != y.T).astype(float)
        else:
            known = fitted[name].dropna()
            width = known.max() - known.min()
            numbers = [
                np.array(
                    [
                        (v - known.min()) / width if v is not None else 0.0
                        for v in each[name].to_numpy(object, na_value=None)
                    ]
                )
                for each in (a, b)
            ]
            apart = np.abs(numbers[0][:, None] - numbers[1][None])
        found += np.where(there, apart, 0)
        counts += there
    with np.errstate(invalid="ignore"):
        return found / counts


def test_whole_rows_are_gowers_by_manhattan() -> None:
    frame = table()
    new = table(seed=5)[:20]
    encoder = GowerEncoder().fit(frame)
    rows, others = encoder.transform(frame), encoder.transform(new)
    assert not encoder.has_gaps_
    for a, b, x, y in ((rows, rows, frame, frame), (others, rows, new, frame)):
        found = cdist(a, b, "cityblock")
        np.testing.assert_allclose(found, by_definition(x, y, frame), atol=3e-6)
    coded = GowerEncoder(categories=["code"]).fit(frame)
    found = cdist(coded.transform(frame), coded.transform(frame), "cityblock")
    expected = by_definition(frame, frame, frame, (*CATEGORIES, "code"))
    np.testing.assert_allclose(found, expected, atol=3e-6)
    by_number = GowerEncoder(categories=[3]).fit_transform(frame)
    np.testing.assert_array_equal(by_number, coded.transform(frame))


@pytest.mark.parametrize("share", [0.02, 0.3, 0.8])
def test_missing_cells_count_where_both_rows_have_them(share: float) -> None:
    frame = table(share)
    new = table(share, seed=5)[:50]
    encoder = GowerEncoder().fit(frame)
    rows, others = encoder.transform(frame), encoder.transform(new)
    assert encoder.has_gaps_ and rows.dtype == np.float32
    expected = by_definition(new, frame, frame)
    found = GowerMetric().pairwise(others, rows)
    assert share < 0.8 or np.isnan(expected).any()  # rows that share no column
    np.testing.assert_allclose(found, np.where(np.isnan(expected), 1.0, expected), atol=3e-6)


def test_distances_have_the_same_bits_in_any_block() -> None:
    rows = GowerEncoder().fit_transform(table(0.2))
    whole = GowerMetric().pairwise(rows, rows)
    np.testing.assert_array_equal(whole, whole.T)
    assert (whole.diagonal() == 0).all() and (whole >= 0).all()
    for part in (slice(0, 1), slice(7, 40), slice(150, 300)):
        np.testing.assert_array_equal(GowerMetric().pairwise(rows[part], rows), whole[part])
        np.testing.assert_array_equal(GowerMetric().pairwise(rows, rows[part]), whole[:, part])


def test_categories_that_the_fit_did_not_see_are_one_apart_from_all() -> None:
    frame = table()
    new = frame[:5].assign(kind="elk")
    for gaps in (0.0, 0.2):
        encoder = GowerEncoder().fit(table(gaps))
        rows, others = encoder.transform(table(gaps)), encoder.transform(new)
        compare = GowerMetric().pairwise if gaps else lambda a, b: cdist(a, b, "cityblock")
        expected = by_definition(new, table(gaps), table(gaps))
        np.testing.assert_allclose(compare(others, rows), expected, atol=3e-6)


@pytest.mark.parametrize("share", [0.0, 0.05])
def test_a_fit_finds_the_kinds_and_is_kept(share: float, tmp_path: Path) -> None:
    frame = table(share)
    model = HNNE(metric="gower").fit(frame)
    assert adjusted_mutual_info_score(KINDS, model.labels(n_clusters=4)) > 0.6
    assert model.n_features_in_ == 9 and [*model.feature_names_in_] == [*frame.columns]
    assert model.hierarchy_.metric == ("gower" if share else "manhattan")
    np.testing.assert_array_equal(model.transform(frame), model.embedding_)
    model.save(tmp_path / "table.nestmap")
    again = nestmap.load(tmp_path / "table.nestmap")
    assert again.metric == "gower" and again.encoder_.columns_ == model.encoder_.columns_
    new = table(share, seed=5)[:40]
    shuffled = new[[*new.columns][::-1]].assign(more=1)
    expected = model.transform(new)
    for each in (again, model):
        np.testing.assert_array_equal(each.transform(new), expected)
        np.testing.assert_array_equal(each.transform(shuffled), expected)
        np.testing.assert_array_equal(each.predict(new), model.predict(new))
    assert (model.predict(new) == model.predict(new[::-1])[::-1]).all()


def test_what_a_fitted_map_does_with_tables(tmp_path: Path) -> None:
    frame = table(0.05)
    model = HNNE(metric="gower").fit(frame)
    assert model.plan(frame).method == "brute force"
    assert HNNE(metric="gower").plan(table()).method == "exact"
    grown = model.extend(table(0.05, seed=5)[:30])
    np.testing.assert_array_equal(grown.embedding_[:300], model.embedding_)
    follows = HNNE(metric="gower").fit(table(0.05)[30:], like=model)
    assert follows.embedding_.shape == (270, 2)
    assert model.relayout(layout="descent").embedding_.shape == (300, 2)
    assert model.distortion().recall.shape == (300,)
    page = model.explore(path=tmp_path / "page", trust=True, metadata=frame[["kind", "size"]])
    assert (page / "index.html").exists()


def test_arrays_of_numbers_with_missing_ones() -> None:
    wine = load_wine()
    rows = wine.data.copy()
    rows[np.random.default_rng(0).random(rows.shape) < 0.05] = np.nan
    model = HNNE(metric="gower").fit(rows)
    assert adjusted_mutual_info_score(wine.target, model.labels(n_clusters=3)) > 0.6
    coded = HNNE(metric="gower", metric_params={"categories": [0]})
    assert len(coded.fit(np.round(wine.data)).encoder_.columns_[0].levels) == 5


def test_copies_and_files_keep_parameters_and_drift(tmp_path: Path) -> None:
    frame = table(0.05)
    model = HNNE(metric="gower", metric_params={"categories": ["code", 0]}).fit(frame)
    model.save(tmp_path / "coded.nestmap")
    again = nestmap.load(tmp_path / "coded.nestmap")
    assert again.metric_params == {"categories": ["code", 0]}
    assert again.encoder_.categories == ["code", 0]
    copied = pickle.loads(pickle.dumps(model))
    by_number = HNNE(metric="gower", metric_params={"categories": [3, 0]}).fit(frame)
    by_number.save(tmp_path / "numbers.nestmap")
    again_by_number = nestmap.load(tmp_path / "numbers.nestmap")
    assert [*again_by_number.metric_params["categories"]] == [3, 0]
    for each in (again, copied, by_number, again_by_number):
        np.testing.assert_array_equal(each.transform(frame), model.embedding_)
        assert not each.drift(frame, n_sample=50).worth_a_refit
    fresh = clone(model).fit(frame)
    np.testing.assert_array_equal(fresh.embedding_, model.embedding_)


def test_one_value_nothing_and_constants() -> None:
    frame = table()[:60].assign(same=3.0, nothing=None)
    model = HNNE(metric="gower").fit(frame)
    np.testing.assert_array_equal(model.transform(frame), model.embedding_)
    empty = table()[:60]
    empty.loc[3] = None
    assert np.isfinite(HNNE(metric="gower").fit(empty).embedding_).all()


def test_rows_that_are_all_the_same() -> None:
    for frame in (table()[:1], pandas.concat([table()[:1]] * 20), table(0.5)[:2]):
        model = HNNE(metric="gower").fit(frame)
        assert np.isfinite(model.embedding_).all()
        np.testing.assert_array_equal(model.transform(frame), model.embedding_)


def test_what_scikit_learn_is_told() -> None:
    tags = HNNE(metric="gower").__sklearn_tags__().input_tags
    assert tags.allow_nan and tags.string and tags.categorical and not tags.sparse
    assert not HNNE().__sklearn_tags__().input_tags.allow_nan


def test_refusals(tmp_path: Path) -> None:
    frame = table()
    whole = HNNE(metric="gower").fit(frame)
    with pytest.raises(ValueError, match="row 2 has nothing in the column 'price'"):
        whole.transform(frame.assign(price=[1.0, 2, None] + [1.0] * 297))
    with pytest.raises(ValueError, match=r"no column 'price'.*did you mean 'prize'"):
        whole.transform(frame.rename(columns={"price": "prize"}))
    with pytest.raises(ValueError, match="column 'size' holds no numbers"):
        whole.transform(frame.assign(size="x"))
    for parameters, said in (
        ({"encoder": "table"}, "encodes tables in its own way; leave the encoder out"),
        ({"metric_params": {"categories": "kind"}}, r"takes a list of columns, \['kind'\]"),
        ({"metric_params": {"categories": ["kin"]}}, "no column 'kin' .*'kind'"),
        ({"metric_params": {"p": 3}}, "'gower' takes 'categories', not 'p'"),
    ):
        with pytest.raises(ValueError, match=said):
            HNNE(metric="gower", **parameters).fit(frame)
    with pytest.raises(ValueError, match="'price' holds infinity"):
        HNNE(metric="gower").fit(frame.assign(price=np.inf))
    for far in (1e308, 1e-320):
        with pytest.raises(ValueError, match=r"'price' goes from .* in another unit"):
            HNNE(metric="gower").fit(frame.assign(price=np.tile([-far, 0, far], 100)))
    with pytest.raises(ValueError, match="'id' has 1,500 categories, more than 1,000"):
        HNNE(metric="gower").fit({"id": [f"r{i}" for i in range(1500)]})
    for call in (
        lambda: FINCH(metric="gower").fit(load_wine().data),
        lambda: nestmap.first_neighbors(load_wine().data, "gower"),
    ):
        with pytest.raises(ValueError, match="metric='gower' compares tables"):
            call()
    with pytest.raises(ValueError, match="like: the old model encoded its table for another"):
        HNNE(encoder="table").fit(frame, like=whole)


def test_a_fit_like_another_takes_its_categories() -> None:
    frame = table().assign(code=np.arange(300) % 4)
    old = HNNE(metric="gower", metric_params={"categories": ["code"]}).fit(frame)
    for params in (None, {"categories": ("code",)}):
        new = HNNE(metric="gower", metric_params=params).fit(frame, like=old)
        assert new.encoder_ is old.encoder_
    with pytest.raises(ValueError, match="this encoder has other parameters; leave them out"):
        HNNE(metric="gower", metric_params={"categories": ["size"]}).fit(frame, like=old)


def test_records_that_are_damaged() -> None:
    record, arrays = GowerEncoder().fit(table()).to_record()
    again = GowerEncoder.from_record(record, arrays)
    np.testing.assert_array_equal(again.transform(table()), GowerEncoder().fit_transform(table()))
    columns = record["columns"]
    for change in (
        {"version": 2},
        {"columns": []},
        {"columns": None},
        {"has_gaps": 1},
        {"categories": [1.5]},
        {"categories": 3},
        {"columns": [{**columns[0], "scale": -1.0}]},
        {"columns": [{**columns[0], "mean": [0.0, 0.0]}]},
        {"columns": [{**columns[0], "low": float("nan")}]},
    ):
        with pytest.raises(ModelFileError):
            GowerEncoder.from_record({**record, **change}, arrays)


def test_rows_of_nothing_but_gaps_are_read_as_others() -> None:
    """As a row of Python objects gives them: nothing shows what its columns hold."""
    table = {"size": [1.0, None, 3.0], "kind": ["a", "b", None]}
    encoder = GowerEncoder().fit(table)
    together = encoder.transform(table)
    for i in range(3):
        rows = encoder.transform(pd.DataFrame([{name: v[i] for name, v in table.items()}]))
        assert rows.tobytes() == together[i].tobytes()


def test_names_of_the_numbers() -> None:
    encoder = GowerEncoder().fit({"size": [1.0, None], "kind": ["a", "b"]})
    assert encoder.get_feature_names_out().tolist() == [
        *("size", "kind=a", "kind=b", "kind=(new)"),
        *("size there", "kind=a there", "kind=b there", "kind=(new) there"),
    ]
