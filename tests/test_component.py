"""The explorer as a component of Streamlit: what Python gives and takes; without Streamlit."""

from __future__ import annotations

import gc
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from digit_page import N, Y, fitted
from sklearn.exceptions import NotFittedError

import nestmap.streamlit as component
from nestmap import HNNE


class FakeStreamlit:
    """As much of Streamlit as a component is told of."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.declared: list[Path] = []
        self.shown: list[dict[str, Any]] = []
        self.value: Any = None
        v1 = SimpleNamespace(declare_component=self._declare)
        parent = SimpleNamespace(components=SimpleNamespace(v1=v1))
        monkeypatch.setitem(sys.modules, "streamlit", parent)
        monkeypatch.setitem(sys.modules, "streamlit.components.v1", v1)

    def _declare(self, name: str, path: str) -> Any:
        self.declared.append(Path(path))
        return self._show

    def _show(self, **given: Any) -> Any:
        self.shown.append(given)
        return self.value


@pytest.fixture(name="app")
def given_app(monkeypatch: pytest.MonkeyPatch) -> FakeStreamlit:
    return FakeStreamlit(monkeypatch)


def test_a_choice_of_the_page_is_rows_and_filters(app: FakeStreamlit) -> None:
    shown = component.prepare(fitted(), metadata={"digit": Y.astype(str)})
    assert app.declared == [shown.site]
    index = (shown.site / "index.html").read_text()
    assert '"transport": "static"' in index and '"around": "streamlit"' in index
    told = component.explorer(shown, key="a", height=500)
    assert len(told.selection) == 0 and told.filter == {}
    assert app.shown[-1] == {"choice": None, "height": 500, "key": "a", "default": None}
    categories = {"kind": "categories", "column": "c0", "codes": [3]}
    app.value = {"selected": categories, "filters": [["c0", {**categories, "codes": [3, 8]}]]}
    told = component.explorer(shown)
    assert told.selection.tolist() == np.flatnonzero(Y == 3).tolist()
    assert told.filter == {"digit": ["3", "8"]}
    app.value = {"selected": None}
    assert len(component.explorer(shown).selection) == 0


def test_a_choice_of_the_script_reaches_the_page(app: FakeStreamlit) -> None:
    shown = component.prepare(fitted(), metadata={"digit": Y.astype(str)})
    told = component.explorer(shown, selection=Y == 3, filter={"digit": ["3"]})
    assert told.selection.tolist() == np.flatnonzero(Y == 3).tolist()
    choice = app.shown[-1]["choice"]
    assert choice["filters"] == [["c0", {"kind": "categories", "codes": [3]}]]
    assert sum(b - a for a, b in choice["selected"]["ranges"]) == np.sum(Y == 3)
    with pytest.raises(ValueError, match="rows are 0 to 499"):
        component.explorer(shown, selection=[N])


def test_a_model_is_prepared_once_and_its_folder_goes_with_it(app: FakeStreamlit) -> None:
    component.explorer(fitted())
    component.explorer(fitted())
    assert len(app.declared) == 1
    shown = component.prepare(fitted())
    folder = shown.site.parent
    assert folder.exists()
    del shown
    gc.collect()
    assert not folder.exists()


def test_a_model_that_is_fitted_again_is_shown_anew(app: FakeStreamlit) -> None:
    rng = np.random.default_rng(3)
    model = HNNE().fit(rng.normal(size=(90, 3)))
    component.explorer(model)
    model.fit(rng.normal(size=(120, 3)))
    told = component.explorer(model, selection=[119])
    assert len(app.declared) == 2 and told.selection.tolist() == [119]
    with pytest.raises(NotFittedError):
        component.explorer(HNNE())


def test_without_streamlit_the_way_out_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "streamlit", None)
    with pytest.raises(ImportError, match=r"pip install 'nestmap\[streamlit\]'"):
        component.prepare(fitted())
