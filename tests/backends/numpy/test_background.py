"""Work in threads of its own."""

from __future__ import annotations

import ctypes
import signal
import sys
import threading
import time
from collections.abc import Callable
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest

import ufuse
from tests.support.alarms import on_alarm, raises_whenever
from tests.support.tiles import assert_same
from ufuse.backends.numpy import _tiles
from ufuse.backends.numpy.llvm import background
from ufuse.backends.numpy.llvm.background import LONGEST_WAIT, Work


def test_results_and_errors_reach_who_waits() -> None:
    """What the call returned, or raised."""
    assert Work(lambda: 7).result() == 7
    with pytest.raises(ZeroDivisionError):
        Work(lambda: 1 // 0).result()


def test_threading_does_not_list_the_thread() -> None:
    """A program that counts its threads finds its own."""
    before = threading.enumerate()
    work = Work(lambda: time.sleep(0.05))
    assert threading.enumerate() == before
    assert not work.wait(0)
    assert work.wait(5)


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timers that signal")
def test_a_handler_that_raises_while_a_thread_begins_leaves_none_waited_for() -> None:
    """Whenever it comes: nothing is printed as ignored, and all that had begun is over."""
    raises_whenever(np.linspace(1e-5, 3e-4, 300).tolist(), begin_for_ever)
    assert all(work.wait(1) for work in background._begun.copy())


def begin_for_ever() -> None:
    """One thread after another, for seconds at most."""
    until = time.monotonic() + 30
    while time.monotonic() < until:
        Work(int)


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timers that signal")
def test_signal_handlers_do_not_interrupt_the_call() -> None:
    """Who waits gets what the handler raises; the call goes on, and a lock it holds is released."""
    lock = threading.Lock()
    begun = threading.Event()

    def hold() -> int:
        with lock:
            begun.set()
            time.sleep(0.1)
        return 7

    def handler(*_: object) -> None:
        raise KeyboardInterrupt

    with on_alarm(handler):
        work = Work(hold)
        begun.wait()
        signal.setitimer(signal.ITIMER_REAL, 0.01)
        with pytest.raises(KeyboardInterrupt):
            work.result()
    assert lock.locked()
    assert work.result() == 7
    assert not lock.locked()


class Interrupted(Work[int]):
    """A thread that gets an exception before it does anything, so many times."""

    times = 1
    may_begin = threading.Event()

    def _run(self, end: Any) -> None:
        self.may_begin.wait()
        if self.times:
            self.times -= 1
            raise KeyboardInterrupt
        super()._run(end)


class InterruptedTwice(Interrupted):
    """One that gets another exception when it is begun again."""

    times = 2


def interrupted_by(work: Interrupted) -> None:
    """Let a thread begin, until its exception has come here."""
    with pytest.raises(KeyboardInterrupt):
        wait_for_an_interrupt(work.may_begin.set)
    work.may_begin.clear()


def wait_for_an_interrupt(begin: Callable[[], object] = list) -> None:
    """Call something, then run code until an exception that was set for this thread is raised."""
    until = time.perf_counter() + LONGEST_WAIT
    begin()
    while time.perf_counter() < until:
        pass


def test_an_interrupt_for_the_thread_that_starts_one_reaches_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The new one, which had its number at first, works all the same, and nothing is printed."""
    printed: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", printed.append)
    work = Interrupted(lambda: 7)
    interrupted_by(work)
    assert work.result() == 7
    assert not printed


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="a new thread has no number of another")
def test_an_exception_that_is_set_as_a_thread_begins() -> None:
    """Whichever of the two threads Python gives it to, the one that it is for raises it once."""
    set_exception = ctypes.pythonapi.PyThreadState_SetAsyncExc
    interrupts = 0

    def start() -> None:
        nonlocal interrupts
        for _ in range(200):
            try:
                work = Work(lambda: 7)
                set_exception(ctypes.c_ulong(threading.get_ident()), ctypes.py_object(KeyError))
                wait_for_an_interrupt()
            except KeyError:
                interrupts += 1
                assert work.result() == 7

    starter = threading.Thread(target=start)
    starter.start()
    starter.join()
    assert interrupts == 200


def test_a_thread_that_ends_as_it_begins_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is begun twice, and no more."""
    printed: list[str] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda said: printed.append(str(said.exc_type)))
    started = time.perf_counter()
    work = InterruptedTwice(lambda: 1)
    interrupted_by(work)
    with pytest.raises(TimeoutError):
        work.result()
    assert time.perf_counter() - started < LONGEST_WAIT
    assert len(printed) == 1


def test_what_calls_a_function_as_a_thread_takes() -> None:
    """Three arguments, the last one the number of a thread."""
    assert _tiles.call_as_thread(len, "abc", threading.get_ident()) == 3
    for wrong in ((len, "abc"), (len, "abc", "one"), (len, "abc", -1)):
        with pytest.raises(TypeError):
            _tiles.call_as_thread(*wrong)


def test_nothing_begins_when_python_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is imported then is not told that Python ends, and dies noisily."""
    monkeypatch.setattr(background, "_ended", [True])
    begun: list[int] = []
    work = Work(lambda: begun.append(1))
    assert work.wait(1)
    with pytest.raises(TimeoutError, match="Python ends"):
        work.result()
    assert begun == []


NO_THREAD = [RuntimeError("can't start new thread"), MemoryError()]


@pytest.mark.parametrize("error", NO_THREAD, ids=["limit", "memory"])
def test_where_no_thread_can_be_started(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing begins, nothing is waited for, and the program that did not ask for a thread gets no error."""
    monkeypatch.setattr(background, "start_new_thread", Mock(side_effect=error))
    started = time.perf_counter()
    work = Work(lambda: 1)
    assert not work.has_begun
    assert work.wait(LONGEST_WAIT)
    background.finish()
    assert time.perf_counter() - started < LONGEST_WAIT
    with pytest.raises(TimeoutError, match="no thread began"):
        work.result()


@pytest.mark.parametrize("error", NO_THREAD, ids=["limit", "memory"])
@pytest.mark.parametrize("before", [0, 1, 3], ids=["first call", "second", "fourth"])
def test_compiled_calls_without_threads(
    before: int, error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From any call on, also where a retrace or hot code asks for one: what eager NumPy gives."""

    def plain(x: Any) -> Any:
        total = 0.0
        for i in range(len(x)):
            total += x[i] * 2.0
        return total, np.tanh(x * x + 1.0) * 3.0

    function = ufuse.compile(plain)
    for calls in range(60):
        if calls == before:
            monkeypatch.setattr(background, "start_new_thread", Mock(side_effect=error))
        x = np.linspace(0.5, 2.0, 3000 + 7 * (calls > 40), dtype="f4" if calls > 50 else "f8")
        for found, expected in zip(function(x), plain(x), strict=True):
            assert_same(found, expected)
