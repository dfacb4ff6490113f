"""Files as somebody could make them: damaged bytes, or wrong values under checksums that are right."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from typing import Any

import numpy as np

from nestmap.model.files import container

Rng = np.random.Generator
_DEEP, _HUGE = "<deep>", "<huge>"  # stand for JSON text that json.dumps would not write
_RAW = {_DEEP: "[" * 900 + "]" * 900, _HUGE: "9" * 4000}
ODD: list[Any] = [
    None,
    True,
    False,
    -1,
    0,
    1,
    2,
    7,
    2**31,
    2**53,
    2**63,
    2**64,
    -(2**63),
    0.5,
    -0.5,
    1e-320,
    1e100,
    1.7e308,
    "",
    "0",
    "nan",
    "inf",
    "-inf",
    "\ud800",
    "x" * 500,
    "euclidean",
    "cosine",
    "hamming",
    "mahalanobis",
    "precomputed",
    "<f8",
    "|u1",
    "../x",
    "a\x00b",
    [],
    [[]],
    [1, 2],
    {},
    {"array": "tree/hashes"},
    {"values": {}},
    {"number": "nan"},
    _DEEP,
    _HUGE,
]
_NUMBERS = (np.nan, np.inf, -np.inf, -1, 0, 1, 1e-320, 1e39, 1e101, 1e155, 1.7e308, -1.7e308)


class Container:
    """A file of nestmap, taken apart: the document, and the arrays as they are kept."""

    def __init__(self, data: bytes) -> None:
        (length,) = struct.unpack("<Q", data[:8])
        header = json.loads(data[8 : 8 + length])
        self.metadata = header.pop("__metadata__")
        self.document = json.loads(self.metadata["document"])
        self.document.pop("crc32", None)
        self.arrays: dict[str, np.ndarray] = {}
        for name, entry in header.items():
            start, stop = (8 + length + at for at in entry["data_offsets"])
            values = np.frombuffer(data[start:stop], container.TYPES[entry["dtype"]])
            self.arrays[name] = values.reshape(entry["shape"])

    def packed(self) -> bytes:
        """The file with all checksums right, whatever it says."""
        header, sums, end, body = {}, {}, 0, b""
        codes = {np.dtype(code): name for name, code in container.TYPES.items()}
        for name, array in self.arrays.items():
            stop = end + array.nbytes
            header[name] = {
                "dtype": codes[array.dtype],
                "shape": list(array.shape),
                "data_offsets": [end, stop],
            }
            sums[name], end = container.checksum(array), stop
            body += array.tobytes()
        metadata = {**self.metadata, "document": to_json({"crc32": sums, **self.document})}
        metadata.pop("sha256")
        metadata["sha256"] = container._digest(header, metadata)
        text = json.dumps({**header, "__metadata__": metadata}).encode()
        return struct.pack("<Q", len(text)) + text + body


def to_json(value: Any) -> str:
    """JSON, with what `json.dumps` would not write."""
    text = json.dumps(value)
    for mark, raw in _RAW.items():
        text = text.replace(f'"{mark}"', raw)
    return text


# -- JSON
# ----------------------------------------------------------------------------------------------


def paths_of(value: Any, prefix: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """All places in a JSON value."""
    items = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    return [prefix, *(path for key, each in items for path in paths_of(each, (*prefix, key)))]


def at(value: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        value = value[key]
    return value


def pick(rng: Rng, some: Any) -> Any:
    """One of some things, as it is."""
    some = list(some)
    return some[int(rng.integers(len(some)))]


def change_json(rng: Rng, document: Any) -> str:
    """Change one thing in a JSON object; what was done."""
    paths = [path for path in paths_of(document) if path]
    if not paths:
        return "nothing"
    path = pick(rng, paths)
    home, key = at(document, path[:-1]), path[-1]
    kind = pick(rng, ("odd", "odd", "odd", "near", "swap", "drop", "rename", "more"))
    if kind == "near" and type(home[key]) in (int, float):
        home[key] = pick(
            rng, (home[key] + 1, home[key] - 1, -home[key], home[key] * 2, float(home[key]))
        )
    elif kind == "swap":
        other = pick(rng, paths)
        home[key] = json.loads(json.dumps(at(document, other)))
    elif kind == "drop":
        del home[key]
    elif kind == "rename" and isinstance(home, dict):
        home[pick(rng, ("", "x", "\ud800", str(key) + "_"))] = home.pop(key)
    elif kind == "more" and isinstance(home[key], list):
        home[key] = home[key] * 2 if home[key] else [None]
    else:
        home[key] = pick(rng, ODD)
    return f"{kind} {'/'.join(map(str, path))[:80]}"


# -- arrays
# --------------------------------------------------------------------------------------------


def change_values(rng: Rng, file: Container) -> str:
    """Change values of an array, one or many."""
    name = pick(rng, file.arrays)
    array = file.arrays[name].copy()
    flat = array.reshape(-1)
    if not len(flat):
        return "nothing"
    kind = pick(rng, ("one", "one", "some", "all", "shuffle", "equal", "swap"))
    if kind == "shuffle":
        rng.shuffle(flat)
    elif kind == "equal":
        flat[:] = flat[0]
    elif kind == "swap":
        i, j = rng.integers(len(flat), size=2)
        flat[[i, j]] = flat[[j, i]]
    else:
        where = {
            "one": rng.integers(len(flat), size=1),
            "some": rng.integers(len(flat), size=5),
            "all": slice(None),
        }
        flat[where[kind]] = odd_number(rng, flat)
    file.arrays[name] = array
    return f"{kind} values of {name}"


def odd_number(rng: Rng, flat: np.ndarray) -> Any:
    if flat.dtype.kind == "f":
        with np.errstate(over="ignore", under="ignore"):
            return np.array(pick(rng, _NUMBERS)).astype(flat.dtype)
    if flat.dtype.kind == "b":
        return True
    ends = np.iinfo(flat.dtype)
    return pick(
        rng, (ends.min, ends.max, 0, 1, flat.max() // 2, min(int(flat.max()) + 1, ends.max))
    )


def change_form(rng: Rng, file: Container) -> str:
    """Another type or shape of an array, in its bytes or in what the document says of it."""
    name = pick(rng, file.arrays)
    array = file.arrays[name]
    kind = pick(rng, ("type", "said", "cut", "longer", "turned", "axis", "empty", "flat"))
    if kind == "type":
        with np.errstate(all="ignore"):
            code = pick(rng, container.TYPES.values())
            file.arrays[name] = array.astype(code)
            said_as(file, name, code)
    elif kind == "said":
        said_as(file, name, pick(rng, container.TYPES.values()))
    elif kind == "longer":
        file.arrays[name] = np.concatenate([array, array[-1:]]) if array.ndim else array
    else:
        change: dict[str, Callable[[], np.ndarray]] = {
            "cut": lambda: array[:-1],
            "turned": lambda: array.T,
            "axis": lambda: array[None],
            "empty": lambda: array[:0],
            "flat": lambda: array.reshape(-1),
        }
        file.arrays[name] = np.ascontiguousarray(change[kind]())
    return f"{kind} form of {name}"


def said_as(file: Container, name: str, code: str) -> None:
    """Let the document say that an array is of some type in memory."""
    names = file.document.get("arrays")
    for entry in names.values() if isinstance(names, dict) else ():
        if isinstance(entry, list) and entry[:1] == [name]:
            entry[1:] = [code]


def change_names(rng: Rng, file: Container) -> str:
    """Arrays under the names of others, or none."""
    names = file.document.get("arrays")
    if not isinstance(names, dict) or len(names) < 2:
        return "nothing"
    a, b = pick(rng, names), pick(rng, names)
    kind = pick(rng, ("swap", "same", "drop", "lose"))
    if kind == "swap":
        names[a], names[b] = names[b], names[a]
    elif kind == "same":
        names[a] = names[b]
    elif kind == "drop":
        del names[a]
    else:
        file.arrays.pop(pick(rng, file.arrays))
    return f"{kind} name of {a} and {b}"


# -- files
# ---------------------------------------------------------------------------------------------


def change_bytes(rng: Rng, data: bytes) -> tuple[str, bytes]:
    """Damage as disks and networks do it."""
    kind, where = (
        pick(rng, ("flip", "cut", "longer", "hole", "twice")),
        int(rng.integers(len(data))),
    )
    if kind == "flip":
        other = bytearray(data)
        for place in rng.integers(len(data), size=int(rng.integers(1, 4))):
            other[place] ^= 1 << int(rng.integers(8))
        return kind, bytes(other)
    changed = {
        "cut": data[:where],
        "longer": data + data[where:],
        "hole": data[:where] + bytes(64) + data[where + 64 :],
        "twice": data[:where] + data[max(0, where - 64) :],
    }
    return kind, changed[kind]


def mutate(rng: Rng, data: bytes) -> tuple[str, bytes]:
    """A container of nestmap with one to three things wrong; what these are, and its bytes."""
    if rng.random() < 0.1:
        return change_bytes(rng, data)
    file, told = Container(data), []
    for _ in range(pick(rng, (1, 1, 1, 2, 3))):
        share = rng.random()
        if share < 0.45:
            told.append(change_json(rng, file.document))
        else:
            change = change_values if share < 0.75 else change_form if share < 0.9 else change_names
            told.append(change(rng, file) if file.arrays else "nothing")
    return ", ".join(told), file.packed()
