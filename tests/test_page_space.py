"""A map in 3-D in the explorer's page, in a real browser: turned, moved, zoomed; the same tree and panel."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from browser import Tab
from conftest import digits
from page_fixtures import served

from nestmap import HNNE
from nestmap.app.cli import main
from nestmap.views.explore.map_store import MapStore
from nestmap.views.explore.order import TreeOrder
from nestmap.views.explore.server import Server
from nestmap.views.explore.store import write_store

pytest_plugins = ("page_fixtures",)
pytestmark = pytest.mark.slow
N = 500


@cache
def fitted() -> HNNE:
    return HNNE(n_components=3).fit(digits()[:N])


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("space") / "store"
    names = [f"row {i}" for i in range(N)]
    with served(MapStore(write_store(folder, fitted(), names=names))) as serving:
        yield serving


@pytest.fixture
def tab(browser: Any, server: Server) -> Iterator[Tab]:
    opened = Tab(browser).open(server.url)
    opened.wait("nestmap.main.visible()[0].solid")
    yield opened
    opened.close()


_PLACES = """(() => {
  const [tile] = nestmap.main.visible();
  return [...tile.x].map((x, i) => [tile.origin[0] + x, tile.origin[1] + tile.y[i]]);
})()"""


def places(tab: Tab) -> np.ndarray:
    """Of the rows, in the user's order, as the page sees them now."""
    found = np.empty((N, 2))
    found[TreeOrder.of(fitted().hierarchy_).rows] = tab.js(_PLACES)
    return found


def seen(yaw: float, pitch: float) -> np.ndarray:
    """What a reader sees of the map after a turn: by the definition of a rotation."""
    middle = (fitted().embedding_.min(axis=0) + fitted().embedding_.max(axis=0)) / 2
    a, b = np.deg2rad([yaw, pitch])
    upright = np.array([[np.cos(a), 0, np.sin(a)], [0, 1, 0], [-np.sin(a), 0, np.cos(a)]])
    level = np.array([[1, 0, 0], [0, np.cos(b), -np.sin(b)], [0, np.sin(b), np.cos(b)]])
    turned = (fitted().embedding_ - middle) @ upright.T @ level.T
    return np.asarray(turned[:, :2] + middle[:2])


def test_a_drag_turns_the_map_and_all_parts_follow(tab: Tab) -> None:
    np.testing.assert_allclose(places(tab), seen(0, 0), atol=1e-3)
    front = tab.pixels()[60:, :600]
    box = tab.page.locator("#maps").bounding_box()
    assert box
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    tab.page.mouse.move(x, y)
    tab.page.mouse.down()
    tab.page.mouse.move(x + 100, y + 50, steps=4)
    tab.page.mouse.up()
    tab.idle()
    turn = tab.js("nestmap.main.space.turn")
    assert turn["yaw"] == pytest.approx(40, abs=4) and turn["pitch"] == pytest.approx(20, abs=4)
    np.testing.assert_allclose(places(tab), seen(turn["yaw"], turn["pitch"]), atol=1e-2)
    assert np.abs(tab.pixels()[60:, :600].astype(int) - front).max(axis=2).mean() > 0.3
    rows = tab.clear_rows(8)  # found where they are drawn
    assert len(rows) >= 5
    tab.page.mouse.click(*tab.place(rows[-1]))
    tab.wait("nestmap.shared.store.now.row !== null")
    assert tab.js("nestmap.shared.store.now.row") == rows[-1]
    tab.idle()  # levels that the row's clusters are of
    own = tab.js("(l => [[...l.x], [...l.y]])(nestmap.shared.tree.level(0))")
    tree = TreeOrder.of(fitted().hierarchy_)
    starts = tree.starts(0)
    means = np.add.reduceat(places(tab)[tree.rows], starts[:-1]) / np.diff(starts)[:, None]
    np.testing.assert_allclose(np.transpose(own), means, atol=1e-2)  # names stand there


def test_the_right_button_moves_and_the_wheel_zooms(tab: Tab) -> None:
    before = tab.js("nestmap.main.view")
    box = tab.page.locator("#maps").bounding_box()
    assert box
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    tab.page.mouse.move(x, y)
    tab.page.mouse.down(button="right")
    tab.page.mouse.move(x + 60, y, steps=3)
    tab.page.mouse.up(button="right")
    assert tab.js("nestmap.main.view.x") < before["x"]
    assert tab.js("nestmap.main.space.turn") == {"yaw": 0, "pitch": 0}
    tab.page.mouse.wheel(0, -400)
    tab.idle()
    assert tab.js("nestmap.main.view.scale") > before["scale"]


def test_keys_turn_and_the_address_holds_the_turn(browser: Any, tab: Tab) -> None:
    tab.page.locator("#maps").focus()
    for _ in range(3):
        tab.page.keyboard.press("ArrowRight")
    tab.page.keyboard.press("ArrowUp")
    tab.idle()
    turn = tab.js("nestmap.main.space.turn")
    assert turn["yaw"] and turn["pitch"]
    view = tab.js("nestmap.main.view")
    tab.page.keyboard.press("Shift+ArrowRight")
    assert tab.js("nestmap.main.view.x") > view["x"]
    assert tab.js("nestmap.main.space.turn") == turn
    tab.page.wait_for_timeout(500)
    other = Tab(browser).open(tab.page.url)
    found = other.js("nestmap.main.space.turn")
    assert found == {key: pytest.approx(value, abs=0.06) for key, value in turn.items()}
    other.close()


def test_panel_search_and_clusters_work_in_space(tab: Tab) -> None:
    tab.js("nestmap.main.turnTo({yaw: 70, pitch: 30})")
    tab.page.locator("#cluster .child").first.click()
    tab.idle()
    assert "Typical rows" in tab.text("#cluster")
    assert not tab.js("nestmap.main.isEmpty")
    tab.page.fill("#query", "row 123")
    tab.page.keyboard.press("Enter")
    tab.wait("nestmap.shared.store.now.hits.length")
    tab.idle()
    assert not tab.js("nestmap.main.isEmpty")


def test_a_run_in_space_is_exported(tmp_path: Path, browser: Any) -> None:
    np.save(tmp_path / "x.npy", digits()[:300])
    run, site = str(tmp_path / "run"), tmp_path / "site"
    assert main(["fit", str(tmp_path / "x.npy"), "-o", run, "--dims", "3", "--quiet"]) == 0
    assert main(["export", run, "-o", f"{site}/", "--quiet"]) == 0
    assert not (site / "preview.png").exists()  # plots are of the plane
    tab = Tab(browser).open((site / "index.html").as_uri())
    tab.wait("nestmap.main.space && nestmap.main.visible()[0].solid")
    tab.close()


def test_other_maps_beside_it_are_of_the_plane(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="the first map in 3-D"):
        write_store(tmp_path / "s", fitted(), compare={"b": fitted().embedding_})
