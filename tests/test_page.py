"""The explorer's page in a real browser: what readers see and do."""

from __future__ import annotations

import copy
import json
import re
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import parse_qs, urlsplit

import numpy as np
import pytest
from browser import Tab
from digit_page import N, X, Y, exported, fitted, open_child, user_rows, write

from nestmap import HNNE
from nestmap.method.neighbors.graph import neighbor_graph
from nestmap.views.explore.bundle import write_site
from nestmap.views.explore.map_store import MapStore
from nestmap.views.explore.server import Server
from nestmap.views.explore.store import write_store

pytestmark = pytest.mark.slow
pytest_plugins = ("page_fixtures",)
MARKUP = (
    "<img src=x onerror=\"document.title='broken in'\"><script>document.title='broken in'</script>"
)


def test_it_draws_rows_in_the_colours_of_their_clusters(tab: Tab) -> None:
    assert tab.text("#title") == "some digits"
    rows = tab.clear_rows()
    assert len(rows) >= 20
    colors = np.array(tab.js(_PAINTED))[rows, :3]
    picture = tab.pixels().astype(int)
    seen = [picture[round(y), round(x)] for x, y in map(tab.place, rows)]
    apart = np.abs(np.array(seen) - np.array(colors)).max(axis=1)
    assert np.median(apart) < 40  # discs are a little transparent
    assert len(np.unique(picture[60:, :700].reshape(-1, 3), axis=0)) > 200  # areas, coasts, names


def test_the_first_files_come_with_the_page_and_each_once(browser: Any, server: Server) -> None:
    tab, asked = Tab(browser), []
    tab.page.on("request", lambda request: asked.append(request.url.removeprefix(server.url)))
    tab.open(server.url)
    first = [f"data/{name}?v={server.store.id}" for name in server.store.first_files()]
    assert len(first) > 1 and len(asked) == len(set(asked))
    assert {*first} <= {*asked[: 3 + len(first)]}  # beside the page, its style and its script
    tab.close()


def test_zoom_opens_clusters_into_their_children(tab: Tab) -> None:
    before, names = (
        tab.js("nestmap.shared.store.now.focus"),
        set(tab.js("nestmap.main.names.shown.map(n => n.key)")),
    )
    tab.page.mouse.move(*tab.place(0))
    for _ in range(12):
        tab.page.mouse.wheel(0, -400)
    tab.idle()
    assert tab.js("nestmap.shared.store.now.focus") < before
    assert set(tab.js("nestmap.main.names.shown.map(n => n.key)")) != names
    assert "follow" in tab.text("#levels") and tab.page.locator("#follow").is_checked()


def test_far_out_a_coarser_level_stands_for_rows_beyond_the_budget(
    browser: Any, server: Server
) -> None:
    tab = Tab(browser)
    config = b'"transport": "server"'
    body = server.shown.index.replace(config, config + b', "budget": 150')
    tab.page.route(server.url, lambda route: route.fulfill(body=body, content_type="text/html"))
    tab.open(server.url)
    level = tab.js("nestmap.main.level")
    assert level >= 0
    sizes = tab.js("nestmap.main.visible().flatMap(tile => [...tile.nodes.size])")
    assert sum(sizes) == N and len(sizes) <= 50
    rows = tab.js("nestmap.shared.cache.peek('m0/rows/0.bin') === undefined")
    assert rows  # what is not drawn was not loaded
    tab.close()


def test_hover_shows_the_row(tab: Tab) -> None:
    row = tab.clear_rows(5)[-1]
    number = user_rows(tab)[row]
    tab.page.mouse.move(*tab.place(row))
    tab.wait("!document.getElementById('tip').hidden")
    tab.idle()
    told = tab.text("#tip")
    assert f"a {Y[number]}, number {number}" in told
    assert tab.page.locator("#tip canvas.thumb").count() == 1


