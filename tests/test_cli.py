"""The command `nestmap` as a user runs it: in a process of its own, on files."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import shutil
import signal
import struct
import subprocess
import sys
import time
from contextlib import chdir, redirect_stderr, redirect_stdout
from importlib import import_module
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import LIMIT, digits, heed_ctrl_c
from scipy.io import savemat

import nestmap
from nestmap import HNNE, ProgressEvent
from nestmap.app.cli import main
from nestmap.app.cli.commands import COMMANDS
from nestmap.app.cli.options import FIT, MODEL_OPTIONS
from nestmap.app.cli.parser import make_parser
from nestmap.app.cli.reference import render
from nestmap.app.cli.talk import Talk
from nestmap.app.runs.folder import RunFolder
from nestmap.readers import read_table

ROOT = Path(__file__).parent.parent
X, NEW = digits()[:200], digits()[200:220]


def run(
    *arguments: Any, folder: Path, code: int = 0, stdin: bytes = b""
) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-m", "nestmap", *map(str, arguments)],
        cwd=folder,
        input=stdin,
        capture_output=True,
        check=False,
        timeout=LIMIT,
    )
    found = subprocess.CompletedProcess(
        done.args, done.returncode, done.stdout.decode(), done.stderr.decode()
    )
    assert found.returncode == code, found.stderr
    assert code == 1 or "Traceback" not in found.stderr
    return found


def run_here(*arguments: Any, folder: Path, code: int = 0) -> subprocess.CompletedProcess[str]:
    """The same in this process: another one takes seconds to import all that is imported here
    already.
    """
    out, err = io.StringIO(), io.StringIO()
    with chdir(folder), redirect_stdout(out), redirect_stderr(err):
        try:
            found = main([*map(str, arguments)])
        except SystemExit as end:  # argparse's way
            found = end.code  # type: ignore[assignment]
    assert found == code, err.getvalue()
    assert code == 1 or "Traceback" not in err.getvalue()
    return subprocess.CompletedProcess(arguments, found, out.getvalue(), err.getvalue())


def here(*arguments: Any, code: int = 0) -> None:
    """Where only what it writes is of interest."""
    assert main([*map(str, arguments)]) == code


def write_csv(path: Path, rows: np.ndarray = X) -> Path:
    names = ["who", *(f"p{i}" for i in range(64)), "kind"]
    lines = [f"row{i},{','.join(map(repr, row))},k{i % 3}" for i, row in enumerate(rows.tolist())]
    path.write_text("\n".join([",".join(names), *lines]) + "\n")
    return path


def table(text: str) -> list[dict[str, str]]:
    return [*csv.DictReader(io.StringIO(text))]


@pytest.fixture(scope="module")
def cars(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with data and a run of it."""
    folder = tmp_path_factory.mktemp("cars")
    write_csv(folder / "rows.csv")
    write_csv(folder / "new.csv", NEW)
    here(
        "fit",
        folder / "rows.csv",
        "-o",
        folder / "run",
        "--id",
        "who",
        "--label",
        "kind",
        "--quiet",
        "--dims",
        "2,3",
    )
    return folder


