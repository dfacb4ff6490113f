"""The documentation: pages run as they stand (tools/pages.py says how), and the site builds without
warnings.
"""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from conftest import LIMIT

import nestmap
import nestmap.metrics
import nestmap.naming
import nestmap.readers
from benchmarks.evidence import pages as evidence
from nestmap import FINCH, HNNE, Communities
from tools.pages import LARGEST, ROOT, Piece, all_pages, read_pieces, run_page

DOCS = ROOT / "docs"
RUN = [page for page in all_pages() if any(piece.kind != "not run" for piece in read_pieces(page))]
NOT_RUN = [
    (page.name, piece.text)
    for page in all_pages()
    for piece in read_pieces(page)
    if piece.kind == "not run"
]


@pytest.mark.slow
@pytest.mark.parametrize("page", RUN, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_pages_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("matplotlib").use("Agg")
    pytest.importorskip("pandas")
    pytest.importorskip("anndata")
    monkeypatch.chdir(tmp_path)
    run_page(page, tmp_path)
    drawn = re.findall(r'savefig\("([\w-]+\.png)"', page.read_text())
    assert all((tmp_path / name).exists() and (DOCS / "images" / name).exists() for name in drawn)


def test_what_is_not_run_is_short_and_has_a_reason() -> None:
    assert len(RUN) > 15
    expected = [
        ("moving.md", f"needs {peer}") for peer in ("umap-learn", "openTSNE", "scanpy", "hnne")
    ]
    expected += [("plots.md", "needs datamapplot"), ("explorer.md", "serves until it is stopped")]
    expected += [("explorer.md", "needs a notebook"), ("explorer.md", "needs an app")]
    expected += [("levels.md", "needs bertopic")]
    assert sorted(expected) == sorted(NOT_RUN)


def test_pieces_of_a_page(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "<!-- setup:\na = 1\n-->\n```python\nb = a + 1\n```\n```text\nnestmap fit x\n```\n"
        "<!-- not run: why -->\n```python\n1 / 0\n```\n"
        "```bash\npip install x\nnestmap fit x.csv \\\n  -o x  # a\nzcat x | nestmap fit - -o "
        "y\n```\n"
        "```{toctree}\nnestmap\n```\n"
    )
    assert list(read_pieces(page)) == [
        Piece("python", "a = 1\n", 2),
        Piece("python", "b = a + 1\n", 5),
        Piece("not run", "why", 12),
        Piece("shell", "nestmap fit x.csv    -o x  # a\nzcat x | nestmap fit - -o y", 15),
    ]


@pytest.mark.slow
def test_a_page_that_is_wrong_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    page = tmp_path / "page.md"
    page.write_text("# A\n\n```python\nHNNE(n_neighbours=15)\n```\n")
    with pytest.raises(TypeError) as failed:
        run_page(page, tmp_path)
    assert (page, 3) in [(entry.path, entry.lineno) for entry in failed.traceback]  # from 0
    page.write_text("```bash\nnestmap fit cars.csv -o cars --label makr\n```\n")
    with pytest.raises(RuntimeError, match="exit code 2"):
        run_page(page, tmp_path)


@pytest.mark.parametrize(
    "name", ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"]
)
def test_pages_outside_the_site_link_to_files_that_exist(name: str) -> None:
    for link in re.findall(r"\]\(([^)#]+)", (ROOT / name).read_text()):
        assert urlsplit(link).scheme or (ROOT / link).exists(), link


def test_files_that_the_architecture_names_exist() -> None:
    source = ROOT / "src" / "nestmap"
    homes = (ROOT, source, source / "method", source / "method" / "neighbors", ROOT / "benchmarks")
    for page in ("ARCHITECTURE.md", "docs/explain/how-it-works.md"):
        named = re.findall(r"`((?:[\w-]+/)+[\w-]+\.\w+)`", (ROOT / page).read_text())
        assert len(named) > 10
        missing = [name for name in named if not any((home / name).exists() for home in homes)]
        assert not missing, f"{page}: {missing}"


@pytest.mark.parametrize("page", evidence.PAGES, ids=lambda page: page.name)
def test_pages_say_what_the_files_of_results_say(page: Path) -> None:
    """No page is half old: `make pages` writes all tables of one file."""
    text = page.read_text(encoding="utf-8")
    assert len(evidence.MARKED.findall(text)) >= 2
    assert evidence.fill(text) == text, "run `make pages`"


def test_every_measured_table_has_its_place() -> None:
    shown = {
        found[1] for page in evidence.PAGES for found in evidence.MARKED.findall(page.read_text())
    }
    assert shown == set(evidence.BLOCKS)


def test_every_picture_is_shown_somewhere() -> None:
    texts = [page.read_text() for page in [*all_pages(), *ROOT.glob("*.md")]]
    for picture in (DOCS / "images").iterdir():
        assert any(f"images/{picture.name}" in text for text in texts), picture.name


def test_pictures_are_small() -> None:
    large = {path.name for path in (DOCS / "images").glob("*.png") if path.stat().st_size > LARGEST}
    assert large <= {
        "grid.png",
        "digits.png",
    }  # of the comparison and of layouts.md


@pytest.mark.parametrize("estimator", [HNNE, FINCH, Communities])
def test_the_parameter_guide_has_all_parameters(estimator: type) -> None:
    text = (DOCS / "use" / "parameters.md").read_text()
    for name in inspect.signature(estimator).parameters:
        assert re.search(rf"^### .*\b{name}\b|^\| `{name}` \|", text, re.M), name


class Page(HTMLParser):
    """What a page of the site loads, where it links to, and the places in it."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.loads: set[str] = set()
        self.links: set[str] = set()
        self.places: set[str] = set()
        self.feed(path.read_text())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value for name, value in attrs if value}
        self.places |= {found[name] for name in ("id", "name") if name in found}
        if "src" in found:
            self.loads.add(found["src"])
        if "href" in found:
            (self.loads if tag == "link" else self.links).add(found["href"])


def build_site(folder: Path) -> Path:
    pytest.importorskip("sphinx")
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html"]
    done = subprocess.run(
        [*command, "-d", f"{folder}/doctrees", str(DOCS), f"{folder}/html"],
        capture_output=True,
        text=True,
        check=False,
        timeout=LIMIT,
    )
    assert done.returncode == 0, done.stderr
    return folder / "html"


@pytest.mark.slow
def test_the_site(tmp_path: Path) -> None:
    """One test, so that the site is built once, whichever processes run the tests."""
    site = build_site(tmp_path)
    check_links(site)
    check_names(site)


def check_links(site: Path) -> None:
    """Every link leads somewhere, and nothing is loaded from the network."""
    pages = {path: Page(path) for path in site.rglob("*.html")}
    assert len(pages) > 30
    for path, page in pages.items():
        away = {link for link in page.loads if urlsplit(link).scheme not in ("", "data")}
        assert not away, f"{path.name} loads {away}"
        for link in page.links | page.loads:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            assert target.exists(), f"{path.relative_to(site)}: {link}"
            if parts.fragment and target in pages:
                assert unquote(parts.fragment) in pages[target].places, (
                    f"{path.relative_to(site)}: {link}"
                )
    for path in site.rglob("*.css"):
        assert not re.search(r"(@import|url\()\s*[\"']?(https?:)?//", path.read_text()), path


def check_names(site: Path) -> None:
    """Every public name has its place in the API pages, and every page is in the navigation."""
    places = {
        place for path in (site / "use" / "api").glob("*.html") for place in Page(path).places
    }
    rooms = {
        "nestmap": nestmap,
        "nestmap.metrics": nestmap.metrics,
        "nestmap.naming": nestmap.naming,
        "nestmap.readers": nestmap.readers,
        "nestmap.tables": nestmap.tables,
    }
    errors = (name for name, each in vars(nestmap.errors).items() if isinstance(each, type))
    own = {f"nestmap.errors.{name}" for name in errors}
    for room, module in rooms.items():
        for name in module.__all__:
            known = {f"{room}.{name}", f"nestmap.errors.{name}"} & (places | own)
            assert known & places or name == "__version__", f"{room}.{name}"
    linked = {link.split("#")[0] for link in Page(site / "index.html").links}
    for page in DOCS.rglob("*.md"):
        assert (
            page == DOCS / "index.md"
            or page.relative_to(DOCS).with_suffix(".html").as_posix() in linked
        ), page
