"""Tables of text through pyarrow and without it: the same table, or the same error."""

from __future__ import annotations

import csv
import gzip
import io
import os
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from conftest import LIMIT
from hypothesis import example, given
from hypothesis import strategies as st

from nestmap import FileFormatError
from nestmap.app.readers import arrow_csv, text
from nestmap.app.readers.arrow_csv import Columns, Form, LateCell, read_by_arrow
from nestmap.app.readers.read import read_file
from nestmap.app.readers.table import Choice
from nestmap.core.progress import Progress
from nestmap.readers import read_table

pytest.importorskip("pyarrow")


@pytest.fixture(autouse=True)
def _few_rows_decide() -> Iterator[None]:
    """Small files go through pyarrow, too, and their second row decides what columns hold."""
    patch = pytest.MonkeyPatch()
    patch.setattr(arrow_csv, "_WORTH_BYTES", 0)
    patch.setattr(text, "_ROWS_LOOKED_AT", 2)
    yield
    patch.undo()


@dataclass(frozen=True, eq=False)
class Both:
    """What pyarrow gave, if it was sure, and what Python's csv module gave, or its error."""

    form: Form
    by_arrow: Columns | None
    by_lines: Columns | None
    error: str = ""


def read_both(path: Path) -> Both | None:
    """None for files that hold no table."""
    choice = Choice()
    try:
        form = text._look_at(path, choice, None)
    except FileFormatError:
        return None
    try:
        by_arrow = read_by_arrow(path, form, Progress(0))
    except LateCell:
        by_arrow = None
    try:
        return Both(form, by_arrow, text._read_by_lines(path, form, Progress(0)))
    except FileFormatError as error:
        return Both(form, by_arrow, None, str(error))


def check(content: bytes, path: Path) -> Both | None:
    """Both readers say the same, or pyarrow's leaves the file to the other."""
    path.write_bytes(content)
    both = read_both(path)
    if both is None or both.by_arrow is None:
        return both
    assert both.by_lines is not None, both.error
    assert [*both.by_arrow.numbers] == [*both.by_lines.numbers]
    for name, values in both.by_lines.numbers.items():
        assert both.by_arrow.numbers[name].dtype == values.dtype
        np.testing.assert_array_equal(both.by_arrow.numbers[name], values)
    assert {name: values.tolist() for name, values in both.by_arrow.others.items()} == {
        name: values.tolist() for name, values in both.by_lines.others.items()
    }
    return both


HEAD = "n,what,when\n1,a,2001-02-03\n1.5,a,2001-02-03\n"


@pytest.mark.parametrize(
    ("rows", "left"),
    [
        ('2,"b, ""c""",\n', False),
        ("2,b,2001-02-04\r\n3,c,\r\n", False),
        (",,\nNA,NA,null\nNaN,?,-\n N/A,x,y\n", True),
        ("NA,NA,null\nNaN,?,-\n?,nan,NaN\n", False),
        ('2,"b\nc",x\n\n\n3,"d\r\ne",y\n', False),
        ("2, b,x\n 3,  c,y\n", False),
        ('2, "b",x\n', True),
        ('2, "b, c",x\n', True),
        ('2, """b"" c",x\n', True),
        ('2,"  b",x\n', False),
        ("2,b\rc,x\n", True),
        ('2,"b\rc",x\n', True),
        ("2,b,x\r", True),
        ("2,b\n", True),
        ("2,b,x,y\n", True),
        ("zwei,b,x\n", True),
        ("+2,b,x\n", False),
        ("1_000,b,x\n", True),
        ("inf,b,x\n-Infinity,c,y\n1e400,d,z\n", False),
        ("1.,b,x\n.5,c,y\n-0.0,d,z\n", False),
        ('"2",b,x\n', False),
        ('2,b"c,x\n', False),
        ('2,"b"c,x\n', False),
        ('2,"b,x\n', True),
        ("2,ünï 日本,x\n", False),
        ("2,b,x", False),
    ],
)
def test_odd_rows(rows: str, left: bool, tmp_path: Path) -> None:
    both = check((HEAD + rows).encode(), tmp_path / "t.csv")
    assert both is not None and (both.by_arrow is None) == left


@pytest.mark.parametrize("mark", [",", ";", "\t", "|"])
def test_separators_marks_of_order_and_packing(mark: str, tmp_path: Path) -> None:
    rows = HEAD + '2,"b c",x\n'
    content = b"\xef\xbb\xbf" + rows.replace(",", mark).encode()
    both = check(content, tmp_path / "t.csv")
    assert both is not None and both.by_arrow is not None
    assert both.form.names == ("n", "what", "when")
    both = check(gzip.compress(content), tmp_path / "t.csv.gz")
    assert both is not None and both.by_arrow is not None
    both = check(b"1,a\n2,b\n3,c\n", tmp_path / "t.csv")  # without names
    assert both is not None and both.by_arrow is not None
    assert both.by_arrow.numbers["0"].tolist() == [1, 2, 3]
    both = check(b"\n\n1,2\n2,3\n", tmp_path / "t.csv")
    assert both is not None and both.by_arrow is not None


