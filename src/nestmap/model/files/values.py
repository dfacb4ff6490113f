"""Encoding of arrays and plain values in a container, and their checked decoding."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Mapping
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np

from ...core.arrays import Array, blocks
from ...errors import ModelFileError
from .container import TYPES, Stored, same_bytes

Sizes = dict[str, int]  # of axes by name
_FLOATS = ("<f2", "<f4", "<f8")
_SPECIAL = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}
_LARGEST_FLOAT = sys.float_info.max


class Part(NamedTuple):
    """Schema of an array: types, lengths or names of its axes, bounds of its values."""

    kinds: tuple[str, ...]
    axes: tuple[str | int, ...] = ()
    low: float = -_LARGEST_FLOAT  # all values are numbers, and finite
    high: float = _LARGEST_FLOAT


Spec = Mapping[str, Part]  # of arrays by name


class Writer:
    """Collects arrays under names; equal ones are kept once."""

    def __init__(self) -> None:
        self.arrays: dict[str, Array] = {}
        # of each array, the name under which it is kept, and its type in memory
        self.names: dict[str, list[str]] = {}

    def put(self, name: str, array: Array) -> None:
        """Keep an array in the narrowest type that holds all of its values, bit for bit."""
        kept = narrow(np.asarray(array))
        twin = next((at for at, other in self.arrays.items() if same_bytes(kept, other)), None)
        if twin is None:
            self.arrays[name] = kept
        self.names[name] = [twin or name, array.dtype.newbyteorder("<").str]

    def put_all(self, prefix: str, value: Any, spec: Spec) -> None:
        """Keep those attributes of a value that a specification names."""
        for name in spec:
            self.put(f"{prefix}/{name}", getattr(value, name))

    def put_texts(self, name: str, texts: Any) -> None:
        """Keep strings, as UTF-8 one after the other."""
        data = [str(text).encode("utf-8", "surrogatepass") for text in texts]
        self.put(f"{name}/bytes", np.frombuffer(b"".join(data), dtype=np.uint8))
        self.put(f"{name}/ends", np.cumsum([len(text) for text in data], dtype=np.int64))

    def encode(self, name: str, value: Any) -> Any:
        """A parameter as JSON; arrays are kept under the name. Raises for functions and objects."""
        if value is None or isinstance(value, bool | str):
            return value
        if isinstance(value, np.bool_):
            return bool(value)
        if isinstance(value, Integral):
            return int(value)
        if isinstance(value, Real):
            return float(value) if math.isfinite(value) else {"number": number(float(value))}
        if isinstance(value, os.PathLike):
            return os.fspath(value)
        if isinstance(value, np.ndarray) and value.dtype.kind in "iufb":
            self.put(name, value)
            return {"array": name}
        if isinstance(value, list | tuple) and np.asarray(value).dtype.kind in "iufb":
            return self.encode(name, np.asarray(value))
        if isinstance(value, list | tuple) and all(type(each) in (str, int) for each in value):
            return {"list": [*value]}
        if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
            return {
                "values": {key: self.encode(f"{name}/{key}", each) for key, each in value.items()}
            }
        raise ValueError(
            f"{name.rpartition('/')[2]}={value!r} cannot be saved: a model file holds no "
            "functions and no objects; use a metric with a name, or pickle the model"
        )


def number(value: float) -> float | str:
    """A float as JSON, which knows no NaN and no infinity."""
    return value if math.isfinite(value) else str(value)


def narrow(array: Array) -> Array:
    """The array in the narrowest type that keeps every bit of it.

    Examples
    --------
    >>> lists = ([3, 200], [-1, 300], [0.5, np.inf], [0.1], [-0.0])
    >>> [str(narrow(np.array(values)).dtype) for values in lists]
    ['uint8', 'int16', 'float16', 'float64', 'float16']
    """
    if array.dtype.kind in "iu" and array.size and array.dtype.itemsize > 1:
        low = int(array.min())
        high = int(array.max())
        kinds = ("u1", "u2", "u4") if low >= 0 else ("i1", "i2", "i4")
        fits = [kind for kind in kinds if np.iinfo(kind).min <= low and high <= np.iinfo(kind).max]
        return (
            array.astype(fits[0])
            if fits and np.dtype(fits[0]).itemsize < array.dtype.itemsize
            else array
        )
    if array.dtype.kind == "f" and array.size:
        return next(
            (array.astype(kind) for kind in _narrower(array) if _survives(array, kind)), array
        )
    return array


def _narrower(array: Array) -> list[str]:
    return [kind for kind in _FLOATS if np.dtype(kind).itemsize < array.dtype.itemsize]


def _survives(array: Array, kind: str) -> bool:
    """Whether all values come back from a narrower type with all of their bits.

    NaN has many bits and does not.
    """
    flat = array.reshape(len(array), -1) if array.ndim else array.reshape(1, 1)
    for part in blocks(len(flat), flat.shape[1], values=100_000):
        with np.errstate(over="ignore", under="ignore"):
            back = flat[part].astype(kind).astype(array.dtype)
        if back.tobytes() != flat[part].tobytes():
            return False
    return True


def all_within(array: Array, low: float, high: float) -> bool:
    """Whether all values are numbers within bounds; in blocks, without a temporary copy."""
    flat = array.reshape(-1)
    parts = (flat[part] for part in blocks(len(flat), 1, values=1_000_000))
    # false for NaN
    return all(low <= float(part.min()) and float(part.max()) <= high for part in parts)


def check_text(text: str, name: str) -> str:
    """The text; raises for lone surrogates, which cannot be encoded."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ModelFileError(
            f"{name!r} is {text[:60]!r}, which holds half of a character"
        ) from None
    return text


