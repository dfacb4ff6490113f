"""The comparison itself: jobs that fail, time out or eat memory become rows, runs resume, the page stands alone."""

from __future__ import annotations

import json
import re
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_iris

from benchmarks import paper, runner, tables
from benchmarks.evaluate import evaluate_all
from benchmarks.methods import ENVIRONMENTS, METHODS
from benchmarks.plan import make_plan
from benchmarks.runner import Job, Limits, Results, prepare, run_all, run_job
from nestmap.datasets import Dataset

LIMITS = Limits(seconds=60, megabytes=4000, second_fit_below=50)


@pytest.fixture
def bench(tmp_path, monkeypatch):
    """Two methods of this interpreter, in place of environments of their own."""
    folder = tmp_path / "environments"
    for name in ("nestmap", "sklearn"):
        (folder / name / "bin").mkdir(parents=True)
        python = folder / name / "bin" / "python"  # a link would lose the packages of this environment
        python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
        python.chmod(0o755)
        (folder / name / "installed").write_text(runner._fingerprint(ENVIRONMENTS[name]))
    monkeypatch.setattr(runner, "ENVIRONMENT_FOLDER", folder)
    return tmp_path


@pytest.fixture
def iris():
    X, y = load_iris(return_X_y=True)
    order = np.random.RandomState(0).permutation(150)
    return Dataset(
        name="iris", X=X[order], y=y[order], names=None, n_train=120, metric="euclidean", description="", source=""
    )


@pytest.fixture
def words(iris):
    return replace(iris, name="words", y=None, names=[f"word{i}" for i in range(150)], metric="cosine")


def source(work: Path, dataset: Dataset) -> dict:
    return prepare(work, dataset.name, dataset.X, dataset.metric, 120)


def test_a_job_measures_its_steps_and_leaves_its_map(bench, iris):
    row = run_job(Job("iris", "nestmap"), source(bench, iris), bench, LIMITS)
    assert row["status"] == "ok" and "why" not in row
    assert min(row[k] for k in ("import", "first_fit", "second_fit", "megabytes", "first_fit_cpu")) > 0
    assert np.load(bench / "jobs" / row["folder"] / "map.npy").shape == (150, 2)
    assert row["python"] == sys.version.split()[0]


def test_new_rows_are_placed_after_a_fit_on_the_others(bench, iris):
    row = run_job(Job("iris", "pca", task="new"), source(bench, iris), bench, LIMITS)
    folder = bench / "jobs" / row["folder"]
    assert np.load(folder / "train.npy").shape == (120, 2) and np.load(folder / "placed.npy").shape == (30, 2)
    assert row["transform"] > 0 and row["transform_one"] > 0


@pytest.mark.parametrize(
    ("job", "limits", "status", "why"),
    [
        (Job("iris", "nestmap", options={"radius": -1}), LIMITS, "failed", "radius=-1"),
        (Job("iris", "nestmap"), replace(LIMITS, seconds=0.1), "timeout", "stopped after 0 s"),
        (Job("iris", "nestmap"), replace(LIMITS, megabytes=1), "out of memory", "stopped at"),
    ],
)
def test_what_goes_wrong_is_a_row(bench, iris, job, limits, status, why):
    row = run_job(job, source(bench, iris), bench, limits)
    assert row["status"] == status and why in row["why"]
    book = tables.Book({row["key"]: row}, ["iris"], ["nestmap"])
    assert book.reason(job).startswith(status)


def test_a_long_first_fit_is_not_repeated(bench, iris):
    row = run_job(Job("iris", "nestmap"), source(bench, iris), bench, replace(LIMITS, second_fit_below=0))
    assert row["status"] == "ok"
    assert "second_fit" in row or row["why"].startswith("second fit not measured")


def test_an_environment_that_cannot_be_made_is_a_row(bench, iris, monkeypatch):
    monkeypatch.setitem(ENVIRONMENTS, "trimap", "./no-such-package")
    results = Results(bench / "results.jsonl")
    run_all([Job("iris", "trimap")], {"iris": source(bench, iris)}, results, bench, LIMITS, say=lambda text: None)
    row = results.rows["iris trimap map 2d"]
    assert row["status"] == "not installed" and row["why"]


