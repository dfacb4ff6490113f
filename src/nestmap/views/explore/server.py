"""The explorer's server: the standard library's, for this machine; other hosts need the token."""

from __future__ import annotations

import hashlib
import re
import secrets
import sys
import threading
from base64 import b64encode
from dataclasses import dataclass
from functools import cached_property
from http.server import ThreadingHTTPServer
from typing import Any

from .asked import is_loopback
from .bundle import Page
from .handler import Handler
from .map_store import MapStore
from .query.queries import RowQueries
from .visits import Visits

_NOTEBOOKS = "'self' http://localhost:* http://127.0.0.1:* https://localhost:* vscode-webview:"


@dataclass(frozen=True, eq=False)
class Shown:
    """A store and the page for it, of one version even if the folder is replaced."""

    store: MapStore
    index: bytes
    policy: str

    @cached_property
    def queries(self) -> RowQueries:
        """Answers to questions about sets of its rows."""
        return RowQueries(self.store)

    @classmethod
    def of(cls, store: MapStore, page: Page, framed_by: str) -> Shown:
        index = page.index("server", store.id, store.first_files())
        return cls(store, index, _policy(index, framed_by))


class Server(ThreadingHTTPServer):
    """Serves one store, in threads; `start` in the background, or `serve_forever`.

    A store that is built again meanwhile is served from then on; pages of the old one are told to
    reload.

    Parameters
    ----------
    store : MapStore
    host : str
        With any but loopback there is a token in the address.
    token : bool
        On loopback, too: for machines with several users.
    port : int
        0: one that is free.
    in_notebooks : bool
        Whether pages of notebooks on this machine may frame it.
    listens : bool
        Whether it has a port from the beginning; else from `start`.
    """

    daemon_threads = True
    request_queue_size = 64
    most_connections = 128  # at once; a browser takes six
    request_seconds = 10.0  # for a request, from the connection, and again for its body
    idle_seconds = 20.0  # between an answer and the next request
    # for an answer, and beside that a second for each so many bytes
    answer_seconds = 30.0
    slowest = 10_000.0

    def __init__(
        self,
        store: MapStore,
        host: str = "127.0.0.1",
        port: int = 0,
        *,
        token: bool = False,
        in_notebooks: bool = False,
        listens: bool = True,
    ) -> None:
        self.page = Page.find()
        self._framed_by = _NOTEBOOKS if in_notebooks else "'none'"
        self.local = is_loopback(host)
        self.token = secrets.token_urlsafe(24) if token or not self.local else None
        self.shown = Shown.of(store, self.page, self._framed_by)
        self._showing = threading.Lock()
        self.visits = Visits(self.most_connections)
        if ":" in host:
            import socket

            self.address_family = socket.AF_INET6
        super().__init__((host.strip("[]"), port), Handler, bind_and_activate=False)
        self.listens = False
        self._thread: threading.Thread | None = None
        if listens:
            self._listen()

    def _listen(self) -> None:
        try:
            self.server_bind()
            self.server_activate()
        except BaseException:
            self.server_close()
            raise
        self.listens = True

    def process_request(self, request: Any, client_address: Any) -> None:
        """A thread for each connection, up to a number of them."""
        if not self.visits.admit(request, self.request_seconds):
            self.shutdown_request(request)
            return
        try:
            super().process_request(request, client_address)
        except RuntimeError:  # the system gives no more threads
            self.visits.leave(request)
            self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self.visits.leave(request)

    def service_actions(self) -> None:
        """A few times a second, and after each new connection."""
        self.visits.end_late()

    def server_close(self) -> None:
        super().server_close()
        self.visits.end_all()

    @property
    def store(self) -> MapStore:
        """What is served."""
        return self.shown.store

    def show(self) -> Shown:
        """What is served now: the store that is in the folder, read again if it was built again."""
        with self._showing:
            if not self.store.is_current:
                self.shown = Shown.of(
                    self.store.again(),
                    self.page,
                    self._framed_by,
                )
            return self.shown

    @property
    def url(self) -> str:
        """The address, with the token if there is one."""
        host = str(self.server_address[0])
        port = int(self.server_address[1])
        shown = f"[{host}]" if ":" in host else host
        return f"http://{shown}:{port}/" + (f"{self.token}/" if self.token else "")

    def start(self) -> None:
        """Serve in a background thread; a second time nothing happens."""
        if self._thread is not None:
            return
        if not self.listens:
            self._listen()
        self._thread = threading.Thread(
            target=self.serve_forever, args=(0.1,), daemon=True, name="nestmap-explorer"
        )
        self._thread.start()

    def stop(self) -> None:
        """Stop and free the port; may be called twice."""
        if self._thread is not None:
            self.shutdown()
            self._thread.join()
            self._thread = None
        self.server_close()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A tab closed in mid-answer is no fault; files that cannot be read were answered."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)


def _policy(index: bytes, framed_by: str) -> str:
    """Scripts, pictures and data from here only; the one script inside the page by its hash."""
    inline = re.findall(rb"<script>(.*?)</script>", index, re.DOTALL)
    hashes = " ".join(
        f"'sha256-{b64encode(hashlib.sha256(text).digest()).decode()}'" for text in inline
    )
    return (
        f"default-src 'none'; script-src 'self' {hashes}; style-src 'self'; "
        "img-src 'self' blob: data:; connect-src 'self'; worker-src 'self' blob:; "
        f"font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors {framed_by}"
    )
