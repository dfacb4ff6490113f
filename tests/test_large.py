"""Data that is never copied whole: memmaps, files, narrow types, h5py and zarr; budgets; work
directories; Ctrl-C.
"""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import textwrap
from functools import partial
from pathlib import Path

import h5py
import numpy as np
import pytest
import zarr
from conftest import LIMIT, digits, fitted_digits, line_of

from nestmap import HNNE, Descent, MemoryBudgetError, ProgressEvent
from nestmap.core.input.memory import Budget, parse_size
from nestmap.method.neighbors.metric import known_metric
from nestmap.model.plan import Plan
from nestmap.model.planning import plan_fit
from nestmap.model.settings import FitSettings


def images() -> np.ndarray:
    return digits().astype(np.uint8)


@pytest.fixture(scope="module")
def reference() -> HNNE:
    return fitted_digits()


@pytest.fixture(scope="module")
def quick() -> HNNE:
    """For what ends before the layout begins."""
    return fitted_digits(layout="descent")


def same_map(model: HNNE, reference: HNNE) -> None:
    np.testing.assert_array_equal(model.embedding_, reference.embedding_)
    for level, other in zip(model.hierarchy_, reference.hierarchy_, strict=True):
        np.testing.assert_array_equal(level.members, other.members)


# --- input
# -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["uint8", "int8", "float16", "float32", "float64"])
@pytest.mark.parametrize("metric", ["euclidean", "cosine", "manhattan"])
def test_narrow_rows_give_the_map_of_wide_ones(dtype: str, metric: str) -> None:
    """The digits are small integers: any of these types holds them, and all give one map."""
    X = digits()[:600].astype(dtype)
    same_map(HNNE(metric=metric).fit(X), fitted_digits(600, metric=metric))


@pytest.mark.parametrize("dtype", ["uint8", "int8", "float16"])
def test_narrow_rows_are_kept_as_they_are(dtype: str) -> None:
    X = np.ascontiguousarray(digits()[:300].astype(dtype))
    model = HNNE().fit(X)
    assert model._fitted.X is X or np.shares_memory(model._fitted.X, X)
    assert model.hierarchy_.levels[0].centroids.dtype == np.float32


@pytest.mark.filterwarnings("ignore::nestmap.errors.DominantColumnsWarning")
def test_half_precision_is_read_right_at_its_edges() -> None:
    rng = np.random.default_rng(0)
    X = (rng.standard_normal((400, 5)) * np.array([1, 1e-7, 6e-5, 1e4, 1])).astype(np.float16)
    same_map(HNNE().fit(X), HNNE().fit(X.astype(np.float32)))


def test_files_and_memmaps_give_the_same_map(tmp_path: Path, reference: HNNE) -> None:
    path = tmp_path / "rows.npy"
    np.save(path, images())
    for X in (path, str(path), np.load(path, mmap_mode="r")):
        model = HNNE().fit(X)
        same_map(model, reference)
        np.testing.assert_array_equal(model.transform(X), reference.embedding_)


def test_h5py_and_zarr_give_the_same_map(tmp_path: Path, reference: HNNE) -> None:
    with h5py.File(tmp_path / "rows.h5", "w") as file:
        stored = file.create_dataset("x", data=images(), chunks=(100, 64))
        model = HNNE().fit(stored)
        same_map(model, reference)
        np.testing.assert_array_equal(model.predict(stored), reference.labels_)
    array = zarr.create_array(
        store=str(tmp_path / "rows.zarr"), shape=(1797, 64), chunks=(100, 64), dtype="uint8"
    )
    array[:] = images()
    same_map(HNNE().fit(array), reference)


def test_new_rows_may_be_wide_where_training_rows_were_narrow(reference: HNNE) -> None:
    rng = np.random.default_rng(0)
    new = digits()[:60] + rng.uniform(0, 0.9, (60, 64)).astype(np.float32)
    for rule in ("centroid", "neighbor"):
        narrow, wide = (HNNE(new_points=rule).fit(X[:600]) for X in (images(), digits()))
        np.testing.assert_array_equal(narrow.transform(new), wide.transform(new))


