"""The model behind a map of cells: kept in the AnnData object as numbers, and taken out again."""

from __future__ import annotations

from copy import deepcopy
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from ...core.arrays import Array
from ...estimators.hnne import HNNE
from ...estimators.load import load
from .cells import check_cells, check_mapped

_ENTRY = "model"  # of uns[key]
_FILE = "cells.nestmap"


def model(adata: Any, key: str = "hnne") -> HNNE:
    """The fitted model that `nestmap.sc.tl.hnne` has left, for all that a `nestmap.HNNE` can do.

    It is kept as the bytes of a model file, in `uns[key]["model"]`, and nothing of it is executed:
    so it is in .h5ad and .zarr files, too. It has all cells that were mapped, also where adata is a
    part of them.

    Parameters
    ----------
    adata : AnnData
    key : str
        The `key_added` of the tool.

    Returns
    -------
    HNNE

    Examples
    --------
    >>> import anndata, nestmap
    >>> from sklearn.datasets import load_digits
    >>> adata = anndata.AnnData(load_digits().data)
    >>> nestmap.sc.tl.hnne(adata)
    >>> model = nestmap.sc.model(adata)
    >>> bool((model.transform(adata.X) == adata.obsm["X_hnne"]).all())
    True
    """
    check_cells(adata)
    check_mapped(adata, key)
    kept = adata.uns[key].get(_ENTRY)
    if kept is None:
        raise ValueError(
            f"uns[{key!r}] holds no model: run nestmap.sc.tl.hnne(adata, key_added={key!r}) again, "
            "with keep_model=True; for a metric that is a function, fit nestmap.HNNE yourself; new "
            "cells that tl.transform placed belong to the model of their reference"
        )
    with TemporaryDirectory(prefix="nestmap-") as folder:
        path = Path(folder) / _FILE
        np.asarray(kept, dtype=np.uint8).tofile(path)
        found = load(path)
    if not isinstance(found, HNNE):
        raise ValueError(f"uns[{key!r}]['model'] is a {type(found).__name__}, not an HNNE")
    return found


def own_model(adata: Any, key: str) -> HNNE:
    """The model, if adata has its cells, all of them, in the same order."""
    found = model(adata, key)
    here = np.asarray(adata.obsm[f"X_{key}"])
    if here.shape == found.embedding_.shape and np.array_equal(here, found.embedding_):
        return found
    raise ValueError(
        f"adata has {adata.n_obs} cells, which are not the {len(found.embedding_)} that were "
        "mapped, in their order: pass the object that tl.hnne has seen, or map this one"
    )


def kept_model(fitted: HNNE) -> dict[str, Array]:
    """The entry of uns that holds a model; empty for a metric that is a function."""
    if fitted.hierarchy_.metric.is_function:
        return {}
    with TemporaryDirectory(prefix="nestmap-") as folder:
        path = Path(folder) / _FILE
        fitted.save(path)
        return {_ENTRY: np.fromfile(path, dtype=np.uint8)}


def without_model(entry: Any) -> dict[str, Any]:
    """What uns says of a map beside its model."""
    return {name: deepcopy(value) for name, value in entry.items() if name != _ENTRY}
