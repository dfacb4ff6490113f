"""`nestmap fit` on tables: what is decided, told, kept, and placed; what fails, and when."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import digits
from test_tables import films

from nestmap import HNNE
from nestmap.app.cli import main
from nestmap.app.runs.folder import RunFolder

DIGITS = digits()[:200]


def here(*arguments: Any, code: int = 0) -> None:
    assert main([*map(str, arguments)]) == code


def write_csv(path: Path, table: dict[str, Any]) -> Path:
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(table)
        for row in zip(*table.values(), strict=True):
            writer.writerow(["" if value != value else value for value in row])
    return path


def rows_of(path: Path) -> list[dict[str, str]]:
    return [*csv.DictReader(path.read_text().splitlines())]


def texts_on(n: int, seed: int = 0) -> dict[str, Any]:
    """Texts on two subjects."""
    rng = np.random.default_rng(seed)
    words = {"sea": "wave salt ship crab tide reef", "sky": "cloud wind bird star rain moon"}
    topics = [[*words][i % 2] for i in range(n)]
    texts = [" ".join(rng.choice(words[topic].split(), 5)) for topic in topics]
    return {"doc": [f"d{i}" for i in range(n)], "body": texts, "topic": topics}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of a table of all kinds of columns."""
    folder = tmp_path_factory.mktemp("films")
    write_csv(folder / "films.csv", films())
    here("fit", folder / "films.csv", "-o", folder / "run", "--id", "title", "--quiet")
    return folder / "run"


def no_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("a fit began")

    monkeypatch.setattr(HNNE, "fit", refuse)


# -- what is decided


def test_tables_are_encoded_and_decisions_are_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write_csv(tmp_path / "films.csv", films())
    here("fit", path, "-o", tmp_path / "run", "--id", "title", "--label", "mpaa")
    said = capsys.readouterr()
    lines = {line.split()[0]: line for line in said.err.splitlines() if line.startswith("  ")}
    assert set(lines) >= {"budget", "rating", "released", "studio", "video", "unit", "title"}
    assert "number" in lines["budget"] and lines["budget"].endswith("--kind budget=drop")
    assert "% empty" in lines["rating"] and "constant" in lines["unit"]
    assert "the label" in lines["mpaa"] and "the name of each row" in lines["title"]
    assert "5 of 8 columns mapped" in said.err
    assert "columns mapped" not in said.out  # said once
    here("info", tmp_path / "run")
    told = capsys.readouterr().out
    assert all(line in told.splitlines() for line in lines.values())
    model = RunFolder(tmp_path / "run").model()
    table = {name: values for name, values in films().items() if name not in ("title", "mpaa")}
    assert model.encoder_.feature_names_in_.tolist() == [*table]
    assert [each.name for each in model.encoder_.decisions_.mapped] == [
        *("budget", "rating", "released", "sequel", "studio")
    ]


def test_what_was_mapped_stays_in_the_run(run: Path, tmp_path: Path) -> None:
    rows = RunFolder(run).rows()
    assert [*rows.metadata] == [name for name in films() if name != "title"]
    np.testing.assert_allclose(rows.metadata["rating"], films()["rating"])
    assert rows.metadata["mpaa"].tolist() == films()["mpaa"]
    assert rows.names is not None and rows.names[3] == "Film 3"
    for color in ("rating", "mpaa"):
        here("plot", run, "-o", tmp_path / f"{color}.svg", "--color", color, "--quiet")
    here("export", run, "-o", tmp_path / "all.csv", "--quiet")
    assert rows_of(tmp_path / "all.csv")[5]["studio"] == films()["studio"][5]


def test_a_run_keeps_what_makes_names_true(run: Path) -> None:
    folder = RunFolder(run)
    names = folder.names()
    whys = folder.whys()
    assert [*whys] == [*names]
    said = [why for level in whys for why in whys[level] if why]
    assert said and all("%" in line for why in said for line in why.split("\n"))
    assert any("; median " in why for why in said)


def test_decisions_are_changed_by_options(tmp_path: Path) -> None:
    path = write_csv(tmp_path / "films.csv", films())
    kinds = ["--kind", "mpaa=drop", "--kind", "video=number"]
    here("fit", path, "-o", tmp_path / "run", *kinds, "--missing", "mean", "--quiet")
    encoder = RunFolder(tmp_path / "run").model().encoder_
    assert encoder.columns == {"mpaa": "drop", "video": "number"} and encoder.missing == "mean"
    assert encoder.decisions_["mpaa"].kind == "drop" and encoder.decisions_["video"].mapped
    here("fit", path, "-o", tmp_path / "few", "--columns", "rating,4", "--quiet")
    found = RunFolder(tmp_path / "few")
    assert found.model().encoder_.feature_names_in_.tolist() == ["rating", "mpaa"]
    assert "studio" in found.rows().metadata


