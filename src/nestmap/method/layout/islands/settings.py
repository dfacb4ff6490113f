"""What users choose of the islands."""

from __future__ import annotations

from math import sqrt

from ....core.habits import refuse_habits
from ....core.input.validate import check_number, check_option
from ...neighbors.item_graph import MOST_ROWS
from ..base import Layout, LayoutInput, LayoutSettings
from .alike import lay_alike
from .ground import IslandsInput
from .lay import lay_islands
from .layout import IslandsLayout
from .leaves import SHORT

DETAILS = ("auto", "leaves", "rows")


class Islands(LayoutSettings):
    """Settings of the islands: t-SNE's forces, coarse to fine along the hierarchy; 2-D only.

    Parameters
    ----------
    tightness : float
        1 is about t-SNE's balance of attraction and repulsion; more makes smaller islands with
        wider seas, as UMAP's are; `HNNE.relayout` changes it in moments.
    detail : {'auto', 'leaves', 'rows'}
        The finest that forces act on: leaves, whose rows lie around them in balls as in the
        descent, or rows. 'auto': rows up to 100,000 of them.
    radius : float
        With detail='leaves': the ball of a leaf's rows, as a fraction of the distance to the
        nearest other leaf.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from nestmap import HNNE, Islands
    >>> model = HNNE(layout=Islands(tightness=2)).fit(load_digits().data)
    >>> model.layout_.tightness
    2.0
    """

    kind = "islands"
    has_forces = True

    @refuse_habits
    def __init__(
        self, tightness: float = 1.0, *, detail: str = "auto", radius: float = 1 / 3
    ) -> None:
        self.tightness = tightness
        self.detail = detail
        self.radius = radius

    def check(self, n_components: int, n_rows: int) -> None:
        super().check(n_components, n_rows)
        check_number("tightness", self.tightness, 0.1, 100)
        check_option("detail", self.detail, DETAILS)
        check_number("radius", self.radius, 1e-6, 0.5)

    def finest(self, n_rows: int) -> str:
        if self.detail == "auto":
            return "rows" if n_rows <= MOST_ROWS else "leaves"
        return self.detail

    def short_columns(self, n_rows: int) -> int:
        return SHORT if self.finest(n_rows) == "rows" else 0

    def of_group(self) -> Islands:
        return Islands(self.tightness, detail="rows", radius=self.radius)

    def scale_from(self, old: Layout, n_rows: int) -> float | None:
        if not isinstance(old, IslandsLayout):
            return None
        if (old.detail, old.tightness) != (self.finest(n_rows), self.tightness):
            return None
        # t-SNE's maps have a row per so much area
        return sqrt(n_rows / len(old.positions)) / old.unit

    def lay(self, given: LayoutInput) -> IslandsLayout:
        own = IslandsInput(
            **vars(given),
            radius=self.radius,
            detail=self.finest(given.hierarchy.n_rows),
            tightness=float(self.tightness),
        )
        origin = given.origin
        if origin.places is not None and origin.scale is not None:
            return lay_alike(own, origin.places, origin.scale)
        return lay_islands(own)
