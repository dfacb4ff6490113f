"""HNNE: the parameters, and the wiring of the stages."""

from __future__ import annotations

from os import PathLike
from typing import Any, Self

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from ..core.habits import refuse_habits
from ..core.input.memory import memory_budget
from ..core.input.source import RowSource, open_rows
from ..core.input.training import read_training
from ..core.progress import Progress
from ..core.threads import resolve_n_jobs
from ..distributed.inputs import is_dask
from ..errors import ModelFileError
from ..method.placement import warn_of_far_rows
from ..method.rows import RowsHere
from ..method.run import Run
from ..model.files.model import SavedModel, read_model
from ..model.fit import fit, lay_again
from ..model.fitted import FittedMap
from ..model.growth.like import OldModel
from ..model.placing import leaves_of_new, place_new
from ..model.plan import Plan
from ..model.planning import plan_fit
from ..tables.encoded import describe_columns, n_numbers
from .dominance import warn_of_dominant_columns
from .encoding import settings_of_rows, takes_tables
from .living import LivingMap


class HNNE(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, LivingMap):
    """Hierarchical nearest-neighbour graph embedding (h-NNE).

    A map of the rows of X in a few dimensions, and a hierarchy of clusters that is the skeleton of
    the map. The same data give the same map.

    Parameters
    ----------
    n_components : int
        Dimensions of the map. Components beyond the rank of the data are zero.
    metric : str or callable
        'euclidean', 'cosine', 'manhattan', 'correlation', 'mahalanobis', 'seuclidean' and
        'hellinger' are fast; other metrics of scikit-learn and callables run by brute force.
        'gower': X is a table, whose columns count in units of their range (docs/use/distances.md).
        'precomputed': X is a square matrix of distances, clusters are represented by medoids, and
        new rows are rows of distances to the training rows.
    metric_params : dict or None
        Parameters of the metric: 'p' of 'minkowski', 'VI' of 'mahalanobis', 'V' of 'seuclidean', ….
    hierarchy : {'graph', 'first_neighbors'}
        What the levels above the leaves are: communities of the rows' own neighbour graph, on
        several scales, or components of first neighbours of centroids (the paper's).
        docs/evidence/clusters.md compares them.
    layout : {'auto', 'islands', 'descent', 'mosaic'}, Islands, Descent or Mosaic
        How much room clusters get: islands by t-SNE's forces, coarse to fine along the hierarchy
        (2-D only); balls around their centres (the paper's, the strongest promise); or regions that
        fill the picture, area by number of rows (2-D only). 'auto': islands in 2-D, else descent.
        A name is short for the settings of that layout with their defaults: `Descent(radius=0.2)`
        and `Islands(tightness=2)` are others. docs/explain/layouts.md compares the
        layouts. The paper's own map is hierarchy='first_neighbors',
        layout=Descent(arrangement='global').
    encoder : None, 'table' or TableEncoder
        None: X holds numbers, which are compared as they are. 'table', or a
        `nestmap.tables.TableEncoder` with settings of yours: X is a table of any columns (numbers,
        categories, dates, gaps), here and wherever the model takes rows (docs/use/tables.md).
    neighbors : 'auto', 'exact', 'approximate' or array of int
        First neighbours of the rows: 'auto' finds the exact ones as long as that is a matter of
        seconds (docs/explain/search.md has the rule) and says in `neighbor_report_` what it did; or
        bring your own: the index of each row's nearest other row, an (n, k) array with the nearest
        first, a pair (indices, distances), or a sparse matrix of distances (docs/use/distances.md).
    target_recall : float
        For the approximate search: the share of rows whose neighbour is to be the true one.
    new_points : {'centroid', 'neighbor'}
        Which cluster a new row joins: that of the nearest level-0 centroid (the paper's rule), or
        that of the nearest training row (keeps the training data).
    max_memory : int, str or None
        Bytes that a fit may use beyond X, such as '4GB'. None: 60% of what the machine or the
        container has to give. See `plan`.
    work_dir : path or None
        A directory for a long fit: finished levels are kept there, and a fit of the same data and
        parameters goes on from the last one. Also the place of temporary files.
    callback : callable or None
        Called with a `ProgressEvent` (stage, share, seconds, seconds_left) up to ten times a
        second.
    n_jobs : int or None
        Threads; None means all cores. The result does not depend on it.
    verbose : int
        1 tells the stages and their progress on stderr.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_rows, n_components), float64
    hierarchy_ : Hierarchy
        Cluster labels on every level, members, paths, linkage.
    labels_ : ndarray of shape (n_rows,)
        Clusters of the level `label_level_`, which a rule picks (`Hierarchy.default_level`,
        docs/use/levels.md): `hierarchy_.summary()` shows the others.
    label_level_ : int
    layout_ : IslandsLayout, DescentLayout or MosaicLayout
        Leaves, anchors and balls, or regions; `layout_.outlines(level)` gives polygons to draw.
    neighbor_report_ : NeighborReport
        How the first neighbours of the rows were found.
    far_distance_ : float
        New rows farther than this from all that was seen deserve doubt: 99.9% of the training rows
        have a nearer neighbour (see `transform`).
    encoder_ : TableEncoder, GowerEncoder or None
        The fitted encoder; a TableEncoder has a decision per column (`encoder_.decisions_`).
    n_features_in_, feature_names_in_
        Columns of X; with an encoder those of the table.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from nestmap import HNNE
    >>> X = load_digits().data
    >>> model = HNNE().fit(X)
    >>> model.embedding_.shape
    (1797, 2)
    >>> model.hierarchy_
    Hierarchy(1797 rows -> 401 -> 155 -> 50 -> 12 nodes, metric='euclidean')
    >>> model.transform(X[:1]).shape, model.predict(X[:1], level=-1).shape
    ((1, 2), (1,))
    """

    def fit(
        self, X: Any, y: Any = None, *, like: Any = None, ids: Any = None, client: Any = None
    ) -> Self:
        """Build the hierarchy of X and its map; y is ignored (classes: see `plot` and `metrics`).

        A fit that fails or is interrupted changes nothing.

        Parameters
        ----------
        X : array-like, CSR matrix, path of a .npy file, or what has shape, dtype and row slicing
            With an encoder a table: a frame, a dict of columns, …. Without: arrays and memmaps of
            uint8, int8, float16, float32 and float64 are read as they are, block by block; h5py
            datasets, zarr arrays and other types are converted, on disk if they are large (see
            work_dir). Dask arrays and frames are fitted on the workers of the active `distributed`
            client (docs/use/dask.md); `embedding_` and `labels_` are then dask arrays.
        like : HNNE or path, optional
            A fitted model, or the file of one, that shares rows with X: the new map lies on its
            map, and clusters that are the same keep their numbers (docs/use/living.md).
        ids : pair of sequences, optional
            With `like`: names of its rows and names of the rows of X, each name once on its side.
            None: rows are matched by their values.
        client : distributed.Client, optional
            Of dask arrays and frames: the client whose workers fit them; None: the active one.
        """
        _check_like(like)
        _check_fit_arguments(X, like, ids, client)
        if is_dask(X):
            # here and below: not needed by those who have no dask
            from ..distributed.fit import fit_chunks

            run = self._run()
            self._encoded(X)  # which refuses them
            old = _old_model(_load_old(like), None)
            found = fit_chunks(X, self._asked(), run, client, old)
            self._assign(found.fitted, found.features, chunks=found.chunks)
            run.progress.note("done")
            return self
        budget = memory_budget(self.max_memory)
        run = self._run()
        old = _load_old(like)
        asked = self._asked()  # what is wrong with parameters shows before a table is encoded
        encoded = self._encoded(X, old and old.encoder_)
        settings = settings_of_rows(asked, encoded)
        source = open_rows(X if encoded is None else encoded.rows)
        plan = None
        if isinstance(source, RowSource):
            plan = self.plan(source)  # what is wrong shows before the copy
            run.progress.begin(f"copying {source.shape[0]} rows")
        X, features = read_training(
            self, source, budget.size, settings.folder(), run.progress.share, run.n_threads
        )
        if encoded is None:
            warn_of_dominant_columns(X, settings, features)
        fitted = fit(RowsHere(X, run), settings, run, plan=plan, like=_old_model(old, ids))
        self._assign(fitted, features if encoded is None else describe_columns(encoded.encoder))
        run.progress.note("done")
        return self

    def _run(self) -> Run:
        """Threads, and where progress is told."""
        return Run(resolve_n_jobs(self.n_jobs), Progress(self.verbose, self.callback))

    def plan(self, X: Any) -> Plan:
        """What a fit of X would need: memory, temporary files, time, and how neighbours are found.

        Reads at most 20,000 rows. Raises `MemoryBudgetError` if max_memory is too small.

        Examples
        --------
        >>> import numpy as np
        >>> plan = HNNE(max_memory="4GB").plan(np.zeros((10_000, 50), dtype=np.float32))
        >>> plan.method, plan.memory < plan.budget
        ('exact', True)
        >>> 0.1 < plan.seconds < 1000
        True
        """
        if is_dask(X):
            from ..distributed.fit import plan_chunks

            return plan_chunks(X, self._asked(), resolve_n_jobs(self.n_jobs))
        encoded = self._encoded(X)
        X = open_rows(X if encoded is None else encoded.rows)
        n_rows = None
        if isinstance(X, RowSource):
            X, n_rows = X.sample(20_000), len(X)
        X = check_array(
            X, accept_sparse="csr", dtype="numeric", ensure_all_finite=False, copy=False
        )
        settings = settings_of_rows(self._asked(), encoded)
        settings.check(n_rows or X.shape[0])
        n_threads = resolve_n_jobs(self.n_jobs)
        return plan_fit(X, settings.metric_of(X), settings, n_threads, n_rows=n_rows)

    def fit_transform(
        self, X: Any, y: Any = None, *, like: Any = None, ids: Any = None, client: Any = None
    ) -> Any:
        """`fit(X).embedding_`, as an array of your own (of a dask array, a dask array)."""
        found = self.fit(X, y, like=like, ids=ids, client=client).embedding_
        return found if is_dask(X) else np.array(found)

    def transform(self, X: Any, return_distance: bool = False) -> Any:
        """Positions of new rows, each by itself: the batch makes no difference.

        Rows of the training data come back exactly where the fit put them.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            Of a dask array or frame the positions are a dask array, computed chunk by chunk when
            asked for.
        return_distance : bool
            Also give the distance of each row to the centroid (or training row) that it was
            assigned by: rows beyond `far_distance_` are far from everything seen. 0 for rows of
            the training data. Without it a `FarRowsWarning` says so if many rows are far.

        Returns
        -------
        positions, or (positions, distances)
        """
        check_is_fitted(self)
        if is_dask(X):
            from ..distributed.lazy import transform_chunks

            return transform_chunks(self, self._fitted, X, return_distance)
        positions, distances = place_new(self, self._fitted, X, resolve_n_jobs(self.n_jobs))
        if return_distance:
            return positions, distances
        # one for scikit-learn's set_output
        warn_of_far_rows(distances, self.far_distance_, stacklevel=4)
        return positions

    def predict(self, X: Any, level: int | None = None, *, n_clusters: int | None = None) -> Any:
        """Cluster of each row on a level of the hierarchy (default: the level of `labels_`).

        Parameters
        ----------
        X : array-like of shape (n, n_features), or a dask array or frame
            The labels of dask rows are a dask array.
        level : int, optional
        n_clusters : int, optional
            Instead of a level: as in `Hierarchy.labels`, up to the number of leaves.

        Examples
        --------
        >>> from sklearn.datasets import load_digits
        >>> X = load_digits().data
        >>> model = HNNE().fit(X)
        >>> (model.predict(X, n_clusters=10) == model.hierarchy_.labels(n_clusters=10)).all()
        np.True_
        """
        check_is_fitted(self)
        if is_dask(X):
            from ..distributed.lazy import predict_chunks

            return predict_chunks(self, self._fitted, X, level, n_clusters)
        label_of = self.hierarchy_.labels_of_leaves(level, n_clusters=n_clusters)
        n_threads = resolve_n_jobs(self.n_jobs)
        leaves, distances = leaves_of_new(self, self._fitted.tree, X, n_threads)
        warn_of_far_rows(distances, self.far_distance_)
        return np.asarray(label_of[leaves])

    @refuse_habits
    def relayout(
        self,
        X: Any = None,
        *,
        layout: Any = None,
        n_components: int | None = None,
        callback: Any = None,
        verbose: int | None = None,
    ) -> HNNE:
        """Another fitted model on the same hierarchy, at a fraction of a fit's cost.

        Parameters
        ----------
        X : the training rows
            Needed only by a model that was loaded from a file.
        layout, n_components, callback, verbose
            As of the class; None: as they are.

        Examples
        --------
        >>> from sklearn.datasets import load_digits
        >>> from nestmap import Descent
        >>> model = HNNE().fit(load_digits().data)
        >>> model.relayout(n_components=3, layout=Descent(radius=0.2)).embedding_.shape
        (1797, 3)
        """
        check_is_fitted(self)
        changed = dict(layout=layout, n_components=n_components, callback=callback, verbose=verbose)
        changed = {name: value for name, value in changed.items() if value is not None}
        other = self._unfitted(changed)
        run = other._run()
        X = self._fitted.X if X is None else self._training_rows(X, run.n_threads)
        if X is None:
            raise ValueError(
                "relayout needs the rows, which a model from a file, or one that has grown, does "
                f"not carry: relayout(X, …) with all {self.hierarchy_.n_rows} of them"
            )
        settings = other._asked()
        is_seeded = layout is not None and settings.is_seeded
        fitted = lay_again(self._fitted, X, settings, run, is_seeded=is_seeded)
        other._assign(fitted, self._features())
        return other

    @classmethod
    def _restore(cls, saved: SavedModel) -> HNNE:
        """The estimator that was saved."""
        assert isinstance(saved.fitted, FittedMap)
        hierarchy = saved.fitted.tree.hierarchy
        level = saved.extra.get("label_level")
        model = cls(**saved.parameters)
        if not isinstance(level, int) or not 0 <= level < hierarchy.n_levels:
            raise ModelFileError(
                f"label_level={level!r}: there are levels 0 to {hierarchy.n_levels - 1}"
            )
        if saved.fitted.layout.positions.shape[1] != model.n_components:
            raise ModelFileError(f"n_components={model.n_components!r} does not fit the map")
        model._assign(saved.fitted, saved.features, level)
        return model

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = []
        if takes_tables(self.encoder, self.metric):
            tags.input_tags.sparse = False
            tags.input_tags.allow_nan = True
            tags.input_tags.string = True
            tags.input_tags.categorical = True
        return tags


