"""The explorer as a widget: what Python and a page tell each other; without a browser."""

from __future__ import annotations

import gzip
import json
import re
import socket
from base64 import b64encode
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("anywidget")
from digit_page import N, Y, fitted, write

from nestmap.views.explore.bundle import Page
from nestmap.views.explore.explorer import Explorer
from nestmap.views.explore.inline import write_inline
from nestmap.views.explore.map_store import MapStore
from nestmap.views.explore.memory import respond
from nestmap.views.explore.names import SavedNames
from nestmap.views.explore.server import Server
from nestmap.views.explore.widget import MapWidget


@pytest.fixture(scope="module", name="folder")
def given_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("widget") / "store")


@pytest.fixture(name="server")
def given_server(folder: Path) -> Iterator[Server]:
    server = Server(MapStore(folder, SavedNames()), token=True, listens=False)
    yield server
    server.stop()


@pytest.fixture(name="widget")
def given_widget(server: Server) -> Iterator[MapWidget]:
    widget = MapWidget(server)
    yield widget
    widget.close()


def changes(widget: MapWidget, name: str) -> list[Any]:
    found: list[Any] = []
    widget.observe(lambda change: found.append(change["new"]), name)
    return found


# -- rows
# -------------------------------------------------------------------------------------------------


def test_rows_that_python_selects_reach_the_page_as_ranges_of_places(widget: MapWidget) -> None:
    heard = changes(widget, "selection")
    widget.selection = [100, 3, 3, 5]
    assert [each.tolist() for each in heard] == [[3, 5, 100]]
    tree_order = widget._queries.row_numbers(np.arange(N))
    (*ranges,) = widget._selected["ranges"]
    assert sorted(int(r) for a, b in ranges for r in tree_order[a:b]) == [3, 5, 100]
    widget.selection = (3, 5, 100)
    assert len(heard) == 1  # the same rows
    widget.selection = Y == 3
    assert widget.selection.tolist() == np.flatnonzero(Y == 3).tolist()
    widget.selection = np.arange(N)
    assert widget._selected["ranges"] == [[0, N]]
    widget.selection = []
    assert widget._selected is None and len(heard[-1]) == 0
    widget.selection = None
    assert len(heard) == 4


@pytest.mark.parametrize("wrong", ([N], [-1], [0.5], [[1]], ["a"], [True, False]))
def test_what_is_no_row_is_refused_and_nothing_changes(widget: MapWidget, wrong: Any) -> None:
    widget.selection = [1]
    with pytest.raises(ValueError, match="selection: row"):
        widget.selection = wrong
    assert widget.selection.tolist() == [1]


def test_a_set_that_a_page_selects_reaches_python_as_row_numbers(widget: MapWidget) -> None:
    heard = changes(widget, "selection")
    (digit,) = (c for c in widget._columns if c["name"] == "digit")
    threes = {"kind": "categories", "column": digit["key"], "codes": [3]}
    widget.set_state({"_selected": threes})
    assert heard[-1].tolist() == np.flatnonzero(Y == 3).tolist()
    widget.set_state({"_selected": {"kind": "not", "of": threes}})
    assert heard[-1].tolist() == np.flatnonzero(Y != 3).tolist()
    top = fitted().hierarchy_.n_levels - 1
    widget.set_state({"_selected": {"kind": "cluster", "level": top, "index": 0}})
    labels = fitted().hierarchy_.labels(top)
    assert len(np.unique(labels[heard[-1]])) == 1 and len(heard[-1]) == np.bincount(labels).max()
    widget.set_state({"_selected": None})
    assert len(widget.selection) == 0
    assert widget._selected is None  # what came from the page was not sent back as something else


# -- filters and views
# -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "given, condition",
    (
        ({"digit": ["3", "8"]}, {"kind": "categories", "codes": [3, 8]}),
        ({"digit": ["3", None]}, {"kind": "categories", "codes": [3, 255]}),
        ({"ink": (100, 200)}, {"kind": "range", "low": 100.0, "high": 200.0}),
        ({"ink": (1, 2, None)}, {"kind": "range", "low": 1.0, "high": 2.0, "missing": True}),
        ({"ink": [None]}, {"kind": "missing"}),
        ({"level.1": ["1.0", "1.2"]}, {"kind": "categories", "codes": [0, 2]}),
    ),
)
def test_filters_go_both_ways(widget: MapWidget, given: Any, condition: Any) -> None:
    heard = changes(widget, "filter")
    widget.filter = given
    ((_key, told),) = widget._filters
    assert told == condition
    wire = widget._filters
    widget.filter = {}
    assert widget._filters == []
    widget.set_state({"_filters": wire})
    name = next(iter(given))
    assert [*heard[-1][name]] == [*given[name]] and len(heard) == 3


@pytest.mark.parametrize(
    "wrong, words",
    (
        ({"digt": ["3"]}, "did you mean 'digit'"),
        ({"digit": ["33"]}, "no category '33'"),
        ({"ink": [1]}, "(low, high)"),
    ),
)
def test_wrong_filters_are_refused_in_words(widget: MapWidget, wrong: Any, words: str) -> None:
    with pytest.raises(ValueError, match=re.escape(words)):
        widget.filter = wrong
    assert widget._filters == []


