"""Ends what takes too long."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator


class TooLongError(BaseException):
    """A program does not end."""


def too_long(*_: object) -> None:
    """End what runs now."""
    raise TooLongError


@contextlib.contextmanager
def limited(seconds: float) -> Iterator[None]:
    """End what is inside after this time; again and again where the program catches it."""
    before = signal.signal(signal.SIGALRM, too_long)
    signal.setitimer(signal.ITIMER_REAL, seconds, 0.5)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
