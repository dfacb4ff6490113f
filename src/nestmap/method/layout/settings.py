"""What users choose of a layout: `Islands`, `Descent` and `Mosaic`."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state

from ...core.habits import did_you_mean, refuse_habits
from ...core.input.validate import check_number, check_option
from ..arrangement import ARRANGEMENTS, MOST_LOCAL
from ..neighbors.item_graph import MOST_ROWS
from ..preliminary import KINDS, check_coordinates
from .islands import DETAILS


class LayoutSettings(BaseEstimator):
    """Base of the settings; its attributes are what a layout without such a parameter goes by."""

    kind = ""
    is_plane = True  # for maps in 2-D only
    radius: float = 1 / 3
    arrangement: str = "auto"
    preliminary: Any = "pca_centroids"
    inflate: bool = False
    random_state: Any = None
    detail: str = "leaves"
    tightness: float = 1.0

    def check(self, n_components: int, n_rows: int) -> None:
        """Raise for values that cannot be."""
        if self.is_plane and n_components != 2:
            raise ValueError(
                f"layout={self.kind!r} is for the plane: it needs n_components=2, not "
                f"{n_components}; use layout='descent' for other dimensions"
            )

    def is_local(self, n_components: int) -> bool:
        """Whether members lie by their own cluster's principal components."""
        if self.arrangement == "auto":
            return n_components <= MOST_LOCAL
        return self.arrangement == "local"

    def finest(self, n_rows: int) -> str:
        """The finest that forces act on: 'leaves' or 'rows'."""
        return self.detail

    def coordinates(self, n_components: int, n_rows: int) -> Any:
        """The kind of the preliminary embedding, or given coordinates, checked."""
        if isinstance(self.preliminary, str):
            return self.preliminary
        return check_coordinates(self.preliminary, n_rows, n_components)

    def draw_seed(self) -> int:
        """The seed of random preliminary embeddings; 0 where nothing can be random."""
        return 0

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        lines = super().__repr__(N_CHAR_MAX).split("\n")
        # parameters may be arrays
        return "\n".join(lines if len(lines) <= 20 else [*lines[:18], "…", lines[-1]])


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


class Descent(LayoutSettings):
    """Settings of the descent, the paper's layout: balls around centres, with the firmest promise.

    The paper's own map is `HNNE(hierarchy="first_neighbors",
    layout=Descent(arrangement="global"))`.

    Parameters
    ----------
    radius : float
        A cluster's members move into a ball with this fraction of the distance to the nearest other
        cluster. At most 0.2 guarantees that nothing crosses over (Lemma 1; see `HNNE.audit`).
    arrangement : {'auto', 'local', 'global'}
        How the members of a cluster lie relative to each other: by the cluster's own principal
        components, turned towards its neighbours, or by the preliminary embedding (the paper's
        map). 'auto' is the more faithful one: local up to 8 components, global beyond
        (docs/descent.md).
    preliminary : {'pca_centroids', 'pca', 'random_projection', 'random'} or array
        Where points lie relative to each other before the descent: PCA fitted on about a thousand
        centroids (the paper's), on all rows, a random projection, random coordinates, or given
        coordinates of shape (n_rows, n_components). With a local arrangement it only places the
        clusters of the top level.
    inflate : bool
        Stretch squeezed clusters, as the authors' code does (arrangement='global' in 2-D and 3-D
        only). It fills more of the picture and is a little less faithful (docs/descent.md).
    random_state : int, RandomState or None
        Seed of the random preliminary embeddings; nothing else is random.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from nestmap import HNNE, Descent
    >>> model = HNNE(layout=Descent(radius=0.2)).fit(load_digits().data)
    >>> bool(model.audit())
    True
    >>> model.set_params(layout__radius=0.1).layout
    Descent(radius=0.1)
    """

    kind = "descent"
    is_plane = False

    @refuse_habits
    def __init__(
        self,
        radius: float = 1 / 3,
        *,
        arrangement: str = "auto",
        preliminary: Any = "pca_centroids",
        inflate: bool = False,
        random_state: Any = None,
    ) -> None:
        self.radius = radius
        self.arrangement = arrangement
        self.preliminary = preliminary
        self.inflate = inflate
        self.random_state = random_state

    def check(self, n_components: int, n_rows: int) -> None:
        super().check(n_components, n_rows)
        check_number("radius", self.radius, 1e-6, 0.5)
        check_option("arrangement", self.arrangement, ARRANGEMENTS)
        if not isinstance(self.preliminary, np.ndarray | list):
            check_option("preliminary", self.preliminary, KINDS)
        if not isinstance(self.inflate, bool | np.bool_):
            raise ValueError(f"inflate={self.inflate!r}: use True or False")
        if self.inflate and self.is_local(n_components):
            raise ValueError(
                "inflate=True is for arrangement='global'; local frames need none: use "
                "inflate=False"
            )
        if self.inflate and n_components not in (2, 3):
            raise ValueError(
                f"inflate=True works in 2 or 3 dimensions, not n_components={n_components}; "
                "use inflate=False"
            )
        self.coordinates(n_components, n_rows)

    def draw_seed(self) -> int:
        return int(check_random_state(self.random_state).randint(2**31 - 1))


class Mosaic(LayoutSettings):
    """Settings of the mosaic, whose regions fill the picture, area by number of rows; 2-D only.

    It has none so far.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from nestmap import HNNE, Mosaic
    >>> HNNE(layout=Mosaic()).fit(load_digits().data).layout_.kind
    'mosaic'
    """

    kind = "mosaic"

    @refuse_habits
    def __init__(self) -> None:
        pass


SETTINGS: dict[str, type[LayoutSettings]] = {each.kind: each for each in (Islands, Descent, Mosaic)}
LAYOUTS = ("auto", *SETTINGS)


def layout_settings(layout: Any, n_components: int) -> LayoutSettings:
    """The settings that `HNNE(layout=…)` stands for: a settings object, or a short form of one.

    Examples
    --------
    >>> layout_settings("auto", 2), layout_settings("auto", 3)
    (Islands(), Descent())
    """
    if isinstance(layout, LayoutSettings):
        return layout
    if isinstance(layout, str) and layout in LAYOUTS:
        if layout == "auto":
            layout = "islands" if n_components == 2 else "descent"
        return SETTINGS[layout]()
    hint = did_you_mean(layout, LAYOUTS) if isinstance(layout, str) else ""
    raise ValueError(
        f"layout={str(layout)[:60]!r} is not an option{hint}; use one of "
        f"{', '.join(map(repr, LAYOUTS))}, or settings such as Descent(radius=0.2)"
    )
