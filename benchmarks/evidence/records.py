"""Files of results, docs/evidence/NAME.json: figures, and where and when they were measured."""

from __future__ import annotations

import json
import subprocess
import time
from pathlib import Path
from typing import Any

from benchmarks.runner import machine

ROOT = Path(__file__).parent.parent.parent
FOLDER = ROOT / "docs" / "evidence"
NAMES = ("comparison", "clusters", "large", "growth", "distributed", "tables", "explorer")
DIGITS = 4  # after the point: more than any table prints

Record = dict[str, Any]


def path_of(name: str) -> Path:
    return FOLDER / f"{name}.json"


def read(name: str) -> Record:
    return dict(json.loads(path_of(name).read_text(encoding="utf-8")))


def write(name: str, command: str, found: Record) -> Path:
    """Write a record as a whole, under the date, the commit and the machine of this run."""
    about = {
        "command": command,
        "date": time.strftime("%Y-%m-%d"),
        "commit": commit(),
        "machine": machine(),
    }
    path = path_of(name)
    temporary = path.with_suffix(".part")
    text = json.dumps(rounded({**about, **found}), indent=1, ensure_ascii=False)
    temporary.write_text(f"{text}\n", encoding="utf-8")
    temporary.replace(path)
    return path


def rounded(value: Any) -> Any:
    """The same with shorter numbers."""
    if isinstance(value, float):
        return round(value, DIGITS)
    if isinstance(value, dict):
        return {key: rounded(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [rounded(each) for each in value]
    return value


def commit() -> str:
    """The commit that was measured, marked where the library's code differs from it."""
    changed = _git("status", "--porcelain", "--", "src", "cpp")
    return f"{_git('rev-parse', '--short=7', 'HEAD') or 'unknown'}{'+' if changed else ''}"


def _git(*arguments: str) -> str:
    done = subprocess.run(
        ["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False
    )
    return done.stdout.strip()
