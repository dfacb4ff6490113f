"""Rows from .npy files, h5py, zarr and objects of one's own."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pandas as pd
import pytest
import zarr
from scipy import sparse

from nestmap.core.input import scratch as _scratch
from nestmap.core.input.scratch import scratch_array
from nestmap.core.input.source import RowSource, _mapping, check_unchanged, load_source, open_rows

RNG = np.random.default_rng(0)
ROWS = RNG.normal(size=(50, 4)).astype(np.float32)


def saved(path: Path, array: Any) -> Path:
    np.save(path, array)
    return path


@pytest.mark.parametrize("dtype", ["u1", "i1", "f2", "f4", "f8"])
def test_npy_is_mapped(tmp_path: Path, dtype: str) -> None:
    X = (ROWS * 10).astype(dtype)
    path = saved(tmp_path / "X.npy", X)
    for given in (path, str(path)):
        found = open_rows(given)
        assert isinstance(found, np.memmap) and found.dtype == X.dtype and not found.flags.writeable
        np.testing.assert_array_equal(found, X)


@pytest.mark.parametrize(
    "dtype, kept",
    [("i2", "f4"), ("?", "f4"), ("i4", "f8"), ("i8", "f8"), (">f4", "f4"), ("u4", "f8")],
)
def test_npy_of_other_numbers(tmp_path: Path, dtype: str, kept: str) -> None:
    X = (ROWS * 100).astype(dtype)
    source = open_rows(saved(tmp_path / "X.npy", X))
    assert isinstance(source, RowSource)
    found = load_source(source, 10**9)
    assert found.dtype == np.dtype(kept) and not isinstance(found, np.memmap)
    np.testing.assert_array_equal(found, X)


def test_npy_without_rows(tmp_path: Path) -> None:
    assert open_rows(saved(tmp_path / "X.npy", np.empty((0, 3), "i4"))).shape == (0, 3)


@pytest.mark.parametrize(
    "array, message",
    [
        (np.arange(5.0), r"1 dimensions, shape \(5,\); it must be 2-D"),
        (np.zeros((2, 3, 4)), r"3 dimensions.*reshape\(len\(X\), -1\)"),
        (np.asfortranarray(ROWS), r"Fortran order.*np\.save\(path, np\.ascontiguousarray\(X\)\)"),
        (np.zeros(3, dtype="f4,i4"), "holds records"),
        (np.array([["a", "b"]]), "values of type <U1; it must hold real numbers"),
        (np.zeros((2, 2), complex), "complex128; it must hold real numbers"),
    ],
)
def test_npy_that_is_no_table(tmp_path: Path, array: np.ndarray, message: str) -> None:
    with pytest.raises(ValueError, match=rf"^Z='.*X\.npy' .*{message}"):
        open_rows(saved(tmp_path / "X.npy", array), name="Z")


def test_npy_of_objects(tmp_path: Path) -> None:
    np.save(tmp_path / "X.npy", np.array([[1, None]]), allow_pickle=True)
    with pytest.raises(ValueError, match="Python objects, which are not loaded"):
        open_rows(tmp_path / "X.npy")


def test_npy_cut_short(tmp_path: Path) -> None:
    path = saved(tmp_path / "X.npy", ROWS)
    whole = path.stat().st_size
    os.truncate(path, whole - 10)
    with pytest.raises(
        ValueError,
        match=rf"cut short: {whole - 10} bytes are there, {whole} are expected.*copy it again",
    ):
        open_rows(path)
    os.truncate(path, 40)
    with pytest.raises(ValueError, match=r"damaged header.*copy"):
        open_rows(path)
    os.truncate(path, 7)
    with pytest.raises(ValueError, match=r"damaged header.*copy"):
        open_rows(path)


@pytest.mark.parametrize("version", [(1, 0), (2, 0)])
def test_npy_versions(tmp_path: Path, version: tuple[int, int]) -> None:
    with (tmp_path / "X.npy").open("wb") as file:
        np.lib.format.write_array(file, ROWS, version=version)
    np.testing.assert_array_equal(open_rows(tmp_path / "X.npy"), ROWS)
    data = bytearray((tmp_path / "X.npy").read_bytes())
    data[6] = 3
    (tmp_path / "X.npy").write_bytes(data)
    with pytest.raises(ValueError, match="version 3; write it again"):
        open_rows(tmp_path / "X.npy")


def test_files_that_are_not_npy(tmp_path: Path) -> None:
    with pytest.raises(
        FileNotFoundError, match=r"X='.*none\.npy': no such file; pass the path of a \.npy file"
    ):
        open_rows(tmp_path / "none.npy")
    with pytest.raises(IsADirectoryError, match="is a directory"):
        open_rows(str(tmp_path))
    (tmp_path / "a.csv").write_text("1,2,3\n")
    with pytest.raises(
        ValueError, match=r"is not a \.npy file; write one with np\.save.*read_table\(path\)"
    ):
        open_rows(tmp_path / "a.csv")
    with pytest.raises(
        ValueError, match=r"X has 3 dimensions, shape \(2, 3, 4\).*X\.reshape\(len\(X\), -1\)"
    ):
        open_rows(np.zeros((2, 3, 4)))
    np.savez(tmp_path / "a.npz", X=ROWS)
    with pytest.raises(ValueError, match=r"zip archive, such as \.npz; take the array out"):
        open_rows(tmp_path / "a.npz")
    (tmp_path / "empty.npy").touch()
    with pytest.raises(ValueError, match=r"is not a \.npy file"):
        open_rows(tmp_path / "empty.npy")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_pipes_and_devices_are_not_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo(tmp_path / "pipe.npy")
    monkeypatch.setattr(
        Path, "open", lambda *_: pytest.fail("opened, which would wait for a writer")
    )
    for path in (tmp_path / "pipe.npy", Path(os.devnull)):
        with pytest.raises(
            ValueError, match=r"^Z='.*' is not a regular file; write one with np\.save"
        ):
            open_rows(path, name="Z")


def headers() -> Iterator[bytes]:
    """The header of ROWS, damaged in all kinds of ways."""
    rng, file = np.random.default_rng(1), io.BytesIO()
    np.save(file, ROWS)
    whole, end = file.getvalue(), 128
    for at in range(6, end):
        for byte in {whole[at] ^ 1, whole[at] ^ 128, 0, *b"({['#\\-L\n"} - {whole[at]}:
            yield whole[:at] + bytes([byte]) + whole[at + 1 :]
        yield whole[:at]
        yield whole[:at] + rng.choice([*b"{}()[]'"], 3).astype(np.uint8).tobytes() + whole[at:]
    for text in (
        "{" * 60,
        "(" * 110,
        "{'descr': 5, 'fortran_order': False, 'shape': (50, 4)}",
        "{'descr': '<f4', 'fortran_order': 1, 'shape': (50, 4)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': 5}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (-50, 4)}",
        "[1, 2]",
        "{1: 2, 'a': 3, None: 4}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (0, 10**9)}",
        "\\d",
        "{'descr': '<f4,', 'x': 1}",
        f"{{'descr': '<f4', 'fortran_order': False, 'shape': (0, {2**70})}}",
        f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({2**40}, {2**40})}}",
        "{'descr': ('<f4', (50, 4)), 'fortran_order': False, 'shape': ()}",
    ):
        yield whole[:10] + text.encode().ljust(end - 11) + b"\n" + whole[end:]


def test_damaged_headers_give_one_clear_error(tmp_path: Path) -> None:
    errors = []
    for damaged in headers():
        (tmp_path / "X.npy").write_bytes(damaged)
        try:
            assert (
                len(open_rows(tmp_path / "X.npy").shape) == 2
            )  # some damage is a valid header of another array
        except ValueError as error:
            errors.append(error)
    assert len(errors) > 1000
    assert all(
        type(e) is ValueError and str(e).startswith("X='") and len(str(e)) < 700 for e in errors
    )


@pytest.mark.parametrize("shape", [f"({2**31}, 0)", f"(0, {2**70})", "(-1, 4)"])
def test_headers_with_impossible_shapes(tmp_path: Path, shape: str) -> None:
    text = f"{{'descr': '|u1', 'fortran_order': False, 'shape': {shape}}}"
    (tmp_path / "X.npy").write_bytes(
        b"\x93NUMPY\x01\x00" + b"\x76\x00" + text.encode().ljust(117) + b"\n"
    )
    with pytest.raises(
        ValueError,
        match=r"^X='.*X\.npy' has (a damaged header \(there is no array|2147483648 rows)",
    ):
        open_rows(tmp_path / "X.npy")


class Tensor:
    """In memory, not NumPy: as torch's."""

    shape, dtype = (50, 4), np.dtype("f4")

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        return ROWS

    def __getitem__(self, part: slice) -> np.ndarray:
        return ROWS[part]


