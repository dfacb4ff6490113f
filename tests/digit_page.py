"""The explorer's page over some digits: what several test files open; fixtures: page_fixtures.py."""

from __future__ import annotations

import csv
import io
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from browser import Tab
from conftest import digits
from sklearn.datasets import load_digits

from nestmap import HNNE
from nestmap.method.neighbors.graph import neighbor_graph
from nestmap.views.explore.store import write_store

N = 500
X, Y = digits()[:N], load_digits().target[:N]


@cache
def fitted() -> HNNE:
    return HNNE().fit(X)


def write(folder: Path, **other: Any) -> Path:
    content: dict[str, Any] = {
        "names": [f"a {y}, number {i}" for i, y in enumerate(Y)],
        "metadata": {
            "digit": Y.astype(str),
            "ink": np.where(np.arange(N) % 50, X.sum(axis=1), np.nan),
        },
        "quality": {"trust": np.linspace(0, 1, N)},
        "neighbors": neighbor_graph(X, 5).ids,
        "images": X.reshape(-1, 8, 8),
        "compare": {"turned": fitted().embedding_[:, ::-1]},
        "title": "some digits",
    }
    return write_store(folder, fitted(), X, **{**content, **other})


def user_rows(tab: Tab) -> np.ndarray:
    """The user's number of each row in tree order."""
    return np.array(tab.js("[...nestmap.shared.tiles.peek(0, -1, 0).rows.row]"))


def open_child(tab: Tab, at: int = 0) -> None:
    tab.page.locator("#cluster .child").nth(at).click()
    tab.idle()


def exported(tab: Tab) -> list[dict[str, str]]:
    with tab.page.expect_download() as download:
        tab.page.click("#export")
    return list(csv.DictReader(io.StringIO(Path(download.value.path()).read_text("utf-8"))))
