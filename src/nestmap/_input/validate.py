"""From what users pass to arrays that the stages take: checked once, copied only where needed."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import check_array

from .._arrays import Array, blocks
from .._native import kernels
from .._parallel import map_blocks, resolve_n_jobs

# Integers of up to 16 bits and float16 are exact in float32; anything wider goes to float64.
_EXACT_IN_FLOAT32 = {np.dtype(t) for t in ("f2", "f4", "i1", "u1", "i2", "u2", "?")}
KEPT = {np.dtype(t) for t in ("u1", "i1", "f2", "f4", "f8")}  # types that the library reads as they are
_LARGEST = 1e100  # squares and their sums must stay finite in float64


def as_rows(X: Any, *, dtype: Any = None, name: str = "X", min_rows: int = 1) -> Any:
    """A finite C-contiguous array of a kept type, or a canonical CSR matrix; X is not changed."""
    X = check_array(
        X, accept_sparse="csr", dtype="numeric", ensure_all_finite=False, ensure_min_samples=min_rows,
        input_name=name, copy=False,
    )  # fmt: skip
    return cast_rows(X, dtype=dtype, name=name)


def row_dtype(dtype: Any) -> np.dtype[Any]:
    """The type that rows of this type are kept in: the narrowest that the library reads without change of values.

    Examples
    --------
    >>> [str(row_dtype(t)) for t in ("uint8", ">f4", "bool", "int16", "int32", "float64")]
    ['uint8', 'float32', 'float32', 'float32', 'float64', 'float64']
    """
    native: np.dtype[Any] = np.dtype(dtype).newbyteorder("=")
    return native if native in KEPT else work_dtype(native)


def work_dtype(dtype: Any) -> np.dtype[Any]:
    """The type of centroids and of new rows, for rows of this type."""
    native: np.dtype[Any] = np.dtype(dtype).newbyteorder("=")
    return np.dtype(np.float32 if native in _EXACT_IN_FLOAT32 else np.float64)


def cast_rows(X: Any, *, dtype: Any = None, name: str = "X") -> Any:
    """The second half of `as_rows`, for arrays that scikit-learn has checked."""
    if sparse.issparse(X):
        X = sparse.csr_matrix(X, dtype=dtype or work_dtype(X.dtype))
        if not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
        check_finite(X.data, name, X)
        return X
    X = np.ascontiguousarray(X, dtype=dtype or row_dtype(X.dtype))
    check_finite(X, name)
    return X


def check_finite(values: Array, name: str, csr: Any = None) -> None:
    """Raise with the first bad row and column; no temporary copy of the whole."""
    if values.dtype.kind in "iu" or largest_value(values) <= _LARGEST:  # false for NaN
        return
    for part in blocks(len(values), values.size // len(values)):
        block = np.abs(values[part].astype(np.float64))
        bad = ~(block <= _LARGEST)
        if not bad.any():
            continue
        where = np.argwhere(bad)[0]
        value = values[part][tuple(where)]
        if csr is None:
            row, column = int(where[0]) + part.start, int(where[1])
        else:
            at = int(where[0]) + part.start
            row, column = int(np.searchsorted(csr.indptr, at, side="right")) - 1, int(csr.indices[at])
        kind = "NaN" if np.isnan(value) else "infinity (inf)" if np.isinf(value) else f"{value:g}"
        advice = (
            "rescale it: values beyond 1e100 cannot be squared"
            if np.isfinite(value)
            else "impute it (sklearn.impute.SimpleImputer) or drop the row"
        )
        raise ValueError(f"Input {name} contains {kind}, first at row {row}, column {column}; {advice}")


def largest_value(values: Array) -> float:
    """Largest absolute value of an array of a kept type, in blocks; NaN if there is one."""
    if values.size == 0:
        return 0.0
    parts = blocks(len(values), values.size // len(values), values=1_000_000)
    found = map_blocks(lambda part: kernels.largest(dense_block(values, part)), parts, resolve_n_jobs(None))
    return float(np.max(found))  # NaN stays NaN


def dense_block(values: Array, rows: Any) -> Array:
    """Some rows as a C-contiguous float32 or float64 array: narrow types widen to float32, which changes no value."""
    block = values[rows]
    return np.ascontiguousarray(block, dtype=work_dtype(block.dtype))


def check_option(name: str, value: Any, options: tuple[str, ...]) -> None:
    """Raise unless value is one of the options."""
    if not (isinstance(value, str) and value in options):
        raise ValueError(f"{name}={value!r} is not an option; use one of {', '.join(map(repr, options))}")


def check_number(name: str, value: Any, low: float, high: float, *, integer: bool = False) -> None:
    """Raise unless low <= value <= high (and integral)."""
    is_number = isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
    if not is_number or (integer and int(value) != value) or not low <= value <= high:
        kind = "a whole number" if integer else "a number"
        upper = f" and at most {high:g}" if np.isfinite(high) else ""
        raise ValueError(f"{name}={value!r}: must be {kind}, at least {low:g}{upper}")
