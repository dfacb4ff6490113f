"""The measurements behind the defaults: radius, inflate, new_points, with the paper's
arrangement.

python -m benchmarks.defaults [name …]     # names of benchmarks.datasets; NESTMAP_DATA: a directory of
.npz files
"""

from __future__ import annotations

import sys
import time

import numpy as np
from sklearn.neighbors import KNeighborsClassifier

from benchmarks.datasets import Dataset, load
from nestmap import HNNE, Descent
from nestmap.metrics import map_quality, trustworthiness

NAMES = ("digits", "pendigits", "usps", "texture", "fashion_mnist")
N_SAMPLE = 3000


def show(
    *cells: str,
    data: Dataset,
    X: np.ndarray,
    model: HNNE,
    n_sample: int = N_SAMPLE,
    fill: bool = False,
) -> None:
    """A row of a table: what was changed, and the scores of the map."""
    found = map_quality(X, model.embedding_, data.y, n_sample=min(n_sample, len(X)))
    scores = [
        float(found.trustworthiness),
        float(found.neighborhood_recall),
        found.knn_accuracy[1],
        float(found.centroid_triplets),
    ]
    scores += [found.fill] * fill
    print("| " + " | ".join((data.name, *cells, *(f"{v:.4f}" for v in scores))) + " |", flush=True)


def measure_layout(data: Dataset, X: np.ndarray) -> None:
    model = HNNE(layout=Descent(arrangement="global")).fit(X)
    for radius in (0.2, 1 / 3, 0.4, 0.45):
        other = model.relayout(layout=Descent(radius=radius, arrangement="global"))
        show(f"{radius:.2f}", data=data, X=X, model=other)


def measure_inflate(data: Dataset, X: np.ndarray) -> None:
    model = HNNE(layout=Descent(arrangement="global")).fit(X)
    for inflate in (False, True):
        other = model.relayout(layout=Descent(arrangement="global", inflate=inflate))
        show(str(inflate), data=data, X=X, model=other, n_sample=20_000, fill=True)


def measure_new_points(data: Dataset, X: np.ndarray) -> None:
    n = data.n_train or int(0.85 * len(X))
    for rule in ("centroid", "neighbor"):
        model = HNNE(layout=Descent(arrangement="global"), new_points=rule).fit(X[:n])
        start = time.perf_counter()
        Y = model.transform(X[n:])
        seconds = time.perf_counter() - start
        accuracy = KNeighborsClassifier(1).fit(model.embedding_, data.y[:n]).score(Y, data.y[n:])
        trust = trustworthiness(X, np.vstack([model.embedding_, Y]), n_sample=N_SAMPLE)
        kept = (
            model.hierarchy_.levels[0].centroids.nbytes if rule == "centroid" else X[:n].nbytes
        ) / 2**20
        print(
            f"| {data.name} | {rule} | {accuracy:.4f} | {trust:.4f} | {seconds:.2f} s | "
            f"{kept:.0f} MB |"
        )


def main() -> None:
    data = [load(name) for name in sys.argv[1:] or NAMES]
    print("| data | radius | trust | recall | acc1 | triplets |\n|---|---|---|---|---|---|")
    for one in data:
        measure_layout(one, np.asarray(one.X, dtype=np.float32))
    print(
        "\n| data | inflate | trust | recall | acc1 | triplets | fill "
        "|\n|---|---|---|---|---|---|---|"
    )
    for one in data:
        measure_inflate(one, np.asarray(one.X, dtype=np.float32))
    print(
        "\n| data | new_points | 1-NN acc. of new rows | trust, all rows | transform | rows kept |"
    )
    print("|---|---|---|---|---|---|")
    for one in data:
        if (
            one.name == "texture"
        ):  # sorted by class: its last rows are of classes that the others lack
            continue
        measure_new_points(one, np.asarray(one.X, dtype=np.float32))


if __name__ == "__main__":
    main()
