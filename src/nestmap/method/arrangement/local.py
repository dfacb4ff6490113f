"""The local arrangement: each node's own principal components, turned towards its neighbours."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from ...core.arrays import Array, blocks, runs
from ...core.exact import bits_for, length, product, rounded, slices
from ...core.native import kernels
from ...core.points.point_set import PointSet, make_points
from ...core.points.reduce import fit_reducer, sample_size
from ...core.rotations import polar, turned
from ...core.threads import map_blocks, single_threaded_blas
from ..hierarchy.tree import Grouping, Hierarchy
from ..preliminary.maps import LinearMap
from .frames import DistinctRows, Frames, apply_maps

# Leading principal directions that local frames look at. A model keeps a matrix of d x p numbers
# for each leaf: beyond a million rows half as many directions keep it below the size of the data.
N_COLUMNS = 96
N_COLUMNS_OF_MANY = 48
MANY_ROWS = 1_000_000
# of the identity, relative to the matrix: decides rotations that the matrix leaves open
_IDENTITY_WEIGHT = 1e-6
N_TURN_NEIGHBORS = 6  # that a local frame is turned by
_VALUES_PER_TASK = 400_000  # float64 values of the rows of a thread: 3 MB, which stay in its cache
# coordinates of the rows of a run of leaves: with shorter runs, a worker reads fewer rows of
# other parts
_VALUES_PER_RUN = 100_000


@dataclass(frozen=True, eq=False)
class MetricMap:
    """Projects rows, normalised as the metric does (`PointSet`), onto a few directions."""

    metric: str
    linear: LinearMap

    @property
    def n_columns(self) -> int:
        return len(self.linear.basis)

    def __call__(self, X: Any, n_threads: int) -> Array:
        if self.metric == "euclidean":
            return self.linear(X, n_threads)
        points = make_points(X, self.metric, n_threads=n_threads)
        if points.is_sparse:
            return self.linear(points.block(slice(None)), n_threads)
        z = np.empty((points.n, self.n_columns))

        def project(part: slice) -> None:
            z[part] = self.linear(points.block(part), 1)

        map_blocks(project, blocks(points.n, points.n_cols, values=_VALUES_PER_TASK), n_threads)
        return z


@dataclass(frozen=True, eq=False)
class Projection:
    """Projects training rows to float32, in batches on demand."""

    points: PointSet
    mean: Array  # zero for sparse rows
    directions: Array  # (n_features, p)

    def __call__(self, rows: Any) -> Array:
        return self.of(self.points, rows)

    def of(self, points: PointSet, rows: Any) -> Array:
        """Coordinates of some rows of a point set in the same units, (len(rows), p)."""
        z = np.empty((len(rows), self.directions.shape[1]), dtype=np.float32)
        bits = bits_for(points.n_cols)
        small = rounded(self.directions, bits)
        for part in blocks(len(rows), points.n_cols, values=_VALUES_PER_TASK):
            x = points.block(rows[part])
            if points.is_sparse:
                z[part] = product(x, self.directions)
            else:  # centred in float64: no digits are lost to a mean that is far from zero
                x -= self.mean
                (whole,), unit = slices(x, 1, 1, bits)
                np.multiply(whole @ small, unit, out=z[part], casting="same_kind")
        return z


Principal = tuple[Array, Array, Array | None]


@dataclass(frozen=True, eq=False)
class LocalArrangement:
    """Each node's own principal components, in the leading directions of the data."""

    n_components: int
    project: Projection
    nodes: tuple[Array, ...]  # per level, (n_nodes, p) float32
    transform: MetricMap
    distinct: DistinctRows | None = None  # where some rows are equal
    n_threads: int = 1
    n_short: int = 0  # leading coordinates of the rows that frames of leaves keep
    # what frames of leaves are before they are turned, if it was computed ahead
    known: Principal | None = None
    kind: str = "local"

    def prepared(self, hierarchy: Hierarchy) -> LocalArrangement:
        """This arrangement with the data that frames of leaves are made from."""
        with single_threaded_blas():
            return replace(self, known=self.leaves(hierarchy).principal(1))

    def frames(self, hierarchy: Hierarchy, k: int, anchors: Array, around: Array) -> Frames:
        """Frames of level k; `around`: the nodes next to each node in the map, (n_nodes, K)."""
        level = hierarchy.levels[k]
        if k == 0:
            return self.leaves(hierarchy).frames(
                level.members, anchors, around, self.n_threads, self.known
            )
        weights = hierarchy.levels[k - 1].sizes.astype(np.float64)
        group = level.grouping
        with single_threaded_blas():
            offsets, maps = kernels.principal_frames(
                self.nodes[k - 1],
                group.order,
                group.starts,
                weights,
                self.n_components,
                self.n_threads,
            )
            turns = turn_frames(maps, self.nodes[k], anchors, around, self.n_threads)
        return Frames(
            apply_maps(turns, level.members, offsets, self.n_threads), maps, self.nodes[k]
        )

    def leaves(self, hierarchy: Hierarchy) -> Leaves:
        """What frames of all leaves are made from."""
        leaf = hierarchy.levels[0]
        distinct = self.distinct
        grouping = leaf.grouping if distinct is None else distinct.grouping
        along = in_tree_order(hierarchy)
        cuts = _cuts(
            np.concatenate([[0], np.cumsum(np.diff(grouping.starts)[along])]),
            self.nodes[0].shape[1],
        )
        return Leaves(
            self.project,
            self.n_components,
            self.nodes[0],
            grouping,
            distinct,
            along,
            cuts,
            self.n_short,
        )


