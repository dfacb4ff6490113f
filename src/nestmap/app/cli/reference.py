"""docs/use/command-line.md from the code.

`python -m nestmap.app.cli.reference > docs/use/command-line.md` writes it.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from . import EXIT_CODES
from .parser import make_parser

_START = """# The command `nestmap`

Made from the code by `python -m nestmap.app.cli.reference`; a test compares them.

```
nestmap fit cars.csv -o cars --id name --label maker    # read, embed, write the folder cars
nestmap plot cars -o cars.png                           \
# clusters, their coasts and names; --color maker
nestmap info cars                                       # levels, sizes, names, neighbours, timings
nestmap export cars -o cars.parquet                     \
# coordinates, names, metadata, labels of all levels
nestmap transform cars new.csv -o placed.csv            # new rows on the same map; --levels 0,-1
nestmap labels cars --clusters 12 -o labels.csv
nestmap describe cars                                   # what distinguishes its clusters
nestmap score cars.csv cars --label maker               \
# trustworthiness and more; `info` shows it afterwards
nestmap fit reviews.csv -o reviews --texts review --plot reviews.png    \
# texts by TF-IDF, and their map
nestmap fit cars.csv -o cars --kind weight=drop --force # another decision about a column
zcat rows.csv.gz | nestmap fit - -o rows --quiet --json
```

Columns of a table are encoded, and what is decided about each is told \
with the option that changes it \
([tables](tables.md)).
Mapped as they are: arrays, and of tables a column of vectors, many columns called alike \
(emb_0 to emb_383), or numbers
without names, unless few columns would decide all distances.

Clusters have names wherever something is known of the rows: \
by the words of texts, by columns that were not mapped,
by the names of typical rows (`--id`, words of word vectors; codes with digits do not count), \
by up to 32
mapped columns of numbers that have names. \
The column of `--label` comes first ([names.md](names.md)).
Levels of more than 2,000 clusters get none. \
`info` shows the names, `plot` writes them on the map, `export` has them
beside the numbers of clusters. A language model can write them, \
too ([names.md](names.md#names-by-a-language-model)):
nothing is sent anywhere unless `--namer` is given.

What a run is made of: [files.md](files.md#runs). Formats of data: [files.md](files.md#data-files).

Progress goes to standard error: a bar with the time left where a terminal is, \
plain lines in a log. Results go to
standard output, at once. \
A run or an output file is written under another name and renamed when it is complete:
Ctrl-C, SIGTERM or a full disk leave nothing half-written. \
`--resume` keeps finished levels of a long fit in RUN.work
until the run is written. \
`--force` replaces a run: names that were typed in the explorer stay with clusters that are
the same, and the old folder is kept as RUN.old if it holds \
names of other clusters or files of yours. Texts without
one word that the run knows are far: distance inf, cluster -1. \
NESTMAP_TRACEBACK=1 shows where an error comes from.
"""


def render() -> str:
    """The page."""
    codes = [f"| {code} | {text} |" for code, text in EXIT_CODES.items()]
    parts = [
        _START,
        "## Exit codes\n\n| code | |\n|---|---|\n"
        + "\n".join([*codes, "| 143 | ended by SIGTERM |"])
        + "\n",
    ]
    parser = make_parser(with_experts=True)
    for command, text in _commands(parser):
        parts.append(
            f"## nestmap {command.prog.split()[-1]}\n\n{text}\n\n"
            f"| argument | |\n|---|---|\n{_rows(command)}\n"
        )
    return "\n".join(parts)


def _commands(parser: argparse.ArgumentParser) -> Iterator[tuple[argparse.ArgumentParser, str]]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            yield from ((command, command.description or "") for command in action.choices.values())


def _rows(command: argparse.ArgumentParser) -> str:
    return "\n".join(
        f"| `{_name(action)}` | "
        f"{(action.help or '').replace('%%', '%').replace('|', chr(92) + '|')} |"
        for action in command._actions
        if not isinstance(action, argparse._HelpAction)
    )


def _name(action: argparse.Action) -> str:
    if not action.option_strings:
        return str(action.metavar)
    takes = (
        "" if action.nargs == 0 else f" {action.metavar or _choices(action) or action.dest.upper()}"
    )
    return ", ".join(action.option_strings) + (
        f" [{takes.strip()}]" if action.nargs == "?" else takes
    )


def _choices(action: argparse.Action) -> str:
    return "{" + ",".join(map(str, action.choices)) + "}" if action.choices else ""


if __name__ == "__main__":
    print(render(), end="")
