"""Rows that repeat others are counted, and told where they are many."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from nestmap import HNNE, load
from nestmap.app.cli import main

RNG = np.random.default_rng(0)
ROWS = RNG.normal(size=(120, 5))
MANY = ROWS[RNG.integers(0, 40, 1200)]
TOLD = "1,200 rows, 40 distinct: the others repeat one of these"


@pytest.mark.parametrize("metric", ["euclidean", "chebyshev"])
def test_report(metric: str, tmp_path: Path) -> None:
    model = HNNE(metric=metric).fit(MANY)
    assert model.neighbor_report_.n_distinct == 40
    assert model.neighbor_report_.repeats == TOLD
    assert "1200 rows (40 distinct)" in str(model.neighbor_report_)
    model.save(tmp_path / "m.nestmap")
    assert load(tmp_path / "m.nestmap").neighbor_report_.repeats == TOLD


@pytest.mark.parametrize(("n_distinct", "is_told"), [(107, True), (108, False), (120, False)])
def test_few_repeats_are_no_news(n_distinct: int, is_told: bool) -> None:
    X = ROWS.copy()
    X[n_distinct:] = X[: 120 - n_distinct]
    report = HNNE().fit(X).neighbor_report_
    assert report.n_distinct == n_distinct and bool(report.repeats) == is_told


def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    np.save(tmp_path / "x.npy", MANY)
    assert main(["fit", str(tmp_path / "x.npy"), "-o", str(tmp_path / "run")]) == 0
    assert TOLD in capsys.readouterr().out
    assert json.loads((tmp_path / "run" / "run.json").read_text())["repeats"] == TOLD
    assert main(["info", str(tmp_path / "run")]) == 0
    assert TOLD in capsys.readouterr().out


def test_verbose(capsys: pytest.CaptureFixture[str]) -> None:
    HNNE(verbose=1).fit(MANY)
    said = capsys.readouterr()
    assert TOLD in said.out + said.err
