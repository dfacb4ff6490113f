"""Progress in words and events, and blocks in threads that can be stopped."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time

import pytest
from conftest import LIMIT, line_of

from nestmap import ProgressEvent
from nestmap.core import progress as _progress
from nestmap.core.progress import Progress
from nestmap.core.threads import map_blocks


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(_progress, "perf_counter", clock)
    return clock


def test_events(clock: Clock) -> None:
    events: list[ProgressEvent] = []
    progress = Progress(0, events.append)
    progress.begin("one")
    for step in range(1, 101):
        clock.now += 0.02
        progress.share(step / 100)
    progress.begin("two")
    clock.now += 1
    progress.note("a note")
    progress.done()
    progress.done()
    one = [event for event in events if event.stage == "one"]
    assert one[0] == ProgressEvent("one", 0.0, 0.0, None)
    assert one[-1] == ProgressEvent("one", 1.0, pytest.approx(2.0), 0.0)
    assert 15 <= len(one) <= 22 and [event.share for event in one].count(1.0) == 1
    assert one[1].seconds_left is None and one[-2].seconds_left == pytest.approx(
        2 - one[-2].seconds
    )
    assert [(event.stage, event.share) for event in events[len(one) :]] == [
        ("two", 0.0),
        ("two", 1.0),
    ]
    with pytest.raises(AttributeError):
        events[0].share = 0.5  # type: ignore[misc]


def test_another_pass_has_its_own_speed(clock: Clock) -> None:
    events: list[ProgressEvent] = []
    progress = Progress(0, events.append)
    progress.begin("join")
    for seconds in (1, 10):
        for step in range(1, 11):
            clock.now += seconds / 10
            progress.share(step / 10)
    assert events[-1].share == 0.9 and events[-1].seconds_left == pytest.approx(1.0)


def test_lines(clock: Clock, capfd: pytest.CaptureFixture[str]) -> None:
    progress = Progress(1)
    progress.begin("level 0: first neighbours of 8100000 rows")
    clock.now += 1
    progress.share(0.1)
    clock.now += 110
    progress.share(0.37)
    progress.share(0.38)
    progress.begin("layout")
    clock.now += 1.9
    progress.share(0.5)
    progress.done()
    progress.note("done")
    lines = capfd.readouterr().err.splitlines()
    assert lines == [
        "[nestmap    0.00 s] level 0: first neighbours of 8100000 rows …",
        "[nestmap  111.00 s] level 0: first neighbours of 8100000 rows … 37%, about 3 min left",
        "[nestmap  111.00 s] layout …",
        "[nestmap  112.90 s] done",
    ]


def test_shares_without_a_stage(clock: Clock) -> None:
    events: list[ProgressEvent] = []
    progress = Progress(0, events.append)
    clock.now += 5
    progress.share(0.5)
    progress.done()
    assert events == []


def test_callback_that_raises_stops() -> None:
    def stop(event: ProgressEvent) -> None:
        raise RuntimeError(f"stop at {event.share}")

    with pytest.raises(RuntimeError, match=r"stop at 0\.0"):
        Progress(0, stop).begin("one")
    with pytest.raises(TypeError, match="callback=3: must be a function"):
        Progress(0, 3)  # type: ignore[arg-type]


# Blocks in threads


@pytest.mark.parametrize("n_threads", [1, 2, 5])
@pytest.mark.parametrize("n", [0, 1, 2, 100])
def test_blocks_in_order(n: int, n_threads: int) -> None:
    shares: list[float] = []
    assert map_blocks(lambda i: i * i, range(n), n_threads, shares.append) == [
        i * i for i in range(n)
    ]
    assert map_blocks(lambda i: None, range(n), n_threads) == [None] * n
    assert shares == sorted(shares) and (n == 0 or shares[-1] == 1.0)


def test_progress_of_blocks_comes_in_the_calling_thread() -> None:
    shares: list[tuple[float, int]] = []
    told = threading.Event()

    def work(i: int) -> None:
        assert i == 0 or told.wait(60)  # the other blocks wait until someone has heard of the first

    def progress(share: float) -> None:
        shares.append((share, threading.get_ident()))
        if share > 0:
            told.set()

    map_blocks(work, range(10), 2, progress)
    assert {thread for _, thread in shares} == {threading.get_ident()}
    assert any(0 < share < 1 for share, _ in shares)


@pytest.mark.parametrize("n_threads", [1, 2, 4])
def test_an_exception_ends_the_work(n_threads: int) -> None:
    started: list[int] = []

    def work(i: int) -> None:
        started.append(i)
        if i == 5:
            raise ValueError("block 5")
        time.sleep(0.001)

    with pytest.raises(ValueError, match="block 5"):
        map_blocks(work, range(10_000), n_threads)
    assert len(started) < 5000  # a loaded machine may let the others go on for a while


def test_the_first_of_several_exceptions() -> None:
    both = threading.Barrier(2)

    def work(i: int) -> None:
        both.wait(LIMIT)
        raise ValueError(f"block {i}")

    with pytest.raises(ValueError, match="block 0"):
        map_blocks(work, range(10), 2)


def test_progress_that_raises_ends_the_work() -> None:
    started: list[int] = []

    def work(i: int) -> None:
        started.append(i)
        time.sleep(0.01)

    def stop(share: float) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        map_blocks(work, range(10_000), 2, stop)
    assert len(started) < 5000


@pytest.mark.slow
@pytest.mark.parametrize("n_threads", [1, 3])
def test_ctrl_c(n_threads: int) -> None:
    """A process with minutes of work ahead ends soon after SIGINT."""
    code = f"""
import signal, time
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have started us with SIGINT ignored
from nestmap.core.threads import map_blocks
def work(i):
    if i == 5:
        print("go", flush=True)
    time.sleep(0.05)
try:
    map_blocks(work, range(40_000), {n_threads})
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""
    child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert line_of(child) == "go\n"
    child.send_signal(signal.SIGINT)
    said, _ = child.communicate(timeout=LIMIT)  # the work would take longer
    assert said == "interrupted\n" and child.returncode == 0
