"""What a test does when its timer's signal comes."""

from __future__ import annotations

import gc
import signal
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest


class AlarmError(Exception):
    """Raised by a handler."""


@contextmanager
def on_alarm(handler: Callable[..., Any]) -> Iterator[None]:
    """SIGALRM is handled so for a while; then nothing is waited for any more."""
    before = signal.signal(signal.SIGALRM, handler)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def raises_whenever(delays: Iterable[float], call: Callable[[], Any]) -> None:
    """A call gets what a handler raises after each of these times, in seconds."""

    def handler(*_: Any) -> None:
        raise AlarmError

    with on_alarm(handler), no_collections():
        for delay in delays:
            with pytest.raises(AlarmError):
                called_with_alarm(delay, call)


@contextmanager
def no_collections() -> Iterator[None]:
    """Nothing is collected, of other tests either: what is raised in a finalizer is lost, and a timer signals once."""
    gc.collect()
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def called_with_alarm(delay: float, call: Callable[..., Any], *arguments: Any) -> Any:
    """What a call returns, if it does before this time is up."""
    signal.setitimer(signal.ITIMER_REAL, delay)
    return call(*arguments)
