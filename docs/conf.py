"""The documentation site: `make docs` builds it, `tests/test_docs.py` builds it with warnings as
errors.
"""

import re
from pathlib import Path
from typing import Any

from nestmap import __version__

project = "nestmap"
author = "the nestmap developers"
copyright = "the nestmap developers"
version = release = __version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.autosummary", "sphinx.ext.napoleon"]
exclude_patterns = ["_build"]
nitpicky = False  # docstrings name types in words, such as "array-like"
default_role = "code"  # `name` in docstrings is code, as in Markdown

smartquotes = False  # --option stays --option
myst_heading_anchors = 3  # files.md#runs

napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_use_param = False  # types are words here, not names to link
napoleon_use_ivar = False
autodoc_typehints = "none"  # docstrings say it in words
autodoc_member_order = "bysource"
autosummary_generate = False
toc_object_entries_show_parents = "hide"

html_theme = "furo"  # brings all it needs: pages can be read, and searched, without a network
html_title = "nestmap"
html_show_sourcelink = False
html_copy_source = False
html_static_path = ["_static"]
html_css_files = ["site.css"]


DOCS = Path(__file__).parent


def link_pages(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Docstrings name pages as docs/use/scale.md: links on the site."""
    lines[:] = [re.sub(r"\bdocs/((?:[\w-]+/)*[\w-]+)\.md", _link, line) for line in lines]


def _link(found: re.Match[str]) -> str:
    if not (DOCS / f"{found[1]}.md").exists():
        raise ValueError(f"a docstring names {found[0]}, which is no page")
    return f":doc:`{found[0]} </{found[1]}>`"


def setup(app: Any) -> None:
    app.connect("autodoc-process-docstring", link_pages)
