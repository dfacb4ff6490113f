"""A real Chromium for tests of the explorer's page: found, started, driven."""

from __future__ import annotations

import io
import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
from PIL import Image

FLAGS = (
    *(
        "--use-angle=swiftshader",
        "--enable-unsafe-swiftshader",
        "--no-sandbox",
        "--disable-quic",
        "--no-first-run",
    ),
    *(
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        "--disable-dev-shm-usage",
    ),
)
PATIENCE = 60.0  # seconds; a loaded machine draws slowly


def find_chromium() -> str:
    """Debian's Chromium; tests are left out only where nobody could have installed it."""
    for name in ("chromium", "chromium-browser", "google-chrome"):
        if path := shutil.which(name):
            return path
    if os.environ.get("CI") or os.geteuid() == 0:
        pytest.fail("no Chromium: `make chromium` installs it (apt-get install chromium)")
    pytest.skip("no Chromium, and no right to install it: ask for the package chromium")


@contextmanager
def open_browser() -> Iterator[Any]:
    """A headless browser that is closed at the end."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=list(FLAGS))
        try:
            yield browser
        finally:
            browser.close()


class Tab:
    """One page with the explorer in it."""

    def __init__(self, browser: Any, width: int = 1200, height: int = 800, **options: Any) -> None:
        self.context = browser.new_context(
            viewport={"width": width, "height": height},
            reduced_motion="reduce",
            accept_downloads=True,
            **options,
        )
        self.page = self.context.new_page()
        self.page.set_default_timeout(1000 * PATIENCE)
        self.errors: list[str] = []
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on(
            "console", lambda told: self.errors.append(told.text) if told.type == "error" else None
        )

    def open(self, url: str) -> Tab:
        self.page.goto(url)
        return self.idle()

    def js(self, expression: str, value: Any = None) -> Any:
        return self.page.evaluate(expression, value)

    def wait(self, condition: str) -> None:
        """Until a JavaScript expression holds; the page's own policy forbids Playwright's way of
        asking.
        """
        end = time.monotonic() + PATIENCE
        while not self.js(f"!!({condition})"):
            assert time.monotonic() < end, (
                f"never: {condition}; {self.errors}; {self.text('body')[:300]}"
            )
            self.page.wait_for_timeout(30)

    def idle(self) -> Tab:
        """Until nothing loads and nothing moves, twice in a row."""
        for _ in range(2):
            self.page.wait_for_timeout(120)
            self.wait("window.nestmap && nestmap.idle")
        return self

    def place(self, row: int, view: int = 0) -> tuple[float, float]:
        """Where a row (in tree order) lies on the screen."""
        x, y = self.js(_PLACE, [row, view])
        return x, y

    def clear_rows(self, most: int = 40) -> list[int]:
        """Rows that nothing covers: what a click on them would find."""
        return list(self.js(_CLEAR, most))

    def pixels(self) -> np.ndarray:
        return np.asarray(Image.open(io.BytesIO(self.page.screenshot())).convert("RGB"))

    def color_by(self, key: str) -> None:
        """Chooses in the legend what colours show: "level", or the key of a column."""
        self.page.click("#color input")
        self.page.click(f'.choices:not([hidden]) [data-value="{key}"]')

    def text(self, selector: str) -> str:
        return str(self.page.locator(selector).inner_text())

    def close(self) -> None:
        self.context.close()
        assert not self.errors, self.errors


_PLACE = """([row, k]) => {
  const view = nestmap.views[k], {tile, at} = nestmap.shared.tiles.find(k, -1, row);
  const box = view.overlayCanvas.getBoundingClientRect();
  const [x, y] = [tile.origin[0] + tile.x[at], tile.origin[1] + tile.y[at]];
  return [box.left + (x - view.view.x) * view.view.scale + view.size.width / 2,
          box.top + view.size.height / 2 - (y - view.view.y) * view.view.scale];
}"""
_CLEAR = """(most) => {
  const view = nestmap.main, rows = [], box = view.overlayCanvas.getBoundingClientRect();
  for (let row = 0; row < nestmap.shared.meta.nRows && rows.length < most; row++) {
    const found = nestmap.shared.tiles.find(0, -1, row);
    if (!found) continue;
    const {tile, at} = found;
    const px = (tile.origin[0] + tile.x[at] - view.view.x) * view.view.scale + view.size.width / 2;
    const py = view.size.height / 2 - (tile.origin[1] + tile.y[at] - view.view.y) * view.view.scale;
    const hit = view.hit(px, py);
    const top = document.elementFromPoint(box.left + px, box.top + py);
    if (hit && hit.kind === "row" && hit.row === row && top === view.overlayCanvas) rows.push(row);
  }
  return rows;
}"""
