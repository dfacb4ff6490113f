"""What cpp/frames.cpp computes, in NumPy; also the way for groups that are too large for it."""

from __future__ import annotations

import numpy as np

from .._arrays import Array, blocks
from .._parallel import map_blocks

_STACK = 500_000  # values of the groups that are fitted together


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
    """Coordinates of each group's members along its own leading principal directions, and those.

    Group g is the rows order[starts[g]:starts[g + 1]] of z, about their weighted mean. Fills offsets
    (n_members, d) and maps (n_groups, d, p; orthonormal rows) of groups with more members than
    `larger_than`; beyond a group's rank, and for groups of one, they stay as they are: zero.
    A direction has the sign that makes its product with `sign_direction` positive. O(n · group size · p).
    """
    d = offsets.shape[1]

    def fit(groups: Array) -> None:
        size = starts[groups[0] + 1] - starts[groups[0]]
        members = order[starts[groups, None] + np.arange(size)]
        parts = blocks(int(size), len(groups) * z.shape[1])  # more than one only for a huge group
        total = weights[members].sum(axis=1)[:, None]
        sums = [np.einsum("gm,gmp->gp", weights[members[:, part]], z[members[:, part]]) for part in parts]
        centres = np.sum(sums, axis=0) / total

        def about(part: slice) -> Array:
            return np.asarray(z[members[:, part]] - centres[:, None])

        roots = np.sqrt(weights[members])[:, :, None]
        if size <= z.shape[1]:
            directions = _by_gram(about(slice(None)) * roots, d)
        else:
            weighted = (about(part) * roots[:, part] for part in parts)
            scatter = sum(x.transpose(0, 2, 1) @ x for x in weighted)
            directions = _by_scatter(np.asarray(scatter), d)
        k = directions.shape[1]
        maps[groups, :k] = directions
        for part in parts:
            offsets[members[:, part], :k] = about(part) @ directions.transpose(0, 2, 1)

    map_blocks(fit, _equal_sized(starts, z.shape[1], larger_than), n_threads)


def _equal_sized(starts: Array, p: int, larger_than: int) -> list[Array]:
    """Groups of the same size together, in pieces of a few megabytes."""
    sizes = np.diff(starts)
    large = np.flatnonzero(sizes > larger_than)
    large = large[np.argsort(sizes[large], kind="stable")]
    pieces = []
    for groups in np.split(large, np.flatnonzero(np.diff(sizes[large])) + 1) if len(large) else ():
        pieces += [groups[part] for part in blocks(len(groups), int(sizes[groups[0]]) * p, values=_STACK)]
    return pieces


def _by_gram(x: Array, d: int) -> Array:
    """Leading right singular vectors of each of a stack of matrices (m x p), as rows; zero beyond the rank."""
    k = min(d, x.shape[1] - 1)
    values, left = np.linalg.eigh(x @ x.transpose(0, 2, 1))
    return _settle(values, left[:, :, ::-1][:, :, :k].transpose(0, 2, 1) @ x)


def _by_scatter(scatter: Array, d: int) -> Array:
    """The same from x' x (p x p)."""
    values, vectors = np.linalg.eigh(scatter)
    return _settle(values, vectors[:, :, ::-1][:, :, :d].transpose(0, 2, 1).copy())


def _settle(values: Array, right: Array) -> Array:
    """Unit length and a fixed sign; zero beyond the rank."""
    noise = values[:, ::-1][:, : right.shape[1]] <= 1e-10 * np.maximum(values[:, -1:], 1e-300)
    right[noise] = 0
    length = np.linalg.norm(right, axis=2, keepdims=True)
    length *= np.where(right @ sign_direction(right.shape[2]) < 0, -1.0, 1.0)[:, :, None]
    return np.asarray(np.divide(right, length, out=np.zeros_like(right), where=length != 0))


def sign_direction(p: int) -> Array:
    """A generic direction: hardly anything is orthogonal to it."""
    steps = np.arange(1, p + 1) * 0.6180339887498949
    return np.asarray(0.5 + (steps - np.floor(steps)))


def alignments(maps: Array, centres: Array, anchors: Array, around: Array) -> Array:
    """How frames and the map agree, (n_nodes, d, d); O(n_nodes · K · p · d).

    The sum over neighbours of u (maps v)' / (|u| |v|^2), with v the way to a neighbour in the data and u in the map.
    """
    n, d, p = maps.shape
    out = np.empty((n, d, d))
    for part in blocks(n, max(1, around.shape[1]) * p):
        v = centres[around[part]].astype(np.float64) - centres[part, None]
        u = anchors[around[part]] - anchors[part, None]
        size = (v * v).sum(axis=2) * np.sqrt((u * u).sum(axis=2))
        weight = np.divide(1.0, size, out=np.zeros_like(size), where=size > 0)
        out[part] = (u * weight[:, :, None]).transpose(0, 2, 1) @ (v @ maps[part].transpose(0, 2, 1))
    return out