@pytest.mark.slow
class TestAsAUserRunsIt:
    def test_from_a_csv_to_everything(self, tmp_path: Path) -> None:
        write_csv(tmp_path / "rows.csv")
        write_csv(tmp_path / "new.csv", NEW)
        done = run(
            "fit", "rows.csv", "-o", "run", "--id", "who", "--label", "kind", folder=tmp_path
        )
        assert "200 rows, 64 columns used" in done.stdout and "kind (the label)" in done.stdout
        assert "<- labels" in done.stdout and "wrote run" in done.stderr
        assert "next: nestmap explore run; nestmap plot run -o run.png" in done.stderr
        assert sorted(os.listdir(tmp_path)) == ["new.csv", "rows.csv", "run"]
        expected = HNNE().fit(X)
        info = json.loads(run_here("info", "run", "--json", folder=tmp_path).stdout)
        assert [level["clusters"] for level in info["levels"]] == [*expected.hierarchy_.level_sizes]
        run_here("export", "run", "-o", "all.csv", folder=tmp_path)
        rows = table((tmp_path / "all.csv").read_text())
        assert [*rows[0]] == [
            "name",
            "x",
            "y",
            "cluster",
            "cluster_name",
            *(f"level_{k}{part}" for k in range(len(info["levels"])) for part in ("", "_name")),
            "kind",
        ]
        np.testing.assert_array_equal(
            [[float(r["x"]), float(r["y"])] for r in rows], expected.embedding_
        )
        assert [r["name"] for r in rows[:2]] == ["row0", "row1"] and rows[1]["kind"] == "k1"
        placed = table(
            run("transform", "run", "new.csv", "-o", "-", "--id", "who", folder=tmp_path).stdout
        )
        np.testing.assert_array_equal(
            [[float(r["x"]), float(r["y"])] for r in placed], expected.transform(NEW)
        )
        assert [int(r["cluster"]) for r in placed] == expected.predict(NEW).tolist() and placed[0][
            "name"
        ] == "row0"
        labels = table(run_here("labels", "run", "--clusters", "7", folder=tmp_path).stdout)
        assert [int(r["cluster"]) for r in labels] == expected.hierarchy_.labels(
            n_clusters=7
        ).tolist()
        scores = json.loads(
            run_here(
                "score", "rows.csv", "run", "--label", "kind", "--json", folder=tmp_path
            ).stdout
        )
        assert scores["trustworthiness"] > 0.9 and "knn_accuracy" in scores
        assert f"{scores['trustworthiness']}" in run_here("info", "run", folder=tmp_path).stdout

    def test_failures_have_codes_and_name_the_way_out(self, tmp_path: Path) -> None:
        (tmp_path / "bad.csv").write_text("a,b\n1,2\n3\n")
        (tmp_path / "texts.txt").write_text("some words here\nand other ones there\n")
        np.save(tmp_path / "x.npy", X)
        (tmp_path / "other").mkdir()
        for arguments, code, said in (
            (("fit", "none.csv", "-o", "r"), 3, "none.csv: no such file"),
            (("fit", "bad.csv", "-o", "r"), 3, "bad.csv, line 3: 1 columns; expected 2"),
            (("fit", "texts.txt", "-o", "r", "--kind", "a=drop"), 2, "--kind is for tables"),
            (("fit", "x.npy"), 2, "-o"),
            (("fit", "x.npy", "-o", "other"), 3, "exists already"),
            (("fit", "x.npy", "-o", "other", "--force"), 3, "is no run of nestmap"),
            (("fit", "x.npy", "-o", "r", "--metric", "euclid"), 2, "euclid"),
            (("fit", "x.npy", "-o", "r", "--layout", "spiral"), 2, "invalid choice: 'spiral'"),
            (("fit", "x.npy", "-o", "r", "--dims", "two"), 2, "such as 2 or 2,3"),
            (("fit", "x.npy", "-o", "r", "--radius", "9"), 2, "--radius 9.0"),
            (("fit", "x.npy", "-o", "r", "--max-memory", "1KB"), 4, "--max-memory"),
            (("info", "nothing"), 3, "no such run"),
            (("info", "other"), 3, "is not a run of nestmap"),
            (("nonsense",), 2, "invalid choice"),
            (("fot", "x.npy"), 2, "did you mean 'fit'?"),
            (
                ("fit", "x.npy", "-o", "r", "--metrc", "cosine"),
                2,
                "unknown --metrc (did you mean '--metric'?)",
            ),
            (("fit", "x.npy", "-o", "r", "--n-neighbors=15"), 2, "there is no number to choose"),
            (("info", "other", "more"), 2, "unknown more: one argument too many"),
        ):
            told = run_here(*arguments, folder=tmp_path, code=code).stderr
            assert said in told and len(told.splitlines()) <= 2, arguments
        for arguments, code in (
            (("nonsense",), 2),
            (("fit", "none.csv", "-o", "r"), 3),
        ):  # in processes, too
            assert (
                run(*arguments, folder=tmp_path, code=code).stderr
                == run_here(*arguments, folder=tmp_path, code=code).stderr
            )
        assert "COMMAND" in run_here(folder=tmp_path, code=2).stdout
        assert not (tmp_path / "r").exists() and not [*tmp_path.glob("*.part")]

    def test_standard_input_and_json(self, tmp_path: Path) -> None:
        data = write_csv(tmp_path / "rows.csv").read_bytes()
        done = run("fit", "-", "-o", "run", "--quiet", "--json", folder=tmp_path, stdin=data)
        assert json.loads(done.stdout)["n_rows"] == 200 and done.stderr == ""
        quiet = run_here("fit", "rows.csv", "-o", "run", "--quiet", "--force", folder=tmp_path)
        assert quiet.stdout == quiet.stderr == ""

    @pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
    @pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
    def test_an_interrupted_fit_leaves_nothing_but_what_it_resumes_from(
        self, number: int, tmp_path: Path
    ) -> None:
        np.save(
            tmp_path / "x.npy",
            np.random.default_rng(0).normal(size=(60_000, 64)).astype(np.float32),
        )
        process = subprocess.Popen(
            [sys.executable, "-m", "nestmap", "fit", "x.npy", "-o", "run", "--resume"],
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            preexec_fn=heed_ctrl_c,
        )
        deadline = time.monotonic() + LIMIT
        while (
            not (tmp_path / "run.work").exists()
            and process.poll() is None
            and time.monotonic() < deadline
        ):
            time.sleep(0.05)
        process.send_signal(number)
        _, said = process.communicate(timeout=LIMIT)
        assert process.returncode == {signal.SIGINT: 130, signal.SIGTERM: 143}[number], said
        assert b"Traceback" not in said
        assert sorted(os.listdir(tmp_path)) == ["run.work", "x.npy"]

    def test_help_and_info_import_little(self, cars: Path) -> None:
        for arguments, absent in (
            (["--help"], "numpy"),
            (["fit", "--help"], "numpy"),
            (["info", "run"], "numpy"),
        ):
            code = (
                "import sys\nfrom nestmap.app.cli import main\n"
                f"try: main({arguments!r})\nexcept SystemExit: pass\nassert {absent!r} not in "
                "sys.modules"
            )
            done = subprocess.run(
                [sys.executable, "-c", code],
                cwd=cars,
                capture_output=True,
                text=True,
                check=False,
                timeout=LIMIT,
            )
            assert done.returncode == 0, done.stderr
            assert done.stdout

    def test_demo(self, tmp_path: Path) -> None:
        done = run("demo", folder=tmp_path)
        assert (
            "handwritten digits: 1,797 rows" in done.stdout
            and (tmp_path / "nestmap-demo" / "run.json").exists()
        )


