"""HDF5, AnnData and zarr: rows that stay on disk where the library permits it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from ...errors import FileFormatError
from ._arrays import choose_array
from .choice import Choice, chosen_columns, shorten, wanted_like
from .pixels import picture_shape
from .table import Table, require


def read_hdf(path: Path, choice: Choice, key: str | None) -> Table:
    """A 2-D dataset of an HDF5 file; rows are read from the file when they are needed."""
    h5py = require("h5py", path)
    try:
        file = h5py.File(path, "r")
    except OSError as error:
        raise FileFormatError(f"{path} is truncated, damaged or no HDF5 file ({error})") from error
    if "encoding-type" in file.attrs and file.attrs["encoding-type"] == "anndata":
        file.close()
        return read_anndata(path, choice, key)
    found: dict[str, Any] = {}
    file.visititems(
        lambda name, item: found.__setitem__(name, item) if isinstance(item, h5py.Dataset) else None
    )
    return _from_arrays(path, found, choice, key)


def read_zarr(path: Path, choice: Choice, key: str | None) -> Table:
    """A 2-D zarr array, alone or in a group."""
    zarr = require("zarr", path)
    try:
        root = zarr.open(str(path), mode="r")
    except Exception as error:  # zarr raises many kinds
        raise FileFormatError(f"{path} is no zarr array or group ({error})") from error
    if isinstance(root, zarr.Array):
        return _from_arrays(path, {"X": root}, choice, None)
    if root.attrs.get("encoding-type") == "anndata":
        return read_anndata(path, choice, key)
    return _from_arrays(path, {name: array for name, array in root.arrays()}, choice, key)


def _from_arrays(path: Path, arrays: dict[str, Any], choice: Choice, key: str | None) -> Table:
    """X by its key, or the only one that can be meant; arrays of one value per row are metadata."""
    matrices = {
        name: each for name, each in arrays.items() if each.ndim >= 2 and each.dtype.kind in "uifb"
    }
    if key is not None and key not in matrices:
        raise ValueError(
            f"{path}: key={key!r} is no array of numbers; it has {shorten([*matrices]) or 'none'}"
        )
    name = key or choose_array(path, {each: array.shape for each, array in matrices.items()})
    X = matrices[name]
    pictures = picture_shape(X) if X.ndim > 2 else None
    if X.ndim > 2:
        X = np.asarray(X).reshape(len(X), -1)
    columns = [
        each for each, array in arrays.items() if array.ndim == 1 and array.shape[0] == X.shape[0]
    ]
    metadata = {each: _texts(np.asarray(arrays[each][:])) for each in columns}
    left_out = {each: "another array" for each in matrices if each != name} | {
        each: "metadata" for each in columns
    }
    source = f"{path} ({name})"
    table = Table(X, None, None, metadata, source, left_out, pictures=pictures)
    return with_id(table, choice)


def _texts(values: Any) -> Any:
    """Bytes, as HDF5 keeps texts, as str."""
    if values.dtype.kind in "SO":
        return np.array(
            [v.decode("utf-8", "replace") if isinstance(v, bytes) else str(v) for v in values],
            dtype=object,
        )
    return values


def with_id(table: Table, choice: Choice) -> Table:
    """Names of rows from a column of the metadata; the label must be one, too."""
    for what, name in (("id", choice.id), ("label", choice.label)):
        if name is not None and name not in table.metadata:
            raise ValueError(
                f"{table.source}: {what}={name!r} is not there; "
                f"it has {shorten([*table.metadata]) or 'no columns'}"
            )
    wanted = choice.columns or wanted_like(choice, table.columns or ())
    if wanted is not None:
        table = _some_columns(table, wanted)
    if choice.id is None:
        return table
    rest = {name: values for name, values in table.metadata.items() if name != choice.id}
    return replace(table, names=np.asarray(table.metadata[choice.id]).astype(str), metadata=rest)


def _some_columns(table: Table, wanted: tuple[str, ...]) -> Table:
    names = table.columns or tuple(str(i) for i in range(table.X.shape[1]))
    used = chosen_columns(table.source, wanted, names, dict.fromkeys(names))
    at = {name: i for i, name in enumerate(names)}
    return replace(
        table,
        X=_in_memory(table.X)[:, [at[name] for name in used]],
        columns=tuple(used),
        taken=tuple(used),
        pictures=None,
        left_out={**table.left_out, f"{len(names) - len(used)} columns": "not asked for"},
    )


def _in_memory(rows: Any) -> Any:
    return rows if sparse.issparse(rows) else np.asarray(rows[:])


def read_anndata(path: Path, choice: Choice, key: str | None) -> Table:
    """Cells: obsm['X_pca'] if there, else X, or by key (X, obsm/…, layers/…); obs is metadata."""
    anndata = require("anndata", path)
    try:
        data = anndata.read_zarr(path) if path.is_dir() else anndata.read_h5ad(path)
    except (OSError, KeyError, ValueError, AttributeError) as error:
        raise FileFormatError(f"{path} cannot be read as AnnData ({error})") from error
    name = key or ("obsm/X_pca" if "X_pca" in data.obsm else "X")
    where, _, entry = name.partition("/")
    holders = {"X": {"": data.X}, "obsm": data.obsm, "layers": data.layers}
    if where not in holders or entry not in holders[where] or (data.X is None and where == "X"):
        names = [
            *(f"obsm/{each}" for each in data.obsm),
            *(f"layers/{each}" for each in data.layers),
        ]
        names = names if data.X is None else ["X", *names]
        first = names[0] if names else "obsm/…"
        raise ValueError(
            f"{path}: key={name!r} is not there; it has {shorten(names) or 'no arrays'}: "
            f"choose one with key={first!r} (--key {first})"
        )
    X = holders[where][entry]
    X = (
        X.to_numpy()
        if hasattr(X, "to_numpy")
        else X.tocsr()
        if hasattr(X, "tocsr")
        else np.asarray(X)
    )
    metadata = {str(column): _column(data.obs[column]) for column in data.obs}
    cells = np.asarray(data.obs_names.astype(str), dtype=object)
    left_out = {column: "metadata" for column in metadata}
    columns = tuple(map(str, data.var_names)) if where != "obsm" else None
    table = Table(X, columns, cells, metadata, f"{path} ({name})", left_out, taken=columns)
    return with_id(table, choice)


def _column(values: Any) -> Any:
    found = values.to_numpy()
    return found if found.dtype.kind in "uifb" else np.array([str(v) for v in found], dtype=object)
