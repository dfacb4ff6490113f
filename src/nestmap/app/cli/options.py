"""Options of all commands. Those of a fit: from signature and docstring of `HNNE`, read as text.

The estimator is not imported for that: scikit-learn alone would take longer than `nestmap --help`
may.
"""

from __future__ import annotations

import argparse
import ast
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..._version import __version__
from .parser import Parser

# Parameters of the estimator that the command has other words for, or no use.
RENAMED = {"n_components": "dims", "n_jobs": "threads", "random_state": "seed"}
LEFT_OUT = ("work_dir", "callback", "verbose", *RENAMED)


@dataclass(frozen=True)
class Parameter:
    """A parameter of the estimator: its default, and what its docstring says."""

    name: str
    annotation: str
    default: Any
    kind: str
    help: str

    @property
    def flag(self) -> str:
        return "--" + self.name.replace("_", "-")

    @property
    def choices(self) -> list[str] | None:
        found = re.search(r"\{(.+?)\}", self.kind)
        is_closed = found is not None and not self.kind.endswith("array")
        return re.findall(r"'([^']+)'", found.group(1)) if found and is_closed else None


def estimator_parameters() -> Iterator[Parameter]:
    """The parameters of HNNE in the order of its signature, without importing it."""
    body = _class_of("estimators/parameters", "MapParameters").body
    init = next(
        node for node in body if isinstance(node, ast.FunctionDef) and node.name == "__init__"
    )
    said = dict(_described(ast.get_docstring(_class_of("estimators/hnne", "HNNE")) or ""))
    arguments = [*init.args.args[1:], *init.args.kwonlyargs]
    defaults = [*init.args.defaults, *init.args.kw_defaults]
    for argument, default in zip(arguments, defaults, strict=True):
        assert argument.annotation is not None and default is not None
        value = eval(compile(ast.Expression(default), "default", "eval"), {"__builtins__": {}})
        yield Parameter(argument.arg, ast.unparse(argument.annotation), value, *said[argument.arg])


def _class_of(module: str, name: str) -> ast.ClassDef:
    tree = ast.parse((Path(__file__).parents[2] / f"{module}.py").read_text(encoding="utf-8"))
    return next(node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == name)


def _described(docstring: str) -> Iterator[tuple[str, tuple[str, str]]]:
    """Name, type and text of each parameter of a numpydoc docstring."""
    section = docstring.partition("Parameters\n----------\n")[2].partition("\n\n")[0]
    for match in re.finditer(r"^(\w+) : (.+)\n((?:    .+\n?)+)", section, re.MULTILINE):
        yield match.group(1), (match.group(2), " ".join(match.group(3).split()))


def _add_parameter(group: Any, parameter: Parameter) -> None:
    text = parameter.help.replace("%", "%%").replace("`", "")
    default = parameter.default
    if isinstance(default, bool):
        group.add_argument(parameter.flag, action="store_true", default=None, help=text)
        return
    convert: Callable[[str], Any] = str
    if isinstance(default, float | int):
        convert = type(default)
    elif parameter.name == "metric_params":
        convert = _json
    shown = (
        f" (default: {default:.3g})"
        if isinstance(default, float)
        else f" (default: {default})"
        if default
        else ""
    )
    group.add_argument(
        parameter.flag,
        type=convert,
        default=None,
        choices=parameter.choices,
        help=text + shown,
        metavar=None
        if parameter.choices
        else {int: "N", float: "NUMBER", _json: "JSON"}.get(convert, "VALUE"),
    )


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no JSON, such as '{{\"p\": 3}}'") from None


def _dims(text: str) -> list[int]:
    parts = text.split(",")
    if not all(part.strip().isdigit() and int(part) > 0 for part in parts):
        raise argparse.ArgumentTypeError(f"{text!r}: numbers of dimensions, such as 2 or 2,3")
    return [int(part) for part in parts]


def _inches(text: str) -> tuple[float, float]:
    try:
        sides = [float(part) for part in text.split(",")]
    except ValueError:
        sides = []
    if len(sides) not in (1, 2) or not all(1 <= side <= 200 for side in sides):
        raise argparse.ArgumentTypeError(f"{text!r}: inches from 1 to 200, such as 9 or 12,8")
    return sides[0], sides[-1]


