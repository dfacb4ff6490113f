"""Twin of cpp/frames.cpp; also used for groups that are too large for the compiled kernel."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..arrays import Array, blocks
from ..exact import product
from ..threads import map_blocks
from .algebra import eigenvectors
from .twins import add_eight

_VALUES_PER_STACK = 500_000  # of z, of the groups whose PCA is computed together: 4 MB


def principal_frames(
    z: Array,
    order: Array,
    starts: Array,
    weights: Array,
    offsets: Array,
    maps: Array,
    n_threads: int = 1,
    *,
    larger_than: int = 1,
) -> None:
    """PCA of each group of rows: principal directions, and its members' coordinates along them.

    Group g is the rows order[starts[g]:starts[g + 1]] of z, about their weighted mean. Fills
    offsets (n_members, d) and maps (n_groups, d, p; orthonormal rows) of groups with more members
    than `larger_than`; entries beyond a group's rank, and of groups of one, are left at zero. The
    sign of a direction makes its product with `sign_direction` positive. O(n * group size * p).
    """
    d = offsets.shape[1]

    def fit(groups: Array) -> None:
        group = _EqualGroups.of(z, order, starts, weights, groups)
        directions = group.directions(d)
        k = directions.shape[1]
        maps[groups, :k] = directions
        for part in group.parts:
            along = product(group.centred(part), directions.transpose(0, 2, 1))
            offsets[group.members[:, part], :k] = along

    map_blocks(fit, _equal_sized(starts, z.shape[1], larger_than), n_threads)


@dataclass(frozen=True, eq=False)
class _EqualGroups:
    """Groups of the same size, whose PCA is computed as a stack."""

    z: Array
    weights: Array
    members: Array  # (n_groups, size) rows of z
    parts: list[slice]  # of the members; more than one only for a huge group
    centres: Array  # (n_groups, p)

    @classmethod
    def of(
        cls, z: Array, order: Array, starts: Array, weights: Array, groups: Array
    ) -> _EqualGroups:
        size = starts[groups[0] + 1] - starts[groups[0]]
        members = order[starts[groups, None] + np.arange(size)]
        parts = blocks(int(size), len(groups) * z.shape[1])
        total = weights[members].sum(axis=1)[:, None]
        sums = [
            (weights[members[:, part], None] * z[members[:, part]]).sum(axis=1) for part in parts
        ]
        return cls(z, weights, members, parts, np.sum(sums, axis=0) / total)

    def centred(self, part: slice) -> Array:
        return np.asarray(self.z[self.members[:, part]] - self.centres[:, None])

    def directions(self, d: int) -> Array:
        """Leading principal directions of each group, by the smaller of its two Gram matrices."""
        roots = np.sqrt(self.weights[self.members])[:, :, None]
        if self.members.shape[1] <= self.z.shape[1]:
            return _by_gram(self.centred(slice(None)) * roots, d)
        weighted = (self.centred(part) * roots[:, part] for part in self.parts)
        scatter = sum(product(x.transpose(0, 2, 1), x) for x in weighted)
        return _by_scatter(np.asarray(scatter), d)


def _equal_sized(starts: Array, p: int, larger_than: int) -> list[Array]:
    """Groups by size, in stacks of a few megabytes."""
    sizes = np.diff(starts)
    large = np.flatnonzero(sizes > larger_than)
    large = large[np.argsort(sizes[large], kind="stable")]
    pieces = []
    for groups in np.split(large, np.flatnonzero(np.diff(sizes[large])) + 1) if len(large) else ():
        pieces += [
            groups[part]
            for part in blocks(len(groups), int(sizes[groups[0]]) * p, values=_VALUES_PER_STACK)
        ]
    return pieces


def _by_gram(x: Array, d: int) -> Array:
    """Leading right singular vectors of a stack of matrices (m x p), as rows; zero beyond rank."""
    k = min(d, x.shape[1] - 1)
    values, left = eigenvectors(product(x, x.transpose(0, 2, 1)))
    return _settle(values, product(left[:, ::-1][:, :k], x))


def _by_scatter(scatter: Array, d: int) -> Array:
    """The same from x' x (p x p)."""
    values, vectors = eigenvectors(scatter)
    return _settle(values, vectors[:, ::-1][:, :d].copy())


def _settle(values: Array, right: Array) -> Array:
    """Unit length and a fixed sign; zero beyond the rank."""
    noise = values[:, ::-1][:, : right.shape[1]] <= 1e-10 * np.maximum(values[:, -1:], 1e-300)
    right[noise] = 0
    length = np.sqrt((right * right).sum(axis=2, keepdims=True))
    along = (right * sign_direction(right.shape[2])).sum(axis=2, keepdims=True)
    length *= np.where(along < 0, -1.0, 1.0)
    return np.asarray(np.divide(right, length, out=np.zeros_like(right), where=length != 0))


def sign_direction(p: int) -> Array:
    """A generic direction, to which practically no principal direction is orthogonal."""
    steps = np.arange(1, p + 1) * 0.6180339887498949
    return np.asarray(0.5 + (steps - np.floor(steps)))


def alignments(maps: Array, centres: Array, anchors: Array, around: Array) -> Array:
    """Cross-covariances for the Procrustes rotation of each frame, (n_nodes, d, d).

    The sum over neighbours of u (maps v)' / (|u| |v|^2), where v is the vector to a neighbour in
    the data and u in the map. O(n_nodes * K * p * d).
    """
    n, d, p = maps.shape
    out = np.empty((n, d, d))
    for part in blocks(n, max(1, around.shape[1]) * p):
        v = centres[around[part]].astype(np.float64) - centres[part, None]
        u = anchors[around[part]] - anchors[part, None]
        size = add_eight(v * v) * np.sqrt(add_eight(u * u))
        total = np.zeros((len(v), d, d))
        for a in range(v.shape[1]):
            seen = add_eight(maps[part].astype(np.float64) * v[:, a, None])
            some = size[:, a] > 0
            share = np.divide(seen, size[:, a, None], out=np.zeros_like(seen), where=some[:, None])
            total += u[:, a, :, None] * share[:, None, :]
        out[part] = total
    return out
