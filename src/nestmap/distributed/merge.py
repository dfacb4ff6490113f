"""Merges items to nodes that exceed the memory of one process: the tasks of `pointers.py`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..core.arrays import Array, blocks
from ..method.run import Run
from .division import Division
from .phases import ADVICE, Phases, in_order
from .pointers import Nodes, Roots, jump_part, link_part, mean_part, root_part
from .store import RowFile, Store

PER_ITEM = 53  # bytes that first neighbours and their components take in one process
ROUNDS = 4  # of pointers, most often
_MOST_ROUNDS = 80  # a round doubles the way of every pointer: enough for any number of items


@dataclass(frozen=True, eq=False)
class Merged:
    """Items joined to components of their first-neighbour graph, numbered by the lowest item."""

    members: Array  # component of each item
    centroids: Array
    sizes: Array  # rows below each component


@dataclass(frozen=True, eq=False)
class Merge:
    """Joins the items of one level to nodes on the workers, part by part."""

    phases: Phases
    store: Store
    name: str  # of the level
    division: Division
    version: str  # of the division
    order: Array  # items in the order of parts
    links: Array  # first neighbours, by places in that order
    run: Run
    own: bool  # store, which goes with the level

    def __call__(self, weights: Array, dtype: Any) -> Merged:
        """The nodes; `weights`: rows below each item, `dtype`: of centroids."""
        self._write(weights)
        n_rounds = self._jump()
        found: list[Roots] = self._each("root", "clusters of {} items", root_part, n_rounds)
        roots, names = number_roots(found)
        self._write_names(roots, names)
        nodes = self._means(found, roots, np.dtype(dtype), n_rounds)
        members = np.empty(self.store.n, dtype=np.int64)
        members[self.order] = self.store.numbers("members").mapped()[:, 0]
        centroids = self.run.table((len(roots), self.store.width), dtype)
        sizes = np.empty(len(roots))
        written = self._as_written(roots, names)
        for part in blocks(len(roots), self.store.width):
            centroids[written[part]] = nodes.centroids.read(part.start, part.stop)
        sizes[written] = nodes.sizes.mapped()[:, 0]
        self.close()
        return Merged(members, centroids, sizes)

    def close(self) -> None:
        """Give back the room of files that nobody reads again: all but the rows of X."""
        if self.own:
            self.store.remove()
        else:
            self.store.remove_all_but_rows()

    @cached_property
    def _parts(self) -> list[int]:
        """Those that have rows."""
        return [int(p) for p in np.flatnonzero(np.diff(self.division.starts))]

    def _write(self, weights: Array) -> None:
        """What tasks read, in the order of parts, and room for what they write."""
        store = self.store
        for values, name in ((self.order, "order"), (self.links, "links")):
            store.numbers(name).create().write(0, values)
        store.weights.create().write(0, weights[self.order])
        for name in ("strays", "names", "members"):
            store.numbers(name).create()
        for file in store.pointers:
            file.create()

    def _each(
        self,
        phase: str,
        what: str,
        task: Any,
        *more: Any,
        by_part: Sequence[tuple[Any, ...]] | None = None,
    ) -> list[Any]:
        """What a task gives for each part that has rows; `by_part`: more arguments, for each."""
        last = [()] * len(self._parts) if by_part is None else by_part
        arguments = [
            (self.store, self.version, p, *more, *own)
            for p, own in zip(self._parts, last, strict=True)
        ]
        futures = self.phases.submit(phase, task, arguments)
        results = self.phases.results(
            phase, f"{self.name}: {what.format(self.store.n)}", futures, ADVICE
        )
        return in_order(results, len(arguments))

    def _jump(self) -> int:
        """Let pointers jump until no item has another root; the number of rounds."""
        self._count("link", self.store.n * (8 + self.store.pointers[0].row_bytes))
        self._each("link", "links of {} items", link_part)
        for n_rounds in range(_MOST_ROUNDS):
            changed = self._each(
                "jump", f"pointers of {{}} items, round {n_rounds + 1}", jump_part, n_rounds
            )
            self._count("jump", self.store.n * 3 * self.store.pointers[0].row_bytes)
            if not any(changed):
                return n_rounds + 1
        raise RuntimeError(
            f"{self.name}: pointers went on to jump; the files of the fit were changed by others"
        )

    def _write_names(self, roots: Array, names: Array) -> None:
        """The number of each component, at the place of its root."""
        starts = self.division.starts
        file = self.store.numbers("names")
        for p in self._parts:
            own = slice(*np.searchsorted(roots, starts[p : p + 2]))
            values = np.full(starts[p + 1] - starts[p], -1)
            values[roots[own] - starts[p]] = names[own]
            file.write(int(starts[p]), values)

    def _as_written(self, roots: Array, names: Array) -> Array:
        """The numbers of nodes in the order that they are written in: by part, then by number."""
        part = np.searchsorted(self.division.starts, roots, side="right")
        return np.asarray(names[np.lexsort((names, part))])

    def _means(self, found: list[Roots], roots: Array, dtype: Any, n_rounds: int) -> Nodes:
        """Centroids and sizes."""
        n_nodes = len(roots)
        begins = np.searchsorted(roots, self.division.starts)
        nodes = Nodes(
            RowFile(
                os.path.join(self.store.folder, "centroids"), n_nodes, self.store.width, str(dtype)
            ).create(),
            RowFile(os.path.join(self.store.folder, "sizes"), n_nodes, 1, "float64").create(),
        )
        cuts = np.array([each.cuts for each in found])
        first = self.division.starts[self._parts]
        strays = [
            [
                (int(b + a), int(b + z))
                for b, a, z in zip(first, cuts[:, p], cuts[:, p + 1], strict=True)
                if a < z
            ]
            for p in self._parts
        ]
        by_part = [(int(begins[p]), each) for p, each in zip(self._parts, strays, strict=True)]
        self._each("mean", "centroids of {} items", mean_part, n_rounds, nodes, by_part=by_part)
        n_strays = int(cuts[:, -1].sum())
        row_bytes = self.store.rows.row_bytes
        self._count("mean", (self.store.n + n_strays) * row_bytes)
        self.phases.shuffled += n_strays * row_bytes
        return nodes

    def _count(self, phase: str, n_bytes: int) -> None:
        self.phases.moved[phase] = self.phases.moved.get(phase, 0) + n_bytes


def number_roots(found: list[Roots]) -> tuple[Array, Array]:
    """Roots of all components, ascending, and their numbers: by lowest rows, as on one machine."""
    roots = np.concatenate([each.roots for each in found])
    lowest = np.concatenate([each.lowest for each in found])
    order = np.lexsort((lowest, roots))
    first = order[np.flatnonzero(np.diff(roots[order], prepend=-1))]
    names = np.empty(len(first), dtype=np.int64)
    names[np.argsort(lowest[first])] = np.arange(len(first))
    return roots[first], names