def test_large_batches_of_new_rows_go_in_blocks(
    monkeypatch: pytest.MonkeyPatch, reference: HNNE
) -> None:
    new = digits() + np.float32(0.25)
    whole = reference.transform(new, return_distance=True)
    monkeypatch.setattr("nestmap.core.input.training._VALUES_PER_READ", 64 * 100)
    parts = reference.transform(new, return_distance=True)
    np.testing.assert_array_equal(whole[0], parts[0])
    np.testing.assert_array_equal(whole[1], parts[1])


def test_a_truncated_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "rows.npy"
    np.save(path, images())
    os.truncate(path, 5000)
    with pytest.raises(ValueError, match=r"rows\.npy.* 5000 bytes are there"):
        HNNE().fit(path)


def test_a_deleted_file_stays_readable_and_a_shrunk_one_is_refused(
    tmp_path: Path, reference: HNNE
) -> None:
    path = tmp_path / "rows.npy"
    np.save(path, images())
    X = np.load(path, mmap_mode="r")
    path.unlink()
    same_map(HNNE().fit(X), reference)

    def shrink(event: ProgressEvent) -> None:
        if event.stage.startswith(("level 1", "communities")):
            os.truncate(path, 4096)

    for hierarchy in ("graph", "first_neighbors"):
        np.save(path, images())
        X = np.load(path, mmap_mode="r")
        with pytest.raises(OSError, match="has shrunk to 4096 bytes"):
            HNNE(hierarchy=hierarchy, callback=shrink).fit(X)


# --- memory
# ----------------------------------------------------------------------------------------


def test_a_budget_that_is_too_small_is_refused_before_any_work() -> None:
    events: list[ProgressEvent] = []
    model = HNNE(max_memory="20MB", callback=events.append)
    with pytest.raises(
        MemoryBudgetError, match=r"needs about .* budget is 20 MB.*give max_memory='"
    ) as caught:
        model.fit(digits())
    assert not events and not hasattr(model, "embedding_")
    enough = str(caught.value).split("max_memory='")[1].split("'")[0]
    HNNE(max_memory=enough, layout="descent").fit(digits())


def test_what_a_free_memory_forbids_a_given_one_may_allow() -> None:
    """Memory that happens to be free does not change the map: a smaller search has to be asked for."""
    X = np.random.default_rng(0).standard_normal((2_500, 400)).astype(np.float32)

    settings = FitSettings(2, layout=Descent(), neighbors="approximate")

    def plan(budget: Budget) -> Plan:
        return plan_fit(X, known_metric("cosine"), settings, budget=budget, n_rows=3_000_000)

    assert plan(Budget(10**11, given=False)).columns == 256
    with pytest.raises(
        MemoryBudgetError, match=r"give max_memory='.*' or more, or '.*' or more for a"
    ) as caught:
        plan(Budget(3 * 10**9, given=False))
    enough, less = (parse_size(text) for text in str(caught.value).split("'")[1::2])
    assert less < 3 * 10**9 < enough
    assert plan(Budget(less, given=True)).columns < 256 == plan(Budget(enough, given=False)).columns


@pytest.mark.parametrize("wrong", ["4 apples", "-1GB", 0, -5, "GB", [4]])
def test_a_budget_that_says_nothing_is_refused(wrong: object) -> None:
    with pytest.raises((ValueError, TypeError), match="max_memory"):
        HNNE(max_memory=wrong).fit(digits())


def test_plans_tell_method_and_memory_and_grow_with_rows() -> None:
    few, many = (
        HNNE(max_memory="20GB").plan(np.zeros((n, 28), dtype=np.float32)) for n in (10_000, 200_000)
    )
    assert isinstance(few, Plan) and few.method == many.method == "exact"
    assert few.memory < many.memory < many.budget == 20_000_000_000
    assert "exact neighbours" in str(few)
    huge = np.broadcast_to(np.zeros(1, dtype=np.uint8), (8_100_000, 784))
    plan = HNNE(neighbors="approximate", max_memory="8GB").plan(huge)
    assert plan.method == "approximate" and plan.disk > 0 and plan.memory <= plan.budget
    assert (
        HNNE(neighbors="approximate", max_memory=plan.smallest).plan(huge).columns <= plan.columns
    )


