"""The work directory: pieces are whole or absent, after kills, full disks and damage."""

from __future__ import annotations

import errno
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import LIMIT, digits, line_of
from scipy import sparse

from nestmap import HNNE
from nestmap.core.work import directory as _work
from nestmap.core.work import lock as _lock
from nestmap.core.work import pieces as _pieces
from nestmap.core.work.directory import WorkDir, pack, unpack
from nestmap.method.hierarchy.resume import Steps
from nestmap.model import tree as fit_tree_module

IDENTITY = {
    "data": {"shape": (100, 4), "dtype": "float32", "checksum": "ab12"},
    "metric": "euclidean",
    "radius": 1 / 3,
}
ARRAYS = {"ids": np.arange(1000), "distances": np.random.default_rng(0).random((50, 3))}
CHILD = """
import os, sys, time
import numpy as np
from nestmap.core.work import pieces as _pieces
from nestmap.core.work.directory import WorkDir
work = WorkDir.open(sys.argv[1], {"a": 1})
"""


def run_child(folder: Path, code: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", CHILD + code, folder], stdout=subprocess.PIPE, text=True
    )


def finish(child: subprocess.Popen[str]) -> str:
    said, _ = child.communicate(timeout=LIMIT)
    return said


def assert_equal(found: Any, arrays: dict[str, np.ndarray]) -> None:
    assert found is not None and found[0].keys() == arrays.keys()
    for name, array in arrays.items():
        assert found[0][name].dtype == array.dtype
        np.testing.assert_array_equal(found[0][name], array)


def test_round_trip(tmp_path: Path) -> None:
    meta = {
        "link": 0.1 + 0.2,
        "gap": float("nan"),
        "far": float("inf"),
        "zero": -0.0,
        "n": np.int64(3),
        "f": np.float32(0.1),
    }
    with WorkDir.open(tmp_path / "new" / "work", IDENTITY) as work:
        assert work.load("level-0") is None and work.pieces() == []
        work.save("level-0", ARRAYS, meta)
        assert work.pieces() == ["level-0"]
    with WorkDir.open(str(tmp_path / "new" / "work"), IDENTITY) as work:
        found = work.load("level-0")
        assert_equal(found, ARRAYS)
        assert (
            found is not None
            and isinstance(found[0]["ids"], np.memmap)
            and not found[0]["ids"].flags.writeable
        )
        back = found[1]
        assert np.isnan(back.pop("gap")) and np.signbit(back["zero"])
        assert back == {
            "link": 0.1 + 0.2,
            "far": float("inf"),
            "zero": 0.0,
            "n": 3,
            "f": float(np.float32(0.1)),
        }
    assert sorted(p.name for p in work.path.iterdir()) == ["level-0", "lock", "manifest.json"]


def test_arrays_of_all_kinds(tmp_path: Path) -> None:
    wide = np.arange(24, dtype=np.float16).reshape(4, 6)
    arrays = {
        "fortran": np.asfortranarray(wide),
        "strided": wide[::2, ::-1],
        "cube": np.arange(24).reshape(2, 3, 4),
        "empty": np.empty((0, 3)),
        "scalar": np.array(5.5),
        "bool": np.array([True, False]),
        "big": np.arange(3, dtype=">i4"),
    }
    work = WorkDir.open(tmp_path, {})
    work.save("a", arrays, {})
    assert_equal(work.load("a"), arrays)
    for bad in (np.array([None]), np.zeros(2, "i4,f4")):
        with pytest.raises(TypeError, match="x: arrays of Python objects"):
            work.save("b", {"x": bad}, {})
    assert work.pieces() == ["a"] and work.load("b") is None


def test_large_arrays_are_written_in_pieces_without_a_copy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_pieces, "_BYTES_PER_WRITE", 1000)
    X = np.arange(4000.0).reshape(400, 10)
    pieces = [*_pieces.pieces(X)]
    assert len(pieces) == 32 and all(np.shares_memory(np.asarray(piece), X) for piece in pieces)
    work = WorkDir.open(tmp_path, {})
    work.save("a", {"X": X, "T": X.T}, {})
    assert_equal(work.load("a"), {"X": X, "T": X.T})


def test_a_piece_is_replaced(tmp_path: Path) -> None:
    work = WorkDir.open(tmp_path, {})
    work.save("a", {"x": np.zeros(3)}, {})
    old = work.load("a")
    work.save("a", {"y": np.ones(2)}, {"n": 1})
    assert_equal(work.load("a"), {"y": np.ones(2)})
    assert old is not None and old[0]["x"].sum() == 0  # what was loaded stays readable
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a", "lock", "manifest.json"]


