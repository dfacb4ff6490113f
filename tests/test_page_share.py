"""Sharing from the explorer's page in a real browser: tours, pictures."""

from __future__ import annotations

import io
import json
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from browser import Tab
from conftest import digits
from page_fixtures import served
from PIL import Image

from nestmap import HNNE
from nestmap.views.explore.bundle import write_site
from nestmap.views.explore.map_store import MapStore
from nestmap.views.explore.names import SavedNames
from nestmap.views.explore.order import TreeOrder
from nestmap.views.explore.server import Server
from nestmap.views.explore.store import write_store
from nestmap.views.explore.tour import SavedTour

pytest_plugins = ("page_fixtures",)
pytestmark = pytest.mark.slow
N = 500
SVG = "{http://www.w3.org/2000/svg}"


@cache
def fitted() -> HNNE:
    return HNNE().fit(digits()[:N])


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    names = {0: [f"a <b> & {i}" for i in range(fitted().hierarchy_.level_sizes[0])]}
    folder = tmp_path_factory.mktemp("share") / "store"
    return write_store(folder, fitted(), cluster_names=names, title="Some <b>digits</b>")


@pytest.fixture
def server(store: Path, tmp_path: Path) -> Iterator[Server]:
    tour = SavedTour(tmp_path / "tour.json")
    with served(MapStore(store, SavedNames(tmp_path / "names.json"), tour)) as serving:
        yield serving


def add_view(tab: Tab, title: str, text: str) -> None:
    tab.page.get_by_role("button", name="Add this view").click()
    tab.page.get_by_label("Title of this view").fill(title)
    tab.page.get_by_label("Text of this view").fill(text)
    tab.page.locator("#share form").get_by_role("button", name="Save").click()
    tab.wait("!document.querySelector('#share form')")


def make_tour(tab: Tab) -> None:
    tab.page.click("#sharing")
    add_view(tab, "Everything", "All of it.")
    tab.page.locator("#cluster .child").first.click()
    tab.idle()
    add_view(tab, "The largest", "Look <i>here</i>.\nAnd there.")
    tab.page.locator("#cluster .child").first.click()
    tab.idle()
    add_view(tab, "Deeper", "")


def test_an_author_makes_a_tour_and_others_take_it(
    browser: Any, server: Server, tmp_path: Path
) -> None:
    tab = Tab(browser).open(server.url)
    make_tour(tab)
    titles = lambda: [s["title"] for s in json.loads((tmp_path / "tour.json").read_text())["stops"]]  # noqa: E731
    assert titles() == ["Everything", "The largest", "Deeper"]
    tab.page.get_by_label("Earlier: Deeper").click()
    tab.wait("nestmap.tour.stops[1].title === 'Deeper'")
    tab.page.get_by_label("Later: Deeper").click()
    tab.wait("nestmap.tour.stops[2].title === 'Deeper'")
    tab.page.get_by_label("Delete: Deeper").click()
    tab.wait("nestmap.tour.stops.length === 2")
    assert titles() == ["Everything", "The largest"]
    tab.close()

    reader = Tab(browser, 700, 500).open(server.url)
    reader.page.get_by_role("button", name="Take the tour: 2 views").click()
    reader.idle()
    assert "Everything" in reader.text("#player") and "1 of 2" in reader.text("#player")
    reader.page.locator("#player").get_by_label("Next stop (N)").click()
    reader.idle()
    assert "Look <i>here</i>." in reader.text("#player") and "stop=2" in reader.page.url
    assert reader.js("nestmap.shared.store.now.cluster") is not None
    assert reader.js("document.activeElement.className") == "previous"  # the next one is off
    reader.page.keyboard.press("p")
    reader.idle()
    assert "All of it." in reader.text("#player")
    assert reader.js("nestmap.shared.store.now.cluster") is None
    reader.page.go_back()
    reader.idle()
    assert "Look" in reader.text("#player")
    url = reader.page.url
    for _ in range(2):  # the open cluster, then the tour
        reader.page.keyboard.press("Escape")
    assert reader.page.locator("#player").is_hidden()
    reader.close()

    linked = Tab(browser).open(url)
    linked.wait("!document.getElementById('player').hidden")
    assert "2 of 2" in linked.text("#player")
    linked.close()
    short = Tab(browser).open(f"{server.url}#stop=2")
    short.wait("nestmap.shared.store.now.cluster")
    assert "2 of 2" in short.text("#player")
    short.close()


def test_two_authors_do_not_overwrite_each_other(browser: Any, server: Server) -> None:
    first, second = Tab(browser).open(server.url), Tab(browser).open(server.url)
    for tab in (first, second):
        tab.page.click("#sharing")
    add_view(first, "mine", "")
    second.page.get_by_role("button", name="Add this view").click()
    second.wait("!document.getElementById('notice').hidden")
    assert "changed in another page" in second.text("#notice")
    assert [stop.title for stop in server.store.tour.read()] == ["mine"]
    second.errors = [told for told in second.errors if "412" not in told]
    first.close()
    second.close()


