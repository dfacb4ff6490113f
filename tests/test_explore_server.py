"""The explorer's server as a browser meets it, and as someone with bad intentions does."""

from __future__ import annotations

import errno
import gzip
import http.client
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import threading
import time
from base64 import b64encode
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import digits, run_together
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nestmap import HNNE, ModelFileError
from nestmap._work.lock import locked
from nestmap.explore import Explorer, SavedNames, Server, Store, explore, export, write_site, write_store
from nestmap.explore.bundle import Page
from nestmap.explore.names import tidy
from nestmap.explore.server import is_loopback
from nestmap.explore.visits import Visits

N = 400
X = digits()[:N]
CONFIG = '<script>window.NESTMAP = {"transport": "server", "token": null}</script>'
SECRET = "what nobody may read"


@cache
def fitted() -> HNNE:
    return HNNE().fit(X)


@pytest.fixture(autouse=True)
def _page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A page of two files: the real one has tests of its own."""
    folder = tmp_path / "page"
    folder.mkdir()
    (folder / "index.html").write_text(f"<!doctype html>{CONFIG}<script src=app.js></script>")
    (folder / "app.js").write_text("console.log(1)")
    (tmp_path / "secret.json").write_text(SECRET)
    monkeypatch.setattr(Page, "find", classmethod(lambda cls: cls(folder, frozenset({"app.js"}))))


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    names = [f"Name {i} Ünï <b>" for i in range(N)]
    folder = tmp_path_factory.mktemp("original") / "store"
    return write_store(folder, fitted(), names=names, metadata={"third": np.arange(N) % 3})


@pytest.fixture
def store(tmp_path: Path, original: Path) -> Path:
    """A store that a test may damage."""
    return Path(shutil.copytree(original, tmp_path / "run" / "store"))


@pytest.fixture
def server(store: Path) -> Iterator[Server]:
    with_names = Server(Store(store, SavedNames(store.parent / "names.json")))
    with_names.start()
    yield with_names
    with_names.stop()


def ask(
    server: Server, path: str, method: str = "GET", body: Any = None, host: str | None = None, **headers: str
) -> tuple[int, dict[str, str], bytes]:
    """One request, with the path as it is: clients would tidy it."""
    port = int(server.server_address[1])
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
        for value in [host if host is not None else f"127.0.0.1:{port}"]:
            connection.putheader("Host", value)
        data = None if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        if data is not None and "Content-Length" not in given:
            given["Content-Length"] = str(len(data))
        for name, value in given.items():
            connection.putheader(name, value)
        connection.endheaders(data)
        answer = connection.getresponse()
        return answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read()
    finally:
        connection.close()


def rename(server: Server, record: Any, **headers: str) -> tuple[int, Any]:
    origin = server.url[:-1]
    status, _, body = ask(
        server, "/api/names", "POST", record, **{"Origin": origin, "Content_Type": "application/json", **headers}
    )
    return status, json.loads(body) if status == 200 else body.decode()


# -- what it serves -----------------------------------------------------------------------------------------------


def test_page_and_data(server: Server, store: Path) -> None:
    status, headers, body = ask(server, "/")
    assert status == 200 and headers["content-type"].startswith("text/html")
    config = json.loads(re.search(rb"window.NESTMAP = (.*?)</script>", body)[1])  # type: ignore[index]
    assert config == {"transport": "server", "token": None, "store": server.store.id}
    assert ask(server, "/app.js")[2] == b"console.log(1)"
    status, headers, body = ask(server, "/data/m0/rows/0.bin", Accept_Encoding="gzip, br")
    assert (status, headers["content-encoding"], body) == (200, "gzip", (store / "m0/rows/0.bin.gz").read_bytes())
    plain = ask(server, "/data/m0/rows/0.bin")
    assert "content-encoding" not in plain[1] and plain[2] == gzip.decompress(body)
    meta = json.loads(ask(server, "/data/meta.json")[2])
    assert meta["can_save"] is True and meta["n_rows"] == N


def test_what_browsers_keep(server: Server) -> None:
    for path, lasts in (
        ("/data/meta.json", False), (f"/data/meta.json?v={server.store.id}", True),
        (f"/data/names/0.json?v={server.store.id}", False), ("/", False),
    ):  # fmt: skip
        status, headers, _ = ask(server, path)
        assert status == 200 and ("immutable" in headers["cache-control"]) == lasts, path
        again = ask(server, path, If_None_Match=f'"other", W/{headers["etag"]}')
        assert again[0] == 304 and again[2] == b"" and again[1]["etag"] == headers["etag"]
        assert ask(server, path, If_None_Match='"other"')[0] == 200
    assert ask(server, "/api/search?q=name")[1]["cache-control"] == "no-store"


def test_head_has_no_body(server: Server) -> None:
    status, headers, body = ask(server, "/data/meta.json", "HEAD")
    assert status == 200 and body == b"" and int(headers["content-length"]) > 100


def test_every_answer_has_the_security_headers(server: Server) -> None:
    for path in ("/", "/app.js", "/data/meta.json", "/nothing", "/api/search?q=1"):
        headers = ask(server, path)[1]
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy and "unsafe" not in policy and "frame-ancestors 'none'" in policy
        assert headers["x-content-type-options"] == "nosniff" and headers["referrer-policy"] == "no-referrer"
        assert headers["cross-origin-resource-policy"] == "same-origin" and "Python" not in headers["server"]
    index = ask(server, "/")[2].decode()
    script = re.search(r"<script>(.*?)</script>", index)[1]  # type: ignore[index]
    from base64 import b64encode

    assert f"'sha256-{b64encode(sha256(script.encode()).digest()).decode()}'" in policy


def test_search(server: Server) -> None:
    found = json.loads(ask(server, "/api/search?q=NAME%2039&most=5")[2])
    assert found["total"] == 11 + 1 - 1 and len(found["hits"]) == 5 and not found["more"]  # 39, 390 to 399
    assert all(text.startswith("Name 39") for _, text in found["hits"])
    rows = json.loads(ask(server, "/data/rows/0.json")[2])
    assert all(rows[place][1] == text for place, text in found["hits"])
    (first, *_others) = json.loads(ask(server, "/api/search?q=17&most=1000")[2])["hits"]
    assert rows[first[0]][0] == 17  # the row with that number comes first
    assert json.loads(ask(server, "/api/search?q=%C3%BCN%C3%AF%20%3Cb")[2])["total"] == N
    assert json.loads(ask(server, "/api/search?q=")[2]) == {"total": 0, "more": False, "hits": []}
    assert json.loads(ask(server, "/api/search")[2])["total"] == 0
    assert json.loads(ask(server, "/api/search?q=" + "9" * 3000)[2])["total"] == 0
    assert json.loads(ask(server, "/api/search?q=%22,%22")[2])["total"] == 0  # how the file separates texts
    assert ask(server, "/api/search?q=a&most=-1")[0] == 400
    assert ask(server, "/api/search?q=a&most=1e9")[0] == 400


def test_rows_without_names_are_found_by_number(tmp_path: Path) -> None:
    store = Store(write_store(tmp_path / "s", fitted()))
    assert store.search("17", 9)["hits"][0][1] == "row 17" and store.search("x", 9)["total"] == 0
    assert store.search(str(N), 9)["total"] == 0


# -- names --------------------------------------------------------------------------------------------------------


def test_names_are_saved_and_shown_from_then_on(server: Server, store: Path) -> None:
    before = json.loads(ask(server, "/data/names/0.json")[2])
    tag = ask(server, "/data/names/0.json")[1]["etag"]
    assert rename(server, {"level": 0, "index": 3, "name": "  my\nname <i> "}) == (200, {"name": "my name <i>"})
    status, _, body = ask(server, "/data/names/0.json", If_None_Match=tag)
    assert status == 200 and json.loads(body) == [*before[:3], "my name <i>", *before[4:]]
    cluster = Store(store).clusters(0)[3]
    saved = store.parent / "names.json"
    assert json.loads(saved.read_text()) == {"0": {str(cluster): "my name <i>"}}
    left = {path.name for path in store.parent.iterdir()}
    assert left == {"store", "names.json", "names.json.lock"}  # nothing temporary
    again = Store(store, SavedNames(saved))  # the next server
    assert again.names(0)[3] == "my name <i>"
    assert rename(server, {"level": 0, "index": 3, "name": ""}) == (200, {"name": before[3]})
    assert json.loads(ask(server, "/data/names/0.json")[2]) == before


def test_names_that_another_server_saved_are_seen(server: Server, store: Path) -> None:
    cluster = int(Store(store).clusters(1)[0])
    other = SavedNames(store.parent / "names.json")
    other.set(1, cluster, "from elsewhere")
    assert json.loads(ask(server, "/data/names/1.json")[2])[0] == "from elsewhere"
    rename(server, {"level": 0, "index": 0, "name": "from here"})
    assert other.read()[1] == {cluster: "from elsewhere"} and len(other.read()) == 2


@pytest.mark.parametrize(
    "record",
    [
        {}, [], 7, b"null", {"level": 0, "index": 0}, {"level": "0", "index": 0, "name": "a"},
        {"level": 0, "index": -1, "name": "a"}, {"level": 0, "index": 10**9, "name": "a"},
        {"level": 99, "index": 0, "name": "a"}, {"level": True, "index": 0, "name": "a"},
        {"level": 0, "index": 0, "name": 3}, {"level": 0, "index": 0, "name": "a", "path": "/etc/passwd"},
        {"level": -1, "index": 0, "name": "a"},
    ],
)  # fmt: skip
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
    assert rename(server, record, Origin=f"http://127.0.0.1:{server.server_address[1] + 1}")[0] == 403
    assert rename(server, record, Sec_Fetch_Site="cross-site")[0] == 403
    assert rename(server, record, Content_Type="text/plain")[0] == 415
    assert rename(server, record, Content_Type="application/x-www-form-urlencoded")[0] == 415
    assert not (store.parent / "names.json").exists()
    assert rename(server, record, Sec_Fetch_Site="same-origin")[0] == 200


def test_a_store_without_names_to_save_says_so(store: Path) -> None:
    server = Server(Store(store))
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
        "from nestmap.explore.names import SavedNames\n"
        "path, begin, level = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), int(sys.argv[3])\n"
        "saved = SavedNames(path)\n"
        "print(flush=True)\n"
        "end = time.monotonic() + 60\n"
        "while not begin.exists() and time.monotonic() < end: time.sleep(0.001)\n"
        "for i in range(25): saved.set(level, i, f'n{i}')\n"
    )
    commands = [[sys.executable, "-c", code, str(path), str(begin), str(level)] for level in (0, 1)]
    others = [subprocess.Popen(command, stdout=subprocess.PIPE) for command in commands]
    try:
        for other in others:
            assert other.stdout is not None and other.stdout.readline()
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


@pytest.mark.parametrize("what", ["nestmap.explore.names.write_json", "os.replace", "nestmap._work.lock.os.open"])
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


def test_a_lock_that_is_not_let_go_is_an_error_after_a_while(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lock = tmp_path / "names.json.lock"
    with (
        locked(lock, "names"),
        pytest.raises(BlockingIOError, match="names is being changed by another process"),
        locked(lock, "names", 0.05),
    ):
        pass
    with locked(lock, "names", 0):
        pass
    monkeypatch.setattr("nestmap._work.lock._lock", _full)  # a file system without locks
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
        other.write_text('{"0": {"1": "b"}}')  # of the same size, in another file with the same time
        os.utime(other, ns=(when, when))
        os.replace(other, path)
        assert saved.read() == {0: {1: "b"}}
        if not old:  # and in the same file
            path.write_text('{"0": {"1": "c"}}')
            os.utime(path, ns=(when, when))
            assert saved.read() == {0: {1: "c"}}
    path.unlink()
    assert saved.read() == {}  # as the error for a damaged file says


def test_more_names_than_can_be_read_again_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    saved = SavedNames(tmp_path / "names.json")
    saved.set(0, 1, "a")
    monkeypatch.setattr("nestmap.explore.names._LARGEST", 300)
    with pytest.raises(ValueError, match="would grow beyond 300 bytes"):
        saved.set(0, 2, "b" * 300)
    assert saved.read() == {0: {1: "a"}}


def test_tidy() -> None:
    assert tidy("a\x00b\u202ec\td") == "a b c d" and tidy("x" * 999) == "x" * 200 and tidy(" \n ") == ""


# -- what it refuses ----------------------------------------------------------------------------------------------


PATHS = (
        "/../secret.json", "/data/../../../secret.json", "/data/../../secret", "/%2e%2e/secret.json",
        "/data/%2e%2e/%2e%2e/secret.json", "/data/..%2f..%2fsecret.json", "/data/..%5c..%5csecret.json",
        "/data//etc/passwd", "//etc/passwd", "/data/" + "a/" * 500 + "b.bin", "/data/meta.json%00.bin", "/data/.",
        "/data/m0", "/data/", "/data/link.json", "/data/out/secret.json", "/data/fifo.json", "/data/names.json",
        "/names.json", "/data/../names.json", "/app.js/", "/./app.js", "/App.js", "/data/META.JSON",
        "/data/meta.json.gz",        "/data/names/-1.json", "/data/names/00.json", "/data/names/999.json",
        "/data/names/1/../1.json", "/api/",
        "/\\secret.json", "/data/%c0%ae%c0%ae/secret.json", "/data/m0/rows/0.bin/..", "/%252e%252e/secret.json",
)  # fmt: skip


def test_paths_outside_are_refused(server: Server, store: Path, tmp_path: Path) -> None:
    (store / "link.json.gz").symlink_to(tmp_path / "secret.json")
    (store / "out").symlink_to(tmp_path)
    (tmp_path / "secret.json.gz").write_bytes(gzip.compress(SECRET.encode()))
    os.mkfifo(store / "fifo.json.gz")
    for path in PATHS:
        status, _, body = ask(server, path)
        assert status in (400, 404) and SECRET.encode() not in body and b"root:" not in body, path


PARTS = ("..", ".", "/", "\\", "m0", "rows", "0", ".bin", "names", "\x00", "é", "%2e", "secret", ".json", "meta")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.sampled_from(PARTS)))
def test_names_of_files_lead_nowhere_else(original: Path, parts: list[str]) -> None:
    path = Store(original).path("".join(parts))
    assert path is None or (path.resolve().is_relative_to(original.resolve()) and path.is_file())


def test_names_that_lead_here_from_elsewhere_are_refused(server: Server) -> None:
    port = server.server_address[1]
    for host in (
        "evil.example",
        f"evil.example:{port}",
        "127.0.0.1.evil.example",
        "",
        "localhost@evil",
        "127.0.0.2x",
        "[::2]",
    ):
        assert ask(server, "/data/meta.json", host=host)[0] == 403, host
    for host in ("localhost", f"LOCALHOST:{port}", "localhost.:80", "127.0.0.1:9", "[::1]:80"):  # forwarded ports
        assert ask(server, "/data/meta.json", host=host)[0] == 200, host


def raw(server: Server, text: bytes) -> bytes:
    with socket.create_connection(("127.0.0.1", int(server.server_address[1])), timeout=10) as connection:
        connection.sendall(text)
        connection.shutdown(socket.SHUT_WR)
        parts = []
        while part := connection.recv(65536):
            parts.append(part)
        return b"".join(parts)


def test_requests_that_are_none(server: Server) -> None:
    assert b" 400 " in raw(server, b"GET /data/meta.json HTTP/1.1\r\n\r\n")  # no host
    assert b" 400 " in raw(server, b"GET / HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n")
    assert b" 40" in raw(server, b"GET http://evil.example/data/meta.json HTTP/1.1\r\nHost: evil.example\r\n\r\n")
    assert b" 414 " in raw(server, b"GET /" + b"a" * 70_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n")
    assert b"200" not in raw(server, b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(100) + b"\r\n\r\n")[:30]
    raw(server, b"")
    inner = b"GET /data/meta.json HTTP/1.1\r\nHost: localhost\r\n\r\n"  # a request as the body of another
    asked = b"GET / HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s" % (len(inner), inner)
    assert raw(server, asked).count(b"HTTP/1.1 ") == 1
    assert ask(server, "/?" + "&".join(f"a{i}=1" for i in range(50)))[0] == 400
    assert ask(server, "/data/meta.json")[0] == 200  # it is still there


POST = b"POST /api/names HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
GET = b"GET / HTTP/1.1\r\nHost: localhost\r\n"
HOSTILE = [
    (b"GET http://[ HTTP/1.1\r\nHost: localhost\r\n\r\n", 400),
    (b"GET http://\xe2\x84\x80/ HTTP/1.1\r\nHost: localhost\r\n\r\n", 200),
    (b"GET http://[::1/ HTTP/1.1\r\nHost: localhost\r\n\r\n", 400),
    (b"GET http://localhost:port/app.js HTTP/1.1\r\nHost: localhost\r\n\r\n", 200),
    (b"GET * HTTP/1.1\r\nHost: localhost\r\n\r\n", 400),
    (b"GET ?v=1 HTTP/1.1\r\nHost: localhost\r\n\r\n", 400),
    (b"GET /%zz%%%e2%28%ff%00 HTTP/1.1\r\nHost: localhost\r\n\r\n", 404),
    (b"GET /\xff\xfe\x00 HTTP/1.1\r\nHost: localhost\r\n\r\n", 404),
    (b"GET /data/\xff.bin HTTP/1.1\r\nHost: localhost\r\n\r\n", 404),
    (b"GET /?%ff=%00&v=%ff%00 HTTP/1.1\r\nHost: localhost\r\n\r\n", 409),
    (b"GET /api/search?q=%ff%00%ed%a0%80&most=%D9%A3 HTTP/1.1\r\nHost: localhost\r\n\r\n", 400),
    (b"GET /api/search?q=%ff%00%ed%a0%80&most=5 HTTP/1.1\r\nHost: localhost\r\n\r\n", 200),
    (b"GET /api/search?q=%D9%A3%C2%B2 HTTP/1.1\r\nHost: localhost\r\n\r\n", 200),
    (b"GET /\r\n\r\n", 400), (b"GET\r\n\r\n", 400), (b"\x00\xff\r\n\r\n", 400), (b"GET / HTTP/9\r\n\r\n", 400),
    (b"GET / HTTP/2.0\r\n\r\n", 505), (b"GET / HTTP/1.\xb2\r\nHost: localhost\r\n\r\n", 400),
    (b"GET / HTTP/1.0\r\nHost: localhost\r\n\r\n", 200), (b"HEAD /\r\n\r\n", 400), (b"POST /\r\n\r\n", 400),
    (b"<script> / HTTP/1.1\r\nHost: localhost\r\n\r\n", 501),
    (b"BREW / HTTP/1.1\r\nHost: localhost\r\n\r\n", 501),
    (b"GET / HTTP/1.1\r\nHost: [\r\n\r\n", 403), (b"GET / HTTP/1.1\r\nHost: \xff\x00\r\n\r\n", 403),
    (b"GET / HTTP/1.1\r\nHost: localhost:99999999999999999999\r\n\r\n", 403),
    (b"GET / HTTP/1.1\r\n: x\r\n \r\nHost: localhost\r\n\r\n", 200),
    (GET + b"Cookie: " + b"a" * 70_000 + b"\r\n\r\n", 431), (GET + b"A: b\r\n" * 200 + b"\r\n", 431),
    (GET + b"If-None-Match: \xff\x00,,,\r\nAccept-Encoding: \xff;q=\xb2\r\n\r\n", 200),
    (GET + b"Content-Length: -1\r\n\r\n", 200), (GET + b"Connection: \xff\r\nExpect: 100-continue\r\n\r\n", 100),
    (POST + b"Origin: http://[\r\nContent-Length: 2\r\n\r\n{}", 400),
    (POST + b"Origin: http://\xe2\x84\x80\r\nContent-Length: 2\r\n\r\n{}", 403),
    (POST + b"Origin: http://localhost\r\nContent-Length: -1\r\n\r\n{}", 411),
    (POST + b"Origin: http://localhost\r\nContent-Length: \xb2\r\n\r\n{}", 411),
    (POST + b"Origin: http://localhost\r\nContent-Length: 2\r\nContent-Length: 1\r\n\r\n{}", 411),
    (POST + b'Origin: http://localhost\r\nContent-Length: 99\r\n\r\n{"level": 0, "index": 0, "name": "cut"}', 400),
    (POST + b"Origin: http://localhost\r\nContent-Length: 0\r\n\r\n", 400),
    (POST + b"Origin: http://localhost\r\nContent-Length: 5000\r\n\r\n" + b"9" * 5000, 400),
    (POST + b'Origin: http://localhost\r\nContent-Length: 5\r\n\r\n"\xff\xfe"', 400),
    (POST.replace(b"application/json", b"\xff;;=") + b"Origin: http://localhost\r\n\r\n", 415),
]  # fmt: skip


def test_hostile_requests_are_answered_and_nothing_is_printed(
    server: Server, store: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    for text, status in HOSTILE:
        answer = raw(server, text)
        assert answer.startswith(b"HTTP/1.1 %d " % status), (text[:80], answer[:80])
        if status >= 400:
            assert b"Content-Security-Policy" in answer and b"text/plain" in answer, text[:80]
    assert not (store.parent / "names.json").exists()
    assert ask(server, "/data/meta.json")[0] == 200
    assert capfd.readouterr() == ("", "")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60, deadline=None)
@given(st.lists(st.sampled_from([
    b"GET ", b"POST ", b"/", b"data/meta.json", b"api/names", b" HTTP/1.1", b"\r\n", b"Host: localhost\r\n",
    b"http://", b"Origin: ", b"Content-Length: 3\r\n", b"\xff", b"\x00", b"?v=", b"\r\n\r\n", b";q=", b"[", b"%",
    b"Accept-Encoding: ",
])))  # fmt: skip
def test_any_bytes_are_answered_or_closed(
    server: Server, capfd: pytest.CaptureFixture[str], parts: list[bytes]
) -> None:
    answer = raw(server, b"".join(parts))
    assert answer == b"" or answer.startswith(b"HTTP/1.1 ")
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("accepted", "encoding"),
    [
        ("gzip", "gzip"), ("GZIP;Q=0.5", "gzip"), ("br, x-gzip", "gzip"), ("*", "gzip"), ("gzip;q=1.000", "gzip"),
        ("deflate, gzip;q=1.0, *;q=0.5", "gzip"), ("identity;q=0", "406"), ("identity;q=0, gzip;q=0.001", "gzip"),
        ("gzip;q=0", ""), ("gzip ; q=0.000", ""), ("gzip;q=0, *", ""), ("", ""), ("br", ""), ("gzipped", ""),
        ("identity, gzip;q=0.5", ""), ("gzip;q=0.5, *;q=1", ""), ("*;q=0", "406"), ("*;q=0, identity", ""),
        ("gzip;q=nan", ""), ("gzip;q=-1", ""), ("gzip;q=7", ""), ("gzip;q=", ""), (",;,;q=0,", ""),
    ],
)  # fmt: skip
def test_encodings_that_are_accepted(server: Server, store: Path, accepted: str, encoding: str) -> None:
    status, headers, body = ask(server, "/data/m0/rows/0.bin", Accept_Encoding=accepted)
    if encoding == "406":
        assert status == 406 and b"refuses both" in body
        return
    assert (status, headers.get("content-encoding", ""), headers["vary"]) == (200, encoding, "Accept-Encoding")
    packed = (store / "m0/rows/0.bin.gz").read_bytes()
    assert body == (packed if encoding else gzip.decompress(packed))


def test_a_body_that_waits_to_be_asked_for(server: Server) -> None:
    body = b'{"level": 0, "index": 0, "name": "waited"}'
    wanted = b"Origin: http://localhost\r\nExpect: 100-continue\r\nContent-Length: %d\r\n\r\n" % len(body)
    with socket.create_connection(("127.0.0.1", int(server.server_address[1])), timeout=10) as connection:
        connection.sendall(POST + wanted)
        assert connection.recv(9999).startswith(b"HTTP/1.1 100 ")
        connection.sendall(body)
        assert connection.recv(9999).startswith(b"HTTP/1.1 200 ")


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT", "BREW"])
def test_other_methods_are_refused(server: Server, method: str) -> None:
    assert ask(server, "/data/meta.json", method)[0] in (405, 501)


def test_posts_elsewhere_are_refused(server: Server) -> None:
    assert (
        ask(server, "/data/meta.json", "POST", {}, Origin=server.url[:-1], Content_Type="application/json")[0] == 404
    )


def test_other_hosts_need_the_token(store: Path) -> None:
    server = Server(Store(store, SavedNames()), "0.0.0.0")
    server.start()
    try:
        token = str(server.token)
        assert len(token) >= 32 and server.url.endswith(f"/{token}/") and token not in repr(server.store.meta)
        assert ask(server, f"/{token}/")[0] == ask(server, f"/{token}/data/meta.json", host="my.host")[0] == 200
        for path in ("/", "/data/meta.json", f"/{token[:-1]}/", f"/{token}x/data/meta.json", f"/{token.swapcase()}/",
                     "//", f"/data/meta.json?token={token}", "/%00/", "/%c3%bc/"):  # fmt: skip
            status, _, body = ask(server, path)
            assert status == 403 and token.encode() not in body, path
        record = {"level": 0, "index": 0, "name": "a"}
        wanted = {"Origin": "http://my.host", "Content_Type": "application/json"}
        assert ask(server, "/api/names", "POST", record, "my.host", **wanted)[0] == 403
        assert ask(server, f"/{token}/api/names", "POST", record, "my.host", **wanted)[0] == 200
    finally:
        server.stop()


def test_loopback() -> None:
    assert all(map(is_loopback, ("127.0.0.1", "127.1.2.3", "::1", "[::1]", "localhost")))
    assert not any(map(is_loopback, ("0.0.0.0", "::", "192.168.1.5", "example.org", "")))


def test_damaged_stores(store: Path) -> None:
    with pytest.raises(ModelFileError, match=r"meta.json is missing"):
        Store(store.parent)
    good = (store / "meta.json.gz").read_bytes()
    for data, message in (
        (b"", "cut off"), (good[:-9], "cut off"), (b"no gzip", "damaged"), (gzip.compress(b"[]"), "no store"),
        (gzip.compress(b"{"), "damaged"),
        (gzip.compress(b'{"format": "nestmap-explorer", "version": 99}'), "version"),
        (gzip.compress(b'{"format": "nestmap-explorer", "version": 2}'), "damaged"),
    ):  # fmt: skip
        (store / "meta.json.gz").write_bytes(data)
        with pytest.raises(ModelFileError, match=message):
            Store(store)


def test_files_damaged_while_it_runs(server: Server, store: Path) -> None:
    (store / "search/0.json.gz").write_bytes(b"no gzip")
    (store / "names/0.json.gz").unlink()
    assert ask(server, "/api/search?q=name")[0] == 500
    assert ask(server, "/data/names/0.json")[0] == 500
    assert ask(server, "/data/names/1.json")[0] == 200


def test_files_of_another_kind_while_it_runs(server: Server, store: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Each is named; nothing is printed."""
    rename(server, {"level": 0, "index": 0, "name": "mine"})
    for file, content, path in (
        ("search/0.json", b'["name 1", "name', "/api/search?q=name"),
        ("search/0.json", b'[7, "name"]', "/api/search?q=name"),
        ("places/0.bin", b"abc", "/api/search?q=17"), ("places/0.bin", b"", "/api/search?q=17"),
        ("names/0.json", b"[]", "/data/names/0.json"), ("names/0.json", b"7", "/data/names/0.json"),
        ("rows/0.json", b"[]", "/api/search?q=name"), ("rows/0.json", b"[[]]", "/api/search?q=name"),
    ):  # fmt: skip
        whole = (store / f"{file}.gz").read_bytes()
        (store / f"{file}.gz").write_bytes(gzip.compress(content))
        status, _, body = ask(server, path)
        assert status == 500 and file.encode() in body and b"delete" in body, (file, content, body)
        (store / f"{file}.gz").write_bytes(whole)
        assert ask(server, path)[0] == 200
    (store / "m0/rows/0.bin.gz").write_bytes(b"no gzip")
    assert ask(server, "/data/m0/rows/0.bin")[0] == 500
    (store.parent / "names.json").write_text("{")  # by someone's editor
    status, text = rename(server, {"level": 0, "index": 0, "name": "other"})
    assert status == 500 and "delete it to go back" in text
    (store.parent / "names.json").unlink()
    (store.parent / "names.json").mkdir()
    assert ask(server, "/data/names/0.json")[0] == 500
    assert capfd.readouterr() == ("", "")


