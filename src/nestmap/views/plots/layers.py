"""Names of clusters as label layers, one text per row and level, for datamapplot and the like."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...core.arrays import Array
from ...method.describe import Facts
from ...method.hierarchy import Hierarchy
from ...method.hierarchy.naming import describe_levels


def label_layers(
    model: Any,
    levels: Sequence[int] | None = None,
    *,
    metadata: Any = None,
    texts: Any = None,
    names: Any = None,
    unlabelled: str = "Unlabelled",
) -> list[Array]:
    """The name of each row's cluster on several levels, finest first, as `datamapplot` takes them.

    Parameters
    ----------
    model : HNNE, FINCH or Hierarchy
    levels : sequence of int, optional
        Default: from the level of `labels_` to the top; two at least.
    metadata, texts, names : optional
        What clusters are named by, as in `Hierarchy.describe`.
    unlabelled : str
        For rows of clusters that nothing distinguishes.

    Returns
    -------
    list of ndarray of str
        One per level; clusters of a level have different names.

    Examples
    --------
    >>> import nestmap
    >>> from sklearn.datasets import load_digits
    >>> digits = load_digits()
    >>> model = nestmap.HNNE().fit(digits.data)
    >>> layers = nestmap.label_layers(model, metadata={"digit": digits.target})
    >>> [len(set(layer)) for layer in layers], str(layers[0][0])
    ([50, 12], 'digit 0')
    >>> plot = datamapplot.create_interactive_plot(model.embedding_, *layers)  # doctest: +SKIP
    """
    tree: Hierarchy = getattr(model, "hierarchy_", model)
    facts = Facts.of(tree.n_rows, metadata=metadata, texts=texts, names=names)
    if not facts:
        raise ValueError(
            "label_layers: give metadata=, texts= or names=, which clusters are named by"
        )
    if levels is None:
        first = model.label_level_ if hasattr(model, "label_level_") else tree.default_level()
        levels = range(min(first, max(0, tree.n_levels - 2)), tree.n_levels)
    chosen = sorted({tree.check_level(level) for level in levels})
    found = []
    for level, told in describe_levels(tree, chosen, facts).items():
        own = [unlabelled if re.fullmatch(r"cluster \d+", name) else name for name in told.names]
        found.append(np.array(own)[tree.labels(level)])
    return found
