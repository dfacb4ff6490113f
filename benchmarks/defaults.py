"""The measurements behind the defaults: radius, standardize, new_points.

python -m benchmarks.defaults DIRECTORY [name …]     # .npz files with X and y
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits
from sklearn.neighbors import KNeighborsClassifier

from benchmarks.quality import quality
from nestmap import HNNE

HELD_OUT = {"fashion_mnist": 10_000, "usps": 2_007, "pendigits": 1_992, "digits": 297}


def load(directory: str, name: str) -> tuple[np.ndarray, np.ndarray]:
    if name == "digits":
        digits = load_digits()
        return digits.data.astype(np.float32), digits.target
    with np.load(Path(directory) / f"{name}.npz", allow_pickle=False) as file:
        return file["X"].astype(np.float32), file["y"]


def measure_layout(name: str, X: np.ndarray, y: np.ndarray) -> None:
    model = HNNE().fit(X)
    for standardize in (False, True):
        for radius in (0.2, 1 / 3, 0.4, 0.45):
            found = quality(X, model.relayout(radius=radius, standardize=standardize).embedding_, y)
            print(
                f"| {name} | {radius:.2f} | {standardize} | " + " | ".join(f"{v:.4f}" for v in found.values()) + " |"
            )


def measure_new_points(name: str, X: np.ndarray, y: np.ndarray) -> None:
    n = len(X) - HELD_OUT[name]
    for rule in ("centroid", "neighbor"):
        model = HNNE(new_points=rule).fit(X[:n])
        start = time.perf_counter()
        Y = model.transform(X[n:])
        seconds = time.perf_counter() - start
        accuracy = KNeighborsClassifier(1).fit(model.embedding_, y[:n]).score(Y, y[n:])
        both = np.vstack([model.embedding_, Y])
        found = quality(X, both, None)
        kept = (model.hierarchy_.levels[0].centroids.nbytes if rule == "centroid" else X[:n].nbytes) / 2**20
        print(f"| {name} | {rule} | {accuracy:.4f} | {found['trust']:.4f} | {seconds:.2f} s | {kept:.0f} MB |")


def main() -> None:
    directory, names = sys.argv[1], sys.argv[2:] or list(HELD_OUT)
    print("| data | radius | standardize | trust | recall | acc1 | triplets |\n|---|---|---|---|---|---|---|")
    for name in names:
        measure_layout(name, *load(directory, name))
    print("\n| data | new_points | 1-NN acc. of new rows | trust, all rows | transform | rows kept |")
    print("|---|---|---|---|---|---|")
    for name in names:
        if name in HELD_OUT:
            measure_new_points(name, *load(directory, name))


if __name__ == "__main__":
    main()
