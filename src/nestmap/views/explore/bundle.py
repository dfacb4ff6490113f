"""The page as built from explorer/: a few files beside this one; the static folder made of it."""

from __future__ import annotations

import gzip
import json
import shutil
from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

from ...core.arrays import blocks
from ...core.progress import Progress
from ...core.work.replacing import replaced
from ...errors import ModelFileError
from .cover import PICTURE, Cover
from .map_store import MapStore
from .sink import check_replaced
from .tour import FILE as TOUR

CONFIG = b'<script>window.NESTMAP = {"transport": "server", "token": null}</script>'
_FOR_NOTEBOOKS = "widget.js"  # no part of the page: what lies around it in a notebook
_KINDS = (".html", ".js", ".css", ".svg", ".png", ".woff2", ".txt", ".json")
_README = (
    "This folder is a map, made by nestmap. "
    "Open index.html in a browser, or put the folder on any web server.\n"
)


@dataclass(frozen=True)
class Page:
    """The built page."""

    folder: Path
    files: frozenset[str]  # beside index.html

    @classmethod
    def find(cls) -> Page:
        """The page of this installation."""
        folder = Path(__file__).parent / "page"
        names = {path.name for path in folder.glob("*") if path.is_file() and path.suffix in _KINDS}
        if "index.html" not in names:
            raise ModelFileError(
                f"{folder} has no index.html: build the page with `make page`, or install a wheel"
            )
        return cls(folder, frozenset(names - {"index.html", _FOR_NOTEBOOKS}))

    def read(self, name: str) -> bytes | None:
        """A file of the page; None for anything else."""
        return (self.folder / name).read_bytes() if name in self.files else None

    def index(
        self,
        transport: str,
        store_id: str,
        first: Sequence[str] = (),
        tags: str = "",
        around: str | None = None,
    ) -> bytes:
        """index.html for one of the two ways data comes; asks for first files beside its script.

        `tags`: elements for its head, in front of the script. `around`: what it is a frame of.
        """
        text = (self.folder / "index.html").read_bytes()
        if text.count(CONFIG) != 1:
            raise ModelFileError(
                f"{self.folder / 'index.html'} does not say where its data comes from: {CONFIG!r}"
            )
        given = {"transport": transport, "token": None, "store": store_id}
        config = json.dumps(given if around is None else given | {"around": around})
        links = "".join(
            f'\n<link rel="preload" as="fetch" crossorigin href="data/{name}?v={store_id}">'
            for name in first
        )
        return text.replace(
            CONFIG, f"{tags}<script>window.NESTMAP = {config}</script>{links}".encode()
        )


def write_site(
    target: Path, store: MapStore, progress: Progress | None = None, cover: Cover | None = None
) -> Path:
    """A static folder of page and data: for any web server, or to be opened from disk.

    Data files are scripts that hold base64 of the packed bytes: pages from disk may load scripts,
    but no data.
    """
    page = Page.find()
    progress = progress or Progress(0)
    cover = cover or Cover()
    check_site(target)
    progress.begin(f"writing {target}")
    with replaced(target) as part:
        for name in page.files:
            shutil.copyfile(page.folder / name, part / name)
        tags = cover.tags(str(store.meta["title"]))
        index = page.index("static", store.id, tags=f"{tags}\n").decode()
        title = f"<title>{escape(cover.title or str(store.meta['title']))}</title>"
        (part / "index.html").write_text(index.replace("<title>nestmap</title>", title), "utf-8")
        if cover.picture is not None:
            (part / PICTURE).write_bytes(cover.picture)
        (part / "README.txt").write_text(_README)
        names = sorted(
            [TOUR]
            + [
                path.relative_to(store.folder).as_posix()[:-3]
                for path in store.folder.rglob("*.gz")
            ]
        )
        for some in blocks(len(names), 1, values=100):
            progress.share(some.start / len(names))
            for name in names[some]:
                _write_script(
                    part / "data" / f"{name}.js", name, _packed(store, name, cover), store.id
                )
        if not store.is_current:
            raise ModelFileError(
                f"{store.folder} was built again meanwhile: {target} would be of both; export again"
            )
    progress.done()
    return target


def _packed(store: MapStore, name: str, cover: Cover) -> bytes:
    if name == "meta.json":
        own = {
            "can_save": False,
            "title": cover.title or store.meta["title"],
            "description": cover.description,
        }
        return gzip.compress(json.dumps({**store.meta, **own}).encode(), 6, mtime=0)
    packed = store.packed(name)
    if packed is None:
        raise ModelFileError(f"{store.folder}: {name} is no file of a store")
    return packed


def _write_script(path: Path, name: str, packed: bytes, store_id: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        f'nestmapData("{name}","{b64encode(packed).decode()}","{store_id}")\n', encoding="ascii"
    )


def check_site(target: Path, force: bool = True) -> None:
    """Raise early where a static folder cannot be written: only one of ours is replaced."""
    check_replaced(target, "data/meta.json.js", "no explorer page of nestmap")
    if not force and (target / "data").exists():
        raise FileExistsError(f"{target} exists already; --force replaces it")
