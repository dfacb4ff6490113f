"""Names of clusters as readers give them, at once and from several processes."""

# ruff: noqa: F401 (fixtures)

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from conftest import line_of, run_together
from serving import ask, given_original, given_page, given_server, given_store, rename  # fixtures

from nestmap import ModelFileError
from nestmap.core.work.lock import locked
from nestmap.views.explore.map_store import MapStore
from nestmap.views.explore.names import SavedNames, tidy
from nestmap.views.explore.server import Server


def test_names_are_saved_and_shown_from_then_on(server: Server, store: Path) -> None:
    before = json.loads(ask(server, "/data/names/0.json")[2])
    tag = ask(server, "/data/names/0.json")[1]["etag"]
    assert rename(server, {"level": 0, "index": 3, "name": "  my\nname <i> "}) == (
        200,
        {"name": "my name <i>"},
    )
    status, _, body = ask(server, "/data/names/0.json", If_None_Match=tag)
    assert status == 200 and json.loads(body) == [*before[:3], "my name <i>", *before[4:]]
    cluster = MapStore(store).clusters(0)[3]
    saved = store.parent / "names.json"
    assert json.loads(saved.read_text()) == {"0": {str(cluster): "my name <i>"}}
    left = {path.name for path in store.parent.iterdir()}
    assert left == {"store", "names.json", "names.json.lock"}  # nothing temporary
    again = MapStore(store, SavedNames(saved))  # the next server
    assert again.names(0)[3] == "my name <i>"
    assert rename(server, {"level": 0, "index": 3, "name": ""}) == (200, {"name": before[3]})
    assert json.loads(ask(server, "/data/names/0.json")[2]) == before


def test_names_that_another_server_saved_are_seen(server: Server, store: Path) -> None:
    cluster = int(MapStore(store).clusters(1)[0])
    other = SavedNames(store.parent / "names.json")
    other.set(1, cluster, "from elsewhere")
    assert json.loads(ask(server, "/data/names/1.json")[2])[0] == "from elsewhere"
    rename(server, {"level": 0, "index": 0, "name": "from here"})
    assert other.read()[1] == {cluster: "from elsewhere"} and len(other.read()) == 2


@pytest.mark.parametrize(
    "record",
    [
        {},
        [],
        7,
        b"null",
        {"level": 0, "index": 0},
        {"level": "0", "index": 0, "name": "a"},
        {"level": 0, "index": -1, "name": "a"},
        {"level": 0, "index": 10**9, "name": "a"},
        {"level": 99, "index": 0, "name": "a"},
        {"level": True, "index": 0, "name": "a"},
        {"level": 0, "index": 0, "name": 3},
        {"level": 0, "index": 0, "name": "a", "path": "/etc/passwd"},
        {"level": -1, "index": 0, "name": "a"},
    ],
)
def test_records_that_are_no_names_are_refused(server: Server, store: Path, record: Any) -> None:
    assert rename(server, record)[0] == 400
    assert not (store.parent / "names.json").exists()


def test_broken_bodies_are_refused(server: Server) -> None:
    assert rename(server, b"{")[0] == 400
    assert rename(server, b"\xff\xfe")[0] == 400
    assert rename(server, b"[" * 9000)[0] == 400
    assert rename(server, b"x" * 20_000)[0] == 413
    assert rename(server, b"{}", Content_Length="99999999")[0] == 413
    assert rename(server, b"{}", Content_Length="-1")[0] == 411
    assert rename(server, b"{}", Transfer_Encoding="chunked")[0] == 411
    status, body = rename(server, {"level": 0, "index": 0, "name": "x" * 5000})
    assert status == 200 and body["name"] == "x" * 200
    status, body = rename(server, b'{"level": 0, "index": 0, "name": "\\ud800 \\u0000 half"}')
    assert (status, body) == (200, {"name": "? half"})


def test_other_sites_cannot_save_names(server: Server, store: Path) -> None:
    record = {"level": 0, "index": 0, "name": "from another site"}
    assert rename(server, record, Origin="http://evil.example")[0] == 403
    assert rename(server, record, Origin="null")[0] == 403
    assert rename(server, record, Origin="")[0] == 403
    assert (
        rename(server, record, Origin=f"http://127.0.0.1:{server.server_address[1] + 1}")[0] == 403
    )
    assert rename(server, record, Sec_Fetch_Site="cross-site")[0] == 403
    assert rename(server, record, Content_Type="text/plain")[0] == 415
    assert rename(server, record, Content_Type="application/x-www-form-urlencoded")[0] == 415
    assert not (store.parent / "names.json").exists()
    assert rename(server, record, Sec_Fetch_Site="same-origin")[0] == 200


def test_a_store_without_names_to_save_says_so(store: Path) -> None:
    server = Server(MapStore(store))
    server.start()
    try:
        assert rename(server, {"level": 0, "index": 0, "name": "a"})[0] == 400
        assert json.loads(ask(server, "/data/meta.json")[2])["can_save"] is False
    finally:
        server.stop()


@pytest.mark.parametrize(
    "text", ["{", "[]", '{"a": {}}', '{"0": {"x": "y"}}', '{"0": {"1": 2}}', '{"0": [1]}', "\x00"]
)
def test_damaged_names_are_named(tmp_path: Path, text: str) -> None:
    (tmp_path / "names.json").write_text(text)
    with pytest.raises(ModelFileError, match=r"names.json.*delete it"):
        SavedNames(tmp_path / "names.json")


