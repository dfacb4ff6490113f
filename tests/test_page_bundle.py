"""The built page in the package is what its sources say."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from conftest import LIMIT

ROOT = Path(__file__).parent.parent
SOURCES = ROOT / "explorer"
PAGE = ROOT / "src" / "nestmap" / "views" / "explore" / "page"
BUILT = ("app.js", "widget.js", "app.css", "index.html", "LICENSES.txt")


def hash_sources() -> str:
    """As build.mjs does it: path, length and bytes of each file, in the order of their paths."""
    paths = [
        path.relative_to(SOURCES).as_posix()
        for path in (SOURCES / "src").rglob("*")
        if path.is_file()
    ]
    total = hashlib.sha256()
    for path in sorted([*paths, "build.mjs", "package.json", "package-lock.json", "tsconfig.json"]):
        data = (SOURCES / path).read_bytes()
        total.update(f"{path}\n{len(data)}\n".encode())
        total.update(data)
    return total.hexdigest()


@pytest.mark.parametrize("name", ["app.js", "widget.js", "app.css"])
def test_the_bundle_was_built_from_these_sources(name: str) -> None:
    mark = re.match(
        r"/\* nestmap explorer; sources sha256:([0-9a-f]{64});", (PAGE / name).read_text("utf-8")
    )
    assert mark, f"{name} has no mark of its sources"
    assert mark[1] == hash_sources(), "sources have changed: `make page` builds the bundle again"


def test_the_page_is_small_and_needs_no_network() -> None:
    script = (PAGE / "app.js").read_text("utf-8")
    assert len(script) < 300_000
    assert not re.search(
        r"\beval\(|new Function\(|innerHTML|insertAdjacentHTML|document\.write", script
    )
    for name in BUILT:
        addresses = set(
            re.findall(
                r"(?:src|href|url|fetch)\s*[=(]\s*[\"'`]?(?:https?:)?//[^\"'`)\s]+",
                (PAGE / name).read_text("utf-8"),
            )
        )
        assert not addresses, addresses


def test_index_is_the_source_and_licences_are_there() -> None:
    assert (PAGE / "index.html").read_bytes() == (SOURCES / "src" / "index.html").read_bytes()
    licences = (PAGE / "LICENSES.txt").read_text("utf-8")
    for name, holder in (("earcut", "Mapbox"), ("twgl.js", "Gregg Tavares")):
        assert name in licences and holder in licences


@pytest.mark.slow
def test_the_same_bytes_come_out_again(tmp_path: Path) -> None:
    node = shutil.which("node")
    if node is None or not (SOURCES / "node_modules" / "esbuild").is_dir():
        pytest.skip(
            "no node, or no explorer/node_modules (`make page` installs them): the hash of the "
            "sources has to do"
        )
    subprocess.run(
        [node, "build.mjs"],
        cwd=SOURCES,
        check=True,
        env={**os.environ, "NESTMAP_PAGE": str(tmp_path)},
        timeout=LIMIT,
    )
    for name in BUILT:
        assert (tmp_path / name).read_bytes() == (PAGE / name).read_bytes(), name


@pytest.mark.slow
def test_unit_tests_of_the_page() -> None:
    node = shutil.which("node")
    if node is None or not (SOURCES / "node_modules" / "esbuild").is_dir():
        pytest.skip("no node, or no explorer/node_modules: `make page` installs them")
    subprocess.run([node, "build.mjs", "--tests"], cwd=SOURCES, check=True, timeout=LIMIT)
    done = subprocess.run(
        [node, "--test", "build/test/"],
        cwd=SOURCES,
        capture_output=True,
        text=True,
        check=False,
        timeout=LIMIT,
    )
    assert done.returncode == 0, done.stdout
