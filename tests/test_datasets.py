"""Data sets: every format as it is published, the order of the lookup, downloads, bad files. No
network.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import lzma
import os
import pickle
import struct
import sys
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import FrozenInstanceError, replace
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import h5py
import numpy as np
import pytest
from conftest import LIMIT
from PIL import Image
from scipy.io import savemat

from benchmarks import datasets
from benchmarks.datasets import DatasetNotFound, FileFormatError, _fetch, _readers, available
from benchmarks.datasets._sources import SOURCES, File, Original
from nestmap.app.readers import _formats
from nestmap.core.progress import Progress

load = partial(datasets.load, verbose=0)
RNG = np.random.default_rng(0)


@pytest.fixture(autouse=True)
def _nothing_real(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No network, no cache of the user's, no packages of the system."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for name in ("XDG_CACHE_HOME", "NESTMAP_DATA", "NESTMAP_CACHE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("no_proxy", "*")
    for name, info in SOURCES.items():
        originals = tuple(
            replace(
                o,
                files=tuple(
                    replace(f, urls=f.urls and ("http://127.0.0.1:9/" + f.name,)) for f in o.files
                ),
            )
            for o in info.originals
        )
        monkeypatch.setitem(SOURCES, name, replace(info, system=(), originals=originals))


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "home" / ".cache" / "nestmap"


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The directory that NESTMAP_DATA names."""
    directory = tmp_path / "data"
    directory.mkdir()
    monkeypatch.setenv("NESTMAP_DATA", str(directory))
    return directory


# -- idx
# ---------------------------------------------------------------------------------------------

IDX = (
    "train-images-idx3-ubyte",
    "train-labels-idx1-ubyte",
    "t10k-images-idx3-ubyte",
    "t10k-labels-idx1-ubyte",
)


def idx(values: np.ndarray) -> bytes:
    return (
        struct.pack(f">BBBB{values.ndim}I", 0, 0, 8, values.ndim, *values.shape) + values.tobytes()
    )


def mnist_files(directory: Path, n_train: int = 5, n_test: int = 3, suffix: str = ".gz") -> tuple:
    directory.mkdir(parents=True, exist_ok=True)
    X = RNG.integers(0, 256, (n_train + n_test, 28, 28), dtype=np.uint8)
    y = RNG.integers(0, 10, n_train + n_test, dtype=np.uint8)
    for name, part in zip(IDX, (X[:n_train], y[:n_train], X[n_train:], y[n_train:]), strict=True):
        content = idx(part)
        (directory / (name + suffix)).write_bytes(gzip.compress(content) if suffix else content)
    return X.reshape(len(X), -1), y


@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_mnist(tmp_path: Path, suffix: str) -> None:
    X, y = mnist_files(tmp_path, suffix=suffix)
    found = load("mnist", path=tmp_path)
    np.testing.assert_array_equal(found.X, X)
    np.testing.assert_array_equal(found.y, y)
    assert found.X.dtype == np.uint8 and found.n_train == 5 and found.metric == "euclidean"
    by_file = load("mnist", path=tmp_path / (IDX[2] + suffix))  # one of the four stands for all
    np.testing.assert_array_equal(by_file.X, X)


def test_mnist8m_is_memory_mapped(tmp_path: Path) -> None:
    X = RNG.integers(0, 256, (7, 28, 28), dtype=np.uint8)
    (tmp_path / "mnist8m-patterns-idx3-ubyte").write_bytes(idx(X))
    (tmp_path / "mnist8m-labels-idx1-ubyte").write_bytes(idx(np.arange(7, dtype=np.uint8)))
    found = load("mnist8m", path=tmp_path)
    assert isinstance(found.X, np.memmap) and found.X.shape == (7, 784)
    np.testing.assert_array_equal(found.X, X.reshape(7, -1))


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        (lambda good: b"PK" + good[2:], "not an idx file"),
        (lambda good: b"\0\0\7" + good[3:], "not an idx file"),
        (lambda good: b"", "not an idx file"),
        (lambda good: good[:10], "truncated"),
        (lambda good: good[:-1], "truncated"),
        (lambda good: good + b"x", "damaged"),
        (lambda good: good[:4] + b"\xff" * 12 + good[16:], "damaged"),
    ],
)
@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_bad_idx(tmp_path: Path, damage: Callable[[bytes], bytes], says: str, suffix: str) -> None:
    path = tmp_path / f"images{suffix}"
    bad = damage(idx(np.ones((3, 28, 28), np.uint8)))
    path.write_bytes(gzip.compress(bad) if suffix else bad)
    with pytest.raises(FileFormatError, match=f"images.*{says}"):
        _formats.read_idx(path)


