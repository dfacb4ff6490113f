"""The explorer's page by the rules of axe-core: no serious violation, wherever a reader may be."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import axe_playwright_python
import numpy as np
import pytest
from browser import Tab
from conftest import digits
from page_fixtures import served

from nestmap import HNNE
from nestmap.method.neighbors.graph import neighbor_graph
from nestmap.views.explore.map_store import MapStore
from nestmap.views.explore.names import SavedNames
from nestmap.views.explore.server import Server
from nestmap.views.explore.store import write_store
from nestmap.views.explore.tour import SavedTour, check_tour

pytest_plugins = ("page_fixtures",)
pytestmark = pytest.mark.slow
N = 400
AXE = Path(axe_playwright_python.__file__).parent / "axe.min.js"
SERIOUS = ("serious", "critical")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    X = digits()[:N]
    folder = tmp_path_factory.mktemp("axe")
    write_store(
        folder / "store",
        HNNE().fit(X),
        names=[f"row {i}" for i in range(N)],
        metadata={"kind": np.arange(N) % 4, "sort": np.array(list("abcd"))[np.arange(N) % 4]},
        neighbors=neighbor_graph(X, 5).ids,
        images=X.reshape(-1, 8, 8),
        title="Digits",
    )
    stops = [{"title": "One", "text": "A text.", "view": "#"}, {"title": "Two", "view": "#"}]
    tour = SavedTour(stops=check_tour(stops))
    with served(MapStore(folder / "store", SavedNames(), tour)) as serving:
        yield serving


def violations(tab: Tab) -> list[str]:
    """What axe-core finds, by rule and element."""
    found = tab.js("axe.run(document, {resultTypes: ['violations']})")
    assert len(found["passes"]) > 10  # it has looked
    return [
        f"{each['id']} ({each['impact']}): {node['target']} {node['failureSummary']}"
        for each in found["violations"]
        if each["impact"] in SERIOUS
        for node in each["nodes"]
    ]


def nothing(tab: Tab) -> None:
    pass


def open_cluster(tab: Tab) -> None:
    tab.page.locator("#cluster .child").first.click()


def rename_cluster(tab: Tab) -> None:
    open_cluster(tab)
    tab.page.get_by_role("button", name="Rename this cluster").click()


def open_row(tab: Tab) -> None:
    tab.js("nestmap.openRow(3, true)")
    tab.wait("nestmap.shared.store.now.neighbors.length")


def search(tab: Tab) -> None:
    tab.page.fill("#query", "row 1")
    tab.page.keyboard.press("Enter")
    tab.wait("nestmap.shared.store.now.hits.length")


def select(tab: Tab) -> None:
    open_cluster(tab)
    tab.page.get_by_role("button", name="Select rows").click()


def color_by_category(tab: Tab) -> None:
    tab.js("nestmap.shared.store.set({color: nestmap.shared.meta.columns[0].key})")


def table(tab: Tab) -> None:
    tab.page.keyboard.press("t")
    tab.wait("!document.getElementById('table').hidden")


def columns(tab: Tab) -> None:
    if not tab.page.locator("#rail").is_visible():
        tab.page.keyboard.press("c")
        tab.page.locator("#rail").wait_for()


def open_colors(tab: Tab) -> None:
    tab.page.locator("#color [role=combobox]").click()


def ask_for_help(tab: Tab) -> None:
    tab.page.keyboard.press("?")


def share(tab: Tab) -> None:
    tab.page.click("#sharing")
    tab.page.get_by_role("button", name="Edit: One").click()


def take_the_tour(tab: Tab) -> None:
    tab.page.get_by_role("button", name="Take the tour").click()


PLACES = [
    nothing, rename_cluster, open_row, search, select, color_by_category, open_colors,
    table, columns, ask_for_help, share,
    take_the_tour,
]  # fmt: skip


@pytest.mark.parametrize("width, scheme", [(1300, "light"), (1300, "dark"), (390, "light")])
def test_axe_finds_nothing_serious(browser: Any, server: Server, width: int, scheme: str) -> None:
    found: dict[str, list[str]] = {}
    for go in PLACES:
        tab = Tab(browser, width, 800, color_scheme=scheme, bypass_csp=True).open(server.url)
        go(tab)
        tab.idle()
        tab.js(AXE.read_text())
        if serious := violations(tab):
            found[go.__name__] = serious
        tab.close()
    assert not found, "\n".join(f"{name}: {each}" for name, own in found.items() for each in own)