class Columns:
    """A frame with a type per column and none of its own, as polars'."""

    shape, dtypes = (50, 4), [np.dtype("f4")] * 4

    def __getitem__(self, part: slice) -> np.ndarray:
        return ROWS[part]


class Lazy(Tensor):
    """As dask's arrays."""

    chunks = ((25, 25), (4,))

    def __dask_graph__(self) -> None: ...


class Strange(Tensor):
    """A dtype of its own, as tensorstore's."""

    dtype = object()
    chunks = None


@pytest.mark.parametrize(
    "X",
    [
        ROWS,
        [[1, 2]],
        ((1, 2),),
        sparse.csr_matrix(ROWS),
        pd.DataFrame(ROWS),
        Tensor(),
        Columns(),
        Lazy(),
        Strange(),
        None,
        3,
        np.float32(1),
    ],
    ids=lambda X: type(X).__name__,
)
def test_all_else_is_left_alone(X: Any) -> None:
    assert open_rows(X) is X


# Objects that are read by slices


@pytest.mark.parametrize("chunks", [None, (7, 2)])
def test_h5py(tmp_path: Path, chunks: Any) -> None:
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.create_dataset("X", data=ROWS, chunks=chunks)
        source = open_rows(file["X"])
        assert (
            isinstance(source, RowSource) and source.shape == (50, 4) and source.dtype == np.float32
        )
        assert (
            len(source) == 50
            and source.nbytes == 800
            and source.chunks == chunks
            and "HDF5" in repr(source)
        )
        np.testing.assert_array_equal(source.block(slice(3, 9)), ROWS[3:9])
        np.testing.assert_array_equal(load_source(source, 10**9), ROWS)
        file["cube"] = np.zeros((2, 2, 2))
        with pytest.raises(
            ValueError, match=r'X: <HDF5 dataset "cube".* has 3 dimensions.*must be 2-D'
        ):
            open_rows(file["cube"])
        file["words"] = np.array([[b"ab"]])
        with pytest.raises(ValueError, match=r"words.*must hold real numbers"):
            open_rows(file["words"])
        kept = file["X"]
    with pytest.raises(OSError, match=r'X: rows 0 to 4 of <HDF5 dataset "X".* cannot be read'):
        source.block(slice(0, 5))
    with pytest.raises(
        ValueError, match=r"X: <Closed HDF5 dataset> cannot be read \(is its file still open\?\)"
    ):
        open_rows(kept)


