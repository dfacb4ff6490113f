"""New rows in dask arrays and frames, for models fitted anywhere: lazy, chunk by chunk, the same
bits.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from nestmap import HNNE
from nestmap.distributed import inputs, lazy

da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
import dask  # noqa: E402

RNG = np.random.default_rng(3)
ROWS = RNG.normal(size=(400, 5)) + 4 * RNG.integers(0, 5, (400, 1))
NEW = ROWS[100:300] + 0.01


@pytest.fixture(scope="module", autouse=True)
def threads() -> Any:
    with dask.config.set(scheduler="threads"):
        yield


@pytest.fixture(scope="module")
def model() -> HNNE:
    return HNNE().fit(ROWS)


@pytest.mark.parametrize("chunks", [(200, 5), (7, 5), (64, 2), ((1, 150, 49), (5,))])
def test_arrays(model: HNNE, chunks: Any) -> None:
    X = da.from_array(NEW, chunks=chunks)
    positions, distances = model.transform(X, return_distance=True)
    own, away = model.transform(NEW, return_distance=True)
    assert positions.chunks == (X.chunks[0], (2,)) and distances.chunks == (X.chunks[0],)
    assert_array_equal(positions.compute(), own)
    assert_array_equal(distances.compute(), away)
    assert_array_equal(model.transform(X).compute(), own)
    assert_array_equal(model.predict(X, level=-1).compute(), model.predict(NEW, level=-1))
    assert_array_equal(model.predict(X, n_clusters=6).compute(), model.predict(NEW, n_clusters=6))


def test_rows_of_the_fit_come_back(model: HNNE) -> None:
    assert_array_equal(
        model.transform(da.from_array(ROWS, chunks=(90, 5))).compute(), model.embedding_
    )


def test_nothing_is_read_before_it_is_asked_for(model: HNNE) -> None:
    def fail(block: Any) -> Any:
        raise RuntimeError("was read")

    X = da.from_array(NEW, chunks=(50, 5)).map_blocks(fail, meta=np.empty((0, 0)))
    found = model.transform(X)
    with pytest.raises(RuntimeError, match="was read"):
        found.compute()


def test_frames() -> None:
    frame = pd.DataFrame(ROWS, columns=list("abcde"))
    model, X = HNNE().fit(frame), dd.from_pandas(frame + 0.01, npartitions=3)
    found = model.transform(X)
    assert_array_equal(found.compute(), model.transform(frame + 0.01))
    assert_array_equal(model.predict(X).compute(), model.predict(frame + 0.01))
    with pytest.raises(ValueError, match="feature names"):
        model.transform(X[["b", "a", "c", "d", "e"]])
    with pytest.raises(ValueError, match=r"'a' \(.*select_dtypes"):
        model.transform(X.assign(a="text"))
    assert_array_equal(
        model.transform(da.from_array(NEW, chunks=(50, 5))).compute(),
        HNNE().fit(ROWS).transform(NEW),
    )


def test_chunks_of_unknown_sizes_are_fine(model: HNNE) -> None:
    X = da.from_array(NEW, chunks=(50, 5))
    some = X[X[:, 0] > 5]
    assert_array_equal(model.transform(some).compute(), model.transform(NEW[NEW[:, 0] > 5]))


def test_errors_name_the_row(model: HNNE) -> None:
    bad = NEW.copy()
    bad[130, 2] = np.nan
    with pytest.raises(ValueError, match="NaN, first at row 130, column 2"):
        model.transform(da.from_array(bad, chunks=(50, 5))).compute()
    with pytest.raises(ValueError, match="X has 4 features, but HNNE is expecting 5"):
        model.transform(da.from_array(NEW[:, :4], chunks=(50, 4)))
    with pytest.raises(ValueError, match="2-D"):
        model.predict(da.from_array(NEW[:, 0], chunks=50))
    with pytest.raises(ValueError, match="complex"):
        model.predict(da.from_array(NEW.astype(complex), chunks=50))


def test_models_go_light(model: HNNE) -> None:
    sent = lazy._for_workers(model, names=False).compute()
    assert not hasattr(sent, "embedding_") and sent.n_jobs == 1
    assert hasattr(model, "embedding_") and model.n_jobs is None


def test_without_dask_the_error_quotes_pip(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ImportError, match=r"pip install 'nestmap\[dask\]'"):
        inputs.import_distributed()


def test_detection_imports_nothing() -> None:
    assert inputs.is_dask(da.zeros((3, 2))) and not any(
        map(inputs.is_dask, (ROWS, None, [[1]], pd.DataFrame(ROWS)))
    )
