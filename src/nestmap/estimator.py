"""HNNE: the parameters, and the wiring of the stages."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.utils import check_array, check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from ._memory import budget as memory_budget
from ._native.twins import Array, blocks
from ._parallel import resolve_n_jobs
from ._progress import Progress
from ._resume import Steps, identity
from ._scratch import row_blocks, scratch_array
from ._source import RowSource, load_rows, load_source, open_rows
from ._validate import cast_rows, check_number, check_option, work_dtype
from ._work import WorkDir
from .arrangement import ARRANGEMENTS, MOST_LOCAL, Arrangement, Coordinates, GlobalArrangement, make_local
from .hierarchy import Hierarchy, Table, build_hierarchy
from .layout import LAYOUTS, Audit, Layout, Mosaic, audit_layout, descend, lay_mosaic
from .neighbors import check_metric, given_neighbors
from .neighbors.blocked import BlockedIndex
from .neighbors.choice import METHODS, SURE, Search, most_columns
from .neighbors.duplicates import hash_points
from .neighbors.join import Index, build_index
from .neighbors.points import NATIVE_METRICS, make_points
from .neighbors.reduce import fit_reducer
from .placement import RULES, RowTable, assign_rows, place_rows
from .plan import Plan, plan_fit
from .preliminary import KINDS, Preliminary, check_coordinates, make_preliminary

_BLOCK = 8_000_000  # values of new rows that are placed at a time


class HNNE(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, BaseEstimator):  # type: ignore[misc]  # untyped bases
    """Hierarchical nearest-neighbour graph embedding (h-NNE).

    A map of the rows of X in a few dimensions, and a hierarchy of clusters that is the skeleton of
    the map. No gradient descent; the same data give the same map.

    Parameters
    ----------
    n_components : int
        Dimensions of the map. Components beyond the rank of the data are zero.
    metric : str or callable
        'euclidean', 'cosine', 'manhattan' and 'correlation' are fast; other metrics of
        scikit-learn and callables run by brute force.
    layout : {'descent', 'mosaic'}
        How much room clusters get: balls around their centres (the paper's, the most faithful), or
        regions that fill the picture, area by number of rows (2-D only). docs/layouts.md compares them.
    radius : float
        For layout='descent'. A cluster's members move into a ball with this fraction of the distance to the nearest
        other cluster. At most 0.2 guarantees that nothing crosses over (Lemma 1; see `audit`).
    arrangement : {'auto', 'local', 'global'}
        How the members of a cluster lie relative to each other: by the cluster's own principal
        components, turned towards its neighbours, or by the preliminary embedding (the paper's map).
        'auto' is the more faithful one: local up to 8 components, global beyond (docs/arrangement.md).
    preliminary : {'pca_centroids', 'pca', 'random_projection', 'random'} or array
        Where points lie relative to each other before the descent: PCA fitted on about a thousand
        centroids (the paper's), on all rows, a random projection, random coordinates, or given
        coordinates of shape (n_rows, n_components). With a local arrangement it only places the
        clusters of the top level.
    inflate : bool or 'auto'
        Stretch squeezed clusters, as the authors' code does (arrangement='global' in 2-D and 3-D only). It
        fills more of the picture and is a little less faithful; 'auto': no (docs/arrangement.md).
    neighbors : 'auto', 'exact', 'approximate' or array of int
        First neighbours of the rows: 'auto' finds the exact ones as long as that is a matter of
        seconds (docs/scale.md has the rule) and says in `neighbor_report_` what it did; or bring your
        own, an array with the index of each row's nearest other row.
    target_recall : float
        For the approximate search: the share of rows whose neighbour is to be the true one.
    max_memory : int, str or None
        Bytes that a fit may use beyond X, such as '4GB'. None: 60% of what the machine or the
        container has to give. See `plan`.
    work_dir : path or None
        A directory for a long fit: finished levels are kept there, and a fit of the same data and
        parameters goes on from the last one. Also the place of temporary files.
    callback : callable or None
        Called with a `ProgressEvent` (stage, share, seconds, seconds_left) up to ten times a second.
    random_state : int, RandomState or None
        Used by the random preliminary embeddings only.
    n_jobs : int or None
        Threads; None means all cores. The result does not depend on it.
    verbose : int
        1 tells the stages and their progress on stderr.
    standardize : bool
        Scale features to unit variance before PCA (the hierarchy always uses X as it is).
    new_points : {'centroid', 'neighbor'}
        Which cluster a new row joins: that of the nearest level-0 centroid (the paper's rule), or
        that of the nearest training row (keeps the training data).

    Attributes
    ----------
    embedding_ : ndarray of shape (n_rows, n_components), float64
    hierarchy_ : Hierarchy
        Cluster labels on every level, members, paths, linkage.
    labels_ : ndarray of shape (n_rows,)
        Clusters of the level `label_level_`: the one whose clusters stand farthest apart for what
        holds them together (`Hierarchy.default_level`).
    label_level_ : int
    layout_ : Layout or Mosaic
        Anchors and balls, or regions; `layout_.outlines(level)` gives polygons to draw.
    neighbor_report_ : NeighborReport
        How the first neighbours of the rows were found.
    far_distance_ : float
        New rows farther than this from all that was seen deserve doubt: 99.9% of the training rows
        have a nearer neighbour (see `transform`).
    n_features_in_, feature_names_in_

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from nestmap import HNNE
    >>> X = load_digits().data
    >>> model = HNNE().fit(X)
    >>> model.embedding_.shape
    (1797, 2)
    >>> model.hierarchy_
    Hierarchy(1797 rows -> 397 -> 89 -> 21 -> 7 nodes, metric='euclidean')
    >>> model.transform(X[:1]).shape, model.predict(X[:1], level=-1).shape
    ((1, 2), (1,))
    """

    def __init__(
        self,
        n_components: int = 2,
        *,
        metric: Any = "euclidean",
        layout: str = "descent",
        radius: float = 1 / 3,
        arrangement: str = "auto",
        preliminary: Any = "pca_centroids",
        inflate: bool | Literal["auto"] = "auto",
        neighbors: Any = "auto",
        target_recall: float = 0.9,
        max_memory: int | str | None = None,
        work_dir: Any = None,
        callback: Any = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
        standardize: bool = False,
        new_points: str = "centroid",
    ) -> None:
        self.n_components = n_components
        self.metric = metric
        self.layout = layout
        self.radius = radius
        self.arrangement = arrangement
        self.preliminary = preliminary
        self.inflate = inflate
        self.neighbors = neighbors
        self.target_recall = target_recall
        self.max_memory = max_memory
        self.work_dir = work_dir
        self.callback = callback
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.standardize = standardize
        self.new_points = new_points

    def fit(self, X: Any, y: Any = None) -> Self:
        """Build the hierarchy of X and its map; y is ignored.

        Parameters
        ----------
        X : array-like, CSR matrix, path of a .npy file, or anything with shape, dtype and row slicing
            Arrays and memmaps of uint8, int8, float16, float32 and float64 are read as they are, block
            by block; h5py datasets, zarr arrays and other types are converted, on disk if they are
            large (see work_dir).
        """
        budget, progress = memory_budget(self.max_memory), Progress(self.verbose, self.callback)
        X = self._rows(self._open(X, budget, progress), reset=True)
        n_threads = self._check_parameters(X)
        metric = self._checked_metric(X)
        given = None if isinstance(self.neighbors, str) else given_neighbors(self.neighbors, X.shape[0])
        plan = self._plan(X, metric, budget)
        progress.note(str(plan))
        how = Search("auto" if given else self.neighbors, self.target_recall, plan.columns)
        progress.begin(f"reading {X.shape[0]} rows")
        hashes = hash_points(X, n_threads)
        with ExitStack() as stack:
            keeper = None
            if self.work_dir is not None:
                work = WorkDir.open(self.work_dir, identity(X, hashes, metric, how, given))
                keeper = Steps(stack.enter_context(work))
            hierarchy = build_hierarchy(
                X, metric, first=given, hashes=hashes, n_threads=n_threads, progress=progress, how=how,
                table=self._table_maker(plan), keeper=keeper,
            )  # fmt: skip
        progress.note(str(hierarchy))
        self._seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        self._table = RowTable.of(hashes)
        self._finish(X, hierarchy, n_threads, progress)
        self._index = self._make_index(X, metric, n_threads)
        progress.done()
        progress.note("done")
        return self

    def plan(self, X: Any) -> Plan:
        """What a fit of X would need: memory, temporary files, and how neighbours would be found.

        Reads at most 20,000 rows. Raises `MemoryBudgetError` if max_memory is too small.

        Examples
        --------
        >>> import numpy as np
        >>> plan = HNNE(max_memory="4GB").plan(np.zeros((10_000, 50), dtype=np.float32))
        >>> plan.method, plan.memory < plan.budget
        ('exact', True)
        """
        X, n_rows = open_rows(X), None
        if isinstance(X, RowSource):
            X, n_rows = X.block(slice(0, 20_000)), len(X)
        X = check_array(X, accept_sparse="csr", dtype="numeric", ensure_all_finite=False, copy=False)
        self._check_parameters(X, n_rows)
        return self._plan(X, self._checked_metric(X), memory_budget(self.max_memory), n_rows)

    def _plan(self, X: Any, metric: Any, budget: int, n_rows: int | None = None) -> Plan:
        given = not isinstance(self.neighbors, str)
        how = Search("auto" if given else self.neighbors, self.target_recall)
        return plan_fit(
            X, metric, how, n_components=self.n_components, local=self._is_local(), given=given, budget=budget,
            n_rows=n_rows,
        )  # fmt: skip

    def _open(self, X: Any, budget: int, progress: Progress) -> Any:
        """X as an array: paths are mapped, sources that only give slices are copied, to disk if they are large."""
        X = open_rows(X)
        if not isinstance(X, RowSource):
            return X
        self.plan(X)  # what is wrong shows before the copy
        progress.begin(f"copying {X.shape[0]} rows")
        return load_source(X, budget, self._folder(), progress=progress.share)

    def _folder(self) -> Path | None:
        """Where temporary files go."""
        if self.work_dir is None:
            return None
        folder = Path(self.work_dir).expanduser()
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def _table_maker(self, plan: Plan) -> Table:
        def table(shape: tuple[int, int], dtype: Any) -> Array:
            in_memory = not plan.centroids_on_disk or shape[0] <= SURE // 4
            return scratch_array(shape, dtype, in_memory=in_memory, folder=self._folder())

        return table

    def _checked_metric(self, X: Any) -> Any:
        metric = check_metric(self.metric, X)
        if metric == "precomputed":
            raise ValueError(
                "metric='precomputed': centroids need the rows themselves; pass X with the nearest "
                "neighbours that you have as neighbors=ids"
            )
        return metric

    def _finish(self, X: Any, hierarchy: Hierarchy, n_threads: int, progress: Progress) -> None:
        """Preliminary embedding and layout on a hierarchy: what `fit` and `relayout` share."""
        progress.begin("preliminary embedding")
        preliminary = make_preliminary(
            X, hierarchy, self.n_components, self._kind(X.shape[0]),
            standardize=self.standardize, seed=self._seed, n_threads=n_threads,
        )  # fmt: skip
        progress.begin("arrangement")
        arrangement = self._arrange(X, hierarchy, preliminary, n_threads)
        self.layout_ = self._lay_out(hierarchy, arrangement, preliminary, n_threads, progress)
        self._coordinates: Coordinates = arrangement.transform
        self.hierarchy_ = hierarchy
        self.embedding_ = self.layout_.positions
        self.label_level_ = hierarchy.default_level()
        self.labels_ = hierarchy.labels(self.label_level_)
        self.neighbor_report_ = hierarchy.reports[0]
        self.far_distance_ = hierarchy.far_distance
        self._X = X
        self._n_features_out = self.n_components

    def _is_local(self) -> bool:
        if self.arrangement == "auto":
            return self.n_components <= MOST_LOCAL
        return self.arrangement == "local"

    def _arrange(self, X: Any, hierarchy: Hierarchy, preliminary: Preliminary, n_threads: int) -> Arrangement:
        if self._is_local():
            return make_local(X, hierarchy, self.n_components, self._table.rows, n_threads)
        return GlobalArrangement(preliminary, inflate=self.inflate not in (False, "auto"))

    def _lay_out(
        self,
        hierarchy: Hierarchy,
        arrangement: Arrangement,
        preliminary: Preliminary,
        n_threads: int,
        progress: Progress,
    ) -> Layout | Mosaic:
        tops = preliminary.nodes[-1]
        if self.layout == "mosaic":
            spread = preliminary.rows.std(axis=0)
            return lay_mosaic(hierarchy, arrangement, tops, spread, n_threads=n_threads, progress=progress)
        return descend(
            hierarchy, arrangement, tops, radius=self.radius, n_threads=n_threads, progress=progress
        )  # fmt: skip

    def fit_transform(self, X: Any, y: Any = None) -> Array:
        """`fit(X).embedding_`."""
        return self.fit(X, y).embedding_

    def transform(self, X: Any, return_distance: bool = False) -> Any:
        """Positions of new rows, each by itself: the batch makes no difference.

        Rows of the training data come back exactly where the fit put them. (With given preliminary
        coordinates, equal rows that were given different ones come back as the first of them.)

        Parameters
        ----------
        X : array-like of shape (n, n_features)
        return_distance : bool
            Also give the distance of each row to the centroid (or training row) that it was
            assigned by: rows beyond `far_distance_` are far from everything seen. 0 for rows of
            the training data.

        Returns
        -------
        positions, or (positions, distances)
        """
        check_is_fitted(self)
        n_threads = resolve_n_jobs(self.n_jobs)
        placed = [
            place_rows(
                rows, self.hierarchy_, self._coordinates, self.layout_, self._new_index(), self._table,
                self.new_points, n_threads,
            )
            for rows in self._new_rows(X)
        ]  # fmt: skip
        positions = np.concatenate([part.positions for part in placed])
        return (positions, np.concatenate([part.distances for part in placed])) if return_distance else positions

    def predict(self, X: Any, level: int | None = None) -> Array:
        """Cluster of each row on a level of the hierarchy (default: the level of `labels_`)."""
        check_is_fitted(self)
        number = self.hierarchy_.check_level(self.label_level_ if level is None else level)
        n_threads = resolve_n_jobs(self.n_jobs)
        labels = np.concatenate([
            assign_rows(rows, self.hierarchy_, self._new_index(), self._table, self.new_points, n_threads)[0]
            for rows in self._new_rows(X)
        ])  # fmt: skip
        for above in self.hierarchy_.levels[1 : number + 1]:
            labels = above.members[labels]
        return labels

    def relayout(self, X: Any = None, **parameters: Any) -> HNNE:
        """Another fitted model on the same hierarchy, at a fraction of a fit's cost.

        Parameters
        ----------
        X : the training rows
            Needed only by a model that was loaded from a pickle.
        **parameters
            New values for n_components, layout, radius, arrangement, preliminary, inflate, standardize or
            random_state.

        Examples
        --------
        >>> from sklearn.datasets import load_digits
        >>> model = HNNE().fit(load_digits().data)
        >>> model.relayout(n_components=3, radius=0.2).embedding_.shape
        (1797, 3)
        """
        check_is_fitted(self)
        allowed = (
            *("n_components", "layout", "radius", "arrangement", "preliminary", "inflate", "standardize"),
            *("random_state", "verbose"),
        )
        wrong = [name for name in parameters if name not in allowed]
        if wrong:
            raise ValueError(f"relayout cannot change {wrong[0]!r}, only {', '.join(allowed)}; fit a new model")
        X = self._X if X is None else cast_rows(load_rows(X))
        if X is None or X.shape[0] != self.hierarchy_.n_rows:
            raise ValueError(
                "relayout needs the training rows, which a pickled model does not carry: "
                f"relayout(X, …) with the {self.hierarchy_.n_rows} rows of the fit"
            )
        other = type(self)(**{**self.get_params(), **parameters})
        n_threads = other._check_parameters(X)
        for name in ("n_features_in_", "feature_names_in_", "_dtype", "_table", "_index", "_seed"):
            if hasattr(self, name):
                setattr(other, name, getattr(self, name))
        if "random_state" in parameters:
            other._seed = int(check_random_state(other.random_state).randint(2**31 - 1))
        other._finish(X, self.hierarchy_, n_threads, Progress(other.verbose))
        return other

    def audit(self) -> Audit:
        """Check the map's promise: every descendant inside its ball (Lemma 1) or region, at every level."""
        check_is_fitted(self)
        return audit_layout(self.hierarchy_, self.layout_, resolve_n_jobs(self.n_jobs))

    def _rows(self, X: Any, reset: bool) -> Any:
        X = validate_data(
            self, X, reset=reset, accept_sparse="csr", dtype="numeric", ensure_all_finite=False, copy=False
        )
        if reset:
            X = cast_rows(X)
            self._dtype = work_dtype(X.dtype)
            return X
        return cast_rows(X, dtype=self._dtype)

    def _new_rows(self, X: Any) -> Iterator[Any]:
        """New rows, checked, in blocks: each row is placed by itself, so the blocks make no difference."""
        X = open_rows(X)
        if isinstance(X, RowSource):
            for part in row_blocks(X):
                yield self._rows(X.block(part), reset=False)
        elif isinstance(X, np.ndarray) and X.ndim == 2 and X.size > _BLOCK:
            for part in blocks(len(X), X.shape[1], values=_BLOCK):
                yield self._rows(X[part], reset=False)
        else:
            yield self._rows(X, reset=False)

    def _new_index(self) -> Index | BlockedIndex:
        """What finds the cluster of a new row."""
        return self.hierarchy_.leaf_index if self._index is None else self._index

    def _check_parameters(self, X: Any, n_rows: int | None = None) -> int:
        check_number("n_components", self.n_components, 1, np.inf, integer=True)
        check_number("radius", self.radius, 1e-6, 0.5)
        if not isinstance(self.preliminary, np.ndarray | list):
            check_option("preliminary", self.preliminary, KINDS)
        if isinstance(self.neighbors, str):
            check_option("neighbors", self.neighbors, METHODS)
        Search(target_recall=self.target_recall)
        check_option("new_points", self.new_points, RULES)
        check_option("arrangement", self.arrangement, ARRANGEMENTS)
        check_option("layout", self.layout, LAYOUTS)
        if self.layout == "mosaic" and self.n_components != 2:
            raise ValueError(
                f"layout='mosaic' divides the plane: it needs n_components=2, not {self.n_components}; "
                "use layout='descent' for other dimensions"
            )
        if self.inflate is True and self._is_local():
            raise ValueError("inflate=True is for arrangement='global'; local frames need none: use inflate='auto'")
        if self.inflate is True and self.n_components not in (2, 3):
            raise ValueError(
                f"inflate=True works in 2 or 3 dimensions, not n_components={self.n_components}; use 'auto'"
            )
        if self.inflate not in (True, False, "auto"):
            raise ValueError(f"inflate={self.inflate!r}: use True, False or 'auto'")
        self._kind(n_rows or X.shape[0])
        return resolve_n_jobs(self.n_jobs)

    def _kind(self, n_rows: int) -> Any:
        if isinstance(self.preliminary, str):
            return self.preliminary
        return check_coordinates(self.preliminary, n_rows, self.n_components)

    def _make_index(self, X: Any, metric: Any, n_threads: int) -> Index | BlockedIndex | None:
        if self.new_points == "centroid":
            return None
        if metric in NATIVE_METRICS:
            points = make_points(X, metric)
            return build_index(points, n_threads, fit_reducer(points, most=most_columns(points.n)))
        return BlockedIndex(X, metric)

    def __getstate__(self) -> dict[str, Any]:
        state = dict(super().__getstate__())
        if "_X" in state:
            state["_X"] = None  # the model is complete without its training rows
        state["callback"] = None  # functions of a session do not travel
        return state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = []
        return tags