def test_a_static_tour_is_kept_in_the_browser_and_downloaded(
    browser: Any, store: Path, tmp_path: Path
) -> None:
    site = write_site(tmp_path / "site", MapStore(store))
    assert "<title>Some &lt;b&gt;digits&lt;/b&gt;</title>" in (site / "index.html").read_text()
    tab = Tab(browser).open((site / "index.html").as_uri())
    tab.page.click("#sharing")
    add_view(tab, "Mine", "kept here")
    tab.page.reload()
    tab.idle()
    tab.wait("nestmap.tour.stops.length === 1")
    tab.page.click("#sharing")
    with tab.page.expect_download() as told:
        tab.page.get_by_role("button", name="Download tour.json").click()
    tour = SavedTour(Path(shutil_copy(told.value, tmp_path / "tour.json")))
    assert [(stop.title, stop.text) for stop in tour.read()] == [("Mine", "kept here")]
    again = write_site(tmp_path / "again", MapStore(store, tour=tour))
    tab.close()
    other = Tab(browser).open((again / "index.html").as_uri())
    other.page.get_by_role("button", name="Take the tour: 1 view").click()
    other.idle()
    assert "kept here" in other.text("#player")
    other.close()


def shutil_copy(download: Any, path: Path) -> Path:
    download.save_as(path)
    return path


def saved(tab: Tab, name: str) -> tuple[str, bytes]:
    with tab.page.expect_download() as told:
        tab.page.get_by_role("button", name=name, exact=True).click()
    return told.value.suggested_filename, Path(told.value.path()).read_bytes()


def test_the_view_as_png_and_svg(browser: Any, server: Server) -> None:
    tab = Tab(browser).open(server.url)
    tab.page.click("#sharing")
    tab.idle()
    box = tab.page.locator("#maps .map").bounding_box()
    assert box
    screen = tab.pixels()[round(box["y"]) :, : round(box["width"])]
    name, data = saved(tab, "PNG")
    picture = np.asarray(Image.open(io.BytesIO(data)).convert("RGB"))
    assert name == "Some-b-digits-b.png"
    middle = (slice(100, 400), slice(300, 700))  # beside legend and buttons
    apart = np.abs(picture[middle].astype(int) - screen[middle].astype(int))
    assert apart.mean() < 2 and picture[middle].std() > 10

    name, data = saved(tab, "SVG")
    root = ET.fromstring(data.decode())
    assert name.endswith(".svg") and root.find(f"{SVG}title").text == "Some <b>digits</b>"  # type: ignore[union-attr]
    assert len(root.findall(f"{SVG}circle")) == N
    words = " ".join("".join(each.itertext()) for each in root.findall(f"{SVG}text"))
    shown = tab.js("nestmap.main.names.shown.map(n => n.name)")
    assert shown and all(word in words for each in shown for word in each.split())
    assert _drawn_alike(browser, data, picture)
    tab.js(
        "nestmap.shared.store.set({filters: new Map([['level.1', {kind: 'categories', codes: [0]}]])})"
    )
    tab.idle()
    kept = int(TreeOrder.of(fitted().hierarchy_).starts(1)[1])
    root = ET.fromstring(saved(tab, "SVG")[1].decode())
    circles = root.findall(f"{SVG}circle")
    pale = [each.get("fill-opacity") == "0.35" for each in circles]
    assert len(circles) == N and sum(pale) == N - kept and all(pale[: N - kept])
    tab.close()


def _drawn_alike(browser: Any, svg: bytes, picture: np.ndarray) -> bool:
    """A browser draws the SVG about as the page draws the map."""
    context = browser.new_context(viewport={"width": picture.shape[1], "height": picture.shape[0]})
    page = context.new_page()
    page.set_content(f"<style>body{{margin:0}}</style>{svg.decode()}")
    drawn = np.asarray(Image.open(io.BytesIO(page.screenshot())).convert("RGB"))
    context.close()
    return bool(np.abs(drawn.astype(int) - picture.astype(int)).mean() < 6)


def test_many_points_are_a_picture_below_the_names(browser: Any, server: Server) -> None:
    tab = Tab(browser).open(server.url)
    many = tab.js("nestmap.shared.meta.nRows = 1e6, nestmap.main.visible()[0].n")
    assert many == N
    tab.page.click("#sharing")
    tab.js(
        "Object.defineProperty(nestmap.main, 'visible', {value: () => Array(20).fill(Object.getPrototypeOf(nestmap.main).visible.call(nestmap.main)[0])})"
    )
    root = ET.fromstring(saved(tab, "SVG")[1].decode())
    assert not root.findall(f"{SVG}circle") and len(root.findall(f"{SVG}image")) == 1
    assert root.findall(f"{SVG}text")
    tab.close()


def test_the_picture_is_copied(browser: Any, server: Server) -> None:
    tab = Tab(browser)
    tab.context.grant_permissions(["clipboard-read", "clipboard-write"])
    tab.open(server.url)
    tab.page.click("#sharing")
    tab.page.get_by_role("button", name="Copy", exact=True).click()
    tab.wait("!document.getElementById('notice').hidden")
    assert tab.text("#notice") == "The picture is copied."
    size = tab.js("""async () => {
      const [item] = await navigator.clipboard.read();
      const image = await createImageBitmap(await item.getType("image/png"));
      return [image.width, image.height];
    }""")
    assert size == tab.js("[nestmap.main.overlayCanvas.width, nestmap.main.overlayCanvas.height]")
    tab.close()
