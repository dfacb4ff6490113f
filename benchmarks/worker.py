"""One method in one fresh process: times, memory and maps, as JSON on the last line.

Started by `versus_hnne` with the interpreter of the method's own environment; needs only NumPy.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np


def make(method: str) -> Callable[[], Any]:
    if method == "nestmap":
        from nestmap import HNNE

        return lambda: HNNE(n_jobs=2)
    from hnne import HNNE as Reference

    return lambda: Reference(n_components=2, metric="euclidean", hnne_version="v1")


def timed(function: Callable[[], Any]) -> tuple[Any, float]:
    start = time.perf_counter()
    value = function()
    return value, time.perf_counter() - start


def main() -> None:
    method, path, out, n_train = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
    with np.load(path, allow_pickle=False) as file:
        X = file["X"].astype(np.float32)
    found: dict[str, float] = {"megabytes_before": _peak()}
    new_model, found["import"] = timed(lambda: make(method))
    model = new_model()
    embedding, found["first_fit"] = timed(lambda: model.fit_transform(X))
    found["megabytes"] = _peak()
    _, found["second_fit"] = timed(lambda: new_model().fit_transform(X))
    model = new_model()
    train, _ = timed(lambda: model.fit_transform(X[:n_train]))
    new = X[n_train:]
    model.transform(new[:10])
    placed, found["transform"] = timed(lambda: model.transform(new))
    singles = [timed(lambda i=i: model.transform(new[i : i + 1]))[1] for i in range(20)]
    found["transform_one"] = float(np.median(singles))
    np.savez(out, embedding=embedding, train=train, placed=placed)
    print(json.dumps(found))


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    main()
