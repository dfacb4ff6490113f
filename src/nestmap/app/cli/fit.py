"""`nestmap fit` and `nestmap demo`: read, embed, write a run."""

from __future__ import annotations

import shutil
from argparse import Namespace
from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from time import perf_counter
from typing import Any

import numpy as np

from ..readers.table import Table
from ..runs.extras import check_pixels
from ..runs.folder import RunContent, check_target, write_run
from ..runs.naming import describe_run
from ..runs.record import to_text
from .model import build_model, check_parameters, fit_maps, given_parameters
from .namer import check_namer, gather_for_namer, name_after_fit
from .namer_options import NAMER_VALUES
from .pictures import Picture, check_picture, draw_map
from .reading import (
    choose_like,
    count_texts,
    open_shared,
    read_data,
    use_cluster,
    without_words,
)
from .talk import Talk
from .trust import measure_with_progress
from .written import describe_fit


@dataclass(frozen=True, eq=False)
class Fit:
    """What is embedded, how, and where it is written."""

    options: Namespace
    talk: Talk
    target: Path
    table: Table
    given: dict[str, Any]  # parameters
    seconds: dict[str, float]  # that stages took

    @property
    def pictures(self) -> tuple[int, ...] | None:
        """The shape of the thumbnails that are kept, if any are."""
        asked: tuple[int, ...] | None = self.options.images
        return (self.table.pictures if asked is None else asked) or None

    def embed_and_write(self, model: Any) -> None:
        """Fit the model, relayout it for further dimensions, and write the run."""
        clock = perf_counter()
        models = fit_maps(model, self.table, self.options.dims, self.given)
        self.seconds["fit"] = perf_counter() - clock
        for each in models.values():
            each.work_dir = None  # gone when the run is written
        clock = perf_counter()
        described = describe_run(model.hierarchy_, self.table)
        names = {level: own.names for level, own in described.items()}
        evidence = None
        if described:
            evidence = gather_for_namer(model.hierarchy_, described, self.options, self.table)
        if names:
            self.seconds["naming"] = perf_counter() - clock
        plane = models.get(2, model)
        trust = (
            measure_with_progress(self.talk, self.table.X, plane) if self.options.trust else None
        )
        record = describe_fit(self, model, names)
        whys = {
            level: ["\n".join(trait.evidence for trait in each.evidence) for each in own]
            for level, own in described.items()
        }
        extras = (trust, self.pictures, evidence, whys)
        content = RunContent(models, self.table, names, record, *extras)
        run = write_run(self.target, content, self.options.force, self.talk.note)
        self.talk.note(f"wrote {self.target}")
        names = name_after_fit(run, model, self.options, self.talk)
        if self.options.plot is not None:
            draw_map(self.options.plot, plane, names, Picture())
            self.talk.note(f"wrote {self.options.plot}")
        told = {**run.record, "decisions": []}  # which were told before the fit
        self.talk.result(to_text(told), run.record)


def run_fit(options: Namespace) -> None:
    """`nestmap fit`."""
    talk = Talk(options.quiet, options.json)
    target = Path(options.output).expanduser()
    check_target(target, options.force)
    if options.plot is not None:
        check_picture(options.plot, options.force)
    given = given_parameters(options)
    check_parameters(options, given)
    is_here = options.scheduler is None
    choice = choose_like(options, given.get("like")) if is_here else None
    check_namer(options)
    with use_cluster(options):
        clock = perf_counter()
        table = open_shared(options, talk) if choice is None else read_data(options, talk, choice)
        if choice is not None and choice.encoder is None and table.encoder is not None:
            _refuse_like(given.get("like"))
        fit = Fit(options, talk, target, table, given, {"reading": perf_counter() - clock})
        if fit.pictures is not None:
            _check_as_they_are(table)
            check_pixels(table.X, fit.pictures)
        if fit.pictures is not None and options.images is None:
            talk.note(
                f"rows are pictures of {' x '.join(map(str, fit.pictures))} pixels: their "
                "thumbnails are kept; --images none leaves them out"
            )
        if table.words:
            _compare_by_words(fit)
        _fit_in_steps(fit)


