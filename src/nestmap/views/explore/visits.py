"""Connections to the explorer: a limit on their number, deadlines, eviction of idle ones."""

from __future__ import annotations

import math
import socket
import threading
import time
from contextlib import suppress


class Visit:
    """One connection: its state (idle, working, sending) and its deadline."""

    def __init__(self, connection: socket.socket, seconds: float) -> None:
        self._connection = connection
        self.is_ended = False
        self.listen(seconds)

    def listen(self, seconds: float) -> None:
        """The client has to send a whole request within `seconds`."""
        self._hold(seconds, is_asked=False)

    def work(self) -> None:
        """The server's own time: no limit."""
        self._hold(math.inf, is_asked=True)

    def send(self, seconds: float) -> None:
        """The client has to read its answer within `seconds`."""
        self._hold(seconds, is_asked=True)

    def _hold(self, seconds: float, is_asked: bool) -> None:
        self.since = time.monotonic()
        self.until = self.since + seconds
        self.is_asked = is_asked

    def end(self) -> None:
        """Shut the socket down: the thread that reads or writes it wakes up and closes it."""
        self.is_ended = True
        with suppress(OSError):  # closed already
            self._connection.shutdown(socket.SHUT_RDWR)


class Visits:
    """All connections of a server. If there are too many, a new one replaces the longest idle."""

    patience = 10.0  # seconds after which an answer that is not taken makes way, too

    def __init__(self, most: int) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._all: dict[socket.socket, Visit] = {}

    def __len__(self) -> int:
        return len(self._all)

    def admit(self, connection: socket.socket, seconds: float) -> bool:
        """Take a connection in; False if all that are there are busy."""
        with self._lock:
            here = [visit for visit in self._all.values() if not visit.is_ended]
            if (
                len(self._all) >= 2 * self._most
            ):  # those that have ended have not gone yet: no room for more threads
                return False
            if len(here) >= self._most:
                longest = self._longest(here)
                if longest is None:
                    return False
                longest.end()
            self._all[connection] = Visit(connection, seconds)
            return True

    def _longest(self, visits: list[Visit]) -> Visit | None:
        """The connection to evict: the longest idle one, else the slowest that is sending."""
        silent = [visit for visit in visits if not visit.is_asked]
        late = time.monotonic() - self.patience
        slow = [visit for visit in visits if visit.until < math.inf and visit.since < late]
        return min(silent or slow, key=lambda visit: visit.since, default=None)

    def of(self, connection: socket.socket) -> Visit:
        """The visit of a connection that was taken in."""
        with self._lock:
            return self._all[connection]

    def leave(self, connection: socket.socket) -> None:
        with self._lock:
            self._all.pop(connection, None)

    def end_late(self) -> None:
        """End those whose time is over."""
        now = time.monotonic()
        with self._lock:
            for visit in self._all.values():
                if visit.until < now and not visit.is_ended:
                    visit.end()

    def end_all(self) -> None:
        with self._lock:
            for visit in self._all.values():
                visit.end()
