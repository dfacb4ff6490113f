"""The explorer where it is used: JupyterLab, marimo and Streamlit, started for real.

Left out where they are not installed: `make test-notebooks` makes an environment that has them.
`NESTMAP_SHOTS=folder` keeps pictures of what was seen.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from browser import PATIENCE, open_browser
from conftest import LIMIT

pytestmark = pytest.mark.slow
N_ROWS = 500
MAP = f"""
from sklearn.datasets import load_digits
from nestmap import HNNE
digits = load_digits()
target = digits.target[:{N_ROWS}]
model = HNNE().fit(digits.data[:{N_ROWS}])
"""
N_THREES = 53


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@contextmanager
def running(command: list[str], folder: Path, address: str) -> Iterator[None]:
    """A server of notebooks or apps, until the end; with nothing of this user's settings."""
    names = ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR")
    names += ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME")
    own = {name: str(folder / "settings" / name.lower()) for name in names}
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    with (folder / "log").open("w") as log:
        server = subprocess.Popen(
            [sys.executable, "-m", *command],
            env={**os.environ, **own, "PATH": path},
            cwd=folder,
            stdout=log,
            stderr=subprocess.STDOUT,
        )
        try:
            end = time.monotonic() + LIMIT
            while not answers(address):
                assert server.poll() is None and time.monotonic() < end, (
                    folder / "log"
                ).read_text()
                time.sleep(0.2)
            yield
        finally:
            server.terminate()
            try:
                server.wait(timeout=20)
            except subprocess.TimeoutExpired:
                server.kill()
                server.wait(timeout=20)


def answers(address: str) -> bool:
    try:
        with urllib.request.urlopen(address, timeout=5):
            return True
    except OSError:
        return False


class Seen:
    """A page of a browser with the explorer in a frame somewhere."""

    def __init__(self, browser: Any, url: str) -> None:
        self.page = browser.new_context(viewport={"width": 1400, "height": 1000}).new_page()
        self.page.set_default_timeout(3000 * PATIENCE)
        self.url = url
        self.page.goto(url)

    def find_map(self, frame: str) -> Any:
        """The explorer's frame, once it is still."""
        found = self.page.wait_for_selector(frame).content_frame()
        self.until(lambda: found.evaluate("!!(window.nestmap && nestmap.idle)"))
        self.page.wait_for_timeout(1000)
        return found

    def until(self, condition: Any) -> Any:
        end = time.monotonic() + 3 * PATIENCE
        while not (found := condition()):
            assert time.monotonic() < end, self.page.inner_text("body")[-2000:]
            self.page.wait_for_timeout(100)
        return found

    def lasso(self, frame: str) -> None:
        """Around the left half of the map, by the mouse."""
        box = self.page.locator(frame).bounding_box()
        corners = ((20, 90), (box["width"] / 2, 90), (box["width"] / 2, 600), (20, 600), (20, 95))
        x, y = box["x"], box["y"]
        self.page.keyboard.down("Shift")
        self.page.mouse.move(x + corners[0][0], y + corners[0][1])
        self.page.mouse.down()
        for dx, dy in corners[1:]:
            self.page.mouse.move(x + dx, y + dy, steps=5)
        self.page.mouse.up()
        self.page.keyboard.up("Shift")

    def keep(self, name: str) -> None:
        if folder := os.environ.get("NESTMAP_SHOTS"):
            self.page.screenshot(path=str(Path(folder) / f"{name}.png"))


def count(frame: Any) -> int:
    return int(frame.evaluate("nestmap.shared.store.now.chosen?.count ?? 0"))


@pytest.fixture(name="browser", scope="module")
def given_browser() -> Iterator[Any]:
    with open_browser() as running_browser:
        yield running_browser