@pytest.mark.parametrize("name", ["", "a/b", "..", "a.part-1", "ä", "-a"])
def test_names(tmp_path: Path, name: str) -> None:
    work = WorkDir.open(tmp_path, {})
    assert work.load(name) is None
    with pytest.raises(ValueError, match="cannot name a piece or an array"):
        work.save(name, {}, {})
    with pytest.raises(ValueError, match="cannot name a piece or an array"):
        work.save("a", {name: np.zeros(1)}, {})


def test_meta_must_be_json(tmp_path: Path) -> None:
    work = WorkDir.open(tmp_path, {"path": tmp_path})
    with pytest.raises(TypeError, match="set cannot be stored as JSON"):
        work.save("a", {}, {"x": {1, 2}})
    assert sorted(p.name for p in tmp_path.iterdir()) == ["lock", "manifest.json"]


@pytest.mark.parametrize(
    "table", [np.arange(6.0).reshape(2, 3), sparse.random(20, 30, 0.1, "csr", np.float32, 0)]
)
def test_tables(tmp_path: Path, table: Any) -> None:
    work = WorkDir.open(tmp_path, {})
    work.save("a", pack(table) | pack(np.ones((1, 1)), "other"), {})
    found = work.load("a")
    assert found is not None
    back = unpack(found[0])
    assert (
        sparse.issparse(back) == sparse.issparse(table)
        and back.shape == table.shape
        and back.dtype == table.dtype
    )
    assert abs(back - table).sum() == 0 and unpack(found[0], "other").shape == (1, 1)
    if sparse.issparse(table):
        assert back.has_canonical_format and (back @ np.ones(30)).shape == (20,)


# Whose directory it is


def test_another_fit(tmp_path: Path) -> None:
    WorkDir.open(tmp_path, IDENTITY).close()
    other = {
        "data": {**IDENTITY["data"], "checksum": "ff"},
        "metric": "cosine",
        "seed": 1,
        "radius": 1 / 3,
    }  # type: ignore[dict-item]
    with pytest.raises(ValueError, match="holds the pieces of another fit") as error:
        WorkDir.open(tmp_path, other)
    said = str(error.value)
    assert f"work_dir={str(tmp_path)!r}" in said and "data checksum was 'ab12', is 'ff'" in said
    assert "metric was 'euclidean', is 'cosine'" in said and "seed was None, is 1" in said
    assert "radius" not in said and "shape" not in said and "delete this one to start over" in said
    WorkDir.open(tmp_path, IDENTITY).close()  # the lock was let go


def test_identity_with_nan_and_numpy_values(tmp_path: Path) -> None:
    WorkDir.open(tmp_path, {"x": float("nan"), "n": np.int64(4), "t": (1, 2)}).close()
    WorkDir.open(tmp_path, {"x": float("nan"), "n": 4, "t": [1, 2]}).close()


def test_directories_of_others(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").touch()
    with pytest.raises(
        ValueError, match=r"holds other files \(thesis\.tex\) and no manifest\.json; name a new"
    ):
        WorkDir.open(tmp_path, {})
    assert [p.name for p in tmp_path.iterdir()] == ["thesis.tex"]  # nothing was written there
    with pytest.raises(NotADirectoryError, match="is a file; name a directory"):
        WorkDir.open(tmp_path / "thesis.tex", {})


def test_killed_before_the_manifest(tmp_path: Path) -> None:
    (tmp_path / "lock").write_text("99")
    (tmp_path / "manifest.json.part-99").write_text("{")
    work = WorkDir.open(tmp_path, {})
    assert (
        sorted(p.name for p in tmp_path.iterdir()) == ["lock", "manifest.json"]
        and work.pieces() == []
    )


def test_manifest_of_another_version_or_damaged(tmp_path: Path) -> None:
    WorkDir.open(tmp_path, {}).close()
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    (tmp_path / "manifest.json").write_text(json.dumps({**manifest, "format": 99}))
    with pytest.raises(ValueError, match=r"in format 99; this version reads format 1"):
        WorkDir.open(tmp_path, {})
    (tmp_path / "manifest.json").write_text("{")
    with pytest.raises(OSError, match=r"manifest\.json cannot be read .*delete the directory"):
        WorkDir.open(tmp_path, {})


def test_a_manifest_of_something_else(tmp_path: Path) -> None:
    """Web applications have one too: nothing is written there, nothing is deleted."""
    (tmp_path / "manifest.json").write_text('{"name": "my app"}')
    (tmp_path / "upload.part-1").mkdir()
    with pytest.raises(
        ValueError,
        match=r"holds a manifest\.json that is not nestmap's, or damaged; name another dir",
    ):
        WorkDir.open(tmp_path, {})
    assert sorted(p.name for p in tmp_path.iterdir()) == ["manifest.json", "upload.part-1"]


DEEP = [500, 900, 940, 960, 980, 990, 1000, 100_000]  # near the limit of recursion, and beyond


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "3",
        "null",
        "{}",
        "\x00",
        "[" * 100_000,
        '{"format": 1}',
        '{"format": 1, "nestmap": "0.1.0"}',
        '{"format": 1, "nestmap": "0.1.0", "identity": 5}',
        '{"format": 1, "nestmap": 7, "identity": {}}',
        '{"format": {"a": []}, "nestmap": "0.1.0", "identity": {}}',
        "9" * 5000,
        '{"format": 1e999, "nestmap": ""}',
        *(
            '{"format": 1, "nestmap": "", "identity": {"a": ' + "[" * n + "]" * n + "}}"
            for n in DEEP
        ),
        *(
            '{"format": 1, "nestmap": "", "identity": ' + '{"a": ' * n + "1" + "}" * n + "}"
            for n in DEEP
        ),
    ],
    ids=lambda text: text[:40] + str(len(text)),
)
def test_malformed_manifests(tmp_path: Path, text: str) -> None:
    (tmp_path / "manifest.json").write_text(text)
    with pytest.raises((OSError, ValueError), match=r"^work_dir=.*[Nn]ame another") as error:
        WorkDir.open(tmp_path, {"a": 1})
    assert len(str(error.value)) < 800


