"""`load` and `available`: where files are looked for, in which order, and what to say if there are
none.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

import numpy as np

from nestmap.app.readers._arrays import peek_shape
from nestmap.app.readers._formats import Rows
from nestmap.core.arrays import Array
from nestmap.core.progress import Progress

from ._fetch import DownloadError, cache_directory, fetch
from ._readers import ARRAY_SUFFIXES, Task, read
from ._sources import SOURCES, DatasetInfo, Original

_COMPRESSED = (".gz", ".xz", ".bz2")


class DatasetNotFound(FileNotFoundError):
    """A data set is neither here nor could it be downloaded; the text says how to supply it."""


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """Rows to map, and what is known of them.

    Attributes
    ----------
    name : str
        The name it was loaded by.
    X : ndarray of shape (n_rows, n_columns)
        As stored: uint8 pixels stay uint8, float16 stays float16; memory-mapped and read-only where
        the file permits it.
    y : ndarray of shape (n_rows,) or None
        The class of each row.
    names : tuple of str or None
        The name of each row, such as a word.
    n_train : int or None
        The first `n_train` rows are the official training part.
    metric : str
        The recommended metric, "euclidean" or "cosine".
    description : str
        What the rows are.
    source : str
        The file or place that it was read from.
    """

    name: str
    X: Array
    y: Array | None
    names: tuple[str, ...] | None
    n_train: int | None
    metric: str
    description: str
    source: str

    def __repr__(self) -> str:
        rows, columns = self.X.shape
        classes = "" if self.y is None else f", {len(np.unique(self.y))} classes"
        return (
            f"Dataset({self.name!r}: {rows:,} x {columns:,} {self.X.dtype}{classes}, {self.metric})"
        )


def available() -> dict[str, DatasetInfo]:
    """Which data sets `load` knows by name, with their sizes and where they come from.

    Returns
    -------
    dict of str to DatasetInfo
        Those of the paper, scikit-learn's digits, and every .npz and .npy file with an X in the
        directory that the environment variable NESTMAP_DATA names.

    Examples
    --------
    >>> from benchmarks.datasets import available
    >>> print(available()["coil20"])
    coil20              1,440 x 16,384    20 classes  euclidean
    https://www.cs.columbia.edu/CAVE/software/softlib/coil-20.php
    >>> for info in available().values():
    ...     print(info)  # doctest: +ELLIPSIS
    higgs          11,000,000 x 28         2 classes  euclidean
    https://archive.ics.uci.edu/dataset/280/higgs
    ...
    """
    found = dict(SOURCES)
    directory = _data_directory()
    for path in sorted(directory.glob("*.np[yz]")) if directory else ():
        if path.stem in SOURCES or path.stem.endswith(("_labels", "_y")):
            continue
        try:
            shape = peek_shape(path)
        except (KeyError, ValueError):  # an .npz without X, or no array at all: not a data set
            continue
        if len(shape) >= 2:
            found[path.stem] = _own(path.stem, shape[0], int(np.prod(shape[1:])), str(path))
    return found


def load(
    name: str,
    *,
    path: str | os.PathLike[str] | None = None,
    cache: str | os.PathLike[str] | None = None,
    download: bool = True,
    verbose: int = 1,
) -> Dataset:
    """Load a data set of the paper, scikit-learn's digits, or your own files, by name.

    Looked for, in this order: `path`; the directory that the environment variable NESTMAP_DATA
    names, and its sub-directory `name`; for Fashion-MNIST, Debian's package dataset-fashion-mnist;
    the cache; the place where its makers publish it. A directory may hold `NAME.npz` (arrays X and
    y), `NAME.npy` (X, with `NAME_labels.npy`), .mat or .txt, with `NAME_words.txt` for the names of
    the rows, or the files as their makers publish them, compressed or not.

    Parameters
    ----------
    name : str
        One of `available()`, or the name of your own file in the directory of NESTMAP_DATA.
    path : str or path, optional
        A file, or a directory that holds the files. Then nowhere else is looked.
    cache : str or path, optional
        Where downloads and parsed copies are kept: by default in NESTMAP_CACHE, else in
        ~/.cache/nestmap (XDG_CACHE_HOME is honoured). Text, compressed word vectors and MATLAB 7.3
        files are parsed block by block into .npy files there, which are memory-mapped: this takes
        little memory, and as much disk as the array is large (MNIST8M 6.4 GB, Google News 3.6 GB,
        HIGGS 1.3 GB).
    download : bool, default True
        Whether to download what is not found.
    verbose : int, default 1
        1 says on stderr what is downloaded or parsed, 0 is silent.

    Returns
    -------
    Dataset
        With `X`, `y`, `names`, `n_train`, `metric`, `description` and `source`.

    Raises
    ------
    DatasetNotFound
        The files are not there and could not be downloaded; the text says why, and how to supply
        them.
    FileFormatError
        A file is truncated, damaged, or not what it should be.

    Examples
    --------
    >>> from benchmarks.datasets import load
    >>> digits = load("digits")
    >>> digits
    Dataset('digits': 1,797 x 64 float64, 10 classes, euclidean)

    Your own arrays:

    >>> import numpy as np, pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "mine.npz")
    ...     np.savez(file, X=np.eye(4, dtype=np.float32), y=[0, 0, 1, 1])
    ...     load("mine", path=file)
    Dataset('mine': 4 x 4 float32, 2 classes, euclidean)
    """
    if not isinstance(name, str) or not re.fullmatch(r"[\w-][\w.-]*", name):
        raise ValueError(
            f"name={name!r}: must be letters, digits, '_', '-' and '.'; for a file use path="
        )
    info = SOURCES.get(name) or _own(name)
    store = cache_directory(cache) / name
    progress = Progress(verbose)
    places = [*_places(info, path, store)]
    for place in places:
        if found := _find(info, place):
            return _dataset(
                info,
                read(found.format, Task(info, found.paths, store, progress)),
                str(found.paths[0]),
            )
    if path is None and info.bundled:
        return _bundled(info)
    failures = []
    if path is None and download:
        for original in (original for original in info.originals if original.downloadable):
            try:
                paths = _download(original, store, progress)
            except DownloadError as error:
                failures.append(str(error))
                continue
            return _dataset(
                info, read(original.format, Task(info, paths, store, progress)), str(paths[0])
            )
    raise DatasetNotFound("\n".join([*_explain(info, places, failures), *_advice(info, store)]))


def _download(original: Original, store: Path, progress: Progress) -> tuple[Path, ...]:
    return tuple(fetch(file, store, progress) for file in original.files)


def _dataset(info: DatasetInfo, rows: Rows, source: str) -> Dataset:
    n_train = rows.n_train or (info.n_train if len(rows.X) == info.rows else None)
    metric = info.metric or ("cosine" if rows.names else "euclidean")
    return Dataset(info.name, rows.X, rows.y, rows.names, n_train, metric, info.description, source)


def _bundled(info: DatasetInfo) -> Dataset:
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    return _dataset(info, Rows(X, y), info.source)


def _own(name: str, rows: int = 0, columns: int = 0, source: str = "") -> DatasetInfo:
    """A data set of the user's; without a metric, words decide it."""
    return DatasetInfo(
        name, rows, columns, None, "", None, f"your own data set {name}", source, "yours"
    )


