"""`nestmap plot`, names of runs, and the one command from a file to a named picture."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_cli import here, run, run_here, table

from nestmap import HNNE
from nestmap.app.runs.folder import RunFolder
from nestmap.app.runs.naming import facts_of
from nestmap.method.describe import Facts
from nestmap.method.hierarchy.naming import describe_levels, names_for_map
from nestmap.readers import read_table

pytest.importorskip("matplotlib")
SUBJECTS = {
    "cats": "cat kitten purr whiskers fur",
    "trade": "market stock bank money price",
    "space": "rocket orbit moon star launch",
    "food": "bread soup salt butter kitchen",
}


def write_texts(path: Path, n: int = 160) -> Path:
    """Texts on four subjects, and the subject, as a csv."""
    draw = np.random.default_rng(0)
    lines = ["title,text,subject,length"]
    for i in range(n):
        subject = [*SUBJECTS][i % 4]
        words = " ".join(draw.choice(SUBJECTS[subject].split(), 4, replace=False))
        title = f"{'abcdefgh'[i % 8]}{'klmnopqrstuvwxyzabcde'[i // 8]} tale"
        lines.append(f'"{title}","{words}, and so on {i % 7}",{subject},{i % 11 + 0.5}')
    path.write_text("\n".join(lines) + "\n")
    return path


def is_png(path: Path) -> bool:
    return path.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n" and path.stat().st_size > 10_000


@pytest.fixture(scope="module")
def texts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with texts and a run of them."""
    folder = tmp_path_factory.mktemp("texts")
    write_texts(folder / "t.csv")
    here(
        "fit",
        folder / "t.csv",
        "-o",
        folder / "run",
        "--texts",
        "text",
        "--id",
        "title",
        "--quiet",
        "--dims",
        "2,3",
    )
    return folder


@pytest.mark.slow
def test_one_command_from_a_csv_to_a_named_picture(tmp_path: Path) -> None:
    write_texts(tmp_path / "t.csv")
    done = run("fit", "t.csv", "-o", "run", "--texts", "text", "--plot", "map.png", folder=tmp_path)
    assert is_png(tmp_path / "map.png") and "wrote map.png" in done.stderr
    names = RunFolder(tmp_path / "run").names()
    top = names[max(names)]
    assert any("cat" in name or "whiskers" in name for name in top), top
    assert (
        f'"{top[0]}"' in done.stdout
        and f'"{top[0]}"' in run_here("info", "run", folder=tmp_path).stdout
    )
    options = ("--color", "subject", "--theme", "dark", "--title", "Texts")
    run_here("plot", "run", "-o", "map.pdf", *options, folder=tmp_path)
    assert (tmp_path / "map.pdf").read_bytes()[:4] == b"%PDF"


@pytest.mark.slow
def test_failures(tmp_path: Path) -> None:
    write_texts(tmp_path / "t.csv", 40)
    np.save(tmp_path / "x.npy", np.random.default_rng(0).normal(size=(40, 3)))
    run_here("fit", "t.csv", "-o", "run", "--texts", "text", "--quiet", folder=tmp_path)
    for arguments, code, said in (
        (("plot", "run", "-o", "map.bmp"), 2, "must end in .png, .svg, .pdf"),
        (("plot", "run", "-o", "-"), 2, "must end in .png, .svg, .pdf"),
        (("plot", "run", "-o", "no/map.png"), 3, "there is no folder no"),
        (("plot", "none", "-o", "map.png"), 3, "no such run"),
        (("plot", "run", "-o", "map.png", "--color", "subjekt"), 2, "'subject'"),
        (("plot", "run", "-o", "map.png", "--color", "99"), 2, "level=99"),
        (("plot", "run", "-o", "map.png", "--dims", "3"), 2, "maps in 2 dimensions"),
        (("plot", "run", "-o", "map.png", "--size", "big"), 2, "such as 9 or 12,8"),
        (("plot", "run", "-o", "map.png", "--color", "recall"), 2, "--data FILE"),
        (("fit", "x.npy", "-o", "other", "--plot", "map.gif"), 2, "must end in .png, .svg, .pdf"),
    ):
        assert said in run_here(*arguments, folder=tmp_path, code=code).stderr, arguments
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "run",
        "t.csv",
        "x.npy",
    ]  # no fit began


