"""What the recall of first neighbours does to the map: scores by target, and their table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.large.embeddings import embedding_labels
from benchmarks.large.plan import MAP_DATA, MAP_TARGETS, Job, map_label
from nestmap.metrics import map_quality

SCORES = ("trustworthiness", "recall10", "random_triplets", "fill", "accuracy")


def score_map(X: Any, path: Path, job: Job) -> dict[str, float]:
    """Scores of a map of the rows X, by some of them."""
    y = embedding_labels(len(X)) if job.data == "embeddings" else None
    quality = map_quality(np.asarray(X), np.load(path), y, metric=job.metric, n_sample=job.scored)
    scores = {
        "trustworthiness": quality.trustworthiness.value,
        "recall10": quality.neighborhood_recall.value,
        "random_triplets": quality.random_triplets.value,
        "fill": quality.fill,
    }
    return scores | ({"accuracy": quality.knn_accuracy[1]} if quality.knn_accuracy else {})


def lines(rows: dict[str, dict[str, Any]]) -> list[list[str]]:
    """A line per data set and target, of what was measured."""
    found = []
    for data in MAP_DATA:
        for target in (*MAP_TARGETS, None):
            row = rows.get(f"fit {data} nestmap {map_label(target)}")
            if row is None or row["status"] != "ok":
                continue
            reached = [f"{report['recall']:.3f}" for report in row["reports"][:1]]
            scores = [f"{row[name]:.4f}" if name in row else "" for name in SCORES]
            name, asked = f"{data}, {row['n_rows']:,} × {row['n_columns']}", str(target or "exact")
            found.append([name, asked, *reached, f"{row['seconds']:.1f} s", *scores])
    return found