class TestFormats:
    @pytest.mark.parametrize(
        "name",
        [
            "x.npy",
            "x.npz",
            "x.mat",
            "x.csv",
            "x.tsv.gz",
            "x.fvecs",
            "x.vec",
            "x.bin",
            "x.h5",
            "x.zarr",
            "x.h5ad",
            "x.parquet",
            "x.feather",
            "x-idx2-ubyte",
        ],
    )
    def test_all_give_the_same_map(self, name: str, tmp_path: Path) -> None:
        path = tmp_path / name
        write_format(path)
        here("fit", path, "-o", tmp_path / "run", "--quiet", "--layout", "descent")
        expected = HNNE(layout="descent").fit(X).embedding_
        np.testing.assert_array_equal(RunFolder(tmp_path / "run").model().embedding_, expected)
        here("transform", tmp_path / "run", path, "-o", tmp_path / "out.npy", "--quiet")
        np.testing.assert_array_equal(np.load(tmp_path / "out.npy"), expected)
        names = RunFolder(tmp_path / "run").rows().names
        assert (names is not None) == (name in ("x.vec", "x.bin", "x.h5ad"))

    def test_texts(self, tmp_path: Path) -> None:
        words = [
            "cat dog mouse",
            "dog mouse bird",
            "stock market bank",
            "bank market money",
            "cat bird dog",
        ] * 8
        lines = [f"{text} {'abcdefgh'[i % 8] * 3}" for i, text in enumerate(words)]
        (tmp_path / "t.txt").write_text("\n".join(lines))
        (tmp_path / "t.csv").write_text(
            "n,what\n" + "\n".join(f"{i},{text}" for i, text in enumerate(lines))
        )
        here("fit", tmp_path / "t.txt", "-o", tmp_path / "lines", "--quiet")
        here("fit", tmp_path / "t.csv", "-o", tmp_path / "column", "--texts", "what", "--quiet")
        one, two = (RunFolder(tmp_path / name) for name in ("lines", "column"))
        np.testing.assert_array_equal(one.model().embedding_, two.model().embedding_)
        assert one.model().metric == "cosine" and two.rows().metadata["n"].tolist() == [*range(40)]
        for name, source in (("lines", "t.txt"), ("column", "t.csv")):
            here(
                "transform",
                tmp_path / name,
                tmp_path / source,
                "-o",
                tmp_path / "o.npy",
                "--quiet",
                "--force",
            )
            np.testing.assert_array_equal(np.load(tmp_path / "o.npy"), one.model().embedding_)
            here("score", tmp_path / source, tmp_path / name, "--quiet")


