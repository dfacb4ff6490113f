"""`python -m tests.fuzz.folders --cases 500 --seed 7`: runs of `nestmap fit` with something wrong
in them.

Each command that reads a run does what it was asked for, or ends with one sentence and exit code 3.
A case is named by seed and number: `--seed 7 --case 123` tells what it does.
"""

from __future__ import annotations

import io
import json
import shutil
import sys
import tempfile
import warnings
from contextlib import redirect_stderr, redirect_stdout
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from nestmap.app.cli import FILES, USAGE, main

from .hostile import HostileCase, complaint, run_cases
from .mutations import change_bytes, change_json, mutate, pick, to_json

_FILES = ("run.json",) * 6 + (
    *("map-2d.nestmap", "rows.nestmap", "rows.nestmap", "names.nestmap"),
    *("trust.nestmap", "images.nestmap", "names.json", "evidence.nestmap", "namer.json"),
)
# Arguments that do not fit a run, of which nothing contradicts itself: they may be wrong as well.
_OTHERWISE = ("dims=", "this run has", "columns", "missing", "has none of", "--color", "features")


@cache
def good_run() -> dict[str, bytes]:
    """The files of a run, and data to put into its map."""
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 9, size=(40, 4))
    words = ("wool", "silk", "tin", "oak", "sea")
    lines = [
        f"r{i},{','.join(map(str, row))},{words[i % 5]},{i % 7 / 2}"
        for i, row in enumerate(rows.tolist())
    ]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        text = "\n".join(["who,a,b,c,d,kind,price", *lines]) + "\n"
        (folder / "data.csv").write_text(text)
        options = [
            "--id",
            "who",
            "--label",
            "price",
            "--dims",
            "2,3",
            "--trust",
            "--images",
            "2x2",
            "--quiet",
        ]
        options += ["--threads", "1"]
        assert (
            main(
                [
                    "fit",
                    str(folder / "data.csv"),
                    "-o",
                    str(folder / "run"),
                    "--vectors",
                    "a,b,c,d",
                    *options,
                ]
            )
            == 0
        )
        (folder / "run" / "names.json").write_text(json.dumps({"0": {"0": "mine"}}))
        given = {
            "model": "llama3",
            "names": {"0": {"1": "given"}},
            "carried": {"0": {"1": "given"}},
        }
        (folder / "run" / "namer.json").write_text(json.dumps(given))
        found = {path.name: path.read_bytes() for path in (folder / "run").iterdir()}
        return {**found, "../data.csv": text.encode()}


def make_case(seed: int, number: int) -> HostileCase:
    """The same case for the same numbers; `source` is the file that is wrong."""
    rng = np.random.default_rng([seed, number])
    name = pick(rng, _FILES)
    data = good_run()[name]
    if name.endswith(".nestmap"):
        told, data = mutate(rng, data)
    elif rng.random() < 0.1:
        told, data = change_bytes(rng, data)
    else:
        record = json.loads(data)
        told = ", ".join([change_json(rng, record) for _ in range(pick(rng, (1, 1, 1, 2)))])
        data = to_json(record).encode()
    return HostileCase(number, name, told, data)


def commands(run: Path, number: int) -> list[list[str]]:
    """Command lines that read a run: the quick ones, and two of the others in turn."""
    out, data = run.parent / "out", run.parent / "data.csv"
    slow = [
        ["plot", str(run), "-o", f"{out}.png", "--dpi", "30"],
        ["plot", str(run), "-o", f"{out}.svg", "--color", "price", "--labels", "kind"],
        ["plot", str(run), "-o", f"{out}-3.png", "--dims", "3", "--dpi", "30"],
        ["plot", str(run), "-o", f"{out}-tree.png", "--tree", "--dpi", "30"],
        ["export", str(run), "-o", f"{out}-site"],
        ["score", str(data), str(run), "--quiet"],
        ["export", str(run), "-o", f"{out}.parquet"],
        ["export", str(run), "-o", f"{out}.npz"],
    ]
    quick = [
        ["info", str(run)],
        ["info", str(run), "--json"],
        ["describe", str(run)],
        ["labels", str(run), "-o", f"{out}-labels.csv"],
        ["labels", str(run), "-o", f"{out}-7.npy", "--clusters", "7"],
        ["export", str(run), "-o", f"{out}.csv"],
        ["transform", str(run), str(data), "-o", f"{out}-new.csv"],
        ["export", str(run), "-o", f"{out}3.tsv", "--dims", "3"],
    ]
    return [
        *quick,
        slow[number % len(slow)],
        slow[(number + 1 + number // len(slow) % (len(slow) - 1)) % len(slow)],
    ]


def run_case(case: HostileCase) -> list[tuple[str, str]]:
    """All that commands do wrong on a run."""
    found = []
    with tempfile.TemporaryDirectory() as name, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        run = Path(name) / "run"
        run.mkdir()
        for file, data in good_run().items():
            (run / file).write_bytes(case.data if file == case.source else data)
        for command in commands(run, case.number):
            told = run_command(command)
            found += [(f"{command[0]}: {told[0]}", f"{case}: {told[1]}")] if told else []
        shutil.rmtree(run)
    return found


def run_command(command: list[str]) -> tuple[str, str] | None:
    """What is wrong with how a command ends."""
    out, error = (
        io.TextIOWrapper(io.BytesIO(), "utf-8"),
        io.StringIO(),
    )  # standard output refuses what is no text
    try:
        with redirect_stdout(out), redirect_stderr(error):
            code: Any = main(command)
    except SystemExit as end:
        code = end.code
    except Exception as problem:
        return complaint(problem) or f"{type(problem).__name__}: exit code 1", str(problem)
    lines = [line for line in error.getvalue().splitlines() if line.startswith("nestmap:")]
    text = " ".join(lines)
    if code == USAGE and any(word in text for word in _OTHERWISE):
        return None
    if code not in (0, FILES):
        return f"exit code {code}", text
    if code and (len(lines) != 1 or len(text.split()) < 4):
        return "no sentence", error.getvalue()
    return None


if __name__ == "__main__":
    sys.exit(run_cases(__doc__ or "", make_case, run_case))