# -- where to look
# -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Place:
    """A file or directory to look at, and why."""

    path: Path
    why: str
    shared: bool = (
        False  # a directory for all data sets: files of ambiguous names are not taken from it
    )

    @property
    def remark(self) -> str:
        if self.path.is_file():
            return ": its name does not tell how to read it"
        return "" if self.path.exists() else ": does not exist"


@dataclass(frozen=True)
class Found:
    format: str
    paths: tuple[Path, ...]


def _data_directory() -> Path | None:
    given = os.environ.get("NESTMAP_DATA")
    return Path(given).expanduser() if given else None


def _places(info: DatasetInfo, path: str | os.PathLike[str] | None, store: Path) -> Iterator[Place]:
    if path is not None:
        given = Path(path).expanduser()
        yield Place(given, "path")
        if given.is_dir():
            yield Place(given / info.name, "path")
        return
    if directory := _data_directory():
        yield Place(directory, "NESTMAP_DATA", shared=True)
        yield Place(directory / info.name, "NESTMAP_DATA")
    for system in info.system:
        yield Place(Path(system), "a package of the system")
    yield Place(store, "cache")


def _find(info: DatasetInfo, place: Place) -> Found | None:
    if place.path.is_file():
        return _find_file(info, place.path)
    for suffix in ARRAY_SUFFIXES:
        if (path := place.path / f"{info.name}{suffix}").is_file():
            return Found("arrays", (path,))
    for original in info.originals:
        folders = (*(() if place.shared and info.ambiguous else ("",)), *info.folders)
        for folder in folders:
            paths = [_variant(place.path / folder / file.name) for file in original.files]
            if all(paths):
                return Found(original.format, tuple(path for path in paths if path))
    return None


