"""New rows in dask arrays and frames, placed by chunk when computed; by any scheduler."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from sklearn.utils.validation import _check_feature_names

from ..core.arrays import Array
from ..core.threads import resolve_n_jobs
from ..method.placement import FittedTree
from ..model.fitted import FittedMap
from ..model.placing import leaves_of_new, place_new
from .inputs import check_columns, check_shape, import_distributed, is_frame

_LARGE = 8_000_000  # bytes: what a graph should not carry
# attributes of a model that checking rows does not need
_NOT_NEEDED = (
    "embedding_",
    "hierarchy_",
    "labels_",
    "layout_",
    "callback",
    "_chunks",
    "_fitted",
    "_sklearn_output_config",
)


def transform_chunks(model: Any, fitted: FittedMap, X: Any, return_distance: bool) -> Any:
    """`HNNE.transform` of a dask array or frame: positions, or with distances, as dask arrays."""
    d = fitted.layout.positions.shape[1]
    found = _map_rows(_place, model, X, (_sent(fitted, fitted),), d + 1, np.float64)
    return (found[:, :d], found[:, d]) if return_distance else found[:, :d]


def predict_chunks(
    model: Any, fitted: FittedMap, X: Any, level: int | None, n_clusters: int | None
) -> Any:
    """`HNNE.predict` of a dask array or frame."""
    label_of = fitted.tree.hierarchy.labels_of_leaves(level, n_clusters=n_clusters)
    others = (_sent(fitted, fitted.tree), _to_workers(label_of, label_of.nbytes))
    return _map_rows(_label, model, X, others, 1, np.int64)[:, 0]


def _place(rows: Any, model: Any, fitted: FittedMap, block_info: Any = None) -> Array:
    n_threads = resolve_n_jobs(model.n_jobs)
    positions, distances = place_new(model, fitted, rows, n_threads, _first_row(block_info))
    return np.column_stack([positions, distances])


def _label(
    rows: Any, model: Any, tree: FittedTree, label_of: Array, block_info: Any = None
) -> Array:
    n_threads = resolve_n_jobs(model.n_jobs)
    leaves, _ = leaves_of_new(model, tree, rows, n_threads, _first_row(block_info))
    return np.asarray(label_of[leaves][:, None])


def _first_row(block_info: Any) -> int:
    """The number of a chunk's first row, where dask knows it."""
    start = block_info[0]["array-location"][0][0] if block_info else 0
    return 0 if np.isnan(start) else int(start)


def _map_rows(
    function: Any, model: Any, X: Any, others: tuple[Any, ...], width: int, dtype: Any
) -> Any:
    """function(rows, model, *others) of each chunk, an array of so many columns."""
    import_distributed()
    import dask.array as da
    from dask import delayed

    if is_frame(X):
        if getattr(model, "encoder_", None) is None:  # which checks the columns of each chunk
            check_columns(X)
            _check_feature_names(model, X._meta, reset=False)
            _check_width(model, len(X.columns))
        sent = _for_workers(model, names=True)
        parts = [delayed(function)(part, sent, *others) for part in X.to_delayed()]
        return da.concatenate([da.from_delayed(part, (np.nan, width), dtype) for part in parts])
    check_shape(X)
    _check_width(model, X.shape[1])
    X = X.rechunk({1: -1}) if len(X.chunks[1]) > 1 else X
    return X.map_blocks(
        function,
        _for_workers(model, names=False),
        *others,
        dtype=dtype,
        chunks=(X.chunks[0], (width,)),
        meta=np.empty((0, 0), dtype),
        name=None,
        token=f"nestmap-{function.__name__.strip('_')}",
    )


def _check_width(model: Any, n_columns: int) -> None:
    if n_columns != model.n_features_in_:
        raise ValueError(
            f"X has {n_columns} features, but {type(model).__name__} is expecting "
            f"{model.n_features_in_} features as input"
        )


def _for_workers(model: Any, names: bool) -> Any:
    """The model without what placing rows does not need; one thread: dask runs several chunks."""
    sent: Any = object.__new__(type(model))
    left_out = _NOT_NEEDED if names else (*_NOT_NEEDED, "feature_names_in_")
    sent.__dict__ = {name: value for name, value in vars(model).items() if name not in left_out}
    sent.callback = None
    sent.n_jobs = model.n_jobs or 1
    return _to_workers(sent, 0)


def _sent(fitted: FittedMap, what: Any) -> Any:
    """A fitted map, or its tree, on the workers."""
    hierarchy = fitted.tree.hierarchy
    centroids = hierarchy.levels[0].centroids
    n_features = 1 if len(centroids.shape) < 2 else centroids.shape[1]
    return _to_workers(what, 48 * hierarchy.n_rows + 4 * hierarchy.level_sizes[0] * n_features)


def _to_workers(value: Any, n_bytes: int) -> Any:
    """A value that all chunks need, once: large ones go to a client's workers, not to the graph."""
    from dask import delayed

    if n_bytes > _LARGE and "distributed" in sys.modules:
        import distributed

        try:
            return distributed.default_client().scatter(value, hash=False)
        except ValueError:  # no client
            pass
    return delayed(value, pure=False, traverse=False)