def _shape(text: str) -> tuple[int, ...]:
    """'8x8' or '32x32x3': height, width and colours of the pictures that rows are."""
    parts = text.lower().split("x")
    if len(parts) not in (2, 3) or not all(part.isascii() and part.isdigit() for part in parts):
        raise argparse.ArgumentTypeError(
            f"{text!r} is no HEIGHTxWIDTH, such as 28x28, or 32x32x3 for colours"
        )
    shape = tuple(int(part) for part in parts)
    if not 1 <= min(shape[:2]) <= max(shape[:2]) <= 256 or shape[2:] not in ((), (3,)):
        raise argparse.ArgumentTypeError(
            f"{text!r}: 1 to 256 pixels to a side, and 3 colours or none"
        )
    return shape


def _names(text: str) -> list[str]:
    return [part.strip() for part in text.split(",")]


def make_parser() -> argparse.ArgumentParser:
    """The parser of all commands."""
    parser = Parser(
        prog="nestmap",
        description="Maps of high-dimensional data, and the hierarchy of clusters below them.",
    )
    parser.add_argument("--version", action="version", version=f"nestmap {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    adders = (
        *(
            _add_fit,
            _add_explore,
            _add_transform,
            _add_labels,
            _add_info,
            _add_plot,
            _add_score,
            _add_export,
        ),
        _add_demo,
    )
    for add in adders:
        add(commands)
    return parser


def _add_fit(commands: Any) -> None:
    fit = _command(
        commands,
        "fit",
        "Read data, embed it, and write a run: coordinates, labels of all levels, the tree.",
    )
    fit.add_argument(
        "data",
        metavar="DATA",
        help="a file (docs/files.md lists the formats), or - for standard input",
    )
    _add_output(fit, "RUN", "the folder to write")
    fit.add_argument("--plot", metavar="FILE", help="also draw the map: a .png, .svg or .pdf file")
    _add_reading(fit)
    maps = fit.add_argument_group("map (as the parameters of nestmap.HNNE)")
    maps.add_argument(
        "--dims",
        type=_dims,
        default=[2],
        metavar="D[,D]",
        help="dimensions of the map, or of several maps on one hierarchy: 2,3 (default: 2)",
    )
    for parameter in estimator_parameters():
        if parameter.name not in LEFT_OUT:
            _add_parameter(maps, parameter)
    maps.add_argument("--seed", type=int, help="of the random preliminary embeddings")
    _add_running(fit)
    _add_keeping(fit)
    fit.add_argument(
        "--images",
        type=_shape,
        metavar="HxW",
        help="rows are pictures of so many pixels (28x28, or 32x32x3 for colours): "
        "keep thumbnails for the explorer",
    )
    fit.add_argument(
        "--resume",
        action="store_true",
        help="keep finished levels beside RUN, and go on from them after a fit that was stopped",
    )
    fit.add_argument(
        "--scheduler",
        metavar="ADDRESS",
        help="fit on a dask cluster, such as tcp://10.0.0.1:8786; DATA is a .npy file, "
        "a .zarr array or parquet files ('rows/*.parquet') that its workers see, "
        "and so is the folder of RUN (docs/cluster.md)",
    )


def _add_keeping(parser: Any) -> None:
    group = parser.add_argument_group("for the explorer")
    group.add_argument(
        "--trust",
        action="store_true",
        help="keep 10 true neighbours of each row and how many of them the map keeps together: "
        "the explorer shows where to trust the map",
    )


