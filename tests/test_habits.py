"""What users of other libraries ask for is answered; far rows are told; scikit-learn still finds
the parameters.
"""

from __future__ import annotations

import warnings
from inspect import signature

import numpy as np
import pytest
from conftest import digits
from sklearn.base import clone

from nestmap import FINCH, HNNE, Descent, FarRowsWarning, first_neighbors
from nestmap.core.habits import INSTEAD

X, NEW = digits()[:400], digits()[400:500]


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (
            {"n_neighbors": 15},
            "HNNE has no parameter n_neighbors: the hierarchy needs first neighbours only",
        ),
        ({"min_dist": 0.1}, r"min_dist: layout=Islands\(tightness="),
        ({"perplexity": 30}, "perplexity: .*first neighbours only"),
        ({"dim": 3}, "dim: n_components="),
        ({"ann_threshold": 9}, "ann_threshold: neighbors='auto'"),
        ({"n_iter": 9}, "n_iter: the islands"),
        ({"init": "pca"}, r"init: layout=Descent\(preliminary="),
        ({"learning_rate": 200, "n_epochs": 9}, "learning_rate, n_epochs: the islands"),
        ({"precomputed_knn": 1}, r"\(n, k\) array"),
        ({"target_metric": "l2"}, "labels are used for nothing"),
        (
            {"min_dist": 0.1, "perplexity": 5},
            r"min_dist: layout=Islands.*; perplexity: the hierarchy",
        ),
        ({"metrc": "cosine"}, r"metrc \(did you mean 'metric'\?\)"),
        ({"radius": 0.2}, r"radius: layout=Descent\(radius=…\)"),
        ({"like": 0}, r"like: fit\(X, like=…\)"),
        ({"standardize": True}, "standardize: .*StandardScaler"),
        ({"colour": 1}, "colour; it has n_components, metric"),
    ],
)
def test_habits_are_answered(wrong: dict[str, object], said: str) -> None:
    with pytest.raises(TypeError, match=said):
        HNNE(**wrong)  # type: ignore[arg-type]


def test_what_is_there_is_not_refused() -> None:
    for estimator in (HNNE, FINCH):
        own = {*signature(estimator).parameters}
        assert not own & {*INSTEAD} and "kwargs" not in own
        assert {*estimator._get_param_names()} == own
    with pytest.raises(TypeError, match=r"FINCH has no parameter eps: hierarchy_\.labels"):
        FINCH(eps=0.5)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="positional"):
        HNNE(2, "cosine")  # type: ignore[misc]
    model = clone(HNNE(3, metric="cosine", layout=Descent(random_state=4)))
    assert (
        model.get_params()["metric"] == "cosine"
        and model.set_params(n_components=2).n_components == 2
    )
    assert "n_components" in (HNNE.__doc__ or "") and HNNE.__init__.__name__ == "__init__"

    class Own(HNNE):
        pass

    assert Own(n_components=3).n_components == 3
    with pytest.raises(TypeError, match="Own has no parameter dim"):
        Own(dim=3)  # type: ignore[call-arg]


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        (
            {"metric": "cosin"},
            r"metric='cosin' is no metric \(did you mean 'cosine'\?\); use 'euclidean'",
        ),
        ({"metric": "euclidian"}, "did you mean 'euclidean'"),
        ({"metric": "zzz"}, "'zzz' is no metric; use"),
        ({"metric": "jacard"}, "did you mean 'jaccard'"),
        ({"layout": "iland"}, "did you mean 'islands'"),
        ({"neighbors": "aproximate"}, "did you mean 'approximate'"),
        ({"layout": Descent(arrangement="xx")}, "not an option; use one of"),
        ({"layout": "isle"}, r"layout='isle' is not an option.*or settings such as Descent"),
        ({"layout": Descent}, r"is not an option; use one of .*Descent\(radius=0.2\)"),
    ],
)
def test_typos(parameters: dict[str, object], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        HNNE(**parameters).fit(X)  # type: ignore[arg-type]
    if "metric" in parameters:
        with pytest.raises(ValueError, match=said):
            first_neighbors(X, parameters["metric"])


class TestFarRows:
    model = HNNE().fit(X)

    def test_rows_like_those_of_the_fit_pass(self) -> None:
        self.model.transform(NEW)  # warnings are errors
        self.model.predict(np.concatenate([X, NEW]))

    @pytest.mark.parametrize(("n_near", "n_far"), [(0, 100), (0, 1), (40, 60)])
    def test_far_rows_are_told_once_per_call(self, n_near: int, n_far: int) -> None:
        rows = np.concatenate([X[:n_near], NEW[:n_far] * 10])
        for call in (self.model.transform, self.model.predict):
            with pytest.warns(
                FarRowsWarning, match=rf"^{n_far} of {len(rows)} rows .*return_distance=True"
            ) as found:
                call(rows)
            assert len(found) == 1 and found[0].filename == __file__

    def test_those_who_ask_for_distances_are_left_alone(self) -> None:
        _, distances = self.model.transform(NEW * 10, return_distance=True)
        assert (distances > self.model.far_distance_).all()

    def test_few_far_rows_are_no_matter(self) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            self.model.transform(np.concatenate([NEW, NEW[:5] * 10]))
        near = X[0] + np.float32(1.5 * self.model.far_distance_ / 8)  # rows must be twice as far
        _, distance = self.model.transform(near[None], return_distance=True)
        assert self.model.far_distance_ < distance[0] < 2 * self.model.far_distance_
        self.model.transform(near[None])
