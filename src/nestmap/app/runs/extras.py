"""What a run may keep beside its maps: thumbnails, true neighbours and scores of the rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ...core.arrays import Array, blocks
from ...errors import ModelFileError
from ...model.files.container import read_container, write_container
from ...model.files.values import Reader, Writer, check_text
from ...views.explore.content import check_neighbors
from ...views.explore.images import check_images
from ...views.explore.trust import Trust
from .record import VERSION

TRUST = "trust.nestmap"
IMAGES = "images.nestmap"


def write_trust(folder: Path, trust: Trust) -> None:
    """Keep true neighbours and scores."""
    writer = Writer()
    writer.put("neighbors", trust.neighbors)
    for i, scores in enumerate(trust.scores.values()):
        writer.put(f"scores/{i}", scores.astype(np.float32))
    document = {"scores": list(trust.scores), "arrays": writer.names}
    write_container(folder / TRUST, "nestmap-trust", VERSION, document, writer.arrays)


def read_trust(folder: Path, n_rows: int) -> Trust | None:
    """What was kept of it; None if it was not asked for."""
    path = folder / TRUST
    if not path.exists():
        return None
    stored = read_container(path, "nestmap-trust", VERSION)
    try:
        reader = Reader(stored)
        names = reader.get(reader.document, "scores", list)
        scores = {
            check_text(str(name), "scores"): reader.take(f"scores/{i}", ("f4",), (n_rows,))
            for i, name in enumerate(names)
        }
        neighbors = check_neighbors(reader.decode({"array": "neighbors"}), n_rows)
    except ValueError as error:
        raise ModelFileError(f"{path}: {error}") from error
    return Trust(neighbors, scores)


def check_pixels(X: Any, shape: tuple[int, ...]) -> None:
    """Raise where rows are no pictures of that shape."""
    if X.shape[1] != int(np.prod(shape)):
        shown = "x".join(map(str, shape))
        raise ValueError(
            f"--images {shown}: makes {int(np.prod(shape))} pixels, "
            f"but rows have {X.shape[1]} columns"
        )


def write_images(folder: Path, X: Any, shape: tuple[int, ...]) -> None:
    """Keep rows as pictures of bytes: the smallest value black, the largest white."""
    n = X.shape[0]
    pixels = np.empty((n, int(np.prod(shape))), dtype=np.uint8)
    parts = blocks(n, pixels.shape[1])
    low = min(float(_dense(X[part]).min()) for part in parts)
    high = max(float(_dense(X[part]).max()) for part in parts)
    for part in parts:
        pixels[part] = np.rint((_dense(X[part]) - low) * (255 / (high - low or 1.0)))
    arrays = {"pixels": pixels.reshape(n, *shape)}
    write_container(folder / IMAGES, "nestmap-images", VERSION, {}, arrays)


def _dense(rows: Any) -> Array:
    return np.asarray(rows.toarray() if hasattr(rows, "toarray") else rows, dtype=np.float64)


def read_images(folder: Path, n_rows: int) -> Array | None:
    """Thumbnails of the rows; None if there are none."""
    path = folder / IMAGES
    if not path.exists():
        return None
    pixels = read_container(path, "nestmap-images", VERSION).arrays.get("pixels")
    if pixels is None or pixels.dtype != np.uint8 or pixels.shape[:1] != (n_rows,):
        raise ModelFileError(f"{path} does not hold a picture for each of the {n_rows} rows")
    try:
        return check_images(pixels, n_rows)
    except ValueError as error:
        raise ModelFileError(f"{path}: {error}") from error