def test_pictures_of_a_run(texts: Path, tmp_path: Path) -> None:
    for name, options in {
        "level.png": ["--color", "0"],
        "column.svg": ["--color", "subject", "--labels", "subject"],
        "numbers.png": [
            "--labels",
            "numbers",
            "--no-outlines",
            "--size",
            "5,4",
            "--dpi",
            "50",
            "--point-size",
            "3",
        ],
        "bare.png": ["--labels", "none", "--color", "length", "--no-legend", "--frame", "all"],
        "tree.png": ["--tree"],
        "shadow.png": ["--dims", "3"],
        "quality.png": ["--color", "trustworthiness", "--data", texts / "t.csv"],
    }.items():
        here("plot", texts / "run", "-o", tmp_path / name, "--quiet", *options)
        assert (tmp_path / name).stat().st_size > 1000, name
    drawn = (tmp_path / "column.svg").read_text()
    assert "<svg" in drawn and "<!-- subject -->" in drawn and "<!-- space -->" in drawn
    before = (tmp_path / "column.svg").read_bytes()
    here(
        "plot",
        texts / "run",
        "-o",
        tmp_path / "again.svg",
        "--quiet",
        "--color",
        "subject",
        "--labels",
        "subject",
    )
    assert (tmp_path / "again.svg").read_bytes() == before  # nothing random, no dates
    here("plot", texts / "run", "-o", tmp_path / "again.svg", "--quiet", code=3)
    assert (tmp_path / "again.svg").read_bytes() == before


def test_names_are_those_of_describe_and_reach_the_export(texts: Path, tmp_path: Path) -> None:
    found = RunFolder(texts / "run")
    model, names, known = (
        found.model(),
        found.names(),
        read_table(texts / "t.csv", text="text", id="title"),
    )
    assert [*names] == [*range(model.hierarchy_.n_levels)]
    others = {name: known.metadata[name] for name in ("subject", "length")}
    for level, each in names.items():
        told = model.hierarchy_.describe(
            level, metadata=others, texts=known.metadata["text"], names=known.names
        )
        assert told.names == each
    here("export", texts / "run", "-o", tmp_path / "all.csv", "--quiet")
    rows = table((tmp_path / "all.csv").read_text())
    level = model.label_level_
    assert [r["cluster_name"] for r in rows] == [names[level][c] for c in model.labels_]
    assert [r["level_0_name"] for r in rows] == [names[0][c] for c in model.hierarchy_.labels(0)]
    assert found.record["metadata"] == ["text", "subject", "length"]


def test_a_run_without_names_still_plots(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.random.default_rng(0).normal(size=(60, 3)))
    here("fit", tmp_path / "x.npy", "-o", tmp_path / "run", "--quiet")
    assert (
        RunFolder(tmp_path / "run").names() == {}
        and not (tmp_path / "run" / "names.nestmap").exists()
    )
    here("plot", tmp_path / "run", "-o", tmp_path / "map.png", "--quiet")
    assert is_png(tmp_path / "map.png")
    here("export", tmp_path / "run", "-o", tmp_path / "all.csv", "--quiet")
    assert "cluster_name" not in (tmp_path / "all.csv").read_text()


