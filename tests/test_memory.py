"""Sizes, budgets, what machines and control groups leave, and scratch arrays."""

from __future__ import annotations

import ctypes
import errno
import os
import struct
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from conftest import LIMIT

from nestmap import MemoryBudgetError
from nestmap.core.input import memory as _memory
from nestmap.core.input import scratch as _scratch
from nestmap.core.input.memory import available_memory, format_size, memory_budget, parse_size
from nestmap.core.input.scratch import copy_rows, default_folder, row_blocks, scratch_array

GB = 10**9


@pytest.mark.parametrize(
    "size, expected",
    [
        ("4GB", 4 * GB),
        ("500MB", 500 * 10**6),
        ("1.5 GiB", 3 * 2**29),
        ("800kB", 800_000),
        (" 2 tb ", 2 * 10**12),
        ("1KiB", 1024),
        ("4G", 4 * GB),
        ("123456", 123456),
        ("1e9", GB),
        ("2_000 MB", 2 * GB),
        (".5GB", GB // 2),
        (10**9, GB),
        (2.5e9, 5 * GB // 2),
        (np.int64(5000), 5000),
        (np.float32(4096), 4096),
    ],
)
def test_sizes(size: object, expected: int) -> None:
    assert parse_size(size) == expected == memory_budget(size).size  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "size", ["", "GB", "4 XB", "four GB", "-4GB", "4GB!", True, [4], "1 2 GB", "nan", "inf"]
)
def test_what_is_no_size(size: object) -> None:
    with pytest.raises(ValueError, match=r"max_memory=.* is not a size; write '4GB'"):
        parse_size(size)


@pytest.mark.parametrize("size", [4, 0, -1, 0.5, "4", "0GB", float("nan"), float("inf"), "1e40 GB"])
def test_sizes_that_cannot_be_meant(size: object) -> None:
    with pytest.raises(ValueError, match=r"max_memory=.* bytes, which cannot be meant; .* '4GB'"):
        parse_size(size)


def test_sizes_to_read() -> None:
    shown = [format_size(n) for n in (0, 999, 1000, 9_940, 9_960, 999_400, 999_600, 3.2e9, 8.1e12)]
    assert shown == [
        "0 B",
        "999 B",
        "1.0 kB",
        "9.9 kB",
        "10 kB",
        "999 kB",
        "1.0 MB",
        "3.2 GB",
        "8.1 TB",
    ]


def test_budget_error_is_a_value_error() -> None:
    assert issubclass(MemoryBudgetError, ValueError)


def test_this_machine() -> None:
    available = available_memory()
    assert 10**7 < available < 10**15
    assert 0.3 * available < memory_budget(None).size < 0.9 * available


# A machine as the kernel shows it, in a folder


def machine(
    tmp_path: Path, files: dict[str, object], *, meminfo: str | None = "MemAvailable: 8000000 kB"
) -> int:
    """available_memory() of a machine with these files below /sys/fs/cgroup (and 'self' for
    /proc/self/cgroup).
    """
    proc, cgroups = tmp_path / "proc", tmp_path / "cgroup"
    (proc / "self").mkdir(parents=True)
    if meminfo is not None:
        (proc / "meminfo").write_text(f"MemTotal:       16000000 kB\nMemFree: 100 kB\n{meminfo}\n")
    for name, text in files.items():
        path = proc / "self" / "cgroup" if name == "self" else cgroups / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{text}\n")
    return available_memory(proc=proc, cgroups=cgroups)


FREE = 8_000_000 * 1024


def test_no_groups(tmp_path: Path) -> None:
    assert machine(tmp_path, {}) == FREE


def test_v2_own_group_and_page_cache(tmp_path: Path) -> None:
    files = {
        "self": "0::/job/step",
        "job/step/memory.max": 2 * GB,
        "job/step/memory.current": GB,
        "job/step/memory.stat": "anon 500\ninactive_file 300000000\nactive_file 7",
        "job/memory.max": "max",
        "job/memory.current": 3 * GB,
    }
    assert machine(tmp_path, files) == GB + 300_000_000


def test_v2_a_group_above_is_tighter(tmp_path: Path) -> None:
    files = {
        "self": "0::/job/step",
        "job/step/memory.max": "max",
        "job/step/memory.current": GB,
        "job/memory.max": 3 * GB,
        "job/memory.current": 2 * GB,
        "job/memory.stat": "inactive_file 0",
    }
    assert machine(tmp_path, files) == GB


def test_v2_high_slows_down_before_max_kills(tmp_path: Path) -> None:
    assert (
        machine(
            tmp_path,
            {"self": "0::/", "memory.max": 4 * GB, "memory.high": 3 * GB, "memory.current": GB},
        )
        == 2 * GB
    )


def test_v2_in_a_container(tmp_path: Path) -> None:
    """The path is the host's; the container sees its own group as the root."""
    limits = {"memory.max": 2 * GB, "memory.current": GB}
    assert machine(tmp_path / "a", {"self": "0::/kubepods/pod7/c", **limits}) == GB
    assert machine(tmp_path / "b", {"self": "0::/../../other", **limits}) == GB


def test_v1(tmp_path: Path) -> None:
    files = {
        "self": "5:cpu,cpuacct:/\n4:memory:/docker/7\n1:name=systemd:/\n0::/",
        "memory/docker/7/memory.limit_in_bytes": 2 * GB,
        "memory/docker/7/memory.usage_in_bytes": GB,
        "memory/docker/7/memory.stat": "inactive_file 5\ntotal_inactive_file 1000",
        "memory/memory.limit_in_bytes": 9223372036854771712,
        "memory/memory.usage_in_bytes": 5 * GB,
    }
    assert machine(tmp_path, files) == GB + 1000


def test_limit_is_used_up_or_beyond_the_machine(tmp_path: Path) -> None:
    assert (
        machine(tmp_path / "a", {"self": "0::/", "memory.max": GB, "memory.current": 2 * GB}) == 0
    )
    assert (
        machine(tmp_path / "b", {"self": "0::/", "memory.max": 900 * GB, "memory.current": GB})
        == FREE
    )


def test_without_proc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = {"SC_PHYS_PAGES": 1000, "SC_PAGE_SIZE": 4096, "SC_AVPHYS_PAGES": 600}
    monkeypatch.setattr(
        os, "sysconf", lambda name: table[name] if name in table else int("no such name")
    )
    assert machine(tmp_path, {}, meminfo=None) == 600 * 4096
    del table["SC_AVPHYS_PAGES"]  # macOS
    assert available_memory(proc=tmp_path / "none", cgroups=tmp_path) == 500 * 4096
    monkeypatch.delattr(os, "sysconf")  # Windows
    assert available_memory(proc=tmp_path / "none", cgroups=tmp_path) == _memory._DEFAULT_BYTES


# Scratch arrays


def test_scratch_in_memory() -> None:
    array = scratch_array((3, 2), "f4", in_memory=True)
    assert array.shape == (3, 2) and array.dtype == np.float32 and not isinstance(array, np.memmap)


def test_scratch_on_disk_leaves_nothing_behind(tmp_path: Path) -> None:
    array = scratch_array((1000, 10), np.float64, in_memory=False, folder=tmp_path)
    assert isinstance(array, np.memmap) and array.shape == (1000, 10) and array.dtype == np.float64
    assert [*tmp_path.iterdir()] == []
    array[:] = np.arange(10_000).reshape(1000, 10)
    assert array.sum() == 9999 * 5000
    assert scratch_array(7, "i8", in_memory=False, folder=str(tmp_path)).shape == (7,)
    assert scratch_array((0, 5), "i8", in_memory=False, folder=tmp_path).shape == (0, 5)


def test_scratch_reserves_its_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    monkeypatch.setattr(
        os, "posix_fallocate", lambda fd, start, n: asked.append(n) or os.truncate(fd, n)
    )
    scratch_array((10, 10), "f4", in_memory=False, folder=tmp_path)
    assert asked == [400]


def _refuse(code: int) -> Callable[..., None]:
    def fail(*_: object, **__: object) -> None:
        raise OSError(code, os.strerror(code))

    return fail


@pytest.mark.parametrize("code", [errno.EOPNOTSUPP, errno.EINVAL, None])
def test_scratch_where_nothing_can_be_reserved(
    code: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if code is None:
        monkeypatch.delattr(os, "posix_fallocate")
    else:
        monkeypatch.setattr(os, "posix_fallocate", _refuse(code))
    array = scratch_array((10, 10), "f4", in_memory=False, folder=tmp_path)
    array[:] = 1
    assert array.sum() == 100
    with pytest.raises(OSError, match=r"do not fit into .*work_dir="):
        scratch_array((10**6, 10**9), "f4", in_memory=False, folder=tmp_path)


@pytest.mark.parametrize(
    "code, reason",
    [(errno.ENOSPC, "is full"), (errno.EDQUOT, "quota is used up"), (errno.EFBIG, "that large")],
)
def test_scratch_on_a_full_disk(
    code: int, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "posix_fallocate", _refuse(code))
    with pytest.raises(
        OSError,
        match=rf"4\.0 MB \(4000000 bytes\) do not fit into .* free \(.*{reason}\).*work_dir=",
    ) as e:
        scratch_array((1000, 1000), "f4", in_memory=False, folder=tmp_path)
    assert e.value.errno == code
    assert str(tmp_path) in str(e.value)


def test_scratch_other_errors_stay_as_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "posix_fallocate", _refuse(errno.EIO))
    with pytest.raises(OSError, match="Input/output"):
        scratch_array(10, "f4", in_memory=False, folder=tmp_path)
    monkeypatch.setattr(tempfile, "TemporaryFile", _refuse(errno.EACCES))
    with pytest.raises(PermissionError):
        scratch_array(10, "f4", in_memory=False, folder=tmp_path)
    monkeypatch.setattr(tempfile, "TemporaryFile", _refuse(errno.ENOSPC))
    with pytest.raises(OSError, match="work_dir="):
        scratch_array(10, "f4", in_memory=False, folder=tmp_path)


def test_scratch_folder_missing(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"no such folder .* work_dir=.*nowhere"):
        scratch_array(10, "f4", in_memory=False, folder=tmp_path / "nowhere")


@pytest.mark.slow
def test_scratch_larger_than_files_may_be(tmp_path: Path) -> None:
    """A real limit of the system, in a process of its own."""
    code = (
        "import resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (1000000, 1000000))\n"
        "from nestmap.core.input.scratch import scratch_array\n"
        "try: scratch_array(10**6, 'f8', in_memory=False, folder=sys.argv[1])\n"
        "except OSError as error: print(error)"
    )
    found = subprocess.run(
        [sys.executable, "-c", code, tmp_path],
        capture_output=True,
        text=True,
        check=True,
        timeout=LIMIT,
    )
    assert "8.0 MB" in found.stdout and "work_dir=" in found.stdout


def test_default_folder_avoids_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mounts = tmp_path / "mounts"
    for name in ("TMPDIR", "TEMP", "TMP"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(tempfile, "gettempdir", lambda: "/tmp")
    mounts.write_text("/dev/sda / ext4 rw 0 0\n")
    assert default_folder(mounts) == Path("/tmp") == default_folder(tmp_path / "none")
    mounts.write_text("/dev/sda / ext4 rw 0 0\ntmpfs /tmp tmpfs rw 0 0\n")
    assert default_folder(mounts) == Path("/var/tmp")
    monkeypatch.setenv("TMPDIR", "/tmp")  # someone chose it
    assert default_folder(mounts) == Path("/tmp")


class Chunked:
    def __init__(self, rows: np.ndarray, chunks: object) -> None:
        self.rows, self.shape, self.chunks, self.asked = rows, rows.shape, chunks, []

    def __getitem__(self, part: slice) -> np.ndarray:
        self.asked.append((part.start, part.stop))
        return self.rows[part]


def test_spilled_rows_are_whole_chunks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        _scratch, "blocks", lambda n, width: [slice(i, min(n, i + 10)) for i in range(0, n, 10)]
    )
    source, shares = Chunked(np.arange(50.0).reshape(25, 2), (4, 2)), []
    target = scratch_array(source.shape, "f4", in_memory=False, folder=tmp_path)
    spilled = copy_rows(source, target, shares.append)
    np.testing.assert_array_equal(spilled, source.rows)
    assert source.asked == [(0, 8), (8, 16), (16, 24), (24, 25)]
    assert shares == [8 / 25, 16 / 25, 24 / 25, 1.0] and spilled.dtype == np.float32
    for chunks in (None, (10**9, 2), ((4, 4), (2,)), ()):
        assert [part.start for part in row_blocks(Chunked(source.rows, chunks))] == [0, 10, 20]


@pytest.mark.parametrize("works", [True, False])
def test_memory_of_windows(works: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    class Kernel:
        @staticmethod
        def GlobalMemoryStatusEx(answer: Any) -> int:
            if works:
                assert struct.unpack_from("=I", answer)[0] == len(answer) == 64
                numbers = (64, 50, 16 << 30, 8 << 30, 20 << 30, 6 << 30, 1 << 47, 1 << 46, 0)
                struct.pack_into("=2I7Q", answer, 0, *numbers)
            return int(works)

    monkeypatch.setattr(ctypes, "windll", SimpleNamespace(kernel32=Kernel), raising=False)
    monkeypatch.setattr(sys, "platform", "win32")
    left = available_memory(proc=tmp_path, cgroups=tmp_path)
    assert left == (6 << 30 if works else _memory._DEFAULT_BYTES)
