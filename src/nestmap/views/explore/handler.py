"""One connection to the explorer's server: what may be asked for, and how it is answered."""

from __future__ import annotations

import gzip
import hashlib
import hmac
import json
import re
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from itertools import chain
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, unquote, urlsplit

from ..._version import __version__
from ...errors import ModelFileError
from .asked import QuestionError, Refused, chosen_encoding, host_name, origin_host
from .changes import CHANGES, MOST_ASKED_BYTES, SELECTIONS, make_change
from .export_rows import export_rows
from .kept_rows import list_selections, show_selection
from .map_store import MAX_HITS_SHOWN, unpack
from .query.answers import answer
from .query.errors import RowsError
from .questions import answer_address
from .visits import Visit

if TYPE_CHECKING:
    from .server import Server, Shown

_ABOUT_ROWS = "api/rows/"
_EXPORT = "api/export"
_REBUILT = (
    "the run was built again since this page was opened, or is just being built: reload the page"
)
# an address that only says that the server answers: for notebooks, which have another origin
ALIVE = "alive"
_FOR_PROGRAMS = "api/v1/"
_LOCAL = ("localhost", "127.0.0.1", "::1")
_TYPES = {
    "csv": "text/csv; charset=utf-8",
    "html": "text/html; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "json": "application/json",
    "png": "image/png",
    "svg": "image/svg+xml",
    "bin": "application/octet-stream",
    "woff2": "font/woff2",
    "txt": "text/plain; charset=utf-8",
}


