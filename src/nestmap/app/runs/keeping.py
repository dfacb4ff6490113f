"""What people put into a run that is replaced: names that they typed, and files of their own."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from fnmatch import fnmatch
from pathlib import Path

from ...core.work.records import write_json
from ...errors import ModelFileError
from ...method.hierarchy import Hierarchy
from ...views.explore.names import Names, SavedNames
from .evidence import FILE as EVIDENCE
from .extras import IMAGES, TRUST
from .model_names import ANSWERS, ModelNames, as_record, read_model_names, write_model_names
from .model_names import FILE as MODEL_NAMES
from .naming import FILE as CLUSTER_NAMES

STORE = "explorer"
TYPED_NAMES = "names.json"
_OURS = (
    "run.json",
    "map-*d.nestmap",
    "rows.nestmap",
    CLUSTER_NAMES,
    EVIDENCE,
    MODEL_NAMES,
    ANSWERS,
    TRUST,
    IMAGES,
    STORE,
    TYPED_NAMES,
    "*.lock",
)


def keep_what_people_made(
    old: Path,
    new: Path,
    before: Callable[[], Hierarchy],
    now: Hierarchy,
    tell: Callable[[str], None],
) -> Path | None:
    """Carry names over to the run that replaces another; where the old folder stays, if it has to.

    What a language model has said goes along. The old folder stays, under another name, if it holds
    typed names of clusters that are no more, or files that nestmap did not write.
    """
    why = [f"it holds {_listed(others)}"] if (others := _foreign(old)) else []
    try:
        typed = SavedNames(old / TYPED_NAMES, writable=False).read()
        given = read_model_names(old)
        if (old / ANSWERS).is_file():
            shutil.copyfile(old / ANSWERS, new / ANSWERS)
        names = [each for own in typed.values() for each in own]
        n_kept = _carry(new, typed, given, (before(), now)) if typed or given else 0
    except (ModelFileError, OSError) as error:
        why.append(f"its names cannot be carried over ({error})")
    else:
        if n_kept:
            tell(
                f"kept {n_kept} of {len(names)} names that were typed in the explorer: "
                "these clusters are the same"
            )
        if n_kept < len(names):
            why.append(
                f"{len(names) - n_kept} of its {len(names)} typed names are of "
                "clusters that are no more"
            )
    if not why:
        return None
    kept = _free(old)
    tell(f"the old run is kept as {kept}: {'; '.join(why)}")
    return kept


def _foreign(folder: Path) -> list[str]:
    """Names in a run that are not ours."""
    return sorted(
        path.name
        for path in folder.iterdir()
        if not any(fnmatch(path.name, ours) for ours in _OURS)
    )


def _listed(names: list[str], most: int = 3) -> str:
    rest = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + rest


def _carry(
    new: Path, typed: Names, given: ModelNames | None, trees: tuple[Hierarchy, Hierarchy]
) -> int:
    """Write names whose clusters are there again; tells how many of them were typed."""
    if kept := _of_same_clusters(typed, *trees):
        write_json(new / TYPED_NAMES, as_record(kept))
    if given is not None and (names := _of_same_clusters(given.names, *trees)):
        write_model_names(new, ModelNames(given.model, names, names))
    return sum(map(len, kept.values()))


def _of_same_clusters(names: Names, before: Hierarchy, now: Hierarchy) -> Names:
    """Names whose clusters are there again, on the same level if possible.

    The key of a cluster is the sum of the hashes of its rows, so equal keys are equal rows, in
    whatever order.
    """
    places: dict[int, list[tuple[int, int]]] = {}
    for level in range(len(now.levels)):
        for cluster, key in enumerate(_keys(now, level)):
            places.setdefault(key, []).append((level, cluster))
    found: Names = {}
    for level, own in names.items():
        keys = _keys(before, level)
        for cluster, name in own.items():
            if cluster < len(keys) and (same := places.get(keys[cluster])):
                at, node = min(same, key=lambda place: abs(place[0] - level))
                found.setdefault(at, {})[node] = name
    return found


def _keys(hierarchy: Hierarchy, level: int) -> list[int]:
    """Of the clusters of a level; none if there is no such level, or rows have no values."""
    if level >= len(hierarchy.levels):
        return []
    keys = hierarchy.levels[level].keys
    return [] if keys is None else [int(key) for key in keys]


def _free(folder: Path) -> Path:
    """A name beside a folder that nothing has."""
    tries = (
        folder.with_name(f"{folder.name}.old{number}")
        for number in ("", *(f"-{i}" for i in range(2, 10_000)))
    )
    return next(path for path in tries if not path.exists())
