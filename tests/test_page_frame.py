"""The explorer's first view in a real browser: nearly all rows, and counts of those further out."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from browser import Tab, open_browser
from conftest import digits

from nestmap import HNNE
from nestmap.views.explore.bundle import write_site
from nestmap.views.explore.map_store import MapStore
from nestmap.views.explore.maps import StoredMap
from nestmap.views.explore.server import Server
from nestmap.views.explore.store import write_store
from nestmap.views.explore.tiles import centres

N = 1000
FAR = (3, 500, 700, 900)


@cache
def strewn() -> HNNE:
    """1,000 rows, and four of them far out: three to the right, one far below."""
    model = copy.copy(HNNE().fit(digits()[:N]))
    positions = np.array(model.embedding_)
    width = np.ptp(positions, axis=0).max()
    positions[list(FAR)] = positions.mean(axis=0) + width * np.array(
        [[30, 0], [31, 1], [32, -1], [0, -40]]
    )
    model.embedding_ = positions
    return model


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    plain = HNNE().fit(digits()[:N]).embedding_
    return write_store(
        tmp_path_factory.mktemp("frame") / "store", strewn(), compare={"plain": plain}
    )


def test_the_store_has_the_frame_and_the_rows_beyond(store: Path) -> None:
    far, plain = MapStore(store).meta["maps"]
    positions = strewn().embedding_
    near = np.delete(positions, FAR, axis=0)
    assert far["frame"] == [*near.min(axis=0), *near.max(axis=0)]
    assert far["bounds"] == [*positions.min(axis=0), *positions.max(axis=0)]
    for side, rows in (("right", FAR[:3]), ("bottom", FAR[3:])):
        own = [each for each in far["beyond"] if each["side"] == side]
        assert sum(each["n_rows"] for each in own) == len(rows)
        corners = np.array([each["box"] for each in own]).reshape(-1, 2)
        there = positions[list(rows)]
        np.testing.assert_array_equal(
            [corners.min(axis=0), corners.max(axis=0)], [there.min(axis=0), there.max(axis=0)]
        )
    assert plain["frame"] == plain["bounds"] and plain["beyond"] == []


def test_rows_far_out_do_not_move_their_clusters(store: Path) -> None:
    files = MapStore(store)
    far = files.meta["maps"][0]
    for level, tiles in far["tiles"].items():
        if level == "rows":
            continue
        assert len(tiles["begin"]) == 1
        n = tiles["end"][0]
        places = np.frombuffer(files.read(f"m0/{level}/0.bin")[: 8 * n], "<f4").reshape(2, n)
        places = places.T + tiles["origin"][0]
        low, high = np.reshape(far["frame"], (2, 2))
        assert ((places >= low) & (places <= high)).all(), level


def test_places_are_precise_however_far_some_rows_are(tmp_path: Path) -> None:
    model = copy.copy(strewn())
    model.embedding_ = np.array(model.embedding_, dtype=np.float64)
    model.embedding_[list(FAR)] *= 1e7
    files = MapStore(write_store(tmp_path / "store", model))
    data = files.read("m0/rows/0.bin")
    places = np.frombuffer(data[: 8 * N], "<f4").reshape(2, N).T.astype(np.float64)
    places += files.meta["maps"][0]["tiles"]["rows"]["origin"][0]
    rows = np.frombuffer(data[8 * N : 12 * N], "<u4")
    near = ~np.isin(rows, FAR)
    frame = np.reshape(files.meta["maps"][0]["frame"], (2, 2))
    np.testing.assert_allclose(
        places[near], model.embedding_[rows[near]], rtol=0, atol=1e-7 * np.ptp(frame, axis=0).max()
    )


def test_a_cluster_that_is_all_far_out_is_where_its_rows_are() -> None:
    positions = np.array([[0.0, 0], [2, 0], [90, 0], [80, 4], [100, 4]])
    outside = positions[:, 0] > 50
    found = centres(np.array([0, 3, 5]), positions, outside)
    np.testing.assert_allclose(found, [[1, 0], [90, 4]])
    np.testing.assert_allclose(centres(np.array([0, 3, 5]), positions), [[92 / 3, 0], [90, 4]])


def test_rows_beyond_are_told_in_groups_that_lie_together() -> None:
    positions = np.vstack(
        [
            np.random.default_rng(0).random((2000, 2)) * 2 - 1,
            [[10.0, 0], [9.5, 1], [3, 0], [0, 300], [-50, 2], [3, -2.5]],
        ]
    )
    told = StoredMap("m", "points", positions, None, "").beyond()
    assert [(each["side"], each["n_rows"]) for each in told] == [
        ("left", 1),
        ("right", 1),
        ("right", 1),
        ("right", 2),
        ("top", 1),
    ]
    assert [each["box"] for each in told[1:4]] == [
        [3, -2.5, 3, -2.5],
        [3, 0, 3, 0],
        [9.5, 0, 10, 1],
    ]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with open_browser() as running:
        yield running


@pytest.fixture(scope="module", params=["server", "static"])
def address(
    request: pytest.FixtureRequest, store: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    if request.param == "static":
        folder = write_site(tmp_path_factory.mktemp("site") / "site", MapStore(store))
        yield (folder / "index.html").as_uri()
        return
    serving = Server(MapStore(store))
    serving.start()
    yield serving.url
    serving.stop()


@pytest.fixture
def tab(browser: Any, address: str) -> Iterator[Tab]:
    opened = Tab(browser).open(address)
    yield opened
    opened.close()


def in_view(tab: Tab) -> set[int]:
    """The user's rows that the view shows."""
    return set(tab.js(_IN_VIEW))