def test_manifests_that_are_no_files(tmp_path: Path) -> None:
    (tmp_path / "manifest.json").mkdir()
    with pytest.raises(OSError, match=r"manifest\.json cannot be read \(it is no regular file"):
        WorkDir.open(tmp_path, {})
    (tmp_path / "manifest.json").rmdir()
    (tmp_path / "manifest.json").write_bytes(b" " * 10_000_001)
    with pytest.raises(
        OSError, match=r"manifest\.json cannot be read \(it is no regular file of a few kilobytes"
    ):
        WorkDir.open(tmp_path, {})


def test_only_our_own_leftovers_are_removed(tmp_path: Path) -> None:
    work = tmp_path / "work"
    WorkDir.open(work, {"a": 1}).close()
    for name in (
        "level-0.part-17",
        "level-0.part-17-old",
        "film.avi.part-1",
        "level-0.part-17x",
        ".part-3",
    ):
        (work / name).mkdir()
        (work / name / "x.npy").touch()
    for name in ("manifest.json.part-9", "level-1.part-5", "mail.part-2", "manifest.json.part-9a"):
        (work / name).touch()
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious" / "file").touch()
    (work / "level-2.part-3").symlink_to(tmp_path / "precious")
    everything = {p.name for p in work.iterdir()}
    with pytest.raises(ValueError, match="another fit"):
        WorkDir.open(work, {"a": 2})
    assert {
        p.name for p in work.iterdir()
    } == everything  # nothing is touched in the directory of another fit
    WorkDir.open(work, {"a": 1}).close()
    removed = {"level-0.part-17", "level-0.part-17-old", "manifest.json.part-9"}
    assert {p.name for p in work.iterdir()} == everything - removed
    assert (tmp_path / "precious" / "file").exists()


def test_a_save_does_not_remove_what_others_have_put_in_its_place(tmp_path: Path) -> None:
    work = WorkDir.open(tmp_path, {})
    (tmp_path / f"a.part-{os.getpid()}").mkdir()
    (tmp_path / f"a.part-{os.getpid()}" / "file").touch()
    with pytest.raises(FileExistsError):
        work.save("a", ARRAYS, {})
    assert (tmp_path / f"a.part-{os.getpid()}" / "file").exists()


# The lock


def test_a_lock_that_is_a_link(tmp_path: Path) -> None:
    work, precious = tmp_path / "work", tmp_path / "thesis.tex"
    work.mkdir()
    precious.write_text("chapter 1")
    for target in (precious, tmp_path / "nowhere"):
        (work / "lock").symlink_to(target)
        with pytest.raises(
            ValueError,
            match=r"work_dir=.*holds a 'lock' that is not nestmap's; name another directory",
        ):
            WorkDir.open(work, {})
        (work / "lock").unlink()
    assert precious.read_text() == "chapter 1" and not (tmp_path / "nowhere").exists()


