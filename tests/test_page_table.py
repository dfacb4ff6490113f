"""The table of rows in a real browser: sorted, scrolled, tied to the map, by mouse and by keys."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import numpy as np
import pytest
from browser import Tab
from digit_page import N, X, Y, user_rows

pytestmark = pytest.mark.slow
pytest_plugins = ("page_fixtures",)

MANY = 1_000_000
INK = np.where(np.arange(N) % 50, X.sum(axis=1), np.nan)


def cells(tab: Tab, title: str) -> list[str]:
    """What the rows in sight say in a column."""
    return list(tab.js(_CELLS, title))


def head(tab: Tab, title: str) -> None:
    tab.page.locator(".gridhead button", has_text=title).click()
    tab.idle()


def open_table(tab: Tab) -> None:
    tab.page.keyboard.press("t")
    tab.wait("document.querySelector('.gridbody .gridrow')")
    tab.idle()


def test_heads_sort_up_and_down_and_back(tab: Tab) -> None:
    open_table(tab)
    assert tab.text("#table output") == f"{N} rows"
    tab.page.select_option("#table select", "all")
    tab.idle()
    unsorted = cells(tab, "row")
    assert unsorted[:5] == [str(row) for row in user_rows(tab)[:5]]
    head(tab, "ink")
    tab.wait(f"{_SORT} === 'ascending'")
    lowest = [float(each) for each in cells(tab, "ink")[:6]]
    assert lowest == sorted(INK[~np.isnan(INK)].tolist())[:6]
    head(tab, "ink")
    tab.wait(f"{_SORT} === 'descending'")
    highest = [float(each) for each in cells(tab, "ink")[:6]]
    assert highest == sorted(INK[~np.isnan(INK)].tolist(), reverse=True)[:6]
    head(tab, "ink")
    tab.wait(f"{_SORT} === 'none'")
    assert cells(tab, "row") == unsorted


def test_rows_stand_as_they_were_given(tab: Tab) -> None:
    open_table(tab)
    tab.page.select_option("#table select", "all")
    tab.idle()
    head(tab, "row")
    tab.wait("document.querySelector('.gridhead [aria-sort=ascending]')")
    tab.wait("document.querySelector('.gridbody .gridrow')?.textContent.startsWith('0')")
    assert cells(tab, "row")[:4] == ["0", "1", "2", "3"]
    assert cells(tab, "name")[2] == f"a {Y[2]}, number 2"


def test_rows_of_the_table_are_exported(tab: Tab) -> None:
    tab.js(_ONLY_SEVENS)
    tab.idle()
    open_table(tab)
    tab.wait("document.querySelector('#table output').textContent !== '500 rows'")
    with tab.page.expect_download() as download:
        tab.page.locator("#table").get_by_role("button", name="Export CSV").click()
    rows = list(csv.DictReader(io.StringIO(Path(download.value.path()).read_text("utf-8"))))
    assert {int(row["row"]) for row in rows} == set(np.flatnonzero(Y == 7))


def test_rows_selected_and_filtered(tab: Tab) -> None:
    level = tab.js("nestmap.openLevel")
    tab.js(f"nestmap.select({{kind: 'cluster', level: {level}, index: 1}})")
    tab.idle()
    open_table(tab)
    node = tab.js(f"nestmap.shared.tree.node({{level: {level}, index: 1}})")
    assert tab.text("#table output") == f"{node['size']} rows"
    members = user_rows(tab)[node["firstRow"] : node["firstRow"] + node["size"]]
    assert cells(tab, "row")[:5] == [str(row) for row in members[:5]]
    tab.page.select_option("#table select", "filtered")
    tab.js(_ONLY_SEVENS)
    tab.wait("document.querySelector('#table output').textContent !== '500 rows'")
    tab.idle()
    assert tab.text("#table output") == f"{(Y == 7).sum()} rows"
    assert set(cells(tab, "digit")) == {"7"}


def test_the_table_and_the_map_are_tied(tab: Tab) -> None:
    open_table(tab)
    tab.page.select_option("#table select", "all")
    tab.idle()
    row = tab.page.locator(".gridbody .gridrow").nth(3)
    row.hover()
    assert tab.js("nestmap.shared.store.now.hover") == 3
    scale = tab.js("nestmap.main.view.scale")
    row.click()
    tab.idle()
    assert tab.js("nestmap.shared.store.now.row") == 3
    assert tab.js("nestmap.main.view.scale") >= scale
    assert tab.text("#row h2") == cells(tab, "name")[3]
    assert tab.page.locator(".gridbody [aria-selected]").get_attribute("aria-rowindex") == "5"
    size = tab.js("nestmap.main.size")
    x, y = tab.place(3)
    left, top = tab.js("(r => [r.left, r.top])(nestmap.main.overlayCanvas.getBoundingClientRect())")
    assert (x - left, y - top) == pytest.approx((size["width"] / 2, size["height"] / 2), abs=2)


def test_by_keyboard_alone(tab: Tab) -> None:
    tab.page.locator("#maps").focus()
    open_table(tab)
    assert tab.js("document.activeElement.getAttribute('role')") == "grid"
    for key in ("ArrowDown", "ArrowDown", "ArrowDown", "ArrowRight", "ArrowRight"):
        tab.page.keyboard.press(key)
    active = "document.getElementById(document.activeElement.getAttribute('aria-activedescendant'))"
    assert tab.js(f"{active}.parentElement.ariaRowIndex") == "4"
    assert tab.js(f"{active}.textContent") == cells(tab, "name")[2]
    tab.page.keyboard.press("End")
    tab.idle()
    assert tab.js(f"{active}.parentElement.ariaRowIndex") == str(N + 1)
    tab.page.keyboard.press("Enter")
    tab.idle()
    assert tab.js("nestmap.shared.store.now.row") == N - 1
    tab.page.locator(".grid").focus()
    tab.page.keyboard.press("Space")
    tab.page.keyboard.press("ArrowUp")
    tab.page.keyboard.press("Space")
    tab.idle()
    assert tab.js("nestmap.shared.store.now.selection.ranges") == [[N - 2, N]]
    line = "document.querySelector('.gridbody [data-line=\"{}\"]')"
    assert tab.js(line.format(N - 2))  # the table of rows in view stays where it is
    tab.page.locator(f".gridbody [data-line='{N - 2}']").click(modifiers=["Alt"])
    tab.idle()
    assert tab.js("nestmap.shared.store.now.chosen.ranges") == [[N - 1, N]]
    tab.page.locator(".splitter").focus()
    before = tab.js("document.getElementById('table').clientHeight")
    tab.page.keyboard.press("ArrowUp")
    assert tab.js("document.getElementById('table').clientHeight") > before
    tab.page.locator("#maps").focus()
    tab.page.keyboard.press("t")
    assert tab.page.locator("#table").is_hidden()


def test_columns_are_chosen_and_rows_in_view_follow_the_view(tab: Tab) -> None:
    open_table(tab)
    tab.page.locator(".choosecolumns summary").click()
    tab.page.get_by_role("checkbox", name="ink").uncheck()
    titles = tab.js("[...document.querySelectorAll('.gridhead .cell')].map(e => e.textContent)")
    assert "ink" not in titles and "digit" in titles
    x, y = tab.place(tab.clear_rows(1)[0])
    tab.page.mouse.move(x, y)
    for _ in range(5):
        tab.page.mouse.wheel(0, -400)
    tab.wait("document.querySelector('#table output').textContent !== '500 rows'")
    tab.idle()
    box = tab.js(
        "(r => [r.left, r.top, r.right, r.bottom])(nestmap.main.overlayCanvas.getBoundingClientRect())"
    )
    at = np.array([tab.place(row) for row in range(N)])
    seen = ((at > box[:2]) & (at < box[2:])).all(axis=1).sum()
    tab.wait(f"document.querySelector('#table output').textContent.startsWith('{seen} row')")


def test_a_million_rows_scroll_to_the_last(tab: Tab) -> None:
    """Of an engine that says there are so many: the bar ends at the last row, the wheel moves row by row."""
    tab.js(_MANY_ROWS, MANY)
    tab.js("nestmap.select({kind: 'missing', column: 'c1'})")
    tab.idle()
    assert f"{MANY:,} rows selected" in tab.text("#selection h2")
    open_table(tab)
    assert tab.text("#table output") == f"{MANY:,} rows"
    height = tab.js("document.querySelector('.grid').scrollHeight")
    assert 1_000_000 < height < 10_000_000
    tab.js("document.querySelector('.grid').scrollTop = 1e9")
    tab.wait(f"document.querySelector('.gridbody [data-line=\"{MANY - 1}\"]')")
    assert tab.page.locator(".gridbody .gridrow").count() < 40
    tab.js("document.querySelector('.grid').scrollTop = 0")
    tab.wait("document.querySelector('.gridbody [data-line=\"0\"]')")
    tab.page.locator(".gridbody .gridrow").first.hover()
    tab.page.mouse.wheel(0, 96)
    tab.wait("!document.querySelector('.gridbody [data-line=\"2\"]')")
    assert tab.page.locator(".gridbody .gridrow").first.get_attribute("data-line") == "3"


_SORT = """[...document.querySelectorAll('.gridhead .cell')]
  .find((e) => e.textContent.startsWith('ink')).getAttribute('aria-sort')"""
_CELLS = """(title) => {
  const heads = [...document.querySelectorAll('.gridhead .cell')];
  const k = heads.findIndex((e) => e.querySelector('.text')?.firstChild.textContent === title);
  return [...document.querySelectorAll('.gridbody .gridrow')].map((e) => e.children[k].textContent);
}"""
_ONLY_SEVENS = """(() => {
  const {meta, store} = nestmap.shared;
  const column = meta.columns.find((c) => c.name === 'digit');
  const code = column.categories.indexOf('7');
  store.set({filters: new Map([[column.key, {kind: 'categories', codes: [code]}]])});
})()"""
_MANY_ROWS = """(many) => {
  nestmap.shared.engine.ranges = async () => null;
  nestmap.shared.engine.charts = async () => ({count: many, charts: []});
  nestmap.shared.engine.page = async (set, order, offset, limit) => ({
    total: many,
    rows: Uint32Array.from({length: Math.min(limit, many - offset)}, (_, i) => (offset + i) % 500),
  });
}"""
