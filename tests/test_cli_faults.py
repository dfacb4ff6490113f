"""The command `nestmap` where things go wrong: streams, names that clash, runs that are replaced,
odd texts.
"""

from __future__ import annotations

import csv
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import LIMIT, digits

from nestmap.app.cli import main
from nestmap.app.cli.words import in_options
from nestmap.app.runs.folder import RunFolder
from nestmap.readers import read_table

X = digits()[:60]
NASTY = [
    "a\rb",
    "two\nlines",
    'say "x"',
    "a,b",
    "tab\there",
    "=1+1",
    "-5 below",
    "@who",
    "+3",
    "plain",
]


def here(*arguments: Any, code: int = 0) -> None:
    assert main([*map(str, arguments)]) == code


def write_table(path: Path, columns: dict[str, list[str]], rows: np.ndarray = X) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, quoting=csv.QUOTE_NONNUMERIC)
        writer.writerow([*(f"p{i}" for i in range(rows.shape[1])), *columns])
        for i, row in enumerate(rows.tolist()):
            writer.writerow([*row, *(values[i % len(values)] for values in columns.values())])
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run whose metadata have the names of our own columns, and texts of all kinds."""
    folder = tmp_path_factory.mktemp("faults")
    names = ("x", "x_", "cluster", "cluster_", "name", "name_", "level_0", "y")
    columns = {name: [f"{name} {i}" for i in range(7)] for name in names} | {"text": NASTY}
    data = write_table(folder / "rows.csv", {"id": [f"r{i}" for i in range(60)], **columns})
    here("fit", data, "-o", folder / "run", "--id", "id", "--quiet")
    return folder


# -- streams
# -------------------------------------------------------------------------------------------


def shell(command: str, folder: Path, code: int) -> subprocess.CompletedProcess[str]:
    """A line of sh, as a new user's shell would run it: without PYTHONUNBUFFERED."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    environment["NESTMAP"] = f"{sys.executable} -W error -m nestmap"
    done = subprocess.run(
        ["sh", "-c", command],
        cwd=folder,
        capture_output=True,
        text=True,
        env=environment,
        check=False,
        timeout=LIMIT,
    )
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr and "Exception ignored" not in done.stderr
    return done


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="redirections of sh")
@pytest.mark.parametrize(
    "command, code, said",
    [
        ("$NESTMAP info run >&-", 3, "standard output is closed"),
        ("$NESTMAP fit rows.csv -o new >&-", 3, "standard output is closed"),
        ("$NESTMAP labels run >&-", 3, "standard output is closed"),
        ("$NESTMAP fit - -o new <&-", 3, "standard input is closed"),
        ("$NESTMAP info run 2>&-", 0, ""),
        ("$NESTMAP info nothing 2>&-", 3, ""),
        ("$NESTMAP labels run -o labels.csv --force --quiet >&- 2>&- <&-", 0, ""),
        (
            "$NESTMAP info run >/dev/full",
            3,
            "standard output cannot be written: No space left on device",
        ),
        (
            "$NESTMAP labels run >/dev/full",
            3,
            "standard output cannot be written: No space left on device",
        ),
        ("$NESTMAP info run 2>/dev/full", 0, ""),
        ("$NESTMAP info nothing 2>/dev/full", 3, ""),
        ("$NESTMAP labels run | head -n 1", 0, ""),
    ],
)
def test_streams_that_are_closed_or_full(command: str, code: int, said: str, folder: Path) -> None:
    if "/dev/full" in command and not os.path.exists("/dev/full"):
        pytest.skip("no /dev/full here")
    done = shell(command, folder, code)
    assert said in done.stderr and len(done.stderr.splitlines()) <= 1
    assert not (folder / "new").exists()


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="redirections of sh")
def test_the_address_of_the_explorer_reaches_a_log(folder: Path) -> None:
    """Standard output of a process in the background is a file or a pipe: what is said must not
    wait in a buffer.
    """
    command = (
        "$NESTMAP explore run --no-browser --port 0 > log 2>&1 & "
        "for i in $(seq 600); do grep -q 'is at http' log && break; sleep 0.1; done; kill $!; cat "
        "log"
    )
    assert "run is at http://127.0.0.1:" in shell(command, folder, 0).stdout


