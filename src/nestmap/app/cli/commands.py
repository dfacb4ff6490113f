"""All commands: what each is for, its options, where it is done, whether it prints its result."""

from __future__ import annotations

from .declare import Command, Option
from .namer_options import NAMER
from .options import (
    AS_JSON,
    FIT,
    FOR_SPREADSHEETS,
    QUIET,
    RUN,
    RUNNING,
    THREADS,
    TRUST,
    output,
)
from .reading_options import READING, READING_OLD_AND_NEW
from .values import to_inches, to_levels

_PICTURE = "picture"
_COMPARE = Option(
    "--compare",
    "other runs, or files of positions, of the same rows: shown side by side",
    "OTHER",
    default=[],
    takes_many=True,
)

_EXPLORE = (
    RUN,
    _COMPARE,
    Option("--names", "name clusters by the most common value of this column", "COLUMN"),
    Option(
        "--host",
        "where to listen, by default for this machine only; any other needs the token in the "
        "address that is printed",
        default="127.0.0.1",
    ),
    Option(
        "--token",
        "a token in the address on this machine, too: for machines with several users",
        is_switch=True,
    ),
    Option("--port", "port (default: 8642, or a free one)", convert=int),
    Option("--no-browser", "print the address, open nothing", is_switch=True),
    Option("--rebuild", "make the explorer's files anew", is_switch=True),
    *RUNNING,
)

_TRANSFORM = (
    RUN,
    Option("data", "a file with the columns of the run, or -", "NEW"),
    *READING_OLD_AND_NEW,
    Option(
        "--levels",
        "also the clusters of these levels, and their names: 0 the finest, -1 the top; separated "
        "by commas",
        "L[,L]",
        convert=to_levels,
        group="output",
    ),
    *output("OUT", "a .csv, .tsv, .npy, .npz or .parquet file, or - for csv on standard output"),
    FOR_SPREADSHEETS,
    *RUNNING,
)

_DESCRIBE = (
    RUN,
    Option("--level", "0 the finest, -1 the top (default: the run's own)", "L", convert=int),
    *NAMER,
    QUIET,
    AS_JSON,
)

_LABELS = (
    RUN,
    Option(
        "--level",
        "0 the finest, -1 the top (default: the run's own)",
        "L",
        convert=int,
        rivals="which",
    ),
    Option("--clusters", "exactly so many clusters", "K", convert=int, rivals="which"),
    *output(
        "OUT", "a .csv, .tsv, .npy, .npz or .parquet file, or - for csv on standard output", "-"
    ),
    FOR_SPREADSHEETS,
    *RUNNING,
)

_PLOT = (
    RUN,
    *output("FILE", "a .png, .svg or .pdf file"),
    Option(
        "--color",
        "a level (0 the finest, -1 the top), a column of the data that was not mapped, "
        "trustworthiness or recall (default: the level of the labels)",
        "WHAT",
        group=_PICTURE,
    ),
    Option(
        "--labels",
        "names (of the run), numbers, none, or a column to name clusters by",
        "WHAT",
        default="names",
        group=_PICTURE,
    ),
    Option(
        "--level",
        "whose clusters are outlined and named (default: the level of the colours, or of the "
        "labels)",
        "L",
        convert=int,
        group=_PICTURE,
    ),
    Option(
        "--frame",
        "most: nearly all rows, with counts at the edge of those that would leave the picture "
        "empty; or all",
        choices=("most", "all"),
        default="most",
        group=_PICTURE,
    ),
    Option("--theme", "of the colours", choices=("light", "dark"), default="light", group=_PICTURE),
    Option(
        "--dims",
        "which map, of several (default: that in the plane; of others the first two axes are "
        "drawn)",
        "D",
        convert=int,
        group=_PICTURE,
    ),
    Option(
        "--size",
        "inches (default: as flat or tall as the map)",
        "W[,H]",
        convert=to_inches,
        group=_PICTURE,
    ),
    Option("--dpi", "pixels per inch", convert=float, metavar="N", default=150, group=_PICTURE),
    Option(
        "--point-size",
        "in square points (default: by number of rows)",
        "AREA",
        convert=float,
        group=_PICTURE,
    ),
    Option("--title", "above the picture", group=_PICTURE),
    Option("--no-outlines", "draw no coasts or regions", is_switch=True, group=_PICTURE),
    Option("--no-legend", "draw no legend or colour bar", is_switch=True, group=_PICTURE),
    Option(
        "--tree",
        "draw the tree of the levels instead of the map",
        is_switch=True,
        group=_PICTURE,
    ),
    Option(
        "--data",
        "the rows that were mapped, for trustworthiness and recall",
        "DATA",
        group=_PICTURE,
    ),
    QUIET,
)

_SCORE = (
    Option("data", "the rows that were mapped, in the same order", "DATA"),
    Option("map", "a run, whose record keeps the scores, or a file of coordinates", "MAP"),
    Option("--metric", "of the distances between rows (default: the run's, or euclidean)"),
    Option("--rows", "random rows to score", convert=int, default=5000),
    *READING,
    TRUST,
    *RUNNING,
)

_EXPORT = (
    RUN,
    *output(
        "OUT",
        "a .csv, .tsv, .npz, .parquet or .h5ad file, or a folder for web pages: a name without "
        "ending, or with / at its end",
    ),
    FOR_SPREADSHEETS,
    _COMPARE,
    Option("--names", "for web pages: name clusters by this column", "COLUMN"),
    Option("--title", "for web pages: what the map is called (default: the run's name)", "TEXT"),
    Option("--description", "for web pages: what the map is of, in a few sentences", "TEXT"),
    Option(
        "--url",
        "for web pages: the address where the folder will be, for previews of links to it",
        "URL",
    ),
    Option("--dims", "which map, of several (default: the first)", "D", convert=int),
    *RUNNING,
)

COMMANDS = {
    command.name: command
    for command in (
        Command(
            "fit",
            "Read data, embed it, and write a run: coordinates, labels of all levels, the tree.",
            FIT,
            "fit",
            prints=True,
        ),
        Command(
            "explore",
            "Open the map of a run in the browser; Ctrl-C ends it.",
            _EXPLORE,
            "explorer",
            prints=True,
        ),
        Command(
            "mcp",
            "Let an assistant read the map of a run: the Model Context Protocol on standard input "
            "and output, until the input ends.",
            (RUN, THREADS, QUIET),
            "mcp",
            prints=True,
        ),
        Command(
            "transform",
            "Place new rows on the map of a run: coordinates, distance, cluster.",
            _TRANSFORM,
            "place",
        ),
        Command("labels", "Write the cluster of each row.", _LABELS, "place"),
        Command(
            "info",
            "Say what a run holds: data, parameters, levels, neighbours, quality.",
            (RUN, AS_JSON),
            "talk",
            prints=True,
        ),
        Command(
            "describe",
            "Say what distinguishes the clusters of a run; or have a language model name them.",
            _DESCRIBE,
            "describe",
            prints=True,
        ),
        Command(
            "plot", "Draw the map of a run: clusters, their coasts and names.", _PLOT, "pictures"
        ),
        Command(
            "score",
            "Measure how faithful a map is to its data.",
            _SCORE,
            "score",
            prints=True,
        ),
        Command(
            "export",
            "Write coordinates, names, metadata and the labels of all levels to one file; "
            "or the explorer as a folder of web pages.",
            _EXPORT,
            "export",
        ),
        Command(
            "demo",
            "Embed scikit-learn's handwritten digits and show what there is to see.",
            (*output("RUN", "the folder to write", "nestmap-demo"), *RUNNING),
            "fit",
            prints=True,
        ),
    )
}
