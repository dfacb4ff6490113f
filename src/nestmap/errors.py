"""What nestmap raises and warns of, beside Python's own ValueError, TypeError and OSError.

::

    ValueError
    ├── FileFormatError        a file is damaged, or does not hold what its name says
    ├── MemoryBudgetError      a fit cannot stay within max_memory
    └── ModelFileError         a file holds no model that this version can read
    UserWarning
    ├── DominantColumnsWarning a few columns decide the distances between rows
    ├── FarRowsWarning         new rows are far from all that was fitted
    └── RecallWarning          an approximate search ended below its target
    RuntimeWarning
    └── NativeMissingWarning   nestmap runs without its compiled kernels
"""

from __future__ import annotations


class FileFormatError(ValueError):
    """A file is truncated, damaged, or does not hold what its name says."""


class MemoryBudgetError(ValueError):
    """A fit cannot stay within max_memory (or within what the machine has left)."""


class ModelFileError(ValueError):
    """A file is damaged, cut short, made by a newer nestmap, or no model file at all."""


class DominantColumnsWarning(UserWarning):
    """Columns of other units than the rest decide nearly all distances between the rows.

    `finding` is what was found, without the way out.
    """

    def __init__(self, message: str, finding: str = "") -> None:
        super().__init__(message)
        self.finding = finding or message


class FarRowsWarning(UserWarning):
    """Many new rows are farther from all that was fitted than training rows from each other."""


class RecallWarning(UserWarning):
    """The approximate search ended below its target."""


class NativeMissingWarning(RuntimeWarning):
    """nestmap runs on its NumPy twins: right, but many times slower."""
