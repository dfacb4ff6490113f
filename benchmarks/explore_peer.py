"""The explorer beside embedding-atlas on the same table: what each loads, holds and works for.

    make evidence ARGS="--parts explorer"

Both serve the table on this machine, to a headless Chromium that draws on the CPU. Work is seconds
of CPU: of the server and of all processes of the browser. A filter is a brush that is dragged in
steps; each step is over when nothing is loaded and nothing on the page has changed for a second.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.explore import make_metadata, make_model
from benchmarks.runner import ENVIRONMENT_FOLDER

ROWS = (100_000, 1_000_000)
PEER = "embedding-atlas"
_PORT = 5077
_STEPS = 8  # of a drag
_STILL = 1.0  # seconds without a change
_LONGEST = 120.0  # seconds that a page may take
_FLAGS = ["--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--no-sandbox"]
_NOTE_CHANGES = """  // when did anything on the page change last?
const noted = (type, names) => {
  for (const name of names) {
    const draw = type.prototype[name];
    type.prototype[name] = function (...given) {
      window.lastChange = performance.now();
      return draw.apply(this, given);
    };
  }
};
noted(WebGL2RenderingContext, ["drawArrays", "drawArraysInstanced", "drawElements"]);
noted(CanvasRenderingContext2D, ["fillRect", "fill", "drawImage", "putImageData", "stroke"]);
addEventListener("DOMContentLoaded", () => {
  const told = () => (window.lastChange = performance.now());
  const all = { subtree: true, childList: true, attributes: true, characterData: true };
  new MutationObserver(told).observe(document, all);
});
"""
# the middle half of the first chart of numbers, in pixels of a window of 1400 x 900
_PLOT = """(() => {
  const plot = document.querySelector("#rail .plot");
  plot.scrollIntoView({ block: "center" });
  const { x, y, width, height } = plot.getBoundingClientRect();
  return [x + width / 4, x + (3 * width) / 4, y + height / 2];
})()"""
# what a page says of rows that are left
_FILTERED = {"nestmap": r"[\d,]+\s+of\s+[\d,]+\s+rows", PEER: r"([\d,]+) / (?!\1 )[\d,]+ points"}
_ATLAS_PLOT = [1120.0, 1280.0, 600.0]  # its first chart of numbers, as it opens


def measure(folder: Path, chromium: str) -> list[dict[str, Any]]:
    """A row per program and number of rows."""
    from playwright.sync_api import sync_playwright

    found = []
    with sync_playwright() as playwright:
        for n_rows in ROWS:
            store, table = _write(folder, n_rows)
            for program, command in _commands(store, table).items():
                browser = playwright.chromium.launch(executable_path=chromium, args=_FLAGS)
                with _serving(program, command) as (url, server):
                    row = _visit(browser, url, server, program)
                browser.close()
                found.append({"program": program, "rows": n_rows, **row})
    return found


def _write(folder: Path, n_rows: int) -> tuple[Path, Path]:
    """The same rows as a store and as a parquet file."""
    import pandas as pd

    from nestmap.views.explore.store import write_store

    store = folder / f"store-{n_rows}"
    table = folder / f"table-{n_rows}.parquet"
    model = make_model(n_rows)
    metadata = make_metadata(model)
    x, y = model.embedding_.T
    pd.DataFrame({"x": x, "y": y, **metadata}).to_parquet(table)
    write_store(store, model, metadata=metadata)
    return store, table


def _commands(store: Path, table: Path) -> dict[str, list[str]]:
    peer = str(ENVIRONMENT_FOLDER / PEER / "bin" / PEER)
    where = ["--disable-projection", "--x", "x", "--y", "y", "--port", str(_PORT)]
    return {
        "nestmap": [sys.executable, "-m", "benchmarks.explore", "--serve", "--out", str(store)],
        PEER: [peer, str(table), *where, "--no-auto-port"],
    }


@contextmanager
def _serving(program: str, command: list[str]) -> Iterator[tuple[str, int]]:
    """The address of a server, and the number of its process."""
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as server:
        assert server.stdout is not None
        try:
            for line in server.stdout:
                if address := re.search(r"http://[\w.]+:\d+/?", line):
                    yield address[0].rstrip("/") + "/", server.pid
                    break
            else:
                raise RuntimeError(f"{program} has ended without an address")
        finally:
            server.terminate()


def _visit(browser: Any, url: str, server: int, program: str) -> dict[str, Any]:
    """One visit: until the page is still, then a brush that is dragged."""
    page = browser.new_context(viewport={"width": 1400, "height": 900}).new_page()
    page.add_init_script(_NOTE_CHANGES)
    sizes: list[int] = []
    under_way: set[str] = set()
    page.on("request", lambda asked: under_way.add(asked.url))
    page.on("requestfailed", lambda asked: under_way.discard(asked.url))
    page.on("requestfinished", lambda asked: sizes.append(asked.sizes()["responseBodySize"]))
    page.on("requestfinished", lambda asked: under_way.discard(asked.url))
    before = _work(server)
    page.goto(url, wait_until="commit")
    plot = _wait_for_plot(page, program, under_way)
    opened = _work(server)
    first = sum(sizes)
    left, right, y = plot
    page.mouse.move(left, y)
    page.mouse.down()
    for i in range(1, _STEPS + 1):
        page.mouse.move(left + (right - left) * i / _STEPS, y)
        _wait_until_still(page, under_way)
    page.mouse.up()
    told = page.inner_text("body")
    if not re.search(_FILTERED[program], told):
        raise RuntimeError(f"{program}: the brush has filtered nothing: {told[:200]!r}")
    return {
        "megabytes": first / 1e6,
        "work": opened - before,
        "step_work": (_work(server) - opened) / _STEPS,
        "step_megabytes": (sum(sizes) - first) / 1e6 / _STEPS,
        "server_megabytes": _memory([server]),
        "browser_megabytes": _memory(_browser_processes()),
    }


def _wait_for_plot(page: Any, program: str, under_way: set[str]) -> list[float]:
    """Where the chart of a number is, once the page is still."""
    ready = "#rail .plot" if program == "nestmap" else "text=Normalize"
    page.wait_for_selector(ready, timeout=1000 * _LONGEST)
    _wait_until_still(page, under_way)
    if program != "nestmap":
        return _ATLAS_PLOT
    page.evaluate(_PLOT)  # scrolls
    _wait_until_still(page, under_way)
    return list(page.evaluate(_PLOT))


def _wait_until_still(page: Any, under_way: set[str]) -> None:
    end = time.monotonic() + _LONGEST
    while time.monotonic() < end:
        page.wait_for_timeout(100)
        still = page.evaluate("performance.now() - (window.lastChange || 0)")
        if not under_way and still > 1000 * _STILL:
            return
    raise TimeoutError(f"the page still changes after {_LONGEST:.0f} s")


def _browser_processes() -> list[int]:
    """All processes of Chromium below this one."""
    parents = {}
    names = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            text = (folder / "stat").read_text()
        except OSError:  # it has ended
            continue
        names[int(folder.name)] = text[text.index("(") + 1 : text.rindex(")")]
        parents[int(folder.name)] = int(text.rpartition(")")[2].split()[1])
    own = {int(Path("/proc/self").resolve().name)}
    for _ in range(10):  # generations
        own |= {pid for pid, parent in parents.items() if parent in own}
    return [pid for pid in own if names.get(pid, "").startswith("chrom")]


def _work(server: int) -> float:
    """Seconds of CPU of the server and of the browser."""
    ticks = 0
    for pid in (server, *_browser_processes()):
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks / 100


def _memory(processes: list[int]) -> float:
    """Megabytes of processes; what several share counts once."""
    total = 0
    for pid in processes:
        text = Path(f"/proc/{pid}/smaps_rollup").read_text()
        found = re.search(r"^Pss:\s+(\d+)", text, re.MULTILINE)
        total += int(found[1]) if found else 0
    return total / 1000


def find_chromium() -> str:
    path = shutil.which("chromium")
    if path is None:
        raise RuntimeError("chromium is not on the PATH: apt-get install chromium")
    return path
