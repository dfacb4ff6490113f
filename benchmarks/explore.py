"""The explorer on ten million points and twelve columns: time to build the store, memory of the
server, what a first picture takes, and a filter.

    python -m benchmarks.explore --rows 10000000 --out /tmp/explorer-10m

The run is synthetic: a random tree with points around its nodes; no fit. With Chromium and
Playwright at hand, the page is opened and timed, too.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import urllib.parse
import urllib.request
from pathlib import Path
from time import perf_counter
from types import SimpleNamespace
from typing import Any

import numpy as np

from nestmap.core.progress import Progress
from nestmap.method.hierarchy.tree import Hierarchy, Level
from nestmap.method.neighbors.metric import EUCLIDEAN
from nestmap.views.explore.map_store import MapStore
from nestmap.views.explore.names import SavedNames
from nestmap.views.explore.server import Server
from nestmap.views.explore.store import write_store

_BRANCHING = 4.6  # items per node, as fits of real data have them
_TOP = 8  # nodes of the top level, about
_ROWS_DRAWN = 300_000  # as the page draws at most
_NODES_DRAWN = 100_000  # likewise
_DRAGGED = 12  # steps of a filter
_VIEWS = 4  # at each zoom
_ZOOMS = (2, 8, 32, 128, 512, 4096)  # times the whole map
_NOTE_FIRST = """  // in the page, before its own scripts: when did the GPU first have something to draw?
for (const name of ["drawArrays", "drawArraysInstanced", "drawElements", "drawElementsInstanced"]) {
  const draw = WebGL2RenderingContext.prototype[name];
  WebGL2RenderingContext.prototype[name] = function (...given) {
    if (!window.firstPicture) requestAnimationFrame(() => { window.firstPicture ||= performance.now(); });
    return draw.apply(this, given);
  };
}
"""
_FLAGS = ["--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--no-sandbox"]


def make_model(n_rows: int, seed: int = 0) -> Any:
    """What the explorer needs of a fitted model: a random tree, and rows around its leaves."""
    rng = np.random.default_rng(seed)
    sizes = [n_rows]
    while sizes[-1] > _TOP * _BRANCHING:
        sizes.append(max(2, int(sizes[-1] / _BRANCHING)))
    places, spread = rng.normal(size=(sizes[-1], 2)) * 100, 40.0
    members: list[np.ndarray] = []
    centroids = [places]
    for n in reversed(sizes[:-1]):
        n_above = len(places)
        weights = rng.pareto(1.5, n_above) + 0.3
        own = np.concatenate(
            [np.arange(n_above), rng.choice(n_above, n - n_above, p=weights / weights.sum())]
        )
        if n == n_rows:
            rng.shuffle(own)  # the user's rows come in no order
        spread *= 0.45
        places = places[own] + spread * rng.normal(size=(n, 2))
        members.append(own)
        centroids.append(places)
    members, centroids = members[::-1], centroids[::-1]
    below = np.ones(n_rows, dtype=np.int64)
    levels = []
    for own, centre in zip(members, centroids[1:], strict=True):
        below = np.bincount(own, below, len(centre)).astype(np.int64)
        levels.append(Level(centre, below, own, 1.0, 1.0))
    label = next(k for k, level in enumerate(levels) if level.n_nodes <= 200)
    return SimpleNamespace(
        hierarchy_=Hierarchy(tuple(levels), EUCLIDEAN),
        embedding_=places,
        label_level_=label,
        layout_=SimpleNamespace(kind="islands", piece_unit="leaves"),
    )


def make_metadata(model: Any, seed: int = 0) -> dict[str, Any]:
    """Twelve columns: two categories, a truth value, a date, whole numbers, and numbers."""
    rng = np.random.default_rng(seed)
    tree = model.hierarchy_
    n = tree.n_rows
    kinds = np.array([f"kind {i}" for i in range(12)], dtype=object)
    top = tree.labels(-1) % 12
    noisy = np.where(rng.random(n) < 0.1, rng.integers(0, 12, n), top)
    x, y = model.embedding_.T
    seconds = rng.integers(0, 10**9, n)
    price = np.exp(rng.normal(3, 1, n))
    price[rng.random(n) < 0.05] = np.nan
    return {
        "kind": kinds[noisy],
        "height": y + rng.normal(size=n),
        "width": x + 5 * rng.normal(size=n),
        "when": np.datetime64("1990-01-01T00:00:00") + seconds,
        "price": price,
        "grade": rng.integers(0, 8, n),
        "year": rng.integers(1980, 2025, n),
        "visits": rng.poisson(300, n),
        "sure": rng.random(n) < 0.2,
        "mark": rng.random(n),
        "noise": rng.normal(size=n),
    }


def build(n_rows: int, out: Path) -> None:
    start = perf_counter()
    model = make_model(n_rows)
    metadata = make_metadata(model)
    print(f"made {model.hierarchy_} in {perf_counter() - start:.1f} s", flush=True)
    start, used = perf_counter(), resource.getrusage(resource.RUSAGE_SELF)
    scores = np.random.default_rng(1).random(n_rows)
    write_store(
        out,
        model,
        metadata=metadata,
        quality={"trustworthiness": scores},
        title=f"{n_rows:,} synthetic points",
        progress=Progress(1),
    )
    now = resource.getrusage(resource.RUSAGE_SELF)
    files = [path.stat().st_size for path in out.rglob("*.*") if path.is_file()]
    print(
        f"store: {perf_counter() - start:.1f} s, {now.ru_utime - used.ru_utime:.1f} s of CPU, "
        "peak memory "
        f"{now.ru_maxrss / 1e6:.1f} GB, {len(files):,} files, {sum(files) / 1e6:.0f} MB"
    )


def serve(folder: Path) -> None:
    """What `nestmap explore` runs, without a run."""
    server = Server(MapStore(folder, SavedNames()))
    print(server.url, flush=True)
    server.serve_forever()


def memory_of(process: subprocess.Popen[str]) -> dict[str, float]:
    """Memory of a process in MB: now, and at most."""
    text = Path(f"/proc/{process.pid}/status").read_text()
    return {
        name: int(re.search(rf"{name}:\s+(\d+)", text)[1]) / 1000 for name in ("VmRSS", "VmHWM")
    }  # type: ignore[index]


class Visit:
    """One visit of the page with nothing in the browser's cache."""

    def __init__(self, browser: Any, url: str) -> None:
        self.page = browser.new_context(viewport={"width": 1400, "height": 900}).new_page()
        self.page.add_init_script(_NOTE_FIRST)
        self.sizes: list[int] = []
        self.page.on(
            "requestfinished", lambda asked: self.sizes.append(asked.sizes()["responseBodySize"])
        )
        self.page.on("pageerror", lambda error: print(f"error in the page: {error}"))
        self.page.goto(url, wait_until="commit")

    def wait(self, condition: str, seconds: float = 120) -> None:
        """The page's policy forbids Playwright's own way of waiting for a condition."""
        end = perf_counter() + seconds
        while not self.page.evaluate(f"!!({condition})"):
            if perf_counter() > end:
                raise TimeoutError(condition)
            self.page.wait_for_timeout(20)

    def complete(self) -> None:
        """Until all of a view is there."""
        self.page.wait_for_timeout(200)
        self.wait("window.nestmap && nestmap.idle")

    def first_picture(self) -> float:
        """Seconds from the start of the visit to the end of the first frame that drew something."""
        self.wait("window.firstPicture")
        return float(self.page.evaluate("window.firstPicture")) / 1000