def _add_explore(commands: Any) -> None:
    explore = _command(commands, "explore", "Open the map of a run in the browser; Ctrl-C ends it.")
    _add_run(explore)
    explore.add_argument(
        "--compare",
        nargs="+",
        default=[],
        metavar="OTHER",
        help="other runs, or files of positions, of the same rows: shown side by side",
    )
    explore.add_argument(
        "--names", metavar="COLUMN", help="name clusters by the most common value of this column"
    )
    explore.add_argument(
        "--host",
        default="127.0.0.1",
        help="where to listen (default: 127.0.0.1, this machine only); "
        "any other needs the token in the address that is printed",
    )
    explore.add_argument(
        "--token",
        action="store_true",
        help="a token in the address on this machine, too: for machines with several users",
    )
    explore.add_argument(
        "--port", type=int, metavar="N", help="port (default: 8642, or a free one)"
    )
    explore.add_argument(
        "--no-browser", action="store_true", help="print the address, open nothing"
    )
    explore.add_argument("--rebuild", action="store_true", help="make the explorer's files anew")
    _add_running(explore)


def _add_transform(commands: Any) -> None:
    transform = _command(
        commands, "transform", "Place new rows on the map of a run: coordinates, distance, cluster."
    )
    _add_run(transform)
    transform.add_argument("data", metavar="NEW", help="a file with the columns of the run, or -")
    _add_output(
        transform,
        "OUT",
        "a .csv, .tsv, .npy, .npz or .parquet file, or - for csv on standard output",
    )
    _add_spreadsheets(transform)
    _add_reading(transform, new=True)
    _add_running(transform)


def _add_labels(commands: Any) -> None:
    labels = _command(commands, "labels", "Write the cluster of each row.")
    _add_run(labels)
    which = labels.add_mutually_exclusive_group()
    which.add_argument(
        "--level", type=int, metavar="L", help="0 the finest, -1 the top (default: the run's own)"
    )
    which.add_argument("--clusters", type=int, metavar="K", help="exactly so many clusters")
    _add_output(
        labels,
        "OUT",
        "a .csv, .tsv, .npy, .npz or .parquet file (default: csv on standard output)",
        "-",
    )
    _add_spreadsheets(labels)
    _add_running(labels)


def _add_info(commands: Any) -> None:
    info = _command(
        commands, "info", "Say what a run holds: data, parameters, levels, neighbours, quality."
    )
    _add_run(info)
    info.add_argument("--json", action="store_true", help="as JSON")


def _add_plot(commands: Any) -> None:
    plot = _command(commands, "plot", "Draw the map of a run: clusters, their coasts and names.")
    _add_run(plot)
    _add_output(plot, "FILE", "a .png, .svg or .pdf file")
    look = plot.add_argument_group("picture")
    look.add_argument(
        "--color",
        metavar="WHAT",
        help="a level (0 the finest, -1 the top), a column of the data that was not mapped, "
        "trustworthiness or recall (default: that of the labels)",
    )
    look.add_argument(
        "--labels",
        default="names",
        metavar="WHAT",
        help="names (of the run), numbers, none, or a column to name clusters by (default: names)",
    )
    look.add_argument(
        "--level",
        type=int,
        metavar="L",
        help="whose clusters are outlined and named (default: "
        "the level of the colours, or of the labels)",
    )
    look.add_argument(
        "--theme", choices=("light", "dark"), default="light", help="(default: light)"
    )
    look.add_argument(
        "--dims",
        type=int,
        metavar="D",
        help="which map, of several (default: that in the plane; "
        "of others the first two axes are drawn)",
    )
    look.add_argument(
        "--size", type=_inches, metavar="W[,H]", help="inches (default: as flat or tall as the map)"
    )
    look.add_argument(
        "--dpi", type=float, default=150, metavar="N", help="pixels per inch (default: 150)"
    )
    look.add_argument(
        "--point-size",
        type=float,
        metavar="AREA",
        help="in square points (default: by number of rows)",
    )
    look.add_argument("--title")
    look.add_argument("--no-outlines", action="store_true", help="draw no coasts or regions")
    look.add_argument("--no-legend", action="store_true", help="draw no legend or colour bar")
    look.add_argument(
        "--tree", action="store_true", help="draw the tree of the levels instead of the map"
    )
    look.add_argument(
        "--data", metavar="DATA", help="the rows that were mapped, for trustworthiness and recall"
    )
    plot.add_argument("--quiet", action="store_true", help="say nothing but errors")


