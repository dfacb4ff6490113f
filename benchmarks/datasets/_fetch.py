"""The cache, and downloads into it: mirrors in order, checked, renamed only when complete."""

from __future__ import annotations

import hashlib
import os
from http.client import HTTPException
from pathlib import Path
from time import perf_counter
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

from nestmap.core.progress import Progress
from nestmap.core.work.replacing import temporary

from ._sources import File

_EVERY = 2.0  # seconds between two lines of progress
_TIMEOUT = 30  # seconds without a byte
_CHUNK = 1 << 18


class DownloadError(OSError):
    """A file could not be had from any of its mirrors; the text has a line per mirror."""


def cache_directory(cache: str | os.PathLike[str] | None) -> Path:
    """Where downloads and parsed copies are kept; not made before something is written."""
    if cache is None:
        home = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
        cache = os.environ.get("NESTMAP_CACHE") or os.path.join(home, "nestmap")
    return Path(cache).expanduser()


def fetch(file: File, directory: Path, progress: Progress) -> Path:
    """The file in `directory`, from the first mirror that has it whole."""
    path = directory / file.name
    if path.exists():
        return path
    failures = []
    for url in file.urls:
        try:
            with temporary(path) as part:
                _transfer(url, part, file, progress)
            return path
        except (URLError, HTTPException, TimeoutError, ConnectionError, DownloadError) as error:
            failures.append(f"{url}: {_reason(error)}")
            progress.note(failures[-1])
    raise DownloadError("\n".join(failures))


def _transfer(url: str, part: Path, file: File, progress: Progress) -> None:
    kind, _, expected = (file.checksum or "md5:").partition(":")
    digest = hashlib.new(kind, usedforsecurity=False)
    request = Request(url, headers={"User-Agent": "nestmap (Python urllib)"})
    with urlopen(request, timeout=_TIMEOUT) as response, part.open("wb") as out:
        total = response.headers.get("Content-Length")
        meter = _Meter(file.name, int(total) if total else None, progress)
        while chunk := response.read(_CHUNK):
            digest.update(chunk)
            out.write(chunk)
            meter.add(len(chunk))
    if meter.total is not None and meter.done != meter.total:
        raise DownloadError(f"truncated: {meter.done:,} of {meter.total:,} bytes came")
    if expected and digest.hexdigest() != expected:
        raise DownloadError(
            f"{kind} checksum is {digest.hexdigest()}, should be {expected}; removed"
        )


class _Meter:
    """Counts bytes; says how far it is every two seconds."""

    def __init__(self, name: str, total: int | None, progress: Progress) -> None:
        self.name = name
        self.total = total
        self.progress = progress
        self.done = 0
        self.said = perf_counter()
        size = f" ({total / 1e6:.1f} MB)" if total else ""
        progress.note(f"downloading {name}{size} …")

    def add(self, count: int) -> None:
        self.done += count
        if perf_counter() - self.said >= _EVERY:
            self.said = perf_counter()
            share = f"{100 * self.done / self.total:.0f}% " if self.total else ""
            self.progress.note(f"downloading {self.name} … {share}({self.done / 1e6:.1f} MB)")


def _reason(error: Any) -> str:
    """Why a download failed, in words."""
    if isinstance(error, HTTPError):
        error.close()
        return f"the server answers {error.code} {error.reason}"
    if isinstance(error, URLError):
        return f"no connection ({error.reason}); no network here, or the host is down"
    if isinstance(error, TimeoutError):
        return f"nothing came for {_TIMEOUT} s"
    return str(error) or type(error).__name__