def _check_fit_arguments(X: Any, like: Any, ids: Any, client: Any) -> None:
    """Raise for arguments of `fit` that do not go together."""
    if is_dask(X):
        if ids is not None:
            raise ValueError("ids: rows of dask arrays are matched by their values; leave ids out")
        return
    if client is not None:
        raise ValueError(
            f"client: workers fit dask arrays, and X is of type {type(X).__name__}; leave "
            "client out"
        )
    if like is None and ids is not None:
        raise ValueError("ids: names of rows are for fit(X, like=old, ids=(old names, new names))")


def _check_like(like: Any) -> None:
    """Raise for what is neither a fitted model nor the path of a file."""
    if isinstance(like, HNNE) and hasattr(like, "hierarchy_"):
        return
    if not (like is None or isinstance(like, str | PathLike)):
        raise ValueError(
            f"like={str(like)[:60]}: must be a fitted HNNE, the path of a model file, or None"
        )


def _load_old(like: Any) -> HNNE | None:
    """An older model, or that of a file."""
    if like is None or isinstance(like, HNNE):
        return like
    return HNNE._restore(read_model(like, resolve_n_jobs(None)))


def _old_model(old: HNNE | None, ids: Any) -> OldModel | None:
    """What a fit needs of an older model."""
    if old is None:
        return None
    n_columns = old.n_features_in_ if old.encoder_ is None else n_numbers(old.encoder_)
    return OldModel(old._fitted, int(old.label_level_), int(n_columns), ids)
