"""What UMAP's users do by hand with tables, mapped by UMAP: accuracies, one line per run.

    python -m benchmarks.tables_rivals .bench/tables/rivals.jsonl

Runs in an environment with umap-learn; what has a line is not run again.
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.runner import Results
from benchmarks.tables_data import DRAWS, TASKS, accuracy, draw_rows, load

RIVALS = ("raw", "standardised", "one-hot")


def key_of(task: str, encoding: str, draw: int) -> str:
    """The line of one run."""
    return f"{task} {encoding} {draw}"


def encode_by_hand(table: Any) -> dict[str, np.ndarray]:
    """Raw numbers, standardised numbers, standardised numbers with one-hot categories.

    Mean filling; columns of texts in which most rows have their own are left out, as they would.
    """
    import pandas as pd

    numbers = table.select_dtypes("number")
    numbers = numbers.fillna(numbers.mean())
    scaled = (numbers - numbers.mean()) / numbers.std().replace(0, 1)
    others = table.select_dtypes(exclude="number")
    others = others[[name for name in others if others[name].nunique() <= len(table) / 2]]
    found = {}
    if numbers.shape[1]:
        found = {"raw": numbers.to_numpy(float), "standardised": scaled.to_numpy(float)}
    if others.shape[1]:
        dummies = pd.get_dummies(others.astype(object)).astype(float)
        found["one-hot"] = np.hstack([scaled.to_numpy(float), dummies.to_numpy()])
    return found


def map_umap(X: np.ndarray, seed: int) -> np.ndarray:
    import umap

    return np.asarray(umap.UMAP(random_state=seed).fit_transform(X))


def main() -> None:
    warnings.simplefilter("ignore")
    results = Results(Path(sys.argv[1]))
    for draw in range(DRAWS):
        for task in TASKS:
            part = draw_rows(load(task), draw)
            for encoding, X in encode_by_hand(part.table).items():
                key = key_of(task.name, encoding, draw)
                if key not in results.rows:
                    found = accuracy(map_umap(X, draw), part.classes)
                    results.add({"key": key, "accuracy": found})
                    print(f"{key}: {found:.3f}", flush=True)


if __name__ == "__main__":
    main()
