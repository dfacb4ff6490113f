"""A server that speaks OpenAI's chat protocol, for tests: right, slow, wrong or rude."""

from __future__ import annotations

import json
import socket
import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Lock, Thread
from typing import Any

from conftest import LIMIT


class ChatServer(ThreadingHTTPServer):
    """Remembers what it was asked; `behave` answers, or does worse."""

    daemon_threads = True

    def __init__(self, behave: Callable[[Exchange, int], None]) -> None:
        super().__init__(("127.0.0.1", 0), Exchange)
        self.behave = behave
        self.asked: list[dict[str, Any]] = []
        self.keys: list[str | None] = []
        self.paths: list[str] = []
        self.let_go = Event()  # of those who wait on purpose
        self.lock = Lock()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    @property
    def prompts(self) -> list[str]:
        """What users' messages said."""
        return [each["messages"][-1]["content"] for each in self.asked]

    def handle_error(self, *_: Any) -> None:
        """Clients that are gone are part of the tests."""


class Exchange(BaseHTTPRequestHandler):
    """One request."""

    server: ChatServer
    timeout = LIMIT

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        with self.server.lock:
            self.server.asked.append(json.loads(body))
            self.server.keys.append(self.headers["Authorization"])
            self.server.paths.append(self.path)
            n = len(self.server.asked)
        self.prompt: str = json.loads(body)["messages"][-1]["content"]
        self.server.behave(self, n)

    def do_GET(self) -> None:  # what a redirected POST would become
        self.do_POST()

    def say(self, text: Any) -> None:
        """The answer of the protocol."""
        self.send(json.dumps({"choices": [{"message": {"content": text}}]}).encode())

    def send(
        self, body: bytes, status: int = 200, kind: str = "application/json", **headers: str
    ) -> None:
        """Any answer."""
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def reset(self) -> None:
        """End the connection the rude way."""
        linger = struct.pack("ii", 1, 0)
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        self.connection.close()

    def log_message(self, *_: Any) -> None:
        pass


def name_of(prompt: str) -> str:
    """The name that a good server gives: the same for the same question, another for another."""
    return f"name {hash_of(prompt)}"


def hash_of(text: str) -> int:
    return sum((i + 1) * ord(c) for i, c in enumerate(text)) % 1_000_003


def well(exchange: Exchange, n: int) -> None:
    exchange.say(name_of(exchange.prompt))


@contextmanager
def chat_server(behave: Callable[[Exchange, int], None] = well) -> Iterator[ChatServer]:
    """A server in a thread of its own, on a free port of this machine."""
    with ChatServer(behave) as server:
        thread = Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.let_go.set()
            server.shutdown()
            thread.join(LIMIT)
