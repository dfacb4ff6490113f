"""What the explorer's page says of where its map misleads, in a real browser."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
import pytest
from browser import Tab
from conftest import digits
from page_fixtures import served

from nestmap import HNNE
from nestmap.method.neighbors.graph import neighbor_graph
from nestmap.views.explore.map_store import MapStore
from nestmap.views.explore.server import Server
from nestmap.views.explore.store import write_store

pytest_plugins = ("page_fixtures",)
pytestmark = pytest.mark.slow
X = np.concatenate([digits()[:600], np.repeat(digits()[7:8], 40, axis=0)])


@cache
def fitted() -> HNNE:
    return HNNE().fit(X)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("truth") / "store"
    names = [f"row {i}" for i in range(len(X))]
    known = {"names": names, "neighbors": neighbor_graph(X, 6).ids}
    with served(MapStore(write_store(folder, fitted(), **known))) as serving:
        yield serving


def torn(server: Server) -> tuple[int, dict[str, Any]]:
    """The cluster of the level listed first with the most torn links."""
    top = server.store.meta["maps"][0]["tear_levels"][-1]
    told = server.store.read_json(f"m0/tears/{top}/0.json")
    return top, max(enumerate(told), key=lambda each: each[1]["far"])


def test_links_of_a_whole_cluster_are_told_and_shown(tab: Tab, server: Server) -> None:
    level, (index, tear) = torn(server)
    tab.js(f"nestmap.openCluster({{level: {level}, index: {index}}}, false)")
    tab.idle()
    told = tab.text("#cluster")
    assert f"{tear['far']:,} of its {tear['links']:,} links" in told
    before = tab.pixels()[60:760, :600].astype(int)
    assert len(tab.js(_BUNDLES)) == 0
    tab.page.click("#tears")
    tab.idle()
    assert len(tab.js(_BUNDLES)) == len(tear["bundles"]) > 0
    changed = np.abs(tab.pixels()[60:760, :600].astype(int) - before).max(axis=2) > 40
    assert changed.mean() > 0.002
    assert "tears=1" in tab.page.url
    assert tab.page.locator("#tears").get_attribute("aria-pressed") == "true"
    again = tab.page.url
    tab.page.click("#tears")
    tab.idle()
    assert len(tab.js(_BUNDLES)) == 0
    tab.open(again).page.reload()
    tab.idle()
    assert len(tab.js(_BUNDLES)) == len(tear["bundles"])


# what the overlay is handed, by what it draws: a brush that counts bows
_BUNDLES = """(() => {
  const bows = [], brush = new Proxy({}, {get: (_, key) => (...at) => key === "quadraticCurveTo" && bows.push(at), set: () => true});
  nestmap.main.drawOver(brush);
  return bows;
})()"""
_WRITTEN = """(() => {
  const told = [], brush = new Proxy({}, {get: (_, key) => (text) => key === "fillText" && told.push(text), set: () => true});
  nestmap.main.drawOver(brush);
  return told;
})()"""


def test_rows_at_one_place_show_their_count(tab: Tab) -> None:
    row = tab.js("[...nestmap.shared.tiles.peek(0, -1, 0).rows.row].indexOf(7)")
    assert not [text for text in tab.js(_WRITTEN) if text.startswith("×")]  # far out
    tab.js(f"nestmap.openRow({row}, true)")
    tab.wait("document.querySelector('#row .copies')")
    assert "×41" in tab.text("#row .copies")
    tab.js("nestmap.main.setView({...nestmap.main.view, scale: nestmap.main.view.scale * 60})")
    tab.wait(f"{_WRITTEN}.includes('×41')")
    tab.idle()
    tab.page.mouse.move(*tab.place(row))
    tab.wait("!document.getElementById('tip').hidden")
    assert "×41 at this place" in tab.text("#tip")


def test_no_cluster_opens_onto_empty_space(tab: Tab) -> None:
    empty = tab.js("""async () => {
      const {shared, main} = nestmap, empty = [];
      for (let level = 0; level < shared.meta.levels.length; level++)
        for (let index = 0; index < shared.meta.levels[level].nNodes; index++) {
          main.setView(main.home());
          nestmap.openCluster({level, index});
          await new Promise((done) => setTimeout(done));
          main.frame();
          if (main.isEmpty) empty.push([level, index]);
        }
      return empty;
    }""")
    assert empty == []


def test_zooming_in_by_keys_always_ends_at_rows(tab: Tab) -> None:
    tab.page.locator("#maps").focus()
    for _ in range(25):
        tab.page.keyboard.press("+")
    tab.idle()
    assert not tab.js("nestmap.main.isEmpty")
    tab.page.keyboard.press("0")
    tab.idle()
    corner = tab.js("""(() => {
      const {main} = nestmap, step = 20;
      let best = [0, 0], least = -1;
      for (let x = 40; x < main.size.width - 40; x += step)
        for (let y = 100; y < main.size.height - 250; y += step) {
          const there = [...main.visible()].flatMap((tile) => [...tile.x].map((_, i) => {
            const [wx, wy] = main.world(x, y);
            return Math.hypot(tile.origin[0] + tile.x[i] - wx, tile.origin[1] + tile.y[i] - wy);
          }));
          const near = Math.min(...there);
          if (near > least) [best, least] = [[x, y], near];
        }
      const box = main.overlayCanvas.getBoundingClientRect();
      return [box.left + best[0], box.top + best[1]];
    })()""")
    tab.page.mouse.move(*corner)  # as far from all rows as the view has it
    for _ in range(15):
        tab.page.mouse.wheel(0, -400)
    tab.idle()
    assert tab.js("nestmap.main.view.scale > 10 * nestmap.main.home().scale")
    assert not tab.js("nestmap.main.isEmpty")


@pytest.mark.parametrize("level", [0, 1])
def test_levels_keep_rows_in_view_and_search_flies_to_them(tab: Tab, level: int) -> None:
    tab.js(f"nestmap.setLevel({level})")
    tab.idle()
    assert not tab.js("nestmap.main.isEmpty")
    for number in (3, 250, 599):
        tab.page.fill("#query", f"row {number}")
        tab.page.keyboard.press("Enter")
        tab.idle()
        assert not tab.js("nestmap.main.isEmpty")
