"""Validation: user input becomes the arrays of the stages, checked once, copied only if needed."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import check_array

from ..arrays import Array, blocks
from ..habits import did_you_mean
from ..native import kernels
from ..threads import map_blocks
from .kinds import (
    check_dtype,
    check_exact,
    check_n_rows,
    check_rows_kind,
    first_of,
    place_of,
    survives,
)

# Integers of up to 16 bits and float16 are exact in float32; anything wider goes to float64.
_EXACT_IN_FLOAT32 = {np.dtype(t) for t in ("f2", "f4", "i1", "u1", "i2", "u2", "?")}
# types that the library reads as they are
KEPT = {np.dtype(t) for t in ("u1", "i1", "f2", "f4", "f8")}
LARGEST = 1e100  # squares and their sums must stay finite in float64


def as_rows(
    X: Any, *, dtype: Any = None, name: str = "X", min_rows: int = 1, n_threads: int = 1
) -> Any:
    """A finite C-contiguous array of a kept type, or a canonical CSR matrix; X is not changed."""
    check_rows_kind(X, name)
    X = check_array(
        X,
        accept_sparse="csr",
        dtype="numeric",
        ensure_all_finite=False,
        ensure_min_samples=min_rows,
        input_name=name,
        copy=False,
    )
    return cast_rows(X, dtype=dtype, name=name, n_threads=n_threads)


def row_dtype(dtype: Any) -> np.dtype[Any]:
    """The type that rows of this type are kept in: the narrowest that changes no value.

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


def work_dtype_of(X: Any, n_threads: int = 1) -> np.dtype[Any]:
    """`work_dtype` by values: float32 if it holds every value of X exactly, whatever type X has.

    X is not copied.

    So the same numbers give the same result as float32, float64 or integers.

    Examples
    --------
    >>> str(work_dtype_of(np.array([[0.5, 3.0]]))), str(work_dtype_of(np.array([[0.1]])))
    ('float32', 'float64')
    """
    values = X.data if sparse.issparse(X) else X
    differs = threading.Event()
    if work_dtype(values.dtype) == np.float32 or values.size == 0:
        return np.dtype(np.float32)

    def look(part: slice) -> None:
        if not differs.is_set() and not survives(values[part], np.float32).all():
            differs.set()

    width = values.size // len(values)
    look(slice(0, max(1, 10_000 // width)))  # mostly this decides
    map_blocks(
        look, [] if differs.is_set() else blocks(len(values), width, values=200_000), n_threads
    )
    return np.dtype(np.float64 if differs.is_set() else np.float32)


def cast_rows(
    X: Any, *, dtype: Any = None, name: str = "X", first_row: int = 0, n_threads: int = 1
) -> Any:
    """The second half of `as_rows`, for arrays and CSR matrices that scikit-learn has checked.

    `first_row`: the number of the first row in messages, where X is a part of what the user gave.
    """
    check_n_rows(X.shape[0], name)
    if X.dtype.kind == "O":  # as scikit-learn does, except for lists
        X = X.astype(np.float64)
    check_dtype(X.dtype, name)
    csr = _own_csr(X, name) if sparse.issparse(X) else None
    values = X if csr is None else csr.data
    check_exact(values, name, first_row=first_row, csr=csr)
    check_finite(values, name, dtype=dtype, first_row=first_row, csr=csr, n_threads=n_threads)
    if csr is None:
        return np.ascontiguousarray(X, dtype=dtype or row_dtype(X.dtype))
    csr.data = csr.data.astype(dtype or work_dtype(csr.dtype), copy=False)
    if not csr.has_canonical_format:
        csr = csr.copy()
        csr.sum_duplicates()
        check_finite(csr.data, name, first_row=first_row, csr=csr, n_threads=n_threads)
    return csr


def _own_csr(X: Any, name: str) -> Any:
    """A CSR matrix that shares the arrays of X, with 32-bit indices if they fit."""
    try:
        X = X.tocsr()
        csr = sparse.csr_matrix((X.data, X.indices, X.indptr), shape=X.shape)
        csr.check_format(full_check=True)  # kernels trust the indices
    except ValueError as error:
        raise ValueError(
            f"{name} is a damaged CSR matrix ({error}); build it again from rows, columns and "
            "values"
        ) from error
    return csr


def check_finite(
    values: Array,
    name: str,
    *,
    dtype: Any = None,
    first_row: int = 0,
    csr: Any = None,
    n_threads: int = 1,
) -> None:
    """Raise with the first bad row and column; no temporary copy of the whole.

    `values` are rows, from number `first_row` on, or the data of a CSR matrix; `dtype` is what they
    turn into.
    """
    most = min(LARGEST, float(np.finfo(dtype or np.float64).max))
    if values.dtype.kind in "biu" or largest_value(values, n_threads) <= most:  # false for NaN
        return
    for part in blocks(len(values), values.size // len(values)):
        bad = ~(np.abs(values[part].astype(np.float64)) <= most)
        if bad.any():
            at = first_of(bad)
            kind, advice = _what_is_wrong(float(values[part][at]), most)
            row, column = place_of(at, part.start, first_row, csr)
            raise ValueError(
                f"Input {name} contains {kind}, first at row {row}, column {column}; {advice}"
            )


def _what_is_wrong(value: float, most: float) -> tuple[str, str]:
    if np.isfinite(value):
        why = (
            "cannot be squared"
            if most == LARGEST
            else "do not fit into float32, which the fitted rows did"
        )
        return f"{value:g}", f"rescale it: values beyond {most:.2g} {why}"
    kind = "NaN" if np.isnan(value) else "infinity (inf)"
    return kind, "impute it (sklearn.impute.SimpleImputer) or drop the row"


def largest_value(values: Array, n_threads: int = 1) -> float:
    """Largest absolute value of an array of numbers, in blocks; NaN if there is one."""
    if values.size == 0:
        return 0.0
    parts = blocks(len(values), values.size // len(values), values=1_000_000)
    found = map_blocks(lambda part: kernels.largest(dense_block(values, part)), parts, n_threads)
    return float(np.max(found))  # NaN stays NaN


def dense_block(values: Array, rows: Any) -> Array:
    """Some rows as a C-contiguous float32 or float64 array.

    Narrow types widen to float32, which changes no value.
    """
    block = values[rows]
    return np.ascontiguousarray(block, dtype=work_dtype(block.dtype))


def check_option(name: str, value: Any, options: tuple[str, ...]) -> None:
    """Raise unless value is one of the options."""
    if not (isinstance(value, str) and value in options):
        hint = did_you_mean(value, options) if isinstance(value, str) else ""
        raise ValueError(
            f"{name}={value!r} is not an option{hint}; use one of {', '.join(map(repr, options))}"
        )


def check_number(name: str, value: Any, low: float, high: float, *, integer: bool = False) -> None:
    """Raise unless low <= value <= high (and integral)."""
    kinds = int | np.integer if integer else int | float | np.integer | np.floating
    is_number = isinstance(value, kinds) and not isinstance(value, bool)
    if not is_number or not low <= value <= high:
        kind = "a whole number" if integer else "a number"
        upper = f" and at most {high:g}" if np.isfinite(high) else ""
        raise ValueError(f"{name}={value!r}: must be {kind}, at least {low:g}{upper}")
