"""`nestmap describe`: what distinguishes the clusters of a run, and new names for them."""

from __future__ import annotations

from argparse import Namespace

from ...method.hierarchy import Hierarchy
from ..runs.folder import RunFolder
from ..runs.record import whole_text
from .namer import check_namer, name_run
from .talk import Talk

_N_LARGEST = 20  # clusters that are listed
_MAX_TRAITS = 4  # of each


def run_describe(options: Namespace) -> None:
    """`nestmap describe`."""
    talk = Talk(options.quiet, options.json)
    check_namer(options)
    run = RunFolder(options.run)
    model = run.model()
    if options.namer is not None:
        name_run(run, model, options, talk)
    _tell(run, model.hierarchy_, options, talk)


def _tell(run: RunFolder, hierarchy: Hierarchy, options: Namespace, talk: Talk) -> None:
    """The clusters of a level: all as JSON, the largest as text."""
    level = int(run.record["label_level"])
    if options.level is not None:
        level = hierarchy.check_level(options.level)
    sizes = hierarchy.levels[level].sizes
    names = run.names().get(level) or [f"cluster {i}" for i in range(len(sizes))]
    clusters = range(len(sizes))
    evidence = run.evidence()
    own = evidence.levels.get(level) if evidence else None
    told = own.evidence if own else [()] * len(sizes)
    record = [
        {"cluster": i, "name": names[i], "rows": int(sizes[i]), "evidence": [*told[i]]}
        for i in clusters
    ]
    shown = sorted(clusters, key=lambda i: (-sizes[i], i))[:_N_LARGEST]
    lines = [f"level {level}: {len(sizes):,} clusters"]
    for i in shown:
        facts = "; ".join(told[i][:_MAX_TRAITS])
        lines.append(f"  {i}: {names[i]} ({sizes[i]:,} rows){': ' + facts if facts else ''}")
    if len(sizes) > len(shown):
        lines.append(f"  … and {len(sizes) - len(shown):,} smaller")
    talk.result(whole_text("\n".join(lines)), {"level": level, "clusters": record})
