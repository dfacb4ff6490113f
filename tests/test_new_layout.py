"""A layout that the library does not know needs settings, a fitted layout and a form in files."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_digits

import nestmap
from nestmap import HNNE
from nestmap.core.arrays import Array
from nestmap.core.framing import whole_frame
from nestmap.method.hierarchy.tree import Hierarchy
from nestmap.method.layout import Audit, Layout, LayoutSettings
from nestmap.method.layout.audit import audit_leaves
from nestmap.method.layout.base import LayoutInput
from nestmap.method.layout.frozen import Frozen
from nestmap.method.layout.settings import SETTINGS
from nestmap.model.files.layouts import FORMS, POINTS, LayoutForm, StoredLayout
from nestmap.views.plots.outlines import get_outlines

X = load_digits().data


@dataclass(frozen=True, eq=False)
class AtLeaf(Frozen):
    """New rows lie where their leaf does."""

    anchors: Array

    @property
    def maps(self) -> Array:
        return np.ones((len(self.anchors), 1, 1))

    @property
    def origins(self) -> Array:
        return np.zeros_like(self.anchors)

    def place(self, parents: Array, z: Array | None) -> Array:
        return np.asarray(self.anchors[parents])


@dataclass(frozen=True, eq=False)
class PlainLayout(Frozen):
    """The preliminary embedding as it is."""

    positions: Array
    leaf: AtLeaf
    arrangement: str
    kind: str = "plain"
    has_room = False
    start = None
    short_rows = None
    piece_unit = "rows"

    def outlines(self, level: int) -> list[Array]:
        return []

    def keep(self, rows: Array, nodes: list[Array], hierarchy: Hierarchy) -> PlainLayout:
        return PlainLayout(
            self.positions[rows], AtLeaf(self.leaf.anchors[nodes[0]]), self.arrangement
        )

    def grown(self, positions: Array, leaf: Any, hierarchy: Hierarchy) -> PlainLayout:
        return replace(self, positions=positions)

    def check_promise(self, hierarchy: Hierarchy, n_threads: int) -> Audit:
        return audit_leaves(hierarchy, self.positions, None, n_threads)


class Plain(LayoutSettings):
    kind = "plain"

    def lay(self, given: LayoutInput) -> PlainLayout:
        factor = 1 / given.preliminary.unit
        leaf = AtLeaf(given.preliminary.nodes[0] * factor)
        return PlainLayout(given.preliminary.rows * factor, leaf, given.arrangement.kind)


def write_plain(writer: Any, layout: PlainLayout) -> dict[str, Any]:
    writer.put("map/anchors", layout.leaf.anchors)
    return {}


def read_plain(given: StoredLayout) -> PlainLayout:
    given.sizes["p"] = X.shape[1]  # coordinates of a row: all of its columns, turned
    anchors = given.reader.take_numbers("map/anchors", POINTS, (None, 2))
    return PlainLayout(given.positions, AtLeaf(anchors), given.arrangement)


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> HNNE:
    monkeypatch.setitem(SETTINGS, "plain", Plain)
    return HNNE(layout=Plain()).fit(X[:1500])


def test_it_is_fitted_audited_and_drawn(model: HNNE) -> None:
    layout: Layout = model.layout_
    assert isinstance(layout, Layout) and layout.kind == "plain"
    assert str(model.audit()).startswith("rows nearest to their own: measured")
    assert model.transform(X[1500:]).shape == (297, 2)
    outlines = get_outlines(model, -1, whole_frame(model.embedding_))
    assert len(outlines) == model.hierarchy_.level_sizes[-1]


def test_it_grows_and_is_followed(model: HNNE) -> None:
    more = model.extend(X[1500:])
    np.testing.assert_array_equal(more.embedding_[:1500], model.embedding_)
    less = more.forget(np.arange(1500))
    np.testing.assert_array_equal(less.embedding_, more.embedding_[1500:])
    followed = HNNE().fit(X, like=model)
    assert followed.layout_.kind == "islands" and followed.embedding_.shape == (1797, 2)


def test_it_is_saved(model: HNNE, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(FORMS, "plain", LayoutForm(write_plain, read_plain))
    model.save(tmp_path / "plain.nestmap")
    found = nestmap.load(tmp_path / "plain.nestmap")
    np.testing.assert_array_equal(found.embedding_, model.embedding_)
    np.testing.assert_array_equal(found.transform(X[1500:]), model.transform(X[1500:]))


def test_every_layout_has_a_form_in_files() -> None:
    assert FORMS.keys() == SETTINGS.keys()