def test_zarr(tmp_path: Path) -> None:
    array = zarr.open(str(tmp_path / "a.zarr"), mode="w", shape=(50, 4), chunks=(8, 4), dtype="u2")
    array[:] = (ROWS * 100 + 500).astype("u2")
    source = open_rows(array)
    assert isinstance(source, RowSource) and source.chunks == (8, 4)
    found = load_source(source, 10**9)
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, (ROWS * 100 + 500).astype("u2"))


class Rows:
    """Rows by slices, without __array__; `give` may change them."""

    def __init__(self, rows: np.ndarray, give: Any = lambda rows: rows) -> None:
        self.rows, self.give, self.shape, self.dtype = rows, give, rows.shape, rows.dtype

    def __getitem__(self, part: slice) -> Any:
        return self.give(self.rows[part])

    def __repr__(self) -> str:
        return "Rows(…)"


def _raise(_: object) -> None:
    raise RuntimeError("bad block")


@pytest.mark.parametrize(
    "give, kind, message",
    [
        (lambda rows: rows[:-1], ValueError, r"came as shape \(9, 4\) instead of \(10, 4\)"),
        (lambda rows: rows[:, :2], ValueError, r"came as shape \(10, 2\)"),
        (lambda rows: rows.astype("f8"), ValueError, "came as float64, but its dtype says float32"),
        (lambda rows: np.ma.masked_less(rows, 0), OSError, "missing"),
        (_raise, OSError, "cannot be read: bad block"),
    ],
)
def test_objects_that_break_their_word(give: Any, kind: type[Exception], message: str) -> None:
    source = open_rows(Rows(ROWS, give))
    with pytest.raises(kind, match=rf"^X: rows 10 to 19 of Rows\(…\) .*{message}"):
        source.block(slice(10, 20))


