"""Hashes of maps, labels, trees and files for every layout, metric and option.

A change that is not meant to change a map is checked with them, on one machine:

    python -m tools.golden write before.json
    python -m tools.golden check before.json
"""

from __future__ import annotations

import argparse
import hashlib
import json
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.datasets import load_diabetes, load_digits, make_blobs

import nestmap
from nestmap import Descent, Islands

Case = Callable[[], dict[str, str]]


def digest(*values: Any) -> str:
    """One hash of arrays, and of what else has a plain text."""
    found = hashlib.sha256()
    for value in values:
        if isinstance(value, np.ndarray):
            found.update(f"{value.dtype}{value.shape}".encode())
            found.update(np.ascontiguousarray(value).tobytes())
        else:
            found.update(str(value).encode())
    return found.hexdigest()[:16]


def digits() -> np.ndarray:
    return load_digits().data


def blobs() -> np.ndarray:
    rows, _ = make_blobs(6000, n_features=24, centers=40, cluster_std=2.0, random_state=7)
    return rows.astype(np.float32)


def counts() -> np.ndarray:
    return np.random.default_rng(3).poisson(1.5, (900, 30)).astype(np.float64) + 0.01


def words() -> sparse.csr_matrix:
    rng = np.random.default_rng(5)
    topics = rng.random((12, 300)) ** 8
    rows = rng.poisson(3 * topics[rng.integers(12, size=1500)])
    return sparse.csr_matrix(rows.astype(np.float64)[rows.sum(axis=1) > 0])


def repeated() -> np.ndarray:
    rows = np.random.default_rng(9).integers(0, 4, (1200, 4)).astype(np.float64)
    return np.concatenate([rows, rows[:300]])


def flat() -> np.ndarray:
    """Rows without a few leading directions, as embeddings of text."""
    return np.random.default_rng(11).standard_normal((3000, 96)).astype(np.float32)


def distances(X: np.ndarray) -> np.ndarray:
    difference = X[:, None] - X[None]
    return np.sqrt((difference**2).sum(axis=-1))


def of_model(model: Any, X: Any, new: Any) -> dict[str, str]:
    """What users get from a fitted map."""
    tree = model.hierarchy_
    labels = [tree.labels(level) for level in range(tree.n_levels)]
    found = {
        "map": digest(np.asarray(model.embedding_)),
        "labels": digest(np.asarray(model.labels_), model.label_level_),
        "levels": digest(*labels),
        "linkage": digest(tree.to_linkage()),
        "ten": digest(tree.labels(n_clusters=min(10, tree.n_rows))),
    }
    if tree.kind == "graph":
        found["membership"] = digest(model.membership())
    with np.errstate(all="ignore"):
        positions, far = model.transform(new, return_distance=True)
    found["new"] = digest(positions, far)
    found["predict"] = digest(model.predict(new))
    return found


def mapped(make: Callable[[], Any], X: Any, new: Any = None) -> Case:
    def run() -> dict[str, str]:
        rows = X() if callable(X) else X
        extra = rows[:50] * 1.01 if new is None else new(rows)
        return of_model(make().fit(rows), rows, extra)

    return run


