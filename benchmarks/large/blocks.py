"""Arrays larger than memory, written block by block.

A block is made from the seed and its own number alone. So blocks can be made by several threads in
any order, and the first n rows of a data set are the same however many rows are asked for.
"""

from __future__ import annotations

import sys
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path

import numpy as np
from numpy.typing import DTypeLike, NDArray
from threadpoolctl import threadpool_limits

Block = NDArray[np.generic]
MakeBlock = Callable[
    [int], Block
]  # number of the block -> its rows; no rows at all: the source is used up

THREADS = 2
AHEAD = 4  # blocks under way per thread: enough to keep them busy, few enough to stay small


def in_order(make: MakeBlock, threads: int = THREADS) -> Iterator[Block]:
    """Blocks 0, 1, 2, ..., made ahead by threads, given out in order."""
    with ThreadPoolExecutor(threads) as pool:
        numbers = count()
        under_way = deque(pool.submit(make, next(numbers)) for _ in range(AHEAD * threads))
        try:
            while True:
                block = under_way.popleft().result()
                under_way.append(pool.submit(make, next(numbers)))
                yield block
        finally:
            for future in under_way:
                future.cancel()


def write_rows(path: Path, make: MakeBlock, n_rows: int, n_columns: int, dtype: DTypeLike) -> None:
    """Write an .npy file of n_rows; it has its name only once it is whole."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(path.name + ".part")
    header = {"descr": np.lib.format.dtype_to_descr(np.dtype(dtype)), "fortran_order": False}
    progress = _Progress(path.name, n_rows)
    written = 0
    with (
        part.open("wb") as file,
        threadpool_limits(1, user_api="blas"),
    ):  # threads of BLAS would wait for each other
        np.lib.format.write_array_header_1_0(file, {**header, "shape": (n_rows, n_columns)})
        for block in in_order(make):
            if not len(block):
                raise ValueError(
                    f"{path.name}: the source has {written:,} rows, not {n_rows:,}; ask for fewer"
                )
            block = np.ascontiguousarray(block[: n_rows - written], dtype=dtype)
            file.write(block.data)
            written += len(block)
            progress.show(written)
            if written == n_rows:
                break
    part.replace(path)


class _Progress:
    """One line on stderr, about once per second."""

    def __init__(self, name: str, n_rows: int) -> None:
        self.name, self.n_rows = name, n_rows
        self.start = self.shown = time.perf_counter()

    def show(self, written: int) -> None:
        now = time.perf_counter()
        done = written == self.n_rows
        if done or now - self.shown > 1:
            self.shown = now
            text = f"\r{self.name}: {written:,} of {self.n_rows:,} rows, {now - self.start:.0f} s"
            print(text, end="\n" if done else "", file=sys.stderr, flush=True)