def test_truncated_gz(tmp_path: Path) -> None:
    mnist_files(tmp_path)
    path = tmp_path / f"{IDX[0]}.gz"
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(FileFormatError, match=r"train-images.*truncated or damaged.*get it again"):
        load("mnist", path=tmp_path)


def test_labels_must_match_the_images(tmp_path: Path) -> None:
    mnist_files(tmp_path)
    (tmp_path / f"{IDX[3]}.gz").write_bytes(gzip.compress(idx(np.zeros(2, np.uint8))))
    with pytest.raises(FileFormatError, match="2 labels for 3 images"):
        load("mnist", path=tmp_path)


# -- CIFAR-10
# ----------------------------------------------------------------------------------------

BATCHES = (
    "data_batch_1",
    "data_batch_2",
    "data_batch_3",
    "data_batch_4",
    "data_batch_5",
    "test_batch",
)


def cifar_arrays() -> list[tuple[np.ndarray, np.ndarray]]:
    return [
        (RNG.integers(0, 256, (2, 3072), dtype=np.uint8), RNG.integers(0, 10, 2, dtype=np.uint8))
        for _ in BATCHES
    ]


def protocol_2(X: np.ndarray, y: np.ndarray) -> bytes:
    return pickle.dumps({b"batch_label": b"1 of 5", b"data": X, b"labels": y.tolist()}, protocol=2)


def python_2(X: np.ndarray, y: np.ndarray) -> bytes:
    """As Python 2 and NumPy 1 wrote the real files: byte strings, numpy.core."""
    array = (
        b"cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\x00\x85U\x01b\x87R(K\x01K"
        + bytes([len(X)])
        + b"M\x00\x0c\x86cnumpy\ndtype\nU\x02u1K\x00K\x01\x87R"
        + b"(K\x03U\x01|NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb\x89T"
        + struct.pack("<i", X.size)
        + X.tobytes()
        + b"tb"
    )
    labels = b"](" + b"".join(b"K" + bytes([label]) for label in y) + b"e"
    return b"\x80\x02}(U\x04data" + array + b"U\x06labels" + labels + b"u."


def binary(X: np.ndarray, y: np.ndarray) -> bytes:
    return np.column_stack([y, X]).tobytes()


def write_tar(path: Path, files: dict[str, bytes]) -> None:
    with tarfile.open(path, "w:gz") as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))


@pytest.mark.parametrize(
    ("write", "kind", "end"),
    [(protocol_2, "python", ""), (python_2, "python", ""), (binary, "binary", ".bin")],
)
@pytest.mark.parametrize("unpacked", [False, True])
def test_cifar10(
    tmp_path: Path, write: Callable[..., bytes], kind: str, end: str, unpacked: bool
) -> None:
    batches = cifar_arrays()
    folder = f"cifar-10-batches-{'bin' if end else 'py'}"
    files = {
        f"{folder}/{name}{end}": write(*part) for name, part in zip(BATCHES, batches, strict=True)
    }
    files = {
        f"{folder}/readme.html": b"hello",
        **dict(reversed(files.items())),
    }  # any order in the archive
    if unpacked:
        (tmp_path / folder).mkdir()
        for name, content in files.items():
            (tmp_path / name).write_bytes(content)
    else:
        write_tar(tmp_path / f"cifar-10-{kind}.tar.gz", files)
    found = load("cifar10", path=tmp_path)
    np.testing.assert_array_equal(found.X, np.concatenate([X for X, _ in batches]))
    np.testing.assert_array_equal(found.y, np.concatenate([y for _, y in batches]))
    assert found.X.dtype == found.y.dtype == np.uint8 and found.n_train == 10


class Malicious:
    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self) -> tuple:
        return os.system, (f"touch {self.marker}",)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (lambda marker: pickle.dumps(Malicious(marker)), r"refused.*system"),
        (lambda marker: pickle.dumps({b"data": Malicious(marker)}, 2), r"refused.*system"),
        (lambda marker: b"cbuiltins\neval\n(S'1'\ntR.", r"refused.*builtins\.eval"),
        (lambda marker: b"c_codecs\nencode\n(X\1\0\0\0aX\3\0\0\0hextR.", "codec 'hex'"),
        (lambda marker: protocol_2(*cifar_arrays()[0])[:-100], "truncated"),
        (lambda marker: pickle.dumps([1, 2]), "not a batch"),
        (
            lambda marker: pickle.dumps(
                {b"data": np.zeros((2, 9), np.uint8), b"labels": [1, 2]}, 2
            ),
            "2 x 3072",
        ),
        (lambda marker: pickle.dumps({b"data": "text", b"labels": [1, 2]}, 2), "2 x 3072"),
    ],
)
def test_bad_pickles_are_refused(
    tmp_path: Path, content: Callable[[Path], bytes], says: str
) -> None:
    marker = tmp_path / "executed"
    write_tar(
        tmp_path / "cifar-10-python.tar.gz", {"cifar-10-batches-py/data_batch_1": content(marker)}
    )
    with pytest.raises(FileFormatError, match=says):
        load("cifar10", path=tmp_path)
    assert not marker.exists()


