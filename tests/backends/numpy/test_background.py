"""Work in threads of its own."""

from __future__ import annotations

import signal
import sys
import threading
import time
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest

import ufuse
from tests.support.tiles import assert_same
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

    before = signal.signal(signal.SIGALRM, handler)
    try:
        work = Work(hold)
        begun.wait()
        signal.setitimer(signal.ITIMER_REAL, 0.01)
        with pytest.raises(KeyboardInterrupt):
            work.result()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert lock.locked()
    assert work.result() == 7
    assert not lock.locked()


class Interrupted(Work[int]):
    """A thread that gets an exception before it does anything."""

    def _run(self, end: Any) -> None:
        raise KeyboardInterrupt


def test_a_thread_that_ends_as_it_begins_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """An exception that was set for the thread that starts it may reach it."""
    monkeypatch.setattr(sys, "unraisablehook", lambda _: None)
    started = time.perf_counter()
    with pytest.raises(TimeoutError):
        Interrupted(lambda: 1).result()
    assert time.perf_counter() - started < LONGEST_WAIT


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
