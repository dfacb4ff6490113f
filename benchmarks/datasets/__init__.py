"""The data sets of the h-NNE paper, scikit-learn's digits, and your own files, by name.

| question | function |
|---|---|
| which are there, how large, where from? | `available` |
| give me one | `load` |

Files are looked for in `path=`, in the directory that NESTMAP_DATA names, where a Linux package
puts them, and in the cache (NESTMAP_CACHE, else ~/.cache/nestmap); then they are downloaded from
their makers. Nothing is unpickled, and what is slow to parse is parsed once.
"""

from nestmap.errors import FileFormatError

from ._load import Dataset, DatasetNotFound, available, load
from ._sources import DatasetInfo

__all__ = ["Dataset", "DatasetInfo", "DatasetNotFound", "FileFormatError", "available", "load"]