@dataclass(frozen=True, eq=False)
class Leaves:
    """Leaves, and what their frames are made from: all of them, or a part of them and of the rows.

    Equal rows are one that counts for all of them. They, and leaves, are told apart by nothing but
    their values: a product of matrices rounds by what is multiplied at once, so leaves are seen in
    runs that do not depend on which part they are in. A run holds leaves that are near each other
    in the tree.
    """

    project: Projection
    n_components: int
    # coordinates of leaves; behind them, those of others that lie around them in the map
    centres: Array
    grouping: Grouping  # of rows, or of distinct rows, by leaf
    distinct: DistinctRows | None
    along: Array  # leaves in the order in which they are seen
    cuts: Array  # run r holds along[cuts[r]:cuts[r + 1]]
    n_short: int = 0  # leading coordinates of the rows that are kept

    def frames(
        self,
        members: Array,
        anchors: Array,
        around: Array,
        n_threads: int,
        known: Principal | None = None,
    ) -> Frames:
        """Their frames; `members`: each row's leaf, `anchors`: of leaves and those around them."""
        with single_threaded_blas():
            offsets, maps, short = known or self.principal(n_threads)
            turns = turn_frames(maps, self.centres, anchors, around, n_threads)
        offsets = apply_maps(turns, members, offsets, n_threads)
        return Frames(offsets, maps, self.centres[: len(maps)], short)

    def principal(self, n_threads: int) -> Principal:
        """Offsets, maps and short rows of each leaf.

        Coordinates live for a moment only, but for the leading ones.
        """
        d = self.n_components
        p = self.centres.shape[1]
        distinct = self.distinct
        grouping = self.grouping
        offsets = np.empty((len(grouping.order), d))
        maps = np.empty((len(grouping.starts) - 1, d, p), dtype=np.float32)
        short = np.empty((len(grouping.order), min(self.n_short, p)), dtype=np.float32)

        def fit(run: tuple[int, int]) -> None:
            own = self.along[slice(*run)]
            members = grouping.items_of(own)
            sizes = grouping.starts[own + 1] - grouping.starts[own]
            rows = members
            weights = np.ones(len(members))
            if distinct is not None:
                rows = distinct.rows[members]
                weights = distinct.counts[members]
            z = self.project(rows)
            starts = np.concatenate([[0], np.cumsum(sizes)])
            offsets[members], maps[own] = kernels.principal_frames(
                z, np.arange(len(rows)), starts, weights, d, 1
            )
            short[members] = z[:, : short.shape[1]]

        map_blocks(fit, [*pairwise(self.cuts.tolist())], n_threads)
        if distinct is not None:
            offsets = offsets[distinct.of_row]
            short = short[distinct.of_row]
        return offsets, maps, short if self.n_short else None


def in_tree_order(hierarchy: Hierarchy) -> Array:
    """Leaves by their ancestors, from the top level down."""
    order = np.arange(hierarchy.levels[-1].n_nodes)
    for level in reversed(hierarchy.levels[1:]):
        rank = np.empty_like(order)
        rank[order] = np.arange(len(order))
        order = np.argsort(rank[level.members], kind="stable")
    return order