def write_format(path: Path) -> None:
    """The rows of X in the format that a name says."""
    suffix = path.suffix
    if suffix == ".npy":
        np.save(path, X)
    elif suffix == ".npz":
        np.savez(path, X=X)
    elif suffix == ".mat":
        savemat(path, {"X": X})
    elif suffix in (".csv", ".gz"):
        text = "".join(",".join(map(repr, row)) + "\n" for row in X.tolist())
        if suffix == ".gz":
            import gzip

            path.write_bytes(gzip.compress(text.replace(",", "\t").encode()))
        else:
            path.write_text(text)
    elif suffix == ".fvecs":
        path.write_bytes(b"".join(struct.pack("<i", 64) + row.tobytes() for row in X.astype("<f4")))
    elif suffix == ".vec":
        body = "".join(f"w{i} {' '.join(map(repr, row))}\n" for i, row in enumerate(X.tolist()))
        path.write_text("200 64\n" + body)
    elif suffix == ".bin":
        body = b"".join(
            f"w{i} ".encode() + row.tobytes() + b"\n" for i, row in enumerate(X.astype("<f4"))
        )
        path.write_bytes(b"200 64\n" + body)
    elif suffix == ".h5":
        with pytest.importorskip("h5py").File(path, "w") as file:
            file["X"] = X
    elif suffix == ".zarr":
        pytest.importorskip("zarr").save(str(path), X)
    elif suffix == ".h5ad":
        pytest.importorskip("anndata").AnnData(X).write_h5ad(path)
    elif suffix in (".parquet", ".feather"):
        frame = pytest.importorskip("pyarrow").table({f"p{i}": X[:, i] for i in range(64)})
        from pyarrow import feather, parquet

        (parquet.write_table if suffix == ".parquet" else feather.write_feather)(frame, path)
    else:
        path.write_bytes(struct.pack(">HBBII", 0, 8, 2, *X.shape) + X.astype(np.uint8).tobytes())


