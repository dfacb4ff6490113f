"""The fuzz harness: cases are the same each time, every check can fail, and crashes are told with
their case.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from fuzz.batches import Violation, as_code, run_batch, shrink
from fuzz.brute import check_neighbors
from fuzz.cases import Case, make_case
from fuzz.checks import (
    CHECKS,
    REFITS,
    Fitted,
    canonical,
    check_scale,
    fit,
    other_level,
    run_case,
    tied,
)
from scipy import sparse

from nestmap import HNNE, first_neighbors
from nestmap.core import threads as _parallel
from nestmap.method.hierarchy.tree import Hierarchy

PLAIN = {
    "metric": "euclidean",
    "layout": "descent",
    "n_components": 2,
    "radius": 0.2,
    "neighbors": "auto",
    "n_jobs": 1,
    "preliminary": "pca_centroids",
}


def plain_case(n: int = 40) -> Case:
    X = np.random.default_rng(0).normal(size=(n, 4)).astype(np.float32)
    X[5] = X[9]
    return Case(4, "plain", X, PLAIN)


def values(X: object) -> bytes:
    return (X.toarray() if sparse.issparse(X) else np.asarray(X)).tobytes()


def test_cases_are_the_same_each_time_and_of_all_kinds() -> None:
    cases = [make_case(3, number) for number in range(400)]
    for number in range(0, 400, 37):
        again = make_case(3, number)
        assert str(again) == str(cases[number]) and values(again.X) == values(cases[number].X)
    assert str(make_case(4, 0)) != str(cases[0])
    kinds = " ".join(case.kind for case in cases)
    for word in (
        "gaussian",
        "integers",
        "repeated",
        "times",
        "outlier",
        "CSR",
        "float16",
        "uint8",
        "Fortran",
        "eye",
    ):
        assert word in kinds
    for name, least in (
        ("metric", 5),
        ("layout", 2),
        ("preliminary", 5),
        ("neighbors", 4),
        ("n_components", 4),
    ):
        assert len({str(case.parameters[name]) for case in cases if not case.deserves}) >= least
    assert 3 <= sum(bool(case.deserves) for case in cases) <= 30


def test_partitions_are_compared_without_regard_to_names() -> None:
    assert canonical(np.array([2, 0, 2, 1])).tolist() == [0, 1, 0, 2]
    one, other = (
        [np.array([0, 0, 1]), np.array([0, 0, 0])],
        [np.array([1, 1, 0]), np.array([0, 0, 1])],
    )
    assert other_level(one, one) is None and other_level(one[:1], other[:1]) is None
    assert other_level(one, other) == 1 and other_level(one, one[:1]) == 1


def writable(array: np.ndarray) -> np.ndarray:
    """Arrays of a model are read-only; who wants to spoil them has to say so."""
    array.setflags(write=True)
    return array


def move_one(fitted: Fitted) -> None:
    writable(fitted.model.embedding_)[5] += 1e-12


def lose_digits(fitted: Fitted) -> None:
    writable(fitted.model.embedding_)[:] = np.inf


def other_labels(fitted: Fitted) -> None:
    writable(fitted.model.hierarchy_.levels[0].members)[5] ^= 1


def fly_away(fitted: Fitted) -> None:
    writable(fitted.model.layout_.positions)[3] += 1e3


def forget_rows(fitted: Fitted) -> None:
    fitted.model._fitted.tree.table.hashes[:] = 0


@pytest.mark.parametrize(
    ("spoil", "kind"),
    [
        (move_one, "equal rows: different places, descent"),
        (move_one, "twice: other bits"),
        (lose_digits, "embedding: not finite"),
        (other_labels, "equal rows: in different clusters"),
        (other_labels, "levels: sizes are not those of the labels"),
        (other_labels, "order of rows: other clusters on level 0 (perhaps ties)"),
        (fly_away, "audit: Lemma 1 does not hold"),
        (forget_rows, "transform(X) is not embedding_"),
        (forget_rows, "other form: CSR rows, dense fit"),
    ],
)
def test_checks_see_what_is_wrong(spoil: Callable[[Fitted], None], kind: str) -> None:
    fitted = Fitted(plain_case(), fit(plain_case()))
    spoil(fitted)
    assert any(found == kind for check in (*CHECKS, *REFITS) for found, _ in check(fitted))


def test_places_and_labels_by_chance_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    fitted, rng = Fitted(plain_case(200), fit(plain_case(200))), np.random.default_rng(0)
    with monkeypatch.context() as patch:
        patch.setattr(HNNE, "transform", lambda self, X: rng.normal(size=(X.shape[0], 2)))
        found = {kind for check in CHECKS for kind, _ in check(fitted)}
    assert {"new rows: the batch makes a difference", "pickle: other places of new rows"} <= found
    with monkeypatch.context() as patch:
        patch.setattr(Hierarchy, "labels", lambda self, k: rng.integers(3, size=200))
        found = {kind for check in (*CHECKS, *REFITS) for kind, _ in check(fitted)}
    assert {"levels: not nested", "predict(X) is not the labels of X"} <= found
    assert "float32 and float64: other clusters on level 0 (perhaps ties)" in found


def test_links_of_equal_length_are_told_from_others() -> None:
    rng = np.random.default_rng(0)
    line = np.outer(
        rng.uniform(1, 2, 60), [0.3, 0.1, 0.7]
    )  # under cosine all distances are rounding
    for X, metric, is_tied in (
        (line, "cosine", True),
        (line + 1e-3 * rng.normal(size=line.shape), "cosine", False),
    ):
        case = replace(plain_case(), X=X, parameters={**PLAIN, "metric": metric})
        model = fit(case)
        other, rows = fit(case), np.arange(60)
        links = writable(other.hierarchy_.links[1].ids)
        links[0] = next(i for i in range(1, len(links)) if i != links[0])
        assert tied(Fitted(case, model), other, rows, 1) is is_tied and not tied(
            Fitted(case, model), other, rows, 0
        )


def test_maps_that_change_with_the_scale_are_seen() -> None:
    X = np.random.default_rng(0).normal(size=(40, 4))
    case = replace(plain_case(), X=X, tie_free=True)
    fitted = Fitted(case, fit(case))
    assert not [*check_scale(fitted)]
    writable(fitted.model.embedding_)[:, 0] *= -1
    assert [kind for kind, _ in check_scale(fitted)] == ["scale: another map times 2^300, descent"]
    writable(fitted.model.hierarchy_.levels[0].members)[0] ^= 1
    assert [kind for kind, _ in check_scale(fitted)] == ["scale: other clusters times 2^300"]


def test_changed_input_warnings_and_errors_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    case, real = plain_case(), HNNE.fit

    def change(model: HNNE, X: np.ndarray) -> HNNE:
        np.asarray(X)[0, 0] += 1
        return real(model, X)

    with monkeypatch.context() as patch:
        patch.setattr(HNNE, "fit", change)
        assert "input: changed" in dict(run_case(case))
    with monkeypatch.context() as patch:
        patch.setattr(HNNE, "fit", lambda model, X: real(model, X * 0 / 0))
        (kind,) = dict(run_case(case))
        assert kind.startswith("error: ValueError in ") and "NaN" in kind
    bad = replace(case, deserves="nothing")
    assert dict(run_case(bad)) == {"bad input: no error for nothing": ""}
    with monkeypatch.context() as patch:
        patch.setattr(HNNE, "fit", lambda model, X: {}["key"])
        assert dict(run_case(bad)) == {"bad input: KeyError for nothing": "'key'"}


@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "cosine", "correlation", "chebyshev"])
def test_neighbours_are_judged(metric: str) -> None:
    X = np.random.default_rng(0).normal(size=(50, 5)) + 0.5
    found = first_neighbors(X, metric)
    assert not [*check_neighbors(X, metric, found.ids, found.distances)]
    farther = np.where(found.ids == 3, 4, 3)
    farther[[3, 4]] = 5, 5
    assert "not the nearest" in str([*check_neighbors(X, metric, farther, found.distances)])
    assert "wrong distance" in str(
        [*check_neighbors(X, metric, found.ids, found.distances * (1 + 1e-6))]
    )
    assert "no other row" in str([*check_neighbors(X, metric, np.arange(50), found.distances)])


def test_crashes_and_long_cases_are_told_with_their_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "fuzz.batches.make_case", lambda seed, number: replace(plain_case(), number=number)
    )
    spoilt = []

    def run(case: Case) -> list[tuple[str, str]]:
        if case.number == 3 or (case.number == 8 and spoilt):
            os.kill(os.getpid(), signal.SIGSEGV)
        if case.number == 5:
            time.sleep(100)
        if case.number == 7:
            spoilt.append(case)
        return [("odd", "")] if case.number % 4 == 1 else []

    found = run_batch(run, 0, 0, 10, seconds=1.0)
    told = [(v.case, v.kind) for v in found]
    assert told == [(1, "odd"), (3, "crash"), (5, "time: more than 1 s"), (8, "crash"), (9, "odd")]
    assert "not by itself, but after cases 6 to 7" in found[3].details
    assert str(Violation(3, "crash")) == "case 3: crash"


@pytest.mark.slow
def test_a_case_is_made_smaller(monkeypatch: pytest.MonkeyPatch) -> None:
    """A model that cannot bear two values: their rows and columns are what is left."""
    real = HNNE.fit
    monkeypatch.setattr(
        _parallel, "cpu_count", _parallel.cpu_count
    )  # `prepared` replaces it, for its own process

    def fail(model: HNNE, X: np.ndarray) -> HNNE:
        if (np.asarray(X) == 7).any() and (np.asarray(X) == 8).any():
            raise KeyError("seven and eight")
        return real(model, X)

    monkeypatch.setattr(HNNE, "fit", fail)
    X = np.zeros((12, 5), dtype=np.float32)
    X[3, 1], X[10, 4] = 7, 8
    case = replace(plain_case(), X=X, parameters={**PLAIN, "layout": "islands", "radius": 0.4})
    (kind,) = dict(run_case(case))
    small = shrink(case, kind)
    assert small.X.tolist() == [[7, 0], [0, 8]] and small.parameters["layout"] == "descent"
    assert as_code(small).endswith("model = HNNE(layout=Descent(radius=0.4)).fit(X)")
