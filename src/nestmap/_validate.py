"""From what users pass to arrays that the stages take: checked once, copied only where needed."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import check_array

from ._native import kernels
from ._native.twins import Array, blocks
from ._parallel import resolve_n_jobs

# Integers of up to 16 bits and float16 are exact in float32; anything wider goes to float64.
_EXACT_IN_FLOAT32 = {np.dtype(t) for t in ("f2", "f4", "i1", "u1", "i2", "u2", "?")}
_LARGEST = 1e100  # squares and their sums must stay finite in float64


def as_rows(X: Any, *, dtype: Any = None, name: str = "X", min_rows: int = 1) -> Any:
    """A finite C-contiguous float32 or float64 array, or a canonical CSR matrix; X is not changed."""
    X = check_array(
        X, accept_sparse="csr", dtype="numeric", ensure_all_finite=False, ensure_min_samples=min_rows,
        input_name=name, copy=False,
    )  # fmt: skip
    return cast_rows(X, dtype=dtype, name=name)


def cast_rows(X: Any, *, dtype: Any = None, name: str = "X") -> Any:
    """The second half of `as_rows`, for arrays that scikit-learn has checked."""
    if dtype is None:
        dtype = np.float32 if X.dtype in _EXACT_IN_FLOAT32 else np.float64
    if sparse.issparse(X):
        X = sparse.csr_matrix(X, dtype=dtype)
        if not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
        check_finite(X.data, name, X)
        return X
    X = np.ascontiguousarray(X, dtype=dtype)
    check_finite(X, name)
    return X


def check_finite(values: Array, name: str, csr: Any = None) -> None:
    """Raise with the first bad row and column; no temporary copy of the whole."""
    if kernels.largest(values, resolve_n_jobs(None)) <= _LARGEST:  # false for NaN
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