def test_results_survive_a_torn_line_and_are_not_run_again(bench, iris):
    results = Results(bench / "results.jsonl")
    results.add({"key": "iris pca map 2d", "status": "ok", "first_fit": 7.0})
    with results.path.open("a") as file:
        file.write('{"key": "iris nest')  # killed while writing
    again = Results(results.path)
    assert list(again.rows) == ["iris pca map 2d"]
    said: list[str] = []
    jobs = [Job("iris", "pca"), Job("iris", "nestmap")]
    run_all(jobs, {"iris": source(bench, iris)}, again, bench, LIMITS, say=said.append)
    assert not any("pca" in text for text in said) and any("nestmap" in text for text in said)
    assert set(Results(results.path).rows) == {"iris pca map 2d", "iris nestmap map 2d"}
    run_all(jobs, {"iris": source(bench, iris)}, again, bench, LIMITS, again=("pca",), say=said.append)
    assert again.rows["iris pca map 2d"]["first_fit"] != 7.0


def test_the_plan_asks_only_for_what_is_possible():
    jobs = make_plan({"a": (500, 16), "b": (30_000, 100)}, {"a"}, tuple(METHODS))
    assert len({job.key for job in jobs}) == len(jobs)
    assert {(j.data, j.method) for j in jobs} >= {(d, m) for d in "ab" for m in METHODS}
    assert max(j.n_components for j in jobs) == 8  # "a" has 16 columns, "b" no classes
    assert {j.data for j in jobs if j.task == "new"} == {j.data for j in jobs if j.task == "part"} == {"a"}
    assert all(METHODS[j.method].transforms for j in jobs if j.task == "new")


def test_printed_figures_are_by_our_names():
    assert paper.printed(paper.RUN_TIME, "fashion_mnist") == {
        "nestmap": 7, "t-sne": 337, "fit-sne": 80, "umap": 58, "pacmap": 38,
    }  # fmt: skip
    assert paper.printed(paper.RUN_TIME, "digits") == {}


def test_the_whole_comparison_makes_one_page_that_needs_nothing(bench, iris, words):
    pytest.importorskip("matplotlib").use("Agg")
    from benchmarks.page import write_report

    data = {"iris": iris, "words": words}
    methods = ["nestmap", "trimap", "pca"]
    results = Results(bench / "results.jsonl")
    jobs = make_plan({"iris": (150, 4), "words": (150, 4)}, {"iris"}, ("nestmap", "pca"))
    jobs = [j for j in jobs if j.options.get("random_state", 0) == 0]
    run_all(jobs, {n: source(bench, d) for n, d in data.items()}, results, bench, LIMITS, say=lambda text: None)
    evaluate_all(results, bench, data, say=lambda text: None)
    n_lines = len(results.path.read_text().splitlines())
    evaluate_all(results, bench, data, say=lambda text: None)
    assert len(results.path.read_text().splitlines()) == n_lines  # scores are kept

    book = tables.Book(Results(results.path).rows, list(data), methods)  # as read back from the file
    write_report(book, bench, data, bench / "report", say=lambda text: None)
    page = (bench / "report" / "comparison.html").read_text()
    assert not re.search(r"(src|href)=[\"'](?!data:|#)", page)
    assert page.count("<img") == 7 and "not run" in page
    text = (bench / "report" / "comparison.md").read_text()
    for title in (
        "Table 2",
        "Table 3",
        "Table 4",
        "supplement, Table 1",
        "New points",
        "NMI",
        "Where nestmap loses",
        "Stability",
    ):
        assert title in text and title in page
    line = next(line for line in text.splitlines() if re.match(r"\| iris \| (\*\*)?0\.9", line))
    assert "| not run |" in line  # TriMap
    assert not list(bench.glob("report/**/*.part"))
    json.loads(results.path.read_text().splitlines()[0])
