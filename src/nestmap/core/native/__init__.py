"""The compiled kernels, one build per instruction set, and the choice between them.

`core()` is the best build for this CPU, or None: then callers use the NumPy twins in `twins`.
The environment variable NESTMAP_NATIVE forces one: `baseline`, `avx2` or `off`.
"""

from __future__ import annotations

import importlib
import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from ...errors import NativeMissingWarning

ISAS = ("avx2", "baseline")  # best first


@cache
def _load(isa: str) -> Any:
    try:
        return importlib.import_module(f"{__name__}._core_{isa}")
    except ImportError:
        return None


@cache
def builds() -> tuple[str, ...]:
    """The builds that are installed and that this CPU can run, best first."""
    baseline = _load("baseline")
    if baseline is None:
        return ()
    return tuple(isa for isa in ISAS if baseline.supported(isa) and _load(isa) is not None)


@cache
def _default() -> Any:
    wish = os.environ.get("NESTMAP_NATIVE", "auto")
    if wish == "off":
        return None
    if wish != "auto":
        if wish not in builds():
            raise ImportError(
                f"NESTMAP_NATIVE={wish!r}, but this machine can run {builds() or 'no build'}; "
                "unset it, or set it to 'off' for the NumPy path"
            )
        return _load(wish)
    if not builds():
        warnings.warn(
            "nestmap was installed without its compiled kernels and runs on NumPy: clusters of "
            "up to 4,096 rows are the same, others differ where the kernels would miss neighbours, "
            "rows of a map of islands lie elsewhere by up to a fifth of its extent, "
            "and large data takes many times longer. Install a C++ compiler (GCC or Clang) and "
            "build it again: pip install --force-reinstall --no-deps --no-cache-dir --no-binary "
            "nestmap nestmap (or, in a folder with its sources: pip install --force-reinstall "
            "--no-deps --no-cache-dir .)",
            NativeMissingWarning,
            stacklevel=3,
        )
        return None
    return _load(builds()[0])


_forced: list[Any] = []


def core() -> Any:
    """The compiled module in use, or None for the NumPy twins."""
    return _forced[-1] if _forced else _default()


@contextmanager
def using(build: str) -> Iterator[None]:
    """Use one build ("avx2", …) or the NumPy twins ("off") inside a with block (for tests)."""
    _forced.append(None if build == "off" else _load(build))
    try:
        yield
    finally:
        _forced.pop()