def test_names_from_threads_are_all_kept(tmp_path: Path) -> None:
    saved = SavedNames(tmp_path / "names.json")
    threads = [threading.Thread(target=saved.set, args=(i % 3, i, f"n{i}")) for i in range(24)]
    run_together(threads)
    assert sum(len(own) for own in SavedNames(tmp_path / "names.json").read().values()) == 24


def test_names_from_several_objects_and_processes_are_all_kept(tmp_path: Path) -> None:
    """Each process reads, changes and writes the file: one at a time."""
    path = tmp_path / "names.json"
    begin = tmp_path / "begin"
    code = (
        "import sys, time, pathlib\n"
        "from nestmap.views.explore.names import SavedNames\n"
        "path, begin, level = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), "
        "int(sys.argv[3])\n"
        "saved = SavedNames(path)\n"
        "print(flush=True)\n"
        "end = time.monotonic() + 60\n"
        "while not begin.exists() and time.monotonic() < end: time.sleep(0.001)\n"
        "for i in range(25): saved.set(level, i, f'n{i}')\n"
    )
    commands = [[sys.executable, "-c", code, str(path), str(begin), str(level)] for level in (0, 1)]
    others = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for command in commands]
    try:
        for other in others:
            assert line_of(other)
        begin.touch()
        mine = [SavedNames(path), SavedNames(path)]
        for i in range(25):
            mine[i % 2].set(2, i, f"n{i}")
        assert [other.wait(60) for other in others] == [0, 0]
    finally:
        for other in others:
            other.kill()
            other.wait(10)
            assert other.stdout is not None
            other.stdout.close()
    assert SavedNames(path).read() == {level: {i: f"n{i}" for i in range(25)} for level in range(3)}
    assert mine[0].read() == mine[1].read() == SavedNames(path).read()
    assert {each.name for each in tmp_path.iterdir()} >= {"names.json", "names.json.lock", "begin"}
    assert not list(tmp_path.glob("*.part"))


def _full(*_: Any, **__: Any) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.parametrize(
    "what",
    ["nestmap.views.explore.names.write_json", "os.replace", "nestmap.core.work.lock.os.open"],
)
def test_a_name_that_cannot_be_written_is_not_served(
    server: Server, store: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    rename(server, {"level": 0, "index": 1, "name": "before"})
    before = json.loads(ask(server, "/data/names/0.json")[2])
    with monkeypatch.context() as patched:
        patched.setattr(what, _full)
        assert rename(server, {"level": 0, "index": 3, "name": "lost"}) == (
            500,
            f"the name cannot be saved: {os.strerror(errno.ENOSPC)}",
        )
        assert rename(server, {"level": 0, "index": 1, "name": ""})[0] == 500
    assert json.loads(ask(server, "/data/names/0.json")[2]) == before and before[1] == "before"
    assert not list(store.parent.glob("*.part"))
    assert rename(server, {"level": 0, "index": 3, "name": "kept"})[0] == 200
    now = json.loads(ask(server, "/data/names/0.json")[2])
    assert now == [*before[:3], "kept", *before[4:]]


def test_a_lock_that_is_not_let_go_is_an_error_after_a_while(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock = tmp_path / "names.json.lock"
    with (
        locked(lock, "names"),
        pytest.raises(BlockingIOError, match="names is being changed by another process"),
        locked(lock, "names", 0.05),
    ):
        pass
    with locked(lock, "names", 0):
        pass
    monkeypatch.setattr("nestmap.core.work.lock._lock", _full)  # a file system without locks
    SavedNames(tmp_path / "names.json").set(0, 1, "a")
    assert SavedNames(tmp_path / "names.json").read() == {0: {1: "a"}}


def test_changes_of_the_file_within_one_step_of_the_clock_are_seen(tmp_path: Path) -> None:
    path = tmp_path / "names.json"
    for old in (False, True):
        path.write_text('{"0": {"1": "a"}}')
        when = path.stat().st_mtime_ns - (10**10 if old else 0)
        os.utime(path, ns=(when, when))
        saved = SavedNames(path)
        assert saved.read() == {0: {1: "a"}}
        other = tmp_path / "other.json"
        other.write_text(
            '{"0": {"1": "b"}}'
        )  # of the same size, in another file with the same time
        os.utime(other, ns=(when, when))
        os.replace(other, path)
        assert saved.read() == {0: {1: "b"}}
        if not old:  # and in the same file
            path.write_text('{"0": {"1": "c"}}')
            os.utime(path, ns=(when, when))
            assert saved.read() == {0: {1: "c"}}
    path.unlink()
    assert saved.read() == {}  # as the error for a damaged file says


def test_more_names_than_can_be_read_again_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    saved = SavedNames(tmp_path / "names.json")
    saved.set(0, 1, "a")
    monkeypatch.setattr("nestmap.views.explore.names._MAX_FILE_BYTES", 300)
    with pytest.raises(ValueError, match="would grow beyond 300 bytes"):
        saved.set(0, 2, "b" * 300)
    assert saved.read() == {0: {1: "a"}}


def test_tidy() -> None:
    assert (
        tidy("a\x00b\u202ec\td") == "a b c d"
        and tidy("x" * 999) == "x" * 200
        and tidy(" \n ") == ""
    )
