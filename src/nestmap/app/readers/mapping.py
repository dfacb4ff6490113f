"""What of a table is mapped: its vectors, its texts by their words, or its columns, encoded."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np

from ...core.arrays import Array
from ...core.input.kinds import survives
from ...tables.decide import decide_columns
from ...tables.dominance import dominant_columns
from ...tables.encoded import EncodedTable, encode_and_fit
from ...tables.encoder import TableEncoder
from .choice import Choice, chosen_columns, shorten
from .numbers import choose_numbers, counts_rows, map_numbers, side_by_side, without_missing
from .table import RawColumns, Table, prose_of
from .told import tell_decisions, tell_vectors

_LONG = 16  # numbers that make a vector; columns that make one
_MOST = 0.5  # of the columns of numbers are in it
_ROWS_LOOKED_AT = 2000  # rows that decide whether texts are all that there is
_FEW_KEPT = 32  # columns of numbers that stay beside the map although they are mapped as they are


def map_columns(source: str, choice: Choice, raw: RawColumns) -> Table:
    """A table from the columns of a file."""
    if not choice.encodes:
        return map_numbers(source, choice, raw)
    if choice.encoder is None and not choice.asks_to_encode:
        vectors = _vectors_asked(source, choice, raw) or _find_vectors(choice, raw)
        if vectors:
            return _map_vectors(source, choice, raw, vectors)
        text = choice.text_column or _lone_text(choice, raw)
        if text is not None:
            return _map_text(source, choice, raw, text)
    return _map_encoded(source, choice, raw)


# -- vectors


def _vectors_asked(source: str, choice: Choice, raw: RawColumns) -> list[str]:
    """The columns that were asked for."""
    if choice.vectors is None:
        return []
    if choice.vectors:
        return chosen_columns(source, choice.vectors, raw.names, raw.numbers, "vectors")
    used, _ = choose_numbers(source, choice, raw.names, raw.numbers)
    if not used:
        raise ValueError(
            f"{source}: --vectors: there is no column of numbers among {shorten(raw.names)}"
        )
    return used


def _find_vectors(choice: Choice, raw: RawColumns) -> list[str]:
    """The columns of an embedding, if the table has one.

    A column of long lists; many columns that are called alike but for a number; or a table of
    numbers alone without names: unless cells are missing, or few columns would decide.
    """
    known = {name: raw.numbers[name] for name in raw.numbers if name not in choice.named}
    lists = [name for name, values in known.items() if values.ndim == 2]
    long = [name for name in lists if known[name].shape[1] >= _LONG]
    if len(long) == 1:
        return long
    plain = [name for name in raw.names if name in known and not counts_rows(name, known[name])]
    if lists or not plain:
        return []
    found = plain if _is_bare(raw) else _alike(plain)
    if len(found) < 2 or len(found) < _MOST * len(plain):
        return []
    X = np.stack([known[name] for name in found], axis=1)
    return [] if np.isnan(X).any() or dominant_columns(X) else found


def _is_bare(raw: RawColumns) -> bool:
    """Numbers alone, and nobody has named the columns: a matrix that was written as text."""
    return not raw.others and all(name == str(i) for i, name in enumerate(raw.names))


def _alike(names: list[str]) -> list[str]:
    """The most columns whose names differ only in numbers, such as p0 to p63."""
    stems = {name: re.sub(r"\d+", "#", name) for name in names}
    stem, n = Counter(stems.values()).most_common(1)[0]
    return [name for name in names if stems[name] == stem] if n >= _LONG and "#" in stem else []


def _map_vectors(source: str, choice: Choice, raw: RawColumns, used: list[str]) -> Table:
    X, columns = side_by_side(used, raw.numbers)
    plain = raw.plain
    few = len(used) <= _FEW_KEPT
    metadata = {name: plain[name] for name in plain if few or name not in used}
    text = choice.text_column or next(iter(prose_of(raw.others)), None)
    left_out = {name: _task(name, choice, text) for name in raw.names if name not in used}
    told = () if choice.vectors is not None else (tell_vectors(used, raw.numbers),)
    table = Table(
        X,
        columns,
        _names_of(choice, metadata),
        _label_first(choice, metadata),
        source,
        left_out,
        text=text,
        taken=tuple(used),
        decided=told,
    )
    return without_missing(table, choice.missing or "error")


def _task(name: str, choice: Choice, text: str | None) -> str:
    """What a column is for that is not mapped."""
    told = {choice.id: "the name of each row", choice.label: "the label"}
    return told.get(name) or ("for search and names" if name == text else "beside the map")


# -- texts


def _lone_text(choice: Choice, raw: RawColumns) -> str | None:
    """The column of texts, where the others are but categories of them."""
    prose = [name for name in prose_of(raw.others) if name not in choice.named]
    if not prose:
        return None
    others = [name for name in raw.names if name not in (*prose, *choice.named)]
    rest = {name: raw[name][:_ROWS_LOOKED_AT] for name in others}
    mapped = decide_columns(rest).mapped if rest else ()
    return prose[0] if all(each.kind == "category" for each in mapped) else None


def _map_text(source: str, choice: Choice, raw: RawColumns, text: str) -> Table:
    """A table without X: words are weighed by who reads the file."""
    metadata = dict(raw.plain)
    left_out = {name: _task(name, choice, text) for name in raw.names if name != text}
    names = _names_of(choice, metadata)
    return Table(None, None, names, _label_first(choice, metadata), source, left_out, text=text)


# -- all columns


def _map_encoded(source: str, choice: Choice, raw: RawColumns) -> Table:
    encoded, told = _encode(source, choice, raw)
    metadata = dict(raw.plain)
    return Table(
        encoded.rows,
        None,
        _names_of(choice, metadata),
        _label_first(choice, metadata),
        source,
        text=choice.text_column,
        encoder=encoded.encoder,
        decided=told,
    )


def _encode(source: str, choice: Choice, raw: RawColumns) -> tuple[EncodedTable, tuple[str, ...]]:
    """The rows as numbers, and what is told of it."""
    if choice.encoder is not None:
        every = {name: raw[name] for name in raw.names}
        encoded = EncodedTable.of(every, choice.encoder)
        lines = tell_decisions(choice.encoder.decisions_, {})[1:]
        return encoded, ("encoded as an earlier table was:", *lines)
    wanted = raw.names
    if choice.columns is not None:
        wanted = tuple(chosen_columns(source, choice.columns, raw.names, dict.fromkeys(raw.names)))
    given = {name: raw[name] for name in wanted if name not in choice.special}
    encoder = TableEncoder(dict(choice.kinds) or None, missing=choice.missing or "expected")
    try:
        encoded = encode_and_fit(given, encoder)
    except ValueError:
        _check_any_mapped(source, choice, given)
        raise
    text = choice.text_column
    beside = {name: _task(name, choice, text) for name in raw.names if name not in given}
    return encoded, tell_decisions(encoder.decisions_, beside)


def _check_any_mapped(source: str, choice: Choice, given: Mapping[str, Any]) -> None:
    """Raise a sentence of one line where no column can be mapped."""
    decisions = decide_columns(given, choice.kinds)
    if not decisions.mapped:
        told = shorten([f"{each.name} ({each.kind}: {each.why})" for each in decisions])
        raise ValueError(
            f"{source}: there is nothing to map: {told or 'no columns'}; --kind NAME=KIND changes "
            "what a column is taken for"
        )


def _label_first(choice: Choice, metadata: dict[str, Array]) -> dict[str, Array]:
    """The columns beside the map in the order in which readers are offered them.

    A label of whole numbers, which files of text read as floats, holds classes: integers.
    """
    rest = dict(metadata)
    if choice.label is None or choice.label not in rest:
        return rest
    values = rest.pop(choice.label)
    if values.dtype.kind == "f" and values.ndim == 1 and survives(values, np.int64).all():
        values = values.astype(np.int64)
    return {choice.label: values, **rest}


def _names_of(choice: Choice, metadata: dict[str, Array]) -> Array | None:
    """Names of the rows, taken out of the metadata."""
    return None if choice.id is None else np.asarray(metadata.pop(choice.id)).astype(str)
