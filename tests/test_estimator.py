"""The estimator's contract: scikit-learn's own checks, parameters, errors, pickles, threads."""

from __future__ import annotations

import pickle
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from conftest import BACKENDS, digits, fitted_digits, using
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

from nestmap import FINCH, HNNE, Communities, Descent, first_neighbors
from tools.flat import flat, make_hnne

# scikit-learn sets n_components to 1 in these
ONE_COMPONENT = dict.fromkeys(
    [
        "check_dont_overwrite_parameters",
        "check_methods_sample_order_invariance",
        "check_methods_subset_invariance",
        "check_fit2d_1sample",
        "check_fit2d_1feature",
        "check_fit2d_predict1d",
    ],
    "for two dimensions (or three) only",
)
NOT_PAIRWISE = {
    "check_clustering": "passes rows, not distances",
    "check_estimators_nan_inf": "passes rows, not distances, to predict",
}
# Of another metric, other data reach the layout than that of HNNE(), but the same layout: the
# quickest will do.
QUICK: dict[str, Any] = {"layout": "descent"}
CHECKED = [
    (HNNE(), {}),
    (HNNE(3, new_points="neighbor"), {}),
    (HNNE(1), {}),
    (HNNE(12), {}),
    (HNNE(4, layout=Descent(arrangement="global")), {}),
    (HNNE(layout="mosaic"), ONE_COMPONENT),
    (make_hnne(arrangement="global", inflate=True, **QUICK), ONE_COMPONENT),
    (make_hnne(metric="cosine", **QUICK), {}),
    (make_hnne(metric="manhattan", **QUICK), {}),
    (
        make_hnne(metric="correlation", **QUICK),
        {"check_clustering": "two columns have no correlation but 1 and -1"},
    ),
    (make_hnne(metric="chebyshev", **QUICK), {}),
    (make_hnne(metric="seuclidean", **QUICK), {}),
    (make_hnne(metric="mahalanobis", **QUICK), {}),
    (make_hnne(metric="minkowski", metric_params={"p": 3}, **QUICK), {}),
    (HNNE(metric="precomputed"), NOT_PAIRWISE),
    (FINCH(), {}),
    (FINCH(metric="manhattan"), {}),
    (FINCH(metric="chebyshev"), {}),
    (FINCH(metric="precomputed"), NOT_PAIRWISE),
    (Communities(), {}),
    (HNNE(hierarchy="graph"), {}),
]


