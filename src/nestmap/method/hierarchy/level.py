"""A level of the hierarchy: its nodes and their members."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from ...core.arrays import Array, brief_repr
from ..neighbors.metric.matrix import MedoidDistances


def read_only(array: Any) -> Any:
    """A read-only view of an array (of a CSR matrix: itself, made read-only)."""
    if isinstance(array, MedoidDistances):
        return array  # read-only from the beginning
    if sparse.issparse(array):
        for part in (array.data, array.indices, array.indptr):
            part.setflags(write=False)
        return array
    view = array.view()
    view.setflags(write=False)
    return view


@dataclass(frozen=True, eq=False)
class Grouping:
    """Items sorted by group: group g is order[starts[g]:starts[g + 1]]."""

    order: Array
    starts: Array

    __repr__ = brief_repr

    @classmethod
    def of(cls, labels: Array, n_groups: int) -> Grouping:
        starts = np.zeros(n_groups + 1, dtype=np.int64)
        np.cumsum(np.bincount(labels, minlength=n_groups), out=starts[1:])
        return cls(np.argsort(labels, kind="stable"), starts)

    def items_of(self, groups: Array) -> Array:
        """Items of some groups, one group after the other."""
        sizes = self.starts[groups + 1] - self.starts[groups]
        before = np.cumsum(sizes) - sizes
        return np.asarray(
            self.order[np.arange(sizes.sum()) + np.repeat(self.starts[groups] - before, sizes)]
        )

    def maximum(self, values: Array) -> Array:
        """Largest value of each group (columns one by one)."""
        return np.asarray(np.maximum.reduceat(values[self.order], self.starts[:-1], axis=0))


@dataclass(frozen=True, eq=False)
class Level:
    """One level of the hierarchy: its nodes are the components of the level below."""

    centroids: Any  # (n_nodes, n_features), dense or CSR; MedoidDistances of a matrix
    sizes: Array  # rows below each node
    members: Array  # node of each item of the level below (of each row, at level 0)
    link: float  # mean distance of the first-neighbour links inside the nodes
    gap: float  # mean distance from a node to its nearest other node (nan for a single node)
    keys: Array | None = None  # uint64, from the values of their rows: break ties of distances
    agreement: Array | None = None  # float32: stability of each community; NaN: unknown

    __repr__ = brief_repr

    def __post_init__(self) -> None:
        for name in ("centroids", "sizes", "members", "keys", "agreement"):
            if (array := getattr(self, name)) is not None:
                object.__setattr__(self, name, read_only(array))

    def __getstate__(self) -> dict[str, Any]:
        # `grouping` is cached, not state
        return {name: value for name, value in self.__dict__.items() if name != "grouping"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.__post_init__()

    @property
    def n_nodes(self) -> int:
        return len(self.sizes)

    def take(self, nodes: Array, members: Array, sizes: Array | None = None) -> Level:
        """These nodes in this order; `members`: the place there of each item of the level below.

        `sizes`: rows below each, None where they are as before.
        """
        return replace(
            self,
            centroids=self.centroids[nodes],
            sizes=self.sizes[nodes] if sizes is None else sizes,
            members=members,
            keys=None if self.keys is None else self.keys[nodes],
            agreement=None if self.agreement is None else self.agreement[nodes],
        )

    @cached_property
    def grouping(self) -> Grouping:
        """Items of the level below, by node."""
        return Grouping.of(self.members, self.n_nodes)
