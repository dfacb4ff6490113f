"""Sheets of Excel files: names, types, dates, titles above the table, and errors."""

from __future__ import annotations

import shutil
import sys
import zipfile
from collections.abc import Sequence
from datetime import date, datetime, time
from pathlib import Path
from typing import Any

import pytest

from nestmap import FileFormatError
from nestmap.readers import read_table

openpyxl = pytest.importorskip("openpyxl")


def write(path: Path, **sheets: Sequence[Sequence[Any]]) -> Path:
    book = openpyxl.Workbook()
    book.remove(book.active)
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(row)
    book.save(path)
    return path


ROWS = [
    ["name", "size", "made", "at", "ok", "code"],
    ["A", 1.5, datetime(2001, 2, 3), time(10, 30), True, "007"],
    ["B", None, None, None, False, "#N/A"],
    ["C", 7, datetime(2003, 1, 1), time(9), None, "12"],
]


def test_types(tmp_path: Path) -> None:
    found = read_table(write(tmp_path / "t.xlsx", S=ROWS), id="name", missing="mean")
    assert found.columns == ("size", "code") and found.X.tolist() == [
        [1.5, 7],
        [4.25, 9.5],
        [7, 12],
    ]
    assert found.names.tolist() == ["A", "B", "C"]
    assert {name: values.tolist() for name, values in found.metadata.items()} == {
        "made": [date(2001, 2, 3), "", date(2003, 1, 1)],
        "at": ["10:30:00", "", "09:00:00"],
        "ok": ["true", "false", ""],
    }
    assert found.left_out["made"] == "dates" and found.source == f"{tmp_path / 't.xlsx'} (S)"
    as_names = read_table(tmp_path / "t.xlsx", id="code", columns=["size"], missing="mean")
    assert as_names.names.tolist() == ["007", "", "12"]


def test_times_of_day_stay(tmp_path: Path) -> None:
    rows = [["n", "when"], [1, datetime(2001, 2, 3, 4)], [2, datetime(2001, 2, 3)]]
    found = read_table(write(tmp_path / "t.xlsx", S=rows)).metadata["when"]
    assert found.tolist() == [datetime(2001, 2, 3, 4), datetime(2001, 2, 3)]


def test_sheets(tmp_path: Path) -> None:
    path = write(tmp_path / "t.xlsx", one=[["a"], [1], [2]], two=[["b"], [3], [5]])
    assert read_table(path).columns == ("a",)
    assert read_table(path).left_out == {"two": "another sheet"}
    assert read_table(path, key="two").X.tolist() == [[3], [5]]
    with pytest.raises(ValueError, match="key='tow' is no sheet; it has one, two"):
        read_table(path, key="tow")


def test_tables_that_do_not_fill_their_sheet(tmp_path: Path) -> None:
    rows = [
        ["Sales of 2020"],
        [],
        [None, "a", "b", None, "c"],
        [None, 1, 2, None, "x"],
        [],
        [None, 3, 4, None, "y"],
        [None, None, None],
    ]
    found = read_table(write(tmp_path / "t.xlsx", S=rows))
    assert found.columns == ("a", "b") and found.X.tolist() == [[1, 2], [3, 4]]
    assert found.left_out == {"c": "text", "1 row": "above the table"}
    numbers = read_table(write(tmp_path / "t.xlsx", S=[[1, 2], [3, 5], [4, 4]]))
    assert numbers.columns == ("0", "1") and len(numbers.X) == 3


def test_a_file_without_a_name(tmp_path: Path) -> None:
    path = write(tmp_path / "t.xlsx", S=[["a"], [1], [2]])
    assert read_table(shutil.copy(path, tmp_path / "upload")).X.tolist() == [[1], [2]]


def test_errors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for rows, match in (
        ([], r"t.xlsx \(S\) is empty"),
        ([["a", "b"]], "has no rows"),
        ([["a", "b"], ["x", "y"]], "no column of numbers among a, b"),
    ):
        with pytest.raises(ValueError, match=match):
            read_table(write(tmp_path / "t.xlsx", S=rows))
    (tmp_path / "t.xlsx").write_bytes(b"PK\x03\x04 and no more")
    with pytest.raises(FileFormatError, match=r"t.xlsx is no .xlsx file, damaged, or locked"):
        read_table(tmp_path / "t.xlsx")
    damaged = zipfile.ZipFile(write(tmp_path / "t.xlsx", S=ROWS))
    parts = {name: damaged.read(name) for name in damaged.namelist()}
    damaged.close()
    with zipfile.ZipFile(tmp_path / "t.xlsx", "w") as archive:
        for name, data in parts.items():
            archive.writestr(name, data[: len(data) // 2] if "sheet1" in name else data)
    with pytest.raises(FileFormatError, match=r"t.xlsx \(S\) is damaged"):
        read_table(tmp_path / "t.xlsx")
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(
        ImportError, match=r"pip install 'nestmap\[files\]' \(or pip install openpyxl"
    ):
        read_table(tmp_path / "t.xlsx")