# -- exports
# -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["out.csv", "out.tsv", "out.npz", "out.parquet", "out.h5ad"])
def test_no_column_is_lost(
    name: str, folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    here("export", folder / "run", "-o", tmp_path / name)
    said = capsys.readouterr().err
    given = RunFolder(folder / "run").rows().metadata
    found = exported(tmp_path / name)
    for column, values in given.items():
        homes = [other for other, kept in found.items() if kept == [str(value) for value in values]]
        assert len(homes) == 1, column
        assert homes[0] == column or f"{column!r} is {homes[0]!r}" in said
    assert found["x_"] == [
        str(value) for value in given["x_"]
    ]  # a name that does not clash is kept
    assert len({*found}) == len(found)


def exported(path: Path) -> dict[str, list[str]]:
    if path.suffix == ".npz":
        with np.load(path) as arrays:
            return {name: [str(value) for value in arrays[name]] for name in arrays.files}
    if path.suffix == ".parquet":
        from pyarrow import parquet

        return {
            name: [str(v) for v in values]
            for name, values in parquet.read_table(path).to_pydict().items()
        }
    if path.suffix == ".h5ad":
        import anndata

        obs = anndata.read_h5ad(path).obs
        return {name: [str(value) for value in obs[name]] for name in obs.columns}
    with path.open(newline="", encoding="utf-8") as file:
        header, *rows = csv.reader(file, delimiter="," if path.suffix == ".csv" else "\t")
    return {
        name: list(values) for name, values in zip(header, zip(*rows, strict=True), strict=True)
    }


@pytest.mark.parametrize("suffix", ["csv", "tsv"])
def test_texts_come_back_as_they_were(suffix: str, folder: Path, tmp_path: Path) -> None:
    path = tmp_path / f"out.{suffix}"
    here("export", folder / "run", "-o", path, "--quiet")
    kept = RunFolder(folder / "run").rows().metadata["text"].tolist()
    assert exported(path)["text"] == kept and {*kept} == {*NASTY}
    assert read_table(path, label="text").metadata["text"].tolist() == kept  # 60 rows, not 72


def test_formulas_are_told_and_made_harmless_on_request(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    here("export", folder / "run", "-o", tmp_path / "a.csv")
    assert (
        "texts begin as formulas do (= + - @); --for-spreadsheets makes" in capsys.readouterr().err
    )
    here("export", folder / "run", "-o", tmp_path / "b.csv", "--for-spreadsheets")
    assert "begin as formulas" not in capsys.readouterr().err
    plain, guarded = exported(tmp_path / "a.csv")["text"], exported(tmp_path / "b.csv")["text"]
    assert guarded == [f"'{text}" if text[0] in "=+-@" else text for text in plain]


# -- runs that are replaced
# ----------------------------------------------------------------------------


@pytest.fixture
def named(folder: Path, tmp_path: Path) -> Path:
    """A copy of the run in which somebody has named two clusters."""
    run = shutil.copytree(folder / "run", tmp_path / "run")
    top = len(RunFolder(run).record["levels"]) - 1
    (run / "names.json").write_text(json.dumps({"0": {"1": "mine"}, str(top): {"0": "the first"}}))
    return run


def test_typed_names_stay_with_their_clusters(
    folder: Path, named: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = (named / "names.json").read_text()
    here("fit", folder / "rows.csv", "-o", named, "--id", "id", "--force")
    assert "kept 2 of 2 names" in capsys.readouterr().err
    assert json.loads((named / "names.json").read_text()) == json.loads(before)
    assert os.listdir(named.parent) == ["run"]


def test_names_of_clusters_that_are_no_more_are_kept_beside(
    folder: Path, named: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fewer = write_table(tmp_path / "fewer.csv", {}, X[:30] + 1)
    here("fit", fewer, "-o", named, "--force")
    said = capsys.readouterr().err
    assert (
        f"the old run is kept as {named}.old: 2 of its 2 typed names are of clusters that are no "
        "more" in said
    )
    assert (tmp_path / "run.old" / "names.json").exists() and not (named / "names.json").exists()
    here("fit", fewer, "-o", named, "--force", "--quiet")
    assert sorted(os.listdir(tmp_path)) == ["fewer.csv", "run", "run.old"]


def test_files_of_others_in_a_run_are_kept_beside(
    folder: Path, named: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (named / "notes.txt").write_text("mine")
    (named / "names.json").write_text("{")
    here("fit", folder / "rows.csv", "-o", named, "--id", "id", "--force")
    said = capsys.readouterr().err
    assert "it holds notes.txt; its names cannot be carried over" in said
    assert (tmp_path / "run.old" / "notes.txt").read_text() == "mine"


@pytest.mark.skipif(os.name == "nt", reason="links need rights there")
def test_a_run_behind_a_link_is_replaced_there(folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder / "run", tmp_path / "there")
    (tmp_path / "run").symlink_to("there")
    here("fit", folder / "rows.csv", "-o", tmp_path / "run", "--force", "--quiet")
    assert (tmp_path / "run").is_symlink() and sorted(os.listdir(tmp_path)) == ["run", "there"]
    assert RunFolder(tmp_path / "there").rows().names is None


# -- texts and words
# -----------------------------------------------------------------------------------


def test_a_text_without_a_known_word_is_far(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["red", "green", "blue", "round", "square", "large", "small", "old"]
    texts = [" ".join(words[(i * k) % 8] for k in (1, 2, 3)) for i in range(40)]
    (tmp_path / "texts.txt").write_text("\n".join([*texts, "!!!"]) + "\n")
    (tmp_path / "new.txt").write_text("red round old\nzzz qqq\n")
    here("fit", tmp_path / "texts.txt", "-o", tmp_path / "run")
    assert "1 text has none of the words that tell texts apart" in capsys.readouterr().err
    here("transform", tmp_path / "run", tmp_path / "new.txt", "-o", tmp_path / "placed.csv")
    said = capsys.readouterr().err
    assert (
        "1 text has none of the words of the run: far from everything" in said
        and "1 of 2 rows are far" in said
    )
    known, unknown = csv.DictReader((tmp_path / "placed.csv").read_text().splitlines())
    assert float(unknown["distance"]) == np.inf and unknown["cluster"] == "-1"
    assert float(known["distance"]) < 1 and known["cluster"] != "-1"


def test_errors_speak_of_options(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = write_table(tmp_path / "t.csv", {"utterance": ["some words here", "and other ones"]})
    for arguments, said in (
        (("--texts", "utterances"), "--texts utterances is no column; did you mean 'utterance'?"),
        (("--label", "no such"), "--label 'no such'"),
        (("--threads", "0"), "--threads 0: use a positive number of threads"),
        (("--target-recall", "7"), "--target-recall 7"),
    ):
        here("fit", table, "-o", tmp_path / "run", *arguments, code=2)
        told = capsys.readouterr().err.splitlines()[-1]
        assert said in told and "=" not in told, told


def test_only_settings_are_translated() -> None:
    assert (
        in_options("a=1, format='csv', X.radius=3, work_dir: no")
        == "a=1, --format csv, X.radius=3, --resume: no"
    )
