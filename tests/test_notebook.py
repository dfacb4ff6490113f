"""Models in a notebook, and reprs that fit on a screen."""

from __future__ import annotations

import re
import sys
from base64 import b64decode
from xml.etree import ElementTree

import numpy as np
import pytest
from conftest import digits
from sklearn import config_context

from nestmap import FINCH, HNNE, Descent, build_hierarchy
from nestmap.views.plots.notebook import draw_svg


def test_a_fitted_model_shows_map_levels_and_report() -> None:
    pytest.importorskip("matplotlib")
    model = HNNE(metric="cosine").fit(digits())
    page = model._repr_html_()
    picture = re.search(r'base64,([^"]+)"', page)
    assert (
        picture is not None and b64decode(picture[1]).startswith(b"\x89PNG") and len(page) < 400_000
    )
    for row in model.hierarchy_.summary():
        assert f">{row.n_clusters}</td>" in page
    assert (
        f"*{model.label_level_}" in page and "metric=&#x27;cosine&#x27;" in page and "exact" in page
    )
    ElementTree.fromstring(re.sub(r"<img[^>]*>", "", page).replace("<br>", "<br/>"))  # well-formed
    assert model._repr_mimebundle_()["text/html"] == page
    with config_context(display="text"):
        assert "text/html" not in model._repr_mimebundle_()


def test_before_the_fit_parameters_are_shown() -> None:
    assert (
        "HNNE" in HNNE(layout=Descent(radius=0.2))._repr_html_()
        and "base64,iVBOR" not in HNNE()._repr_html_()
    )


def test_without_matplotlib_the_map_is_drawn_as_dots(monkeypatch: pytest.MonkeyPatch) -> None:
    model = HNNE().fit(digits())
    with monkeypatch.context() as patch:
        for name in [name for name in sys.modules if name.split(".")[0] == "matplotlib"]:
            patch.delitem(sys.modules, name)
        patch.setitem(sys.modules, "matplotlib", None)
        page = model._repr_html_()
    assert page.count("<circle") == len(digits()[::2]) and "img" not in page
    places = np.array(
        [[float(v) for v in pair] for pair in re.findall(r'cx="([\d.-]+)" cy="([\d.-]+)"', page)]
    )
    assert places.min() >= 0 and places.max() <= 355
    assert draw_svg(HNNE().fit(digits()[:1])).count("<circle") == 1


def test_maps_in_other_dimensions_show_their_levels() -> None:
    page = HNNE(3).fit(digits()[:200])._repr_html_()
    assert "<table" in page and "<img" not in page and "<svg" not in page


def test_no_repr_is_longer_than_a_screen() -> None:
    X = digits()[:200]
    model = HNNE(neighbors=np.roll(np.arange(200), 1), layout=Descent(preliminary=X[:, 2:4])).fit(X)
    tree, islands = model.hierarchy_, model.layout_
    mosaic, descent = (model.relayout(layout=name).layout_ for name in ("mosaic", "descent"))
    things = [
        model,
        FINCH().fit(X),
        tree,
        tree.summary(),
        tree.describe(0),
        tree.levels[0],
        tree.levels[0].grouping,
        build_hierarchy(X).links[0],
        model.neighbor_report_,
        model.plan(X),
        model.audit(),
        islands,
        mosaic,
        descent,
        islands.leaf,
        mosaic.leaf,
        descent.placements[0],
        islands.outlines(-1),
        mosaic.outlines(0),
    ]
    too_long = {
        type(thing).__name__: len(repr(thing)) for thing in things if len(repr(thing)) > 2000
    }
    assert not too_long
    assert all(repr(thing).count("\n") < 40 for thing in things)
