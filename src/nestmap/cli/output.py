"""Columns of results as files: csv, tsv, npy, npz, parquet, h5ad; whole or absent."""

from __future__ import annotations

import csv
import sys
from collections.abc import Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np

from .._arrays import Array, blocks
from .._work.replacing import temporary
from ..readers.extras import require

SUFFIXES = (".csv", ".tsv", ".npy", ".npz", ".parquet", ".h5ad")


def check_output(path: str, force: bool, suffixes: tuple[str, ...], stdout: bool = True) -> None:
    """Raise early where a result cannot be written."""
    target = Path(path)
    if path == "-" and stdout:
        return
    if target.suffix not in suffixes:
        raise ValueError(f"-o {path}: the name must end in {', '.join(suffixes)}")
    if target.exists() and not force:
        raise FileExistsError(f"{path} exists already; --force replaces it")
    if not target.parent.is_dir():
        raise FileNotFoundError(f"-o {path}: there is no folder {target.parent}")
    if target.suffix == ".parquet":
        require("pyarrow", path)
    if target.suffix == ".h5ad":
        require("anndata", path)


def write_columns(path: str, columns: Mapping[str, Array], main: Array) -> None:
    """Write columns of equal length; `main`: the array that a .npy file holds."""
    if path == "-":
        _write_csv(sys.stdout, columns, ",")
        return
    with temporary(Path(path)) as part:
        suffix = Path(path).suffix
        if suffix in (".csv", ".tsv"):
            with part.open("w", encoding="utf-8", newline="") as file:
                _write_csv(file, columns, "," if suffix == ".csv" else "\t")
        elif suffix == ".npy":
            with part.open("wb") as binary:
                np.save(binary, main)
        elif suffix == ".npz":
            with part.open("wb") as binary:
                np.savez(binary, **{name: _plain(values) for name, values in columns.items()})  # type: ignore[arg-type]
        else:
            _write_parquet(part, columns)


def _plain(values: Array) -> Array:
    """Texts as fixed-width strings: an .npz file without pickled objects."""
    return values.astype(str) if values.dtype.kind == "O" else values


def _write_csv(file: Any, columns: Mapping[str, Array], delimiter: str) -> None:
    writer = csv.writer(file, delimiter=delimiter, lineterminator="\n")
    writer.writerow(columns)
    n = len(next(iter(columns.values())))
    for part in blocks(n, len(columns), values=500_000):
        writer.writerows(zip(*(values[part].tolist() for values in columns.values()), strict=True))


def _write_parquet(path: Path, columns: Mapping[str, Array]) -> None:
    arrow = require("pyarrow", path)
    from pyarrow import parquet

    table = arrow.table({name: arrow.array(_texts(values)) for name, values in columns.items()})
    parquet.write_table(table, path)


def _texts(values: Array) -> Any:
    return [str(value) for value in values] if values.dtype.kind in "OU" else np.ascontiguousarray(values)


def write_cells(path: str, columns: Mapping[str, Array], names: Array | None, positions: Array) -> None:
    """An AnnData file: the map in obsm, everything else in obs."""
    anndata, pandas = require("anndata", path), require("pandas", path)
    index = [str(i) for i in range(len(positions))] if names is None else [str(name) for name in names]
    obs = pandas.DataFrame({name: _texts(values) for name, values in columns.items()}, index=index)
    cells = anndata.AnnData(obs=obs, obsm={"X_hnne": np.array(positions)})
    # texts of pandas 3 are a type of their own, which anndata writes only if told so
    knows = hasattr(anndata.settings, "allow_write_nullable_strings")
    texts = anndata.settings.override(allow_write_nullable_strings=True) if knows else nullcontext()
    with temporary(Path(path)) as part, texts:
        cells.write_h5ad(part)
