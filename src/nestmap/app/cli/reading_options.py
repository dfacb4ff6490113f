"""The options that say how a file is read, and what of it is mapped."""

from __future__ import annotations

from .declare import Option
from .values import to_kind, to_names

DATA = "data"

READING_OLD_AND_NEW = (
    Option(
        "--format",
        "of the file, such as csv or npy (default: by its name or its first bytes)",
        group=DATA,
    ),
    Option(
        "--key",
        "which array of an .npz, .mat, .h5, .zarr or .h5ad file (obsm/X_pca), sheet of an .xlsx "
        "file, or entry of a .json file",
        group=DATA,
    ),
    Option("--id", "the column that names the rows", "COLUMN", group=DATA),
    Option(
        "--missing",
        "what stands for a missing cell: what the row's other cells let expect, or the mean of its "
        "column; of numbers that are mapped as they are: stop (error), leave the row out (drop), "
        "or the mean (default: expected; error for numbers as they are)",
        choices=("expected", "mean", "drop", "error"),
        group=DATA,
    ),
)
LABEL = Option(
    "--label",
    "a column that is not mapped, such as a class: clusters are named by it first",
    "COLUMN",
    group=DATA,
)
READING = (
    *READING_OLD_AND_NEW,
    LABEL,
    Option(
        "--columns",
        "columns to map: names, numbers from 0, ranges such as 3-10; separated by commas "
        "(default: those that are worth it, as is told column by column)",
        "NAMES",
        convert=to_names,
        group=DATA,
    ),
    Option(
        "--vectors",
        "columns to map as they are, not encoded: one that holds vectors, or columns of numbers as "
        "for --columns (alone: all columns of numbers)",
        "NAMES",
        convert=to_names,
        alone=(),
        group=DATA,
    ),
    Option(
        "--texts",
        "a column of texts, to search and to name clusters by; its words are mapped (TF-IDF) "
        "unless vectors, --columns or --kind say what is",
        "COLUMN",
        group=DATA,
    ),
)
ENCODING = (
    Option(
        "--kind",
        "take a column for a number, category, boolean, date, text, vector or identifier, or drop "
        "it from the map; may be given for several columns",
        "COLUMN=KIND",
        convert=to_kind,
        default=[],
        repeats=True,
        group=DATA,
    ),
)
