"""`load`: a fitted estimator from the file that its `save` wrote."""

from __future__ import annotations

from inspect import signature
from typing import Any

from ..core.threads import resolve_n_jobs
from ..errors import ModelFileError
from ..model.files.model import read_model
from .clusters import FINCH, Communities, TreeClustering
from .hnne import HNNE


def load(path: Any, *, mmap: bool = False) -> HNNE | TreeClustering:
    """A fitted model from a file that `HNNE.save` or `FINCH.save` wrote.

    It transforms, predicts and labels with the same bits as the model that was saved. All checksums
    are compared, and nothing of the file is executed, so that a file from elsewhere can do no harm.

    Parameters
    ----------
    path : path
    mmap : bool
        Map large arrays into memory instead of reading them: for models that are larger than
        memory, or that many processes share. The file must not change as long as the model is in
        use.

    Returns
    -------
    HNNE, FINCH or Communities
        Without the training rows, which only `relayout` needs.

    Raises
    ------
    ModelFileError
        If the file is damaged, cut short, made by a newer nestmap, or no model file.
    OSError
        If it cannot be read at all.

    Examples
    --------
    >>> import tempfile, nestmap
    >>> from sklearn.datasets import load_iris
    >>> X = load_iris().data
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     nestmap.FINCH().fit(X).save(f"{folder}/iris.nestmap")
    ...     print(nestmap.load(f"{folder}/iris.nestmap").hierarchy_)
    Hierarchy(150 rows -> 41 -> 10 -> 3 nodes, metric='euclidean')
    """
    saved = read_model(path, resolve_n_jobs(None), mmap)
    kinds: dict[str, type[HNNE | TreeClustering]] = {
        "HNNE": HNNE,
        "FINCH": FINCH,
        "Communities": Communities,
    }
    estimator = kinds[saved.estimator]
    unknown = saved.parameters.keys() - signature(estimator).parameters.keys()
    if unknown:
        raise ModelFileError(
            f"{path}: {saved.estimator} has no parameter {min(unknown)!r} in this version"
        )
    try:
        return estimator._restore(saved)
    except ModelFileError as error:
        raise ModelFileError(f"{path}: {error}") from None
