"""The widget in a real browser: the page in its frame, a kernel that is this process."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

pytest.importorskip("anywidget")
from digit_page import Y
from notebook_kernel import Notebook

from nestmap.views.explore.server import Server
from nestmap.views.explore.widget import MapWidget

pytestmark = pytest.mark.slow
pytest_plugins = ("page_fixtures",)


@pytest.fixture(name="widget")
def given_widget(server: Server) -> Iterator[MapWidget]:
    widget = MapWidget(server, "data:image/gif;base64,R0lGODlhAQABAAAAACw=")
    yield widget
    widget.close()


@pytest.fixture(name="notebook")
def given_notebook(browser: Any, widget: MapWidget) -> Iterator[Notebook]:
    notebook = Notebook(browser, widget)
    yield notebook
    notebook.close()


def test_what_the_mouse_selects_arrives_in_python(notebook: Notebook) -> None:
    frame = notebook.inside()
    assert frame.evaluate("nestmap.shared.meta.nRows") == len(Y)
    heard: list[Any] = []
    notebook.kernel.widget.observe(lambda change: heard.append(change["new"]), "selection")
    box = notebook.page.locator("#first iframe").bounding_box()
    mouse = notebook.page.mouse
    notebook.page.keyboard.down("Shift")  # a lasso around all that is left of the panel
    mouse.move(box["x"] + 20, box["y"] + 80)
    mouse.down()
    for x, y in ((800, 80), (800, 600), (20, 600), (20, 90)):
        mouse.move(box["x"] + x, box["y"] + y, steps=4)
    mouse.up()
    notebook.page.keyboard.up("Shift")
    notebook.wait_in(frame, "nestmap.shared.store.now.chosen")
    count = frame.evaluate("nestmap.shared.store.now.chosen.count")
    for _ in range(200):
        if heard:
            break
        notebook.page.wait_for_timeout(30)
    assert count > 300 and len(heard) == 1 and len(heard[0]) == count
    shown = frame.evaluate("[...nestmap.shared.tiles.peek(0, -1, 0).rows.row]")
    ranges = frame.evaluate("nestmap.shared.store.now.chosen.ranges")
    assert heard[0].tolist() == sorted(row for a, b in ranges for row in shown[a:b])


def test_what_python_chooses_is_shown(notebook: Notebook) -> None:
    frame = notebook.inside()
    widget = notebook.kernel.widget
    widget.selection = Y == 3
    notebook.put("_selected")
    notebook.wait_in(frame, "nestmap.shared.store.now.chosen")
    assert frame.locator("#selection h2").inner_text() == f"{np.sum(Y == 3)} rows selected"
    widget.filter = {"digit": ["3", "8"]}
    notebook.put("_filters")
    notebook.wait_in(frame, "nestmap.shared.store.now.filters.size === 1")
    widget.view = {**widget.view, "color": "digit"}
    notebook.put("_view")
    notebook.wait_in(frame, "nestmap.shared.store.now.color === 'c0'")
    frame.evaluate("nestmap.shared.store.set({filters: new Map(), selection: null})")
    for _ in range(200):
        if not widget.filter and not len(widget.selection):
            break
        notebook.page.wait_for_timeout(30)
    assert widget.filter == {} and len(widget.selection) == 0 and widget.view["color"] == "digit"


def test_two_views_show_the_same_and_one_that_is_gone_leaves_nothing(notebook: Notebook) -> None:
    first = notebook.inside()
    name = notebook.kernel.widget._still
    notebook.js(f"void document.body.insertAdjacentHTML('beforeend', '<p class={name}>still</p>')")
    notebook.js("void show('second')")
    assert not notebook.page.get_by_text("still").is_visible()
    second = notebook.inside("second")
    first.evaluate("nestmap.shared.store.set({selection: {kind: 'places', ranges: [[3, 7]]}})")
    notebook.wait_in(second, "nestmap.shared.store.now.chosen?.count === 4")
    left = notebook.js("(first(), [...model.listeners.values()].map((each) => each.length))")
    assert set(left) == {1} and notebook.page.locator("iframe").count() == 1
    assert notebook.page.get_by_text("still").is_visible()
    second.evaluate("nestmap.shared.store.set({selection: null})")
    notebook.wait_in(second, "nestmap.idle")


def test_the_frame_reaches_nothing_but_its_widget(notebook: Notebook) -> None:
    frame = notebook.inside()
    assert frame.evaluate("self.origin") == "null"
    assert (
        notebook.page.locator("iframe").get_attribute("sandbox") == "allow-scripts allow-downloads"
    )
    told = frame.evaluate(
        "new Image().src = 'http://localhost/leak.png'; fetch('api/nothing').then((a) => a.status)"
    )
    assert told == 404
    # what other windows send is no answer, and no choice
    notebook.js(
        "postMessage({nestmap: 1, kind: 'choice', choice: {selected: {kind: 'places', ranges: [[0, 2]]}}}, '*')"
    )
    notebook.page.wait_for_timeout(300)
    assert len(notebook.kernel.widget.selection) == 0
    notebook.errors[:] = [each for each in notebook.errors if "Content Security Policy" not in each]


def test_without_a_kernel_the_picture_stays(browser: Any, widget: MapWidget) -> None:
    notebook = Notebook(browser, widget, answers=False)
    notebook.wait("document.body.innerText.includes('no kernel answers')")
    assert notebook.page.locator("img").is_visible()
    assert not notebook.page.locator("iframe").is_visible()
    notebook.close()