def test_row_source_details() -> None:
    source = open_rows(Rows(ROWS))
    assert open_rows(source) is source
    assert source.block(slice(45, 90)).shape == (5, 4) and source.block(slice(None)).shape == (
        50,
        4,
    )
    assert source.block(slice(60, 70)).shape == (0, 4)
    with pytest.raises(ValueError, match="step 1"):
        source.block(slice(0, 10, 2))

    def no_memory(_: object) -> None:
        raise MemoryError

    with pytest.raises(MemoryError):
        open_rows(Rows(ROWS, no_memory)).block(slice(0, 2))
    assert "…" not in repr(
        open_rows(type("Long", (Rows,), {"__repr__": lambda self: "x" * 500})(ROWS))
    )


def test_large_sources_go_to_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        _scratch, "blocks", lambda n, width: [slice(i, min(n, i + 16)) for i in range(0, n, 16)]
    )
    source, shares = open_rows(Rows(ROWS)), []
    assert not isinstance(load_source(source, 3 * source.nbytes, tmp_path), np.memmap)
    found = load_source(source, 3 * source.nbytes - 1, tmp_path, progress=shares.append)
    assert isinstance(found, np.memmap) and [*tmp_path.iterdir()] == []
    np.testing.assert_array_equal(found, ROWS)
    assert shares[-1] == 1.0 and len(shares) == 4
    check_unchanged(found)


# Files that shrink


def test_bytes_that_views_need(tmp_path: Path) -> None:
    path = saved(tmp_path / "X.npy", ROWS)
    whole, X = path.stat().st_size, open_rows(path)

    def needed(rows: Any) -> int | None:
        found = _mapping(rows)
        return None if found is None else found[1]

    for view in (X, np.asarray(X), X[::-1], X[10:][5:].T):
        assert needed(view) == whole
    assert needed(X[:10]) == whole - 40 * 16
    assert needed(X[10:20, 1:3]) == whole - 30 * 16 - 4
    assert needed(ROWS) is None is needed(X.copy()) is needed([1]) is needed(X[:0])
    part = np.memmap(path, np.uint8, "r", offset=whole - 100, shape=(40,))
    assert needed(part[5:20]) == whole - 80


def test_file_that_shrinks(tmp_path: Path) -> None:
    path = saved(tmp_path / "X.npy", ROWS)
    whole, X = path.stat().st_size, open_rows(path)
    check_unchanged(X)
    os.truncate(path, whole - 16)
    check_unchanged(X[:49])
    with pytest.raises(
        OSError,
        match=rf"Z: the file .*X\.npy has shrunk to {whole - 16} bytes .*; {whole} are needed",
    ):
        check_unchanged(np.asarray(X), name="Z")
    with pytest.raises(OSError, match="shrunk"):
        RowSource(X).block(slice(0, 5))
    csr = sparse.csr_matrix((50, 1), dtype=np.float32)
    csr.data, csr.indices, csr.indptr = (
        np.asarray(X)[:, 0],
        np.zeros(50, np.int32),
        np.arange(51, dtype=np.int32),
    )
    with pytest.raises(OSError, match="shrunk"):
        check_unchanged(csr)
    check_unchanged(sparse.csr_matrix(ROWS))


def test_file_that_is_deleted_or_replaced_is_no_matter(tmp_path: Path) -> None:
    path = saved(tmp_path / "X.npy", ROWS)
    X = open_rows(path)
    saved(tmp_path / "Y.npy", ROWS[:3]).rename(path)
    check_unchanged(X)
    path.unlink()
    check_unchanged(X)
    np.testing.assert_array_equal(X, ROWS)


def test_scratch_needs_no_check() -> None:
    check_unchanged(scratch_array((5, 5), "f4", in_memory=False))