def test_many_columns_are_told_in_few_lines(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rng = np.random.default_rng(0)
    table: dict[str, Any] = {f"s{i}": rng.normal(size=60) * 10.0**i for i in range(60)}
    path = write_csv(tmp_path / "t.csv", table | {"kind": [*"ab"] * 30})
    here("fit", path, "-o", tmp_path / "run")
    lines = [line for line in capsys.readouterr().err.splitlines() if line.startswith("  ")]
    assert len(lines) == 2 and "s0, s1, s2 … and 57 more" in lines[0]


def test_columns_may_turn_to_text_late_and_codes_keep_their_zeros(tmp_path: Path) -> None:
    n = 1500
    table = {
        "size": np.random.default_rng(0).normal(size=n).tolist(),
        "late": [*range(n - 2), "unknown", "n/a"],
        "zip": [f"0{1000 + i % 7}" for i in range(n)],
    }
    path = write_csv(tmp_path / "t.csv", table)
    here("fit", path, "-o", tmp_path / "run", "--quiet", "--kind", "late=number")
    found = RunFolder(tmp_path / "run")
    assert found.rows().metadata["late"][-2] == "unknown"
    assert found.rows().metadata["zip"][0] == "01000"
    assert found.model().encoder_.decisions_["zip"].kind == "category"


# -- vectors and texts


def test_an_embedding_is_mapped_and_texts_name_its_clusters(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    emb = DIGITS.astype(np.float32)
    columns = texts_on(200) | {"year": np.arange(200) % 30}
    vectors = arrow.FixedSizeListArray.from_arrays(arrow.array(emb.ravel()), 64)
    path = tmp_path / "docs.parquet"
    parquet.write_table(arrow.table({**columns, "emb": vectors}), path)
    expected = HNNE().fit(emb).embedding_
    here("fit", path, "-o", tmp_path / "auto")
    assert "emb holds vectors of 64 numbers: mapped as they are" in capsys.readouterr().err
    asked = ["--vectors", "emb", "--texts", "body", "--label", "topic", "--id", "doc"]
    here("fit", path, "-o", tmp_path / "asked", *asked, "--quiet")
    for name in ("auto", "asked"):
        found = RunFolder(tmp_path / name)
        np.testing.assert_array_equal(found.model().embedding_, expected)
        assert found.record["reading"]["texts"] == "body"
        assert {"body", "topic", "year"} <= found.rows().metadata.keys()
    assert next(iter(found.rows().metadata)) == "topic"
    here("transform", tmp_path / "asked", path, "-o", tmp_path / "new.csv", "--quiet")
    first = rows_of(tmp_path / "new.csv")[0]
    assert first["name"] == "d0" and first["text"] == columns["body"][0]
    here("score", path, tmp_path / "asked", "--quiet")
    here("fit", path, "-o", tmp_path / "words", "--kind", "emb=drop", "--texts", "body", "--quiet")
    assert RunFolder(tmp_path / "words").record["reading"]["text"] == "body"


def test_texts_are_mapped_where_nothing_else_is(tmp_path: Path) -> None:
    path = write_csv(tmp_path / "t.csv", texts_on(80))
    stars = np.arange(80) % 5 + 1.5
    more = write_csv(tmp_path / "more.csv", texts_on(80) | {"stars": stars, "size": stars**2})
    for name, options in (
        ("alone", (path,)),
        ("asked", (more, "--texts", "body")),
        ("beside", (more,)),
        ("columns", (more, "--texts", "body", "--columns", "stars,size")),
    ):
        here("fit", *options, "-o", tmp_path / name, "--quiet")
    reading = {
        name: RunFolder(tmp_path / name).record["reading"]
        for name in ("alone", "asked", "beside", "columns")
    }
    assert [reading[name]["text"] for name in reading] == ["body", "body", False, False]
    assert [reading[name]["texts"] for name in reading] == ["body", "body", None, "body"]
    assert RunFolder(tmp_path / "alone").model().metric == "cosine"
    assert RunFolder(tmp_path / "columns").model().encoder_.n_features_in_ == 2


def test_what_makes_a_vector_is_mapped_as_it_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    expected = HNNE().fit(DIGITS).embedding_
    pixels = {f"p{i}": DIGITS[:, i] for i in range(64)}
    alike = write_csv(tmp_path / "alike.csv", {"kind": [*"ab"] * 100, **pixels})
    bare = tmp_path / "bare.csv"
    np.savetxt(bare, DIGITS, delimiter=",")
    named = write_csv(tmp_path / "named.csv", {"size": DIGITS[:, 20], "mass": DIGITS[:, 21]})
    for path in (alike, bare):
        here("fit", path, "-o", tmp_path / path.stem)
        assert "make a vector of 64 numbers: mapped as it is" in capsys.readouterr().err
        np.testing.assert_array_equal(RunFolder(tmp_path / path.stem).model().embedding_, expected)
    here("fit", named, "-o", tmp_path / "raw", "--vectors", "--quiet")
    model = RunFolder(tmp_path / "raw").model()
    np.testing.assert_array_equal(model.embedding_, HNNE().fit(DIGITS[:, 20:22]).embedding_)
    assert {"size", "mass"} <= RunFolder(tmp_path / "raw").rows().metadata.keys()
    here("fit", alike, "-o", tmp_path / "few", "--columns", "1-3", "--quiet")
    assert RunFolder(tmp_path / "few").model().encoder_.n_features_in_ == 3


def test_columns_called_alike_are_encoded_where_few_would_decide(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    table = {f"s{i}": rng.normal(size=80) * (1e6 if i == 3 else 1) for i in range(20)}
    here("fit", write_csv(tmp_path / "t.csv", table), "-o", tmp_path / "run", "--quiet")
    assert RunFolder(tmp_path / "run").model().encoder_ is not None
    gaps = {
        f"s{i}": np.where(rng.random(80) < 0.1, np.nan, 1.0 + rng.random(80)) for i in range(20)
    }
    here("fit", write_csv(tmp_path / "g.csv", gaps), "-o", tmp_path / "gaps", "--quiet")
    assert RunFolder(tmp_path / "gaps").model().encoder_ is not None


def test_arrays_are_taken_as_they_are(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", DIGITS)
    here("fit", tmp_path / "x.npy", "-o", tmp_path / "run", "--quiet")
    model = RunFolder(tmp_path / "run").model()
    assert model.encoder_ is None
    np.testing.assert_array_equal(model.embedding_, HNNE().fit(DIGITS).embedding_)


# -- new rows


def test_new_rows_are_placed_raw(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    new = {name: values[:30] for name, values in reversed(films().items())}
    path = write_csv(tmp_path / "new.csv", new | {"mpaa": [*new["mpaa"][:29], "X-rated"]})
    here("transform", run, path, "-o", tmp_path / "out.csv", "--levels", "0,-1")
    assert "column 'mpaa': the fit saw no 'X-rated'" in capsys.readouterr().err
    rows = rows_of(tmp_path / "out.csv")
    found = RunFolder(run)
    model = found.model()
    top = model.hierarchy_.n_levels - 1
    assert [*rows[0]] == [
        *("name", "x", "y", "distance", "cluster", "cluster_name", "level_0", "level_0_name"),
        *(f"level_{top}", f"level_{top}_name"),
    ]
    places = np.array([[float(row["x"]), float(row["y"])] for row in rows])
    np.testing.assert_array_equal(places[:29], model.embedding_[:29])
    assert [row["name"] for row in rows] == new["title"]
    names = found.names()
    for row, label in zip(rows[:29], model.labels_[:29], strict=True):
        assert row["cluster"] == str(label)
        assert row["cluster_name"] == names[model.label_level_][label]
    assert rows[4][f"level_{top}"] == str(model.hierarchy_.labels(-1)[4])


def test_new_rows_without_a_column_that_counts(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    new = {name: values[:9] for name, values in films().items() if name != "rating"}
    path = write_csv(tmp_path / "new.csv", new)
    here("transform", run, path, "-o", tmp_path / "out.csv", code=2)
    assert "no column 'rating', which the map depends on" in capsys.readouterr().err
    here("transform", run, path, "-o", tmp_path / "out.csv", "--levels", "99", code=2)
    assert "--levels 99: the run has levels 0 to" in capsys.readouterr().err
    here("transform", run, path, "-o", tmp_path / "out.csv", "--missing", "drop", code=2)
    assert "--missing drop: the run has 'expected'" in capsys.readouterr().err
    assert not (tmp_path / "out.csv").exists()


def test_scores_and_later_fits_use_the_encoder_of_the_run(run: Path, tmp_path: Path) -> None:
    data = run.parent / "films.csv"
    here("score", data, run, "--quiet")
    model = RunFolder(run).model()
    here("plot", run, "-o", tmp_path / "p.svg", "--color", "recall", "--data", data, "--quiet")
    more = films(200, seed=3)
    table = {name: [*values, *more[name]] for name, values in films().items()}
    path = write_csv(tmp_path / "more.csv", table)
    like = run / "map-2d.nestmap"
    here("fit", path, "-o", tmp_path / "new", "--id", "title", "--like", like, "--quiet")
    here("fit", path, "-o", tmp_path / "no", "--like", like, "--kind", "mpaa=drop", code=2)
    assert "encoded as an earlier table was:" in RunFolder(tmp_path / "new").record["decisions"]
    new = RunFolder(tmp_path / "new").model()
    first = {name: values[:50] for name, values in films().items()}
    np.testing.assert_array_equal(new.encoder_.transform(first), model.encoder_.transform(first))
    here("score", data, run, "--columns", "rating", code=2)


# -- what fails fails at once


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--label", "ratin"], "--label ratin is no column; did you mean 'rating'?"),
        (["--id", "nobody"], "--id nobody is no column"),
        (["--texts", "nothing"], "--texts nothing is no column"),
        (["--columns", "rating,nothing"], "--columns nothing is no column"),
        (["--columns", "3-99"], "--columns 3-99: there are columns 0 to 9"),
        (["--vectors", "nothing"], "--vectors nothing is no column"),
        (["--kind", "nothing=drop"], "--kind nothing is no column"),
        (["--columns", "rating", "--kind", "mpaa=drop"], "--kind mpaa: the column is not among"),
        (["--vectors", "rating", "--kind", "mpaa=drop"], "leave one of them out"),
        (["--vectors", "rating", "--columns", "mpaa"], "leave one of them out"),
        (["--label", "mpaa", "--kind", "mpaa=category"], "column 'mpaa' has two tasks: --label"),
        (["--texts", "mpaa", "--vectors", "mpaa"], "two tasks: --texts"),
        (["--missing", "drop"], "--missing drop is for numbers as they are (--vectors)"),
        (["--vectors", "rating", "--missing", "expected"], "--missing expected is for columns"),
        (["--metric", "euclid"], "--metric euclid is no metric (did you mean 'euclidean'?)"),
        (["--metric", "gower"], "--metric gower compares tables, which it encodes"),
        (["--target-recall", "7"], "--target-recall 7"),
        (["--neighbors", "exactly"], "--neighbors exactly"),
        (["--layout", "mosaic", "--dims", "3"], "--layout mosaic is for the plane"),
        (["--max-memory", "much"], "--max-memory much is not a size"),
        (["--threads", "0"], "--threads 0"),
        (["--plot", "no-folder/map.png"], "there is no folder no-folder"),
    ],
)
def test_what_will_fail_fails_before_the_file_is_read(
    options: list[str],
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A row that cannot be read lies beyond the first thousand, and is never met."""
    no_fit(monkeypatch)
    path = write_csv(tmp_path / "films.csv", films(1200))
    path.write_text(path.read_text() + "too,few\n")
    code = 3 if "--plot" in options else 2
    here("fit", path, "-o", tmp_path / "run", *options, code=code)
    told = capsys.readouterr().err
    assert said in told and "too,few" not in told and "line 1,202" not in told, told
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("wrong", ["mpaa", "mpaa=", "=drop", "mpaa=catgory"])
def test_kinds_that_do_not_exist(wrong: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["fit", "t.csv", "-o", "run", "--kind", wrong])
    assert "such as zip=category" in capsys.readouterr().err


def test_options_for_tables_are_refused_elsewhere(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    np.save(tmp_path / "x.npy", DIGITS)
    for options, said in (
        (("--kind", "a=drop"), "--kind is for tables, and this is read as npy"),
        (("--vectors", "a"), "--vectors is for tables"),
        (("--missing", "expected"), "--missing expected is for tables"),
        (("--texts", "a"), "--texts a is no column"),
    ):
        here("fit", tmp_path / "x.npy", "-o", tmp_path / "run", *options, code=2)
        assert said in capsys.readouterr().err


def test_a_table_without_anything_to_map_is_told_in_a_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = {"id": range(40), "unit": ["kg"] * 40}
    here("fit", write_csv(tmp_path / "t.csv", table), "-o", tmp_path / "run", code=2)
    (line,) = capsys.readouterr().err.splitlines()
    assert "there is nothing to map: id (counter: counts the rows), unit (constant" in line
    assert "--kind NAME=KIND" in line


def test_a_map_like_one_of_gowers_distances_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write_csv(tmp_path / "films.csv", films())
    HNNE(metric="gower").fit({"rating": films()["rating"], "mpaa": films()["mpaa"]}).save(
        tmp_path / "old.nestmap"
    )
    here("fit", path, "-o", tmp_path / "run", "--like", tmp_path / "old.nestmap", code=2)
    assert "by Gower's distance, which is there in Python alone" in capsys.readouterr().err


def test_an_encoded_table_does_not_follow_a_map_of_plain_numbers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_csv(tmp_path / "films.csv", films())
    HNNE().fit(DIGITS).save(tmp_path / "old.nestmap")
    no_fit(monkeypatch)
    here("fit", path, "-o", tmp_path / "run", "--like", tmp_path / "old.nestmap", code=2)
    assert "name those that it maps by --vectors" in capsys.readouterr().err