class TestOutputs:
    @pytest.mark.parametrize("suffix", [".csv", ".tsv", ".npz", ".parquet", ".h5ad"])
    @pytest.mark.filterwarnings("ignore:Transforming to str index")  # anndata 0.11, of no columns
    def test_export(self, suffix: str, cars: Path, tmp_path: Path) -> None:
        for name in {".parquet": ["pyarrow"], ".h5ad": ["anndata"]}.get(suffix, []):
            pytest.importorskip(name)
        out = tmp_path / f"all{suffix}"
        here("export", cars / "run", "-o", out, "--quiet")
        model = nestmap.load(cars / "run" / "map-2d.nestmap")
        if suffix == ".h5ad":
            cells = __import__("anndata").read_h5ad(out)
            np.testing.assert_array_equal(cells.obsm["X_hnne"], model.embedding_)
            assert (
                cells.obs_names[0] == "row0"
                and cells.obs["level_0"].tolist() == model.hierarchy_.labels(0).tolist()
            )
            return
        found = np.load(out) if suffix == ".npz" else None
        if found is not None:
            np.testing.assert_array_equal(found["x"], model.embedding_[:, 0])
            assert found["kind"][1] == "k1"
            return
        again = read_table(out, columns=["x", "y"], id="name")
        np.testing.assert_array_equal(again.X, model.embedding_)
        assert again.metadata["cluster"].astype(int).tolist() == model.labels_.tolist()

    def test_another_map_of_the_run(
        self, cars: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        here("export", cars / "run", "-o", tmp_path / "a.csv", "--dims", 3, "--quiet")
        assert [*table((tmp_path / "a.csv").read_text())[0]][:4] == ["name", "x", "y", "z"]
        here("export", cars / "run", "-o", tmp_path / "b.csv", "--dims", 5, code=2)
        assert "maps in 2, 3 dimensions" in capsys.readouterr().err

    def test_nothing_is_overwritten_unasked(self, cars: Path, tmp_path: Path) -> None:
        out = tmp_path / "l.csv"
        here("labels", cars / "run", "-o", out, "--level", -1, "--quiet")
        before = out.read_text()
        here("labels", cars / "run", "-o", out, "--level", 0, code=3)
        assert out.read_text() == before
        here("labels", cars / "run", "-o", out, "--level", 0, "--force", "--quiet")
        assert out.read_text() != before
        here("labels", cars / "run", "-o", tmp_path / "l.xls", code=2)

    def test_columns_are_found_by_name(
        self, cars: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        rows = [line.split(",") for line in (cars / "new.csv").read_text().split()]
        other = tmp_path / "new.csv"
        other.write_text(
            "\n".join(",".join([*reversed(row), "7"]) for row in rows).replace("who,7", "who,more")
        )
        for name, path in (("a.npy", cars / "new.csv"), ("b.npy", other)):
            here("transform", cars / "run", path, "-o", tmp_path / name, "--quiet")
        np.testing.assert_array_equal(np.load(tmp_path / "a.npy"), np.load(tmp_path / "b.npy"))
        other.write_text("\n".join(",".join(row[:9]) for row in rows))
        here("transform", cars / "run", other, "-o", tmp_path / "c.npy", "--quiet", code=2)
        assert "--columns p8 is no column" in capsys.readouterr().err

    def test_score_of_a_file_of_coordinates(
        self, cars: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        np.save(cars / "map.npy", X[:, 20:22])
        here("score", cars / "rows.csv", cars / "map.npy", "--json", "--rows", 50, "--quiet")
        assert 0 < json.loads(capsys.readouterr().out)["trustworthiness"] < 1
        np.save(cars / "map.npy", X[:7, 20:22])
        here("score", cars / "rows.csv", cars / "map.npy", "--quiet", code=2)


class TestRuns:
    def test_a_failed_fit_keeps_the_old_run(
        self, cars: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        shutil.copytree(cars / "run", tmp_path / "run")
        before = (tmp_path / "run" / "run.json").read_text()

        def fail(*_: Any) -> None:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr("nestmap.app.runs.folder._write_rows", fail)
        here("fit", cars / "rows.csv", "-o", tmp_path / "run", "--force", "--quiet", code=3)
        assert (tmp_path / "run" / "run.json").read_text() == before and os.listdir(tmp_path) == [
            "run"
        ]

    def test_damaged_records_are_told(
        self, cars: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        shutil.copytree(cars / "run", tmp_path / "run")
        path = tmp_path / "run" / "run.json"
        record = json.loads(path.read_text())
        for change, said in (
            ({"version": 99}, "newer nestmap"),
            ({"format": "x"}, "not a run"),
            ({"version": "1"}, "not a run"),
        ):
            path.write_text(json.dumps({**record, **change}))
            here("info", tmp_path / "run", code=3)
            assert said in capsys.readouterr().err
        path.write_text("{")
        here("info", tmp_path / "run", code=3)
        path.write_text(
            json.dumps(
                {**record, "maps": [{"dims": 2, "file": "../../secret", "layout": "islands"}]}
            )
        )
        here("labels", tmp_path / "run", code=3)
        assert "no name of a file in the run" in capsys.readouterr().err

    def test_resume_goes_on_from_finished_levels(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        np.save(tmp_path / "x.npy", X)

        def stop(*_: Any, **__: Any) -> None:
            raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            patch.setattr("nestmap.model.fit.fit_map", stop)
            here("fit", tmp_path / "x.npy", "-o", tmp_path / "run", "--resume", "--quiet", code=130)
            said = capsys.readouterr().err
            assert (
                "1 level is finished and kept in" in said
                and "the same command, with --resume, goes on" in said
            )
            here("fit", tmp_path / "x.npy", "-o", tmp_path / "other", "--quiet", code=130)
            assert "nothing was written; with --resume" in capsys.readouterr().err
        assert sorted(os.listdir(tmp_path)) == ["run.work", "x.npy"]
        here("fit", tmp_path / "x.npy", "-o", tmp_path / "run", "--resume")
        assert f"going on from {tmp_path / 'run.work'}: " in capsys.readouterr().err
        assert sorted(os.listdir(tmp_path)) == ["run", "x.npy"]
        np.testing.assert_array_equal(
            RunFolder(tmp_path / "run").model().embedding_, HNNE().fit(X).embedding_
        )

    def test_what_a_run_keeps(self, cars: Path) -> None:
        found = RunFolder(cars / "run")
        assert (
            found.record["seconds"].keys() == {"reading", "fit", "naming"}
            and found.record["versions"]["numpy"]
        )
        assert found.model(3).embedding_.shape == (200, 3)
        assert found.rows().columns == tuple(f"p{i}" for i in range(64))
        assert (cars / "run" / "run.json").stat().st_size < 20_000 and found.names()


class TestTalk:
    def test_a_bar_where_a_person_looks(self, monkeypatch: pytest.MonkeyPatch) -> None:
        stream = io.StringIO()
        stream.isatty = lambda: True  # type: ignore[method-assign]
        monkeypatch.setattr(sys, "stderr", stream)
        talk = Talk(quiet=False)
        for left in (100.0, 10.0, 10.0):
            talk(ProgressEvent("stage", 0.5, 5.0, left))
        talk(ProgressEvent("stage", 1.0, 8.0, 0.0))
        said = stream.getvalue()
        assert (
            "████████████░░░░░░░░░░░░ stage, about 2 min left" in said and "about 68 s left" in said
        )
        assert said.endswith("s] stage: 8.0 s\n")  # the estimate does not jump, and the line stays

    def test_long_lines_go_on_below_where_a_person_looks(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        text = "short\n  1 " + "word " * 30
        monkeypatch.setenv("COLUMNS", "50")
        for is_terminal, n_lines in ((True, 5), (False, 2)):
            stream = io.StringIO()
            stream.isatty = lambda answer=is_terminal: answer  # type: ignore[method-assign,misc]
            monkeypatch.setattr(sys, "stdout", stream)
            Talk(quiet=False).result(text, {})
            lines = stream.getvalue().splitlines()
            assert len(lines) == n_lines and lines[0] == "short" and lines[1].startswith("  1 word")
            assert all(line.startswith("      word") for line in lines[2:])
            assert stream.getvalue().split() == text.split()

    def test_lines_in_a_log_and_nothing_if_quiet(self, capsys: pytest.CaptureFixture[str]) -> None:
        for quiet in (False, True):
            talk = Talk(quiet)
            for share, seconds in ((0.0, 0.0), (0.5, 3.0), (1.0, 6.0)):
                talk(ProgressEvent("long", share, seconds, None))
            talk(ProgressEvent("short", 1.0, 0.1, 0.0))
            said = capsys.readouterr().err
            assert (
                said == ""
                if quiet
                else said.splitlines()[0].endswith("s] long: 6.0 s") and "short" not in said
            )


class TestOptions:
    def test_every_parameter_is_an_option_with_its_default(self) -> None:
        """Of HNNE and, where they have names of their own, of the settings of its layouts."""
        found = {"like": None}
        for home in (HNNE, nestmap.Islands, nestmap.Descent, nestmap.Mosaic):
            for name, each in signature(home).parameters.items():
                assert found.setdefault(name, each.default) == each.default, name
        for name in ("callback", "verbose", "work_dir", "n_jobs", "encoder"):  # set in another way
            found.pop(name)
        assert [found.pop("n_components")] == next(o.default for o in FIT if o.flag == "--dims")
        assert found == {name: option.default for name, option in MODEL_OPTIONS.items()}
        options = make_parser().parse_args(["fit", "x", "-o", "y"])
        assert all(getattr(options, option.dest) is None for option in MODEL_OPTIONS.values())

    def test_help_is_grouped_and_hides_what_experts_need(self) -> None:
        short = run_here("fit", "--help", folder=ROOT).stdout
        long = run_here("fit", "--help-all", folder=ROOT).stdout
        headings = ("data:", "map:", "layout:", "neighbours:", "resources:", "output:")
        for text in (short, long):
            found = [line for line in text.splitlines() if line in headings]
            assert found == [*headings]
        listed = [
            {*re.findall(r"^  (?:-o \w+, )?(--[\w-]+)", text, re.MULTILINE)} - {"--help-all"}
            for text in (short, long)
        ]
        options = [option for option in FIT if option.flag.startswith("--")]
        assert listed[0] == {option.flag for option in options if not option.is_expert}
        assert listed[1] == {option.flag for option in options}
        assert len(short.splitlines()) < 0.75 * len(long.splitlines())
        assert "--help-all" in short and "--help-all" not in long

    def test_every_option_is_explained_and_every_command_has_its_function(self) -> None:
        for command in COMMANDS.values():
            home = import_module(f"nestmap.app.cli.{command.module}")
            assert callable(getattr(home, f"run_{command.name}"))
            assert all(option.help for option in command.options), command.name
            assert len({option.dest for option in command.options}) == len(command.options)

    def test_options_reach_the_estimator(self, tmp_path: Path) -> None:
        np.save(tmp_path / "x.npy", X)
        np.save(tmp_path / "start.npy", X[:, 20:22].astype(np.float64))
        here(
            "fit",
            tmp_path / "x.npy",
            "-o",
            tmp_path / "run",
            "--metric",
            "minkowski",
            "--metric-params",
            '{"p": 3}',
            "--radius",
            0.25,
            "--layout",
            "descent",
            "--arrangement",
            "global",
            "--inflate",
            "--seed",
            5,
            "--threads",
            1,
            "--preliminary",
            tmp_path / "start.npy",
            "--target-recall",
            0.8,
            "--max-memory",
            "2GB",
            "--quiet",
        )
        found = RunFolder(tmp_path / "run").model().get_params()
        assert (
            found["metric"] == "minkowski"
            and found["metric_params"] == {"p": 3}
            and found["layout__radius"] == 0.25
        )
        assert found["layout__inflate"] is True and found["layout__random_state"] == 5
        assert found["n_jobs"] == 1
        np.testing.assert_array_equal(found["layout__preliminary"], X[:, 20:22])

    def test_options_of_layouts_that_are_not_laid_out_are_refused(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        np.save(tmp_path / "x.npy", X)
        out = ("-o", tmp_path / "run", "--quiet")
        here("fit", tmp_path / "x.npy", *out, "--arrangement", "global", code=2)
        said = capsys.readouterr().err
        assert "--arrangement global is for --layout descent, and this is --layout islands" in said
        here("fit", tmp_path / "x.npy", *out, "--dims", "2,3", "--arrangement", "global")
        layouts = [entry["layout"] for entry in RunFolder(tmp_path / "run").record["maps"]]
        assert layouts == ["islands", "descent"]

    def test_the_page_is_that_of_the_code(self) -> None:
        page = (ROOT / "docs" / "use" / "command-line.md").read_text(encoding="utf-8")
        assert page == render(), "python -m nestmap.app.cli.reference > docs/use/command-line.md"

    def test_the_command_is_installed(self) -> None:
        assert 'nestmap = "nestmap.app.cli:main"' in (ROOT / "pyproject.toml").read_text()
