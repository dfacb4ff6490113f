"""The rows of a fit: the pipeline asks for them by one interface, whoever works on them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from conftest import digits
from numpy.testing import assert_array_equal

from nestmap import HNNE, Descent, Islands, Mosaic
from nestmap.core.arrays import Array
from nestmap.core.points.duplicates import hash_points
from nestmap.method.hierarchy.build import LevelItems, LevelStep
from nestmap.method.layout import LayoutSettings
from nestmap.method.layout.balls import Anchored, Placement
from nestmap.method.neighbors.metric import Metric
from nestmap.method.preliminary.maps import RowMap
from nestmap.method.rows import RowsHere, TrainingRows
from nestmap.method.run import Run
from nestmap.model.fit import fit
from nestmap.model.growth.like import OldModel
from nestmap.model.settings import FitSettings


@dataclass(frozen=True, eq=False)
class RowsOfOthers:
    """Rows that somebody else works on; what they were asked for."""

    here: RowsHere
    asked: list[str] = field(default_factory=list)
    unit: float | None = None

    @property
    def X(self) -> Any:
        return self.here.X

    @property
    def hashes(self) -> Array:
        return self.here.hashes

    def join(self, items: LevelItems, metric: Metric, run: Run) -> LevelStep:
        self.asked.append(f"join {items.k}")
        return self.here.join(items, metric, run)

    def project(self, row_map: RowMap, n_threads: int) -> Array:
        self.asked.append("project")
        return self.here.project(row_map, n_threads)

    def place(self, leaves: Anchored) -> tuple[Placement, Array]:
        self.asked.append("place")
        return self.here.place(leaves)


@pytest.mark.parametrize(
    ("layout", "places"),
    [(Descent(), True), (Islands(detail="leaves"), True), (Islands(), False), (Mosaic(), False)],
)
def test_a_fit_asks_for_rows_by_the_interface(layout: LayoutSettings, places: bool) -> None:
    others = RowsOfOthers(RowsHere(digits(), Run()))
    rows: TrainingRows = others
    hierarchy = "first_neighbors"
    found = fit(rows, FitSettings(2, hierarchy=hierarchy, layout=layout), Run())
    alone = HNNE(hierarchy=hierarchy, layout=layout).fit(digits())
    assert_array_equal(found.layout.positions, alone.embedding_)
    n_levels = len(found.tree.hierarchy.reports)
    joins = [f"join {k}" for k in range(n_levels)]
    assert others.asked == [*joins, "project", *(["place"] if places else [])]


def test_rows_are_hashed_once_and_only_if_nobody_has(monkeypatch: pytest.MonkeyPatch) -> None:
    hashed: list[int] = []

    def count(X: Any, n_threads: int) -> Array:
        hashed.append(len(X))
        return hash_points(X, n_threads)

    monkeypatch.setattr("nestmap.method.rows.hash_points", count)
    settings = FitSettings(2, layout=Descent())
    first = fit(RowsHere(digits()[:900], Run()), settings, Run())
    assert hashed == [900]
    like = OldModel(first, 0, digits().shape[1])
    known = hash_points(digits(), 1)
    again = fit(RowsHere(digits(), Run()), settings, Run(), like=like)
    told = fit(RowsHere(digits(), Run(), known), settings, Run(), like=like)
    assert hashed == [900, len(digits())]
    assert_array_equal(again.layout.positions, told.layout.positions)
    assert np.isfinite(again.layout.positions).all()
