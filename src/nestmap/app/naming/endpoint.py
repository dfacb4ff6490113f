"""Addresses of servers that speak OpenAI's chat protocol, and one exchange with such a server."""

from __future__ import annotations

import socket
from contextlib import suppress
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from threading import Lock, Timer
from typing import Self
from urllib.parse import urlsplit

from ..._version import __version__
from ...method.describe import NamerError

KEY_VARIABLE = "NESTMAP_NAMER_KEY"
MAX_ANSWER_BYTES = 1_000_000
_PROBE_SECONDS = 5.0
_PATH = "/chat/completions"


@dataclass(frozen=True)
class Endpoint:
    """Where questions are sent: prints as its address."""

    is_encrypted: bool
    host: str
    port: int
    path: str

    @classmethod
    def of(cls, url: str) -> Self:
        """From what users write: `/v1/chat/completions` may be left out, and `http://`.

        Examples
        --------
        >>> for url in ("localhost:11434", "http://gpu:8000/v1", "https://api.example.com/x/v1/"):
        ...     print(Endpoint.of(url))
        http://localhost:11434/v1/chat/completions
        http://gpu:8000/v1/chat/completions
        https://api.example.com/x/v1/chat/completions
        """
        if not url.isascii() or not url.isprintable() or " " in url:
            raise ValueError(f"{url!r} is no address: it has blanks, or letters that are not ASCII")
        try:
            parts = urlsplit(url if "://" in url else f"http://{url}")
            port = parts.port
        except ValueError as error:
            raise ValueError(f"{url!r} is no address ({error})") from None
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"{url!r} is no address such as http://localhost:11434")
        if parts.username is not None or parts.password is not None or parts.query:
            raise ValueError(
                "an address with a user, a password or a query: keys go into the environment "
                f"variable {KEY_VARIABLE}, where nobody sees them"
            )
        is_encrypted = parts.scheme == "https"
        path = parts.path.rstrip("/")
        if not path.endswith(_PATH):
            has_version = path.rpartition("/")[2].removeprefix("v").isdigit()
            path += _PATH if has_version else f"/v1{_PATH}"
        return cls(is_encrypted, parts.hostname, port or (443 if is_encrypted else 80), path)

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        usual = 443 if self.is_encrypted else 80
        port = "" if self.port == usual else f":{self.port}"
        return f"http{'s' if self.is_encrypted else ''}://{host}{port}{self.path}"

    def connect(self, seconds: float) -> HTTPConnection:
        """A connection that is not open yet; no proxy takes part, whatever the environment says."""
        kind = HTTPSConnection if self.is_encrypted else HTTPConnection
        return kind(self.host, self.port, timeout=seconds)

    def probe(self) -> None:
        """Raise unless somebody listens there; sends nothing."""
        try:
            socket.create_connection((self.host, self.port), _PROBE_SECONDS).close()
        except OSError as error:
            raise NamerError(f"{self}: nobody answers there ({why_not(error)})") from None


def why_not(error: Exception) -> str:
    """The reason of a failed connection in a few words."""
    if isinstance(error, TimeoutError):
        return "timed out"
    return str(getattr(error, "strerror", None) or error) or type(error).__name__


@dataclass(frozen=True)
class Answer:
    """What a server has sent: the status, what kind of thing it is, where to, when, and what."""

    status: int
    kind: str
    location: str
    retry_after: str
    body: bytes


class Exchanges:
    """Questions that are on their way, each for a limited time; all can be cut off at once."""

    def __init__(self, endpoint: Endpoint, seconds: float) -> None:
        self.endpoint = endpoint
        self.seconds = seconds
        self._lock = Lock()
        self._open: set[socket.socket] = set()
        self._is_over = False

    def post(self, body: bytes, key: str) -> Answer:
        """Send JSON and read the answer, at most a megabyte of it.

        Raises
        ------
        TimeoutError
            If the whole answer is not there in time.
        OSError, HTTPException
            If the connection fails, or ends in the middle of the answer.
        """
        connection = self.endpoint.connect(self.seconds)
        is_late = False

        def end() -> None:
            nonlocal is_late
            is_late = True
            _cut(sock)

        try:
            connection.connect()
            sock: socket.socket = connection.sock
            with self._lock:
                self._open.add(sock)
                if self._is_over:  # cut off while it was connecting
                    _cut(sock)
            timer = Timer(self.seconds, end)
            timer.daemon = True
            timer.start()
            try:
                answer = self._exchange(connection, body, key)
            except (OSError, HTTPException) as error:
                raise (TimeoutError("timed out") if is_late else error) from None
            else:
                if is_late:  # an answer of unknown length looks whole where it was cut
                    raise TimeoutError("timed out")
                return answer
            finally:
                timer.cancel()
                with self._lock:
                    self._open.discard(sock)
        finally:
            connection.close()

    def cut_off(self) -> None:
        """End all that are on their way, and those to come."""
        with self._lock:
            self._is_over = True
            for sock in self._open:
                _cut(sock)

    def _exchange(self, connection: HTTPConnection, body: bytes, key: str) -> Answer:
        headers = {
            "Content-Type": "application/json",
            "Accept": "application/json",
            "Connection": "close",
            "User-Agent": f"nestmap/{__version__}",
        }
        if key:
            headers["Authorization"] = f"Bearer {key}"
        connection.request("POST", self.endpoint.path, body, headers)
        response = connection.getresponse()
        found = response.read(MAX_ANSWER_BYTES + 1)
        if len(found) <= MAX_ANSWER_BYTES and response.length:
            raise ConnectionError("the connection ended in the middle of the answer")
        return Answer(
            response.status,
            _header(response, "Content-Type"),
            _header(response, "Location"),
            _header(response, "Retry-After"),
            found,
        )


def _header(response: HTTPResponse, name: str) -> str:
    return response.getheader(name) or ""


def _cut(sock: socket.socket) -> None:
    """End a connection that another thread may be writing to.

    Not by the method of an encrypted socket, which takes the encryption away before it shuts down:
    what is written in between would go out in the open.
    """
    with suppress(OSError):  # it has ended by itself
        socket.socket.shutdown(sock, socket.SHUT_RDWR)
