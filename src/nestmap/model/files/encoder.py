"""Table encoders in model files: their parameters, and what a fit has decided."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np

from ...errors import ModelFileError
from ...tables.encoded import Encoder, describe_columns
from ...tables.encoder import TableEncoder
from ...tables.gower import KIND, GowerEncoder
from .container import parse_json
from .values import Reader, Writer

_AT = "encoder/"  # names of arrays begin so
_RECORD = "encoder/record"
_PARAMETERS: dict[str, tuple[type, ...]] = {
    "columns": (dict, type(None)),
    "weights": (dict, type(None)),
    "texts": (str,),
    "missing": (str,),
}


def write_encoder(writer: Writer, encoder: Encoder) -> None:
    """Keep a fitted encoder; its record is an array of text: it may be longer than a header."""
    record, arrays = encoder.to_record()
    names = sorted(arrays)
    text = json.dumps(_without_infinity({**record, "arrays": names}), allow_nan=False)
    writer.put_texts(_RECORD, [text])
    for name in names:
        writer.put(_AT + name, arrays[name])


def read_encoder(reader: Reader) -> Encoder | None:
    """The fitted encoder of a model, checked; None if it takes numbers."""
    if not reader.has(f"{_RECORD}/ends"):
        return None
    (text,) = reader.take_texts(_RECORD, 1)
    try:
        stored = parse_json(text.encode("utf-8", "surrogatepass"))
        record = {name: _with_infinity(each) for name, each in stored.items()}
        if record.get("kind") == KIND:
            return GowerEncoder.from_record(record, {})
        read_parameter(reader, reader.get(record, "parameters", dict))
        names = reader.get(record, "arrays", list)
        arrays = {str(name): reader.decode({"array": f"{_AT}{name}"}) for name in names}
        return TableEncoder.from_record(record, arrays)
    except ModelFileError as error:
        raise ModelFileError(f"the encoder of its tables: {error}") from error


def _without_infinity(value: Any) -> Any:
    """Plain values as JSON, which knows no infinite numbers."""
    if isinstance(value, dict):
        return {name: _without_infinity(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_without_infinity(each) for each in value]
    if isinstance(value, float) and not math.isfinite(value):
        return {"number": str(value)}
    return value


def _with_infinity(value: Any) -> Any:
    """What `_without_infinity` was given."""
    match value:
        case {"number": "inf" | "-inf" | "nan" as text, **rest} if not rest:
            return float(text)
        case dict():
            return {name: _with_infinity(each) for name, each in value.items()}
        case list():
            return [_with_infinity(each) for each in value]
    return value


def read_columns(reader: Reader, features: dict[str, Any]) -> dict[str, Any]:
    """The attributes that describe columns, with the encoder that takes them, if there is one."""
    encoder = read_encoder(reader)
    if encoder is None:
        return features
    found = describe_columns(encoder)
    names = features.get("feature_names_in_", ())
    if not np.array_equal(found["feature_names_in_"], np.array(names, dtype=object)):
        raise ModelFileError("the encoder of its tables has other columns than the model")
    return found


def encoder_parameter(encoder: TableEncoder) -> dict[str, Any]:
    """An encoder that was asked for, as JSON."""
    asked = encoder.get_params(deep=False)
    return {
        "columns": _pairs(asked["columns"], str),
        "weights": _pairs(asked["weights"], float),
        "texts": asked["texts"],
        "missing": asked["missing"],
    }


def _pairs(values: Any, kind: type) -> dict[str, Any] | None:
    return None if values is None else {str(name): kind(each) for name, each in values.items()}


def read_parameter(reader: Reader, record: Any) -> TableEncoder:
    """An encoder that was asked for; its parameters are checked by its fit."""
    if record.keys() != _PARAMETERS.keys():
        raise ModelFileError(f"an encoder has the parameters {', '.join(_PARAMETERS)}")
    own = {name: reader.get(record, name, kinds) for name, kinds in _PARAMETERS.items()}
    for name, kinds in (("columns", (str,)), ("weights", (float, int))):
        for column in own[name] or {}:
            reader.get(own[name], column, kinds)
    return TableEncoder(**own)
