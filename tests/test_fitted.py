"""The fitted state: assigned at once, complete, not changed from outside."""

from __future__ import annotations

from copy import copy, deepcopy
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from conftest import digits
from scipy import sparse

from nestmap import FINCH, HNNE, Descent, ProgressEvent
from nestmap.core.input import memory
from nestmap.method.neighbors import choice
from nestmap.method.neighbors.effort import TABLE


class Stop(Exception):
    """Raised by a callback."""


def stop_at(stage: str):
    def callback(event: ProgressEvent) -> None:
        if stage in event.stage:
            raise Stop

    return callback


@pytest.mark.parametrize(
    "stage", ["reading", "first neighbours of 90 rows", "preliminary", "arrangement", "islands"]
)
def test_a_fit_that_does_not_finish_changes_nothing(stage: str) -> None:
    frame = pd.DataFrame(digits()[:300], columns=[f"pixel{i}" for i in range(64)])
    model = HNNE().fit(frame)
    before, position = dict(vars(model)), model.transform(frame[:5])
    model.set_params(callback=stop_at(stage))
    with pytest.raises(Stop):
        model.fit(digits()[:90, :7])
    model.set_params(callback=None)
    assert vars(model) == before
    np.testing.assert_array_equal(model.transform(frame[:5]), position)


@pytest.mark.parametrize("stage", ["reading", "level 1"])
def test_a_clustering_that_does_not_finish_changes_nothing(stage: str) -> None:
    model = FINCH().fit(digits()[:300])
    before = dict(vars(model))
    model.set_params(callback=stop_at(stage))
    with pytest.raises(Stop):
        model.fit(digits()[:90, :7])
    assert {**vars(model), "callback": None} == before


def test_names_of_an_earlier_frame_are_forgotten() -> None:
    frame = pd.DataFrame(digits()[:100, :5], columns=list("abcde"))
    model = HNNE().fit(frame).fit(digits()[:100])
    assert not hasattr(model, "feature_names_in_") and model.n_features_in_ == 64


@pytest.mark.parametrize("layout", ["islands", "descent", "mosaic"])
def test_what_a_model_hands_out_cannot_damage_it(layout: str) -> None:
    model = HNNE(layout=layout).fit(digits()[:300])
    expected = model.transform(digits()[:300]).copy()
    with pytest.raises(ValueError, match="read-only"):
        model.embedding_[0] = 7
    for labels in (model.labels_, model.hierarchy_.labels(0), model.hierarchy_.labels(-1)):
        labels[:] = 0
    np.testing.assert_array_equal(model.transform(digits()[:300]), expected)
    assert len(set(model.hierarchy_.labels(0))) > 1
    own = HNNE(layout=layout).fit_transform(digits()[:300])
    own *= 2  # an array of one's own


def test_copies_keep_the_callback_and_pickles_do_not() -> None:
    calls: list[ProgressEvent] = []
    model = HNNE(callback=calls.append)
    for other in (
        copy(model),
        deepcopy(model),
        deepcopy(HNNE(callback=calls.append).fit(digits()[:50])),
    ):
        other.fit(digits()[:60])
        assert calls
        calls.clear()
    fitted = HNNE(callback=calls.append).fit(digits()[:50])
    again = deepcopy(fitted)
    np.testing.assert_array_equal(again.transform(digits()[:90]), fitted.transform(digits()[:90]))
    assert again.layout_ is not fitted.layout_


class TestRelayoutRows:
    def test_any_form_of_the_training_rows(self) -> None:
        frame = pd.DataFrame(digits()[:200], columns=[f"pixel{i}" for i in range(64)])
        model = HNNE().fit(frame)
        expected = model.relayout(layout=Descent(radius=0.2)).embedding_
        for rows in (frame, frame.astype(np.float64)):
            np.testing.assert_array_equal(
                model.relayout(rows, layout=Descent(radius=0.2)).embedding_, expected
            )
        plain = HNNE().fit(digits()[:200])
        for rows in (digits()[:200].tolist(), sparse.csr_matrix(digits()[:200])):
            np.testing.assert_array_equal(
                plain.relayout(rows, layout=Descent(radius=0.2)).embedding_, expected
            )

    def test_other_rows_are_refused(self) -> None:
        model = HNNE().fit(digits()[:200])
        for rows in (digits()[200:400], digits()[:200][::-1], digits()[:199]):
            with pytest.raises(ValueError, match="not the data of the fit, 200 x 64"):
                model.relayout(rows)

    def test_callback(self) -> None:
        stages: list[str] = []
        HNNE().fit(digits()[:200]).relayout(
            layout=Descent(radius=0.2), callback=lambda event: stages.append(event.stage)
        )
        assert "preliminary embedding" in stages