def test_damaged_names_are_told(
    texts: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(texts / "run", tmp_path / "run")
    path = tmp_path / "run" / "names.nestmap"
    path.write_bytes(path.read_bytes()[:-5])
    here("plot", tmp_path / "run", "-o", tmp_path / "map.png", code=3)
    assert "names.nestmap" in capsys.readouterr().err and not (tmp_path / "map.png").exists()


def test_few_mapped_columns_give_names(tmp_path: Path) -> None:
    draw = np.random.default_rng(0)
    size = np.repeat([0.0, 10.0], 50)
    rows = np.stack([size + draw.normal(size=100), draw.normal(size=100)], axis=1)
    (tmp_path / "x.csv").write_text("size,noise\n" + "\n".join(f"{a},{b}" for a, b in rows))
    known = read_table(tmp_path / "x.csv")
    assert [column.name for column in facts_of(known).columns] == ["size", "noise"]
    here("fit", tmp_path / "x.csv", "-o", tmp_path / "run", "--vectors", "--quiet")
    names = RunFolder(tmp_path / "run").names()
    assert all("size" in name.split(",")[0] for name in names[max(names)])
    record: dict[str, Any] = json.loads((tmp_path / "run" / "run.json").read_text())
    assert record["largest"][0]["name"] and record["tree"][0]["name"]


def test_names_on_a_map_do_not_repeat_themselves() -> None:
    X = np.repeat(np.random.default_rng(0).normal(size=(6, 2)) * 50, 20, axis=0)
    X += np.random.default_rng(1).normal(size=X.shape)
    tree = HNNE().fit(X).hierarchy_
    fine, coarse = 0, tree.n_levels - 1
    told = describe_levels(
        tree, [fine, coarse], Facts.of(len(X), metadata={"kind": np.repeat([*"abcdef"], 20)})
    )
    shown = names_for_map(tree, {level: each.names for level, each in told.items()})
    parent = tree.climb(np.arange(tree.level_sizes[fine]), coarse, fine)
    assert any(name == "" for name in shown[fine])
    assert not any(
        "(" in name or (name and name == shown[coarse][p])
        for name, p in zip(shown[fine], parent, strict=True)
    )
    with pytest.raises(
        ValueError, match="texts: needs one for each of the 120 rows of the fit, got 3"
    ):
        Facts.of(len(X), texts=["a", "b", "c"])


def test_the_parquet_is_what_embedding_atlas_opens(texts: Path, tmp_path: Path) -> None:
    """`embedding-atlas all.parquet --x x --y y --text text`: numbers, and texts as strings; names
    are a category.
    """
    parquet = pytest.importorskip("pyarrow.parquet")
    here("export", texts / "run", "-o", tmp_path / "all.parquet", "--quiet")
    found = parquet.read_table(tmp_path / "all.parquet")
    kinds = {field.name: str(field.type) for field in found.schema}
    assert (
        kinds["x"] == kinds["y"] == "double"
        and kinds["text"] == kinds["cluster_name"] == kinds["subject"] == "string"
    )
    assert (
        found.num_rows == 160
        and found["text"][3].as_py().split(",")[0].split()[0] in SUBJECTS["food"]
    )


def test_texts_without_words_to_name_clusters_by(tmp_path: Path) -> None:
    (tmp_path / "t.txt").write_text(
        "\n".join(f"{i % 7} {i % 5}0 the and {11 + i % 3}" for i in range(60))
    )
    here(
        "fit",
        tmp_path / "t.txt",
        "-o",
        tmp_path / "run",
        "--quiet",
        "--plot",
        tmp_path / "map.png",
    )
    assert RunFolder(tmp_path / "run").names() == {} and is_png(tmp_path / "map.png")


def test_codes_are_no_names(tmp_path: Path) -> None:
    draw = np.random.default_rng(0)
    for kind, names in (
        ("codes", [f"AC{i:03}" for i in range(60)]),
        ("words", [f"w{'abcdef'[i % 6] * 3}" for i in range(60)]),
    ):
        rows = "\n".join(
            f"{name},{a},{b}" for name, (a, b) in zip(names, draw.normal(size=(60, 2)), strict=True)
        )
        (tmp_path / f"{kind}.csv").write_text(f"who,a,b\n{rows}")
        known = read_table(tmp_path / f"{kind}.csv", id="who")
        assert (facts_of(known).names is None) == (kind == "codes")
