"""Word vectors as text: GloVe's, and word2vec's."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from itertools import chain, islice
from pathlib import Path

import numpy as np

from ...core.arrays import Array
from ...core.progress import Progress
from ...errors import FileFormatError
from ._formats import open_stream
from .table import Growing, Table
from .text import CELLS_AT_ONCE, as_number, lines_of


def read_word_vectors(path: Path, progress: Progress) -> Table:
    """GloVe's text, or word2vec's with a first line of rows and columns: a word and its numbers."""
    words: list[str] = []
    values = Growing()
    with open_stream(path) as stream:
        lines: Iterator[tuple[int, str]] = enumerate(lines_of(stream, path), start=1)
        number, line = next(lines, (1, ""))
        head = line.split()
        expected = int(head[0]) if len(head) == 2 and all(part.isdigit() for part in head) else None
        if expected is None:
            width = len(line.rstrip("\n").split(" ")) - 1
            lines = chain([(number, line)], lines)
        else:
            width = int(head[1])
        if width < 1:
            raise FileFormatError(f"{path} holds no word vectors: its first line is {line[:60]!r}")
        while block := list(islice(lines, max(1, CELLS_AT_ONCE // width))):
            found, vectors = _vectors(path, block, width)
            words += found
            values.add(vectors)
            progress.share(stream.share())
    if expected not in (None, len(words)):
        raise FileFormatError(
            f"{path} is cut short: {len(words):,} words are there, its first line says {expected:,}"
        )
    if not words:
        raise FileFormatError(f"{path} holds no words")
    return Table(values.array(), None, np.array(words, dtype=object), {}, str(path))


def _vectors(path: Path, block: list[tuple[int, str]], width: int) -> tuple[list[str], Array]:
    """Words, which may hold blanks, and their vectors as float32."""
    texts = [text.rstrip("\r\n ") for _, text in block]
    words = [
        (text.split(" ", 1) if text.count(" ") == width else text.rsplit(" ", width))[0]
        for text in texts
    ]
    numbers = [text[len(word) + 1 :] for word, text in zip(words, texts, strict=True)]
    with suppress(ValueError):
        vectors = np.loadtxt(numbers, np.float32, delimiter=" ", comments=None, ndmin=2)
        if vectors.shape == (len(block), width):
            return words, vectors
    for cells, (line, text) in zip(numbers, block, strict=True):
        if len(cells.split(" ")) != width or any(
            as_number(cell) is None for cell in cells.split(" ")
        ):
            raise FileFormatError(
                f"{path}, line {line:,}: expected a word and {width} numbers, got {text[:60]!r}"
            )
    raise FileFormatError(
        f"{path}, in the lines from {block[0][0]:,} on: blank lines, or numbers beyond float32"
    )