class Handler(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    server_version = f"nestmap/{__version__}"
    sys_version = ""
    default_request_version = (
        "HTTP/1.1"  # of answers to what is no request: with a status and all headers
    )
    timeout = 60  # seconds of one read or write; all of them together: `visit`
    # head and body leave together, at once
    wbufsize = 1 << 16
    disable_nagle_algorithm = True
    server: Server
    shown: Shown  # to this request
    visit: Visit

    def setup(self) -> None:
        super().setup()
        self.shown, self.visit = self.server.shown, self.server.visits.of(self.request)

    def handle(self) -> None:
        """Request after request, each with its time."""
        self.close_connection = True
        self.handle_one_request()
        while not self.close_connection:
            self.visit.listen(self.server.idle_seconds)
            self.handle_one_request()

    def do_GET(self) -> None:
        self._answer(self._get)

    do_HEAD = do_GET

    def do_POST(self) -> None:
        self._answer(self._post)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """For what the standard library refuses: as our own refusals, with their headers."""
        self.close_connection = True
        self._send(
            HTTPStatus(code), (message or HTTPStatus(code).phrase).encode("utf-8", "replace"), "txt"
        )

    def _refuse_method(self) -> None:
        self.close_connection = True  # there may be a body, which nobody reads
        self._send(
            HTTPStatus.METHOD_NOT_ALLOWED,
            b"only GET, HEAD and POST",
            "txt",
            {"Allow": "GET, HEAD, POST"},
        )

    do_PUT = do_DELETE = do_PATCH = do_OPTIONS = do_TRACE = do_CONNECT = _refuse_method

    def _answer(self, work: Any) -> None:
        self.visit.work()
        if self.command != "POST" and (
            "Transfer-Encoding" in self.headers or "Content-Length" in self.headers
        ):
            self.close_connection = (
                True  # a body that nobody reads must not be taken for the next request
            )
        try:
            self._check_host()
            path, query = self._route()
            self._check_site(path)
            self.shown = self.server.show()
            self._check_version(query)
            work(path, query)
        except Refused as error:
            self._send_error(error.status, str(error))
        except (ConnectionError, TimeoutError):
            raise  # there is nobody to be answered
        except (ModelFileError, OSError) as error:
            if self.shown.store.is_current:
                self._send_error(HTTPStatus.INTERNAL_SERVER_ERROR, str(error))
            else:  # files of the old store are gone
                self._send_error(HTTPStatus.CONFLICT, _REBUILT)

    # -- what is asked for
    # -----------------------------------------------------------------------------------

    def _check_host(self) -> None:
        """Another name that leads here is someone's attempt to read this server from their page."""
        hosts = self.headers.get_all("Host") or []
        if len(hosts) != 1:
            raise Refused(HTTPStatus.BAD_REQUEST, "one Host header is needed")
        if self.server.local and host_name(hosts[0]) not in _LOCAL:
            raise Refused(HTTPStatus.FORBIDDEN, "this server answers to localhost only")

    def _check_site(self, path: str) -> None:
        """Pages of others, which cannot read answers, may not keep this machine busy either."""
        site = self.headers.get("Sec-Fetch-Site", "none")  # programs do not say it
        if path.startswith("api/") and site not in ("same-origin", "none"):
            raise Refused(HTTPStatus.FORBIDDEN, "this is for programs and the explorer's own page")

    def _route(self) -> tuple[str, dict[str, list[str]]]:
        """The path below the token, and the query."""
        try:
            parts = urlsplit(self.path[:4001])
        except ValueError:
            raise Refused(HTTPStatus.BAD_REQUEST, "this is no address") from None
        path = unquote(parts.path)
        if not path.startswith("/") or len(self.path) > 4000:
            raise Refused(HTTPStatus.BAD_REQUEST, "no path")
        if self.server.token is not None:
            given, _, path = path[1:].partition("/")
            if not hmac.compare_digest(
                given.encode("utf-8", "replace"), self.server.token.encode()
            ):
                raise Refused(
                    HTTPStatus.FORBIDDEN,
                    "the address needs the token that nestmap explore has printed",
                )
            path = f"/{path}"
        try:
            return path[1:], parse_qs(parts.query, max_num_fields=10)
        except ValueError:
            raise Refused(HTTPStatus.BAD_REQUEST, "too many fields in the query") from None

    def _check_version(self, query: dict[str, list[str]]) -> None:
        """A page of another version must not mix ours into what it has."""
        if query.get("v", [self.shown.store.id])[0] != self.shown.store.id:
            raise Refused(HTTPStatus.CONFLICT, _REBUILT)

    def _get(self, path: str, query: dict[str, list[str]]) -> None:
        store = self.shown.store
        if path in ("", "index.html"):
            self._send_cached(self.shown.index, "html")
        elif path.startswith("data/"):
            self._send_data(path[5:], "v" in query)
        elif path == "api/search":
            most = query.get("most", ["100"])[0]
            if not re.fullmatch(r"[0-9]{1,6}", most):
                raise Refused(HTTPStatus.BAD_REQUEST, "most: a whole number")
            found = store.search(query.get("q", [""])[0], min(MAX_HITS_SHOWN, int(most)))
            self._check_current()
            self._send(
                HTTPStatus.OK, json.dumps(found).encode(), "json", {"Cache-Control": "no-store"}
            )
        elif path.startswith(_FOR_PROGRAMS):
            self._answer_program(path.removeprefix(_FOR_PROGRAMS), query)
        elif path == SELECTIONS:
            self._send_selections(query.get("name", []))
        elif path == ALIVE:
            shared = {"Cache-Control": "no-store", "Cross-Origin-Resource-Policy": "cross-origin"}
            self._send(HTTPStatus.OK, b"", "txt", shared)
        elif (file := self.server.page.read(path)) is not None:
            self._send_cached(file, path.rpartition(".")[2])
        else:
            raise Refused(HTTPStatus.NOT_FOUND, "there is nothing here")

    def _answer_program(self, path: str, query: dict[str, list[str]]) -> None:
        """Read-only, as JSON; also what is wrong with a question."""
        try:
            told = answer_address(self.shown.queries, path, query)
        except QuestionError as error:
            told = json.dumps({"error": str(error)}).encode()
            self._send(HTTPStatus.BAD_REQUEST, told, "json")
            return
        self._check_current()
        if told is None:
            raise Refused(HTTPStatus.NOT_FOUND, "there is no such question; api/v1/ lists them")
        self._send(HTTPStatus.OK, told, "json")

    def _send_selections(self, names: list[str]) -> None:
        """Which selections are kept, or one of them."""
        saved = self.shown.store.selections
        try:
            told = (
                show_selection(saved, self.shown.queries, names[0])
                if names
                else list_selections(saved)
            )
        except ValueError as error:
            raise Refused(HTTPStatus.NOT_FOUND, str(error)) from error
        self._send(HTTPStatus.OK, json.dumps(told).encode(), "json", {"Cache-Control": "no-store"})

    def _post(self, path: str, query: dict[str, list[str]]) -> None:
        if path in CHANGES:
            self._change(path)
        elif path == _EXPORT:
            self._send_export(self._posted(MOST_ASKED_BYTES))
        elif path.startswith(_ABOUT_ROWS):
            self._answer_rows(path.removeprefix(_ABOUT_ROWS))
        else:
            raise Refused(HTTPStatus.NOT_FOUND, "there is nothing here")

    def _change(self, path: str) -> None:
        found = make_change(self.shown, path, self._posted(CHANGES[path]))
        self._send(HTTPStatus.OK, json.dumps(found).encode(), "json", {"Cache-Control": "no-store"})

    def _answer_rows(self, name: str) -> None:
        """Read-only, but posted: a set of rows may be as long as a lasso around many."""
        asked = self._posted(MOST_ASKED_BYTES)
        try:
            found = answer(self.shown.queries, name, asked)
        except RowsError as error:
            raise Refused(HTTPStatus.BAD_REQUEST, str(error)) from error
        if found is None:
            raise Refused(HTTPStatus.NOT_FOUND, "there is no such question about rows")
        self._check_current()
        self._send(HTTPStatus.OK, found.body, found.kind, {"Cache-Control": "no-store"})

    def _send_export(self, asked: Any) -> None:
        """Rows as a file of any size, in blocks: as soon as there is one."""
        try:
            export = export_rows(self.shown.queries, asked)
        except ModelFileError:
            raise
        except ValueError as error:
            raise Refused(HTTPStatus.BAD_REQUEST, str(error)) from error
        blocks = chain([next(export.blocks, b"")], export.blocks)
        self._check_current()
        self._send_head(
            HTTPStatus.OK,
            export.suffix,
            {"Transfer-Encoding": "chunked", "Cache-Control": "no-store"},
        )
        try:
            for block in filter(None, blocks):
                self._check_current()
                self.visit.send(self.server.answer_seconds + len(block) / self.server.slowest)
                self.wfile.write(b"%x\r\n%b\r\n" % (len(block), block))
                self.visit.work()  # the next block may take long where few of many rows are wanted
            self.wfile.write(b"0\r\n\r\n")
        except (ModelFileError, OSError, Refused):
            self.close_connection = True  # without its end, the file is cut off for who reads it

    def _posted(self, most: int) -> Any:
        """JSON that the explorer's own page has posted."""
        try:
            origin = origin_host(self.headers.get("Origin", ""))
        except ValueError as error:
            raise Refused(HTTPStatus.BAD_REQUEST, str(error)) from None
        if (
            origin != self.headers["Host"]
            or self.headers.get("Sec-Fetch-Site", "same-origin") != "same-origin"
        ):
            raise Refused(HTTPStatus.FORBIDDEN, "this is taken from the explorer's own page only")
        if self.headers.get_content_type() != "application/json":
            raise Refused(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "this is taken as application/json")
        body = self._body(most)
        try:
            return json.loads(body)
        except (ValueError, RecursionError) as error:
            raise Refused(HTTPStatus.BAD_REQUEST, str(error)) from error

    def _body(self, most: int) -> bytes:
        """What was posted, all of it."""
        lengths = self.headers.get_all("Content-Length") or [""]
        if (
            len(lengths) > 1
            or not re.fullmatch(r"[0-9]{1,9}", lengths[0])
            or "Transfer-Encoding" in self.headers
        ):
            raise Refused(HTTPStatus.LENGTH_REQUIRED, "one Content-Length is needed")
        length = int(lengths[0])
        if length > most:
            raise Refused(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"at most {most} bytes")
        self.wfile.flush()  # it may be waited for: "100 Continue"
        self.visit.listen(self.server.request_seconds)
        body = self.rfile.read(length)
        self.visit.work()
        if len(body) < length:
            raise Refused(HTTPStatus.BAD_REQUEST, f"{len(body)} of {length} bytes came")
        return body

    def _check_current(self) -> None:
        """What was read until now is of one version."""
        if not self.shown.store.is_current:
            raise Refused(HTTPStatus.CONFLICT, _REBUILT)

    # -- answers
    # ---------------------------------------------------------------------------------------------

    def _send_data(self, name: str, is_versioned: bool) -> None:
        store = self.shown.store
        packed = store.packed(name)
        if packed is None and (made := self.shown.queries.colors(name)) is not None:
            packed = gzip.compress(made, 1, mtime=0)
        self._check_current()
        if packed is None:
            raise Refused(HTTPStatus.NOT_FOUND, "there is no such file in the store")
        lasting = is_versioned and not store.is_changing(name)
        cache = "private, max-age=31536000, immutable" if lasting else "private, no-cache"
        extra = {"Cache-Control": cache, "Vary": "Accept-Encoding"}
        encoding = chosen_encoding(self.headers.get_all("Accept-Encoding") or [])
        if encoding is None:
            raise Refused(
                HTTPStatus.NOT_ACCEPTABLE,
                "data is sent as gzip or as it is: Accept-Encoding refuses both",
            )
        if encoding == "gzip":
            extra["Content-Encoding"] = "gzip"
        else:
            packed = unpack(packed, store.folder / f"{name}.gz")
        self._send_cached(packed, name.rpartition(".")[2], extra)

    def _send_cached(self, body: bytes, kind: str, extra: dict[str, str] | None = None) -> None:
        """With an ETag; only that, if the browser has the body already."""
        tag = f'"{hashlib.sha256(body).hexdigest()[:24]}"'
        headers = {"Cache-Control": "private, no-cache", **(extra or {}), "ETag": tag}
        known = [
            each.strip().removeprefix("W/")
            for each in self.headers.get("If-None-Match", "").split(",")
        ]
        if tag in known or "*" in known:
            self._send(HTTPStatus.NOT_MODIFIED, b"", kind, headers)
        else:
            self._send(HTTPStatus.OK, body, kind, headers)

    def _send_error(self, status: HTTPStatus, text: str) -> None:
        if self.command == "POST":
            self.close_connection = True  # its body may be unread
        self._send(status, text.encode("utf-8", "replace"), "txt")

    def _send(
        self, status: HTTPStatus, body: bytes, kind: str, extra: dict[str, str] | None = None
    ) -> None:
        self.visit.send(self.server.answer_seconds + len(body) / self.server.slowest)
        length = {} if status == HTTPStatus.NOT_MODIFIED else {"Content-Length": str(len(body))}
        self._send_head(status, kind, {**(extra or {"Cache-Control": "no-store"}), **length})
        if self.command != "HEAD":
            self.wfile.write(body)

    def _send_head(self, status: HTTPStatus, kind: str, extra: dict[str, str]) -> None:
        self.send_response(status)
        self.send_header("Content-Type", _TYPES.get(kind, "application/octet-stream"))
        self.send_header("Content-Security-Policy", self.shown.policy)
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Referrer-Policy", "no-referrer")  # the address holds the token
        given = {
            "Cross-Origin-Resource-Policy": "same-origin",
            **extra,
        }
        if self.close_connection:
            given["Connection"] = "close"
        for name, value in given.items():
            self.send_header(name, value)
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        """Silent: the address, which requests repeat, holds the token."""