def test_sparse_and_dense_rows_of_the_same_values_are_the_same_rows() -> None:
    X, new = digits()[:400], digits()[400:450]
    dense, csr = HNNE().fit(X), HNNE().fit(sparse.csr_matrix(X))
    np.testing.assert_array_equal(dense.transform(sparse.csr_matrix(X)), dense.embedding_)
    np.testing.assert_array_equal(csr.transform(X), csr.embedding_)
    np.testing.assert_array_equal(dense.predict(sparse.csr_matrix(new)), dense.predict(new))
    np.testing.assert_array_equal(csr.predict(new), csr.predict(sparse.csr_matrix(new)))
    np.testing.assert_array_equal(dense.transform(sparse.csr_matrix(new)), dense.transform(new))
    for k in range(dense.hierarchy_.n_levels):
        np.testing.assert_array_equal(dense.hierarchy_.labels(k), csr.hierarchy_.labels(k))


class TestPlanDecides:
    def test_the_method_is_predicted_once(self, monkeypatch: pytest.MonkeyPatch) -> None:
        calls: list[int] = []
        predict = choice.predicted_pairs
        monkeypatch.setattr(choice, "all_pairs_rows", lambda: 100)
        monkeypatch.setitem(vars(TABLE), "sure_rows", 100)
        monkeypatch.setattr(
            choice, "predicted_pairs", lambda *a, **k: calls.append(1) or predict(*a, **k)
        )
        X = digits()[:500]
        model = HNNE(hierarchy="first_neighbors").fit(X)
        n_nodes = [report.n_rows for report in model.hierarchy_.reports]
        assert len(calls) == sum(n > 100 for n in n_nodes) == 2
        calls.clear()
        HNNE().fit(X)  # communities are less than 100
        assert len(calls) == 1

    def test_free_memory_does_not_change_the_columns(self, monkeypatch: pytest.MonkeyPatch) -> None:
        X = np.zeros((300_000, 500), dtype=np.float32)
        X[::7] = 1
        columns = set()
        for available in (4_000_000_000, 40_000_000_000):
            monkeypatch.setattr(memory, "available_memory", lambda available=available: available)
            columns.add(HNNE(neighbors="approximate").plan(X).columns)
        assert columns == {112}
        assert (
            HNNE(layout="descent", neighbors="approximate", max_memory="420MB").plan(X).columns
            < 128
        )


class TestFinch:
    def test_paths_budget_and_centres(self, tmp_path: Path) -> None:
        X = digits()
        np.save(tmp_path / "rows.npy", X)
        expected = FINCH(n_clusters=np.int64(10)).fit(X)
        for rows, options in (
            (str(tmp_path / "rows.npy"), {}),
            (X, dict(max_memory="1GB", work_dir=tmp_path / "w")),
        ):
            model = FINCH(n_clusters=10, **options).fit(rows)
            np.testing.assert_array_equal(model.labels_, expected.labels_)
        means = np.stack([X[model.labels_ == k].mean(axis=0) for k in range(10)])
        np.testing.assert_allclose(model.cluster_centers_, means, rtol=1e-4, atol=1e-4)
        np.testing.assert_array_equal(model.predict(str(tmp_path / "rows.npy")), model.labels_)

    @pytest.mark.parametrize("n_clusters", [3, 400, 1000, 1700])
    def test_training_rows_keep_their_labels(self, n_clusters: int) -> None:
        model = FINCH(n_clusters=n_clusters).fit(digits())
        assert len(set(model.labels_)) == len(model.cluster_centers_) == n_clusters
        np.testing.assert_array_equal(model.predict(digits()), model.labels_)
        means = np.stack([digits()[model.labels_ == k].mean(axis=0) for k in range(n_clusters)])
        np.testing.assert_allclose(model.cluster_centers_, means, rtol=1e-4, atol=1e-4)
        assert set(model.predict(digits() + 0.3)) <= {*range(n_clusters)}

    def test_too_small_a_budget_is_refused(self) -> None:
        with pytest.raises(ValueError, match="max_memory"):
            FINCH(max_memory="1MB").fit(digits())


def test_a_bad_value_in_a_later_block_is_named_by_its_row(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nestmap.core.input.training._VALUES_PER_READ", 64 * 100)
    X = digits().copy()
    model = HNNE().fit(X)
    X[1234, 5] = np.nan
    with pytest.raises(ValueError, match="row 1234, column 5"):
        model.transform(X)