def test_bad_cifar_archives(tmp_path: Path) -> None:
    path = tmp_path / "cifar-10-binary.tar.gz"
    write_tar(path, {"x/data_batch_1.bin": b"12345"})
    with pytest.raises(FileFormatError, match=r"data_batch_1\.bin is truncated: 5 bytes"):
        load("cifar10", path=path)
    write_tar(path, {"x/data_batch_1.bin": bytes(3073)})
    with pytest.raises(FileFormatError, match="lacks data_batch_2"):
        load("cifar10", path=path)
    path.write_bytes(b"no archive")
    with pytest.raises(FileFormatError, match="truncated or damaged"):
        load("cifar10", path=path)


# -- word2vec
# ----------------------------------------------------------------------------------------

WORDS = ("</s>", "in", "New_York", "naïve", "odd\x85line\u2028ends", "日本")


def word2vec(vectors: np.ndarray, newline: bytes = b"") -> bytes:
    rows = (
        word.encode() + b" " + vector.tobytes() + newline
        for word, vector in zip(WORDS, vectors, strict=True)
    )
    return b"%d %d\n" % vectors.shape + b"".join(rows)


@pytest.mark.parametrize("newline", [b"", b"\n"])
@pytest.mark.parametrize(
    "name", ["GoogleNews-vectors-negative300.bin.gz", "GoogleNews-vectors-negative300.bin"]
)
@pytest.mark.parametrize("block", [1 << 24, 1500])
def test_google_news(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, newline: bytes, name: str, block: int
) -> None:
    monkeypatch.setattr(_formats, "BLOCK_BYTES", block)
    vectors = RNG.normal(size=(6, 300)).astype("<f4")
    vectors[0, :5] = np.frombuffer(
        b" \n  " * 5, "<f4"
    )  # bytes of a vector that look like separators
    content = word2vec(vectors, newline)
    (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    found = load("google_news", path=tmp_path)
    np.testing.assert_array_equal(found.X, vectors)
    assert (
        found.names == WORDS
        and found.y is None
        and found.metric == "cosine"
        and found.X.dtype == np.float32
    )
    blocks = [*_formats.word2vec_blocks(tmp_path / name, Progress(0), limit=2)]
    assert sum((block.names or () for block in blocks), ()) == WORDS[:2]


def test_bad_word2vec(tmp_path: Path, cache: Path) -> None:
    path = tmp_path / "GoogleNews-vectors-negative300.bin"
    content = word2vec(np.ones((6, 300), "<f4"))
    for bad, says in (
        (content[:-1], "ends in row 5 of 6"),
        (b"PK\3\4", "not a word2vec"),
        (b"3 0\n", "not a word2vec"),
    ):
        path.write_bytes(bad)
        with pytest.raises(FileFormatError, match=says):
            load("google_news", path=tmp_path)
    path.write_bytes(b"0 300\n")
    with pytest.raises(FileFormatError, match="no rows"):
        load("google_news", path=tmp_path)
    assert not [file for file in cache.rglob("*") if file.is_file()]  # nothing half-written stays


# -- text
# --------------------------------------------------------------------------------------------


def higgs(rows: int = 9) -> tuple[np.ndarray, np.ndarray, bytes]:
    X, y = RNG.normal(size=(rows, 28)).astype(np.float32), RNG.integers(0, 2, rows)
    out = io.BytesIO()
    np.savetxt(out, np.column_stack([y, X]), fmt="%.18e", delimiter=",")
    return X, y, out.getvalue()


@pytest.mark.parametrize("name", ["HIGGS.csv", "HIGGS.csv.gz", "higgs.zip"])
@pytest.mark.parametrize("block", [1 << 24, 1000])
def test_higgs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, block: int) -> None:
    monkeypatch.setattr(_formats, "BLOCK_BYTES", block)
    X, y, content = higgs()
    if name.endswith(".zip"):
        with zipfile.ZipFile(tmp_path / name, "w") as archive:
            archive.writestr("HIGGS.csv.gz", gzip.compress(content))
    else:
        (tmp_path / name).write_bytes(
            gzip.compress(content) if name.endswith(".gz") else content + b"\n"
        )
    found = load("higgs", path=tmp_path)
    np.testing.assert_array_equal(found.X, X)
    np.testing.assert_array_equal(found.y, y)
    assert (
        isinstance(found.X, np.memmap) and found.n_train is None
    )  # not all 11 million: no official split


