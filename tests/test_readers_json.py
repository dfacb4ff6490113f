"""JSON files: the same table as of a csv with the same cells, and errors that name the line."""

from __future__ import annotations

import csv
import gzip
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import LIMIT
from hypothesis import given
from hypothesis import strategies as st

from nestmap import HNNE, FileFormatError
from nestmap.app.readers import json_files
from nestmap.app.readers.choice import Choice
from nestmap.app.readers.read import read_file
from nestmap.readers import Table, read_table

RECORDS = [
    {"name": "A", "size": 1.5, "made": "2001-02-03", "ok": True, "at": {"x": 1, "y": {"z": 2}}},
    {"name": "B", "size": None, "ok": False, "tags": ["u", "v"], "at": {"x": 3}},
    {"name": "C", "size": 7, "made": None, "more": [1, {"a": 2}]},
]


def write(path: Path, content: Any) -> Path:
    text = content if isinstance(content, str) else json.dumps(content)
    data = text.encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


def lines(records: list[Any]) -> str:
    return "".join(f"{json.dumps(record)}\n" for record in records)


def as_dict(table: Table) -> dict[str, Any]:
    return {
        "X": None if table.X is None else np.asarray(table.X).tolist(),
        "columns": table.columns,
        "metadata": {name: values.tolist() for name, values in table.metadata.items()},
        "left_out": table.left_out,
    }


@pytest.mark.parametrize("name", ["t.json", "t.jsonl", "t.ndjson", "t.jsonl.gz", "t.json.gz"])
def test_records(name: str, tmp_path: Path) -> None:
    is_lines = "l" in name or "nd" in name
    path = write(tmp_path / name, lines(RECORDS) if is_lines else RECORDS)
    table = read_table(path, id="name", missing="mean")
    np.testing.assert_allclose(table.X, [[1.5, 1], [4.25, 3], [7, 2]])
    assert table.columns == ("size", "at.x") and table.names.tolist() == ["A", "B", "C"]
    assert {name: values.tolist() for name, values in table.metadata.items()} == {
        "made": ["2001-02-03", "", ""],
        "ok": ["true", "false", ""],
        "at.y": ['{"z": 2}', "", ""],
        "tags": ["", "u, v", ""],
        "more": ["", "", '[1, {"a": 2}]'],
    }


def test_texts_with_their_embeddings(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(40, 8))
    records = [{"text": f"a text {i}", "embedding": row.tolist()} for i, row in enumerate(vectors)]
    table = read_table(write(tmp_path / "t.jsonl", lines(records)))
    np.testing.assert_array_equal(table.X, vectors)
    assert [*table.metadata] == ["text"] and table.taken == ("embedding",)
    HNNE().fit(table.X)
    by_words = read_table(tmp_path / "t.jsonl", text="text")
    assert by_words.text == "text" and by_words.X.shape[0] == 40


def test_forms_of_pandas_and_others(tmp_path: Path) -> None:
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"a": [1, 2, 4], "b": [0.5, 1.5, 2.5], "c": ["x", "y", "z"]})
    expected = {"columns": ("a", "b"), "X": frame[["a", "b"]].to_numpy().tolist()}
    for orient in ("records", "columns", "split", "table", "index", "values"):
        table = read_table(write(tmp_path / "t.json", frame.to_json(orient=orient)))
        assert np.asarray(table.X).tolist() == expected["X"], orient
        assert table.columns == (("0", "1") if orient == "values" else expected["columns"])
    named = frame.set_index("c")
    for orient in ("columns", "index"):
        table = read_table(write(tmp_path / "t.json", named.to_json(orient=orient)), id="")
        assert table.names.tolist() == ["x", "y", "z"] and table.columns == ("a", "b")
    for content, part in (
        ({"a": [1, 2], "b": [3, 5]}, ""),
        ({"page": 1, "results": [{"a": 1, "b": 3}, {"a": 2, "b": 5}], "errors": []}, " (results)"),
        ([["a", "b"], [1, 3], [2, 5]], ""),
    ):
        table = read_table(write(tmp_path / "t.json", content))
        assert np.asarray(table.X).tolist() == [[1, 3], [2, 5]] and table.columns == ("a", "b")
        assert table.source == f"{tmp_path / 't.json'}{part}"


