"""Pages of the documentation as programs: tests run them, `python -m tools.pages [PAGE …]` keeps
their pictures.

A page (README.md, docs/**/*.md) is run from top to bottom, in one namespace and in a folder of its
own:

- blocks marked python are executed;
- in blocks marked bash, or not marked, lines that call the command nestmap are run (others, such as
pip, are not);
- what stands in `<!-- setup: … -->` is Python that readers do not see: small data in place of their
own;
- `<!-- not run: why -->` leaves out the next block.

Names and files that pages take for granted, such as X and cars.csv, are those of `stand_ins`.
"""

from __future__ import annotations

import argparse
import gzip
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).parent.parent
IMAGES = ROOT / "docs" / "images"
LARGEST = 300_000  # bytes of a picture

_PIECE = re.compile(
    r"<!-- setup:\n(?P<setup>.*?)-->|<!-- not run: (?P<reason>.*?) -->"
    r"|^```(?P<kind>[a-z]*)(?P<more>[^\n]*)\n(?P<code>.*?)^```$",
    re.S | re.M,
)
_PICTURE = re.compile(r"images/([\w-]+\.png)")
_SHELL = ("", "bash", "sh")


@dataclass(frozen=True)
class Piece:
    """Something of a page that is run: 'python', 'shell', or 'not run' with its reason."""

    kind: str
    text: str
    line: int


