"""Random cases: small data sets with all that is odd about real ones, and parameters for them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.linalg import hadamard

Rng = np.random.Generator
KERNEL_METRICS = ("euclidean", "cosine", "manhattan", "correlation")
OTHER_METRICS = ("chebyshev", "hamming", "jaccard")


@dataclass(frozen=True, eq=False)
class Case:
    """A data set and the parameters of a fit, with the words that say how they came about.

    In `parameters`, "given" stands for an array that is made from X (`arguments`).
    """

    number: int
    kind: str
    X: Any
    parameters: dict[str, Any]
    tie_free: bool = False  # surely no two distances are equal, nor nearly so
    deserves: str = ""  # what is wrong with it, where an error is the right answer

    @property
    def metric(self) -> str:
        return str(self.parameters.get("metric", "euclidean"))

    def __str__(self) -> str:
        form = "CSR" if sparse.issparse(self.X) else "array"
        shape, dtype = getattr(self.X, "shape", None), getattr(self.X, "dtype", None)
        return f"case {self.number}: {self.kind}, {form} {shape} {dtype}, {self.parameters}"


# --- data
# ------------------------------------------------------------------------------------------


def gaussian(rng: Rng, n: int, d: int) -> np.ndarray:
    return rng.normal(size=(n, d)) * rng.uniform(0.2, 3, d)


def mixture(rng: Rng, n: int, d: int) -> np.ndarray:
    centres = 10 * rng.normal(size=(rng.integers(1, 8), d))
    return centres[rng.integers(len(centres), size=n)] + rng.normal(size=(n, d))


def integers(rng: Rng, n: int, d: int) -> np.ndarray:
    return rng.integers(0, rng.integers(2, 8), (n, d)).astype(float) - rng.integers(0, 3)


def one_hot(rng: Rng, n: int, d: int) -> np.ndarray:
    return np.eye(d)[rng.integers(d, size=n)]


def eye(rng: Rng, n: int, d: int) -> np.ndarray:
    return np.eye(min(n, 70))


def signs(rng: Rng, n: int, d: int) -> np.ndarray:
    """Rows of a Hadamard matrix: all at the same distance."""
    return hadamard(2 ** int(rng.integers(1, 7))).astype(float)


def low_rank(rng: Rng, n: int, d: int) -> np.ndarray:
    rank = int(rng.integers(1, 4))
    return rng.normal(size=(n, rank)) @ rng.normal(size=(rank, d))


def mostly_zero(rng: Rng, n: int, d: int) -> np.ndarray:
    values = (
        rng.normal(size=(n, d)) if rng.random() < 0.5 else rng.integers(1, 4, (n, d)).astype(float)
    )
    return np.where(rng.random((n, d)) < rng.uniform(0.02, 0.4), values, 0.0)


def nearly_constant_rows(rng: Rng, n: int, d: int) -> np.ndarray:
    return rng.integers(-2, 3, (n, 1)) + 10.0 ** -rng.integers(3, 17) * rng.normal(size=(n, d))


def constant(rng: Rng, n: int, d: int) -> np.ndarray:
    return np.full((n, d), rng.normal())


def evenly_spaced(rng: Rng, n: int, d: int) -> np.ndarray:
    return np.outer(np.arange(n), rng.integers(0, 3, d)).astype(float)


BASES: dict[Callable[[Rng, int, int], np.ndarray], float] = {
    gaussian: 5,
    mixture: 5,
    integers: 5,
    one_hot: 1,
    eye: 1,
    signs: 1,
    low_rank: 2,
    mostly_zero: 2,
    nearly_constant_rows: 1,
    constant: 0.5,
    evenly_spaced: 1,
}
SCALES = (1e90, 1e30, 1e-30, 1e-160, 1e-300, 1e-309, 1e-320)


def make_data(rng: Rng) -> tuple[np.ndarray, list[str]]:
    """Values in float64, and what they are made of."""
    n = int(
        rng.choice(
            [rng.integers(1, 12), rng.integers(12, 60), rng.integers(60, 400), 3000],
            p=[0.35, 0.53, 0.118, 0.002],
        )
    )
    d = (
        1
        if rng.random() < 0.07
        else int(rng.choice([rng.integers(2, 8), rng.integers(8, 71)], p=[0.6, 0.4]))
    )
    weights = np.array([*BASES.values()])
    base = [*BASES][rng.choice(len(weights), p=weights / weights.sum())]
    X, words = base(rng, n, d), [base.__name__]

    def happens(share: float, word: str) -> bool:
        if rng.random() >= share:
            return False
        words.append(word)
        return True

    if happens(0.2, "repeated"):
        X = X[: rng.integers(1, len(X) + 1)]
        X = X[rng.integers(len(X), size=n)]
    if happens(0.08, "constant columns"):
        X[:, rng.random(X.shape[1]) < 0.5] = rng.integers(-1, 2)
    if happens(0.05, "zero rows"):
        X[rng.random(len(X)) < 0.3] = 0
    if happens(0.07, "far"):
        X = X + rng.choice([1e3, 1e8]) * rng.choice([-1, 1], X.shape[1])
    if happens(0.12, "scaled"):
        words[-1] = f"{(scale := rng.choice(SCALES)):g} times"
        X = X * scale
    elif happens(0.06, "outlier"):
        words[-1] = f"outlier {(size := rng.choice([1e8, 1e30, 1e80])):g}"
        X[rng.integers(len(X))] *= size
    if happens(0.03, "negative zeros"):
        X[X == 0] *= rng.choice([-1.0, 1.0])
    return X, words


def as_stored(rng: Rng, X: np.ndarray, words: list[str]) -> np.ndarray:
    """The values in another type or order of memory; whole numbers for integers."""
    dtype = str(
        rng.choice(
            ["float64", "float32", "float16", "uint8", "int8", "int64", "bool"],
            p=[0.5, 0.25, 0.05, 0.06, 0.05, 0.06, 0.03],
        )
    )
    largest = np.abs(X).max(initial=0)
    if (dtype == "float16" and largest > 6e4) or (dtype == "float32" and largest > 3e38):
        dtype = "float64"
    if dtype in ("uint8", "int8", "int64"):
        if largest > 1e6:
            X = X / largest * 100
        elif largest < 20:
            X = X * (8 if words[0] in ("gaussian", "mixture", "low_rank") else 1)
        X = np.clip(np.round(X), 0 if dtype == "uint8" else -127, 255 if dtype == "uint8" else 127)
    if dtype != "float64":
        words.append(dtype)
    X = (X > 0.5) if dtype == "bool" else X.astype(dtype)
    way = rng.choice(["C", "Fortran", "view", "read-only"], p=[0.82, 0.07, 0.06, 0.05])
    if way == "Fortran":
        X = np.asfortranarray(X)
    elif way == "view":
        X = np.repeat(X, 2, axis=0)[::2]
    elif way == "read-only":
        X.flags.writeable = False
    return X if way == "C" else (words.append(str(way)), X)[1]


def as_sparse(rng: Rng, X: np.ndarray, words: list[str]) -> sparse.csr_matrix:
    """CSR, sometimes with zeros that are stored, or with columns in any order."""
    S = sparse.csr_matrix(
        X.astype(np.float32) if X.dtype == np.float16 else X
    )  # SciPy has no sparse float16
    words.append("CSR")
    if len(S.data) and rng.random() < 0.2:
        words.append("stored zeros")
        S.data[rng.random(len(S.data)) < 0.2] = 0
    if rng.random() < 0.2:
        words.append("unsorted")
        for start, stop in zip(S.indptr[:-1], S.indptr[1:], strict=True):
            order = start + rng.permutation(stop - start)
            S.data[start:stop], S.indices[start:stop] = S.data[order], S.indices[order]
        S.has_sorted_indices = False
    return S


# --- parameters
# ------------------------------------------------------------------------------------


def make_parameters(rng: Rng, is_sparse: bool, n: int) -> dict[str, Any]:
    """Parameters of HNNE that are all right for these rows."""
    found: dict[str, Any] = {"n_jobs": int(rng.integers(1, 3)), "random_state": 0}

    def choose(name: str, default: Any, *others: Any, share: float = 0.3) -> None:
        if rng.random() < share:
            found[name] = others[rng.integers(len(others))]
        else:
            found.setdefault(name, default)

    if is_sparse:
        choose("metric", "euclidean", "cosine", share=0.5)
    else:
        choose("metric", "euclidean", *KERNEL_METRICS[1:], share=0.5)
        choose("metric", "euclidean", *OTHER_METRICS, share=0.04)
    choose("layout", "descent", "mosaic", "islands")
    choose("n_components", 2, 1, 3, 4)
    if found["layout"] != "descent":
        found["n_components"] = 2
    choose("arrangement", "auto", "local", "global", share=0.4)
    choose("preliminary", "pca_centroids", "pca", "random_projection", "random", "given")
    choose("radius", 1 / 3, 0.2, 0.5, 0.05, share=0.5)
    choose("neighbors", "auto", "exact", "approximate", *(["given"] if n > 1 else []), share=0.2)
    choose("new_points", "centroid", "neighbor")
    choose("hierarchy", "first_neighbors", "graph", share=0.5)
    choose("inflate", False, True, share=0.5)
    found["inflate"] &= found["arrangement"] == "global" and found["n_components"] in (2, 3)
    if found["layout"] != "descent":
        found |= {"arrangement": "auto", "preliminary": "pca_centroids", "inflate": False}
    if found["layout"] == "mosaic":
        found["radius"] = 1 / 3
    return found


def arguments(X: Any, parameters: dict[str, Any]) -> dict[str, Any]:
    """Arguments of HNNE: "given" coordinates (equal for equal rows) and neighbours are made from X."""
    from nestmap import first_neighbors

    found = dict(parameters)
    if found.get("preliminary") == "given":
        rows = X.toarray() if sparse.issparse(X) else np.asarray(X)
        which = np.unique(rows, axis=0, return_inverse=True)[1].ravel()
        found["preliminary"] = np.random.default_rng(1).normal(
            size=(len(rows), found["n_components"])
        )[which]
    if found.get("neighbors") == "given":
        found["neighbors"] = first_neighbors(X, found["metric"], n_jobs=1).ids
    return found


# --- bad input
# -------------------------------------------------------------------------------------


def spoil(rng: Rng, case: Case) -> Case:
    """The case with something wrong that deserves an error."""
    X = case.X.toarray() if sparse.issparse(case.X) else np.array(case.X)
    at = (rng.integers(X.shape[0]), rng.integers(X.shape[1]))
    wrong: dict[str, Any] = {}
    what = str(
        rng.choice(
            [
                "NaN",
                "infinity",
                "1e101",
                "no rows",
                "no columns",
                "one dimension",
                "words",
                "complex",
                "radius",
                "n_components",
                "metric",
                "layout",
                "neighbors",
                "preliminary",
            ]
        )
    )
    if what in ("NaN", "infinity", "1e101"):
        X = X.astype(np.float64)
        X[at] = {"NaN": np.nan, "infinity": -np.inf, "1e101": 1e101}[what]
        X = sparse.csr_matrix(X) if sparse.issparse(case.X) else X
    elif what in ("no rows", "no columns", "one dimension"):
        X = {"no rows": X[:0], "no columns": X[:, :0], "one dimension": X[:, 0]}[what]
    elif what in ("words", "complex"):
        X = np.array([["a", "b"]] * 5) if what == "words" else X + 1j
    else:
        wrong = {
            "radius": {"layout": "descent", "radius": float(rng.choice([0, -1, 0.6, np.nan]))},
            "n_components": {"n_components": rng.choice([0, -1, 1.5])},
            "metric": {"metric": "nonsense"},
            "layout": {"layout": "mosaic", "n_components": 3},
            "neighbors": {"neighbors": np.arange(X.shape[0])},
            "preliminary": {"layout": "descent", "preliminary": np.full((X.shape[0], 7), 1.0)},
        }[what]
    plain = {
        k: v
        for k, v in case.parameters.items()
        if v is not None and not (isinstance(v, str) and v == "given")
    }
    return Case(case.number, f"{case.kind}, {what}", X, {**plain, **wrong}, deserves=what)


def make_case(seed: int, number: int) -> Case:
    """Case `number` of a seed; always the same."""
    rng = np.random.default_rng([seed, number])
    X, words = make_data(rng)
    tie_free = len(words) == 1 and words[0] in ("gaussian", "mixture") and X.shape[1] > 2
    X = as_stored(rng, X, words)
    tie_free = tie_free and X.dtype in (np.float32, np.float64)
    if rng.random() < 0.15:
        X = as_sparse(rng, X, words)
    parameters = make_parameters(rng, sparse.issparse(X), X.shape[0])
    tie_free = tie_free and parameters["metric"] in KERNEL_METRICS
    if parameters["metric"] == "jaccard":  # between sets
        X = (X != 0).astype(X.dtype)
    case = Case(number, ", ".join(words), X, parameters, tie_free)
    return spoil(rng, case) if rng.random() < 0.03 else case
