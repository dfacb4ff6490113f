"""What rows may hold: real numbers that float64 can hold, none of them masked."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from ..arrays import Array, blocks

MAX_ROWS = 2**31 - 1  # kernels number rows with 32 bits
_LARGEST_EXACT = 2**53  # float64 holds every integer up to this one
_ADVICE = {
    "M": "count seconds: (X - X.min()) / np.timedelta64(1, 's')",
    "m": "count seconds: X / np.timedelta64(1, 's')",
    "c": "pass X.real, or real and imaginary parts as columns (Complex data not supported)",
}


def check_rows_kind(X: Any, name: str = "X") -> None:
    """Raise for input that NumPy would convert to numbers with a silent loss.

    X is as the user gave it, not copied.

    Masked values, times, complex numbers, integers that are rounded because a frame or a list also
    holds fractions. To be called before scikit-learn's validation, which does not tell any more.
    """
    shape = getattr(X, "shape", None)
    if isinstance(shape, tuple) and shape:
        check_n_rows(shape[0], name)
        if len(shape) > 2:
            raise ValueError(
                f"{name} has {len(shape)} dimensions, shape {shape}; it must be 2-D, one row per "
                f"point: {name}.reshape(len({name}), -1)"
            )
    if isinstance(X, np.ma.MaskedArray):
        _check_mask(X, name)
    if hasattr(X, "dtypes") and hasattr(X, "columns"):
        _check_frame(X, name)
    elif isinstance(X, list | tuple):
        _check_objects(X, name)
    elif isinstance(dtype := getattr(X, "dtype", None), np.dtype):
        if dtype.kind != "O":
            check_dtype(dtype, name)
        elif isinstance(X, np.ndarray) and X.ndim == 2:
            _check_objects(X, name)


def refuse_lazy(X: Any, name: str) -> None:
    """Raise for a lazy query that was not collected (polars, narwhals, ibis …)."""
    if type(X).__name__ == "LazyFrame" and hasattr(X, "collect"):
        raise TypeError(f"{name} is a LazyFrame, a query without rows: pass {name}.collect()")


def read_dlpack(X: Any, name: str) -> Any:
    """An object that speaks DLPack only (CuPy-like arrays on the CPU, …) as an array.

    There is no copy; other objects are returned as they are.
    """
    others = ("__array__", "__array_interface__", "__dask_graph__", "chunks")
    if not hasattr(X, "__dlpack__") or any(hasattr(X, other) for other in others):
        return X
    try:
        return np.from_dlpack(X)
    except (AttributeError, BufferError, RuntimeError, TypeError, ValueError) as error:
        raise TypeError(
            f"{name} is a {type(X).__name__}, whose DLPack memory cannot be read here ({error}); "
            "bring it to the CPU and to a NumPy array first"
        ) from error


def check_n_rows(n: Any, name: str) -> None:
    """Raise for more rows than 32 bits can number."""
    if isinstance(n, int | np.integer) and n > MAX_ROWS:
        raise ValueError(
            f"{name} has {n} rows; at most {MAX_ROWS} (2**31 - 1) are possible: fit a sample of "
            "them, and transform the others in parts"
        )


def check_dtype(dtype: Any, what: str) -> None:
    """Raise unless values of this type are real numbers."""
    if dtype.kind not in "biuf":
        kind = "records" if getattr(dtype, "names", None) else f"values of type {dtype}"
        advice = _ADVICE.get(dtype.kind, "X.astype('float32')")
        raise ValueError(f"{what} holds {kind}; it must hold real numbers: {advice}")


def check_exact(values: Array, name: str, *, first_row: int = 0, csr: Any = None) -> None:
    """Raise for the first integer or long double that float64 cannot hold; all other numbers pass.

    `values` are rows, from number `first_row` on, or the data of a CSR matrix.
    """
    if (
        values.dtype.itemsize < 8
        or values.dtype.newbyteorder("=") == np.float64
        or values.size == 0
    ):
        return
    for part in blocks(len(values), values.size // len(values)):
        block = values[part]
        if block.dtype.kind in "iu" and _are_small(block):
            continue
        lost = ~survives(block, np.float64) & (block == block)  # NaN is told elsewhere
        if lost.any():
            at = first_of(lost)
            _raise_rounded(block[at], name, *place_of(at, part.start, first_row, csr))


def survives(values: Array, dtype: Any) -> Array:
    """Which values a float type holds exactly, told by a round trip.

    Examples
    --------
    >>> survives(np.array([2**24, 2**24 + 1]), np.float32).tolist()
    [True, False]
    >>> survives(np.array([0.5, 0.1]), np.float32).tolist()
    [True, False]
    """
    with np.errstate(all="ignore"):
        narrow = values.astype(dtype)
        if values.dtype.kind not in "iu":
            return np.asarray(narrow == values)
        # compared as integers: NumPy would compare integers with floats as floats.
        # Back there must be room.
        fits = narrow < 2.0 ** np.iinfo(values.dtype).bits / (2 if values.dtype.kind == "i" else 1)
        return np.asarray(fits & (narrow.astype(values.dtype) == values))


def first_of(found: Array) -> tuple[int, ...]:
    """Index of the first true value."""
    return tuple(int(i) for i in np.unravel_index(int(found.argmax()), found.shape))


def place_of(at: tuple[int, ...], start: int, first_row: int, csr: Any) -> tuple[int, int]:
    """Row and column of a value in a block from `start` on: of rows, or of data of a CSR matrix."""
    if csr is None:
        return first_row + start + at[0], at[1] if len(at) > 1 else 0
    k = start + at[0]
    return first_row + int(np.searchsorted(csr.indptr, k, side="right")) - 1, int(csr.indices[k])


def _raise_rounded(value: Any, name: str, row: int, column: Any) -> None:
    text = (
        "an integer beyond 10**30"
        if isinstance(value, int) and abs(value) >= 10**30
        else str(value)
    )
    raise ValueError(
        f"Input {name} contains {text}, first at row {row}, column {column!r}, which float64 "
        "cannot hold exactly; subtract an offset or rescale, or round it yourself: "
        "X.astype('float64')"
    )


def _raise_masked(n: int, name: str, row: int, column: int) -> None:
    raise ValueError(
        f"{name} has masked values ({n}), the first at row {row}, column {column}; fill them in "
        "(X.filled(…), or X.filled(np.nan) and sklearn.impute.SimpleImputer), or drop their rows"
    )


def _check_mask(X: Any, name: str, first_row: int = 0) -> None:
    mask = np.atleast_2d(np.ma.getmaskarray(X)) if np.ma.is_masked(X) else np.zeros((1, 1), bool)
    if mask.any():
        _raise_masked(int(mask.sum()), name, *place_of(first_of(mask), 0, first_row, None))


def _check_frame(X: Any, name: str) -> None:
    dtypes = [*X.dtypes]
    alike = (
        len({str(dtype) for dtype in dtypes}) == 1
        and isinstance(dtypes[0], np.dtype)
        and dtypes[0].kind != "O"
    )
    wrong: dict[
        Any, tuple[str, str]
    ] = {}  # columns without numbers: what they hold, and the way out
    for j, (column, dtype) in enumerate(zip(X.columns, dtypes, strict=True)):
        kind = getattr(dtype, "kind", "O")
        if kind in _ADVICE:
            wrong[column] = f"values of type {dtype}", _ADVICE[kind]
        if kind in _ADVICE or alike or kind in "bf":
            continue
        # The common type of all columns is perhaps too narrow for the integers of this one.
        given = X.iloc[:, j] if hasattr(X, "iloc") else X[column]
        values = np.asarray(given)
        if found := _no_numbers(column, dtype, values):
            wrong[column] = found
            continue
        # integers beside missing ones
        if values.dtype.kind == "f" and (np.abs(values) >= _LARGEST_EXACT).any():
            values = np.array([*given], dtype=object)
        if values.dtype.kind == "O" or (values.dtype.kind in "iu" and not _are_small(values)):
            _check_objects(values[:, None], name, column)
    if wrong:
        _raise_columns(wrong, name, hasattr(X, "select_dtypes"))


def _no_numbers(column: Any, dtype: Any, values: Array) -> tuple[str, str] | None:
    """What a column holds that is no number, and what to do about it."""
    if str(dtype) == "category":
        return "categories", f"one column of 0 and 1 for each, pandas.get_dummies(X[{column!r}])"
    if values.dtype.kind in _ADVICE:
        return f"values of type {values.dtype}", _ADVICE[values.dtype.kind]
    if values.dtype.kind not in "OUS":
        return None
    try:
        values.astype(np.float64)
    except (ValueError, TypeError):
        text = next((value for value in values.tolist() if isinstance(value, str)), None)
        if text is None:
            return None  # told by scikit-learn
        brief = text if len(text) <= 30 else text[:29] + "…"
        return (
            f"texts, such as {brief!r}",
            "sklearn's TfidfVectorizer turns long ones into rows, for metric='cosine'",
        )
    return None


def _raise_columns(wrong: dict[Any, tuple[str, str]], name: str, is_pandas: bool) -> None:
    """One error for all columns that hold no numbers."""
    first, *others = wrong
    held, advice = wrong[first]
    also = ", ".join(f"{column!r} ({wrong[column][0].split(',')[0]})" for column in others[:8])
    more = f" and {len(others) - 8} more" if len(others) > 8 else ""
    raise ValueError(
        f"{name}: column {first!r} holds {held}; it must hold real numbers: {advice}."
        + (f" The same goes for {also}{more}." if others else "")
        + (f" {name}.select_dtypes('number') leaves" if is_pandas else " Or leave")
        + f" such columns out, and plot(model, metadata={name}) names clusters by them"
    )


def _are_small(integers: Array) -> bool:
    """Whether float64 holds all of them because none has more than 53 bits."""
    if integers.dtype.itemsize < 8 or integers.size == 0:
        return True
    return bool(integers.min() >= -_LARGEST_EXACT and integers.max() <= _LARGEST_EXACT)


def _check_objects(rows: Iterable[Any], name: str, column: Any = None) -> None:
    """The same for rows of Python objects; `column`: the name of the only one."""
    for i, row in enumerate(rows):
        if isinstance(row, np.ma.MaskedArray):
            _check_mask(row, name, i)
        values = row.tolist() if isinstance(row, np.ndarray) and row.dtype.kind in "iuO" else row
        if not isinstance(values, list | tuple) or {*map(type, values)} == {float}:
            continue
        for j, value in enumerate(values):
            if value is np.ma.masked:
                _raise_masked(1, name, i, j)
            if (
                isinstance(value, int | np.integer)
                and not -_LARGEST_EXACT <= value <= _LARGEST_EXACT
                and not _is_whole(int(value))
            ):
                _raise_rounded(int(value), name, i, j if column is None else column)


def _is_whole(value: int) -> bool:
    """Whether float64 holds an integer."""
    try:
        return int(float(value)) == value
    except OverflowError:
        return False
