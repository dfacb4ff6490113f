"""A fitted encoder as plain JSON and arrays, and back, checked: for model files, without pickle."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, fields
from typing import Any, TypeVar, cast

import numpy as np

from ..core.arrays import Array
from ..errors import ModelFileError
from .blocks import Block
from .decide import Decision, Decisions
from .encoders import (
    MOMENTS,
    ColumnEncoder,
    LevelEncoder,
    MomentEncoder,
    NumberEncoder,
    VectorEncoder,
)
from .filling import Filler
from .profiles import PERIODS, READINGS, Profile, Reading
from .prototypes import NEAR, Prototypes
from .words import WordEncoder

VERSION = 1  # of the form of records

Record = dict[str, Any]
Arrays = dict[str, Array]
T = TypeVar("T")
_PLAIN: dict[str, tuple[type, ...]] = {
    "str": (str,),
    "bool": (bool,),
    "int": (int,),
    "float": (float, int),
}


def write_blocks(blocks: tuple[Block, ...], filler: Filler, arrays: Arrays) -> Record:
    """How columns are encoded; arrays are put under names of their own.

    The means of all columns are one array: the header of a file has no room for thousands.
    """
    arrays["loadings"] = np.asarray(filler.loadings, dtype=np.float64)
    arrays["prototypes"] = filler.prototypes.rows.astype(np.float32)
    arrays["weights"] = filler.prototypes.weights.astype(np.float32)
    arrays["trust"] = np.asarray(filler.prototypes.trust, dtype=np.float64)
    arrays["means"] = np.concatenate([block.mean for block in blocks]).astype(np.float64)
    found = []
    for i, block in enumerate(blocks):
        encoder = _write_encoder(block.encoder, f"block{i}", arrays)
        own = {"name": block.name, "width": block.width, "gain": float(block.gain)}
        found.append({**own, "encoder": encoder})
    return {"blocks": found, "noise": float(filler.noise)}


def _write_encoder(encoder: ColumnEncoder, at: str, arrays: Arrays) -> Record:
    if isinstance(encoder, WordEncoder):
        arrays[f"{at}/idf"] = encoder.idf
        arrays[f"{at}/directions"] = encoder.directions
        return {"kind": encoder.kind, "words": list(encoder.words)}
    assert isinstance(encoder, NumberEncoder | LevelEncoder | MomentEncoder | VectorEncoder)
    plain = asdict(encoder)
    return {name: list(v) if isinstance(v, tuple) else v for name, v in plain.items()} | {
        "kind": encoder.kind
    }


def write_decisions(decisions: Decisions) -> Record:
    """Decisions as plain values."""
    return asdict(decisions) | {
        "decisions": [asdict(each) for each in decisions],
    }


def read_decisions(record: Any) -> Decisions:
    """Decisions from plain values."""
    return checked(lambda: _read_decisions(record), "decisions")


def _read_decisions(record: Record) -> Decisions:
    found = []
    for each in record["decisions"]:
        profile = dict(each["profile"])
        profile["reading"] = _read_reading(profile["reading"])
        profile["examples"] = tuple(map(str, profile["examples"]))
        found.append(_typed(Decision(**{**each, "profile": _typed(Profile(**profile))})))
    distinct = record["n_distinct_rows"]
    return Decisions(
        tuple(found), int(record["n_table_rows"]), None if distinct is None else int(distinct)
    )


def _typed(value: T) -> T:
    """A value whose plain fields are of the types that they are declared to be."""
    for field in fields(cast("Any", value)):
        kinds = _PLAIN.get(str(field.type))
        if kinds and type(getattr(value, field.name)) not in kinds:
            raise TypeError(f"{field.name} is no {field.type}")
    return value


def read_blocks(record: Any, arrays: Mapping[str, Array]) -> tuple[Block, ...]:
    """How columns are encoded, from plain values and arrays."""

    def read() -> tuple[Block, ...]:
        means = _read_means(record["blocks"], arrays)
        return tuple(
            Block(
                str(each["name"]),
                _read_encoder(each["encoder"], f"block{i}", arrays, len(means[i])),
                means[i],
                _number(each["gain"]),
            )
            for i, each in enumerate(record["blocks"])
        )

    blocks = checked(read, "blocks")
    for block in blocks:
        if len(block.names) != block.width:
            raise ModelFileError(f"the record of column {block.name!r} does not fit its arrays")
    return blocks


def _read_means(blocks: list[Record], arrays: Mapping[str, Array]) -> list[Array]:
    """The mean of each column."""
    every = finite_array(arrays, "means", 1)
    widths = [each["width"] for each in blocks]
    if not all(type(width) is int and 0 < width <= len(every) for width in widths):
        raise ValueError("the width of a column is none")
    if sum(widths) != len(every):
        raise ValueError("the widths of columns do not fit their means")
    return np.split(every, np.cumsum(widths)[:-1])


def read_filler(record: Any, arrays: Mapping[str, Array], width: int) -> Filler:
    """The model of missing cells."""
    loadings = checked(lambda: finite_array(arrays, "loadings", 2), "loadings")
    noise = checked(lambda: _number(record["noise"]), "noise")
    if len(loadings) != width or noise <= 0:
        raise ModelFileError("the model of missing cells does not fit the columns")
    return Filler(loadings, noise, _read_prototypes(arrays, width))


def _read_prototypes(arrays: Mapping[str, Array], width: int) -> Prototypes:
    """Rows that stand for the table; older files have none."""
    if "prototypes" not in arrays:
        return Prototypes.none(width)
    rows = checked(lambda: finite_array(arrays, "prototypes", 2), "prototypes")
    trust = checked(lambda: finite_array(arrays, "trust", 1), "trust")
    weights = checked(lambda: finite_array(arrays, "weights", 2), "weights")
    shapes = (rows.shape[1], len(trust), weights.shape)
    if shapes != (width, width, rows.shape) or 0 < len(rows) < NEAR or (weights <= 0).any():
        raise ModelFileError("the prototypes of missing cells do not fit the columns")
    return Prototypes(rows, weights, trust)


def _read_encoder(
    record: Record, at: str, arrays: Mapping[str, Array], width: int
) -> ColumnEncoder:
    kind = record["kind"]
    if kind == "number":
        scale = _number(record["scale"])
        ends = _number(record["ends"])
        if scale <= 0 or ends <= 0:
            raise ValueError("a scale is not positive")
        reading = _read_reading(record["reading"])
        return NumberEncoder(reading, _number(record["median"]), scale, ends)
    if kind == "category":
        return LevelEncoder(_texts(record["levels"]), bool(record["shared"]))
    if kind == "date":
        reading = _read_reading(record["reading"])
        median = _number(record["median"])
        parts = _texts(record["parts"])
        if not parts or not set(parts) <= {*MOMENTS, "cycle"}:
            raise ValueError("parts of dates that there are not")
        return MomentEncoder(reading, parts, median, _number(record["scale"]))
    if kind == "vector":
        if record["width"] != width:
            raise ValueError("vectors are as long as their mean")
        return VectorEncoder(width)
    if kind == "text":
        idf = finite_array(arrays, f"{at}/idf", 1)
        directions = finite_array(arrays, f"{at}/directions", 2)
        words = _texts(record["words"])
        if not len(words) == len(idf) == len(directions):
            raise ValueError("words and their weights differ in number")
        return WordEncoder(words, idf, directions.astype(np.float32))
    raise ValueError(f"there is no encoder {kind!r}")


def _read_reading(record: Record) -> Reading:
    found = Reading(str(record["kind"]), str(record["form"]))
    if found.kind not in READINGS:
        raise ValueError(f"cells are not read as {found.kind[:40]!r}")
    if found.kind == "cycle" and found.form not in map(str, PERIODS.values()):
        raise ValueError(f"a cycle of {found.form[:40]!r}")
    return found


def _texts(values: Any) -> tuple[str, ...]:
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise TypeError("a list of texts is none")
    return tuple(values)


def _number(value: Any) -> float:
    found = float(value)
    if not np.isfinite(found):
        raise ValueError("a number is not finite")
    return found


def finite_array(arrays: Mapping[str, Array], name: str, ndim: int) -> Array:
    """An array of finite numbers with so many axes."""
    found = np.asarray(arrays[name])
    if found.ndim != ndim or found.dtype.kind != "f" or not np.isfinite(found).all():
        raise ValueError(f"array {name!r} is damaged")
    return found.astype(np.float64)


def checked(read: Callable[[], T], part: str) -> T:
    """What `read` gives; a ModelFileError where the record is damaged."""
    try:
        return read()
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        if isinstance(error, ModelFileError):
            raise
        raise ModelFileError(
            f"the record of a table encoder is damaged ({part}): {error}"
        ) from error
