"""Calls in threads of their own. Signal handlers raise in the main thread only, so none leaves a lock taken there."""

from __future__ import annotations

import atexit
import logging
import os
import time
from _thread import allocate_lock, get_ident, get_native_id, start_new_thread
from collections.abc import Callable
from pathlib import Path
from typing import Any, Generic, TypeVar

from ufuse.backends.numpy import _tiles

LONGEST_WAIT = 5.0  # seconds

T = TypeVar("T")


class _End(list["Work[Any]"]):
    """Lets those that wait for a thread go on: at its end, also where exceptions for another one ended it at once.

    Only that thread may hold it: a signal that the main thread handles in `__del__` would be lost. It is a list of the
    thread's work, which C fills: a handler that raises as one is made cannot come before it has what it releases.
    """

    def release(self) -> None:
        """Let them go on."""
        for work in self:
            if not work.is_over:
                work.is_over = True
                work.running.release()

    __del__ = release


class Work(Generic[T]):
    """A call that has begun in a thread which `threading` does not list: its own locks would be taken in this one.

    When Python ends nothing begins any more: modules that are imported then are not told that it ends.
    Nor does anything where the system gives no thread: the program would not have asked for one, so it gets no error.
    """

    def __init__(self, call: Callable[[], T]) -> None:
        self._call = call
        self._results: list[T] = []
        self._errors: list[BaseException] = []
        self._threads: list[int] = []
        self.is_over = bool(_ended)
        self.has_begun = False
        self.running = allocate_lock()  # an interrupted waiter may leave it taken
        if self.is_over:
            return
        self.running.acquire()
        _begun[:] = [work for work in _begun if not work.is_over] + [self]
        try:
            start_new_thread(_tiles.call_as_thread, (self._run, _End((self,)), get_ident()))
            self.has_begun = True
        except (RuntimeError, MemoryError):
            _End((self,)).release()
            logging.getLogger("ufuse.kernels").info("no thread could be started", exc_info=True)

    def _run(self, end: _End) -> None:
        try:
            self._threads.append(get_native_id())
            self._results.append(self._call())
        except BaseException as error:  # noqa: BLE001 (raised where it is waited for)
            self._errors.append(error)
        finally:
            end.release()

    def result(self) -> T:
        """What the call returned or raised, waited for; `TimeoutError` where it takes seconds."""
        if not self.wait(LONGEST_WAIT):
            raise TimeoutError(f"not done in {LONGEST_WAIT:g} seconds")
        if self._errors:
            raise self._errors[0]
        if not self._results:
            raise TimeoutError("no thread began, it was interrupted as it did, or Python ends")
        return self._results[0]

    def wait(self, seconds: float) -> bool:
        """Whether the call ended within some seconds."""
        if not self.is_over and self.running.acquire(timeout=seconds):
            self.running.release()
        return self.is_over

    def is_in_memory(self) -> bool:
        """Whether the system still knows the thread, which ends a little after its call."""
        return any(Path(f"/proc/self/task/{thread}").exists() for thread in self._threads)


_begun: list[Work[Any]] = []  # which may still run
_ended: list[bool] = []  # not empty: Python ends


def finish() -> None:
    """Before a fork and at exit: a child would find LLVM half loaded, and Python would warn of the thread."""
    until = time.monotonic() + LONGEST_WAIT
    while _begun:
        work = _begun.pop()
        work.wait(LONGEST_WAIT)
        while work.is_in_memory() and time.monotonic() < until:
            time.sleep(1e-4)


at_end: list[Callable[[], None]] = []  # called when Python ends, and nothing runs any more


def end() -> None:
    """At exit."""
    _ended.append(True)
    finish()
    for call in at_end:
        call()


os.register_at_fork(before=finish)
atexit.register(end)