class Reader:
    """Gives back what a `Writer` has kept; `ModelFileError` for all that does not fit."""

    def __init__(self, stored: Stored) -> None:
        self.document = stored.document
        self._arrays = stored.arrays
        self._names = self.get(self.document, "arrays", dict)

    def get(self, record: Any, name: str, kind: type | tuple[type, ...]) -> Any:
        """An entry of a JSON object, of the type that it must have."""
        value = record.get(name) if isinstance(record, dict) else None
        kinds = kind if isinstance(kind, tuple) else (kind,)
        if type(value) not in kinds:
            raise ModelFileError(
                f"{name!r} is {repr(value)[:60]}; expected {' or '.join(k.__name__ for k in kinds)}"
            )
        return check_text(value, name) if type(value) is str else value

    def option(self, record: Any, name: str, options: tuple[str, ...]) -> str:
        """An entry that must be one of some texts."""
        value: str = self.get(record, name, str)
        if value not in options:
            raise ModelFileError(
                f"{name!r} is {value[:60]!r}; expected one of {', '.join(map(repr, options))}"
            )
        return value

    def number(
        self, record: Any, name: str, low: float | None = None, high: float = math.inf
    ) -> float:
        """A float, which may be NaN or infinity, or one within bounds."""
        value = self._float(record, name)
        if low is not None and not low <= value <= high:  # false for NaN
            raise ModelFileError(f"{name!r} is {value:g}; expected {low:g} to {high:g}")
        return value

    def _float(self, record: Any, name: str) -> float:
        value = self.get(record, name, (float, int, str))
        if isinstance(value, str):
            if value not in _SPECIAL:
                raise ModelFileError(f"{name!r} is {value[:60]!r}, no number")
            return _SPECIAL[value]
        return float(value)

    def whole(self, record: Any, name: str, low: int, high: int) -> int:
        """A whole number within bounds."""
        value: int = self.get(record, name, int)
        if not low <= value <= high:
            raise ModelFileError(f"{name!r} is {value}; expected {low} to {high}")
        return value

    def has(self, name: str) -> bool:
        return name in self._names

    def _kept(self, name: str) -> tuple[Array, str]:
        """An array as it is kept, and its type in memory."""
        match self._names.get(name):
            case [str(at), str(kind)] if at in self._arrays and kind in TYPES.values():
                return self._arrays[at], kind
        raise ModelFileError(f"the array {name[:80]!r} is missing")

    def take(self, name: str, kinds: tuple[str, ...], shape: tuple[int | None, ...]) -> Array:
        """An array of one of some types and of a shape (None: any length), as it was in memory."""
        array, kind = self._kept(name)
        if kind not in (np.dtype(k).newbyteorder("<").str for k in kinds):
            raise ModelFileError(
                f"the array {name!r} is of type {kind[:20]!r}; expected {' or '.join(kinds)}"
            )
        fits = len(shape) == array.ndim and all(
            n in (None, m) for n, m in zip(shape, array.shape, strict=True)
        )
        if not fits or not np.can_cast(array.dtype, kind):
            expected = tuple("any" if n is None else n for n in shape)
            raise ModelFileError(
                f"the array {name!r} has shape {array.shape} and type {array.dtype}; expected "
                f"{expected} and {kind}"
            )
        found = array.astype(np.dtype(kind).newbyteorder("="), copy=False)
        found.setflags(write=False)
        return found

    def take_numbers(self, name: str, part: Part, shape: tuple[int | None, ...]) -> Array:
        """An array as `take` gives it, none of whose values is NaN or out of bounds."""
        found = self.take(name, part.kinds, shape)
        if not all_within(found, part.low, part.high):
            raise ModelFileError(
                f"the array {name!r} holds NaN or values out of bounds; expected {part.low:g} to "
                f"{part.high:g}"
            )
        return found

    def take_all(self, prefix: str, spec: Spec, sizes: Sizes) -> dict[str, Array]:
        """The arrays of a specification.

        Axes of the same name have the same length; `sizes` learns new ones.
        """
        found = {}
        for name, part in spec.items():
            wanted = tuple(axis if isinstance(axis, int) else sizes.get(axis) for axis in part.axes)
            found[name] = self.take_numbers(f"{prefix}/{name}", part, wanted)
            lengths = zip(part.axes, found[name].shape, strict=True)
            sizes.update({axis: n for axis, n in lengths if isinstance(axis, str)})
        return found

    def take_ids(
        self, name: str, n: int | None, below: int, kinds: tuple[str, ...] = ("i8",)
    ) -> Array:
        """An array of numbers of things, all of them from 0 to below `below`."""
        ids = self.take(name, kinds, (n,))
        if ids.size and (ids.min() < 0 or ids.max() >= below):
            raise ModelFileError(
                f"the array {name!r} holds {ids.min()} to {ids.max()}; expected 0 to {below - 1}"
            )
        return ids

    def take_starts(self, name: str, n: int | None, end: int) -> Array:
        """An array that says where n runs of something begin, and where the last one ends."""
        starts = self.take(name, ("i8",), (None if n is None else n + 1,))
        if not len(starts) or starts[0] != 0 or starts[-1] != end or (np.diff(starts) < 0).any():
            raise ModelFileError(f"the array {name!r} does not ascend from 0 to {end}")
        return starts

    def take_column(self, name: str, n: int) -> Array:
        """Numbers or truth values of any type, one for each of n rows; NaN: missing."""
        kind = self._kept(name)[1]
        return np.array(self.take(name, (kind,), (n,)))

    def take_texts(self, name: str, n: int | None = None, whole: bool = False) -> list[str]:
        """Strings that `put_texts` has kept.

        `whole`: halves of characters, which cannot be written, are replaced.
        """
        data = self.take(f"{name}/bytes", ("u1",), (None,)).tobytes()
        ends = self.take(f"{name}/ends", ("i8",), (n,)).tolist()
        if ends != sorted(ends) or (ends[0] < 0 or ends[-1] != len(data) if ends else data):
            raise ModelFileError(f"the texts {name!r} do not fit their lengths")
        try:
            return [
                data[a:b].decode("utf-8", "replace" if whole else "surrogatepass")
                for a, b in zip([0, *ends[:-1]], ends, strict=True)
            ]
        except UnicodeDecodeError as error:
            raise ModelFileError(f"the texts {name!r} are no UTF-8") from error

    def decode(self, value: Any) -> Any:
        """What `encode` made of a parameter."""
        match value:
            case {"array": str(name), **rest} if not rest:
                array, kind = self._kept(name)
                return np.array(self.take(name, (kind,), array.shape))
            case {"values": dict(values), **rest} if not rest:
                return {key: self.decode(each) for key, each in values.items()}
            case {"list": list(values), **rest} if not rest:
                if all(type(each) in (str, int) for each in values):
                    return values
            case {"number": str(text), **rest} if not rest and text in _SPECIAL:
                return _SPECIAL[text]
            case None | bool() | int() | float() | str():
                return value
        raise ModelFileError(f"a parameter is {repr(value)[:60]}, which is none")
