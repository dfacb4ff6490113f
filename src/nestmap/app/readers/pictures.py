"""Folders of pictures as rows of pixels, through Pillow."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

import numpy as np

from ...core.arrays import Array, blocks
from ...core.progress import Progress
from ...core.threads import map_blocks, resolve_n_jobs
from ...errors import FileFormatError
from .choice import Choice, shorten
from .hdf import with_id
from .table import Growing, Table, require

if TYPE_CHECKING:
    from PIL.Image import Image

SUFFIXES = (".png", ".jpg", ".jpeg", ".webp", ".bmp", ".tif", ".tiff", ".gif")
_SIDE = 32  # pixels of the longer side of a picture that is mapped
_AT_ONCE = 256  # pictures that are decoded before their pixels are put away
_TURNED = (5, 6, 7, 8)  # values of the orientation in EXIF that exchange width and height
_EXIF_ORIENTATION = 0x0112


@dataclass(frozen=True)
class _Found:
    """Files below a folder, by their path in it: pictures, and others."""

    pictures: list[str]
    others: list[str]


def read_pictures(path: Path, choice: Choice, progress: Progress) -> Table:
    """The pictures in a folder and in the folders below it, as rows of pixels of one size.

    Pictures of one size keep their proportions; others become squares. Colours are kept where any
    picture has some. Rows are named by their files, in the order of the names; the folder below
    is a column where there are several. Pictures that cannot be read are left out.
    """
    require("PIL.Image", path, "pillow")
    found = _find_files(path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of odd tags and of large pictures
        shape = choice.pictures or _common_shape(path, found.pictures)
        pixels = Growing()
        broken: dict[str, str] = {}
        for done, part in _in_blocks(path, found.pictures, shape):
            good = [each for each in part if isinstance(each, np.ndarray)]
            names = found.pictures[done : done + len(part)]
            broken |= {
                name: each for name, each in zip(names, part, strict=True) if isinstance(each, str)
            }
            if good:
                pixels.add(np.stack(good))
            progress.share((done + len(part)) / len(found.pictures))
    if not pixels.rows:
        name, error = next(iter(broken.items()))
        raise FileFormatError(f"{path}: none of its pictures can be read; {name}: {error}")
    names = [name for name in found.pictures if name not in broken]
    X = pixels.array()
    if choice.pictures is None and _is_grey(X):
        X = _one_channel(X)
    return _table(path, choice, X, names, _left_out(broken, found.others))


def _table(
    path: Path, choice: Choice, X: Array, names: Sequence[str], left_out: dict[str, str]
) -> Table:
    height, width = X.shape[1:3]
    kind = "in colour" if X.ndim == 4 else "in grey"
    source = f"{path} (pictures as {height} x {width} pixels {kind})"
    folders = [str(PurePosixPath(name).parent) for name in names]
    metadata = {"folder": np.array(folders, dtype=object)} if len(set(folders)) > 1 else {}
    table = Table(
        X.reshape(len(X), -1),
        None,
        np.array(names, dtype=object),
        metadata,
        source,
        left_out,
        label="folder" if metadata else None,
        pictures=X.shape[1:],
    )
    return with_id(table, choice)


def _left_out(broken: dict[str, str], others: Sequence[str]) -> dict[str, str]:
    told = {}
    if broken:
        pictures = "1 picture" if len(broken) == 1 else f"{len(broken):,} pictures"
        told[pictures] = f"cannot be read: {shorten([*broken])}"
    if others:
        files = "1 file" if len(others) == 1 else f"{len(others):,} files"
        told[files] = "no pictures"
    return told


def _find_files(path: Path) -> _Found:
    """All files but hidden ones, in the order of their names."""
    pictures: list[str] = []
    others: list[str] = []
    for folder, inside, files in os.walk(path):
        inside[:] = [name for name in inside if not name.startswith((".", "__MACOSX"))]
        for name in files:
            if not name.startswith("."):
                below = (Path(folder) / name).relative_to(path).as_posix()
                (pictures if name.lower().endswith(SUFFIXES) else others).append(below)
    if not pictures:
        told = f"; it has {shorten(sorted(others))}: name one file" if others else ", nor others"
        raise FileFormatError(f"{path} is a folder without pictures ({', '.join(SUFFIXES)}){told}")
    return _Found(sorted(pictures), sorted(others))


def _common_shape(path: Path, names: Sequence[str]) -> tuple[int, ...]:
    """Height and width of all, by the first lines of the files; and three colours."""
    from PIL import Image

    sizes: set[tuple[int, int]] = set()
    for name in names:
        try:
            with Image.open(path / name) as image:
                turned = image.getexif().get(_EXIF_ORIENTATION) in _TURNED
                sizes.add(image.size[::-1] if not turned else image.size)
        except Exception:  # told when its pixels are read
            continue
        if len(sizes) > 1:
            return _SIDE, _SIDE, 3
    sides = next(iter(sizes), (_SIDE, _SIDE))
    share = min(1.0, _SIDE / max(sides))
    return max(1, round(sides[0] * share)), max(1, round(sides[1] * share)), 3


def _in_blocks(
    path: Path, names: Sequence[str], shape: tuple[int, ...]
) -> Iterator[tuple[int, list[Array | str]]]:
    """Pixels of the pictures, or what is wrong with them, block by block."""

    def read(name: str) -> Array | str:
        try:
            return _read_pixels(path / name, shape)
        except Exception as error:  # Pillow raises many kinds
            return " ".join(f"{error or type(error).__name__}".split())

    n_threads = resolve_n_jobs(None)
    for part in blocks(len(names), 1, _AT_ONCE):
        yield part.start, map_blocks(read, names[part], n_threads)


def _read_pixels(path: Path, shape: tuple[int, ...]) -> Array:
    """A picture as bytes of this shape: upright, what is transparent is white."""
    from PIL import Image, ImageOps

    height, width = shape[:2]
    with Image.open(path) as opened:
        opened.draft(None, (2 * width, 2 * height))  # JPEG files are decoded smaller
        image = _eight_bits(ImageOps.exif_transpose(opened))
    small = image.resize((width, height), Image.Resampling.BILINEAR)
    if small.mode == "RGBA":
        white = Image.new("RGBA", small.size, "white")
        small = Image.alpha_composite(white, small).convert("RGB")
    return np.asarray(small.convert("RGB" if shape[2:] else "L"))


def _eight_bits(image: Image) -> Image:
    """Bytes per colour, with transparency where there is some."""
    from PIL import Image as images

    if image.mode in ("I", "F") or image.mode.startswith("I;"):
        values = np.asarray(image, dtype=np.float64)
        low = float(values.min()) if image.mode == "F" else 0.0
        high = float(values.max()) if image.mode == "F" else 65535.0
        share = np.clip((values - low) / ((high - low) or 1.0), 0, 1)
        return images.fromarray(np.rint(share * 255).astype(np.uint8))
    is_clear = "A" in image.mode or "transparency" in image.info
    return image.convert("RGBA" if is_clear else "L" if image.mode in ("1", "L") else "RGB")


def _is_grey(X: Array) -> bool:
    return all(
        bool((X[part, ..., :1] == X[part, ..., 1:]).all()) for part in blocks(len(X), X[0].size)
    )


def _one_channel(X: Array) -> Any:
    grey = Growing()
    for part in blocks(len(X), X[0].size):
        grey.add(np.ascontiguousarray(X[part, ..., 0]))
    return grey.array()