def places(store: MapStore, n: int, seed: int = 0) -> np.ndarray:
    """Where some random rows lie: more often where there are many."""
    tiles = store.meta["maps"][0]["tiles"]["rows"]
    found = []
    for row in np.random.default_rng(seed).integers(0, store.meta["n_rows"], n).tolist():
        t = int(np.searchsorted(tiles["begin"], row, side="right")) - 1
        xy = np.frombuffer(store.read(f"m0/rows/{t}.bin"), "<f4")[
            : 2 * (tiles["end"][t] - tiles["begin"][t])
        ]
        found.append(xy.reshape(2, -1)[:, row - tiles["begin"][t]] + np.array(tiles["origin"][t]))
    return np.array(found)


def visit(browser: Any, url: str, store: MapStore) -> None:
    """The first picture, then views at random rows, closer and closer, each with an empty cache."""
    first = Visit(browser, url)
    print(
        f"first picture after {first.first_picture():.2f} s, {sum(first.sizes) / 1e6:.2f} MB "
        "until then"
    )
    first.complete()
    seconds = first.page.evaluate("performance.now()") / 1000
    print(
        f"first view complete after {seconds:.2f} s: {sum(first.sizes) / 1e6:.2f} MB in "
        f"{len(first.sizes)} requests",
        flush=True,
    )
    x0, y0, x1, y1 = store.meta["maps"][0]["bounds"]
    home, largest = 800 / max(x1 - x0, y1 - y0), 0
    for zoom in _ZOOMS:
        sizes = []
        for x, y in places(store, _VIEWS):
            view = Visit(browser, f"{url}#x={x:.9f}&y={y:.9f}&z={home * zoom:.6g}&color=c0")
            view.complete()
            sizes.append(sum(view.sizes))
            view.page.context.close()
        largest = max(largest, *sizes)
        print(
            f"{zoom:>6} x: " + ", ".join(f"{size / 1e6:.2f}" for size in sizes) + " MB", flush=True
        )
    print(f"largest view: {largest / 1e6:.2f} MB")


