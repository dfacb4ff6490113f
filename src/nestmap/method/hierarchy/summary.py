"""Which level to look at: a table of the levels, and the rule that picks one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ...core.arrays import Array, blocks
from ...core.exact import exp
from ...core.points.point_set import make_points
from ...core.threads import single_threaded_blas
from ..neighbors import KnownItems, search
from ..neighbors.metric import Metric
from .evidence import explain, explain_labels, mean_agreement

if TYPE_CHECKING:
    from .tree import Hierarchy

_SAMPLE_LEAVES = 2000  # that stability is measured on
_MAX_MEASURED_CLUSTERS = 20_000  # of a level whose stability is measured: more would take seconds
_SURE_MEMBERSHIP = 0.5  # from which on a row counts as sure
_SMALL_LEVEL_PENALTY = 0.75  # the contrast of n clusters is multiplied by exp(-0.75 / sqrt(n))
_CLUSTERS_PER_ROOT = 5.0  # levels with more than 5 sqrt(n_rows) clusters are not picked
_HEAD = (
    "level",
    "clusters",
    "smallest",
    "median",
    "largest",
    "cohesion",
    "separation",
    "stability",
    "score",
    "sure",
    "whole",
    "split",
)


@dataclass(frozen=True)
class LevelSummary:
    """One level in numbers."""

    level: int
    n_clusters: int
    smallest: int  # rows of the smallest cluster, of the one in the middle and of the largest
    median: float
    largest: int
    cohesion: float  # mean length of the links inside clusters: small is tight
    # mean distance from a cluster's centroid to the nearest other one; nan for one cluster
    separation: float
    # share of the rows whose leaf is nearest to the centroid of its own cluster; nan beyond 20,000
    stability: float
    score: float  # what `labels_` is picked by; nan for levels that it is not picked from
    sure: float = float("nan")  # share of the rows with a membership of at least 0.5; nan: unknown
    inside: float = float("nan")  # mean membership of the rows; nan: unknown
    agreement: float = float("nan")  # how stable clusters are, by rows; nan: nobody voted
    # share of the rows in the largest piece of their cluster on a map; nan: unknown
    whole: float = float("nan")
    n_split: int = 0  # clusters that do not lie in one place of the map


@dataclass(frozen=True)
class HierarchySummary:
    """The levels of a hierarchy, fine to coarse.

    `default` is the level of `labels_`, with a star in the table.

    `measured_on` tells what `whole` was measured on: 'rows', 'leaves', or '' where it was not.
    """

    n_rows: int
    default: int
    levels: tuple[LevelSummary, ...]
    measured_on: str = ""

    def __iter__(self) -> Iterator[LevelSummary]:
        return iter(self.levels)

    def __len__(self) -> int:
        return len(self.levels)

    def __getitem__(self, level: int) -> LevelSummary:
        return self.levels[level]

    def __repr__(self) -> str:
        table = [_HEAD, *(_cells(level, level.level == self.default) for level in self.levels)]
        left_out = self._unknown()
        rows = [
            [cell for name, cell in zip(_HEAD, row, strict=True) if name not in left_out]
            for row in table
        ]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        return "\n".join(
            "  ".join(f"{c:>{w}}" for c, w in zip(r, widths, strict=True)) for r in rows
        )

    @property
    def is_graph(self) -> bool:
        """Whether levels are communities, of which no score is known."""
        return all(np.isnan(level.score) for level in self.levels)

    def explain(self) -> str:
        """How many clusters there are, in sentences: evidence per level, and why `labels_` is one.

        Examples
        --------
        >>> from sklearn.datasets import load_wine
        >>> from sklearn.preprocessing import scale
        >>> from nestmap import Communities
        >>> tree = Communities().fit(scale(load_wine().data)).hierarchy_
        >>> for line in tree.summary().explain().splitlines()[1:3]:
        ...     print(line.strip())
        level 0: 40 clusters of 2 to 17 rows; 33% of the links stay inside
        level 1: 10 clusters of 6 to 26 rows; 67% of the links stay inside
        """
        return explain(self)

    def to_frame(self) -> Any:
        """The table as a pandas DataFrame."""
        try:
            from pandas import DataFrame
        except ImportError as error:
            raise ImportError("to_frame gives a pandas DataFrame: pip install pandas") from error
        table = DataFrame([asdict(level) for level in self.levels]).set_index("level")
        return table.drop(
            columns=["n_split" if name == "split" else name for name in self._unknown()]
        )

    def _unknown(self) -> tuple[str, ...]:
        """Columns without values.

        `score` of communities, `sure` of first neighbours, the last two off a map.
        """
        empty = [
            name
            for name in ("score", "sure", "inside", "agreement")
            if all(np.isnan(getattr(level, name)) for level in self.levels)
        ]
        return (*empty, *(() if self.measured_on else ("whole", "split")))


def _cells(s: LevelSummary, is_default: bool) -> tuple[str, ...]:
    """A line of the table; the last two are about the map."""
    return (
        f"{'*' * is_default}{s.level}",
        str(s.n_clusters),
        str(s.smallest),
        f"{s.median:g}",
        str(s.largest),
        _length(s.cohesion),
        _length(s.separation),
        _share(s.stability),
        _share(s.score),
        _share(s.sure),
        _share(s.whole),
        "–" if np.isnan(s.whole) else str(s.n_split),
    )


def _length(value: float) -> str:
    return "–" if np.isnan(value) else f"{value:.4g}"


def _share(value: float) -> str:
    return "–" if np.isnan(value) else f"{value:.3f}"


def summarize_levels(hierarchy: Hierarchy, n_threads: int = 1) -> HierarchySummary:
    """The table of all levels."""
    options = _options(hierarchy)
    hierarchy = _with_gaps(hierarchy, n_threads)
    rows = [_summarize(hierarchy, k, k in options, n_threads) for k in range(hierarchy.n_levels)]
    return HierarchySummary(hierarchy.n_rows, hierarchy.default_level(), tuple(rows))


def _with_gaps(hierarchy: Hierarchy, n_threads: int) -> Hierarchy:
    """A copy with the mean centroid distances that the fit did not compute."""
    levels = list(hierarchy.levels)
    for k, level in enumerate(levels):
        if np.isnan(level.gap) and 1 < level.n_nodes <= _MAX_MEASURED_CLUSTERS:
            known = KnownItems(keys=level.keys)
            near = search(level.centroids, hierarchy.metric, n_threads, known=known).neighbors
            levels[k] = replace(level, gap=float(np.mean(near.distances)))
        if k and np.isnan(level.link):
            levels[k] = replace(levels[k], link=levels[k - 1].gap)
    return replace(hierarchy, levels=tuple(levels))


def _summarize(hierarchy: Hierarchy, k: int, is_option: bool, n_threads: int) -> LevelSummary:
    level = hierarchy.levels[k]
    stability = measure_stability(hierarchy, k, n_threads)
    return LevelSummary(
        k,
        level.n_nodes,
        int(level.sizes.min()),
        float(np.median(level.sizes)),
        int(level.sizes.max()),
        level.link,
        level.gap,
        stability,
        _score(hierarchy, k, stability) if is_option else float("nan"),
        _share_of_sure(hierarchy, k),
        inside=_mean_membership(hierarchy, k),
        agreement=mean_agreement(level),
    )


def _mean_membership(hierarchy: Hierarchy, k: int) -> float:
    """The share of links that stay inside of clusters; nan where it is not measured."""
    if hierarchy.strengths is None or k <= hierarchy.strengths.level:
        return float("nan")
    return float(hierarchy.membership(k).mean(dtype=np.float64))


def tell_labels(hierarchy: Hierarchy, n_threads: int = 1) -> str:
    """Which level `labels_` is, why, and how clear its clusters are: a few sentences."""
    k = hierarchy.default_level()
    is_graph = hierarchy.kind == "graph"
    return explain_labels(_summarize(hierarchy, k, not is_graph, n_threads), is_graph)


def _share_of_sure(hierarchy: Hierarchy, k: int) -> float:
    """The share of the rows that `labels(k, noise=0.5)` keeps; nan where it is not measured."""
    if hierarchy.strengths is None or k <= hierarchy.strengths.level:
        return float("nan")
    return float((hierarchy.membership(k) >= _SURE_MEMBERSHIP).mean())


def pick_level(hierarchy: Hierarchy, n_threads: int = 1) -> int:
    """The level with the highest score: contrast times stability, with a penalty for few clusters.

    Contrast is the mean distance between neighbouring clusters for the mean length of the links
    inside them. It is a mean of few numbers where clusters are few, and then high by chance at
    times; hence the factor exp(-0.75 / √n).
    """
    options = _options(hierarchy)
    if len(options) == 1:
        return options[0]
    scores = [_score(hierarchy, k, measure_stability(hierarchy, k, n_threads)) for k in options]
    return options[int(np.argmax(np.nan_to_num(scores)))]


def _options(hierarchy: Hierarchy) -> list[int]:
    """Levels to pick from.

    Not level 0, nor those with more than 5 √n_rows clusters, unless there is no other.

    None of a tree that was built with a level for `labels_`.
    """
    if hierarchy.kind == "graph":
        return []
    most = _CLUSTERS_PER_ROOT * np.sqrt(hierarchy.n_rows)
    found = [k for k in range(1, hierarchy.n_levels) if hierarchy.levels[k].n_nodes <= most]
    return found or [hierarchy.n_levels - 1]


def _score(hierarchy: Hierarchy, k: int, stability: float) -> float:
    level = hierarchy.levels[k]
    if not (np.isfinite(level.gap) and level.gap > 0):
        return 0.0
    contrast = level.gap / level.link if level.link > 0 else np.inf
    return float(
        (np.sqrt(contrast) if hierarchy.metric.is_squared else contrast)
        * stability
        * exp(-_SMALL_LEVEL_PENALTY / np.sqrt(level.n_nodes))
    )


def measure_stability(hierarchy: Hierarchy, k: int, n_threads: int = 1) -> float:
    """The share of the rows whose leaf is nearest to the centroid of its own cluster of level k.

    One step of k-means would leave them where they are. Measured on at most 2,000 leaves, whose
    choice does not depend on the order of the rows.
    """
    leaf = hierarchy.levels[0]
    n_nodes = hierarchy.levels[k].n_nodes
    if k == 0 or n_nodes == 1:
        return 1.0
    if n_nodes > _MAX_MEASURED_CLUSTERS:
        return float("nan")
    some = np.arange(leaf.n_nodes)
    if leaf.n_nodes > _SAMPLE_LEAVES:
        some = (
            some[:: leaf.n_nodes // _SAMPLE_LEAVES][:_SAMPLE_LEAVES]
            if leaf.keys is None
            else np.argsort(leaf.keys)[:_SAMPLE_LEAVES]
        )
    weights = leaf.sizes[some].astype(np.float64)
    with single_threaded_blas():
        nearest = _nearest_centroids(hierarchy, k, some, n_threads)
    if nearest is None:
        return float("nan")
    stays = nearest == hierarchy.climb(some, k)
    return float(weights[stays].sum() / weights.sum())


def _nearest_centroids(hierarchy: Hierarchy, k: int, leaves: Array, n_threads: int) -> Array | None:
    """The node of level k whose centroid is nearest to each leaf's; None: distances unknown."""
    centroids = hierarchy.levels[k].centroids
    leaf = hierarchy.levels[0]
    if hierarchy.metric.takes_distances:
        if not np.isin(centroids.rows, leaf.centroids.rows).all():
            return None  # that leaf was forgotten
        columns = leaf.centroids.find(centroids.rows)  # medoids of all levels are those of leaves
        return np.asarray(leaf.centroids.distances[np.ix_(leaves, columns)].argmin(axis=1))
    distances = _distances_to_centroids(
        leaf.centroids[leaves], centroids, hierarchy.metric, n_threads
    )
    found = np.zeros(len(leaves), dtype=np.int64)
    least = np.full(len(leaves), np.inf)
    for part in blocks(centroids.shape[0], len(leaves)):
        away = distances(part)
        nearest = away.argmin(axis=1)
        away = np.take_along_axis(away, nearest[:, None], axis=1)[:, 0]
        closer = away < least
        found[closer] = nearest[closer] + part.start
        least[closer] = away[closer]
    return found


def _distances_to_centroids(
    rows: Any, centroids: Any, metric: Metric, n_threads: int
) -> Callable[[slice], Array]:
    """A function for the distances of all rows to some centroids, or monotone in them."""
    if not metric.has_kernels:
        return lambda part: metric.pairwise(rows, centroids[part])
    whole = make_points(centroids, metric.name, n_threads=n_threads)
    points = make_points(rows, metric.name, whole, n_threads)

    def measure(part: slice) -> Array:
        return points.rough_distances(
            slice(None), make_points(centroids[part], metric.name, whole), points.norm
        )[0]

    return measure
