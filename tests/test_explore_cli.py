"""`nestmap explore`, and what runs keep for it."""

from __future__ import annotations

import gzip
import http.client
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
from base64 import b64decode
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import LIMIT, digits, heed_ctrl_c, line_of

from nestmap import ModelFileError
from nestmap.app.cli import main
from nestmap.app.runs.extras import read_images, read_trust
from nestmap.app.runs.folder import RunFolder
from nestmap.app.runs.store import open_store
from nestmap.views.explore.bundle import Page
from nestmap.views.explore.kept_rows import change_selections
from nestmap.views.explore.query import RowQueries

N = 300
X = digits()[:N]


@pytest.fixture(autouse=True)
def _page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "page"
    folder.mkdir()
    config = '<script>window.NESTMAP = {"transport": "server", "token": null}</script>'
    (folder / "index.html").write_text(f"<!doctype html>{config}")
    monkeypatch.setattr(Page, "find", classmethod(lambda cls: cls(folder, frozenset())))


@pytest.fixture(scope="module")
def fitted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with thumbnails and true neighbours."""
    folder = tmp_path_factory.mktemp("fitted")
    lines = [
        f"row{i},{','.join(map(str, row))},k{i % 3}" for i, row in enumerate(X.astype(int).tolist())
    ]
    head = ",".join(["who", *(f"p{i}" for i in range(64)), "kind"])
    (folder / "data.csv").write_text("\n".join([head, *lines]) + "\n")
    arguments = ("--id", "who", "--label", "kind", "--trust", "--images", "8x8", "--quiet")
    assert main(["fit", str(folder / "data.csv"), "-o", str(folder / "run"), *arguments]) == 0
    return folder


@pytest.fixture
def run(tmp_path: Path, fitted: Path) -> Path:
    return Path(shutil.copytree(fitted, tmp_path / "copy")) / "run"


def test_a_run_keeps_thumbnails_and_true_neighbours(run: Path) -> None:
    images, trust = read_images(run, N), read_trust(run, N)
    assert images is not None and trust is not None
    assert (images == np.rint(X.reshape(-1, 8, 8) * 255 / X.max())).all()
    away = np.linalg.norm(X[:, None].astype(float) - X[None], axis=2)
    np.fill_diagonal(away, np.inf)
    np.testing.assert_allclose(
        np.take_along_axis(away, trust.neighbors, 1), np.sort(away, axis=1)[:, :10], rtol=1e-6
    )
    assert list(trust.scores) == ["neighbourhood recall", "trustworthiness"]
    store = open_store(RunFolder(run))
    assert store.meta["neighbors"] == 10 and store.meta["images"] == {"width": 8, "height": 8}
    assert store.meta["fields"] == ["row", "name", "kind"] and store.meta["title"] == "run"
    names = [column["name"] for column in store.meta["columns"]]
    assert names == ["kind", *trust.scores, "membership"]


def test_selections_are_kept_with_the_run(run: Path) -> None:
    first = open_store(RunFolder(run))
    cluster = {"kind": "cluster", "level": 0, "index": 0}
    change_selections(first.selections, RowQueries(first), {"name": "mine", "set": cluster})
    again = open_store(RunFolder(run), rebuild=True)
    rows = again.selections.read()["mine"].rows
    np.testing.assert_array_equal(rows, RowQueries(again).rows_of(cluster))
    assert (run / "selections.json").exists() and 0 < len(rows) < N


def test_the_store_is_built_once_and_again_when_the_run_has_changed(run: Path) -> None:
    first = open_store(RunFolder(run))
    assert first.folder == run / "explorer" and first.saved is not None
    stamp = (run / "explorer" / "meta.json.gz").stat().st_mtime_ns
    assert open_store(RunFolder(run)).id == first.id
    assert (run / "explorer" / "meta.json.gz").stat().st_mtime_ns == stamp
    first.saved.set(0, 0, "mine")  # names are no reason
    open_store(RunFolder(run))
    assert (run / "explorer" / "meta.json.gz").stat().st_mtime_ns == stamp
    (run / "trust.nestmap").unlink()
    assert open_store(RunFolder(run)).meta["neighbors"] == 0
    named = open_store(RunFolder(run), cluster_names="kind")
    assert re.fullmatch(r"k[0-2]( \(\d+\))?", named.read_json("names/0.json")[0])
    (run / "explorer" / "meta.json.gz").write_bytes(b"damaged")
    assert open_store(RunFolder(run)).meta["n_rows"] == N
    data = json.loads((run / "names.json").read_text())
    assert data == {"0": {"0": "mine"}}


@pytest.mark.skipif(os.name == "nt", reason="folders of others are told by their rights")
def test_a_run_that_cannot_be_written_to(
    run: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(
        "nestmap.app.runs.store.os.access", lambda *_: False
    )  # root may write anywhere
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    (run / "names.json").write_text('{"0": {"0": "as it was named"}}')
    before = {*run.iterdir()}
    store = open_store(RunFolder(run))
    assert not store.meta["can_save"] and "as it was named" in store.names(0)
    with pytest.raises(ValueError, match="cannot be saved"):
        store.rename({"level": 0, "index": 0, "name": "x"})
    assert store.folder.is_relative_to(tmp_path) and {*run.iterdir()} == before
    assert main(["export", str(run), "-o", str(tmp_path / "site"), "--quiet"]) == 0
    left = [path for path in tmp_path.iterdir() if path.name.startswith("nestmap-explorer-")]
    assert left == [store.folder.parent]  # export has deleted its own


def test_compare(run: Path, tmp_path: Path) -> None:
    np.save(tmp_path / "other.npy", X[:, 20:22])
    shutil.copytree(run, tmp_path / "second")
    store = open_store(RunFolder(run), [str(tmp_path / "other.npy"), str(tmp_path / "second")])
    assert [each["name"] for each in store.meta["maps"]] == ["islands", "other", "second"]
    np.save(tmp_path / "short.npy", X[:5, :2])
    with pytest.raises(ValueError, match="map 'short': the explorer shows 300 rows"):
        open_store(RunFolder(run), [str(tmp_path / "short.npy")])
    with pytest.raises(FileNotFoundError):
        open_store(RunFolder(run), [str(tmp_path / "nowhere")])


def test_compare_refuses_other_rows(run: Path, tmp_path: Path) -> None:
    data = (run.parent / "data.csv").read_text().splitlines()
    (tmp_path / "turned.csv").write_text("\n".join([data[0], *data[:0:-1]]) + "\n")
    (tmp_path / "less.csv").write_text("\n".join(data[:-1]) + "\n")
    for name, message in (("turned", "other names"), ("less", "299 rows, but")):
        arguments = ["--id", "who", "--label", "kind", "--quiet"]
        assert (
            main(["fit", str(tmp_path / f"{name}.csv"), "-o", str(tmp_path / name), *arguments])
            == 0
        )
        with pytest.raises(ValueError, match=message):
            open_store(RunFolder(run), [str(tmp_path / name)])


def test_score_keeps_trust(run: Path) -> None:
    (run / "trust.nestmap").unlink()
    data = str(run.parent / "data.csv")
    assert main(["score", data, str(run), "--trust", "--quiet"]) == 0
    assert read_trust(run, N) is not None


def test_trust_without_a_run_is_refused(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    np.save(tmp_path / "map.npy", X[:, :2])
    arguments = [
        "score",
        str(run.parent / "data.csv"),
        str(tmp_path / "map.npy"),
        "--trust",
        "--label",
        "kind",
    ]
    assert main([*arguments, "--id", "who"]) == 2
    assert "--trust is kept in a run" in capsys.readouterr().err


def test_export_to_a_folder(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    open_store(RunFolder(run)).saved.set(0, int(open_store(RunFolder(run)).clusters(0)[0]), "mine")  # type: ignore[union-attr]
    for target in ("site", "other/"):
        assert main(["export", str(run), "-o", f"{tmp_path}/{target}"]) == 0
        text = (tmp_path / target / "data/names/0.json.js").read_text()
        assert json.loads(gzip.decompress(b64decode(text.split('"')[3])))[0] == "mine"
        assert '"transport": "static"' in (tmp_path / target / "index.html").read_text()
    assert "index.html: open it in a browser" in capsys.readouterr().err
    assert main(["export", str(run), "-o", f"{tmp_path}/site", "--quiet"]) == 3  # exists
    assert main(["export", str(run), "-o", f"{tmp_path}/site", "--quiet", "--force"]) == 0
    assert (
        main(["export", str(run), "-o", str(run.parent), "--quiet", "--force"]) == 3
    )  # no site of ours
    assert (
        main(["export", str(run), "-o", f"{tmp_path}/map.cvs", "--quiet"]) == 2
    )  # more likely a slip than a folder
    assert (run.parent / "data.csv").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--images", "8x9"], "makes 72 pixels, but rows have 64"),
        (["--images", "8"], "is no HEIGHTxWIDTH"),
        (["--images", "0x64"], "1 to 256 pixels"),
        (["--images", "4x4x4"], "3 colours or none"),
    ],
)
def test_pictures_that_do_not_fit_are_refused(
    run: Path,
    tmp_path: Path,
    arguments: list[str],
    message: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    command = [
        "fit",
        str(run.parent / "data.csv"),
        "-o",
        str(tmp_path / "r"),
        "--id",
        "who",
        "--label",
        "kind",
    ]
    with suppress(SystemExit):  # argparse's way
        assert main([*command, *arguments]) == 2
    assert message in capsys.readouterr().err and not (tmp_path / "r").exists()


def test_runs_without_a_map_in_the_plane(run: Path) -> None:
    record = json.loads((run / "run.json").read_text())
    record["maps"][0]["dims"] = 4
    (run / "run.json").write_text(json.dumps(record))
    with pytest.raises(ValueError, match=r"shows maps in 2-D and 3-D, this run has \[4\]-D"):
        open_store(RunFolder(run))


@pytest.mark.parametrize(
    "maps", [7, [7], [{"dims": 2}], [{"dims": "x", "file": "y"}], [{"dims": 2, "file": "../x"}]]
)
def test_damaged_records(run: Path, maps: Any) -> None:
    record = json.loads((run / "run.json").read_text())
    (run / "run.json").write_text(json.dumps({**record, "maps": maps}))
    with pytest.raises(ModelFileError):
        open_store(RunFolder(run))


@pytest.mark.parametrize(
    "name", ["trust.nestmap", "images.nestmap", "map-2d.nestmap", "rows.nestmap"]
)
def test_damaged_runs(run: Path, name: str) -> None:
    whole = (run / name).read_bytes()
    for data in (b"", whole[: len(whole) // 2], whole[:-20] + bytes(20), b"x" * 1000):
        (run / name).write_bytes(data)
        with pytest.raises(ModelFileError):
            open_store(RunFolder(run))
        assert not (run / "explorer").exists()


def test_files_of_another_run_are_refused(run: Path, tmp_path: Path) -> None:
    with pytest.raises(ModelFileError):
        read_trust(run, N - 1)
    with pytest.raises(ModelFileError, match="a picture for each of the 299"):
        read_images(run, N - 1)


def ask(url: str, path: str) -> tuple[int, bytes]:
    host, port = url.split("/")[2].split(":")
    connection = http.client.HTTPConnection(host, int(port), timeout=20)
    connection.request("GET", path)
    answer = connection.getresponse()
    try:
        return answer.status, answer.read()
    finally:
        connection.close()


@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_the_command_serves_until_it_is_stopped(run: Path, how: Any) -> None:
    arguments = ["explore", str(run), "--no-browser", "--port", "0", "--json"]
    code = (
        "import sys; from pathlib import Path; from nestmap.views.explore.bundle import Page; from "
        "nestmap.app.cli import main;"
        f"Page.find = classmethod(lambda cls: cls(Path({str(run.parents[1] / 'page')!r}), "
        "frozenset())); "
        f"sys.argv[1:] = {arguments!r}; sys.exit(main())"
    )
    with subprocess.Popen(
        [sys.executable, "-W", "error", "-c", code],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=heed_ctrl_c,
    ) as process:
        assert process.stderr is not None
        text = ""
        while not text.rstrip().endswith("}"):
            line = line_of(process)
            assert line, process.stderr.read()
            text += line
        url = json.loads(text)["url"]
        assert ask(url, "/data/meta.json")[0] == 200
        process.send_signal(how)
        _, said = process.communicate(timeout=LIMIT)
        assert process.returncode == (0 if how == signal.SIGINT else 143), said
        assert "Traceback" not in said
    assert not list(run.glob("*.part"))


def test_ports_that_are_none(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explore", str(run), "--no-browser", "--port", "70000", "--quiet"]) == 2
    assert "--port 70000" in capsys.readouterr().err
    assert main(["explore", str(run), "--no-browser", "--host", "203.0.113.7", "--quiet"]) == 3
    assert "cannot listen on --host 203.0.113.7" in capsys.readouterr().err
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        assert main(["explore", str(run), "--no-browser", "--port", port, "--quiet"]) == 3
    assert f"--port {port}" in capsys.readouterr().err
    assert main(["explore", str(run / "nowhere"), "--no-browser"]) == 3