def test_plans_of_sources_look_at_their_first_rows(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "rows.h5", "w") as file:
        stored = file.create_dataset("x", data=images(), chunks=(100, 64))
        model = HNNE(max_memory="4GB")  # what the machine has left changes from moment to moment
        assert model.plan(stored) == model.plan(images())


def test_tables_on_disk_change_nothing(monkeypatch: pytest.MonkeyPatch, reference: HNNE) -> None:
    monkeypatch.setattr("nestmap.model.planning.ON_DISK", 0.0)
    monkeypatch.setattr("nestmap.method.run.all_pairs_rows", lambda: 4)
    model = HNNE().fit(digits())
    assert isinstance(model.hierarchy_.levels[0].centroids, np.memmap)
    same_map(model, reference)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(
        again.transform(digits()[:9] + 1), reference.transform(digits()[:9] + 1)
    )


# --- work directories
# ------------------------------------------------------------------------------

CHILD = textwrap.dedent(
    """
    import os, signal, sys
    import numpy as np
    from nestmap import HNNE

    def die(event):
        if event.stage.startswith(sys.argv[3]):
            os.kill(os.getpid(), signal.SIGKILL)

    X = np.load(sys.argv[1], mmap_mode="r")
    HNNE(work_dir=sys.argv[2], layout="descent", hierarchy=sys.argv[4], callback=die).fit(X)
    """
)


def killed_at(stage: str, rows: Path, work: Path, hierarchy: str = "graph") -> None:
    command = [sys.executable, "-c", CHILD, str(rows), str(work), stage, hierarchy]
    done = subprocess.run(command, check=False, timeout=LIMIT)
    assert done.returncode == -signal.SIGKILL


@pytest.mark.slow
@pytest.mark.parametrize("level", range(5))
def test_a_killed_fit_goes_on_with_the_same_bits(tmp_path: Path, level: int) -> None:
    rows, work = tmp_path / "rows.npy", tmp_path / "work"
    np.save(rows, images())
    killed_at(f"level {level}: first", rows, work, "first_neighbors")
    assert len(list(work.glob("level-*"))) == level, "finished levels, and nothing else"
    stages: list[str] = []
    options = {"layout": "descent", "hierarchy": "first_neighbors"}
    model = HNNE(**options, work_dir=work, callback=lambda event: stages.append(event.stage)).fit(
        rows
    )
    quick = fitted_digits(**options)
    same_map(model, quick)
    assert not any(stage.startswith(f"level {level - 1}:") for stage in stages), "is not done again"
    np.testing.assert_array_equal(
        model.transform(digits()[:5] + 1), quick.transform(digits()[:5] + 1)
    )
    assert model.neighbor_report_.method == "exact"


@pytest.mark.slow
@pytest.mark.parametrize(
    "stage, n_kept", [("neighbours of", 0), ("level 0: first", 0), ("communities", 1)]
)
def test_a_killed_fit_of_communities_goes_on(
    tmp_path: Path, stage: str, n_kept: int, quick: HNNE
) -> None:
    rows, work = tmp_path / "rows.npy", tmp_path / "work"
    np.save(rows, images())
    killed_at(stage, rows, work)
    assert len(list(work.glob("level-*"))) == n_kept
    stages: list[str] = []
    same_map(
        HNNE(work_dir=work, layout="descent", callback=lambda e: stages.append(e.stage)).fit(rows),
        quick,
    )
    assert any(each.startswith("level 0") for each in stages) == (n_kept == 0)
    assert any(each.startswith("neighbours of") for each in stages) == (stage == "neighbours of")
    paper = HNNE(work_dir=work, layout="descent", hierarchy="first_neighbors").fit(
        rows
    )  # from the same leaves
    same_map(paper, fitted_digits(layout="descent", hierarchy="first_neighbors"))


def test_a_work_dir_of_other_data_is_refused_before_the_work(tmp_path: Path) -> None:
    HNNE(work_dir=tmp_path, layout="descent").fit(digits())
    stages: list[str] = []
    with pytest.raises(ValueError, match="data checksum"):
        HNNE(work_dir=tmp_path, callback=lambda event: stages.append(event.stage)).fit(digits() + 1)
    assert {stage.split()[0] for stage in stages} == {"reading"}