def _variant(path: Path) -> Path | None:
    """The file, compressed or not; not compressed if there is the choice, as it can be
    memory-mapped.
    """
    plain = path.with_suffix("") if path.suffix in _COMPRESSED else path
    candidates = (plain, path, *(plain.with_name(plain.name + end) for end in _COMPRESSED))
    return next((candidate for candidate in candidates if candidate.is_file()), None)


def _find_file(info: DatasetInfo, path: Path) -> Found | None:
    """How to read one file that the user names: by its name, else by how its name ends."""
    for original in info.originals:
        paths = [_variant(path.with_name(file.name)) for file in original.files]
        if path in paths and all(paths):
            return Found(original.format, tuple(each for each in paths if each))
    if path.suffix in ARRAY_SUFFIXES:
        return Found("arrays", (path,))
    for original in info.originals:
        if len(original.files) == 1 and _ending(original.files[0].name) == _ending(path.name):
            return Found(original.format, (path,))
    return None


def _ending(name: str) -> str:
    """What tells the format: a.csv.gz ends in .csv, mnist8m.xz in .xz."""
    plain = Path(name).with_suffix("") if Path(name).suffix in _COMPRESSED else Path(name)
    return plain.suffix or Path(name).suffix


# -- what to say
# -------------------------------------------------------------------------------------


def _explain(info: DatasetInfo, places: list[Place], failures: list[str]) -> list[str]:
    lines = [f"{info.name} was not found."]
    if info.name not in SOURCES:
        close = get_close_matches(info.name, SOURCES, 1)
        hint = f"; did you mean {close[0]!r}?" if close else "."
        lines = [f"name={info.name!r} is not a known data set{hint} Known: {', '.join(SOURCES)}."]
    lines.append("Looked in:")
    lines += [f"  {place.path} ({place.why}{place.remark})" for place in places]
    if not os.environ.get("NESTMAP_DATA"):
        lines.append("  (the environment variable NESTMAP_DATA is not set)")
    if failures:
        lines += [
            "Download failed:",
            *(f"  {line}" for failure in failures for line in failure.splitlines()),
        ]
    elif info.name in SOURCES and not any(original.downloadable for original in info.originals):
        lines.append("It has no public source to download from.")
    elif info.originals:
        lines.append("It was not downloaded, as path= was given or download=False.")
    return lines


def _advice(info: DatasetInfo, store: Path) -> list[str]:
    names = " or ".join(str(original) for original in info.originals)
    arrays = f"{info.name}.npz (arrays X and y), .npy, .mat or .txt"
    where = f"{info.name}/ of the" if info.ambiguous else "the"
    return [
        "To supply it by hand:",
        f"  files: {names + ', or ' if names else ''}{arrays}",
        f"  source: {info.source}" if info.source else "  any numbers in rows and columns",
        f"  place: {where} directory that NESTMAP_DATA names, or {store}, or pass path= (a file "
        "or directory)",
    ]
