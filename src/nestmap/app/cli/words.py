"""Errors of the library in the words of the command line: `text='review'` is `--texts review`."""

from __future__ import annotations

import re

from .options import FLAGS

_READING = {
    **{
        name: f"--{name}"
        for name in ("format", "columns", "vectors", "id", "label", "key", "missing")
    },
    "text": "--texts",
    "kinds": "--kind",
}
_SETTING = r"(?<![\w.(])({names})=(True|None|'[^']*'|\"[^\"]*\"|[^\s,;:)]+)?"


def in_options(text: str) -> str:
    """A sentence about parameters as one about options.

    Examples
    --------
    >>> in_options("t.csv: text='no such' is not there; n_jobs=0: use n_components=2 (--dims 2)")
    "t.csv: --texts 'no such' is not there; --threads 0: use --dims 2"
    """
    flags = {**_READING, **FLAGS, "work_dir": "--resume:"}
    names = "|".join(sorted(flags, key=len, reverse=True))
    # where temporary files go
    text = re.sub(r"\bwork_dir= ", "TMPDIR, or -o with --resume, ", text)
    text = re.sub(r"\bwork_dir:", "--resume:", text)
    found = re.sub(
        _SETTING.format(names=names), lambda match: _option(flags[match[1]], match[2]), text
    )
    return re.sub(r"(--[\w-]+(?: [^\s()]+)?) \(\1\)", r"\1", found)  # said in both ways


def _option(flag: str, value: str | None) -> str:
    if value is None or value == "True":
        return flag
    plain = re.fullmatch(r"'([\w./-]+)'|\"([\w./-]+)\"", value)
    return f"{flag} {plain[1] or plain[2] if plain else value}"
