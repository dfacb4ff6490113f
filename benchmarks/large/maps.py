"""What the recall of first neighbours does to the map: scores by target."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.large.embeddings import embedding_labels
from benchmarks.large.plan import Job
from nestmap.metrics import map_quality


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
