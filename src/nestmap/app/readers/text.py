"""Text files: tables with separators, word vectors, and lines of text."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np

from ...core.arrays import Array
from ...core.progress import Progress
from ...errors import FileFormatError
from ._formats import Stream, open_stream
from .choice import Choice, check_names, shorten
from .table import Growing, Table, assemble, narrow_floats

_MISSING = {"", "na", "n/a", "nan", "null", "none", "?", "-"}
_CELLS_AT_ONCE = 400_000  # of a table that are parsed at a time
_ROWS_LOOKED_AT = 1000  # rows that decide what a column holds
_MAX_LINE_BYTES = 10_000_000  # characters of a line
_PADDED = re.compile(r"\s*0\d+\s*")  # 01234 is a code, whose zero a number would lose


def _lines(stream: Stream, path: Path) -> Iterator[str]:
    """Lines of UTF-8 text; a byte that is none is named by its line."""
    for number, line in enumerate(stream.file, start=1):
        if len(line) > _MAX_LINE_BYTES:
            raise FileFormatError(
                f"{path}, line {number:,}: longer than {_MAX_LINE_BYTES:,} bytes; "
                "this is no table of text"
            )
        try:
            yield line.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError:
            raise FileFormatError(
                f"{path}, line {number:,}: is not UTF-8 text; "
                "convert it: iconv -f latin1 -t utf-8 …"
            ) from None


def _delimiter(line: str) -> str:
    counts = {mark: line.count(mark) for mark in "\t;,|"}
    best = max(counts, key=lambda mark: counts[mark])
    return best if counts[best] else " " if len(line.split()) > 1 else ","


@contextmanager
def _long_fields() -> Iterator[None]:
    """The csv module takes texts of any length for a while; the limit is the whole process's."""
    before = csv.field_size_limit(_MAX_LINE_BYTES)
    try:
        yield
    finally:
        csv.field_size_limit(before)


def _rows(
    lines: Iterator[str], delimiter: str, path: Path, before: int = 0
) -> Iterator[tuple[int, list[str]]]:
    """Rows that are not empty, with the number of the line they end in; `before`: lines before."""
    if delimiter == " ":
        yield from (
            (number, row)
            for number, line in enumerate(lines, start=before + 1)
            if (row := line.split())
        )
        return
    reader = csv.reader(lines, delimiter=delimiter, skipinitialspace=True)
    try:
        yield from ((before + reader.line_num, row) for row in reader if row)
    except csv.Error as error:
        raise FileFormatError(f"{path}, line {before + reader.line_num:,}: {error}") from error


class LateText(FileFormatError):
    """A text in a column that held numbers so far."""

    def __init__(self, text: str, column: str) -> None:
        super().__init__(text)
        self.column = column


def read_delimited(
    path: Path, choice: Choice, progress: Progress, delimiter: str | None = None
) -> Table:
    """A table, a line per row, with or without names; by commas, tabs, semicolons, bars, blanks.

    Columns that are encoded may hold anything: where the first texts come late, the file is read
    again.
    """
    texts: set[str] = set()
    while True:
        try:
            return _read_delimited(path, choice, progress, delimiter, texts)
        except LateText as late:
            if not choice.encodes or choice.vectors is not None:
                raise
            texts.add(late.column)


