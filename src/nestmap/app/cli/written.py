"""What a run says of the fit that wrote it: data, parameters, versions, times, clusters."""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

import numpy as np

from ..._version import __version__
from ...method.hierarchy.summary import tell_labels
from ..runs.folder import describe_largest, describe_levels, describe_tree

if TYPE_CHECKING:
    from ..readers.table import Table
    from .fit import Fit

_N_LARGEST = 20  # clusters of the default level that the record names


def describe_fit(fit: Fit, model: Any, names: Mapping[int, Sequence[str]]) -> dict[str, Any]:
    """The record of a run, without the maps, which are known when they are written."""
    table = fit.table
    options = fit.options
    level = int(model.label_level_)
    return {
        "source": str(table),
        "file": str(options.data),
        "n_rows": table.n_rows,
        "repeats": model.neighbor_report_.repeats,
        "n_columns": int(table.X.shape[1]) if table.taken is None else len(table.taken),
        "reading": {
            "text": _mapped_text(table),
            "label": options.label,
            "id": options.id,
            "key": options.key,
            "format": options.format,
            "named": table.taken is not None,
            "texts": table.text,
            "pictures": None if table.pictures is None else [*table.pictures],
        },
        "metadata": [*table.metadata],
        "decisions": [*table.decided],
        "created": datetime.now().astimezone().isoformat(timespec="seconds"),
        "versions": _versions(),
        "parameters": _plain({**model.get_params(), "layout": model.layout.kind}),
        "changed": _plain(fit.given),
        "seconds": fit.seconds,
        "levels": describe_levels(model),
        "label_level": level,
        "evidence": tell_labels(model.hierarchy_),
        **names_in_record(model, names),
        "neighbors": str(model.neighbor_report_),
        "far_distance": _finite(model.far_distance_),
        "quality": None,
    }


def names_in_record(model: Any, names: Mapping[int, Sequence[str]]) -> dict[str, Any]:
    """What the record of a run says of the names of its clusters."""
    level = int(model.label_level_)
    return {
        "tree": describe_tree(model, names),
        "largest": describe_largest(model, names, level, _N_LARGEST) if names else [],
    }


def _mapped_text(table: Table) -> str | bool:
    """What new rows need for their words: the column; True for the lines of a file."""
    if table.words is None or table.text is None:
        return False
    return True if table.text == "text" else table.text


def _versions() -> dict[str, str]:
    import scipy
    import sklearn

    return {
        "nestmap": __version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "scikit-learn": sklearn.__version__,
        "platform": platform.platform(),
    }


def _finite(value: float) -> float | None:
    """A number that JSON knows."""
    return float(value) if np.isfinite(value) else None


def _plain(values: dict[str, Any]) -> dict[str, Any]:
    """Parameters as JSON: arrays and functions by what they are."""
    simple = (str, int, float, bool, type(None), list, dict)
    return {
        name: value if isinstance(value, simple) else f"<{type(value).__name__}>"
        for name, value in values.items()
        if name not in ("callback", "work_dir")
    }
