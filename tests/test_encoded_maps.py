"""`HNNE(encoder=…)`: maps of raw tables, in memory and in files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from conftest import digits
from sklearn import config_context
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from test_tables import films

import nestmap
from nestmap import HNNE, ModelFileError
from nestmap.model.files.container import read_container, write_container
from nestmap.tables import TableEncoder
from nestmap.tables.encoded import EncodedTable
from nestmap.views.plots.colors import get_theme
from nestmap.views.plots.rows import color_by_quality


def first(table: dict[str, Any], n: int) -> dict[str, Any]:
    """The first rows."""
    return {name: values[:n] for name, values in table.items()}


@pytest.fixture(scope="module")
def model() -> HNNE:
    return HNNE(encoder="table").fit(films())


def test_a_raw_table_gives_the_map_of_its_encoded_rows(model: HNNE) -> None:
    encoder = TableEncoder()
    rows = encoder.fit_transform(films())
    np.testing.assert_array_equal(model.embedding_, HNNE().fit(rows).embedding_)
    assert model.encoder_ is not None and str(model.encoder_.decisions_) == str(encoder.decisions_)
    assert model.n_features_in_ == 10
    assert model.feature_names_in_.tolist() == [*films()]
    assert HNNE().fit(rows).encoder_ is None


@pytest.mark.parametrize(
    "columns",
    [None, {"mpaa": "drop", "title": "category"}],
)
def test_models_with_encoders_come_back_from_files(
    tmp_path: Path, columns: dict[str, str] | None
) -> None:
    asked = TableEncoder(columns, weights={"rating": 2}, missing="mean")
    fitted = HNNE(encoder=asked).fit(films())
    assert not hasattr(asked, "decisions_")  # parameters are not fitted
    fitted.save(tmp_path / "m.nestmap")
    again = nestmap.load(tmp_path / "m.nestmap")
    new = films(50, seed=2)
    np.testing.assert_array_equal(again.transform(new), fitted.transform(new))
    np.testing.assert_array_equal(again.predict(films()), fitted.labels_)
    assert isinstance(again, HNNE) and again.encoder.get_params() == asked.get_params()
    assert again.feature_names_in_.tolist() == [*films()]
    assert str(again.encoder_.decisions_) == str(fitted.encoder_.decisions_)


def test_an_infinitely_long_tail_comes_back(tmp_path: Path) -> None:
    """Of a column whose quartiles are equal, the farthest value is infinitely many ranges away."""
    fitted = HNNE(encoder="table").fit(films() | {"odd": [0.0] * 290 + [*range(1, 11)]})
    assert fitted.encoder_ is not None and fitted.encoder_.decisions_["odd"].profile.tail == np.inf
    fitted.save(tmp_path / "m.nestmap")
    again = nestmap.load(tmp_path / "m.nestmap")
    assert again.encoder_.decisions_ == fitted.encoder_.decisions_


def test_parameters_travel(model: HNNE) -> None:
    other = clone(HNNE(encoder=TableEncoder(texts="tfidf")))
    assert other.get_params()["encoder__texts"] == "tfidf"
    assert other.set_params(encoder__texts="names").encoder.texts == "names"
    with pytest.raises(ValueError, match=r"encoder__texts: encoder='table' is a short form.*Table"):
        clone(model).set_params(encoder__texts="names")
    assert not hasattr(clone(model), "encoder_")
    again = make_pipeline(HNNE(encoder="table")).fit_transform(pd.DataFrame(films()))
    np.testing.assert_array_equal(again, model.embedding_)
    layout = model.relayout(layout="mosaic")
    assert layout.encoder_ is model.encoder_ and layout.n_features_in_ == 10


def test_new_rows_are_raw(model: HNNE) -> None:
    new = first(films(), 40)
    np.testing.assert_array_equal(model.transform(new), model.embedding_[:40])
    turned = dict(reversed(new.items()))
    del turned["video"], turned["title"]  # which the map does not depend on
    np.testing.assert_array_equal(model.predict(turned | {"more": [1] * 40}), model.labels_[:40])
    with pytest.raises(ValueError, match="no column 'rating', which the map depends on"):
        model.transform({name: values for name, values in new.items() if name != "rating"})
    with pytest.warns(UserWarning, match="column 'mpaa': the fit saw no 'X'"):
        model.transform(new | {"mpaa": ["X"] * 40})
    with pytest.raises(ValueError, match="encoded by another encoder"):
        model.transform(EncodedTable.of(new, TableEncoder().fit(films())))
    given = EncodedTable.of(new, model.encoder_)
    np.testing.assert_array_equal(model.transform(given), model.embedding_[:40])


def test_models_grow_by_raw_rows(model: HNNE, tmp_path: Path) -> None:
    more = model.extend(films(60, seed=1))
    assert len(more.labels_) == 360 and more.encoder_ is model.encoder_
    more.save(tmp_path / "more.nestmap")
    loaded = nestmap.load(tmp_path / "more.nestmap")
    np.testing.assert_array_equal(loaded.transform(first(films(), 9)), model.embedding_[:9])
    assert model.forget(range(100)).encoder_ is model.encoder_
    assert loaded.drift(joined(films(), films(60, seed=1))).n_sampled == 360
    pages = loaded.explore(joined(films(), films(60, seed=1)), path=tmp_path / "pages")
    assert Path(pages).is_dir()
    with pytest.raises(ValueError, match="X is not the data of the fit"):
        loaded.relayout(films(360, seed=5))


def joined(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    return {name: [*one[name], *other[name]] for name in one}


def test_a_fit_like_another_takes_its_encoder(model: HNNE, tmp_path: Path) -> None:
    model.save(tmp_path / "old.nestmap")
    table = joined(first(films(), 200), films(100, seed=4))
    new = HNNE(encoder="table").fit(table, like=tmp_path / "old.nestmap")
    old_rows = TableEncoder.from_record(*model.encoder_.to_record()).transform(films())
    np.testing.assert_array_equal(new.encoder_.transform(films()), old_rows)
    assert len(nestmap.compare(model, new).new_rows) == 200
    with pytest.raises(ValueError, match=r"like: .*HNNE\(encoder='table'\)"):
        HNNE().fit(digits()[:50], like=model)
    with pytest.raises(ValueError, match="this encoder has other parameters"):
        HNNE(encoder=TableEncoder(texts="tfidf")).fit(table, like=model)


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"encoder": "tabel"}, r"encoder='tabel' \(did you mean 'table'\?\)"),
        ({"encoder": 7}, "encoder='7': must be None"),
        ({"encoder": TableEncoder}, "must be None"),
        ({"encoder": "table", "metric": "precomputed"}, "encoder: metric='precomputed'"),
        ({"encoder": TableEncoder({"no": "drop"})}, "no such column"),
    ],
)
def test_what_cannot_be_encoded_is_told(wrong: dict[str, Any], told: str) -> None:
    fresh = HNNE(**wrong)
    with pytest.raises(ValueError, match=told):
        fresh.fit(films())
    assert not hasattr(fresh, "hierarchy_")


@pytest.mark.parametrize(
    "options",
    [
        {"encoder": "table"},
        {"encoder": TableEncoder().set_output(transform="pandas")},
        {"metric": "gower"},
    ],
)
def test_rows_may_come_in_frames_as_scikit_learn_is_asked_for_them(options: dict[str, Any]) -> None:
    table = first({name: films()[name] for name in ("rating", "mpaa", "sequel")}, 60)
    plain = HNNE(**{**options, **({"encoder": "table"} if "encoder" in options else {})}).fit(table)
    with config_context(transform_output="pandas"):
        fitted = HNNE(**options).fit(table)
        framed = fitted.transform(first(table, 9))
        assert isinstance(framed, pd.DataFrame)
        np.testing.assert_array_equal(framed, plain.transform(table)[:9])
        np.testing.assert_array_equal(fitted.predict(table), plain.labels_)
        assert len(fitted.extend(first(table, 3)).labels_) == 63
        assert fitted.relayout(table, n_components=3).embedding_.shape == (60, 3)


def test_colours_of_quality_compare_rows_as_the_model_does(model: HNNE, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    model.save(tmp_path / "m.nestmap")
    again = nestmap.load(tmp_path / "m.nestmap")
    expected = color_by_quality(model, "recall", None, get_theme("light")).codes
    for rows in (films(), EncodedTable(model.encoder_.transform(films()), model.encoder_)):
        found = color_by_quality(again, "recall", rows, get_theme("light"))
        np.testing.assert_array_equal(found.codes, expected)


def test_raw_tables_are_described(model: HNNE, tmp_path: Path) -> None:
    model.save(tmp_path / "m.nestmap")
    for each in (model, nestmap.load(tmp_path / "m.nestmap"), model.relayout(n_components=2)):
        told = each.hierarchy_.describe(-1, X=films())
        rows = EncodedTable.of(films(), each.encoder_)
        assert {trait.column for own in told for trait in own.traits} >= {"rating", "mpaa"}
        near = each.hierarchy_.describe(-1, X=rows)
        assert [own.typical for own in told] == [own.typical for own in near]
        assert not any(own.traits for own in near)
        levels = each.describe([-1], X=pd.DataFrame(films()), label="mpaa")
        assert next(iter(levels.values()))[0].typical == told[0].typical[:5]
    with pytest.raises(ValueError, match="no column 'budget', 'mpaa'"):
        model.describe(X={"rating": films()["rating"]})
    with pytest.raises(ValueError, match="feature_names: the columns of the table"):
        model.hierarchy_.describe(X=films(), feature_names=["a"])


def test_plans_and_tags_know_of_the_encoder() -> None:
    assert HNNE(encoder="table").plan(films()).memory > 0
    tags = HNNE(encoder="table").__sklearn_tags__().input_tags
    assert tags.string and tags.allow_nan and not tags.sparse
    assert not HNNE().__sklearn_tags__().input_tags.string


def change_record(path: Path, record: Any = None, **changes: Any) -> None:
    """Write the file anew with another record of its encoder, or a changed one."""
    stored = read_container(path, "nestmap-model", 3)
    arrays = {name: np.array(values) for name, values in stored.arrays.items()}
    record = record or json.loads(arrays["encoder/record/bytes"].tobytes()) | changes
    text = json.dumps(record).encode()
    arrays["encoder/record/bytes"] = np.frombuffer(text, dtype=np.uint8)
    document = dict(stored.document)
    names = document["arrays"]
    arrays["encoder/own"] = np.array([len(text)])
    document["arrays"] = names | {"encoder/record/ends": ["encoder/own", "<i8"]}
    document.pop("crc32", None)
    write_container(path, "nestmap-model", 3, document, arrays)


@pytest.mark.parametrize(
    "changes",
    [
        {"version": 9},
        {"blocks": []},
        {"decisions": None},
        {"arrays": ["nothing"]},
        {"arrays": 5},
        {"noise": -1.0},
        {"record": {"number": "inf"}},
        {"parameters": {}},
        {"parameters": {"columns": "ab", "weights": None, "texts": "names", "missing": "mean"}},
    ],
)
def test_damaged_encoders_are_told(model: HNNE, tmp_path: Path, changes: dict[str, Any]) -> None:
    path = tmp_path / "m.nestmap"
    model.save(path)
    change_record(path)
    assert len(nestmap.load(path).labels_) == 300
    change_record(path, **changes)
    with pytest.raises(ModelFileError, match=r"m\.nestmap: the encoder of its tables: "):
        nestmap.load(path)


def test_decisions_of_a_file_can_be_printed(model: HNNE, tmp_path: Path) -> None:
    """Or are refused: each field is of its type."""
    path = tmp_path / "m.nestmap"
    model.save(path)
    good = json.loads(json.dumps(model.encoder_.to_record()[0]["decisions"]))
    for name, wrong in (("missing", "much"), ("action", 5), ("n_distinct", None), ("mapped", 1)):
        decisions = json.loads(json.dumps(good))
        decisions["decisions"][2][name] = wrong
        change_record(path, decisions=decisions)
        with pytest.raises(ModelFileError, match=f"damaged .decisions.: {name} is no"):
            nestmap.load(path)


def test_tables_of_dask(model: HNNE) -> None:
    """Their rows can be placed, chunk by chunk; fits want them encoded before."""
    pytest.importorskip("distributed")
    frames = pytest.importorskip("dask.dataframe")
    table = pd.DataFrame(films())
    chunks = frames.from_pandas(table, npartitions=3)
    with pytest.raises(ValueError, match="encoder: tables of dask are not encoded"):
        HNNE(encoder="table").fit(chunks)
    placed = model.transform(chunks).compute(scheduler="synchronous")
    np.testing.assert_array_equal(placed, model.embedding_)