def _refuse_like(path: str | None) -> None:
    """Raise where a map of encoded rows is to follow one of numbers as they are."""
    if path is not None:
        raise ValueError(
            f"like={path!r}: that model maps numbers as they are, and the columns of this table "
            "were encoded; name those that it maps by --vectors"
        )


def _check_as_they_are(table: Table) -> None:
    """Raise where pictures would be drawn of encoded numbers."""
    if table.encoder is not None:
        raise ValueError(
            "--images: the numbers of pictures are mapped as they are; name their columns by "
            "--vectors, not by --columns or --kind"
        )


def _compare_by_words(fit: Fit) -> None:
    """Texts are compared by cosine if nothing else was asked for."""
    n_wordless = int(without_words(fit.table.X).sum())
    if n_wordless:
        fit.talk.note(
            f"{count_texts(n_wordless)} none of the words that tell texts apart: they lie together"
        )
    if "metric" not in fit.given:
        fit.given["metric"] = "cosine"
        fit.talk.note("texts are compared by the cosine of their words: --metric cosine")


def _fit_in_steps(fit: Fit) -> None:
    """Fit and write; finished levels are kept beside the run where that was asked for."""
    options = fit.options
    target = fit.target
    keeps_levels = options.resume or options.scheduler
    work = target.with_name(f"{target.name}.work") if keeps_levels else None
    if options.resume and (n_levels := _n_finished(work)):
        fit.talk.note(f"going on from {work}: {_finished_levels(n_levels)}")
    try:
        fit.embed_and_write(build_model(options, fit.given, fit.talk, work, fit.table.encoder))
    except KeyboardInterrupt as stop:
        kept = str(stop) or _what_is_kept(target, work if options.resume else None)
        raise KeyboardInterrupt(kept) from None
    fit.talk.note(f"next: {_next_steps(target, options)}")
    if work is not None:
        shutil.rmtree(work, ignore_errors=True)


def _n_finished(work: Path | None) -> int:
    """Levels that a work directory holds."""
    return 0 if work is None else len([*work.glob("level-*/meta.json")])


def _finished_levels(n: int) -> str:
    return "1 level is finished" if n == 1 else f"{n} levels are finished"


def _what_is_kept(target: Path, work: Path | None) -> str:
    """What a fit that was interrupted leaves, and how to go on."""
    if (target / "run.json").exists():
        return f"{target} is there; what should follow (--plot) is not"
    if work is None:
        return (
            "nothing was written; with --resume finished levels would be kept, "
            "and the next fit would go on from them"
        )
    n_levels = _n_finished(work)
    if not n_levels:
        return f"no level was finished; the same command starts again ({work} holds nothing yet)"
    return (
        f"{_finished_levels(n_levels)} and kept in {work}; "
        "the same command, with --resume, goes on from there"
    )


def _next_steps(target: Path, options: Namespace) -> str:
    """What can be done with a run that was written."""
    run = quote(str(target))
    looks = [f"nestmap explore {run}"] if 2 in options.dims else []
    if options.plot is None:
        looks.append(f"nestmap plot {run} -o {quote(target.name + '.png')}")
    return "; ".join([*looks, f"nestmap export {run} -o {quote(target.name + '.csv')}"])


def run_demo(options: Namespace) -> None:
    """`nestmap demo`."""
    from sklearn.datasets import load_digits

    talk = Talk(options.quiet, options.json)
    target = Path(options.output).expanduser()
    check_target(target, options.force)
    digits = load_digits()
    table = Table(
        digits.data.astype(np.uint8),
        tuple(digits.feature_names),
        None,
        {"digit": digits.target},
        "scikit-learn's handwritten digits",
    )
    own = {"data": "digits", "dims": [2], "label": "digit", "trust": True, "images": (8, 8)}
    none = dict.fromkeys(("id", "key", "format", "plot", *NAMER_VALUES))
    asked = Namespace(**vars(options) | own | none)
    Fit(asked, talk, target, table, {}, {}).embed_and_write(build_model(asked, {}, talk, None))
    talk.note(
        f"next: nestmap explore {target}; nestmap plot {target} -o digits.png; nestmap info "
        f"{target}; nestmap export {target} -o digits.csv; nestmap labels {target} --clusters 10"
    )
