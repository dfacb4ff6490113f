"""Names by a language model, for `nestmap fit` and `nestmap describe`: asked, told, kept."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from shlex import quote
from time import perf_counter
from typing import Any

from ...core.progress import Progress, in_words
from ...errors import ModelFileError
from ...method.describe import LevelDescription, Manner, NamerError, Naming, name_levels
from ...method.describe.questions import MAX_TEXT_LETTERS, MAX_TEXTS
from ...method.hierarchy import Hierarchy
from ...method.hierarchy.asking import levels_to_name
from ...model.comparison.carry import carry_names
from ...views.explore.names import Names, SavedNames
from ..naming import AnswerCache, ChatNamer
from ..readers.table import Table
from ..runs.evidence import (
    MAX_ROW_NAMES,
    Evidence,
    KnownRows,
    gather_evidence,
    questions_about,
)
from ..runs.folder import RunFolder
from ..runs.keeping import TYPED_NAMES
from ..runs.model_names import ANSWERS, FILE, ModelNames, read_model_names, write_model_names
from ..runs.naming import MOST_CLUSTERS
from .streams import say
from .talk import Talk
from .written import names_in_record

_SECONDS_BETWEEN_LINES = 30.0  # in a log
_N_AT_ONCE = 4  # questions; servers that answer one at a time let the others wait


def check_namer(options: Namespace) -> None:
    """Raise early where options of a namer do not fit, or nobody answers there."""
    if options.namer in (None, "none"):
        idle = [
            name for name in ("namer_model", "namer_level") if getattr(options, name) is not None
        ]
        if idle:
            flag = f"--{idle[0].replace('_', '-')}"
            raise ValueError(f"{flag} is for --namer URL: give the address of the server, too")
        return
    if options.namer_model is None:
        raise ValueError(
            f"--namer {options.namer}: needs --namer-model, such as llama3: the model's name on "
            "the server"
        )
    try:
        namer = _make_namer(options)
    except ValueError as error:
        raise ValueError(f"--namer: {error}") from None
    namer.endpoint.probe()


def name_run(run: RunFolder, model: Any, options: Namespace, talk: Talk) -> None:
    """Have the clusters of a run named as the options say, or go back to the built-in names."""
    if options.namer == "none":
        (run.path / FILE).unlink(missing_ok=True)
        run.note(**names_in_record(model, run.names()))
        talk.note("back to the built-in names")
        return
    naming = _ask_or_stop(run, model, options, talk)
    if naming.error:
        raise NamerError(f"{naming.error}; {naming}; {_how_to_go_on(run, options)}")


def gather_for_namer(
    hierarchy: Hierarchy, told: Mapping[int, LevelDescription], options: Namespace, table: Table
) -> Evidence:
    """What a run is to keep of its clusters, also for a namer that is asked later."""
    finest = levels_to_name(hierarchy)[0]
    if options.namer_level is not None:
        finest = min(finest, hierarchy.check_level(options.namer_level))
    levels = range(finest, hierarchy.n_levels)
    return gather_evidence(hierarchy, told, levels, has_texts=table.text is not None)


def name_after_fit(
    run: RunFolder, model: Any, options: Namespace, talk: Talk
) -> dict[int, list[str]]:
    """The names of a run that was just written, after those that a language model was to give.

    Whatever goes wrong there, the run is written, and has its built-in names.
    """
    if carried := _carried(model, options, talk):
        write_model_names(run.path, carried)
    if options.namer not in (None, "none"):
        try:
            naming = _ask_or_stop(run, model, options, talk)
            problem = naming.error and f"{naming.error}; {naming}"
        except ValueError as error:  # nothing is known of the rows
            problem = str(error)
        if problem:
            say(f"nestmap: {problem}; {_how_to_go_on(run, options)}")
    names = run.names()
    if read_model_names(run.path):
        run.note(**names_in_record(model, names))
    return names


def _carried(model: Any, options: Namespace, talk: Talk) -> ModelNames | None:
    """Names that a language model gave to the same clusters of the run that the map follows."""
    folder = Path(getattr(options, "like", None) or "").expanduser().parent
    if getattr(options, "like", None) is None or not (folder / FILE).exists():
        return None
    try:
        before = read_model_names(folder)
        old = RunFolder(folder).model()
    except (ModelFileError, OSError) as error:
        talk.note(f"names of {folder} are not carried over: {error}")
        return None
    assert before is not None
    names = carry_names(old, model, before.names)
    n_names = sum(map(len, names.values()))
    talk.note(f"kept {n_names} names of {folder} that a model gave: these clusters are the same")
    return ModelNames(before.model, names, names)


def _make_namer(options: Namespace, cache: AnswerCache | None = None) -> ChatNamer:
    return ChatNamer(options.namer, options.namer_model, timeout=options.namer_timeout, cache=cache)


def _ask_or_stop(run: RunFolder, model: Any, options: Namespace, talk: Talk) -> Naming:
    """Ask for names; Ctrl-C says how to go on."""
    try:
        return _ask(run, model, options, talk)
    except KeyboardInterrupt:
        raise KeyboardInterrupt(_how_to_go_on(run, options)) from None


def _ask(run: RunFolder, model: Any, options: Namespace, talk: Talk) -> Naming:
    """Ask for names, keep what comes, and say so."""
    hierarchy = model.hierarchy_
    evidence = _evidence(run)
    levels = _levels(hierarchy, evidence, options)
    rows = run.rows()
    text = run.record["reading"].get("texts")
    known = KnownRows(rows.names, rows.metadata.get(str(text)))
    namer = _make_namer(options, AnswerCache(run.path / ANSWERS))
    questions = questions_about(hierarchy, evidence, run.built_in_names(), known, levels)
    kept, carried = _kept(run, options.namer_model)
    n = sum(len(level.clusters) for level in questions)
    n -= sum(c < hierarchy.level_sizes[k] for k in levels for c in kept.get(k, {}))
    talk.note(_what_goes_where(n, namer, evidence, None if known.texts is None else str(text)))
    talk.note(f"answers are kept in {run.path / ANSWERS}: {len(namer.cache):,} are there")
    progress = Progress(0, talk)
    progress.begin(f"names by {options.namer_model}")
    tell = partial(_tell_count, progress, talk, options.namer_model)
    naming = name_levels(questions, namer, kept, Manner(_N_AT_ONCE, tell, namer.stop))
    progress.done()
    names = {level: {**own, **carried.get(level, {})} for level, own in naming.given.items()}
    before = read_model_names(run.path)
    is_less = naming.error and before and before.names  # than is there
    if any(names.values()) and not is_less:
        write_model_names(run.path, ModelNames(options.namer_model, names, carried))
        run.note(**names_in_record(model, run.names()))
    talk.note(f"{naming}; {namer.n_sent:,} requests were sent")
    return naming


def _tell_count(progress: Progress, talk: Talk, model: str, done: int, n: int) -> None:
    """A bar with the count and the time left; in a log a line now and then."""
    progress.stage = f"names by {model}: {done:,} of {n:,}"
    progress.share(done / n)
    seconds = perf_counter() - progress.said
    if not talk.is_terminal and seconds > _SECONDS_BETWEEN_LINES:
        progress.said = perf_counter()
        left = (perf_counter() - progress.began) * (n - done) / done
        talk.note(f"{progress.stage}{in_words(left)}")


def _kept(run: RunFolder, model: str) -> tuple[Names, Names]:
    """Names that are not asked for, and those among them that an earlier run had.

    Typed ones, and those of the same model that were carried over; typed ones win.
    """
    before = read_model_names(run.path)
    carried = before.carried if before and before.model == model else {}
    typed = SavedNames(run.path / TYPED_NAMES, writable=False).read()
    levels = {*carried, *typed}
    kept = {level: {**carried.get(level, {}), **typed.get(level, {})} for level in levels}
    return kept, carried


def _what_goes_where(n: int, namer: ChatNamer, evidence: Evidence, text: str | None) -> str:
    """What is sent, before it is."""
    told = ["names of clusters"]
    if evidence.columns:
        told.append(f"what was counted of the columns {', '.join(evidence.columns)}")
    if text is not None:
        told.append(
            f"up to {MAX_TEXTS} texts of column {text} (the first {MAX_TEXT_LETTERS} letters)"
        )
    if evidence.has_names:
        told.append(f"names of up to {MAX_ROW_NAMES} rows")
    key = "; the key goes along, and is not encrypted" if namer.sends_key_in_the_open else ""
    return (
        f"sends up to {n:,} prompts, one per cluster, to {namer.endpoint} (model {namer.model}), "
        f"with {', '.join(told)}; one more for each name that is taken{key}"
    )


def _evidence(run: RunFolder) -> Evidence:
    evidence = run.evidence()
    if evidence is None or not evidence.levels:
        raise ValueError(
            f"{run.path}: nothing is known of the clusters: fit with names of columns, or with "
            "--label, --id or --texts"
        )
    return evidence


def _levels(hierarchy: Hierarchy, evidence: Evidence, options: Namespace) -> list[int]:
    levels = levels_to_name(hierarchy, options.namer_level)
    if levels[0] not in evidence.levels:
        least = min(evidence.levels)
        n_clusters = hierarchy.level_sizes[levels[0]]
        way = f"fit again with --namer-level {levels[0]}"
        if n_clusters > MOST_CLUSTERS:
            way = f"this one has {n_clusters:,}, and {MOST_CLUSTERS:,} are named at most"
        raise ValueError(
            f"--namer-level {levels[0]}: the run keeps what is known of clusters from level "
            f"{least} upwards; {way}"
        )
    return levels


def _how_to_go_on(run: RunFolder, options: Namespace) -> str:
    level = "" if options.namer_level is None else f" --namer-level {options.namer_level}"
    return (
        f"{run.path} is there, answers so far are kept: `nestmap describe {quote(str(run.path))} "
        f"--namer {quote(options.namer)} --namer-model {quote(options.namer_model)}{level}` goes on"
    )
