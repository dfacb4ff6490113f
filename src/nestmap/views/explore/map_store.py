"""A store as it is read: files by name, names of clusters with those that readers gave, search."""

from __future__ import annotations

import gzip
import json
import re
import stat
import threading
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from ...core.arrays import Array
from ...errors import ModelFileError
from .asked import QuestionError
from .names import SavedNames, tidy
from .selections import SavedSelections
from .sink import to_json
from .store_format import CHUNK, FORMAT, PANELS_PER_FILE, VERSION, WIDE_CHUNK, store_id
from .tour import FILE as TOUR
from .tour import SavedTour, check_tour

_NAME = re.compile(r"[A-Za-z0-9_]+(?:/[A-Za-z0-9_]+)*\.(?:json|bin|png)")
_MAX_UNPACKED_BYTES = 200_000_000  # bytes that a file of a store may unpack to
_MAX_HITS_COUNTED = 100_000
_MAX_NODES_OF_FIRST_PICTURE = 8192  # nodes, as FIRST_PICTURE of the page
MAX_HITS_SHOWN = 1000


def unpack(packed: bytes, path: Path) -> bytes:
    """The content of a gzip file of a store; raises for one that is damaged."""
    unpacking = zlib.decompressobj(wbits=31)
    try:
        data = unpacking.decompress(packed, _MAX_UNPACKED_BYTES)
    except zlib.error as error:
        raise ModelFileError(
            f"{path} is damaged ({error}): delete the store to build it anew"
        ) from error
    if not unpacking.eof:
        raise ModelFileError(f"{path} is cut off or too large: delete the store to build it anew")
    return data


@contextmanager
def sound(folder: Path, what: str) -> Iterator[None]:
    """What a damaged file leads to, such as a list that is too short, says which file it is."""
    try:
        yield
    except (ModelFileError, QuestionError):
        raise
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise ModelFileError(
            f"{folder}: {what} is damaged ({error}): delete the folder to build it anew"
        ) from error


