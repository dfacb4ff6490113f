"""Readers: what they take of a file, what they leave out and why, and how they say what is wrong."""

from __future__ import annotations

import gzip
import io
import struct
import subprocess
import sys
import zipfile
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import LIMIT, digits
from scipy import sparse
from scipy.io import savemat

from nestmap import HNNE, FileFormatError
from nestmap.app.readers import table, text
from nestmap.app.readers._formats import Stream
from nestmap.readers import Table, read_table

X = digits()[:30, 10:16]


def write(path: Path, content: str) -> Path:
    path.write_text(content, encoding="utf-8")
    return path


def csv_of(rows: np.ndarray, names: str = "") -> str:
    return names + "".join(",".join(map(repr, row)) + "\n" for row in rows.tolist())


class TestDelimited:
    def test_numbers_names_and_metadata(self, tmp_path: Path) -> None:
        path = write(
            tmp_path / "cars.csv",
            'name,weight,"power, hp",maker\nA,1200,60,"X, Inc."\n"B ""b""",900,45.5,Y\n',
        )
        found = read_table(path, id="name")
        assert found.X.tolist() == [[1200, 60], [900, 45.5]] and found.X.dtype == np.float32
        assert found.columns == ("weight", "power, hp") and found.names.tolist() == ["A", 'B "b"']
        assert found.metadata["maker"].tolist() == ["X, Inc.", "Y"]
        assert str(found) == (
            f"{path}: 2 rows, 2 columns used (weight, power, hp); rows have names; left out: "
            "name (the name of each row), maker (text)"
        )

    def test_columns_of_prose_are_pointed_out(self, tmp_path: Path) -> None:
        path = write(
            tmp_path / "r.csv",
            "n,city,review\n" + "".join(f"{i},Rome,it was a good day {i}\n" for i in (1, 5, 9)),
        )
        assert "city (text), review (text; --texts review maps it)" in str(read_table(path))
        assert "1 column used (n)" in str(read_table(path))
        with pytest.raises(
            ValueError, match=r"text=True takes a column called 'text'.*\(--texts review\)"
        ):
            read_table(path, text=True)

    @pytest.mark.parametrize("mark", [",", "\t", ";", "|", " "])
    @pytest.mark.parametrize("header", [True, False])
    def test_separators_with_and_without_names(
        self, mark: str, header: bool, tmp_path: Path
    ) -> None:
        names = mark.join("abcdef") + "\n" if header else ""
        path = write(tmp_path / "t.csv", names + csv_of(X).replace(",", mark))
        found = read_table(path)
        np.testing.assert_array_equal(found.X, X)
        assert found.columns == (tuple("abcdef") if header else tuple("012345"))

    @pytest.mark.parametrize("pack", ["gz", "bz2", "xz"])
    def test_compressed(self, pack: str, tmp_path: Path) -> None:
        module = __import__({"gz": "gzip", "bz2": "bz2", "xz": "lzma"}[pack])
        path = tmp_path / f"t.tsv.{pack}"
        path.write_bytes(module.compress(csv_of(X, "a,b,c,d,e,f\n").replace(",", "\t").encode()))
        np.testing.assert_array_equal(read_table(path).X, X)
        path.write_bytes(path.read_bytes()[:-20])
        with pytest.raises(FileFormatError, match="truncated or damaged"):
            read_table(path)

    def test_every_number_comes_back_with_its_bits(self, tmp_path: Path) -> None:
        values = np.random.default_rng(0).normal(size=(500, 3)) * 10.0 ** np.arange(-100, 200, 100)
        found = read_table(write(tmp_path / "t.csv", csv_of(values)))
        assert found.X.dtype == np.float64
        np.testing.assert_array_equal(found.X, values)

    def test_columns_by_name_number_and_range(self, tmp_path: Path) -> None:
        path = write(tmp_path / "t.csv", csv_of(X, "a,b,c,d,e,f\n"))
        assert read_table(path, columns=["b", "3-5"]).columns == ("b", "d", "e", "f")
        found = read_table(path, columns=["0"], label="f")
        assert found.columns == ("a",) and found.metadata["f"].tolist() == X[:, 5].tolist()
        assert found.left_out["b"] == "not asked for" and found.left_out["f"] == "the label"
        for wrong, match in (
            (dict(columns=["bb"]), "did you mean 'b'"),
            (dict(columns=["3-9"]), "columns 0 to 5"),
            (dict(label="zz"), "label='zz' is no column"),
            (dict(id="q"), "id='q'"),
        ):
            with pytest.raises(ValueError, match=match):
                read_table(path, **wrong)

    def test_a_column_that_counts_the_rows_is_left_out(self, tmp_path: Path) -> None:
        path = write(tmp_path / "t.csv", ",a,b\n0,1.5,2\n1,2.5,3\n2,0.5,1\n")
        assert read_table(path).columns == ("a", "b") and read_table(path).left_out == {
            "": "counts the rows"
        }
        assert read_table(write(path, "a,b\n0,2\n1,3\n2,4\n")).columns == (
            "a",
            "b",
        )  # no counter by its name

    def test_missing_numbers(self, tmp_path: Path) -> None:
        path = write(tmp_path / "t.csv", "a,b,who\n1,2,x\n,4,y\n5,NA,z\n7,8,w\n")
        with pytest.raises(
            ValueError,
            match=r"t.csv: row 1 has no number in column 'a' \(2 are missing in 2 rows\)",
        ):
            read_table(path)
        np.testing.assert_allclose(
            read_table(path, missing="mean").X, [[1, 2], [13 / 3, 4], [5, 14 / 3], [7, 8]]
        )
        dropped = read_table(path, missing="drop", id="who")
        assert dropped.X.tolist() == [[1, 2], [7, 8]] and dropped.names.tolist() == ["x", "w"]
        assert "2 rows (a number is missing)" in str(dropped)
        with pytest.raises(ValueError, match="missing='what'"):
            read_table(path, missing="what")

    def test_errors_name_line_and_column(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(text, "_ROWS_LOOKED_AT", 2)
        for content, match in (
            ("a,b\n1,2\n3,4\n5,six\n", r"t.csv, line 4, column 'b': 'six' is no number"),
            ('a,b\n"1\n",2\n3,4\n5\n', r"t.csv, line 5: 1 columns; expected 2 \(a, b\)"),
            ("", "is empty"),
            ("\n\n", "is empty"),
            ("a,b\n", "no rows"),
            ("a,b\nx,y\n", "no column of numbers among a, b"),
        ):
            with pytest.raises(ValueError, match=match):
                read_table(write(tmp_path / "t.csv", content))
        (tmp_path / "t.csv").write_bytes(b"a,b\n1,2\n3,\xff\n")
        with pytest.raises(FileFormatError, match="line 3: is not UTF-8"):
            read_table(tmp_path / "t.csv")

    def test_blocks_and_spilling_make_no_difference(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        path = write(tmp_path / "t.csv", csv_of(X, "a,b,c,d,e,f\n"))
        monkeypatch.setattr(text, "CELLS_AT_ONCE", 42)
        monkeypatch.setattr(text, "_ROWS_LOOKED_AT", 5)
        np.testing.assert_array_equal(read_table(path).X, X)
        monkeypatch.setattr(table, "memory_budget", lambda _: type("B", (), {"size": 300})())
        spilled = read_table(path).X
        np.testing.assert_array_equal(spilled, X)
        HNNE().fit(spilled)

    def test_quotes_and_missing_numbers_after_lines_of_plain_numbers(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(text, "_ROWS_LOOKED_AT", 2)
        monkeypatch.setattr(text, "CELLS_AT_ONCE", 6)
        plain = "\n\na,b\n1,2\n3,4\n5,6\n7,8\n9,10\n11,12\n13,14\n"
        path = write(tmp_path / "t.csv", f'{plain}"15\n",16\n17,\n19,20\n')
        found = read_table(path, missing="drop").X
        np.testing.assert_array_equal(found.ravel(), [*range(1, 17), 19, 20])
        with pytest.raises(FileFormatError, match=r"line 13, column 'b': 'x' is no number"):
            read_table(write(path, f'{plain}"15\n",16\n17,x\n19,20\n'))

    def test_a_byte_order_mark_and_windows_lines(self, tmp_path: Path) -> None:
        path = tmp_path / "t.csv"
        path.write_bytes(b"\xef\xbb\xbfa;b\r\n1;2\r\n3;4\r\n")
        assert read_table(path).columns == ("a", "b")


class TestArrays:
    def test_npy_is_mapped(self, tmp_path: Path) -> None:
        np.save(tmp_path / "x.npy", X.astype(np.float16))
        write(tmp_path / "x_words.txt", "".join(f"w{i}\n" for i in range(30)))
        found = read_table(tmp_path / "x.npy")
        assert (
            isinstance(found.X, np.memmap)
            and found.X.dtype == np.float16
            and found.names[3] == "w3"
        )

    def test_npz(self, tmp_path: Path) -> None:
        np.savez(tmp_path / "a.npz", X=X, y=np.arange(30), other=np.zeros((2, 2)))
        found = read_table(tmp_path / "a.npz", label="y")
        np.testing.assert_array_equal(found.X, X)
        assert (
            found.metadata["y"].tolist() == [*range(30)]
            and found.left_out["other"] == "another array"
        )
        assert read_table(tmp_path / "a.npz", key="other").X.shape == (2, 2)
        np.savez(tmp_path / "b.npz", one=X, two=X)
        for options, match in (
            ({}, "which array holds the rows"),
            (dict(key="three"), "key='three' is not there"),
        ):
            with pytest.raises(ValueError, match=match):
                read_table(tmp_path / "b.npz", **options)
        np.savez(tmp_path / "c.npz", X=np.array([{}], dtype=object))
        with pytest.raises(FileFormatError, match="pickled objects are refused"):
            read_table(tmp_path / "c.npz")

    def test_sparse_npz(self, tmp_path: Path) -> None:
        sparse.save_npz(tmp_path / "s.npz", sparse.csc_matrix(X))
        found = read_table(tmp_path / "s.npz")
        assert found.X.format == "csr"
        np.testing.assert_array_equal(found.X.toarray(), X)
        np.testing.assert_array_equal(
            read_table(tmp_path / "s.npz", columns=["1", "3-4"]).X.toarray(), X[:, [1, 3, 4]]
        )
        with np.load(tmp_path / "s.npz") as parts:
            np.savez(tmp_path / "s.npz", **{**parts, "indices": parts["indices"] + 99})
        with pytest.raises(FileFormatError, match="damaged sparse matrix"):
            read_table(tmp_path / "s.npz")

    def test_mat_idx_and_vecs(self, tmp_path: Path) -> None:
        savemat(tmp_path / "m.mat", {"X": X, "y": np.arange(30)[:, None]})
        found = read_table(tmp_path / "m.mat")
        np.testing.assert_array_equal(found.X, X)
        assert found.metadata["y"].tolist() == [*range(30)]
        pixels = X.astype(np.uint8).reshape(30, 2, 3)
        data = struct.pack(">HBBIII", 0, 8, 3, 30, 2, 3) + pixels.tobytes()
        (tmp_path / "train-images-idx3-ubyte.gz").write_bytes(gzip.compress(data))
        np.testing.assert_array_equal(read_table(tmp_path / "train-images-idx3-ubyte.gz").X, X)
        for name, dtype in (("x.fvecs", "<f4"), ("x.bvecs", "u1")):
            rows = [struct.pack("<i", 6) + row.astype(dtype).tobytes() for row in X]
            (tmp_path / name).write_bytes(b"".join(rows))
            found = read_table(tmp_path / name)
            np.testing.assert_array_equal(found.X, X)
            assert found.X.dtype == np.dtype(dtype)
            (tmp_path / name).write_bytes(b"".join(rows)[:-1])
            with pytest.raises(FileFormatError, match="cut short"):
                read_table(tmp_path / name)
        (tmp_path / "x.bvecs").write_bytes(
            struct.pack("<iBB", 2, 1, 2) + struct.pack("<iBB", 3, 1, 2)
        )
        with pytest.raises(
            FileFormatError, match="row 1: a vector of 3 numbers after vectors of 2"
        ):
            read_table(tmp_path / "x.bvecs")

    def test_h5(self, tmp_path: Path) -> None:
        h5py = pytest.importorskip("h5py")
        with h5py.File(tmp_path / "x.h5", "w") as file:
            file["group/X"], file["names"], file["small"] = (
                X,
                [f"n{i}" for i in range(30)],
                np.zeros((2, 2)),
            )
        with pytest.raises(ValueError, match="which array holds the rows"):
            read_table(tmp_path / "x.h5")
        found = read_table(tmp_path / "x.h5", key="group/X", id="names")
        assert isinstance(found.X, h5py.Dataset) and found.names[2] == "n2"
        np.testing.assert_array_equal(HNNE().fit(found.X).embedding_, HNNE().fit(X).embedding_)
        found.X.file.close()
        (tmp_path / "x.h5").write_bytes((tmp_path / "x.h5").read_bytes()[:500])
        with pytest.raises(FileFormatError, match="truncated, damaged or no HDF5"):
            read_table(tmp_path / "x.h5")

    def test_zarr(self, tmp_path: Path) -> None:
        zarr = pytest.importorskip("zarr")
        zarr.save(str(tmp_path / "x.zarr"), X)
        np.testing.assert_array_equal(read_table(tmp_path / "x.zarr").X[:], X)
        (tmp_path / "no.zarr").mkdir()
        with pytest.raises(FileFormatError, match="no zarr array or group"):
            read_table(tmp_path / "no.zarr")

    @pytest.mark.parametrize("as_sparse", [False, True])
    def test_h5ad(self, as_sparse: bool, tmp_path: Path) -> None:
        anndata, pd = pytest.importorskip("anndata"), pytest.importorskip("pandas")
        data = anndata.AnnData(
            sparse.csr_matrix(X) if as_sparse else X,
            obs=pd.DataFrame(
                {"kind": pd.Categorical(["a", "b"] * 15), "n": range(30)},
                [f"c{i}" for i in range(30)],
            ),
        )
        data.write_h5ad(tmp_path / "cells.h5ad")
        found = read_table(tmp_path / "cells.h5ad", label="kind")
        assert (
            sparse.issparse(found.X) == as_sparse
            and found.names[1] == "c1"
            and len(found.columns) == 6
        )
        assert (
            found.metadata["kind"].tolist() == ["a", "b"] * 15
            and found.metadata["n"].dtype.kind == "i"
        )
        some = read_table(tmp_path / "cells.h5ad", columns=["1", "3"]).X
        np.testing.assert_array_equal(some.toarray() if as_sparse else some, X[:, [1, 3]])
        data.obsm["X_pca"] = X[:, :2]
        data.write_h5ad(tmp_path / "cells.h5ad")
        assert read_table(tmp_path / "cells.h5ad").X.shape == (30, 2)
        assert read_table(tmp_path / "cells.h5ad", key="X").X.shape == (30, 6)
        with pytest.raises(
            ValueError, match="key='obsm/X_umap' is not there; it has X, obsm/X_pca"
        ):
            read_table(tmp_path / "cells.h5ad", key="obsm/X_umap")
        empty = anndata.AnnData(
            obs=data.obs, obsm={"X_hnne": X[:, :2]}
        )  # what `nestmap export` writes
        empty.write_h5ad(tmp_path / "map.h5ad")
        with pytest.raises(
            ValueError, match=r"it has obsm/X_hnne: choose one with .*--key obsm/X_hnne"
        ):
            read_table(tmp_path / "map.h5ad")


class TestArrow:
    @pytest.mark.parametrize("suffix", [".parquet", ".feather", ".arrow"])
    def test_tables(self, suffix: str, tmp_path: Path) -> None:
        arrow = pytest.importorskip("pyarrow")
        from pyarrow import feather, parquet

        days = [None, *(datetime(2024, 5, day) for day in range(1, 30))]
        names = [f"w{i}" for i in range(30)]
        rows = arrow.table({"a": X[:, 0], "b": X[:, 1].astype(np.int16), "who": names, "day": days})
        path = tmp_path / f"t{suffix}"
        parquet.write_table(
            rows, path, row_group_size=7
        ) if suffix == ".parquet" else feather.write_feather(rows, path)
        found = read_table(path, id="who")
        np.testing.assert_array_equal(found.X, X[:, :2])
        assert (
            found.columns == ("a", "b")
            and found.names[4] == "w4"
            and found.left_out["day"] == "dates"
        )
        path.write_bytes(path.read_bytes()[:100])
        with pytest.raises(FileFormatError, match="truncated or damaged"):
            read_table(path)

    @pytest.mark.parametrize("fixed", [False, True])
    def test_a_column_of_vectors(self, fixed: bool, tmp_path: Path) -> None:
        arrow = pytest.importorskip("pyarrow")
        from pyarrow import parquet

        kind = arrow.list_(arrow.float32(), 6) if fixed else arrow.list_(arrow.float32())
        path = tmp_path / "t.parquet"
        parquet.write_table(
            arrow.table({"text": ["t"] * 30, "embedding": arrow.array(X.tolist(), kind)}), path
        )
        found = read_table(path)
        np.testing.assert_array_equal(found.X, X)
        if not fixed:
            column = arrow.array([[1.0, 2.0], [3.0]], kind)
            parquet.write_table(arrow.table({"embedding": column}), path)
            with pytest.raises(
                FileFormatError,
                match=r"row 1, column 'embedding': a vector of 1; expected a vector of 2",
            ):
                read_table(path)

    def test_vectors_beside_numbers(self, tmp_path: Path) -> None:
        arrow = pytest.importorskip("pyarrow")
        from pyarrow import parquet

        path = tmp_path / "t.parquet"
        parquet.write_table(arrow.table({"n": X[:, 0], "v": X[:, 1:].tolist()}), path)
        found = read_table(path)
        np.testing.assert_array_equal(found.X, X)
        assert found.columns == ("n", "v[0]", "v[1]", "v[2]", "v[3]", "v[4]") and found.taken == (
            "n",
            "v",
        )
        np.testing.assert_array_equal(read_table(path, like=found).X, X)

    def test_missing_numbers_are_named(self, tmp_path: Path) -> None:
        arrow = pytest.importorskip("pyarrow")
        from pyarrow import parquet

        parquet.write_table(
            arrow.table({"a": [1, None, 3], "b": [1.0, 2.0, 3.0]}), tmp_path / "t.parquet"
        )
        with pytest.raises(ValueError, match="row 1 has no number in column 'a'"):
            read_table(tmp_path / "t.parquet")


class TestWords:
    @pytest.mark.parametrize("name", ["glove.txt", "w2v.vec", "w2v.txt.gz"])
    def test_text(self, name: str, tmp_path: Path) -> None:
        words = ["the", ". . .", "ünï", *(f"w{i}" for i in range(27))]
        content = "".join(
            f"{word} {' '.join(map(repr, row))}\n"
            for word, row in zip(words, X.tolist(), strict=True)
        )
        content = ("" if name == "glove.txt" else "30 6\n") + content
        data = content.encode()
        (tmp_path / name).write_bytes(gzip.compress(data) if name.endswith("gz") else data)
        found = read_table(tmp_path / name)
        np.testing.assert_array_equal(found.X, X)
        assert found.names.tolist() == words and found.X.dtype == np.float32

    def test_binary(self, tmp_path: Path) -> None:
        body = b"".join(
            f"w{i} ".encode() + row.astype("<f4").tobytes() + b"\n" for i, row in enumerate(X)
        )
        (tmp_path / "v.bin").write_bytes(b"30 6\n" + body)
        found = read_table(tmp_path / "v.bin")
        np.testing.assert_array_equal(found.X, X)
        assert found.names[29] == "w29"

    def test_errors(self, tmp_path: Path) -> None:
        for content, match in (
            ("a 1 2 3\nb 1 x 3\n", "line 2: expected a word and 3 numbers"),
            ("3 2\na 1 2\nb 1 2\n", "cut short: 2 words are there, its first line says 3"),
        ):
            with pytest.raises(FileFormatError, match=match):
                read_table(write(tmp_path / "v.vec", content))


class TestTexts:
    LINES = (
        "the cat sat on the mat",
        "a dog ate the cat",
        "stocks fell today",
        "markets and stocks rose",
        "",
    )

    def test_lines(self, tmp_path: Path) -> None:
        path = write(tmp_path / "t.txt", "\n".join(self.LINES))
        found = read_table(path, text=True)
        assert (
            sparse.issparse(found.X)
            and found.X.shape[0] == 4
            and found.metadata["text"][1] == self.LINES[1]
        )
        np.testing.assert_allclose(sparse.linalg.norm(found.X, axis=1), 1, rtol=1e-6)
        with pytest.raises(ValueError, match="lines of text, no numbers"):
            read_table(path)

    def test_a_column_and_new_texts(self, tmp_path: Path) -> None:
        path = write(
            tmp_path / "t.csv",
            "n,what\n" + "".join(f'{i},"{line}"\n' for i, line in enumerate(self.LINES[:4])),
        )
        found = read_table(path, text="what")
        assert (
            found.text == "what"
            and found.left_out == {"n": "a text is mapped"}
            and "4 texts (what)" in str(found)
        )
        again = read_table(path, text="what", like=found)
        np.testing.assert_array_equal(found.X.toarray(), again.X.toarray())
        with pytest.raises(ValueError, match="text='whut' is no column; did you mean 'what'"):
            read_table(path, text="whut")
        with pytest.raises(ValueError, match="no words to tell the texts apart"):
            read_table(write(path, 'n,what\n1,"!"\n2,"?"\n'), text="what")


def test_what_a_file_is_goes_by_its_bytes_where_its_name_says_nothing(tmp_path: Path) -> None:
    with (tmp_path / "rows").open("wb") as file:
        np.save(file, X)
    np.testing.assert_array_equal(read_table(tmp_path / "rows").X, X)
    np.testing.assert_array_equal(read_table(write(tmp_path / "rows", csv_of(X))).X, X)
    np.testing.assert_array_equal(
        read_table(write(tmp_path / "rows.txt", csv_of(X).replace(",", " "))).X, X
    )
    with zipfile.ZipFile(tmp_path / "rows.zip", "w") as archive:
        archive.writestr("inner.csv", csv_of(X))
    np.testing.assert_array_equal(read_table(tmp_path / "rows.zip").X, X)
    with pytest.raises(ValueError, match="no reader for this kind of file"):
        read_table(write(tmp_path / "rows.xls", "x"))
    with pytest.raises(FileNotFoundError, match="no such file"):
        read_table(tmp_path / "nothing.csv")
    with pytest.raises(ValueError, match="format='xls' is not an option"):
        read_table(tmp_path / "rows", format="xls")


def test_standard_input(tmp_path: Path) -> None:
    code = "from nestmap.readers import read_table; t = read_table('-'); print(t.X.sum(), t)"
    done = subprocess.run(
        [sys.executable, "-c", code],
        input=csv_of(X),
        capture_output=True,
        text=True,
        check=True,
        timeout=LIMIT,
    )
    assert (
        done.stdout.split()
        == f"{X.sum()} standard input: 30 rows, 6 columns used (0, 1, 2, 3, 4, 5)".split()
    )


@pytest.mark.parametrize("path", ["t.parquet", "t.h5", "t.zarr"])
def test_a_library_that_is_missing_is_named(
    path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("pyarrow", "h5py", "zarr"):
        monkeypatch.setitem(sys.modules, name, None)
    write(tmp_path / path, "x")
    with pytest.raises(ImportError, match=r"pip install 'nestmap\[files\]'"):
        read_table(tmp_path / path)


def test_a_plain_install_reads_tables(tmp_path: Path) -> None:
    """No pandas, no pyarrow: numbers and texts of a csv all the same."""
    path = write(tmp_path / "t.csv", csv_of(X, "a,b,c,d,e,f\n"))
    code = (
        "import sys\n"
        "for name in ('pandas', 'pyarrow', 'h5py', 'anndata', 'zarr', 'matplotlib'): "
        "sys.modules[name] = None\n"
        "from nestmap.readers import read_table\n"
        "print(read_table(sys.argv[1]).X.shape)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(path)],
        capture_output=True,
        text=True,
        check=False,
        timeout=LIMIT,
    )
    assert done.stdout.strip() == "(30, 6)", done.stderr


def test_a_table_is_said_in_a_line() -> None:
    many: Any = Table(np.zeros((5, 20)), tuple(f"column{i}" for i in range(20)), source="f")
    assert str(many).endswith("column7 … and 12 more)")


def test_of_a_line_without_an_end_no_more_is_read_than_a_line_may_have(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(text, "_MAX_LINE_BYTES", 100)
    file = io.BytesIO(b"a,b\n" + b"x" * 100_000)
    with pytest.raises(FileFormatError, match="line 2: longer than 100 bytes"):
        [*text.lines_of(Stream(file, file, 100_004), Path("t.csv"))]
    assert file.tell() == 4 + 101


@pytest.mark.parametrize("limit", [0, 30, 10**9])
def test_blocks_of_several_types_become_one_array_in_memory_and_on_disk(limit: int) -> None:
    """Whole numbers, of which a later block has missing ones."""
    growing = table.Growing(limit)
    blocks = [np.array([[1, 2], [3, 4]]), np.array([[5, 6]]), np.array([[0.5, np.nan]]), X[:2, :2]]
    for block in blocks:
        growing.add(block)
    np.testing.assert_array_equal(growing.array(), np.concatenate(blocks))


def test_lists_of_texts_of_one_length_are_one_value_per_row(tmp_path: Path) -> None:
    arrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    path = tmp_path / "t.parquet"
    parquet.write_table(arrow.table({"n": [1.5, 2.5], "tags": [["a", "b"], ["c", "d"]]}), path)
    assert read_table(path).metadata["tags"].tolist() == [["a", "b"], ["c", "d"]]
    assert read_table(path).metadata["tags"].shape == (2,)
