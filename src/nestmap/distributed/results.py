"""Arrays of the client as dask arrays, in chunks of the rows; labels come from leaves, by chunk."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from ..core.arrays import Array
from ..core.work.replacing import temporary
from .files import read_slice

_LARGE = 8_000_000  # bytes that a graph should not carry


@dataclass(frozen=True, eq=False)
class Chunks:
    """Chunks of the rows of a fit, and the folder that its workers see, if there is one."""

    sizes: tuple[int, ...]
    folder: str | None
    members: Array  # the leaf of each row

    def of(self, array: Array, name: str) -> Any:
        """A dask array with an array's values: in its graph, or in a file if they are many."""
        import dask.array as da
        from dask import delayed

        path = self._kept(array, name)
        if path is None:
            return da.from_array(array, chunks=(self.sizes, *((n,) for n in array.shape[1:])))
        read = delayed(read_slice, pure=True)
        ends = np.concatenate([[0], np.cumsum(self.sizes)]).tolist()
        return da.concatenate(
            [
                da.from_delayed(read(path, a, b), (b - a, *array.shape[1:]), array.dtype)
                for a, b in pairwise(ends)
            ]
        )

    def labels(self, label_of: Array) -> Any:
        """A dask array of the labels of rows, from those of leaves."""
        from dask import delayed

        known = self._kept(label_of, "labels") or delayed(label_of, pure=False, traverse=False)
        meta = np.empty(0, label_of.dtype)
        return self._leaves.map_blocks(
            label_rows, known, dtype=meta.dtype, meta=meta, token="nestmap-label"
        )

    @cached_property
    def _leaves(self) -> Any:
        return self.of(self.members, "leaves")

    def _kept(self, array: Array, name: str) -> str | None:
        """The file that many values are kept in; None if they are few, or have no folder."""
        if self.folder is None or array.nbytes <= _LARGE:
            return None
        digest = blake2b(np.ascontiguousarray(array).data, digest_size=8).hexdigest()
        path = Path(self.folder) / f"{name}-{digest}.npy"
        if not path.exists():
            with temporary(path) as part, part.open("wb") as file:
                np.save(file, array)
        return str(path)


def label_rows(leaves: Array, label_of: Array | str) -> Array:
    """Labels of rows from their leaves, and those of all leaves or the file that holds them."""
    known = np.load(label_of, mmap_mode="r") if isinstance(label_of, str) else label_of
    return np.asarray(known[leaves])