def test_many_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrow_csv, "_BLOCK_BYTES", 200)
    lines = [f"{i},{'xyz'[i % 3]},{i * 86_399 % 977}" for i in range(500)]
    both = check((HEAD + "\r\n".join(lines)).encode(), tmp_path / "t.csv")
    assert both is not None and both.by_arrow is not None
    assert both.by_arrow.numbers["n"].tolist() == [1, 1.5, *range(500)]
    both = check((HEAD + f"2,{'b' * 3000},x\n").encode(), tmp_path / "t.csv")
    assert both is not None and both.by_arrow is None  # a row longer than a block


def test_errors_are_those_of_the_other_reader(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    for content, match in (
        (b"a,b\n1,2\n3,4\n5,six\n", r"t.csv, line 4, column 'b': 'six' is no number"),
        (b"a,b\n1,2\n3,4\n5\n", r"t.csv, line 4: 1 columns; expected 2 \(a, b\)"),
        (b"a,b\n1,x\n3,y\n5,\xff\n", "line 4: is not UTF-8"),
    ):
        path.write_bytes(content)
        with pytest.raises(FileFormatError, match=match):
            read_table(path)
    packed = gzip.compress((HEAD + "".join(f"{i},b,{i}x\n" for i in range(9999))).encode())
    (tmp_path / "t.csv.gz").write_bytes(packed[:-2000])
    with pytest.raises(FileFormatError, match="truncated or damaged"):
        read_table(tmp_path / "t.csv.gz")


@pytest.mark.parametrize("cell", ["six", "1_000", " six' ", '"a\nb"'])
def test_late_texts_of_encoded_tables(
    cell: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a,b\n" + "".join(f"{i % 7},{i % 5}\n" for i in range(99)) + f"3,{cell}\n")
    by_arrow = read_file(path, Choice(encodes=True))
    monkeypatch.setattr(arrow_csv, "_WORTH_BYTES", np.inf)
    by_lines = read_file(path, Choice(encodes=True))
    assert by_arrow.metadata["b"].tolist() == by_lines.metadata["b"].tolist()
    np.testing.assert_array_equal(by_arrow.X, by_lines.X)


def test_equal_texts_are_one_object(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("n,what\n" + "".join(f"{i * i},{'ab'[i % 2]}\n" for i in range(100)))
    assert len({id(value) for value in read_table(path).metadata["what"]}) == 2


def test_a_pipe_is_read_once(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_text, args=("a,b\n1,2\n3,5\n",), daemon=True)
    writer.start()
    found = read_table(pipe)
    assert found.X.tolist() == [[1, 2], [3, 5]] and found.source == str(pipe)
    writer.join(LIMIT)


CELLS = st.one_of(
    st.sampled_from(
        ["", "1", " 2", "-3.5", "NA", "nan", "a", " b", "c d", '"', '""', "x,y", "u\nv", "r\r", "é"]
    ),
    st.text(alphabet=' ",;|\t\n\r\0ab1.-é', max_size=6),
    st.floats().map(repr),
)


@given(st.lists(st.lists(CELLS, min_size=3, max_size=3), min_size=1, max_size=6))
def test_tables_that_were_written_as_tables(rows: list[list[str]]) -> None:
    buffer = io.StringIO(newline="")
    csv.writer(buffer, lineterminator="\n").writerows(
        [["n", "m", "o"], *[["1", "2", "x"]] * 2, *rows]
    )
    with tempfile.TemporaryDirectory() as folder:
        check(buffer.getvalue().encode(), Path(folder, "t.csv"))


@given(st.text(alphabet=' ",\n\rab1.-', max_size=30))
@example('2,"a""b\n')
@example('2," "" ",\n')
def test_any_characters(rows: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        check(("n,m\n1,x\n1,x\n" + rows).encode(), Path(folder, "t.csv"))


def test_one_name_for_two_of_very_many_columns(tmp_path: Path) -> None:
    path = tmp_path / "wide.csv"
    names = [*(f"c{i}" for i in range(5999)), "c7"]
    path.write_text("".join(f"{','.join(row)}\n" for row in (names, ["1.5"] * 6000, ["2"] * 6000)))
    columns = read_table(path).columns or ()
    assert len(columns) == 6000 and columns[7] == "c7.7" and columns[-1] == "c7.5999"
