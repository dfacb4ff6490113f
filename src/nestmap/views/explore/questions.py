"""Questions that programs may ask of a map: their fields, once for the JSON API and for MCP."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...core.habits import did_you_mean
from .asked import QuestionError
from .map_store import sound
from .query import RowQueries
from .telling import tell_cluster, tell_clusters, tell_levels
from .telling_rows import tell_compare, tell_rows, tell_search, tell_summary

_LONGEST_TEXT = 500  # letters of a text that is asked with
_MOST_NUMBERS = 100  # rows that are asked for by their numbers


@dataclass(frozen=True)
class Field:
    """Something that a question is asked with.

    Attributes
    ----------
    kind : {'whole', 'text', 'wholes', 'object'}
        A whole number, a text, several whole numbers (3,17 in an address), or an object (JSON in
        an address).
    text : str
        What it means.
    default : any
        None: may be left out.
    least, most : int or None
        Of a whole number.
    is_needed : bool
    """

    name: str
    kind: str
    text: str
    default: Any = None
    least: int | None = None
    most: int | None = None
    is_needed: bool = False

    @property
    def schema(self) -> dict[str, Any]:
        """As JSON Schema."""
        types: dict[str, Any] = {
            "whole": {"type": "integer"},
            "text": {"type": "string", "maxLength": _LONGEST_TEXT},
            "object": {"type": "object"},
            "wholes": {"type": "array", "items": {"type": "integer"}, "maxItems": _MOST_NUMBERS},
        }
        bounds = {"minimum": self.least, "maximum": self.most, "default": self.default}
        given = {key: value for key, value in bounds.items() if value is not None}
        return {**types[self.kind], "description": self.text, **given}

    def read(self, given: Any) -> Any:
        """A value as it was given in JSON; raises in words."""
        if self.kind == "text":
            if not isinstance(given, str) or len(given) > _LONGEST_TEXT:
                raise QuestionError(f"{self.name}: a text of at most {_LONGEST_TEXT} letters")
            return given
        if self.kind == "whole":
            return self._whole(given)
        if self.kind == "object":
            if not isinstance(given, dict):
                raise QuestionError(f"{self.name}: {self.text}")
            return given
        if not isinstance(given, list) or len(given) > _MOST_NUMBERS:
            raise QuestionError(f"{self.name}: a list of at most {_MOST_NUMBERS} whole numbers")
        return [self._whole(each) for each in given]

    def _whole(self, given: Any) -> int:
        low = -(10**12) if self.least is None else self.least
        high = 10**12 if self.most is None else self.most
        if not isinstance(given, int) or isinstance(given, bool) or not low <= given <= high:
            bounds = "" if self.most is None else f" from {low} to {high}"
            raise QuestionError(f"{self.name}={str(given)[:50]}: a whole number{bounds}")
        return given

    def parse(self, text: str) -> Any:
        """A value as it stands in an address."""
        if self.kind == "text":
            return self.read(text)
        if self.kind == "object":
            return self.read(_from_json(text))
        parts = text.split(",") if self.kind == "wholes" else [text]
        if not all(re.fullmatch(r"-?[0-9]{1,12}", part) for part in parts):
            raise QuestionError(f"{self.name}={text[:50]}: {self.text}")
        numbers = [int(part) for part in parts]
        return self.read(numbers if self.kind == "wholes" else numbers[0])


@dataclass(frozen=True)
class Question:
    """A question by name: what it is for, its fields, who answers."""

    name: str
    text: str
    fields: tuple[Field, ...]
    answer: Callable[..., dict[str, Any]]

    @property
    def schema(self) -> dict[str, Any]:
        """Its fields as JSON Schema."""
        return {
            "type": "object",
            "properties": {field.name: field.schema for field in self.fields},
            "required": [field.name for field in self.fields if field.is_needed],
            "additionalProperties": False,
        }


def _from_json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None  # which no field takes


def _id(name: str, text: str, is_needed: bool = True) -> Field:
    return Field(name, "text", f"{text}; LEVEL.INDEX, such as 2.0", is_needed=is_needed)


def _window(limit: int, most: int) -> tuple[Field, Field]:
    """Which part of a list."""
    return (
        Field("offset", "whole", "how many of the list to leave out", 0, 0, 10**10),
        Field("limit", "whole", "how many at most", limit, 1, most),
    )


# Which rows: those that are in all that is given.
_CHOSEN = (
    _id("cluster", "a cluster that they are in", False),
    Field(
        "where",
        "object",
        'by name of the column, [low, high] of numbers or a list of categories, such as {"year": '
        '[1990, 1999], "kind": ["a", "b"]}; null beside them: rows without a value, too; '
        "times are seconds since 1970",
    ),
    Field("query", "text", "letters that their texts hold"),
)

QUESTIONS = {
    question.name: question
    for question in (
        Question(
            "levels",
            "The map as a whole: number of rows, levels of clusters (0 is the finest), columns. "
            "Ask this first.",
            (),
            tell_levels,
        ),
        Question(
            "clusters",
            "Clusters of a level, or those that one cluster is made of: ids, names, sizes.",
            (
                Field("level", "whole", "0 is the finest, -1 the top; default: the map's own"),
                _id("below", "the cluster whose parts are asked for", False),
                *_window(50, 500),
            ),
            tell_clusters,
        ),
        Question(
            "cluster",
            "One cluster: its name, size, what sets it apart from all other rows, the means and "
            "most common values of its columns, typical and odd rows, its parent and children.",
            (_id("id", "the cluster"),),
            tell_cluster,
        ),
        Question(
            "search",
            "Rows whose texts hold these letters (of any case), or the row with that number; "
            "each with its cluster.",
            (
                Field("query", "text", "what to look for", is_needed=True),
                Field("limit", "whole", "how many rows to tell", 20, 1, 200),
            ),
            tell_search,
        ),
        Question(
            "rows",
            "Values of rows, a part at a time: of some by number, or of those that are in all of "
            "cluster, where and query; without any of these of all rows.",
            (
                Field("numbers", "wholes", "row numbers, such as 3,17"),
                *_CHOSEN,
                Field(
                    "sort",
                    "text",
                    "a column, or row; with - in front the largest first; default: in tree order",
                ),
                *_window(20, 100),
            ),
            tell_rows,
        ),
        Question(
            "summary",
            "What sets rows apart from all others: of those that are in all of cluster, where and "
            "query; their number, their clusters, typical and odd ones.",
            _CHOSEN,
            tell_summary,
        ),
        Question(
            "compare",
            "Two clusters side by side: sizes, what each has that the other has not, their "
            "columns, and whether one holds the other.",
            (_id("a", "a cluster"), _id("b", "another cluster")),
            tell_compare,
        ),
    )
}


_OF_COLUMNS = (tell_rows, tell_summary, tell_compare)  # ask the columns, others the files alone


def answer(queries: RowQueries, name: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """The answer to a question with fields as JSON; QuestionError says what is wrong with them."""
    question = QUESTIONS[name]
    known = {field.name: field for field in question.fields}
    for each in given:
        if each not in known:
            raise QuestionError(_unknown(name, each, tuple(known)))
    values = {field.name: field.default for field in question.fields}
    values |= {key: known[key].read(value) for key, value in given.items() if value is not None}
    missing = [
        field.name for field in question.fields if field.is_needed and not values[field.name]
    ]
    if missing:
        raise QuestionError(f"{name} needs {' and '.join(missing)}")
    of = queries if question.answer in _OF_COLUMNS else queries.store
    with sound(queries.store.folder, f"what {name} reads"):
        return question.answer(of, **values)


def parse_query(name: str, query: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """Fields of a question from an address."""
    known = {field.name: field for field in QUESTIONS[name].fields}
    given: dict[str, Any] = {}
    for key, texts in query.items():
        if key not in known:
            raise QuestionError(_unknown(name, key, tuple(known)))
        if len(texts) > 1:
            raise QuestionError(f"{key} is given {len(texts)} times")
        given[key] = known[key].parse(texts[0])
    return given


def _unknown(name: str, field: str, known: Sequence[str]) -> str:
    there = f"; there are {', '.join(known)}" if known else ""
    return f"{name} has no field {field[:50]!r}{did_you_mean(field, known)}{there}"


def list_questions() -> dict[str, Any]:
    """What there is to ask, for programs that come for the first time."""
    return {
        "version": 1,
        "questions": [
            {"name": question.name, "text": question.text, "fields": question.schema}
            for question in QUESTIONS.values()
        ],
    }


def answer_address(
    queries: RowQueries, path: str, query: Mapping[str, Sequence[str]]
) -> bytes | None:
    """The answer to an address below api/v1/, as JSON; None where nothing is."""
    if path == "":
        return json.dumps(list_questions()).encode()
    if path not in QUESTIONS:
        return None
    own = {key: texts for key, texts in query.items() if key != "v"}
    return json.dumps(answer(queries, path, parse_query(path, own))).encode()