def all_pages() -> list[Path]:
    """README.md and the pages of the site."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def read_pieces(page: Path) -> Iterator[Piece]:
    """What is run of a page, in order, and what is left out for a reason."""
    text, reason = page.read_text(), None
    for found in _PIECE.finditer(text):
        line = text.count("\n", 0, found.start()) + 2  # of the first line inside
        if found["setup"] is not None:
            yield Piece("python", found["setup"], line)
        elif found["reason"] is not None:
            reason = found["reason"]
        elif reason is not None:
            yield Piece("not run", reason, line)
            reason = None
        elif found["kind"] == "python":
            yield Piece("python", found["code"], line)
        elif (
            found["kind"] in _SHELL
            and not found["more"]
            and (commands := _nestmap_commands(found["code"]))
        ):
            yield Piece("shell", "\n".join(commands), line)


def _nestmap_commands(code: str) -> list[str]:
    lines = code.replace("\\\n", " ").split("\n")
    return [line for line in lines if re.match(r"nestmap |[^#]*\| *nestmap ", line)]


def run_page(page: Path, folder: Path) -> dict[str, Any]:
    """Run a page in a folder, which must be the current one; the namespace that it leaves."""
    write_files(folder)
    space = stand_ins()
    for piece in read_pieces(page):
        if piece.kind == "python":
            code = compile(
                "\n" * (piece.line - 1) + piece.text, str(page), "exec"
            )  # so that errors name the line
            exec(code, space)
            _close_figures()
        elif piece.kind == "shell":
            for command in piece.text.split("\n"):
                _run_command(command, f"{page.name}, line {piece.line}")
    return space


def _run_command(line: str, place: str) -> None:
    """A call of nestmap: here, or by a shell where it reads from a pipe."""
    from nestmap.app.cli import main

    if "|" in line:
        line = line.replace("nestmap ", f"{shlex.quote(sys.executable)} -m nestmap ")
        code = subprocess.run(["bash", "-o", "pipefail", "-c", line], check=False).returncode
    else:
        code = main(shlex.split(line, comments=True)[1:])
    if code:
        raise RuntimeError(f"{place}: exit code {code} of: {line}")


def _close_figures() -> None:
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


def stand_ins() -> dict[str, Any]:
    """Names that pages use as if the reader had them: X are rows, y their classes, df columns
    beside them.

    X_new are rows of the same kind, frame is a table of numbers and text.
    """
    import pandas as pd
    from sklearn.datasets import load_digits

    import nestmap
    from nestmap.metrics import map_quality

    X, y = load_digits(return_X_y=True)
    df = pd.DataFrame({"digit": y[:500].astype(str), "ink": X[:500].sum(axis=1)})
    frame = pd.concat([df, pd.DataFrame(X[:500, 16:48]).add_prefix("pixel")], axis=1)
    return {
        "__name__": "page",
        "np": np,
        "pd": pd,
        "nestmap": nestmap,
        "HNNE": nestmap.HNNE,
        "FINCH": nestmap.FINCH,
        "map_quality": map_quality,
        "X": X[:500],
        "y": y[:500],
        "df": df,
        "X_new": X[500:550],
        "frame": frame,
    }


def write_files(folder: Path) -> None:
    """Files that pages use as if the reader had them."""
    import pandas as pd

    space = stand_ins()
    np.save(folder / "rows.npy", space["X"].astype(np.float32))
    np.save(folder / "new_rows.npy", space["X_new"].astype(np.float32))
    lots = np.random.RandomState(0)
    makers, kinds = ("Ada", "Bell", "Curie"), ("small", "family", "sport")
    lines = []
    for i in range(80):
        kind = i % 3
        numbers = np.array(
            [(900, 45, 3.4), (1500, 190, 4.6), (1300, 310, 4.2)][kind]
        ) * lots.normal(1, 0.05, 3)
        lines.append(
            f"{makers[i % 3]} {kinds[kind]} {i},{makers[i % 3]},"
            + ",".join(f"{v:.2f}" for v in numbers)
        )
    table = "\n".join(["name,maker,weight,power,length", *lines]) + "\n"
    (folder / "cars.csv").write_text(table)
    (folder / "new.csv").write_text("\n".join(table.split("\n")[:6]) + "\n")
    pixels = (
        pd.DataFrame(space["X"][:200].astype(int))
        .add_prefix("pixel")
        .assign(digit=space["y"][:200])
    )
    pixels.to_csv(folder / "digits.csv", index=False)
    with gzip.open(folder / "rows.csv.gz", "wt") as file:
        file.write(table)
    words = (
        "good pizza and fast service",
        "slow service and cold pizza",
        "quiet room near the station",
    )
    reviews = [
        f'{i},"{words[i % 3]} {"very " * (i % 4)}{words[(i // 3) % 3].split()[0]}"'
        for i in range(60)
    ]
    (folder / "reviews.csv").write_text("\n".join(["number,review", *reviews]) + "\n")


def keep_pictures(page: Path) -> list[Path]:
    """Run a page and keep the pictures that it draws and shows."""
    wanted = sorted(set(_PICTURE.findall(page.read_text())))
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(
            [sys.executable, "-m", "tools.pages", "--in", folder, str(page)], check=True, cwd=ROOT
        )
        drawn = [path for name in wanted if (path := Path(folder, name)).exists()]
        return [shrink_picture(path, IMAGES / path.name) for path in drawn]


def shrink_picture(source: Path, target: Path) -> Path:
    """A png of few colours: pictures of maps are flat, and a page should load at once."""
    from PIL import Image

    picture = Image.open(source).convert("RGB")
    for colours in (256, 128, 64, 32):
        temporary = target.with_name(f".{target.name}")
        picture.quantize(colours, dither=Image.Dither.NONE).save(
            temporary, format="PNG", optimize=True
        )
        if temporary.stat().st_size <= LARGEST:
            break
    temporary.replace(target)
    return target


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument(
        "pages", nargs="*", type=Path, help="default: all that draw the pictures they show"
    )
    parser.add_argument("--in", dest="folder", type=Path, help="only run one page, in this folder")
    options = parser.parse_args()
    import matplotlib

    matplotlib.use("Agg")
    if options.folder:
        import os

        page = options.pages[0].resolve()
        os.chdir(options.folder)
        run_page(page, Path.cwd())
        return
    for page in options.pages or [page for page in all_pages() if "savefig" in page.read_text()]:
        for picture in keep_pictures(page.resolve()):
            print(f"{picture.relative_to(ROOT)}  {picture.stat().st_size // 1000} kB")


if __name__ == "__main__":
    main()