def test_jupyterlab(browser: Any, tmp_path: Path) -> None:
    pytest.importorskip("jupyterlab")
    cells = [
        MAP + "page = model.explore(metadata={'digit': target.astype(str)})\npage",
        "print('told', len(page.selection), page.url.count('http'))",
        "page.selection = target == 3",
    ]
    record = {
        "cells": [
            {
                "cell_type": "code",
                "id": f"cell{i}",
                "metadata": {},
                "outputs": [],
                "execution_count": None,
                "source": text.strip(),
            }
            for i, text in enumerate(cells)
        ],
        "metadata": {"kernelspec": {"display_name": "P", "language": "python", "name": "python3"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    (tmp_path / "map.ipynb").write_text(json.dumps(record))
    port = free_port()
    command = ["jupyterlab", "--no-browser", "--allow-root", f"--port={port}"]
    command += ["--IdentityProvider.token=t", f"--ServerApp.root_dir={tmp_path}"]
    home = f"http://127.0.0.1:{port}"
    with running(command, tmp_path, f"{home}/api/status?token=t"):
        seen = Seen(browser, f"{home}/lab/tree/map.ipynb?token=t&reset")
        seen.page.wait_for_selector(".jp-Notebook .jp-Cell")
        seen.page.wait_for_selector("[data-status=idle]", state="attached")

        def run(i: int) -> Any:
            cell = seen.page.locator(".jp-Notebook .jp-Cell").nth(i)
            cell.locator(".jp-InputArea-editor").click()
            seen.page.keyboard.press("Shift+Enter")
            return cell

        run(0)
        frame = seen.find_map(".jp-OutputArea iframe[title=map]")
        seen.lasso(".jp-OutputArea iframe[title=map]")
        chosen = seen.until(lambda: count(frame))
        seen.keep("jupyterlab-lasso")
        cell = run(1)
        told = seen.until(lambda: cell.locator(".jp-OutputArea-output").all_inner_texts())
        assert told[0].split() == ["told", str(chosen), "1"] and chosen > 50
        run(2)
        seen.until(lambda: count(frame) == N_THREES)
        seen.keep("jupyterlab-from-python")
        run(0)  # again: the old view is gone, the new one works
        seen.until(lambda: seen.page.locator(".jp-OutputArea iframe[title=map]").count() == 1)
        again = seen.find_map(".jp-OutputArea iframe[title=map]")
        assert count(again) == 0
        assert not seen.page.locator(".jp-OutputArea img[alt=map]").first.is_visible()
        seen.page.keyboard.press("Control+s")
        seen.until(lambda: "widget-view" in (tmp_path / "map.ipynb").read_text())
        seen.page.context.close()
    with running(command, tmp_path, f"{home}/api/status?token=t"):  # opened again later
        seen = Seen(browser, f"{home}/lab/tree/map.ipynb?token=t&reset")
        seen.until(lambda: seen.page.locator(".jp-OutputArea img[alt=map]").first.is_visible())
        seen.keep("jupyterlab-later")
        seen.page.context.close()


def test_marimo(browser: Any, tmp_path: Path) -> None:
    pytest.importorskip("marimo")
    indented = MAP.strip().replace("\n", "\n    ")
    (tmp_path / "app.py").write_text(
        f"""
import marimo
app = marimo.App(width="medium")

@app.cell
def _():
    import marimo as mo
    {indented}
    page = model.explore(metadata={{"digit": target.astype(str)}})
    threes = mo.ui.run_button(label="threes")
    tell = mo.ui.run_button(label="tell")
    return mo, page, target, tell, threes

@app.cell
def _(mo, page, tell, threes):
    mo.vstack([threes, tell, page])
    return

@app.cell
def _(page, target, threes):
    if threes.value:
        page.selection = target == 3
    return

@app.cell
def _(mo, page, tell):
    tell.value
    mo.md(f"told {{len(page.selection)}} rows")
    return
"""
    )
    port = free_port()
    command = ["marimo", "run", "--headless", "--no-token", "--port", str(port), "app.py"]
    with running(command, tmp_path, f"http://127.0.0.1:{port}/"):
        seen = Seen(browser, f"http://127.0.0.1:{port}/")
        frame = seen.find_map("iframe[title=map]")
        seen.lasso("iframe[title=map]")
        chosen = seen.until(lambda: count(frame))
        seen.page.get_by_text("tell", exact=True).click()
        seen.until(lambda: f"told {chosen} rows" in seen.page.inner_text("body"))
        seen.keep("marimo-lasso")
        assert chosen > 50
        seen.page.get_by_text("threes", exact=True).click()
        seen.until(lambda: count(frame) == N_THREES)
        seen.keep("marimo-from-python")
        seen.page.context.close()


def test_streamlit(browser: Any, tmp_path: Path) -> None:
    pytest.importorskip("streamlit")
    (tmp_path / "app.py").write_text(
        f"""
import streamlit as st
from nestmap.streamlit import explorer, prepare

@st.cache_resource
def given():
    {MAP.strip().replace(chr(10), chr(10) + "    ")}
    return prepare(model, metadata={{"digit": target.astype(str)}}), target

shown, target = given()
threes = target == 3 if st.button("threes") else None
told = explorer(shown, key="map", selection=threes)
st.write(f"told {{len(told.selection)}} rows")
"""
    )
    port = free_port()
    command = ["streamlit", "run", "app.py", "--server.headless=true", f"--server.port={port}"]
    command += ["--browser.gatherUsageStats=false", "--server.address=127.0.0.1"]
    with running(command, tmp_path, f"http://127.0.0.1:{port}/_stcore/health"):
        seen = Seen(browser, f"http://127.0.0.1:{port}/")
        frame = seen.find_map("iframe[title*=nestmap]")
        seen.lasso("iframe[title*=nestmap]")
        chosen = seen.until(lambda: count(frame))
        seen.until(lambda: f"told {chosen} rows" in seen.page.inner_text("body"))
        seen.keep("streamlit-lasso")
        assert chosen > 50
        seen.page.get_by_text("threes").click()
        seen.until(lambda: f"told {N_THREES} rows" in seen.page.inner_text("body"))
        seen.until(lambda: count(frame) == N_THREES)
        seen.keep("streamlit-from-python")
        seen.page.context.close()
