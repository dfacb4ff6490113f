"""Tools: what they find goes into the AnnData object."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._version import __version__
from ...estimators.hnne import HNNE
from .cells import check_cells, choose_rows, find_distances, in_memory


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
            `params`, `n_clusters` of each level, `label_level`, `neighbors` (how they were found).

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
    model = HNNE(n_components, metric=metric, neighbors=neighbors, **parameters)
    model.fit(in_memory(rows), like=like)
    _add(
        adata,
        model,
        key_added,
        {"use_rep": source, "use_neighbors": use_neighbors, **_plain(model)},
    )
    return adata if copy else None


def _add(adata: Any, model: HNNE, key: str, params: dict[str, Any]) -> None:
    """Coordinates, clusters and what is known of them; further levels of an earlier map go."""
    tree = model.hierarchy_
    for column in [
        c
        for c in adata.obs.columns
        if c.startswith(f"{key}_") and c.removeprefix(f"{key}_").isdigit()
    ]:
        del adata.obs[column]
    adata.obsm[f"X_{key}"] = np.array(model.embedding_)
    adata.obs[key] = as_category(model.labels_, adata)
    for k in range(tree.n_levels):
        adata.obs[f"{key}_{k}"] = as_category(tree.labels(k), adata)
    adata.uns[key] = {
        "params": params,
        "n_clusters": np.array(tree.level_sizes),
        "label_level": int(model.label_level_),
        "neighbors": str(model.neighbor_report_),
        "layout": model.layout_.kind,
        "nestmap": __version__,
    }


def as_category(labels: Any, adata: Any) -> Any:
    """Clusters as scanpy keeps them: categories that are texts, in the order of their numbers."""
    from pandas import Categorical, Series

    names = [str(i) for i in range(int(labels.max()) + 1)]
    return Series(Categorical.from_codes(labels, names), index=adata.obs_names)


def _plain(model: HNNE) -> dict[str, Any]:
    """Parameters that an .h5ad file can hold."""
    found = {name: value for name, value in model.get_params().items() if name != "neighbors"}
    return {
        name: value for name, value in found.items() if isinstance(value, str | int | float | bool)
    }
