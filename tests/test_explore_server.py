"""The explorer's server as a browser meets it, and as someone with bad intentions does."""

# ruff: noqa: F401 (fixtures)

from __future__ import annotations

import errno
import gzip
import json
import os
import re
import socket
from base64 import b64encode
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from serving import (
    SECRET,
    N,
    X,
    ask,
    fitted,
    given_original,
    given_page,
    given_server,
    given_store,
    raw,
    rename,
)  # fixtures

from nestmap import ModelFileError
from nestmap.views.explore.asked import is_loopback
from nestmap.views.explore.bundle import Page, write_site
from nestmap.views.explore.explorer import Explorer, explore, export
from nestmap.views.explore.map_store import MapStore
from nestmap.views.explore.names import SavedNames
from nestmap.views.explore.server import Server
from nestmap.views.explore.store import write_store

# -- what it serves
# -----------------------------------------------------------------------------------------------


def test_page_and_data(server: Server, store: Path) -> None:
    status, headers, body = ask(server, "/")
    assert status == 200 and headers["content-type"].startswith("text/html")
    config = json.loads(re.search(rb"window.NESTMAP = (.*?)</script>", body)[1])  # type: ignore[index]
    assert config == {"transport": "server", "token": None, "store": server.store.id}
    assert ask(server, "/app.js")[2] == b"console.log(1)"
    status, headers, body = ask(server, "/data/m0/rows/0.bin", Accept_Encoding="gzip, br")
    assert (status, headers["content-encoding"], body) == (
        200,
        "gzip",
        (store / "m0/rows/0.bin.gz").read_bytes(),
    )
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
        assert (
            "default-src 'none'" in policy
            and "unsafe" not in policy
            and "frame-ancestors 'none'" in policy
        )
        assert (
            headers["x-content-type-options"] == "nosniff"
            and headers["referrer-policy"] == "no-referrer"
        )
        assert (
            headers["cross-origin-resource-policy"] == "same-origin"
            and "Python" not in headers["server"]
        )
    index = ask(server, "/")[2].decode()
    script = re.search(r"<script>(.*?)</script>", index)[1]  # type: ignore[index]
    from base64 import b64encode

    assert f"'sha256-{b64encode(sha256(script.encode()).digest()).decode()}'" in policy


def test_search(server: Server) -> None:
    found = json.loads(ask(server, "/api/search?q=NAME%2039&most=5")[2])
    # 39, 390 to 399
    assert found["total"] == 11 + 1 - 1 and len(found["hits"]) == 5 and not found["more"]
    assert all(text.startswith("Name 39") for _, text in found["hits"])
    rows = json.loads(ask(server, "/data/rows/0.json")[2])
    assert all(rows[place][1] == text for place, text in found["hits"])
    (first, *_others) = json.loads(ask(server, "/api/search?q=17&most=1000")[2])["hits"]
    assert rows[first[0]][0] == 17  # the row with that number comes first
    assert json.loads(ask(server, "/api/search?q=%C3%BCN%C3%AF%20%3Cb")[2])["total"] == N
    assert json.loads(ask(server, "/api/search?q=")[2]) == {"total": 0, "more": False, "hits": []}
    assert json.loads(ask(server, "/api/search")[2])["total"] == 0
    assert json.loads(ask(server, "/api/search?q=" + "9" * 3000)[2])["total"] == 0
    # how the file separates texts
    assert json.loads(ask(server, "/api/search?q=%22,%22")[2])["total"] == 0
    assert ask(server, "/api/search?q=a&most=-1")[0] == 400
    assert ask(server, "/api/search?q=a&most=1e9")[0] == 400


def test_rows_without_names_are_found_by_number(tmp_path: Path) -> None:
    store = MapStore(write_store(tmp_path / "s", fitted()))
    assert store.search("17", 9)["hits"][0][1] == "row 17" and store.search("x", 9)["total"] == 0
    assert store.search(str(N), 9)["total"] == 0


# -- what it refuses
# ----------------------------------------------------------------------------------------------


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


PARTS = (
    "..",
    ".",
    "/",
    "\\",
    "m0",
    "rows",
    "0",
    ".bin",
    "names",
    "\x00",
    "é",
    "%2e",
    "secret",
    ".json",
    "meta",
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.sampled_from(PARTS)))
def test_names_of_files_lead_nowhere_else(original: Path, parts: list[str]) -> None:
    path = MapStore(original).path("".join(parts))
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
    # forwarded ports
    for host in ("localhost", f"LOCALHOST:{port}", "localhost.:80", "127.0.0.1:9", "[::1]:80"):
        assert ask(server, "/data/meta.json", host=host)[0] == 200, host


