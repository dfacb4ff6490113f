"""The report: one HTML page that carries its pictures, and the same tables in Markdown for the
docs.
"""

from __future__ import annotations

import html
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks import figures, zoom
from benchmarks.figures import Figure, Maps
from benchmarks.methods import ENVIRONMENTS
from benchmarks.plan import PRELIMINARY
from benchmarks.runner import Job
from benchmarks.tables import INSIDE, Book, Table, all_tables

STYLE = """
:root { color-scheme: light; --line: #d9dde3; --ink: #1b1f24; --soft: #59636e; }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); margin: 2rem auto; max-width: 1180px; }
body { padding: 0 1rem; }
h1 { font-size: 1.8rem; margin-bottom: 0; } h2 { margin-top: 2.6rem; border-bottom: 1px solid var(--line); }
h3 { margin-bottom: 0.2rem; } p { max-width: 75ch; } .note, figcaption { color: var(--soft); font-size: 0.88rem; }
.scroll { overflow-x: auto; } table { border-collapse: collapse; font-size: 0.82rem; }
th, td { padding: 0.25rem 0.6rem; border-bottom: 1px solid var(--line); text-align: left; vertical-align: top; }
td { font-variant-numeric: tabular-nums; max-width: 16rem; } th { position: sticky; top: 0; background: white; }
figure { margin: 1.2rem 0; } img { max-width: 100%; height: auto; } nav a { margin-right: 1rem; }
tbody tr:hover { background: #f3f6fa; }
"""

MARK = "<!-- what follows is written by `make bench` -->"

NOTES = [
    "The paper's h-NNE figures stand in the column of the authors' own package, hnne v1.",
    "Printed run times are from 32 cores and exclude just-in-time compilation; ours are from the "
    "start of the "
    "process on the machine named above, which is what a user waits for. Compare ratios within a "
    "row, not rows.",
    "The paper's trustworthiness of h-NNE on Fashion-MNIST is .981; the authors' package measured "
    "here reaches more. "
    "Its default is cosine neighbours; here every method gets the metric that trustworthiness is "
    "measured in.",
    "FIt-SNE here is openTSNE's, the paper's the original C++ program, with other defaults "
    "(start, learning rate); "
    "the printed figures are a little lower than those measured here.",
    "Wall clock on a shared machine varies by about 30%; the CPU seconds of a first fit vary less.",
    "Centroid triplets come in steps (10 classes have 360 triplets: a step is 0.0028) and vary by "
    "several steps "
    "between runs of the methods that draw random numbers.",
]


def make_figures(maps: Maps, work: Path, say: Callable[[str], None]) -> dict[str, list[Figure]]:
    """Pictures by the section they belong to."""
    book = maps.book
    say("drawing …")
    zooms = {
        n: zoom.make_zoom(d, work) for n, d in maps.data.items() if d.y is None and n in book.data
    }
    labelled = [d for d in book.data if maps.data[d].y is not None]
    show = max(labelled, key=lambda d: len(maps.data[d].X)) if labelled else book.data[0]
    kinds = {
        k: Job(
            show,
            "nestmap",
            options={
                "layout": "descent",
                "arrangement": "global",
                "preliminary": k,
                "random_state": 0,
            },
        )
        for k in PRELIMINARY
    }
    inside = {label: Job(show, "nestmap", options=options) for label, options in INSIDE.items()}
    inside["mosaic, local"] = Job(show, "nestmap-mosaic")
    out = {
        "Speed": [figures.quality_over_time(book)],
        "Pictures": [figures.grid(maps, zooms)],
        "Choices inside h-NNE": [
            figures.variants(
                maps, zooms, show, kinds, "preliminary", f"Preliminary embeddings on {show}."
            ),
            figures.variants(
                maps, zooms, show, inside, "arrangement", f"Arrangements and layouts on {show}."
            ),
        ],
        "Zooming into unlabelled data": [zoom.draw_zoom(maps.data[n], z) for n, z in zooms.items()],
    }
    if labelled:
        out["Local structure"] = [figures.accuracy_over_k(book)]
        out["More dimensions"] = [figures.accuracy_over_dimensions(book)]
    return out