@pytest.mark.parametrize("kind", ["folder", "pipe", "text", "hard link"])
def test_a_lock_that_is_not_ours(tmp_path: Path, kind: str) -> None:
    work, other = tmp_path / "work", tmp_path / "other"
    work.mkdir()
    other.write_text("held by emacs")
    make = {
        "folder": lambda: (work / "lock").mkdir(),
        "pipe": lambda: os.mkfifo(work / "lock"),
        "text": lambda: (work / "lock").write_text("held by emacs"),
        "hard link": lambda: os.link(other, work / "lock"),
    }
    make[kind]()
    with pytest.raises(ValueError, match="holds a 'lock' that is not nestmap's"):
        WorkDir.open(work, {})
    assert [p.name for p in work.iterdir()] == ["lock"] and other.read_text() == "held by emacs"
    if kind == "text":
        assert (work / "lock").read_text() == "held by emacs"


def test_one_process_at_a_time(tmp_path: Path) -> None:
    child = run_child(tmp_path, "print('open', flush=True); time.sleep(100)")
    try:
        assert line_of(child) == "open\n"
        with pytest.raises(
            BlockingIOError, match=rf"in use by another process \(pid {child.pid}\); wait"
        ):
            WorkDir.open(tmp_path, {"a": 1})
    finally:
        child.kill()
        child.communicate(timeout=LIMIT)
    with WorkDir.open(tmp_path, {"a": 1}):  # the lock died with its process
        with pytest.raises(BlockingIOError, match="in use by another fit in this process"):
            WorkDir.open(tmp_path, {"a": 1})
        (tmp_path / "lock").write_text("")
        with pytest.raises(BlockingIOError, match="in use by another process;"):
            WorkDir.open(tmp_path, {"a": 1})
    WorkDir.open(tmp_path, {"a": 1}).close()


def test_no_locks_on_this_file_system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: int) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(_lock, "_lock", refuse)
    WorkDir.open(tmp_path, {}).save("a", ARRAYS, {})


# Kills, damage, full disks


@pytest.mark.slow
def test_killed_in_the_middle_of_a_save(tmp_path: Path) -> None:
    code = """
work.save("first", {"x": np.arange(5)}, {})
write = _pieces._write_all
def slow(*args):
    write(*args)
    print("writing", flush=True)
    time.sleep(100)
_pieces._write_all = slow
work.save("second", {"x": np.arange(10**6)}, {})
"""
    child = run_child(tmp_path, code)
    assert line_of(child) == "writing\n"
    child.send_signal(signal.SIGKILL)
    finish(child)
    assert (tmp_path / f"second.part-{child.pid}" / "x.npy").exists()
    with WorkDir.open(tmp_path, {"a": 1}) as work:
        assert work.pieces() == ["first"] and work.load("second") is None
        assert_equal(work.load("first"), {"x": np.arange(5)})
        assert [*tmp_path.glob("*.part-*")] == []
        work.save("second", ARRAYS, {})
        assert_equal(work.load("second"), ARRAYS)


@pytest.mark.slow
@pytest.mark.parametrize("n_saved", [0, 2, 7])
def test_killed_at_any_moment(tmp_path: Path, n_saved: int) -> None:
    """Pieces are saved and replaced all the time; whatever is there afterwards is whole."""
    code = """
for i in range(10**6):
    print(i, flush=True)
    work.save(f"piece-{i % 3}", {"x": np.full(200_000, i)}, {"i": i})
"""
    child = run_child(tmp_path, code)
    for i in range(n_saved + 1):
        assert line_of(child) == f"{i}\n"
    child.kill()
    finish(child)
    with WorkDir.open(tmp_path, {"a": 1}) as work:
        assert len(work.pieces()) >= min(3, n_saved)
        for piece in work.pieces():
            found = work.load(piece)
            assert found is not None and (found[0]["x"] == found[1]["i"]).all()
            assert found[1]["i"] >= n_saved - 3
        assert {p.name for p in tmp_path.iterdir()} == {*work.pieces(), "lock", "manifest.json"}


