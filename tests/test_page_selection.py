"""Selections in a real browser: drawn, joined, undone, in the address."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from browser import Tab
from digit_page import N, exported, open_child, user_rows

from nestmap.views.explore.server import Server

pytestmark = pytest.mark.slow
pytest_plugins = ("page_fixtures",)

Box = tuple[float, float, float, float]  # left, top, right, bottom


def draw(tab: Tab, box: Box, keys: Sequence[str] = (), tool: str = "box") -> None:
    """Draw a box on the map, with keys held at its end."""
    left, top, right, bottom = box
    tab.page.click(f"#{tool}")
    tab.page.mouse.move(left, top)
    tab.page.mouse.down()
    tab.page.mouse.move(right, top, steps=2)
    tab.page.mouse.move(right, bottom, steps=2)
    if tool == "lasso":
        tab.page.mouse.move(left, bottom, steps=2)
    for key in keys:
        tab.page.keyboard.down(key)
    tab.page.mouse.up()
    for key in keys:
        tab.page.keyboard.up(key)
    tab.idle()


def selected(tab: Tab) -> set[int]:
    """Places that are selected."""
    tab.wait("nestmap.shared.store.now.chosen")
    ranges = tab.js("nestmap.shared.store.now.chosen.ranges")
    return {row for begin, end in ranges for row in range(begin, end)}


def places(tab: Tab) -> np.ndarray:
    """Where all rows lie on the screen; their tile is loaded."""
    return np.array([tab.place(row) for row in range(N)])


def inside(at: np.ndarray, box: Box, by: float = 0.0) -> set[int]:
    """Rows inside a box that is larger by some pixels."""
    low, high = np.array(box[:2]) - by, np.array(box[2:]) + by
    return set(np.flatnonzero(((at > low) & (at < high)).all(axis=1)).tolist())


def two_boxes(at: np.ndarray) -> tuple[Box, Box]:
    """Two boxes around the middle of the rows that share some of them."""
    x, y = np.median(at, axis=0)
    return (x - 150, y - 110, x + 60, y + 90), (x - 60, y - 90, x + 150, y + 110)


def about(found: set[int], first: set[int], second: set[int]) -> None:
    """The set between two: boxes on the screen are exact to a pixel."""
    assert first <= found <= second
    assert found


def test_boxes_join_as_the_keys_say_and_steps_are_undone(tab: Tab) -> None:
    at = places(tab)
    a, b = two_boxes(at)
    draw(tab, a)
    in_a = selected(tab)
    about(in_a, inside(at, a, -1), inside(at, a, 1))
    draw(tab, b)
    in_b = selected(tab)
    assert in_a - in_b and in_b - in_a and in_a & in_b
    draw(tab, a, ["Control"])
    assert selected(tab) == in_a | in_b
    draw(tab, b, ["Alt"])
    assert selected(tab) == in_a - in_b
    draw(tab, a)
    draw(tab, b, ["Control", "Alt"])
    assert selected(tab) == in_a & in_b
    assert f"{len(in_a & in_b)} rows selected" in tab.text("#selection h2")
    tab.page.get_by_role("button", name="Invert").click()
    tab.idle()
    assert selected(tab) == set(range(N)) - (in_a & in_b)
    tab.page.get_by_role("button", name="Undo").click()
    tab.idle()
    assert selected(tab) == in_a & in_b
    tab.page.keyboard.press("Control+z")
    tab.idle()
    assert selected(tab) == in_a
    rows = user_rows(tab)
    assert {int(row["row"]) for row in exported(tab)} == {int(rows[place]) for place in in_a}


def test_what_is_not_selected_is_faint(tab: Tab) -> None:
    box = two_boxes(places(tab))[0]
    draw(tab, box, tool="lasso")
    chosen = selected(tab)
    alphas = np.array(tab.js(_ALPHAS))
    strong = set(np.flatnonzero(alphas == 255).tolist())
    assert strong == chosen and set(alphas.tolist()) == {26, 255}


def test_by_keyboard_alone(tab: Tab) -> None:
    """Rows in view, then without those of a cluster."""
    tab.page.locator("#maps").focus()
    for _ in range(3):
        tab.page.keyboard.press("+")
        tab.idle()
    seen = inside(places(tab), _map_box(tab))
    tab.page.keyboard.press("v")
    tab.idle()
    assert selected(tab) == seen and 0 < len(seen) < N
    tab.page.locator("#cluster .child").first.focus()
    tab.page.keyboard.press("Enter")
    tab.idle()
    tab.page.get_by_role("radio", name="Less").focus()
    tab.page.keyboard.press("Space")
    assert tab.js("nestmap.shared.store.now.how") == "subtract"
    assert tab.js("document.activeElement.name") == "how"  # the panel was drawn again under it
    tab.page.get_by_role("button", name="Select rows").focus()
    tab.page.keyboard.press("Enter")
    tab.idle()
    node = tab.js("nestmap.shared.tree.node(nestmap.shared.store.now.cluster)")
    members = set(range(node["firstRow"], node["firstRow"] + node["size"]))
    assert selected(tab) == seen - members
    tab.page.locator("#maps").focus()
    tab.page.keyboard.press("i")
    tab.idle()
    assert selected(tab) == set(range(N)) - (seen - members)
    tab.page.keyboard.press("Escape")
    assert tab.page.locator("#selection").is_hidden()


def test_a_short_selection_is_in_the_address(tab: Tab, browser: Any) -> None:
    open_child(tab, 1)
    tab.page.get_by_role("button", name="Select rows").click()
    chosen = selected(tab)
    tab.wait("location.hash.includes('sel=')")
    other = Tab(browser).open(tab.page.url)
    assert selected(other) == chosen
    assert f"{len(chosen)} rows selected" in other.text("#selection h2")
    other.close()


def test_over_clusters_rows_are_taken_one_by_one(browser: Any, server: Server) -> None:
    """With clusters drawn for rows, a box still takes the rows inside it, not whole clusters."""
    tab = Tab(browser)
    body = server.shown.index.replace(
        b'"transport": "server"', b'"transport": "server", "budget": 150'
    )
    tab.page.route(server.url, lambda route: route.fulfill(body=body, content_type="text/html"))
    tab.open(server.url)
    assert tab.js("nestmap.main.level") >= 0
    center = tab.js(_MIDDLE)
    box = (center[0] - 90, center[1] - 70, center[0] + 90, center[1] + 70)
    draw(tab, box)
    at = places(tab)
    chosen = selected(tab)
    about(chosen, inside(at, box, -1), inside(at, box, 1))
    assert "By cluster" not in tab.text("#selection")
    level = tab.js("nestmap.main.level")
    tile = tab.js(_NODES, level)
    shares = [len(chosen & set(range(f, f + n))) / n for f, n, _ in tile]
    np.testing.assert_allclose([alpha for *_, alpha in tile], 26 + 229 * np.array(shares), atol=1)
    tab.close()


def _map_box(tab: Tab) -> Box:
    box = tab.js(
        "(r => [r.left, r.top, r.right, r.bottom])("
        "nestmap.main.overlayCanvas.getBoundingClientRect())"
    )
    left, top, right, bottom = (float(each) for each in box)
    return left, top, right, bottom


_ALPHAS = """(() => {
  const {rgba} = nestmap.shared.painter.paint(nestmap.shared.tiles.peek(0, -1, 0));
  return Array.from({length: rgba.length / 4}, (_, i) => rgba[4 * i + 3]);
})()"""
_MIDDLE = """(() => {
  const box = nestmap.main.overlayCanvas.getBoundingClientRect();
  return [(box.left + box.right) / 2, (box.top + box.bottom) / 2];
})()"""
_NODES = """(level) => nestmap.main.visible(level).flatMap((tile) => {
  const {rgba} = nestmap.shared.painter.paint(tile);
  return [...tile.nodes.size].map((n, i) => [tile.nodes.firstRow[i], n, rgba[4 * i + 3]]);
})"""
