"""Tools: what they find goes into the AnnData object."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..._version import __version__
from ...core.arrays import Array
from ...estimators.hnne import HNNE
from ...method.describe import LevelDescription
from .cells import check_cells, choose_rows, find_distances, in_memory, is_of_map
from .genes import MOST, columns_of
from .models import kept_model, model, own_model, without_model


def hnne(
    adata: Any,
    *,
    use_rep: str | None = None,
    n_pcs: int | None = None,
    layer: str | None = None,
    use_neighbors: bool = False,
    neighbors_key: str | None = None,
    n_components: int = 2,
    metric: Any = "euclidean",
    like: Any = None,
    key_added: str = "hnne",
    keep_model: bool = True,
    copy: bool = False,
    **parameters: Any,
) -> Any:
    """Map the cells of an AnnData object and cluster them on every level.

    Parameters
    ----------
    adata : AnnData
        In memory or backed; X may be sparse.
    use_rep : str, optional
        A key of `obsm`, or 'X'. None: 'X_pca' if it is there, else X.
    n_pcs : int, optional
        The first columns of the representation only.
    layer : str, optional
        A layer instead of X.
    use_neighbors : bool
        Take the first neighbours from the k-NN graph that `scanpy.pp.neighbors` has left, instead
        of a search. The rows of the representation still make the map.
    neighbors_key : str, optional
        Where that graph is: `uns[neighbors_key]`, or 'neighbors'.
    n_components, metric, **parameters
        As in `nestmap.HNNE`.
    like
        As in `HNNE.fit`: an earlier model, or the file of one.
    key_added : str
        What is added begins with this key.
    keep_model : bool
        Keep the fitted model in `uns`, for `nestmap.sc.model`, `tl.describe`, `tl.transform` and
        `pl.explore`: about as large as 50 principal components of the cells, in float32. Metrics
        that are functions cannot be kept.
    copy : bool
        Return a copy instead of changing adata.

    Returns
    -------
    None, or the changed copy
        `obsm['X_hnne']`
            Coordinates.
        `obs['hnne']`
            The cluster of each cell on the level that `HNNE.labels_` picks, as a category.
        `obs['hnne_0']`, `obs['hnne_1']`, …
            Clusters of all levels, the finest first.
        `uns['hnne']`
            `params`, `n_clusters` of each level, `label_level`, `neighbors` (how they were found),
            `model` (the bytes of a model file).

    Examples
    --------
    >>> import anndata, nestmap
    >>> from sklearn.datasets import load_digits
    >>> adata = anndata.AnnData(load_digits().data)
    >>> nestmap.sc.tl.hnne(adata)
    >>> adata.obsm["X_hnne"].shape, adata.obs["hnne"].nunique()
    ((1797, 2), 12)
    >>> adata.uns["hnne"]["n_clusters"].tolist()
    [401, 155, 50, 12]
    """
    check_cells(adata)
    if "neighbors" in parameters:
        raise TypeError("hnne: neighbors= of cells are taken from adata: use_neighbors=True")
    adata = (adata.copy() if not adata.isbacked else adata.to_memory()) if copy else adata
    rows, source = choose_rows(adata, use_rep, layer, n_pcs)
    neighbors = find_distances(adata, neighbors_key) if use_neighbors else "auto"
    fitted = HNNE(n_components, metric=metric, neighbors=neighbors, **parameters)
    fitted.fit(in_memory(rows), like=like)
    kept = kept_model(fitted) if keep_model else {}  # what fails changes nothing of adata
    params = {"use_rep": source, "use_neighbors": use_neighbors, **_plain(fitted)}
    _add_clusters(adata, fitted, key_added, fitted.hierarchy_.labels(0))
    adata.obsm[f"X_{key_added}"] = np.array(fitted.embedding_)
    adata.uns[key_added] = {
        "params": params,
        "n_clusters": np.array(fitted.hierarchy_.level_sizes),
        "label_level": int(fitted.label_level_),
        "neighbors": str(fitted.neighbor_report_),
        "layout": fitted.layout_.kind,
        "nestmap": __version__,
        **kept,
    }
    return adata if copy else None


def transform(adata: Any, reference: Any, *, key: str = "hnne", use_rep: str | None = None) -> None:
    """Place new cells on the map of a reference, and give them its clusters.

    Parameters
    ----------
    adata : AnnData
        New cells, in the representation that the reference was mapped by: the same components, or
        the same genes (in any order). PCA of the new cells alone has other axes: project them
        (`scanpy.tl.ingest`, a model of scVI, `(x - mean) @ reference.varm["PCs"]`).
    reference : AnnData
        What `tl.hnne` has seen.
    key : str
        Its `key_added`; what is added to adata has the same names, and `obs['hnne_distance']`,
        which is larger for cells that are like nothing in the reference.
    use_rep : str, optional
        The representation of the new cells, if it has another name.

    Examples
    --------
    >>> import anndata, nestmap
    >>> from sklearn.datasets import load_digits
    >>> cells = anndata.AnnData(load_digits().data)
    >>> old, new = cells[:1500].copy(), cells[1500:].copy()
    >>> nestmap.sc.tl.hnne(old)
    >>> nestmap.sc.tl.transform(new, old)
    >>> new.obsm["X_hnne"].shape, new.obs["hnne"].nunique() <= old.obs["hnne"].nunique()
    ((297, 2), True)
    """
    check_cells(adata)
    fitted = model(reference, key)
    rows = _rows_like(adata, reference, fitted, key, use_rep)
    leaves = fitted.predict(rows, level=0)
    positions, distances = fitted.transform(rows, return_distance=True)
    _add_clusters(adata, fitted, key, leaves)
    adata.obsm[f"X_{key}"] = positions
    adata.obs[f"{key}_distance"] = distances
    adata.uns[key] = without_model(reference.uns[key])


def describe(
    adata: Any,
    level: int | None = None,
    *,
    genes: Any = MOST,
    obs: Sequence[str] = (),
    layer: str | None = None,
    use_raw: bool = False,
    key: str = "hnne",
) -> LevelDescription:
    """Describe the clusters of a level by genes and columns of obs, without another fit.

    Parameters
    ----------
    adata : AnnData
        What `tl.hnne` has seen.
    level : int, optional
        Default: the level of `obs['hnne']`.
    genes : int or list of str
        Names, or so many genes that vary most: of those that `scanpy.pp.highly_variable_genes` has
        marked, if it was run.
    obs : list of str
        Columns of obs.
    layer, use_raw
        Where the expression of a gene is taken from.
    key : str
        The `key_added` of the tool.

    Returns
    -------
    LevelDescription
        As `Hierarchy.describe` gives it; its `names` are names of clusters.

    Examples
    --------
    >>> import anndata, nestmap
    >>> from sklearn.datasets import load_digits
    >>> digits = load_digits()
    >>> adata = anndata.AnnData(digits.data, obs={"digit": digits.target.astype(str)})
    >>> nestmap.sc.tl.hnne(adata)
    >>> told = nestmap.sc.tl.describe(adata, obs=["digit"])
    >>> len(told.names) == adata.obs["hnne"].nunique()
    True
    """
    fitted = own_model(adata, key)
    columns = columns_of(adata, obs, genes, layer, use_raw)
    return fitted.hierarchy_.describe(level, metadata=columns or None)


def _rows_like(adata: Any, reference: Any, fitted: HNNE, key: str, use_rep: str | None) -> Any:
    """The rows of new cells, with the columns that the reference was mapped by."""
    source = str(reference.uns[key]["params"]["use_rep"])
    layer = source.removeprefix("layers/") if source.startswith("layers/") else None
    if use_rep is None and (layer is not None or source == "X"):
        adata = _with_genes_of(adata, reference)
        rows, _ = choose_rows(adata, None if layer else "X", layer, None)
    else:
        rows, source = choose_rows(adata, use_rep or source, None, None)
    rows = in_memory(rows)
    if rows.shape[1] < fitted.n_features_in_:
        raise ValueError(
            f"{source} of adata has {rows.shape[1]} columns, and the reference was mapped by "
            f"{fitted.n_features_in_}: bring the new cells into the same representation first"
        )
    return rows[:, : fitted.n_features_in_]


def _with_genes_of(adata: Any, reference: Any) -> Any:
    """The new cells with the genes of the reference, in their order."""
    if adata.var_names.equals(reference.var_names):
        return adata
    absent = [str(name) for name in reference.var_names if name not in adata.var_names]
    if absent:
        raise ValueError(
            f"adata lacks {len(absent)} genes of the reference, such as {absent[0]!r}; map the "
            "reference by genes that both have"
        )
    return adata[:, reference.var_names]


def _add_clusters(adata: Any, fitted: HNNE, key: str, leaves: Array) -> None:
    """The clusters of cells on every level; further levels of an earlier map go."""
    tree = fitted.hierarchy_
    for column in [*map(str, adata.obs.columns)]:
        if column != key and is_of_map(column, key):
            del adata.obs[column]
    sizes = tree.level_sizes
    labels = [tree.climb(leaves, k) for k in range(tree.n_levels)]
    own = fitted.label_level_
    adata.obs[key] = as_category(labels[own], sizes[own], adata)
    for k, each in enumerate(labels):
        adata.obs[f"{key}_{k}"] = as_category(each, sizes[k], adata)


def as_category(labels: Any, n_clusters: int, adata: Any) -> Any:
    """Clusters as scanpy keeps them: categories that are texts, in the order of their numbers."""
    from pandas import Categorical, Series

    names = [str(i) for i in range(n_clusters)]
    return Series(Categorical.from_codes(labels, names), index=adata.obs_names)


def _plain(model: HNNE) -> dict[str, Any]:
    """Parameters that an .h5ad file can hold."""
    found = {name: value for name, value in model.get_params().items() if name != "neighbors"}
    return {
        name: value for name, value in found.items() if isinstance(value, str | int | float | bool)
    }