def test_views_go_both_ways(widget: MapWidget) -> None:
    heard = changes(widget, "view")
    widget.view = {"color": "ink", "z": 30}
    assert widget._view == "color=c1&z=30"
    with pytest.raises(ValueError, match="no column 'inc' to colour by"):
        widget.view = {"color": "inc"}
    widget.set_state({"_view": "x=1.5&color=c0&cluster=2.0&sel=%7B%7D"})
    assert heard[-1] == {"x": "1.5", "color": "digit", "cluster": "2.0"}
    assert widget._view.endswith("%7D")


# -- what a page asks
# -------------------------------------------------------------------------------------------------


def test_the_kernel_answers_as_the_server_does_and_nothing_listens(server: Server) -> None:
    assert not server.listens
    meta = respond(server, "GET", "data/meta.json")
    assert meta.status == 200 and meta.headers["content-encoding"] == "gzip"
    assert json.loads(gzip.decompress(meta.body))["n_rows"] == N
    assert respond(server, "GET", "data/nothing.json").status == 404
    assert respond(server, "GET", "data/meta.json?v=other").status == 409
    found = respond(server, "GET", "api/search?q=number%20499")
    assert json.loads(found.body)["total"] == 1
    name = b'{"level": 0, "index": 0, "name": "mine"}'
    told = respond(server, "POST", "api/names", "application/json", name)
    assert json.loads(told.body) == {"name": "mine"}
    assert server.store.saved is not None and "mine" in server.store.saved.read()[0].values()
    assert respond(server, "POST", "api/names", "text/plain", name).status == 415
    assert len(server.visits) == 0
    with pytest.raises(OSError), socket.create_connection(("127.0.0.1", 1), timeout=1):
        pass


@pytest.mark.parametrize("path", ("a b", "a\r\nHost: x", "ä", "x" * 4000))
def test_what_is_no_request_goes_nowhere(server: Server, widget: MapWidget, path: str) -> None:
    with pytest.raises(ValueError, match="no request"):
        respond(server, "GET", path)
    with pytest.raises(ValueError, match="no request"):
        respond(server, "DELETE", "api/names")
    sent: list[Any] = []
    widget.send = lambda content, buffers: sent.append((content, buffers))
    widget._hear(widget, {"kind": "ask", "asked": {"id": "1", "method": "GET", "path": path}}, [])
    widget._hear(widget, {"kind": "what"}, [])
    widget._hear(widget, "nothing", [])
    ((content, _),) = sent
    assert content["answered"]["status"] == 400


def test_the_page_in_one_text_lets_in_only_its_own_scripts(server: Server) -> None:
    page = write_inline(Page.find(), server.store.id)
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)
    assert policy is not None and "unsafe" not in policy[1] and "connect-src" not in policy[1]
    assert policy[1].startswith("default-src 'none';")
    for element in ("script", "style"):
        parts = re.findall(rf"<{element}>(.*?)</{element}>", page, re.DOTALL)
        sums = [b64encode(sha256(part.encode()).digest()).decode() for part in parts]
        assert parts and all(f"'sha256-{each}'" in policy[1] for each in sums)
    assert "src=" not in page[: page.index("<body>")] and server.store.id in page


# -- what `explore` returns
# -------------------------------------------------------------------------------------------------


def test_in_a_notebook_nothing_listens_before_the_address_is_asked_for(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nestmap.views.explore.explorer.shows_widgets", lambda: True)
    server = Server(MapStore(folder, SavedNames()), token=True, listens=False)
    page = Explorer(server, fitted())
    shown: list[dict[str, Any]] = []
    monkeypatch.setattr("IPython.display.publish_display_data", shown.append)
    page._ipython_display_()
    still, live = shown
    assert "application/vnd.jupyter.widget-view+json" in live and live["text/plain"] == ""
    assert page.widget is not None and f'class="{page.widget._still}"' in still["text/html"]
    assert "<iframe" not in still["text/html"] and "<img" in still["text/html"]
    assert "application/vnd.jupyter.widget-view+json" not in still
    assert not server.listens and "in this notebook" in repr(page)
    heard: list[Any] = []
    page.observe(heard.append)
    page.selection = [1, 2]
    page.filter = {"digit": ["3"]}
    page.view = {"z": 20}
    assert page.selection.tolist() == [1, 2] and page.filter == {"digit": ["3"]}
    assert [change["new"].tolist() for change in heard] == [[1, 2]] and page.view == {"z": 20}
    assert page.url.startswith("http://127.0.0.1:") and server.listens
    with socket.create_connection(("127.0.0.1", server.server_address[1]), timeout=10):
        pass
    page.stop()
    with pytest.raises(NotImplementedError):
        page._ipython_display_()
    assert "stopped" in repr(page)


def test_elsewhere_it_is_served_and_says_what_a_selection_needs(folder: Path) -> None:
    with Explorer(Server(MapStore(folder, SavedNames()), token=True)) as page:
        assert page.widget is None
        with pytest.raises(NotImplementedError):
            page._ipython_display_()
        with pytest.raises(RuntimeError, match=re.escape("pip install 'nestmap[notebook]'")):
            _ = page.selection
