"""The documentation site: `make docs` builds it, `tests/test_docs.py` builds it with warnings as errors."""

from nestmap import __version__

project = "nestmap"
author = "the nestmap developers"
copyright = "the nestmap developers"
version = release = __version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.autosummary", "sphinx.ext.napoleon"]
exclude_patterns = ["_build"]
nitpicky = False  # docstrings name types in words, such as "array-like"
default_role = "code"  # `name` in docstrings is code, as in Markdown

myst_heading_anchors = 3  # files.md#runs

napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_use_param = False  # types are words here, not names to link
napoleon_use_ivar = True
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