def test_parsed_once_then_memory_mapped(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, _, content = higgs()
    path = tmp_path / "HIGGS.csv"
    path.write_bytes(content)
    load("higgs", path=path)
    assert sorted(file.name[-5:] for file in (cache / "higgs").iterdir()) == ["X.npy", "y.npy"]
    with monkeypatch.context() as patch:
        patch.setattr(_readers, "text_blocks", None)  # would fail if it were parsed again
        np.testing.assert_array_equal(load("higgs", path=path).X, X)
    path.write_bytes(content[: content.index(b"\n") + 1])
    assert load("higgs", path=path).X.shape == (1, 28)  # another file: another copy
    elsewhere = tmp_path / "elsewhere"
    load("higgs", path=path, cache=elsewhere)
    assert (elsewhere / "higgs").is_dir()


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda text: text.replace(b",", b";"), "HIGGS"),
        (lambda text: text + b"1.0,2.0\n", "columns"),
        (lambda text: text.replace(b",", b"x,", 1), "from 1 on"),
        (
            lambda text: b"\n".join(line.rpartition(b",")[0] for line in text.split(b"\n")),
            "27 columns; higgs has 28",
        ),
        (lambda text: b"0.5" + text[24:], "not a whole number"),
        (lambda text: b"", "no rows"),
    ],
)
def test_bad_csv(tmp_path: Path, change: Callable[[bytes], bytes], says: str) -> None:
    (tmp_path / "HIGGS.csv").write_bytes(change(higgs()[2]))
    with pytest.raises(FileFormatError, match=says):
        load("higgs", path=tmp_path)


def test_csv_columns_change_between_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_formats, "BLOCK_BYTES", 1)
    (tmp_path / "HIGGS.csv").write_bytes(higgs()[2] + b"1.0,2.0\n")
    with pytest.raises(FileFormatError, match="line 10: 2 columns after 29"):
        load("higgs", path=tmp_path)


@pytest.mark.parametrize("block", [1 << 24, 50])
def test_mnist8m_from_libsvm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block: int) -> None:
    monkeypatch.setattr(_formats, "BLOCK_BYTES", block)
    X = RNG.integers(0, 256, (5, 784), dtype=np.uint8) * (RNG.random((5, 784)) < 0.1)
    y = np.array([5, 0, 4, 1, 9])
    rows = (
        f"{label} " + " ".join(f"{j + 1}:{row[j]}" for j in np.flatnonzero(row))
        for label, row in zip(y, X, strict=True)
    )
    (tmp_path / "mnist8m.xz").write_bytes(lzma.compress(("\n".join(rows) + "\n").encode()))
    found = load("mnist8m", path=tmp_path)
    np.testing.assert_array_equal(found.X, X)
    np.testing.assert_array_equal(found.y, y)
    assert found.X.dtype == np.uint8 and isinstance(found.X, np.memmap)


@pytest.mark.parametrize(
    ("line", "says"),
    [
        (b"1 785:3\n", "785 features"),
        (b"1 3:0.5\n", "whole from 0 to 255"),
        (b"1 3:256\n", "whole from 0 to 255"),
        (b"one 3:4\n", "from 1 on"),
    ],
)
def test_bad_libsvm(tmp_path: Path, line: bytes, says: str) -> None:
    (tmp_path / "mnist8m").write_bytes(line)
    with pytest.raises(FileFormatError, match=says):
        load("mnist8m", path=tmp_path / "mnist8m")
    (tmp_path / "mnist8m.xz").write_bytes(lzma.compress(line)[:-8])
    with pytest.raises(FileFormatError, match="truncated"):
        load("mnist8m", path=tmp_path / "mnist8m.xz")


# -- COIL-20
# -----------------------------------------------------------------------------------------


def png(pixels: np.ndarray) -> bytes:
    out = io.BytesIO()
    Image.fromarray(pixels).save(out, "PNG")
    return out.getvalue()


def test_coil20(tmp_path: Path) -> None:
    views = [(1, 0), (1, 2), (1, 10), (2, 0), (10, 1)]
    X = RNG.integers(0, 256, (5, 128, 128), dtype=np.uint8)
    path = tmp_path / "coil-20-proc.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for at in (3, 0, 4, 2, 1):
            archive.writestr("coil-20-proc/obj{}__{}.png".format(*views[at]), png(X[at]))
        archive.writestr("coil-20-proc/readme.txt", "hello")
    found = load("coil20", path=path)
    np.testing.assert_array_equal(found.X, X.reshape(5, -1))
    assert (
        found.X.dtype == np.uint8 and found.y is not None and found.y.tolist() == [1, 1, 1, 2, 10]
    )


