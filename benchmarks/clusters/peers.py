"""Labels by other programs, each with its defaults unless said: python peers.py DATA.npz METRIC
OUT.npz

Runs in the environment of the peers. Rows that a program calls noise have the label -1.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

RESOLUTIONS = (0.1, 0.3, 1.0, 3.0)
MOST_FOR_WARD, MOST_FOR_GENIE = 10_000, 25_000  # rows: more take many minutes


def leiden(X: Any, metric: str) -> Iterator[tuple[str, Any]]:
    """leidenalg on UMAP's graph."""
    import igraph
    import leidenalg
    import umap

    model = umap.UMAP(metric=metric, random_state=0).fit(X)
    yield "map", model.embedding_
    graph = model.graph_.tocoo()
    once = graph.row < graph.col
    edges = np.stack([graph.row[once], graph.col[once]], axis=1)
    links = igraph.Graph(n=len(X), edges=edges.tolist())
    for resolution in RESOLUTIONS:
        found = leidenalg.find_partition(
            links,
            leidenalg.RBConfigurationVertexPartition,
            weights=graph.data[once].astype(float).tolist(),
            resolution_parameter=resolution,
            seed=0,
        )
        yield f"leiden {resolution:g}", np.array(found.membership)


def evoc(X: Any, metric: str) -> Iterator[tuple[str, Any]]:
    from evoc import EVoC

    model = EVoC().fit(X)
    for i, labels in enumerate(model.cluster_layers_):
        yield f"evoc {i}", labels


def hdbscan(X: Any, metric: str) -> Iterator[tuple[str, Any]]:
    """fast_hdbscan on UMAP in 5 dimensions."""
    import fast_hdbscan
    import umap

    positions = umap.UMAP(metric=metric, n_components=5, random_state=0).fit_transform(X)
    yield "hdbscan", fast_hdbscan.HDBSCAN().fit_predict(positions)


def with_number(X: Any, n_classes: int) -> Iterator[tuple[str, Any]]:
    """Programs that are told the true number of classes."""
    import genieclust
    from sklearn.cluster import AgglomerativeClustering, KMeans

    yield "k-means", KMeans(n_classes, random_state=0).fit_predict(X)
    if len(X) <= MOST_FOR_GENIE:
        yield "genie", genieclust.Genie(n_clusters=n_classes).fit_predict(X)
    if len(X) <= MOST_FOR_WARD:
        yield "ward", AgglomerativeClustering(n_classes).fit_predict(X)


def main() -> None:
    warnings.filterwarnings("ignore")
    data, metric, out = sys.argv[1:]
    with np.load(data, allow_pickle=False) as arrays:
        X, y = arrays["X"], arrays["y"]
    found: dict[str, Any] = {}
    for labels in (
        leiden(X, metric),
        evoc(X, metric),
        hdbscan(X, metric),
        with_number(X, len(np.unique(y))),
    ):
        found.update(labels)
    part = f"{out}.part.npz"
    np.savez(part, **found)
    os.replace(part, out)


if __name__ == "__main__":
    main()