def _read_delimited(
    path: Path, choice: Choice, progress: Progress, delimiter: str | None, texts: set[str]
) -> Table:
    """The same, where columns are known to hold texts."""
    with _long_fields(), open_stream(path) as stream:
        lines = _lines(stream, path)
        start: list[str] = []  # up to the first line that is not empty
        while not start or not start[-1].strip():
            start.append(next(lines, "\0"))
        if start[-1] == "\0":
            raise FileFormatError(f"{path} is empty")
        mark = delimiter or _delimiter(start[-1])
        rows: Iterator[tuple[int, list[str]]] = _rows(chain(start, lines), mark, path)
        head = list(islice(rows, _ROWS_LOOKED_AT + 1))
        names, has_header = _column_names(head, path)
        check_names(str(path), choice, names)
        body = head[1:] if has_header else head
        if not body:
            raise FileFormatError(f"{path} has the names of {len(names)} columns, but no rows")
        table = _Columns(path, names, _kinds(body, names, choice, texts))
        table.add(body)
        n_at_once = max(1, _CELLS_AT_ONCE // len(names))
        number = head[-1][0]
        left = table.add_lines(lines, mark, n_at_once, lambda: progress.share(stream.share()))
        if left is not None:
            rows = _rows(chain(left[1], lines), mark, path, number + left[0])
        while block := list(islice(rows, n_at_once)):
            table.add(block)
            progress.share(stream.share())
    numbers, others = table.columns()
    return assemble(str(path), choice, names, numbers, others)


def _column_names(head: list[tuple[int, list[str]]], path: Path) -> tuple[tuple[str, ...], bool]:
    """Names from the first row, if it holds no number (or fewer than the second); else 0, 1, …"""
    first = head[0][1]
    second = head[1][1] if len(head) > 1 else []
    n_first, n_second = (sum(_number(cell) is not None for cell in row) for row in (first, second))
    has_header = n_first == 0 if not second else n_first < n_second or (n_first == 0 == n_second)
    if not has_header:
        return tuple(str(i) for i in range(len(first))), False
    names = [cell.strip() for cell in first]
    if len(second) == len(names) + 1:  # R writes no name for its row names
        names = ["", *names]
    twice = {name for name in names if names.count(name) > 1} if len(names) < 5000 else set()
    if twice:
        names = [f"{name}.{i}" if name in twice else name for i, name in enumerate(names)]
    return tuple(names), True


def _number(cell: str) -> float | None:
    try:
        return float(cell) if "_" not in cell else None
    except ValueError:
        return None


def _kinds(
    body: list[tuple[int, list[str]]], names: tuple[str, ...], choice: Choice, texts: set[str]
) -> list[bool]:
    """Which columns hold numbers, by the first thousand rows."""
    wanted = {name for name, what in choice.special.items() if what in ("id", "text")} | texts
    codes = choice.encodes and choice.vectors is None
    kinds = []
    for j, name in enumerate(names):
        cells = [
            row[j] for _, row in body if j < len(row) and row[j].strip().lower() not in _MISSING
        ]
        kinds.append(
            name not in wanted
            and bool(cells)
            and all(_number(cell) is not None for cell in cells)
            and not (codes and any(_PADDED.fullmatch(cell) for cell in cells))
        )
    return kinds


class _Columns:
    """Columns that grow block by block: numbers as one array, the rest as lists of texts."""

    def __init__(self, path: Path, names: tuple[str, ...], kinds: list[bool]) -> None:
        self.path = path
        self.names = names
        self.kinds = kinds
        self.numeric = [j for j, kind in enumerate(kinds) if kind]
        self.texts: dict[int, list[str]] = {j: [] for j, kind in enumerate(kinds) if not kind}
        self.values = Growing()

    def add(self, block: list[tuple[int, list[str]]]) -> None:
        width = len(self.names)
        for line, row in block:
            if len(row) != width:
                raise FileFormatError(
                    f"{self.path}, line {line:,}: {len(row)} columns; "
                    f"expected {width} ({shorten(self.names)})"
                )
        columns = [*zip(*(row for _, row in block), strict=True)]
        found = np.empty((len(block), len(self.numeric)))
        for k, j in enumerate(self.numeric):
            try:
                found[:, k] = np.fromiter(map(float, columns[j]), np.float64, len(block))
            except ValueError:
                found[:, k] = [self._cell(line, row[j], j) for line, row in block]
        self.values.add(found)
        for j, texts in self.texts.items():
            texts += columns[j]

    def add_lines(
        self, lines: Iterator[str], mark: str, n_at_once: int, tell: Callable[[], None]
    ) -> tuple[int, list[str]] | None:
        """Lines of only numbers, fast; where they end, how many, and the block that is not."""
        if self.texts:
            return None
        n_done = 0
        while block := list(islice(lines, n_at_once)):
            try:
                found = np.loadtxt(
                    block, delimiter=None if mark == " " else mark, comments=None, ndmin=2
                )
            except ValueError:
                return n_done, block
            if found.shape != (len(block), len(self.names)):
                return n_done, block
            self.values.add(found)
            n_done += len(block)
            tell()
        return None

    def _cell(self, line: int, cell: str, j: int) -> float:
        if cell.strip().lower() in _MISSING:
            return np.nan
        value = _number(cell)
        if value is None:
            raise LateText(
                f"{self.path}, line {line:,}, column {self.names[j]!r}: "
                f"{cell[:40]!r} is no number, where all before it are; "
                "name the columns to use (--vectors), or use this one as --label, --id or --texts",
                self.names[j],
            )
        return value

    def columns(self) -> tuple[dict[str, Array], dict[str, Array]]:
        values = self.values.array()
        whole = narrow_floats(values) if not isinstance(values, np.memmap) else values
        numbers = {self.names[j]: whole[:, k] for k, j in enumerate(self.numeric)}
        return numbers, {
            self.names[j]: np.array(texts, dtype=object) for j, texts in self.texts.items()
        }


# -- word vectors


def read_word_vectors(path: Path, progress: Progress) -> Table:
    """GloVe's text, or word2vec's with a first line of rows and columns: a word and its numbers."""
    words: list[str] = []
    values = Growing()
    with open_stream(path) as stream:
        lines: Iterator[tuple[int, str]] = enumerate(_lines(stream, path), start=1)
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
        while block := list(islice(lines, _CELLS_AT_ONCE // width)):
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
            _number(cell) is None for cell in cells.split(" ")
        ):
            raise FileFormatError(
                f"{path}, line {line:,}: expected a word and {width} numbers, got {text[:60]!r}"
            )
    raise FileFormatError(
        f"{path}, in the lines from {block[0][0]:,} on: blank lines, or numbers beyond float32"
    )


# -- what is a .txt file?


def text_kind(path: Path) -> str:
    """'vectors', 'table' or 'lines', by the first lines."""
    with open_stream(path) as stream:
        head = [line.rstrip("\r\n") for line in islice(_lines(stream, path), 12) if line.strip()]
    rows = [line.split() for line in head]
    if not rows:
        raise FileFormatError(f"{path} is empty")
    has_size = len(rows[0]) == 2 and all(part.isdigit() for part in rows[0])
    if has_size and len(rows) > 1 and len(rows[1]) == int(rows[0][1]) + 1:
        return "vectors"
    numeric = [[_number(cell) is not None for cell in row] for row in rows]
    width = min(len(row) for row in rows)  # a word may hold blanks
    if width > 2 and all(all(row[1 - width :]) for row in numeric):
        return "table" if all(row[0] for row in numeric) else "vectors"
    mark = _delimiter(head[0])
    return "table" if mark != " " and len({line.count(mark) for line in head}) == 1 else "lines"


def read_lines(path: Path, progress: Progress) -> Table:
    """One text per line; empty lines are left out."""
    texts: list[str] = []
    n_empty = 0
    with open_stream(path) as stream:
        for line in _lines(stream, path):
            if text := line.strip():
                texts.append(text)
            else:
                n_empty += 1
        progress.share(1.0)
    left_out = {f"{n_empty} lines": "empty"} if n_empty else {}
    columns = {"text": np.array(texts, dtype=object)}
    return Table(None, None, None, columns, str(path), left_out, text="text")


@dataclass(frozen=True, eq=False)
class Words:
    """TF-IDF: the words that texts are told apart by, and how much each of them weighs."""

    words: tuple[str, ...]
    weights: Array  # inverse document frequencies

    @classmethod
    def fit(cls, texts: Any, source: str) -> Words:
        """The most frequent 50,000 words; of many texts, those in at least two and at most half."""
        many = len(texts) >= 100
        vectorizer = _vectorizer(
            min_df=2 if many else 1, max_df=0.5 if many else 1.0, max_features=50_000
        )
        try:
            vectorizer.fit(str(text) for text in texts)
        except ValueError as error:
            raise ValueError(f"{source}: no words to tell the texts apart ({error})") from error
        return cls(
            tuple(vectorizer.get_feature_names_out()), np.asarray(vectorizer.idf_, dtype=np.float32)
        )

    def weigh(self, texts: Any) -> Any:
        """A CSR matrix of float32, a row of length 1 per text (0 for a text with no known word)."""
        vectorizer = _vectorizer(vocabulary={word: i for i, word in enumerate(self.words)})
        vectorizer.idf_ = self.weights
        return vectorizer.transform(str(text) for text in texts)


def _vectorizer(**options: Any) -> Any:
    from sklearn.feature_extraction.text import TfidfVectorizer

    return TfidfVectorizer(sublinear_tf=True, dtype=np.float32, **options)