def cases() -> Iterator[tuple[str, Case]]:
    H = nestmap.HNNE
    yield "default digits", mapped(H, digits)
    yield "default blobs", mapped(H, blobs)
    yield "default words", mapped(lambda: H(metric="cosine"), words)
    yield "default repeated", mapped(H, repeated)
    yield "default flat", mapped(H, flat)
    yield "default diabetes", mapped(H, lambda: load_diabetes().data)
    yield "few", mapped(H, lambda: digits()[:7])
    for metric in ("cosine", "manhattan", "correlation", "seuclidean", "mahalanobis", "hellinger"):
        yield f"metric {metric}", mapped(lambda m=metric: H(metric=m), counts)
    for metric in ("chebyshev", "canberra", "braycurtis"):
        yield f"metric {metric}", mapped(lambda m=metric: H(metric=m), lambda: counts()[:400])
    yield (
        "metric minkowski",
        mapped(lambda: H(metric="minkowski", metric_params={"p": 3}), lambda: counts()[:300]),
    )
    yield (
        "metric callable",
        mapped(lambda: H(metric=lambda a, b: abs(a - b).max()), lambda: counts()[:120]),
    )
    yield (
        "metric precomputed",
        mapped(
            lambda: H(metric="precomputed"), lambda: distances(counts()[:300]), lambda D: D[:20]
        ),
    )
    for kind in ("graph", "first_neighbors"):
        for name, layout in layouts().items():
            yield f"{kind} {name}", mapped(lambda k=kind, o=layout: H(**o(), hierarchy=k), digits)
    yield "first neighbours blobs", mapped(lambda: H(hierarchy="first_neighbors"), blobs)
    yield "approximate", mapped(lambda: H(neighbors="approximate"), blobs)
    yield "new points neighbor", mapped(lambda: H(new_points="neighbor"), digits)
    yield "given first", mapped(lambda: H(neighbors=nestmap.first_neighbors(digits()).ids), digits)
    yield "given lists", mapped(given_lists, digits)
    yield "memory", mapped(lambda: H(max_memory="400MB"), blobs)
    yield "grown", grown
    yield "like", like
    yield "relayout", relayout
    yield "finch", lambda: clusters(nestmap.FINCH())
    yield "finch 10", lambda: clusters(nestmap.FINCH(n_clusters=10))
    yield "communities", lambda: clusters(nestmap.Communities())
    yield "communities 25 noise", lambda: clusters(nestmap.Communities(n_clusters=25, noise=0.5))
    yield "file", saved
    yield "first neighbours alone", first_neighbors
    yield "neighbour graph", neighbor_graph
    yield "run", command_line
    yield "dask", dask_rows


def layouts() -> dict[str, Callable[[], dict[str, Any]]]:
    """Parameters of each layout."""
    return {
        "islands": lambda: {},
        "islands leaves": lambda: {"layout": Islands(detail="leaves")},
        "islands tight": lambda: {"layout": Islands(tightness=4.0)},
        "descent": lambda: {"layout": "descent"},
        "descent 3-D": lambda: {"layout": "descent", "n_components": 3},
        "descent 12-D": lambda: {"layout": "descent", "n_components": 12},
        "descent 1-D": lambda: {"layout": "descent", "n_components": 1},
        "mosaic": lambda: {"layout": "mosaic"},
        "paper": lambda: {"layout": Descent(arrangement="global")},
        "radius": lambda: {"layout": Descent(radius=0.2)},
        "inflate": lambda: {"layout": Descent(arrangement="global", inflate=True)},
        "pca": lambda: {"layout": Descent(preliminary="pca")},
        "random projection": lambda: {
            "layout": Descent(preliminary="random_projection", random_state=4)
        },
        "random": lambda: {"layout": Descent(preliminary="random", random_state=4)},
        "given": lambda: {"layout": Descent(preliminary=digits()[:, 10:12])},
    }


def given_lists() -> Any:
    near = np.argsort(distances(digits()), axis=1, kind="stable")[:, 1:16]
    return nestmap.HNNE(neighbors=near)


def grown() -> dict[str, str]:
    X = digits()
    model = nestmap.HNNE().fit(X[:1500])
    model.extend(X[1500:])
    found = {"extended": digest(model.embedding_, model.labels_)}
    model.forget(np.arange(0, 300))
    found["forgotten"] = digest(model.embedding_, model.labels_)
    found["drift"] = digest(str(model.drift()))
    return found


def like() -> dict[str, str]:
    X = digits()
    old = nestmap.HNNE().fit(X[:1500])
    model = nestmap.HNNE().fit(X[200:], like=old)
    found = of_model(model, X, X[:20] * 1.01)
    found["compare"] = digest(str(nestmap.compare(old, model)))
    return found


