"""Write the model files that nestmap must load: `PYTHONPATH=src python tests/make_models.py`.

Only for a new version of the format.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.datasets import load_iris

from nestmap import FINCH, HNNE, Communities, Descent, Islands
from nestmap.model.files.model import VERSION

FOLDER = Path(__file__).parent / "models"
ROWS, NEW = load_iris().data[::3].astype(np.float32), load_iris().data[1::9].astype(np.float32)
MODELS: dict[str, tuple[Any, Any, Any]] = {
    "islands-rows": (HNNE(), ROWS, NEW),
    "islands-leaves-cosine": (HNNE(layout=Islands(detail="leaves"), metric="cosine"), ROWS, NEW),
    "descent-3d": (HNNE(3, layout="descent"), ROWS, NEW),
    "mosaic-mahalanobis": (HNNE(layout="mosaic", metric="mahalanobis"), ROWS, NEW),
    "global-sparse": (
        HNNE(layout=Descent(arrangement="global"), metric="manhattan"),
        sparse.csr_matrix(ROWS),
        NEW,
    ),
    "neighbor-canberra": (HNNE(new_points="neighbor", metric="canberra"), ROWS, NEW),
    "precomputed": (HNNE(metric="precomputed"), cdist(ROWS, ROWS), cdist(NEW, ROWS)),
    "finch": (FINCH(n_clusters=4), ROWS, NEW),
    "first-neighbors": (HNNE(hierarchy="first_neighbors"), ROWS, NEW),
    "communities": (Communities(noise=0.6), ROWS, NEW),
}


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    for name, (model, rows, new) in MODELS.items():
        model.set_params(n_jobs=1).fit(rows).save(FOLDER / f"v{VERSION}-{name}.nestmap")
        found = {
            "labels": model.labels_.astype(np.int8),
            "predicted": model.predict(new).astype(np.int8),
        }
        if isinstance(model, HNNE):
            found["placed"] = model.transform(new)
        if model.hierarchy_.strengths is not None:
            found["membership"] = model.hierarchy_.membership(0)
        np.savez(FOLDER / f"v{VERSION}-{name}.npz", **found)


if __name__ == "__main__":
    main()