def search(url: str) -> None:
    for text in ("1234567", "nothing like that", "kind 3"):
        start = perf_counter()
        with urllib.request.urlopen(f"{url}api/search?q={urllib.parse.quote(text)}") as answer:
            found = json.load(answer)
        print(f"search for {text!r}: {found['total']:,} hits, {perf_counter() - start:.2f} s")


def cpu_of(process: subprocess.Popen[str]) -> float:
    """Seconds of CPU that a process has taken."""
    fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def post(url: str, name: str, asked: dict[str, Any]) -> bytes:
    """A question about a set of rows, as the page asks it."""
    headers = {"Content-Type": "application/json", "Origin": url.rstrip("/")}
    request = urllib.request.Request(
        f"{url}api/rows/{name}", json.dumps(asked).encode(), headers, method="POST"
    )
    with urllib.request.urlopen(request) as answer:
        return bytes(answer.read())


def drag(url: str, store: MapStore, server: subprocess.Popen[str]) -> None:
    """A filter that is dragged: each step has charts of all columns and marks of the view."""
    columns = {column["name"]: column for column in store.meta["columns"]}
    keys = [column["key"] for column in columns.values()]
    nodes = next(
        (k, level["n_nodes"])
        for k, level in enumerate(store.meta["levels"])
        if level["n_nodes"] <= _NODES_DRAWN
    )
    views = ((-1, min(_ROWS_DRAWN, store.meta["n_rows"])), nodes)
    kind = {"kind": "categories", "column": columns["kind"]["key"], "codes": [1, 2, 3, 4, 5, 6]}
    for what, name, others in (
        ("half of the rows", "mark", []),
        ("a twentieth", "when", []),
        ("two filters", "height", [kind]),
    ):
        column = columns[name]
        step = (column["high"] - column["low"]) / 100
        width = 5 if what == "a twentieth" else 50
        seconds = []
        sizes = []
        used = cpu_of(server)
        for i in range(_DRAGGED):
            low = column["low"] + (20 + i) * step
            own = {"kind": "range", "column": column["key"], "low": low, "high": low + width * step}
            rows = {"kind": "all", "of": [own, *others]}
            start = perf_counter()
            size = len(post(url, "charts", {"set": rows, "columns": keys}))
            for level, n in views:
                size += len(post(url, "marks", {"set": rows, "level": level, "begin": 0, "end": n}))
            seconds.append(perf_counter() - start)
            sizes.append(size)
        used = (cpu_of(server) - used) / _DRAGGED
        print(
            f"dragging a filter, {what}: median {np.median(seconds):.3f} s, "
            f"{min(seconds):.3f} to {max(seconds):.3f}, {used:.3f} s of CPU, "
            f"{max(sizes) / 1e6:.2f} MB",
            flush=True,
        )
    order = {"column": columns["price"]["key"], "descending": True}
    for offset in (0, store.meta["n_rows"] // 4):
        start = perf_counter()
        post(url, "page", {"set": rows, "order": order, "offset": offset, "limit": 100})
        print(f"sorted rows from number {offset:,}: {perf_counter() - start:.3f} s")
    start = perf_counter()
    post(url, "summary", {"set": rows, "other": None})
    print(f"summary of a set: {perf_counter() - start:.3f} s")


def measure(out: Path, with_browser: bool = True) -> None:
    """The server in a process of its own, seen by a browser."""
    with subprocess.Popen(
        [sys.executable, "-m", "benchmarks.explore", "--serve", "--out", str(out)],
        stdout=subprocess.PIPE,
        text=True,
    ) as server:
        assert server.stdout is not None
        try:
            url = server.stdout.readline().strip()
            if with_browser and (chromium := shutil.which("chromium")):
                from playwright.sync_api import sync_playwright

                with sync_playwright() as playwright:
                    browser = playwright.chromium.launch(executable_path=chromium, args=_FLAGS)
                    visit(browser, url, MapStore(out))
                    browser.close()
            drag(url, MapStore(out), server)
            search(url)
            print(
                "server:",
                ", ".join(f"{name} {size:.0f} MB" for name, size in memory_of(server).items()),
            )
        finally:
            server.terminate()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--out", type=Path, default=Path("/tmp/explorer-10m"))
    parser.add_argument("--measure", action="store_true", help="the store is there already")
    parser.add_argument("--no-browser", action="store_true", help="only ask the server")
    parser.add_argument("--serve", action="store_true", help="only serve it")
    options = parser.parse_args()
    if options.serve:
        return serve(options.out)
    if not options.measure:
        build(options.rows, options.out)
    measure(options.out, not options.no_browser)


if __name__ == "__main__":
    main()
