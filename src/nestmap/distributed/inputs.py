"""What dask gives: arrays and frames, recognised without importing dask, checked first."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..core.input.kinds import check_dtype, check_n_rows

_PIP = "pip install 'nestmap[dask]'"


def is_dask(X: Any) -> bool:
    """Whether X is a collection of dask; does not import dask, which made the collection."""
    return (
        hasattr(X, "__dask_graph__") and hasattr(X, "__dask_keys__") and hasattr(X, "npartitions")
    )


def is_frame(X: Any) -> bool:
    """Whether a collection of dask has columns."""
    return hasattr(X, "columns") and hasattr(X, "to_dask_array")


def import_distributed() -> Any:
    """The package, or an error that says how to get it."""
    try:
        import dask.array
        import dask.dataframe  # noqa: F401
        import distributed
    except ImportError as error:
        raise ImportError(
            f"a fit of dask arrays needs dask and distributed: {_PIP} ({error})"
        ) from error
    return distributed


def active_client() -> Any:
    """The client that runs what is submitted now."""
    distributed = import_distributed()
    try:
        return distributed.default_client()
    except ValueError as error:
        raise ValueError(
            "fit of a dask array: there is no client; start one first, distributed.Client() "
            "for the cores of this machine or Client('tcp://…') for a cluster, "
            "or pass an array: X.compute()"
        ) from error


def row_chunks(X: Any, name: str = "X") -> Any:
    """A dask array of numbers in chunks of whole rows of known sizes, from an array or a frame."""
    if is_frame(X):
        check_columns(X, name)
        X = X.to_dask_array(lengths=True)
    check_shape(X, name)
    sizes = X.chunks[0]
    if any(math.isnan(size) for size in sizes):
        raise ValueError(
            f"{name} has chunks of unknown sizes: call {name}.compute_chunk_sizes(), "
            "which reads it, and fit that"
        )
    check_n_rows(X.shape[0], name)
    if len(X.chunks[1]) > 1:
        X = X.rechunk({1: -1})
    if 0 in sizes:  # filters leave empty chunks, which hold nothing to be checked
        X = X.rechunk({0: tuple(size for size in sizes if size)})
    return X


def check_shape(X: Any, name: str = "X") -> None:
    """Raise unless a dask array has two dimensions and holds numbers."""
    if X.ndim != 2:
        raise ValueError(
            f"{name}: a dask array of {X.ndim} dimensions, shape {X.shape}; "
            "it must be 2-D, one row per point"
        )
    check_dtype(np.dtype(X.dtype), name)
    if math.isnan(X.shape[1]):
        raise ValueError(
            f"{name} has an unknown number of columns: "
            f"call {name}.compute_chunk_sizes(), and fit that"
        )
    if X.shape[1] == 0 or X.shape[0] == 0:
        raise ValueError(
            f"{name} has shape {X.shape}: there must be at least one row and one column"
        )


def check_columns(X: Any, name: str = "X") -> None:
    """Raise for columns of a dask frame that hold no numbers."""
    wrong = [
        f"{column!r} ({dtype})"
        for column, dtype in X.dtypes.items()
        if getattr(dtype, "kind", "O") not in "biuf"
    ]
    if wrong:
        more = f" and {len(wrong) - 8} more" if len(wrong) > 8 else ""
        raise ValueError(
            f"{name}: columns must hold real numbers, not {', '.join(wrong[:8])}{more}; "
            f"{name}.select_dtypes('number') leaves such columns out"
        )


def feature_names(X: Any) -> Any:
    """Names of the columns as scikit-learn keeps them: those of frames, if all are texts."""
    if not is_frame(X) or not all(isinstance(column, str) for column in X.columns):
        return None
    return np.asarray(X.columns, dtype=object)