def test_an_entry_by_its_key(tmp_path: Path) -> None:
    path = write(tmp_path / "t.json", {"train": [{"a": 1.5}], "test": [{"a": 2}, {"a": 3}]})
    assert read_table(path, key="test").X.tolist() == [[2], [3]]
    with pytest.raises(ValueError, match=r"which entry holds the rows\? It has train, test.*key="):
        read_table(path)
    with pytest.raises(ValueError, match="key='tset' is not there; it has train, test"):
        read_table(path, key="tset")


def test_lists_of_whole_numbers_of_many_lengths_are_tags(tmp_path: Path) -> None:
    records = [{"a": 1.5, "genres": [28, 12]}, {"a": 2, "genres": [3]}, {"a": 3, "genres": []}]
    assert read_table(write(tmp_path / "t.json", records)).metadata["genres"].tolist() == [
        "28, 12",
        "3",
        "",
    ]


def test_a_file_of_lines_called_json_and_lines_that_are_lists(tmp_path: Path) -> None:
    path = write(tmp_path / "t.json", lines([{"a": 1}, {"a": 3}]))
    assert read_table(path).X.tolist() == [[1], [3]]
    path = write(tmp_path / "t.jsonl", "[1, 2.5]\n\n[3, 4]\n")
    assert read_table(path).X.tolist() == [[1, 2.5], [3, 4]]


@pytest.mark.parametrize(
    ("name", "content", "match"),
    [
        (
            "t.jsonl",
            '{"a": 1}\n\n{"a": 2\n',
            r"t.jsonl, line 3: is no JSON, at column 8: Expecting",
        ),
        ("t.jsonl", '{"a": 1}\n7\n', r"line 2: holds a number \(7\) after others.*an object such"),
        ("t.jsonl", '{"a": 1}\n[2]\n', r"line 2: holds a list \(\[2\]\) after others"),
        ("t.jsonl", "[1, 2]\n\n[1]\n", "line 3: 1 values; expected 2"),
        ("t.jsonl", "\n", "has no rows"),
        ("t.json", "", "t.json is empty"),
        ("t.json", "[]", "has no rows"),
        ("t.json", "{}", "has no rows"),
        ("t.json", '[\n{"a": 1},\n{"a": }]', "t.json, line 3: is no JSON, at column 7"),
        ("t.json", '[{"a": 1}, "b"]', r'record 2: holds a text \("b"\) after others'),
        ("t.json", "5", r"holds a number \(5\); expected records"),
        ("t.json", '{"a": [1, 2], "b": [1]}', r"columns differ in length \(a: 2, b: 1\)"),
        ("t.json", '{"columns": ["a", "b"], "data": [[1]]}', "do not fit 'columns'"),
        ("t.json", '{"columns": 5, "data": 6}', "which entry holds the rows"),
        ("t.json", "[" * 100_000, "no JSON that can be read"),
        ("t.json", f'[{{"a": {"9" * 5000}}}]', "no JSON that can be read"),
        (
            "t.jsonl",
            '{"e": [0.5, 1]}\n{"e": [0.5, 2, 3]}\n',
            "t.jsonl, line 2, column 'e': a vector of 3; expected a vector of 2 numbers",
        ),
        ("t.jsonl", '{"e": [0.5, 1]}\n{"b": 2}\n', "line 2, column 'e': nothing; expected"),
        ("t.json", '[{"a": "x"}]', "no column of numbers among a"),
    ],
)
def test_errors(name: str, content: str, match: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=match):
        read_table(write(tmp_path / name, content))


