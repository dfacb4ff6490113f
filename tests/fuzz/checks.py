"""What must hold for every fit. A check yields what it finds wrong: a kind, and details."""

from __future__ import annotations

import pickle
import re
import traceback
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from nestmap import HNNE, FarRowsWarning, first_neighbors
from nestmap.errors import DominantColumnsWarning
from tools.flat import make_hnne

from .brute import check_neighbors
from .cases import KERNEL_METRICS, Case, arguments

Finding = tuple[str, str]  # kind of violation, details
BUDGET = "4GB"  # what the machine has left is not asked for each fit


@dataclass(eq=False)
class Fitted:
    """A case, fitted, and what several checks need of it."""

    case: Case
    model: HNNE

    @cached_property
    def rows(self) -> np.ndarray:
        """X as a float64 array."""
        X = self.case.X
        return np.asarray(X.toarray() if sparse.issparse(X) else X, dtype=np.float64)

    @cached_property
    def first_equal(self) -> np.ndarray:
        """For each row, the first row that it equals."""
        _, first, which = np.unique(self.rows + 0.0, axis=0, return_index=True, return_inverse=True)
        return np.asarray(first[which.ravel()])

    @property
    def has_ties(self) -> str:
        return "" if self.case.tie_free else " (perhaps ties)"

    def new_rows(self) -> Any:
        """Rows between those of X, in its form and type."""
        rng, n = np.random.default_rng(self.case.number), len(self.rows)
        a, b = rng.integers(n, size=(2, 6))
        rows = (self.rows[a] + 0.3 * (self.rows[b] - self.rows[a])).astype(self.case.X.dtype)
        rows = np.rint(rows) if self.case.parameters["metric"] in ("hamming", "jaccard") else rows
        return sparse.csr_matrix(rows) if sparse.issparse(self.case.X) else rows


def fit(case: Case, X: Any = None, **changes: Any) -> HNNE:
    X = case.X if X is None else X
    return make_hnne(max_memory=BUDGET, **(arguments(X, case.parameters) | changes)).fit(X)


def levels(model: HNNE) -> list[np.ndarray]:
    return [model.hierarchy_.labels(k) for k in range(model.hierarchy_.n_levels)]


