"""`python -m tests.fuzz.files --cases 3000 --seed 7`: model files with something wrong in them.

Each is refused by `ModelFileError`, or gives a model whose methods work or say in a sentence why
not. A case is named by seed and number: `--seed 7 --case 123` tells what it does.
"""

from __future__ import annotations

import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from scipy.spatial.distance import cdist

import nestmap
from nestmap import FINCH, HNNE, Communities, Descent, Islands, ModelFileError

from .hostile import HostileCase, complaint, run_cases
from .mutations import mutate

_X = np.random.default_rng(0).normal(size=(48, 5)).astype(np.float32).round(2)
_ROWS, _NEW = np.concatenate([_X[:40], _X[:4]]), _X[40:]
_SETS, _OTHER_SETS = (_ROWS > 0.5).astype(np.float32), (_NEW > 0.5).astype(np.float32)
_APART = cdist(_ROWS, _ROWS)
MODELS: dict[str, tuple[Any, Any, Any]] = {
    "islands": (HNNE(), _ROWS, _NEW),
    "leaves": (HNNE(layout=Islands(detail="leaves"), metric="cosine"), _ROWS, _NEW),
    "descent": (HNNE(3, layout="descent"), _ROWS.astype(np.float64) / 3, _NEW),
    "mosaic": (HNNE(layout="mosaic", metric="mahalanobis"), _ROWS, _NEW),
    "inflated": (
        HNNE(layout=Descent(arrangement="global", inflate=True), metric="manhattan"),
        _ROWS,
        _NEW,
    ),
    "random": (
        HNNE(layout=Descent(arrangement="global", preliminary="random", random_state=3)),
        _ROWS,
        _NEW,
    ),
    "sparse": (HNNE(metric="cosine"), sparse.csr_matrix(_ROWS), sparse.csr_matrix(_NEW)),
    "sets": (HNNE(metric="jaccard"), sparse.csr_matrix(_SETS), sparse.csr_matrix(_OTHER_SETS)),
    "hellinger": (HNNE(metric="hellinger", layout="descent"), np.abs(_ROWS), np.abs(_NEW)),
    "minkowski": (
        HNNE(metric="minkowski", metric_params={"p": 3, "w": np.arange(1.0, 6)}),
        _ROWS,
        _NEW,
    ),
    "nearest row": (HNNE(new_points="neighbor"), _ROWS, _NEW),
    "nearest row, sparse": (
        HNNE(new_points="neighbor", layout="mosaic"),
        sparse.csr_matrix(_ROWS),
        _NEW,
    ),
    "nearest row, canberra": (
        HNNE(new_points="neighbor", metric="canberra"),
        np.abs(_ROWS) + 1,
        np.abs(_NEW) + 1,
    ),
    "hamming": (HNNE(metric="hamming", layout="descent"), _ROWS.round(), _NEW.round()),
    "precomputed": (HNNE(metric="precomputed"), _APART, cdist(_NEW, _ROWS)),
    "precomputed, nearest row": (
        HNNE(metric="precomputed", new_points="neighbor"),
        _APART,
        cdist(_NEW, _ROWS),
    ),
    "first neighbours": (HNNE(hierarchy="first_neighbors"), _ROWS, _NEW),
    "FINCH": (FINCH(n_clusters=4), _ROWS, _NEW),
    "FINCH, sparse": (FINCH(n_clusters=9, metric="cosine"), sparse.csr_matrix(_ROWS), _NEW),
    "FINCH, precomputed": (FINCH(n_clusters=9, metric="precomputed"), _APART, cdist(_NEW, _ROWS)),
    "Communities": (Communities(noise=0.6), _ROWS, _NEW),
}


@cache
def good_file(name: str) -> bytes:
    """What `save` writes of a model."""
    model, rows, _ = MODELS[name]
    with tempfile.TemporaryDirectory() as folder:
        model.set_params(n_jobs=1).fit(rows).save(f"{folder}/m")
        return Path(folder, "m").read_bytes()


def make_case(seed: int, number: int) -> HostileCase:
    """The same case for the same numbers."""
    rng = np.random.default_rng([seed, number])
    name = list(MODELS)[int(rng.integers(len(MODELS)))]
    told, data = mutate(rng, good_file(name))
    return HostileCase(number, name, told, data)


# -- what must hold
# --------------------------------------------------------------------------------------


def uses(model: Any, rows: Any, new: Any, folder: Path) -> Iterator[tuple[str, Callable[[], Any]]]:
    """What people do with a model that they have loaded."""
    tree = model.hierarchy_
    yield "repr", lambda: f"{model!r} {tree!r} {tree.reports[0]}".encode()
    yield "predict", lambda: model.predict(new)
    for level in range(tree.n_levels):
        yield "labels", lambda level=level: (tree.labels(level), model.predict(new, level=level))
        if tree.strengths is not None:
            yield (
                "membership",
                lambda level=level: (tree.labels(level, noise=0.5), str(tree.clusters(level))),
            )
    for n in (1, 2, 7, 30, tree.n_rows):
        yield "n_clusters", lambda n=n: tree.labels(n_clusters=n)
    yield "to_linkage", tree.to_linkage
    yield "edges", tree.edges
    yield "summary", lambda: str(tree.summary()).encode()
    yield "describe", lambda: tree.describe(0, rows, n_typical=2)
    yield "path", lambda: (tree.path(0), tree.members(-1, 0))
    yield "save", lambda: again(model, folder)
    if not isinstance(model, HNNE):
        yield (
            "attributes",
            lambda: (model.partitions_, model.cluster_centers_, model.medoid_indices_),
        )
        return
    yield "transform", lambda: model.transform(new, return_distance=True)
    yield "transform of the rows", lambda: model.transform(rows)
    yield "audit", lambda: str(model.audit()).encode()
    yield "extend", lambda: again(model.extend(new), folder)
    yield "forget", lambda: again(model.forget([0, 5]), folder)
    yield "drift", lambda: str(model.drift(rows))
    yield "relayout", lambda: again(model.relayout(rows), folder)
    if model.n_components == 2:
        yield "outlines", lambda: [model.layout_.outlines(level) for level in range(tree.n_levels)]


def again(model: Any, folder: Path) -> None:
    """A model that was loaded can be saved and loaded; that it cannot would be a fault, not a
    sentence.
    """
    model.save(folder / "again")
    try:
        nestmap.load(folder / "again")
    except ModelFileError as error:
        raise AssertionError(f"what was saved does not load: {error}") from error


def run_case(case: HostileCase) -> list[tuple[str, str]]:
    """All that a file does wrong."""
    _, rows, new = MODELS[case.source]
    found = []
    with tempfile.TemporaryDirectory() as name, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of numbers out of range: nonsense may come of nonsense
        folder = Path(name)
        (folder / "hostile").write_bytes(case.data)
        try:
            model = nestmap.load(folder / "hostile", mmap=case.number % 4 == 0)
        except ModelFileError as error:
            return (
                []
                if str(error).startswith(str(folder))
                else [("load: does not name the file", str(error))]
            )
        except Exception as error:
            return [(f"load: {complaint(error)}", str(error))]
        for what, use in uses(model, rows, new, folder):
            try:
                use()
            except Exception as error:
                if told := complaint(error):
                    found.append((f"{what}: {told}", f"{case.told}: {error}"))
    return found


if __name__ == "__main__":
    sys.exit(run_cases(__doc__ or "", make_case, run_case))