def test_click_on_a_point_shows_true_neighbors(tab: Tab) -> None:
    row = tab.clear_rows(9)[-1]
    rows = user_rows(tab)
    tab.page.mouse.click(*tab.place(row))
    tab.wait("nestmap.shared.store.now.neighbors.length === 5")
    assert tab.js("nestmap.shared.store.now.row") == row
    found = rows[tab.js("nestmap.shared.store.now.neighbors")]
    np.testing.assert_array_equal(found, neighbor_graph(X, 5).ids[rows[row]])
    tab.idle()
    assert "True nearest neighbours" in tab.text("#row")
    assert tab.page.locator("#row .block").first.locator(".item").count() == 5
    assert f"number {rows[row]}" in tab.text("#row h2")
    tab.page.keyboard.press("Escape")
    assert tab.page.locator("#row").is_hidden()


def test_clusters_open_by_name_with_breadcrumb_panel_and_back(tab: Tab) -> None:
    home = tab.js("nestmap.main.view.scale")
    name = tab.js(_FIRST_NAME)
    tab.page.mouse.click(name["x"], name["y"])
    tab.idle()
    assert tab.js("nestmap.shared.store.now.cluster") == {
        "level": name["level"],
        "index": name["index"],
    }
    top = fitted().hierarchy_.n_levels - 1
    assert tab.page.locator("#crumbs li").count() == 2 + top - name["level"]
    assert "Typical rows" in tab.text("#cluster") and "Odd rows" in tab.text("#cluster")
    assert tab.js("nestmap.main.view.scale") > home
    assert "rows" in tab.js("document.getElementById('live').textContent")
    tab.page.go_back()
    tab.idle()
    assert tab.js("nestmap.shared.store.now.cluster") is None
    assert tab.js("nestmap.main.view.scale") == pytest.approx(home, rel=0.01)


@pytest.mark.parametrize("transport", ["server", "static"])
def test_search_by_text_and_by_number(
    browser: Any, server: Server, site: str, transport: str
) -> None:
    tab = Tab(browser).open(server.url if transport == "server" else site)
    tab.page.keyboard.press("/")
    tab.page.keyboard.type("A 3, number")
    tab.page.keyboard.press("Enter")
    tab.wait("nestmap.shared.store.now.hits.length")
    hits = user_rows(tab)[tab.js("nestmap.shared.store.now.hits")]
    assert set(hits) == set(np.flatnonzero(Y == 3))
    tab.idle()
    assert f"{len(hits)} rows with" in tab.text("#found h2")
    tab.page.locator("#found .item").nth(1).click()
    tab.idle()
    assert user_rows(tab)[tab.js("nestmap.shared.store.now.row")] == hits[1]
    tab.page.fill("#query", "417")
    tab.page.keyboard.press("Enter")
    tab.wait("nestmap.shared.store.now.hits.length < 5")
    assert 417 in user_rows(tab)[tab.js("nestmap.shared.store.now.hits")]
    tab.page.fill("#query", f"number {len(Y) - 1}")  # one row: it opens
    tab.page.keyboard.press("Enter")
    tab.wait("nestmap.shared.store.now.hits.length == 1")
    tab.idle()
    assert user_rows(tab)[tab.js("nestmap.shared.store.now.row")] == len(Y) - 1
    tab.page.fill("#query", "no such thing")
    tab.page.keyboard.press("Enter")
    tab.wait("!nestmap.shared.store.now.hits.length")
    assert "No row with" in tab.text("#found h2")
    tab.close()


def test_an_empty_view_knows_the_way_back(tab: Tab) -> None:
    assert not tab.js("nestmap.main.isEmpty")
    tab.js(
        "nestmap.main.setView({...nestmap.main.view, x: nestmap.main.view.x + 1e3 / "
        "nestmap.main.view.scale,"
        " scale: nestmap.main.view.scale * 8})"
    )
    back = tab.page.get_by_role("button", name="Whole map")
    back.wait_for()
    back.click()
    tab.idle()
    assert not tab.js("nestmap.main.isEmpty") and tab.js("nestmap.main.isHome")


