"""Folders of runs with something wrong in them: one sentence and exit code 3, whatever command
reads them.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fuzz import folders
from fuzz.mutations import ODD, Container, at, paths_of, to_json

from nestmap import FINCH, HNNE, ModelFileError
from nestmap.app.cli import main
from nestmap.app.runs.extras import read_images, read_trust
from nestmap.app.runs.folder import RunFolder
from nestmap.app.runs.record import read_record, to_text

ROWS = np.random.default_rng(0).normal(size=(40, 4))


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A run that belongs to the test."""
    path = tmp_path / "run"
    path.mkdir()
    for name, data in folders.good_run().items():
        (path / name).write_bytes(data)
    return path


def record_of(run: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((run / "run.json").read_text())
    return found


def ends_with(said: str, *command: Any, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert main([*map(str, command)]) == 3
    (line,) = [line for line in capsys.readouterr().err.splitlines() if line.startswith("nestmap:")]
    assert said in line


def test_any_value_anywhere_in_the_record_is_read_or_refused(run: Path) -> None:
    """All that readers use is of its type once it was read: words can be made of it."""
    good = record_of(run)
    n_refused = 0
    for path in paths_of(good)[1:]:
        record = json.loads(json.dumps(good))
        for value in ODD:
            at(record, path[:-1])[path[-1]] = value
            (run / "run.json").write_text(to_json(record))
            try:
                to_text(read_record(run)).encode()
            except ModelFileError as error:
                n_refused += 1
                str(error).encode()
    assert n_refused > 2000


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            {"levels": [{"level": 0, "clusters": "12"}]},
            "'levels[0].clusters' is '12', which is no whole number",
        ),
        ({"levels": []}, "'levels' are not numbered from 0"),
        ({"levels": 3}, "'levels' is 3, which is no list"),
        ({"label_level": 2}, "'label_level' is 2, of 2 levels"),
        ({"label_level": "top"}, "'label_level' is 'top', which is no whole number"),
        ({"seconds": {"fit": "long"}}, "'seconds.fit' is 'long', which is no number"),
        ({"seconds": {"fit": 10**4000}}, "is too large"),
        ({"seconds": {"fit": float("nan")}}, "'seconds.fit' is nan"),
        ({"n_rows": 10**300}, "is too large"),
        ({"n_rows": 5}, "more clusters than the 5 rows"),
        ({"maps": {}}, "'maps' is {}, which is no list"),
        ({"maps": []}, "'maps' names none"),
        ({"maps": [{"dims": 2, "file": "..", "layout": "x"}]}, "no name of a file in the run"),
        ({"maps": [{"dims": 2, "file": "C:\\x", "layout": "x"}]}, "no name of a file in the run"),
        ({"maps": [{"dims": 2, "file": "a\x00", "layout": "x"}]}, "no name of a file in the run"),
        ({"versions": []}, "'versions' is [], which is no object"),
        ({"versions": {}}, "'versions.nestmap' is missing"),
        ({"reading": {}}, "'reading.key' is missing"),
        ({"reading": None}, "'reading' is None, which is no object"),
        ({"tree": [{"cluster": 1}]}, "'tree[0].rows' is missing"),
        ({"largest": [1]}, "'largest[0]' is 1, which is no object"),
        ({"quality": 0.5}, "'quality' is 0.5, which is no object or null"),
        ({"changed": "x"}, "'changed' is 'x', which is no object"),
        ({"source": ["\ud800"]}, "'source' is ['\\ud800'], which is no text"),
    ],
    ids=str,
)
def test_wrong_records_end_every_command_with_a_sentence(
    change: dict[str, Any], said: str, run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (run / "run.json").write_text(json.dumps({**record_of(run), **change}))
    for command in folders.commands(run, 3):
        ends_with(said, *command, capsys=capsys)


def test_a_record_without_a_key_that_is_read(run: Path) -> None:
    good, optional = (
        record_of(run),
        {
            "file",
            "n_columns",
            "metadata",
            "parameters",
            "largest",
            "far_distance",
            "quality",
            "repeats",
            "decisions",
            "evidence",
        },
    )
    for key in good:
        (run / "run.json").write_text(
            json.dumps({name: value for name, value in good.items() if name != key})
        )
        if key in optional:  # of older runs, or only for people
            assert to_text(read_record(run))
        else:
            with pytest.raises(ModelFileError, match=f"'{key}' is missing|not a run of nestmap"):
                read_record(run)


def test_halves_of_characters_are_printed_as_something(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A name of a file that is no UTF-8 is no damage."""
    (run / "run.json").write_text(json.dumps({**record_of(run), "source": "caf\udce9.csv"}))
    for command in (["info", run], ["info", run, "--json"], ["labels", run, "-o", "-"]):
        assert main([*map(str, command)]) == 0
        capsys.readouterr().out.encode()


def test_maps_must_be_those_of_the_record(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for model, said in (
        (FINCH().fit(ROWS), "is a model without a map"),
        (HNNE(3).fit(ROWS), "maps 40 rows to 3-D"),
        (HNNE().fit(ROWS[:30]), "maps 30 rows to 2-D"),
        (HNNE().fit(np.repeat(ROWS[:8], 5, axis=0)), "its levels have"),
    ):
        model.save(run / "map-2d.nestmap")
        ends_with(said, "labels", run, "-o", run.parent / "out.csv", capsys=capsys)


def changed(run: Path, name: str, change: Any) -> None:
    file = Container(folders.good_run()[name])
    change(file)
    (run / name).write_bytes(file.packed())


def test_rows_must_be_those_of_the_record(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    export = ("export", run, "-o", run.parent / "out.csv")
    changed(run, "rows.nestmap", lambda file: file.document.update(arrays=3))
    ends_with(f"{run / 'rows.nestmap'}: 'arrays' is 3", *export, capsys=capsys)
    changed(run, "rows.nestmap", lambda file: file.document["metadata"].pop("kind"))
    ends_with("run.json says ['price', 'a', 'b', 'c', 'd', 'kind']", *export, capsys=capsys)
    changed(run, "rows.nestmap", lambda file: file.document["arrays"].pop("columns/ends"))
    ends_with("names no columns; run.json says 4", *export, capsys=capsys)
    changed(
        run,
        "rows.nestmap",
        lambda file: file.arrays.update({"metadata/0": file.arrays["metadata/0"][:-1]}),
    )
    ends_with("'metadata/0' has shape (39,)", *export, capsys=capsys)


def test_names_with_halves_of_characters_can_be_exported(run: Path) -> None:
    def halve(file: Container) -> None:
        texts = file.arrays["names/bytes"].copy()
        texts[:3] = bytearray("\ud800".encode("utf-8", "surrogatepass"))
        file.arrays["names/bytes"] = texts

    changed(run, "rows.nestmap", halve)
    assert main(["export", str(run), "-o", str(run.parent / "out.csv"), "--quiet"]) == 0
    assert "\ufffd" in (run.parent / "out.csv").read_text(encoding="utf-8")


def test_true_neighbours_and_pictures_must_fit_the_rows(run: Path) -> None:
    def put(name: str, values: Any) -> Any:
        return lambda file: file.arrays.update({name: np.asarray(values(file.arrays[name]))})

    changed(run, "trust.nestmap", put("neighbors", lambda ids: ids + np.uint8(40)))
    with pytest.raises(ModelFileError, match=r"trust\.nestmap: .*rows are 0 to 39"):
        read_trust(run, 40)
    changed(run, "trust.nestmap", lambda file: file.document.update(scores=None))
    with pytest.raises(ModelFileError, match=r"trust\.nestmap: .*'scores' is None"):
        read_trust(run, 40)
    for values in (
        lambda pixels: pixels[..., None],
        lambda pixels: pixels[0, 0, 0],
        lambda pixels: pixels[:, :0],
    ):
        changed(run, "images.nestmap", put("pixels", values))
        with pytest.raises(ModelFileError, match=r"images\.nestmap"):
            read_images(run, 40)


def test_an_unchanged_run_serves_all_commands(run: Path) -> None:
    assert RunFolder(run).model(2).embedding_.shape == (40, 2)
    for number in (1, 3, 5, 7):
        for command in folders.commands(run, number):
            assert (
                main(
                    [
                        *command,
                        *([] if command[0] in ("describe", "info", "score") else ["--force"]),
                    ]
                )
                == 0
            )
