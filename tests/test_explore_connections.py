"""Clients of the explorer's server that say nothing, take their time, or come all at once."""

# ruff: noqa: F401 (fixtures)

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from conftest import run_together
from serving import ask, given_original, given_page, given_server, given_store  # fixtures

from nestmap.views.explore.map_store import MapStore
from nestmap.views.explore.names import SavedNames
from nestmap.views.explore.server import Server
from nestmap.views.explore.visits import Visits


@contextmanager
def serving(store: Path, **limits: float) -> Iterator[tuple[Server, tuple[str, int]]]:
    """A server with other limits, and its address."""
    server = type("Limited", (Server,), limits)(
        MapStore(store, SavedNames(store.parent / "names.json"))
    )
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


def test_two_hundred_idle_connections_keep_nobody_out(
    store: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with serving(store) as (server, address), ExitStack() as stack:
        idle = [
            stack.enter_context(socket.create_connection(address, timeout=10)) for _ in range(200)
        ]
        for each in idle[::2]:
            each.sendall(b"GET / HT")  # half a request is none
        assert [ask(server, path)[0] for path in ("/", "/data/meta.json", "/app.js") * 3] == [
            200
        ] * 9
        assert len(server.visits) <= 2 * Server.most_connections
        assert is_closed(idle[0])
    assert capfd.readouterr() == ("", "")


def test_the_longest_idle_connection_makes_way(store: Path) -> None:
    with serving(store, most_connections=2) as (server, address), ExitStack() as stack:
        one, two = (
            stack.enter_context(socket.create_connection(address, timeout=10)) for _ in range(2)
        )
        for each in (one, two, one):  # all get an answer, and stay
            each.sendall(HEAD)
            assert each.recv(9999).startswith(b"HTTP/1.1 200")
            wait_until(lambda: not any(visit.is_asked for visit in server.visits._all.values()))
        assert ask(server, "/")[0] == 200
        assert is_closed(two)
        one.sendall(HEAD)
        assert one.recv(9999).startswith(b"HTTP/1.1 200")


def test_connections_beyond_those_that_are_busy_are_closed(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    entered, go = threading.Semaphore(0), threading.Event()
    original = MapStore.search

    def slow(self: MapStore, text: str, most: int) -> dict[str, Any]:
        entered.release()
        go.wait(20)
        return original(self, text, most)

    monkeypatch.setattr(MapStore, "search", slow)
    found: list[int] = []
    with serving(store, most_connections=2) as (server, address):
        busy = [
            threading.Thread(target=lambda: found.append(ask(server, "/api/search?q=1")[0]))
            for _ in range(2)
        ]
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
def test_requests_that_do_not_end_are_ended(
    store: Path, sent: bytes, capfd: pytest.CaptureFixture[str]
) -> None:
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
    with (
        serving(store, idle_seconds=0.2) as (_, address),
        socket.create_connection(address, timeout=10) as idle,
    ):
        idle.sendall(HEAD)
        assert idle.recv(9999).startswith(b"HTTP/1.1 200")
        assert is_closed(idle)


def test_answers_that_nobody_takes_are_ended(
    store: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "page" / "app.js").write_bytes(
        bytes(30_000_000)
    )  # more than the system keeps for a connection
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
            ask(server, path)[0]
            for path in ("/", "/data/meta.json", "/data/m0/rows/0.bin", "/api/search?q=1")
        )

    threads = [threading.Thread(target=look) for _ in range(12)]
    run_together(threads)
    assert found == [200] * 48
