"""Columns of results as files: csv, tsv, npy, npz, parquet, h5ad; whole or absent."""

from __future__ import annotations

import csv
import sys
from collections.abc import Callable, Iterable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from ...core.arrays import Array, blocks
from ...core.work.replacing import temporary
from ..readers.table import require

_AXES = "xyz"
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


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


def axes_of(positions: Array) -> dict[str, Array]:
    """The columns of a map by name: x, y and z, or x0, x1, … where there are more."""
    n = positions.shape[1]
    return {_AXES[i] if n <= len(_AXES) else f"x{i}": positions[:, i] for i in range(n)}


@dataclass(frozen=True)
class CsvStyle:
    """How texts are written to csv and tsv files.

    Attributes
    ----------
    is_guarded : bool
        Put ' before texts that a spreadsheet would take for a formula, as the explorer's csv does.
    tell : function of a sentence
        Told of such texts where they are not guarded.
    """

    is_guarded: bool = False
    tell: Callable[[str], None] = lambda text: None


def write_columns(path: str, columns: Mapping[str, Array], main: Array, style: CsvStyle) -> None:
    """Write columns of equal length; `main`: the array that a .npy file holds."""
    if path == "-":
        _write_csv(sys.stdout, columns, ",", style)
        return
    with temporary(Path(path)) as part:
        suffix = Path(path).suffix
        if suffix in (".csv", ".tsv"):
            with part.open("w", encoding="utf-8", newline="") as file:
                _write_csv(file, columns, "," if suffix == ".csv" else "\t", style)
        elif suffix == ".npy":
            with part.open("wb") as binary:
                np.save(binary, main)
        elif suffix == ".npz":
            with part.open("wb") as binary:
                plain: dict[str, Any] = {name: _plain(values) for name, values in columns.items()}
                np.savez(binary, **plain)
        else:
            _write_parquet(part, columns)


def _plain(values: Array) -> Array:
    """Texts as fixed-width strings: an .npz file without pickled objects."""
    return values.astype(str) if values.dtype.kind == "O" else values


def _write_csv(file: Any, columns: Mapping[str, Array], delimiter: str, style: CsvStyle) -> None:
    n = len(next(iter(columns.values())))
    texts = [i for i, values in enumerate(columns.values()) if values.dtype.kind in "OU"]
    n_formulas = 0
    _writer(file, delimiter, columns).writerow(columns)
    for part in blocks(n, len(columns), values=500_000):
        block = [values[part].tolist() for values in columns.values()]
        for i in texts:
            is_formula = [str(value).startswith(_FORMULA) for value in block[i]]
            n_formulas += sum(is_formula)
            if style.is_guarded and any(is_formula):
                block[i] = [
                    f"'{value}" if found else value
                    for value, found in zip(block[i], is_formula, strict=True)
                ]
        said = (str(value) for i in texts for value in block[i])
        _writer(file, delimiter, said).writerows(zip(*block, strict=True))
    if n_formulas and not style.is_guarded:
        style.tell(
            f"{n_formulas:,} texts begin as formulas do (= + - @); "
            "--for-spreadsheets makes them harmless"
        )


def _writer(file: Any, delimiter: str, texts: Iterable[str]) -> Any:
    """A writer that quotes what must be; csv of Python 3.11 leaves out a lone carriage return."""
    has_returns = any("\r" in text for text in texts)
    quoting: Literal[0, 2] = csv.QUOTE_NONNUMERIC if has_returns else csv.QUOTE_MINIMAL
    return csv.writer(file, delimiter=delimiter, lineterminator="\n", quoting=quoting)


def _write_parquet(path: Path, columns: Mapping[str, Array]) -> None:
    arrow = require("pyarrow", path)
    from pyarrow import parquet

    table = arrow.table({name: arrow.array(_texts(values)) for name, values in columns.items()})
    parquet.write_table(table, path)


def _texts(values: Array) -> Any:
    return (
        [str(value) for value in values]
        if values.dtype.kind in "OU"
        else np.ascontiguousarray(values)
    )


def write_cells(
    path: str, columns: Mapping[str, Array], names: Array | None, positions: Array
) -> None:
    """An AnnData file: the map in obsm, everything else in obs."""
    anndata = require("anndata", path)
    pandas = require("pandas", path)
    index = (
        [str(i) for i in range(len(positions))] if names is None else [str(name) for name in names]
    )
    obs = pandas.DataFrame({name: _texts(values) for name, values in columns.items()}, index=index)
    cells = anndata.AnnData(obs=obs, obsm={"X_hnne": np.array(positions)})
    # texts of pandas 3 are a type of their own, which anndata writes only if told so
    knows = hasattr(anndata.settings, "allow_write_nullable_strings")
    texts = anndata.settings.override(allow_write_nullable_strings=True) if knows else nullcontext()
    with temporary(Path(path)) as part, texts:
        cells.write_h5ad(part)