_NAMES = """(() => {
  const {main, shared: {tree}} = nestmap, shown = main.names.shown;
  const coarse = Math.max(...shown.map(n => n.id.level));
  const large = new Set(shown.filter(n => n.large).map(n => n.id.index));
  return shown.map(n => {
    const above = n.large ? -1 : tree.nodeOfRow(tree.level(n.id.level).firstRow[n.id.index], coarse);
    const name = large.has(above) ? tree.label({level: coarse, index: above}) : "";
    return {name: n.name, full: tree.name(n.id), large: n.large, above: name};
  });
})()"""


def test_names_on_the_map_have_no_numbers_and_differ_from_the_name_above(tab: Tab) -> None:
    tab.js("nestmap.setLevel(0)")
    tab.idle()
    tab.wait(
        "nestmap.main.names.shown.some(n => n.large) && nestmap.main.names.shown.some(n => "
        "!n.large)"
    )
    tab.idle()
    names = tab.js(_NAMES)
    assert {each["large"] for each in names} == {True, False}
    assert all(re.sub(r" \(\d+\)$", "", each["full"]) == each["name"] for each in names)
    assert all(each["name"] != each["above"] for each in names)


def test_a_cluster_in_several_places_says_so_with_its_name_on_the_largest(
    browser: Any, tmp_path: Path
) -> None:
    """The largest cluster of a level: a third of its rows far above all others, the rest below."""
    model = copy.copy(HNNE(hierarchy="first_neighbors").fit(X))
    level, labels = model.hierarchy_.n_levels - 1, model.labels(-1)
    rows = np.flatnonzero(labels == np.bincount(labels).argmax())
    apart = np.stack([40.0 * labels, np.zeros(N)], axis=1)
    model.embedding_ = apart + np.random.default_rng(0).normal(size=(N, 2)) * 5
    model.embedding_[rows[: len(rows) // 3]] += [0, 200]
    serving = Server(MapStore(write_store(tmp_path / "store", model)))
    serving.start()
    tab = Tab(browser).open(serving.url)
    tab.js(f"nestmap.setLevel({level})")
    tab.idle()
    tab.wait(f"nestmap.shared.tree.split({level}, 0) !== undefined")
    tab.idle()
    name = tab.js(
        f"nestmap.main.names.shown.find(n => n.key === '{level}.0')"
    )  # siblings come by size
    view, size = tab.js("nestmap.main.view"), tab.js("nestmap.main.size")
    x, y = model.embedding_[rows[len(rows) // 3 :]].mean(axis=0)
    expected = (
        size["width"] / 2 + (x - view["x"]) * view["scale"],
        size["height"] / 2 - (y - view["y"]) * view["scale"],
    )
    np.testing.assert_allclose([name["x"], name["y"]], expected, atol=1)
    left, top = tab.js("(r => [r.left, r.top])(nestmap.main.overlayCanvas.getBoundingClientRect())")
    tab.page.mouse.move(left + name["x"], top + name["y"] + name["shift"] * (name["height"] + 5))
    tab.wait("!document.getElementById('tip').hidden")
    assert f"{len(rows)} rows in 2 places · level {level}" in tab.text("#tip")
    tab.js(f"nestmap.openCluster({{level: {level}, index: 0}}, false)")
    tab.wait("document.querySelector('#cluster .facts')?.textContent.includes('places')")
    assert f"{len(rows)} rows in 2 places · " in tab.text("#cluster .facts")
    tab.js(f"nestmap.openCluster({{level: {level}, index: 1}}, false)")
    tab.idle()
    assert "place" not in tab.text("#cluster .facts")
    tab.close()
    serving.stop()


def test_rows_of_a_cluster_are_exported(tab: Tab) -> None:
    open_child(tab, 1)
    node = tab.js("nestmap.shared.store.now.cluster")
    cluster = tab.js("n => nestmap.shared.tree.level(n.level).cluster[n.index]", node)
    tab.page.get_by_role("button", name="Select rows").click()
    tab.idle()
    rows = exported(tab)
    members = np.flatnonzero(fitted().hierarchy_.labels(node["level"]) == cluster)
    assert sorted(int(r["row"]) for r in rows) == list(members)
    assert all(r["name"] == f"a {Y[int(r['row'])]}, number {r['row']}" for r in rows)
    assert f"{len(rows)} rows selected" in tab.text("#selection h2")


def test_lasso_takes_the_rows_inside(tab: Tab) -> None:
    x, y = tab.place(tab.clear_rows(1)[0])
    box = [(x - 60, y - 50), (x + 60, y - 50), (x + 60, y + 50), (x - 60, y + 50)]
    tab.page.mouse.move(*box[0])
    tab.page.keyboard.down("Shift")
    tab.page.mouse.down()
    for corner in [*box[1:], box[0]]:
        tab.page.mouse.move(*corner, steps=3)
    tab.page.mouse.up()
    tab.page.keyboard.up("Shift")
    tab.idle()
    places = np.array([tab.place(i) for i in range(N)])
    beyond = np.maximum(np.abs(places[:, 0] - x) - 60, np.abs(places[:, 1] - y) - 50)
    chosen, rows = {int(r["row"]) for r in exported(tab)}, user_rows(tab)
    assert set(rows[beyond < -1]) <= chosen <= set(rows[beyond < 1])  # a pixel at the border
    assert chosen
    tab.page.keyboard.press("Escape")
    assert tab.page.locator("#selection").is_hidden()


def rename(tab: Tab, name: str) -> None:
    tab.page.click("#cluster .edit")
    tab.page.fill("#cluster .rename input", name)
    tab.page.keyboard.press("Enter")
    tab.wait(f"document.querySelector('#cluster h2')?.textContent === {json.dumps(name)}")


def test_a_new_name_is_saved_by_the_server(tab: Tab, store: Path) -> None:
    open_child(tab)
    rename(tab, "curly <b>ones</b>")
    tab.idle()
    node = tab.js("nestmap.shared.store.now.cluster")
    cluster = tab.js("n => nestmap.shared.tree.level(n.level).cluster[n.index]", node)
    saved = json.loads((store.parent / "names.json").read_text("utf-8"))
    assert saved[str(node["level"])][str(cluster)] == "curly <b>ones</b>"
    tab.page.reload()
    tab.idle()
    assert tab.text("#cluster h2") == "curly <b>ones</b>"
    rename(tab, "plain")


def test_the_address_holds_the_view(tab: Tab, browser: Any, server: Server) -> None:
    tab.color_by("c0")
    open_child(tab, 2)
    tab.page.keyboard.press("]")
    tab.page.wait_for_timeout(500)
    said = {key: values[0] for key, values in parse_qs(urlsplit(tab.page.url).fragment).items()}
    assert {"x", "y", "z", "level", "color", "cluster"} <= set(said)
    other = Tab(browser).open(tab.page.url)
    look = "(({level, color, cluster}) => ({level, color, cluster}))(nestmap.shared.store.now)"
    assert other.js(look) == tab.js(look)
    view, again = tab.js("nestmap.main.view"), other.js("nestmap.main.view")
    assert abs(view["x"] - again["x"]) * view["scale"] < 1 and view["scale"] == pytest.approx(
        again["scale"], rel=1e-3
    )
    other.close()
    wild = Tab(browser).open(
        f"{server.url}#x=1e999&z=nan&level=77&color=%3Cb%3E&cluster=1.99999&row=-4"
    )
    assert wild.js("nestmap.shared.store.now.cluster") is None
    wild.close()


def test_the_scale_of_numbers_says_what_is_missing(tab: Tab) -> None:
    tab.color_by("c1")
    tab.idle()
    assert "missing: 10" in tab.text("#keys")


def test_two_maps_share_selection_and_hover(tab: Tab) -> None:
    tab.page.click("#compare")
    tab.idle()
    assert tab.js("nestmap.views.length") == 2 and "turned" in tab.text("#maps")
    assert tab.place(7, 1)[0] > tab.place(7, 0)[0] + 100
    before = tab.pixels().astype(int)
    tab.page.mouse.move(*tab.place(tab.clear_rows(1)[0]))
    row = tab.js("nestmap.shared.store.now.hover")
    tab.idle()
    u, v = (round(c) for c in tab.place(row, 1))
    change = np.abs(tab.pixels().astype(int) - before).max(axis=2)
    assert change[v - 14 : v + 15, u - 14 : u + 15].max() > 60  # a ring around the same row
    for k in (0, 1):  # and both have coasts
        x, y = tab.place(row, k)
        box = tab.js("k => nestmap.views[k].overlayCanvas.getBoundingClientRect().left", k)
        assert (
            tab.js("([k, x, y]) => nestmap.views[k].areaAt(x, y - 52).kind", [k, x - box, y])
            == "node"
        )
        assert (
            tab.js("k => nestmap.shared.tree.outline(nestmap.shared.store.now.focus, k).length", k)
            > 1
        )
    open_child(tab)
    assert tab.js("nestmap.views[1].view.scale") > 0 and "compare=1" in tab.page.url


def test_keys(tab: Tab) -> None:
    view = tab.js("nestmap.main.view")
    tab.page.keyboard.press("ArrowRight")
    tab.page.keyboard.press("+")
    tab.idle()
    moved = tab.js("nestmap.main.view")
    assert moved["x"] > view["x"] and moved["scale"] == pytest.approx(1.6 * view["scale"])
    tab.page.keyboard.press("0")
    tab.idle()
    assert tab.js("nestmap.main.view.scale") == pytest.approx(view["scale"])
    focus = tab.js("nestmap.shared.store.now.focus")
    tab.page.keyboard.press("[")
    assert (
        tab.js("nestmap.shared.store.now.focus") == focus - 1
        and not tab.page.locator("#follow").is_checked()
    )
    tab.page.keyboard.press("f")
    assert tab.js("nestmap.shared.store.now.focus") == focus
    tab.page.keyboard.press("?")
    assert tab.page.locator("#help").is_visible()
    tab.page.keyboard.press("Escape")
    assert tab.page.locator("#help").is_hidden()


def test_landmarks_and_labels(tab: Tab) -> None:
    roles = {
        role: tab.page.get_by_role(role).count()
        for role in ("banner", "application", "complementary", "search")
    }
    assert set(roles.values()) == {1}, roles
    nameless = tab.js("""[...document.querySelectorAll('button, input, select')].filter(e => e.offsetParent &&
        !(e.getAttribute('aria-label') || e.textContent.trim() || e.labels?.length)).map(e => e.outerHTML)""")
    assert nameless == []
    tab.page.locator("#cluster .child").first.focus()
    tab.page.keyboard.press("Enter")
    tab.idle()
    assert tab.js("nestmap.shared.store.now.cluster") is not None


def test_a_phone(browser: Any, server: Server) -> None:
    tab = Tab(browser, 390, 800, has_touch=True, is_mobile=True).open(server.url)
    assert tab.js("document.documentElement.scrollWidth") == 390
    assert tab.js("document.body.classList.contains('folded')")
    over = tab.js(_TOO_WIDE)
    assert over == []
    row = tab.clear_rows(1)[0]
    tab.page.touchscreen.tap(*tab.place(row))
    tab.wait(f"nestmap.shared.store.now.row === {row}")
    assert tab.page.locator("#row").is_visible()
    scale = tab.js("nestmap.main.view.scale")
    tab.js(_PINCH)
    assert tab.js("nestmap.main.view.scale") == pytest.approx(2 * scale)
    tab.close()


def test_light_and_dark(browser: Any, server: Server) -> None:
    tab = Tab(browser, color_scheme="dark").open(server.url)
    corner = (80, 10)
    assert tab.pixels()[corner].max() < 40
    tab.page.click("#theme")
    tab.idle()
    assert tab.pixels()[corner].min() > 220
    tab.page.reload()
    tab.idle()
    assert tab.pixels()[corner].min() > 220  # the choice is remembered
    tab.close()


def test_a_static_folder_opens_from_disk(browser: Any, site: str) -> None:
    tab = Tab(browser).open(site)
    assert site.startswith("file://") and len(tab.clear_rows()) >= 20
    open_child(tab)
    rename(tab, "mine")
    with tab.page.expect_download() as download:
        tab.page.get_by_role("button", name="Download names.json").click()
    node = tab.js("nestmap.shared.store.now.cluster")
    cluster = tab.js("n => nestmap.shared.tree.level(n.level).cluster[n.index]", node)
    names = json.loads(Path(download.value.path()).read_text())
    assert names == {str(node["level"]): {str(cluster): "mine"}}
    tab.page.reload()
    tab.idle()
    assert tab.text("#cluster h2") == "mine"
    tab.close()


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    names = [MARKUP if i % 3 == 0 else "x" * 100_000 if i % 3 == 1 else "" for i in range(N)]
    return write(
        tmp_path_factory.mktemp("hostile") / "store",
        names=names,
        title=MARKUP,
        metadata={
            MARKUP: np.where(Y % 2, MARKUP, "é\u202e\n\t\x00"),
            "void": np.full(N, np.nan),
            "far": np.linspace(-1e300, 1e300, N),
        },
        cluster_names=lambda level, cluster, rows: [MARKUP, "", "y" * 5000][cluster % 3],
    )


@pytest.mark.parametrize("transport", ["server", "static"])
def test_hostile_values_are_text(
    browser: Any, hostile: Path, tmp_path: Path, transport: str
) -> None:
    server = Server(MapStore(hostile))
    server.start()
    url = (
        server.url
        if transport == "server"
        else (write_site(tmp_path / "site", MapStore(hostile)) / "index.html").as_uri()
    )
    tab = Tab(browser).open(url)
    for column in tab.js("nestmap.shared.meta.columns.map(c => c.key)"):
        tab.color_by(column)
        tab.idle()
    open_child(tab)
    tab.page.mouse.click(*tab.place(tab.clear_rows(1)[0]))
    tab.idle()
    tab.page.fill("#query", "<img")
    tab.page.keyboard.press("Enter")
    tab.wait("nestmap.shared.store.now.hits.length")
    tab.idle()
    assert "<img src=x" in tab.text("#title") and "<img src=x" in tab.text("#found")
    assert tab.js("document.title").startswith(
        "<img src=x"
    )  # and not what the markup would make of it
    assert tab.js("document.querySelectorAll('img').length") == 0
    assert tab.js("document.documentElement.scrollWidth") == 1200
    tab.close()
    server.stop()


def test_a_run_that_is_built_again_under_the_page(browser: Any, tmp_path: Path) -> None:
    store = write(tmp_path / "store", compare=None)
    server = Server(MapStore(store))
    server.start()
    tab = Tab(browser).open(server.url)
    write(tmp_path / "store", compare=None, title="the new digits")
    tab.color_by("c0")
    button = tab.page.locator("#notice").get_by_role("button", name="Reload")
    button.wait_for()
    assert "built again" in tab.text("#notice")
    tab.idle()
    tab.errors = [
        each for each in tab.errors if "409" not in each
    ]  # Chromium logs each refused request
    button.click()
    tab.wait("document.title.includes('the new digits')")
    tab.idle()
    assert tab.page.locator("#notice").is_hidden()
    tab.close()
    server.stop()


def test_a_notebook_shows_the_page_or_a_picture(browser: Any, tmp_path: Path) -> None:
    """As text/html of an output, in a page from another port; then again when the kernel is gone."""
    explorer = fitted().explore()
    (tmp_path / "notebook.html").write_text(f"<!doctype html><body>{explorer._repr_html_()}")
    handler = partial(SimpleHTTPRequestHandler, directory=tmp_path)
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as notebook:
        Thread(target=notebook.serve_forever, daemon=True).start()
        url = f"http://localhost:{notebook.server_address[1]}/notebook.html"
        tab = Tab(browser)
        tab.page.goto(url)
        tab.page.frame_locator("iframe").locator("#cluster .child").first.wait_for()
        assert tab.page.locator("iframe").count() == 1 and tab.page.locator("a").count() == 1
        tab.context.close()
        explorer.stop()
        tab = Tab(browser)
        tab.page.goto(url)
        tab.wait("!document.querySelector('iframe')")
        assert tab.js("document.querySelector('img').naturalWidth") > 500
        assert tab.page.locator("a").count() == 0 and "out of reach" in tab.text(
            "body"
        )  # nor a link to nowhere
        tab.context.close()
        notebook.shutdown()


def test_one_row(browser: Any, server: Server) -> None:
    tiles = {"begin": [0], "end": [1], "origin": [[2.0, 3.0]], "box": [[2.0, 3.0, 2.0, 3.0]]}
    files = {
        "meta.json": json.dumps(
            {
                "format": "nestmap-explorer",
                "version": 3,
                "title": "one",
                "n_rows": 1,
                "label_level": 0,
                "levels": [],
                "maps": [
                    {
                        "name": "m",
                        "layout": "points",
                        "bounds": [2.0, 3.0, 2.0, 3.0],
                        "tiles": {"rows": tiles},
                    }
                ],
                "columns": [],
                "fields": ["row", "word"],
                "neighbors": 0,
                "images": None,
                "chunk": 1024,
            }
        ).encode(),
        "m0/rows/0.bin": np.zeros(4, dtype="<u4").tobytes(),
        "rows/0.json": b'[[0, "lonely"]]',
        "tour.json": b'{"stops": [], "mark": ""}',
    }
    tab = Tab(browser)
    tab.page.route(
        # the page of the server asks for first files of its own store, too: nobody reads them
        "**/data/**",
        lambda route: route.fulfill(
            body=files.get(route.request.url.split("/data/")[1].split("?")[0], b"")
        ),
    )
    tab.open(server.url)
    tab.page.mouse.click(*tab.place(0))
    tab.idle()
    assert "lonely" in tab.text("#row")
    tab.close()


def test_what_is_missing_is_said(browser: Any, server: Server) -> None:
    tab = Tab(browser)
    tab.page.route("**/data/meta.json*", lambda route: route.fulfill(status=404, body=""))
    tab.page.goto(server.url)
    tab.page.locator(".fatal").wait_for()
    assert "meta.json" in tab.text(".fatal")
    tab.context.close()
    tab = Tab(browser)
    tab.page.route("**/data/m0/rows/*", lambda route: route.fulfill(status=500, body=""))
    tab.open(server.url)
    assert "m0/rows/0.bin" in tab.text("#notice")
    assert tab.page.locator("#cluster .child").count() > 1  # the rest works
    tab.context.close()


_PAINTED = """(() => {
  const {rgba} = nestmap.shared.painter.paint(nestmap.shared.tiles.peek(0, -1, 0));
  return Array.from({length: rgba.length / 4}, (_, i) => [...rgba.slice(4 * i, 4 * i + 4)]);
})()"""
_FIRST_NAME = """(() => {
  const name = nestmap.main.names.shown.find((n) => n.alpha === 1);
  const box = nestmap.main.overlayCanvas.getBoundingClientRect();
  return {x: box.left + name.x, y: box.top + name.y + name.shift * (name.height + 5), ...name.id};
})()"""
_TOO_WIDE = """[...document.querySelectorAll("header *, .corner *, #panel *")]
  .filter((e) => e.offsetParent && !e.closest("#crumbs") && e.getBoundingClientRect().right > 391)
  .map((e) => e.id || e.className)"""
_PINCH = """(() => {
  const target = nestmap.main.overlayCanvas;
  target.setPointerCapture = () => {};
  const fire = (type, pointerId, clientX) =>
    target.dispatchEvent(new PointerEvent(type, {pointerId, pointerType: "touch", clientX, clientY: 300}));
  fire("pointerdown", 11, 150);
  fire("pointerdown", 12, 250);
  fire("pointermove", 12, 350);
  fire("pointerup", 11, 150);
  fire("pointerup", 12, 350);
})()"""


def test_a_cluster_says_why_it_is_called_so(tab: Tab) -> None:
    tab.page.locator("#cluster .child", has_text="digit").first.click()
    tab.idle()
    block = tab.page.locator("#cluster .block", has_text="Why this name")
    assert "% (" in block.locator("li").first.inner_text()
