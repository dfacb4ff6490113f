"""Three maps, coloured by class, by the clusters of the paper's tree and by communities:
docs/images/clusters.png.
"""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np

from benchmarks.figures import with_palette
from nestmap import HNNE

SHOWN = ("usps", "pendigits", "fashion_mnist")
TITLES = ("classes", 'clusters, hierarchy="first_neighbors"', "clusters (labels_)")


def draw(work: Path, target: Path) -> None:
    """Of the data sets that are shown: one row each, the same map three times."""
    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(len(SHOWN), 3, figsize=(10, 10), squeeze=False)
    for row, name in zip(axes, SHOWN, strict=True):
        with np.load(work / f"{name}.npz", allow_pickle=False) as arrays:
            X, y = arrays["X"], arrays["y"]
        model, paper = HNNE().fit(X), HNNE(hierarchy="first_neighbors", layout="descent").fit(X)
        for axis, labels, title in zip(row, (y, paper.labels_, model.labels_), TITLES, strict=True):
            _scatter(axis, model.embedding_, labels)
            axis.set_title(f"{name}: {len(np.unique(labels))} {title}", fontsize=10)
    figure.tight_layout()
    drawn = BytesIO()
    figure.savefig(drawn, format="png", dpi=100)
    pyplot.close(figure)
    target.write_bytes(with_palette(drawn))


def _scatter(axis: Any, positions: Any, labels: Any) -> None:
    """Rows in colours that tell up to twenty clusters apart, in an order that covers none of them."""
    numbers = np.unique(labels, return_inverse=True)[1]
    order = np.random.default_rng(0).permutation(len(numbers))
    size = 40_000 / len(numbers)
    axis.scatter(
        *positions[order].T, c=numbers[order] % 20, cmap="tab20", vmin=0, vmax=19, s=size / 3, lw=0
    )
    axis.set_aspect("equal")
    axis.axis("off")
