"""Answers that a language model has given, in a file of JSON lines that only grows."""

from __future__ import annotations

import json
import os
from pathlib import Path
from threading import Lock

_MAX_LINE_BYTES = 100_000
_MAX_FILE_BYTES = 500_000_000


class AnswerCache:
    """Answers by the hash of what was asked; on disk as soon as `put` returns.

    A line that a crash has cut is left out, and so is one that is none of ours. Several processes
    may add to one file. What was asked is not in it.

    Parameters
    ----------
    path : Path or None
        None: in memory only.
    """

    def __init__(self, path: Path | None = None) -> None:
        self.path = path
        self._lock = Lock()
        self._answers: dict[str, str] = {}
        if path is not None and path.exists():
            self._answers = _read(path)

    def __len__(self) -> int:
        return len(self._answers)

    def get(self, key: str) -> str | None:
        """The answer, if it is known."""
        return self._answers.get(key)

    def put(self, key: str, answer: str) -> None:
        """Keep an answer."""
        with self._lock:
            self._answers[key] = answer
            if self.path is not None:
                _append(self.path, json.dumps({"key": key, "answer": answer}))


def _read(path: Path) -> dict[str, str]:
    if not path.is_file() or path.stat().st_size > _MAX_FILE_BYTES:
        raise OSError(f"{path} is no file of answers, or too large; delete it, or move it away")
    found = {}
    with path.open("rb") as file:
        for line in file:
            if len(line) > _MAX_LINE_BYTES:
                continue
            try:
                entry = json.loads(line)
                key = entry["key"]
                answer = entry["answer"]
            except (ValueError, TypeError, KeyError, RecursionError):
                continue
            if isinstance(key, str) and isinstance(answer, str):
                found[key] = answer
    return found


def _append(path: Path, line: str) -> None:
    """One write of a whole line, which begins anew after a line that was cut."""
    with path.open("ab") as file:
        is_cut = False
        if end := file.seek(0, os.SEEK_END):
            with path.open("rb") as before:
                before.seek(end - 1)
                is_cut = before.read(1) != b"\n"
        file.write(("\n" if is_cut else "").encode() + line.encode() + b"\n")
        file.flush()
        os.fsync(file.fileno())
