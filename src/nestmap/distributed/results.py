"""Arrays of the client as dask arrays, in the chunks of the rows."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from .._arrays import Array
from .._work.pieces import temporary
from .files import read_slice

_LARGE = 8_000_000  # bytes that a graph should not carry


@dataclass(frozen=True)
class Chunks:
    """Chunks of the rows of a fit, and the folder that its workers see, if there is one."""

    sizes: tuple[int, ...]
    folder: str | None = None

    def of(self, array: Array, name: str) -> Any:
        """A dask array with the values of an array: in its graph, or in a file of the folder if they are many."""
        import dask.array as da
        from dask import delayed

        if self.folder is None or array.nbytes <= _LARGE:
            return da.from_array(array, chunks=(self.sizes, *((n,) for n in array.shape[1:])))
        digest = blake2b(np.ascontiguousarray(array).data, digest_size=8).hexdigest()
        path = Path(self.folder) / f"{name}-{digest}.npy"
        if not path.exists():
            with temporary(path) as part, part.open("wb") as file:
                np.save(file, array)
        read, ends = delayed(read_slice, pure=True), np.concatenate([[0], np.cumsum(self.sizes)]).tolist()
        return da.concatenate([
            da.from_delayed(read(str(path), a, b), (b - a, *array.shape[1:]), array.dtype) for a, b in pairwise(ends)
        ])  # fmt: skip