def test_requests_that_are_none(server: Server) -> None:
    assert b" 400 " in raw(server, b"GET /data/meta.json HTTP/1.1\r\n\r\n")  # no host
    assert b" 400 " in raw(
        server, b"GET / HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n"
    )
    assert b" 40" in raw(
        server, b"GET http://evil.example/data/meta.json HTTP/1.1\r\nHost: evil.example\r\n\r\n"
    )
    assert b" 414 " in raw(
        server, b"GET /" + b"a" * 70_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n"
    )
    assert (
        b"200"
        not in raw(
            server, b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(100) + b"\r\n\r\n"
        )[:30]
    )
    raw(server, b"")
    # a request as the body of another
    inner = b"GET /data/meta.json HTTP/1.1\r\nHost: localhost\r\n\r\n"
    asked = b"GET / HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s" % (
        len(inner),
        inner,
    )
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


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60, deadline=None
)
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
def test_encodings_that_are_accepted(
    server: Server, store: Path, accepted: str, encoding: str
) -> None:
    status, headers, body = ask(server, "/data/m0/rows/0.bin", Accept_Encoding=accepted)
    if encoding == "406":
        assert status == 406 and b"refuses both" in body
        return
    assert (status, headers.get("content-encoding", ""), headers["vary"]) == (
        200,
        encoding,
        "Accept-Encoding",
    )
    packed = (store / "m0/rows/0.bin.gz").read_bytes()
    assert body == (packed if encoding else gzip.decompress(packed))


def test_a_body_that_waits_to_be_asked_for(server: Server) -> None:
    body = b'{"level": 0, "index": 0, "name": "waited"}'
    wanted = (
        b"Origin: http://localhost\r\nExpect: 100-continue\r\nContent-Length: %d\r\n\r\n"
        % len(body)
    )
    with socket.create_connection(
        ("127.0.0.1", int(server.server_address[1])), timeout=10
    ) as connection:
        connection.sendall(POST + wanted)
        assert connection.recv(9999).startswith(b"HTTP/1.1 100 ")
        connection.sendall(body)
        assert connection.recv(9999).startswith(b"HTTP/1.1 200 ")


@pytest.mark.parametrize(
    "method", ["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT", "BREW"]
)
def test_other_methods_are_refused(server: Server, method: str) -> None:
    assert ask(server, "/data/meta.json", method)[0] in (405, 501)


def test_posts_elsewhere_are_refused(server: Server) -> None:
    assert (
        ask(
            server,
            "/data/meta.json",
            "POST",
            {},
            Origin=server.url[:-1],
            Content_Type="application/json",
        )[0]
        == 404
    )


def test_other_hosts_need_the_token(store: Path) -> None:
    server = Server(MapStore(store, SavedNames()), "0.0.0.0")
    server.start()
    try:
        token = str(server.token)
        assert (
            len(token) >= 32
            and server.url.endswith(f"/{token}/")
            and token not in repr(server.store.meta)
        )
        assert (
            ask(server, f"/{token}/")[0]
            == ask(server, f"/{token}/data/meta.json", host="my.host")[0]
            == 200
        )
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
        MapStore(store.parent)
    good = (store / "meta.json.gz").read_bytes()
    for data, message in (
        (b"", "cut off"), (good[:-9], "cut off"), (b"no gzip", "damaged"), (gzip.compress(b"[]"), "no store"),
        (gzip.compress(b"{"), "damaged"),
        (gzip.compress(b'{"format": "nestmap-explorer", "version": 99}'), "version"),
        (gzip.compress(b'{"format": "nestmap-explorer", "version": 3}'), "damaged"),
    ):  # fmt: skip
        (store / "meta.json.gz").write_bytes(data)
        with pytest.raises(ModelFileError, match=message):
            MapStore(store)


def test_files_damaged_while_it_runs(server: Server, store: Path) -> None:
    (store / "search/0.json.gz").write_bytes(b"no gzip")
    (store / "names/0.json.gz").unlink()
    assert ask(server, "/api/search?q=name")[0] == 500
    assert ask(server, "/data/names/0.json")[0] == 500
    assert ask(server, "/data/names/1.json")[0] == 200


