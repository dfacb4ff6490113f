"""The record of a run, `run.json`: all that `nestmap info` says, a few kilobytes for any size."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from textwrap import wrap
from typing import Any, NamedTuple

from ...core.work.records import read_json
from ...errors import ModelFileError

_WIDTH = 100  # letters of a line of sentences
FORMAT = "nestmap-run"
VERSION = 1


class _Kind(NamedTuple):
    """What a value must be, in words and as a test."""

    told: str
    fits: Callable[[Any], bool]


_LARGEST_NUMBER = 1e15
_TEXT = _Kind("text", lambda value: type(value) is str)
_NAME = _Kind("name of a file in the run", lambda value: type(value) is str and _is_plain(value))
_COUNT = _Kind("whole number", lambda value: type(value) is int and 0 <= value < _LARGEST_NUMBER)
_SOME = _Kind(
    "whole number of at least 1", lambda value: type(value) is int and 1 <= value < _LARGEST_NUMBER
)
_NUMBER = _Kind(
    "number of at least 0",
    lambda value: type(value) in (int, float) and 0 <= value < _LARGEST_NUMBER,
)
_DISTANCE = _Kind("number or null", lambda value: value is None or type(value) in (int, float))
_TEXT_OR_NONE = _Kind("text or null", lambda value: value is None or type(value) is str)
_BOOL = _Kind("truth value", lambda value: type(value) is bool)
_CHOICE = _Kind(
    "text, truth value or null", lambda value: value is None or type(value) in (str, bool)
)
_OBJECT = _Kind("object", lambda value: type(value) is dict)
_OBJECT_OR_NONE = _Kind("object or null", lambda value: value is None or type(value) is dict)
_SHAPE_OR_NONE = _Kind(
    "shape of pictures or null", lambda value: value is None or _is_picture_shape(value)
)
_CLUSTER = {"cluster": _COUNT, "rows": _SOME, "name?": _TEXT_OR_NONE}
_LEVEL = {
    "level": _COUNT,
    "clusters": _SOME,
    "smallest": _SOME,
    "largest": _SOME,
    "median": _NUMBER,
    "whole?": _NUMBER,
    "split?": _COUNT,
    "measured_on?": _TEXT,
}
# What readers use of a record. An object has these keys (with a question mark: or not), a list has
# such entries; "*" stands for any key.
_RECORD: dict[str, Any] = {
    "source": _TEXT,
    "file?": _TEXT,
    "created": _TEXT,
    "neighbors": _TEXT,
    "n_rows": _SOME,
    "n_columns?": _SOME,
    "repeats?": _TEXT,
    "versions": {"nestmap": _TEXT},
    "seconds": {"*": _NUMBER},
    "parameters?": _OBJECT,
    "changed": _OBJECT,
    "reading": {
        "key": _TEXT_OR_NONE,
        "named": _BOOL,
        "text": _CHOICE,
        "texts?": _TEXT_OR_NONE,
        "pictures?": _SHAPE_OR_NONE,
    },
    "metadata?": [_TEXT],
    "decisions?": [_TEXT],
    "maps": [{"dims": _SOME, "file": _NAME, "layout": _TEXT}],
    "levels": [_LEVEL],
    "label_level": _COUNT,
    "evidence?": _TEXT,
    "tree": [{**_CLUSTER, "n_children?": _COUNT, "children?": [_CLUSTER]}],
    "largest?": [_CLUSTER],
    "quality?": _OBJECT_OR_NONE,
    "far_distance?": _DISTANCE,
}


def read_record(path: Path) -> dict[str, Any]:
    """The record in a folder, or an error that says why it is none."""
    if not path.exists():
        raise FileNotFoundError(f"{path}: no such run; `nestmap fit DATA -o {path}` writes one")
    try:
        record = read_json(path / "run.json")
    except ValueError as error:
        raise ModelFileError(f"{path} is not a run of nestmap: {error}") from error
    if record.get("format") != FORMAT or not isinstance(record.get("version"), int):
        raise ModelFileError(f"{path} is not a run of nestmap: run.json does not say so")
    if record["version"] > VERSION:
        raise ModelFileError(f"{path} was written by a newer nestmap: pip install -U nestmap")
    wrong = next(_misfits(record, _RECORD), None) or next(_contradictions(record), None)
    if wrong:
        raise ModelFileError(f"{path}: run.json is damaged: {wrong}")
    return record


def _is_plain(name: str) -> bool:
    """Whether a name is that of a file in the same folder, on every system."""
    return (
        bool(name)
        and name.isprintable()
        and name not in (".", "..")
        and not set(name) & set('/\\:*?"<>|')
    )


def _is_picture_shape(value: Any) -> bool:
    """[height, width] or [height, width, 3]."""
    if type(value) is not list or len(value) not in (2, 3) or value[2:] not in ([], [3]):
        return False
    return all(_SOME.fits(side) for side in value)


def _misfits(value: Any, shape: Any, at: str = "") -> Iterator[str]:
    """What does not have the shape that it must have, one sentence each."""
    if isinstance(shape, _Kind):
        if not shape.fits(value):
            yield f"{at!r} is {repr(value)[:60]}, which is no {shape.told}"
    elif type(value) is not type(shape):
        yield (
            f"{at!r} is {repr(value)[:60]}, "
            f"which is no {'list' if isinstance(shape, list) else 'object'}"
        )
    elif isinstance(shape, list):
        for i, each in enumerate(value):
            yield from _misfits(each, shape[0], f"{at}[{i}]")
    else:
        for key, each in shape.items():
            name = key.removesuffix("?")
            inside = [*value] if name == "*" else [name]
            for own in inside:
                told = f"{at}.{own}" if at else own
                if own in value:
                    yield from _misfits(value[own], each, told)
                elif name == key:
                    yield f"{told!r} is missing"


def _contradictions(record: Mapping[str, Any]) -> Iterator[str]:
    """What cannot be, in a record whose parts are what they must be each by itself."""
    levels = record["levels"]
    maps = record["maps"]
    if not levels or [level["level"] for level in levels] != [*range(len(levels))]:
        yield "'levels' are not numbered from 0"
    if any(level["clusters"] > record["n_rows"] for level in levels):
        yield f"a level has more clusters than the {record['n_rows']} rows"
    if record["label_level"] >= len(levels):
        yield f"'label_level' is {record['label_level']}, of {len(levels)} levels"
    if not maps or len({each["dims"] for each in maps}) < len(maps):
        yield "'maps' names none, or two of the same dimensions"


def check_rows(record: Mapping[str, Any], metadata: Sequence[str], n_columns: int | None) -> None:
    """Raise unless so many columns of data and these of metadata are those of a record."""
    said = record.get("metadata")  # older runs do not say it
    if said is not None and [whole_text(name) for name in said] != [*metadata]:
        raise ModelFileError(
            f"it knows {repr([*metadata])[:80]} of the rows; run.json says {repr(said)[:80]}"
        )
    if record["reading"]["named"] and n_columns != record.get("n_columns", n_columns or 1):
        raise ModelFileError(
            f"it names {n_columns or 'no'} columns; run.json says {record.get('n_columns')}"
        )


def check_map(
    record: Mapping[str, Any], dims: int, shape: tuple[int, ...], level_sizes: Sequence[int]
) -> None:
    """Raise unless a record has a map of this shape, on a tree of these levels, in these dims."""
    clusters = [level["clusters"] for level in record["levels"]]
    if tuple(shape) != (record["n_rows"], dims):
        raise ModelFileError(
            f"it maps {shape[0]} rows to {shape[1]}-D; run.json says {record['n_rows']} and {dims}"
        )
    if list(level_sizes) != clusters:
        raise ModelFileError(
            f"its levels have {list(level_sizes)} clusters; run.json says {clusters}"
        )


def whole_text(text: str) -> str:
    """A text that can be written: without halves of characters, which names of files may hold."""
    return text.encode("utf-8", "replace").decode()


def to_text(record: Mapping[str, Any]) -> str:
    """The record of a run in words."""
    levels = record["levels"]
    label = record["label_level"]
    lines = [
        f"{record['source']}",
        *record.get("decisions", ()),
        f"written by nestmap {record['versions']['nestmap']}, {record['created']}; "
        + ", ".join(f"{name} {seconds:.1f} s" for name, seconds in record["seconds"].items()),
        "maps: " + ", ".join(f"{each['dims']}-D {each['layout']}" for each in record["maps"]),
        *([record["repeats"]] if record.get("repeats") else []),
        f"neighbours: {record['neighbors']}",
        (
            "parameters: "
            f"{', '.join(f'{k}={v}' for k, v in record['changed'].items()) or 'all defaults'}"
        ),
        "levels:",
    ]
    lines += [_level(each, label) for each in reversed(levels)]
    lines += wrap(record["evidence"], _WIDTH) if record.get("evidence") else []
    below = ", and of the level below" if len(levels) > 1 else ""
    lines.append(f"largest clusters of level {len(levels) - 1}{below}:")
    for node in record["tree"]:
        inside = node.get("children", [])
        rest = node.get("n_children", 0) - len(inside)
        inner = ", ".join(map(_cluster, inside)) + (f" and {rest} more" if rest > 0 else "")
        lines.append(f"  {_cluster(node)}{': ' + inner if inner else ''}")
    if record.get("largest"):
        rest = levels[label]["clusters"] - len(record["largest"])
        more = f" and {rest} more" if rest > 0 else ""
        lines.append(f"labels (level {label}): {', '.join(map(_cluster, record['largest']))}{more}")
    return whole_text("\n".join([*lines, *_quality(record)]))


def _quality(record: Mapping[str, Any]) -> list[str]:
    """Scores of the map, a line each, where they were measured."""
    if not record.get("quality"):
        return []
    return ["quality:", *(f"  {name:20} {value}" for name, value in record["quality"].items())]


def _level(level: Mapping[str, Any], label: int) -> str:
    """' 2        50 clusters of 3 to 80 rows, median 30'."""
    mark = "  <- labels" if level["level"] == label else ""
    return (
        f"  {level['level']:2} {level['clusters']:>9,} clusters of {level['smallest']:,} to "
        f"{level['largest']:,} rows, median {level['median']:,.0f}{_whole(level)}{mark}"
    )


def _whole(level: Mapping[str, Any]) -> str:
    """'; whole 0.97, 3 not in one place', where that was measured."""
    if "whole" not in level or "split" not in level:
        return ""
    leaves = " (of leaves)" if level.get("measured_on") == "leaves" else ""
    return f"; whole {level['whole']:.3f}{leaves}, {level['split']:,} not in one place"


def _cluster(node: Mapping[str, Any]) -> str:
    """'7 "wool coats" (1,200 rows)'."""
    name = f' "{node["name"]}"' if node.get("name") else ""
    return f"{node['cluster']}{name} ({node['rows']:,})"
