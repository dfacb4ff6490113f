"""The folder of a run: written as a whole, read in parts."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ...core.arrays import Array
from ...core.threads import resolve_n_jobs
from ...core.work.pieces import flush_folder
from ...core.work.records import write_json
from ...core.work.replacing import replaced, temporary
from ...errors import ModelFileError
from ...estimators.hnne import HNNE
from ...estimators.load import load
from ...method.layout.pieces import find_pieces, piece_unit
from ...model.files.container import read_container, write_container
from ...model.files.values import Part, Reader, Writer
from ...views.explore.trust import Trust
from ..readers.table import Table
from ..readers.text import Words
from . import naming
from .evidence import FILE as EVIDENCE
from .evidence import Evidence, read_evidence, write_evidence
from .extras import write_images, write_trust
from .keeping import keep_what_people_made
from .model_names import laid_over, read_model_names
from .record import FORMAT, VERSION, check_map, check_rows, read_record, whole_text

ROWS_FORMAT = "nestmap-rows"


@dataclass(frozen=True, eq=False)
class RowsOfRun:
    """What is known of the rows and columns of a run beside their numbers."""

    names: Array | None
    metadata: dict[str, Array]
    columns: tuple[str, ...] | None  # of the file, or the words
    words: Words | None


@dataclass(frozen=True, eq=False)
class RunContent:
    """What a run is written from.

    Attributes
    ----------
    models : dict of int to HNNE
        Per number of dimensions.
    table : Table
        The rows that were mapped.
    names : dict of int to list of str
        Of the clusters, per level; empty if nothing is known of the rows.
    record : dict
        What `run.json` is to say beside the maps.
    trust : Trust or None
    image_shape : tuple of int or None
        The shape of the pictures that rows are.
    evidence : Evidence or None
        What a namer can be told of the clusters.
    whys : dict of int to list of str
        What makes the names true.
    """

    models: Mapping[int, HNNE]
    table: Table
    names: Mapping[int, Sequence[str]]
    record: Mapping[str, Any]
    trust: Trust | None = None
    image_shape: tuple[int, ...] | None = None
    evidence: Evidence | None = None
    whys: Mapping[int, Sequence[str]] = field(default_factory=dict)


class RunFolder:
    """A run on disk; parts are read when they are asked for.

    Parameters
    ----------
    path : path
        The folder.

    Attributes
    ----------
    record : dict
        What `run.json` says.
    """

    def __init__(self, path: Any) -> None:
        self.path = Path(os.fspath(path)).expanduser()
        self.record = read_record(self.path)

    def model(self, dims: int | None = None) -> HNNE:
        """The model of the first map, or of the one in so many dimensions."""
        files = {entry["dims"]: entry["file"] for entry in self.record["maps"]}
        wanted = dims or self.record["maps"][0]["dims"]
        if wanted not in files:
            raise ValueError(
                f"{self.path}: dims={dims}: "
                f"the run has maps in {', '.join(map(str, files))} dimensions"
            )
        path = self.path / files[wanted]
        model = load(path)
        if not isinstance(model, HNNE):
            raise ModelFileError(f"{path}: is a model without a map")
        try:
            check_map(self.record, wanted, model.embedding_.shape, model.hierarchy_.level_sizes)
        except ModelFileError as error:
            raise ModelFileError(f"{path}: {error}") from None
        return model

    def rows(self) -> RowsOfRun:
        """Names and metadata of the rows."""
        path = self.path / "rows.nestmap"
        stored = read_container(path, ROWS_FORMAT, VERSION)
        try:
            rows = _read_rows(Reader(stored), int(self.record["n_rows"]))
            check_rows(
                self.record, [*rows.metadata], None if rows.columns is None else len(rows.columns)
            )
            return rows
        except ModelFileError as error:
            raise ModelFileError(f"{path}: {error}") from error

    def names(self) -> dict[int, list[str]]:
        """Names of the clusters of some levels; none for a run whose rows nothing is known of.

        Those of a language model, where it was asked.
        """
        given = read_model_names(self.path)
        return laid_over(self.built_in_names(), given.names if given else {})

    def built_in_names(self) -> dict[int, list[str]]:
        """Names by what is known of the rows."""
        return self._told(naming.read_names)

    def whys(self) -> dict[int, list[str]]:
        """What makes the names true; empty for those of a language model."""
        built_in = self.built_in_names()
        names = self.names()
        return {
            level: [
                why if name == own else ""
                for why, name, own in zip(each, names[level], built_in[level], strict=True)
            ]
            for level, each in self._told(naming.read_whys).items()
            if level in built_in
        }

    def _told(
        self, read: Callable[[Path, list[int]], dict[int, list[str]]]
    ) -> dict[int, list[str]]:
        """What the file of names holds, by level."""
        path = self.path / naming.FILE
        if not path.exists():
            return {}
        try:
            return read(path, [int(level["clusters"]) for level in self.record["levels"]])
        except ModelFileError as error:
            raise ModelFileError(f"{path}: {error}") from error

    def evidence(self) -> Evidence | None:
        """What a namer can be told of clusters; None if nothing is known of the rows."""
        sizes = [int(level["clusters"]) for level in self.record["levels"]]
        path = self.path / EVIDENCE
        try:
            return read_evidence(path, sizes, int(self.record["n_rows"])) if path.exists() else None
        except ModelFileError as error:
            raise ModelFileError(f"{path}: {error}") from error

    def note(self, **entries: Any) -> None:
        """Add entries to the record."""
        self.record.update(entries)
        with temporary(self.path / "run.json") as part:
            write_json(part, self.record)


def check_target(path: Path, force: bool) -> None:
    """Raise early where a run cannot be written."""
    if path.exists() and not force:
        raise FileExistsError(f"{path} exists already; --force replaces it")
    if path.exists() and not (path / "run.json").exists():
        raise FileExistsError(f"{path} exists and is no run of nestmap: it is not replaced")
    path.parent.mkdir(parents=True, exist_ok=True)


def write_run(
    path: Path,
    content: RunContent,
    force: bool,
    tell: Callable[[str], None] = lambda text: None,
) -> RunFolder:
    """Write a run, whole or not at all; `tell` is told what becomes of one that is replaced."""

    def spare(old: Path, new: Path) -> Path | None:
        now = next(iter(content.models.values())).hierarchy_
        return keep_what_people_made(old, new, lambda: RunFolder(old).model().hierarchy_, now, tell)

    with replaced(path, spare) as folder:
        _write_content(folder, content)
        flush_folder(folder)
        check_target(path, force)
    return RunFolder(path)


def _write_content(folder: Path, content: RunContent) -> None:
    maps = []
    for dims, model in content.models.items():
        name = f"map-{dims}d.nestmap"
        maps.append({"dims": dims, "file": name, "layout": model.layout_.kind})
        model.save(folder / name)
    _write_rows(folder / "rows.nestmap", content.table)
    if content.names:
        naming.write_names(folder / naming.FILE, content.names, content.whys)
    if content.evidence is not None:
        write_evidence(folder / EVIDENCE, content.evidence)
    if content.trust is not None:
        write_trust(folder, content.trust)
    if content.image_shape is not None:
        write_images(folder, content.table.X, content.image_shape)
    whole = {"format": FORMAT, "version": VERSION, **content.record, "maps": maps}
    write_json(folder / "run.json", whole)


def _write_rows(path: Path, table: Table) -> None:
    writer = Writer()
    kinds: dict[str, str] = {}
    for i, (name, values) in enumerate(table.metadata.items()):
        kinds[name] = "numbers" if values.dtype.kind in "uifb" else "texts"
        (writer.put if kinds[name] == "numbers" else writer.put_texts)(f"metadata/{i}", values)
    if table.names is not None:
        writer.put_texts("names", table.names)
    columns = table.taken if table.words is None else table.words.words
    if columns is not None:
        writer.put_texts("columns", columns)
    if table.words is not None:
        writer.put("weights", table.words.weights)
    document = {"metadata": kinds, "arrays": writer.names}
    write_container(path, ROWS_FORMAT, VERSION, document, writer.arrays)


def _read_rows(reader: Reader, n_rows: int) -> RowsOfRun:
    metadata: dict[str, Array] = {}
    for i, name in enumerate(kinds := reader.get(reader.document, "metadata", dict)):
        own = whole_text(name)
        if reader.option(kinds, name, ("numbers", "texts")) == "texts":
            metadata[own] = np.array(
                reader.take_texts(f"metadata/{i}", n_rows, whole=True), dtype=object
            )
        else:
            metadata[own] = reader.take_column(f"metadata/{i}", n_rows)
    names = None
    if reader.has("names/ends"):
        names = np.array(reader.take_texts("names", n_rows, whole=True), dtype=object)
    columns = tuple(reader.take_texts("columns")) if reader.has("columns/ends") else None
    words = None
    if reader.has("weights") and columns is not None:
        words = Words(columns, reader.take_numbers("weights", Part(("f4",)), (len(columns),)))
    return RowsOfRun(names, metadata, columns, words)


def describe_levels(model: HNNE) -> list[dict[str, Any]]:
    """Clusters of each level, their sizes, and how whole they are on the map where measured."""
    found: list[dict[str, Any]] = []
    for k, level in enumerate(model.hierarchy_.levels):
        sizes = np.sort(level.sizes)[::-1]
        found.append(
            {
                "level": k,
                "clusters": len(sizes),
                "largest": int(sizes[0]),
                "median": float(np.median(sizes)),
                "smallest": int(sizes[-1]),
            }
        )
    layout = model.layout_
    n_threads = resolve_n_jobs(model.n_jobs)
    unit = piece_unit(model.hierarchy_.n_rows, layout)
    for pieces in find_pieces(model.hierarchy_, layout.positions, n_threads, unit=unit):
        found[pieces.level].update(
            whole=round(pieces.whole, 4), split=pieces.n_split, measured_on=unit
        )
    return found


def describe_tree(
    model: HNNE, names: Mapping[int, Sequence[str]], most: int = 12, children: int = 5
) -> list[dict[str, Any]]:
    """The largest clusters of the top, each with the largest of its children."""
    levels = model.hierarchy_.levels
    top = len(levels) - 1
    found = describe_largest(model, names, top, most)
    for own in found if top else ():
        below = np.flatnonzero(levels[top].members == own["cluster"])
        own["n_children"] = len(below)
        own["children"] = describe_largest(model, names, top - 1, children, below)
    return found


def describe_largest(
    model: HNNE,
    names: Mapping[int, Sequence[str]],
    level: int,
    most: int,
    among: Array | None = None,
) -> list[dict[str, Any]]:
    """Number, size and name (where there are names) of the largest clusters of a level."""
    sizes = model.hierarchy_.levels[level].sizes
    nodes = np.arange(len(sizes)) if among is None else among
    chosen = nodes[np.argsort(-sizes[nodes], kind="stable")[:most]].tolist()
    return [
        {
            "cluster": node,
            "rows": int(sizes[node]),
            **({"name": names[level][node]} if level in names else {}),
        }
        for node in chosen
    ]