def test_files_of_another_kind_while_it_runs(
    server: Server, store: Path, capfd: pytest.CaptureFixture[str]
) -> None:
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
    assert b"Other" in gzip.decompress(
        ask(server, f"/data/rows/0.json?v={new}", Accept_Encoding="gzip")[2]
    )
    assert json.loads(ask(server, f"/api/search?q=other&v={new}")[2])["total"] == N


def test_a_store_that_changes_in_the_middle_of_an_answer(
    server: Server, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was read may be of either: it is not sent."""
    original = MapStore.packed

    def replaced_meanwhile(self: MapStore, name: str) -> bytes | None:
        found = original(self, name)
        os.rename(store, store.with_name("old"))
        return found

    monkeypatch.setattr(MapStore, "packed", replaced_meanwhile)
    assert ask(server, f"/data/m0/rows/0.bin?v={server.store.id}")[0] == 409
    monkeypatch.setattr(MapStore, "packed", original)
    assert ask(server, "/data/m0/rows/0.bin")[0] == 409  # there is none now
    os.rename(store.with_name("old"), store)
    assert ask(server, f"/data/m0/rows/0.bin?v={server.store.id}")[0] == 200


# -- from Python
# --------------------------------------------------------------------------------------------------


def test_explore_from_python() -> None:
    picture = fitted().explore(
        names=[str(i) for i in range(N)], metadata={"a": np.arange(N) % 4}, trust=True
    )
    assert isinstance(picture, Explorer) and picture.url.startswith("http://127.0.0.1:")
    folder = picture._server.store.folder
    with picture:
        # other users of this machine have no token
        assert ask(picture._server, "/data/meta.json")[0] == 403
        token = f"/{picture._server.token}"
        meta = json.loads(ask(picture._server, f"{token}/data/meta.json")[2])
        assert (
            meta["neighbors"] == 10
            and meta["can_save"]
            and "'self' http://localhost:*" in picture._server.shown.policy
        )
        wanted = {
            "Origin": picture.url.removesuffix(f"{token}/"),
            "Content_Type": "application/json",
        }
        assert (
            ask(
                picture._server,
                f"{token}/api/names",
                "POST",
                {"level": 0, "index": 0, "name": "mine"},
                **wanted,
            )[0]
            == 200
        )
        assert list(picture.names[0].values()) == ["mine"]
        html = picture._repr_html_()
        assert f'src="{picture.url}"' in html and "<img" in html
        # for a page of another origin
        status, headers, body = ask(picture._server, f"{token}/alive")
        assert (
            status == 200
            and body == b""
            and headers["cross-origin-resource-policy"] == "cross-origin"
        )
        assert ask(picture._server, "/alive")[0] == 403
        png = picture._repr_png_()
        assert png is not None and png[:4] == b"\x89PNG"
        assert picture.url in repr(picture)
    assert not folder.parent.exists()
    assert (
        "<img" in picture._repr_html_()
        and "iframe" not in picture._repr_html_()
        and "stopped" in repr(picture)
    )
    picture.stop()  # twice does no harm
    with pytest.raises(OSError, match=r"."):
        socket.create_connection(
            ("127.0.0.1", int(picture.url.split(":")[2].split("/")[0])), timeout=2
        )


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
    found = {path.name for path in site.iterdir()} - {"preview.png"}  # drawn by matplotlib
    assert site == tmp_path / "site" and found == {
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
    opened, original = MapStore(store), MapStore.packed

    def replaced_meanwhile(self: MapStore, name: str) -> bytes | None:
        monkeypatch.setattr(MapStore, "packed", original)
        write_store(store, fitted(), names=["other"] * N, metadata={"third": np.arange(N) % 3})
        return original(self, name)

    monkeypatch.setattr(MapStore, "packed", replaced_meanwhile)
    with pytest.raises(ModelFileError, match="was built again meanwhile"):
        write_site(tmp_path / "site", opened)
    assert not (tmp_path / "site").exists()
    assert write_site(tmp_path / "site", MapStore(store)).is_dir()


def test_a_page_that_was_not_built_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.undo()
    monkeypatch.setattr(
        "nestmap.views.explore.bundle.__file__", str(tmp_path / "nowhere" / "bundle.py")
    )
    with pytest.raises(ModelFileError, match=r"has no index.html"):
        Page.find()
