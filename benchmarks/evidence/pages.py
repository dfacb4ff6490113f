"""Tables of the pages, between markers, from the files of results.

    <!-- evidence: NAME -->
    …
    <!-- /evidence -->

`fill(text)` replaces what stands between them; a test compares pages with what it gives.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from benchmarks.evidence import (
    clusters,
    comparison,
    distributed,
    explorer,
    growth,
    large,
    records,
    tables,
)
from benchmarks.evidence.records import ROOT, Record

PAGES = (ROOT / "README.md", *(records.FOLDER / f"{name}.md" for name in records.NAMES))
MARKED = re.compile(r"(<!-- evidence: ([\w -]+) -->\n).*?(<!-- /evidence -->)", re.DOTALL)

# "NAME WHAT" is the function WHAT of the module of NAME, applied to the record of that name.
BLOCKS: dict[str, Callable[[Record], str]] = {
    "comparison table": comparison.table,
    "comparison short": comparison.short_table,
    "comparison losses": comparison.losses,
    "comparison data": comparison.data,
    "clusters table": clusters.table,
    "clusters losses": clusters.losses,
    "clusters coverage": clusters.coverage,
    "clusters maps": clusters.maps,
    "large fits": large.fits,
    "large curves": large.curves,
    "large maps": large.maps,
    "growth extend": growth.extend,
    "growth class": growth.new_class,
    "growth refit": growth.refit,
    "growth draws": growth.draws,
    "growth speed": growth.speed,
    "distributed fits": distributed.fits,
    "explorer visits": explorer.visits,
    "tables accuracy": tables.accuracy,
    "tables losses": tables.losses,
    "tables removed": tables.removed,
    "tables speed": tables.speed,
    **{f"{name} run": lambda record: run(record) for name in records.NAMES},
}


def run(record: Record) -> str:
    """When, where and how a record was measured."""
    said = [
        f"Measured on {record['date']} at commit {record['commit']}",
        f"on {record['machine']}",
        f"by `{record['command']}`",
    ]
    text = ", ".join(said) + "."
    if record.get("packages"):
        text += f" Peers: {', '.join(record['packages'])}."
    return f"{text} {record['note']}" if record.get("note") else text


def fill(text: str) -> str:
    """A page with all of its tables as the files of results have them."""

    def block(found: re.Match[str]) -> str:
        head, name, end = found.groups()
        return f"{head}\n{BLOCKS[name](records.read(name.split()[0]))}\n\n{end}"

    return MARKED.sub(block, text)


def write_pages() -> list[Path]:
    """Fill all pages; those that changed."""
    changed = []
    for page in PAGES:
        old = page.read_text(encoding="utf-8")
        new = fill(old)
        if new != old:
            page.write_text(new, encoding="utf-8")
            changed.append(page)
    return changed
