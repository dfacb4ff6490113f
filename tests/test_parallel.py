"""Threads: how many, and the limit on BLAS that several fits share."""

from __future__ import annotations

import os
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from types import SimpleNamespace

import numpy as np
import pytest
from conftest import LIMIT, digits, run_together
from joblib import cpu_count
from threadpoolctl import ThreadpoolController, threadpool_limits

from nestmap import first_neighbors
from nestmap.core import threads as _parallel
from nestmap.core.threads import Beside, map_blocks, resolve_n_jobs, single_threaded_blas


def blas_threads() -> set[int]:
    return {
        library.num_threads
        for library in ThreadpoolController().select(user_api="blas").lib_controllers
    }


@pytest.fixture
def three() -> Iterator[set[int]]:
    """BLAS set to three threads, on machines with fewer cores too."""
    with threadpool_limits(3, user_api="blas"):
        if blas_threads() != {3}:
            pytest.skip("the BLAS here cannot be told how many threads to use")
        yield {3}


def test_limits_that_overlap(three: set[int]) -> None:
    a, b = single_threaded_blas(), single_threaded_blas()
    a.__enter__()
    b.__enter__()
    a.__exit__(None, None, None)
    assert blas_threads() == {1}  # b is still inside
    b.__exit__(None, None, None)
    assert blas_threads() == three


def test_limits_that_nest_and_fail(three: set[int]) -> None:
    def fail() -> None:
        with single_threaded_blas():
            with single_threaded_blas():
                assert blas_threads() == {1}
            assert blas_threads() == {1}
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert blas_threads() == three


def test_limits_in_many_threads(three: set[int]) -> None:
    seen: set[int] = set()

    def work(seed: int) -> None:
        rng = np.random.default_rng(seed)
        for _ in range(50):
            with single_threaded_blas():
                seen.update(library.num_threads for library in _parallel._BLAS_LIMIT.libraries)
                threading.Event().wait(rng.random() / 1000)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    run_together(threads)
    assert seen == {1} and blas_threads() == three


def test_searches_in_two_threads_restore_blas(three: set[int]) -> None:
    threads = [threading.Thread(target=first_neighbors, args=(digits()[:500],)) for _ in range(2)]
    run_together(threads)
    assert blas_threads() == three


class Library:
    """A BLAS library as threadpoolctl shows it."""

    def __init__(self, name: str, num_threads: int | None) -> None:
        self.filepath, self.num_threads = name, num_threads

    def set_num_threads(self, n: int) -> None:
        self.num_threads = n


def load(monkeypatch: pytest.MonkeyPatch, loaded: list[Library]) -> list[int]:
    """Let these be the libraries of the process; returns a list that grows each time they are
    looked for.
    """
    looks: list[int] = []

    def controller() -> SimpleNamespace:
        looks.append(len(loaded))
        return SimpleNamespace(select=lambda user_api: SimpleNamespace(lib_controllers=[*loaded]))

    monkeypatch.setattr(_parallel, "ThreadpoolController", controller)
    monkeypatch.setattr(_parallel, "_BLAS_LIMIT", _parallel._BlasLimit())
    return looks


def test_libraries_that_are_loaded_later(monkeypatch: pytest.MonkeyPatch) -> None:
    early, late, mute = Library("early", 4), Library("late", 6), Library("mute", None)
    loaded = [early, mute]
    looks = load(monkeypatch, loaded)
    for _ in range(3):
        with single_threaded_blas():
            assert early.num_threads == 1
        assert early.num_threads == 4
    assert looks == [2]  # once, as long as no module is imported
    with single_threaded_blas():
        loaded.append(late)
        monkeypatch.setitem(sys.modules, "some_late_module", SimpleNamespace())
        with single_threaded_blas():
            assert (early.num_threads, late.num_threads) == (1, 1)
        assert (early.num_threads, late.num_threads) == (1, 1)
    assert (early.num_threads, late.num_threads, mute.num_threads) == (4, 6, None)


class PerThread(Library):
    """A library with a number of threads for each thread that calls it."""

    def __init__(self, name: str, num_threads: int) -> None:
        self.filepath, self.default, self.own = name, num_threads, threading.local()

    @property
    def num_threads(self) -> int:  # type: ignore[override]
        return getattr(self.own, "n", self.default)

    def set_num_threads(self, n: int) -> None:
        self.own.n = n


@pytest.fixture
def per_thread(monkeypatch: pytest.MonkeyPatch) -> PerThread:
    library = PerThread("per thread", 5)
    load(monkeypatch, [library])
    return library


def test_numbers_that_belong_to_threads(per_thread: PerThread) -> None:
    inside, go_on, seen = threading.Event(), threading.Event(), []

    def other() -> None:
        with single_threaded_blas():
            seen.append(per_thread.num_threads)
            inside.set()
            go_on.wait(30)
        seen.append(per_thread.num_threads)

    thread = threading.Thread(target=other)
    with single_threaded_blas():
        thread.start()
        inside.wait(30)
        assert per_thread.num_threads == 1
    assert per_thread.num_threads == 5  # restored while the other is inside
    go_on.set()
    thread.join(LIMIT)
    assert seen == [1, 5]