@pytest.mark.slow
def test_a_fit_killed_in_its_layout_has_all_levels(tmp_path: Path, reference: HNNE) -> None:
    rows, work = tmp_path / "rows.npy", tmp_path / "work"
    np.save(rows, images())
    killed_at("preliminary", rows, work)
    stages: list[str] = []
    same_map(
        HNNE(work_dir=work, callback=lambda event: stages.append(event.stage)).fit(rows), reference
    )
    assert not any(stage.startswith("level") for stage in stages)


def test_other_data_and_other_parameters_are_refused(tmp_path: Path) -> None:
    HNNE(work_dir=tmp_path, layout="descent").fit(digits())
    with pytest.raises(ValueError, match="data checksum"):
        HNNE(work_dir=tmp_path).fit(digits() + 1)
    with pytest.raises(ValueError, match=r"metric.*euclidean.*cosine"):
        HNNE(work_dir=tmp_path, metric="cosine").fit(digits())
    HNNE(work_dir=tmp_path, n_components=3, layout=Descent(radius=0.2)).fit(
        digits()
    )  # the same hierarchy


@pytest.mark.slow
def test_a_full_disk_leaves_finished_levels_and_says_so(tmp_path: Path, reference: HNNE) -> None:
    rows, work = tmp_path / "rows.npy", tmp_path / "work"
    np.save(rows, images())
    child = textwrap.dedent(
        """
        import resource, sys
        from nestmap import HNNE
        resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, 60_000))
        HNNE(work_dir=sys.argv[2]).fit(sys.argv[1])
        """
    )
    done = subprocess.run(
        [sys.executable, "-c", child, str(rows), str(work)],
        capture_output=True,
        text=True,
        timeout=LIMIT,
    )
    assert done.returncode == 1 and str(work) in done.stderr and "OSError" in done.stderr
    assert not list(work.glob("*.part*"))
    same_map(HNNE(work_dir=work).fit(rows), reference)


# --- progress and Ctrl-C
# ---------------------------------------------------------------------------


def test_a_callback_hears_of_every_stage_and_can_stop_the_fit() -> None:
    events: list[ProgressEvent] = []
    HNNE(callback=events.append).fit(digits())
    stages = list(dict.fromkeys(event.stage for event in events))
    assert stages[0].startswith("reading") and any(s.startswith("level 0: first") for s in stages)
    for stage in stages:
        own = [event.share for event in events if event.stage == stage]
        assert own[0] == 0 and own[-1] == 1 and own == sorted(own)

    def stop(event: ProgressEvent, chosen: str) -> None:
        if event.stage.startswith(chosen):
            raise InterruptedError("enough")

    for chosen in ("neighbours of", "level 0", "communities", "islands"):
        with pytest.raises(InterruptedError, match="enough"):
            HNNE(callback=partial(stop, chosen=chosen)).fit(digits())


@pytest.mark.slow
@pytest.mark.parametrize("method", ["exact", "approximate"])
def test_ctrl_c_stops_native_loops(method: str) -> None:
    """SIGINT comes from outside, in the middle of a search that takes minutes on one thread of any
    machine.
    """
    child = textwrap.dedent(
        f"""
        import signal, sys
        import numpy as np
        from nestmap import HNNE
        signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have started us with SIGINT ignored

        def tell(event):
            if event.stage.startswith("level 0: first") and event.share > 0:
                print("go", flush=True)

        X = np.random.default_rng(0).standard_normal((200_000, 100)).astype(np.float32)
        try:
            HNNE(neighbors="{method}", target_recall=0.999, n_jobs=1, callback=tell).fit(X)
        except KeyboardInterrupt:
            print("stopped", flush=True)
        """
    )
    process = subprocess.Popen([sys.executable, "-c", child], stdout=subprocess.PIPE, text=True)
    try:
        assert line_of(process) == "go\n"
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=LIMIT)
    finally:
        process.kill()
    assert out.splitlines()[-1] == "stopped" and process.returncode == 0
