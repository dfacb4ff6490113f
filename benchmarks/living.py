"""Living maps: `python -m benchmarks.living [name …] [--data DIR] [--peer-python PYTHON]`.

Per data set (digits, pendigits, usps, fashion_mnist, texture; .npz files with X and y in DIR):

- extend: 80% of the rows are fitted, 20% come later, by `extend` or by the peers' `transform`;
- class: one class is left out of the fit and comes later;
- refit: a tenth of the rows is replaced, and the new map follows the old one: `fit(X, like=old)`,
AlignedUMAP, openTSNE
  started from the old map;
- draws: the same with five other draws of the rows, with `like` and without it: means and their
standard errors;
- speed (once, generated rows): 1,000,000 rows, extended by 1,000 and by 10,000.

Each (data, part, method) runs in a process of its own and appends a line to WORK/living.jsonl: a
run that was stopped goes on where it was. Peers need an interpreter with umap-learn and openTSNE;
without it only nestmap is measured. `make evidence ARGS=--large` makes docs/evidence/growth.json of
all lines that are there.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

DATA = ("pendigits", "usps", "fashion_mnist", "digits", "texture")
METHODS = {
    "extend": ("nestmap", "fresh", "umap", "opentsne"),
    "class": ("nestmap", "fresh", "umap", "opentsne"),
    "refit": ("nestmap", "fresh", "umap", "opentsne"),
    "draws": ("nestmap",),
    "speed": ("nestmap",),
}
TITLES = {"nestmap": "nestmap", "fresh": "a fresh fit", "umap": "UMAP", "opentsne": "openTSNE"}
NAMES = {name: name for name in DATA} | {"usps": "USPS", "fashion_mnist": "Fashion-MNIST"}
IMAGES = Path(__file__).parent.parent / "docs" / "images"
_SAMPLE = 5000  # rows of large data that are scored
_DRAWS = 5  # other orders of the rows: with and without `like`

# A and B are the rows; common rows of both are A[a] and B[b]. P is to be the map of A, Q that of B.
TRANSFORM = {
    "umap": "import umap; m = umap.UMAP(random_state=0).fit(A); P = m.embedding_; t = clock(); Q = m.transform(B)",
    "opentsne": "import openTSNE; m = openTSNE.TSNE(n_jobs=2, random_state=0).fit(A); P = m; t = clock(); "
    "Q = m.transform(B)",
}
FOLLOW = {
    "umap": "import umap; t = clock(); m = umap.AlignedUMAP(random_state=0).fit([A, B], "
    "relations=[dict(zip(a.tolist(), b.tolist()))]); P, Q = m.embeddings_",
    "opentsne": "import openTSNE; m = openTSNE.TSNE(n_jobs=2, random_state=0).fit(A); P = np.asarray(m); "
    "new = np.setdiff1d(np.arange(len(B)), b); start = np.empty((len(B), 2)); start[b] = P[a]; "
    "start[new] = np.asarray(m.prepare_partial(B[new])); t = clock(); "
    "Q = openTSNE.TSNE(n_jobs=2, random_state=0, initialization=start, "
    "early_exaggeration_iter=0).fit(B)",
}


def load(folder: Path, name: str) -> tuple[Any, Any]:
    """Rows and classes in a random order."""
    if name == "digits":
        from sklearn.datasets import load_digits

        X, y = load_digits(return_X_y=True)
    else:
        with np.load(folder / f"{name}.npz") as file:
            X, y = file["X"], file["y"]
    order = np.random.default_rng(0).permutation(len(X))
    return X[order].astype(np.float32), y[order]


def parts_of(X: Any, y: Any, part: str) -> tuple[Any, Any]:
    """Numbers of the rows that are fitted first, and of those that come then."""
    rows = np.arange(len(X))
    if part == "extend":
        return np.split(rows, [int(0.8 * len(X))])
    if part == "class":
        own = y == np.unique(y)[3]
        return rows[~own], rows[own]
    tenth = len(X) // 11
    return rows[:-tenth], rows[tenth:]


def by_peer(python: str, code: str, arrays: dict[str, Any]) -> tuple[Any, Any, float]:
    """Maps of A and B by a peer, and the seconds of the last step."""
    with tempfile.TemporaryDirectory() as folder:
        np.savez(f"{folder}/in.npz", **arrays)
        lines = (
            f"import numpy as np; from time import perf_counter as clock; d = np.load({folder!r} "
            "+ '/in.npz'); "
            f"A, B, a, b = (d[k] for k in 'ABab'); {code}; "
            f"np.savez({folder!r} + '/out.npz', P=np.asarray(P), Q=np.asarray(Q), t=clock() - t)"
        )
        subprocess.run([python, "-W", "ignore", "-c", lines], check=True)
        with np.load(f"{folder}/out.npz") as file:
            return file["P"], file["Q"], float(file["t"])


def quality(X: Any, Y: Any, y: Any) -> dict[str, float]:
    from nestmap.metrics import knn_accuracy, neighborhood_recall, trustworthiness

    n_sample = None if len(X) <= 20_000 else _SAMPLE
    accuracy = np.mean([knn_accuracy(Y, y, random_state=seed) for seed in range(3)])
    trust, recall = (
        score(X, Y, n_sample=n_sample) for score in (trustworthiness, neighborhood_recall)
    )
    return {"trust": float(trust), "recall": float(recall), "accuracy": float(accuracy)}


def measure_extend(X: Any, y: Any, method: str, python: str | None) -> dict[str, Any]:
    from nestmap import HNNE

    A, B = (X[rows] for rows in parts_of(X, y, "extend"))
    if method == "fresh":
        return quality(X, HNNE().fit(X).embedding_, y)
    if method == "nestmap":
        model, start = HNNE().fit(A), time.perf_counter()
        more = model.extend(B)
        seconds = time.perf_counter() - start
        assert (more.embedding_[: len(A)] == model.embedding_).all() and more.audit()
        return {**quality(X, more.embedding_, y), "seconds": seconds}
    P, Q, seconds = by_peer(str(python), TRANSFORM[method], dict(A=A, B=B, a=0, b=0))
    return {**quality(X, np.concatenate([P, Q]), y), "seconds": seconds}


def measure_class(X: Any, y: Any, method: str, python: str | None) -> dict[str, Any]:
    from scipy.spatial import cKDTree

    import nestmap
    from nestmap import HNNE

    A, B = (X[rows] for rows in parts_of(X, y, "class"))
    told: dict[str, Any] = {}
    if method in ("nestmap", "fresh"):
        model = HNNE().fit(A)
        more = model.extend(B) if method == "nestmap" else HNNE().fit(np.concatenate([A, B]))
        P, Q = np.split(more.embedding_, [len(A)])
        levels = [more.hierarchy_.labels(k) for k in range(more.hierarchy_.n_levels)]
        own = np.arange(len(X)) >= len(A)
        found = [own_clusters(labels, own) for labels in levels]
        told = {
            "shares": [share for share, _ in found],
            "purities": [purity for _, purity in found],
        }
        told |= {"labels": int(more.label_level_), "born": nestmap.compare(model, more).born_level}
    else:
        P, Q, _ = by_peer(str(python), TRANSFORM[method], dict(A=A, B=B, a=0, b=0))
    nearest = cKDTree(np.concatenate([P, Q])).query(Q, k=[2])[1][:, 0]
    return {**told, "beside": float((nearest >= len(P)).mean())}


def own_clusters(labels: Any, own: Any) -> tuple[float, float | None]:
    """Share of a class in clusters that hold more of it than of all others, and the purity of
    these.
    """
    share = np.bincount(labels, own) / np.bincount(labels)
    theirs = share[labels] > 0.5
    return float((theirs & own).sum() / own.sum()), float(
        own[theirs].mean()
    ) if theirs.any() else None


def measure_refit(X: Any, y: Any, method: str, python: str | None) -> dict[str, Any]:
    from nestmap import HNNE

    rows = parts_of(X, y, "refit")
    A, B = (X[some] for some in rows)
    _, a, b = np.intersect1d(*rows, return_indices=True)
    if method in ("nestmap", "fresh"):
        old = HNNE().fit(A)
        start = time.perf_counter()
        fresh = HNNE().fit(B, like=old if method == "nestmap" else None)
        P, Q = old.embedding_, fresh.embedding_
        seconds = time.perf_counter() - start
    else:
        P, Q, seconds = by_peer(str(python), FOLLOW[method], dict(A=A, B=B, a=a, b=b))
    return {**quality(B, Q, y[rows[1]]), **moves(P[a], Q[b]), "seconds": seconds}


def moves(before: Any, after: Any) -> dict[str, float]:
    """How far rows have moved, as shares of the spread, after the new map was turned onto the old
    one.
    """
    from nestmap.method.layout.similarity import align, spread

    before, after = before.astype(np.float64), after.astype(np.float64)
    moved = np.sqrt(((align(after, before)(after) - before) ** 2).sum(axis=1)) / spread(before)
    return {"median": float(np.median(moved)), "p95": float(np.quantile(moved, 0.95))}


def measure_draws(X: Any, y: Any, method: str, python: str | None) -> dict[str, Any]:
    """What `like` changes, per draw."""
    lines = [measure_draw(X, y, seed) for seed in range(1, _DRAWS + 1)]
    return {key: [line[key] for line in lines] for key in lines[0]}


def measure_draw(X: Any, y: Any, seed: int) -> dict[str, float]:
    """Scores with `like` less those of a fresh fit; the moves of both."""
    from nestmap import HNNE

    order = np.random.default_rng(seed).permutation(len(X))
    first, then = (order[some] for some in parts_of(X, y, "refit"))
    _, a, b = np.intersect1d(first, then, return_indices=True)
    old, fresh = HNNE().fit(X[first]), HNNE().fit(X[then])
    after = HNNE().fit(X[then], like=old)
    ours, theirs = (quality(X[then], model.embedding_, y[then]) for model in (after, fresh))
    line = {key: ours[key] - theirs[key] for key in ours} | moves(
        old.embedding_[a], after.embedding_[b]
    )
    return line | {"fresh median": moves(old.embedding_[a], fresh.embedding_[b])["median"]}


def measure_speed() -> dict[str, Any]:
    from nestmap import HNNE

    rng = np.random.default_rng(0)
    centres = rng.normal(size=(1000, 28)) * 4
    X = (centres[rng.integers(0, 1000, 1_010_000)] + rng.normal(size=(1_010_000, 28))).astype(
        np.float32
    )
    start = time.perf_counter()
    model = HNNE().fit(X[:1_000_000])
    found = {"fit": time.perf_counter() - start}
    model.transform(X[-10:])  # what is built when first asked for
    for n in (1000, 10_000):
        start = time.perf_counter()
        model.extend(X[1_000_000 : 1_000_000 + n])
        found[str(n)] = time.perf_counter() - start
    return found


def measure(args: argparse.Namespace, name: str, part: str, method: str) -> dict[str, Any]:
    if part == "speed":
        return measure_speed()
    does = {
        "extend": measure_extend,
        "class": measure_class,
        "refit": measure_refit,
        "draws": measure_draws,
    }[part]
    return does(*load(args.data, name), method, args.peer_python)


def jobs(args: argparse.Namespace) -> Iterator[tuple[str, str, str]]:
    for part, methods in METHODS.items():
        for name in args.names if part != "speed" else ["generated"]:
            for method in methods:
                if args.peer_python or method not in ("umap", "opentsne"):
                    yield name, part, method


def read(path: Path) -> dict[tuple[str, str, str], dict[str, Any]]:
    lines = path.read_text().splitlines() if path.exists() else []
    return {(r["data"], r["part"], r["method"]): r for r in map(json.loads, lines)}


def summary(results: dict[tuple[str, str, str], dict[str, Any]]) -> dict[str, Any]:
    """What docs/evidence/growth.json holds, from all lines at hand."""
    found: dict[str, Any] = {part: [] for part in ("extend", "class", "refit", "draws")}
    for part, methods in METHODS.items():
        for name in DATA if part != "speed" else ():
            for method in methods:
                if (r := results.get((name, part, method))) is not None:
                    found[part].append({"data": NAMES[name], **_line(part, method, r)})
    speed = results.get(("generated", "speed", "nestmap"))
    return found | ({"speed": speed} if speed is not None else {})


def _line(part: str, method: str, r: dict[str, Any]) -> dict[str, Any]:
    """One line of a table."""
    if part == "draws":
        keys = {"median": "median", "fresh": "fresh median"}
        keys |= {key: key for key in ("trust", "recall", "accuracy")}
        return {key: _mean_and_error(r[name]) for key, name in keys.items()}
    title = "AlignedUMAP" if (part, method) == ("refit", "umap") else TITLES[method]
    if part == "class":
        lists = {key: r.get(key, []) for key in ("shares", "purities")}
        return {"method": title, "beside": r["beside"], **lists}
    keys = ("median", "p95", "trust", "recall", "accuracy") if part == "refit" else _QUALITY
    return {"method": title, **{key: r[key] for key in keys}}


def _mean_and_error(values: list[float]) -> list[float]:
    """The mean, and its standard error."""
    return [float(np.mean(values)), float(np.std(values, ddof=1) / len(values) ** 0.5)]


_QUALITY = ("trust", "recall", "accuracy")


def draw(args: argparse.Namespace) -> None:
    """Pictures of docs/evidence/growth.md: an old map and two new ones; a class that comes later."""
    import matplotlib.pyplot as plt

    import nestmap

    X, y = load(args.data, "usps")
    a, b = parts_of(X, y, "refit")
    old = nestmap.HNNE().fit(X[a])
    models = {
        "old": (old, y[a]),
        "a tenth replaced, like=old": (nestmap.HNNE().fit(X[b], like=old), y[b]),
        "a tenth replaced, a fresh fit": (nestmap.HNNE().fit(X[b]), y[b]),
    }
    _draw_maps(models, "living_like.png")
    a, b = parts_of(X, y, "class")
    before = nestmap.HNNE().fit(X[a])
    after = before.extend(X[b])
    _draw_maps(
        {
            "without the threes": (before, y[a]),
            "extended by the threes (black)": (after, np.append(y[a], y[b])),
        },
        "living_class.png",
        dark=np.arange(len(X)) >= len(a),
    )
    plt.close("all")


def _draw_maps(models: dict[str, tuple[Any, Any]], name: str, dark: Any = None) -> None:
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, len(models), figsize=(4.4 * len(models), 4.7))
    figure.subplots_adjust(left=0.01, right=0.99, bottom=0.01, top=0.92, wspace=0.03)
    places = np.concatenate([model.embedding_ for model, _ in models.values()])
    for axis, (title, (model, y)) in zip(axes, models.items(), strict=True):
        kinds = np.unique(y, return_inverse=True)[1] if dark is None else np.asarray(y, dtype=int)
        axis.scatter(*model.embedding_.T, c=plt.get_cmap("tab10")(kinds), s=1.2, linewidths=0)
        if dark is not None and len(y) == len(dark):
            axis.scatter(*model.embedding_[dark].T, c="black", s=1.6, linewidths=0)
        axis.set(title=title, xticks=[], yticks=[], aspect="equal")
        axis.set(
            xlim=(places[:, 0].min(), places[:, 0].max()),
            ylim=(places[:, 1].min(), places[:, 1].max()),
        )
    figure.savefig(IMAGES / name, dpi=72)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", default=["digits"])
    parser.add_argument("--data", type=Path, default=Path())
    parser.add_argument("--work", type=Path, default=Path(".bench"))
    parser.add_argument(
        "--peer-python", metavar="PYTHON", help="an interpreter with umap-learn and openTSNE"
    )
    parser.add_argument("--parts", nargs="*", choices=METHODS, default=[*METHODS])
    parser.add_argument(
        "--pictures", action="store_true", help="draw those of docs/evidence/growth.md, of USPS"
    )
    parser.add_argument(
        "--one", nargs=3, metavar=("DATA", "PART", "METHOD"), help="measure this here, and print it"
    )
    args = parser.parse_args()
    args.work.mkdir(parents=True, exist_ok=True)
    path = args.work / "living.jsonl"
    if args.one:
        record = dict(zip(("data", "part", "method"), args.one, strict=True)) | measure(
            args, *args.one
        )
        with path.open("a") as file:
            file.write(json.dumps(record) + "\n")
        print(json.dumps(record))
        return
    for job in jobs(args):
        if job[1] in args.parts and job not in read(path):
            options = ["--data", str(args.data), "--work", str(args.work)]
            options += ["--peer-python", args.peer_python] if args.peer_python else []
            done = subprocess.run(
                [sys.executable, "-m", "benchmarks.living", *options, "--one", *job], check=False
            )
            if done.returncode:
                print(f"{' '.join(job)} failed", file=sys.stderr)
    if args.pictures:
        draw(args)


if __name__ == "__main__":
    main()
