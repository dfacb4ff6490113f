"""Names by a function of the user's, such as a language model: in which order it is asked.

From the finest level upwards, so that parents are named from the names of their children. In a
level the largest cluster of each parent comes first, and each next one is told what its siblings
are called. Clusters of different parents do not see each other's names, so they may be asked for
at the same time without a change of any question.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from threading import Lock

import numpy as np

from ...core.threads import map_blocks
from .answers import BadAnswer, is_taken, read_answer, set_apart
from .questions import ClusterToName, LevelToName

Namer = Callable[[ClusterToName], str | None]
Kept = Mapping[int, Mapping[int, str]]  # names by level and cluster


class NamerError(OSError):
    """A namer that cannot go on: a server that is not there, that refuses, or talks nonsense."""


class NoAnswer(Exception):
    """A namer has nothing to say of one cluster, and can be asked for the next."""


@dataclass(frozen=True)
class Manner:
    """How a namer is asked.

    Attributes
    ----------
    n_at_once : int
        Questions that are asked at the same time; names do not depend on it.
    tell : function of (clusters that are done, all), optional
        One call at a time, in whichever thread.
    stop : function, optional
        Called where the work ends early, as by Ctrl-C: ends the questions that are running.
    """

    n_at_once: int = 1
    tell: Callable[[int, int], None] = lambda done, n: None
    stop: Callable[[], None] = lambda: None


@dataclass(frozen=True)
class Naming:
    """Names of levels, and how they came about.

    Attributes
    ----------
    names : dict of int to list of str
        Per level, one per cluster; no two of a level are alike.
    given : dict of int to dict of int to str
        Those that the namer gave, by level and cluster.
    n_asked, n_kept : int
        Clusters that were to be named by the namer, and those that had a name already.
    refused : dict of str to int
        Why answers were no names, and how many: their clusters have the built-in name.
    error : str
        Why the namer could not go on; empty if it could.
    """

    names: dict[int, list[str]]
    given: dict[int, dict[int, str]]
    n_asked: int
    n_kept: int
    refused: dict[str, int] = field(default_factory=dict)
    error: str = ""

    @property
    def n_given(self) -> int:
        """Clusters that the namer gave a name."""
        return sum(map(len, self.given.values()))

    @property
    def shortfall(self) -> str:
        """How many clusters keep the built-in name, and why; empty if none does."""
        n_built_in = self.n_asked - self.n_given
        if not n_built_in:
            return ""
        why = "; ".join(f"{n:,} × {reason}" for reason, n in sorted(self.refused.items()))
        told = f"{n_built_in:,} of {self.n_asked:,} clusters keep the built-in name"
        return f"{told} (answers: {why})" if why else told

    def __str__(self) -> str:
        told = [f"{self.n_given:,} of {self.n_asked:,} clusters are named"]
        if self.n_kept:
            told.append(f"{self.n_kept:,} more kept the name that they had")
        return "; ".join([*told, *filter(None, [self.shortfall])])


def name_levels(
    levels: Sequence[LevelToName],
    namer: Namer,
    kept: Kept | None = None,
    manner: Manner | None = None,
) -> Naming:
    """Ask a namer for the names of all clusters of some levels.

    An answer that is no name (`read_answer`) leaves the built-in name. One that a sibling has is
    asked for once more, with that said; then a word of evidence, or else a number, sets it apart.

    Parameters
    ----------
    levels : sequence of LevelToName
        Of one hierarchy, each once. The parents of each are clusters of the next coarser one here.
    namer : callable
        Gets a `ClusterToName`. It may raise `NoAnswer` for one cluster; after `NamerError` it is
        asked no more. Whatever else it raises ends the work.
    kept : dict of int to dict of int to str, optional
        Names that clusters have already, by level and cluster: they are not asked for.
    manner : Manner, optional
    """
    ordered = sorted(levels, key=lambda level: level.level)
    kept = {k.level: _names_there(k, (kept or {}).get(k.level, {})) for k in ordered}
    n_kept = sum(map(len, kept.values()))
    asking = _Asking(namer, manner or Manner(), sum(len(k.clusters) for k in ordered) - n_kept)
    names: dict[int, list[str]] = {}
    given: dict[int, dict[int, str]] = {}
    children: dict[int, list[str]] = {}
    for level in ordered:
        found = asking.ask_level(level, children, kept[level.level])
        names[level.level] = _told_apart(level, found, kept[level.level])
        given[level.level] = {i: names[level.level][i] for i in sorted(found)}
        children = _names_by_parent(level, names[level.level])
    return Naming(names, given, asking.n, n_kept, dict(asking.refused), asking.error)


def _names_there(level: LevelToName, names: Mapping[int, str]) -> dict[int, str]:
    """Those of clusters that the level has."""
    return {each.cluster: names[each.cluster] for each in level.clusters if each.cluster in names}


def _by_size(clusters: Iterable[ClusterToName]) -> list[ClusterToName]:
    return sorted(clusters, key=lambda each: (-each.size, each.cluster))


def _names_by_parent(level: LevelToName, names: Sequence[str]) -> dict[int, list[str]]:
    """The names of the children of each parent, the largest first."""
    if level.parents is None:
        return {}
    found: dict[int, list[str]] = {}
    for each in _by_size(level.clusters):
        found.setdefault(int(level.parents[each.cluster]), []).append(names[each.cluster])
    return found


def _told_apart(level: LevelToName, found: Mapping[int, str], kept: Mapping[int, str]) -> list[str]:
    """Names of all clusters, no two alike: kept ones as they are, then given ones, then built-in.

    Of equal ones the largest cluster has it as it is.
    """
    names = {each.cluster: kept.get(each.cluster, each.name) for each in level.clusters}
    taken = {*kept.values()}
    rest = [each for each in _by_size(level.clusters) if each.cluster not in kept]
    for each in sorted(rest, key=lambda each: each.cluster not in found):
        own = found.get(each.cluster, each.name)
        names[each.cluster] = set_apart(own, each.hints, taken)
        taken.add(names[each.cluster])
    return [names[each.cluster] for each in level.clusters]


class _Asking:
    """A namer at work: what it was asked, and what came of it; for several threads."""

    def __init__(self, namer: Namer, manner: Manner, n: int) -> None:
        self.namer = namer
        self.manner = manner
        self.n = n
        self.n_done = 0
        self.refused: Counter[str] = Counter()
        self.error = ""
        self.lock = Lock()

    def ask_level(
        self, level: LevelToName, children: Mapping[int, Sequence[str]], kept: Mapping[int, str]
    ) -> dict[int, str]:
        """The names that the namer gives to clusters of a level."""
        if level.parents is None:
            families = [level.clusters]
        else:
            parents = np.asarray(level.parents)
            families = [
                tuple(level.clusters[i] for i in np.flatnonzero(parents == parent))
                for parent in np.unique(parents)
            ]
        found = map_blocks(
            lambda family: self._ask_family(family, children, kept),
            families,
            self.manner.n_at_once,
            stop=self.manner.stop,
        )
        return {cluster: name for family in found for cluster, name in family.items()}

    def _ask_family(
        self,
        family: Sequence[ClusterToName],
        children: Mapping[int, Sequence[str]],
        kept: Mapping[int, str],
    ) -> dict[int, str]:
        """Names of siblings, one after the other."""
        taken = [kept[each.cluster] for each in family if each.cluster in kept]
        found: dict[int, str] = {}
        for each in _by_size(family):
            if each.cluster in kept:
                continue
            told = each.told(children.get(each.cluster, ()), taken)
            if name := self._ask(told, taken):
                found[each.cluster] = name
                taken.append(name)
            with self.lock:
                self.n_done += 1
                self.manner.tell(self.n_done, self.n)
        return found

    def _ask(self, question: ClusterToName, taken: Sequence[str]) -> str:
        """A name that no sibling has; empty if the answer is none, or the namer has given up."""
        if self.error:
            return ""
        try:
            name = read_answer(self.namer(question))
            if is_taken(name, taken):
                with suppress(BadAnswer, NoAnswer):  # the first answer is still a name
                    name = read_answer(self.namer(replace(question, taken=name)))
            return set_apart(name, question.hints, taken)
        except (BadAnswer, NoAnswer) as reason:
            with self.lock:
                self.refused[str(reason)] += 1
        except NamerError as error:
            with self.lock:
                self.error = self.error or str(error)
        return ""
