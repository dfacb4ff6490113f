"""Which nodes attract each other, and how much: t-SNE's calibrated, symmetric weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from ..._arrays import Array
from ..._native import kernels
from ..._points.point_set import NATIVE_METRICS, make_points
from ..._points.reduce import Reducer
from ..._progress import Share
from ...arrangement import Projection
from ...neighbors.approximate import Rounds
from ...neighbors.graph import nearest_points

REACH = 2.0  # neighbours of a node, in perplexities: t-SNE's 3 take longer and give no better map
_COLUMNS = 128  # reduced, of the search
_ROUNDS = Rounds(1)  # nine of ten neighbours will do: forces of many nodes hardly change with the others
# Nearly all neighbours of a few nodes, in no time: on USPS one or two more rows of a thousand lie with their kind.
_FEW_NODES, _FEW_ROUNDS = 20_000, Rounds(3, spare=25)


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


def level_graph(
    data: Any,
    metric: Any,
    k: int,
    n_threads: int,
    keys: Array,
    progress: Share | None = None,
    along: Projection | None = None,
    hashes: Array | None = None,
) -> tuple[Array, Array]:
    """The k nearest other rows of each row: ids (n, k) int32 and distances (n, k) float32, nearest first.

    In units of `PointSet`, which keep squares in range. By the metrics with kernels as those see the rows, by any
    other as they are, euclidean. Of equal distances that of the lowest key comes first. `along`: leading directions
    of the data, if they are known; `hashes`: of `hash_points`.
    """
    metric = metric if isinstance(metric, str) and metric in NATIVE_METRICS else "euclidean"
    along = along if along is not None and along.points.metric == metric else None
    points = make_points(data, metric, n_threads=n_threads, keys=keys, unit=along.points.unit if along else None)
    rounds = _FEW_ROUNDS if points.n <= _FEW_NODES else _ROUNDS
    ids, distances, _ = nearest_points(
        points, k, n_threads, columns=_COLUMNS, rounds=rounds, progress=progress,
        reducer=Reducer(along.mean, along.directions, "L2") if along else None, hashes=hashes,
    )  # fmt: skip
    if points.norm != "L1":
        np.sqrt(distances, out=distances)
    return ids.astype(np.int32), distances.astype(np.float32)


def weigh_neighbors(ids: Array, distances: Array, masses: Array, perplexity: float, n_threads: int) -> Attraction:
    """Calibrated and symmetrised weights of a neighbour graph; O(n k).

    A node of m rows counts as m rows that coincide: p_ij = (m_i p_j|i + m_j p_i|j) / 2. Divided by m_i, it is what
    pulls at each of them.
    """
    n, k = ids.shape
    own = kernels.calibrate(distances, min(perplexity, max(1.5, k / REACH)), n_threads)
    own *= (masses / (2 * masses.mean())).astype(np.float32)[:, None]
    one_way = sparse.csr_matrix((own.ravel(), ids.ravel(), np.arange(0, n * k + 1, k)), shape=(n, n))
    both = one_way + one_way.T.tocsr()
    both.sort_indices()
    both.data /= np.repeat(masses / masses.mean(), np.diff(both.indptr))
    return Attraction(both.indptr.astype(np.int64), both.indices.astype(np.int32, copy=False), both.data)
