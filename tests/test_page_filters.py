"""Columns, filters, time and colour of the explorer's page, in a real browser."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from browser import Tab
from digit_page import N, X, Y, user_rows, write

from nestmap.views.explore.map_store import MapStore
from nestmap.views.explore.server import Server

pytest_plugins = ("page_fixtures",)
pytestmark = pytest.mark.slow
INK = np.where(np.arange(N) % 50, X.sum(axis=1), np.nan)  # as digit_page writes it
WIDE, HIGH = 1400, 900  # pixels: the rail is open from the start


@pytest.fixture
def wide(browser: Any, server: Any) -> Any:
    opened = Tab(browser, WIDE, HIGH).open(server.url)
    opened.wait("document.querySelector('#rail .bar-line')")
    yield opened.idle()
    opened.close()


def column(tab: Tab, name: str) -> Any:
    return tab.page.get_by_role("region", name=name, exact=True)


def passing(tab: Tab) -> np.ndarray:
    """Whether each of the user's rows is let through, as the map draws it."""
    shares = np.array(tab.js(_SHARES))
    found = np.zeros(N, dtype=bool)
    found[user_rows(tab)] = shares == 255
    return found


def drag(tab: Tab, plot: Any, start: float, end: float) -> None:
    """Across a histogram, in shares of its width."""
    plot.scroll_into_view_if_needed()
    box = plot.bounding_box()
    y = box["y"] + box["height"] / 2
    tab.page.mouse.move(box["x"] + start * box["width"], y)
    tab.page.mouse.down()
    tab.page.mouse.move(box["x"] + end * box["width"], y, steps=6)
    tab.page.mouse.up()
    tab.idle()


def test_a_brush_filters_rows_exactly_and_others_follow(wide: Tab) -> None:
    drag(wide, column(wide, "ink").locator(".plot"), 0.25, 0.5)
    chosen = wide.js("nestmap.shared.store.now.filters.get('c1')")
    inside = (chosen["low"] <= INK) & (chosen["high"] >= INK)
    assert 0 < inside.sum() < N
    np.testing.assert_array_equal(passing(wide), inside)
    assert wide.text("#rail .left") == f"{inside.sum()} of {N} rows"
    lines = column(wide, "digit").locator(".bar-line").all_inner_texts()
    told = dict(line.split("\n") for line in lines)
    assert told == {d: str((inside & (int(d) == Y)).sum()) for d in told} and len(told) > 7
    column(wide, "digit").locator(".bar-line", has_text="3").first.click()
    wide.idle()
    np.testing.assert_array_equal(passing(wide), inside & (Y == 3))
    wide.page.get_by_role("button", name="Clear the filter of ink").click()
    wide.idle()
    np.testing.assert_array_equal(passing(wide), Y == 3)
    wide.page.keyboard.press("Escape")
    wide.idle()
    assert passing(wide).all() and wide.text("#rail .left") == f"{N} rows"


def test_clusters_and_missing_values_filter_too(wide: Tab) -> None:
    column(wide, "ink").get_by_role("button", name="missing: 10").click()
    wide.idle()
    np.testing.assert_array_equal(passing(wide), np.isnan(INK))
    wide.page.get_by_role("button", name="Clear all").click()
    wide.page.locator("#rail .column .bar-line").first.click()
    wide.idle()
    level = wide.js("nestmap.shared.store.now.focus")
    codes = wide.js(f"nestmap.shared.store.now.filters.get('level.{level}').codes")
    sizes = wide.js(f"[...nestmap.shared.tree.level({level}).size]")
    assert passing(wide).sum() == sizes[codes[0]] == max(sizes)


def test_handles_move_by_keys(wide: Tab) -> None:
    low = column(wide, "ink").get_by_role("slider", name="ink: lowest value shown")
    low.focus()
    for _ in range(3):
        wide.page.keyboard.press("ArrowRight")
    wide.page.keyboard.press("PageUp")
    wide.idle()
    ink = wide.js("nestmap.shared.meta.columns.find(c => c.key === 'c1')")
    filtered = wide.js("nestmap.shared.store.now.filters.get('c1')")
    edge = ink["low"] + 8 * (ink["high"] - ink["low"]) / 48
    assert filtered["low"] == pytest.approx(edge) and filtered["high"] == ink["max"]
    assert float(low.get_attribute("aria-valuenow")) == pytest.approx(edge)
    np.testing.assert_array_equal(passing(wide), filtered["low"] <= INK)
    wide.page.keyboard.press("Delete")
    wide.idle()
    assert passing(wide).all()


