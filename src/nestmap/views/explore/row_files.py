"""Files of a store about the rows: values, neighbours, thumbnails, places, texts to search."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.arrays import Array, blocks
from .content import Content, as_cells, clean
from .images import make_sheet, pixel_range
from .store_format import CHUNK, WIDE_CHUNK
from .writing import Writing

_MAX_LETTERS_SEARCHED = 1000  # letters of a row that are searched


def write_rows(writing: Writing) -> None:
    """What is known of the rows, in chunks of tree order."""
    content = writing.content
    order = writing.tree.rows
    places = writing.tree.places
    writing.progress.begin("values of the rows")
    for c, part in enumerate(blocks(len(order), 1, values=CHUNK)):
        writing.progress.share(part.start / len(order))
        writing.sink.put_json(
            f"rows/{c}.json", list(zip(*_cells(content, order[part]), strict=True))
        )
    _write_search(writing)
    if content.neighbors is not None:
        writing.progress.begin("true neighbours")
        for c, part in enumerate(blocks(len(order), 1, values=CHUNK)):
            writing.sink.put_arrays(
                f"neighbors/{c}.bin", places[content.neighbors[order[part]]].astype(np.uint32)
            )
    if content.images is not None:
        writing.progress.begin("thumbnails")
        black, white = pixel_range(content.images)
        for c, part in enumerate(blocks(len(order), 1, values=CHUNK)):
            writing.progress.share(part.start / len(order))
            writing.sink.put(
                f"images/{c}.png", make_sheet(content.images[order[part]], black, white)
            )
    for c, part in enumerate(blocks(len(places), 1, values=WIDE_CHUNK)):
        writing.sink.put_arrays(f"places/{c}.bin", places[part].astype(np.uint32))


def _write_search(writing: Writing) -> None:
    """Lower-case texts of the rows, in wide chunks."""
    order = writing.tree.rows
    texts = writing.content.searched
    writing.progress.begin("texts to search")
    for c, part in enumerate(blocks(len(order) if texts else 0, 1, values=WIDE_CHUNK)):
        writing.progress.share(part.start / len(order))
        rows = order[part].tolist()
        found = [[clean(each[row], _MAX_LETTERS_SEARCHED) for row in rows] for each in texts]
        writing.sink.put_json(
            f"search/{c}.json",
            [text.lower() for text in map(" ".join, zip(*found, strict=True))],
        )


def _cells(content: Content, rows: Array) -> list[list[Any]]:
    """Values of the fields, for some rows."""
    found: list[list[Any]] = [rows.tolist()]
    found += [
        [clean(given[row]) for row in found[0]]
        for given in (content.names, content.texts)
        if given is not None
    ]
    return found + [as_cells(values[rows]) for values in content.values.values()]