def canonical(labels: np.ndarray) -> np.ndarray:
    """Clusters numbered by their first row: equal for equal partitions."""
    _, first, which = np.unique(labels, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[which]


def other_level(one: list[np.ndarray], other: list[np.ndarray]) -> int | None:
    """The lowest level on which two lists of partitions differ."""
    for k in range(max(len(one), len(other))):
        if k >= min(len(one), len(other)) or not np.array_equal(
            canonical(one[k]), canonical(other[k])
        ):
            return k
    return None


# --- checks
# ----------------------------------------------------------------------------------------


def check_embedding(fitted: Fitted) -> Iterator[Finding]:
    Y, case = fitted.model.embedding_, fitted.case
    if Y.shape != (case.X.shape[0], case.parameters["n_components"]) or Y.dtype != np.float64:
        yield "embedding: shape or type", f"{Y.shape} {Y.dtype}"
    if not np.isfinite(Y).all():
        yield "embedding: not finite", f"{(~np.isfinite(Y)).sum()} values"


def check_equal_rows(fitted: Fitted) -> Iterator[Finding]:
    Y, first = fitted.model.embedding_, fitted.first_equal
    for k, labels in enumerate(levels(fitted.model)):
        if (apart := labels != labels[first]).any():
            yield (
                "equal rows: in different clusters",
                f"level {k}, row {np.argmax(apart)} and its first equal",
            )
            return
    if (apart := (Y[first] != Y).any(axis=1)).any():
        row = np.argmax(apart)
        away = np.abs(Y - Y[first]).max() / max(np.ptp(Y), 1e-300)
        kind = f"equal rows: different places, {fitted.case.parameters['layout']}"
        yield kind, f"row {row} and row {first[row]}, {away:.1e} of the map apart"


def check_transform(fitted: Fitted) -> Iterator[Finding]:
    model, X = fitted.model, fitted.case.X
    found, expected = (
        model.transform(X),
        model.embedding_[fitted.first_equal],
    )  # equal rows have their own check
    if not np.array_equal(found, expected):
        off = np.flatnonzero((found != expected).any(axis=1))
        yield "transform(X) is not embedding_", f"rows {off[:5].tolist()} of {len(found)}"
    for k, labels in enumerate(levels(model)):
        if not np.array_equal(model.predict(X, level=k), labels):
            yield "predict(X) is not the labels of X", f"level {k}"
            return


def check_new_rows(fitted: Fitted) -> Iterator[Finding]:
    model, new = fitted.model, fitted.new_rows()
    found = model.transform(new)
    if not np.isfinite(found).all():
        yield "new rows: not finite", ""
    if not np.array_equal(model.transform(new[2:3]), found[2:3]):
        yield "new rows: the batch makes a difference", ""
    again = pickle.loads(pickle.dumps(model))
    if not np.array_equal(again.transform(new), found):
        yield "pickle: other places of new rows", ""
    if not np.array_equal(again.transform(fitted.case.X), model.transform(fitted.case.X)):
        yield "pickle: other places of training rows", ""


def check_levels(fitted: Fitted) -> Iterator[Finding]:
    tree, found = fitted.model.hierarchy_, levels(fitted.model)
    for k, labels in enumerate(found):
        if not np.array_equal(
            np.bincount(labels, minlength=tree.level_sizes[k]), tree.levels[k].sizes
        ):
            yield "levels: sizes are not those of the labels", f"level {k}"
        if k and np.unique([found[k - 1], labels], axis=1).shape[1] != len(np.unique(found[k - 1])):
            yield "levels: not nested", f"level {k}"
        if k and tree.level_sizes[k] < (2 if tree.kind == "graph" else 3):
            yield "levels: fewer than three nodes above level 0", f"{tree.level_sizes}"


def check_audit(fitted: Fitted) -> Iterator[Finding]:
    audit, parameters = fitted.model.audit(), fitted.case.parameters
    # corners of subnormal regions lie on a grid of 5e-324, and short sides between them point
    # anywhere
    is_coarse = np.abs(fitted.model.embedding_).max() < 1e-310
    if not audit.ok and parameters["layout"] == "mosaic" and not is_coarse:
        yield "audit: regions are not nested", str(audit)
    if not audit.ok and parameters["layout"] == "descent" and parameters["radius"] <= 0.2:
        yield "audit: Lemma 1 does not hold", str(audit)


def check_threads(fitted: Fitted) -> Iterator[Finding]:
    """The same bits again, with another number of threads."""
    case, model = fitted.case, fitted.model
    again = fit(case, n_jobs=3 - case.parameters["n_jobs"])
    if np.array_equal(again.embedding_, model.embedding_, equal_nan=True):
        return
    same = np.array_equal(fit(case).embedding_, model.embedding_, equal_nan=True)
    yield ("threads: other bits" if same else "twice: other bits"), ""


def check_order(fitted: Fitted) -> Iterator[Finding]:
    """The order of rows changes names only."""
    case, n = fitted.case, len(fitted.rows)
    if case.parameters["neighbors"] == "given":
        return
    order = np.random.default_rng(case.number).permutation(n)
    changes = {}
    given = arguments(case.X, case.parameters)["preliminary"]
    if isinstance(given, np.ndarray):
        changes["preliminary"] = given[order]
    other = fit(case, case.X[order], **changes)
    k = other_level([labels[order] for labels in levels(fitted.model)], levels(other))
    if k is not None and not tied(fitted, other, order, k):
        where = "level 0" if k == 0 else "upper levels"
        yield f"order of rows: other clusters on {where}{fitted.has_ties}", f"level {k}"
    elif k is None and case.tie_free:
        Y = fitted.model.embedding_
        moved = np.linalg.norm(other.embedding_ - Y[order], axis=1)
        if not np.median(moved) <= 1e-3 * np.ptp(Y):
            kind = f"order of rows: another map, {case.parameters['layout']}"
            yield kind, f"rows move by {np.median(moved) / np.ptp(Y):.1e} of the map (median)"


def tied(fitted: Fitted, other: HNNE, order: np.ndarray, k: int) -> bool:
    """Whether level k differs, for this order of the rows, only by links of equal length.

    Up to the rounding of centroids: their last digits depend on the order of sums
    (docs/explain/exactness.md), and where nodes differ by no more than that, as on a line under cosine, it
    decides.
    """
    one, two, metric = fitted.model.hierarchy_, other.hierarchy_, fitted.case.metric
    if k == 0 or metric not in KERNEL_METRICS:
        return False
    nodes = one.levels[k - 1].centroids
    slack = 16 * np.finfo(nodes.dtype).eps
    nodes = np.asarray(nodes.toarray() if sparse.issparse(nodes) else nodes, dtype=np.float64)
    nodes = nodes / max(np.abs(nodes).max(), 1e-300)
    sizes = np.linalg.norm(nodes, axis=1)
    if metric in ("cosine", "correlation"):
        nodes = nodes - nodes.mean(axis=1, keepdims=True) if metric == "correlation" else nodes
        lengths = np.linalg.norm(nodes, axis=1)
        lengths[lengths == 0] = 1.0
        nodes, sizes = nodes / lengths[:, None], sizes / lengths
    in_other = np.empty(len(nodes), dtype=np.int64)
    in_other[one.labels(k - 1)[order]] = two.labels(k - 1)
    a, b = one.links[k].ids, np.argsort(in_other)[two.links[k].ids[in_other]]
    norm = 1 if metric == "manhattan" else 2
    gaps = [np.linalg.norm(nodes - nodes[to], norm, axis=1) for to in (a, b)]
    return bool((np.abs(gaps[0] - gaps[1]) <= slack * (sizes + sizes[a] + sizes[b])).all())


def check_precision(fitted: Fitted) -> Iterator[Finding]:
    """float32 and float64 of the same values have the same clusters."""
    X = fitted.case.X
    if X.dtype == np.float64 or X.dtype == np.int64:
        return
    found = [levels(fit(fitted.case, X.astype(dtype))) for dtype in (np.float32, np.float64)]
    k = other_level(*found)
    if k is not None:
        where = "level 0" if k == 0 else "upper levels"
        yield f"float32 and float64: other clusters on {where}{fitted.has_ties}", f"level {k}"


def check_scale(fitted: Fitted) -> Iterator[Finding]:
    """A power of two changes no digit: neither the clusters, nor the map but for its scale.

    But it changes hashes, and so the order of the sample that principal directions come from. Their
    signs are LAPACK's, and decide where a level has too few nodes for neighbours to say which way
    round their members lie.
    """
    case, largest = fitted.case, np.abs(fitted.rows).max()
    if (
        not case.tie_free or case.X.dtype != np.float64 or not 1e-6 < largest < 1e9
    ):  # ties go by values
        return
    power = (-650, 300)[case.number // 4 % 2]
    other = fit(case, case.X * 2.0**power)
    size = f"times 2^{power}"
    if (k := other_level(levels(fitted.model), levels(other))) is not None:
        yield f"scale: other clusters {size}", f"level {k}"
        return
    with_units = case.metric in ("euclidean", "manhattan")
    with_units &= min(fitted.model.hierarchy_.level_sizes) > case.parameters["n_components"]
    if with_units and case.parameters["preliminary"] in (
        "pca_centroids",
        "pca",
        "random_projection",
    ):
        Y = fitted.model.embedding_
        in_own_units = case.parameters["layout"] == "islands"
        moved = np.linalg.norm(
            np.ldexp(other.embedding_, 0 if in_own_units else -power) - Y, axis=1
        )
        if not np.median(moved) <= 1e-3 * np.ptp(Y):
            details = f"rows move by {np.median(moved) / np.ptp(Y):.1e} of the map (median)"
            yield f"scale: another map {size}, {case.parameters['layout']}", details


def check_other_form(fitted: Fitted) -> Iterator[Finding]:
    """Dense rows are recognised by a model of CSR rows, and the other way round."""
    if fitted.case.metric not in KERNEL_METRICS:
        return
    X, is_sparse = fitted.case.X, sparse.issparse(fitted.case.X)
    other = (
        X.toarray()
        if is_sparse
        else sparse.csr_matrix(X.astype(np.float32) if X.dtype == np.float16 else X)
    )
    if not np.array_equal(
        fitted.model.transform(other), fitted.model.embedding_[fitted.first_equal]
    ):
        yield f"other form: {'dense rows, CSR fit' if is_sparse else 'CSR rows, dense fit'}", ""


def check_first_neighbors(fitted: Fitted) -> Iterator[Finding]:
    case = fitted.case
    if len(fitted.rows) > 1:
        found = first_neighbors(
            case.X, case.metric, method="exact", n_jobs=case.parameters["n_jobs"]
        )
        yield from check_neighbors(fitted.rows, case.metric, found.ids, found.distances)


CHECKS = (
    check_embedding,
    check_equal_rows,
    check_transform,
    check_levels,
    check_audit,
    check_new_rows,
    check_other_form,
    check_first_neighbors,
)
REFITS = (
    check_threads,
    check_order,
    check_precision,
    check_scale,
)  # each takes as long as all others together


def checks_of(case: Case, everything: bool) -> list[Callable[[Fitted], Iterator[Finding]]]:
    """All checks, or those of a case in a long run: one refit for each."""
    return [*CHECKS, *(REFITS if everything else REFITS[case.number % 4 :][:1])]


# --- a case
# ----------------------------------------------------------------------------------------


def run_case(case: Case, everything: bool = False) -> list[Finding]:
    """What is wrong with a case, each kind once."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        warnings.simplefilter("ignore", FarRowsWarning)  # odd new rows are far, and told so
        warnings.simplefilter("ignore", DominantColumnsWarning)  # columns of many scales
        findings = _deserved_error(case) if case.deserves else _all_checks(case, everything)
    if not findings:  # else they tell of the same
        findings = [
            (f"warning: {w.category.__name__} in {_place(w.filename)}: {w.message}", "")
            for w in told
        ]
    return [*dict(reversed(findings)).items()][::-1]


def _deserved_error(case: Case) -> list[Finding]:
    try:
        make_hnne(max_memory=BUDGET, **case.parameters).fit(case.X)
    except (ValueError, TypeError) as error:
        return (
            []
            if str(error).strip()
            else [(f"bad input: no message for {case.deserves}", repr(error))]
        )
    except Exception as error:
        return [(f"bad input: {type(error).__name__} for {case.deserves}", str(error))]
    return [(f"bad input: no error for {case.deserves}", "")]


def _all_checks(case: Case, everything: bool) -> list[Finding]:
    kept = _bytes(case.X)
    try:
        fitted = Fitted(case, fit(case))
    except Exception as error:
        return [_unexpected("fit", error)]
    findings: list[Finding] = []
    for check in checks_of(case, everything):
        try:
            findings += check(fitted)
        except Exception as error:
            findings.append(_unexpected(check.__name__.removeprefix("check_"), error))
        if findings and check is check_embedding:
            break  # all else would fail, too
    if _bytes(case.X) != kept:
        findings.append(("input: changed", ""))
    return findings


def _bytes(X: Any) -> tuple[bytes, ...]:
    arrays = (X.data, X.indices, X.indptr) if sparse.issparse(X) else (X,)
    return tuple(array.tobytes() for array in arrays)


def _unexpected(doing: str, error: Exception) -> Finding:
    """An error that the case does not deserve; its kind names the place in the library."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if "nestmap" in frame.filename] or frames[-1:]
    where = f"{_place(own[-1].filename)}:{own[-1].name}"
    said = (
        re.sub(r"\d+", "N", str(error).strip().splitlines()[0][:60])
        if str(error).strip()
        else "no message"
    )
    return f"error: {type(error).__name__} in {where} ({said})", doing


def _place(filename: str) -> str:
    parts = Path(filename).parts
    return "/".join(parts[-2:])
