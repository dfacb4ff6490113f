"""Names that a language model gave to the clusters of a run: beside the built-in ones, over them.

What people type in the explorer is over both.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ...core.work.records import read_json, write_json
from ...core.work.replacing import temporary
from ...errors import ModelFileError
from ...views.explore.names import Names, tidy

FILE = "namer.json"
ANSWERS = "namer.jsonl"  # what the model has said, by the hash of what it was asked


@dataclass(frozen=True)
class ModelNames:
    """Names by level and cluster, and the model that gave them.

    `carried` are those among them that come from an earlier run with the same cluster: they stay.
    """

    model: str
    names: Names
    carried: Names = field(default_factory=dict)


def read_model_names(folder: Path) -> ModelNames | None:
    """Those of a run; None if there are none."""
    path = folder / FILE
    if not path.exists():
        return None
    try:
        record = read_json(path)
        model = record["model"]
        if not isinstance(model, str):
            raise TypeError("no text")
        return ModelNames(model, _parse(record["names"]), _parse(record.get("carried", {})))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ModelFileError(
            f"{path} holds no names of clusters ({error}); delete it to go back to the built-in "
            "names"
        ) from None


def _parse(record: Any) -> Names:
    found: Names = {}
    for level, own in record.items():
        for cluster, name in own.items():
            if not isinstance(name, str):
                raise TypeError(f"{name!r} is no text")
            found.setdefault(int(level), {})[int(cluster)] = tidy(name)
    return found


def write_model_names(folder: Path, found: ModelNames) -> None:
    """Keep them, in place of those that are there."""
    with temporary(folder / FILE) as part:
        record = {
            "model": found.model,
            "names": as_record(found.names),
            "carried": as_record(found.carried),
        }
        write_json(part, record)


def as_record(names: Names) -> dict[str, dict[str, str]]:
    """Names as JSON."""
    return {
        str(level): {str(cluster): own[cluster] for cluster in sorted(own)}
        for level, own in sorted(names.items())
        if own
    }


def laid_over(names: Mapping[int, list[str]], over: Names) -> dict[int, list[str]]:
    """Names of levels where others take the place of some."""
    return {
        level: [over.get(level, {}).get(cluster) or name for cluster, name in enumerate(own)]
        for level, own in names.items()
    }
