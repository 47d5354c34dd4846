"""Streams that a program makes current, and events that it records: by CuPy's own functions.

A call of a program that gives up leaves the stream current that was current before it, so that plain Python finds what
it would have found. The streams that a call has entered are counted by thread, as the current stream is.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import cupy

from ufuse.backends.cupy.operations.refusal import DoesNotFit
from ufuse.graph.typing.device_streams import (
    AWAIT_EVENT,
    CHECKS,
    ELAPSED,
    ENTER,
    FREE,
    IS_DEVICE,
    IS_LIKE,
    IS_REMEMBERED,
    LEAVE,
    MAKING,
    ON_DEVICE,
    ON_STREAM,
    POINTS,
    POP,
    PUSHES,
    RANGES,
    RECORD,
    SWITCHES,
    USE,
)
from ufuse.graph.typing.library import are_alike, named
from ufuse.graph.typing.library import cupy as library


class _OfThread(threading.local):
    entered: tuple[Any, ...] = ()  # by the call that runs, innermost last
    left: tuple[Any, ...] = ()  # of those that were entered before it, in order
    ranges = 0  # of a profiler that it has begun and not ended


_thread = _OfThread()


def _enter(stream: Any) -> None:
    stream.__enter__()
    _thread.entered = (*_thread.entered, stream)


def _leave(stream: Any) -> None:
    if _thread.entered:
        _thread.entered = _thread.entered[:-1]
        stream.__exit__(None, None, None)
        return
    _check_stream(stream)  # so it is the one to enter again
    stream.__exit__(None, None, None)
    _thread.left = (*_thread.left, stream)


def _check_device(number: int) -> None:
    if cupy.cuda.runtime.getDevice() != number:
        raise DoesNotFit(f"the current device is not that of number {number}")


def _check_number(number: int, device: Any) -> None:
    if device.id != number:
        raise DoesNotFit(f"a device is not that of number {number}")


def _check_stream(stream: Any) -> None:
    if cupy.cuda.get_current_stream() is not stream:
        raise DoesNotFit("another stream is current")


def _check_kernel(kernel: Any, name: str) -> None:
    if not are_alike(library().kernel_named(name), kernel):
        raise DoesNotFit("a kernel is of another text than before")


def _check_remembered(
    function: Any, result: Any, given: tuple[Any, ...], named: tuple[tuple[str, Any], ...]
) -> None:
    if function(*given, **dict(named)) is not result:
        raise DoesNotFit("a function remembers another result than before")


def _use(stream: Any) -> None:
    stream.use()


def said(name: str, *given: Any) -> None:
    """Tell the profiler that there may be."""
    getattr(cupy.cuda.nvtx, name)(*given)


def _pushing(name: str) -> Callable[..., None]:
    def push(*given: Any) -> None:
        said(name, *given)
        _thread.ranges += 1

    return push


def _pop() -> None:
    said("RangePop")
    _thread.ranges -= 1


def _marking(name: str) -> Callable[..., None]:
    return lambda *given: said(name, *given)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    ENTER: _enter,
    LEAVE: _leave,
    USE: _use,
    RECORD: lambda event, *stream: event.record(*stream),
    AWAIT_EVENT: lambda stream, event: stream.wait_event(event),
    FREE: lambda pool: pool.free_all_blocks(),
    ELAPSED: cupy.cuda.get_elapsed_time,
    ON_DEVICE: _check_device,
    IS_DEVICE: _check_number,
    ON_STREAM: _check_stream,
    IS_LIKE: _check_kernel,
    IS_REMEMBERED: _check_remembered,
    **{name: _pushing(name.removeprefix(RANGES)) for name in PUSHES},
    POP: _pop,
    **{name: _marking(name.removeprefix(RANGES)) for name in POINTS},
}


def function_of(name: str) -> Callable[..., Any]:
    """What is called."""
    if name.startswith(MAKING):
        return named(name.removeprefix(MAKING))  # type: ignore[no-any-return]
    return FUNCTIONS[name]


def is_switching(name: str) -> bool:
    """Whether another stream may be current behind such a call."""
    return name in SWITCHES


def is_taken_back(name: str) -> bool:
    """Whether a program that gives up undoes such a call."""
    return name in (*SWITCHES, *PUSHES, POP)


def is_apart(name: str) -> bool:
    """Whether kernels that wait may be launched behind such a call."""
    return name in CHECKS or name == ELAPSED


def _go_back(entered: tuple[Any, ...], left: tuple[Any, ...], ranges: int, before: Any) -> None:
    """Leave what was entered, innermost first, enter what was left, and have a stream be current again; end ranges."""
    for _ in range(ranges):
        said("RangePop")
    for one in reversed(entered):
        one.__exit__(None, None, None)
    for one in reversed(left):
        one.__enter__()
    if cupy.cuda.get_current_stream() is not before:
        before.use()


class Switching:
    """A program that makes streams current, or begins ranges."""

    def __init__(
        self, program: Callable[..., Any], otherwise: Callable[..., Any] | None = None
    ) -> None:
        self._program = program
        self.refused = program.refused  # type: ignore[attr-defined]
        self._otherwise = otherwise

    def __call__(self, *inputs: Any) -> Any:
        """The outputs; NotImplemented, with the streams as they were, where plain Python is to run."""
        outer = _thread.entered, _thread.left, _thread.ranges
        before = cupy.cuda.get_current_stream()
        _thread.entered, _thread.left, _thread.ranges = (), (), 0
        result = NotImplemented
        try:
            result = self._program(*inputs)
        finally:
            changed = _thread.entered, _thread.left, _thread.ranges
            _thread.entered, _thread.left, _thread.ranges = outer
            if result is NotImplemented:
                _go_back(*changed, before)
        if result is NotImplemented and self._otherwise is not None:
            return self._otherwise(*inputs)
        return result