def test_coil20_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = tuple(File(f"obj{k}__{view}.png") for k in (1, 2) for view in (0, 1))
    monkeypatch.setitem(
        SOURCES, "coil20", replace(SOURCES["coil20"], originals=(Original("coil20", files),))
    )
    (tmp_path / "coil-20-proc").mkdir()
    for at, file in enumerate(files):
        (tmp_path / "coil-20-proc" / file.name).write_bytes(png(np.full((128, 128), at, np.uint8)))
    assert load("coil20", path=tmp_path).X[:, 0].tolist() == [0, 1, 2, 3]


def test_bad_coil20(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "coil-20-proc.zip"

    def pictures(*contents: bytes) -> None:
        with zipfile.ZipFile(path, "w") as archive:
            for view, content in enumerate(contents):
                archive.writestr(f"obj1__{view}.png", content)

    small = png(np.zeros((4, 4), np.uint8))
    for contents, says in (
        ((), "no pictures"),
        ((small,), "16 columns; coil20 has 16,384"),
        ((small, png(np.zeros((5, 5), np.uint8))), "16 to 25 pixels"),
        ((small[:40],), r"obj1__0\.png is not a whole picture"),
    ):
        pictures(*contents)
        with pytest.raises(FileFormatError, match=says):
            load("coil20", path=path)
    path.write_bytes(b"no archive")
    with pytest.raises(FileFormatError, match="truncated or damaged"):
        load("coil20", path=path)
    pictures(small)
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(ImportError, match="pip install pillow"):
        load("coil20", path=path)


# -- arrays
# ------------------------------------------------------------------------------------------

FACES = RNG.normal(size=(6, 2048)).astype(np.float32)
PEOPLE = np.array([0, 1, 2, 0, 1, 2])


def test_bbt_as_the_authors_keep_it(tmp_path: Path) -> None:
    """The class is the last of 2049 columns."""
    np.save(tmp_path / "bbt_data.npy", np.column_stack([FACES, PEOPLE]).astype(np.float32))
    found = load("bbt", path=tmp_path)
    np.testing.assert_array_equal(found.X, FACES)
    np.testing.assert_array_equal(found.y, PEOPLE)
    assert isinstance(found.X, np.memmap)


@pytest.mark.parametrize("names", [("X", "y"), ("data", "labels"), ("fea", "gnd"), ("faces", "Y")])
def test_mat(tmp_path: Path, names: tuple[str, str]) -> None:
    savemat(tmp_path / "buffy.mat", {names[0]: FACES, names[1]: PEOPLE.astype(float)})
    for path in (tmp_path, tmp_path / "buffy.mat"):
        found = load("buffy", path=path)
        np.testing.assert_array_equal(found.X, FACES)
        assert (
            found.y is not None
            and found.y.tolist() == PEOPLE.tolist()
            and found.y.dtype.kind == "i"
        )


def test_imagenet_in_two_mat_files(data: Path) -> None:
    folder = data / "imagenet_ILSVRC_2012" / "train"
    folder.mkdir(parents=True)
    savemat(folder / "data.mat", {"data": FACES})
    savemat(folder / "labels.mat", {"labels": PEOPLE[:, None]})
    found = load("imagenet")
    np.testing.assert_array_equal(found.X, FACES)
    np.testing.assert_array_equal(found.y, PEOPLE)


@pytest.mark.parametrize("delimiter", [",", " ", "\t"])
def test_txt(tmp_path: Path, delimiter: str) -> None:
    np.savetxt(tmp_path / "bbt.txt", np.column_stack([FACES, PEOPLE]), delimiter=delimiter)
    found = load("bbt", path=tmp_path)
    np.testing.assert_array_equal(found.X, FACES)
    np.testing.assert_array_equal(found.y, PEOPLE)


def test_bad_mat(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "bbt.mat"
    savemat(path, {"one": FACES, "two": FACES})
    with pytest.raises(FileFormatError, match=r"which array.*one, two.*name it X"):
        load("bbt", path=path)
    savemat(path, {"text": "hello"})
    with pytest.raises(FileFormatError, match="none of numbers"):
        load("bbt", path=path)
    savemat(path, {"X": FACES})
    path.write_bytes(path.read_bytes()[:5000])
    with pytest.raises(FileFormatError, match="not a MATLAB file, or damaged"):
        load("bbt", path=path)
    path.write_bytes(b"MATLAB 7.3 MAT-file".ljust(124) + b"\x00\x02IM" + bytes(512))
    monkeypatch.setitem(sys.modules, "h5py", None)
    with pytest.raises(ImportError, match="pip install h5py"):
        load("bbt", path=path)


def test_mat_73(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nestmap.app.readers._arrays.BLOCK_BYTES", 2 * 2048 * 4)
    for name, arrays in (
        ("data", {"data": FACES}),
        ("labels", {"labels": PEOPLE[:, None]}),
        ("bbt", {"X": FACES, "y": PEOPLE[:, None]}),
    ):
        path = tmp_path / f"{name}.mat"
        with h5py.File(path, "w", userblock_size=512) as file:
            for key, values in arrays.items():
                file[key] = values.T
        with path.open("r+b") as out:
            out.write(b"MATLAB 7.3 MAT-file".ljust(124) + b"\x00\x02IM")
    for found in (load("bbt", path=tmp_path), load("imagenet", path=tmp_path)):
        np.testing.assert_array_equal(found.X, FACES)
        np.testing.assert_array_equal(found.y, PEOPLE)


def test_own_npz_and_npy(data: Path) -> None:
    X = RNG.normal(size=(4, 3)).astype(np.float16)
    np.savez(data / "mine.npz", X=X, y=np.array(["a", "b", "a", "b"]))
    mine = load("mine")
    np.testing.assert_array_equal(mine.X, X)
    assert (
        mine.X.dtype == np.float16
        and mine.y is not None
        and mine.y.tolist() == ["a", "b", "a", "b"]
    )
    assert (
        mine.metric == "euclidean"
        and mine.source == str(data / "mine.npz")
        and mine.n_train is None
    )

    np.save(data / "words.npy", X)
    np.save(data / "words_labels.npy", [0, 1, 0, 1])
    (data / "words_words.txt").write_bytes("one\r\ntwo\nthr\x85ee\nfour\n".encode())
    words = load("words")
    assert words.names == ("one", "two", "thr\x85ee", "four") and words.metric == "cosine"
    assert (
        isinstance(words.X, np.memmap) and words.y is not None and words.y.tolist() == [0, 1, 0, 1]
    )

    np.save(data / "images.npy", np.zeros((5, 2, 3), np.uint8))
    np.savez(data / "no_rows.npz", other=X)
    assert load("images").X.shape == (5, 6)
    found = available()
    assert (found["mine"].rows, found["images"].columns) == (4, 6)
    assert set(found) - set(SOURCES) == {"mine", "words", "images"}


def test_own_arrays_come_before_the_published_files(data: Path) -> None:
    mnist_files(data / "mnist")
    assert load("mnist").source.endswith("ubyte.gz")
    np.savez(data / "mnist.npz", X=np.zeros((70_000, 784), np.uint8), y=np.zeros(70_000))
    found = load("mnist")
    assert found.source.endswith("mnist.npz") and found.n_train == 60_000


@pytest.mark.parametrize(
    ("arrays", "says"),
    [
        ({"Z": np.eye(3)}, "no array X, only Z"),
        ({"X": np.array([{}, []], object)}, "pickled objects are refused"),
        ({"X": np.eye(3), "y": np.array([{}, 1, 2], object)}, "pickled objects are refused"),
        ({"X": np.arange(3)}, r"shape \(3,\)"),
        ({"X": np.array([["a", "b"]])}, "expected numbers"),
        ({"X": np.zeros((0, 3))}, "expected numbers"),
        ({"X": np.eye(3), "y": [0, 1]}, "3 rows, but there are 2 labels"),
    ],
)
def test_bad_npz(data: Path, arrays: dict[str, np.ndarray], says: str) -> None:
    np.savez(data / "mine.npz", **arrays)
    with pytest.raises(FileFormatError, match=says):
        load("mine")


def test_other_bad_arrays(data: Path) -> None:
    with (data / "mine.npz").open("wb") as out:
        np.save(out, np.eye(3))
    with pytest.raises(FileFormatError, match=r"rename it to \.npy"):
        load("mine")
    (data / "mine.npz").unlink()
    for content, says in (
        (b"", "truncated"),
        (b"\x80\x04pickled?", "refused"),
        (b"\x93NUMPY\x01\x00", "refused"),
    ):
        (data / "mine.npy").write_bytes(content)
        with pytest.raises(FileFormatError, match=says):
            load("mine")
        assert "mine" not in available()
    np.save(data / "mine.npy", np.eye(30))
    (data / "mine.npy").write_bytes((data / "mine.npy").read_bytes()[:-50])
    with pytest.raises(FileFormatError, match=r"mine\.npy"):
        load("mine")
    np.save(data / "mine.npy", np.eye(3))
    (data / "mine_words.txt").write_text("one\ntwo\n")
    with pytest.raises(FileFormatError, match="2 words"):
        load("mine")
    np.savez(data / "mnist.npz", X=np.eye(3))
    with pytest.raises(FileFormatError, match=r"3 columns; mnist has 784.*under another name"):
        load("mnist")


# -- the order of the lookup
# -------------------------------------------------------------------------


def test_lookup_order(
    tmp_path: Path, data: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = "fashion_mnist"
    system, given = tmp_path / "system", tmp_path / "given"
    monkeypatch.setitem(SOURCES, name, replace(SOURCES[name], system=(str(system),)))
    arrays, shared = data / "fashion_mnist.npz", data / "FashionMNIST" / "raw"
    mnist_files(data)  # may as well be MNIST: not taken from a directory for all
    for directory in (cache / name, system, data / name, shared):
        mnist_files(directory)
        assert load(name).source.startswith(str(directory))
    np.savez(arrays, X=np.zeros((2, 784)))
    assert load(name).source == str(arrays)
    mnist_files(given)
    assert load(name, path=given).source.startswith(str(given))
    with pytest.raises(DatasetNotFound, match="does not exist"):
        load(name, path=tmp_path / "nowhere")  # path= is all that counts


def test_cache_directories(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / "home"
    assert _fetch.cache_directory(None) == home / ".cache" / "nestmap"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert _fetch.cache_directory(None) == tmp_path / "xdg" / "nestmap"
    monkeypatch.setenv("NESTMAP_CACHE", "~/mine")
    assert _fetch.cache_directory(None) == home / "mine"
    assert _fetch.cache_directory(tmp_path) == tmp_path


@pytest.mark.parametrize(
    ("name", "file", "content"),
    [
        ("higgs", "part.csv.gz", gzip.compress(higgs()[2])),
        ("google_news", "mine.bin", word2vec(np.ones((6, 300), "<f4"))),
        ("mnist8m", "some.xz", lzma.compress(b"3 1:255\n")),
    ],
)
def test_files_of_any_name_by_path(tmp_path: Path, name: str, file: str, content: bytes) -> None:
    (tmp_path / file).write_bytes(content)
    assert load(name, path=str(tmp_path / file)).X.shape[1] == SOURCES[name].columns


# -- downloads
# ---------------------------------------------------------------------------------------


class Server(ThreadingHTTPServer):
    """Serves a dict; `short` is how many bytes less than announced are sent."""

    files: dict[str, bytes]
    short = 0
    asked: list[str]


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        self.server.asked.append(self.path)
        content = self.server.files.get(self.path)
        if content is None:
            self.send_error(404)
            return
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content[: len(content) - self.server.short])

    def log_message(self, *_: object) -> None: ...


@pytest.fixture
def server() -> Iterator[Server]:
    with Server(("127.0.0.1", 0), Handler) as server:
        server.files, server.asked = {}, []
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join(LIMIT)


@pytest.fixture
def online(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Server:
    """MNIST on a server: the first mirror lacks everything, the second has it."""
    mnist_files(tmp_path / "origin")
    at = f"http://127.0.0.1:{server.server_address[1]}"
    files = []
    for name in IDX:
        content = (tmp_path / "origin" / f"{name}.gz").read_bytes()
        server.files[f"/good/{name}.gz"] = content
        urls = (f"{at}/bad/{name}.gz", f"{at}/good/{name}.gz")
        files.append(File(f"{name}.gz", urls, f"md5:{hashlib.md5(content).hexdigest()}"))
    info = replace(SOURCES["mnist"], originals=(Original("idx_split", tuple(files)),))
    monkeypatch.setitem(SOURCES, "mnist", info)
    return server


def test_download(
    online: Server, cache: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_fetch, "_EVERY", 0.0)
    found = datasets.load("mnist", verbose=1)
    assert found.X.shape == (8, 784) and found.source.startswith(str(cache / "mnist"))
    said = capfd.readouterr().err
    assert (
        "404" in said
        and "downloading train-images-idx3-ubyte.gz (0.0 MB)" in said
        and "100%" in said
    )
    assert sorted(file.name for file in (cache / "mnist").iterdir()) == sorted(
        f"{name}.gz" for name in IDX
    )
    asked = len(online.asked)
    assert asked == 8
    np.testing.assert_array_equal(load("mnist").X, found.X)
    assert len(online.asked) == asked and capfd.readouterr().err == ""


def test_a_download_is_taken_up_where_it_broke(online: Server, cache: Path) -> None:
    missing = f"/good/{IDX[3]}.gz"
    content = online.files.pop(missing)
    with pytest.raises(DatasetNotFound, match="404 Not Found"):
        load("mnist")
    online.files[missing] = content
    online.asked.clear()
    load("mnist")
    assert online.asked == [f"/bad/{IDX[3]}.gz", missing]


def test_checksum_mismatch(online: Server, cache: Path) -> None:
    online.files[f"/good/{IDX[0]}.gz"] = b"something else"
    with pytest.raises(DatasetNotFound, match=r"md5 checksum is \w+, should be \w+; removed"):
        load("mnist")
    assert not [*(cache / "mnist").iterdir()]


def test_truncated_download(online: Server, cache: Path) -> None:
    online.short = 3
    with pytest.raises(DatasetNotFound, match=r"truncated: [\d,]+ of [\d,]+ bytes came"):
        load("mnist")
    assert not [*(cache / "mnist").iterdir()]


def test_no_network(cache: Path) -> None:
    """Connection refused, for every mirror of every form in which the data is published."""
    with pytest.raises(DatasetNotFound) as caught:
        load("cifar10")
    text = str(caught.value)
    for part in (
        "cifar10 was not found",
        str(cache / "cifar10"),
        "NESTMAP_DATA is not set",
        "no network",
        "http://127.0.0.1:9/cifar-10-binary.tar.gz",
        "http://127.0.0.1:9/cifar-10-python.tar.gz",
        "by hand",
        "cifar10.npz",
        "https://www.cs.toronto.edu/~kriz/cifar.html",
        "path=",
    ):
        assert part in text
    assert isinstance(caught.value, FileNotFoundError)


def test_second_form_where_the_first_is_gone(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, _, content = higgs()
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("HIGGS.csv.gz", gzip.compress(content))
    server.files["/higgs.zip"] = out.getvalue()
    url = f"http://127.0.0.1:{server.server_address[1]}/higgs.zip"
    gone = SOURCES["higgs"].originals[0]
    originals = (gone, Original("csv", (File("higgs.zip", (url,)),)))
    monkeypatch.setitem(SOURCES, "higgs", replace(SOURCES["higgs"], originals=originals))
    np.testing.assert_array_equal(load("higgs").X, X)


def test_download_false_and_no_public_source(online: Server, data: Path) -> None:
    with pytest.raises(DatasetNotFound, match="download=False"):
        load("mnist", download=False)
    assert not online.asked
    with pytest.raises(DatasetNotFound, match="no public source") as caught:
        load("buffy")
    assert "buffy_data.npy" in str(caught.value) and f"{data} (NESTMAP_DATA)" in str(caught.value)
    with pytest.raises(DatasetNotFound, match=r"obj1__0\.png … obj20__71\.png \(1440 files\)"):
        load("coil20", download=False)


# -- the surface
# -------------------------------------------------------------------------------------


def test_unknown_names() -> None:
    with pytest.raises(
        DatasetNotFound, match=r"name='fashion-mnist'.*did you mean 'fashion_mnist'.*Known: higgs, "
    ):
        load("fashion-mnist")
    with pytest.raises(DatasetNotFound, match=r"'zzz' is not a known data set\. Known: .*digits"):
        load("zzz")
    for name in ("../secret", "a/b", "", ".hidden", None, 3):
        with pytest.raises(ValueError, match=r"name=.*use path="):
            load(name)


def test_unknown_kind_of_file(tmp_path: Path) -> None:
    (tmp_path / "notes.pdf").write_bytes(b"%PDF")
    with pytest.raises(DatasetNotFound, match="does not tell how to read it"):
        load("mnist", path=tmp_path / "notes.pdf")


def test_digits_and_the_dataset_itself(data: Path) -> None:
    digits = load("digits")
    assert digits.X.shape == (1797, 64) and digits.y is not None and len(digits.y) == 1797
    assert repr(digits) == "Dataset('digits': 1,797 x 64 float64, 10 classes, euclidean)"
    assert digits.names is None and digits.n_train is None and "scikit-learn" in digits.source
    assert digits != load("digits") and hash(digits)  # by identity, as arrays have no one truth
    with pytest.raises(FrozenInstanceError):
        digits.name = "other"
    np.savez(data / "digits.npz", X=np.zeros((2, 64)))
    assert load("digits").X.shape == (2, 64)


def test_every_source_is_complete() -> None:
    assert [*SOURCES] == [
        "higgs",
        "google_news",
        "coil20",
        "cifar10",
        "fashion_mnist",
        "imagenet",
        "bbt",
        "buffy",
        "mnist",
        "mnist8m",
        "digits",
    ]
    for name, info in available().items():
        assert (
            info.name == name
            and info.metric in ("euclidean", "cosine")
            and info.source
            and info.licence
        )
        assert f"{info.rows:,} x {info.columns:,}" in str(info)
        assert info.bundled or info.originals
        for original in info.originals:
            assert original.format in _readers._READERS
            for file in original.files:
                kind, _, digest = (file.checksum or "md5:" + 32 * "0").partition(":")
                assert len(digest) == 2 * hashlib.new(kind).digest_size


def test_progress_of_parsing(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "HIGGS.csv").write_bytes(higgs()[2])
    datasets.load("higgs", path=tmp_path)
    said = capfd.readouterr().err
    assert "parsing HIGGS.csv, once" in said and "9 rows; higgs as published has 11,000,000" in said


def test_cache_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    (tmp_path / "HIGGS.csv").write_bytes(higgs()[2])
    monkeypatch.setattr(_readers, "temporary", refuse)
    with pytest.raises(PermissionError, match=r"cannot be written to; set cache= or NESTMAP_CACHE"):
        load("higgs", path=tmp_path)
