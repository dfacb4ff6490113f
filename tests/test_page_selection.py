"""Selections in a real browser: drawn, joined, undone, in the address."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from browser import Tab
from digit_page import N, Y, exported, open_child, user_rows

from nestmap.views.explore.map_store import MapStore
from nestmap.views.explore.selections import SavedSelections
from nestmap.views.explore.server import Server

pytestmark = pytest.mark.slow
pytest_plugins = ("page_fixtures",)

Box = tuple[float, float, float, float]  # left, top, right, bottom


@pytest.fixture
def keeping(store: Path, tmp_path: Path) -> Iterator[Server]:
    """A server that keeps selections."""
    saved = SavedSelections(tmp_path / "selections.json")
    serving = Server(MapStore(store, selections=saved))
    serving.start()
    yield serving
    serving.stop()


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


def test_a_selection_is_told_by_its_clusters_and_pictures(tab: Tab) -> None:
    tab.js("nestmap.takeView()")
    tab.idle()
    chosen = selected(tab)
    level = tab.js("nestmap.shared.store.now.focus")
    lines = tab.page.locator("#selection .child")
    lines.first.wait_for()
    sizes = tab.js("k => [...nestmap.shared.tree.level(k).size]", level)
    share = float(lines.first.locator(".note").inner_text().rstrip("%"))
    assert share == pytest.approx(100 * max(sizes) / len(chosen), abs=1)
    pictures = tab.page.locator("#selection .picture")
    assert 10 < pictures.count() < 60  # those in sight, of 500
    tab.js("document.querySelector('.pictures').scrollTop = 1e6")
    tab.wait(f"document.querySelector('.picture[data-at=\"{N - 1}\"]')")
    last = tab.page.locator(f'.picture[data-at="{N - 1}"]')
    last.click()
    tab.idle()
    assert tab.js("nestmap.shared.store.now.row") == max(chosen)
    assert tab.text("#row h2") == last.get_attribute("title")


def test_what_is_special_about_a_selection(tab: Tab) -> None:
    row = int(np.flatnonzero(Y == 7)[0])
    place = int(np.flatnonzero(user_rows(tab) == row)[0])
    level = tab.js("nestmap.openLevel")
    index = tab.js(f"nestmap.shared.tree.nodeOfRow({place}, {level})")
    tab.js(f"nestmap.select({{kind: 'cluster', level: {level}, index: {index}}})")
    tab.page.locator("#selection .traits li").first.wait_for()
    assert "digit" in tab.text("#selection .traits")


def test_filters_and_searches_are_sets(tab: Tab) -> None:
    tab.js(_ONLY_SEVENS)
    tab.idle()
    tab.page.locator("#maps").focus()
    tab.page.keyboard.press("s")
    tab.idle()
    rows = user_rows(tab)
    assert {int(rows[place]) for place in selected(tab)} == set(np.flatnonzero(Y == 7))
    tab.page.keyboard.press("/")
    tab.page.keyboard.type("number 1")
    tab.page.keyboard.press("Enter")
    tab.wait("nestmap.shared.store.now.hits.length")
    tab.page.get_by_role("radio", name="Both").check(force=True)
    tab.page.get_by_role("button", name="Select these").click()
    tab.wait("JSON.stringify(nestmap.shared.store.now.selection).includes('search')")
    tab.idle()
    sevens = {row for row in np.flatnonzero(Y == 7).tolist() if str(row).startswith("1")}
    tab.wait(f"nestmap.shared.store.now.chosen.count === {len(sevens)}")
    assert {int(rows[place]) for place in selected(tab)} == sevens


def keep(tab: Tab, name: str) -> None:
    tab.page.get_by_role("button", name="Keep…").click()
    tab.page.keyboard.type(name)
    tab.page.keyboard.press("Enter")
    tab.page.locator("#kept .keptlist li", has_text=name).wait_for()


@pytest.mark.parametrize("transport", ["server", "static"])
def test_selections_are_kept_shown_compared_and_deleted(
    browser: Any, keeping: Server, site: str, transport: str
) -> None:
    tab = Tab(browser).open(keeping.url if transport == "server" else site)
    level = tab.js("nestmap.openLevel")
    for index, name in ((0, "first <b>ones</b>"), (1, "second")):
        tab.js(f"nestmap.select({{kind: 'cluster', level: {level}, index: {index}}}, 'replace')")
        tab.idle()
        keep(tab, name)
    size = tab.js(f"nestmap.shared.tree.level({level}).size[1]")
    second = tab.page.locator("#kept .keptlist li", has_text="second")
    assert second.locator(".note").inner_text() == str(size)
    tab.page.locator("#kept .keptlist .item", has_text="first").click()
    tab.idle()
    assert tab.js("nestmap.shared.store.now.selection.index") == 0
    second.get_by_role("button", name="Compare").click()
    tab.page.locator("#kept .compared").wait_for()
    assert "0 rows in both" in tab.text("#kept")
    own, its = tab.page.locator(".compared .traits").all_inner_texts()
    assert own and its and own != its
    if transport == "server":
        tab.page.reload()
        tab.idle()
        tab.page.locator("#kept .keptlist li").nth(1).wait_for()
        assert keeping.store.selections.read()["second"].rows.size == size
    else:
        assert "Kept for this visit" in tab.text("#kept")
        with tab.page.expect_download() as download:
            tab.page.get_by_role("button", name="Download them").click()
        found = json.loads(Path(download.value.path()).read_text())
        assert len(found["second"]) == size and set(found) == {"first <b>ones</b>", "second"}
    tab.page.get_by_role("button", name="Delete second").click()
    tab.wait("document.querySelectorAll('#kept .keptlist li').length === 1")
    tab.close()


@pytest.mark.parametrize("transport", ["server", "static"])
def test_row_numbers_are_exported(browser: Any, server: Server, site: str, transport: str) -> None:
    tab = Tab(browser).open(server.url if transport == "server" else site)
    level = tab.js("nestmap.openLevel")
    tab.js(f"nestmap.select({{kind: 'cluster', level: {level}, index: 1}})")
    rows = user_rows(tab)[sorted(selected(tab))]
    tab.page.get_by_label("Other formats").click()
    parquet = tab.page.get_by_role("button", name="Parquet")
    assert parquet.is_enabled() == (transport == "server")
    with tab.page.expect_download() as download:
        tab.page.get_by_role("button", name="Row numbers").click()
    found = np.loadtxt(download.value.path(), dtype=int)
    assert found.tolist() == sorted(rows.tolist())
    tab.close()


_ONLY_SEVENS = """(() => {
  const {meta, store} = nestmap.shared;
  const column = meta.columns.find((c) => c.name === 'digit');
  const code = column.categories.indexOf('7');
  store.set({filters: new Map([[column.key, {kind: 'categories', codes: [code]}]])});
})()"""
