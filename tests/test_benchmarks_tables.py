"""The benchmark of tables, without UMAP and on a table that comes with scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks import tables_data, tables_encoding, tables_rivals
from benchmarks.evidence import tables
from benchmarks.runner import Results

pytestmark = pytest.mark.benchmarks
WINE = next(task for task in tables_data.TASKS if task.name == "wine")


def test_the_halves_have_mixed_tables_with_gaps_and_no_table_twice() -> None:
    names = [task.name for task in tables_data.TASKS]
    assert len(set(names)) == len(names)
    assert sum(task.chooses for task in tables_data.TASKS) == len(names) / 2


def test_draws_are_parts_of_the_rows_and_cells_go_at_random() -> None:
    loaded = tables_data.load(WINE)
    part = tables_data.draw_rows(loaded, 1)
    assert len(part.classes) == len(part.table) == round(0.9 * len(loaded.table))
    again = tables_data.draw_rows(loaded, 1)
    assert part.table.equals(again.table) and (part.classes == again.classes).all()
    gone = tables_data.remove_cells(part, 1).table.isna().to_numpy()
    assert gone.mean() == pytest.approx(0.2, abs=0.03)


def test_what_is_done_by_hand() -> None:
    pd = pytest.importorskip("pandas")
    table = pd.DataFrame(
        {"a": [1.0, None, 3.0, 4.0], "kind": ["x", "y", "x", None], "name": list("abcd")}
    )
    found = tables_rivals.encode_by_hand(table)
    assert set(found) == set(tables_rivals.RIVALS)
    assert found["raw"][1, 0] == pytest.approx(8 / 3)
    assert found["one-hot"].shape == (4, 3)  # names are left out
    assert found["standardised"].mean() == pytest.approx(0)


@pytest.mark.slow
def test_a_table_is_measured_and_becomes_lines(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(tables_encoding, "DRAWS", 2)
    rivals = Results(tmp_path / "rivals.jsonl")
    for name, score in (("raw", 0.5), ("standardised", 0.99)):
        for draw in range(2):
            key = tables_rivals.key_of("wine", name, draw)
            rivals.add({"key": key, "accuracy": score})
    found = tables_encoding.measure_task(WINE, rivals)
    assert found["best"] == "standardised" and set(found["umap"]) == {"raw", "standardised"}
    assert found["nestmap"]["mean"] > 0.85
    assert found["ahead"]["mean"] == pytest.approx(found["nestmap"]["mean"] - 0.99)
    assert set(found["removed"]) == {"expected", "mean", "nearest rows", "forest"}
    other = {**found, "table": "other", "chooses": False}
    record = {"tables": [found, other]}
    assert "| wine | 178 | 13 + 0 | 0.0% | 0.500 | 0.990 | – |" in tables.accuracy(record)
    assert tables.removed(record).count("\n") == 5
    assert "wine (-0." in tables.losses(record).splitlines()[0]


def test_the_large_table_has_all_kinds_and_is_timed() -> None:
    pytest.importorskip("pandas")
    found = tables_encoding.measure_speed(500)
    assert found["columns"] == 42 and found["encode"] > 0
    table = tables_encoding.make_large(500)
    assert table.equals(tables_encoding.make_large(500))
    assert np.isnan(table["gap0"]).any()