def test_the_address_holds_filters(wide: Tab, browser: Any) -> None:
    drag(wide, column(wide, "ink").locator(".plot"), 0.25, 0.5)
    column(wide, "digit").locator(".bar-line", has_text="3").first.click()
    wide.idle()
    wide.wait("['c0', 'c1'].every((key) => location.hash.includes(`filter=${key}`))")
    other = Tab(browser, 900, 800).open(wide.js("location.href"))
    np.testing.assert_array_equal(passing(other), passing(wide))
    assert other.text(".pill").startswith(f"{passing(wide).sum()} of {N} rows")
    other.page.get_by_role("button", name="Clear filters").click()
    other.idle()
    assert passing(other).all()
    other.wait("!location.hash.includes('filter')")
    other.close()


def test_filtered_rows_stay_as_pale_context(wide: Tab) -> None:
    wide.color_by("c0")
    wide.idle()
    row = wide.clear_rows(1)[0]
    digit = Y[user_rows(wide)[row]]
    x, y = wide.place(row)
    before = wide.pixels()[round(y), round(x)].astype(int)
    own = wide.page.get_by_text(str(digit), exact=True)  # counts hold other digits, too
    line = wide.page.locator(".keys li").filter(has=own)
    line.locator(".eye").click()
    wide.page.mouse.move(2, 2)
    wide.idle()
    after = wide.pixels()[round(y), round(x)].astype(int)
    empty = wide.pixels()[60, WIDE // 2].astype(int)
    assert np.abs(before - after).max() > 30 and np.ptp(after) < 40  # grey
    assert np.abs(after - empty).max() > 8  # but there
    np.testing.assert_array_equal(passing(wide), digit != Y)
    found = Y[user_rows(wide)[wide.clear_rows(N)]]  # by the pointer
    assert len(found) and digit not in found
    line.locator(".key").click()  # only and hide cannot contradict
    wide.idle()
    np.testing.assert_array_equal(passing(wide), digit == Y)
    line.locator(".eye").click()  # the last one: all are back
    wide.idle()
    assert passing(wide).all()


def test_a_static_folder_filters_as_well(browser: Any, site: str) -> None:
    tab = Tab(browser, WIDE, HIGH).open(f"{site}#filter=c0:3,4&filter=q0:0.5~1")
    wanted = np.isin(Y, [3, 4]) & (np.linspace(0, 1, N) >= 0.5)
    np.testing.assert_array_equal(passing(tab), wanted)
    tab.wait("document.querySelector('#rail .left strong')")
    assert tab.text("#rail .left") == f"{wanted.sum()} of {N} rows"
    tab.close()


def test_on_a_phone_the_rail_is_a_sheet(browser: Any, server: Any) -> None:
    tab = Tab(browser, 390, 800, has_touch=True, is_mobile=True).open(server.url)
    assert tab.page.locator("#rail").is_hidden()
    tab.page.locator("#filters").tap()
    tab.wait("document.querySelector('#rail .bar-line')")
    tab.idle()
    tab.page.locator("#rail .bar-line").nth(1).tap()
    tab.idle()
    assert 0 < passing(tab).sum() < N
    assert tab.js("document.documentElement.scrollWidth") == 390
    wide = tab.js(_TOO_WIDE)
    assert wide == []
    tab.page.locator("#rail .close").tap()
    tab.idle()
    assert tab.page.locator(".pill").is_visible()
    tab.close()


_SHARES = """(() => {
  const {shares, tiles} = nestmap.shared, tile = tiles.peek(0, -1, 0);
  return [...shares.of(tile)].filter((_, i) => i % 4 === 0);
})()"""
_TOO_WIDE = """[...document.querySelectorAll("#rail *")]
  .filter((e) => e.offsetParent && e.getBoundingClientRect().right > 391)
  .map((e) => e.className)"""


@pytest.fixture(scope="module")
def dated(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The digits with a day each, and more columns than a list shows at once."""
    days = np.datetime64("2020-01-01") + np.arange(N) % 100
    many = {f"gene {i:03d}": X[:, i % 64] + i for i in range(120)}
    metadata = {"day": days, "digit": Y.astype(str), **many}
    folder = write(tmp_path_factory.mktemp("dated") / "store", metadata=metadata, compare=None)
    serving = Server(MapStore(folder))
    serving.start()
    yield serving
    serving.stop()


def test_time_plays_with_ghosts_of_what_came_before(browser: Any, dated: Any) -> None:
    tab = Tab(browser, WIDE, HIGH).open(dated.url)
    tab.wait("document.querySelector('#rail .plot .front').getAttribute('d')")
    tab.page.get_by_role("button", name="Play through day").click()
    tab.idle()
    days = np.arange(N) % 100
    first = passing(tab)
    assert 0 < first.sum() < N and set(days[first]) == set(range(days[first].max() + 1))
    tab.page.get_by_role("button", name="Play", exact=True).click()
    low = "nestmap.shared.store.now.filters.get('c0').low"
    start = tab.js(low)
    tab.wait(f"{low} > {start}")  # by whole windows, as this reader wants less motion
    tab.page.get_by_role("button", name="Pause").click()
    tab.idle()
    now = passing(tab)
    assert days[now].min() > 0
    ghosts = np.zeros(N, dtype=bool)
    ghosts[user_rows(tab)] = np.array(tab.js(_GHOSTS)) == 255
    assert (
        set(days[ghosts]) >= set(range(days[now].min())) and days[ghosts].max() <= days[now].min()
    )
    assert "time=c0" in tab.js("location.hash") and "filter=c0" in tab.js("location.hash")
    tab.page.get_by_role("slider", name="day: values shown").first.press("ArrowRight")
    tab.idle()
    assert days[passing(tab)].min() > days[now].min()
    tab.page.get_by_role("button", name="Close the time bar").click()
    tab.idle()
    assert passing(tab).all() and tab.page.locator("#time").is_hidden()
    tab.close()


def test_a_column_is_found_by_typing(browser: Any, dated: Any) -> None:
    tab = Tab(browser, 900, 800).open(dated.url)
    box = tab.page.get_by_role("combobox", name="Colour by")
    box.click()
    lines = tab.page.locator(".choices:not([hidden]) [role=option]")
    assert lines.count() < 123 and "more: type to find them" in tab.text(".choices:not([hidden])")
    box.fill("ne 117")
    assert lines.all_inner_texts() == ["gene 117"]
    box.press("Enter")
    tab.idle()
    name = "nestmap.shared.painter.column.name"
    assert tab.js(name) == "gene 117" and box.input_value() == "gene 117"
    box.press("ArrowDown")
    assert box.get_attribute("aria-expanded") == "true"
    box.press("ArrowDown")
    active = tab.page.locator(f"#{box.get_attribute('aria-activedescendant')}")
    chosen = active.inner_text()
    box.press("Escape")
    assert tab.js(name) == "gene 117" and chosen != "gene 117" and lines.count() == 0
    tab.close()


def test_the_rail_finds_columns_by_typing(browser: Any, dated: Any) -> None:
    tab = Tab(browser, WIDE, HIGH).open(f"{dated.url}#filter=c121:0~500")  # beyond the first cards
    tab.wait("document.querySelector('#rail .left strong')")
    cards = tab.page.locator("#rail .column")
    assert cards.count() < 100 and "more columns" in tab.text("#rail .rest")
    tab.page.fill("#rail .finder", "gene 07")
    tab.idle()
    names = tab.page.locator("#rail .column h3").all_inner_texts()
    assert names[1:] == [*(f"gene 07{i}" for i in range(10)), "gene 119"]
    drag(tab, column(tab, "gene 073").locator(".plot"), 0.5, 1)
    assert passing(tab).sum() == (X[:, 73 % 64] + 73 >= tab.js(_LOW)).sum() < N
    tab.close()


def test_rows_grow_with_a_column(wide: Tab) -> None:
    wide.js("nestmap.shared.store.set({size: 'q0'})")
    wide.idle()
    rows = user_rows(wide)
    trust = np.linspace(0, 1, N)[rows]
    sizes = np.array(wide.js(_SIZES))
    assert sizes[trust.argmax()] == 255 and sizes[trust.argmin()] == 0
    assert (np.diff(sizes[np.argsort(trust)]) >= 0).all()
    assert "size=q0" in wide.js("location.hash") and "trust" in wide.page.input_value("#size input")


def test_clusters_in_the_panel_have_the_colours_of_the_map(wide: Tab) -> None:
    """Also where a coarse level is listed, and where a column gives the colours."""
    wide.wait("!document.querySelector('#cluster [data-wait]')")
    assert len(set(wide.js(_SWATCHES))) == wide.page.locator("#cluster .child").count()
    wide.color_by("c0")
    wide.idle()
    wide.wait("!document.querySelector('#cluster [data-wait]')")
    assert set(wide.js(_SWATCHES)) <= set(wide.js(_KEYS))


_LOW = "nestmap.shared.store.now.filters.get('c75').low"
_SIZES = """(() => {
  const {shares, tiles} = nestmap.shared, tile = tiles.peek(0, -1, 0);
  return [...shares.of(tile)].filter((_, i) => i % 4 === 2);
})()"""
_GHOSTS = _SIZES.replace("=== 2", "=== 1")
_SWATCHES = """[...document.querySelectorAll('#cluster .child .swatch')]
  .map(e => e.style.backgroundColor)"""
_KEYS = "[...document.querySelectorAll('#keys .swatch')].map(e => e.style.backgroundColor)"