def _add_score(commands: Any) -> None:
    score = _command(commands, "score", "Measure how faithful a map is to its data.")
    score.add_argument("data", metavar="DATA", help="the rows that were mapped, in the same order")
    score.add_argument(
        "map", metavar="MAP", help="a run, whose record keeps the scores, or a file of coordinates"
    )
    score.add_argument(
        "--metric",
        default=None,
        help="of the distances between rows (default: the run's, or euclidean)",
    )
    score.add_argument(
        "--rows", type=int, default=5000, metavar="N", help="random rows to score (default: 5000)"
    )
    _add_keeping(score)
    _add_reading(score)
    _add_running(score)


def _add_export(commands: Any) -> None:
    export = _command(
        commands,
        "export",
        "Write coordinates, names, metadata and the labels of all levels to one file; "
        "or the explorer as a folder of web pages.",
    )
    _add_run(export)
    _add_output(
        export,
        "OUT",
        "a .csv, .tsv, .npz, .parquet or .h5ad file, or a folder for web pages: "
        "a name without ending, or with / at its end",
    )
    _add_spreadsheets(export)
    export.add_argument(
        "--compare",
        nargs="+",
        default=[],
        metavar="OTHER",
        help="for web pages: other runs, or files of positions, of the same rows",
    )
    export.add_argument(
        "--names", metavar="COLUMN", help="for web pages: name clusters by this column"
    )
    export.add_argument(
        "--dims", type=int, metavar="D", help="which map, of several (default: the first)"
    )
    _add_running(export)


def _add_demo(commands: Any) -> None:
    demo = _command(
        commands, "demo", "Embed scikit-learn's handwritten digits and show what there is to see."
    )
    _add_output(demo, "RUN", "the folder to write (default: nestmap-demo)", "nestmap-demo")
    _add_running(demo)


def _command(commands: Any, name: str, text: str) -> Any:
    return commands.add_parser(name, help=text, description=text)


def _add_run(parser: Any) -> None:
    parser.add_argument("run", metavar="RUN", help="a folder that `nestmap fit` wrote")


def _add_output(parser: Any, name: str, text: str, default: str | None = None) -> None:
    parser.add_argument(
        "-o", "--output", metavar=name, required=default is None, default=default, help=text
    )
    parser.add_argument("--force", action="store_true", help="replace what is there")


def _add_spreadsheets(parser: Any) -> None:
    parser.add_argument(
        "--for-spreadsheets",
        action="store_true",
        help="in .csv and .tsv files, put ' before texts that a spreadsheet would take "
        "for a formula (= + - @)",
    )


def _add_reading(parser: Any, new: bool = False) -> None:
    group = parser.add_argument_group("reading")
    group.add_argument(
        "--format", help="of the file, such as csv or npy (default: by its name or its first bytes)"
    )
    group.add_argument(
        "--key", help="which array of an .npz, .mat, .h5, .zarr or .h5ad file (obsm/X_pca)"
    )
    group.add_argument("--id", metavar="COLUMN", help="the column that names the rows")
    group.add_argument(
        "--missing",
        choices=("error", "drop", "mean"),
        default="error",
        help="missing numbers: stop, leave their rows out, or fill in the mean (default: error)",
    )
    if new:
        return
    group.add_argument(
        "--columns",
        type=_names,
        metavar="NAMES",
        help="columns to map: names, numbers from 0, ranges such as 3-10; "
        "separated by commas (default: all that hold numbers)",
    )
    group.add_argument(
        "--label", metavar="COLUMN", help="a column that is not mapped, such as a class"
    )
    group.add_argument(
        "--text",
        nargs="?",
        const=True,
        default=False,
        metavar="COLUMN",
        help="map texts by TF-IDF: a column, or the lines of the file",
    )


def _add_running(parser: Any) -> None:
    group = parser.add_argument_group("running")
    group.add_argument("--threads", type=int, metavar="N", help="threads (default: all cores)")
    group.add_argument("--quiet", action="store_true", help="say nothing but errors")
    group.add_argument(
        "--json", action="store_true", help="say the result as JSON on standard output"
    )