def _cuts(starts: Array, p: int) -> Array:
    """Bounds of runs of groups whose members' coordinates fit into the cache."""
    found = runs(starts, _VALUES_PER_RUN // p)
    return np.array([0, *(run.stop for run in found)])


def n_columns(n: int, n_features: int) -> int:
    """Directions that the frames of n rows look at."""
    return min(n_features, N_COLUMNS if n <= MANY_ROWS else N_COLUMNS_OF_MANY)


def make_local(
    X: Any,
    hierarchy: Hierarchy,
    n_components: int,
    sample: Array,
    n_threads: int,
    first_equal: Array | None = None,
    n_short: int = 0,
    unit: float | None = None,
) -> LocalArrangement:
    """Coordinates of nodes in the leading directions of a sample of rows; O(n · n_features · p).

    `sample`: rows in an order that does not depend on the order of X, and neither does the map
    then. `first_equal`: for each row the first that equals it; None if all rows differ. `n_short`:
    leading coordinates of the rows that frames of leaves keep. `unit`: of `power_of_two`, if it is
    known.
    """
    normalizes = hierarchy.metric.normalizes_rows
    metric = hierarchy.metric.name if normalizes else "euclidean"
    points = make_points(X, metric, n_threads=n_threads, unit=unit)
    most = n_columns(points.n, points.n_cols)
    with single_threaded_blas():
        reducer = fit_reducer(points, sample[: sample_size(points.n, points.n_cols)], most)
        directions = np.ascontiguousarray(reducer.directions[:, :most])
        project = Projection(points, reducer.mean, directions)
        nodes = [_leaf_coordinates(project, hierarchy, n_threads)]
    for finer, level in pairwise(hierarchy.levels):
        group = level.grouping
        weights = finer.sizes.astype(np.float64)
        nodes.append(kernels.group_means(nodes[-1], group.order, group.starts, weights, n_threads))
    # in units of points.unit, which keeps huge and tiny values in the range of float32
    transform = MetricMap(
        metric,
        LinearMap(reducer.mean / points.unit, np.ascontiguousarray(directions.T * points.unit)),
    )
    distinct = DistinctRows.of(hierarchy.levels[0], first_equal)
    return LocalArrangement(
        n_components, project, tuple(nodes), transform, distinct, n_threads, n_short
    )


def _leaf_coordinates(project: Projection, hierarchy: Hierarchy, n_threads: int) -> Array:
    """Means of the coordinates of each leaf's rows, (n_leaves, p) float32."""
    leaf = hierarchy.levels[0]
    z = np.empty((leaf.n_nodes, project.directions.shape[1]), dtype=np.float32)
    # the mean of projections is the projection of the mean
    if project.points.metric == "euclidean":
        centroids = make_points(leaf.centroids, "euclidean", like=project.points)

        def see(part: slice) -> None:
            z[part] = project.of(centroids, np.arange(part.start, part.stop))

        map_blocks(see, blocks(leaf.n_nodes, z.shape[1], values=_VALUES_PER_TASK), n_threads)
        return z

    def average(part: slice) -> None:
        rows, starts = _members(leaf.grouping, part)
        z[part] = kernels.group_means(
            project(rows), np.arange(len(rows)), starts, np.ones(len(rows)), 1
        )

    map_blocks(average, runs(leaf.grouping.starts, _VALUES_PER_TASK // z.shape[1]), n_threads)
    return z


def _members(grouping: Grouping, part: slice) -> tuple[Array, Array]:
    """Members of a run of groups, and where each group starts among them."""
    starts = grouping.starts[part.start : part.stop + 1]
    return grouping.order[starts[0] : starts[-1]], starts - starts[0]


def turn_frames(
    maps: Array, centres: Array, anchors: Array, around: Array, n_threads: int = 1
) -> Array:
    """Turn each frame towards its neighbours, in place; rotations and reflections, (n_nodes, d, d).

    With v the way to a neighbour in the data and u in the map: the orthogonal matrix that maximises
    the sum of u' R (maps v) / (|u| |v|^2), so near neighbours count most. O(n_nodes · K · p · d).
    """
    turns = kernels.alignments(maps, centres, anchors, around, n_threads)

    def turn(part: slice) -> None:
        turns[part] = nearest_orthogonal(turns[part])
        maps[part] = turned(turns[part], maps[part])

    map_blocks(
        turn, blocks(len(maps), maps.shape[1] * maps.shape[2], values=_VALUES_PER_TASK), n_threads
    )
    return turns


def nearest_orthogonal(matrices: Array) -> Array:
    """The orthogonal R with the largest sum of R * M, for each of a stack of square matrices M.

    Where M is rank-deficient (few neighbours, or all on a line), R stays near the identity, so
    that rounding errors do not decide.
    """
    size = np.sqrt((matrices * matrices).sum(axis=(1, 2)))
    matrices = matrices + (_IDENTITY_WEIGHT * size)[:, None, None] * np.eye(matrices.shape[1])
    if matrices.shape[1] != 2:
        return polar(matrices)[0]
    # in the plane it is the better one of a rotation and a reflection, (c, -s; s, c) or
    # (c, s; s, -c)
    (a, b), (c, d) = matrices.transpose(1, 2, 0)
    rotates = length(a + d, c - b) >= length(a - d, b + c)
    sign = np.where(rotates, 1.0, -1.0)
    x = a + sign * d
    y = c - sign * b
    long = length(x, y)
    none = long == 0
    x = np.where(none, 1.0, x / np.where(none, 1.0, long))
    y = y / np.where(none, 1.0, long)
    return np.asarray(np.stack([x, -sign * y, y, sign * x], axis=1).reshape(-1, 2, 2))
