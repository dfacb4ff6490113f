"""The server's handler without a socket: for pages that ask by way of a notebook's kernel."""

from __future__ import annotations

import re
from dataclasses import dataclass
from http.client import HTTPResponse
from io import BytesIO
from typing import Any

from .handler import Handler
from .server import Server

_MOST_BYTES = 10_000_000  # bytes of a body
_SECONDS = 3600.0  # nobody waits for a request that is here already


@dataclass(frozen=True)
class Answer:
    """What a page is answered: status, headers with lower-case names, body."""

    status: int
    headers: dict[str, str]
    body: bytes


class _Kept(BytesIO):
    """Bytes that are still there when their writer closes them."""

    def close(self) -> None:
        pass


class _Memory:
    """What the handler takes for a connection."""

    def __init__(self, request: bytes) -> None:
        self._request = request
        self.answer = _Kept()

    def makefile(self, mode: str, buffering: int | None = None) -> BytesIO:
        return BytesIO(self._request) if "r" in mode else self.answer

    def settimeout(self, seconds: float | None) -> None:
        """There is nothing to wait for."""

    def setsockopt(self, *_: Any) -> None:
        """There is nothing to set."""

    def shutdown(self, how: int) -> None:
        """There is nobody to shut out."""


class _Answered:
    """What the standard library reads an answer from."""

    def __init__(self, told: bytes) -> None:
        self._told = told

    def makefile(self, mode: str) -> BytesIO:
        return BytesIO(self._told)


def respond(server: Server, method: str, path: str, kind: str = "", body: bytes = b"") -> Answer:
    """Answer a request as the server would, which need not be listening.

    Raises ValueError for what is no request: a page is trusted no more here than at a socket.
    """
    if method not in ("GET", "POST") or not re.fullmatch(r"[\x21-\x7e]{0,3900}", path):
        raise ValueError(f"no request: {method[:20]!r} {path[:100]!r}")
    if not re.fullmatch(r"[\x20-\x7e]{0,200}", kind) or len(body) > _MOST_BYTES:
        raise ValueError(f"no request: type {kind[:50]!r}, {len(body)} bytes")
    token = f"{server.token}/" if server.token else ""
    head = [
        f"{method} /{token}{path} HTTP/1.1",
        "Host: localhost",
        "Accept-Encoding: gzip",
        "Connection: close",
    ]
    if method == "POST":
        head += [
            "Origin: http://localhost",
            f"Content-Type: {kind}",
            f"Content-Length: {len(body)}",
        ]
    memory: Any = _Memory("\r\n".join([*head, "", ""]).encode("ascii") + body)
    if not server.visits.admit(memory, _SECONDS):
        return Answer(503, {}, b"too many questions at once")
    try:
        Handler(memory, ("notebook", 0), server)
    finally:
        server.visits.leave(memory)
    answer: Any = HTTPResponse(_Answered(memory.answer.getvalue()))  # type: ignore[arg-type]
    answer.begin()
    headers = {name.lower(): value for name, value in answer.getheaders()}
    return Answer(answer.status, headers, answer.read())