def relayout() -> dict[str, str]:
    model = nestmap.HNNE().fit(digits())
    tight = model.relayout(layout=Islands(tightness=3.0))
    return {
        "tight": digest(tight.embedding_),
        "descent": digest(model.relayout(layout="descent", n_components=3).embedding_),
        "audit": digest(str(model.audit())),
        "summary": digest(str(model.summary())),
    }


def clusters(model: Any) -> dict[str, str]:
    X = digits()
    model.fit(X)
    centers = np.asarray(model.cluster_centers_)
    return {
        "labels": digest(model.labels_, model.partitions_, centers),
        "predict": digest(model.predict(X * 1.01)),
    }


def saved() -> dict[str, str]:
    X = digits()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "digits.nestmap"
        nestmap.HNNE().fit(X).save(path)
        return {"loaded": digest(str(of_model(nestmap.load(path), X, X[:50] * 1.01)))}


def first_neighbors() -> dict[str, str]:
    found = nestmap.first_neighbors(blobs())
    return {"exact": digest(found.ids, found.distances)}


def neighbor_graph() -> dict[str, str]:
    found = nestmap.method.neighbors.neighbor_graph(blobs(), 10)
    return {"graph": digest(found.ids, found.distances)}


def command_line() -> dict[str, str]:
    from nestmap.app.cli import main

    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "rows.csv"
        X, y = load_digits(return_X_y=True)
        header = ",".join([*(f"p{i}" for i in range(64)), "digit"])
        np.savetxt(
            data, np.column_stack([X, y]), delimiter=",", fmt="%d", header=header, comments=""
        )
        run = Path(folder) / "run"
        assert main(["fit", str(data), "-o", str(run), "--label", "digit", "--quiet"]) in (None, 0)
        out = Path(folder) / "out.csv"
        assert main(["export", str(run), "-o", str(out)]) in (None, 0)
        found = {"export": digest(out.read_text())}
        for path in sorted(run.rglob("*")):
            if path.is_file() and path.suffix in (".npy", ".csv"):
                found[str(path.relative_to(run))] = digest(path.read_bytes())
    return found


def dask_rows() -> dict[str, str]:
    import dask.array as da
    from distributed import Client, LocalCluster

    with (
        LocalCluster(
            n_workers=1, threads_per_worker=2, processes=False, dashboard_address=None
        ) as cluster,
        Client(cluster),
    ):
        model = nestmap.HNNE(work_dir=tempfile.mkdtemp()).fit(
            da.from_array(blobs(), chunks=(2000, -1))
        )
        return {
            "map": digest(np.asarray(model.embedding_)),
            "labels": digest(np.asarray(model.labels_)),
        }


def take(names: list[str]) -> dict[str, str]:
    found = {}
    for name, case in cases():
        if not names or any(part in name for part in names):
            try:
                values = case()
            except (Exception, SystemExit) as error:  # what fails is a result, too
                values = {"error": repr(error)[:200]}
            found |= {f"{name}: {key}": value for key, value in values.items()}
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("action", choices=["write", "check"])
    parser.add_argument("file", type=Path)
    parser.add_argument("--only", nargs="*", default=[], help="cases whose names hold one of these")
    asked = parser.parse_args()
    found = take(asked.only)
    if asked.action == "write":
        asked.file.write_text(json.dumps(found, indent=1) + "\n")
        print(f"wrote {len(found)} hashes")
        return 0
    before = json.loads(asked.file.read_text())
    if asked.only:
        before = {
            k: v for k, v in before.items() if any(part in k.split(": ")[0] for part in asked.only)
        }
    changed = [key for key in {**before, **found} if before.get(key) != found.get(key)]
    for key in changed:
        print(f"changed: {key}: {before.get(key)} -> {found.get(key)}")
    print(f"{len(before) - len(changed)} of {len(before)} hashes are the same")
    return 1 if changed else 0


if __name__ == "__main__":
    raise SystemExit(main())
