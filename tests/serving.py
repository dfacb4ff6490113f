"""The explorer's server for tests: fixtures, and requests as they are sent."""

from __future__ import annotations

import http.client
import json
import shutil
import socket
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import digits

from nestmap import HNNE
from nestmap.views.explore.bundle import Page
from nestmap.views.explore.map_store import MapStore
from nestmap.views.explore.names import SavedNames
from nestmap.views.explore.server import Server
from nestmap.views.explore.store import write_store

N = 400
X = digits()[:N]
CONFIG = '<script>window.NESTMAP = {"transport": "server", "token": null}</script>'
SECRET = "what nobody may read"


@cache
def fitted() -> HNNE:
    return HNNE().fit(X)


@pytest.fixture(autouse=True)
def given_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A page of two files: the real one has tests of its own."""
    folder = tmp_path / "page"
    folder.mkdir()
    (folder / "index.html").write_text(f"<!doctype html>{CONFIG}<script src=app.js></script>")
    (folder / "app.js").write_text("console.log(1)")
    (tmp_path / "secret.json").write_text(SECRET)
    monkeypatch.setattr(Page, "find", classmethod(lambda cls: cls(folder, frozenset({"app.js"}))))


@pytest.fixture(name="original", scope="module")
def given_original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    names = [f"Name {i} Ünï <b>" for i in range(N)]
    folder = tmp_path_factory.mktemp("original") / "store"
    return write_store(folder, fitted(), names=names, metadata={"third": np.arange(N) % 3})


@pytest.fixture(name="store")
def given_store(tmp_path: Path, original: Path) -> Path:
    """A store that a test may damage."""
    return Path(shutil.copytree(original, tmp_path / "run" / "store"))


@pytest.fixture(name="server")
def given_server(store: Path) -> Iterator[Server]:
    with_names = Server(MapStore(store, SavedNames(store.parent / "names.json")))
    with_names.start()
    yield with_names
    with_names.stop()


def ask(
    server: Server,
    path: str,
    method: str = "GET",
    body: Any = None,
    host: str | None = None,
    **headers: str,
) -> tuple[int, dict[str, str], bytes]:
    """One request, with the path as it is: clients would tidy it."""
    port = int(server.server_address[1])
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
        for value in [host if host is not None else f"127.0.0.1:{port}"]:
            connection.putheader("Host", value)
        data = (
            None if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
        )
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        if data is not None and "Content-Length" not in given:
            given["Content-Length"] = str(len(data))
        for name, value in given.items():
            connection.putheader(name, value)
        connection.endheaders(data)
        answer = connection.getresponse()
        return (
            answer.status,
            {name.lower(): value for name, value in answer.getheaders()},
            answer.read(),
        )
    finally:
        connection.close()


def rename(server: Server, record: Any, **headers: str) -> tuple[int, Any]:
    origin = server.url[:-1]
    status, _, body = ask(
        server,
        "/api/names",
        "POST",
        record,
        **{"Origin": origin, "Content_Type": "application/json", **headers},
    )
    return status, json.loads(body) if status == 200 else body.decode()


def raw(server: Server, text: bytes) -> bytes:
    with socket.create_connection(
        ("127.0.0.1", int(server.server_address[1])), timeout=10
    ) as connection:
        connection.sendall(text)
        connection.shutdown(socket.SHUT_WR)
        parts = []
        while part := connection.recv(65536):
            parts.append(part)
        return b"".join(parts)