def write_report(
    book: Book, work: Path, data: dict[str, Any], out: Path, say: Callable[[str], None] = print
) -> None:
    """comparison.html, comparison.md and its pictures, each written whole or not at all.

    A comparison.md that exists keeps what stands above the line `MARK`: the words around the
    tables.
    """
    tables = all_tables(book)
    pictures = make_figures(Maps(book, work, data), work, say)
    facts = _facts(book, data)
    _write(out / "comparison.html", _page(tables, pictures, facts).encode())
    text = out / "comparison.md"
    head = text.read_text().split(MARK)[0] if text.exists() else "# The comparison\n\n"
    _write(text, f"{head}{MARK}\n\n{_markdown(tables, pictures, facts)}".encode())
    for figure in (f for section in pictures.values() for f in section):
        _write(out / "images" / f"{figure.name}.{figure.kind}", figure.data)
    say(f"wrote {out / 'comparison.html'} and {text}")


def _markdown(
    tables: dict[str, list[Table]], pictures: dict[str, list[Figure]], facts: list[str]
) -> str:
    parts = ["\n".join(f"- {fact}" for fact in facts)]
    for section in _order(tables, pictures):
        parts.append(f"## {section}")
        parts += [f"![{f.caption}](images/{f.name}.{f.kind})" for f in pictures.get(section, [])]
        parts += [t.to_markdown() for t in tables.get(section, [])]
    parts += [
        "## Why figures differ from the printed ones",
        "\n".join(f"- {note}" for note in NOTES),
    ]
    return "\n\n".join(parts) + "\n"


def _order(tables: dict[str, list[Table]], pictures: dict[str, list[Figure]]) -> list[str]:
    return [
        s
        for s in dict.fromkeys(["Pictures", *tables, *pictures])
        if tables.get(s) or pictures.get(s)
    ]


def _facts(book: Book, data: dict[str, Any]) -> list[str]:
    ran = [row for row in book.rows.values() if "machine" in row]
    machine = ran[-1]["machine"] if ran else "no run yet"
    sizes = "; ".join(
        f"{n} {d.X.shape[0]:,} × {d.X.shape[1]}, {d.metric}"
        for n, d in data.items()
        if n in book.data
    )
    wanted = " ".join(ENVIRONMENTS.values()).split()
    packages = ", ".join(dict.fromkeys(each for each in wanted if each != "."))
    return [
        f"Machine: {machine}.",
        f"Data: {sizes}.",
        f"Packages: nestmap (this tree), {packages}.",
    ]


def _page(
    tables: dict[str, list[Table]], pictures: dict[str, list[Figure]], facts: list[str]
) -> str:
    order = _order(tables, pictures)
    links = "".join(f'<a href="#{_slug(s)}">{s}</a>' for s in order)
    parts = []
    for section in order:
        body = [f.to_html() for f in pictures.get(section, [])] + [
            t.to_html() for t in tables.get(section, [])
        ]
        parts.append(f'<h2 id="{_slug(section)}">{section}</h2>\n' + "\n".join(body))
    notes = "".join(f"<li>{html.escape(note)}</li>" for note in NOTES)
    about = "".join(f"<p class='note'>{html.escape(fact)}</p>" for fact in facts)
    today = time.strftime("%Y-%m-%d")
    return (
        "<!doctype html><html lang='en'><meta charset='utf-8'><meta name='viewport' "
        "content='width=device-width'>"
        f"<title>nestmap: the comparison</title><style>{STYLE}</style><h1>nestmap beside its "
        "peers</h1>"
        f"<p class='note'>{today}</p>{about}<nav>{links}</nav>{''.join(parts)}"
        f"<h2>Why figures differ from the printed ones</h2><ul>{notes}</ul></html>"
    )


def _slug(section: str) -> str:
    return section.lower().replace(" ", "-")


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(path.name + ".part")
    temporary.write_bytes(content)
    os.replace(temporary, path)