def counts(tab: Tab) -> list[str]:
    return [text for text in tab.page.locator(".beyond:visible").all_inner_texts() if text]


@pytest.mark.slow
def test_the_first_view_shows_nearly_all_rows_and_counts_the_others(tab: Tab) -> None:
    assert in_view(tab) == set(range(N)) - set(FAR)
    width = np.ptp(np.delete(strewn().embedding_, FAR, axis=0), axis=0).max()
    assert width * tab.js("nestmap.main.view.scale") > 500  # pixels of 800
    assert counts(tab) == ["3 rows further out →", "↓ 1 row further out"]
    level = tab.js("nestmap.shared.store.now.focus")
    assert level < strewn().hierarchy_.n_levels - 1  # not one disc for all


@pytest.mark.slow
@pytest.mark.parametrize(("side", "rows"), [("right", FAR[:3]), ("bottom", FAR[3:])])
def test_a_click_on_a_count_shows_its_rows(tab: Tab, side: str, rows: tuple[int, ...]) -> None:
    tab.page.locator(f".beyond.{side}").click()
    tab.idle()
    assert in_view(tab) == set(rows)
    assert counts(tab) == []  # they are for the first view
    tab.page.keyboard.press("0")
    tab.idle()
    assert len(counts(tab)) == 2 and tab.js("nestmap.main.isHome")


@pytest.mark.slow
def test_rows_beyond_are_seen_where_nodes_stand_for_rows(browser: Any, store: Path) -> None:
    serving = Server(MapStore(store))
    serving.start()
    tab = Tab(browser)
    config = b'"transport": "server"'
    body = serving.shown.index.replace(config, config + b', "budget": 150')
    tab.page.route(serving.url, lambda route: route.fulfill(body=body, content_type="text/html"))
    tab.open(serving.url)
    tab.page.locator(".beyond.right").click()
    tab.idle()
    assert tab.js("nestmap.main.level") >= 0
    picture = tab.pixels().astype(int)
    groups = [each for each in serving.store.meta["maps"][0]["beyond"] if each["side"] == "right"]
    for group in groups:
        middle = np.reshape(group["box"], (2, 2)).mean(axis=0)
        px, py = tab.js(_ON_SCREEN, middle.tolist())
        around = picture[round(py) - 9 : round(py) + 10, round(px) - 9 : round(px) + 10]
        assert np.ptp(around.reshape(-1, 3), axis=0).max() > 60, (px, py)
    tab.close()
    serving.stop()


@pytest.mark.slow
def test_home_once_more_shows_all_rows(tab: Tab) -> None:
    assert "once more" in tab.page.locator("#home").get_attribute("title")
    tab.page.locator("#home").click()
    tab.idle()
    assert in_view(tab) == set(range(N)) and counts(tab) == []
    tab.page.set_viewport_size({"width": 1000, "height": 700})
    tab.idle()
    assert in_view(tab) == set(range(N))  # as it was
    tab.page.keyboard.press("0")
    tab.idle()
    assert in_view(tab) == set(range(N)) - set(FAR) and len(counts(tab)) == 2


@pytest.mark.slow
def test_a_map_beside_has_its_own_frame(tab: Tab) -> None:
    tab.page.click("#compare")
    tab.idle()
    assert tab.page.locator(".map").nth(0).locator(".beyond:visible").count() == 2
    assert tab.page.locator(".map").nth(1).locator(".beyond").count() == 0


@pytest.mark.slow
def test_on_a_phone_counts_are_within_reach(browser: Any, address: str) -> None:
    tab = Tab(browser, 390, 844).open(address)
    for side in ("right", "bottom"):
        tab.page.locator(f".beyond.{side}").click()
        tab.idle()
        assert in_view(tab) & set(FAR)
        tab.page.locator("#home").click()
        tab.idle()
    tab.close()


@pytest.mark.slow
def test_the_address_of_the_first_view_is_opened_again(tab: Tab) -> None:
    tab.page.locator(".beyond.right").click()
    tab.idle()
    tab.wait("location.hash.includes('z=')")
    tab.page.wait_for_timeout(400)
    tab.page.reload()
    tab.idle()
    assert in_view(tab) == set(FAR[:3])


_ON_SCREEN = """([x, y]) => {
  const {view, size, overlayCanvas} = nestmap.main, box = overlayCanvas.getBoundingClientRect();
  return [box.left + (x - view.x) * view.scale + size.width / 2,
          box.top + size.height / 2 - (y - view.y) * view.scale];
}"""
_IN_VIEW = """(() => {
  const {view, size, index} = nestmap.main, found = [], {tiles} = nestmap.shared;
  const [w, h] = [size.width / 2 / view.scale, size.height / 2 / view.scale];
  for (let i = 0; i < nestmap.shared.meta.nRows; i++) {
    const it = tiles.find(index, -1, i);
    if (!it) continue;
    const [x, y] = [it.tile.origin[0] + it.tile.x[it.at], it.tile.origin[1] + it.tile.y[it.at]];
    if (Math.abs(x - view.x) <= w && Math.abs(y - view.y) <= h) found.push(it.tile.rows.row[it.at]);
  }
  return found;
})()"""
