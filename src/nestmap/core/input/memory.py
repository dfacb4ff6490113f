"""The memory budget of a fit: parsing of sizes, and what machine and cgroups have available."""

from __future__ import annotations

import ctypes
import os
import re
import struct
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

_UNITS = {"": 1, "b": 1} | {
    name: base**power
    for power, letter in enumerate("kmgtp", start=1)
    for name, base in ((letter, 1000), (f"{letter}b", 1000), (f"{letter}ib", 1024))
}
_SIZE = re.compile(r"\s*([0-9][0-9_]*\.?[0-9]*(?:[eE][+-]?[0-9]+)?|\.[0-9]+)\s*([a-zA-Z]*)\s*")
_MIN_BYTES = 1000  # less is a unit forgotten, as in max_memory=4
_SHARE_OF_FREE = 0.6  # of free memory: the rest is for the page cache and other programs
_DEFAULT_BYTES = 4_000_000_000  # where the system does not tell how much is free


def parse_size(size: Any) -> int:
    """Bytes of a size such as '4GB' (10⁹), '1.5 GiB' (2³⁰), '800kB' or a plain number of bytes.

    Upper and lower case are the same; '4G' is '4GB'.

    Examples
    --------
    >>> parse_size("4GB"), parse_size("1.5 GiB"), parse_size(10_000)
    (4000000000, 1610612736, 10000)
    """
    value = _bytes_of(size)
    if value is None:
        raise ValueError(
            f"max_memory={size!r} is not a size; write '4GB', '500MB', '1.5GiB' or a number of "
            "bytes"
        )
    if not _MIN_BYTES <= value < 2**63:
        raise ValueError(
            f"max_memory={size!r} is {value:g} bytes, which cannot be meant; write it with a "
            "unit, for example '4GB'"
        )
    return int(value)


def _bytes_of(size: Any) -> float | None:
    if isinstance(size, bool | np.bool_):
        return None
    if isinstance(size, int | float | np.integer | np.floating):
        return float(size)  # exact up to 2**53 bytes
    match = _SIZE.fullmatch(size) if isinstance(size, str) else None
    unit = _UNITS.get(match[2].lower()) if match else None
    if match is None or unit is None:
        return None
    return float(str(match[1])) * float(unit)


def format_size(size: float) -> str:
    """Bytes as people read them, in powers of 1000.

    Examples
    --------
    >>> format_size(3_210_000_000), format_size(512), format_size(999_999), format_size(48_300_000)
    ('3.2 GB', '512 B', '1.0 MB', '48 MB')
    """
    value = float(size)
    unit = "B"
    for larger in ("kB", "MB", "GB", "TB", "PB"):
        if abs(value) < 999.5:
            break
        value = value / 1000
        unit = larger
    digits = 1 if unit != "B" and abs(value) < 9.95 else 0
    return f"{value:.{digits}f} {unit}"


@dataclass(frozen=True)
class Budget:
    """Bytes that a fit may take, and whether the user gave them or the machine at the moment."""

    size: int
    given: bool


def memory_budget(max_memory: float | str | None) -> Budget:
    """max_memory, or with None 60% of what is available."""
    if max_memory is None:
        return Budget(int(_SHARE_OF_FREE * available_memory()), given=False)
    return Budget(parse_size(max_memory), given=True)


def available_memory(*, proc: str | Path = "/proc", cgroups: str | Path = "/sys/fs/cgroup") -> int:
    """Bytes that this process may still take.

    The least of what the machine has and what each of the process's control groups (containers,
    batch jobs) leaves. Page cache that is easily given back counts as free.

    Parameters
    ----------
    proc, cgroups : path
        Where the kernel shows them; other places are for tests.
    """
    left = [*_left_by_cgroups(Path(proc), Path(cgroups))]
    return max(0, min([_left_by_machine(Path(proc)), *left]))


def _left_by_machine(proc: Path) -> int:
    kilobytes = _table(proc / "meminfo").get("MemAvailable")
    return _left_by_sysconf() if kilobytes is None else kilobytes * 1024


def _left_by_sysconf() -> int:
    """Free pages; half of all where only their number is known (macOS); what Windows says."""
    if sys.platform == "win32":
        return _left_by_windows()
    for name, share in (("SC_AVPHYS_PAGES", 1.0), ("SC_PHYS_PAGES", 0.5)):
        try:
            pages = os.sysconf(name)
            page = os.sysconf("SC_PAGE_SIZE")
        except (AttributeError, ValueError, OSError):
            continue
        if pages > 0 and page > 0:
            return int(share * pages * page)
    return _DEFAULT_BYTES


def _left_by_windows() -> int:
    """Free memory, or what this process may still commit, if that is less; a guess if it fails."""
    # MEMORYSTATUSEX: its size, load in percent, and seven numbers of bytes
    status = struct.Struct("=2I7Q")
    answer = ctypes.create_string_buffer(status.pack(status.size, *[0] * 8), status.size)
    kernel = getattr(ctypes, "windll").kernel32  # noqa: B009  mypy knows it on Windows only
    if not kernel.GlobalMemoryStatusEx(answer):
        return _DEFAULT_BYTES
    _, _, _, free, _, to_commit, *_ = status.unpack(answer.raw)
    return int(min(free, to_commit))


def _left_by_cgroups(proc: Path, root: Path) -> Iterator[int]:
    """Available bytes of each limited cgroup (v1, v2), from the process's own to the root."""
    for line in _text(proc / "self" / "cgroup").splitlines():
        number, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if number == "0" and not controllers:
            for base in (root, root / "unified"):  # v2 alone, or beside v1
                for folder in _upwards(base, path):
                    yield from _left_v2(folder)
        elif "memory" in controllers.split(","):
            for folder in _upwards(root / "memory", path):
                yield from _left_v1(folder)


def _upwards(base: Path, path: str) -> Iterator[Path]:
    """The group's folder and all above it.

    In a container the path may be the host's, which is not to be seen there: then only the folders
    that exist speak, at least `base`, which is the container's own.
    """
    inside = Path(path.lstrip("/"))
    if ".." not in inside.parts:  # a group outside this namespace
        yield from (base / part for part in (inside, *inside.parents) if part != Path("."))
    yield base


def _left_v2(folder: Path) -> Iterator[int]:
    used = _number(folder / "memory.current")
    # Beyond memory.high a process is not killed, but slowed down to a crawl.
    limits = [
        n
        for n in (_number(folder / "memory.max"), _number(folder / "memory.high"))
        if n is not None
    ]
    if used is not None and limits:
        yield min(limits) - used + _table(folder / "memory.stat").get("inactive_file", 0)


def _left_v1(folder: Path) -> Iterator[int]:
    limit = _number(folder / "memory.limit_in_bytes")
    used = _number(folder / "memory.usage_in_bytes")
    if limit is not None and used is not None:  # "no limit" is a number near 2**63 here
        stat = _table(folder / "memory.stat")
        yield limit - used + stat.get("total_inactive_file", stat.get("inactive_file", 0))


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""


def _number(path: Path) -> int | None:
    """The number in a file; None for 'max' and for no such file."""
    text = _text(path).strip()
    return int(text) if text.isdecimal() else None


def _table(path: Path) -> dict[str, int]:
    """Lines 'name value' or 'name: value kB' as a dictionary."""
    rows = (line.replace(":", " ").split() for line in _text(path).splitlines())
    return {row[0]: int(row[1]) for row in rows if len(row) > 1 and row[1].isdecimal()}