@pytest.mark.slow
@pytest.mark.parametrize(("estimator", "expected"), CHECKED, ids=lambda value: str(value)[:60])
def test_scikit_learn_checks(estimator: object, expected: dict[str, str]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = check_estimator(
            estimator, on_skip=None, on_fail=None, expected_failed_checks=expected
        )
    assert len(results) > 40
    failed = {r["check_name"]: r["exception"] for r in results if r["status"] == "failed"}
    assert not failed
    # scikit-learn skips one itself unless SCIPY_ARRAY_API is set
    assert {r["check_name"] for r in results if r["status"] == "skipped"} <= {
        "check_array_api_input"
    }
    assert {r["check_name"] for r in results if r["status"] == "xfail"} == {*expected}


def test_fit_transform_is_fit_then_embedding() -> None:
    np.testing.assert_array_equal(HNNE().fit_transform(digits()), fitted_digits().embedding_)


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_same_bits_for_any_number_of_threads_and_build(metric: str) -> None:
    maps = []
    for backend in BACKENDS[:-1]:
        for n_jobs in (1, 3):
            with using(backend):
                maps.append(HNNE(metric=metric, n_jobs=n_jobs).fit_transform(digits()))
    for other in maps[1:]:
        np.testing.assert_array_equal(maps[0], other)


def test_numpy_path_agrees_up_to_rounding() -> None:
    """Of the stages that add up; the islands' steps amplify rounding (test_islands.py compares step
    by step).
    """
    with using("off"):
        twin = HNNE(layout="descent").fit(digits())
    native = HNNE(layout="descent").fit(digits())
    scale = np.abs(native.embedding_).max()
    np.testing.assert_allclose(twin.embedding_, native.embedding_, atol=1e-5 * scale)
    np.testing.assert_array_equal(twin.labels_, native.labels_)


def test_second_fit_forgets_the_first() -> None:
    model = HNNE().fit(digits()[300:700])
    model.fit(digits()[:300])
    np.testing.assert_array_equal(model.embedding_, HNNE().fit_transform(digits()[:300]))


def test_input_is_not_changed() -> None:
    X = digits().astype(np.float64)
    before = X.copy()
    X.flags.writeable = False
    HNNE().fit(X).transform(X)
    np.testing.assert_array_equal(X, before)


def test_pickle_and_clone() -> None:
    model = HNNE(layout=Descent(radius=0.25)).fit(digits())
    again = pickle.loads(pickle.dumps(model))
    new = digits()[:50] + 0.5
    np.testing.assert_array_equal(again.transform(new), model.transform(new))
    np.testing.assert_array_equal(again.transform(digits()), model.embedding_)
    with pytest.raises(ValueError, match=r"relayout\(X, …\)"):
        again.relayout(n_components=3)
    assert again.relayout(digits(), n_components=3).embedding_.shape == (1797, 3)
    assert len(pickle.dumps(model)) < 4 * digits().nbytes
    assert clone(model).get_params()["layout__radius"] == 0.25
    kept = pickle.loads(pickle.dumps(HNNE(new_points="neighbor").fit(digits())))
    assert np.isfinite(kept.transform(new)).all()


def test_pipeline_and_set_output() -> None:
    from sklearn.datasets import load_digits

    y = load_digits().target
    pipe = make_pipeline(StandardScaler(), HNNE(8), LogisticRegression(max_iter=2000))
    assert pipe.fit(digits()[:1500], y[:1500]).score(digits()[1500:], y[1500:]) > 0.6
    frame = pd.DataFrame(digits(), columns=[f"pixel{i}" for i in range(64)])
    model = HNNE().set_output(transform="pandas").fit(frame)
    out = model.transform(frame[:3])
    assert list(out.columns) == ["hnne0", "hnne1"] == list(model.get_feature_names_out())
    assert model.feature_names_in_[1] == "pixel1" and model.n_features_in_ == 64
    assert list(HNNE().set_output(transform="pandas").fit_transform(frame).columns) == [
        "hnne0",
        "hnne1",
    ]


class TestRelayout:
    @pytest.mark.parametrize(
        "change",
        [
            dict(n_components=3),
            dict(radius=0.2),
            dict(preliminary="pca"),
            dict(arrangement="global", inflate=True),
            dict(preliminary="random", random_state=3),
        ],
    )
    def test_equals_a_fit_with_those_parameters(self, change: dict) -> None:
        model = fitted_digits(500)
        other = model.relayout(**flat(**change))
        fresh = make_hnne(**change).fit(digits()[:500])
        np.testing.assert_array_equal(other.embedding_, fresh.embedding_)
        assert other.hierarchy_ is model.hierarchy_
        new = digits()[:30] + 0.25
        np.testing.assert_array_equal(other.transform(new), fresh.transform(new))
        assert model.embedding_.shape == (500, 2)

    def test_refuses_what_needs_a_fit(self) -> None:
        with pytest.raises(TypeError, match=r"relayout has no parameter metric; it has X, layout"):
            fitted_digits(500).relayout(metric="cosine")
        with pytest.raises(TypeError, match=r"radius: layout=Descent\(radius=…\)"):
            fitted_digits(500).relayout(radius=0.2)

    def test_settings_of_layouts_are_parameters(self) -> None:
        model = clone(HNNE(layout=Descent(0.3))).set_params(layout__radius=0.2)
        assert model.get_params()["layout__radius"] == 0.2
        assert repr(model) == "HNNE(layout=Descent(radius=0.2))"
        model.fit(digits()[:200])
        other = model.relayout(n_components=3)
        other.set_params(layout__radius=0.1)
        assert model.layout.radius == 0.2 == model.layout_.radius
        with pytest.raises(ValueError, match=r"layout__radius: layout='auto' is a short form"):
            HNNE().set_params(layout__radius=0.2)
        same = HNNE().set_params(layout=Descent(), layout__radius=0.2)
        assert same.layout.radius == 0.2


def test_given_neighbors() -> None:
    X = digits()[:500]
    found = first_neighbors(X)
    for given in (found.ids, found):
        model = HNNE(neighbors=given).fit(X)
        np.testing.assert_array_equal(model.embedding_, fitted_digits(500).embedding_)
    assert not model.neighbor_report_.exact
    with pytest.raises(ValueError, match="expected 500 integers"):
        HNNE(neighbors=found.ids[:-1]).fit(X)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        (dict(n_components=0), "n_components=0"),
        (dict(n_components=1.5), "n_components=1.5"),
        (dict(n_components="two"), "n_components='two'"),
        (dict(radius=0), "radius=0"),
        (dict(radius=0.7), "at most 0.5"),
        (dict(radius=float("nan")), "radius=nan"),
        (dict(preliminary="umap"), "preliminary='umap'.*'pca_centroids'"),
        (dict(preliminary=np.zeros((3, 2))), "shape .1797, 2."),
        (dict(inflate="auto"), "inflate='auto': use True or False"),
        (dict(inflate=np.True_, n_components=9, arrangement="global"), "2 or 3 dimensions"),
        (dict(inflate=True, n_components=4, arrangement="global"), "2 or 3 dimensions"),
        (dict(inflate=True), "inflate=True is for arrangement='global'"),
        (dict(arrangement="radial"), "arrangement='radial'"),
        (dict(neighbors="most"), "neighbors='most'"),
        (dict(new_points="mean"), "new_points='mean'"),
        (dict(metric="nonsense"), "metric='nonsense'"),
        (dict(metric="precomputed"), "square matrix of distances"),
        (dict(n_jobs=0), "n_jobs=0"),
    ],
)
def test_bad_parameters_explain_themselves(parameters: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make_hnne(**parameters).fit(digits())


def test_bad_input_explains_itself() -> None:
    X = digits().copy()
    X[8, 9] = np.nan
    with pytest.raises(ValueError, match="NaN, first at row 8, column 9"):
        HNNE().fit(X)
    model = fitted_digits()
    with pytest.raises(ValueError, match="row 8, column 9"):
        model.transform(X)
    with pytest.raises(ValueError, match="expecting 64 features"):
        model.transform(X[:, :5])
    with pytest.raises(ValueError, match="levels 0"):
        model.predict(digits(), level=99)
    with pytest.raises(NotFittedError):
        HNNE().transform(digits())
    with pytest.raises(NotFittedError):
        HNNE().audit()


def test_verbose(capsys: pytest.CaptureFixture[str]) -> None:
    HNNE().fit(digits()[:300])
    assert capsys.readouterr() == ("", "")
    HNNE(verbose=1).fit(digits()[:300])
    out, err = capsys.readouterr()
    assert out == "" and "first neighbours of 300 rows" in err and "islands" in err


def test_labels_are_those_of_a_documented_level() -> None:
    model = fitted_digits()
    np.testing.assert_array_equal(model.labels_, model.hierarchy_.labels(model.label_level_))
    np.testing.assert_array_equal(HNNE().fit_predict(digits()), model.labels_)
    assert 3 <= len(set(model.labels_)) <= 42
