"""The record of a run, `run.json`: all that `nestmap info` says, a few kilobytes whatever the number of rows."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .._work.records import read_json
from ..errors import ModelFileError

FORMAT, VERSION = "nestmap-run", 1


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
    missing = {"levels", "maps", "tree", "n_rows", "reading", "source", "seconds", "versions"} - record.keys()
    if missing:
        raise ModelFileError(f"{path}: run.json is damaged: {min(missing)!r} is missing")
    return record


def to_text(record: Mapping[str, Any]) -> str:
    """The record of a run in words."""
    levels, label = record["levels"], record["label_level"]
    lines = [
        f"{record['source']}",
        f"written by nestmap {record['versions']['nestmap']}, {record['created']}; "
        + ", ".join(f"{name} {seconds:.1f} s" for name, seconds in record["seconds"].items()),
        "maps: " + ", ".join(f"{each['dims']}-D {each['layout']}" for each in record["maps"]),
        f"neighbours: {record['neighbors']}",
        f"parameters: {', '.join(f'{k}={v}' for k, v in record['changed'].items()) or 'all defaults'}",
        "levels:",
    ]
    for level in reversed(levels):
        mark = "  <- labels" if level["level"] == label else ""
        lines.append(
            f"  {level['level']:2} {level['clusters']:>9,} clusters of {level['smallest']:,} to {level['largest']:,} "
            f"rows, median {level['median']:,.0f}{mark}"
        )
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
    if record.get("quality"):
        lines += ["quality:", *(f"  {name:20} {value}" for name, value in record["quality"].items())]
    return "\n".join(lines)


def _cluster(node: Mapping[str, Any]) -> str:
    """'7 "wool coats" (1,200 rows)'."""
    name = f' "{node["name"]}"' if node.get("name") else ""
    return f"{node['cluster']}{name} ({node['rows']:,})"
