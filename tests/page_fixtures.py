"""A pytest plugin: the digits of digit_page.py, served and exported, and a browser that looks at them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from browser import Tab, open_browser
from digit_page import write

from nestmap.views.explore.bundle import write_site
from nestmap.views.explore.map_store import MapStore
from nestmap.views.explore.names import SavedNames
from nestmap.views.explore.server import Server


@contextmanager
def served(store: MapStore) -> Iterator[Server]:
    serving = Server(store)
    serving.start()
    yield serving
    serving.stop()


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("page") / "store")


@pytest.fixture(scope="module")
def server(store: Path) -> Iterator[Server]:
    with served(MapStore(store, SavedNames(store.parent / "names.json"))) as serving:
        yield serving


@pytest.fixture(scope="module")
def site(store: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = write_site(tmp_path_factory.mktemp("site") / "site", MapStore(store))
    return (folder / "index.html").as_uri()


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with open_browser() as running:
        yield running


@pytest.fixture
def tab(browser: Any, server: Server) -> Iterator[Tab]:
    opened = Tab(browser).open(server.url)
    yield opened
    opened.close()