def test_exception_in_the_middle_of_a_save(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    work = WorkDir.open(tmp_path, {})
    monkeypatch.setattr(_pieces, "_write_all", interrupt)
    with pytest.raises(KeyboardInterrupt):
        work.save("a", ARRAYS, {})
    assert sorted(p.name for p in tmp_path.iterdir()) == ["lock", "manifest.json"]


def test_damage(tmp_path: Path) -> None:
    work = WorkDir.open(tmp_path, {})
    for piece in "abcdef":
        work.save(piece, {"x": np.arange(1000)}, {})
    data = bytearray((tmp_path / "a" / "x.npy").read_bytes())
    data[-100] ^= 1
    (tmp_path / "a" / "x.npy").write_bytes(data)
    os.truncate(tmp_path / "b" / "x.npy", 500)
    (tmp_path / "c" / "x.npy").unlink()
    np.save(tmp_path / "d" / "x.npy", np.arange(10))
    (tmp_path / "e" / "meta.json").write_text('{"arrays')
    (tmp_path / "f" / "meta.json").unlink()
    for piece, message in {
        "a": r"x\.npy does not have the values that were written",
        "b": r"x\.npy is cut short",
        "c": r"x\.npy is missing",
        "d": r"holds int64 \(10,\) instead of <i8 \(1000,\)",
        "e": "cannot be read",
        "f": "meta.json is missing",
    }.items():
        with pytest.raises(
            OSError,
            match=rf"{message}.*delete {tmp_path / piece} and fit again; the other pieces are kept",
        ):
            work.load(piece)


GOOD = {"shape": [3], "dtype": "<i8", "crc32": _pieces.checksum(np.arange(3))}


@pytest.mark.parametrize(
    "record",
    [
        [],
        5,
        {},
        {"arrays": {}},
        {"arrays": [], "meta": {}},
        {"arrays": {}, "meta": 5},
        {"arrays": {"x": 5}, "meta": {}},
        *(
            {"arrays": {"x": GOOD | change}, "meta": {}}
            for change in (
                {"shape": 3},
                {"shape": ["3"]},
                {"shape": [3.0]},
                {"shape": [-3]},
                {"dtype": 5},
                {"dtype": "Q,,"},
                {"crc32": "0"},
                {"crc32": 10**300},
                {"more": 1},
                {"shape": [[[[3]]]]},
            )
        ),
        {"arrays": {"../x": GOOD}, "meta": {}},
        {"arrays": {"/etc/passwd": GOOD}, "meta": {}},
        {"arrays": {"a" * 10_000 + "/": GOOD}, "meta": {}},
        {"arrays": {"": GOOD}, "meta": {}},
        {"arrays": {"a" * 10_000: GOOD}, "meta": {}},
    ],
    ids=lambda record: str(record)[:60],
)
def test_malformed_descriptions(tmp_path: Path, record: Any) -> None:
    work = WorkDir.open(tmp_path / "work", {})
    work.save("a", {"x": np.arange(3)}, {})
    np.save(tmp_path / "work" / "x.npy", np.arange(3))  # where ../x leads to
    (work.path / "a" / "meta.json").write_text(json.dumps(record))
    with pytest.raises(
        OSError, match=rf"^{work.path / 'a'} is damaged: .*; delete {work.path / 'a'} and fit again"
    ) as error:
        work.load("a")
    assert len(str(error.value)) < 600


@pytest.mark.parametrize("n", DEEP)
def test_deep_descriptions(tmp_path: Path, n: int) -> None:
    work = WorkDir.open(tmp_path, {})
    work.save("a", {"x": np.arange(3)}, {})
    (work.path / "a" / "meta.json").write_text(
        '{"meta": {}, "arrays": {"x": ' + "[" * n + "]" * n + "}}"
    )
    with pytest.raises(OSError, match=r"is damaged: .*; delete .* and fit again"):
        work.load("a")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
@pytest.mark.parametrize("name", ["meta.json", "x.npy"])
def test_pipes_in_a_piece_are_not_opened(tmp_path: Path, name: str) -> None:
    work = WorkDir.open(tmp_path, {})
    work.save("a", {"x": np.arange(3)}, {})
    (tmp_path / "a" / name).unlink()
    os.mkfifo(tmp_path / "a" / name)
    signal.alarm(30)  # instead of waiting for a writer
    try:
        with pytest.raises(OSError, match=r"is damaged: .* regular file"):
            work.load("a")
    finally:
        signal.alarm(0)


def test_a_file_in_the_place_of_a_piece(tmp_path: Path) -> None:
    work = WorkDir.open(tmp_path, {})
    (tmp_path / "a").touch()
    with pytest.raises(OSError, match=r"is damaged: meta\.json is missing"):
        work.load("a")


# Steps of a hierarchy that have right checksums and make no sense


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Work directories of finished fits."""
    base = tmp_path_factory.mktemp("finished")
    for name, X, metric in (
        ("dense", digits()[:400], "euclidean"),
        ("csr", sparse.csr_matrix(digits()[:400]), "euclidean"),
        ("manhattan", digits()[:400], "manhattan"),
    ):
        HNNE(work_dir=base / name, metric=metric, hierarchy="first_neighbors").fit(X)
    HNNE(work_dir=base / "graph").fit(np.repeat(digits()[:400], 2, axis=0))  # equal rows, too
    return {path.name: path for path in base.iterdir()}


def changed(
    folder: Path, into: Path, piece: str, change: Callable[[dict[str, Any], dict[str, Any]], None]
) -> Path:
    """A copy of a work directory in which one piece is another, with right checksums."""
    shutil.copytree(folder, into)
    with WorkDir.open(into, json.loads((into / "manifest.json").read_text())["identity"]) as work:
        found = work.load(piece)
        assert found is not None
        arrays, meta = {name: np.array(array) for name, array in found[0].items()}, found[1]
        change(arrays, meta)
        work.save(piece, arrays, meta)
    return into


def put(name: str, at: Any, value: Any) -> Callable[..., None]:
    def change(arrays: dict[str, Any], _: Any) -> None:
        arrays[name][at] = value

    return change


def replace_by(name: str, make: Callable[[Any], Any]) -> Callable[..., None]:
    def change(arrays: dict[str, Any], _: Any) -> None:
        arrays[name] = make(arrays[name])

    return change


def meta(**values: Any) -> Callable[..., None]:
    return lambda _, record: record.update(values)


def drop(name: str) -> Callable[..., None]:
    return lambda arrays, record: (arrays if name in arrays else record).pop(name)


def report(**values: Any) -> Callable[..., None]:
    return lambda _, record: record["report"].update(values)


BAD_STEPS: list[tuple[str, Callable[..., None], str]] = [
    ("dense", put("centroids", (3, 4), np.nan), "centroids must be finite"),
    ("dense", put("centroids", (3, 4), -np.inf), "centroids must be finite"),
    (
        "dense",
        replace_by("centroids", lambda c: c[:-1]),
        "centroids must be float32 or float64 of shape",
    ),
    (
        "dense",
        replace_by("centroids", lambda c: c[:, :-1]),
        "centroids must be float32 or float64 of shape",
    ),
    (
        "dense",
        replace_by("centroids", lambda c: c.astype("i4")),
        "centroids must be float32 or float64 of shape",
    ),
    ("dense", drop("centroids"), "is missing"),
    ("dense", put("members", 7, -1), "members must lie between 0 and"),
    ("dense", put("members", 7, 10**6), "members must lie between 0 and"),
    ("dense", replace_by("members", lambda m: m[:-1]), "members must be .* int64"),
    ("dense", replace_by("members", lambda m: m[:, None]), "members must be .* int64"),
    ("dense", replace_by("members", lambda m: m.astype("i4")), "members must be .* int64"),
    ("dense", replace_by("members", lambda m: m.astype("f8")), "members must be .* int64"),
    ("dense", drop("members"), "'members' is missing"),
    ("dense", put("members", 0, 1), "sizes must be the rows below each node"),
    ("dense", put("sizes", 0, 99), "sizes must be the rows below each node"),
    ("dense", put("sizes", 0, -1), "sizes must be the rows below each node"),
    (
        "dense",
        replace_by("sizes", lambda s: np.append(s, 0)),
        "sizes must be the rows below each node",
    ),
    ("dense", replace_by("sizes", lambda s: s.astype("f8")), "sizes must be int64"),
    ("dense", replace_by("sizes", lambda s: s[0]), "sizes must be int64"),
    ("dense", replace_by("sizes", lambda s: s[:0]), "sizes must be int64"),
    ("dense", put("directions", (0, 0), np.nan), "must be finite"),
    ("dense", put("mean", 0, np.inf), "must be finite"),
    ("dense", put("directions", (0, 0), 5.0), "directions must be orthonormal"),
    ("dense", replace_by("directions", lambda d: d[:-1]), "directions must be float64"),
    ("dense", replace_by("directions", lambda d: d[:, :0]), "directions must be float64"),
    ("dense", replace_by("mean", lambda m: m[:-1]), "mean must be 64 float64"),
    ("dense", drop("mean"), "'mean' is missing"),
    ("dense", meta(norm="L3"), "norm is 'L3' instead of"),
    ("dense", meta(norm=["L2"]), r"norm is \['L2'\] instead of"),
    ("dense", meta(norm="L1"), "norm is 'L1' instead of 'L2'"),
    ("manhattan", meta(norm="L2"), "norm is 'L2' instead of 'L1'"),
    ("manhattan", put("directions", (0, 0), 0.5), "hold each column in one group"),
    ("dense", meta(link="near"), "link and far_distance must be numbers"),
    ("dense", meta(far_distance=None), "link and far_distance must be numbers"),
    ("dense", drop("report"), "'report' is missing"),
    ("dense", meta(report=5), "the report has other fields"),
    ("dense", report(more=1), "the report has other fields"),
    ("dense", report(n_rows="many"), "n_rows of the report is 'many'"),
    ("dense", report(seconds=[1]), r"seconds of the report is \[1\]"),
    ("dense", report(seconds={"join": "long"}), "seconds of the report must be numbers"),
    ("csr", put("centroids_data", 0, np.nan), "centroids must be finite"),
    ("csr", put("centroids_indices", 0, 64), "indices"),
    ("csr", put("centroids_indices", 0, -1), "indices"),
    ("csr", put("centroids_indptr", 1, 10**6), "ind"),
    ("csr", put("centroids_shape", 0, 5), "."),
    ("csr", replace_by("centroids_data", lambda d: d[:, None]), "."),
    ("csr", replace_by("centroids_shape", lambda s: s[:1]), "."),
    (
        "csr",
        replace_by("centroids_indices", lambda i: np.append(i[1::-1], i[2:])),
        "sorted by columns",
    ),
    ("csr", drop("centroids_indptr"), "'centroids_indptr' is missing"),
]


@pytest.mark.parametrize("kind, change, message", BAD_STEPS)
def test_steps_that_make_no_sense(
    tmp_path: Path, finished: dict[str, Path], kind: str, change: Callable[..., None], message: str
) -> None:
    work = changed(finished[kind], tmp_path / "work", "level-0", change)
    with pytest.raises(
        OSError, match=rf"level-0 is damaged: .*{message}.*; delete .*level-0 and fit again"
    ):
        load_all(work)


def load_all(work: Path) -> list[Any]:
    with WorkDir.open(work, json.loads((work / "manifest.json").read_text())["identity"]) as opened:
        steps = Steps(opened)
        return [steps.load(k) for k in range(len(opened.pieces()))]


def test_levels_must_follow_each_other(tmp_path: Path, finished: dict[str, Path]) -> None:
    whole = load_all(finished["dense"])
    assert len(whole) > 2 and whole[-1].sizes is None and all(step is not None for step in whole)
    n_nodes = len(whole[0].sizes)
    work = changed(
        finished["dense"], tmp_path / "a", "level-1", replace_by("members", lambda m: m[:-1])
    )
    with pytest.raises(OSError, match=rf"level-1 is damaged: members must be {n_nodes} int64"):
        load_all(work)
    work = changed(
        finished["dense"], tmp_path / "b", "level-1", replace_by("sizes", lambda s: s[::-1])
    )
    with pytest.raises(OSError, match="level-1 is damaged: sizes must be the rows below"):
        load_all(work)
    top = f"level-{len(whole) - 1}"
    work = changed(finished["dense"], tmp_path / "c", top, put("members", 0, 1000))
    with pytest.raises(OSError, match=f"{top} is damaged: members must lie between"):
        load_all(work)


def test_a_damaged_step_is_told_by_a_fit(tmp_path: Path, finished: dict[str, Path]) -> None:
    work = changed(
        finished["dense"], tmp_path / "work", "level-0", put("centroids", (3, 4), np.nan)
    )
    with pytest.raises(OSError, match="level-0 is damaged: centroids must be finite"):
        HNNE(work_dir=work).fit(digits()[:400])


BAD_GRAPHS: list[tuple[Callable[..., None], str]] = [
    (put("ids", (3, 4), -1), "neighbours must be other items"),
    (put("ids", (3, 4), 400), "neighbours must be other items"),
    (put("ids", (3, 4), 3), "neighbours must be other items"),
    (replace_by("ids", lambda i: i[:-1]), "neighbours must be int32, some of each of 400 items"),
    (replace_by("ids", lambda i: i[:, :0]), "neighbours must be int32"),
    (replace_by("ids", lambda i: i[:, 0]), "neighbours must be int32"),
    (replace_by("ids", lambda i: i.astype("i8")), "neighbours must be int32"),
    (drop("ids"), "'ids' is missing"),
    (put("distances", (3, 4), np.nan), "distances must be float32"),
    (put("distances", (3, -1), np.inf), "distances must be float32"),
    (put("distances", (3, 0), -1), "distances must be float32"),
    (replace_by("distances", lambda d: d[:, ::-1]), "distances must be .* ascending from 0"),
    (replace_by("distances", lambda d: d[:, :-1]), "distances must be .* one per neighbour"),
    (replace_by("distances", lambda d: d.astype("f8")), "distances must be float32"),
    (drop("distances"), "'distances' is missing"),
    (meta(level=0), "it must be of level -1"),
    (drop("level"), "'level' is missing"),
    (report(n_rows="many"), "n_rows of the report is 'many'"),
]


@pytest.mark.parametrize("change, message", BAD_GRAPHS)
def test_graphs_that_make_no_sense(
    tmp_path: Path, finished: dict[str, Path], change: Callable[..., None], message: str
) -> None:
    work = changed(finished["graph"], tmp_path / "work", "graph", change)
    with pytest.raises(
        OSError, match=rf"graph is damaged: .*{message}.*; delete .*graph and fit again"
    ):
        HNNE(work_dir=work).fit(np.repeat(digits()[:400], 2, axis=0))


@pytest.mark.parametrize("of_nodes", [False, True])
@pytest.mark.parametrize("equal_rows", [False, True])
def test_the_graph_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, of_nodes: bool, equal_rows: bool
) -> None:
    """A fit that goes on takes it from the folder; same tree, same map."""
    if of_nodes:
        monkeypatch.setattr(fit_tree_module, "MOST_ROWS", 100)
    X = digits()[:400]
    X = np.repeat(X, 2, axis=0) if equal_rows else X
    options: dict[str, Any] = {"layout": "descent" if of_nodes else "islands"}
    plain = HNNE(**options).fit(X)
    assert (
        HNNE(**options, work_dir=tmp_path).fit(X).hierarchy_.level_sizes
        == plain.hierarchy_.level_sizes
    )
    assert (tmp_path / "graph" / "ids.npy").exists()
    for name in ("find_row_graph", "find_node_graph"):
        monkeypatch.setattr(fit_tree_module, name, None)  # would be called
    stages: list[str] = []
    options["callback"] = lambda event: stages.append(event.stage)
    model = HNNE(**options, work_dir=tmp_path).fit(X)
    assert not any(stage.startswith(("neighbours of", "level")) for stage in stages)
    np.testing.assert_array_equal(model.embedding_, plain.embedding_)
    np.testing.assert_array_equal(model.labels_, plain.labels_)
    np.testing.assert_array_equal(model.membership(1), plain.membership(1))


def test_equal_rows_alone_have_no_graph_to_keep(tmp_path: Path) -> None:
    X = np.ones((50, 3))
    for _ in range(2):
        assert HNNE(work_dir=tmp_path).fit(X).hierarchy_.level_sizes == (1,)
    assert not (tmp_path / "graph").exists()


FULL_DISK = """
work.save("first", {"x": np.arange(1000)}, {})
try:
    work.save("second", {"x": np.zeros(10**6)}, {})
except OSError as error:
    print(error.errno, error)
print(work.pieces(), sorted(os.listdir(sys.argv[1])))
"""


def assert_kept(said: str, folder: Path, code: int, reason: str) -> None:
    assert (
        said.startswith(f"{code} ")
        and f"work_dir={str(folder)!r}: second (8.0 MB) could not be written" in said
    )
    assert reason in said and "finished are kept" in said and "same work_dir" in said
    assert "['first'] ['first', 'lock', 'manifest.json']" in said


@pytest.mark.slow
def test_files_may_not_grow(tmp_path: Path) -> None:
    limit = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))\n"
    assert_kept(
        finish(run_child(tmp_path, limit + FULL_DISK)),
        tmp_path,
        errno.EFBIG,
        "may not grow that large",
    )


@pytest.fixture
def small_disk(tmp_path: Path) -> Any:
    if subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", tmp_path],
        capture_output=True,
        timeout=LIMIT,
    ).returncode:
        pytest.skip("mounting is not allowed here")
    yield tmp_path
    subprocess.run(["umount", "-l", tmp_path], check=True, timeout=LIMIT)


@pytest.mark.slow
def test_full_disk(small_disk: Path) -> None:
    assert_kept(
        finish(run_child(small_disk, FULL_DISK)), small_disk, errno.ENOSPC, "the disk is full"
    )
    with WorkDir.open(small_disk, {"a": 1}) as work:
        work.save("second", {"x": np.zeros(1000)}, {})  # there is room for this
        assert work.pieces() == ["first", "second"]


def test_full_disk_for_scratch_arrays(small_disk: Path) -> None:
    from nestmap.core.input.scratch import scratch_array

    with pytest.raises(
        OSError, match=r"8\.0 MB \(8000000 bytes\) do not fit into .*, where 1\.0 MB are free"
    ) as error:
        scratch_array(10**6, "f8", in_memory=False, folder=small_disk)
    assert error.value.errno == errno.ENOSPC
    assert scratch_array(10**5, "f8", in_memory=False, folder=small_disk).shape == (
        10**5,
    )  # nothing stayed reserved


def test_no_room_for_the_manifest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.EDQUOT, os.strerror(errno.EDQUOT))

    monkeypatch.setattr(_work, "write_json", full)
    with pytest.raises(
        OSError, match=r"manifest\.json could not be written, the disk quota is used up"
    ):
        WorkDir.open(tmp_path, {})
    monkeypatch.undo()
    WorkDir.open(tmp_path, {})