def test_files_that_cannot_be_read_while_it_runs(
    server: Server, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def unreadable(self: Path) -> bytes:
        raise PermissionError(errno.EACCES, "Permission denied", str(self))

    monkeypatch.setattr(Path, "read_bytes", unreadable)
    status, _, body = ask(server, "/data/m0/rows/0.bin")
    assert status == 500 and b"Permission denied" in body
    assert capfd.readouterr() == ("", "")


def test_a_store_that_is_built_again_under_the_server(server: Server, store: Path) -> None:
    old = server.store.id
    assert ask(server, f"/data/meta.json?v={old}")[0] == 200
    write_store(store, fitted(), names=[f"Other {i}" for i in range(N)])
    for path in ("data/meta.json", "data/m0/rows/0.bin", "data/names/1.json", "api/search?q=other"):
        status, headers, body = ask(server, f"/{path}{'&' if '?' in path else '?'}v={old}")
        assert status == 409 and b"reload" in body and headers["cache-control"] == "no-store"
    record = {"level": 1, "index": 0, "name": "mine"}
    origin = {"Origin": server.url[:-1], "Content_Type": "application/json"}
    assert ask(server, f"/api/names?v={old}", "POST", record, **origin)[0] == 409
    assert not (store.parent / "names.json").exists()
    status, headers, body = ask(server, "/")
    new = server.store.id
    assert new != old and new.encode() in body and old.encode() not in body
    script = re.findall(rb"<script>(.*?)</script>", body)[0]
    assert b64encode(sha256(script).digest()).decode() in headers["content-security-policy"]
    assert ask(server, f"/data/rows/0.json?v={new}")[0] == 200
    assert b"Other" in gzip.decompress(ask(server, f"/data/rows/0.json?v={new}", Accept_Encoding="gzip")[2])
    assert json.loads(ask(server, f"/api/search?q=other&v={new}")[2])["total"] == N


def test_a_store_that_changes_in_the_middle_of_an_answer(
    server: Server, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was read may be of either: it is not sent."""
    original = Store.packed

    def replaced_meanwhile(self: Store, name: str) -> bytes | None:
        found = original(self, name)
        os.rename(store, store.with_name("old"))
        return found

    monkeypatch.setattr(Store, "packed", replaced_meanwhile)
    assert ask(server, f"/data/m0/rows/0.bin?v={server.store.id}")[0] == 409
    monkeypatch.setattr(Store, "packed", original)
    assert ask(server, "/data/m0/rows/0.bin")[0] == 409  # there is none now
    os.rename(store.with_name("old"), store)
    assert ask(server, f"/data/m0/rows/0.bin?v={server.store.id}")[0] == 200


# -- clients that say nothing, or take their time -----------------------------------------------------------------


@contextmanager
def serving(store: Path, **limits: float) -> Iterator[tuple[Server, tuple[str, int]]]:
    """A server with other limits, and its address."""
    server = type("Limited", (Server,), limits)(Store(store, SavedNames(store.parent / "names.json")))
    server.start()
    try:
        yield server, ("127.0.0.1", int(server.server_address[1]))
    finally:
        server.stop()
    wait_until(lambda: len(server.visits) == 0)  # all threads have gone


def wait_until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + 20
    while not holds():
        assert time.monotonic() < end, "this takes too long"
        time.sleep(0.01)


def is_closed(connection: socket.socket) -> bool:
    """Whether the server closes a connection, within the time limit of the socket."""
    try:
        while connection.recv(65536):
            pass
    except ConnectionError:
        pass
    return True


HEAD = b"HEAD / HTTP/1.1\r\nHost: localhost\r\n\r\n"


def test_two_hundred_idle_connections_keep_nobody_out(store: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with serving(store) as (server, address), ExitStack() as stack:
        idle = [stack.enter_context(socket.create_connection(address, timeout=10)) for _ in range(200)]
        for each in idle[::2]:
            each.sendall(b"GET / HT")  # half a request is none
        assert [ask(server, path)[0] for path in ("/", "/data/meta.json", "/app.js") * 3] == [200] * 9
        assert len(server.visits) <= 2 * Server.most_connections
        assert is_closed(idle[0])
    assert capfd.readouterr() == ("", "")


def test_the_longest_idle_connection_makes_way(store: Path) -> None:
    with serving(store, most_connections=2) as (server, address), ExitStack() as stack:
        one, two = (stack.enter_context(socket.create_connection(address, timeout=10)) for _ in range(2))
        for each in (one, two, one):  # all get an answer, and stay
            each.sendall(HEAD)
            assert each.recv(9999).startswith(b"HTTP/1.1 200")
            wait_until(lambda: not any(visit.is_asked for visit in server.visits._all.values()))
        assert ask(server, "/")[0] == 200
        assert is_closed(two)
        one.sendall(HEAD)
        assert one.recv(9999).startswith(b"HTTP/1.1 200")


def test_connections_beyond_those_that_are_busy_are_closed(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    entered, go = threading.Semaphore(0), threading.Event()
    original = Store.search

    def slow(self: Store, text: str, most: int) -> dict[str, Any]:
        entered.release()
        go.wait(20)
        return original(self, text, most)

    monkeypatch.setattr(Store, "search", slow)
    found: list[int] = []
    with serving(store, most_connections=2) as (server, address):
        busy = [threading.Thread(target=lambda: found.append(ask(server, "/api/search?q=1")[0])) for _ in range(2)]
        for thread in busy:
            thread.start()
        assert all(entered.acquire(timeout=20) for _ in busy)
        with socket.create_connection(address, timeout=10) as third:
            assert is_closed(third)
        go.set()
        for thread in busy:
            thread.join(20)
        assert found == [200, 200]
        wait_until(lambda: len(server.visits) == 0)
        assert ask(server, "/")[0] == 200


@pytest.mark.parametrize("sent", [b"", b"G", b"GET / HTTP/1.1\r\nHost: local", b"POST"])
def test_requests_that_do_not_end_are_ended(store: Path, sent: bytes, capfd: pytest.CaptureFixture[str]) -> None:
    """A letter now and then does not help."""
    if sent == b"POST":
        wanted = b"Origin: http://localhost\r\nContent-Type: application/json\r\nContent-Length: 9000\r\n"
        sent = b"POST /api/names HTTP/1.1\r\nHost: localhost\r\n" + wanted + b"\r\n{"
    with serving(store, request_seconds=0.3) as (server, address):
        with socket.create_connection(address, timeout=10) as slow:
            slow.sendall(sent)
            wait_until(lambda: len(server.visits) == 1)
            with suppress(ConnectionError):
                for _ in range(1000):
                    time.sleep(0.02)
                    if sent:
                        slow.send(b"x")
                    if len(server.visits) == 0:
                        break
            assert is_closed(slow) and len(server.visits) == 0
        assert ask(server, "/")[0] == 200
    assert capfd.readouterr() == ("", "")


def test_connections_that_ask_for_nothing_more_are_ended(store: Path) -> None:
    with serving(store, idle_seconds=0.2) as (_, address), socket.create_connection(address, timeout=10) as idle:
        idle.sendall(HEAD)
        assert idle.recv(9999).startswith(b"HTTP/1.1 200")
        assert is_closed(idle)


def test_answers_that_nobody_takes_are_ended(store: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "page" / "app.js").write_bytes(bytes(30_000_000))  # more than the system keeps for a connection
    with serving(store, answer_seconds=0.3, slowest=1e12) as (server, address):
        with socket.socket() as slow:
            slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            slow.settimeout(10)
            slow.connect(address)
            slow.sendall(b"GET /app.js HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert slow.recv(100).startswith(b"HTTP/1.1 200")
            wait_until(lambda: len(server.visits) == 0)
        assert ask(server, "/")[0] == 200
    assert capfd.readouterr() == ("", "")


def test_answers_that_are_taken_slowly_make_way_for_others(store: Path, tmp_path: Path) -> None:
    visits = Visits(1)
    visits.patience = 0.05
    one, two = socket.socketpair()
    three, four = socket.socketpair()
    with one, two, three, four:
        assert visits.admit(one, 60)
        visits.of(one).work()
        time.sleep(0.1)
        assert not visits.admit(three, 60)  # it works: that is not the client's fault
        visits.of(one).send(60)
        assert not visits.admit(three, 60)  # it has just begun
        time.sleep(0.1)
        assert visits.admit(three, 60) and visits.of(one).is_ended and two.recv(1) == b""
        assert not visits.admit(two, 60)  # the thread of the first has not gone yet
        visits.leave(one)
        assert visits.admit(two, 60) and len(visits) == 2


def test_a_server_that_stops_closes_its_connections(store: Path) -> None:
    with serving(store) as (server, address), socket.create_connection(address, timeout=10) as idle:
        idle.sendall(HEAD)
        assert idle.recv(9999).startswith(b"HTTP/1.1 200")
        server.stop()
        assert is_closed(idle)


def test_a_system_without_more_threads(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def none(self: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with serving(store) as (server, address):
        with monkeypatch.context() as patched:
            patched.setattr(threading.Thread, "start", none)
            with socket.create_connection(address, timeout=10) as refused:
                assert is_closed(refused)
        assert len(server.visits) == 0 and ask(server, "/")[0] == 200


def test_many_tabs_at_once(server: Server) -> None:
    found: list[int] = []

    def look() -> None:
        found.extend(
            ask(server, path)[0] for path in ("/", "/data/meta.json", "/data/m0/rows/0.bin", "/api/search?q=1")
        )

    threads = [threading.Thread(target=look) for _ in range(12)]
    run_together(threads)
    assert found == [200] * 48


# -- from Python --------------------------------------------------------------------------------------------------


def test_explore_from_python() -> None:
    picture = fitted().explore(names=[str(i) for i in range(N)], metadata={"a": np.arange(N) % 4}, trust=True)
    assert isinstance(picture, Explorer) and picture.url.startswith("http://127.0.0.1:")
    folder = picture._server.store.folder
    with picture:
        assert ask(picture._server, "/data/meta.json")[0] == 403  # other users of this machine have no token
        token = f"/{picture._server.token}"
        meta = json.loads(ask(picture._server, f"{token}/data/meta.json")[2])
        assert (
            meta["neighbors"] == 10
            and meta["can_save"]
            and "'self' http://localhost:*" in picture._server.shown.policy
        )
        wanted = {"Origin": picture.url.removesuffix(f"{token}/"), "Content_Type": "application/json"}
        assert (
            ask(picture._server, f"{token}/api/names", "POST", {"level": 0, "index": 0, "name": "mine"}, **wanted)[0]
            == 200
        )
        assert list(picture.names[0].values()) == ["mine"]
        html = picture._repr_html_()
        assert f'src="{picture.url}"' in html and "<img" in html
        status, headers, body = ask(picture._server, f"{token}/alive")  # for a page of another origin
        assert status == 200 and body == b"" and headers["cross-origin-resource-policy"] == "cross-origin"
        assert ask(picture._server, "/alive")[0] == 403
        png = picture._repr_png_()
        assert png is not None and png[:4] == b"\x89PNG"
        assert picture.url in repr(picture)
    assert not folder.parent.exists()
    assert "<img" in picture._repr_html_() and "iframe" not in picture._repr_html_() and "stopped" in repr(picture)
    picture.stop()  # twice does no harm
    with pytest.raises(OSError, match=r"."):
        socket.create_connection(("127.0.0.1", int(picture.url.split(":")[2].split("/")[0])), timeout=2)


def test_explore_cleans_up_after_an_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    before = {*tmp_path.iterdir()}
    with pytest.raises(ValueError, match="names: needs one"):
        explore(fitted(), names=["a"])
    with pytest.raises(ValueError, match="trust=True compares"):
        explore(fitted(), trust=True)
    assert {*tmp_path.iterdir()} == before


def test_static_folder(tmp_path: Path) -> None:
    site = fitted().explore(path=tmp_path / "site", names=[f"</script>{i}" for i in range(N)])
    assert site == tmp_path / "site" and {path.name for path in site.iterdir()} == {
        "index.html", "app.js", "data", "README.txt",
    }  # fmt: skip
    assert '"transport": "static"' in (site / "index.html").read_text()
    scripts = list((site / "data").rglob("*.js"))
    assert len(scripts) > 15
    form = re.compile(r'nestmapData\("([a-z0-9/.]+)","([A-Za-z0-9+/=]+)","([0-9a-f]{16})"\)\n')
    for path in scripts:
        found = form.fullmatch(path.read_text())
        assert found and found[1] == path.relative_to(site / "data").as_posix()[:-3]
        assert f'"store": "{found[3]}"' in (site / "index.html").read_text()  # all of one version
    from base64 import b64decode

    text = (site / "data/meta.json.js").read_text()
    meta = json.loads(gzip.decompress(b64decode(text.split('"')[3])))
    assert meta["can_save"] is False and meta["n_rows"] == N
    export(site, fitted())  # an older one is replaced
    other = tmp_path / "precious"
    other.mkdir()
    (other / "thesis.txt").write_text("all my work")
    with pytest.raises(FileExistsError, match="is not replaced"):
        export(other, fitted())
    assert (other / "thesis.txt").exists()


def test_a_store_that_is_built_again_during_an_export(
    store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Files of two versions make no page."""
    opened, original = Store(store), Store.packed

    def replaced_meanwhile(self: Store, name: str) -> bytes | None:
        monkeypatch.setattr(Store, "packed", original)
        write_store(store, fitted(), names=["other"] * N, metadata={"third": np.arange(N) % 3})
        return original(self, name)

    monkeypatch.setattr(Store, "packed", replaced_meanwhile)
    with pytest.raises(ModelFileError, match="was built again meanwhile"):
        write_site(tmp_path / "site", opened)
    assert not (tmp_path / "site").exists()
    assert write_site(tmp_path / "site", Store(store)).is_dir()


def test_a_page_that_was_not_built_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    monkeypatch.setattr("nestmap.explore.bundle.__file__", str(tmp_path / "nowhere" / "bundle.py"))
    with pytest.raises(ModelFileError, match=r"has no index.html"):
        Page.find()
