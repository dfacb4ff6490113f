"""What counts as rows of numbers, in which type they are worked on, and what is refused."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from decimal import Decimal
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from conftest import digits
from scipy import sparse

from nestmap import HNNE, first_neighbors, metrics
from nestmap.core import threads as _parallel
from nestmap.core.input.kinds import MAX_ROWS, check_exact, check_rows_kind, survives
from nestmap.core.input.source import load_source, open_rows
from nestmap.core.input.validate import as_rows, cast_rows, largest_value, work_dtype_of

MODEL = HNNE().fit(digits())
ENTRIES: dict[str, Callable[[Any], Any]] = {
    "fit": lambda X: HNNE().fit(X),
    "plan": lambda X: HNNE().plan(X),
    "transform": MODEL.transform,
    "predict": MODEL.predict,
    "first_neighbors": first_neighbors,
    "trustworthiness": lambda X: metrics.trustworthiness(X, MODEL.embedding_),
}
anywhere = pytest.mark.parametrize("use", ENTRIES.values(), ids=ENTRIES.keys())


def with_value(dtype: Any, value: Any, row: int = 70, column: int = 3) -> np.ndarray:
    X = digits().astype(dtype)
    X[row, column] = value
    return X


# --- masked
# ----------------------------------------------------------------------------------------


@anywhere
def test_masked_values_are_refused(use: Callable[[Any], Any]) -> None:
    X = np.ma.masked_array(digits(), mask=False)
    X[5, 2] = X[9, 0] = np.ma.masked
    with pytest.raises(
        ValueError,
        match=r"X has masked values \(2\), the first at row 5, column 2; .*SimpleImputer",
    ):
        use(X)


def test_masks_without_masked_values_are_fine() -> None:
    for X in (
        np.ma.masked_array(digits()),
        np.ma.masked_array(digits(), mask=np.zeros(digits().shape, bool)),
    ):
        np.testing.assert_array_equal(as_rows(X), digits())


def test_masked_values_inside_of_lists() -> None:
    rows = [[1.0, 2.0], np.ma.masked_array([3.0, 4.0], mask=[False, True])]
    with pytest.raises(ValueError, match=r"row 1, column 1"):
        as_rows(rows)
    with pytest.raises(ValueError, match=r"row 0, column 1"):
        as_rows([[1.0, np.ma.masked], [3.0, 4.0]])


# --- not numbers
# -----------------------------------------------------------------------------------


@anywhere
@pytest.mark.parametrize(
    "dtype, advice", [("M8[s]", "count seconds"), ("m8[ms]", "count seconds"), ("c8", "X.real")]
)
def test_times_and_complex_numbers_are_refused(
    use: Callable[[Any], Any], dtype: str, advice: str
) -> None:
    X = digits().astype("i8").astype(dtype)
    with pytest.raises(
        ValueError, match=rf"X holds values of type {X.dtype.name.split('[')[0]}.*: .*{advice}"
    ):
        use(X)


@pytest.mark.parametrize(
    "X, message",
    [
        (
            pd.DataFrame({"a": [0.5, 1], "when": pd.to_datetime(["2020-01-01", "2021-01-01"])}),
            r"column 'when' .*datet",
        ),
        (
            pd.DataFrame({"when": pd.to_datetime(["2020-01-01", "2021-01-01"], utc=True)}),
            r"column 'when' .*UTC",
        ),
        (pd.DataFrame({"took": pd.to_timedelta([1, 2], unit="s")}), r"column 'took' .*timedelta"),
        (
            pd.DataFrame({"a": [1.0, 2.0], "z": [1j, 2.0]}),
            r"column 'z' .*complex128.*Complex data not supported",
        ),
        (
            [[np.datetime64("2020-01-01")], [np.datetime64("2020-01-02")]],
            r"X holds values of type datetime64",
        ),
        (np.zeros(3, dtype="f4,i4"), "holds records"),
        (np.array([["1", "2"]]), "values of type <U1; it must hold real numbers"),
        (sparse.csr_matrix(np.eye(2, dtype=complex)), "X holds values of type complex128"),
    ],
)
def test_frames_lists_and_others(X: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        as_rows(X)


def test_columns_without_numbers_are_named_with_the_way_out() -> None:
    frame = pd.DataFrame(
        {
            "size": [1.0, 2.0],
            "name": ["an apple of the usual kind and size", "b"],
            "kind": pd.Categorical(["x", "y"]),
            "when": pd.to_datetime(["2020-01-01", "2021-01-01"]),
        }
    )
    with pytest.raises(ValueError) as found:
        HNNE().fit(frame)
    said = str(found.value)
    assert said.startswith(
        "X: column 'name' holds texts, such as 'an apple of the usual kind an…'; "
    )
    assert (
        "TfidfVectorizer" in said
        and "'kind' (categories), 'when' (values of type datetime64" in said
    )
    assert "X.select_dtypes('number')" in said and "metadata=X" in said
    for column, advice in (("kind", r"get_dummies\(X\['kind'\]\)"), ("when", "count seconds")):
        with pytest.raises(ValueError, match=rf"column '{column}' holds .*{advice}"):
            HNNE().fit(frame[["size", column]])
    with pytest.raises(
        ValueError, match="column 'n' holds categories"
    ):  # numbers that stand for kinds are none
        as_rows(pd.DataFrame({"n": pd.Categorical([1, 2])}))
    as_rows(pd.DataFrame({"n": ["1.5", "2"]}, dtype=object))


def test_frames_of_other_libraries() -> None:
    """A type of column that NumPy does not know, as polars has."""
    when = np.array(["2020-01-01"], "M8[D]")

    class Frame(dict):  # type: ignore[type-arg]
        columns, dtypes = ["a", "when"], [SimpleNamespace(), SimpleNamespace()]

    with pytest.raises(ValueError, match=r"column 'when' holds values of type datetime64"):
        check_rows_kind(Frame(a=np.ones(1), when=when))
    with pytest.raises(
        ValueError, match=r"column 'when' holds texts, such as 'x'; .* Or leave such columns out"
    ):
        check_rows_kind(Frame(a=np.ones(1), when=np.array(["x"])))
    check_rows_kind(
        Frame(a=np.ones(1), when=np.array(["2.5"], dtype=object))
    )  # scikit-learn reads numbers


def test_objects_are_what_scikit_learn_makes_of_them() -> None:
    X = np.array([[1, 2.5], [Decimal("0.5"), True]], dtype=object)
    np.testing.assert_array_equal(as_rows(X), [[1, 2.5], [0.5, 1]])
    np.testing.assert_array_equal(
        as_rows([[2**70, 2], [Decimal("0.5"), 4]]), [[2.0**70, 2], [0.5, 4]]
    )
    for bad in ([[datetime.date(2020, 1, 1), 1.0]], [[{}, 1.0]], [["a", 1.0]]):
        with pytest.raises((TypeError, ValueError)):
            as_rows(np.array(bad, dtype=object))


# --- numbers that float64 cannot hold
# -----------------------------------------------------------------

BIG = 2**53 + 1


@pytest.mark.parametrize(
    "use", [use for name, use in ENTRIES.items() if name != "plan"]
)  # a plan reads few rows
@pytest.mark.parametrize("dtype", ["i8", "u8", ">i8"])
def test_integers_that_would_be_rounded_are_refused(use: Callable[[Any], Any], dtype: str) -> None:
    with pytest.raises(
        ValueError, match=rf"X contains {BIG}, first at row 70, column 3, which float64 cannot hold"
    ):
        use(with_value(dtype, BIG))


@pytest.mark.skipif(np.finfo(np.longdouble).nmant <= 52, reason="long double is float64 here")
def test_long_doubles_that_would_be_rounded_are_refused() -> None:
    for value in (1 + np.finfo(np.longdouble).eps, np.longdouble("1e4000")):
        with pytest.raises(
            ValueError, match=r"first at row 70, column 3, which float64 cannot hold exactly"
        ):
            as_rows(with_value("g", value))
    with pytest.raises(ValueError, match="NaN, first at row 70, column 3"):
        as_rows(with_value("g", np.nan))


def test_wide_types_with_values_that_fit() -> None:
    for dtype, value in (
        ("i8", -(2**63)),
        ("i8", 2**53),
        ("u8", 2**63),
        ("u8", 2**64 - 2**11),
        ("g", 0.1),
    ):
        X = with_value(dtype, value)
        found = as_rows(X)
        assert found.dtype == np.float64 and (found == X).all()


@pytest.mark.parametrize(
    "X, place",
    [
        ([[0.5, 1], [2.5, BIG]], "row 1, column 1"),
        ([[0.5, 1], [2.5, 10**400]], "integer beyond .* row 1, column 1"),
        (((0.5, np.int64(-BIG)),), "row 0, column 1"),
        ([np.array([0, BIG]), np.array([0.5, 1])], "row 0, column 1"),
        (np.array([[0.5, 1], [2.5, BIG]], dtype=object), "row 1, column 1"),
        (pd.DataFrame({"a": [0.5, 1], "id": [3, BIG]}), "row 1, column 'id'"),
        (
            pd.DataFrame({"a": np.array([1, -1]), "id": np.array([3, BIG], "u8")}),
            "row 1, column 'id'",
        ),
        (pd.DataFrame({"id": [3, BIG, None]}, dtype="Int64"), "row 1, column 'id'"),
        (pd.DataFrame({"id": [3, BIG]}, dtype=object), "row 1, column 'id'"),
        (pd.DataFrame({"a": [3, BIG], "b": [1, 2]}), "row 1, column 0"),
        (sparse.csr_matrix(np.array([[0, 0], [0, 0], [0, BIG]])), "row 2, column 1"),
    ],
)
def test_integers_beside_fractions_and_in_other_containers(X: Any, place: str) -> None:
    with pytest.raises(ValueError, match=rf"{place}.* cannot hold exactly"):
        as_rows(X)


def test_frames_with_small_integers_pass() -> None:
    frame = pd.DataFrame(
        {"a": [0.5, 1], "id": [3, 2**53], "few": np.array([1, 2], "i2"), "yes": [True, False]}
    )
    np.testing.assert_array_equal(as_rows(frame), frame.to_numpy(dtype=float))
    frame = pd.DataFrame({"id": [3, None, 4]}, dtype="Int64")
    with pytest.raises(ValueError, match="NaN, first at row 1, column 0"):
        as_rows(frame)


class Rows:
    """Rows by slices."""

    def __init__(self, rows: np.ndarray) -> None:
        self.rows, self.shape, self.dtype = rows, rows.shape, rows.dtype

    def __getitem__(self, part: slice) -> np.ndarray:
        return self.rows[part]


def test_sources_tell_the_row_of_the_whole() -> None:
    with pytest.raises(ValueError, match=rf"contains {BIG}, first at row 1200, column 3"):
        load_source(open_rows(Rows(with_value("i8", BIG, row=1200))), 10**9)
    with pytest.raises(ValueError, match=rf"contains {BIG}, first at row 1200, column 3"):
        open_rows(Rows(with_value("i8", BIG, row=1200))).block(slice(1000, 1500))


def test_checks_go_block_by_block(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nestmap.core.arrays.BLOCK_VALUES", 100)
    X = with_value("i8", BIG, row=333)
    with pytest.raises(ValueError, match="row 333, column 3"):
        check_exact(X, "X")
    with pytest.raises(ValueError, match="row 1333, column 3"):
        cast_rows(X, first_row=1000)
    with pytest.raises(ValueError, match="NaN, first at row 1333, column 3"):
        cast_rows(with_value("f4", np.nan, row=333), first_row=1000)


def test_what_survives() -> None:
    whole = np.array([0, 2**24, 2**24 + 1, -(2**63), 2**63 - 1, 2**53 + 2])
    assert survives(whole, "f4").tolist() == [True, True, False, True, False, False]
    assert survives(whole, "f8").tolist() == [True, True, True, True, False, True]
    assert survives(np.array([2**64 - 1, 2**63], "u8"), "f8").tolist() == [False, True]
    assert survives(np.array([0.1, -0.0, 1e-300, 1e300, np.inf]), "f4").tolist() == [
        False,
        True,
        False,
        False,
        True,
    ]


# --- the type that rows are worked on
# ---------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["u1", "f2", "f4", "f8", "i4", "i8", ">f8", "g", "?"])
def test_values_decide_the_type(dtype: str) -> None:
    X = digits().astype(dtype)
    assert work_dtype_of(X) == np.float32
    if dtype != "f2":  # SciPy has none
        assert work_dtype_of(sparse.csr_matrix(X.astype(X.dtype.newbyteorder("=")))) == np.float32


@pytest.mark.parametrize(
    "value, dtype",
    [(0.1, "f8"), (1e-300, "f8"), (1e300, "f8"), (2**24 + 1, "i4"), (2**60 + 1, "i8")],
)
def test_one_value_is_enough(value: float, dtype: str) -> None:
    X = np.zeros((40_000, 30), dtype)
    X[39_000, 7] = value
    kept = X.copy()
    assert work_dtype_of(X) == work_dtype_of(X, 3) == np.float64
    assert work_dtype_of(sparse.csr_matrix(X)) == np.float64
    np.testing.assert_array_equal(X, kept)


def test_types_of_nothing() -> None:
    assert work_dtype_of(np.zeros((0, 3))) == work_dtype_of(sparse.csr_matrix((3, 3))) == np.float32


def test_the_first_values_decide_before_the_rest_is_read() -> None:
    class Watched(np.ndarray):
        read = 0

        def __getitem__(self, part: Any) -> Any:
            Watched.read += len(found := np.asarray(self)[part])
            return found

    X = np.full((10**6, 2), 0.1).view(Watched)
    assert work_dtype_of(X) == np.float64 and Watched.read <= 10_000


# --- too many rows
# -----------------------------------------------------------------------------------


@anywhere
def test_more_rows_than_can_be_numbered(use: Callable[[Any], Any]) -> None:
    X = np.broadcast_to(np.zeros(1, np.uint8), (MAX_ROWS + 1, 64))
    with pytest.raises(
        ValueError, match=r"X has 2147483648 rows; at most 2147483647 .*fit a sample"
    ):
        use(X)


def test_more_rows_in_sources_and_cast_rows() -> None:
    X = np.broadcast_to(np.zeros(1, np.uint8), (MAX_ROWS + 1, 2))
    for use in (cast_rows, lambda X: open_rows(Rows(X))):
        with pytest.raises(ValueError, match="2147483648 rows; at most 2147483647"):
            use(X)
    check_rows_kind(X[:MAX_ROWS])


# --- beyond float32
# ----------------------------------------------------------------------------------


def test_new_rows_that_the_fitted_type_cannot_hold() -> None:
    X = digits()[:3].astype(np.float64)
    X[1, 4] = -1e60
    with pytest.raises(
        ValueError,
        match=r"X contains -1e\+60, first at row 1, column 4; rescale it: .*3\.4e\+38.*float32",
    ):
        cast_rows(X, dtype=np.float32)
    assert cast_rows(X).dtype == np.float64
    X[1, 4] = 1e101
    with pytest.raises(ValueError, match=r"values beyond 1e\+100 cannot be squared"):
        cast_rows(X)


# --- CSR
# --------------------------------------------------------------------------------------------


def messy() -> sparse.csr_matrix:
    """Unsorted, with duplicates and explicit zeros, indices of 64 bits; its arrays cannot be
    written.
    """
    rows = sparse.csr_matrix(digits()[:300])
    order = np.concatenate(
        [np.arange(a, b)[::-1] for a, b in zip(rows.indptr, rows.indptr[1:], strict=False)]
    )
    X = sparse.csr_matrix(rows.shape, dtype=rows.dtype)
    X.data = np.repeat(rows.data[order] / 2, 2)
    X.indices, X.indptr = (
        np.repeat(rows.indices[order], 2).astype("i8"),
        2 * rows.indptr.astype("i8"),
    )
    X.data[:2] = 0
    for array in (X.data, X.indices, X.indptr):
        array.flags.writeable = False
    return X


def test_csr_becomes_canonical_and_the_original_stays() -> None:
    X = messy()
    kept = [array.copy() for array in (X.data, X.indices, X.indptr)]
    found = as_rows(X)
    assert found.has_canonical_format and found.indices.dtype == found.indptr.dtype == np.int32
    assert (found != sparse.csr_matrix(X.toarray())).nnz == 0
    HNNE().fit(X)
    for array, before in zip((X.data, X.indices, X.indptr), kept, strict=True):
        np.testing.assert_array_equal(array, before)
        assert array.dtype == before.dtype


def test_canonical_csr_is_not_copied() -> None:
    for kind in (sparse.csr_matrix, sparse.csr_array):
        X = kind(digits())
        found = cast_rows(X)
        assert np.shares_memory(found.data, X.data) and np.shares_memory(found.indices, X.indices)
        wide = cast_rows(X, dtype=np.float64)
        assert wide.dtype == np.float64 and X.dtype == np.float32


def test_explicit_zeros_change_nothing() -> None:
    X = sparse.csr_matrix(digits()[:500])
    dense = X.toarray()
    indices = np.tile(np.arange(64), 500)
    full = sparse.csr_matrix((dense.ravel(), indices, np.arange(0, 64 * 501, 64)), shape=X.shape)
    assert full.nnz == dense.size
    a, b = HNNE().fit(X), HNNE().fit(full)
    for level, other in zip(a.hierarchy_, b.hierarchy_, strict=True):
        np.testing.assert_array_equal(level.members, other.members)
    np.testing.assert_array_equal(a.embedding_, b.embedding_)


@pytest.mark.parametrize(
    "value, kind", [(np.nan, "NaN"), (-np.inf, "infinity"), (1e200, r"1e\+200")]
)
def test_bad_values_of_csr_have_a_row_and_a_column(value: float, kind: str) -> None:
    X = np.zeros((50, 9))
    X[40, 1], X[40, 7], X[41, 0] = 1, value, value
    for matrix in (sparse.csr_matrix(X), sparse.csc_matrix(X), sparse.csr_array(X)):
        with pytest.raises(ValueError, match=rf"X contains {kind}.*, first at row 40, column 7"):
            as_rows(matrix)


def test_duplicates_that_sum_to_infinity() -> None:
    X = sparse.csr_matrix((2, 2), dtype=np.float32)
    X.data, X.indices, X.indptr = (
        np.full(2, 3e38, "f4"),
        np.zeros(2, "i4"),
        np.array([0, 0, 2], "i4"),
    )
    with pytest.raises(ValueError, match=r"infinity .*row 1, column 0"):
        cast_rows(X)


@pytest.mark.parametrize(
    "part, value", [("indices", 64), ("indices", -1), ("indptr", 10**6), ("indptr", -1)]
)
def test_damaged_csr(part: str, value: int) -> None:
    X = sparse.csr_matrix(digits()[:300])
    getattr(X, part)[5] = value
    with pytest.raises(ValueError, match=r"X is a damaged CSR matrix \(.*\); build it again"):
        cast_rows(X)


# --- threads
# ----------------------------------------------------------------------------------------


def test_no_threads_unless_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[int] = []

    class Pool(_parallel.ThreadPoolExecutor):
        def __init__(self, n: int) -> None:
            opened.append(n)
            super().__init__(n)

    with _parallel.single_threaded_blas():  # has looked for libraries before
        monkeypatch.setattr(_parallel, "ThreadPoolExecutor", Pool)
        monkeypatch.setattr(_parallel, "cpu_count", lambda: 4)
        X = np.zeros((30_000, 100), dtype=np.float32)
        X[-1, -1] = -7
        assert (
            largest_value(X) == 7
            and np.shares_memory(as_rows(X), X)
            and cast_rows(X.astype("f8")).dtype == np.float64
        )
        assert work_dtype_of(X.astype("f8")) == np.float32
        assert opened == []
        assert largest_value(X, 2) == 7 and np.shares_memory(as_rows(X, n_threads=3), X)
        assert opened == [2, 3]


class OnlyDLPack:
    """Memory that speaks nothing but DLPack."""

    def __init__(self, array: np.ndarray) -> None:
        self.array = array

    def __dlpack__(self, **options: Any) -> Any:
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self) -> Any:
        return self.array.__dlpack_device__()


def test_dlpack_is_read() -> None:
    X = digits()[:50].copy()  # NumPy 1.26 hands out no array that is only read
    model = HNNE().fit(OnlyDLPack(X))
    np.testing.assert_array_equal(model.embedding_, HNNE().fit(X).embedding_)
    np.testing.assert_array_equal(model.transform(OnlyDLPack(X)), model.embedding_)
    np.testing.assert_array_equal(first_neighbors(OnlyDLPack(X)).ids, first_neighbors(X).ids)


def test_dlpack_of_another_device_says_what_to_do() -> None:
    class OnGPU(OnlyDLPack):
        def __dlpack__(self, **options: Any) -> Any:
            raise BufferError("the memory is on device 2")

    with pytest.raises(TypeError, match=r"X is a OnGPU.*bring it to the CPU"):
        HNNE().fit(OnGPU(np.zeros((5, 2))))


def test_lazy_frames_are_to_be_collected() -> None:
    class LazyFrame:  # polars
        columns = ("a", "b")

        def collect(self) -> Any:
            return np.zeros((5, 2))

    for use in (HNNE().fit, first_neighbors):
        with pytest.raises(TypeError, match=r"LazyFrame.*X\.collect\(\)"):
            use(LazyFrame())


def test_more_threads_than_anybody_has() -> None:
    X = digits()[:50]
    np.testing.assert_array_equal(
        HNNE(n_jobs=10**9).fit(X).embedding_, HNNE(n_jobs=1).fit(X).embedding_
    )
