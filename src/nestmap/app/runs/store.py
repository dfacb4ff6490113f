"""From a run to what the explorer shows of it."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ..._version import __version__
from ...core.progress import Progress
from ...errors import ModelFileError
from ...views.explore.map_store import MapStore
from ...views.explore.names import SavedNames
from ...views.explore.selections import FILE as SELECTIONS
from ...views.explore.selections import SavedSelections
from ...views.explore.store import write_store
from ...views.explore.tour import FILE as TOUR
from ...views.explore.tour import SavedTour
from ..readers.read import read_table
from .extras import IMAGES, TRUST, read_images, read_trust
from .folder import RunFolder
from .keeping import STORE as FOLDER
from .keeping import TYPED_NAMES as NAMES
from .model_names import FILE as MODEL_NAMES
from .naming import FILE as CLUSTER_NAMES

_FILES = ("rows.nestmap", CLUSTER_NAMES, MODEL_NAMES, TRUST, IMAGES)  # beside the maps


def open_store(
    run: RunFolder,
    compare: Sequence[str] = (),
    *,
    cluster_names: str | None = None,
    progress: Progress | None = None,
    rebuild: bool = False,
    n_jobs: int | None = None,
) -> MapStore:
    """The store of a run: that beside its files if it is up to date, or a new one.

    Of a run that cannot be written to, the store is a temporary folder. `compare`: other runs, or
    files of positions.
    """
    folder = run.path / FOLDER
    writable = os.access(run.path, os.W_OK)
    names = SavedNames(run.path / NAMES, writable)
    kept = SavedSelections(run.path / SELECTIONS, writable)
    open_folder = partial(MapStore, saved=names, tour=SavedTour(run.path / TOUR), selections=kept)
    source = _fingerprint(run, compare, cluster_names)
    if not rebuild and (known := _up_to_date(open_folder, folder, source)):
        return known
    if not writable:
        folder = Path(tempfile.mkdtemp(prefix="nestmap-explorer-")) / FOLDER
    _build(run, folder, compare, cluster_names, source, progress, n_jobs)
    return open_folder(folder)


def _fingerprint(run: RunFolder, compare: Sequence[str], cluster_names: str | None) -> str:
    """What a store depends on, as a short text."""
    files = [run.path / file for file in _maps(run).values()]
    files += [run.path / name for name in _FILES]
    for other in compare:
        path = Path(other)
        files += sorted(path.glob("map-*.nestmap")) if path.is_dir() else [path]
    told = [__version__, str(cluster_names), *compare]
    for path in files:
        if path.exists():
            found = path.stat()
            told.append(f"{path.name} {found.st_size} {found.st_mtime_ns}")
    return hashlib.sha256("\n".join(told).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _up_to_date(
    open_folder: Callable[[Path], MapStore], folder: Path, source: str
) -> MapStore | None:
    try:
        store = open_folder(folder)
    except ModelFileError:  # none, or one that is built anew
        return None
    return store if store.meta.get("source") == source else None


def _build(
    run: RunFolder,
    folder: Path,
    compare: Sequence[str],
    cluster_names: str | None,
    source: str,
    progress: Progress | None,
    n_jobs: int | None,
) -> None:
    model = plane(run)
    rows = run.rows()
    others = {name: _positions(other, run, rows.names) for name, other in _titles(compare).items()}
    n_rows = int(run.record["n_rows"])
    trust = read_trust(run.path, n_rows)
    reading = run.record["reading"]
    text = reading.get("texts") if isinstance(reading, dict) else None
    metadata = {name: values for name, values in rows.metadata.items() if name != text}
    write_store(
        folder,
        model,
        names=rows.names,
        metadata=metadata,
        texts=rows.metadata.get(str(text)),
        quality=trust and trust.scores,
        neighbors=None if trust is None else trust.neighbors,
        images=read_images(run.path, n_rows),
        cluster_names=cluster_names or run.names() or None,
        cluster_whys=None if cluster_names else run.whys(),
        compare=others,
        title=run.path.resolve().name,
        source=source,
        progress=progress,
        n_jobs=n_jobs,
    )


def plane(run: RunFolder) -> Any:
    """The model of the run's map in 2-D; where it has none, of that in 3-D."""
    dims = list(_maps(run))
    for each in (2, 3):
        if each in dims:
            return run.model(each)
    raise ValueError(
        f"{run.path}: the explorer shows maps in 2-D and 3-D, this run has {dims}-D: "
        "fit with --dims 2"
    )


def _maps(run: RunFolder) -> dict[int, str]:
    """Files of the maps by their dimensions."""
    try:
        return {int(entry["dims"]): str(entry["file"]) for entry in run.record["maps"]}
    except (KeyError, TypeError, ValueError):
        raise ModelFileError(f"{run.path}: run.json is damaged: 'maps' names no files") from None


def _titles(compare: Sequence[str]) -> dict[str, str]:
    """A name for each map to compare with: that of its file or folder."""
    found: dict[str, str] = {}
    for other in compare:
        name = Path(other).resolve().stem
        found[name if name not in found else str(other)] = other
    return found


def _positions(other: str, run: RunFolder, names: Any) -> Any:
    """A map of the same rows: the model of another run, or positions from a file."""
    if not Path(other).is_dir() or other.endswith(".zarr"):
        return np.asarray(read_table(other).X, dtype=np.float64)
    run2 = RunFolder(other)
    if run2.record["n_rows"] != run.record["n_rows"]:
        raise ValueError(
            f"--compare {other}: {run2.record['n_rows']:,} rows, "
            f"but {run.path} has {run.record['n_rows']:,}: "
            "the explorer compares maps of the same rows in the same order"
        )
    names2 = run2.rows().names
    if names is not None and names2 is not None and (names != names2).any():
        raise ValueError(
            f"--compare {other}: its rows have other names than those of "
            f"{run.path}, or another order"
        )
    return plane(run2)