def test_bytes_that_are_no_text(tmp_path: Path) -> None:
    for name in ("t.json", "t.jsonl"):
        (tmp_path / name).write_bytes(b'{"a": 1}\n{"a": "\xff"}\n')
        with pytest.raises(FileFormatError, match="line 2: is not UTF-8"):
            read_table(tmp_path / name)
    packed = gzip.compress(lines([{"a": i} for i in range(999)]).encode())
    (tmp_path / "t.jsonl.gz").write_bytes(packed[:-30])
    with pytest.raises(FileFormatError, match="truncated or damaged"):
        read_table(tmp_path / "t.jsonl.gz")


def test_standard_input_by_its_first_bytes() -> None:
    code = "from nestmap.readers import read_table; print(read_table('-').X.tolist())"
    for content in ('[{"a": 1}, {"a": 3}]', '{"a": 1}\n{"a": 3}\n'):
        done = subprocess.run(
            [sys.executable, "-c", code],
            input=content,
            capture_output=True,
            text=True,
            check=True,
            timeout=LIMIT,
        )
        assert done.stdout.strip() == "[[1.0], [3.0]]"


CELLS = st.none() | st.integers(-(2**40), 2**40) | st.floats(allow_infinity=False) | st.booleans()
TEXTS = st.text(alphabet="ab1-. é", max_size=4).map(str.strip)


@given(
    st.lists(st.tuples(st.floats(-9, 9), CELLS, CELLS | TEXTS, TEXTS), min_size=2, max_size=9),
    st.booleans(),
)
def test_the_same_table_as_of_a_csv(rows: list[tuple[Any, ...]], by_lines: bool) -> None:
    """Truth values are true and false in a csv, what is missing is an empty cell."""
    names = ("n", "cell", "any", "text")
    records = [dict(zip(names, row, strict=True)) for row in rows]
    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder, "t.csv")
        with table.open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(names)
            for row in rows:
                writer.writerow([_in_csv(cell) for cell in row])
        path = write(Path(folder, "t.jsonl"), lines(records) if by_lines else records)
        if not by_lines:
            path = path.rename(path.with_suffix(".json"))
        found = as_dict(read_table(path, columns=["n"]))
        expected = as_dict(read_table(table, columns=["n"]))
    assert found["X"] == expected["X"] and found["columns"] == expected["columns"]
    assert found["left_out"] == expected["left_out"]
    assert repr(found["metadata"]) == repr(expected["metadata"])  # nan is nan


def _in_csv(cell: Any) -> Any:
    return str(cell).lower() if isinstance(cell, bool) else cell


def test_codes_of_encoded_tables_stay_texts(tmp_path: Path) -> None:
    path = write(tmp_path / "t.json", [{"zip": f"{i:05d}", "n": i % 7} for i in range(40)])
    assert read_table(path).columns == ("zip", "n")
    encoded = read_file(path, Choice(encodes=True))
    assert encoded.metadata["zip"].tolist()[:2] == ["00000", "00001"]


def test_columns_of_one_name_are_told_apart_as_in_a_csv(tmp_path: Path) -> None:
    path = write(tmp_path / "a.json", [["a", "b", "a"], [1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    table = read_table(path)
    assert table.columns == ("a.0", "b", "a.2") and table.X.tolist() == [[1, 2, 3], [4, 5, 6]]


def test_whole_numbers_beyond_floats_in_lists_are_texts(tmp_path: Path) -> None:
    records = [{"size": 1.5, "digits": [10**400]}, {"size": 2.5, "digits": [7]}]
    table = read_table(write(tmp_path / "a.jsonl", lines(records)))
    assert table.X.tolist() == [[1.5], [2.5]] and str(10**400) in table.metadata["digits"][0]


@pytest.mark.parametrize("name", ["t.json", "t.json.gz"])
def test_no_more_is_unpacked_than_there_is_memory_for(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path / name, [{"a": i} for i in range(1000)])
    monkeypatch.setattr(json_files, "available_memory", lambda: 100_000)
    monkeypatch.setattr(json_files, "BLOCK_BYTES", 1000)
    with pytest.raises(FileFormatError, match=r"t\.json.* holds more than 10 kB.*\.jsonl"):
        read_table(path)
    monkeypatch.setattr(json_files, "available_memory", lambda: 1_000_000)
    assert read_table(path).n_rows == 1000
