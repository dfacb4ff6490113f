"""Files and folders that are whole or absent, whoever else writes them, and whatever was left by
whom.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from conftest import LIMIT, digits

import nestmap
from nestmap import HNNE
from nestmap.core.work import replacing
from nestmap.core.work.replacing import replaced, temporary


def left_by(pid: int, path: Path, ending: str = "part") -> Path:
    """The name that a process would have left behind on this machine."""
    with suppress(KeyError), temporary(path) as part:
        host = part.name.removeprefix(f"{path.name}.").split("-")[0]
        raise KeyError("the name is all that is wanted")
    return path.with_name(f"{path.name}.{host}-{pid}-0123abcd.{ending}")


def dead_process() -> int:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait(LIMIT)
    return process.pid


def test_threads_that_save_to_one_path_do_not_meet(tmp_path: Path) -> None:
    model = HNNE(n_jobs=1).fit(digits()[:100])
    path = tmp_path / "model.nestmap"
    failed: list[BaseException] = []

    def save() -> None:
        try:
            for _ in range(5):
                model.save(path)
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=save) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(LIMIT)
    assert not failed and os.listdir(tmp_path) == ["model.nestmap"]
    assert (nestmap.load(path).embedding_ == model.embedding_).all()


@pytest.mark.parametrize("owner", ["a dead process", "this number, in a container that was killed"])
def test_what_a_killed_process_left_is_no_obstacle_and_goes(owner: str, tmp_path: Path) -> None:
    pid = dead_process() if owner == "a dead process" else os.getpid()
    file = left_by(pid, tmp_path / "table.csv")
    file.write_text("half")
    folder = left_by(pid, tmp_path / "run")
    folder.mkdir()
    with temporary(tmp_path / "table.csv") as part:
        part.write_text("whole")
    with replaced(tmp_path / "run") as part:
        (part / "run.json").write_text("{}")
    assert sorted(os.listdir(tmp_path)) == ["run", "table.csv"]


def test_parts_of_the_living_and_of_others_stay(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    living = left_by(os.getppid(), path)
    others = [path.with_name("table.csv.part"), path.with_name("other.csv.000000-1-0123abcd.part")]
    elsewhere = path.with_name("table.csv.000000-1-0123abcd.part")  # of another machine, just now
    for each in (living, *others, elsewhere):
        each.write_text("x")
    with temporary(path) as part:
        part.write_text("whole")
    assert all(each.exists() for each in (living, *others, elsewhere))
    os.utime(elsewhere, (0, 0))
    with temporary(path) as part:
        part.write_text("whole")
    assert not elsewhere.exists() and all(each.exists() for each in (living, *others))


def test_the_only_copy_is_not_removed(tmp_path: Path) -> None:
    """A process that is killed between two renames leaves NAME.….old and no NAME."""
    old = left_by(dead_process(), tmp_path / "run", "old")
    old.mkdir()
    with pytest.raises(OSError, match="no more"), replaced(tmp_path / "run"):
        raise OSError("no more")
    assert old.exists()
    with replaced(tmp_path / "run"):
        pass
    with replaced(tmp_path / "run"):
        pass
    assert os.listdir(tmp_path) == ["run"]


def test_a_folder_that_cannot_be_put_in_place_leaves_the_old_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "mine").write_text("mine")
    replace = os.replace

    def refuse(source: Path, target: Path) -> None:
        if str(source).endswith(".part"):
            raise PermissionError("no")
        replace(source, target)

    monkeypatch.setattr(os, "replace", refuse)
    with pytest.raises(PermissionError), replaced(tmp_path / "run") as part:
        (part / "new").write_text("new")
    assert os.listdir(tmp_path) == ["run"] and os.listdir(tmp_path / "run") == ["mine"]


@pytest.mark.skipif(os.name == "nt", reason="links need rights there")
def test_links_are_written_through(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "link.csv").symlink_to(tmp_path / "there" / "table.csv")
    (tmp_path / "link").symlink_to(tmp_path / "there" / "run")
    for text in ("one", "two"):
        with temporary(tmp_path / "link.csv") as part:
            part.write_text(text)
        with replaced(tmp_path / "link") as part:
            (part / text).write_text(text)
    assert (tmp_path / "link.csv").is_symlink() and (tmp_path / "link").is_symlink()
    assert (tmp_path / "there" / "table.csv").read_text() == "two"
    assert os.listdir(tmp_path / "there" / "run") == ["two"]
    assert sorted(os.listdir(tmp_path)) == ["link", "link.csv", "there"]
    assert sorted(os.listdir(tmp_path / "there")) == ["run", "table.csv"]


@pytest.mark.skipif(os.name == "nt", reason="POSIX pipes")
def test_devices_and_folders_are_not_replaced(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    for name in ("pipe", "folder"):
        with (
            pytest.raises(FileExistsError, match="is a folder or a device"),
            temporary(tmp_path / name) as part,
        ):
            np.save(part, np.zeros(1))


class Opened:
    """os.replace as on Windows: refuses some times, while a program has the file open."""

    def __init__(self, refusals: int) -> None:
        self.refusals = refusals
        self.replace = os.replace

    def __call__(self, source: Path, target: Path) -> None:
        if self.refusals > 0:
            self.refusals -= 1
            raise PermissionError(13, "Access is denied", str(target))
        self.replace(source, target)


def test_files_that_scanners_have_open_are_replaced_a_moment_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "map.csv"
    path.write_text("old")
    monkeypatch.setattr(replacing.sys, "platform", "win32")
    monkeypatch.setattr(replacing.os, "replace", Opened(3))
    with temporary(path) as part:
        part.write_text("new")
    assert path.read_text() == "new" and [*tmp_path.iterdir()] == [path]


def test_files_that_stay_open_on_windows_are_an_error_in_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "run"
    (path / "data").mkdir(parents=True)
    monkeypatch.setattr(replacing.sys, "platform", "win32")
    monkeypatch.setattr(replacing, "_PATIENCE_SECONDS", 0.0)
    monkeypatch.setattr(replacing.os, "replace", Opened(1))
    in_words = pytest.raises(
        PermissionError, match=r"a program has it open.*close it and try again"
    )
    with in_words, replaced(path) as part:
        (part / "new").touch()
    assert [*tmp_path.iterdir()] == [path] and [*path.iterdir()] == [path / "data"]


def test_other_systems_do_not_wait(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replacing.os, "replace", Opened(1))
    denied = pytest.raises(PermissionError, match="Access is denied")
    with denied, temporary(tmp_path / "map.csv") as part:
        part.touch()
