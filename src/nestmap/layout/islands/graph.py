"""Which nodes attract each other, and how much: t-SNE's calibrated, symmetric weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from ..._arrays import Array, blocks
from ..._native import kernels
from ..._parallel import map_blocks
from ..._points.point_set import make_points

_CANDIDATES = 8  # beyond k: distances by definition decide among what float32 has found
_PIECE = 16_000_000  # distances of a block


@dataclass(frozen=True, eq=False)
class Attraction:
    """Weights between nodes: row i holds what pulls at node i, per row of X below it.

    In units in which the weights of a node add up to about 1.
    """

    starts: Array  # (n + 1,) int64
    ids: Array  # int32
    weights: Array  # float32

    def rates(self) -> Array:
        """Factors of the steps of nodes: those that many others pull at would swing; float32."""
        pull = np.add.reduceat(self.weights, self.starts[:-1], dtype=np.float64)
        return np.asarray(1 / np.maximum(pull, 1), dtype=np.float32)


def level_graph(data: Any, metric: Any, k: int, n_threads: int, keys: Array) -> tuple[Array, Array]:
    """The k nearest other rows of each row: ids (n, k) int32 and distances (n, k) float32, nearest first.

    In units of `PointSet`, which keep squares in range. Rows by cosine and correlation as those metrics see them,
    by any other metric as they are, euclidean. Of equal distances that of the lowest key comes first. O(n^2).
    """
    metric = metric if isinstance(metric, str) and metric in ("cosine", "correlation") else "euclidean"
    points = make_points(data, metric, n_threads=n_threads)
    x = points.block(slice(None))
    if not points.is_sparse:
        x -= x.mean(axis=0)
    x = x.astype(np.float32)
    squares = np.asarray((x.multiply(x) if points.is_sparse else x * x).sum(axis=1)).ravel()
    n, found = points.n, min(points.n - 1, k + _CANDIDATES)
    ids, distances = np.empty((n, k), dtype=np.int32), np.empty((n, k), dtype=np.float32)

    def search(part: slice) -> None:
        products = x[part] @ x.T
        rough = squares - 2 * (products.toarray() if points.is_sparse else products)
        rough[np.arange(len(rough)), np.arange(part.start, part.stop)] = np.inf
        near = np.argpartition(rough, found - 1, axis=1)[:, :found]
        own = np.repeat(np.arange(part.start, part.stop), found)
        exact = kernels.pair_distances(points, own, near.reshape(-1)).reshape(near.shape)
        order = np.lexsort((keys[near], exact), axis=1)[:, :k]
        ids[part] = np.take_along_axis(near, order, axis=1)
        distances[part] = np.sqrt(np.take_along_axis(exact, order, axis=1))

    map_blocks(search, blocks(n, n, values=_PIECE), n_threads)
    return ids, distances


def weigh_neighbors(ids: Array, distances: Array, masses: Array, perplexity: float, n_threads: int) -> Attraction:
    """Calibrated and symmetrised weights of a neighbour graph; O(n k).

    A node of m rows counts as m rows that coincide: p_ij = (m_i p_j|i + m_j p_i|j) / 2. Divided by m_i, it is what
    pulls at each of them.
    """
    n, k = ids.shape
    own = kernels.calibrate(distances, min(perplexity, max(1.5, k / 3)), n_threads)
    own *= (masses / (2 * masses.mean())).astype(np.float32)[:, None]
    one_way = sparse.csr_matrix((own.ravel(), ids.ravel(), np.arange(0, n * k + 1, k)), shape=(n, n))
    both = one_way + one_way.T.tocsr()
    both.sort_indices()
    weights = both.data / np.repeat(masses / masses.mean(), np.diff(both.indptr))
    return Attraction(both.indptr.astype(np.int64), both.indices.astype(np.int32), weights.astype(np.float32))
