"""Text files: tables with separators, word vectors, and lines of text."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np

from ...core.arrays import Array
from ...core.progress import Progress
from ...errors import FileFormatError
from ._formats import Stream, open_stream
from .arrow_csv import MISSING, Columns, Form, LateCell, read_by_arrow
from .choice import Choice, check_names, shorten
from .table import Growing, Table, assemble

CELLS_AT_ONCE = 400_000  # of a table that are parsed at a time
_ROWS_LOOKED_AT = 1000  # rows that decide what a column holds
_MAX_LINE_BYTES = 10_000_000  # characters of a line
PADDED = re.compile(r"\s*0\d+\s*")  # 01234 is a code, whose zero a number would lose


def lines_of(stream: Stream, path: Path) -> Iterator[str]:
    """Lines of UTF-8 text; a byte that is none is named by its line."""
    # no more of a line is read: a file without any would be read whole
    read = partial(stream.file.readline, _MAX_LINE_BYTES + 1)
    for number, line in enumerate(iter(read, b""), start=1):
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
            if not choice.has_codes:
                raise
            texts.add(late.column)


def _read_delimited(
    path: Path, choice: Choice, progress: Progress, delimiter: str | None, texts: set[str]
) -> Table:
    """The same, where columns are known to hold texts."""
    with _long_fields():
        form = _look_at(path, choice, delimiter, texts)
        try:
            found = read_by_arrow(path, form, progress)
        except LateCell as late:
            cell = late.cell.strip().lower()
            is_text = cell not in MISSING and as_number(cell.replace("_", "")) is None
            if choice.has_codes and is_text:
                raise LateText(str(late), form.names[late.column]) from None
            found = None
        found = found or _read_by_lines(path, form, progress)
    return assemble(str(path), choice, form.names, found.numbers, found.others)


def _look_at(
    path: Path, choice: Choice, delimiter: str | None, texts: Collection[str] = ()
) -> Form:
    """How a table is written, by its first rows; `texts`: columns that are known to hold some."""
    with open_stream(path) as stream:
        lines = lines_of(stream, path)
        start: list[str] = []  # up to the first line that is not empty
        while not start or not start[-1].strip():
            start.append(next(lines, "\0"))
        if start[-1] == "\0":
            raise FileFormatError(f"{path} is empty")
        mark = delimiter or _delimiter(start[-1])
        head = list(islice(_rows(chain(start, lines), mark, path), _ROWS_LOOKED_AT + 1))
    names, has_header = column_names(head, path)
    check_names(str(path), choice, names)
    body = head[1:] if has_header else head
    if not body:
        raise FileFormatError(f"{path} has the names of {len(names)} columns, but no rows")
    n_before = head[0][0] if has_header else len(start) - 1
    return Form(names, _kinds(body, names, choice, texts), mark, n_before)


def _read_by_lines(path: Path, form: Form, progress: Progress) -> Columns:
    """The columns of a table, by Python's csv module; numbers alone by NumPy."""
    with open_stream(path) as stream:
        lines = lines_of(stream, path)
        for _ in islice(lines, form.n_before):
            pass
        table = _Growing(path, form)
        n_at_once = max(1, CELLS_AT_ONCE // len(form.names))
        left = table.add_lines(lines, n_at_once, lambda: progress.share(stream.share()))
        n_done, block_of_lines = left or (0, [])
        before = form.n_before + n_done
        rows = _rows(chain(block_of_lines, lines), form.mark, path, before)
        while block := list(islice(rows, n_at_once)):
            table.add(block)
            progress.share(stream.share())
    return table.columns()


def column_names(head: list[tuple[int, list[str]]], path: Path) -> tuple[tuple[str, ...], bool]:
    """Names from the first row, if it holds no number (or fewer than the second); else 0, 1, …"""
    first = head[0][1]
    second = head[1][1] if len(head) > 1 else []
    n_first, n_second = (
        sum(as_number(cell) is not None for cell in row) for row in (first, second)
    )
    has_header = n_first == 0 if not second else n_first < n_second or (n_first == 0 == n_second)
    if not has_header:
        return tuple(str(i) for i in range(len(first))), False
    names = [cell.strip() for cell in first]
    if len(second) == len(names) + 1:  # R writes no name for its row names
        names = ["", *names]
    return told_apart(names), True


def told_apart(names: Sequence[str]) -> tuple[str, ...]:
    """Names of columns, with their numbers where several have the same.

    Examples
    --------
    >>> told_apart(["a", "b", "a"])
    ('a.0', 'b', 'a.2')
    """
    counts = Counter(names)
    return tuple(f"{name}.{i}" if counts[name] > 1 else name for i, name in enumerate(names))


def as_number(cell: str) -> float | None:
    """What a cell is as a number; None for texts."""
    try:
        return float(cell) if "_" not in cell else None
    except ValueError:
        return None


def _kinds(
    body: list[tuple[int, list[str]]],
    names: tuple[str, ...],
    choice: Choice,
    texts: Collection[str],
) -> list[bool]:
    """Which columns hold numbers, by the first thousand rows."""
    wanted = {name for name, what in choice.special.items() if what in ("id", "text")}
    wanted |= {*texts}
    kinds = []
    for j, name in enumerate(names):
        cells = [
            row[j] for _, row in body if j < len(row) and row[j].strip().lower() not in MISSING
        ]
        kinds.append(
            name not in wanted
            and bool(cells)
            and all(as_number(cell) is not None for cell in cells)
            and not (choice.has_codes and any(PADDED.fullmatch(cell) for cell in cells))
        )
    return kinds


class _Growing:
    """Columns that grow block by block: numbers as one array, the rest as lists of texts."""

    def __init__(self, path: Path, form: Form) -> None:
        self.path = path
        self.form = form
        self.texts: dict[int, list[str]] = {j: [] for j, kind in enumerate(form.kinds) if not kind}
        self.values = Growing()

    def add(self, block: list[tuple[int, list[str]]]) -> None:
        names = self.form.names
        for line, row in block:
            if len(row) != len(names):
                raise FileFormatError(
                    f"{self.path}, line {line:,}: {len(row)} columns; "
                    f"expected {len(names)} ({shorten(names)})"
                )
        columns = [*zip(*(row for _, row in block), strict=True)]
        found = np.empty((len(block), len(self.form.numeric)))
        for k, j in enumerate(self.form.numeric):
            found[:, k] = self._numbers(block, columns[j], j)
        self.values.add(found)
        for j, texts in self.texts.items():
            texts += [cell.lstrip(" ") if cell[:1] == " " else cell for cell in columns[j]]

    def _numbers(
        self, block: list[tuple[int, list[str]]], cells: Sequence[str], j: int
    ) -> Array | list[float]:
        """Cells as numbers; what is most often missing is an empty cell."""
        with suppress(ValueError):
            return np.fromiter(map(float, cells), np.float64, len(cells))
        with suppress(ValueError):
            known = [cell or "nan" for cell in cells]
            return np.fromiter(map(float, known), np.float64, len(cells))
        return [self._cell(line, row[j], j) for line, row in block]

    def add_lines(
        self, lines: Iterator[str], n_at_once: int, tell: Callable[[], None]
    ) -> tuple[int, list[str]] | None:
        """Lines of only numbers, fast; where they end, how many, and the block that is not."""
        if self.texts:
            return None
        n_done = 0
        mark = None if self.form.mark == " " else self.form.mark
        while block := list(islice(lines, n_at_once)):
            try:
                found = np.loadtxt(block, delimiter=mark, comments=None, ndmin=2)
            except ValueError:
                return n_done, block
            if found.shape != (len(block), len(self.form.names)):
                return n_done, block
            self.values.add(found)
            n_done += len(block)
            tell()
        return None

    def _cell(self, line: int, cell: str, j: int) -> float:
        if cell.strip().lower() in MISSING:
            return np.nan
        value = as_number(cell)
        if value is None:
            raise LateText(
                f"{self.path}, line {line:,}, column {self.form.names[j]!r}: "
                f"{cell[:40]!r} is no number, where all before it are; "
                "name the columns to use (--vectors), or use this one as --label, --id or --texts",
                self.form.names[j],
            )
        return value

    def columns(self) -> Columns:
        texts = {j: np.array(texts, dtype=object) for j, texts in self.texts.items()}
        return Columns.of(self.form, self.values, texts)


# -- what is a .txt file?


def text_kind(path: Path) -> str:
    """'vectors', 'table' or 'lines', by the first lines."""
    with open_stream(path) as stream:
        head = [line.rstrip("\r\n") for line in islice(lines_of(stream, path), 12) if line.strip()]
    rows = [line.split() for line in head]
    if not rows:
        raise FileFormatError(f"{path} is empty")
    has_size = len(rows[0]) == 2 and all(part.isdigit() for part in rows[0])
    if has_size and len(rows) > 1 and len(rows[1]) == int(rows[0][1]) + 1:
        return "vectors"
    numeric = [[as_number(cell) is not None for cell in row] for row in rows]
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
        for line in lines_of(stream, path):
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