class MapStore:
    """The files of a store, unpacked or as they are; nothing is loaded whole.

    Raises ModelFileError for a folder that is no store, or one that was damaged.
    """

    def __init__(
        self,
        folder: Path,
        saved: SavedNames | None = None,
        tour: SavedTour | None = None,
        selections: SavedSelections | None = None,
    ) -> None:
        self.folder = folder
        self.saved = saved
        self.tour = tour or SavedTour()
        self.selections = selections or SavedSelections(writable=False)
        self._root = folder.resolve()
        # before anything is read: what is read later can only be newer
        self._mark = self._find_mark()
        self.meta = self._read_meta()
        self.id = store_id(folder)
        self._packed_meta = gzip.compress(to_json(self.meta), 6, mtime=0)
        self._searching = threading.Semaphore(1)  # one after the other: each goes through all texts
        self.clusters = lru_cache(maxsize=32)(self._clusters)

    def _read_meta(self) -> dict[str, Any]:
        meta = self.read_json("meta.json")
        if not isinstance(meta, dict) or meta.get("format") != FORMAT:
            raise ModelFileError(f"{self.folder} is no store of the explorer")
        if meta.get("version") != VERSION:
            raise ModelFileError(
                f"{self.folder} was written by another version of nestmap: "
                "delete it to build it anew"
            )
        if not isinstance(meta.get("n_rows"), int) or not all(
            isinstance(meta.get(name), list) for name in ("named_levels", "levels", "maps")
        ):
            raise ModelFileError(
                f"{self.folder}: meta.json is damaged: delete the folder to build it anew"
            )
        return {**meta, "can_save": self.saved is not None and self.saved.writable}

    def _find_mark(self) -> tuple[int, int, int] | None:
        """What tells one store in this folder from the next, without reading it."""
        try:
            found = (self.folder / "meta.json.gz").stat()
        except OSError:
            return None
        return found.st_ino, found.st_mtime_ns, found.st_size

    @property
    def is_current(self) -> bool:
        """Whether the folder still holds this store: all read before this belongs together."""
        return self._mark is not None and self._mark == self._find_mark()

    def again(self) -> MapStore:
        """What is in the folder now, with the same names, tour and selections."""
        return MapStore(self.folder, self.saved, self.tour, self.selections)

    def path(self, name: str) -> Path | None:
        """Where a file of the store lies; None for all else: other folders, links leading out."""
        if not _NAME.fullmatch(name) or len(name) > 200:
            return None
        path = self.folder / f"{name}.gz"
        try:
            inside = path.resolve(strict=True).is_relative_to(self._root)
            return path if inside and stat.S_ISREG(path.stat().st_mode) else None
        except OSError:
            return None

    def packed(self, name: str) -> bytes | None:
        """The gzip bytes of a file; None if there is none."""
        if name == "meta.json":
            return self._packed_meta
        if name == TOUR:
            return gzip.compress(to_json(self.tour.record()), 6, mtime=0)
        if self.is_changing(name):
            level = self._level_of(name)
            return None if level is None else gzip.compress(to_json(self.names(level)), 6, mtime=0)
        path = self.path(name)
        return None if path is None else path.read_bytes()

    def first_files(self) -> list[str]:
        """What the page asks for first: the record, and a level small enough for a picture."""
        with sound(self.folder, "meta.json"):
            levels = [
                k
                for k, level in enumerate(self.meta["levels"])
                if level["n_nodes"] <= _MAX_NODES_OF_FIRST_PICTURE
            ][:1]
            tiles = self.meta["maps"][0]["tiles"]
            return [
                "meta.json",
                *(f"m0/{k}/{t}.bin" for k in levels for t in range(len(tiles[str(k)]["begin"]))),
            ]

    def is_changing(self, name: str) -> bool:
        """Whether readers may change what a file says."""
        return self.saved is not None and name.startswith(("names/", TOUR))

    def read(self, name: str) -> bytes:
        """An unpacked file; raises for one that is missing or damaged."""
        path = self.path(name)
        if path is None:
            raise ModelFileError(
                f"{self.folder}: {name} is missing: delete the folder to build it anew"
            )
        return unpack(path.read_bytes(), path)

    def read_json(self, name: str) -> Any:
        try:
            return json.loads(self.read(name))
        except (ValueError, RecursionError) as error:
            raise ModelFileError(f"{self.folder}: {name} is damaged ({error})") from error

    # -- names
    # ---------------------------------------------------------------------------------------------

    def _level_of(self, name: str) -> int | None:
        match = re.fullmatch(r"names/(0|[1-9][0-9]{0,2})\.json", name)
        return int(match[1]) if match and int(match[1]) in self.meta["named_levels"] else None

    def names(self, level: int) -> list[str]:
        """Names of a level in tree order, with those that readers gave."""
        names = self.read_json(f"names/{level}.json")
        own = self.saved.read().get(level, {}) if self.saved is not None else {}
        if not own:
            return list(names)
        with sound(self.folder, f"names/{level}.json"):
            pairs = zip(names, self.clusters(level).tolist(), strict=True)
            return [own.get(cluster, name) for name, cluster in pairs]

    def _clusters(self, level: int) -> Array:
        """The hierarchy's numbers of the nodes of a level, in tree order."""
        with sound(self.folder, f"m0/{level}"):
            tiles = self.meta["maps"][0]["tiles"][str(level)]
            parts = []
            for t, (begin, end) in enumerate(zip(tiles["begin"], tiles["end"], strict=True)):
                parts.append(
                    np.frombuffer(
                        self.read(f"m0/{level}/{t}.bin")[-4 * (end - begin) :], dtype="<u4"
                    )
                )
            return np.concatenate(parts)

    def rename(self, record: Any) -> dict[str, str]:
        """Keep a name that a reader gave; an empty one restores the name of the run."""
        match record:
            case {"level": int(level), "index": int(index), "name": str(name), **rest} if not rest:
                pass
            case _:
                raise ValueError('expected {"level": number, "index": number, "name": text}')
        if self.saved is None or not self.saved.writable:
            raise ValueError("names cannot be saved here")
        if (
            isinstance(level, bool)
            or isinstance(index, bool)
            or level not in self.meta["named_levels"]
        ):
            raise ValueError(f"level {level} has no names")
        clusters = self.clusters(level)
        if not 0 <= index < len(clusters):
            raise ValueError(f"level {level} has clusters 0 to {len(clusters) - 1}")
        if not self.is_current:  # its clusters have other numbers
            raise ValueError("the run was built again meanwhile: reload the page")
        self.saved.set(level, int(clusters[index]), tidy(name))
        return {"name": self.names(level)[index]}

    def change_tour(self, record: Any) -> dict[str, Any]:
        """Keep the tour that an author has made, unless it was changed elsewhere meanwhile."""
        match record:
            case {"stops": list(stops), "mark": str(mark), **rest} if not rest:
                pass
            case _:
                raise ValueError('expected {"stops": [stop, …], "mark": text}')
        if self.saved is None or not self.saved.writable:
            raise ValueError("a tour cannot be saved here")
        return self.tour.change(check_tour(stops), mark)

    # -- search
    # --------------------------------------------------------------------------------------------

    def search(self, text: str, most: int) -> dict[str, Any]:
        """Rows whose texts hold a text, and the row with that number."""
        wanted = text.strip().lower()[:200]
        hits: list[int] = []
        if wanted.isascii() and wanted.isdigit() and int(wanted) < self.meta["n_rows"]:
            hits.append(self.place_of(int(wanted)))
        total = len(hits)
        if wanted and self.meta.get("searchable"):
            with self._searching:
                total += self._scan(wanted, most, hits)
        more = total >= _MAX_HITS_COUNTED
        return {
            "total": total,
            "more": more,
            "hits": [[place, self.label(place)] for place in hits[:most]],
        }

    def find_all(self, text: str) -> Array:
        """The places of all rows whose texts hold a text, and of the row with that number."""
        wanted = text.strip().lower()[:200]
        found = [np.empty(0, dtype=np.int64)]
        if wanted.isascii() and wanted.isdigit() and int(wanted) < self.meta["n_rows"]:
            found.append(np.array([self.place_of(int(wanted))]))
        if wanted and self.meta.get("searchable"):
            with self._searching:
                for c, texts in self._holding(wanted):
                    with sound(self.folder, f"search/{c}.json"):
                        own = np.flatnonzero([wanted in text for text in texts])
                    found.append(c * WIDE_CHUNK + own)
        return np.unique(np.concatenate(found))

    def _holding(self, wanted: str) -> Iterator[tuple[int, list[str]]]:
        """Chunks of texts that hold a text."""
        needle = to_json(wanted)[1:-1]
        for c in range(-(-self.meta["n_rows"] // WIDE_CHUNK)):
            packed = self.read(f"search/{c}.json")
            if needle in packed:  # texts as they are in the file: nothing is parsed in vain
                with sound(self.folder, f"search/{c}.json"):
                    yield c, json.loads(packed)

    def _scan(self, wanted: str, most: int, hits: list[int]) -> int:
        """Add places to hits, and count them; stops at 100,000."""
        known = set(hits)
        total = 0
        for c, texts in self._holding(wanted):
            with sound(self.folder, f"search/{c}.json"):
                places = [c * WIDE_CHUNK + i for i, text in enumerate(texts) if wanted in text]
            new = [place for place in places if place not in known]
            total += len(new)
            hits += new[: max(0, most - len(hits))]
            if total >= _MAX_HITS_COUNTED:
                break
        return total

    def panel(self, level: int, index: int) -> dict[str, Any]:
        """What is told of a cluster; nothing on levels without panels."""
        if level not in self.meta["panel_levels"]:
            return {}
        name = f"panels/{level}/{index // PANELS_PER_FILE}.json"
        with sound(self.folder, name):
            return dict(self.read_json(name)[index % PANELS_PER_FILE])

    def place_of(self, row: int) -> int:
        """Where one of the user's rows is in tree order."""
        name = f"places/{row // WIDE_CHUNK}.bin"
        with sound(self.folder, name):
            return int(np.frombuffer(self.read(name), dtype="<u4")[row % WIDE_CHUNK])

    def label(self, place: int) -> str:
        """The name or the text of a row, or its number."""
        name = f"rows/{place // CHUNK}.json"
        with sound(self.folder, name):
            row, *others = self.read_json(name)[place % CHUNK]
            has_label = self.meta["fields"][1:2] in (["name"], ["text"])
            return (
                others[0]
                if has_label and isinstance(others[0], str) and others[0]
                else f"row {row}"
            )
