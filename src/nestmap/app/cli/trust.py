"""How far each row can be trusted, measured with a bar."""

from __future__ import annotations

from typing import Any

from ...core.progress import Progress
from ...views.explore.trust import Trust, known_neighbors, measure_trust
from .talk import Talk


def measure_with_progress(talk: Talk, X: Any, model: Any) -> Trust:
    """True neighbours and scores of all rows."""
    progress = Progress(0, talk)
    progress.begin("true neighbours")
    ids = known_neighbors(model)
    found = measure_trust(X, model.embedding_, model.metric, model.metric_params, model.n_jobs, ids)
    progress.done()
    return found
