"""A fitted estimator as one file, and what comes back from it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from ..._version import __version__
from ...core.arrays import Array
from ...core.input.validate import LARGEST
from ...errors import ModelFileError
from ...method.layout import LayoutSettings
from ...method.layout.settings import SETTINGS
from ...method.neighbors import given_neighbors
from ...method.placement import FittedTree
from ...tables.encoded import n_numbers
from ...tables.encoder import TableEncoder
from ..fitted import FittedMap
from .container import read_container, write_container
from .encoder import encoder_parameter, read_columns, read_parameter, write_encoder
from .maps import read_map, write_map
from .tree import put_rows, read_tree, take_rows, write_tree
from .values import Reader, Writer, all_within, check_text

KIND = "nestmap-model"
ESTIMATORS = ("HNNE", "FINCH", "Communities")
VERSION = 3  # of the format; no other is read
_NOT_KEPT = ("callback", "random_state")  # of a session; a seed that is a number is kept
_NONE = type(None)
_PARAMETERS: dict[str, tuple[type, ...]] = {
    "n_components": (int,),
    "n_clusters": (int, _NONE),
    "noise": (int, float),
    "metric": (str,),
    "metric_params": (dict, _NONE),
    "hierarchy": (str,),
    "layout": (str,),
    "encoder": (str, _NONE),
    "neighbors": (str, np.ndarray),
    "target_recall": (int, float),
    "max_memory": (int, float, str, _NONE),
    "work_dir": (str, _NONE),
    "callback": (_NONE,),
    "n_jobs": (int, _NONE),
    "verbose": (int, bool),
    "new_points": (str,),
}
_SETTINGS: dict[str, tuple[type, ...]] = {  # of layouts
    "detail": (str,),
    "tightness": (int, float),
    "radius": (int, float),
    "arrangement": (str,),
    "preliminary": (str, np.ndarray),
    "inflate": (bool,),
    "random_state": (int, _NONE),
}
_MOST_JOBS = 2**20


@dataclass(frozen=True, eq=False)
class SavedModel:
    """What a file holds of an estimator."""

    estimator: str  # 'HNNE' or 'FINCH'
    parameters: dict[str, Any]
    features: dict[str, Any]  # n_features_in_, feature_names_in_, encoder_
    fitted: FittedMap | FittedTree
    extra: dict[str, Any] = field(default_factory=dict)  # numbers, texts, arrays and rows by name


def save_model(
    path: Any, estimator: Any, fitted: FittedMap | FittedTree, extra: Mapping[str, Any]
) -> None:
    """Write a fitted estimator to a file, which is whole or absent."""
    target = Path(os.fspath(path)).expanduser()
    writer = Writer()
    if (name := type(estimator).__name__) not in ESTIMATORS:
        raise ValueError(
            f"{name} cannot be saved: model files hold {' and '.join(ESTIMATORS)}; pickle it"
        )
    tree = fitted.tree if isinstance(fitted, FittedMap) else fitted
    features: dict[str, Any] = {"n_features_in_": int(estimator.n_features_in_)}
    if (names := getattr(estimator, "feature_names_in_", None)) is not None:
        writer.put_texts("feature_names", names)
    if (encoder := getattr(estimator, "encoder_", None)) is not None:
        write_encoder(writer, encoder)
    document: dict[str, Any] = {
        "writer": f"nestmap {__version__}",
        "estimator": name,
        "parameters": _parameters_record(
            writer, estimator.get_params(deep=False), tree.hierarchy.n_rows
        ),
        "features": features,
        "tree": write_tree(writer, tree),
    }
    if isinstance(fitted, FittedMap):
        document["map"] = write_map(writer, fitted)
    document["extra"] = {
        name: _extra_record(writer, f"extra/{name}", value) for name, value in extra.items()
    }
    write_container(target, KIND, VERSION, {**document, "arrays": writer.names}, writer.arrays)


def read_model(path: Any, n_threads: int, mmap: bool = False) -> SavedModel:
    """Read and check what `save_model` has written."""
    source = Path(os.fspath(path)).expanduser()
    stored = read_container(source, KIND, VERSION, mmap)
    try:
        return _read(Reader(stored), n_threads)
    except ModelFileError as error:
        raise ModelFileError(f"{source}: {error}") from error.__cause__


def _read(reader: Reader, n_threads: int) -> SavedModel:
    document = reader.document
    name = reader.option(document, "estimator", ESTIMATORS)
    n_features = reader.whole(reader.get(document, "features", dict), "n_features_in_", 1, 2**40)
    features: dict[str, Any] = {"n_features_in_": n_features}
    if reader.has("feature_names/ends"):
        features["feature_names_in_"] = np.array(
            reader.take_texts("feature_names", n_features), dtype=object
        )
    features = read_columns(reader, features)
    encoder = features.get("encoder_")
    width = n_features if encoder is None else n_numbers(encoder)
    tree = read_tree(reader, document.get("tree"), width, n_threads)
    fitted = read_map(reader, document.get("map"), tree, width) if name == "HNNE" else tree
    records = reader.get(document, "extra", dict)
    extra = {key: _read_extra(reader, f"extra/{key}", each) for key, each in records.items()}
    records = reader.get(document, "parameters", dict)
    parameters = {key: _read_any(reader, key, each) for key, each in records.items()}
    return SavedModel(name, parameters, features, fitted, extra)


def _read_any(reader: Reader, name: str, record: Any) -> Any:
    """A parameter of an estimator; some have parameters of their own."""
    if name == "layout" and isinstance(record, dict):
        return _read_settings(reader, record)
    if name == "encoder" and isinstance(record, dict):
        return read_parameter(reader, record)
    return _read_parameter(reader, name, record, _PARAMETERS)


def _parameters_record(
    writer: Writer, parameters: Mapping[str, Any], n_rows: int
) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in parameters.items():
        if isinstance(value, LayoutSettings):
            own = _parameters_record(writer, value.get_params(deep=False), n_rows)
            found[name] = {"settings": value.kind, "parameters": own}
            continue
        if isinstance(value, TableEncoder):
            found[name] = encoder_parameter(value)
            continue
        if name == "neighbors" and not isinstance(value, str):
            value = given_neighbors(value, n_rows).ids  # which rows: distances follow from them
        dropped = name in _NOT_KEPT and not isinstance(value, int | np.integer)
        found[name] = None if dropped else writer.encode(f"parameters/{name}", value)
    return found


def _read_settings(reader: Reader, record: dict[str, Any]) -> LayoutSettings:
    """The settings of a layout; their values are checked by who takes them."""
    kind = SETTINGS[reader.option(record, "settings", tuple(SETTINGS))]
    values = reader.get(record, "parameters", dict)
    own = kind().get_params(deep=False)
    if wrong := [name for name in values if name not in own]:
        raise ModelFileError(f"layout {kind.kind!r} has no parameter {wrong[0][:60]!r}")
    return kind(
        **{name: _read_parameter(reader, name, each, _SETTINGS) for name, each in values.items()}
    )


def _read_parameter(
    reader: Reader, name: str, record: Any, types: dict[str, tuple[type, ...]]
) -> Any:
    """A parameter of a type that it may have; its value is checked by who takes it."""
    if not name.isidentifier():
        raise ModelFileError(f"there is no parameter {name[:60]!r}")
    value = reader.decode(record)
    kinds = types.get(name, (type(value),))
    if type(value) not in kinds:
        expected = " or ".join(kind.__name__ for kind in kinds)
        raise ModelFileError(f"the parameter {name!r} is {repr(value)[:60]}; expected {expected}")
    if isinstance(value, str) and name != "work_dir":  # folders may have any name
        check_text(value, name)
    if name == "n_jobs" and value is not None and abs(value) > _MOST_JOBS:
        raise ModelFileError(f"the parameter 'n_jobs' is {value}, more than any machine has")
    return value


def _extra_record(writer: Writer, name: str, value: Any) -> Any:
    if sparse.issparse(value):
        put_rows(writer, name, value)
        return {"csr": list(value.shape)}
    return writer.encode(name, value)


def _read_extra(reader: Reader, name: str, record: Any) -> Any:
    match record:
        case {"csr": [int(n), int(n_columns)]} if 0 <= n < 2**40 and 0 < n_columns < 2**40:
            return take_rows(reader, name, n, n_columns)
    value = reader.decode(record)
    if isinstance(value, np.ndarray) and not all_within(value, -LARGEST, LARGEST):
        raise ModelFileError(f"the array {name!r} holds NaN or values beyond {LARGEST:g}")
    return value


def check_array(value: Any, kind: str, shape: tuple[int, ...], name: str) -> Array:
    """An extra that must be an array."""
    if not isinstance(value, np.ndarray) or value.dtype.kind not in kind or value.shape != shape:
        raise ModelFileError(f"{name!r} is not an array of shape {shape}")
    return value