@pytest.mark.parametrize("n_threads", [1, 3])
def test_blocks_have_one_blas_thread(per_thread: PerThread, n_threads: int) -> None:
    assert map_blocks(lambda _: per_thread.num_threads, range(6), n_threads) == [1] * 6
    assert per_thread.num_threads == 5


@pytest.mark.parametrize("n_threads", [1, 2])
def test_blocks_that_fail_restore_blas(three: set[int], n_threads: int) -> None:
    seen: list[set[int]] = []

    def fail(i: int) -> None:
        seen.append(blas_threads())
        raise KeyError(i)

    with pytest.raises(KeyError):
        map_blocks(fail, range(4), n_threads)
    assert {1} in seen and blas_threads() == three


def test_a_failure_on_the_way_in_is_made_good_by_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = Library("first", 4), Library("second", 6)
    load(monkeypatch, [first, second])
    with single_threaded_blas():
        pass

    def interrupt(n: int) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(second, "set_num_threads", interrupt)
        with pytest.raises(KeyboardInterrupt), single_threaded_blas():
            pass
    with single_threaded_blas():
        pass
    assert (first.num_threads, second.num_threads) == (4, 6)


def in_a_fork(check: Callable[[], bool]) -> bool:
    """What a function says in a child process."""
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore", DeprecationWarning
        )  # of threads that the child will not have
        child = os.fork()
    if child == 0:
        code = 1
        signal.alarm(int(LIMIT))  # a child that hangs ends as one that failed
        try:
            code = 0 if check() else 1
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks here")
def test_forks_are_not_limited_by_threads_that_they_lack(monkeypatch: pytest.MonkeyPatch) -> None:
    library, inside, go_on = Library("one for all", 4), threading.Event(), threading.Event()
    load(monkeypatch, [library])

    def other() -> None:
        with single_threaded_blas():
            inside.set()
            go_on.wait(30)

    def inside_and_out() -> list[int]:
        with single_threaded_blas():
            seen = [library.num_threads]
        return [*seen, library.num_threads]

    thread = threading.Thread(target=other)
    thread.start()
    inside.wait(30)
    assert in_a_fork(lambda: library.num_threads == 4 and inside_and_out() == [1, 4])
    with single_threaded_blas():  # now this thread is inside as well, and so is its child
        assert in_a_fork(lambda: library.num_threads == 1 and inside_and_out() == [1, 1])
    assert library.num_threads == 1
    go_on.set()
    thread.join(LIMIT)
    assert library.num_threads == 4


class TestBeside:
    @pytest.mark.parametrize("n_threads", [1, 2])
    def test_gives_the_result_and_tells_its_share_to_the_caller(self, n_threads: int) -> None:
        told: list[tuple[float, int]] = []

        def work(share: Callable[[float], None]) -> int:
            share(0.5)
            threading.Event().wait(0.3)
            return 42

        with Beside(work, n_threads) as beside:
            assert beside.result(lambda done: told.append((done, threading.get_ident()))) == 42
        assert {*told} == {(0.5, threading.get_ident())}

    def test_runs_while_the_caller_goes_on(self) -> None:
        met = threading.Barrier(2)
        with Beside(lambda share: met.wait(LIMIT) >= 0, 2) as beside:
            met.wait(LIMIT)  # each waits for the other
            assert beside.result()

    def test_errors_come_with_the_result(self) -> None:
        def fail(share: object) -> None:
            raise MemoryError("no room")

        with pytest.raises(MemoryError, match="no room"), Beside(fail, 2) as beside:
            beside.result()

    def test_ends_when_the_caller_fails(self) -> None:
        ended, started = threading.Event(), threading.Event()

        def work(share: Callable[[float], None]) -> None:
            started.set()
            try:
                while True:
                    share(0.1)
            finally:
                ended.set()

        def stop() -> None:
            with Beside(work, 2):
                started.wait(LIMIT)
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            stop()
        assert ended.is_set()

    def test_where_there_is_no_room_for_a_thread(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def refuse(self: threading.Thread) -> None:
            raise RuntimeError("can't start new thread")

        monkeypatch.setattr(threading.Thread, "start", refuse)
        with Beside(lambda share: threading.get_ident(), 2) as beside:
            assert beside.result() == threading.get_ident()


def test_numbers_of_threads() -> None:
    cores = int(os.environ.get("TEST_CORES", cpu_count()))  # see conftest.py
    assert resolve_n_jobs(None) == resolve_n_jobs(-1) == cores
    assert resolve_n_jobs(3) == resolve_n_jobs(np.int64(3)) == 3
    assert resolve_n_jobs(-2) == max(1, cores - 1) and resolve_n_jobs(-1000) == 1


@pytest.mark.parametrize("wrong", [0, True, 2.5, "two", float("nan"), [2]])
def test_what_is_no_number_of_threads(wrong: object) -> None:
    with pytest.raises(
        ValueError, match=r"n_jobs=.*: use a positive number of threads, or None for all cores"
    ):
        resolve_n_jobs(wrong)  # type: ignore[arg-type]
